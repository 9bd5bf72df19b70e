/* io_real/io_real.h: a node on the real system, for src/cli and for tests.
 *
 * A node is loop 0 (control), which runs on the thread that calls io_real_run, and `shards` more loops, each
 * on a thread of its own. It is made, configured, run once and freed. Unless said otherwise, call from the
 * thread that made it. Making a node ignores SIGPIPE and SIGXFSZ for the whole process. */
#ifndef IO_REAL_IO_REAL_H
#define IO_REAL_IO_REAL_H

#include "io/io.h"

struct io_real;

struct io_real_opts {
    unsigned shards; /* Loops besides loop 0. */
    bool pin; /* Fix each shard to a CPU, when there are as many shards as CPUs. */
    int log_fd; /* Borrowed. Where events go; -1: nowhere. */
    enum cd_event_format log_format;
    /* operations.md 7.2, as cd_event_filter_parse has accepted it; empty: "info". */
    struct cd_str log_filter;
};

/* SSL_CERT_FILE and SSL_CERT_DIR are read here: who may vouch for TLS servers in place of the system's.
 * Never fails for reasons of its own; a machine without file descriptors or memory for a loop stops the
 * program. */
struct io_real *io_real_new(const struct io_real_opts *opts);
/* After io_real_run has returned, or when it was never called. Ends the log as io_real_log_flush does. */
void io_real_free(struct io_real *node);

unsigned io_real_loops(const struct io_real *node); /* 1 + shards. */
struct io *io_real_loop(struct io_real *node, unsigned index);
struct io_real *io_real_of(struct io *io);

/* Calls entry as the first callback of every loop, each on its own thread, and runs them. Returns when
 * io_real_stop was called, or io_stop on each loop, and nothing is pending on any of them: no op, no fiber,
 * no message. Blocks. */
void io_real_run(struct io_real *node, void (*entry)(struct io *io, void *arg), void *arg);
/* io_stop on every loop, from any thread, also before the run and after it. */
void io_real_stop(struct io_real *node);
/* Runs work as a callback of the loop, in the order of the calls. From any thread; arg is the caller's. Not
 * after io_real_run has returned. */
void io_real_post(struct io_real *node, unsigned loop, void (*work)(struct io *io, void *arg), void *arg);

/* From now until io_real_free SIGINT, SIGTERM and SIGHUP are callbacks of loop 0 instead of what they do by
 * default. Call before io_real_run. */
void io_real_on_signal(struct io_real *node, void (*signaled)(struct io *io, int signal, void *arg),
                       void *arg);

/* Writes out what has been logged and waits for it, at most for so long. From any thread. False: not all is
 * written. */
bool io_real_log_flush(struct io_real *node, uint64_t timeout_ns);

/* Ends the process now, with what was logged by then; nothing else is closed. From any thread. */
CD_NORETURN void io_real_quit(struct io_real *node, int code);

/* What io_bucket(io) returns. Borrowed; the owner takes it away (NULL) before it frees it. Call on the loop's
 * thread or before the run. */
void io_real_set_bucket(struct io *io, struct io_bucket *bucket);

/* Streams, listeners, files, children and requests that are open in this loop: 0 after a clean run. */
unsigned io_real_open_count(struct io *io);

/* CPUs this process may use: the affinity mask, cut by the CPU quota of its control group, rounded up. At
 * least 1. */
unsigned io_real_cpu_count(void);
/* Raises the soft limit of file descriptors to the hard one and returns it. */
uint64_t io_real_raise_fd_limit(void);

/* Early in main, while there is one thread and nothing is open: makes a copy of this process, which waits to
 * become the first child with IO_CHILD_SELF, IO_CHILD_GROUP and IO_CHILD_TIED. It first runs `warm`, which
 * must leave no thread and nothing open, and once it has become that child `run` is its main. The last
 * io_real_free of the process ends a copy that nobody wanted. */
void io_real_spare(void (*warm)(void), int (*run)(int argc, char **argv, char **env));

/* The first thing main does: a standard descriptor that we were started without is taken, so that no file of
 * ours gets its number and then what people should read. Writing to it fails as it would have. */
void io_real_guard_console(void);

#endif
