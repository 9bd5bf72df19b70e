/* db/storage.h: what a cell keeps: key-value pairs, SQL, its alarm and its name, in one SQLite database.
 * services.md 1.3 to 1.6; fleet.md 8.1.
 *
 * Everything is synchronous and belongs to the loop of the database. Nothing here knows JavaScript: values of
 * pairs are bytes, those of SQL are struct storage_value.
 *
 * Transactions: the first write of a turn opens one, storage_turn_end commits it, so the writes of a turn
 * stand or fall together. storage_begin/end nest in it as savepoints. While one of those is open, the turn's
 * end commits nothing.
 *
 * Errors: a call that fails returns a code, and storage_error(s) is the text for the user, as in
 * "no such table: t: SQLITE_ERROR". CD_ETOOBIG is for keys only. When SQLite lost the transaction (disk full,
 * I/O error, corrupt file) or a commit failed, the storage is broken: storage_broken(s) says why, every later
 * call fails with CD_ECLOSED, and the cell is to be reset. */
#ifndef DB_STORAGE_H
#define DB_STORAGE_H

#include "base/buf.h"

struct sqlite3;
struct storage;
struct storage_cursor;

#define STORAGE_KEY_MAX 2048 /* Bytes of a key. */
#define STORAGE_ROW_MAX 2200000 /* Bytes of a string, a blob, a row; of a key with its value. */
#define STORAGE_SQL_MAX 100000 /* Bytes of one call's SQL text. */
#define STORAGE_PARAMETERS_MAX 100
#define STORAGE_SIZE_MAX ((uint64_t)10 << 30) /* Bytes of a database. */
#define STORAGE_CACHE_MAX (1u << 20) /* Bytes of compiled statements that are kept. */

/* The alarm of a cell: table _cf_alarm. inst_seq rises with every change of it. */
struct storage_alarm {
    bool armed;
    int64_t due_ms; /* Wall clock. */
    uint64_t inst_seq;
    uint32_t retry_count; /* Failures since it was set. */
    uint32_t counted_retries; /* Those that count towards the limit. */
};

/* How transactions of the database begin and end. Each is called outside of any other call on the storage's
 * owner and must not call the storage. */
struct storage_opts {
    /* Open; borrowed until storage_close. Until then an authorizer guards it: others run SQL on it in begin,
     * commit and rollback only. */
    struct sqlite3 *sqlite;
    CD_MUST_USE int (*begin)(void *arg, struct cd_buf *why); /* Opens a transaction of SQLite. */
    /* Commits it. alarm: the alarm as the transaction leaves it. On failure nothing of it is kept, whatever
     * SQLite says, and why has the reason. */
    CD_MUST_USE int (*commit)(void *arg, const struct storage_alarm *alarm, struct cd_buf *why);
    void (*rollback)(void *arg); /* Also when SQLite rolled back by itself. */
    void *arg;
};

/* Reads the alarm, limits SQLite to what a cell may do. Writes nothing: tables are made when first needed. On
 * failure (CD_ECORRUPT) why has the reason. */
CD_MUST_USE int storage_open(struct storage **out, const struct storage_opts *opts, struct cd_buf *why);
/* Ends all cursors and rolls back what is not committed. */
void storage_close(struct storage *s);

/* Asked every few thousand steps of a statement; true: it ends with SQLITE_INTERRUPT. NULL: never asked. */
void storage_interruptible(struct storage *s, bool (*wanted)(void *arg), void *arg);

struct cd_str storage_error(
    const struct storage *s); /* Of the last failed call; borrowed until the next call. */
const char *storage_broken(const struct storage *s); /* NULL: it is not. */

/* ---- Turns and transactions ---- */

/* At the end of a turn, and before an effect leaves: commits what is open, unless storage_begin is. 0 also
 * when there is nothing to commit. On failure the storage is broken, and why has the reason. */
CD_MUST_USE int storage_turn_end(struct storage *s, struct cd_buf *why);
/* There may be changes that are not committed. */
bool storage_uncommitted(const struct storage *s);
unsigned storage_depth(const struct storage *s); /* Of storage_begin. */
/* Opens a level; at most STORAGE_DEPTH_MAX. commit_first: what is open at level 0 is committed before. */
#define STORAGE_DEPTH_MAX 100
CD_MUST_USE int storage_begin(struct storage *s, bool commit_first);
/* Ends the level, keeping or undoing what was done in it. The last one does not commit. */
CD_MUST_USE int storage_end(struct storage *s, bool keep);

/* Gives back memory: compiled statements that no cursor uses, cached pages. */
void storage_trim(struct storage *s);

/* ---- Key-value pairs: table _cf_KV ---- */

/* CD_ENOTFOUND, without a text. value is borrowed until the next call on s. */
CD_MUST_USE int storage_kv_get(struct storage *s, struct cd_str key, struct cd_str *value);
CD_MUST_USE int storage_kv_put(struct storage *s, struct cd_str key, struct cd_str value);
CD_MUST_USE int storage_kv_delete(struct storage *s, struct cd_str key, bool *existed);

struct storage_range {
    struct cd_str start, end; /* ptr NULL: open. end is exclusive. */
    bool after; /* start is exclusive. */
    bool reverse;
    uint64_t limit; /* 0: none. */
};
/* In order of bytes. row returns 0 to go on; another code ends the list and is returned. It must not call the
 * storage. Its texts are borrowed for the call. */
CD_MUST_USE int storage_kv_list(struct storage *s, const struct storage_range *range,
                                int (*row)(void *arg, struct cd_str key, struct cd_str value), void *arg);
/* Drops all pairs and everything that SQL made, together; the alarm too when asked to. Not inside
 * storage_begin. */
CD_MUST_USE int storage_delete_all(struct storage *s, bool alarm);

/* ---- SQL ---- */

enum storage_type { STORAGE_NULL, STORAGE_INTEGER, STORAGE_REAL, STORAGE_TEXT, STORAGE_BLOB };
struct storage_value {
    enum storage_type type;
    union {
        int64_t integer;
        double real;
        struct cd_str bytes; /* Of TEXT (UTF-8, as it is stored) and BLOB. */
    };
};

/* Runs all statements of the text but the last; compiles the last, binds the values to it and runs it up to
 * its first row. The bindings are copied. */
CD_MUST_USE int storage_sql(struct storage *s, struct cd_str sql, const struct storage_value *bind,
                            unsigned count, struct storage_cursor **out);
/* Whether there is a row to look at. */
bool storage_cursor_row(const struct storage_cursor *c);
/* Goes to the next row. A failure ends the cursor. */
CD_MUST_USE int storage_cursor_next(struct storage_cursor *c);
unsigned storage_cursor_columns(const struct storage_cursor *c);
struct cd_str storage_cursor_name(const struct storage_cursor *c, unsigned column);
/* Changes whenever the columns' names may have: two cursors with the same shape have the same names. */
uint64_t storage_cursor_shape(const struct storage_cursor *c);
/* Of the row; borrowed until the cursor moves. */
void storage_cursor_value(struct storage_cursor *c, unsigned column, struct storage_value *out);
bool storage_cursor_writes(const struct storage_cursor *c); /* Its statement may change the database. */
/* Rows that were looked at, as far as SQLite counts them: those of full scans, at least those returned. Rows
 * that were inserted, changed or deleted, also by triggers: known when the last row was passed. */
uint64_t storage_cursor_read(const struct storage_cursor *c);
uint64_t storage_cursor_written(const struct storage_cursor *c);
/* Every cursor is closed by its owner; also after storage_close, where nothing else of it may be used. */
void storage_cursor_close(struct storage_cursor *c);

CD_MUST_USE int storage_size(struct storage *s, uint64_t *bytes); /* Pages in use. */

/* ---- The alarm ---- */

#define STORAGE_ALARM_RETRIES 6

/* As it stands, committed or not. Never fails: it is kept in memory. */
struct storage_alarm storage_alarm(const struct storage *s);
/* What the code of the cell sees: not armed while the run that storage_alarm_begin announced has set none. */
struct storage_alarm storage_alarm_seen(const struct storage *s);
CD_MUST_USE int storage_alarm_set(struct storage *s, int64_t due_ms);
/* Inside a run that has set no alarm it changes nothing: the run's own alarm is not its to delete. */
CD_MUST_USE int storage_alarm_delete(struct storage *s);

enum storage_alarm_end {
    STORAGE_ALARM_OK,
    STORAGE_ALARM_COUNTED, /* Failed, and counts. */
    STORAGE_ALARM_EXCUSED, /* Failed, and does not. */
};
/* The handler starts. */
void storage_alarm_begin(struct storage *s);
/* It ended: consumes the alarm, or sets it for a retry, unless the run armed another one. dropped: that was
 * the last retry. Part of the turn's transaction, like every other write. */
CD_MUST_USE int storage_alarm_end(struct storage *s, enum storage_alarm_end end, int64_t now_ms,
                                  bool *dropped);

/* ---- The cell's name: table _cf_meta ---- */

CD_MUST_USE int storage_name(struct storage *s, struct cd_buf *out); /* CD_ENOTFOUND: none is stored. */
CD_MUST_USE int storage_name_set(struct storage *s, struct cd_str name);

#endif
