/* db/sql.c: statements of the cell's code and their cursors. services.md 1.5.
 *
 * Statements are kept compiled, by their text, the latest used first. One that a cursor uses is busy: the
 * same text is then compiled once more, for that cursor alone. */
#include "db/storage_internal.h"

struct storage_statement {
    struct cd_link link; /* In s->recent; not linked: it is in no cache. */
    sqlite3_stmt *stmt; /* owned */
    struct cd_str text; /* owned, when it is in the cache */
    uint64_t shape;
    int compiled; /* How often SQLite had done it again when shape was set; */
    int measured; /* and when size was. */
    size_t size; /* As counted in s->statements_size; 0: it is in no cache. */
    bool busy, alters, writes;
};

struct storage_cursor {
    struct storage *s;
    struct cd_link link;
    struct storage_statement *st; /* NULL: the storage took it away. */
    bool row, done;
    const char *ended; /* Why its next use fails; NULL: it does not. */
    uint64_t returned, read, written;
    int64_t changes; /* total_changes when it began. */
};

/* ---- Statements ---- */

static void statement_free(struct storage_statement *st)
{
    (void)sqlite3_finalize(st->stmt);
    cd_free((char *)(uintptr_t)st->text.ptr);
    cd_free(st);
}

static void uncache(struct storage *s, struct storage_statement *st)
{
    cd_map_remove(&s->statements, st->text);
    cd_link_remove(&st->link);
    s->statements_size -= st->size;
}

static int recompiled(const struct storage_statement *st)
{
    return sqlite3_stmt_status(st->stmt, SQLITE_STMTSTATUS_REPREPARE, 0);
}

void storage_statements_trim(struct storage *s, size_t size_max)
{
    struct cd_link *k = s->recent.head.prev;
    while (k != &s->recent.head && s->statements_size > size_max) {
        struct storage_statement *st = CD_CONTAINER(k, struct storage_statement, link);
        k = k->prev;
        if (!st->busy) {
            uncache(s, st);
            statement_free(st);
        }
    }
}

/* Idle and without bindings. SQLite walks through all of a statement for this. */
static void measure(struct storage *s, struct storage_statement *st)
{
    size_t size = st->text.len + (size_t)sqlite3_stmt_status(st->stmt, SQLITE_STMTSTATUS_MEMUSED, 0);
    s->statements_size += size - st->size;
    st->size = size;
    st->measured = recompiled(st);
}

static void statement_release(struct storage *s, struct storage_statement *st)
{
    (void)sqlite3_reset(st->stmt); /* Its error was taken from the step. */
    (void)sqlite3_clear_bindings(st->stmt);
    st->busy = false;
    if (!cd_link_linked(&st->link)) {
        statement_free(st);
        return;
    }
    cd_link_remove(&st->link);
    cd_list_push_front(&s->recent, &st->link);
    if (recompiled(st) != st->measured) /* For another schema: it may have grown. */
        measure(s, st);
    if (s->statements_size > STORAGE_CACHE_MAX)
        storage_statements_trim(s, STORAGE_CACHE_MAX);
}

/* Where the next statement starts: behind blanks, semicolons and comments. */
static size_t skip_blank(struct cd_str sql, size_t at)
{
    while (at < sql.len) {
        char c = sql.ptr[at], next = at + 1 < sql.len ? sql.ptr[at + 1] : 0;
        if (c == ' ' || (c >= '\t' && c <= '\r') || c == ';') {
            at++;
        } else if (c == '-' && next == '-') {
            size_t end = cd_str_find(sql, '\n', at);
            at = end == SIZE_MAX ? sql.len : end + 1;
        } else if (c == '/' && next == '*') {
            size_t end = cd_str_find_str(sql, CD_STR("*/"), at + 2);
            at = end == SIZE_MAX ? sql.len : end + 2;
        } else {
            break;
        }
    }
    return at;
}

/* Whether a statement may name a table of ours, in whatever place. */
static bool mentions_ours(struct cd_str sql)
{
    for (size_t at = cd_str_find(sql, '_', 0); at != SIZE_MAX; at = cd_str_find(sql, '_', at + 1)) {
        if (cd_str_eq_nocase(cd_str_sub(sql, at, 4), CD_STR("_cf_")))
            return true;
    }
    return false;
}

/* VACUUM asks nobody while it is compiled. */
static bool is_vacuum(struct cd_str sql)
{
    return cd_str_eq_nocase(cd_str_sub(sql, 0, 6), CD_STR("vacuum"));
}

/* Compiles the statement at the front of sql, which ends with a NUL behind it. used: its bytes. */
static int compile(struct storage *s, struct cd_str sql, bool keep, struct storage_statement **out,
                   size_t *used)
{
    if (sql.len == 0)
        return storage_fail_text(s, CD_EINVAL, "SQL code did not contain a statement.");
    if (is_vacuum(sql))
        return storage_fail_text(s, CD_EINVAL, "not authorized: SQLITE_AUTH");
    sqlite3_stmt *stmt;
    const char *tail;
    s->saw_alter = s->saw_create = s->saw_transaction = false;
    int length = sql.len < INT32_MAX ? (int)sql.len + 1 : INT32_MAX; /* SQLite has a limit of its own. */
    int rc = sqlite3_prepare_v3(s->db, sql.ptr, length, keep ? SQLITE_PREPARE_PERSISTENT : 0, &stmt, &tail);
    if (rc != SQLITE_OK && s->saw_transaction)
        return storage_fail_text(s, CD_EINVAL,
                                 "To execute a transaction, please use the state.storage.transaction() or "
                                 "state.storage.transactionSync() APIs: SQL statements that begin or end "
                                 "transactions and savepoints are not available.");
    if (rc != SQLITE_OK)
        return storage_fail(s);
    if (stmt == NULL)
        return storage_fail_text(s, CD_EINVAL, "SQL code did not contain a statement.");
    struct storage_statement *st = cd_new(struct storage_statement);
    st->stmt = stmt;
    st->alters =
        s->saw_alter || (s->saw_create && mentions_ours(cd_str_sub(sql, 0, (size_t)(tail - sql.ptr))));
    st->writes = sqlite3_stmt_readonly(stmt) == 0;
    st->shape = ++s->last_shape;
    *out = st;
    *used = (size_t)(tail - sql.ptr);
    return 0;
}

/* ---- Cursors ---- */

static void end(struct storage_cursor *c)
{
    c->row = false;
    if (c->st != NULL)
        statement_release(c->s, c->st);
    c->st = NULL;
}

void storage_cursors_end(struct storage *s)
{
    struct cd_link *k;
    while ((k = cd_list_pop(&s->cursors)) != NULL) {
        struct storage_cursor *c = CD_CONTAINER(k, struct storage_cursor, link);
        c->ended = "The cursor was closed: its data was dropped.";
        end(c);
    }
}

static void count(struct storage_cursor *c)
{
    struct storage_statement *st = c->st;
    uint64_t steps = (uint64_t)sqlite3_stmt_status(st->stmt, SQLITE_STMTSTATUS_FULLSCAN_STEP, 0);
    steps += steps > 0; /* The first row of a scan takes no step. */
    c->read = c->returned > steps ? c->returned : steps;
    if (st->writes)
        c->written = (uint64_t)(sqlite3_total_changes64(c->s->db) - c->changes);
}

int storage_cursor_next(struct storage_cursor *c)
{
    struct storage *s = c->s;
    if (c->ended != NULL)
        return storage_fail_text(s, CD_ECLOSED, "%s", c->ended);
    if (c->done)
        return 0;
    int rc = storage_check(s);
    if (rc != 0)
        return rc;
    rc = sqlite3_step(c->st->stmt);
    c->row = rc == SQLITE_ROW;
    c->returned += c->row;
    count(c);
    if (c->row)
        return 0;
    c->done = true;
    rc = rc == SQLITE_DONE ? 0 : storage_fail(s);
    (void)sqlite3_reset(c->st->stmt); /* It holds no locks any more. Its error was taken from the step. */
    return rc;
}

/* The names that ALTER TABLE gives, and the tables that foreign keys lead to, are not known while a statement
 * is compiled. A key of ours that something refers to could not be deleted. */
static int check_names(struct storage *s)
{
    sqlite3_stmt *stmt;
    s->trusted++;
    int rc = sqlite3_prepare_v2(s->db,
                                "SELECT 1 FROM sqlite_schema WHERE name LIKE '\\_cf\\_%' ESCAPE '\\'"
                                " AND name NOT IN ('_cf_KV','_cf_alarm','_cf_meta') UNION ALL "
                                "SELECT 1 FROM sqlite_schema m, pragma_foreign_key_list(m.name) f WHERE"
                                " m.type = 'table' AND f.\"table\" LIKE '\\_cf\\_%' ESCAPE '\\'",
                                -1, &stmt, NULL);
    rc = rc == SQLITE_OK ? sqlite3_step(stmt) : rc;
    s->trusted--;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        (void)storage_fail(s);
    else if (rc == SQLITE_ROW)
        (void)storage_fail_text(s, CD_EINVAL, "not authorized: SQLITE_AUTH");
    (void)sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? 0 : CD_EINVAL;
}

/* The first step. What changes names gives no rows: it is done then. */
static int first_step(struct storage_cursor *c)
{
    struct storage *s = c->s;
    if (!c->st->alters)
        return storage_cursor_next(c);
    int rc = storage_begin(s, false);
    if (rc != 0)
        return rc;
    rc = storage_cursor_next(c);
    if (rc == 0)
        rc = check_names(s);
    int end_rc = storage_end(s, rc == 0);
    return rc != 0 ? rc : end_rc;
}

static int bind(struct storage *s, sqlite3_stmt *stmt, const struct storage_value *v, int index)
{
    int rc = SQLITE_OK;
    switch (v->type) {
    case STORAGE_NULL: break;
    case STORAGE_INTEGER: rc = sqlite3_bind_int64(stmt, index, v->integer); break;
    case STORAGE_REAL: rc = sqlite3_bind_double(stmt, index, v->real); break;
    case STORAGE_TEXT:
        rc = sqlite3_bind_text64(stmt, index, v->bytes.len == 0 ? "" : v->bytes.ptr, v->bytes.len,
                                 SQLITE_TRANSIENT, SQLITE_UTF8);
        break;
    case STORAGE_BLOB:
        rc = sqlite3_bind_blob64(stmt, index, v->bytes.len == 0 ? "" : v->bytes.ptr, v->bytes.len,
                                 SQLITE_TRANSIENT);
        break;
    }
    return rc == SQLITE_OK ? 0 : storage_fail(s);
}

/* Runs st up to its first row. st is given away, whatever happens. */
static int start(struct storage *s, struct storage_statement *st, const struct storage_value *values,
                 unsigned n, struct storage_cursor **out)
{
    st->busy = true;
    struct storage_cursor *c = cd_new(struct storage_cursor);
    c->s = s;
    c->st = st;
    cd_list_push(&s->cursors, &c->link);
    int rc = 0;
    if ((unsigned)sqlite3_bind_parameter_count(st->stmt) != n)
        rc = storage_fail_text(s, CD_EINVAL, "Wrong number of parameter bindings for SQL query.");
    for (unsigned i = 0; i < n && rc == 0; i++)
        rc = bind(s, st->stmt, &values[i], (int)i + 1);
    if (rc == 0 && st->writes)
        rc = storage_write_begin(s);
    (void)sqlite3_stmt_status(st->stmt, SQLITE_STMTSTATUS_FULLSCAN_STEP, 1);
    c->changes = sqlite3_total_changes64(s->db);
    if (rc == 0)
        rc = first_step(c);
    if (rc != 0) {
        storage_cursor_close(c);
        return rc;
    }
    *out = c;
    return 0;
}

static int run_to_end(struct storage *s, struct storage_statement *st)
{
    struct storage_cursor *c;
    int rc = start(s, st, NULL, 0, &c);
    if (rc != 0)
        return rc;
    while (rc == 0 && c->row)
        rc = storage_cursor_next(c);
    storage_cursor_close(c);
    return rc;
}

static void cache(struct storage *s, struct storage_statement *st, struct cd_str text)
{
    st->text = cd_str_of(cd_str_dup(text), text.len);
    cd_map_put(&s->statements, st->text, st);
    cd_list_push_front(&s->recent, &st->link);
    measure(s, st);
}

int storage_sql(struct storage *s, struct cd_str sql, const struct storage_value *values, unsigned n,
                struct storage_cursor **out)
{
    int rc = storage_check(s);
    if (rc != 0)
        return rc;
    struct storage_statement *st = cd_map_get(&s->statements, sql);
    if (st != NULL && !st->busy)
        return start(s, st, values, n, out);
    bool known = st != NULL;
    if (sql.len > STORAGE_SQL_MAX)
        return storage_fail_text(s, CD_EINVAL, "statement too long: SQLITE_TOOBIG");
    struct cd_buf text = {0};
    cd_buf_add_str(&text, sql);
    sql = cd_str_of(cd_buf_cstr(&text), text.len);
    size_t first = skip_blank(sql, 0), at = first, used = 0;
    for (;;) {
        struct cd_str rest = cd_str_sub(sql, at, SIZE_MAX);
        rc = compile(s, rest, !known, &st, &used);
        if (rc != 0)
            break;
        size_t next = skip_blank(sql, at + used);
        if (next == sql.len) {
            if (at == first && !known)
                cache(s, st, sql);
            rc = start(s, st, values, n, out);
            break;
        }
        if (sqlite3_bind_parameter_count(st->stmt) > 0) {
            statement_free(st);
            rc = storage_fail_text(s, CD_EINVAL,
                                   "When executing multiple SQL statements in a single call, only the last "
                                   "statement can have parameters.");
            break;
        }
        rc = run_to_end(s, st);
        if (rc != 0)
            break;
        at = next;
    }
    cd_buf_deinit(&text);
    return rc;
}

void storage_cursor_close(struct storage_cursor *c)
{
    end(c);
    cd_link_remove(&c->link);
    cd_free(c);
}

bool storage_cursor_row(const struct storage_cursor *c)
{
    return c->row;
}

unsigned storage_cursor_columns(const struct storage_cursor *c)
{
    return c->st == NULL ? 0 : (unsigned)sqlite3_column_count(c->st->stmt);
}

struct cd_str storage_cursor_name(const struct storage_cursor *c, unsigned column)
{
    return cd_str(sqlite3_column_name(c->st->stmt, (int)column));
}

uint64_t storage_cursor_shape(const struct storage_cursor *c)
{
    struct storage_statement *st = c->st;
    if (st == NULL)
        return 0;
    int compiled = recompiled(st);
    if (compiled != st->compiled) {
        st->compiled = compiled;
        st->shape = ++c->s->last_shape;
    }
    return st->shape;
}

void storage_cursor_value(struct storage_cursor *c, unsigned column, struct storage_value *out)
{
    sqlite3_stmt *stmt = c->st->stmt;
    int at = (int)column;
    switch (sqlite3_column_type(stmt, at)) {
    case SQLITE_INTEGER:
        *out = (struct storage_value){.type = STORAGE_INTEGER, .integer = sqlite3_column_int64(stmt, at)};
        break;
    case SQLITE_FLOAT:
        *out = (struct storage_value){.type = STORAGE_REAL, .real = sqlite3_column_double(stmt, at)};
        break;
    case SQLITE_TEXT:
        out->type = STORAGE_TEXT;
        out->bytes.ptr = (const char *)sqlite3_column_text(stmt, at);
        out->bytes.len = (size_t)sqlite3_column_bytes(stmt, at);
        break;
    case SQLITE_BLOB:
        out->type = STORAGE_BLOB;
        out->bytes.ptr = sqlite3_column_blob(stmt, at);
        out->bytes.len = (size_t)sqlite3_column_bytes(stmt, at);
        break;
    default: *out = (struct storage_value){.type = STORAGE_NULL};
    }
}

bool storage_cursor_writes(const struct storage_cursor *c)
{
    return c->st != NULL && c->st->writes;
}

uint64_t storage_cursor_read(const struct storage_cursor *c)
{
    return c->read;
}

uint64_t storage_cursor_written(const struct storage_cursor *c)
{
    return c->written;
}

/* ---- Size ---- */

int storage_size(struct storage *s, uint64_t *bytes)
{
    uint64_t pages, unused, size;
    int rc = storage_check(s);
    if (rc == 0)
        rc = storage_own_number(s, STORAGE_OWN_PAGES, &pages);
    if (rc == 0)
        rc = storage_own_number(s, STORAGE_OWN_PAGES_FREE, &unused);
    if (rc == 0)
        rc = storage_own_number(s, STORAGE_OWN_PAGE_SIZE, &size);
    if (rc == 0)
        *bytes = (pages - unused) * size;
    return rc;
}
