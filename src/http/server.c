/* http/server.c: the listener, the set of connections, and how a server ends. */
#include "http/server.h"

#include "base/timetext.h"
#include "http/server_internal.h"
#include "io/backend.h"

#define BACKOFF_FIRST_NS IO_MS(10) /* operations.md 5.1: 10 ms doubling to 1 s. */
#define BACKOFF_MAX_NS IO_SEC(1)

static void accept_next(struct http_server *s);
static void stop_advance(struct http_server *s);

static void opts_complete(struct http_server_opts *o)
{
#define DEFAULT(member, value) o->member = o->member == 0 ? (value) : o->member
    DEFAULT(limits.head_max, HTTP_HEAD_MAX);
    DEFAULT(limits.target_max, HTTP_TARGET_MAX);
    DEFAULT(limits.fields_max, HTTP_FIELDS_MAX);
    DEFAULT(limits.body_max, 1u << 30);
    DEFAULT(head_timeout_ns, IO_SEC(30));
    DEFAULT(idle_timeout_ns, IO_SEC(75));
    DEFAULT(body_timeout_ns, IO_SEC(30));
    DEFAULT(write_timeout_ns, IO_SEC(30));
    DEFAULT(window, 64u << 10);
    DEFAULT(connections_max, 65536);
#undef DEFAULT
}

static void deadlines_stopped(struct http_deadlines *d)
{
    struct http_server *s = CD_CONTAINER(d, struct http_server, deadlines);
    s->deadlines_stopped = true;
    stop_advance(s);
}

int http_server_open(struct http_server **out, struct io *io, const struct io_addr *at, unsigned flags,
                     const struct http_server_opts *opts, http_handler_fn *handle, void *arg)
{
    struct http_server *s = cd_new(struct http_server);
    s->io = io;
    s->handle = handle;
    s->arg = arg;
    s->date_s = INT64_MIN;
    if (opts != NULL)
        s->opts = *opts;
    opts_complete(&s->opts);
    cd_list_init(&s->conns);
    cd_list_init(&s->spare);
    const uint64_t after_ns[DEADLINE_COUNT] = {
        [DEADLINE_HEAD] = s->opts.head_timeout_ns,
        [DEADLINE_IDLE] = s->opts.idle_timeout_ns,
        [DEADLINE_BODY] = s->opts.body_timeout_ns,
        [DEADLINE_WRITE] = s->opts.write_timeout_ns,
    };
    http_deadlines_init(&s->deadlines, io, after_ns, DEADLINE_COUNT);
    s->deadlines.expired = http_conn_expired;
    s->deadlines.stopped = deadlines_stopped;
    int rc = io_listen(&s->listener, io, at, flags);
    if (rc != 0) {
        cd_free(s);
        return rc;
    }
    accept_next(s);
    *out = s;
    return 0;
}

void http_server_addr(const struct http_server *s, struct io_addr *out)
{
    io_listener_addr(&s->listener, out);
}

void http_server_cover(struct http_server *s, unsigned loop)
{
    if (s->listener.io == NULL || s->draining)
        return;
    int rc = io_listener_cover(&s->listener, loop);
    CD_MAYBE(rc != IO_OK); /* That loop has just stopped listening, or descriptors ran out. */
}

unsigned http_server_connections(const struct http_server *s)
{
    return s->count;
}

struct cd_str http_server_date(struct http_server *s)
{
    int64_t wall_ms = io_wall_ms(s->io);
    if (wall_ms / 1000 != s->date_s) {
        s->date_s = wall_ms / 1000;
        cd_buf_clear(&s->date);
        cd_time_http(&s->date, wall_ms);
    }
    return cd_buf_str(&s->date);
}

/* ---- Accepting ---- */

static void backoff_done(struct io_op *op, int status)
{
    struct http_server *s = CD_CONTAINER(op, struct http_server, backoff.op);
    if (s->stopping)
        stop_advance(s);
    else if (status == IO_OK)
        accept_next(s);
}

static void accept_failed(struct http_server *s, int status)
{
    bool first = s->backoff_ns == 0;
    s->backoff_ns = first ? BACKOFF_FIRST_NS : s->backoff_ns * 2;
    if (s->backoff_ns > BACKOFF_MAX_NS)
        s->backoff_ns = BACKOFF_MAX_NS;
    if (first)
        cd_event_to(s->io, CD_WARN, "http", "accept_failed", CD_Z("reason", cd_err_text(status)));
    io_timer_start(&s->backoff, s->io, s->backoff_ns, backoff_done);
}

static void accept_done(struct io_op *op, int status)
{
    struct http_server *s = CD_CONTAINER(op, struct http_server, accept);
    struct conn *c = s->accepting;
    s->accepting = NULL;
    if (status != IO_OK) {
        cd_free(c);
        if (s->stopping)
            stop_advance(s);
        else if (status != IO_CANCELED)
            accept_failed(s, status);
        return;
    }
    if (s->backoff_ns != 0)
        cd_event_to(s->io, CD_WARN, "http", "accept_recovered");
    s->backoff_ns = 0;
    c->server = s;
    c->deadline_kind = -1;
    c->fresh = true;
    cd_list_push(&s->conns, &c->link);
    s->count++;
    accept_next(s);
    http_conn_start(c);
}

static void accept_next(struct http_server *s)
{
    if (s->stopping || s->accepting != NULL || io_busy(&s->backoff.op) || s->count >= s->opts.connections_max)
        return;
    s->accepting = cd_new(struct conn);
    io_accept(&s->listener, &s->accepting->stream, &s->accept, accept_done);
}

/* ---- Exchanges and connections ---- */

struct exchange *http_server_exchange_get(struct http_server *s, struct conn *c)
{
    struct cd_link *k = cd_list_pop(&s->spare);
    struct exchange *x;
    if (k != NULL) {
        x = CD_CONTAINER(k, struct exchange, link);
        s->spares--;
    } else {
        x = cd_new(struct exchange);
    }
    x->pub.io = s->io;
    x->conn = c;
    http_parser_start(&x->parser, HTTP_PARSE_REQUEST, &s->opts.limits);
    return x;
}

static void exchange_free(struct exchange *x)
{
    http_parser_deinit(&x->parser);
    cd_buf_deinit(&x->lent);
    cd_buf_deinit(&x->out.text);
    cd_free(x);
}

void http_server_exchange_put(struct http_server *s, struct exchange *x)
{
    CD_ASSERT(!io_busy(&x->write.op) && !io_busy(&x->interim.op) && !io_busy(&x->kick));
    CD_ASSERT(x->reader == NULL && x->writer == NULL && !cd_link_linked(&x->write_deadline.link));
    if (s->spares >= SERVER_SPARE_MAX || s->stopping) {
        exchange_free(x);
        return;
    }
    struct http_parser parser = x->parser;
    struct cd_buf text = x->out.text;
    if (parser.text.cap > SERVER_KEEP_BYTES || parser.fields_cap > SERVER_KEEP_FIELDS)
        http_parser_deinit(&parser);
    if (text.cap > SERVER_KEEP_BYTES)
        cd_buf_deinit(&text);
    cd_buf_clear(&text);
    cd_buf_deinit(&x->lent);
    *x = (struct exchange){.parser = parser, .out = {.text = text}};
    cd_list_push_front(&s->spare, &x->link);
    s->spares++;
}

void http_server_conn_gone(struct conn *c)
{
    CD_ASSERT(c->state == CONN_CLOSED && c->x == NULL && c->hold == 0 && !cd_link_linked(&c->deadline.link));
    CD_ASSERT(!io_busy(&c->read.op) && !io_busy(&c->close));
    struct http_server *s = c->server;
    cd_link_remove(&c->link);
    s->count--;
    cd_buf_deinit(&c->stash);
    cd_free(c);
    accept_next(s);
    stop_advance(s);
}

/* ---- The end ---- */

static void force(struct http_server *s)
{
    s->forced = true;
    struct cd_link *k = cd_list_first(&s->conns);
    while (k != NULL) {
        /* The next one is found first: this one may be freed. Others stay, their closing needs a turn of the
         * loop. */
        struct cd_link *next = cd_list_next(&s->conns, k);
        struct conn *c = CD_CONTAINER(k, struct conn, link);
        http_conn_fail(c, IO_CANCELED);
        http_conn_settle(c);
        k = next;
    }
}

void http_server_drain(struct http_server *s)
{
    s->draining = true;
    struct cd_link *k = cd_list_first(&s->conns);
    while (k != NULL) {
        struct cd_link *next = cd_list_next(&s->conns, k);
        http_conn_drain(CD_CONTAINER(k, struct conn, link));
        k = next;
    }
}

static void grace_done(struct io_op *op, int status)
{
    struct http_server *s = CD_CONTAINER(op, struct http_server, grace.op);
    if (s->count > 0) {
        if (status == IO_OK)
            cd_event_to(s->io, CD_WARN, "http", "connection_drain_forced", CD_U("connections", s->count));
        force(s);
    }
    stop_advance(s);
}

static void listener_closed(struct io_op *op, int status)
{
    (void)status;
    stop_advance(CD_CONTAINER(op, struct http_server, listener_close));
}

/* Each thing that the stop waits for calls this when it ends; the last call completes the stop. */
static void stop_advance(struct http_server *s)
{
    if (!s->stopping || s->stopped || s->count > 0 || s->accepting != NULL || s->listener.io != NULL ||
        io_busy(&s->listener_close) || io_busy(&s->backoff.op))
        return;
    if (io_busy(&s->grace.op)) {
        io_cancel(&s->grace.op);
        return;
    }
    if (!s->deadlines.stopping) {
        http_deadlines_stop(&s->deadlines);
        return;
    }
    if (!s->deadlines_stopped)
        return;
    s->stopped = true;
    io_complete_later(s->stop, s->forced ? IO_TIMEDOUT : IO_OK);
}

void http_server_stop(struct http_server *s, uint64_t grace_ns, struct io_op *op, io_done_fn *done)
{
    CD_ASSERT(!s->stopping);
    s->stopping = true;
    io_begin(op, s->io, done); /* It cannot be cancelled: the server is there until it is done. */
    s->stop = op;
    io_timer_start(&s->grace, s->io, grace_ns, grace_done);
    io_cancel(&s->backoff.op);
    io_listener_close(&s->listener, &s->listener_close, listener_closed);
    http_server_drain(s);
}

void http_server_free(struct http_server *s)
{
    CD_ASSERT(s->stopped && cd_list_empty(&s->conns));
    struct cd_link *k;
    while ((k = cd_list_pop(&s->spare)) != NULL)
        exchange_free(CD_CONTAINER(k, struct exchange, link));
    cd_buf_deinit(&s->date);
    cd_free(s);
}
