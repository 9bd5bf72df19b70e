/* db/alarm.c: the alarm of a cell: table _cf_alarm, one row. services.md 1.6, fleet.md 8.1, 8.5.
 *
 * The row is written whole at each change, so that its number inst_seq never goes back; what it says is kept
 * in memory and read again after a rollback. */
#include "db/storage_internal.h"

#define RETRY_MS                                                                                             \
    2000 /* The first retry; each next one comes after twice the time, up to 2^RETRY_DOUBLED_MAX. */
#define RETRY_DOUBLED_MAX 6

int storage_alarm_load(struct storage *s)
{
    int rc = storage_table_there(s, STORAGE_TABLE_ALARM);
    memset(&s->alarm, 0, sizeof s->alarm);
    if (rc <= 0)
        return rc;
    sqlite3_stmt *stmt = storage_own(s, STORAGE_OWN_ALARM_GET);
    if (stmt == NULL)
        return CD_EINVAL;
    rc = storage_own_step(s, stmt);
    if (rc == SQLITE_ROW) {
        s->alarm = (struct storage_alarm){
            .armed = sqlite3_column_type(stmt, 0) != SQLITE_NULL,
            .due_ms = sqlite3_column_int64(stmt, 0),
            .inst_seq = (uint64_t)sqlite3_column_int64(stmt, 1),
            .retry_count = (uint32_t)sqlite3_column_int64(stmt, 2),
            .counted_retries = (uint32_t)sqlite3_column_int64(stmt, 3),
        };
    }
    rc = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : storage_fail(s);
    (void)sqlite3_reset(stmt);
    return rc;
}

/* next is the new state but for its number. */
static int change(struct storage *s, struct storage_alarm next, const char *outcome)
{
    int rc = storage_write_begin(s);
    if (rc == 0)
        rc = storage_table_make(s, STORAGE_TABLE_ALARM);
    if (rc != 0)
        return rc;
    sqlite3_stmt *stmt = storage_own(s, STORAGE_OWN_ALARM_PUT);
    if (stmt == NULL)
        return CD_EINVAL;
    next.inst_seq = s->alarm.inst_seq + 1;
    if (next.armed)
        (void)sqlite3_bind_int64(stmt, 1, next.due_ms);
    else
        (void)sqlite3_bind_null(stmt, 1);
    (void)sqlite3_bind_int64(stmt, 2, (int64_t)next.inst_seq);
    (void)sqlite3_bind_int64(stmt, 3, next.retry_count);
    (void)sqlite3_bind_int64(stmt, 4, next.counted_retries);
    storage_bind_text(stmt, 5, cd_str(outcome));
    rc = storage_own_run(s, stmt);
    if (rc == 0)
        s->alarm = next;
    return rc;
}

struct storage_alarm storage_alarm(const struct storage *s)
{
    return s->alarm;
}

/* The alarm that runs is still the one in the table. */
static bool run_unchanged(const struct storage *s)
{
    return s->alarm_runs && s->alarm.inst_seq == s->alarm_run.inst_seq;
}

struct storage_alarm storage_alarm_seen(const struct storage *s)
{
    struct storage_alarm seen = s->alarm;
    if (run_unchanged(s))
        seen.armed = false;
    return seen;
}

int storage_alarm_set(struct storage *s, int64_t due_ms)
{
    int rc = storage_check(s);
    return rc == 0 ? change(s, (struct storage_alarm){.armed = true, .due_ms = due_ms}, "set") : rc;
}

int storage_alarm_delete(struct storage *s)
{
    int rc = storage_check(s);
    if (rc != 0 || !s->alarm.armed || run_unchanged(s))
        return rc;
    return change(s, (struct storage_alarm){0}, "deleted");
}

void storage_alarm_begin(struct storage *s)
{
    s->alarm_runs = true;
    s->alarm_run = s->alarm;
}

int storage_alarm_end(struct storage *s, enum storage_alarm_end end, int64_t now_ms, bool *dropped)
{
    bool unchanged = run_unchanged(s);
    *dropped = false;
    s->alarm_runs = false;
    int rc = storage_check(s);
    if (rc != 0)
        return rc;
    if (end == STORAGE_ALARM_OK)
        return unchanged && s->alarm.armed ? change(s, (struct storage_alarm){0}, "done") : 0;
    if (!unchanged && s->alarm.armed)
        return 0; /* Another alarm was set: it takes the place of the retry. */
    struct storage_alarm next = s->alarm_run;
    if (end == STORAGE_ALARM_COUNTED && next.counted_retries >= STORAGE_ALARM_RETRIES) {
        *dropped = true;
        return change(s, (struct storage_alarm){0}, "dropped");
    }
    unsigned doubled = next.retry_count < RETRY_DOUBLED_MAX ? next.retry_count : RETRY_DOUBLED_MAX;
    next.armed = true;
    next.due_ms = now_ms + ((int64_t)RETRY_MS << doubled);
    next.retry_count++;
    next.counted_retries += end == STORAGE_ALARM_COUNTED;
    return change(s, next, "retry");
}
