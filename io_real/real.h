/* io_real/real.h: the insides that the files of this folder share.
 *
 * The loop is one epoll set of our own. Streams and listeners sit in it edge-triggered from their first to
 * their last moment, so a request costs no epoll_ctl and backpressure costs nothing. libuv is a guest in it
 * (its backend descriptor is one more watch): it brings the thread pool, name resolution, child processes and
 * signals.
 *
 * Around every callback: real_enter ... real_leave. In between, what user code submits must not call back; it
 * completes by io_complete_later, or through the lists below at a later turn. */
#ifndef IO_REAL_REAL_H
#define IO_REAL_REAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <uv.h>

#include "io/backend.h"
#include "io_real/io_real.h"

#define REAL_SCRATCH_BYTES                                                                                   \
    (64u << 10) /* Lent to reads without a buffer: one per loop, not one per connection. */
#define REAL_TURN_MAX 256u /* Completions and fiber slices per callback before the loop polls again. */

struct real_loop;

/* A descriptor in the loop's epoll set. */
struct real_watch {
    int fd; /* -1: not in the set. Zeroed memory is therefore NOT an idle watch: real_watch_init. */
    void (*ready)(struct real_loop *l, struct real_watch *w, uint32_t events);
};

/* Work for the next round, when no event of the kernel will announce it. */
struct real_hot {
    struct cd_link link;
    void (*run)(struct real_loop *l, struct real_hot *h);
};

/* Memory that an event of the current round may still point to: freed at the end of the round. */
struct real_grave {
    struct cd_link link;
    void (*free)(struct real_grave *g);
};

/* A timer of the backend's own: no op, so it does not keep the loop from ending. */
struct real_alarm {
    struct io_timer timer;
    bool set;
    void (*ring)(struct real_loop *l, struct real_alarm *a);
};

#define REAL_RANDOM_BYTES 512u
struct real_random {
    uint8_t bytes[REAL_RANDOM_BYTES];
    size_t left; /* At the end of bytes. */
};

/* Bytes of a lent read that outlive the event. */
struct real_loan {
    struct cd_link link;
    char bytes[];
};

struct real_curl;

struct real_loop {
    struct io io; /* First. */
    struct io_real *node;
    unsigned index;
    struct io_bucket *bucket; /* Borrowed. */
    unsigned open; /* See io_real_open_count. */

    int epoll_fd;
    struct cd_list hot, graves;
    uv_loop_t uv;
    uv_async_t uv_keep; /* Keeps libuv's loop alive, or it would always want to run. */
    struct real_watch uv_watch, mail_watch;
    bool uv_due;

    unsigned depth; /* Of real_enter. */
    bool now_known; /* The clock was read in this callback. */
    uint64_t now_ns;

    struct io_timer *timers; /* Pairing heap; the earliest is the root. */
    struct real_random random[IO_RAND_COUNT];

    char *scratch; /* owned; REAL_SCRATCH_BYTES. */
    struct real_tls_trust *trust; /* owned; made with the first stream that is secured. */
    struct cd_list loans; /* Copies for reads of fibers that could not run at once. */
    struct cd_list lingering;
    unsigned lingerers;
    struct real_alarm linger_alarm;
    struct real_curl *curl; /* owned; made at the first use. */

    /* The mailbox: pushed by any thread, newest first. */
    _Atomic(struct io_msg *) mail;
    struct io_msg *inbox; /* Taken from mail and not handled yet, oldest first. */
    atomic_bool asleep; /* In epoll, or about to: who posts has to wake it. */
    int mail_fd;
    unsigned owed; /* Messages to the control loop that it was not woken for yet. */
    atomic_bool signaled, stop_asked; /* signaled: look at the other one. */
    bool stopping;
    uint64_t canceled_serial; /* Stopping: ops up to this one were cancelled. */
    bool parked; /* Stopping, and nothing is pending here. */
    atomic_bool quit;
};

struct real_port { /* What IO_LISTEN_SHARED with port 0 has settled on. */
    struct cd_link link;
    struct cd_list listeners; /* struct listener.sibling */
    char host[IO_HOST_MAX];
    uint16_t port;
    unsigned users;
};

struct real_log;

struct io_real {
    unsigned count;
    struct real_loop **loops; /* owned */
    pthread_t *threads; /* owned; of loops 1.. */
    void (*entry)(struct io *io, void *arg);
    void *entry_arg;
    void (*signaled)(struct io *io, int signal, void *arg);
    void *signaled_arg;
    uv_signal_t signals[3];
    bool has_signals, pin;
    struct real_log *log; /* owned; NULL: none. */
    char *ca_file, *ca_dir; /* owned; NULL: the system's. */

    atomic_uint mail_pending; /* Posted and not handled yet, over all loops. */
    pthread_mutex_t lock; /* Of what follows. */
    unsigned parked;
    struct cd_list ports;
};

static inline struct real_loop *real_loop(struct io *io)
{
    return CD_CONTAINER(io, struct real_loop, io);
}

/* ---- loop.c ---- */
struct real_loop *real_loop_new(struct io_real *node, unsigned index);
void real_loop_free(struct real_loop *l);
void real_loop_run(struct real_loop *l); /* Until l->quit. */
void real_enter(struct real_loop *l);
void real_leave(struct real_loop *l);
static inline bool real_backlog(const struct real_loop *l)
{
    return !cd_list_empty(&l->io.ready) || !cd_list_empty(&l->io.deferred);
}

void real_watch_init(struct real_watch *w,
                     void (*ready)(struct real_loop *l, struct real_watch *w, uint32_t events));
/* IO_OK, or IO_FAULT when the kernel has no room for it. */
CD_MUST_USE int real_watch_start(struct real_loop *l, struct real_watch *w, int fd, uint32_t events);
CD_MUST_USE int real_watch_change(struct real_loop *l, struct real_watch *w, uint32_t events);
void real_watch_stop(struct real_loop *l, struct real_watch *w); /* Before the descriptor is closed. */
void real_heat(struct real_loop *l, struct real_hot *h); /* No effect when it is hot already. */
void real_bury(struct real_loop *l, struct real_grave *g, void (*free)(struct real_grave *g));

/* Begins an op. False: the loop is stopping; done comes with IO_CANCELED. */
CD_MUST_USE bool real_begin(struct real_loop *l, struct io_op *op, io_done_fn *done,
                            void (*cancel)(struct io_op *op));

/* ---- node.c ---- */
void real_settle(struct real_loop *l); /* After each callback of a stopping loop. */
void real_node_signaled(struct real_loop *l);

/* ---- linger.c ---- */
void real_linger_end(struct real_loop *l); /* At once, at the end of the loop. */

/* ---- timer.c ---- */
/* Runs what is due. Returns how long the loop may sleep: UINT64_MAX without timers. */
uint64_t real_timers_run(struct real_loop *l);
void real_alarm_set(struct real_loop *l, struct real_alarm *a, uint64_t after_ns,
                    void (*ring)(struct real_loop *l, struct real_alarm *a)); /* Again when it is set. */
void real_alarm_clear(struct real_loop *l, struct real_alarm *a);
uint64_t real_clock_ns(void);

/* ---- mailbox.c ---- */
void real_mail_push(struct real_loop *to, struct io_msg *m);
void real_mail_run(struct real_loop *l);
/* Wakes the control loop if that is owed. Before the loop polls. */
void real_mail_settle(struct real_loop *l);
void real_wake(struct real_loop *l); /* From any thread. */

/* ---- cpu.c ---- */
void real_pin(unsigned index, unsigned of); /* This thread to the index-th CPU, when there are `of` CPUs. */

/* ---- error.c ---- */
int real_status(int error); /* Of errno, or a libuv code; 0 stays 0. */
int real_uv_status(int error); /* Of uv_getaddrinfo too. */

/* ---- log.c ---- */
struct real_log *real_log_new(int fd, enum cd_event_format format, struct cd_str filter);
void real_log_free(struct real_log *log); /* Bounded: 250 ms. NULL is fine. */
bool real_log_flush(struct real_log *log, uint64_t timeout_ns);
void real_log_event(struct real_log *log, int64_t wall_us, enum cd_level level, const char *target,
                    const char *name, const struct cd_field *fields, size_t count);
bool real_log_wanted(const struct real_log *log, enum cd_level level, const char *target);

#endif
