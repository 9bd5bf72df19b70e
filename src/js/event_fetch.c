/* js/event_fetch.c: a request becomes a fetch event, its answer goes back to the client.
 * runtime.md 2.1, 2.11. */
#include <ada_c.h>

#include "http/server.h"
#include "js/fields.h"
#include "js/ops.h"
#include "js/sockets.h"
#include "js/worker_internal.h"
#include "js/wire.h"
#include "js/site.h"
#include "js/cell_splice.h"

/* Bodies that are announced to be smaller are there before the handler is called. operations.md 5.5. */
#define COLLECT_MAX (1u << 20)

struct fetch {
    struct js_event event;
    struct http_exchange *x; /* NULL once it was closed. */
    const struct js_worker_hooks *hooks; /* Of the worker, which may be gone when f is. */
    void *hooks_arg;
    uint64_t start_ns;
    bool started; /* The answer's head is out. */
    bool finished; /* The answer is complete. */
    /* One write at a time: */
    struct io_write write;
    struct js_async async;
    bool writing, held; /* writing: or accepting. */
    struct http_ws_accept accept;
    struct cell_wire *wire; /* owned; of the cell that the accepted socket is to be joined with */
    bool ended; /* The event is over; the struct waits for the write. */
    struct cd_str part;
    struct cd_buf bytes; /* owned: what part borrows. */
    /* A small body, read before the handler is called: */
    struct io_read collect;
    bool collecting;
    struct cd_buf body; /* owned */
    struct cd_buf origin; /* owned; until then */
};

struct body {
    struct js_body source;
    struct fetch *f; /* Its event's; it lives as long as the handle. */
};

static struct fetch *fetch_of(struct js_event *e)
{
    return CD_CONTAINER(e, struct fetch, event);
}

static void fetch_free_if_done(struct fetch *f)
{
    if (!f->ended || f->writing || f->held || f->collecting)
        return;
    if (f->x != NULL)
        http_exchange_close(f->x);
    cd_buf_deinit(&f->bytes);
    cd_buf_deinit(&f->body);
    cd_buf_deinit(&f->origin);
    const struct js_worker_hooks *hooks = f->hooks;
    void *arg = f->hooks_arg;
    cd_free(f);
    if (hooks != NULL && hooks->fetched != NULL)
        hooks->fetched(arg);
}

/* One line a request. The query may hold secrets and is left out. operations.md 7 */
static void log_answer(struct fetch *f, int status)
{
    struct js_worker *w = f->event.w;
    if (!io_event_wanted(w->io, CD_INFO, "request"))
        return;
    const struct http_head *head = f->x->head;
    cd_event_to(w->io, CD_INFO, "request", "request", CD_S("method", head->method),
                CD_S("path", head->where.path), CD_U("status", status),
                CD_U("us", (io_now_ns(w->io) - f->start_ns) / 1000));
}

static void answer_failure(struct fetch *f, int status, const char *why)
{
    struct cd_buf text = {0};
    cd_buf_addf(&text, "Worker failed: %s", why);
    struct http_exchange *x = f->x;
    log_answer(f, status);
    f->x = NULL;
    http_answer_text(x, status, "text/plain; charset=utf-8", cd_buf_str(&text));
    cd_buf_deinit(&text);
}

static void fetch_end(struct js_event *e, const char *why)
{
    struct fetch *f = fetch_of(e);
    f->ended = true;
    if (f->collecting)
        io_cancel(&f->collect.op);
    if (f->x != NULL) {
        f->x->user = NULL;
        f->x->gone = NULL;
        if (!f->started && why != NULL && !f->writing)
            answer_failure(f, 500, why);
    }
    fetch_free_if_done(f);
}

static bool fetch_unanswered(const struct js_event *e)
{
    const struct fetch *f = CD_CONTAINER(e, const struct fetch, event);
    return f->x != NULL && !f->started;
}

static const struct js_event_type fetch_type = {"fetch", fetch_end, fetch_unanswered};

/* ---- The request's body ---- */

static void body_read(struct js_body *s)
{
    struct body *b = CD_CONTAINER(s, struct body, source);
    if (b->f->x == NULL) {
        io_defer(&s->read.op, s->handle.w->io, IO_RESET, js_body_done);
        return;
    }
    http_body_read(b->f->x, &s->read, js_body_done);
}

static const char *body_why(struct js_body *s, int status)
{
    struct body *b = CD_CONTAINER(s, struct body, source);
    const char *why = NULL;
    if (b->f->x != NULL && status != IO_CANCELED)
        http_body_error(b->f->x, &why);
    return status == IO_RESET ? "Network connection lost." : why;
}

static void body_close(struct js_body *s)
{
    cd_free(CD_CONTAINER(s, struct body, source));
}

static const struct js_body_type body_type = {body_read, body_close, body_why};

/* ---- Delivering ---- */

static void on_gone(struct http_exchange *x, int status)
{
    struct fetch *f = x->user;
    (void)
        status; /* IO_EOF too: hardly any client half-closes, and every one that is stopped looks like it. */
    if (f == NULL || f->collecting)
        return;
    struct js_entry e;
    js_enter(f->event.w, &e);
    js_value id = js_number(e.w->js, (double)f->event.id);
    if (js_invoke(e.w, JS_EXPORT_GONE, &id, 1, NULL) != 0 && !js_try_terminated(&e.t))
        js_report(&e, "gone");
    js_leave(&e);
}

/* The URL as the WHATWG writes it; the target's own host, in absolute form, is not trusted over Host. */
static int request_url(struct js_worker *w, const struct http_head *head, struct cd_str origin, js_value *out)
{
    struct cd_buf text = {0};
    cd_buf_add_str(&text, origin);
    cd_buf_add_str(&text, head->where.path);
    if (head->where.query.ptr != NULL) {
        cd_buf_add_byte(&text, '?');
        cd_buf_add_str(&text, head->where.query);
    }
    ada_url url = ada_parse(text.ptr, text.len);
    int rc;
    if (ada_is_valid(url)) {
        ada_string href = ada_get_href(url);
        rc = js_string(w->js, cd_str_of(href.data, href.length), out);
    } else {
        rc = js_string(w->js, cd_buf_str(&text), out);
    }
    ada_free(url);
    cd_buf_deinit(&text);
    return rc;
}

/* How often it has come through Workers of a celld: CDN-Loop (RFC 8586), "celld; loops=3" (core.js). */
static unsigned request_loops(const struct http_head *head)
{
    uint64_t most = 0, n;
    for (unsigned i = 0; i < head->field_count; i++) {
        struct cd_str rest = head->field[i].value, part;
        if (!cd_str_eq_nocase(head->field[i].name, CD_STR("CDN-Loop")))
            continue;
        while (cd_str_next(&rest, ',', &part)) {
            size_t semicolon = cd_str_find(part, ';', 0);
            struct cd_str loops =
                semicolon == SIZE_MAX ? part : cd_str_trim(cd_str_sub(part, semicolon + 1, SIZE_MAX));
            if (cd_str_eq_nocase(cd_str_trim(cd_str_sub(part, 0, semicolon)), CD_STR("celld")) &&
                cd_str_eq_nocase(cd_str_sub(loops, 0, 6), CD_STR("loops=")) &&
                cd_str_u64(cd_str_sub(loops, 6, SIZE_MAX), &n) == 0 && n > most)
                most = n;
        }
    }
    return most > 1000 ? 1000 : (unsigned)most;
}

/* Calls the handler. */
static void deliver(struct fetch *f, struct cd_str origin)
{
    struct js_worker *w = f->event.w;
    const struct http_head *head = f->x->head;
    f->held = true;
    js_event_stir(&f->event);
    struct js_entry e;
    js_enter(w, &e);
    struct js_isolate *js = w->js;
    js_value url, method;
    int rc = request_url(w, head, origin, &url);
    if (rc == 0)
        rc = js_string_latin1(js, head->method, &method);
    if (rc == 0) {
        js_value body = js_undefined(js);
        if (head->body_len != 0 && f->body.len == 0) {
            struct body *b = cd_new(struct body);
            b->f = f;
            js_body_init(&b->source, w, &f->event, &body_type);
            body = js_number(js, (double)b->source.handle.id);
        }
        const js_value argv[] = {
            js_number(js, (double)f->event.id),      method, url, body, js_number(js, (double)f->body.len),
            js_int(js, (int32_t)request_loops(head))};
        rc = js_invoke(w, JS_EXPORT_FETCH, argv, CD_COUNT(argv), NULL);
    }
    js_leave(&e);
    if (rc != 0 && !f->ended)
        js_event_end(&f->event, "The runtime failed.");
    f->held = false;
    fetch_free_if_done(f);
}

static void on_collected(struct io_op *op, int status)
{
    struct fetch *f = CD_CONTAINER(op, struct fetch, collect.op);
    f->collecting = false;
    if (f->ended) {
        fetch_free_if_done(f);
        return;
    }
    if (status == IO_OK) {
        cd_buf_add(&f->body, f->collect.buf, f->collect.len);
        f->collecting = true;
        f->collect.buf = NULL;
        http_body_read(f->x, &f->collect, on_collected);
        return;
    }
    if (status == IO_EOF) {
        struct cd_buf origin = cd_buf_move(&f->origin);
        deliver(f, cd_buf_str(&origin));
        cd_buf_deinit(&origin);
        return;
    }
    /* The handler never ran: closing the exchange answers a body error with its status. */
    f->started = true;
    js_event_end(&f->event, NULL);
}

void js_worker_fetch(struct js_worker *w, struct http_exchange *x, struct cd_str origin)
{
    struct fetch *f = cd_new(struct fetch);
    js_event_init(&f->event, w, &fetch_type);
    f->x = x;
    f->hooks = w->hooks;
    f->hooks_arg = w->arg;
    f->start_ns = io_now_ns(w->io);
    x->user = f;
    x->gone = on_gone;
    if (x->head->body_len == 0 || x->head->body_len >= COLLECT_MAX) { /* Chunked counts as large. */
        deliver(f, origin);
        return;
    }
    cd_buf_add_str(&f->origin, origin);
    f->collecting = true;
    http_body_read(x, &f->collect, on_collected);
}

/* ---- Host functions ---- */

/* status_text(status): the reason phrase of a status that was given none. */
int js_op_status_text(struct js_args *a)
{
    uint64_t status;
    int rc = js_arg_u64(a, 0, &status);
    js_value text;
    if (rc == 0)
        rc = js_string_latin1(a->js, http_status_text((int)status), &text);
    if (rc == 0)
        js_return(a, text);
    return rc;
}

static int fetch_arg(struct js_args *a, struct fetch **out)
{
    uint64_t id;
    int rc = js_arg_u64(a, 0, &id);
    if (rc != 0)
        return rc;
    struct js_event *e = js_event_get(js_worker_of(a), id);
    if (e == NULL || e->type != &fetch_type || fetch_of(e)->x == NULL)
        return js_throw_error(a->js, JS_ERROR, "The event that this operation belongs to has ended.");
    *out = fetch_of(e);
    return 0;
}

/* The fields that tell a Worker its client's address: what a trusted proxy says, in either of them, else the
 * peer. runtime.md 5.1. */
static const struct cd_str client_fields[] = {{"CF-Connecting-IP", 16}, {"X-Real-IP", 9}};

static bool field_is_ours(struct cd_str name, unsigned *which)
{
    for (*which = 0; *which < CD_COUNT(client_fields); (*which)++) {
        if (cd_str_eq_nocase(name, client_fields[*which]))
            return true;
    }
    return cd_str_eq_nocase(cd_str_sub(name, 0, 8), CD_STR("x-celld-")); /* Between nodes: no client's. */
}

/* request_head(event): [name, value, name, value, ...] as they came, but for those that are the node's to
 * say. */
int js_op_request_head(struct js_args *a)
{
    struct fetch *f;
    int rc = fetch_arg(a, &f);
    if (rc != 0)
        return rc;
    const struct http_head *head = f->x->head;
    bool trusted = f->event.w->trusts_proxy;
    struct cd_str client[CD_COUNT(client_fields)] = {{NULL, 0}}, known = {NULL, 0};
    js_value list = js_array(a->js, NULL, 0);
    uint32_t at = 0;
    for (unsigned i = 0; i < head->field_count && rc == 0; i++) {
        unsigned which;
        if (!field_is_ours(head->field[i].name, &which))
            rc = js_fields_add(a->js, list, &at, head->field[i].name, head->field[i].value);
        else if (trusted && which < CD_COUNT(client_fields) && head->field[i].value.len > 0)
            known = client[which] = head->field[i].value;
    }
    struct io_addr peer;
    http_exchange_peer(f->x, &peer);
    if (known.len == 0)
        known = cd_str(peer.host);
    for (unsigned i = 0; i < CD_COUNT(client_fields) && rc == 0 && known.len > 0; i++)
        rc = js_fields_add(a->js, list, &at, client_fields[i], client[i].len > 0 ? client[i] : known);
    if (rc == 0)
        js_return(a, list);
    return rc;
}

/* request_body(event, as_text): the collected body as a string (UTF-8, without a byte order mark) or a
 * Uint8Array. */
int js_op_request_body(struct js_args *a)
{
    uint64_t id;
    int rc = js_arg_u64(a, 0, &id);
    if (rc != 0)
        return rc;
    struct js_event *e = js_event_get(js_worker_of(a), id);
    if (e == NULL || e->type != &fetch_type)
        return js_throw_error(a->js, JS_ERROR, "The event that this body belongs to has ended.");
    struct cd_str body = cd_buf_str(&fetch_of(e)->body);
    js_value v;
    if (js_to_bool(a->js, js_arg(a, 1))) {
        if (cd_str_starts(body, CD_STR("\xEF\xBB\xBF")))
            body = cd_str_sub(body, 3, SIZE_MAX);
        rc = js_string(a->js, body, &v);
    } else {
        rc = js_uint8_array_copy(a->js, body, &v);
    }
    if (rc == 0)
        js_return(a, v);
    return rc;
}

struct answer_args {
    struct http_answer answer;
    struct cd_buf reason; /* owned */
    struct js_fields fields; /* owned */
};

static void answer_args_init(struct answer_args *r)
{
    r->answer = (struct http_answer){0};
    r->reason = (struct cd_buf){0};
    js_fields_init(&r->fields);
}

static void answer_args_deinit(struct answer_args *r)
{
    cd_buf_deinit(&r->reason);
    js_fields_deinit(&r->fields);
}

/* Arguments first..: status, status text, [name, value, ...] */
static int answer_read(struct js_args *a, unsigned first, struct answer_args *r)
{
    double status;
    int rc = js_to_number(a->js, js_arg(a, first), &status);
    if (rc == 0)
        rc = js_head_text(a, js_arg(a, first + 1), "a response", &r->reason);
    if (rc == 0)
        rc = js_fields_read(a, first + 2, "a response", &r->fields);
    if (rc != 0)
        return rc;
    r->answer.status = (int)status;
    r->answer.reason = cd_buf_str(&r->reason);
    r->answer.field = r->fields.field;
    r->answer.field_count = r->fields.count;
    return 0;
}

static int bytes_arg(struct js_args *a, unsigned index, struct cd_buf *out)
{
    js_value v = js_arg(a, index);
    struct js_bytes bytes;
    if (js_kind(v) == JS_STRING)
        js_string_add(a->js, v, out);
    else if (js_bytes(v, &bytes))
        cd_buf_add(out, bytes.ptr, bytes.len);
    else if (!js_is_undefined(v) && js_kind(v) != JS_NULL)
        return js_throw_error(a->js, JS_TYPE_ERROR, "A chunk of a body is neither text nor bytes.");
    return 0;
}

/* answer(event, status, statusText, fields, body, failed): a whole answer; body is a string, bytes or
 * undefined. failed: the handler did, and a client whose request was bad is told so. */
int js_op_answer(struct js_args *a)
{
    struct fetch *f;
    int rc = fetch_arg(a, &f);
    if (rc != 0)
        return rc;
    if (f->started)
        return js_throw_error(a->js, JS_ERROR, "This request has been answered already.");
    struct answer_args r;
    answer_args_init(&r);
    struct cd_buf body = {0};
    rc = answer_read(a, 1, &r);
    if (rc == 0)
        rc = bytes_arg(a, 4, &body);
    const char *why;
    int bad = rc == 0 && js_to_bool(a->js, js_arg(a, 5)) ? http_body_error(f->x, &why) : 0;
    if (bad != 0) { /* Closing the exchange says what was wrong with the request. */
        struct http_exchange *x = f->x;
        log_answer(f, bad);
        f->x = NULL;
        f->started = f->finished = true;
        http_exchange_close(x);
    } else if (rc == 0) {
        log_answer(f, r.answer.status);
        rc = http_answer_all(f->x, &r.answer, cd_buf_str(&body));
        if (rc == 0) {
            f->x = NULL;
            f->started = f->finished = true;
        } else {
            rc = js_throw_error(a->js, JS_TYPE_ERROR, "Invalid status or header in a response.");
        }
    }
    cd_buf_deinit(&body);
    answer_args_deinit(&r);
    return rc;
}

static void write_cancel(struct js_async *s)
{
    (void)s; /* Ends with the exchange: what is on its way to a client is not taken back. */
}

static void write_done(struct io_op *op, int status)
{
    struct fetch *f = CD_CONTAINER(op, struct fetch, write.op);
    struct js_async a;
    bool wanted = js_async_take(&f->async, &a);
    f->writing = false;
    f->held = true;
    if (wanted)
        js_async_status(&a, status, status == IO_OK ? NULL : "Network connection lost.");
    f->held = false;
    fetch_free_if_done(f);
    js_async_end(&a);
}

static int write_begin(struct js_args *a, struct fetch *f, unsigned body)
{
    if (f->writing)
        return js_throw_error(a->js, JS_ERROR, "This response is being written already.");
    cd_buf_clear(&f->bytes);
    int rc = bytes_arg(a, body, &f->bytes);
    if (rc == 0)
        rc = js_async_begin(a, &f->async, write_cancel);
    if (rc != 0)
        return rc;
    f->writing = true;
    f->part = cd_buf_str(&f->bytes);
    f->write.part = &f->part;
    f->write.parts = f->part.len > 0;
    return 0;
}

/* answer_start(event, promise, status, statusText, fields, length or -1): the head of an answer in pieces. */
int js_op_answer_start(struct js_args *a)
{
    struct fetch *f;
    double len;
    int rc = fetch_arg(a, &f);
    if (rc == 0)
        rc = js_to_number(a->js, js_arg(a, 5), &len);
    if (rc != 0)
        return rc;
    if (f->started)
        return js_throw_error(a->js, JS_ERROR, "This request has been answered already.");
    struct answer_args r;
    answer_args_init(&r);
    rc = answer_read(a, 2, &r);
    if (rc == 0)
        rc = write_begin(a, f, 6);
    if (rc == 0) {
        r.answer.body_len = len < 0 ? HTTP_LEN_CHUNKED : (uint64_t)len;
        f->started = true;
        log_answer(f, r.answer.status);
        http_answer_start(f->x, &r.answer, &f->write, false, write_done);
    }
    answer_args_deinit(&r);
    return rc;
}

/* answer_write(event, promise, chunk, last) */
int js_op_answer_write(struct js_args *a)
{
    struct fetch *f;
    int rc = fetch_arg(a, &f);
    if (rc == 0)
        rc = write_begin(a, f, 2);
    if (rc != 0)
        return rc;
    http_answer_write(f->x, &f->write, js_to_bool(a->js, js_arg(a, 3)), write_done);
    return 0;
}

/* ---- WebSockets ---- */

static void accept_done(struct io_op *op, int status)
{
    struct fetch *f = CD_CONTAINER(op, struct fetch, accept.op);
    struct js_async a;
    bool wanted = js_async_take(&f->async, &a), joined = f->wire != NULL && status == IO_OK;
    f->writing = false;
    f->held = true;
    if (joined)
        js_splice(f->accept.ws, f->wire);
    else if (f->wire != NULL)
        js_wire_drop(f->wire);
    f->wire = NULL;
    if (wanted && status == IO_OK) {
        struct js_entry e;
        js_enter(a.w, &e);
        uint64_t id = joined ? 0 : js_socket_new(a.w, &f->event, f->accept.ws);
        js_async_settle(&a, NULL, js_number(a.w->js, (double)id));
        js_leave(&e);
    } else {
        if (status == IO_OK && !joined)
            http_ws_free(f->accept.ws);
        js_async_status(&a, status == IO_OK ? IO_CANCELED : status, "Network connection lost.");
    }
    f->held = false;
    fetch_free_if_done(f);
    js_async_end(&a);
}

/* answer_websocket(event, promise, status, statusText, fields, protocol, wire): 101; the socket that the
 * request becomes. The event lives on. wire, or undefined: the cell's end of the socket; if the host can pass
 * on by itself what comes from either, it does, and the answer is 0. */
int js_op_answer_websocket(struct js_args *a)
{
    struct fetch *f;
    int rc = fetch_arg(a, &f);
    if (rc != 0)
        return rc;
    if (f->started || f->writing)
        return js_throw_error(a->js, JS_ERROR, "This request has been answered already.");
    if (!http_ws_wanted(f->x->head))
        return js_throw_error(a->js, JS_TYPE_ERROR,
                              "Worker tried to return WebSocket in a response to a request which did not "
                              "contain the header \"Upgrade: websocket\".");
    struct answer_args r;
    answer_args_init(&r);
    struct cd_buf protocol = {0};
    rc = answer_read(a, 2, &r);
    if (rc == 0)
        rc = js_to_utf8(a->js, js_arg(a, 5), &protocol);
    if (rc == 0)
        rc = js_async_begin(a, &f->async, write_cancel);
    if (rc == 0) {
        struct http_exchange *x = f->x;
        log_answer(f, 101);
        f->x = NULL;
        f->started = f->writing = true;
        x->user = NULL;
        x->gone = NULL;
        struct js_site *site = f->event.w->site;
        struct js_splices *splices = /* Of the loop. */
            site != NULL && !js_is_undefined(js_arg(a, 6)) ? js_site_splices(site) : NULL;
        if (splices != NULL)
            f->wire = js_wire_take(a, 6);
        struct http_ws_host *host = f->wire != NULL ? js_splices_host(splices) : js_sockets_host(f->event.w);
        http_ws_accept(&f->accept, host, x, cd_buf_str(&protocol), r.answer.field, r.answer.field_count,
                       accept_done);
    }
    cd_buf_deinit(&protocol);
    answer_args_deinit(&r);
    return rc;
}
