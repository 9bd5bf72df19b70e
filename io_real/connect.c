/* io_real/connect.c: outgoing connections. A literal address is tried at once; a name is resolved in libuv's
 * thread pool, and its addresses are tried one after the other, each but the last for a bounded time. */
#include <errno.h>
#include <netdb.h>
#include <unistd.h>

#include "io_real/net.h"

#define NEXT_NS                                                                                              \
    IO_SEC(3) /* For an address that does not answer, when there is another: SYN, and again after 1 s. */

struct connecting {
    struct real_loop *loop;
    struct io_op *op; /* NULL: canceled while the resolver still runs. */
    struct io_stream *into;
    struct real_addr literal;
    struct addrinfo *found; /* owned */
    const struct addrinfo *next;
    uint16_t port;
    struct real_stream *stream; /* Of the attempt in progress. */
    struct real_alarm late;
    uv_getaddrinfo_t resolve;
    bool resolving;
};

static void connecting_free(struct connecting *c)
{
    real_alarm_clear(c->loop, &c->late);
    if (c->found != NULL)
        uv_freeaddrinfo(c->found);
    if (c->stream != NULL)
        real_stream_free(c->stream);
    cd_free(c);
}

static void connect_end(struct connecting *c, int status)
{
    struct io_op *op = c->op;
    if (status == IO_OK) {
        real_stream_open(c->stream, c->into);
        c->stream = NULL;
    }
    connecting_free(c);
    io_complete_later(op, status);
}

static void attempt_next(struct connecting *c, int last);

static void attempt_end(struct connecting *c, int error)
{
    real_alarm_clear(c->loop, &c->late);
    if (error == 0) {
        connect_end(c, IO_OK);
        return;
    }
    real_stream_free(c->stream);
    c->stream = NULL;
    attempt_next(c, real_status(error));
}

/* Where nobody listens on a port of the ephemeral range, the kernel may give us that very port as our own,
 * and TCP then connects the socket to itself. */
static bool connected_to_self(int fd)
{
    struct real_addr self = {.len = sizeof self.room}, peer = {.len = sizeof peer.room};
    return getsockname(fd, &self.any, &self.len) == 0 && getpeername(fd, &peer.any, &peer.len) == 0 &&
           self.len == peer.len && memcmp(&self.room, &peer.room, self.len) == 0;
}

static void attempt_ready(struct real_loop *l, struct real_watch *w, uint32_t events)
{
    struct real_stream *s = CD_CONTAINER(w, struct real_stream, watch);
    struct connecting *c = s->attempt;
    int error = 0;
    socklen_t len = sizeof error;
    if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) == 0)
        return;
    if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        error = errno;
    if (error == 0 && connected_to_self(w->fd))
        error = ECONNREFUSED;
    real_stream_edge(s, events); /* What the peer sent at once has no other edge. */
    real_enter(l);
    attempt_end(c, error);
    real_leave(l);
}

static void attempt_late(struct real_loop *l, struct real_alarm *a)
{
    (void)l;
    attempt_end(CD_CONTAINER(a, struct connecting, late), ETIMEDOUT);
}

/* 0 when the attempt is under way, else why not. */
static int attempt_start(struct connecting *c, const struct sockaddr *to, socklen_t len)
{
    int fd = socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    real_stream_nodelay(fd);
    if (connect(fd, to, len) != 0 && errno != EINPROGRESS) {
        int error = errno;
        (void)close(fd);
        return error;
    }
    c->stream = real_stream_new(c->loop, fd, REAL_TCP);
    if (c->stream == NULL)
        return ENOMEM;
    c->stream->watch.ready = attempt_ready;
    c->stream->attempt = c;
    return 0;
}

/* Goes to the next address that takes an attempt; last is why the one before failed. */
static void attempt_next(struct connecting *c, int last)
{
    while (c->next != NULL) {
        const struct addrinfo *ai = c->next;
        struct real_addr a = {.len = (socklen_t)ai->ai_addrlen};
        c->next = ai->ai_next;
        if ((ai->ai_family != AF_INET && ai->ai_family != AF_INET6) || ai->ai_addrlen > sizeof a.room)
            continue;
        memcpy(&a.room, ai->ai_addr, ai->ai_addrlen);
        real_addr_port(&a, c->port);
        int error = attempt_start(c, &a.any, a.len);
        if (error == 0) {
            if (c->next != NULL)
                real_alarm_set(c->loop, &c->late, NEXT_NS, attempt_late);
            return;
        }
        last = real_status(error);
    }
    connect_end(c, last);
}

static void resolved_cb(uv_getaddrinfo_t *req, int status, struct addrinfo *found)
{
    struct connecting *c = CD_CONTAINER(req, struct connecting, resolve);
    struct real_loop *l = c->loop;
    c->resolving = false;
    c->found = found;
    c->next = found;
    real_enter(l);
    if (c->op == NULL)
        connecting_free(c);
    else if (status != 0)
        connect_end(c, real_uv_status(status));
    else
        attempt_next(c, IO_NOENT);
    real_leave(l);
}

static void connect_cancel(struct io_op *op)
{
    struct connecting *c = op->impl;
    io_complete_later(op, IO_CANCELED);
    if (!c->resolving) {
        connecting_free(c);
        return;
    }
    c->op = NULL;
    (void)uv_cancel((uv_req_t *)&c->resolve); /* Or it runs to its end; the callback frees c. */
}

void io_connect(struct io_stream *s, struct io *io, const struct io_addr *to, struct io_op *op,
                io_done_fn *done)
{
    struct real_loop *l = real_loop(io);
    if (!real_begin(l, op, done, connect_cancel))
        return;
    struct connecting *c = cd_new(struct connecting);
    c->loop = l;
    c->op = op;
    c->into = s;
    c->port = to->port;
    op->impl = c;
    int error = 0;
    if (memchr(to->host, '\0', sizeof to->host) == NULL || to->host[0] == '\0') {
        connect_end(c, CD_EINVAL);
        return;
    }
    if (real_addr_parse(&c->literal, to) == 0) {
        error = attempt_start(c, &c->literal.any, c->literal.len);
    } else {
        const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
        error = uv_getaddrinfo(&l->uv, &c->resolve, resolved_cb, to->host, NULL, &hints);
        c->resolving = error == 0;
        if (error < 0)
            error = error == UV_ENAMETOOLONG ? ENOENT : -error;
    }
    if (error != 0)
        connect_end(c, real_status(error));
}
