/* sim/cells_service.c: a fiber per request: reads the body, calls the cell, waits for its answer. */
#include "sim/cells_service.h"

#include "cell/wire.h"
#include "http/server.h"
#include "sim/cells_life.h"

#define MESSAGE_MAX (64u << 10)

struct cells_service {
    struct io *io;
    struct cell_router *router;
    void (*answer)(void *arg, struct cd_str scope, struct cd_str text);
    void *arg;
    struct http_server *server;
    struct io_op stop;
};

struct request {
    struct cells_service *service;
    struct http_exchange *x; /* NULL: answered. */
    struct cell_wire *wire;
    struct io_signal changed;
    struct cd_buf scope, message, why;
    bool answered, closed, refused, gone;
};

/* ---- The call ---- */

static void on_message(void *arg, struct cell_wire *w, struct cd_buf *bytes)
{
    struct request *q = arg;
    struct cells_service *s = q->service;
    struct http_exchange *x = q->x;
    (void)w;
    if (q->answered || q->gone)
        return;
    q->answered = true;
    /* At once: the wire has just asked whether this process may still answer, and a fiber that is woken to do
     * it could find that a pause lies in between. */
    q->x = NULL;
    s->answer(s->arg, cd_buf_str(&q->scope), cd_buf_str(bytes));
    http_answer_text(x, 200, "text/plain", cd_buf_str(bytes));
    io_signal_wake(&q->changed, IO_OK);
}

static void on_closed(void *arg, struct cell_wire *w, const struct cell_close *why)
{
    struct request *q = arg;
    (void)w;
    q->closed = true;
    q->refused = why->overloaded || (why->retryable && !why->reset);
    cd_buf_add_str(&q->why, why->text);
    io_signal_wake(&q->changed, IO_OK);
}

static const struct cell_wire_hooks call_hooks = {on_message, on_closed, NULL, NULL};

static void on_gone(struct http_exchange *x, int status)
{
    struct request *q = x->user;
    q->gone = status != IO_EOF; /* Who only finished sending can still read. */
    if (q->gone)
        io_signal_wake(&q->changed, IO_OK);
}

/* IO_EOF: the message is whole. */
static int take_body(struct request *q)
{
    for (;;) {
        struct io_read r = {0};
        http_body_read(q->x, &r, NULL);
        /* For ever: the server's own timeouts end it. */
        int rc = io_await(&r.op, IO_FOREVER);
        if (rc != 0)
            return rc;
        if (q->message.len + r.len > MESSAGE_MAX)
            return IO_TOOBIG;
        cd_buf_add(&q->message, r.buf, r.len);
    }
}

/* False: nobody is there any more to be told. */
static bool call(struct request *q)
{
    struct cells_service *s = q->service;
    int rc = IO_OK;
    q->wire = cell_call(s->router, s->io, &(struct cell_target){.scope = cd_buf_str(&q->scope)}, NULL);
    cell_wire_attach(q->wire, &call_hooks, q);
    cell_wire_send(q->wire, &q->message);
    while (rc == IO_OK && !q->answered && !q->closed && !q->gone) {
        struct io_op op = {0};
        io_signal_wait(&q->changed, s->io, &op, NULL);
        rc = io_await(&op, IO_FOREVER); /* The cell's own deadlines end it. */
    }
    cell_wire_close(q->wire, NULL);
    return rc == IO_OK && !q->gone;
}

static void request_flow(void *arg)
{
    struct request *q = arg;
    bool told = take_body(q) == IO_EOF && call(q);
    if (q->x != NULL && told)
        http_answer_text(q->x, q->refused ? 503 : 502, "text/plain", cd_buf_str(&q->why));
    else if (q->x != NULL)
        http_exchange_close(q->x);
    cd_buf_deinit(&q->scope);
    cd_buf_deinit(&q->message);
    cd_buf_deinit(&q->why);
    cd_free(q);
}

/* "/Ledger/3" is the cell "Ledger:3". */
static bool scope_of(struct cd_str path, struct cd_buf *out)
{
    size_t slash = path.len > 1 ? cd_str_find(path, '/', 1) : SIZE_MAX;
    if (slash == SIZE_MAX)
        return false;
    cd_buf_add_str(out, cd_str_sub(path, 1, slash - 1));
    cd_buf_add_byte(out, ':');
    cd_buf_add_str(out, cd_str_sub(path, slash + 1, SIZE_MAX));
    return true;
}

static void handle(void *arg, struct http_exchange *x)
{
    struct cells_service *s = arg;
    struct request *q = cd_new(struct request);
    q->service = s;
    q->x = x;
    io_signal_init(&q->changed);
    if (!scope_of(x->head->target, &q->scope)) {
        cd_free(q);
        http_answer_text(x, 404, "text/plain", CD_STR("want /Class/instance\n"));
        return;
    }
    x->user = q;
    x->gone = on_gone;
    (void)io_spawn(s->io, "request", request_flow, q);
}

struct cells_service *cells_service_new(struct io *io, struct cell_router *router,
                                        void (*answer)(void *arg, struct cd_str scope, struct cd_str text),
                                        void *arg)
{
    struct cells_service *s = cd_new(struct cells_service);
    struct io_addr at = {.port = CELLS_PORT};
    s->io = io;
    s->router = router;
    s->answer = answer;
    s->arg = arg;
    if (http_server_open(&s->server, io, &at, IO_LISTEN_SHARED, NULL, handle, s) == 0)
        return s;
    cd_free(s);
    return NULL;
}

static void stopped(struct io_op *op, int status)
{
    struct cells_service *s = CD_CONTAINER(op, struct cells_service, stop);
    (void)status; /* Cut or not: nothing is open any more. */
    http_server_free(s->server);
    cd_free(s);
}

void cells_service_end(struct cells_service *s)
{
    http_server_stop(s->server, 0, &s->stop, stopped);
}
