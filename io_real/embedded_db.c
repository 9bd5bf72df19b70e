/* io_real/embedded_db.c: the connection and the transaction. The operations are in embedded_ops.c. */
#include "io_real/embedded_db.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "io_real/embedded_ops.h"

#define SCHEMA_VERSION 1
#define APPLICATION_ID 0x63656c64 /* "celd" */
#define OPEN_BUSY_MS 15000
#define ROOM_BUSY_MS 100
#define TEXT_OF(x) TEXT_OF_(x)
#define TEXT_OF_(x) #x

static const char settings[] =
    "PRAGMA synchronous=FULL;"
    "PRAGMA temp_store=MEMORY;"
    "PRAGMA cache_size=-16384;"
    "PRAGMA secure_delete=OFF;" /* Debian's default is on: it writes each page twice. */
    "PRAGMA journal_size_limit=67108864;";

static const char schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS objects("
    "  generation INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  key BLOB NOT NULL UNIQUE,"
    "  modified_ms INTEGER NOT NULL,"
    "  body BLOB NOT NULL) STRICT;"
    "PRAGMA application_id=" TEXT_OF(APPLICATION_ID) ";"
                                                     "PRAGMA user_version=" TEXT_OF(SCHEMA_VERSION) ";"
                                                                                                    "COMMIT;";

static int status_of_errno(int error)
{
    switch (error) {
    case EACCES:
    case EPERM:
    case EROFS: return IO_DENIED;
    case ENOENT:
    case ENOTDIR: return IO_NOENT;
    case ENOSPC:
    case EDQUOT: return IO_NOSPACE;
    }
    return IO_FAULT;
}

int embedded_db_status(const struct embedded_db *d, int rc)
{
    int error = d->db == NULL ? 0 : sqlite3_system_errno(d->db);
    switch (rc & 0xff) {
    case SQLITE_FULL: return IO_NOSPACE;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return IO_BUSY;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH: return IO_DENIED;
    case SQLITE_TOOBIG: return IO_TOOBIG;
    }
    int status = error == 0 ? IO_FAULT : status_of_errno(error);
    return status == IO_NOENT ? IO_FAULT : status; /* Of an operation that would mean: no such object. */
}

static int wal_hook(void *arg, sqlite3 *db, const char *name, int pages)
{
    struct embedded_db *d = arg;
    (void)db;
    (void)name;
    d->wal_pages = (unsigned)pages;
    return SQLITE_OK;
}

/* The one integer that a statement answers. */
static int read_integer(struct embedded_db *d, const char *sql, int64_t *value)
{
    sqlite3_stmt *s;
    int rc = sqlite3_prepare_v2(d->db, sql, -1, &s, NULL);
    if (rc != SQLITE_OK)
        return rc;
    rc = sqlite3_step(s);
    if (rc == SQLITE_ROW)
        *value = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static int set_wal(struct embedded_db *d, struct cd_buf *why)
{
    sqlite3_stmt *s;
    int rc = sqlite3_prepare_v2(d->db, "PRAGMA journal_mode=WAL", -1, &s, NULL);
    if (rc != SQLITE_OK)
        return rc;
    rc = sqlite3_step(s);
    bool wal = rc == SQLITE_ROW && strcmp((const char *)sqlite3_column_text(s, 0), "wal") == 0;
    sqlite3_finalize(s);
    if (rc != SQLITE_ROW)
        return rc == SQLITE_DONE ? SQLITE_ERROR : rc;
    if (!wal) {
        cd_buf_addf(why, "its file system does not carry a shared write-ahead log");
        return SQLITE_CANTOPEN;
    }
    return SQLITE_OK;
}

/* Another process that opens the file for the first time at the same moment makes this one busy. It commits
 * tables and numbers at once, so tables that are read before the numbers come with them, if they are ours. */
static int make_schema(struct embedded_db *d, struct cd_buf *why)
{
    int64_t tables = 0, version = 0, application = 0;
    int rc = read_integer(d, "SELECT count(*) FROM sqlite_schema", &tables);
    if (rc == SQLITE_OK)
        rc = read_integer(d, "PRAGMA user_version", &version);
    if (rc == SQLITE_OK)
        rc = read_integer(d, "PRAGMA application_id", &application);
    if (rc == SQLITE_OK && version == 0 && application == 0) {
        if (tables > 0) {
            cd_buf_addf(why, "it is a database of another program");
            return SQLITE_NOTADB;
        }
        rc = set_wal(d, why);
        return rc != SQLITE_OK ? rc : sqlite3_exec(d->db, schema, NULL, NULL, NULL);
    }
    if (rc == SQLITE_OK && (version != SCHEMA_VERSION || application != APPLICATION_ID)) {
        cd_buf_addf(why, "it is no object store of this version (version %lld)", (long long)version);
        return SQLITE_NOTADB;
    }
    return rc;
}

static int prepare_all(struct embedded_db *d)
{
    const struct {
        sqlite3_stmt **into;
        const char *sql;
    } list[] = {
        {&d->begin, "BEGIN IMMEDIATE"},
        {&d->read, "BEGIN"},
        {&d->commit, "COMMIT"},
        {&d->rollback, "ROLLBACK"},
        {&d->find, "SELECT generation, modified_ms, length(body) FROM objects WHERE key = ?1"},
        {&d->put, "REPLACE INTO objects(key, modified_ms, body) VALUES(?1, ?2, ?3)"},
        {&d->del, "DELETE FROM objects WHERE key = ?1"},
        {&d->list,
         "SELECT key, modified_ms, length(body) FROM objects WHERE key >= ?1 AND key < ?2 ORDER BY key"},
    };
    for (size_t i = 0; i < CD_COUNT(list); i++) {
        int rc = sqlite3_prepare_v3(d->db, list[i].sql, -1, SQLITE_PREPARE_PERSISTENT, list[i].into, NULL);
        if (rc != SQLITE_OK)
            return rc;
    }
    return SQLITE_OK;
}

/* Makes the file when it is not there: the fleet's secret is among the objects, so only the owner may read
 * it, and the log and its index inherit that. One that exists must not be opened and closed here: closing any
 * descriptor of a file drops the locks that SQLite holds on it in this process. */
static int make_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        (void)close(fd);
    return fd >= 0 || errno == EEXIST ? 0 : errno;
}

static void name_file(char *to, size_t size, const char *path, unsigned index)
{
    static const char *const ends[EMBEDDED_FILES] = {"", "-wal", "-shm"};
    snprintf(to, size, "%s%s", path, ends[index]);
}

/* The connection has read, so that all of them are open; while it lives, no SQLite deletes one. */
static bool note_files(struct embedded_db *d)
{
    for (unsigned i = 0; i < EMBEDDED_FILES; i++) {
        char name[PATH_MAX];
        struct stat s;
        name_file(name, sizeof(name), d->path, i);
        if (stat(name, &s) != 0)
            return false;
        d->files[i] = (struct embedded_file){s.st_dev, s.st_ino};
    }
    return true;
}

bool embedded_file_is(const char *path, const struct embedded_file *f)
{
    struct stat s;
    return stat(path, &s) == 0 && s.st_dev == f->dev && s.st_ino == f->ino;
}

bool embedded_db_in_place(const struct embedded_db *d)
{
    for (unsigned i = 0; d->db != NULL && i < EMBEDDED_FILES; i++) {
        char name[PATH_MAX];
        name_file(name, sizeof(name), d->path, i);
        if (!embedded_file_is(name, &d->files[i]))
            return false;
    }
    return true;
}

int embedded_db_open(struct embedded_db *d, const char *path, struct cd_buf *why)
{
    *d = (struct embedded_db){.path = path};
    int rc = make_file(path);
    if (rc != 0) {
        cd_buf_addf(why, "open %s: %s", path, strerror(rc));
        return status_of_errno(rc);
    }
    rc = sqlite3_open_v2(path, &d->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                         NULL);
    struct cd_buf detail = {0};
    if (rc == SQLITE_OK)
        rc = sqlite3_busy_timeout(d->db, OPEN_BUSY_MS);
    if (rc == SQLITE_OK)
        rc = make_schema(d, &detail);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(d->db, settings, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = prepare_all(d);
    if (rc == SQLITE_OK && !note_files(d)) {
        cd_buf_addf(&detail, "a file of it was deleted meanwhile");
        rc = SQLITE_CANTOPEN;
    }
    if (rc != SQLITE_OK) {
        int status = embedded_db_status(d, rc);
        cd_buf_addf(why, "open %s: %s", path, detail.len != 0 ? cd_buf_cstr(&detail) : sqlite3_errmsg(d->db));
        embedded_db_close(d);
        cd_buf_deinit(&detail);
        return status;
    }
    (void)sqlite3_busy_timeout(d->db, 0); /* The threads of embedded.c wait themselves. */
    (void)sqlite3_wal_hook(d->db, wal_hook, d);
    cd_buf_deinit(&detail);
    return IO_OK;
}

void embedded_db_close(struct embedded_db *d)
{
    sqlite3_stmt *all[] = {d->begin, d->commit, d->rollback, d->read, d->find, d->put, d->del, d->list};
    for (size_t i = 0; i < CD_COUNT(all); i++)
        sqlite3_finalize(all[i]); /* Repeats the error of its last step. */
    int rc = sqlite3_close(d->db);
    CD_ASSERT(rc == SQLITE_OK); /* Else a statement or blob was forgotten. */
    *d = (struct embedded_db){0};
}

static int step_once(sqlite3_stmt *s)
{
    int rc = sqlite3_step(s);
    int reset = sqlite3_reset(s);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? reset : rc;
}

int embedded_db_begin(struct embedded_db *d, bool write)
{
    return step_once(write ? d->begin : d->read);
}

int embedded_db_commit(struct embedded_db *d)
{
    return step_once(d->commit);
}

void embedded_db_rollback(struct embedded_db *d)
{
    /* Many errors have rolled back already. A rollback that fails leaves the connection for embedded.c to
     * reopen. */
    if (sqlite3_get_autocommit(d->db) == 0)
        (void)step_once(d->rollback);
}

int embedded_db_run(struct embedded_db *d, struct embedded_job *j)
{
    switch (j->kind) {
    case EMBEDDED_GET: return embedded_get(d, j);
    case EMBEDDED_HEAD: return embedded_head(d, j);
    case EMBEDDED_LIST: return embedded_list(d, j);
    case EMBEDDED_PUT: return embedded_put(d, j);
    case EMBEDDED_DELETE: return embedded_delete(d, j);
    }
    CD_UNREACHABLE();
}

void embedded_db_checkpoint(struct embedded_db *d)
{
    /* A failure loses nothing: the log keeps what the file does not have, and the next one tries again. */
    (void)sqlite3_wal_checkpoint_v2(d->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    d->wal_pages = 0;
}

bool embedded_db_make_room(struct embedded_db *d)
{
    (void)sqlite3_busy_timeout(d->db, ROOM_BUSY_MS);
    int rc = sqlite3_wal_checkpoint_v2(d->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    (void)sqlite3_busy_timeout(d->db, 0);
    d->wal_pages = 0;
    if (rc == SQLITE_OK)
        return true;
    /* Once all of it is in the file, the next write may start the log over in the room it has. */
    embedded_db_checkpoint(d);
    return false;
}
