/* sim/cells_ledger.c: a ledger in a table: a line has its append's number, the epoch that wrote it and a hash
 * over all lines up to it.
 *
 *     append ID   ->  POSITION EPOCH HASH
 *     read FROM   ->  TOTAL, then a line "ID EPOCH HASH" for each from that position on
 */
#include "db/storage.h"
#include "sim/cells_code.h"
#include "sim/ledger_truth.h"

#define ULL(v) ((unsigned long long)(v))

static struct storage_value number(uint64_t v)
{
    return (struct storage_value){.type = STORAGE_INTEGER, .integer = (int64_t)v};
}

static uint64_t column(struct storage_cursor *k, unsigned at)
{
    struct storage_value v;
    storage_cursor_value(k, at, &v);
    return v.type == STORAGE_INTEGER ? (uint64_t)v.integer : 0;
}

static int run(struct storage *s, const char *sql, const struct storage_value *bind, unsigned count)
{
    struct storage_cursor *k;
    int rc = storage_sql(s, cd_str(sql), bind, count, &k);
    if (rc == 0)
        storage_cursor_close(k);
    return rc;
}

/* The last line; zeros when there is none. */
static int last(struct storage *s, uint64_t *at, uint64_t *hash)
{
    struct storage_cursor *k;
    *at = *hash = 0;
    int rc = run(s, "CREATE TABLE IF NOT EXISTS ledger(at INTEGER PRIMARY KEY, id, epoch, hash)", NULL, 0);
    if (rc == 0)
        rc = storage_sql(s, CD_STR("SELECT at, hash FROM ledger ORDER BY at DESC LIMIT 1"), NULL, 0, &k);
    if (rc != 0)
        return rc;
    if (storage_cursor_row(k)) {
        *at = column(k, 0);
        *hash = column(k, 1);
    }
    storage_cursor_close(k);
    return 0;
}

static int append(struct cell *c, uint64_t id, struct cd_buf *answer)
{
    struct storage *s = cell_storage(c);
    uint64_t at, hash;
    int rc = last(s, &at, &hash);
    if (rc != 0)
        return rc;
    at++;
    hash = ledger_hash(hash, id);
    const struct storage_value bind[] = {number(at), number(id), number(cell_epoch(c)), number(hash)};
    rc = run(s, "INSERT INTO ledger VALUES(?, ?, ?, ?)", bind, CD_COUNT(bind));
    cd_buf_addf(answer, "%llu %llu %llu", ULL(at), ULL(cell_epoch(c)), ULL(hash));
    return rc;
}

static int read_from(struct cell *c, uint64_t from, struct cd_buf *answer)
{
    struct storage *s = cell_storage(c);
    struct storage_cursor *k;
    uint64_t at, hash;
    const struct storage_value bind = number(from);
    int rc = last(s, &at, &hash);
    if (rc == 0)
        rc = storage_sql(s, CD_STR("SELECT id, epoch, hash FROM ledger WHERE at >= ? ORDER BY at"), &bind, 1,
                         &k);
    if (rc != 0)
        return rc;
    cd_buf_addf(answer, "%llu", ULL(at));
    while (rc == 0 && storage_cursor_row(k)) {
        cd_buf_addf(answer, "\n%llu %llu %llu", ULL(column(k, 0)), ULL(column(k, 1)), ULL(column(k, 2)));
        rc = storage_cursor_next(k);
    }
    storage_cursor_close(k);
    return rc;
}

int cells_ledger(struct cell *c, struct cd_str message, struct cd_buf *answer)
{
    struct cd_str word;
    uint64_t n;
    if (!cd_str_next(&message, ' ', &word) || !cells_take_u64(&message, &n))
        return CD_ESYNTAX;
    return cd_str_eq(word, CD_STR("append")) ? append(c, n, answer) : read_from(c, n, answer);
}
