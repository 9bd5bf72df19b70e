/* js/ops_fetch.c: requests that go out. runtime.md 5.1; io.h, outbound HTTP.
 *
 * A request is known to JavaScript by the handle of its answer's body, from the start on: writing the
 * request's body and giving up work by the same number. */
#include "js/cells.h"
#include "js/fields.h"
#include "js/ops.h"

struct ask {
    struct js_body body;
    struct io_http http;
    struct io_op starting, writing, closing;
    struct js_effect start_effect, write_effect;
    struct js_async start, write;
    struct io *io;
    bool is_starting, is_writing, is_open, is_closing;
    bool gone; /* No longer reachable: to be freed when nothing is pending. */
    bool held; /* write_done is at work. */
    struct cd_buf chunk; /* owned; of the write in flight */
    bool last; /* It is the last one. */
    struct cd_buf method, url, head; /* owned; what is asked, until it is */
    uint64_t body_len;
};

static void ask_free_if_idle(struct ask *k);

static void close_done(struct io_op *op, int status)
{
    struct ask *k = CD_CONTAINER(op, struct ask, closing);
    (void)status;
    k->is_closing = k->is_open = false;
    ask_free_if_idle(k);
}

static void ask_free_if_idle(struct ask *k)
{
    if (!k->gone || k->is_starting || k->is_closing || k->held)
        return;
    if (k->is_open) {
        k->is_closing = true;
        io_http_close(&k->http, &k->closing, close_done);
        return;
    }
    if (k->is_writing)
        return;
    cd_buf_deinit(&k->chunk);
    cd_buf_deinit(&k->method);
    cd_buf_deinit(&k->url);
    cd_buf_deinit(&k->head);
    cd_free(k);
}

/* ---- The answer's body ---- */

static void body_read(struct js_body *b)
{
    struct ask *k = CD_CONTAINER(b, struct ask, body);
    if (k->is_open)
        io_http_read(&k->http, &b->read, js_body_done);
    else
        io_defer(&b->read.op, k->io, CD_ECLOSED, js_body_done);
}

static const char *body_why(struct js_body *b, int status)
{
    (void)b, (void)status;
    return "Network connection lost.";
}

static void body_close(struct js_body *b)
{
    struct ask *k = CD_CONTAINER(b, struct ask, body);
    k->gone = true;
    if (k->is_starting)
        js_effect_cancel(&k->start_effect);
    ask_free_if_idle(k);
}

static const struct js_body_type ask_type = {body_read, body_close, body_why};

/* ---- The head ---- */

/* "Name: value\r\n"... as [name, value, ...] */
static int fields_of(struct js_isolate *js, struct cd_str head, js_value *out)
{
    js_value list = js_array(js, NULL, 0);
    uint32_t at = 0;
    int rc = 0;
    while (head.len > 0 && rc == 0) {
        size_t end = cd_str_find_str(head, CD_STR("\r\n"), 0);
        struct cd_str line = cd_str_sub(head, 0, end);
        head = end == SIZE_MAX ? (struct cd_str){0} : cd_str_sub(head, end + 2, SIZE_MAX);
        size_t colon = cd_str_find(line, ':', 0);
        if (colon != SIZE_MAX)
            rc = js_fields_add(js, list, &at, cd_str_sub(line, 0, colon),
                               cd_str_trim(cd_str_sub(line, colon + 1, SIZE_MAX)));
    }
    *out = list;
    return rc;
}

static void start_cancel(struct js_async *a)
{
    js_effect_cancel(&CD_CONTAINER(a, struct ask, start)->start_effect);
}

static void start_done(struct io_op *op, int status)
{
    struct ask *k = CD_CONTAINER(op, struct ask, starting);
    struct js_async a;
    bool wanted = js_async_take(&k->start, &a);
    k->is_starting = false;
    k->is_open = status == IO_OK;
    if (k->gone) {
        ask_free_if_idle(k);
    } else if (wanted && status == IO_OK) {
        struct js_entry e;
        js_enter(a.w, &e);
        js_value fields, error = NULL, answer = NULL;
        if (fields_of(a.w->js, cd_buf_str(&k->http.head), &fields) == 0) {
            const js_value pair[] = {js_int(a.w->js, k->http.status), fields};
            answer = js_array(a.w->js, pair, 2);
        } else {
            error = js_try_exception(&e.t);
            js_try_clear(&e.t);
        }
        js_async_settle(&a, error, answer);
        js_leave(&e);
    } else if (wanted) {
        js_async_status(&a, status, k->http.why);
    }
    js_async_end(&a);
}

static int text_arg(struct js_args *a, unsigned index, struct cd_buf *out)
{
    if (js_kind(js_arg(a, index)) != JS_STRING)
        return js_throw_error(a->js, JS_TYPE_ERROR, "argument %u of a host function is no string", index);
    js_string_add(a->js, js_arg(a, index), out);
    return 0;
}

static void start_go(struct js_effect *x)
{
    struct ask *k = CD_CONTAINER(x, struct ask, start_effect);
    const struct io_http_ask ask = {.method = cd_buf_str(&k->method),
                                    .url = cd_buf_str(&k->url),
                                    .head = cd_buf_str(&k->head),
                                    .body_len = k->body_len};
    io_http_start(&k->http, k->io, &ask, &k->starting, start_done);
}

/* fetch_start(event, promise, method, url, head, length): head is "Name: value\r\n"..., length -1 for a
 * body of unknown length. Returns the number for the calls below; the promise is of [status, fields]. */
int js_op_fetch_start(struct js_args *a)
{
    struct ask *k = cd_new(struct ask);
    double len = 0;
    int rc = text_arg(a, 2, &k->method);
    if (rc == 0)
        rc = text_arg(a, 3, &k->url);
    if (rc == 0)
        rc = js_head_text(a, js_arg(a, 4), "a request", &k->head);
    if (rc == 0)
        rc = js_to_number(a->js, js_arg(a, 5), &len);
    if (rc == 0)
        rc = js_effect_async(a, &k->start, start_cancel);
    if (rc != 0) {
        k->gone = true;
        ask_free_if_idle(k);
        return rc;
    }
    k->io = k->start.w->io;
    k->body_len = len < 0 ? IO_HTTP_CHUNKED : (uint64_t)len;
    js_body_init(&k->body, k->start.w, k->start.event, &ask_type);
    k->is_starting = true;
    js_return_number(a, (double)k->body.handle.id);
    js_effect_start(&k->start_effect, k->start.event, &k->starting, start_done, start_go);
    return 0;
}

/* ---- The request's body ---- */

static void write_cancel(struct js_async *a)
{
    js_effect_cancel(&CD_CONTAINER(a, struct ask, write)->write_effect);
}

static void write_done(struct io_op *op, int status)
{
    struct ask *k = CD_CONTAINER(op, struct ask, writing);
    struct js_async a;
    bool wanted = js_async_take(&k->write, &a);
    k->is_writing = false;
    k->held = true; /* What runs now can start the next write, or close the request. */
    if (wanted)
        js_async_status(&a, status, status == IO_OK ? NULL : "Network connection lost.");
    k->held = false;
    ask_free_if_idle(k);
    js_async_end(&a);
}

static void write_go(struct js_effect *x)
{
    struct ask *k = CD_CONTAINER(x, struct ask, write_effect);
    if (k->is_open || k->is_starting)
        io_http_write(&k->http, cd_buf_str(&k->chunk), k->last, &k->writing, write_done);
    else
        io_defer(&k->writing, k->io, CD_ECLOSED, write_done);
}

/* fetch_write(event, promise, request, chunk, last): one at a time. */
int js_op_fetch_write(struct js_args *a)
{
    struct js_body *b;
    int rc = js_arg_body(a, 2, &ask_type, &b);
    if (rc != 0)
        return rc;
    struct ask *k = CD_CONTAINER(b, struct ask, body);
    struct js_bytes bytes = {0};
    if (k->is_writing)
        return js_throw_error(a->js, JS_ERROR, "This request is being written already.");
    if (!js_is_undefined(js_arg(a, 3)) && !js_bytes(js_arg(a, 3), &bytes))
        return js_throw_error(a->js, JS_TYPE_ERROR, "A chunk of a body is no bytes.");
    rc = js_effect_async(a, &k->write, write_cancel);
    if (rc != 0)
        return rc;
    cd_buf_clear(&k->chunk);
    cd_buf_add(&k->chunk, bytes.ptr, bytes.len);
    k->last = js_to_bool(a->js, js_arg(a, 4));
    k->is_writing = true;
    js_effect_start(&k->write_effect, k->write.event, &k->writing, write_done, write_go);
    return 0;
}
