/* log/alarms.h: which cells of a session are armed, as of a batch of its log (fleet.md 8.2, 8.4, 7.5 item 7).
 *
 * States are applied in batch order; among the states of one cell the higher identity wins. Pure. */
#ifndef LOG_ALARMS_H
#define LOG_ALARMS_H

#include "base/map.h"
#include "store/wake.h"

/* Zeroed with keep set or not: valid, empty. */
struct log_alarms {
    struct cd_map cells; /* By scope. */
    size_t armed;
    /* A cleared alarm is remembered, so that no older state brings it back: for recovery, where checkpoint
     * and rows overlap. Else it is forgotten: a live session hears of its cells in order. */
    bool keep;
};
void log_alarms_deinit(struct log_alarms *a);
/* batch: of the row or note that carries the state; 0: none of this session does. */
void log_alarms_apply(struct log_alarms *a, struct cd_str scope, struct store_identity identity, bool armed,
                      uint64_t due_ms, uint64_t batch);
/* The cell leaves, unless its state is of a later epoch. */
void log_alarms_remove(struct log_alarms *a, struct cd_str scope, uint64_t epoch);
/* The armed ones, ascending by cell; borrows the names. cd_free the array; NULL when there is none. */
struct store_alarm *log_alarms_list(const struct log_alarms *a, size_t *count);
/* Whether an armed state is in no batch above batch: recovery would not find it in the slots that stay when
 * those up to batch go. */
bool log_alarms_need_checkpoint(const struct log_alarms *a, uint64_t batch);

#endif
