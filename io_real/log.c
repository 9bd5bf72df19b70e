/* io_real/log.c: the log of a node (operations.md 7.1). Loops put finished lines into a ring, a thread of its
 * own writes them, so nobody who logs ever waits for a terminal, a pipe or a disk. A full ring drops the
 * newest lines and says how many as soon as there is room again.
 *
 * A line after a quiet time is written at once. Then the writer rests for 5 ms and takes what came meanwhile
 * in one write: a line for each request would otherwise wake it, and whoever reads the output, each time. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/uio.h>
#include <time.h>

#include "io_real/real.h"

#define LINES_MAX 8192u
#define BATCH_MAX 64u
#define END_NS 250000000u
#define REST_NS 5000000u

struct real_log {
    pthread_mutex_t lock; /* Held for a few instructions at a time, never while writing. */
    pthread_cond_t more, written;
    pthread_t writer;
    int fd;
    enum cd_event_format format;
    struct cd_event_filter filter;
    struct cd_buf ring[LINES_MAX]; /* first .. first + count, modulo. */
    unsigned first, count;
    uint64_t dropped;
    uint64_t pushed_count, written_count; /* Over the life of the log. */
    bool resting; /* The writer need not know of a line yet. */
    unsigned flushing; /* So many wait for written. */
    bool ending;
    bool abandoned; /* The writer is stuck and frees the log when it comes back. */
};

static void log_lock(struct real_log *log)
{
    int rc = pthread_mutex_lock(&log->lock);
    CD_ASSERT(rc == 0);
}

static void log_unlock(struct real_log *log)
{
    int rc = pthread_mutex_unlock(&log->lock);
    CD_ASSERT(rc == 0);
}

/* Locked; there is room. Takes line over. */
static void ring_push(struct real_log *log, struct cd_buf *line)
{
    log->ring[(log->first + log->count) % LINES_MAX] = cd_buf_move(line);
    log->count++;
    log->pushed_count++;
}

/* Locked. */
static unsigned ring_take(struct real_log *log, struct cd_buf *lines)
{
    unsigned n = log->count < BATCH_MAX ? log->count : BATCH_MAX;
    for (unsigned i = 0; i < n; i++)
        lines[i] = cd_buf_move(&log->ring[(log->first + i) % LINES_MAX]);
    log->first = (log->first + n) % LINES_MAX;
    log->count -= n;
    return n;
}

static int64_t wall_us(void)
{
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Locked; there is room. */
static void tell_dropped(struct real_log *log)
{
    struct cd_buf line = {0};
    struct cd_field field = CD_U("dropped", log->dropped);
    cd_event_format(&line, log->format, wall_us(), CD_WARN, "celld", "log lines dropped", &field, 1);
    log->dropped = 0;
    ring_push(log, &line);
}

/* Writes all of it, waiting as long as it takes. An output that fails for good loses its lines: there is no
 * place left where that could be said. */
static void write_lines(int fd, const struct cd_buf *lines, unsigned count)
{
    struct iovec v[BATCH_MAX];
    for (unsigned i = 0; i < count; i++)
        v[i] = (struct iovec){lines[i].ptr, lines[i].len};
    for (unsigned at = 0; at < count;) {
        ssize_t n = writev(fd, &v[at], (int)(count - at));
        if (n < 0 && errno == EAGAIN) {
            struct pollfd p = {.fd = fd, .events = POLLOUT};
            (void)poll(&p, 1, -1);
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return;
        size_t left = (size_t)n;
        while (at < count && left >= v[at].iov_len)
            left -= v[at++].iov_len;
        if (at < count) {
            v[at].iov_base = (char *)v[at].iov_base + left;
            v[at].iov_len -= left;
        }
    }
}

static void log_destroy(struct real_log *log)
{
    for (unsigned i = 0; i < log->count; i++)
        cd_buf_deinit(&log->ring[(log->first + i) % LINES_MAX]);
    cd_event_filter_deinit(&log->filter);
    (void)pthread_cond_destroy(&log->more);
    (void)pthread_cond_destroy(&log->written);
    (void)pthread_mutex_destroy(&log->lock);
    cd_free(log);
}

static struct timespec in_ns(uint64_t ns)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    ns += (uint64_t)t.tv_nsec;
    t.tv_sec += (time_t)(ns / 1000000000u);
    t.tv_nsec = (long)(ns % 1000000000u);
    return t;
}

/* Locked. Until the time is over, a batch is full, or somebody waits. */
static void rest(struct real_log *log)
{
    struct timespec until = in_ns(REST_NS);
    int rc = 0;
    log->resting = true;
    while (rc == 0 && log->count < BATCH_MAX && log->flushing == 0 && !log->ending)
        rc = pthread_cond_timedwait(&log->more, &log->lock, &until);
    log->resting = false;
}

static void *writer_main(void *arg)
{
    struct real_log *log = arg;
    struct cd_buf lines[BATCH_MAX];
    log_lock(log);
    for (;;) {
        while (log->count == 0 && !log->ending) {
            int rc = pthread_cond_wait(&log->more, &log->lock);
            CD_ASSERT(rc == 0);
        }
        if (log->count == 0 || log->abandoned)
            break;
        unsigned n = ring_take(log, lines);
        if (log->dropped > 0)
            tell_dropped(log);
        log_unlock(log);
        write_lines(log->fd, lines, n);
        for (unsigned i = 0; i < n; i++)
            cd_buf_deinit(&lines[i]);
        log_lock(log);
        log->written_count += n;
        (void)pthread_cond_broadcast(&log->written);
        rest(log);
    }
    bool abandoned = log->abandoned;
    log_unlock(log);
    if (abandoned)
        log_destroy(log);
    return NULL;
}

struct real_log *real_log_new(int fd, enum cd_event_format format, struct cd_str filter)
{
    struct real_log *log = cd_new(struct real_log);
    log->fd = fd;
    log->format = format;
    int rc = cd_event_filter_parse(&log->filter, filter.len == 0 ? CD_STR("info") : filter, NULL);
    CD_ASSERT(rc == 0); /* The settings have accepted it. */
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    rc = pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    CD_ASSERT(rc == 0);
    rc = pthread_mutex_init(&log->lock, NULL);
    CD_ASSERT(rc == 0);
    rc = pthread_cond_init(&log->more, &monotonic);
    CD_ASSERT(rc == 0);
    rc = pthread_cond_init(&log->written, &monotonic);
    CD_ASSERT(rc == 0);
    (void)pthread_condattr_destroy(&monotonic);
    rc = pthread_create(&log->writer, NULL, writer_main, log);
    CD_ASSERT(rc == 0);
    (void)pthread_setname_np(log->writer, "celld-log");
    return log;
}

void real_log_event(struct real_log *log, int64_t at_us, enum cd_level level, const char *target,
                    const char *name, const struct cd_field *fields, size_t count)
{
    struct cd_buf line = {0};
    cd_event_format(&line, log->format, at_us, level, target, name, fields, count);
    log_lock(log);
    if (log->count == LINES_MAX) {
        log->dropped++;
    } else {
        ring_push(log, &line);
        if (log->resting ? log->count == BATCH_MAX : log->count == 1)
            (void)pthread_cond_signal(&log->more);
    }
    log_unlock(log);
    cd_buf_deinit(&line);
}

bool real_log_wanted(const struct real_log *log, enum cd_level level, const char *target)
{
    return cd_event_filter_allows(&log->filter, target, level);
}

bool real_log_flush(struct real_log *log, uint64_t timeout_ns)
{
    struct timespec until = in_ns(timeout_ns);
    log_lock(log);
    uint64_t wanted = log->pushed_count;
    int rc = 0;
    log->flushing++;
    (void)pthread_cond_signal(&log->more);
    while (log->written_count < wanted && rc == 0)
        rc = pthread_cond_timedwait(&log->written, &log->lock, &until);
    bool all = log->written_count >= wanted;
    log->flushing--;
    log_unlock(log);
    return all;
}

void real_log_free(struct real_log *log)
{
    if (log == NULL)
        return;
    bool all = real_log_flush(log, END_NS);
    pthread_t writer = log->writer;
    log_lock(log);
    log->ending = true;
    log->abandoned = !all;
    (void)pthread_cond_signal(&log->more);
    log_unlock(log);
    if (all) {
        (void)pthread_join(writer, NULL);
        log_destroy(log);
    } else {
        (void)pthread_detach(writer);
    }
}
