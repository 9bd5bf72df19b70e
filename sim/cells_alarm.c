/* sim/cells_alarm.c: an alarm that is set and cancelled, and counts its changes. Some runs fail at first.
 *
 *     set ID DUE  ->  SEQ
 *     cancel ID   ->  SEQ
 *     look        ->  SEQ ID ARMED
 */
#include "base/rng.h"
#include "db/storage.h"
#include "sim/cells_code.h"

#define ULL(v) ((unsigned long long)(v))
#define CHANGE CD_STR("change") /* The pair "SEQ ID" of the newest change. */

static int newest(struct storage *s, uint64_t *seq, uint64_t *id)
{
    struct cd_str v;
    int rc = storage_kv_get(s, CHANGE, &v);
    *seq = *id = 0;
    if (rc == CD_ENOTFOUND)
        return 0;
    if (rc == 0 && (!cells_take_u64(&v, seq) || !cells_take_u64(&v, id)))
        rc = CD_ECORRUPT;
    return rc;
}

static int change(struct storage *s, uint64_t id, uint64_t due_ms, struct cd_buf *answer)
{
    uint64_t seq, before;
    int rc = newest(s, &seq, &before);
    if (rc == 0)
        rc = due_ms == 0 ? storage_alarm_delete(s) : storage_alarm_set(s, (int64_t)due_ms);
    if (rc != 0)
        return rc;
    struct cd_buf pair = {0};
    cd_buf_addf(&pair, "%llu %llu", ULL(seq + 1), ULL(id));
    rc = storage_kv_put(s, CHANGE, cd_buf_str(&pair));
    cd_buf_deinit(&pair);
    cd_buf_addf(answer, "%llu", ULL(seq + 1));
    return rc;
}

int cells_alarm(struct cell *c, struct cd_str message, struct cd_buf *answer)
{
    struct storage *s = cell_storage(c);
    struct cd_str word;
    uint64_t id, due, seq;
    if (!cd_str_next(&message, ' ', &word))
        return CD_ESYNTAX;
    if (cd_str_eq(word, CD_STR("set")))
        return cells_take_u64(&message, &id) && cells_take_u64(&message, &due) && due != 0
                   ? change(s, id, due, answer)
                   : CD_ESYNTAX;
    if (cd_str_eq(word, CD_STR("cancel")))
        return cells_take_u64(&message, &id) ? change(s, id, 0, answer) : CD_ESYNTAX;
    int rc = newest(s, &seq, &id);
    cd_buf_addf(answer, "%llu %llu %u", ULL(seq), ULL(id), storage_alarm(s).armed);
    return rc;
}

void cells_alarm_run(const struct cells_hooks *hooks, struct cell *c, const struct cell_alarm_run *run)
{
    uint64_t seq, id;
    int rc = newest(cell_storage(c), &seq, &id);
    if (rc == 0)
        hooks->alarm(hooks->arg, c, id, run);
    /* A third of the alarms fail once, a third of those twice. */
    bool fails = rc != 0 || (run->retry_count < 2 && cd_hash64(run->retry_count, &id, sizeof id) % 3 == 0);
    cell_alarm_done(c, fails ? CELL_ALARM_FAILED : CELL_ALARM_OK);
}
