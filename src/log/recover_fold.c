/* log/recover_fold.c: the rows of a window into the prefixes of their cells (fleet.md 7.5).
 *
 * First how far the prefixes reach (recover_reach.c), then object after object: one of a cell, and the next
 * of the same cell when that one is stored, so the objects of one cell go in ascending order; of up to
 * REC_PUTS cells at the same time. */
#include "log/fold_internal.h"
#include "log/recover_internal.h"

#define OBJECT_BYTES (64u << 20)

struct rec_cell *log_rec_cell_of(struct rec *c, struct cd_str scope, uint64_t epoch)
{
    struct cd_buf key = {0};
    log_cell_key(&key, scope, epoch);
    struct rec_cell *cell = cd_map_get(&c->cells, cd_buf_str(&key));
    if (cell == NULL) {
        cell = cd_new(struct rec_cell);
        cell->scope = cd_str_of(cd_str_dup(scope), scope.len);
        cell->epoch = epoch;
        cd_map_put(&c->cells, cd_buf_str(&key), cell);
    }
    cd_buf_deinit(&key);
    return cell;
}

/* ---- Checkpoints ---- */

static void note_read(struct rec *c, struct cd_str key)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct io_store get = {0};
    struct store_recovered *r = cd_new(struct store_recovered);
    int rc = store_retry_get(&get, c->io, c->bucket, key, 0, IO_WHOLE, &p);
    if (rc == IO_OK && store_recovered_read(r, cd_buf_str(&get.body), NULL) == 0) {
        for (unsigned i = 0; i < r->count; i++) {
            struct rec_cell *cell = log_rec_cell_of(c, cd_str(r->item[i].cell), r->item[i].epoch);
            cell->known = true;
            if (cell->covered < r->item[i].through)
                cell->covered = cell->noted = r->item[i].through;
        }
    }
    cd_buf_deinit(&get.body);
    cd_free(r);
}

int log_rec_notes_read(struct rec *c)
{
    for (struct cd_link *k = cd_list_first(&c->recovered); k != NULL; k = cd_list_next(&c->recovered, k)) {
        note_read(c, cd_buf_str(&CD_CONTAINER(k, struct rec_key, link)->key));
        c->notes++; /* Names of this call come behind them. */
        int rc = log_rec_beat(c);
        if (rc != 0)
            return rc;
    }
    return 0;
}

void log_rec_note_wait(struct rec *c)
{
    if (io_busy(&c->note_put.op))
        (void)io_await(&c->note_put.op, IO_FOREVER); /* The op has a time limit of its own. */
    cd_buf_deinit(&c->note_key);
    cd_buf_deinit(&c->note_body);
}

/* Never needed, so a failure changes nothing, and nobody waits for it but the next one. */
static void note_write(struct rec *c)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    log_rec_note_wait(c);
    store_key_recovered(&c->note_key, c->session, c->me, ++c->notes);
    store_recovered_write(&c->note_body, c->note);
    c->note_put.lane = p.lane;
    c->note_put.timeout_ns = p.attempt_ns;
    io_store_put(&c->note_put, c->bucket, cd_buf_str(&c->note_key), cd_buf_str(&c->note_body), IO_PUT_ANY,
                 NULL);
    c->note->count = 0;
}

static void note_add(struct rec *c, struct rec_cell *cell, uint64_t through)
{
    if (cell->noted >= through)
        return;
    struct store_recovered_item *item = &c->note->item[c->note->count++];
    *item = (struct store_recovered_item){.epoch = cell->epoch, .through = through};
    memcpy(item->cell, cell->scope.ptr, cell->scope.len);
    cell->noted = through;
    if (c->note->count == STORE_RECOVERED_MAX)
        note_write(c);
}

/* What was noted in a window, if it saves enough requests of a later pass. */
static void notes_end(struct rec *c)
{
    if (c->note->count >= REC_NOTES)
        note_write(c);
    log_rec_note_wait(c);
}

/* ---- One object ---- */

static void row_key(struct cd_buf *out, const struct rec_cell *cell, uint64_t min, uint64_t max)
{
    ltx_key(out, &(struct ltx_name){cell->scope, cell->epoch, LTX_L0, min, max});
}

/* The segment of a row that is an object of its own, into body. */
static int apart_read(struct rec *c, const struct rec_row *row, struct cd_buf *body)
{
    struct cd_buf key = {0}, why = {0};
    log_apart_key(&key, c->session, row->e.id);
    int rc = log_rec_get(c, cd_buf_str(&key), row->e.sha256, body, &why);
    if (rc == CD_ENOTFOUND || rc == CD_ECORRUPT) {
        rc = log_rec_corrupt(c, rc == CD_ENOTFOUND ? "log_slot_missing" : "log_slot_corrupt",
                             cd_buf_str(&key), cd_buf_cstr(&why));
    } else if (rc != 0) {
        rc = log_rec_failed(c, cd_buf_str(&key), rc, cd_buf_cstr(&why));
    }
    cd_buf_deinit(&key);
    cd_buf_deinit(&why);
    return rc;
}

/* The row cannot go behind what the prefix has: corruption, or what a declared loss leaves of the cell. */
static int detached(struct rec *c, struct rec_cell *cell, const struct rec_row *row)
{
    struct cd_buf key = {0}, why = {0};
    int rc = 0;
    row_key(&key, cell, row->e.min_txid, row->e.max_txid);
    cd_buf_addf(&why, "a row of slot %llu that does not attach: the prefix reaches %llu",
                (unsigned long long)row->slot, (unsigned long long)cell->covered);
    if (c->lossy) {
        cd_event_to(c->io, CD_WARN, "log", "recovery_loss", CD_S("session", c->session),
                    CD_S("key", cd_buf_str(&key)), CD_S("why", cd_buf_str(&why)));
        cell->broken = true;
        cell->next = cell->count;
    } else {
        rc = log_rec_corrupt(c, "log_row_detached", cd_buf_str(&key), cd_buf_cstr(&why));
    }
    cd_buf_deinit(&key);
    cd_buf_deinit(&why);
    return rc;
}

/* How many rows from cell->next on go into one object: contiguous, and not too large. */
static size_t run_length(const struct rec_cell *cell)
{
    const struct rec_row *row = cell->row + cell->next;
    size_t n = 1, left = cell->count - cell->next;
    uint64_t bytes = row->e.length;
    while (n < left && row[n - 1].e.kind == LOG_ROW_BYTES && row[n].e.kind == LOG_ROW_BYTES &&
           row[n].e.min_txid == row[n - 1].e.max_txid + 1 && bytes + row[n].e.length <= OBJECT_BYTES)
        bytes += row[n++].e.length;
    return n;
}

/* Builds cell->object from the next rows that are not covered. Leaves it empty when none are left. */
static int object_build(struct rec *c, struct rec_cell *cell)
{
    while (cell->next < cell->count && cell->row[cell->next].e.max_txid <= cell->covered)
        cell->next++;
    if (cell->next == cell->count || cell->broken) {
        cell->next = cell->count;
        return 0;
    }
    const struct rec_row *row = cell->row + cell->next;
    size_t n = run_length(cell);
    struct cd_buf apart = {0}, why = {0};
    struct ltx_file *file = cd_alloc(n * sizeof *file);
    int rc = row->e.kind == LOG_ROW_APART ? apart_read(c, row, &apart) : 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        struct ltx_name name = {row[i].e.cell, row[i].e.epoch, LTX_L0, row[i].e.min_txid, row[i].e.max_txid};
        struct cd_str bytes = row[i].e.kind == LOG_ROW_APART ? cd_buf_str(&apart) : row[i].e.ltx;
        if (ltx_file_open(&file[i], bytes, &name, &why) != 0) {
            struct cd_buf key = {0};
            log_slot_key(&key, c->session, row[i].slot);
            rc = log_rec_corrupt(c, "log_slot_corrupt", cd_buf_str(&key), cd_buf_cstr(&why));
            cd_buf_deinit(&key);
        }
    }
    if (rc == 0) {
        bool first = (file[0].h.flags & (LTX_MARKER | LTX_SNAPSHOT)) != 0;
        switch (log_attach(cell->covered, row->e.min_txid, row->e.max_txid, first)) {
        case LOG_ATTACH_COVERED: CD_UNREACHABLE();
        case LOG_ATTACH_GAP: rc = detached(c, cell, row); break;
        case LOG_ATTACH_NEXT:
            cell->object_min = row->e.min_txid;
            cell->object_max = row[n - 1].e.max_txid;
            if (n == 1)
                cd_buf_add_str(&cell->object, file[0].bytes);
            else if ((rc = log_merge(c->io, file, n, NULL, &cell->object, &why)) != 0 && rc != IO_CANCELED)
                rc = log_rec_end(c, LOG_RECOVER_REFUSED, "%.*s: %s", (int)cell->scope.len, cell->scope.ptr,
                                 cd_buf_cstr(&why));
            cell->next += n;
            c->r->rows += rc == 0 ? n : 0;
            break;
        }
    }
    cd_buf_deinit(&apart);
    cd_buf_deinit(&why);
    cd_free(file);
    return rc;
}

/* ---- All objects ---- */

/* Objects under way, the oldest at `first`. */
struct puts {
    struct {
        struct rec_cell *cell;
        struct io_store put;
        struct cd_buf key; /* owned */
    } at[REC_PUTS];
    unsigned first, count;
    size_t bytes;
};

/* Sends the next object of the cell; one that has no more is done with. */
static int put_begin(struct rec *c, struct puts *p, struct rec_cell *cell)
{
    int rc = object_build(c, cell);
    if (rc != 0)
        return rc;
    if (cell->object.len == 0) {
        c->r->cells++;
        if (cell->covered != UINT64_MAX)
            note_add(c, cell, cell->covered);
        return 0;
    }
    struct store_policy policy = store_policy_of(IO_LANE_DATA, cell->object.len);
    unsigned i = (p->first + p->count++) % REC_PUTS;
    p->bytes += cell->object.len;
    p->at[i].cell = cell;
    cd_buf_clear(&p->at[i].key);
    row_key(&p->at[i].key, cell, cell->object_min, cell->object_max);
    p->at[i].put.lane = policy.lane;
    p->at[i].put.timeout_ns = policy.attempt_ns;
    io_store_put(&p->at[i].put, c->bucket, cd_buf_str(&p->at[i].key), cd_buf_str(&cell->object), IO_PUT_ANY,
                 NULL);
    return 0;
}

/* The oldest has ended, or is tried again until it has; its cell goes on. With a failure before it, rc, it is
 * only waited for. */
static int put_end(struct rec *c, struct puts *p, int rc)
{
    unsigned i = p->first;
    struct rec_cell *cell = p->at[i].cell;
    struct io_store *put = &p->at[i].put;
    (void)io_await(&put->op, IO_FOREVER); /* The op has a time limit of its own. */
    bool stored = put->outcome == IO_DONE && put->op.status == IO_OK;
    if (rc == 0 && !stored) {
        struct store_policy policy = store_policy_of(IO_LANE_DATA, cell->object.len);
        rc = store_retry_put(put, c->io, c->bucket, cd_buf_str(&p->at[i].key), cd_buf_str(&cell->object),
                             &policy);
        if (rc != 0)
            rc = log_rec_failed(c, cd_buf_str(&p->at[i].key), rc, put->why);
    }
    p->first = (p->first + 1) % REC_PUTS;
    p->count--;
    p->bytes -= cell->object.len;
    cd_buf_deinit(&cell->object);
    if (rc != 0)
        return rc;
    cell->covered = cell->object_max;
    return put_begin(c, p, cell);
}

static int objects_put(struct rec *c, struct rec_cell **cell, size_t count)
{
    struct puts *p = cd_new(struct puts);
    size_t at = 0;
    int rc = 0;
    while (p->count > 0 || (rc == 0 && at < count)) {
        while (rc == 0 && at < count && p->count < REC_PUTS && p->bytes < OBJECT_BYTES)
            rc = put_begin(c, p, cell[at++]);
        if (p->count > 0)
            rc = put_end(c, p, rc);
        if (rc == 0)
            rc = log_rec_beat(c);
    }
    for (unsigned i = 0; i < REC_PUTS; i++)
        cd_buf_deinit(&p->at[i].key);
    cd_free(p);
    return rc;
}

/* Cells with rows in this window, in the order of their keys. */
static struct rec_cell **cells_of_window(struct rec *c, size_t *count)
{
    struct rec_cell **cell = cd_alloc((c->cells.count + 1) * sizeof(struct rec_cell *));
    *count = 0;
    for (struct cd_map_node *n = cd_map_first(&c->cells); n != NULL; n = cd_map_next(n)) {
        struct rec_cell *one = cd_map_value(n);
        if (one->count > 0)
            cell[(*count)++] = one;
    }
    return cell;
}

static int fold_cells(struct rec *c, struct rec_cell **cell, size_t count)
{
    int rc = log_rec_reach(c, cell, count);
    if (CD_PLANT("recover.early-checkpoint")) {
        for (size_t i = 0; i < count && rc == 0; i++)
            note_add(c, cell[i], cell[i]->row[cell[i]->count - 1].e.max_txid);
        notes_end(c);
    }
    if (rc == 0)
        rc = objects_put(c, cell, count);
    if (rc == 0)
        notes_end(c);
    return rc;
}

int log_rec_fold(struct rec *c)
{
    size_t count;
    struct rec_cell **cell = cells_of_window(c, &count);
    int rc = fold_cells(c, cell, count);
    for (size_t i = 0; i < count; i++)
        cell[i]->count = cell[i]->next = 0;
    cd_free(cell);
    return rc;
}
