/* http/conn.c: the states of a connection and where its input goes.
 *
 * Input is pumped to whoever waits for it: the parser of the next head, the reader of a body, or nobody; then
 * it is stashed, up to the window, and reading stops. While a handler works a read stays posted all the same:
 * it is how we learn that the client has left. */
#include "http/server_internal.h"

#include "io/backend.h"

static void read_done(struct io_op *op, int status);

static bool move_is_legal(enum conn_state from, enum conn_state to)
{
    static const bool legal[CONN_CLOSED + 1][CONN_CLOSED + 1] = {
        [CONN_IDLE] = {[CONN_HEAD] = true, [CONN_CLOSING] = true},
        [CONN_HEAD] = {[CONN_BUSY] = true, [CONN_CLOSING] = true},
        [CONN_BUSY] =
            {[CONN_IDLE] = true, [CONN_CLOSING] = true, [CONN_CLOSED] = true}, /* CLOSED: upgraded. */
        [CONN_CLOSING] = {[CONN_CLOSED] = true},
    };
    return legal[from][to];
}

static void conn_move(struct conn *c, enum conn_state to)
{
    CD_ASSERT(move_is_legal(c->state, to));
    c->state = to;
}

/* ---- Stash ---- */

static struct cd_str stash_view(const struct conn *c)
{
    return cd_str_sub(cd_buf_str(&c->stash), c->stash_at, SIZE_MAX);
}

static void stash_add(struct conn *c, struct cd_str bytes)
{
    cd_buf_drop(&c->stash, c->stash_at);
    c->stash_at = 0;
    cd_buf_add_str(&c->stash, bytes);
}

/* What the pump has left of the stash. */
static void stash_keep(struct conn *c, struct cd_str rest)
{
    CD_ASSERT(rest.len <= c->stash.len);
    c->stash_at = c->stash.len - rest.len;
    if (rest.len > 0)
        return;
    cd_buf_deinit(&c->stash); /* Idle connections hold nothing. */
    c->stash_at = 0;
}

/* ---- Closing ---- */

static void close_done(struct io_op *op, int status)
{
    (void)status;
    struct conn *c = CD_CONTAINER(op, struct conn, close);
    conn_move(c, CONN_CLOSED);
    http_conn_settle(c);
}

static void conn_close(struct conn *c, bool abort)
{
    conn_move(c, CONN_CLOSING);
    http_deadline_clear(&c->deadline);
    c->deadline_kind = -1;
    if (c->hold == 0) { /* Else the pump is looking at it, and drops it. */
        cd_buf_deinit(&c->stash);
        c->stash_at = 0;
    }
    io_stream_close(&c->stream, abort, &c->close, close_done);
}

void http_conn_fail(struct conn *c, int status)
{
    if (c->state >= CONN_CLOSING)
        return;
    if (c->state == CONN_HEAD)
        c->x->closed = true; /* No handler has it. */
    conn_close(c, true);
    c->hold++;
    if (c->x != NULL) {
        c->x->draining = false; /* Nothing more comes of its body: it ends like any other. */
        http_exchange_broken(c->x, status);
    }
    c->hold--;
}

static void exchange_release(struct conn *c)
{
    struct exchange *x = c->x;
    c->x = NULL;
    http_server_exchange_put(c->server, x);
}

/* Whether a connection without a request should go. One that has just been made still gets its answer while
 * the server accepts. */
static bool idle_ends(const struct conn *c)
{
    const struct http_server *s = c->server;
    return c->eof || s->stopping || (s->draining && !c->fresh);
}

void http_conn_drain(struct conn *c)
{
    if (c->state == CONN_IDLE && c->hold == 0 && idle_ends(c))
        conn_close(c, false);
}

/* ---- Input ---- */

static void conn_dispatch(struct conn *c, struct exchange *x)
{
    const struct http_head *h = &x->parser.head;
    x->pub.head = h;
    x->body = h->body_len == 0 ? BODY_DONE : BODY_OPEN;
    x->keep_alive = h->keep_alive;
    x->continue_wanted = h->expect_continue;
    c->fresh = false;
    conn_move(c, CONN_BUSY);
    c->server->handle(c->server->arg, &x->pub);
}

static void conn_refuse(struct conn *c, int status, const char *why)
{
    conn_move(c, CONN_BUSY);
    c->x->body = BODY_BAD;
    cd_event_to(c->server->io, CD_DEBUG, "http", "request_refused", CD_I("status", status),
                CD_Z("reason", why));
    http_exchange_refuse(c->x, status, why);
}

/* Reads away what is left of a body. */
static bool step_drain(struct conn *c, struct cd_str *in)
{
    struct exchange *x = c->x;
    struct cd_str piece;
    enum http_parsed found = http_parse(&x->parser, in, &piece);
    if (found == HTTP_PARSED_BODY)
        x->drained += piece.len;
    if (found == HTTP_PARSED_END) {
        exchange_release(c);
        conn_move(c, CONN_IDLE);
        return true;
    }
    if (found == HTTP_PARSED_BAD || x->drained > HTTP_DRAIN_MAX || (found == HTTP_PARSED_MORE && c->eof)) {
        exchange_release(c);
        conn_close(c, false);
        return false;
    }
    return found != HTTP_PARSED_MORE;
}

static bool step_head(struct conn *c, struct cd_str *in)
{
    struct exchange *x = c->x;
    struct cd_str piece;
    enum http_parsed found = http_parse(&x->parser, in, &piece);
    if (found == HTTP_PARSED_MORE)
        return false;
    if (found == HTTP_PARSED_HEAD)
        conn_dispatch(c, x);
    else
        conn_refuse(c, x->parser.bad_status, x->parser.bad_why);
    return true;
}

/* One step of what the input makes possible. False: nothing, for now. */
static bool conn_step(struct conn *c, struct cd_str *in)
{
    switch (c->state) {
    case CONN_IDLE:
        if (in->len == 0)
            return false;
        c->x = http_server_exchange_get(c->server, c);
        conn_move(c, CONN_HEAD);
        return true;
    case CONN_HEAD: return step_head(c, in);
    case CONN_BUSY:
        if (c->x->draining)
            return step_drain(c, in);
        return c->x->reader != NULL && http_exchange_serve(c->x, in);
    case CONN_CLOSING: /* A handler that reads on hears how the body ended. */
    case CONN_CLOSED: return c->x != NULL && c->x->reader != NULL && http_exchange_serve(c->x, in);
    }
    CD_UNREACHABLE();
}

void http_conn_pump(struct conn *c, struct cd_str lent)
{
    c->hold++;
    bool stashed = stash_view(c).len > 0;
    if (stashed)
        stash_add(c, lent);
    struct cd_str in = stashed ? stash_view(c) : lent;
    while (conn_step(c, &in))
        continue;
    if (c->state >= CONN_CLOSING)
        in.len = 0;
    if (stashed)
        stash_keep(c, in);
    else if (in.len > 0)
        stash_add(c, in);
    c->hold--;
    http_conn_settle(c);
}

static void kick_done(struct io_op *op, int status)
{
    (void)status;
    http_conn_pump(CD_CONTAINER(op, struct exchange, kick)->conn, (struct cd_str){NULL, 0});
}

void http_conn_kick(struct conn *c)
{
    if (!io_busy(&c->x->kick))
        io_defer(&c->x->kick, c->server->io, IO_OK, kick_done);
}

static void read_done(struct io_op *op, int status)
{
    struct conn *c = CD_CONTAINER(op, struct conn, read.op);
    struct cd_str lent = {NULL, 0};
    if (c->state >= CONN_CLOSING) {
        http_conn_settle(c);
        return;
    }
    if (c->deadline_kind == DEADLINE_BODY)
        http_deadline_set(&c->server->deadlines, &c->deadline, DEADLINE_BODY);
    if (status == IO_OK)
        lent = cd_str_of(c->read.buf, c->read.len);
    else if (status == IO_EOF)
        c->eof = true;
    else if (status != IO_CANCELED || c->x == NULL || c->x->upgrade == NULL)
        http_conn_fail(c, status);
    http_conn_pump(c, lent);
}

/* ---- What follows ---- */

static void deadline_want(struct conn *c, int kind)
{
    if (kind == c->deadline_kind)
        return;
    c->deadline_kind = kind;
    if (kind < 0)
        http_deadline_clear(&c->deadline);
    else
        http_deadline_set(&c->server->deadlines, &c->deadline, (unsigned)kind);
}

static bool read_wanted(const struct conn *c)
{
    if (c->state >= CONN_CLOSING || c->eof || io_busy(&c->read.op))
        return false;
    return c->state != CONN_BUSY || (c->x->upgrade == NULL && stash_view(c).len < c->server->opts.window);
}

/* The stream is the new owner's; only the struct is left of the connection. */
static void conn_detach(struct conn *c)
{
    struct http_upgrade *u = c->x->upgrade;
    c->x->upgrade = NULL;
    exchange_release(c);
    u->stream = c->stream;
    cd_buf_drop(&c->stash, c->stash_at);
    u->rest = cd_buf_move(&c->stash);
    c->stash_at = 0;
    deadline_want(c, -1);
    conn_move(c, CONN_CLOSED);
    http_server_conn_gone(c);
    io_complete(&u->op, IO_OK);
}

/* Both sides are done with the exchange. False: the connection has been pumped, and so settled. */
static bool exchange_ended(struct conn *c)
{
    struct exchange *x = c->x;
    if (c->state >= CONN_CLOSING) {
        exchange_release(c);
    } else if (!x->keep_alive || x->body == BODY_BAD) {
        exchange_release(c);
        conn_close(c, false);
    } else if (x->body == BODY_OPEN) {
        x->draining = true;
        http_conn_pump(c, (struct cd_str){NULL, 0});
        return false;
    } else {
        exchange_release(c);
        conn_move(c, CONN_IDLE);
        if (stash_view(c).len > 0) {
            http_conn_pump(c, (struct cd_str){NULL, 0});
            return false;
        }
    }
    return true;
}

void http_conn_settle(struct conn *c)
{
    if (c->hold > 0)
        return;
    if (c->state == CONN_BUSY && http_exchange_detachable(c->x)) {
        conn_detach(c);
        return;
    }
    if (c->state == CONN_BUSY && c->eof) {
        if (c->x->upgrade != NULL)
            http_conn_fail(c, IO_RESET); /* Nobody wants half a stream. */
        c->hold++;
        http_exchange_tell_gone(c->x, IO_EOF);
        c->hold--;
    }
    if (c->x != NULL && http_exchange_over(c->x) && !c->x->draining && !exchange_ended(c))
        return;
    if ((c->state == CONN_IDLE && idle_ends(c)) || (c->state == CONN_HEAD && c->eof)) {
        if (c->x != NULL)
            exchange_release(c);
        conn_close(c, false);
    }
    if (c->state == CONN_IDLE)
        deadline_want(c, c->fresh ? DEADLINE_HEAD : DEADLINE_IDLE);
    else if (c->state == CONN_HEAD)
        deadline_want(c, DEADLINE_HEAD);
    else if (c->state == CONN_BUSY)
        deadline_want(c, c->x->reader != NULL || c->x->draining ? DEADLINE_BODY : -1);
    if (read_wanted(c))
        io_stream_read(&c->stream, &c->read, read_done);
    if (c->state == CONN_CLOSED && c->x == NULL)
        http_server_conn_gone(c);
}

void http_conn_start(struct conn *c)
{
    http_conn_settle(c);
}

static void conn_timed_out(struct conn *c)
{
    switch (c->state) {
    case CONN_HEAD:
        if (http_parser_begun(&c->x->parser)) {
            conn_refuse(c, 408, "request head took too long");
            return;
        }
        exchange_release(c);
        conn_close(c, false);
        return;
    case CONN_IDLE: conn_close(c, false); return;
    case CONN_BUSY:
        if (!c->x->draining) {
            http_exchange_body_fail(c->x, IO_TIMEDOUT);
            return;
        }
        exchange_release(c);
        conn_close(c, false);
        return;
    case CONN_CLOSING:
    case CONN_CLOSED: break;
    }
    CD_UNREACHABLE(); /* Its deadline was cleared. */
}

void http_conn_expired(struct http_deadlines *d, struct http_deadline *which, unsigned kind)
{
    (void)d;
    if (kind == DEADLINE_WRITE) {
        http_exchange_write_expired(CD_CONTAINER(which, struct exchange, write_deadline));
        return;
    }
    struct conn *c = CD_CONTAINER(which, struct conn, deadline);
    c->deadline_kind = -1;
    conn_timed_out(c);
    http_conn_pump(c, (struct cd_str){NULL, 0}); /* A reader hears of its error there. */
}
