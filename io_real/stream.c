/* io_real/stream.c: connected streams: TCP and the pipes of children.
 *
 * A stream is watched edge-triggered both ways from its first to its last moment. `readable` and `writable`
 * remember the last edge until the kernel says EAGAIN, so the common request costs one read and one write and
 * nothing else. A write is tried at once; what does not fit waits in `writes` for the next edge. A cancelled
 * write is taken out of the list: nothing of ours is ever held by the kernel. */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include "io_real/net.h"
#include "io_real/tls.h"

static void stream_ready(struct real_loop *l, struct real_watch *w, uint32_t events);
static void stream_hot(struct real_loop *l, struct real_hot *h);

struct real_stream *real_stream_new(struct real_loop *l, int fd, enum real_stream_kind kind)
{
    struct real_stream *s = cd_new(struct real_stream);
    s->loop = l;
    s->kind = kind;
    s->writable = true; /* A guess that is nearly always right; EAGAIN corrects it. */
    s->hot.run = stream_hot;
    cd_list_init(&s->writes);
    real_watch_init(&s->watch, stream_ready);
    uint32_t events =
        EPOLLET | (kind == REAL_PIPE_OUT ? 0 : EPOLLIN | EPOLLRDHUP) | (kind == REAL_PIPE_IN ? 0 : EPOLLOUT);
    if (real_watch_start(l, &s->watch, fd, events) != IO_OK) {
        (void)close(fd);
        cd_free(s);
        return NULL;
    }
    return s;
}

void real_stream_open(struct real_stream *s, struct io_stream *owner)
{
    s->watch.ready = stream_ready;
    s->owner = owner;
    owner->io = &s->loop->io;
    owner->impl = s;
    s->loop->open++;
}

static void grave_free(struct real_grave *g)
{
    cd_free(CD_CONTAINER(g, struct real_stream, grave));
}

static void stream_close_fd(struct real_stream *s)
{
    int fd = s->watch.fd;
    if (fd < 0)
        return;
    real_watch_stop(s->loop, &s->watch);
    (void)close(fd); /* Nothing that was written depends on what it returns. */
}

void real_stream_free(struct real_stream *s)
{
    stream_close_fd(s);
    cd_link_remove(&s->link);
    cd_link_remove(&s->hot.link);
    cd_free(s->loan);
    s->loan = NULL;
    real_tls_free(s->tls);
    s->tls = NULL;
    real_bury(s->loop, &s->grave, grave_free);
}

void real_stream_nodelay(int fd)
{
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* Slower without, not wrong. */
}

void real_stream_edge(struct real_stream *s, uint32_t events)
{
    if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0)
        s->readable = true;
    if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0)
        s->hung = true;
    if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0)
        s->writable = true;
}

static struct real_stream *stream_of(const struct io_stream *s)
{
    CD_ASSERT(s->io != NULL && s->impl != NULL);
    return s->impl;
}

/* ---- Writing ---- */

/* Ends the write side: all that waits ends with status, so does what comes later. */
static void writes_end(struct real_stream *s, int status, int later)
{
    struct cd_link *k;
    s->write_status = later;
    while ((k = cd_list_first(&s->writes)) != NULL)
        io_complete_later(CD_CONTAINER(k, struct io_op, link), status);
    s->write_count = 0;
    if (s->finishing != NULL)
        io_complete_later(s->finishing, status);
    s->finishing = NULL;
}

/* Sends what TLS has to say. IO_BUSY: the rest has to wait for room. */
static int tls_flush(struct real_stream *s)
{
    struct cd_buf *out = real_tls_out(s->tls);
    size_t sent = 0;
    int rc = IO_OK;
    while (rc == IO_OK && sent < out->len) {
        ssize_t n = write(s->watch.fd, out->ptr + sent, out->len - sent);
        if (n >= 0) {
            sent += (size_t)n;
        } else if (errno == EAGAIN) {
            s->writable = false;
            rc = IO_BUSY;
        } else if (errno != EINTR) {
            rc = real_status(errno);
        }
    }
    cd_buf_drop(out, sent);
    return rc;
}

/* IO_BUSY: not before what waits is sent. */
static int shut_down(struct real_stream *s)
{
    if (s->tls != NULL) {
        real_tls_end(s->tls);
        int rc = tls_flush(s);
        if (rc != IO_OK)
            return rc;
    }
    s->finished = true;
    if (s->kind == REAL_TCP)
        return shutdown(s->watch.fd, SHUT_WR) == 0 ? IO_OK : real_status(errno);
    stream_close_fd(s);
    return IO_OK;
}

static unsigned write_vectors(const struct io_write *w, struct iovec *v)
{
    size_t skip = w->sent;
    unsigned count = 0;
    for (unsigned i = 0; i < w->parts; i++) {
        struct cd_str p = w->part[i];
        if (p.len <= skip) {
            skip -= p.len;
            continue;
        }
        v[count++] = (struct iovec){(char *)(uintptr_t)p.ptr + skip, p.len - skip};
        skip = 0;
    }
    return count;
}

/* The parts become records at once; w ends when they are sent. */
static int tls_write_try(struct real_stream *s, struct io_write *w)
{
    size_t size = 0;
    for (unsigned i = 0; i < w->parts; i++)
        size += w->part[i].len;
    for (unsigned i = 0; w->sent < size && i < w->parts; i++) {
        int rc = real_tls_write(s->tls, w->part[i]);
        if (rc != IO_OK)
            return rc;
    }
    w->sent = size;
    return tls_flush(s);
}

/* IO_OK: all of w is sent. IO_BUSY: the rest has to wait for room. */
static int write_try(struct real_stream *s, struct io_write *w)
{
    struct iovec v[IO_PARTS_MAX];
    if (s->tls != NULL)
        return tls_write_try(s, w);
    for (;;) {
        unsigned count = write_vectors(w, v);
        if (count == 0)
            return IO_OK;
        int fd = s->watch.fd;
        ssize_t n = count == 1 ? write(fd, v[0].iov_base, v[0].iov_len) : writev(fd, v, (int)count);
        if (n >= 0) {
            w->sent += (size_t)n;
        } else if (errno == EAGAIN) {
            s->writable = false;
            return IO_BUSY;
        } else if (errno != EINTR) {
            return real_status(errno);
        }
    }
}

static void writes_pump(struct real_stream *s)
{
    struct cd_link *k;
    if (s->tls != NULL && s->writable && cd_list_empty(&s->writes))
        (void)tls_flush(s); /* What fails here fails the next write. */
    while (s->writable && (k = cd_list_first(&s->writes)) != NULL) {
        struct io_write *w = CD_CONTAINER(k, struct io_write, op.link);
        int rc = write_try(s, w);
        if (rc == IO_BUSY)
            return;
        if (rc != IO_OK) {
            writes_end(s, rc, rc);
            return;
        }
        s->write_count--;
        io_complete_later(&w->op, IO_OK);
    }
    if (s->finishing != NULL && s->writable && cd_list_empty(&s->writes)) {
        struct io_op *op = s->finishing;
        int rc = shut_down(s);
        if (rc == IO_BUSY)
            return;
        s->finishing = NULL;
        io_complete_later(op, rc);
    }
}

/* What went before may have ended in the middle of a write, so nothing can follow. */
static void write_cancel(struct io_op *op)
{
    struct real_stream *s = op->impl;
    s->write_count--;
    io_complete_later(op, IO_CANCELED);
    writes_end(s, IO_RESET, IO_RESET);
}

void io_stream_write(struct io_stream *stream, struct io_write *w, io_done_fn *done)
{
    struct real_stream *s = stream_of(stream);
    struct real_loop *l = s->loop;
    CD_ASSERT(w->parts >= 1 && w->parts <= IO_PARTS_MAX);
    io_begin(&w->op, &l->io, done);
    w->sent = 0;
    int rc = l->stopping ? IO_CANCELED : s->write_status;
    if (rc == IO_OK && (s->finished || s->finishing != NULL))
        rc = IO_RESET;
    if (rc == IO_OK && s->kind == REAL_PIPE_IN)
        rc = IO_FAULT;
    if (rc != IO_OK) {
        io_complete_later(&w->op, rc);
        return;
    }
    if (s->writable && cd_list_empty(&s->writes)) {
        rc = write_try(s, w);
        if (rc != IO_BUSY) {
            if (rc != IO_OK)
                s->write_status = rc;
            io_complete_later(&w->op, rc);
            return;
        }
    }
    CD_ASSERT(s->write_count < IO_WRITES_MAX);
    s->write_count++;
    w->op.impl = s;
    w->op.cancel = write_cancel;
    cd_list_push(&s->writes, &w->op.link);
}

static void finish_cancel(struct io_op *op)
{
    struct real_stream *s = op->impl;
    s->finishing = NULL;
    io_complete_later(op, IO_CANCELED);
}

void io_stream_finish(struct io_stream *stream, struct io_op *op, io_done_fn *done)
{
    struct real_stream *s = stream_of(stream);
    io_begin(op, &s->loop->io, done);
    CD_ASSERT(s->finishing == NULL);
    int rc = s->loop->stopping ? IO_CANCELED : s->write_status;
    if (rc == IO_OK && s->kind == REAL_PIPE_IN)
        rc = IO_FAULT;
    bool waits = rc == IO_OK && !cd_list_empty(&s->writes);
    if (rc == IO_OK && !waits && !s->finished) {
        rc = shut_down(s);
        waits = rc == IO_BUSY;
    }
    if (waits) {
        op->impl = s;
        op->cancel = finish_cancel;
        s->finishing = op;
        return;
    }
    io_complete_later(op, rc);
}

/* ---- Reading ---- */

/* What has come, to TLS. IO_BUSY: nothing. */
static int tls_fill(struct real_stream *s)
{
    char chunk[16384]; /* A record. */
    ssize_t n;
    do {
        n = read(s->watch.fd, chunk, sizeof chunk);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN) {
        s->readable = false;
        return IO_BUSY;
    }
    if (n < 0)
        return real_status(errno);
    if (n == 0)
        return IO_RESET; /* An end that TLS has not announced may be anybody's. */
    real_tls_in(s->tls, cd_str_of(chunk, (size_t)n));
    return IO_OK;
}

/* readable is only taken back when TLS has nothing left that it could give. */
static int tls_read_some(struct real_stream *s, void *buf, size_t cap, size_t *got)
{
    int rc;
    while ((rc = real_tls_read(s->tls, buf, cap, got)) == IO_BUSY) {
        rc = tls_fill(s);
        if (rc != IO_OK)
            break;
    }
    if (s->writable && cd_list_empty(&s->writes))
        (void)tls_flush(s); /* What fails here fails the next write. */
    return rc;
}

static int read_some(struct real_stream *s, void *buf, size_t cap, size_t *got)
{
    ssize_t n;
    if (s->tls != NULL)
        return tls_read_some(s, buf, cap, got);
    do {
        n = read(s->watch.fd, buf, cap);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN) {
        s->readable = false;
        return IO_BUSY;
    }
    if (n < 0)
        return real_status(errno);
    if (n ==
        0) /* A write that failed has taken the error of the socket, which then looks like a clean end. */
        return s->write_status == IO_RESET || s->write_status == IO_TIMEDOUT ? s->write_status : IO_EOF;
    *got = (size_t)n;
    /* A short read has emptied the socket: what comes later is a new edge. Pipes and ends do not promise
     * that. */
    if ((size_t)n < cap && s->kind == REAL_TCP && !s->hung)
        s->readable = false;
    return IO_OK;
}

/* The shared buffer may still be lent to a fiber that has not run yet, and a fiber that waits for something
 * else first may come back to its bytes much later: then the bytes get memory of their own. */
static int read_lent(struct real_stream *s, struct io_read *r)
{
    struct real_loop *l = s->loop;
    bool untended = r->op.done == NULL && r->op.waiter == NULL;
    if (!untended && !real_backlog(l)) {
        int rc = read_some(s, l->scratch, REAL_SCRATCH_BYTES, &r->len);
        r->buf = rc == IO_OK ? l->scratch : NULL;
        return rc;
    }
    struct real_loan *loan = cd_alloc(sizeof *loan + REAL_SCRATCH_BYTES);
    int rc = read_some(s, loan->bytes, REAL_SCRATCH_BYTES, &r->len);
    if (rc != IO_OK) {
        cd_free(loan);
        return rc;
    }
    loan = cd_realloc(loan, sizeof *loan + r->len);
    r->buf = loan->bytes;
    if (untended)
        s->loan = loan;
    else
        cd_list_push(&l->loans, &loan->link);
    return IO_OK;
}

/* Inside a callback of the loop. */
static void read_now(struct real_stream *s)
{
    struct io_read *r = s->reading;
    int rc = r->lent ? read_lent(s, r) : read_some(s, r->buf, r->cap, &r->len);
    if (rc == IO_BUSY)
        return;
    if (rc != IO_OK)
        s->read_status = rc;
    s->reading = NULL;
    r->op.impl = r->buf;
    io_complete(&r->op, rc);
}

static void read_cancel(struct io_op *op)
{
    struct real_stream *s = op->impl;
    s->reading = NULL;
    op->impl = NULL;
    io_complete_later(op, IO_CANCELED);
}

void io_stream_read(struct io_stream *stream, struct io_read *r, io_done_fn *done)
{
    struct real_stream *s = stream_of(stream);
    CD_ASSERT(s->reading == NULL);
    /* What was lent last time is no buffer of the caller's. impl still holds it; io_begin forgets it. */
    if (r->lent && r->buf == r->op.impl)
        r->buf = NULL;
    r->lent = r->buf == NULL;
    CD_ASSERT(r->lent || r->cap > 0);
    io_begin(&r->op, &s->loop->io, done);
    r->len = 0;
    cd_free(s->loan);
    s->loan = NULL;
    int rc = s->loop->stopping ? IO_CANCELED : s->read_status;
    if (rc == IO_OK && s->kind == REAL_PIPE_OUT)
        rc = IO_FAULT;
    if (rc != IO_OK) {
        io_complete_later(&r->op, rc);
        return;
    }
    r->op.impl = s;
    r->op.cancel = read_cancel;
    s->reading = r;
    if (s->readable)
        real_heat(s->loop, &s->hot);
}

/* ---- TLS ---- */

static void secure_end(struct real_stream *s, int status)
{
    struct io_secure *t = s->securing;
    s->securing = NULL;
    if (status != IO_OK)
        s->read_status = s->write_status = IO_RESET;
    s->readable = true; /* TLS may have more already than its handshake. */
    io_complete_later(&t->op, status);
}

static void secure_step(struct real_stream *s)
{
    struct io_secure *t = s->securing;
    for (;;) {
        int rc = real_tls_handshake(s->tls, t->why, sizeof t->why);
        int sent = s->writable ? tls_flush(s) : IO_BUSY;
        if (rc == IO_BUSY && sent != IO_OK && sent != IO_BUSY)
            rc = sent;
        if (rc == IO_BUSY) {
            rc = s->readable ? tls_fill(s) : IO_BUSY;
            if (rc == IO_OK)
                continue;
            if (rc == IO_BUSY)
                return;
        }
        if (rc != IO_OK && t->why[0] == 0)
            (void)snprintf(t->why, sizeof t->why, "TLS handshake: %s", cd_err_text(rc));
        secure_end(s, rc);
        return;
    }
}

static void secure_cancel(struct io_op *op)
{
    secure_end(op->impl, IO_CANCELED);
}

void io_stream_secure(struct io_stream *stream, const char *name, struct io_secure *t, io_done_fn *done)
{
    struct real_stream *s = stream_of(stream);
    struct real_loop *l = s->loop;
    CD_ASSERT(s->tls == NULL && s->reading == NULL && cd_list_empty(&s->writes) && s->kind == REAL_TCP);
    io_begin(&t->op, &l->io, done);
    t->why[0] = 0;
    int rc = l->stopping ? IO_CANCELED : s->read_status != IO_OK ? s->read_status : s->write_status;
    if (rc == IO_OK && l->trust == NULL)
        l->trust = real_tls_trust_new();
    if (rc == IO_OK)
        s->tls = l->trust == NULL ? NULL : real_tls_new(l->trust, name);
    if (rc == IO_OK && s->tls == NULL) {
        (void)snprintf(t->why, sizeof t->why, "TLS: not a name that a certificate can have");
        rc = CD_EINVAL;
    }
    if (rc != IO_OK) {
        io_complete_later(&t->op, rc);
        return;
    }
    t->op.impl = s;
    t->op.cancel = secure_cancel;
    s->securing = t;
    secure_step(s);
}

/* ---- Events ---- */

static void stream_ready(struct real_loop *l, struct real_watch *w, uint32_t events)
{
    struct real_stream *s = CD_CONTAINER(w, struct real_stream, watch);
    real_stream_edge(s, events);
    if (s->securing != NULL) {
        real_enter(l);
        secure_step(s);
        real_leave(l);
        return;
    }
    bool read = s->readable && s->reading != NULL;
    if (!read && !(s->writable && (!cd_list_empty(&s->writes) || s->finishing != NULL || s->tls != NULL)))
        return;
    real_enter(l);
    if (read) /* First: what pumping completes would be a backlog, and the read would need memory of its own.
               */
        read_now(s);
    writes_pump(s); /* Nothing waits any more when the reader has closed the stream. */
    real_leave(l);
}

static void stream_hot(struct real_loop *l, struct real_hot *h)
{
    struct real_stream *s = CD_CONTAINER(h, struct real_stream, hot);
    if (!s->readable || s->reading == NULL)
        return;
    real_enter(l);
    read_now(s);
    real_leave(l);
}

/* ---- The end ---- */

static void ops_end(struct real_stream *s)
{
    if (s->securing != NULL)
        secure_cancel(&s->securing->op);
    if (s->reading != NULL)
        read_cancel(&s->reading->op);
    writes_end(s, IO_CANCELED, IO_CANCELED);
}

void io_stream_close(struct io_stream *stream, bool abort, struct io_op *op, io_done_fn *done)
{
    struct real_stream *s = stream_of(stream);
    struct real_loop *l = s->loop;
    bool broken = s->read_status != IO_OK || s->write_status != IO_OK;
    ops_end(s);
    io_begin(op, &l->io, done);
    *stream = (struct io_stream){0};
    s->owner = NULL;
    l->open--;
    cd_link_remove(&s->hot.link);
    if (abort && s->kind == REAL_TCP && s->watch.fd >= 0) {
        struct linger now = {.l_onoff = 1, .l_linger = 0};
        (void)setsockopt(s->watch.fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    }
    if (abort || broken || s->kind != REAL_TCP) {
        real_stream_free(s);
    } else {
        if (!s->finished)
            (void)shut_down(s); /* Fails only when the peer is gone. */
        real_linger_start(s);
    }
    io_complete_later(op, IO_OK);
}

void io_stream_peer(const struct io_stream *stream, struct io_addr *out)
{
    const struct real_stream *s = stream_of(stream);
    struct real_addr a = {.len = sizeof a.room};
    *out = (struct io_addr){0};
    if (s->kind == REAL_TCP && getpeername(s->watch.fd, &a.any, &a.len) == 0)
        real_addr_text(&a, out);
}
