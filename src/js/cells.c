/* js/cells.c: the life of cells in V8: starts, calls, alarms, stops, and the end of each turn. */
#include "js/cells.h"

#include "js/cell_sockets.h"
#include "js/cells_internal.h"
#include "js/ops.h"
#include "js/site.h"
#include "js/wire.h"

#define LOOK_NS IO_MS(100)
#define MEMORY_EXCEEDED "Durable Object's isolate exceeded its memory limit and was reset."
#define CODE_UPDATED "Durable Object reset because its code was updated."

/* ---- The event that is the cell ---- */

static void reset_now(struct js_cell *c, struct cd_str reason)
{
    if (c->starting || c->stopping)
        return; /* That is under way, and says it itself. */
    cell_abort(c->cell, reason);
}

static const char *end_text(struct js_cell *c, const char *why)
{
    struct js_heap heap;
    js_heap_stats(js_worker_isolate(c->w), &heap);
    if (heap.state == JS_HEAP_EXHAUSTED)
        return MEMORY_EXCEEDED;
    return js_site_closing(c->site) ? CODE_UPDATED : why;
}

void js_cell_ending(struct js_event *e, const char *why)
{
    struct js_cell *c = js_cell_of(e);
    if (c == NULL)
        return;
    c->reset = true;
    if (c->reason.len == 0)
        cd_buf_addf(&c->reason, "%s", end_text(c, why));
    if (!c->stopping)
        c->close = (struct cell_close){.text = cd_buf_str(&c->reason), .reset = true, .retryable = true};
    reset_now(c, cd_buf_str(&c->reason)); /* Before its wires close: that would commit what the turn wrote. */
}

static void cell_end(struct js_event *e, const char *why)
{
    struct js_cell *c = CD_CONTAINER(e, struct js_cell, event);
    c->ended = true;
    cd_link_remove(&c->touched);
    js_watch_cell(c->w->watch, (struct cd_str){0});
    js_site_cell_left(c->site, c->w);
    (void)why; /* js_cell_ending has heard it. */
}

static const struct js_event_type cell_type = {.name = "cell", .end = cell_end};

struct js_cell *js_cell_of(struct js_event *e)
{
    return e->type == &cell_type ? CD_CONTAINER(e, struct js_cell, event) : NULL;
}

struct cell *js_cell_cell(const struct js_cell *c)
{
    return c->cell;
}

const struct cell_close *js_cell_close(const struct js_cell *c)
{
    return c->close.text.len > 0 ? &c->close : NULL;
}

bool js_cell_ends(const struct js_cell *c)
{
    return c->reset || c->stopping;
}

int js_arg_cell(struct js_args *a, unsigned index, struct js_cell **out)
{
    uint64_t id;
    int rc = js_arg_u64(a, index, &id);
    if (rc != 0)
        return rc;
    struct js_event *e = js_event_get(js_worker_of(a), id);
    if (e == NULL || e->type != &cell_type)
        return js_throw_error(a->js, JS_ERROR, "This Durable Object is no longer running.");
    js_cell_touch(e);
    *out = js_cell_of(e);
    return 0;
}

/* ---- Turns ---- */

void js_cell_touch(struct js_event *e)
{
    struct js_cell *c = js_cell_of(e);
    if (c == NULL || cd_link_linked(&c->touched))
        return;
    cd_list_push(&e->w->touched, &c->touched);
    js_watch_cell(e->w->watch, cell_scope(c->cell));
}

static void activity(struct js_cell *c)
{
    bool active = c->busy || !cd_list_empty(&c->event.asyncs);
    if (active == c->pinned || c->starting)
        return;
    c->pinned = active;
    if (active)
        cell_pin(c->cell);
    else
        cell_unpin(c->cell);
}

void js_cells_turn_end(struct js_worker *w)
{
    struct js_cell *resetting = w->resetting;
    w->resetting = NULL;
    for (struct cd_link *k; (k = cd_list_pop(&w->touched)) != NULL;) {
        struct js_cell *c = CD_CONTAINER(k, struct js_cell, touched);
        struct cd_buf why = {0};
        activity(c);
        /* An unfinished cursor keeps its transaction open. A failure resets the cell by itself. */
        if (!c->reset && !c->starting && cell_flush(c->cell, &why) != 0)
            CD_MAYBE(why.len > 0);
        cd_buf_deinit(&why);
    }
    if (resetting != NULL && !resetting->ended)
        reset_now(resetting, cd_buf_str(&resetting->reason));
}

/* The frame of what runs says whose it is: runtime/core.js. */
struct cd_str js_worker_scope(struct js_worker *w)
{
    struct cd_str scope = {0};
    if (w->cells == 0 || !js_in_turn(w->js))
        return scope;
    struct js_try t;
    js_value v = js_continuation(w->js);
    js_try_begin(w->js, &t);
    if (js_kind(v) == JS_OBJECT && js_get_text(w->js, v, "context", &v) == 0 && js_kind(v) == JS_OBJECT &&
        js_get_text(w->js, v, "id", &v) == 0 && js_kind(v) == JS_NUMBER) {
        struct js_event *e = js_event_get(w, (uint64_t)js_as_number(v));
        struct js_cell *c = e != NULL ? js_cell_of(e) : NULL;
        scope = c != NULL ? cell_scope(c->cell) : scope;
    } else if (!cd_list_empty(&w->touched)) { /* Rejections have no frame: the turn is the cell's. */
        scope = cell_scope(CD_CONTAINER(cd_list_first(&w->touched), struct js_cell, touched)->cell);
    }
    js_try_end(&t);
    return scope;
}

int js_effect_begin(struct js_args *a, struct js_event *e)
{
    struct js_cell *c = js_cell_of(e);
    struct cd_buf why = {0};
    if (c == NULL)
        return 0;
    int rc = cell_flush(c->cell, &why);
    if (rc != 0)
        rc = js_throw_error(a->js, JS_ERROR, "%s", why.len > 0 ? cd_buf_cstr(&why) : cd_err_text(rc));
    cd_buf_deinit(&why);
    return rc;
}

int js_effect_async(struct js_args *a, struct js_async *s, void (*cancel)(struct js_async *s))
{
    uint64_t id;
    int rc = js_arg_u64(a, 0, &id);
    if (rc != 0)
        return rc;
    struct js_event *e = js_event_get(js_worker_of(a), id);
    rc = e != NULL ? js_effect_begin(a, e) : 0;
    return rc != 0 ? rc : js_async_begin(a, s, cancel);
}

static void on_proven(struct cell_held *h, int status, struct cd_str why)
{
    struct js_effect *x = CD_CONTAINER(h, struct js_effect, held);
    (void)why; /* The cell is reset, and that says it. */
    x->waiting = false;
    if (status == 0)
        x->go(x);
    else
        io_defer(x->op, x->io, status, x->done);
}

void js_effect_start(struct js_effect *x, struct js_event *e, struct io_op *op, io_done_fn *done,
                     void (*go)(struct js_effect *x))
{
    struct js_cell *c = js_cell_of(e);
    x->io = e->w->io;
    x->op = op;
    x->done = done;
    x->go = go;
    x->waiting = c != NULL;
    if (c != NULL)
        cell_gate(c->cell, &x->held, on_proven);
    else
        go(x);
}

void js_effect_cancel(struct js_effect *x)
{
    if (!x->waiting) {
        if (x->op != NULL)
            io_cancel(x->op);
        return;
    }
    x->waiting = false;
    cell_gate_cancel(&x->held);
    io_defer(x->op, x->io, IO_CANCELED, x->done);
}

/* ---- Starting ---- */

static void cell_free(struct js_cell *c)
{
    cd_link_remove(&c->link);
    cd_link_remove(&c->touched);
    cd_buf_deinit(&c->reason);
    cd_free(c);
}

/* The prelude's answer: undefined, or what is wrong. */
static void instance_make(struct js_cell *c, struct cd_buf *why)
{
    struct js_worker *w = c->w;
    struct js_entry e;
    js_enter(w, &e);
    struct cd_str scope = cell_scope(c->cell), name = cell_name(c->cell);
    js_value texts[2], answer, known = js_undefined(w->js);
    size_t colon = cd_str_find(scope, ':', 0);
    CD_ASSERT(colon != SIZE_MAX); /* Scopes are checked where they come in. */
    int rc = js_string(w->js, cd_str_sub(scope, 0, colon), &texts[0]);
    if (rc == 0)
        rc = js_string(w->js, cd_str_sub(scope, colon + 1, SIZE_MAX), &texts[1]);
    if (rc == 0 && name.len > 0)
        rc = js_string(w->js, name, &known);
    const js_value argv[] = {js_number(w->js, (double)c->event.id), texts[0], texts[1], known};
    if (rc == 0)
        rc = js_invoke(w, JS_EXPORT_CELL_START, argv, CD_COUNT(argv), &answer);
    if (rc != 0)
        cd_buf_addf(why, "The Durable Object could not be started.");
    else if (js_kind(answer) == JS_STRING)
        js_string_add(w->js, answer, why);
    js_leave(&e);
}

static void start(void *arg, struct cell *cell)
{
    struct js_cells *h = arg;
    struct cd_buf why = {0};
    struct js_worker *w = NULL;
    if (h->site != NULL)
        w = js_site_cell_worker(h->site, cell_script(cell), cell_scope(cell), &why);
    else
        cd_buf_addf(&why, "no deployment is loaded");
    if (w == NULL) {
        cell_started(cell, cd_buf_cstr(&why));
        cd_buf_deinit(&why);
        return;
    }
    struct js_cell *c = cd_new(struct js_cell);
    c->host = h;
    c->site = h->site;
    c->w = w;
    c->cell = cell;
    c->starting = true;
    cd_list_push(&h->cells, &c->link);
    js_event_init(&c->event, w, &cell_type);
    cell_set_user(cell, c);
    js_cell_touch(&c->event);
    js_parked_attach(c); /* The constructor asks for its sockets. */
    instance_make(c, &why);
    if (c->reset) { /* ctx.abort() in the constructor, or the isolate was given up. */
        cd_buf_clear(&why);
        cd_buf_add_str(&why, cd_buf_str(&c->reason));
    }
    if (why.len > 0) {
        if (!c->ended)
            js_event_end(&c->event, NULL);
        (void)js_parked_detach(c); /* What waits is kept: the cell is woken again for it. */
        cell_set_user(cell, NULL);
        cell_free(c);
        cell_started(cell, cd_buf_cstr(&why));
    } else {
        c->starting = false;
        cell_started(cell, NULL);
        activity(c);
    }
    cd_buf_deinit(&why);
}

/* ---- Deliveries ---- */

/* In an entry of its own; nothing happens when the cell is on its way out. */
static void deliver(struct js_cell *c, enum js_export fn, const double *numbers, unsigned count)
{
    if (c->ended)
        return;
    struct js_worker *w = c->w;
    struct js_entry e;
    js_value argv[3] = {0};
    js_enter(w, &e);
    js_cell_touch(&c->event);
    argv[0] = js_number(w->js, (double)c->event.id);
    for (unsigned i = 0; i < count; i++)
        argv[1 + i] = js_number(w->js, numbers[i]);
    int rc = js_invoke(w, fn, argv, 1 + count, NULL);
    if (rc != 0 && !js_try_terminated(&e.t))
        js_report(&e, "cell");
    js_leave(&e);
}

static void alarm(void *arg, struct cell *cell, const struct cell_alarm_run *run)
{
    (void)arg;
    const double numbers[] = {(double)run->scheduled_ms, run->retry_count};
    deliver(cell_user(cell), JS_EXPORT_CELL_ALARM, numbers, CD_COUNT(numbers));
}

/* ---- Stopping ---- */

static void stop(void *arg, struct cell *cell, enum cell_stop cause, struct cd_str why)
{
    struct js_cell *c = cell_user(cell);
    (void)arg;
    c->stopping = true;
    cd_buf_clear(&c->reason);
    cd_buf_add_str(&c->reason, why);
    c->close = (struct cell_close){.text = cd_buf_str(&c->reason),
                                   .reset = cause == CELL_STOP_RESET,
                                   .retryable = cause == CELL_STOP_RESET};
    deliver(c, JS_EXPORT_CELL_STOP, NULL, 0);
    if (!c->ended)
        js_event_end(&c->event, NULL); /* The isolate is halted. */
    struct cell_shard *shard = cell_shard_of(cell);
    struct cd_buf scope = {0};
    cd_buf_add_str(&scope, cell_scope(cell));
    bool waits = js_parked_detach(c);
    cell_free(c);
    cell_set_user(cell, NULL);
    cell_stopped(cell);
    if (waits)
        cell_wake(shard, cd_buf_str(&scope));
    cd_buf_deinit(&scope);
}

/* ---- Deployments ---- */

static void moved(void *arg, const char *reason)
{
    (void)arg;
    CD_MAYBE(reason != NULL); /* It was not idle after all: it is looked at again. */
}

static void on_move(struct io_op *op, int status)
{
    struct js_cells *h = CD_CONTAINER(op, struct js_cells, move.op);
    if (h->freed) {
        cd_free(h);
        return;
    }
    if (status != IO_OK)
        return;
    bool forced = io_now_ns(h->opts.io) - h->served_ns >= h->opts.deploy_max_age_ns, any = false;
    for (struct cd_link *k = cd_list_first(&h->cells), *next; k != NULL; k = next) {
        struct js_cell *c = CD_CONTAINER(k, struct js_cell, link);
        next = cd_list_next(&h->cells, k);
        if (c->site == h->site || c->reset || c->stopping)
            continue;
        any = true;
        if (forced) {
            c->reset = true;
            cell_abort(c->cell, CD_STR(CODE_UPDATED));
        } else if (!c->pinned) {
            cell_evict(cell_shard_of(c->cell), cell_scope(c->cell), moved, NULL);
        }
    }
    if (any)
        io_timer_start(&h->move, h->opts.io, LOOK_NS, on_move);
}

void js_cells_serve(struct js_cells *h, struct js_site *site)
{
    h->site = site;
    h->served_ns = io_now_ns(h->opts.io);
    if (!cd_list_empty(&h->cells) && !io_busy(&h->move.op))
        io_timer_start(&h->move, h->opts.io, 0, on_move);
}

struct js_cells *js_cells_new(const struct js_cells_opts *opts)
{
    struct js_cells *h = cd_new(struct js_cells);
    h->opts = *opts;
    cd_list_init(&h->cells);
    cd_list_init(&h->parked);
    return h;
}

void js_cells_hang_up(struct js_cells *h)
{
    js_parked_close(h, false);
}

void js_cells_free(struct js_cells *h)
{
    CD_ASSERT(cd_list_empty(&h->cells));
    js_parked_close(h, true);
    h->freed = true;
    if (io_busy(&h->move.op))
        io_cancel(&h->move.op);
    else
        cd_free(h);
}

static void open(void *arg, struct cell *cell, struct cell_wire *wire)
{
    struct js_cell *c = cell_user(cell);
    (void)arg;
    if (c->ended) /* A reset is under way. */
        cell_wire_close(wire, &c->close);
    else
        js_wire_attach(&c->event, wire);
}

static void wake(void *arg, struct cell *cell)
{
    (void)arg;
    js_parked_wake(cell_user(cell));
}

static void shrink(void *arg)
{
    struct js_cells *h = arg;
    if (h->site != NULL)
        js_site_shrink(h->site);
}

static const struct cell_code code = {start, open, alarm, wake, stop, shrink};

const struct cell_code *js_cells_code(void)
{
    return &code;
}

/* ---- Host functions ---- */

/* cell_busy(cell, busy): whether a handler, or what waitUntil was given, has not ended. */
int js_op_cell_busy(struct js_args *a)
{
    struct js_cell *c;
    int rc = js_arg_cell(a, 0, &c);
    if (rc == 0)
        c->busy = js_to_bool(a->js, js_arg(a, 1));
    return rc;
}

/* cell_abort(cell, text): ends the turn at once; no JavaScript catches it. */
int js_op_cell_abort(struct js_args *a)
{
    struct js_cell *c;
    int rc = js_arg_cell(a, 0, &c);
    if (rc != 0)
        return rc;
    if (!c->reset) {
        rc = js_to_utf8(a->js, js_arg(a, 1), &c->reason);
        if (rc != 0)
            return rc;
        c->reset = true;
        c->w->resetting = c;
    }
    js_terminate(a->js);
    return js_unwind(a);
}

/* cell_alarm_done(cell, end): enum cell_alarm_end. */
int js_op_cell_alarm_done(struct js_args *a)
{
    struct js_cell *c;
    uint64_t end;
    int rc = js_arg_cell(a, 0, &c);
    if (rc == 0)
        rc = js_arg_u64(a, 1, &end);
    if (rc == 0)
        cell_alarm_done(c->cell, (enum cell_alarm_end)end);
    return rc;
}
