/* io_real/node.c: the loops of a node and their threads, from the start to the common end.
 *
 * A stopping loop with nothing pending parks, but still takes mail, because another loop may need an answer
 * to finish. When all are parked and no message is under way none can ever come again, and all quit together.
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io_real/real.h"
#include "io_real/spare.h"

#define QUIT_LOG_NS UINT64_C(250000000)

static unsigned nodes; /* Of this process: made and not freed. On the main thread only. */
static const int signal_numbers[] = {SIGINT, SIGTERM, SIGHUP};

static char *environment(const char *name)
{
    const char *value = getenv(name);
    return value == NULL ? NULL : cd_str_dup(cd_str(value));
}

struct io_real *io_real_new(const struct io_real_opts *opts)
{
    /* A peer that went away is an error of the write that notices it. */
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* A limit of file sizes is an error of a write, as a full disk is. */
    struct io_real *node = cd_new(struct io_real);
    nodes++;
    int rc = pthread_mutex_init(&node->lock, NULL);
    CD_ASSERT(rc == 0);
    cd_list_init(&node->ports);
    node->count = 1 + opts->shards;
    node->pin = opts->pin;
    node->ca_file = environment("SSL_CERT_FILE");
    node->ca_dir = environment("SSL_CERT_DIR");
    if (opts->log_fd >= 0)
        node->log = real_log_new(opts->log_fd, opts->log_format, opts->log_filter);
    node->loops = cd_alloc(node->count * sizeof(struct real_loop *));
    node->threads = cd_alloc(node->count * sizeof(pthread_t));
    for (unsigned i = 0; i < node->count; i++)
        node->loops[i] = real_loop_new(node, i);
    return node;
}

void io_real_free(struct io_real *node)
{
    if (node->has_signals) {
        for (size_t i = 0; i < CD_COUNT(signal_numbers); i++)
            uv_close((uv_handle_t *)&node->signals[i], NULL);
    }
    for (unsigned i = 0; i < node->count; i++)
        real_loop_free(node->loops[i]);
    CD_ASSERT(cd_list_empty(&node->ports));
    real_log_free(node->log);
    (void)pthread_mutex_destroy(&node->lock);
    cd_free(node->ca_file);
    cd_free(node->ca_dir);
    cd_free(node->loops);
    cd_free(node->threads);
    cd_free(node);
    if (--nodes == 0)
        real_spare_drop();
}

unsigned io_real_loops(const struct io_real *node)
{
    return node->count;
}

struct io *io_real_loop(struct io_real *node, unsigned index)
{
    CD_ASSERT(index < node->count);
    return &node->loops[index]->io;
}

unsigned io_process_id(struct io *io)
{
    (void)io;
    return (unsigned)getpid();
}

int io_process_program(struct io *io, struct cd_buf *out)
{
    char path[PATH_MAX];
    (void)io;
    ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    if (n <= 0 || n == sizeof path)
        return IO_FAULT;
    cd_buf_add(out, path, (size_t)n);
    return IO_OK;
}

struct io_real *io_real_of(struct io *io)
{
    return real_loop(io)->node;
}

static void run_here(struct real_loop *l)
{
    real_enter(l);
    l->node->entry(&l->io, l->node->entry_arg);
    real_leave(l);
    real_loop_run(l);
}

static void *thread_main(void *arg)
{
    struct real_loop *l = arg;
    char name[16];
    (void)snprintf(name, sizeof name, "celld-shard-%u", l->index % 1000);
    (void)pthread_setname_np(pthread_self(), name);
    if (l->node->pin)
        real_pin(l->index - 1, l->node->count - 1);
    run_here(l);
    return NULL;
}

void io_real_run(struct io_real *node, void (*entry)(struct io *io, void *arg), void *arg)
{
    node->entry = entry;
    node->entry_arg = arg;
    for (unsigned i = 1; i < node->count; i++) {
        int rc = pthread_create(&node->threads[i], NULL, thread_main, node->loops[i]);
        CD_ASSERT(rc == 0);
    }
    run_here(node->loops[0]);
    for (unsigned i = 1; i < node->count; i++) {
        int rc = pthread_join(node->threads[i], NULL);
        CD_ASSERT(rc == 0);
    }
}

/* ---- The end ---- */

void io_real_stop(struct io_real *node)
{
    for (unsigned i = 0; i < node->count; i++) {
        struct real_loop *l = node->loops[i];
        atomic_store(&l->stop_asked, true);
        atomic_store(&l->signaled, true);
        real_wake(l);
    }
}

void real_node_signaled(struct real_loop *l)
{
    atomic_store(&l->signaled, false);
    if (!atomic_load(&l->stop_asked) || l->stopping)
        return;
    real_enter(l);
    io_stop(&l->io);
    real_leave(l);
}

/* Ops that were begun since the last look, newest first. What is ending anyway, or has to end in its own way
 * (closing), has no cancel. */
static void cancel_new_ops(struct real_loop *l)
{
    uint64_t seen = l->canceled_serial;
    l->canceled_serial = l->io.next_serial;
    for (struct cd_link *k = l->io.ops.head.prev; k != &l->io.ops.head; k = k->prev) {
        struct io_op *op = CD_CONTAINER(k, struct io_op, all);
        if (op->serial <= seen)
            break;
        if (op->cancel != NULL)
            io_cancel(op);
    }
}

void io_stop(struct io *io)
{
    struct real_loop *l = real_loop(io);
    if (l->stopping)
        return;
    l->stopping = true;
    io_fibers_cancel(io);
    cancel_new_ops(l);
}

void real_settle(struct real_loop *l)
{
    if (l->depth > 0)
        return;
    struct io_real *node = l->node;
    cancel_new_ops(l);
    bool idle = l->io.busy == 0 && l->io.fibers == 0 && !real_backlog(l);
    if (!idle && !l->parked)
        return;
    int rc = pthread_mutex_lock(&node->lock);
    CD_ASSERT(rc == 0);
    if (idle && !l->parked)
        node->parked++;
    if (!idle)
        node->parked--;
    l->parked = idle;
    bool over = node->parked == node->count && atomic_load(&node->mail_pending) == 0;
    for (unsigned i = 0; over && i < node->count; i++) {
        atomic_store(&node->loops[i]->quit, true);
        atomic_store(&node->loops[i]->signaled, true);
        real_wake(node->loops[i]);
    }
    rc = pthread_mutex_unlock(&node->lock);
    CD_ASSERT(rc == 0);
}

/* ---- Signals ---- */

static void signal_cb(uv_signal_t *s, int number)
{
    struct io_real *node = s->data;
    struct real_loop *l = node->loops[0];
    real_enter(l);
    node->signaled(&l->io, number, node->signaled_arg);
    real_leave(l);
}

void io_real_on_signal(struct io_real *node, void (*signaled)(struct io *io, int signal, void *arg),
                       void *arg)
{
    CD_ASSERT(!node->has_signals);
    node->signaled = signaled;
    node->signaled_arg = arg;
    node->has_signals = true;
    for (size_t i = 0; i < CD_COUNT(signal_numbers); i++) {
        int rc = uv_signal_init(&node->loops[0]->uv, &node->signals[i]);
        CD_ASSERT(rc == 0);
        node->signals[i].data = node;
        rc = uv_signal_start(&node->signals[i], signal_cb, signal_numbers[i]);
        CD_ASSERT(rc == 0);
    }
}

/* ---- Log ---- */

void io_event(struct io *io, enum cd_level level, const char *target, const char *name,
              const struct cd_field *fields, size_t count)
{
    struct real_log *log = real_loop(io)->node->log;
    if (log != NULL)
        real_log_event(log, io_wall_us(io), level, target, name, fields, count);
}

bool io_event_wanted(struct io *io, enum cd_level level, const char *target)
{
    struct real_log *log = real_loop(io)->node->log;
    return log != NULL && real_log_wanted(log, level, target);
}

bool io_real_log_flush(struct io_real *node, uint64_t timeout_ns)
{
    return node->log == NULL || real_log_flush(node->log, timeout_ns);
}

void io_real_quit(struct io_real *node, int code)
{
    (void)io_real_log_flush(node, QUIT_LOG_NS); /* Nobody reads it: then it is lost. */
    _exit(code);
}
