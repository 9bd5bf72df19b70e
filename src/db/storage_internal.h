/* db/storage_internal.h: what the files of a storage share. */
#ifndef DB_STORAGE_INTERNAL_H
#define DB_STORAGE_INTERNAL_H

#include <sqlite3.h>

#include "base/list.h"
#include "base/map.h"
#include "db/storage.h"

/* Statements of our own, compiled when first needed; their texts are in storage.c. They may see the tables
 * whose names start with _cf_, so they are never found by their text. */
enum storage_own {
    STORAGE_OWN_SAVEPOINT,
    STORAGE_OWN_RELEASE,
    STORAGE_OWN_UNDO,
    STORAGE_OWN_TABLE,
    STORAGE_OWN_KV_GET,
    STORAGE_OWN_KV_PUT,
    STORAGE_OWN_KV_DELETE,
    STORAGE_OWN_KV_LIST,
    STORAGE_OWN_KV_LIST_DOWN,
    STORAGE_OWN_ALARM_GET,
    STORAGE_OWN_ALARM_PUT,
    STORAGE_OWN_META_GET,
    STORAGE_OWN_META_PUT,
    STORAGE_OWN_PAGES,
    STORAGE_OWN_PAGES_FREE,
    STORAGE_OWN_PAGE_SIZE,
    STORAGE_OWN_COUNT
};

enum storage_table { STORAGE_TABLE_KV, STORAGE_TABLE_ALARM, STORAGE_TABLE_META, STORAGE_TABLE_COUNT };

struct storage {
    struct storage_opts opts;
    sqlite3 *db;
    struct cd_buf error;
    char *broken; /* owned */
    bool open; /* A transaction of SQLite. */
    unsigned depth; /* Savepoints in it. */
    bool level_opened; /* It was opened by the outermost of them. */
    sqlite3_stmt *own[STORAGE_OWN_COUNT]; /* owned; NULL until used */
    bool has[STORAGE_TABLE_COUNT]; /* The table is known to be there. */
    unsigned trusted; /* Our own SQL runs: the authorizer lets everything pass. */
    bool saw_transaction, saw_alter, saw_create; /* By the authorizer, in what is being compiled. */
    struct cd_buf value; /* What storage_kv_get gave. */

    struct cd_map statements; /* Text -> struct storage_statement, owned. */
    struct cd_list recent; /* The same, struct storage_statement.link; the latest used first. */
    size_t statements_size;
    uint64_t last_shape;
    struct cd_list cursors; /* struct storage_cursor.link */

    struct storage_alarm alarm;
    bool alarm_runs;
    struct storage_alarm alarm_run; /* As it was when the handler started. */

    bool (*interrupted)(void *arg);
    void *interrupted_arg;
};

/* ---- Errors: storage.c ---- */

/* Fails with the text of SQLite's last error, and looks whether the transaction was lost. */
int storage_fail(struct storage *s);
int storage_fail_text(struct storage *s, int code, const char *format, ...) CD_PRINTF(3, 4);
int storage_check(struct storage *s); /* CD_ECLOSED when it is broken. */

/* ---- Own SQL: storage.c ---- */

/* The statement, reset and without bindings. NULL: storage_error says why. */
sqlite3_stmt *storage_own(struct storage *s, enum storage_own which);
/* Steps it with our rights: SQLITE_ROW, SQLITE_DONE or an error of SQLite. */
int storage_own_step(struct storage *s, sqlite3_stmt *stmt);
/* Steps a statement that gives no rows, and resets it. */
int storage_own_run(struct storage *s, sqlite3_stmt *stmt);
/* The number in the one row that it gives. */
CD_MUST_USE int storage_own_number(struct storage *s, enum storage_own which, uint64_t *out);
int storage_own_exec(struct storage *s, const char *sql);
/* 1: the table is there. 0: it is not. Else an error. */
int storage_table_there(struct storage *s, enum storage_table table);
int storage_table_make(struct storage *s, enum storage_table table); /* Unless it is there. */
int storage_write_begin(struct storage *s); /* Opens the turn's transaction, unless it is open. */
void storage_cursors_end(struct storage *s); /* Later uses of open cursors fail. */
void storage_statements_trim(struct storage *s, size_t size_max);

/* ---- sql_rules.c ---- */

void storage_rules_install(struct storage *s);
bool storage_rules_function(const char *name); /* Whether SQL may call it. */

/* ---- alarm.c ---- */

int storage_alarm_load(struct storage *s); /* After a rollback. */

static inline void storage_bind_text(sqlite3_stmt *stmt, int index, struct cd_str text)
{
    /* An empty text may have no address, which SQLite takes for NULL. Too long: the step tells. */
    (void)sqlite3_bind_text64(stmt, index, text.ptr == NULL ? "" : text.ptr, text.len, SQLITE_STATIC,
                              SQLITE_UTF8);
}

#endif
