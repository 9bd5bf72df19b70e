/* js/ops_ws.c: WebSockets that a Worker opens. RFC 6455 4; runtime.md 5.5. */
#include "js/ops_ws.h"

#include "js/cells.h"
#include "js/ops.h"
#include "js/sockets.h"

#define FIELDS_MAX 1024

struct connect_args {
    bool secure;
    struct io_addr to;
    struct cd_buf host, authority, target, protocols;
    struct cd_buf text;
    struct http_field field[FIELDS_MAX];
    size_t count;
};

struct connect {
    struct http_ws_connect c;
    struct js_async async;
    struct js_effect effect;
    struct connect_args args; /* Until it is asked. */
};

static void connect_free(struct connect *n)
{
    cd_buf_deinit(&n->args.host);
    cd_buf_deinit(&n->args.authority);
    cd_buf_deinit(&n->args.target);
    cd_buf_deinit(&n->args.protocols);
    cd_buf_deinit(&n->args.text);
    cd_free(n);
}

static void connect_cancel(struct js_async *s)
{
    js_effect_cancel(&CD_CONTAINER(s, struct connect, async)->effect);
}

/* [handle, protocol] of an open socket. */
static int result(struct js_worker *w, struct connect *n, struct js_event *event, js_value *out)
{
    js_value protocol;
    int rc = js_string(w->js, cd_buf_str(&n->c.protocol), &protocol);
    if (rc != 0)
        return rc;
    struct http_ws *ws = n->c.ws;
    n->c.ws = NULL;
    const js_value pair[] = {js_number(w->js, (double)js_socket_new(w, event, ws)), protocol};
    *out = js_array(w->js, pair, CD_COUNT(pair));
    return 0;
}

static js_value failure(struct js_worker *w, const struct connect *n, int status)
{
    struct cd_buf text = {0};
    if (status == CD_EUNSUPPORTED)
        cd_buf_addf(&text,
                    "Failed to establish the WebSocket connection: expected server to reply with HTTP status "
                    "code 101 (switching protocols), but received %d instead.",
                    n->c.status);
    else
        cd_buf_addf(&text, "Failed to establish the WebSocket connection: %s",
                    n->c.why != NULL && *n->c.why != 0 ? n->c.why : cd_err_text(status));
    js_value error = js_status_error(w, status, cd_buf_cstr(&text));
    cd_buf_deinit(&text);
    return error;
}

static void connect_done(struct io_op *op, int status)
{
    struct connect *n = CD_CONTAINER(op, struct connect, c.op);
    struct js_async a;
    if (js_async_take(&n->async, &a)) {
        struct js_entry e;
        js_enter(a.w, &e);
        js_value v = NULL, error = NULL;
        if (status != IO_OK) {
            error = failure(e.w, n, status);
        } else if (result(e.w, n, a.event, &v) != 0) {
            error = js_try_exception(&e.t);
            js_try_clear(&e.t);
        }
        js_async_settle(&a, error, v);
        js_leave(&e);
    }
    if (n->c.ws != NULL)
        http_ws_free(n->c.ws);
    cd_buf_deinit(&n->c.protocol);
    connect_free(n);
    js_async_end(&a);
}

/* [name, value, ...] */
static int fields_read(struct js_args *a, unsigned index, struct connect_args *r)
{
    js_value list = js_arg(a, index);
    unsigned count = js_is(list, JS_IS_ARRAY) ? js_array_len(list) : 0;
    if (count > 2 * FIELDS_MAX)
        return js_throw_error(a->js, JS_TYPE_ERROR, "More than %d header fields in a request.", FIELDS_MAX);
    size_t ends[2 * FIELDS_MAX + 1];
    for (unsigned i = 0; i < count; i++) {
        struct js_scope scope;
        js_value v;
        js_scope_open(a->js, &scope);
        int rc = js_get_index(a->js, list, i, &v);
        bool fits = rc == 0 && js_kind(v) == JS_STRING && js_string_add_latin1(a->js, v, &r->text);
        js_scope_close(&scope);
        if (rc != 0)
            return rc;
        if (!fits)
            return js_throw_error(a->js, JS_TYPE_ERROR, "Invalid header value.");
        ends[i] = r->text.len;
    }
    size_t at = 0;
    for (unsigned i = 0; i + 1 < count; i += 2) {
        r->field[i / 2].name = cd_str_of(r->text.ptr + at, ends[i] - at);
        r->field[i / 2].value = cd_str_of(r->text.ptr + ends[i], ends[i + 1] - ends[i]);
        at = ends[i + 1];
    }
    r->count = count / 2;
    return 0;
}

static int args_read(struct js_args *a, struct connect_args *r)
{
    uint64_t port = 0;
    int rc = js_to_utf8(a->js, js_arg(a, 2), &r->host);
    if (rc == 0)
        rc = js_arg_u64(a, 3, &port);
    if (rc == 0)
        rc = js_to_utf8(a->js, js_arg(a, 4), &r->authority);
    if (rc == 0)
        rc = js_to_utf8(a->js, js_arg(a, 5), &r->target);
    if (rc == 0)
        rc = fields_read(a, 6, r);
    if (rc == 0)
        rc = js_to_utf8(a->js, js_arg(a, 7), &r->protocols);
    if (rc != 0)
        return rc;
    if (r->host.len >= sizeof r->to.host || port > UINT16_MAX)
        return js_throw_error(a->js, JS_TYPE_ERROR, "The address of the WebSocket is too long.");
    r->to.port = (uint16_t)port;
    r->secure = js_to_bool(a->js, js_arg(a, 8));
    memcpy(r->to.host, cd_buf_cstr(&r->host), r->host.len + 1);
    return 0;
}

static void connect_go(struct js_effect *x)
{
    struct connect *n = CD_CONTAINER(x, struct connect, effect);
    struct js_worker *w = n->async.w;
    const struct connect_args *r = &n->args;
    http_ws_connect(&n->c, js_sockets_host(w), js_sockets_client(w), &r->to, cd_buf_str(&r->target),
                    cd_buf_str(&r->authority), r->field, r->count, cd_buf_str(&r->protocols), r->secure,
                    connect_done);
}

/* ws_connect(event, promise, host, port, authority, target, fields, protocols, secure): [socket, protocol].
 */
int js_op_ws_connect(struct js_args *a)
{
    struct connect *n = cd_new(struct connect);
    int rc = args_read(a, &n->args);
    if (rc == 0)
        rc = js_effect_async(a, &n->async, connect_cancel);
    if (rc == 0)
        js_effect_start(&n->effect, n->async.event, &n->c.op, connect_done, connect_go);
    else
        connect_free(n);
    return rc;
}
