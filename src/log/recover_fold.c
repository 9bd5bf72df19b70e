/* log/recover_fold.c: the rows of a window into the prefixes of their cells (fleet.md 7.5).
 *
 * In rounds: how far the prefixes of up to 64 cells reach is asked at the same time; then of up to 64 cells
 * the next object each is built and put at the same time. A round begins when all of the one before is done,
 * so the objects of one cell go in ascending order. Nobody can have a cell of the session before the last
 * round has ended, which is why they are rounds and not a cell after the other. */
#include "log/fold_internal.h"
#include "log/recover_internal.h"
#include "ltx/plan.h"

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

/* Never needed, so a failure changes nothing. */
static int note_write(struct rec *c)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct io_store put = {0};
    struct cd_buf key = {0}, body = {0};
    p.retries = 0;
    store_key_recovered(&key, c->session, c->me, ++c->notes);
    store_recovered_write(&body, c->note);
    int rc = store_retry_put(&put, c->io, c->bucket, cd_buf_str(&key), cd_buf_str(&body), &p);
    c->note->count = 0;
    cd_buf_deinit(&key);
    cd_buf_deinit(&body);
    return rc == IO_CANCELED ? rc : 0;
}

static int note_add(struct rec *c, struct rec_cell *cell, uint64_t through)
{
    if (cell->noted >= through)
        return 0;
    struct store_recovered_item *item = &c->note->item[c->note->count++];
    *item = (struct store_recovered_item){.epoch = cell->epoch, .through = through};
    memcpy(item->cell, cell->scope.ptr, cell->scope.len);
    cell->noted = through;
    return c->note->count == STORE_RECOVERED_MAX ? note_write(c) : 0;
}

/* What was noted in a window, if it saves enough requests of a later pass. */
static int notes_end(struct rec *c)
{
    return c->note->count >= REC_NOTES ? note_write(c) : 0;
}

/* ---- Coverage ---- */

#define ASK_ENTRIES 128u /* Of a page: more than a chain has that is kept short; REC_ASKS pages are held. */

struct asks {
    struct rec_cell *cell[REC_ASKS];
    struct cd_buf prefix[REC_ASKS], after[REC_ASKS];
    struct io_list page[REC_ASKS];
    bool later[REC_ASKS]; /* The cell has objects of a later epoch. */
    struct io_store get[REC_ASKS];
    unsigned count;
};

/* The objects of a page that are of this epoch, behind those before it. True: a later epoch follows. */
static bool objects_add(struct ltx_object **object, size_t *count, const struct io_list *page, uint64_t epoch)
{
    *object = cd_realloc(*object, (*count + page->count + 1) * sizeof **object);
    for (unsigned i = 0; i < page->count; i++) {
        struct ltx_name n;
        if (ltx_key_parse(page->entry[i].key, &n) != 0)
            continue;
        if (n.epoch > epoch)
            return true;
        (*object)[(*count)++] = (struct ltx_object){
            n.epoch, n.level, n.min_txid, n.max_txid, page->entry[i].size, page->entry[i].modified_ms};
    }
    return false;
}

/* How far the i-th prefix reaches. Its first page was read or not; then that is tried again, as all that
 * follows, a page after the other. */
static int covered_take(struct rec *c, struct asks *a, unsigned i)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct rec_cell *cell = a->cell[i];
    struct io_list *page = &a->page[i];
    struct ltx_object *object = NULL;
    size_t count = 0;
    bool read = page->op.status == IO_OK;
    int rc = IO_OK;
    do {
        if (!read)
            rc = store_retry_list(page, c->io, c->bucket, cd_buf_str(&a->prefix[i]), cd_buf_str(&a->after[i]),
                                  ASK_ENTRIES, &p);
        if (rc != IO_OK)
            break;
        read = false;
        a->later[i] = objects_add(&object, &count, page, cell->epoch);
        cd_buf_clear(&a->after[i]);
        if (page->count > 0)
            cd_buf_add_str(&a->after[i], page->entry[page->count - 1].key);
    } while (page->more && !a->later[i]);
    if (rc == IO_OK) {
        cell->covered = count == 0 ? 0 : ltx_coverage(object, count, 0);
        cell->known = true;
    } else {
        rc = log_rec_failed(c, cd_buf_str(&a->prefix[i]), rc, page->why);
    }
    cd_free(object);
    return rc;
}

static int prefixes_ask(struct rec *c, struct asks *a)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    int rc = 0;
    for (unsigned i = 0; i < a->count; i++) {
        ltx_key_cell(&a->prefix[i], a->cell[i]->scope);
        ltx_key_epoch(&a->after[i], a->cell[i]->scope, a->cell[i]->epoch);
        a->page[i].lane = p.lane;
        a->page[i].timeout_ns = p.attempt_ns;
        io_store_list(&a->page[i], c->bucket, cd_buf_str(&a->prefix[i]), cd_buf_str(&a->after[i]),
                      ASK_ENTRIES, NULL);
    }
    for (unsigned i = 0; i < a->count; i++)
        (void)io_await(&a->page[i].op, IO_FOREVER); /* The op has a time limit of its own. */
    for (unsigned i = 0; i < a->count && rc == 0; i++)
        rc = covered_take(c, a, i);
    return rc;
}

/* Epochs below retired_below were deleted on purpose: nothing of them is to come back, and what objects a
 * failed delete has left says nothing. */
static int retired_take(struct rec *c, struct rec_cell *cell, struct io_store *get)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct cd_buf key = {0}, why = {0};
    uint64_t below = 0;
    int rc = get->op.status;
    store_key_retired_epochs(&key, cell->scope);
    if (rc != IO_OK && rc != IO_NOENT)
        rc = store_retry_get(get, c->io, c->bucket, cd_buf_str(&key), 0, IO_WHOLE, &p);
    if (rc == IO_NOENT)
        rc = 0;
    else if (rc != IO_OK)
        rc = log_rec_failed(c, cd_buf_str(&key), rc, get->why);
    else if (store_retired_epochs_read(&below, cd_buf_str(&get->body), &why) != 0)
        rc = log_rec_corrupt(c, "cell_retired_corrupt", cd_buf_str(&key), cd_buf_cstr(&why));
    if (rc == 0 && cell->epoch < below)
        cell->covered = UINT64_MAX;
    cd_buf_deinit(&key);
    cd_buf_deinit(&why);
    return rc;
}

/* Only epochs with a later one can have been retired: the image that a chain then begins with is in one. */
static int retired_ask(struct rec *c, struct asks *a)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct cd_buf key[REC_ASKS] = {{0}};
    int rc = 0;
    for (unsigned i = 0; i < a->count; i++) {
        if (!a->later[i])
            continue;
        store_key_retired_epochs(&key[i], a->cell[i]->scope);
        a->get[i].lane = p.lane;
        a->get[i].timeout_ns = p.attempt_ns;
        io_store_get(&a->get[i], c->bucket, cd_buf_str(&key[i]), 0, IO_WHOLE, NULL);
    }
    for (unsigned i = 0; i < a->count; i++) {
        if (a->later[i])
            (void)io_await(&a->get[i].op, IO_FOREVER); /* The same. */
    }
    for (unsigned i = 0; i < a->count; i++) {
        if (a->later[i] && rc == 0)
            rc = retired_take(c, a->cell[i], &a->get[i]);
        cd_buf_deinit(&key[i]);
    }
    return rc;
}

/* Asks for the cells from *at on that are not known yet, as many as go at once. */
static int asks_run(struct rec *c, struct rec_cell **cell, size_t count, size_t *at)
{
    struct asks *a = cd_new(struct asks);
    for (; *at < count && a->count < REC_ASKS; ++*at) {
        if (!cell[*at]->known)
            a->cell[a->count++] = cell[*at];
    }
    int rc = prefixes_ask(c, a);
    if (rc == 0)
        rc = retired_ask(c, a);
    for (unsigned i = 0; i < a->count; i++) {
        io_list_deinit(&a->page[i]);
        cd_buf_deinit(&a->get[i].body);
        cd_buf_deinit(&a->prefix[i]);
        cd_buf_deinit(&a->after[i]);
    }
    cd_free(a);
    return rc == 0 ? log_rec_beat(c) : rc;
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

/* ---- Rounds ---- */

struct round {
    struct rec_cell *cell[REC_PUTS];
    struct io_store put[REC_PUTS];
    struct cd_buf key[REC_PUTS];
    unsigned count;
    size_t bytes; /* Of their objects. */
};

static void round_put(struct rec *c, struct round *r)
{
    for (unsigned i = 0; i < r->count; i++) {
        struct rec_cell *cell = r->cell[i];
        struct store_policy p = store_policy_of(IO_LANE_DATA, cell->object.len);
        row_key(&r->key[i], cell, cell->object_min, cell->object_max);
        r->put[i].lane = p.lane;
        r->put[i].timeout_ns = p.attempt_ns;
        io_store_put(&r->put[i], c->bucket, cd_buf_str(&r->key[i]), cd_buf_str(&cell->object), IO_PUT_ANY,
                     NULL);
    }
    for (unsigned i = 0; i < r->count; i++)
        (void)io_await(&r->put[i].op, IO_FOREVER); /* The op has a time limit of its own. */
}

/* Ends a round: what failed is tried again alone, and every cell is as far as its object. */
static int round_end(struct rec *c, struct round *r)
{
    int rc = 0;
    for (unsigned i = 0; i < r->count; i++) {
        struct rec_cell *cell = r->cell[i];
        bool stored = r->put[i].outcome == IO_DONE && r->put[i].op.status == IO_OK;
        if (rc == 0 && !stored) {
            struct store_policy p = store_policy_of(IO_LANE_DATA, cell->object.len);
            rc = store_retry_put(&r->put[i], c->io, c->bucket, cd_buf_str(&r->key[i]),
                                 cd_buf_str(&cell->object), &p);
            if (rc != 0)
                rc = log_rec_failed(c, cd_buf_str(&r->key[i]), rc, r->put[i].why);
        }
        if (rc == 0)
            cell->covered = cell->object_max;
        cd_buf_deinit(&cell->object);
        cd_buf_deinit(&r->key[i]);
    }
    return rc;
}

/* One object of each of the cells from *at on, as many as go at once. */
static int round_run(struct rec *c, struct rec_cell **cell, size_t count, size_t *at)
{
    struct round *r = cd_new(struct round);
    int rc = 0;
    for (; *at < count && r->count < REC_PUTS && r->bytes < OBJECT_BYTES && rc == 0; ++*at) {
        rc = object_build(c, cell[*at]);
        if (rc == 0 && cell[*at]->object.len > 0) {
            r->bytes += cell[*at]->object.len;
            r->cell[r->count++] = cell[*at];
        }
    }
    if (rc == 0) {
        round_put(c, r);
        rc = round_end(c, r);
    }
    for (unsigned i = 0; i < r->count; i++)
        cd_buf_deinit(&r->cell[i]->object);
    cd_free(r);
    return rc == 0 ? log_rec_beat(c) : rc;
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
    int rc = 0;
    for (size_t at = 0; at < count && rc == 0;)
        rc = asks_run(c, cell, count, &at);
    if (CD_PLANT("recover.early-checkpoint")) {
        for (size_t i = 0; i < count && rc == 0; i++)
            rc = note_add(c, cell[i], cell[i]->row[cell[i]->count - 1].e.max_txid);
        rc = rc == 0 ? notes_end(c) : rc;
    }
    for (bool more = true; more && rc == 0;) {
        more = false;
        for (size_t at = 0; at < count && rc == 0;)
            rc = round_run(c, cell, count, &at);
        for (size_t i = 0; i < count && !more; i++)
            more = cell[i]->next < cell[i]->count;
    }
    for (size_t i = 0; i < count && rc == 0; i++) {
        c->r->cells++;
        if (cell[i]->covered != UINT64_MAX)
            rc = note_add(c, cell[i], cell[i]->covered);
    }
    return rc == 0 ? notes_end(c) : rc;
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
