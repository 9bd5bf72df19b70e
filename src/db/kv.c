/* db/kv.c: key-value pairs, the cell's name, and the end of both. services.md 1.4.
 *
 * Keys are TEXT and compare by their bytes. A blob is greater than any text, so an empty one is the open end
 * of a range; what follows a key immediately is the key with a zero byte behind it. */
#include "db/storage_internal.h"

static int key_check(struct storage *s, struct cd_str key)
{
    int rc = storage_check(s);
    if (rc == 0 && key.len > STORAGE_KEY_MAX)
        rc = storage_fail_text(s, CD_ETOOBIG,
                               "Keys cannot be larger than %d bytes. A key of size %zu was provided.",
                               STORAGE_KEY_MAX, key.len);
    return rc;
}

/* The one value of a row, into s->value. */
static int take_value(struct storage *s, sqlite3_stmt *stmt, struct cd_str key)
{
    storage_bind_text(stmt, 1, key);
    int rc = storage_own_step(s, stmt);
    if (rc == SQLITE_ROW) {
        cd_buf_clear(&s->value);
        const void *bytes = sqlite3_column_blob(stmt, 0);
        cd_buf_add(&s->value, bytes, (size_t)sqlite3_column_bytes(stmt, 0));
        rc = 0;
    } else {
        rc = rc == SQLITE_DONE ? CD_ENOTFOUND : storage_fail(s);
    }
    (void)sqlite3_reset(stmt);
    return rc;
}

static int value_of(struct storage *s, enum storage_table table, enum storage_own get, struct cd_str key)
{
    int rc = storage_table_there(s, table);
    if (rc <= 0)
        return rc == 0 ? CD_ENOTFOUND : rc;
    sqlite3_stmt *stmt = storage_own(s, get);
    return stmt == NULL ? CD_EINVAL : take_value(s, stmt, key);
}

static int put(struct storage *s, enum storage_table table, enum storage_own which, struct cd_str key,
               struct cd_str value)
{
    int rc = storage_write_begin(s);
    if (rc == 0)
        rc = storage_table_make(s, table);
    if (rc != 0)
        return rc;
    sqlite3_stmt *stmt = storage_own(s, which);
    if (stmt == NULL)
        return CD_EINVAL;
    storage_bind_text(stmt, 1, key);
    (void)sqlite3_bind_blob64(stmt, 2, value.ptr == NULL ? "" : value.ptr, value.len, SQLITE_STATIC);
    return storage_own_run(s, stmt);
}

int storage_kv_get(struct storage *s, struct cd_str key, struct cd_str *value)
{
    int rc = key_check(s, key);
    if (rc == 0)
        rc = value_of(s, STORAGE_TABLE_KV, STORAGE_OWN_KV_GET, key);
    if (rc == 0)
        *value = cd_buf_str(&s->value);
    return rc;
}

int storage_kv_put(struct storage *s, struct cd_str key, struct cd_str value)
{
    int rc = key_check(s, key);
    if (rc == 0 && key.len + value.len > STORAGE_ROW_MAX)
        rc = storage_fail_text(s, CD_EINVAL, "string or blob too big: SQLITE_TOOBIG");
    return rc == 0 ? put(s, STORAGE_TABLE_KV, STORAGE_OWN_KV_PUT, key, value) : rc;
}

int storage_kv_delete(struct storage *s, struct cd_str key, bool *existed)
{
    int rc = key_check(s, key);
    if (rc == 0)
        rc = value_of(s, STORAGE_TABLE_KV, STORAGE_OWN_KV_GET, key);
    *existed = rc == 0;
    if (rc != 0)
        return rc == CD_ENOTFOUND ? 0 : rc; /* Nothing to write, so there is nothing to prove. */
    rc = storage_write_begin(s);
    sqlite3_stmt *stmt = rc == 0 ? storage_own(s, STORAGE_OWN_KV_DELETE) : NULL;
    if (stmt == NULL)
        return rc != 0 ? rc : CD_EINVAL;
    storage_bind_text(stmt, 1, key);
    return storage_own_run(s, stmt);
}

int storage_kv_list(struct storage *s, const struct storage_range *range,
                    int (*row)(void *arg, struct cd_str key, struct cd_str value), void *arg)
{
    int rc = storage_check(s);
    if (rc != 0)
        return rc;
    rc = storage_table_there(s, STORAGE_TABLE_KV);
    if (rc <= 0)
        return rc;
    sqlite3_stmt *stmt = storage_own(s, range->reverse ? STORAGE_OWN_KV_LIST_DOWN : STORAGE_OWN_KV_LIST);
    if (stmt == NULL)
        return CD_EINVAL;
    struct cd_buf start = {0};
    cd_buf_add_str(&start, range->start);
    if (range->after)
        cd_buf_add_byte(&start, 0);
    storage_bind_text(stmt, 1, cd_buf_str(&start));
    if (range->end.ptr != NULL)
        storage_bind_text(stmt, 2, range->end);
    else
        (void)sqlite3_bind_zeroblob(stmt, 2, 0);
    (void)sqlite3_bind_int64(stmt, 3,
                             range->limit > 0 && range->limit < INT64_MAX ? (int64_t)range->limit : -1);
    rc = 0;
    while (rc == 0) {
        int step = storage_own_step(s, stmt);
        if (step == SQLITE_DONE)
            break;
        if (step != SQLITE_ROW) {
            rc = storage_fail(s);
            break;
        }
        const void *key = sqlite3_column_text(stmt, 0);
        size_t key_len = (size_t)sqlite3_column_bytes(stmt, 0);
        const void *value = sqlite3_column_blob(stmt, 1);
        rc = row(arg, cd_str_of(key, key_len), cd_str_of(value, (size_t)sqlite3_column_bytes(stmt, 1)));
    }
    (void)sqlite3_reset(stmt);
    (void)sqlite3_clear_bindings(stmt); /* start is on our stack. */
    cd_buf_deinit(&start);
    return rc;
}

/* ---- The name ---- */

int storage_name(struct storage *s, struct cd_buf *out)
{
    int rc = storage_check(s);
    if (rc == 0)
        rc = value_of(s, STORAGE_TABLE_META, STORAGE_OWN_META_GET, CD_STR("name"));
    if (rc == 0)
        cd_buf_add_str(out, cd_buf_str(&s->value));
    return rc;
}

int storage_name_set(struct storage *s, struct cd_str name)
{
    int rc = storage_check(s);
    return rc == 0 ? put(s, STORAGE_TABLE_META, STORAGE_OWN_META_PUT, CD_STR("name"), name) : rc;
}

/* ---- The end of everything ---- */

#define MINE "name NOT GLOB 'sqlite_*' AND name NOT IN ('_cf_alarm','_cf_meta')"

/* The first column of the first row, copied; *out is NULL when there is none. */
static int first_text(struct storage *s, const char *sql, char **out)
{
    sqlite3_stmt *stmt;
    *out = NULL;
    s->trusted++;
    int rc = sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL);
    s->trusted--;
    if (rc != SQLITE_OK)
        return storage_fail(s);
    rc = storage_own_step(s, stmt);
    if (rc == SQLITE_ROW)
        *out = cd_str_dup(cd_str_of(sqlite3_column_text(stmt, 0), (size_t)sqlite3_column_bytes(stmt, 0)));
    rc = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : storage_fail(s);
    (void)sqlite3_finalize(stmt);
    return rc;
}

/* Runs `verb "name"` for what the query names, until it names nothing more. */
static int drop_all(struct storage *s, const char *verb, const char *query)
{
    for (;;) {
        char *name;
        int rc = first_text(s, query, &name);
        if (rc != 0 || name == NULL)
            return rc;
        char *sql = sqlite3_mprintf("%s \"%w\"", verb, name);
        rc = storage_own_exec(s, sql);
        sqlite3_free(sql);
        cd_free(name);
        if (rc != 0)
            return rc;
    }
}

/* A table that others refer to cannot be dropped before they are empty: with the checks put off to the end
 * and no row left anywhere, none can fail. */
static int empty_tables(struct storage *s)
{
    char *name;
    int rc =
        first_text(s, "SELECT 1 FROM sqlite_schema AS t, pragma_foreign_key_list(t.name) LIMIT 1", &name);
    if (rc != 0 || name == NULL)
        return rc;
    cd_free(name);
    rc = storage_own_exec(s, "PRAGMA defer_foreign_keys=ON");
    struct cd_buf after = {0};
    while (rc == 0) {
        char *query = sqlite3_mprintf("SELECT name FROM sqlite_schema WHERE type='table' AND " MINE
                                      " AND name>%Q ORDER BY name LIMIT 1",
                                      cd_buf_cstr(&after));
        rc = first_text(s, query, &name);
        sqlite3_free(query);
        if (rc != 0 || name == NULL)
            break;
        char *sql = sqlite3_mprintf("DELETE FROM \"%w\"", name);
        rc = storage_own_exec(s, sql);
        sqlite3_free(sql);
        cd_buf_clear(&after);
        cd_buf_add_str(&after, cd_str(name));
        cd_free(name);
    }
    cd_buf_deinit(&after);
    return rc;
}

static int drop_everything(struct storage *s, bool alarm)
{
    int rc = drop_all(s, "DROP TRIGGER", "SELECT name FROM sqlite_schema WHERE type='trigger' LIMIT 1");
    if (rc == 0)
        rc = drop_all(s, "DROP VIEW", "SELECT name FROM sqlite_schema WHERE type='view' LIMIT 1");
    if (rc == 0) /* Before the tables that they keep their data in. */
        rc = drop_all(s, "DROP TABLE",
                      "SELECT name FROM sqlite_schema WHERE type='table' AND rootpage=0 LIMIT 1");
    if (rc == 0)
        rc = empty_tables(s);
    if (rc == 0)
        rc = drop_all(s, "DROP TABLE",
                      "SELECT name FROM sqlite_schema WHERE type='table' AND " MINE " LIMIT 1");
    if (rc == 0 && alarm)
        rc = storage_alarm_delete(s);
    return rc;
}

int storage_delete_all(struct storage *s, bool alarm)
{
    int rc = storage_check(s);
    if (rc == 0 && s->depth > 0)
        rc = storage_fail_text(s, CD_EINVAL, "Cannot call deleteAll() within a transaction");
    char *any = NULL;
    if (rc == 0)
        rc = first_text(s, "SELECT 1 FROM sqlite_schema WHERE " MINE " LIMIT 1", &any);
    bool empty = any == NULL;
    cd_free(any);
    if (rc != 0)
        return rc;
    if (empty)
        return alarm ? storage_alarm_delete(s) : 0;
    storage_cursors_end(s); /* They would hold locks on the tables. */
    rc = storage_begin(s, false);
    if (rc != 0)
        return rc;
    memset(s->has, 0, sizeof s->has);
    rc = drop_everything(s, alarm);
    int end_rc = storage_end(s, rc == 0);
    return rc != 0 ? rc : end_rc;
}
