/* io_real/listen.c: listeners. A connection is taken from the kernel only when somebody accepts; the others
 * wait in the backlog. Running out of descriptors is an episode: it is said once, and tried again after 10
 * ms, 20 ms, ... 1 s. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "io_real/net.h"

#define BACKOFF_MIN_NS IO_MS(10)
#define BACKOFF_MAX_NS IO_SEC(1)
#define TRIES_MAX 16 /* Connections that died in the backlog, per round. */

struct listener {
    struct real_watch watch;
    struct real_hot hot;
    struct real_grave grave;
    struct real_loop *loop;
    struct io_op *accepting;
    struct io_stream *into;
    struct real_port *port; /* Shared one that the node keeps; may be NULL. */
    struct cd_link sibling; /* In its list, under the node's lock. */
    struct real_watch cover; /* Of a sibling's socket, by a descriptor of its own; see io_listener_cover. */
    bool readable, cover_readable;
    uint64_t backoff_ns; /* 0: no episode. */
    struct real_alarm retry;
};

static void retry_ring(struct real_loop *l, struct real_alarm *a)
{
    struct listener *n = CD_CONTAINER(a, struct listener, retry);
    if (n->accepting != NULL)
        real_heat(l, &n->hot);
}

static void accept_backoff(struct listener *n, int error)
{
    struct real_loop *l = n->loop;
    if (n->backoff_ns == 0)
        cd_event(&l->io, CD_WARN, "accept_paused", CD_Z("error", strerrordesc_np(error)));
    n->backoff_ns = n->backoff_ns == 0 ? BACKOFF_MIN_NS : n->backoff_ns * 2;
    if (n->backoff_ns > BACKOFF_MAX_NS)
        n->backoff_ns = BACKOFF_MAX_NS;
    real_alarm_set(l, &n->retry, n->backoff_ns, retry_ring);
}

/* Errors of the connection that was to be accepted, not of the listener: accept(2). */
static bool died_in_backlog(int error)
{
    switch (error) {
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH:
    case ETIMEDOUT:
    case EPERM: return true;
    }
    return false;
}

/* Inside a callback. */
static void accept_now(struct listener *n)
{
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        bool own = n->readable;
        if (!own && !n->cover_readable)
            return;
        int fd = accept4(own ? n->watch.fd : n->cover.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && errno == EAGAIN) {
            *(own ? &n->readable : &n->cover_readable) = false;
            continue;
        }
        if (fd < 0 && died_in_backlog(errno))
            continue;
        struct real_stream *s = fd < 0 ? NULL : real_stream_new(n->loop, fd, REAL_TCP);
        if (s == NULL) {
            accept_backoff(n, fd < 0 ? errno : ENOMEM);
            return;
        }
        struct io_op *op = n->accepting;
        n->accepting = NULL;
        n->backoff_ns = 0;
        real_stream_open(s, n->into);
        io_complete(op, IO_OK);
        return;
    }
    real_heat(n->loop, &n->hot);
}

static void accept_if_due(struct real_loop *l, struct listener *n)
{
    if ((!n->readable && !n->cover_readable) || n->accepting == NULL || n->retry.set)
        return;
    real_enter(l);
    accept_now(n);
    real_leave(l);
}

static void listener_ready(struct real_loop *l, struct real_watch *w, uint32_t events)
{
    (void)events;
    struct listener *n = CD_CONTAINER(w, struct listener, watch);
    n->readable = true;
    accept_if_due(l, n);
}

static void cover_ready(struct real_loop *l, struct real_watch *w, uint32_t events)
{
    (void)events;
    struct listener *n = CD_CONTAINER(w, struct listener, cover);
    n->cover_readable = w->fd >= 0; /* An event can be older than the end of covering. */
    accept_if_due(l, n);
}

static void listener_hot(struct real_loop *l, struct real_hot *h)
{
    accept_if_due(l, CD_CONTAINER(h, struct listener, hot));
}

/* ---- Opening ---- */

static bool flag_on(int fd, int level, int name, int on)
{
    return setsockopt(fd, level, name, &on, sizeof on) == 0;
}

static int listen_socket(const struct real_addr *a, bool shared)
{
    int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    bool good = flag_on(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (a->any.sa_family == AF_INET6) /* "::" takes IPv4 as well, whatever the machine's default is. */
        good = good && flag_on(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (shared)
        good = good && flag_on(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    real_stream_nodelay(fd); /* Accepted sockets inherit it. */
    if (good && bind(fd, &a->any, a->len) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    int error = errno;
    (void)close(fd);
    return -error;
}

static struct real_port *port_find(struct io_real *node, const char *host, uint16_t port)
{
    for (struct cd_link *k = cd_list_first(&node->ports); k != NULL; k = cd_list_next(&node->ports, k)) {
        struct real_port *p = CD_CONTAINER(k, struct real_port, link);
        if (strcmp(p->host, host) == 0 && (port == 0 || p->port == port))
            return p;
    }
    return NULL;
}

static uint16_t bound_port(int fd)
{
    struct real_addr a = {.len = sizeof a.room};
    struct io_addr text = {0};
    if (getsockname(fd, &a.any, &a.len) == 0)
        real_addr_text(&a, &text);
    return text.port;
}

/* SO_REUSEPORT would share the address with any process of this user, another node started by mistake
 * included. So the first of this node first sees whether it can have the address alone. */
static int listen_shared(struct io_real *node, struct real_addr *a, const char *host, uint16_t port,
                         struct real_port **out)
{
    struct real_port *p = port_find(node, host, port);
    if (p == NULL) {
        int alone = listen_socket(a, false);
        if (alone < 0)
            return alone;
        if (port == 0)
            real_addr_port(a, bound_port(alone));
        (void)close(alone);
    } else {
        real_addr_port(a, p->port);
    }
    int fd = listen_socket(a, true);
    if (fd < 0)
        return fd;
    if (p == NULL) {
        p = cd_new(struct real_port);
        (void)snprintf(p->host, sizeof p->host, "%s", host);
        p->port = bound_port(fd);
        cd_list_init(&p->listeners);
        cd_list_push(&node->ports, &p->link);
    }
    p->users++;
    *out = p;
    return fd;
}

/* sibling: of the listener, or NULL when there is none. */
static void port_release(struct io_real *node, struct real_port *p, struct cd_link *sibling)
{
    if (p == NULL)
        return;
    (void)pthread_mutex_lock(&node->lock);
    if (sibling != NULL)
        cd_link_remove(sibling);
    if (--p->users == 0) {
        cd_link_remove(&p->link);
        cd_free(p);
    }
    (void)pthread_mutex_unlock(&node->lock);
}

int io_listen(struct io_listener *listener, struct io *io, const struct io_addr *at, unsigned flags)
{
    struct real_loop *l = real_loop(io);
    struct real_addr a;
    struct real_port *port = NULL;
    int rc = real_addr_parse(&a, at);
    if (rc != 0)
        return rc;
    if (l->stopping)
        return IO_CANCELED;
    int fd;
    if ((flags & IO_LISTEN_SHARED) != 0) {
        (void)pthread_mutex_lock(&l->node->lock);
        fd = listen_shared(l->node, &a, at->host, at->port, &port);
        (void)pthread_mutex_unlock(&l->node->lock);
    } else {
        fd = listen_socket(&a, false);
    }
    if (fd < 0)
        return real_status(fd);
    struct listener *n = cd_new(struct listener);
    n->loop = l;
    n->port = port;
    n->hot.run = listener_hot;
    real_watch_init(&n->watch, listener_ready);
    real_watch_init(&n->cover, cover_ready);
    rc = real_watch_start(l, &n->watch, fd, EPOLLIN | EPOLLET);
    if (rc != IO_OK) {
        (void)close(fd);
        port_release(l->node, port, NULL);
        cd_free(n);
        return rc;
    }
    if (port != NULL) {
        (void)pthread_mutex_lock(&l->node->lock);
        cd_list_push(&port->listeners, &n->sibling);
        (void)pthread_mutex_unlock(&l->node->lock);
    }
    l->open++;
    *listener = (struct io_listener){.io = io, .impl = n};
    return IO_OK;
}

void io_listener_addr(const struct io_listener *listener, struct io_addr *out)
{
    const struct listener *n = listener->impl;
    struct real_addr a = {.len = sizeof a.room};
    *out = (struct io_addr){0};
    if (getsockname(n->watch.fd, &a.any, &a.len) == 0)
        real_addr_text(&a, out);
}

/* ---- Accepting and closing ---- */

static void accept_cancel(struct io_op *op)
{
    struct listener *n = op->impl;
    n->accepting = NULL;
    io_complete_later(op, IO_CANCELED);
}

void io_accept(struct io_listener *listener, struct io_stream *into, struct io_op *op, io_done_fn *done)
{
    struct listener *n = listener->impl;
    CD_ASSERT(listener->io != NULL && n->accepting == NULL);
    if (!real_begin(n->loop, op, done, accept_cancel))
        return;
    op->impl = n;
    n->accepting = op;
    n->into = into;
    if (n->readable || n->cover_readable)
        real_heat(n->loop, &n->hot);
}

/* A descriptor of the socket on which that loop listens at the same address, or a negative errno. */
static int sibling_descriptor(struct listener *n, unsigned loop)
{
    int fd = -ENOENT;
    (void)pthread_mutex_lock(&n->loop->node->lock);
    for (struct cd_link *k = cd_list_first(&n->port->listeners); k != NULL;
         k = cd_list_next(&n->port->listeners, k)) {
        const struct listener *other = CD_CONTAINER(k, struct listener, sibling);
        if (io_loop_index(&other->loop->io) == loop) {
            fd = fcntl(other->watch.fd, F_DUPFD_CLOEXEC, 3);
            fd = fd < 0 ? -errno : fd;
            break;
        }
    }
    (void)pthread_mutex_unlock(&n->loop->node->lock);
    return fd;
}

static void cover_end(struct listener *n)
{
    int fd = n->cover.fd;
    if (fd < 0)
        return;
    real_watch_stop(n->loop, &n->cover);
    (void)close(fd);
    n->cover_readable = false;
}

int io_listener_cover(struct io_listener *listener, unsigned loop)
{
    struct listener *n = listener->impl;
    CD_ASSERT(listener->io != NULL && n->port != NULL && loop != io_loop_index(&n->loop->io));
    cover_end(n);
    if (loop == IO_NO_LOOP)
        return IO_OK;
    int fd = sibling_descriptor(n, loop);
    if (fd < 0)
        return real_status(-fd);
    int rc = real_watch_start(n->loop, &n->cover, fd, EPOLLIN | EPOLLET);
    if (rc != IO_OK)
        (void)close(fd);
    return rc;
}

static void grave_free(struct real_grave *g)
{
    cd_free(CD_CONTAINER(g, struct listener, grave));
}

void io_listener_close(struct io_listener *listener, struct io_op *op, io_done_fn *done)
{
    struct listener *n = listener->impl;
    struct real_loop *l = n->loop;
    CD_ASSERT(listener->io != NULL);
    if (n->accepting != NULL)
        accept_cancel(n->accepting);
    io_begin(op, &l->io, done);
    *listener = (struct io_listener){0};
    int fd = n->watch.fd;
    cover_end(n);
    real_watch_stop(l, &n->watch);
    port_release(l->node, n->port, &n->sibling); /* Nobody covers it any more. */
    (void)close(fd);
    real_alarm_clear(l, &n->retry);
    cd_link_remove(&n->hot.link);
    l->open--;
    real_bury(l, &n->grave, grave_free);
    io_complete_later(op, IO_OK);
}
