/* js/bodies.c: bodies that JavaScript reads piece by piece, and those it writes. */
#include "js/ops.h"
#include "js/worker_internal.h"

/* ---- Sources ---- */

static void source_free_if_idle(struct js_body *s)
{
    if (s->closed && !s->reading && !s->held)
        s->type->close(s);
}

static void source_close(struct js_handle *h)
{
    struct js_body *s = CD_CONTAINER(h, struct js_body, handle);
    s->closed = true;
    if (s->reading)
        io_cancel(&s->read.op);
    source_free_if_idle(s);
}

static const struct js_handle_type source_handle = {.name = "body", .close = source_close, .passive = true};

void js_body_init(struct js_body *s, struct js_worker *w, struct js_event *event,
                  const struct js_body_type *type)
{
    s->type = type;
    js_handle_init(&s->handle, w, event, &source_handle);
}

static void source_cancel(struct js_async *a)
{
    io_cancel(&CD_CONTAINER(a, struct js_body, async)->read.op);
}

void js_body_done(struct io_op *op, int status)
{
    struct js_body *s = CD_CONTAINER(op, struct js_body, read.op);
    struct js_async a;
    s->reading = false;
    s->held = true; /* What runs below can close it. */
    if (js_async_take(&s->async, &a)) {
        struct js_entry e;
        js_enter(a.w, &e);
        js_value chunk = NULL, error = NULL;
        if (status == IO_OK) {
            if (js_uint8_array_copy(e.w->js, cd_str_of(s->read.buf, s->read.len), &chunk) != 0) {
                error = js_try_exception(&e.t); /* No memory for it. */
                js_try_clear(&e.t);
            }
        } else if (status != IO_EOF) {
            error = js_status_error(e.w, status, s->type->why != NULL ? s->type->why(s, status) : NULL);
        }
        js_async_settle(&a, error, chunk);
        js_leave(&e);
    }
    s->held = false;
    source_free_if_idle(s);
    js_async_end(&a);
}

struct js_body *js_body_of(struct js_handle *h)
{
    return h->type == &source_handle ? CD_CONTAINER(h, struct js_body, handle) : NULL;
}

int js_arg_body(struct js_args *a, unsigned index, const struct js_body_type *type, struct js_body **out)
{
    struct js_handle *h;
    int rc = js_arg_handle(a, index, &source_handle, &h);
    if (rc != 0)
        return rc;
    *out = CD_CONTAINER(h, struct js_body, handle);
    if ((*out)->type != type)
        return js_throw_error(a->js, JS_TYPE_ERROR, "This body is of another kind.");
    return 0;
}

/* source_read(event, promise, source): the next bytes as a Uint8Array; undefined at the end. */
int js_op_source_read(struct js_args *a)
{
    struct js_handle *h;
    int rc = js_arg_handle(a, 2, &source_handle, &h);
    if (rc != 0)
        return rc;
    struct js_body *s = CD_CONTAINER(h, struct js_body, handle);
    if (s->reading)
        return js_throw_error(a->js, JS_ERROR, "This body is being read already.");
    rc = js_async_begin(a, &s->async, source_cancel);
    if (rc != 0)
        return rc;
    s->reading = true;
    s->read.buf = NULL;
    s->type->read(s);
    return 0;
}

/* source_close(source): nobody wants the rest. */
int js_op_source_close(struct js_args *a)
{
    uint64_t id;
    int rc = js_arg_u64(a, 0, &id);
    if (rc != 0)
        return rc;
    struct js_handle *h = cd_map_get_u64(&js_worker_of(a)->handles, id);
    if (h != NULL && h->type == &source_handle)
        js_handle_close(h);
    return 0;
}
