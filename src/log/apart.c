/* log/apart.c: rows that are too large for a batch (fleet.md 6.3, kind 2). Such a row is stored as an object
 * of its own first; until that is done, later rows of its cell wait behind it, and other cells pass. */
#include "log/log_internal.h"

#include "log/bytes.h"
#include "store/retry.h"

#define AGAIN_NS IO_SEC(1)

struct apart {
    struct log *log;
    struct cd_link link; /* In log.detached; else it is in log.apart. */
    char *scope; /* owned */
    struct log_row *row; /* owned: the one that is being stored */
    struct cd_list behind; /* owned: struct log_row.link, the later ones of its cell */
    struct io_fiber *fiber;
};

static bool is_large(const struct log *l, const struct log_row *row)
{
    return row->kind == LOG_ROW_BYTES && row->ltx.len > log_target(l);
}

/* False: cancelled, which only happens when the row is dropped or the node ends. Nothing else gives up: a gap
 * in a cell's rows is never an answer. */
static bool put(struct log *l, const uint8_t id[LOG_ID_SIZE], struct cd_str bytes)
{
    struct io_store s = {0};
    struct cd_buf key = {0};
    struct store_policy p = store_policy_of(IO_LANE_DATA, bytes.len);
    int rc;
    log_apart_key(&key, log_session(l), id);
    for (;;) {
        rc = store_retry_put(&s, l->io, l->opts.bucket, cd_buf_str(&key), bytes, &p);
        if (rc == IO_OK || rc == IO_CANCELED)
            break;
        cd_event_to(l->io, CD_WARN, "log", "log_row_not_stored", CD_S("key", cd_buf_str(&key)),
                    CD_U("bytes", bytes.len), CD_Z("error", cd_err_text(rc)), CD_Z("why", s.why));
        rc = io_sleep(l->io, AGAIN_NS);
        if (rc != IO_OK)
            break;
    }
    cd_buf_deinit(&key);
    cd_buf_deinit(&s.body);
    return rc == IO_OK;
}

static void row_ready(struct apart *a)
{
    struct log_row *row = a->row;
    a->row = NULL;
    row->kind = LOG_ROW_APART;
    log_row_ready(a->log, row);
}

static bool store(struct apart *a)
{
    struct log *l = a->log;
    struct log_row *row = a->row;
    uint8_t id[LOG_ID_SIZE];
    io_random(l->io, IO_RAND_ID, id, sizeof id);
    memcpy(row->id, id, sizeof id);
    log_sha256(cd_buf_str(&row->ltx), (struct cd_str){0}, row->sha256);
    row->length = row->ltx.len;
    if (CD_PLANT("log.cut-before-apart")) {
        struct cd_buf copy = {0};
        cd_buf_add_str(&copy, cd_buf_str(&row->ltx));
        row_ready(a);
        bool stored = put(l, id, cd_buf_str(&copy));
        cd_buf_deinit(&copy);
        return stored;
    }
    if (!put(l, id, cd_buf_str(&row->ltx)))
        return false;
    CD_MARK("log.row_apart");
    row_ready(a);
    return true;
}

/* The next large row of the cell becomes a->row, those before it may be cut. False: there is none. */
static bool next(struct apart *a)
{
    struct cd_link *k;
    while ((k = cd_list_pop(&a->behind)) != NULL) {
        struct log_row *row = CD_CONTAINER(k, struct log_row, link);
        if (is_large(a->log, row)) {
            a->row = row;
            return true;
        }
        log_row_ready(a->log, row);
    }
    return false;
}

static void apart_flow(void *arg)
{
    struct apart *a = arg;
    struct log *l = a->log;
    while (store(a) && next(a)) {
    }
    if (cd_link_linked(&a->link))
        cd_link_remove(&a->link);
    else
        (void)cd_map_remove(&l->apart, cd_str(a->scope));
    log_rows_free(&a->behind); /* Empty, unless the node ends. */
    if (a->row != NULL)
        log_row_free(a->row);
    cd_free(a->scope);
    cd_free(a);
    log_ended(l);
}

void log_take(struct log *l, struct log_row *row)
{
    struct apart *a = cd_map_get(&l->apart, cd_str(row->scope));
    if (a != NULL) {
        CD_MARK("log.row_behind_apart");
        cd_list_push(&a->behind, &row->link);
        return;
    }
    if (!is_large(l, row) || l->closing) {
        log_row_ready(l, row);
        return;
    }
    a = cd_new(struct apart);
    a->log = l;
    a->scope = cd_str_dup(cd_str(row->scope));
    a->row = row;
    cd_list_init(&a->behind);
    (void)cd_map_put(&l->apart, cd_str(a->scope), a);
    l->busy++;
    a->fiber = io_spawn(l->io, "log_apart", apart_flow, a);
}

void log_apart_drop(struct log *l, struct cd_str scope, uint64_t epoch,
                    void (*dropped)(void *arg, struct log_row *row), void *arg)
{
    struct apart *a = cd_map_get(&l->apart, scope);
    if (a == NULL)
        return;
    struct cd_list later;
    struct cd_link *k;
    cd_list_init(&later);
    while ((k = cd_list_pop(&a->behind)) != NULL) {
        struct log_row *row = CD_CONTAINER(k, struct log_row, link);
        if (row->epoch != epoch) {
            cd_list_push(&later, k);
            continue;
        }
        dropped(arg, row);
        log_row_free(row);
    }
    if (a->row != NULL && a->row->epoch == epoch) {
        /* Its bytes are being sent: the fiber frees it. Rows of a newer epoch do not wait for that. */
        CD_MARK("log.row_apart_dropped");
        dropped(arg, a->row);
        (void)cd_map_remove(&l->apart, scope);
        cd_list_push(&l->detached, &a->link);
        io_fiber_cancel(a->fiber);
        while ((k = cd_list_pop(&later)) != NULL)
            log_take(l, CD_CONTAINER(k, struct log_row, link));
        return;
    }
    while ((k = cd_list_pop(&later)) != NULL)
        cd_list_push(&a->behind, k);
}

void log_apart_cancel(struct log *l)
{
    struct cd_link *k;
    for (struct cd_map_node *n = cd_map_first(&l->apart); n != NULL; n = cd_map_next(n))
        io_fiber_cancel(((struct apart *)cd_map_value(n))->fiber);
    for (k = cd_list_first(&l->detached); k != NULL; k = cd_list_next(&l->detached, k))
        io_fiber_cancel(CD_CONTAINER(k, struct apart, link)->fiber);
}
