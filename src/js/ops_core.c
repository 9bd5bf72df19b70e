/* js/ops_core.c: host functions of every worker: frames, timers, console, clones, entropy. */
#include "js/ops_core.h"

#include "js/parcel.h"
#include "js/ops.h"
#include "js/worker_internal.h"

#define PROTOTYPES_MAX 16 /* How far js_is_platform looks. */

/* ---- Frames: what async functions carry along (runtime/core.js) ---- */

/* ---- Timers ---- */

struct timer {
    struct io_timer timer;
    struct js_async async; /* Its promise number is the timer's id in JavaScript. */
};

static void timer_cancel(struct js_async *s)
{
    io_cancel(&CD_CONTAINER(s, struct timer, async)->timer.op);
}

static void timer_done(struct io_op *op, int status)
{
    struct timer *t = CD_CONTAINER(op, struct timer, timer.op);
    struct js_async a;
    bool wanted = js_async_take(&t->async, &a);
    cd_free(t);
    if (wanted && status == IO_OK) {
        struct js_entry e;
        js_enter(a.w, &e);
        js_value id = js_number(e.w->js, (double)a.promise);
        if (js_invoke(e.w, JS_EXPORT_TIMER, &id, 1, NULL) != 0 && !js_try_terminated(&e.t))
            js_report(&e, "timer");
        js_leave(&e);
    }
    js_async_end(&a);
}

/* timer_start(event, timer, ms): the prelude's timer(id) is called once, unless the event ends before. */
int js_op_timer_start(struct js_args *a)
{
    double ms;
    int rc = js_to_number(a->js, js_arg(a, 2), &ms);
    if (rc != 0)
        return rc;
    struct timer *t = cd_new(struct timer);
    rc = js_async_begin(a, &t->async, timer_cancel);
    if (rc != 0) {
        cd_free(t);
        return rc;
    }
    ms = ms > 0 ? ms : 0;
    uint64_t after = ms < 9e12 ? (uint64_t)(ms * 1e6) : (uint64_t)9e18;
    io_timer_start(&t->timer, t->async.w->io, after, timer_done);
    return 0;
}

/* timer_stop(event, timer) */
int js_op_timer_stop(struct js_args *a)
{
    uint64_t event, id;
    int rc = js_arg_u64(a, 0, &event);
    if (rc == 0)
        rc = js_arg_u64(a, 1, &id);
    if (rc != 0)
        return rc;
    struct js_event *e = js_event_get(js_worker_of(a), event);
    if (e == NULL)
        return 0;
    for (struct cd_link *k = cd_list_first(&e->asyncs); k != NULL; k = cd_list_next(&e->asyncs, k)) {
        struct js_async *s = CD_CONTAINER(k, struct js_async, link);
        if (s->cancel == timer_cancel && s->promise == id) {
            cd_link_remove(&s->link);
            s->event = NULL;
            js_event_stir(e);
            s->cancel(s);
            return 0;
        }
    }
    return 0;
}

/* ---- Console ---- */

/* console(level, text): 0 debug, 1 info, 2 warn, 3 error. runtime.md 5.7. */
int js_op_console(struct js_args *a)
{
    static const enum cd_level levels[] = {CD_DEBUG, CD_INFO, CD_WARN, CD_ERROR};
    struct js_worker *w = js_worker_of(a);
    uint64_t level;
    struct cd_buf text = {0};
    int rc = js_arg_u64(a, 0, &level);
    if (rc == 0)
        rc = js_to_utf8(a->js, js_arg(a, 1), &text);
    js_text_cut(&text);
    if (rc == 0 && w->hooks != NULL && w->hooks->console != NULL)
        w->hooks->console(w->arg, w, levels[level < CD_COUNT(levels) ? level : 1], cd_buf_str(&text));
    cd_buf_deinit(&text);
    return rc;
}

/* report(where, error): an error that user code did not catch goes to the log. runtime.md 2.11. */
int js_op_report(struct js_args *a)
{
    struct js_worker *w = js_worker_of(a);
    if (w->hooks == NULL || w->hooks->uncaught == NULL)
        return 0;
    struct cd_buf where = {0};
    int rc = js_to_utf8(a->js, js_arg(a, 0), &where);
    if (rc == 0) {
        struct js_problem p = {0};
        js_problem_of(a->js, js_arg(a, 1), &p);
        js_problem_map(w, &p);
        w->hooks->uncaught(w->arg, w, cd_buf_cstr(&where), &p);
        js_problem_deinit(&p);
    }
    cd_buf_deinit(&where);
    return rc;
}

/* ---- Events ---- */

/* event_end(event): the handler, its answer and all it waits for are done. */
int js_op_event_end(struct js_args *a)
{
    uint64_t id;
    int rc = js_arg_u64(a, 0, &id);
    if (rc != 0)
        return rc;
    struct js_event *e = js_event_get(js_worker_of(a), id);
    if (e != NULL)
        js_event_end(e, NULL);
    return 0;
}

/* event_still(event): for how many milliseconds nothing of the host has been on its way to it (hang.c). */
int js_op_event_still(struct js_args *a)
{
    struct js_worker *w = js_worker_of(a);
    uint64_t id;
    int rc = js_arg_u64(a, 0, &id);
    if (rc != 0)
        return rc;
    const struct js_event *e = js_event_get(w, id);
    js_return_number(a, e == NULL || !e->still ? 0 : (double)(io_now_ns(w->io) - e->still_ns) / 1e6);
    return 0;
}

/* ---- Values ---- */

/* random_fill(view) */
int js_op_random_fill(struct js_args *a)
{
    struct js_bytes bytes;
    if (!js_bytes(js_arg(a, 0), &bytes))
        return CD_EINVAL;
    if (bytes.len > 0)
        io_random(js_worker_of(a)->io, IO_RAND_JS, bytes.ptr, bytes.len);
    return 0;
}

/* now(): milliseconds of the monotonic clock, with a fraction; for the runtime's own use, not for users. */
int js_op_now(struct js_args *a)
{
    js_return_number(a, (double)io_now_ns(js_worker_of(a)->io) / 1e6);
    return 0;
}

/* promise_state(promise): [state, result]: 0 pending, 1 fulfilled, 2 rejected; undefined for other values. */
int js_op_promise_state(struct js_args *a)
{
    js_value v = js_arg(a, 0);
    if (!js_is(v, JS_IS_PROMISE))
        return 0;
    enum js_promise_state state = js_promise_state(v);
    const js_value pair[] = {js_int(a->js, (int32_t)state),
                             state == JS_PENDING ? js_undefined(a->js) : js_promise_result(v)};
    js_return(a, js_array(a->js, pair, 2));
    return 0;
}

/* class_name(object): the name of its constructor as V8 knows it, without running JavaScript. */
int js_op_class_name(struct js_args *a)
{
    if (js_kind(js_arg(a, 0)) != JS_OBJECT)
        return 0;
    struct cd_buf name = {0};
    js_class_name(a->js, js_arg(a, 0), &name);
    js_value v;
    int rc = js_string(a->js, cd_buf_str(&name), &v);
    cd_buf_deinit(&name);
    if (rc == 0)
        js_return(a, v);
    return rc;
}

/* entries(map or set or their iterator): an array, without running JavaScript; undefined for other values. */
int js_op_entries(struct js_args *a)
{
    js_value list;
    if (!js_is(js_arg(a, 0), JS_IS_MAP) && !js_is(js_arg(a, 0), JS_IS_SET))
        return 0;
    int rc = js_entries(a->js, js_arg(a, 0), &list);
    if (rc == 0)
        js_return(a, list);
    return rc;
}

/* type_of(object): which of V8's kinds of object it is, as a bit set in the order of enum js_class. */
int js_op_type_of(struct js_args *a)
{
    js_value v = js_arg(a, 0);
    double bits = 0;
    if (js_kind(v) == JS_OBJECT) {
        for (unsigned i = 0; i < JS_CLASS_COUNT; i++)
            bits += js_is(v, (enum js_class)i) ? (double)(1u << i) : 0;
    }
    js_return_number(a, bits);
    return 0;
}

/* platform_mark([prototype, ...]): instances of these are objects of the platform: js_is_platform. */
int js_op_platform_mark(struct js_args *a)
{
    js_value list = js_arg(a, 0), proto;
    unsigned count = js_is(list, JS_IS_ARRAY) ? js_array_len(list) : 0;
    for (unsigned i = 0; i < count; i++) {
        int rc = js_get_index(a->js, list, i, &proto);
        if (rc == 0)
            rc = js_set_private(a->js, proto, JS_NAME_PLATFORM, js_bool(a->js, true));
        if (rc != 0)
            return rc;
    }
    return 0;
}

bool js_is_platform(struct js_isolate *js, js_value object)
{
    js_value proto = js_proto(object);
    for (unsigned depth = 0; depth < PROTOTYPES_MAX && js_kind(proto) == JS_OBJECT; depth++) {
        if (js_has_private(js, proto, JS_NAME_PLATFORM))
            return true;
        proto = js_proto(proto);
    }
    return false;
}

/* clone(value, transfer): structuredClone within the isolate; what it cannot clone is a DataCloneError. */
int js_op_clone(struct js_args *a)
{
    js_value transfer[64];
    struct js_parcel_opts opts = {.transfer = transfer};
    if (js_is(js_arg(a, 1), JS_IS_ARRAY)) {
        unsigned count = js_array_len(js_arg(a, 1));
        if (count > CD_COUNT(transfer))
            return js_throw_dom(a->js, "DataCloneError", "more than %zu objects to transfer",
                                CD_COUNT(transfer));
        for (unsigned i = 0; i < count; i++) {
            int rc = js_get_index(a->js, js_arg(a, 1), i, &transfer[i]);
            if (rc != 0)
                return rc;
        }
        opts.transfer_count = count;
    }
    struct js_parcel *p;
    int rc = js_parcel_pack(a->js, js_arg(a, 0), &opts, &p);
    if (rc != 0)
        return rc;
    js_value v;
    rc = js_parcel_unpack(a->js, p, NULL, &v, NULL);
    js_parcel_free(p);
    if (rc == 0)
        js_return(a, v);
    return rc;
}

/* buffer_detach(buffer): as transferring it would. */
int js_op_buffer_detach(struct js_args *a)
{
    if (!js_is(js_arg(a, 0), JS_IS_ARRAY_BUFFER))
        return js_throw_error(a->js, JS_TYPE_ERROR, "not an ArrayBuffer");
    return js_buffer_detach(a->js, js_arg(a, 0));
}

/* gc(): for tests. */
int js_op_gc(struct js_args *a)
{
    js_gc(a->js);
    return 0;
}
