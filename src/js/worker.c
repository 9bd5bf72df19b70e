/* js/worker.c: the life of a worker, entries into it, and the events that it runs. */
#include "js/worker.h"

#include "js/cells.h"
#include "js/ops.h"
#include "js/site.h"
#include "js/source_map.h"
#include "js/sockets.h"
#include "js/worker_internal.h"

extern const char js_runtime_snapshot_begin[], js_runtime_snapshot_end[];

/* Tasks of V8 that are due later than this are looked at when the worker is entered anyway. */
#define TASK_WAIT_MAX_NS IO_SEC(60)
/* How often events are looked at that may be over their time. */
#define SWEEP_NS IO_SEC(1)

#define X(name) {#name, js_op_##name},
static const struct js_op ops[] = {JS_OPS(X)};
#undef X

static const char *const export_names[JS_EXPORT_COUNT] = {
    "setup", "builtin", "load", "complete",  "timer",    "fetch",     "run",  "gone",       "rejections",
    "sweep", "socket",  "call", "cellStart", "cellStop", "cellAlarm", "wire", "cellSocket", "hung"};

/* ---- The platform ---- */

static uint64_t platform_now_ns(void)
{
    return io_now_ns(io_current());
}

static int64_t platform_wall_ms(void)
{
    struct js_isolate *js = js_current();
    return js != NULL ? ((struct js_worker *)js_isolate_user(js))->wall_ms : io_wall_ms(io_current());
}

static void platform_random(void *out, size_t len)
{
    io_random(io_current(), IO_RAND_JS, out, len);
}

void js_worker_platform(bool deterministic)
{
    const struct js_platform_config config = {.now_ns = platform_now_ns,
                                              .wall_ms = platform_wall_ms,
                                              .random = platform_random,
                                              .deterministic = deterministic};
    js_platform_start(&config);
}

/* ---- Hooks of the engine ---- */

static void free_if_idle(struct js_worker *w);

static void on_task_timer(struct io_op *op, int status)
{
    struct js_worker *w = CD_CONTAINER(op, struct js_worker, task_timer.op);
    w->task_ns = UINT64_MAX;
    if (status == IO_OK && !w->closing && !w->condemned) {
        struct js_entry e;
        js_enter(w, &e);
        js_pump(w->js);
        js_leave(&e);
    } else {
        free_if_idle(w);
    }
}

static void task_arm(struct js_worker *w, uint64_t due_ns)
{
    if (w->closing || w->condemned || due_ns == UINT64_MAX || io_busy(&w->task_timer.op))
        return; /* A timer that runs already looks at what is due when it fires. */
    uint64_t now = io_now_ns(w->io);
    uint64_t after = due_ns > now ? due_ns - now : 0;
    io_timer_start(&w->task_timer, w->io, after < TASK_WAIT_MAX_NS ? after : TASK_WAIT_MAX_NS, on_task_timer);
}

static void on_sweep(struct io_op *op, int status);

static void sweep_arm(struct js_worker *w)
{
    if (!io_busy(&w->sweep_timer.op))
        io_timer_start(&w->sweep_timer, w->io, SWEEP_NS, on_sweep);
}

static void on_sweep(struct io_op *op, int status)
{
    struct js_worker *w = CD_CONTAINER(op, struct js_worker, sweep_timer.op);
    if (status == IO_OK && !w->closing && (w->events.count > 0 || w->collect)) {
        struct js_entry e;
        sweep_arm(w);
        js_enter(w, &e);
        if (w->collect)
            js_gc(w->js);
        w->collect = false;
        if ((js_invoke(w, JS_EXPORT_SWEEP, NULL, 0, NULL) != 0 || js_hangs_sweep(w) < 0) &&
            !js_try_terminated(&e.t))
            js_report(&e, "sweep");
        js_leave(&e);
    } else {
        free_if_idle(w);
    }
}

static void on_task(struct js_isolate *js, uint64_t due_ns)
{
    struct js_worker *w = js_isolate_user(js);
    if (due_ns < w->task_ns)
        w->task_ns = due_ns;
    if (!js_in_turn(js))
        task_arm(w, w->task_ns);
}

static void on_rejection(struct js_isolate *js, enum js_rejection what, js_value promise, js_value reason)
{
    struct js_worker *w = js_isolate_user(js);
    js_value list = js_ref_get(js, &w->rejected);
    struct js_try t;
    js_try_begin(js, &t);
    int rc = js_set_index(js, list, w->rejected_count, js_bool(js, what == JS_REJECTED_UNHANDLED));
    if (rc == 0)
        rc = js_set_index(js, list, w->rejected_count + 1, promise);
    if (rc == 0)
        rc = js_set_index(js, list, w->rejected_count + 2, reason);
    if (rc == 0)
        w->rejected_count += 3;
    js_try_end(&t);
}

static void on_uncaught(struct js_isolate *js, js_value exception, const struct js_problem *problem)
{
    struct js_worker *w = js_isolate_user(js);
    (void)exception;
    if (w->hooks != NULL && w->hooks->uncaught != NULL)
        w->hooks->uncaught(w->arg, w, "callback", problem);
}

static void on_heap(struct js_isolate *js, enum js_heap_state state)
{
    struct js_worker *w = js_isolate_user(js);
    if (state == JS_HEAP_EXHAUSTED)
        w->condemned = true;
    w->over = w->collect = true;
}

static const char *const private_names[] = {[JS_NAME_PLATFORM] = "platform"};

/* The source map of the main module, read when somebody asks for it; NULL: there is none. */
static const struct js_source_map *source_map(struct js_worker *w)
{
    const struct js_bundle_module *m = &w->bundle->module[w->bundle->main];
    if (!w->map_tried && m->source_map.len > 0)
        w->map = js_source_map_parse(m->source_map);
    w->map_tried = true;
    return w->map;
}

static bool on_stack(struct js_isolate *js, struct cd_str stack, struct cd_buf *out)
{
    struct js_worker *w = js_isolate_user(js);
    const struct js_source_map *map = source_map(w);
    if (map != NULL)
        js_source_map_stack(map, w->bundle->module[w->bundle->main].name, stack, out);
    return map != NULL;
}

static const struct js_hooks engine_hooks = {.task = on_task,
                                             .rejection = on_rejection,
                                             .uncaught = on_uncaught,
                                             .heap = on_heap,
                                             .resolve = js_modules_resolve,
                                             .import_meta = js_modules_meta,
                                             .stack = on_stack,
                                             .is_host_object = js_is_platform};

/* ---- Entries ---- */

#define COLLECT_NS IO_SEC(1)

/* Sets the old limit again as soon as enough is free. */
static void heap_recover(struct js_worker *w)
{
    uint64_t now = io_now_ns(w->io);
    if (!js_heap_recover(w->js) && now - w->collected_ns >= COLLECT_NS) {
        w->collected_ns = now;
        js_gc(w->js);
    }
    w->over = !js_heap_recover(w->js);
}

void js_enter(struct js_worker *w, struct js_entry *e)
{
    CD_ASSERT(io_fiber_current() == NULL); /* V8 measures the stack of its thread. */
    e->w = w;
    w->wall_ms = io_wall_ms(w->io);
    e->outer = w->watch != NULL && w->watch->until_ns == 0;
    if (e->outer)
        js_watch_begin(w->watch, w->js, w->bundle->script,
                       io_now_ns(w->io) + (w->loaded ? JS_TURN_MAX_NS : JS_LOAD_MAX_NS));
    js_turn_begin(w->js, &e->turn);
    w->turns++;
    js_try_begin(w->js, &e->t);
    if (w->over && w->loaded && !w->condemned)
        heap_recover(w);
    if (w->halted)
        js_terminate(w->js); /* V8 forgets it with the end of each turn. */
}

void js_text_cut(struct cd_buf *text)
{
    if (text->len <= JS_RECORD_MAX)
        return;
    struct cd_buf mark = {0};
    cd_buf_addf(&mark, " ... (cut: %zu bytes)", text->len);
    size_t keep = JS_RECORD_MAX - mark.len;
    while (((unsigned char)text->ptr[keep] & 0xc0) == 0x80)
        keep--;
    text->len = keep;
    cd_buf_add_str(text, cd_buf_str(&mark));
    cd_buf_deinit(&mark);
}

/* Leaves out the frames of the prelude: nobody can look them up. */
static void stack_trim(struct cd_buf *stack)
{
    struct cd_str rest = cd_buf_str(stack);
    struct cd_buf out = {0};
    while (rest.len > 0) {
        size_t end = cd_str_find(rest, '\n', 1);
        struct cd_str line = cd_str_sub(rest, 0, end); /* With the newline before it. */
        rest = end == SIZE_MAX ? (struct cd_str){0} : cd_str_sub(rest, end, SIZE_MAX);
        if (!cd_str_starts(line, CD_STR("\n    at ")) ||
            cd_str_find_str(line, CD_STR("celld:prelude:"), 0) == SIZE_MAX)
            cd_buf_add_str(&out, line);
    }
    cd_buf_deinit(stack);
    *stack = out;
}

/* The stack is mapped already. */
void js_problem_map(struct js_worker *w, struct js_problem *p)
{
    const struct js_bundle_module *m = &w->bundle->module[w->bundle->main];
    struct js_source_place place;
    js_text_cut(&p->name);
    js_text_cut(&p->message);
    js_text_cut(&p->stack);
    stack_trim(&p->stack);
    if (source_map(w) == NULL)
        return;
    if (p->line > 0 && p->column > 0 && cd_str_eq(cd_buf_str(&p->script), m->name) &&
        js_source_map_find(w->map, (unsigned)p->line, (unsigned)p->column, &place)) {
        cd_buf_clear(&p->script);
        cd_buf_add_str(&p->script, place.source);
        p->line = (int)place.line;
        p->column = (int)place.column;
        cd_buf_clear(&p->source_line); /* It is the bundle's. */
    }
}

void js_report(struct js_entry *e, const char *where)
{
    struct js_worker *w = e->w;
    if (w->halted)
        return; /* That is the reason. */
    struct js_problem p = {0};
    js_try_problem(&e->t, &p);
    js_problem_map(w, &p);
    if (w->hooks != NULL && w->hooks->uncaught != NULL)
        w->hooks->uncaught(w->arg, w, where, &p);
    js_problem_deinit(&p);
    js_try_clear(&e->t);
}

/* Which limit ended a Worker, and what changes it. */
static void limit_text(struct js_worker *w, struct cd_buf *out)
{
    if (js_heap_state_of(w->js) == JS_HEAP_EXHAUSTED)
        cd_buf_addf(out,
                    "Its heap may take %u MiB (CELLD_HEAP_LIMIT_MB), and its array buffers and WebAssembly "
                    "memories four times as much.",
                    (unsigned)(w->heap_limit >> 20));
    else if (w->loaded)
        cd_buf_addf(out, "One turn of JavaScript may run for %u seconds; that limit is fixed.",
                    (unsigned)(JS_TURN_MAX_NS / IO_SEC(1)));
    else
        cd_buf_addf(out, "Loading may take %u seconds; that limit is fixed.",
                    (unsigned)(JS_LOAD_MAX_NS / IO_SEC(1)));
}

static void condemned_tell(struct js_worker *w, const char *why)
{
    struct js_problem p = {0};
    cd_buf_addf(&p.name, "Error");
    cd_buf_addf(&p.message, "%s ", why);
    limit_text(w, &p.message);
    if (w->hooks != NULL && w->hooks->uncaught != NULL && !w->halted)
        w->hooks->uncaught(w->arg, w, "runtime", &p);
    js_problem_deinit(&p);
}

/* A terminated turn left promises that never settle: nothing in this isolate can be trusted to go on. */
static void condemn(struct js_worker *w)
{
    const char *why = js_heap_state_of(w->js) == JS_HEAP_EXHAUSTED ? "Worker exceeded memory limit."
                                                                   : "Worker exceeded CPU time limit.";
    if (!w->told) {
        w->told = true;
        condemned_tell(w, why);
    }
    w->condemned = true;
    for (struct cd_map_node *n; (n = cd_map_first(&w->events)) != NULL;)
        js_event_end(cd_map_value(n), why);
}

/* A cell ended its turn, and is to be reset: what the turn has queued is dropped, the isolate goes on. Other
 * cells lose nothing: a turn works for one of them. */
static bool turn_forget(struct js_worker *w)
{
    js_terminate(w->js);
    int rc = js_microtasks(w->js);
    CD_MAYBE(rc != 0);
    js_resume(w->js);
    js_continuation_set(w->js, js_undefined(w->js));
    return false;
}

void js_leave(struct js_entry *e)
{
    struct js_worker *w = e->w;
    struct js_isolate *js = w->js;
    /* Microtasks fail for one reason: the turn was ended, and that mark is gone when they return. A turn that
     * was to end within a host function counts, too: V8 may not have heard of it yet. */
    bool terminated = w->halted || js_terminate_asked(js) || js_microtasks(js) != 0;
    bool threw = false;
    /* Not from within a handler that is still running. */
    int hung = !terminated && w->turns == 1 ? js_hangs_look(w) : 0;
    if (hung != 0) {
        threw = hung < 0;
        terminated = js_microtasks(js) != 0;
    }
    while (!terminated && !threw && w->rejected_count > 0) {
        js_value list = js_ref_get(js, &w->rejected);
        js_ref_set(js, &w->rejected, js_array(js, NULL, 0));
        w->rejected_count = 0;
        threw = js_invoke(w, JS_EXPORT_REJECTIONS, &list, 1, NULL) != 0;
        terminated = js_microtasks(js) != 0;
    }
    js_memory_look(js);
    terminated = terminated || js_terminating(js) || js_terminate_asked(js) || js_try_terminated(&e->t) ||
                 w->condemned;
    if (threw && !terminated)
        js_report(e, "runtime");
    if (w->resetting != NULL && !w->condemned)
        terminated = turn_forget(w);
    js_try_end(&e->t);
    w->turns--;
    js_turn_end(&e->turn);
    if (e->outer)
        js_watch_end(w->watch);
    if (terminated && !w->condemned)
        js_resume(js);
    if (terminated)
        condemn(w);
    if (js_buffers_refused(js))
        w->collect = true;
    if (w->collect && !w->closing)
        sweep_arm(w);
    js_cells_turn_end(w);
    task_arm(w, w->task_ns);
}

int js_unwind(struct js_args *a)
{
    if (!js_terminate_asked(a->js))
        return 0;
    return js_invoke(js_worker_of(a), JS_EXPORT_SWEEP, NULL, 0, NULL);
}

int js_invoke(struct js_worker *w, enum js_export fn, const js_value *argv, unsigned argc, js_value *out)
{
    js_value result;
    int rc = js_call(w->js, js_ref_get(w->js, &w->fn[fn]), js_undefined(w->js), argv, argc, &result);
    if (rc == 0 && out != NULL)
        *out = result;
    return rc;
}

/* ---- Open and close ---- */

static int exports_find(struct js_worker *w)
{
    for (unsigned i = 0; i < JS_EXPORT_COUNT; i++) {
        js_value fn;
        int rc = js_get_text(w->js, js_prelude(w->js), export_names[i], &fn);
        if (rc != 0)
            return rc;
        CD_ASSERT(js_is(fn, JS_IS_FUNCTION));
        js_ref_set(w->js, &w->fn[i], fn);
    }
    return 0;
}

static int set_up(struct js_worker *w)
{
    js_value config, ns;
    int rc = exports_find(w);
    if (rc == 0)
        rc = js_string(w->js, w->bundle->config, &config);
    if (rc == 0)
        rc = js_invoke(w, JS_EXPORT_SETUP, &config, 1, NULL);
    if (rc == 0)
        rc = js_modules_load(w, &ns);
    if (rc == 0)
        rc = js_invoke(w, JS_EXPORT_LOAD, &ns, 1, NULL);
    return rc;
}

/* What people get to read of an exception while the bundle loads. */
static void explain(struct js_entry *e, struct cd_buf *why)
{
    struct js_problem p = {0};
    js_try_problem(&e->t, &p);
    js_problem_map(e->w, &p);
    if (p.terminated) {
        cd_buf_addf(why, "the Worker did not finish loading. ");
        limit_text(e->w, why);
    } else if (p.stack.len > 0) {
        cd_buf_add_str(why, cd_buf_str(&p.stack));
    } else {
        cd_buf_addf(why, "%s%s%s", cd_buf_cstr(&p.name), p.name.len > 0 ? ": " : "uncaught ",
                    cd_buf_cstr(&p.message));
    }
    if (p.name.len == 11 && cd_str_eq(cd_buf_str(&p.name), CD_STR("SyntaxError")) && p.line > 0) {
        cd_buf_addf(why, "\n    at %s:%d:%d", cd_buf_cstr(&p.script), p.line, p.column);
        if (p.source_line.len > 0 && p.source_line.len < 400)
            cd_buf_addf(why, "\n    %s", cd_buf_cstr(&p.source_line));
    }
    js_problem_deinit(&p);
    js_try_clear(&e->t);
}

static void worker_free(struct js_worker *w)
{
    for (unsigned i = 0; i < JS_EXPORT_COUNT; i++)
        js_ref_clear(&w->fn[i]);
    js_ref_clear(&w->rejected);
    js_modules_free(w);
    js_source_map_free(w->map);
    js_isolate_free(w->js);
    cd_map_deinit(&w->events);
    cd_map_deinit(&w->handles);
    cd_free(w);
}

struct js_worker *js_worker_blank(struct io *io, uint64_t heap_limit, struct cd_buf *why)
{
    struct js_worker *w = cd_new(struct js_worker);
    w->io = io;
    w->heap_limit = heap_limit != 0 ? heap_limit : JS_HEAP_LIMIT;
    w->task_ns = UINT64_MAX;
    cd_list_init(&w->touched);
    cd_list_init(&w->stirred);
    const struct js_isolate_config config = {
        .snapshot = cd_str_of(js_runtime_snapshot_begin,
                              (size_t)(js_runtime_snapshot_end - js_runtime_snapshot_begin)),
        .ops = ops,
        .op_count = CD_COUNT(ops),
        .names = private_names,
        .name_count = CD_COUNT(private_names),
        .heap_limit = heap_limit,
        .hooks = &engine_hooks,
        .user = w};
    if (js_isolate_new(&w->js, &config, why) != 0) {
        cd_free(w);
        return NULL;
    }
    return w;
}

int js_worker_open(struct js_worker **out, const struct js_worker_opts *opts, struct cd_buf *why)
{
    struct js_worker *w =
        opts->blank != NULL ? opts->blank : js_worker_blank(opts->io, opts->heap_limit, why);
    if (w == NULL)
        return CD_EINVAL;
    w->bundle = opts->bundle;
    w->site = opts->site;
    w->watch = opts->watch;
    w->hooks = opts->hooks;
    w->trusts_proxy = opts->trusts_proxy;
    w->arg = opts->arg;
    int rc;
    if (w->bundle->module[w->bundle->main].source_map.len > 0)
        js_stack_hook(w->js);
    struct js_entry e;
    js_enter(w, &e);
    js_ref_set(w->js, &w->rejected, js_array(w->js, NULL, 0));
    rc = set_up(w);
    if (rc == 0) {
        w->loaded = true;
        js_allow_eval(w->js, false); /* runtime.md 3.3: code from strings while loading only. */
    } else {
        explain(&e, why);
    }
    w->rejected_count = rc == 0 ? w->rejected_count : 0;
    js_leave(&e);
    if (rc == 0 && w->condemned) {
        cd_buf_addf(why, "the Worker was loaded, and is over a limit. ");
        limit_text(w, why);
        rc = JS_THREW;
    }
    if (rc != 0) {
        js_worker_close(w, NULL, NULL);
        return CD_EINVAL;
    }
    *out = w;
    return 0;
}

void js_worker_close(struct js_worker *w, struct io_op *op, io_done_fn *done)
{
    CD_ASSERT(!w->closing);
    w->closing = true;
    w->closed = op;
    w->closed_done = done;
    io_cancel(&w->task_timer.op);
    io_cancel(&w->sweep_timer.op);
    for (struct cd_map_node *n; (n = cd_map_first(&w->events)) != NULL;)
        js_event_end(cd_map_value(n), "The Worker was stopped.");
    for (struct cd_map_node *n; (n = cd_map_first(&w->handles)) != NULL;)
        js_handle_close(cd_map_value(n));
    js_sockets_stop(w);
    free_if_idle(w);
}

void js_worker_halt(struct js_worker *w)
{
    w->halted = w->condemned = true;
    if (js_in_turn(w->js))
        js_terminate(w->js);
}

bool js_worker_condemned(const struct js_worker *w)
{
    return w->condemned;
}

unsigned js_worker_events(const struct js_worker *w)
{
    return (unsigned)w->events.count;
}

const struct js_bundle *js_worker_bundle(const struct js_worker *w)
{
    return w->bundle;
}

struct js_isolate *js_worker_isolate(struct js_worker *w)
{
    return w->js;
}

/* ---- Events ---- */

void js_event_init(struct js_event *e, struct js_worker *w, const struct js_event_type *type)
{
    e->type = type;
    e->w = w;
    e->id = ++w->last_id;
    cd_list_init(&e->asyncs);
    cd_list_init(&e->handles);
    cd_map_put_u64(&w->events, e->id, e);
    sweep_arm(w);
}

struct js_event *js_event_get(struct js_worker *w, uint64_t id)
{
    return cd_map_get_u64(&w->events, id);
}

void js_event_end(struct js_event *e, const char *why)
{
    cd_map_remove_u64(&e->w->events, e->id);
    if (why != NULL)
        js_cell_ending(e, why);
    for (struct cd_link *k; (k = cd_list_pop(&e->asyncs)) != NULL;) {
        struct js_async *s = CD_CONTAINER(k, struct js_async, link);
        s->event = NULL;
        s->cancel(s);
    }
    for (struct cd_link *k; (k = cd_list_first(&e->handles)) != NULL;)
        js_handle_close(CD_CONTAINER(k, struct js_handle, link));
    js_event_calm(e);
    e->type->end(e, why);
}

/* ---- Asynchronous operations ---- */

int js_async_begin(struct js_args *a, struct js_async *s, void (*cancel)(struct js_async *s))
{
    struct js_worker *w = js_worker_of(a);
    uint64_t event;
    int rc = js_arg_u64(a, 0, &event);
    if (rc == 0)
        rc = js_arg_u64(a, 1, &s->promise);
    if (rc != 0)
        return rc;
    s->event = js_event_get(w, event);
    if (s->event == NULL)
        return js_throw_error(a->js, JS_ERROR, "The event that this operation belongs to has ended.");
    s->w = w;
    s->cancel = cancel;
    cd_list_push(&s->event->asyncs, &s->link);
    js_cell_touch(s->event);
    js_event_stir(s->event);
    w->pending++;
    return 0;
}

bool js_async_take(struct js_async *s, struct js_async *out)
{
    cd_link_remove(&s->link);
    *out = *s;
    s->event = NULL;
    if (out->event != NULL) {
        js_cell_touch(out->event);
        js_event_stir(out->event);
    }
    return out->event != NULL;
}

void js_async_settle(struct js_async *s, js_value error, js_value v)
{
    struct js_isolate *js = s->w->js;
    const js_value argv[] = {js_number(js, (double)s->promise), error != NULL ? error : js_undefined(js),
                             v != NULL ? v : js_undefined(js)};
    int rc = js_invoke(s->w, JS_EXPORT_COMPLETE, argv, CD_COUNT(argv), NULL);
    CD_MAYBE(rc != 0); /* js_leave reports it. */
}

void js_async_status(struct js_async *s, int status, const char *why)
{
    if (s->event == NULL)
        return;
    struct js_entry e;
    js_enter(s->w, &e);
    js_async_settle(s, status == IO_OK ? NULL : js_status_error(s->w, status, why), NULL);
    js_leave(&e);
}

void js_async_end(struct js_async *s)
{
    struct js_worker *w = s->w;
    cd_link_remove(&s->link);
    s->event = NULL;
    CD_ASSERT(w->pending > 0);
    w->pending--;
    free_if_idle(w);
}

static void free_if_idle(struct js_worker *w)
{
    if (!w->closing || w->pending > 0 || io_busy(&w->task_timer.op) || io_busy(&w->sweep_timer.op) ||
        js_in_turn(w->js))
        return;
    struct io *io = w->io;
    struct io_op *op = w->closed;
    io_done_fn *done = w->closed_done;
    worker_free(w);
    if (op != NULL)
        io_defer(op, io, IO_OK, done);
}

/* ---- Handles ---- */

void js_handle_init(struct js_handle *h, struct js_worker *w, struct js_event *event,
                    const struct js_handle_type *type)
{
    h->type = type;
    h->w = w;
    h->event = event;
    h->id = ++w->last_id;
    cd_map_put_u64(&w->handles, h->id, h);
    if (event != NULL) {
        cd_list_push(&event->handles, &h->link);
        js_event_stir(event);
    }
}

int js_arg_handle(struct js_args *a, unsigned index, const struct js_handle_type *type,
                  struct js_handle **out)
{
    uint64_t id;
    int rc = js_arg_u64(a, index, &id);
    if (rc != 0)
        return rc;
    *out = cd_map_get_u64(&js_worker_of(a)->handles, id);
    if (*out == NULL || (*out)->type != type)
        return js_throw_error(a->js, JS_ERROR, "This %s is closed.", type->name);
    return 0;
}

void js_handle_close(struct js_handle *h)
{
    cd_map_remove_u64(&h->w->handles, h->id);
    cd_link_remove(&h->link);
    if (h->event != NULL)
        js_event_stir(h->event);
    h->event = NULL;
    h->type->close(h);
}

/* ---- Arguments ---- */

int js_arg_u64(const struct js_args *a, unsigned index, uint64_t *out)
{
    double v;
    int rc = js_to_number(a->js, js_arg(a, index), &v);
    if (rc != 0)
        return rc;
    if (!(v >= 0 && v <= 9007199254740991.0))
        return js_throw_error(a->js, JS_RANGE_ERROR, "argument %u of a host function is no number", index);
    *out = (uint64_t)v;
    return 0;
}

js_value js_status_error(struct js_worker *w, int status, const char *why)
{
    if (why == NULL || *why == 0)
        why = cd_err_text(status);
    js_value error = js_error_new(w->js, JS_ERROR, cd_str(why));
    int rc = js_set_text(w->js, error, "status", js_int(w->js, status));
    CD_MAYBE(rc != 0);
    return error;
}
