/* sim/ledger_truth.h: the oracle of the ledger workload: what was asked to be appended to which cell, what
 * was answered, and so what every ledger has to hold. Pure. simulation.md 6.
 *
 * A cell is one sequential object, so being linearizable is a linear check: whoever asks knows how far the
 * ledger certainly was (ledger_truth_floor), and an append that begins then lies behind, a read sees at least
 * that much. What was once seen at a place, in an answer or in a read, stays there for ever. */
#ifndef SIM_LEDGER_TRUTH_H
#define SIM_LEDGER_TRUTH_H

#include "base/buf.h"

enum ledger_outcome {
    LEDGER_OPEN,
    LEDGER_ACKED,
    LEDGER_REFUSED, /* It must never be seen. */
    LEDGER_UNKNOWN, /* It may be seen, once; then it stays. */
};

struct ledger_op {
    uint32_t cell;
    enum ledger_outcome outcome;
    uint64_t floor; /* Of its cell when it was asked. */
    uint64_t at; /* Where it was seen; 0: nowhere. */
};

/* One line of a ledger, as the cell has it. */
struct ledger_entry {
    uint64_t id, epoch, hash;
};

struct ledger_cell {
    struct ledger_entry *entry; /* owned; of position i at [i], from 1; id 0: not seen yet. */
    uint64_t floor, cap;
};

struct ledger_truth {
    struct ledger_op *op; /* owned; number n is op[n - 1] */
    uint64_t ops, ops_cap;
    struct ledger_cell *cell; /* owned; from 1 */
    unsigned cells;
    uint64_t acked, refused, unknown;
};

void ledger_truth_init(struct ledger_truth *t, unsigned cells);
void ledger_truth_deinit(struct ledger_truth *t);

/* The hash of a line, going on from the line before (0 before the first). */
uint64_t ledger_hash(uint64_t before, uint64_t id);

uint64_t ledger_truth_begin(struct ledger_truth *t, unsigned cell); /* An append; returns its number. */
uint64_t ledger_truth_floor(const struct ledger_truth *t, unsigned cell); /* To be asked before a read. */
void ledger_truth_lose(struct ledger_truth *t, uint64_t id);

/* The rest returns NULL when all is well, else the invariant that is broken, with the reason in why:
 * ledger.lost, ledger.refused, ledger.twice, ledger.invented, ledger.order, ledger.hash, ledger.epoch. */

const char *ledger_truth_refuse(struct ledger_truth *t, uint64_t id, struct cd_buf *why);
/* The append was acknowledged as line at of its cell. */
const char *ledger_truth_ack(struct ledger_truth *t, uint64_t at, const struct ledger_entry *e,
                             struct cd_buf *why);
/* A read that began when the floor was floor gave the lines from..from+count-1, and says there are total. */
const char *ledger_truth_read(struct ledger_truth *t, unsigned cell, uint64_t floor, uint64_t from,
                              const struct ledger_entry *e, uint64_t count, uint64_t total,
                              struct cd_buf *why);

#endif
