/* js/cell_sockets.c: hibernatable WebSockets: records, what comes, what goes. */
#include "js/cell_sockets.h"

#include "js/cells_internal.h"
#include "js/ops.h"
#include "js/wire.h"
#include "js/wire_format.h"

#define AUTO_MAX 2048u /* Bytes of a request and of a response. services.md 1.8 */
#define HEAP_PERCENT 90 /* Of the isolate's limit: no further socket above it. */
#define LOST 1006u
/* Frames of a socket that wait for the instance; the rest waits in the wire. With its window:
 * runtime.md 2.10. */
#define WAITING_MAX CELL_WIRE_WINDOW

struct js_parked {
    struct cd_link link; /* Of js_cells.parked. */
    struct js_cells *host;
    struct cell_shard *shard;
    struct cd_buf scope; /* owned */
    struct js_cell *cell; /* Its instance; NULL: it hibernates. */
    struct cd_map sockets; /* id, in the order of accepting -> struct socket */
    struct cd_list ready; /* struct socket.ready: with frames for js_parked_wake */
    uint64_t last_id;
    struct cd_buf request, response; /* owned; answered without the cell, if the request is not empty */
    uint64_t timeout_ms; /* Of an event; 0: the usual one. */
};

/* A message that waits for the instance. */
struct frame {
    struct cd_link link;
    struct cd_buf bytes; /* owned; as of js/wire_format.h */
};

struct socket {
    struct js_parked *of;
    uint64_t id;
    struct cell_wire *wire; /* owned; NULL: the request is not answered yet. */
    struct cd_list frames; /* struct frame.link */
    struct cd_link ready; /* In of->ready. */
    size_t waiting; /* Their bytes, and what it costs to keep them. */
    bool full; /* Nobody is attached to the wire until frames is empty. */
    bool gated; /* A frame waits at the input gate: the others wait here. */
    struct cd_buf tags; /* owned; each with a length byte pair before it */
    struct cd_buf attachment; /* owned */
    bool attached;
    bool closed_in, closed_out; /* A close frame came, or went. */
    bool told; /* The instance knows of the one that came. */
    int64_t auto_ms; /* Of the last answer without the cell; -1: none. */
};

/* ---- Records ---- */

static struct js_parked *parked_of(struct js_cell *c)
{
    if (c->parked != NULL)
        return c->parked;
    struct js_parked *p = cd_new(struct js_parked);
    p->host = c->host;
    p->shard = cell_shard_of(c->cell);
    cd_buf_add_str(&p->scope, cell_scope(c->cell));
    p->cell = c;
    cd_list_init(&p->ready);
    c->parked = p;
    cd_list_push(&c->host->parked, &p->link);
    cell_set_parked(p->shard, cd_buf_str(&p->scope), p);
    return p;
}

/* Nothing of it needs to be known when the cell hibernates. */
static void parked_free_if_idle(struct js_parked *p)
{
    if (p->cell != NULL || p->sockets.count > 0)
        return;
    if (p->shard != NULL)
        cell_set_parked(p->shard, cd_buf_str(&p->scope), NULL);
    cd_link_remove(&p->link);
    cd_buf_deinit(&p->scope);
    cd_buf_deinit(&p->request);
    cd_buf_deinit(&p->response);
    cd_map_deinit(&p->sockets);
    cd_free(p);
}

static void frame_free(struct frame *f)
{
    cd_buf_deinit(&f->bytes);
    cd_free(f);
}

static void socket_free(struct socket *s)
{
    cd_map_remove_u64(&s->of->sockets, s->id);
    cd_link_remove(&s->ready);
    if (s->wire != NULL)
        cell_wire_close(s->wire, NULL);
    for (struct cd_link *k; (k = cd_list_pop(&s->frames)) != NULL;)
        frame_free(CD_CONTAINER(k, struct frame, link));
    cd_buf_deinit(&s->tags);
    cd_buf_deinit(&s->attachment);
    cd_free(s);
}

/* ---- What comes ---- */

enum { TOLD_MESSAGE, TOLD_CLOSING, TOLD_ENDED }; /* As of runtime/websocket.js. */

static size_t frame_cost(const struct frame *f)
{
    return f->bytes.len + sizeof *f;
}

/* One frame, in a turn of its own: the prelude's cellSocket(event, socket, kind, a, b, clean). True: it waits
 * at the input gate. */
static bool frame_tell(struct js_cell *c, uint64_t id, const struct frame *f)
{
    struct cd_str all = cd_buf_str(&f->bytes), rest = cd_str_sub(all, JS_WIRE_HEAD_SIZE, SIZE_MAX);
    unsigned kind = (uint8_t)all.ptr[0];
    struct js_entry e;
    js_enter(c->w, &e);
    js_cell_touch(&c->event);
    struct js_isolate *js = c->w->js;
    bool message = kind == JS_WIRE_TEXT || kind == JS_WIRE_BINARY;
    js_value text, waits = NULL;
    int rc = kind == JS_WIRE_BINARY ? js_buffer_copy(js, rest, &text) : js_string(js, rest, &text);
    if (rc == 0) {
        int told = message ? TOLD_MESSAGE : kind == JS_WIRE_CLOSING ? TOLD_CLOSING : TOLD_ENDED;
        const js_value argv[] = {js_number(js, (double)c->event.id),
                                 js_number(js, (double)id),
                                 js_int(js, told),
                                 message ? text : js_number(js, js_wire_id(all)),
                                 message ? js_undefined(js) : text,
                                 js_bool(js, kind == JS_WIRE_CLOSING)};
        rc = js_invoke(c->w, JS_EXPORT_CELL_SOCKET, argv, CD_COUNT(argv), &waits);
    }
    bool gated = rc == 0 && js_to_bool(js, waits);
    if (rc != 0 && !js_try_terminated(&e.t))
        js_report(&e, "cell");
    js_leave(&e);
    return gated;
}

static const struct cell_wire_hooks hooks;

/* Whatever runs in between can take the socket, or the instance, away. */
static void frames_deliver(struct js_parked *p, uint64_t id)
{
    struct js_cell *c = p->cell;
    while (c != NULL && js_cell_runs(c)) {
        struct socket *s = cd_map_get_u64(&p->sockets, id);
        if (s == NULL || s->gated)
            return;
        struct cd_link *k = cd_list_pop(&s->frames);
        if (k == NULL && s->full && s->wire != NULL) { /* More may come before this returns. */
            s->full = false;
            cell_wire_attach(s->wire, &hooks, s);
        }
        if (k == NULL)
            return;
        struct frame *f = CD_CONTAINER(k, struct frame, link);
        s->waiting -= frame_cost(f);
        bool gated = frame_tell(c, id, f);
        s = cd_map_get_u64(&p->sockets, id);
        if (s != NULL) {
            s->told = s->closed_in && cd_list_empty(&s->frames);
            s->gated = s->gated || gated;
        }
        frame_free(f);
    }
}

static void ready(struct socket *s)
{
    struct js_parked *p = s->of;
    if (!cd_link_linked(&s->ready))
        cd_list_push(&p->ready, &s->ready);
    cell_wake(p->shard, cd_buf_str(&p->scope));
}

static void frame_add(struct socket *s, struct cd_buf *bytes)
{
    struct frame *f = cd_new(struct frame);
    f->bytes = cd_buf_move(bytes);
    cd_list_push(&s->frames, &f->link);
    s->waiting += frame_cost(f);
    if (!s->full && s->wire != NULL && s->waiting >= WAITING_MAX) {
        s->full = true;
        cell_wire_attach(s->wire, NULL, NULL);
    }
}

static void frame_push(struct socket *s, struct cd_buf *bytes)
{
    struct js_parked *p = s->of;
    frame_add(s, bytes);
    if (p->cell != NULL && js_cell_runs(p->cell))
        frames_deliver(p, s->id);
    else
        ready(s);
}

static void send(struct socket *s, enum js_wire_kind kind, uint32_t id, struct cd_str bytes)
{
    struct cd_buf message = {0};
    if (s->wire == NULL)
        return;
    js_wire_add_head(&message, kind, id);
    cd_buf_add_str(&message, bytes);
    cell_wire_send(s->wire, &message);
    cd_buf_deinit(&message);
}

static bool answer_without(struct socket *s, struct cd_str text)
{
    struct js_parked *p = s->of;
    if (p->request.len == 0 || !cd_str_eq(text, cd_buf_str(&p->request)) || s->closed_out)
        return false;
    s->auto_ms = io_wall_ms(p->host->opts.io);
    send(s, JS_WIRE_TEXT, 0, cd_buf_str(&p->response));
    return true;
}

static void on_message(void *arg, struct cell_wire *w, struct cd_buf *bytes)
{
    struct socket *s = arg;
    struct cd_str all = cd_buf_str(bytes);
    unsigned kind = all.len >= JS_WIRE_HEAD_SIZE ? (uint8_t)all.ptr[0] : 0;
    (void)w;
    if (s->closed_in)
        return;
    switch (kind) {
    case JS_WIRE_TEXT:
        if (answer_without(s, cd_str_sub(all, JS_WIRE_HEAD_SIZE, SIZE_MAX)))
            return;
        break;
    case JS_WIRE_BINARY: break;
    case JS_WIRE_CLOSING:
    case JS_WIRE_ENDED: s->closed_in = true; break;
    default: return; /* The rest of the request that the socket was opened by. */
    }
    frame_push(s, bytes);
}

static void on_closed(void *arg, struct cell_wire *w, const struct cell_close *why)
{
    struct socket *s = arg;
    (void)w, (void)why;
    if (s->closed_in)
        return; /* The handler of that frees it. */
    struct cd_buf message = {0};
    s->closed_in = true;
    js_wire_add_head(&message, JS_WIRE_ENDED, LOST);
    frame_push(s, &message);
}

static const struct cell_wire_hooks hooks = {on_message, on_closed, NULL, NULL};

/* ---- Instances come and go ---- */

void js_parked_attach(struct js_cell *c)
{
    c->parked = cell_parked(cell_shard_of(c->cell), cell_scope(c->cell));
    if (c->parked != NULL)
        c->parked->cell = c;
}

void js_parked_wake(struct js_cell *c)
{
    struct js_parked *p = c->parked;
    struct cd_link *k;
    while (p != NULL && c->parked == p && js_cell_runs(c) && (k = cd_list_pop(&p->ready)) != NULL)
        frames_deliver(p, CD_CONTAINER(k, struct socket, ready)->id);
}

bool js_parked_detach(struct js_cell *c)
{
    struct js_parked *p = c->parked;
    if (p == NULL)
        return false;
    c->parked = NULL;
    p->cell = NULL;
    for (struct cd_map_node *n = cd_map_first(&p->sockets); n != NULL;) {
        struct socket *s = cd_map_value(n);
        uint64_t id = s->id;
        s->gated = false;
        if (s->wire == NULL || s->told) /* Its last handler went with the instance. */
            socket_free(s);
        else if ((!cd_list_empty(&s->frames) || s->full) && !cd_link_linked(&s->ready))
            cd_list_push(&p->ready, &s->ready);
        n = cd_map_at_or_after_u64(&p->sockets, id + 1);
    }
    bool waits = !cd_list_empty(&p->ready);
    parked_free_if_idle(p);
    return waits;
}

void js_parked_close(struct js_cells *h, bool shard_gone)
{
    for (struct cd_link *k = cd_list_first(&h->parked), *next; k != NULL; k = next) {
        struct js_parked *p = CD_CONTAINER(k, struct js_parked, link);
        next = cd_list_next(&h->parked, k);
        if (shard_gone)
            p->shard = NULL;
        for (struct cd_map_node *n; (n = cd_map_first(&p->sockets)) != NULL;)
            socket_free(
                cd_map_value(n)); /* The end of a wire without a close frame is a 1012 at the client. */
        parked_free_if_idle(p);
    }
}

/* ---- Host functions ---- */

/* The socket whose number is the second argument; NULL: it has gone. */
static int socket_arg(struct js_args *a, struct js_cell **cell, struct socket **out)
{
    uint64_t id;
    int rc = js_arg_cell(a, 0, cell);
    if (rc == 0)
        rc = js_arg_u64(a, 1, &id);
    if (rc == 0)
        *out = (*cell)->parked != NULL ? cd_map_get_u64(&(*cell)->parked->sockets, id) : NULL;
    return rc;
}

static int tags_read(struct js_args *a, js_value list, struct cd_buf *out)
{
    for (unsigned i = 0; i < js_array_len(list); i++) {
        js_value v;
        struct cd_buf tag = {0};
        int rc = js_get_index(a->js, list, i, &v);
        if (rc == 0)
            rc = js_to_utf8(a->js, v, &tag);
        if (rc == 0) {
            cd_buf_add_u16(out, (uint16_t)tag.len);
            cd_buf_add_str(out, cd_buf_str(&tag));
        }
        cd_buf_deinit(&tag);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static struct cd_str tag_next(struct cd_str *rest)
{
    size_t len = cd_get_u16(rest->ptr);
    struct cd_str tag = cd_str_sub(*rest, 2, len);
    *rest = cd_str_sub(*rest, 2 + len, SIZE_MAX);
    return tag;
}

/* cell_socket_new(cell, [tag, ...]): the number of a new record, whose request is not answered yet. */
int js_op_cell_socket_new(struct js_args *a)
{
    struct js_cell *c;
    struct cd_buf tags = {0};
    struct js_heap heap;
    int rc = js_arg_cell(a, 0, &c);
    if (rc != 0)
        return rc;
    js_heap_stats(a->js, &heap);
    if (heap.used >= heap.limit / 100 * HEAP_PERCENT)
        return js_throw_error(a->js, JS_ERROR,
                              "acceptWebSocket(): the isolate uses more than %d %% of its heap limit "
                              "(CELLD_HEAP_LIMIT_MB).",
                              HEAP_PERCENT);
    rc = tags_read(a, js_arg(a, 1), &tags);
    if (rc != 0) {
        cd_buf_deinit(&tags);
        return rc;
    }
    struct js_parked *p = parked_of(c);
    struct socket *s = cd_new(struct socket);
    s->of = p;
    s->id = ++p->last_id;
    s->tags = tags;
    s->auto_ms = -1;
    cd_list_init(&s->frames);
    cd_map_put_u64(&p->sockets, s->id, s);
    js_return_number(a, (double)s->id);
    return 0;
}

/* cell_socket_park(cell, socket, wire, closed): the request was answered; the wire is the record's. closed: a
 * close frame has gone out. */
int js_op_cell_socket_park(struct js_args *a)
{
    struct js_cell *c;
    struct socket *s;
    int rc = socket_arg(a, &c, &s);
    if (rc != 0)
        return rc;
    struct cell_wire *w = js_wire_take(a, 2);
    if (w == NULL)
        return 0;
    if (s == NULL || s->wire != NULL) {
        cell_wire_close(w, NULL);
        return 0;
    }
    s->wire = w;
    s->closed_out = js_to_bool(a->js, js_arg(a, 3));
    cell_wire_served(w);
    cell_wire_park(w, true);
    cell_wire_attach(w, &hooks, s);
    return 0;
}

/* cell_socket_entered(cell, socket): the frame of it that waited at the input gate comes in. */
int js_op_cell_socket_entered(struct js_args *a)
{
    struct js_cell *c;
    struct socket *s;
    int rc = socket_arg(a, &c, &s);
    if (rc != 0 || s == NULL)
        return rc;
    s->gated = false;
    if (!cd_list_empty(&s->frames) || s->full)
        ready(s);
    return 0;
}

/* cell_socket_info(cell, socket): [tags, attachment or undefined, closed in, closed out]; undefined: it has
 * gone. */
int js_op_cell_socket_info(struct js_args *a)
{
    struct js_cell *c;
    struct socket *s;
    int rc = socket_arg(a, &c, &s);
    if (rc != 0 || s == NULL)
        return rc;
    js_value tags = js_array(a->js, NULL, 0), v, attachment = js_undefined(a->js);
    struct cd_str rest = cd_buf_str(&s->tags);
    for (unsigned i = 0; rest.len > 0 && rc == 0; i++) {
        rc = js_string(a->js, tag_next(&rest), &v);
        if (rc == 0)
            rc = js_set_index(a->js, tags, i, v);
    }
    if (rc == 0 && s->attached)
        rc = js_uint8_array_copy(a->js, cd_buf_str(&s->attachment), &attachment);
    if (rc != 0)
        return rc;
    const js_value list[] = {tags, attachment, js_bool(a->js, s->told), js_bool(a->js, s->closed_out)};
    js_return(a, js_array(a->js, list, CD_COUNT(list)));
    return 0;
}

/* cell_socket_attach(cell, socket, bytes) */
int js_op_cell_socket_attach(struct js_args *a)
{
    struct js_cell *c;
    struct socket *s;
    uint8_t small[64];
    struct cd_str bytes;
    int rc = socket_arg(a, &c, &s);
    if (rc != 0 || s == NULL)
        return rc;
    if (!js_bytes_read(js_arg(a, 2), small, &bytes))
        return js_throw_error(a->js, JS_TYPE_ERROR, "not bytes");
    cd_buf_deinit(&s->attachment);
    cd_buf_add_str(&s->attachment, bytes);
    s->attached = true;
    return 0;
}

/* The client takes nothing: what the cell says must not fill the memory. The cell hears of it in a turn of
 * its own. */
static void give_up(struct socket *s)
{
    struct cd_buf message = {0};
    bool hears = !s->closed_in;
    cell_wire_close(s->wire, NULL);
    s->wire = NULL;
    s->full = false;
    s->closed_in = s->closed_out = true;
    if (!hears)
        return;
    js_wire_add_head(&message, JS_WIRE_ENDED, JS_WIRE_TOO_SLOW);
    cd_buf_add_str(&message, CD_STR(JS_WIRE_TOO_SLOW_TEXT));
    frame_add(s, &message);
    ready(s);
}

/* cell_socket_send(cell, socket, text or bytes) */
int js_op_cell_socket_send(struct js_args *a)
{
    struct js_cell *c;
    struct socket *s;
    int rc = socket_arg(a, &c, &s);
    if (rc == 0 && s != NULL)
        rc = js_effect_begin(a, &c->event);
    if (rc != 0 || s == NULL)
        return rc;
    js_value v = js_arg(a, 2);
    uint8_t small[64];
    struct cd_buf text = {0};
    struct cd_str bytes;
    if (js_kind(v) == JS_STRING) {
        js_string_add(a->js, v, &text);
        send(s, JS_WIRE_TEXT, 0, cd_buf_str(&text));
        cd_buf_deinit(&text);
    } else if (js_bytes_read(v, small, &bytes)) {
        send(s, JS_WIRE_BINARY, 0, bytes);
    } else {
        return js_throw_error(a->js, JS_TYPE_ERROR, "a message is neither text nor bytes");
    }
    if (s->wire != NULL && cell_wire_unsent(s->wire) > JS_WIRE_UNSENT_MAX)
        give_up(s);
    return 0;
}

/* cell_socket_unsent(cell, socket): bytes that were sent and not taken. */
int js_op_cell_socket_unsent(struct js_args *a)
{
    struct js_cell *c;
    struct socket *s;
    int rc = socket_arg(a, &c, &s);
    if (rc == 0)
        js_return_number(a, s != NULL && s->wire != NULL ? (double)cell_wire_unsent(s->wire) : 0);
    return rc;
}

/* cell_socket_close(cell, socket, code, reason) */
int js_op_cell_socket_close(struct js_args *a)
{
    struct js_cell *c;
    struct socket *s;
    uint64_t code;
    struct cd_buf reason = {0};
    int rc = socket_arg(a, &c, &s);
    if (rc == 0)
        rc = js_arg_u64(a, 2, &code);
    if (rc == 0)
        rc = js_to_utf8(a->js, js_arg(a, 3), &reason);
    if (rc == 0 && s != NULL)
        rc = js_effect_begin(a, &c->event);
    if (rc == 0 && s != NULL && !s->closed_out) {
        s->closed_out = true;
        send(s, JS_WIRE_CLOSING, (uint32_t)code, cd_buf_str(&reason));
    }
    cd_buf_deinit(&reason);
    return rc;
}

/* cell_socket_drop(cell, socket, lost): its last handler has ended. lost: the client sees it cut off. */
int js_op_cell_socket_drop(struct js_args *a)
{
    struct js_cell *c;
    struct socket *s;
    int rc = socket_arg(a, &c, &s);
    if (rc != 0 || s == NULL)
        return rc;
    if (js_to_bool(a->js, js_arg(a, 2)))
        send(s, JS_WIRE_ENDED, LOST, (struct cd_str){0});
    socket_free(s);
    return 0;
}

static bool tag_has(const struct socket *s, struct cd_str tag)
{
    for (struct cd_str rest = cd_buf_str(&s->tags); rest.len > 0;) {
        if (cd_str_eq(tag_next(&rest), tag))
            return true;
    }
    return false;
}

/* cell_sockets(cell, tag or undefined): the numbers of its sockets, in the order of accepting. */
int js_op_cell_sockets(struct js_args *a)
{
    struct js_cell *c;
    struct cd_buf tag = {0};
    int rc = js_arg_cell(a, 0, &c);
    bool all = js_is_undefined(js_arg(a, 1));
    if (rc == 0 && !all)
        rc = js_to_utf8(a->js, js_arg(a, 1), &tag);
    js_value list = js_array(a->js, NULL, 0);
    unsigned count = 0;
    struct cd_map_node *n = rc == 0 && c->parked != NULL ? cd_map_first(&c->parked->sockets) : NULL;
    for (; n != NULL && rc == 0; n = cd_map_next(n)) {
        const struct socket *s = cd_map_value(n);
        if (all || tag_has(s, cd_buf_str(&tag)))
            rc = js_set_index(a->js, list, count++, js_number(a->js, (double)s->id));
    }
    cd_buf_deinit(&tag);
    if (rc == 0)
        js_return(a, list);
    return rc;
}

/* cell_auto_response(cell, request, response): sets them; (cell, null): none; (cell): [request, response], or
 * undefined. */
int js_op_cell_auto_response(struct js_args *a)
{
    struct js_cell *c;
    int rc = js_arg_cell(a, 0, &c);
    if (rc != 0)
        return rc;
    struct js_parked *p = c->parked;
    if (a->count < 2) {
        js_value pair[2];
        if (p == NULL || p->request.len == 0)
            return 0;
        rc = js_string(a->js, cd_buf_str(&p->request), &pair[0]);
        if (rc == 0)
            rc = js_string(a->js, cd_buf_str(&p->response), &pair[1]);
        if (rc == 0)
            js_return(a, js_array(a->js, pair, 2));
        return rc;
    }
    p = parked_of(c);
    cd_buf_deinit(&p->request);
    cd_buf_deinit(&p->response);
    if (a->count == 2)
        return 0;
    rc = js_to_utf8(a->js, js_arg(a, 1), &p->request);
    if (rc == 0)
        rc = js_to_utf8(a->js, js_arg(a, 2), &p->response);
    CD_ASSERT(rc != 0 ||
              (p->request.len <= AUTO_MAX && p->response.len <= AUTO_MAX)); /* The prelude looked. */
    return rc;
}

/* cell_auto_time(cell, socket): when it was last answered so, in milliseconds; -1: never. */
int js_op_cell_auto_time(struct js_args *a)
{
    struct js_cell *c;
    struct socket *s;
    int rc = socket_arg(a, &c, &s);
    if (rc == 0)
        js_return_number(a, s != NULL ? (double)s->auto_ms : -1);
    return rc;
}

/* cell_event_timeout(cell, ms): sets how long an event of a socket may take, 0: the usual time; (cell): what
 * was set, or undefined. */
int js_op_cell_event_timeout(struct js_args *a)
{
    struct js_cell *c;
    uint64_t ms;
    int rc = js_arg_cell(a, 0, &c);
    if (rc != 0)
        return rc;
    if (a->count < 2) {
        if (c->parked != NULL && c->parked->timeout_ms > 0)
            js_return_number(a, (double)c->parked->timeout_ms);
        return 0;
    }
    rc = js_arg_u64(a, 1, &ms);
    if (rc == 0)
        parked_of(c)->timeout_ms = ms;
    return rc;
}
