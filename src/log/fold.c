/* log/fold.c: rows in, when which cell is folded, and who asked for it (fleet.md 6.7). */
#include "log/fold.h"

#include "io/backend.h"
#include "log/fold_internal.h"

#define SLOTS_FORCE 16384u

void log_cell_key(struct cd_buf *out, struct cd_str scope, uint64_t epoch)
{
    cd_buf_add_str(out, scope);
    for (unsigned shift = 64; shift > 0; shift -= 8)
        cd_buf_add_byte(out, (char)(epoch >> (shift - 8)));
}

static struct fold_cell *cell_find(const struct log_folder *f, struct cd_str scope, uint64_t epoch)
{
    struct cd_buf key = {0};
    log_cell_key(&key, scope, epoch);
    struct fold_cell *c = cd_map_get(&f->cells, cd_buf_str(&key));
    cd_buf_deinit(&key);
    return c;
}

static struct fold_cell *cell_make(struct log_folder *f, struct cd_str scope, uint64_t epoch)
{
    struct fold_cell *c = cell_find(f, scope, epoch);
    if (c != NULL)
        return c;
    struct cd_buf key = {0};
    c = cd_new(struct fold_cell);
    c->scope = cd_str_dup(scope);
    c->epoch = epoch;
    c->folder = f;
    c->since_ns = io_now_ns(f->io);
    cd_list_init(&c->rows);
    cd_list_init(&c->calls);
    log_cell_key(&key, scope, epoch);
    cd_map_put(&f->cells, cd_buf_str(&key), c);
    cd_buf_deinit(&key);
    cd_list_push(&f->dirty, &c->dirty);
    return c;
}

static void cell_free(struct log_folder *f, struct fold_cell *c)
{
    struct cd_buf key = {0};
    CD_ASSERT(cd_list_empty(&c->rows) && cd_list_empty(&c->calls) && !c->busy);
    log_cell_key(&key, cd_str(c->scope), c->epoch);
    CD_ASSERT(cd_map_remove(&f->cells, cd_buf_str(&key)) == c);
    cd_buf_deinit(&key);
    cd_link_remove(&c->dirty);
    cd_link_remove(&c->ready);
    cd_free(c->scope);
    cd_free(c);
}

struct log_folder *log_folder_new(const struct log_folder_opts *o)
{
    struct log_folder *f = cd_new(struct log_folder);
    CD_ASSERT(store_session_valid(o->session));
    f->io = o->io;
    f->bucket = o->bucket;
    memcpy(f->session, o->session.ptr, o->session.len);
    f->fold_ms = o->fold_ms;
    f->fence = o->fence;
    f->stored = o->stored;
    cd_list_init(&f->held);
    f->folded = o->folded;
    f->arg = o->arg;
    f->limits = o->limits;
    struct log_folder_limits *l = &f->limits;
    const struct log_folder_limits usual = {8u << 20,   256,         64u << 20, 256u << 20,
                                            256u << 20, SLOTS_FORCE, 64};
    l->cell_bytes = l->cell_bytes != 0 ? l->cell_bytes : usual.cell_bytes;
    l->cell_rows = l->cell_rows != 0 ? l->cell_rows : usual.cell_rows;
    l->range_bytes = l->range_bytes != 0 ? l->range_bytes : usual.range_bytes;
    l->cache_bytes = l->cache_bytes != 0 ? l->cache_bytes : usual.cache_bytes;
    l->total_bytes = l->total_bytes != 0 ? l->total_bytes : usual.total_bytes;
    l->slots = l->slots != 0 ? l->slots : usual.slots;
    l->uploads = l->uploads != 0 ? l->uploads : usual.uploads;
    cd_list_init(&f->dirty);
    cd_list_init(&f->ready);
    io_signal_init(&f->progress);
    io_signal_init(&f->floor_wanted);
    f->fibers = 1;
    f->floor_fiber = io_spawn(f->io, "floor", log_floor_flow, f);
    return f;
}

/* ---- When a cell is folded ---- */

static void start_ready(struct log_folder *f)
{
    while (f->folding < f->limits.uploads && !f->closing && !f->stopped) {
        struct cd_link *k = cd_list_pop(&f->ready);
        if (k == NULL)
            return;
        struct fold_cell *c = CD_CONTAINER(k, struct fold_cell, ready);
        c->busy = true;
        f->folding++;
        f->fibers++;
        c->fiber = io_spawn(f->io, "fold", log_fold_cell_flow, c);
    }
}

static void make_ready(struct log_folder *f, struct fold_cell *c)
{
    if (!c->busy && !cd_link_linked(&c->ready))
        cd_list_push(&f->ready, &c->ready);
}

static uint64_t slots_above_floor(const struct log_folder *f)
{
    return f->durable_slot - f->floor.floor;
}

/* Too much is unfolded: the cells that have waited longest go first, as many as there are places. */
static void make_room(struct log_folder *f)
{
    if (f->bytes <= f->limits.total_bytes && slots_above_floor(f) <= f->limits.slots)
        return;
    unsigned places = f->limits.uploads;
    for (struct cd_link *k = cd_list_first(&f->dirty); k != NULL && places > 0;
         k = cd_list_next(&f->dirty, k)) {
        make_ready(f, CD_CONTAINER(k, struct fold_cell, dirty));
        places--;
    }
    io_signal_wake(&f->floor_wanted, IO_OK);
}

static void age_done(struct io_op *op, int status);

/* One timer, for the cell whose oldest row has waited longest. */
static void age_start(struct log_folder *f)
{
    struct cd_link *first = cd_list_first(&f->dirty);
    if (io_busy(&f->age.op) || first == NULL || f->closing)
        return;
    uint64_t due = CD_CONTAINER(first, struct fold_cell, dirty)->since_ns + IO_MS(f->fold_ms);
    uint64_t now = io_now_ns(f->io);
    io_timer_start(&f->age, f->io, due > now ? due - now : 0, age_done);
}

static void age_done(struct io_op *op, int status)
{
    struct log_folder *f = CD_CONTAINER(op, struct log_folder, age.op);
    uint64_t now = io_now_ns(f->io);
    if (f->closing)
        log_fold_fiber_ended(f); /* log_folder_close counted the timer. */
    if (status != IO_OK || f->closing)
        return;
    bool busy = false;
    for (struct cd_link *k = cd_list_first(&f->dirty); k != NULL; k = cd_list_next(&f->dirty, k)) {
        struct fold_cell *c = CD_CONTAINER(k, struct fold_cell, dirty);
        if (c->since_ns + IO_MS(f->fold_ms) > now)
            break;
        make_ready(f, c);
        busy = true;
    }
    start_ready(f);
    if (!busy)
        age_start(f); /* Else the end of a fold starts it. */
}

void log_fold_row_done(struct log_folder *f, struct fold_cell *c, struct log_row *row)
{
    struct fold_slot *s = cd_map_get_u64(&f->slots, row->slot);
    CD_ASSERT(s != NULL && s->unfolded > 0);
    s->unfolded--;
    cd_link_remove(&row->link);
    c->count--;
    c->bytes -= row->length;
    f->rows--;
    f->bytes -= row->length;
    f->cached -= row->ltx.len;
    log_row_free(row);
}

static void answer(struct log_fold_call *call, int status);

/* Ends the requests that are satisfied: no unfolded row is left up to where they asked for. */
static void answer_calls(struct fold_cell *c)
{
    struct cd_link *first = cd_list_first(&c->rows);
    uint64_t open = first == NULL ? UINT64_MAX : CD_CONTAINER(first, struct log_row, link)->min_txid;
    for (struct cd_link *k = cd_list_first(&c->calls), *next; k != NULL; k = next) {
        struct log_fold_call *call = CD_CONTAINER(k, struct log_fold_call, link);
        next = cd_list_next(&c->calls, k);
        if (call->upto < open) {
            cd_link_remove(&call->link);
            answer(call, IO_OK);
        }
    }
}

void log_fold_cell_done(struct log_folder *f, struct fold_cell *c, uint64_t started_ns)
{
    c->busy = false;
    c->fiber = NULL;
    f->folding--;
    answer_calls(c);
    if (cd_list_empty(&c->rows) && cd_list_empty(&c->calls)) {
        cell_free(f, c);
    } else {
        c->since_ns = started_ns; /* What is left came after that. */
        cd_link_remove(&c->dirty);
        cd_list_push(&f->dirty, &c->dirty);
        if (c->count >= f->limits.cell_rows || c->bytes >= f->limits.cell_bytes || f->finishing ||
            (!cd_list_empty(&c->calls) && c->count > 0))
            make_ready(f, c);
    }
    make_room(f);
    start_ready(f);
    age_start(f);
    io_signal_wake(&f->progress, IO_OK);
    log_fold_fiber_ended(f);
}

/* ---- Rows in ---- */

static struct fold_slot *slot_of(struct log_folder *f, const struct log_durable *d)
{
    struct fold_slot *s = cd_map_get_u64(&f->slots, d->slot);
    if (s == NULL) {
        CD_ASSERT(d->slot == f->durable_slot + 1); /* The prefix rule: none is left out. */
        s = cd_new(struct fold_slot);
        s->slot = d->slot;
        cd_map_put_u64(&f->slots, d->slot, s);
    }
    CD_ASSERT(d->batch == f->durable_batch + 1);
    s->last_batch = d->batch;
    return s;
}

static void take_row(struct log_folder *f, struct fold_slot *s, struct log_row *row)
{
    struct store_identity identity = {row->epoch, row->alarm.inst_seq};
    log_alarms_apply(&f->alarms, cd_str(row->scope), identity, row->alarm.armed, (uint64_t)row->alarm.due_ms,
                     row->batch);
    if (row->kind == LOG_ROW_NOTE) {
        log_row_free(row);
        return;
    }
    if (row->kind == LOG_ROW_APART)
        cd_buf_add(&s->apart, row->id, LOG_ID_SIZE);
    struct fold_cell *c = cell_make(f, cd_str(row->scope), row->epoch);
    struct log_row *last =
        cd_list_empty(&c->rows) ? NULL : CD_CONTAINER(c->rows.head.prev, struct log_row, link);
    CD_ASSERT(last == NULL || row->min_txid == last->max_txid + 1);
    cd_list_push(&c->rows, &row->link);
    s->unfolded++;
    c->count++;
    c->bytes += row->length;
    f->rows++;
    f->bytes += row->length;
    if (f->cached + row->ltx.len > f->limits.cache_bytes)
        cd_buf_deinit(&row->ltx); /* It is in its slot, or an object of its own. */
    f->cached += row->ltx.len;
    if (c->count >= f->limits.cell_rows || c->bytes >= f->limits.cell_bytes || f->finishing)
        make_ready(f, c);
}

static void held_ask(struct log_folder *f);

void log_folder_durable(struct log_folder *f, struct log_durable *d)
{
    struct fold_slot *s = slot_of(f, d);
    struct cd_link *k;
    f->durable_slot = d->slot;
    f->durable_batch = d->batch;
    while ((k = cd_list_pop(&d->rows)) != NULL)
        take_row(f, s, CD_CONTAINER(k, struct log_row, link));
    make_room(f);
    start_ready(f);
    age_start(f);
    held_ask(f);
}

/* ---- Requests ---- */

static void answered(struct io *at, struct io_msg *m)
{
    struct log_fold_call *call = CD_CONTAINER(m, struct log_fold_call, msg);
    struct log_fold *w = call->w;
    int status = call->status;
    cd_free(call->scope);
    cd_free(call);
    (void)at;
    if (w == NULL)
        return;
    w->call = NULL;
    io_complete(&w->op, status);
}

static void answer(struct log_fold_call *call, int status)
{
    call->status = status;
    call->msg.handle = answered;
    io_post(call->folder->io, call->loop, &call->msg);
}

static void take_call(struct log_folder *f, struct log_fold_call *call)
{
    struct fold_cell *c = cell_find(f, cd_str(call->scope), call->epoch);
    if (f->closing) {
        answer(call, IO_CANCELED);
    } else if (c == NULL) {
        answer(call, IO_OK); /* What was proven has come here, and is folded. */
    } else {
        cd_list_push(&c->calls, &call->link);
        answer_calls(c);
        if (!cd_list_empty(&c->calls))
            make_ready(f, c);
        start_ready(f);
    }
}

static void asked(struct io *at, struct io_msg *m)
{
    struct log_fold_call *call = CD_CONTAINER(m, struct log_fold_call, msg);
    struct log_folder *f = call->folder;
    (void)at;
    call->batch = f->closing || f->stored == NULL ? 0 : f->stored(f->arg);
    if (call->batch > f->durable_batch && !f->closing) {
        CD_MARK("fold.waits_for_slot"); /* Followers proved its rows. */
        cd_list_push(&f->held, &call->link);
    } else {
        take_call(f, call);
    }
}

/* Those whose rows have come. All of them when the folder closes. */
static void held_ask(struct log_folder *f)
{
    for (struct cd_link *k = cd_list_first(&f->held), *next; k != NULL; k = next) {
        struct log_fold_call *call = CD_CONTAINER(k, struct log_fold_call, link);
        next = cd_list_next(&f->held, k);
        if (call->batch > f->durable_batch && !f->closing)
            continue;
        cd_link_remove(k);
        take_call(f, call);
    }
}

static void call_cancel(struct io_op *op)
{
    struct log_fold *w = CD_CONTAINER(op, struct log_fold, op);
    w->call->w = NULL; /* The answer finds nobody. */
    w->call = NULL;
    io_complete_later(op, IO_CANCELED);
}

void log_fold(struct log_folder *f, struct io *from, struct log_fold *w, io_done_fn *done)
{
    struct log_fold_call *call = cd_new(struct log_fold_call);
    call->folder = f;
    call->w = w;
    call->loop = io_loop_index(from);
    call->scope = cd_str_dup(cd_str(w->scope));
    call->epoch = w->epoch;
    call->upto = w->upto;
    call->msg.handle = asked;
    io_begin(&w->op, from, done);
    w->op.cancel = call_cancel;
    w->call = call;
    io_post(from, 0, &call->msg);
}

struct duty {
    struct io_msg msg;
    struct log_folder *folder;
    char *scope; /* owned */
    bool armed;
    struct store_identity identity;
    uint64_t due_ms;
};

static void duty_told(struct io *at, struct io_msg *m)
{
    struct duty *d = CD_CONTAINER(m, struct duty, msg);
    (void)at;
    if (d->armed)
        log_alarms_apply(&d->folder->alarms, cd_str(d->scope), d->identity, true, d->due_ms, 0);
    else
        log_alarms_remove(&d->folder->alarms, cd_str(d->scope), d->identity.epoch);
    cd_free(d->scope);
    cd_free(d);
}

static void duty_tell(struct log_folder *f, struct io *from, struct cd_str scope, const struct duty *what)
{
    struct duty *d = cd_new(struct duty);
    *d = *what;
    d->folder = f;
    d->scope = cd_str_dup(scope);
    d->msg.handle = duty_told;
    io_post(from, 0, &d->msg);
}

void log_folder_alarm(struct log_folder *f, struct io *from, const struct store_alarm *a)
{
    duty_tell(f, from, a->cell, &(struct duty){.armed = true, .identity = a->identity, .due_ms = a->due_ms});
}

void log_folder_released(struct log_folder *f, struct io *from, struct cd_str scope, uint64_t epoch)
{
    duty_tell(f, from, scope, &(struct duty){.identity = {.epoch = epoch}});
}

/* ---- The end ---- */

int log_folder_finish(struct log_folder *f, struct cd_buf *why)
{
    f->finishing = true;
    while (f->rows > 0 && !f->closing && !CD_PLANT("fold.finish-early")) {
        for (struct cd_link *k = cd_list_first(&f->dirty); k != NULL; k = cd_list_next(&f->dirty, k))
            make_ready(f, CD_CONTAINER(k, struct fold_cell, dirty));
        start_ready(f);
        struct io_op op = {0};
        io_signal_wait(&f->progress, f->io, &op, NULL);
        int status = io_await(&op, IO_FOREVER);
        if (status != IO_OK) {
            if (why != NULL)
                cd_buf_addf(why, "%llu rows are not folded", (unsigned long long)f->rows);
            return status;
        }
    }
    if (f->closing)
        return IO_CANCELED;
    size_t count;
    uint64_t packs = 0;
    struct store_alarm *items = log_alarms_list(&f->alarms, &count);
    int status = log_packs_write(f->io, f->bucket, cd_str(f->session), items, count, &packs);
    cd_free(items);
    if (status != IO_OK && why != NULL)
        cd_buf_addf(why, "the packs of %zu armed cells: %s", count, cd_err_text(status));
    return status;
}

static void folder_free(struct log_folder *f)
{
    for (struct cd_map_node *n = cd_map_first(&f->cells); n != NULL; n = cd_map_first(&f->cells)) {
        struct fold_cell *c = cd_map_value(n);
        log_rows_free(&c->rows);
        cell_free(f, c);
    }
    cd_map_deinit(&f->cells);
    for (struct cd_map_node *n = cd_map_first(&f->slots); n != NULL; n = cd_map_next(n)) {
        struct fold_slot *s = cd_map_value(n);
        cd_buf_deinit(&s->apart);
        cd_free(s);
    }
    cd_map_deinit(&f->slots);
    log_alarms_deinit(&f->alarms);
    cd_free(f);
}

void log_fold_fiber_ended(struct log_folder *f)
{
    CD_ASSERT(f->fibers > 0);
    if (--f->fibers == 0 && f->closed != NULL) {
        struct io_op *closed = f->closed;
        folder_free(f);
        io_complete_later(closed, IO_OK);
    }
}

static void answer_all(struct log_folder *f)
{
    for (struct cd_map_node *n = cd_map_first(&f->cells); n != NULL; n = cd_map_next(n)) {
        struct fold_cell *c = cd_map_value(n);
        struct cd_link *k;
        while ((k = cd_list_pop(&c->calls)) != NULL)
            answer(CD_CONTAINER(k, struct log_fold_call, link), IO_CANCELED);
    }
}

void log_folder_close(struct log_folder *f, struct io_op *op, io_done_fn *done)
{
    CD_ASSERT(!f->closing);
    f->closing = true;
    io_begin(op, f->io, done);
    f->closed = op;
    held_ask(f);
    answer_all(f);
    f->fibers++; /* Ours, so that the last of these calls does not free f. */
    if (io_busy(&f->age.op))
        f->fibers++;
    io_cancel(&f->age.op);
    if (f->floor_fiber != NULL)
        io_fiber_cancel(f->floor_fiber);
    for (struct cd_map_node *n = cd_map_first(&f->cells); n != NULL; n = cd_map_next(n)) {
        struct fold_cell *c = cd_map_value(n);
        if (c->fiber != NULL)
            io_fiber_cancel(c->fiber);
    }
    io_signal_wake(&f->progress, IO_CANCELED);
    io_signal_wake(&f->floor_wanted, IO_CANCELED);
    log_fold_fiber_ended(f);
}

void log_folder_numbers(const struct log_folder *f, struct log_folder_numbers *out)
{
    *out = (struct log_folder_numbers){
        .floor = f->floor.floor, .unfolded_bytes = f->bytes, .armed_alarms = f->alarms.armed};
}
