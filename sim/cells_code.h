/* sim/cells_code.h: what runs in the cells of the simulator, in C: ledgers (class Ledger), databases of
 * random transactions (Mix), alarms (Alarm). One message, one answer.
 *
 * An answer begins with the cell's epoch and the newest transaction that it can reveal: "3 17 ", so that an
 * observer of what leaves the node knows what it tells. */
#ifndef SIM_CELLS_CODE_H
#define SIM_CELLS_CODE_H

#include "cell/cell.h"

/* What happens inside of cells, told to the workload at that moment. arg of the code is one of these. */
struct cells_hooks {
    /* The alarm that change id has set runs now. */
    void (*alarm)(void *arg, struct cell *c, uint64_t id, const struct cell_alarm_run *run);
    void (*committed)(void *arg, struct cell *c); /* What a message has done is in the database. */
    void *arg;
};

extern const struct cell_code cells_code;

/* Takes the epoch and the transaction off the front of an answer. False: it does not begin with them. */
bool cells_answer_take(struct cd_str *text, uint64_t *epoch, uint64_t *txid);
/* The next word as a number. */
bool cells_take_u64(struct cd_str *text, uint64_t *out);

/* The classes: each appends its answer. A code: the storage failed. */
int cells_ledger(struct cell *c, struct cd_str message, struct cd_buf *answer);
int cells_mix(struct cell *c, struct cd_str message, struct cd_buf *answer);
int cells_alarm(struct cell *c, struct cd_str message, struct cd_buf *answer);
void cells_alarm_run(const struct cells_hooks *hooks, struct cell *c, const struct cell_alarm_run *run);

#endif
