/* http/client.c: connections of a client and how calls come by them.
 *
 * A connection that is being made belongs to no call: whichever becomes ready first serves whoever has waited
 * longest. */
#include "http/client.h"

#include <stdio.h>

#include "http/client_internal.h"

/* How long the answer may take of a server that has stopped taking the request. */
#define DEAF_NS IO_SEC(2)

static void read_done(struct io_op *op, int status);
static void link_close(struct http_link *k, bool abort);
static void link_expired(struct http_deadlines *d, struct http_deadline *which, unsigned kind);

static void opts_complete(struct http_client_opts *o)
{
#define DEFAULT(member, value) o->member = o->member == 0 ? (value) : o->member
    DEFAULT(limits.head_max, HTTP_HEAD_MAX);
    DEFAULT(limits.target_max, HTTP_TARGET_MAX);
    DEFAULT(limits.fields_max, HTTP_FIELDS_MAX);
    DEFAULT(limits.body_max, UINT64_MAX - 1);
    DEFAULT(connect_timeout_ns, IO_SEC(10));
    DEFAULT(head_timeout_ns, IO_SEC(120));
    DEFAULT(body_timeout_ns, IO_SEC(60));
    DEFAULT(write_timeout_ns, IO_SEC(30));
    DEFAULT(idle_timeout_ns, IO_SEC(30));
    DEFAULT(connections_max, 64);
    DEFAULT(idle_max, 8);
    DEFAULT(waiting_max, 1024);
#undef DEFAULT
}

static void deadlines_stopped(struct http_deadlines *d)
{
    struct http_client *c = CD_CONTAINER(d, struct http_client, deadlines);
    c->deadlines_stopped = true;
    http_client_advance(c);
}

struct http_client *http_client_new(struct io *io, const struct http_client_opts *opts)
{
    struct http_client *c = cd_new(struct http_client);
    c->io = io;
    if (opts != NULL)
        c->opts = *opts;
    opts_complete(&c->opts);
    cd_list_init(&c->links);
    cd_list_init(&c->calls);
    const uint64_t after_ns[LINK_KINDS] = {
        [LINK_CONNECT] = c->opts.connect_timeout_ns,
        [LINK_IDLE] = c->opts.idle_timeout_ns,
        [LINK_BODY] = c->opts.body_timeout_ns,
        [LINK_WRITE] = c->opts.write_timeout_ns,
        [LINK_DEAF] = DEAF_NS,
    };
    http_deadlines_init(&c->deadlines, io, after_ns, LINK_KINDS);
    c->deadlines.expired = link_expired;
    c->deadlines.stopped = deadlines_stopped;
    return c;
}

unsigned http_client_connections(const struct http_client *c)
{
    return c->link_count;
}

struct http_place *http_client_place(struct http_client *c, const struct io_addr *to, bool secure)
{
    struct cd_buf key = {0};
    cd_buf_addf(&key, "%s:%u%s", to->host, to->port, secure ? " TLS" : "");
    struct http_place *p = cd_map_get(&c->places, cd_buf_str(&key));
    if (p == NULL) {
        p = cd_new(struct http_place);
        p->addr = *to;
        p->secure = secure;
        cd_list_init(&p->waiting);
        cd_list_init(&p->idle);
        (void)cd_map_put(&c->places, cd_buf_str(&key), p);
    }
    cd_buf_deinit(&key);
    return p;
}

/* ---- Making and taking connections ---- */

static void deadline_want(struct http_link *k, int kind)
{
    if (kind == k->deadline_kind)
        return;
    k->deadline_kind = kind;
    if (kind < 0)
        http_deadline_clear(&k->deadline);
    else
        http_deadline_set(&k->client->deadlines, &k->deadline, (unsigned)kind);
}

static void link_free(struct http_link *k)
{
    struct http_client *c = k->client;
    struct http_place *p = k->place;
    CD_ASSERT(!io_busy(&k->read.op) && !io_busy(&k->write.op) && !io_busy(&k->kick) && k->call == NULL);
    CD_ASSERT(!io_busy(&k->secure.op));
    CD_ASSERT(!cd_link_linked(&k->deadline.link) && !cd_link_linked(&k->write_deadline.link));
    cd_link_remove(&k->all);
    c->link_count--;
    p->links--;
    http_parser_deinit(&k->parser);
    cd_buf_deinit(&k->out.text);
    cd_buf_deinit(&k->stash);
    cd_free(k);
    http_place_advance(p, c);
    http_client_advance(c);
}

static struct http_call_state *waiting_first(struct http_place *p)
{
    struct cd_link *first = cd_list_first(&p->waiting);
    return first == NULL ? NULL : CD_CONTAINER(first, struct http_call_state, link_in_place);
}

static void link_serve(struct http_link *k, struct http_call_state *s)
{
    cd_link_remove(&s->link_in_place);
    k->place->waiters--;
    k->state = LINK_BUSY;
    k->call = s;
    deadline_want(k, -1);
    http_call_begin(s, k);
}

static void link_idle(struct http_link *k)
{
    struct http_place *p = k->place;
    k->state = LINK_FREE;
    deadline_want(k, LINK_IDLE);
    cd_list_push_front(&p->idle, &k->idle);
    p->idles++;
}

static void connect_cancel(struct http_link *k)
{
    io_cancel(&k->connect);
    io_cancel(&k->secure.op);
}

/* The connection is there and may be used. */
static void link_ready(struct http_link *k)
{
    struct http_place *p = k->place;
    struct http_client *c = k->client;
    p->connecting--;
    deadline_want(k, -1);
    if (c->stopping) {
        k->state = LINK_BUSY;
        http_link_fail(k, IO_CANCELED, "the client is stopping");
    } else {
        link_idle(k);
        http_place_advance(p, c);
    }
    http_link_settle(k);
}

/* There will be none. */
static void link_failed(struct http_link *k, int status, const char *why)
{
    struct http_call_state *s = waiting_first(k->place);
    k->place->connecting--;
    deadline_want(k, -1);
    if (s != NULL)
        http_call_fail(s, k->late ? IO_TIMEDOUT : status, why);
}

static void secure_done(struct io_op *op, int status)
{
    struct http_link *k = CD_CONTAINER(op, struct http_link, secure.op);
    if (status == IO_OK) {
        link_ready(k);
        return;
    }
    struct http_place *p = k->place;
    (void)snprintf(p->why, sizeof p->why, "%s",
                   k->secure.why[0] != 0 ? k->secure.why : "could not agree on TLS");
    link_failed(k, status, p->why);
    k->state = LINK_BUSY; /* The stream is open. */
    link_close(k, true);
}

static void connect_done(struct io_op *op, int status)
{
    struct http_link *k = CD_CONTAINER(op, struct http_link, connect);
    if (status != IO_OK) {
        link_failed(k, status, "could not connect");
        k->state = LINK_CLOSED;
        link_free(k);
    } else if (k->place->secure) {
        io_stream_secure(&k->stream, k->place->addr.host, &k->secure, secure_done);
    } else {
        link_ready(k);
    }
}

static void link_open(struct http_place *p, struct http_client *c)
{
    struct http_link *k = cd_new(struct http_link);
    k->client = c;
    k->place = p;
    k->deadline_kind = -1;
    cd_list_push(&c->links, &k->all);
    c->link_count++;
    p->links++;
    p->connecting++;
    deadline_want(k, LINK_CONNECT);
    io_connect(&k->stream, c->io, &p->addr, &k->connect, connect_done);
}

void http_place_advance(struct http_place *p, struct http_client *c)
{
    while (!c->stopping && !cd_list_empty(&p->waiting)) {
        struct cd_link *idle = cd_list_pop(&p->idle);
        if (idle != NULL) {
            p->idles--;
            link_serve(CD_CONTAINER(idle, struct http_link, idle), waiting_first(p));
        } else if (p->connecting < p->waiters && p->links < c->opts.connections_max) {
            link_open(p, c);
        } else {
            return;
        }
    }
}

/* ---- Closing ---- */

static void close_done(struct io_op *op, int status)
{
    (void)status;
    struct http_link *k = CD_CONTAINER(op, struct http_link, close);
    k->state = LINK_CLOSED;
    http_link_settle(k);
}

static void link_close(struct http_link *k, bool abort)
{
    CD_ASSERT(k->state == LINK_FREE || k->state == LINK_BUSY);
    if (cd_link_linked(&k->idle)) {
        cd_link_remove(&k->idle);
        k->place->idles--;
    }
    k->state = LINK_CLOSING;
    deadline_want(k, -1);
    http_deadline_clear(&k->write_deadline);
    io_stream_close(&k->stream, abort, &k->close, close_done);
}

void http_link_fail(struct http_link *k, int status, const char *why)
{
    if (k->state == LINK_CONNECTING)
        connect_cancel(k);
    if (k->state != LINK_FREE && k->state != LINK_BUSY)
        return;
    link_close(k, true);
    if (k->call != NULL)
        http_call_fail(k->call, status, why);
}

static void link_expired(struct http_deadlines *d, struct http_deadline *which, unsigned kind)
{
    struct http_client *c = CD_CONTAINER(d, struct http_client, deadlines);
    if (kind == LINK_WRITE) {
        struct http_link *k = CD_CONTAINER(which, struct http_link, write_deadline);
        if (io_now_ns(c->io) < k->write_until_ns) {
            http_deadline_set(d, which, LINK_WRITE);
            return;
        }
        http_link_fail(k, IO_TIMEDOUT, "the server does not read the request");
        http_link_settle(k);
        return;
    }
    struct http_link *k = CD_CONTAINER(which, struct http_link, deadline);
    k->deadline_kind = -1;
    if (kind == LINK_CONNECT) {
        k->late = true;
        connect_cancel(k);
    } else if (kind == LINK_IDLE) {
        link_close(k, false);
        http_link_settle(k);
    } else {
        if (kind == LINK_DEAF)
            http_link_fail(k, IO_RESET, "the server does not take the request");
        else
            http_link_fail(k, IO_TIMEDOUT, "the answer stalled");
        http_link_settle(k);
    }
}

/* ---- Input ---- */

static struct cd_str stash_view(const struct http_link *k)
{
    return cd_str_sub(cd_buf_str(&k->stash), k->stash_at, SIZE_MAX);
}

static void stash_add(struct http_link *k, struct cd_str bytes)
{
    cd_buf_drop(&k->stash, k->stash_at);
    k->stash_at = 0;
    cd_buf_add_str(&k->stash, bytes);
}

static void link_pump(struct http_link *k, struct cd_str lent)
{
    k->hold++;
    bool stashed = stash_view(k).len > 0;
    if (stashed)
        stash_add(k, lent);
    struct cd_str in = stashed ? stash_view(k) : lent;
    k->in = &in;
    if (k->state == LINK_FREE && (in.len > 0 || k->eof))
        link_close(k, false); /* Nobody asked for anything: what it says belongs to nothing. */
    while (k->call != NULL && http_call_feed(k->call, &in))
        continue;
    k->in = NULL;
    if (k->state >= LINK_CLOSING)
        in.len = 0;
    if (!stashed && in.len > 0)
        stash_add(k, in);
    else if (stashed)
        k->stash_at = k->stash.len - in.len;
    if (stash_view(k).len == 0) {
        cd_buf_deinit(&k->stash);
        k->stash_at = 0;
    }
    k->hold--;
    http_link_settle(k);
}

static void kick_done(struct io_op *op, int status)
{
    (void)status;
    link_pump(CD_CONTAINER(op, struct http_link, kick), (struct cd_str){NULL, 0});
}

void http_link_kick(struct http_link *k)
{
    if (!io_busy(&k->kick))
        io_defer(&k->kick, k->client->io, IO_OK, kick_done);
}

static void read_done(struct io_op *op, int status)
{
    struct http_link *k = CD_CONTAINER(op, struct http_link, read.op);
    struct cd_str lent = {NULL, 0};
    if (k->deadline_kind == LINK_BODY)
        http_deadline_set(&k->client->deadlines, &k->deadline, LINK_BODY);
    if (status == IO_OK)
        lent = cd_str_of(k->read.buf, k->read.len);
    else if (status == IO_EOF)
        k->eof = true;
    else
        http_link_fail(k, status, "the connection broke");
    link_pump(k, lent);
}

/* ---- What follows ---- */

/* The call is over: keep the connection, or not. */
static void link_vacate(struct http_link *k)
{
    struct http_call_state *s = k->call;
    struct http_client *c = k->client;
    bool keep = k->state == LINK_BUSY && http_call_reusable(s) && !k->eof && stash_view(k).len == 0;
    k->call = NULL;
    s->link = NULL;
    if (k->state == LINK_BUSY && keep && !c->stopping && k->place->idles < c->opts.idle_max) {
        link_idle(k);
        http_place_advance(k->place, c);
    } else if (k->state == LINK_BUSY) {
        link_close(k, !keep);
    }
    http_call_release(s);
}

void http_link_settle(struct http_link *k)
{
    if (k->hold > 0)
        return;
    /* Parts of a write in flight are borrowed from the caller: the call stays until they are not needed. */
    if (k->call != NULL && k->call->call == NULL && !io_busy(&k->write.op) && !io_busy(&k->kick))
        link_vacate(k);
    else if (k->call != NULL && k->call->call == NULL && !http_call_reusable(k->call))
        http_link_fail(k, IO_CANCELED, "closed");
    if (k->state == LINK_BUSY && k->call != NULL)
        deadline_want(k, k->call->reader != NULL                    ? LINK_BODY
                         : k->deaf && k->call->answer == CALL_WAITS ? LINK_DEAF
                                                                    : -1);
    bool wanted =
        k->state == LINK_FREE || (k->state == LINK_BUSY && k->call != NULL && http_call_listens(k->call));
    if (wanted && !k->eof && !io_busy(&k->read.op))
        io_stream_read(&k->stream, &k->read, read_done);
    if (k->state == LINK_CLOSED && k->call == NULL && !io_busy(&k->kick))
        link_free(k);
}

/* ---- The end ---- */

void http_client_advance(struct http_client *c)
{
    if (!c->stopping || c->stopped || c->link_count > 0 || c->call_count > 0)
        return;
    if (!c->deadlines.stopping) {
        http_deadlines_stop(&c->deadlines);
        return;
    }
    if (!c->deadlines_stopped)
        return;
    c->stopped = true;
    io_signal_wake(&c->stop, IO_OK);
}

void http_client_stop(struct http_client *c, struct io_op *op, io_done_fn *done)
{
    CD_ASSERT(!c->stopping);
    c->stopping = true;
    io_signal_init(&c->stop);
    io_signal_wait(&c->stop, c->io, op, done);
    for (struct cd_link *k = cd_list_first(&c->calls); k != NULL; k = cd_list_next(&c->calls, k)) {
        struct http_call_state *s = CD_CONTAINER(k, struct http_call_state, all);
        if (s->link == NULL)
            http_call_fail(s, IO_CANCELED, "the client is stopping");
    }
    for (struct cd_link *k = cd_list_first(&c->links); k != NULL; k = cd_list_next(&c->links, k))
        http_link_fail(CD_CONTAINER(k, struct http_link, all), IO_CANCELED, "the client is stopping");
    http_client_advance(c);
}

void http_client_free(struct http_client *c)
{
    CD_ASSERT(c->stopped);
    for (struct cd_map_node *n = cd_map_first(&c->places); n != NULL; n = cd_map_next(n))
        cd_free(cd_map_value(n));
    cd_map_deinit(&c->places);
    cd_free(c);
}
