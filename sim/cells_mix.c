/* sim/cells_mix.c: a database of random transactions (mix_truth.h).
 *
 *     txn ID BEFORE SEED   ->  "done DIGEST", or "other LAST DIGEST" when BEFORE is not the last one
 *     look                 ->  "other LAST DIGEST"
 */
#include <stdio.h>

#include "cell/gate.h"
#include "db/storage.h"
#include "sim/cells_code.h"
#include "sim/mix_truth.h"

#define ULL(v) ((unsigned long long)(v))
#define LAST CD_STR("last") /* The pair that names the last transaction. */

static struct storage_value number(int64_t v)
{
    return (struct storage_value){.type = STORAGE_INTEGER, .integer = v};
}

static int run(struct storage *s, const char *sql, const struct storage_value *bind, unsigned count)
{
    struct storage_cursor *k;
    int rc = storage_sql(s, cd_str(sql), bind, count, &k);
    if (rc == 0)
        storage_cursor_close(k);
    return rc;
}

static int tables(struct storage *s)
{
    return run(s,
               "CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, n, v);"
               "CREATE INDEX IF NOT EXISTS t_n ON t(n)",
               NULL, 0);
}

static int do_step(struct storage *s, const struct mix_step *p, struct cd_buf *bytes)
{
    char key[8];
    bool existed;
    cd_buf_clear(bytes);
    (void)snprintf(key, sizeof key, "k%02u", p->at % 100);
    const struct storage_value range[] = {number(p->at), number((int64_t)p->at + p->len - 1),
                                          number((int64_t)(p->value % 1000))};
    switch (p->kind) {
    case MIX_PUT:
        mix_bytes(bytes, p->value, p->len);
        return storage_kv_put(s, cd_str(key), cd_buf_str(bytes));
    case MIX_DELETE: return storage_kv_delete(s, cd_str(key), &existed);
    case MIX_INSERT: {
        mix_bytes(bytes, p->value, p->len);
        const struct storage_value row[] = {
            range[0], range[2], {.type = STORAGE_TEXT, .bytes = cd_buf_str(bytes)}};
        return run(s, "INSERT OR REPLACE INTO t VALUES(?, ?, ?)", row, 3);
    }
    case MIX_REMOVE: return run(s, "DELETE FROM t WHERE id BETWEEN ? AND ?", range, 2);
    case MIX_ADD: {
        const struct storage_value add[] = {range[2], range[0], range[1]};
        return run(s, "UPDATE t SET n = n + ? WHERE id BETWEEN ? AND ?", add, 3);
    }
    case MIX_BEGIN: return storage_begin(s, false);
    case MIX_KEEP: return storage_end(s, true);
    case MIX_UNDO: return storage_end(s, false);
    case MIX_CLEAR: {
        int rc = storage_delete_all(s, false);
        return rc != 0 ? rc : tables(s);
    }
    }
    CD_UNREACHABLE();
}

/* ---- What is there ---- */

struct sum {
    uint64_t digest;
};

static int add_pair(void *arg, struct cd_str key, struct cd_str value)
{
    struct sum *sum = arg;
    if (!cd_str_eq(key, LAST))
        sum->digest = mix_digest_pair(sum->digest, key, value);
    return 0;
}

/* Through the index and by itself, each row is the same. */
static int add_rows(struct storage *s, struct sum *sum)
{
    struct storage_cursor *k;
    int rc =
        storage_sql(s,
                    CD_STR("SELECT id, n, v, (SELECT COUNT(*) FROM t AS u INDEXED BY t_n WHERE u.n = t.n AND "
                           "u.id = t.id) FROM t ORDER BY id"),
                    NULL, 0, &k);
    if (rc != 0)
        return rc;
    while (rc == 0 && storage_cursor_row(k)) {
        struct storage_value id, n, v, found;
        storage_cursor_value(k, 0, &id);
        storage_cursor_value(k, 1, &n);
        storage_cursor_value(k, 2, &v);
        storage_cursor_value(k, 3, &found);
        sum->digest = mix_digest_row(sum->digest, (uint64_t)id.integer, n.integer, v.bytes);
        sum->digest += found.integer != 1;
        rc = storage_cursor_next(k);
    }
    storage_cursor_close(k);
    return rc;
}

static int digest(struct storage *s, uint64_t *out)
{
    struct sum sum = {0};
    struct storage_range all = {0};
    int rc = storage_kv_list(s, &all, add_pair, &sum);
    if (rc == 0)
        rc = add_rows(s, &sum);
    *out = sum.digest;
    return rc;
}

static int last_of(struct storage *s, uint64_t *last)
{
    struct cd_str v;
    int rc = storage_kv_get(s, LAST, &v);
    *last = 0;
    if (rc == CD_ENOTFOUND)
        return 0;
    return rc != 0 ? rc : cd_str_u64(v, last);
}

/* ---- Messages ---- */

static int transact(struct storage *s, uint64_t id, uint64_t seed)
{
    struct mix_step step[MIX_STEPS_MAX + 2];
    struct cd_buf bytes = {0};
    unsigned steps = mix_steps(id, seed, step);
    int rc = 0;
    for (unsigned i = 0; i < steps && rc == 0; i++)
        rc = do_step(s, &step[i], &bytes);
    cd_buf_clear(&bytes);
    cd_buf_addf(&bytes, "%llu", ULL(id));
    if (rc == 0)
        rc = storage_kv_put(s, LAST, cd_buf_str(&bytes));
    cd_buf_deinit(&bytes);
    return rc;
}

int cells_mix(struct cell *c, struct cd_str message, struct cd_buf *answer)
{
    struct storage *s = cell_storage(c);
    struct cd_str word;
    uint64_t id = 0, before = 0, seed = 0, last, sum;
    bool well = cd_str_next(&message, ' ', &word), asked = well && cd_str_eq(word, CD_STR("txn"));
    if (asked)
        well = cells_take_u64(&message, &id) && cells_take_u64(&message, &before) &&
               cells_take_u64(&message, &seed);
    if (!well)
        return CD_ESYNTAX;
    int rc = tables(s);
    if (rc == 0)
        rc = last_of(s, &last);
    bool goes_on = rc == 0 && asked && last == before;
    if (goes_on)
        rc = transact(s, id, seed);
    if (rc == 0)
        rc = digest(s, &sum);
    if (rc != 0)
        return rc;
    if (goes_on)
        cd_buf_addf(answer, "done %llu", ULL(sum));
    else
        cd_buf_addf(answer, "other %llu %llu", ULL(last), ULL(sum));
    return 0;
}
