/* sim/alarm_truth.h: the oracle of the alarms workload: which alarm each cell was told to have, and what ran.
 * Pure. simulation.md 6.
 *
 * A change (set or cancel) has a number; the cell counts its changes, so an acknowledged one has a place
 * among them. An alarm runs at least once, not before its time by the clock of its node, and not after a
 * later change was acknowledged. Once an answer shows that it is done it never runs again. */
#ifndef SIM_ALARM_TRUTH_H
#define SIM_ALARM_TRUTH_H

#include "base/buf.h"

struct alarm_change {
    unsigned cell;
    int64_t due_ms; /* 0: cancels. */
    bool open, refused; /* open: its fate is not known, now or for ever. */
    uint64_t seq; /* Of an acknowledged one. */
    uint64_t runs;
    bool done; /* An answer showed that the alarm is not armed any more. */
};

struct alarm_cell {
    uint64_t newest; /* The acknowledged change with the highest seq; 0: none. */
};

struct alarm_truth {
    struct alarm_change *change; /* owned; number n is change[n - 1] */
    uint64_t changes, cap;
    struct alarm_cell *cell; /* owned; from 1 */
    unsigned cells;
    uint64_t acked, unknown, refused, runs;
};

void alarm_truth_init(struct alarm_truth *t, unsigned cells);
void alarm_truth_deinit(struct alarm_truth *t);

uint64_t alarm_truth_begin(struct alarm_truth *t, unsigned cell, int64_t due_ms);
uint64_t alarm_truth_floor(const struct alarm_truth *t,
                           unsigned cell); /* The seq of the newest; before a question. */

/* NULL, or what is broken: alarm.lost, alarm.early, alarm.late (after a change of it was acknowledged),
 * alarm.again (after it was done), alarm.refused, alarm.invented. */

const char *alarm_truth_ack(struct alarm_truth *t, uint64_t id, uint64_t floor, uint64_t seq,
                            struct cd_buf *why);
const char *alarm_truth_refuse(struct alarm_truth *t, uint64_t id, struct cd_buf *why);
/* The handler starts; id is the change that the cell's database names. */
const char *alarm_truth_run(struct alarm_truth *t, unsigned cell, uint64_t id, int64_t scheduled_ms,
                            unsigned retry, int64_t wall_ms, struct cd_buf *why);
/* An answer shows the newest change of the cell, and whether its alarm is armed. */
const char *alarm_truth_state(struct alarm_truth *t, unsigned cell, uint64_t floor, uint64_t seq, uint64_t id,
                              bool armed, struct cd_buf *why);

#endif
