/* tests/io/support.h: what the contract files share: fibers to wait for, connected streams, whole reads and
 * writes. Only io.h is used here, so it runs on either backend. */
#ifndef CONTRACT_SUPPORT_H
#define CONTRACT_SUPPORT_H

#include "contract.h"

/* io_await with a bound that only a hang reaches. */
int await(struct io_op *op);
void turn(struct contract *c); /* Lets everything run that is ready. */

/* A fiber that somebody waits for. */
struct task {
    struct contract *c;
    void (*run)(struct contract *c, void *arg);
    void *arg;
    struct io_signal over;
    bool ended;
    struct io_fiber *fiber;
};
void task_start(struct task *t, struct contract *c, void (*run)(struct contract *c, void *arg), void *arg);
void task_join(struct task *t);

/* Counts what a done callback sees. */
struct probe {
    struct io_op op;
    unsigned calls;
    int status;
    uint64_t order; /* The how-manieth done of all probes. */
    struct io_signal called;
};
void probe_init(struct probe *p);
void probe_done(struct io_op *op, int status); /* For &p->op only. */
int probe_wait(struct contract *c, struct probe *p); /* Until it was called; its status. */

void listen_any(struct contract *c, struct io_listener *l,
                struct io_addr *at); /* On a free port of 127.0.0.1. */
void listener_close(struct io_listener *l);
struct pair {
    struct io_stream client, server;
};
void pair_open(struct contract *c, struct pair *p);
void pair_close(struct pair *p); /* What is open of it. */
int stream_connect(struct io_stream *s, struct io *io, const struct io_addr *to);
int stream_accept(struct io_listener *l, struct io_stream *s);
int stream_write(struct io_stream *s, struct cd_str bytes);
int stream_finish(struct io_stream *s);
void stream_close(struct io_stream *s, bool reset);
int stream_read(struct io_stream *s, void *buf, size_t cap, size_t *len);
/* Appends until the end of the stream (IO_EOF), until out has max bytes (IO_OK), or an error. */
int stream_read_to(struct io_stream *s, struct cd_buf *out, size_t max);
void pattern_fill(void *out, size_t len, uint64_t from); /* Bytes that tell their place in a stream. */
bool pattern_is(const void *bytes, size_t len, uint64_t from);

#endif
