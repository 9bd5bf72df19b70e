/* db/storage.c: opening a storage, its errors, its own statements, its transactions. */
#include "db/storage.h"

#include <stdio.h>

#include "db/storage_internal.h"

/* Of SQLite's machine, between two looks at interrupted: about a millisecond. */
#define PROGRESS_STEPS 10000

static const char *const own_text[STORAGE_OWN_COUNT] = {
    /* SQLite means the innermost of savepoints with the same name. */
    [STORAGE_OWN_SAVEPOINT] = "SAVEPOINT _cf_level",
    [STORAGE_OWN_RELEASE] = "RELEASE _cf_level",
    [STORAGE_OWN_UNDO] = "ROLLBACK TO _cf_level",
    [STORAGE_OWN_TABLE] = "SELECT 1 FROM sqlite_schema WHERE type='table' AND name=?1",
    [STORAGE_OWN_KV_GET] = "SELECT value FROM _cf_KV WHERE key=?1",
    [STORAGE_OWN_KV_PUT] = "INSERT OR REPLACE INTO _cf_KV(key,value) VALUES(?1,?2)",
    [STORAGE_OWN_KV_DELETE] = "DELETE FROM _cf_KV WHERE key=?1",
    [STORAGE_OWN_KV_LIST] = "SELECT key,value FROM _cf_KV WHERE key>=?1 AND key<?2 ORDER BY key LIMIT ?3",
    [STORAGE_OWN_KV_LIST_DOWN] =
        "SELECT key,value FROM _cf_KV WHERE key>=?1 AND key<?2 ORDER BY key DESC LIMIT ?3",
    [STORAGE_OWN_ALARM_GET] = "SELECT due_ms,inst_seq,retry_count,counted_retries FROM _cf_alarm WHERE id=1",
    [STORAGE_OWN_ALARM_PUT] = "INSERT OR REPLACE INTO _cf_alarm VALUES(1,?1,?2,?3,?4,?5)",
    [STORAGE_OWN_META_GET] = "SELECT value FROM _cf_meta WHERE key=?1",
    [STORAGE_OWN_META_PUT] = "INSERT OR REPLACE INTO _cf_meta(key,value) VALUES(?1,?2)",
    [STORAGE_OWN_PAGES] = "PRAGMA page_count",
    [STORAGE_OWN_PAGES_FREE] = "PRAGMA freelist_count",
    [STORAGE_OWN_PAGE_SIZE] = "PRAGMA page_size",
};

static const struct {
    const char *name, *make;
} tables[STORAGE_TABLE_COUNT] = {
    [STORAGE_TABLE_KV] = {"_cf_KV", "CREATE TABLE _cf_KV(key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID"},
    [STORAGE_TABLE_ALARM] = {"_cf_alarm",
                             "CREATE TABLE _cf_alarm(id INTEGER PRIMARY KEY CHECK(id=1), due_ms INTEGER,"
                             " inst_seq INTEGER NOT NULL, retry_count INTEGER NOT NULL,"
                             " counted_retries INTEGER NOT NULL, last_outcome TEXT NOT NULL)"},
    [STORAGE_TABLE_META] = {"_cf_meta", "CREATE TABLE _cf_meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID"},
};

/* ---- Errors ---- */

static const char *code_name(int code)
{
    static const struct {
        int code;
        const char *name;
    } names[] = {
#define N(x) {SQLITE_##x, "SQLITE_" #x}
        N(ERROR),
        N(INTERNAL),
        N(PERM),
        N(ABORT),
        N(BUSY),
        N(LOCKED),
        N(NOMEM),
        N(READONLY),
        N(INTERRUPT),
        N(IOERR),
        N(CORRUPT),
        N(NOTFOUND),
        N(FULL),
        N(CANTOPEN),
        N(PROTOCOL),
        N(SCHEMA),
        N(TOOBIG),
        N(CONSTRAINT),
        N(MISMATCH),
        N(MISUSE),
        N(NOLFS),
        N(AUTH),
        N(RANGE),
        N(NOTADB),
        N(CONSTRAINT_CHECK),
        N(CONSTRAINT_DATATYPE),
        N(CONSTRAINT_FOREIGNKEY),
        N(CONSTRAINT_FUNCTION),
        N(CONSTRAINT_NOTNULL),
        N(CONSTRAINT_PRIMARYKEY),
        N(CONSTRAINT_ROWID),
        N(CONSTRAINT_TRIGGER),
        N(CONSTRAINT_UNIQUE),
        N(CONSTRAINT_VTAB),
        N(CORRUPT_VTAB),
#undef N
    };
    for (unsigned i = 0; i < CD_COUNT(names); i++) {
        if (names[i].code == code)
            return names[i].name;
    }
    return NULL;
}

static void roll_back(struct storage *s)
{
    if (!s->open)
        return;
    s->trusted++;
    s->opts.rollback(s->opts.arg);
    s->trusted--;
    s->open = false;
    s->depth = 0;
}

static void give_up(struct storage *s)
{
    if (s->broken == NULL)
        s->broken = cd_str_dup(cd_buf_str(&s->error));
    roll_back(s);
}

int storage_fail(struct storage *s)
{
    int extended = sqlite3_extended_errcode(s->db), code = extended & 0xff;
    int offset = sqlite3_error_offset(s->db);
    const char *name = code_name(code), *more = code_name(extended);
    cd_buf_clear(&s->error);
    cd_buf_addf(&s->error, "%s", sqlite3_errmsg(s->db));
    if (offset >= 0)
        cd_buf_addf(&s->error, " at offset %d", offset);
    cd_buf_addf(&s->error, ": %s", name != NULL ? name : "SQLITE_ERROR");
    if (extended != code && more != NULL)
        cd_buf_addf(&s->error, " (extended: %s)", more);
    bool lost = s->open && sqlite3_get_autocommit(s->db) != 0;
    /* A virtual table says CORRUPT_VTAB for mistakes of its user. */
    bool fatal = code == SQLITE_IOERR || code == SQLITE_NOMEM || code == SQLITE_NOTADB ||
                 (code == SQLITE_CORRUPT && extended != SQLITE_CORRUPT_VTAB);
    if (lost || fatal)
        give_up(s);
    return CD_EINVAL;
}

int storage_fail_text(struct storage *s, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    cd_buf_clear(&s->error);
    cd_buf_vaddf(&s->error, format, args);
    va_end(args);
    return code;
}

int storage_check(struct storage *s)
{
    if (s->broken == NULL)
        return 0;
    return storage_fail_text(s, CD_ECLOSED, "%s", s->broken);
}

struct cd_str storage_error(const struct storage *s)
{
    return cd_buf_str(&s->error);
}

const char *storage_broken(const struct storage *s)
{
    return s->broken;
}

/* ---- Own SQL ---- */

sqlite3_stmt *storage_own(struct storage *s, enum storage_own which)
{
    if (s->own[which] != NULL)
        return s->own[which];
    s->trusted++;
    int rc = sqlite3_prepare_v3(s->db, own_text[which], -1, SQLITE_PREPARE_PERSISTENT, &s->own[which], NULL);
    s->trusted--;
    if (rc != SQLITE_OK)
        storage_fail(s);
    return s->own[which];
}

int storage_own_step(struct storage *s, sqlite3_stmt *stmt)
{
    s->trusted++; /* It may be compiled again. */
    int rc = sqlite3_step(stmt);
    s->trusted--;
    return rc;
}

int storage_own_run(struct storage *s, sqlite3_stmt *stmt)
{
    int rc = storage_own_step(s, stmt);
    rc = rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : storage_fail(s);
    (void)sqlite3_reset(stmt); /* The error was taken from the step. */
    return rc;
}

int storage_own_number(struct storage *s, enum storage_own which, uint64_t *out)
{
    sqlite3_stmt *stmt = storage_own(s, which);
    if (stmt == NULL)
        return CD_EINVAL;
    int rc = storage_own_step(s, stmt) == SQLITE_ROW ? 0 : storage_fail(s);
    if (rc == 0)
        *out = (uint64_t)sqlite3_column_int64(stmt, 0);
    (void)sqlite3_reset(stmt);
    return rc;
}

int storage_own_exec(struct storage *s, const char *sql)
{
    s->trusted++;
    int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
    s->trusted--;
    return rc == SQLITE_OK ? 0 : storage_fail(s);
}

int storage_table_there(struct storage *s, enum storage_table table)
{
    if (s->has[table])
        return 1;
    sqlite3_stmt *stmt = storage_own(s, STORAGE_OWN_TABLE);
    if (stmt == NULL)
        return CD_EINVAL;
    storage_bind_text(stmt, 1, cd_str(tables[table].name));
    int rc = storage_own_step(s, stmt);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        storage_fail(s);
    s->has[table] = rc == SQLITE_ROW;
    (void)sqlite3_reset(stmt);
    return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : CD_EINVAL;
}

int storage_table_make(struct storage *s, enum storage_table table)
{
    int rc = storage_table_there(s, table);
    if (rc != 0)
        return rc > 0 ? 0 : rc;
    rc = storage_own_exec(s, tables[table].make);
    s->has[table] = rc == 0;
    return rc;
}

/* ---- Transactions ---- */

int storage_write_begin(struct storage *s)
{
    if (s->open)
        return 0;
    struct cd_buf why = {0};
    s->trusted++;
    int rc = s->opts.begin(s->opts.arg, &why);
    s->trusted--;
    if (rc != 0) {
        (void)storage_fail_text(s, CD_ECLOSED, "%s", cd_buf_cstr(&why));
        give_up(s);
        rc = CD_ECLOSED;
    } else {
        s->open = true;
    }
    cd_buf_deinit(&why);
    return rc;
}

static int commit(struct storage *s)
{
    struct cd_buf why = {0};
    s->trusted++;
    int rc = s->opts.commit(s->opts.arg, &s->alarm, &why);
    s->trusted--;
    s->open = false;
    s->depth = 0;
    if (rc != 0) {
        rc = storage_fail_text(s, CD_ECLOSED, "%s", cd_buf_cstr(&why));
        give_up(s);
    }
    cd_buf_deinit(&why);
    return rc;
}

int storage_turn_end(struct storage *s, struct cd_buf *why)
{
    int rc = storage_check(s);
    if (rc == 0 && s->open && s->depth == 0)
        rc = commit(s);
    if (rc != 0)
        cd_buf_add_str(why, storage_error(s));
    return rc;
}

bool storage_uncommitted(const struct storage *s)
{
    return s->open;
}

unsigned storage_depth(const struct storage *s)
{
    return s->depth;
}

static int own_simple(struct storage *s, enum storage_own which)
{
    sqlite3_stmt *stmt = storage_own(s, which);
    return stmt == NULL ? CD_EINVAL : storage_own_run(s, stmt);
}

int storage_begin(struct storage *s, bool commit_first)
{
    int rc = storage_check(s);
    if (rc == 0 && s->depth == STORAGE_DEPTH_MAX)
        rc = storage_fail_text(s, CD_EINVAL, "Transactions cannot be nested more than %d deep.",
                               STORAGE_DEPTH_MAX);
    if (rc == 0 && commit_first && s->open && s->depth == 0)
        rc = commit(s);
    if (rc == 0 && s->depth == 0)
        s->level_opened = !s->open;
    if (rc == 0)
        rc = storage_write_begin(s);
    if (rc == 0)
        rc = own_simple(s, STORAGE_OWN_SAVEPOINT);
    if (rc == 0)
        s->depth++;
    return rc;
}

/* What we remember of the tables may be of writes that were undone. */
static int undone(struct storage *s)
{
    memset(s->has, 0, sizeof s->has);
    return storage_alarm_load(s);
}

int storage_end(struct storage *s, bool keep)
{
    if (s->broken != NULL) {
        if (!keep)
            return 0;
        return storage_fail_text(s, CD_ECLOSED,
                                 "Cannot commit transaction due to an earlier SQL critical error");
    }
    CD_ASSERT(s->depth > 0);
    if (!keep && s->depth == 1 && s->level_opened) {
        roll_back(s); /* There is nothing else in it, so nothing is to be committed. */
        return undone(s);
    }
    int rc = keep ? 0 : own_simple(s, STORAGE_OWN_UNDO);
    if (rc == 0)
        rc = own_simple(s, STORAGE_OWN_RELEASE);
    if (rc == 0)
        s->depth--;
    if (rc == 0 && !keep)
        rc = undone(s);
    if (rc != 0)
        give_up(s); /* Of a level that is neither kept nor undone nothing can be said. */
    return rc;
}

/* ---- Opening and closing ---- */

static int on_progress(void *arg)
{
    struct storage *s = arg;
    return s->interrupted(s->interrupted_arg);
}

void storage_interruptible(struct storage *s, bool (*wanted)(void *arg), void *arg)
{
    s->interrupted = wanted;
    s->interrupted_arg = arg;
    sqlite3_progress_handler(s->db, wanted != NULL ? PROGRESS_STEPS : 0, wanted != NULL ? on_progress : NULL,
                             s);
}

static int limit_size(struct storage *s)
{
    uint64_t page;
    int rc = storage_own_number(s, STORAGE_OWN_PAGE_SIZE, &page);
    if (rc != 0)
        return rc;
    char text[64];
    snprintf(text, sizeof text, "PRAGMA max_page_count=%llu", (unsigned long long)(STORAGE_SIZE_MAX / page));
    return storage_own_exec(s, text);
}

int storage_open(struct storage **out, const struct storage_opts *opts, struct cd_buf *why)
{
    struct storage *s = cd_new(struct storage);
    s->opts = *opts;
    s->db = opts->sqlite;
    cd_list_init(&s->recent);
    cd_list_init(&s->cursors);
    storage_rules_install(s);
    int rc = limit_size(s);
    if (rc == 0)
        rc = storage_alarm_load(s);
    if (rc != 0) {
        cd_buf_add_str(why, storage_error(s));
        storage_close(s);
        return CD_ECORRUPT;
    }
    *out = s;
    return 0;
}

void storage_trim(struct storage *s)
{
    storage_statements_trim(s, 0);
    for (unsigned i = 0; i < STORAGE_OWN_COUNT; i++) {
        (void)sqlite3_finalize(s->own[i]);
        s->own[i] = NULL;
    }
    (void)sqlite3_db_release_memory(s->db);
}

void storage_close(struct storage *s)
{
    storage_cursors_end(s);
    storage_trim(s);
    roll_back(s);
    sqlite3_progress_handler(s->db, 0, NULL, NULL);
    (void)sqlite3_set_authorizer(s->db, NULL, NULL);
    cd_map_deinit(&s->statements);
    cd_buf_deinit(&s->error);
    cd_buf_deinit(&s->value);
    cd_free(s->broken);
    cd_free(s);
}
