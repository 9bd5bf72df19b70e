/* log/fold_cell.c: the unfolded rows of one cell to objects of its prefix (fleet.md 6.7).
 *
 * Objects are put in ascending txid order, each after the one before it is stored: a prefix never has a gap
 * above its start, whenever this stops. */
#include "log/bytes.h"
#include "log/fold_internal.h"
#include "log/recover_internal.h"
#include "store/retry.h"

/* Rows of one object: the next of the cell, up to target (a txid). */
struct range {
    struct log_row **row; /* owned */
    size_t count;
    uint64_t bytes;
};

static struct range range_pick(const struct fold_cell *c, uint64_t target)
{
    struct range r = {0};
    r.row = cd_alloc((c->count == 0 ? 1 : c->count) * sizeof(struct log_row *));
    for (struct cd_link *k = cd_list_first(&c->rows); k != NULL; k = cd_list_next(&c->rows, k)) {
        struct log_row *row = CD_CONTAINER(k, struct log_row, link);
        if (row->min_txid > target)
            break;
        /* A row that was too large for a batch is an object as it is. */
        bool alone = row->kind == LOG_ROW_APART || row->length > c->folder->limits.range_bytes;
        if (r.count > 0 && (alone || r.bytes + row->length > c->folder->limits.range_bytes))
            break;
        r.row[r.count++] = row;
        r.bytes += row->length;
        if (alone)
            break;
    }
    return r;
}

/* The row's segment into body, from where the log has it, when it is not in memory. */
static int row_load(struct log_folder *f, struct log_row *row, struct cd_buf *body, struct cd_buf *why)
{
    struct store_policy p = store_policy_of(IO_LANE_DATA, row->length);
    struct io_store get = {0};
    struct cd_buf key = {0};
    bool apart = row->kind == LOG_ROW_APART;
    uint8_t digest[LOG_SHA256_SIZE];
    if (apart)
        log_apart_key(&key, cd_str(f->session), row->id);
    else
        log_slot_key(&key, cd_str(f->session), row->slot);
    int rc =
        store_retry_get(&get, f->io, f->bucket, cd_buf_str(&key), apart ? 0 : row->offset, row->length, &p);
    if (rc != IO_OK) {
        cd_buf_addf(why, "%s: %s", cd_buf_cstr(&key), get.why);
    } else if (apart) {
        log_sha256(cd_buf_str(&get.body), (struct cd_str){0}, digest);
        if (get.size != row->length || memcmp(digest, row->sha256, sizeof digest) != 0) {
            cd_buf_addf(why, "%s: not the row that was stored there", cd_buf_cstr(&key));
            rc = CD_ECORRUPT;
        }
    }
    if (rc == IO_OK)
        *body = cd_buf_move(&get.body);
    cd_buf_deinit(&get.body);
    cd_buf_deinit(&key);
    return rc;
}

/* The object of a range. */
static int range_build(struct log_folder *f, const struct range *r, struct cd_buf *out, struct cd_buf *why)
{
    struct cd_buf *loaded = cd_alloc(r->count * sizeof *loaded);
    struct ltx_file *file = cd_alloc(r->count * sizeof *file);
    int rc = 0;
    for (size_t i = 0; i < r->count && rc == 0; i++) {
        if (r->row[i]->ltx.len == 0)
            rc = row_load(f, r->row[i], &loaded[i], why);
        struct cd_buf *bytes = r->row[i]->ltx.len == 0 ? &loaded[i] : &r->row[i]->ltx;
        if (rc == 0)
            rc = ltx_file_open(&file[i], cd_buf_str(bytes), NULL, why);
    }
    if (rc == 0 && r->count == 1)
        cd_buf_add_str(out, file[0].bytes);
    else if (rc == 0)
        rc = log_merge(f->io, file, r->count, NULL, out, why);
    for (size_t i = 0; i < r->count; i++)
        cd_buf_deinit(&loaded[i]);
    cd_free(loaded);
    cd_free(file);
    return rc;
}

static int range_put(struct log_folder *f, const struct fold_cell *c, const struct range *r,
                     struct cd_str body, struct cd_buf *why)
{
    struct cd_buf key = {0};
    struct io_store put = {0};
    struct store_policy p = store_policy_of(IO_LANE_DATA, body.len);
    p.retries = 0; /* The flow tries again, for as long as it takes. */
    ltx_key(&key, &(struct ltx_name){.scope = cd_str(c->scope),
                                     .epoch = c->epoch,
                                     .level = LTX_L0,
                                     .min_txid = r->row[0]->min_txid,
                                     .max_txid = r->row[r->count - 1]->max_txid});
    int rc = store_retry_put(&put, f->io, f->bucket, cd_buf_str(&key), body, &p);
    if (rc != IO_OK)
        cd_buf_addf(why, "%s: %s", cd_buf_cstr(&key), put.why);
    cd_buf_deinit(&key);
    return rc;
}

/* One object: built, stored, its rows done with. */
static int fold_one(struct log_folder *f, struct fold_cell *c, uint64_t target, struct cd_buf *why)
{
    struct range r = range_pick(c, target);
    struct cd_buf body = {0};
    CD_ASSERT(r.count > 0);
    int rc = range_build(f, &r, &body, why);
    if (rc == 0)
        rc = range_put(f, c, &r, cd_buf_str(&body), why);
    if (rc != 0 && rc != IO_CANCELED && CD_PLANT("fold.next-before-stored"))
        rc = 0;
    if (rc == 0) {
        cd_event_to(f->io, CD_DEBUG, "log", "log_fold", CD_Z("scope", c->scope), CD_U("epoch", c->epoch),
                    CD_U("min", r.row[0]->min_txid), CD_U("max", r.row[r.count - 1]->max_txid),
                    CD_U("rows", r.count), CD_U("bytes", body.len));
        if (f->folded != NULL)
            f->folded(f->arg, cd_str(c->scope), c->epoch, r.row[r.count - 1]->max_txid, body.len);
        for (size_t i = 0; i < r.count; i++)
            log_fold_row_done(f, c, r.row[i]);
    }
    cd_buf_deinit(&body);
    cd_free(r.row);
    return rc;
}

void log_fold_cell_flow(void *arg)
{
    struct fold_cell *c = arg;
    struct log_folder *f = c->folder;
    uint64_t started_ns = io_now_ns(f->io), target = 0, wait_ms = 50;
    bool told = false;
    if (!cd_list_empty(&c->rows))
        target = CD_CONTAINER(c->rows.head.prev, struct log_row, link)->max_txid;
    while (!f->closing && c->count > 0 &&
           CD_CONTAINER(cd_list_first(&c->rows), struct log_row, link)->min_txid <= target) {
        struct cd_buf why = {0};
        int rc = fold_one(f, c, target, &why);
        if (rc != 0 && rc != IO_CANCELED) {
            /* Of a lasting failure once; what is corrupt stays in its slot, above the floor, for people. */
            if (!told)
                cd_event_to(f->io, rc == CD_ECORRUPT ? CD_ERROR : CD_WARN, "log",
                            rc == CD_ECORRUPT ? "log_slot_corrupt" : "log_fold_failed",
                            CD_Z("scope", c->scope), CD_U("epoch", c->epoch), CD_S("why", cd_buf_str(&why)));
            told = true;
        }
        cd_buf_deinit(&why);
        if (rc != 0 && io_sleep(f->io, IO_MS(wait_ms)) != IO_OK) {
            f->stopped = true;
            break;
        }
        wait_ms = rc == 0 ? 50 : wait_ms >= 1000 ? 2000 : wait_ms * 2;
    }
    log_fold_cell_done(f, c, started_ns);
}
