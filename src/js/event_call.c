/* js/event_call.c: an event whose client is another script of the application, in an isolate of its own on
 * the same loop: requests and calls over service bindings. runtime.md 6.5.
 *
 * What goes there and back is a value by structured clone, and pipes (js/pipe.h); the prelude says what it
 * means (runtime/service_remote.js). Nothing is delivered inside the other side's turn. */
#include "js/cells.h"
#include "js/ops.h"
#include "js/parcel.h"
#include "js/pipe.h"
#include "js/site.h"
#include "js/worker_internal.h"

#define VALUE_MAX (32u << 20) /* runtime.md 2.10 */

struct call {
    struct io *io;
    struct js_async async; /* The caller's. */
    struct js_event event; /* The callee's. */
    bool asking; /* The caller's promise is open. */
    bool running; /* The callee's event is. */
    bool answered; /* What the caller gets is decided: value, or why. */
    struct io_op op; /* The next step towards one of the two. */
    struct js_effect effect; /* The first one. */
    struct io_op hang_op; /* The callee is to hear that the caller has gone. */
    struct cd_buf script; /* owned */
    struct js_parcel *value; /* owned; on its way */
    struct js_pipes pipes; /* owned; on their way */
    struct cd_buf why; /* owned */
};

static void call_free_if_done(struct call *c)
{
    if (c->asking || c->running || io_busy(&c->op) || io_busy(&c->hang_op))
        return;
    if (c->value != NULL)
        js_parcel_free(c->value);
    js_pipes_drop(&c->pipes);
    cd_buf_deinit(&c->script);
    cd_buf_deinit(&c->why);
    cd_free(c);
}

static void load_drop(struct call *c)
{
    if (c->value != NULL)
        js_parcel_free(c->value);
    c->value = NULL;
    js_pipes_drop(&c->pipes);
}

/* [value, numbers of the pipes], for e. */
static int load_unpack(struct call *c, struct js_event *e, js_value out[2])
{
    int rc = js_parcel_unpack(e->w->js, c->value, NULL, &out[0], NULL);
    if (rc == 0)
        out[1] = js_pipes_attach(&c->pipes, e);
    load_drop(c);
    return rc;
}

/* ---- Back to the caller ---- */

static void on_answer(struct io_op *op, int status)
{
    struct call *c = CD_CONTAINER(op, struct call, op);
    struct js_async a;
    bool wanted = js_async_take(&c->async, &a);
    c->asking = false;
    if (wanted && status == IO_OK && c->value != NULL) {
        struct js_entry e;
        js_enter(a.w, &e);
        js_value load[2], error = NULL, answer = NULL;
        if (load_unpack(c, a.event, load) == 0) {
            answer = js_array(a.w->js, load, 2);
        } else {
            error = js_try_exception(&e.t);
            js_try_clear(&e.t);
        }
        js_async_settle(&a, error, answer);
        js_leave(&e);
    } else if (wanted) {
        js_async_status(&a, status == IO_OK ? CD_ECLOSED : status,
                        c->why.len > 0 ? cd_buf_cstr(&c->why) : NULL);
    }
    load_drop(c);
    call_free_if_done(c);
    js_async_end(&a);
}

static void answer_later(struct call *c)
{
    c->answered = true;
    if (c->asking && !io_busy(&c->op))
        io_defer(&c->op, c->io, IO_OK, on_answer);
}

/* ---- At the callee ---- */

static void call_end(struct js_event *e, const char *why)
{
    struct call *c = CD_CONTAINER(e, struct call, event);
    c->running = false;
    if (!c->answered) {
        cd_buf_addf(&c->why, "%s", why != NULL ? why : "The script will never generate a response.");
        answer_later(c);
    }
    call_free_if_done(c);
}

static bool call_unanswered(const struct js_event *e)
{
    return !CD_CONTAINER(e, const struct call, event)->answered;
}

static const struct js_event_type call_type = {"call", call_end, call_unanswered};

static void deliver(struct call *c, struct js_worker *w)
{
    js_event_init(&c->event, w, &call_type);
    js_event_stir(&c->event);
    c->running = true;
    uint64_t id = c->event.id;
    struct js_entry e;
    js_enter(w, &e);
    js_value load[2];
    int rc = load_unpack(c, &c->event, load);
    if (rc == 0) {
        const js_value argv[] = {js_number(w->js, (double)id), load[0], load[1]};
        rc = js_invoke(w, JS_EXPORT_CALL, argv, CD_COUNT(argv), NULL);
    }
    js_leave(&e);
    if (rc != 0 && js_event_get(w, id) != NULL) /* c lives as long as its event. */
        js_event_end(&c->event, "The runtime failed.");
}

static void on_deliver(struct io_op *op, int status)
{
    struct call *c = CD_CONTAINER(op, struct call, op);
    if (status != IO_OK || c->answered || c->async.event == NULL) { /* The caller has gone already. */
        on_answer(op, IO_CANCELED);
        return;
    }
    struct cd_buf why = {0};
    struct js_worker *w = js_site_worker(c->async.w->site, cd_buf_str(&c->script), &why);
    if (w != NULL) {
        deliver(c, w);
    } else {
        cd_buf_addf(&c->why, "The service \"%.*s\" does not load: %.*s", (int)c->script.len, c->script.ptr,
                    (int)why.len, why.ptr);
        load_drop(c);
        answer_later(c);
    }
    cd_buf_deinit(&why);
}

static void on_hang(struct io_op *op, int status)
{
    struct call *c = CD_CONTAINER(op, struct call, hang_op);
    (void)status;
    if (c->running) {
        struct js_entry e;
        js_enter(c->event.w, &e);
        js_value id = js_number(e.w->js, (double)c->event.id);
        if (js_invoke(e.w, JS_EXPORT_GONE, &id, 1, NULL) != 0 && !js_try_terminated(&e.t))
            js_report(&e, "gone");
        js_leave(&e);
    }
    call_free_if_done(c);
}

/* ---- Host functions: the caller's ---- */

static void hang_up(struct call *c)
{
    if (c->effect.waiting) {
        js_effect_cancel(&c->effect);
        return;
    }
    if (c->running && !io_busy(&c->hang_op))
        io_defer(&c->hang_op, c->io, IO_OK, on_hang);
    answer_later(c); /* Nobody waits, but the operation is to be ended. */
}

static void call_cancel(struct js_async *a)
{
    hang_up(CD_CONTAINER(a, struct call, async));
}

static int value_pack(struct js_args *a, unsigned index, struct js_parcel **out)
{
    int rc = js_parcel_pack(a->js, js_arg(a, index), NULL, out);
    if (rc != 0)
        return rc;
    size_t size = js_parcel_bytes(*out).len;
    if (size <= VALUE_MAX)
        return 0;
    js_parcel_free(*out);
    return js_throw_error(a->js, JS_ERROR,
                          "Serialized RPC arguments or return values are limited to 32MiB, but the size of "
                          "this value was: %zu bytes.",
                          size);
}

/* site_has(script): whether the application has it. */
int js_op_site_has(struct js_args *a)
{
    struct js_worker *w = js_worker_of(a);
    struct cd_buf name = {0};
    int rc = js_to_utf8(a->js, js_arg(a, 0), &name);
    if (rc == 0)
        js_return_bool(a, w->site != NULL && js_site_has(w->site, cd_buf_str(&name)));
    cd_buf_deinit(&name);
    return rc;
}

static void call_go(struct js_effect *x)
{
    struct call *c = CD_CONTAINER(x, struct call, effect);
    io_defer(&c->op, c->io, IO_OK, on_deliver);
}

/* call_start(event, promise, script, value, pipes): the promise is of [value, pipes], the callee's answer. */
int js_op_call_start(struct js_args *a)
{
    struct call *c = cd_new(struct call);
    int rc = js_to_utf8(a->js, js_arg(a, 2), &c->script);
    if (rc == 0)
        rc = value_pack(a, 3, &c->value);
    if (rc == 0)
        rc = js_arg_pipes(a, 4, &c->pipes);
    if (rc == 0)
        rc = js_effect_async(a, &c->async, call_cancel);
    if (rc != 0) {
        call_free_if_done(c);
        return rc;
    }
    CD_ASSERT(c->async.w->site != NULL); /* Bindings to other scripts were refused without one. */
    c->io = c->async.w->io;
    c->asking = true;
    js_effect_start(&c->effect, c->async.event, &c->op, on_deliver, call_go);
    return 0;
}

/* call_cancel(event, promise): the caller does not want the answer. */
int js_op_call_cancel(struct js_args *a)
{
    uint64_t event, promise;
    int rc = js_arg_u64(a, 0, &event);
    if (rc == 0)
        rc = js_arg_u64(a, 1, &promise);
    if (rc != 0)
        return rc;
    struct js_event *e = js_event_get(js_worker_of(a), event);
    if (e == NULL)
        return 0;
    for (struct cd_link *k = cd_list_first(&e->asyncs); k != NULL; k = cd_list_next(&e->asyncs, k)) {
        struct js_async *s = CD_CONTAINER(k, struct js_async, link);
        if (s->cancel == call_cancel && s->promise == promise) {
            s->cancel(s);
            return 0;
        }
    }
    return 0;
}

/* ---- Host functions: the callee's ---- */

/* call_reply(event, value, pipes): once. */
int js_op_call_reply(struct js_args *a)
{
    uint64_t id;
    int rc = js_arg_u64(a, 0, &id);
    if (rc != 0)
        return rc;
    struct js_event *e = js_event_get(js_worker_of(a), id);
    if (e == NULL || e->type != &call_type)
        return js_throw_error(a->js, JS_ERROR, "The event that this operation belongs to has ended.");
    struct call *c = CD_CONTAINER(e, struct call, event);
    struct js_pipes pipes = {0};
    rc = js_arg_pipes(a, 2, &pipes);
    if (rc != 0)
        return rc;
    if (c->answered) { /* The caller has gone. */
        js_pipes_drop(&pipes);
        return 0;
    }
    rc = value_pack(a, 1, &c->value);
    if (rc != 0) {
        js_pipes_drop(&pipes);
        return rc;
    }
    c->pipes = pipes;
    answer_later(c);
    return 0;
}
