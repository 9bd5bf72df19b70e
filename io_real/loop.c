/* io_real/loop.c: one round after the other: timers, sleep, events, hot work, deferred work, mail, libuv,
 * graves.
 *
 * Nothing of it can starve another: each callback runs at most REAL_TURN_MAX completions, hot work gets a
 * bounded number of turns per round, and while any is left the loop polls the kernel without sleeping. */
#include <errno.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "io_real/tls.h"
#include "io_real/curl.h"

#define EVENTS_MAX 256
#define HOT_TURNS_MAX 8
#define NS_PER_S 1000000000u

static _Thread_local struct io *current;

struct io **io_current_slot(void)
{
    return &current;
}

void real_enter(struct real_loop *l)
{
    l->now_known = false;
    l->depth++;
    io_enter(&l->io);
}

void real_leave(struct real_loop *l)
{
    (void)io_turn_end(&l->io, REAL_TURN_MAX); /* What is left is real_backlog's, seen by every round. */
    io_leave(&l->io);
    l->depth--;
    l->now_known = false;
    if (l->stopping)
        real_settle(l);
}

void real_watch_init(struct real_watch *w,
                     void (*ready)(struct real_loop *l, struct real_watch *w, uint32_t events))
{
    *w = (struct real_watch){.fd = -1, .ready = ready};
}

static int watch_control(struct real_loop *l, struct real_watch *w, int what, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = w};
    return epoll_ctl(l->epoll_fd, what, w->fd, &e) == 0 ? IO_OK : real_status(errno);
}

int real_watch_start(struct real_loop *l, struct real_watch *w, int fd, uint32_t events)
{
    CD_ASSERT(w->fd < 0 && fd >= 0);
    w->fd = fd;
    int rc = watch_control(l, w, EPOLL_CTL_ADD, events);
    if (rc != IO_OK)
        w->fd = -1;
    return rc;
}

int real_watch_change(struct real_loop *l, struct real_watch *w, uint32_t events)
{
    CD_ASSERT(w->fd >= 0);
    return watch_control(l, w, EPOLL_CTL_MOD, events);
}

/* Closing the descriptor alone would do, were it not for a child between fork and exec of another loop, which
 * still holds it: the set would then report a watch that is gone. */
void real_watch_stop(struct real_loop *l, struct real_watch *w)
{
    if (w->fd >= 0)
        (void)watch_control(l, w, EPOLL_CTL_DEL, 0); /* Fails only when it is not in the set, as wanted. */
    w->fd = -1;
}

void real_heat(struct real_loop *l, struct real_hot *h)
{
    if (!cd_link_linked(&h->link))
        cd_list_push(&l->hot, &h->link);
}

void real_bury(struct real_loop *l, struct real_grave *g, void (*free)(struct real_grave *g))
{
    CD_ASSERT(!cd_link_linked(&g->link));
    g->free = free;
    cd_list_push(&l->graves, &g->link);
}

bool real_begin(struct real_loop *l, struct io_op *op, io_done_fn *done, void (*cancel)(struct io_op *op))
{
    io_begin(op, &l->io, done);
    if (l->stopping) {
        io_complete_later(op, IO_CANCELED);
        return false;
    }
    op->cancel = cancel;
    return true;
}

static void bury_now(struct real_loop *l)
{
    struct cd_link *k;
    while ((k = cd_list_pop(&l->graves)) != NULL) {
        struct real_grave *g = CD_CONTAINER(k, struct real_grave, link);
        g->free(g);
    }
}

/* Runs the work that was hot at the start of each turn; what becomes hot meanwhile has the next one. */
static void hot_run(struct real_loop *l)
{
    for (unsigned turn = 0; turn < HOT_TURNS_MAX && !cd_list_empty(&l->hot); turn++) {
        struct cd_list now;
        struct cd_link *k;
        cd_list_init(&now);
        while ((k = cd_list_pop(&l->hot)) != NULL)
            cd_list_push(&now, k);
        while ((k = cd_list_pop(&now)) != NULL) {
            struct real_hot *h = CD_CONTAINER(k, struct real_hot, link);
            h->run(l, h);
        }
    }
}

static void backlog_run(struct real_loop *l)
{
    if (real_backlog(l)) {
        real_enter(l);
        real_leave(l);
    }
    if (real_backlog(l))
        return;
    struct cd_link *k;
    while ((k = cd_list_pop(&l->loans)) != NULL)
        cd_free(CD_CONTAINER(k, struct real_loan, link));
}

static void uv_ready(struct real_loop *l, struct real_watch *w, uint32_t events)
{
    (void)w;
    (void)events;
    l->uv_due = true;
}

/* Zero also when libuv has changes to tell to its own epoll set. */
static void uv_guest_run(struct real_loop *l)
{
    if (!l->uv_due && uv_backend_timeout(&l->uv) != 0)
        return;
    l->uv_due = false;
    (void)uv_run(&l->uv, UV_RUN_NOWAIT);
}

static bool restless(struct real_loop *l)
{
    return atomic_load(&l->quit) || l->inbox != NULL || real_backlog(l) || !cd_list_empty(&l->hot) ||
           !cd_list_empty(&l->graves) || uv_backend_timeout(&l->uv) == 0;
}

static int loop_poll(struct real_loop *l, uint64_t sleep_ns, struct epoll_event *events)
{
    struct timespec t = {0}, *timeout = &t;
    real_mail_settle(l);
    if (!restless(l)) {
        /* Whoever posts after this store sees it and wakes us; who posted before it is seen here. */
        atomic_store(&l->asleep, true);
        if (atomic_load(&l->mail) == NULL && !atomic_load(&l->signaled)) {
            /* The kernel's sleep stands still while the machine does, our clock does not: look up once a
             * second. */
            if (sleep_ns > NS_PER_S && sleep_ns != UINT64_MAX)
                sleep_ns = NS_PER_S;
            t = (struct timespec){.tv_sec = (time_t)(sleep_ns / NS_PER_S),
                                  .tv_nsec = (long)(sleep_ns % NS_PER_S)};
            if (sleep_ns == UINT64_MAX)
                timeout = NULL;
        }
    }
    int n = epoll_pwait2(l->epoll_fd, events, EVENTS_MAX, timeout, NULL);
    atomic_store_explicit(&l->asleep, false, memory_order_relaxed);
    CD_ASSERT(n >= 0 || errno == EINTR);
    return n;
}

void real_loop_run(struct real_loop *l)
{
    struct epoll_event events[EVENTS_MAX];
    while (!atomic_load(&l->quit)) {
        uint64_t sleep_ns = real_timers_run(l);
        int n = loop_poll(l, sleep_ns, events);
        for (int i = 0; i < n; i++) {
            struct real_watch *w = events[i].data.ptr;
            if (w->fd >= 0)
                w->ready(l, w, events[i].events);
        }
        hot_run(l);
        backlog_run(l);
        real_mail_run(l);
        uv_guest_run(l);
        if (atomic_load_explicit(&l->signaled, memory_order_relaxed))
            real_node_signaled(l);
        bury_now(l);
    }
    bury_now(l);
}

/* The wake-up is edge-triggered and never read: each write is an edge of its own. */
static void mail_ready(struct real_loop *l, struct real_watch *w, uint32_t events)
{
    (void)l; /* real_mail_run looks in every round. */
    (void)w;
    (void)events;
}

static void keep_cb(uv_async_t *a)
{
    (void)a;
}

static void loop_init_lists(struct real_loop *l)
{
    cd_list_init(&l->hot);
    cd_list_init(&l->graves);
    cd_list_init(&l->loans);
    cd_list_init(&l->lingering);
}

struct real_loop *real_loop_new(struct io_real *node, unsigned index)
{
    struct real_loop *l = cd_new(struct real_loop);
    io_init(&l->io);
    l->node = node;
    l->index = index;
    loop_init_lists(l);
    l->scratch = cd_alloc(REAL_SCRATCH_BYTES);
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    CD_ASSERT(l->epoll_fd >= 0);
    l->mail_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    CD_ASSERT(l->mail_fd >= 0);
    int rc = uv_loop_init(&l->uv);
    CD_ASSERT(rc == 0);
    l->uv.data = l;
    rc = uv_async_init(&l->uv, &l->uv_keep, keep_cb);
    CD_ASSERT(rc == 0);
    real_watch_init(&l->mail_watch, mail_ready);
    rc = real_watch_start(l, &l->mail_watch, l->mail_fd, EPOLLIN | EPOLLET);
    CD_ASSERT(rc == 0);
    real_watch_init(&l->uv_watch, uv_ready);
    rc = real_watch_start(l, &l->uv_watch, uv_backend_fd(&l->uv), EPOLLIN);
    CD_ASSERT(rc == 0);
    return l;
}

void real_loop_free(struct real_loop *l)
{
    real_linger_end(l);
    real_curl_free(l);
    bury_now(l);
    CD_ASSERT(l->inbox == NULL && l->open == 0 && atomic_load(&l->mail) == NULL);
    real_watch_stop(l, &l->uv_watch);
    uv_close((uv_handle_t *)&l->uv_keep, NULL);
    (void)uv_run(&l->uv, UV_RUN_DEFAULT); /* Close callbacks. */
    int rc = uv_loop_close(&l->uv);
    CD_ASSERT(rc == 0); /* A handle of ours was forgotten. */
    real_watch_stop(l, &l->mail_watch);
    (void)close(l->mail_fd);
    (void)close(l->epoll_fd);
    io_deinit(&l->io);
    cd_free(l->scratch);
    real_tls_trust_free(l->trust);
    cd_free(l);
}

/* ---- What io.h asks of a loop ---- */

unsigned io_loop_index(struct io *io)
{
    return real_loop(io)->index;
}

unsigned io_loop_count(struct io *io)
{
    return real_loop(io)->node->count;
}

void io_mark(struct io *io, const char *name)
{
    (void)io; /* Only the simulator counts. */
    (void)name;
}

struct io_bucket *io_bucket(struct io *io)
{
    return real_loop(io)->bucket;
}

void io_real_set_bucket(struct io *io, struct io_bucket *bucket)
{
    real_loop(io)->bucket = bucket;
}

unsigned io_real_open_count(struct io *io)
{
    return real_loop(io)->open;
}
