/* io_real/embedded_ops.c: get, head, put, delete and list on the table of objects. */
#include "io_real/embedded_ops.h"

#include <stdio.h>
#include <time.h>

#include "io/backend.h"

static int done(struct embedded_job *j)
{
    j->status = IO_OK;
    j->out.outcome = IO_DONE;
    return SQLITE_OK;
}

static int refuse(struct embedded_job *j, int status, const char *why)
{
    j->status = status;
    j->out.outcome = IO_REJECTED;
    snprintf(j->out.why, sizeof(j->out.why), "%s", why);
    return SQLITE_OK;
}

static int64_t wall_ms(void)
{
    struct timespec t;
    int rc = clock_gettime(CLOCK_REALTIME, &t);
    CD_ASSERT(rc == 0);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int bind_bytes(sqlite3_stmt *s, int index, const struct cd_buf *bytes)
{
    return sqlite3_bind_blob64(s, index, bytes->len == 0 ? "" : bytes->ptr, bytes->len, SQLITE_STATIC);
}

struct row {
    bool found;
    int64_t generation, modified_ms;
    uint64_t size;
};

static int find(struct embedded_db *d, const struct embedded_job *j, struct row *row)
{
    *row = (struct row){0};
    int rc = bind_bytes(d->find, 1, &j->key);
    if (rc != SQLITE_OK)
        return rc;
    rc = sqlite3_step(d->find);
    if (rc == SQLITE_ROW) {
        *row = (struct row){true, sqlite3_column_int64(d->find, 0), sqlite3_column_int64(d->find, 1),
                            (uint64_t)sqlite3_column_int64(d->find, 2)};
    }
    int reset = sqlite3_reset(d->find);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? reset : rc;
}

static void show(struct embedded_job *j, const struct row *row)
{
    snprintf(j->out.token, sizeof(j->out.token), "%lld", (long long)row->generation);
    j->out.size = row->size;
    j->out.modified_ms = row->modified_ms;
}

int embedded_head(struct embedded_db *d, struct embedded_job *j)
{
    struct row row;
    int rc = find(d, j, &row);
    if (rc != SQLITE_OK)
        return rc;
    if (!row.found)
        return refuse(j, IO_NOENT, "no such object");
    show(j, &row);
    return done(j);
}

static int read_body(struct embedded_db *d, struct embedded_job *j, const struct row *row, uint64_t len)
{
    sqlite3_blob *blob = NULL;
    int rc = sqlite3_blob_open(d->db, "main", "objects", "body", row->generation, 0, &blob);
    if (rc == SQLITE_OK)
        rc = sqlite3_blob_read(blob, cd_buf_reserve(&j->out.body, len), (int)len, (int)j->from);
    if (rc == SQLITE_OK)
        j->out.body.len = len;
    int closed = sqlite3_blob_close(blob);
    return rc != SQLITE_OK ? rc : closed;
}

int embedded_get(struct embedded_db *d, struct embedded_job *j)
{
    struct row row;
    int rc = find(d, j, &row);
    if (rc != SQLITE_OK)
        return rc;
    if (!row.found)
        return refuse(j, IO_NOENT, "no such object");
    bool whole = j->from == 0 && j->len == IO_WHOLE;
    if (j->from >= row.size && !whole)
        return refuse(j, IO_EOF, "the range starts behind the end");
    uint64_t len = row.size - j->from < j->len ? row.size - j->from : j->len;
    if (len > IO_BODY_MAX)
        return refuse(j, IO_TOOBIG, "the object is larger than one get may be");
    rc = len == 0 ? SQLITE_OK : read_body(d, j, &row, len);
    if (rc != SQLITE_OK)
        return rc;
    show(j, &row);
    return done(j);
}

static bool is_token(const struct embedded_job *j, const struct row *row)
{
    char text[IO_TOKEN_MAX];
    snprintf(text, sizeof(text), "%lld", (long long)row->generation);
    return strcmp(text, j->match) == 0;
}

static int run_change(sqlite3_stmt *s)
{
    int rc = sqlite3_step(s);
    int reset = sqlite3_reset(s);
    (void)sqlite3_clear_bindings(s);
    return rc == SQLITE_DONE ? reset : rc;
}

int embedded_put(struct embedded_db *d, struct embedded_job *j)
{
    if (j->how != IO_PUT_ANY) {
        struct row row;
        int rc = find(d, j, &row);
        if (rc != SQLITE_OK)
            return rc;
        if (j->how == IO_PUT_IF_ABSENT && row.found)
            return refuse(j, IO_CONFLICT, "the object exists");
        if (j->how == IO_PUT_IF_MATCH && !row.found)
            return refuse(j, IO_CONFLICT, "the object is absent");
        if (j->how == IO_PUT_IF_MATCH && !is_token(j, &row))
            return refuse(j, IO_CONFLICT, "the object was changed");
    }
    int rc = bind_bytes(d->put, 1, &j->key);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(d->put, 2, wall_ms());
    if (rc == SQLITE_OK)
        rc = bind_bytes(d->put, 3, &j->body);
    if (rc == SQLITE_OK)
        rc = run_change(d->put);
    if (rc != SQLITE_OK)
        return rc;
    snprintf(j->out.token, sizeof(j->out.token), "%lld", (long long)sqlite3_last_insert_rowid(d->db));
    return done(j);
}

int embedded_delete(struct embedded_db *d, struct embedded_job *j)
{
    int rc = bind_bytes(d->del, 1, &j->key);
    if (rc == SQLITE_OK)
        rc = run_change(d->del);
    return rc == SQLITE_OK ? done(j) : rc;
}

/* ---- Listing ---- */

/* The smallest text behind all that start with prefix. Keys are UTF-8, so 0xff is behind them all, and a
 * prefix never ends in a byte that has no successor. */
static void set_end(struct cd_buf *end, struct cd_str prefix)
{
    cd_buf_clear(end);
    cd_buf_add_str(end, prefix);
    if (end->len == 0)
        cd_buf_add_byte(end, (char)0xff);
    else
        end->ptr[end->len - 1] = (char)(end->ptr[end->len - 1] + 1);
}

/* From the first entry on that may be listed. */
static void set_start(struct cd_buf *start, const struct embedded_job *j)
{
    struct cd_str prefix = cd_buf_str(&j->key), after = cd_buf_str(&j->after);
    cd_buf_clear(start);
    if (after.len == 0 || cd_str_cmp(after, prefix) < 0) {
        cd_buf_add_str(start, prefix);
    } else {
        cd_buf_add_str(start, after);
        cd_buf_add_byte(start, 0);
    }
}

enum walk { WALK_END, WALK_FULL, WALK_SEEK };

/* Adds rows until the end, until the page is full, or until a group was met: then start is behind that group.
 */
static int walk_rows(struct embedded_db *d, struct embedded_job *j, struct cd_buf *start, enum walk *how)
{
    struct cd_str after = cd_buf_str(&j->after);
    int rc;
    while ((rc = sqlite3_step(d->list)) == SQLITE_ROW) {
        struct cd_str key =
            cd_str_of(sqlite3_column_blob(d->list, 0), (size_t)sqlite3_column_bytes(d->list, 0));
        struct cd_str group;
        bool is_group = io_list_group(key, cd_buf_str(&j->key), j->delimiter, &group);
        bool listed = !is_group || after.len == 0 || cd_str_cmp(group, after) > 0;
        if (listed && j->list.count == j->max) {
            *how = WALK_FULL;
            return SQLITE_OK;
        }
        if (is_group) {
            if (listed)
                io_list_add(&j->list, group, 0, 0, true);
            set_end(start, group);
            *how = WALK_SEEK;
            return SQLITE_OK;
        }
        io_list_add(&j->list, key, (uint64_t)sqlite3_column_int64(d->list, 2),
                    sqlite3_column_int64(d->list, 1), false);
    }
    *how = WALK_END;
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int embedded_list(struct embedded_db *d, struct embedded_job *j)
{
    struct cd_buf start = {0}, end = {0};
    enum walk how = WALK_SEEK;
    int rc = SQLITE_OK;
    io_list_clear(&j->list);
    set_start(&start, j);
    set_end(&end, cd_buf_str(&j->key));
    while (rc == SQLITE_OK && how == WALK_SEEK) {
        rc = bind_bytes(d->list, 1, &start);
        if (rc == SQLITE_OK)
            rc = bind_bytes(d->list, 2, &end);
        if (rc == SQLITE_OK)
            rc = walk_rows(d, j, &start, &how);
        int reset = sqlite3_reset(d->list);
        rc = rc != SQLITE_OK ? rc : reset;
    }
    (void)sqlite3_clear_bindings(d->list);
    j->list.more = how == WALK_FULL;
    io_list_seal(&j->list);
    cd_buf_deinit(&start);
    cd_buf_deinit(&end);
    return rc == SQLITE_OK ? done(j) : rc;
}
