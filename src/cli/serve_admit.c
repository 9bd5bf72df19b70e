/* cli/serve_admit.c: how many requests Workers have at once on this node. runtime.md 1.5.
 *
 * The count is the node's, shared by its shards; those that wait for a place wait on their own shard, in
 * order. Whoever gives a place back has every shard look on which somebody waits; whoever begins to wait
 * looks once more after he has said so: one of the two sees the other. */
#include "cli/serve_internal.h"

struct waiting {
    struct cd_link link; /* In shard.waiting, until it is decided. */
    struct shard *shard;
    struct http_exchange *x;
    struct io_timer timer; /* Ends in any case, and frees it. */
};

static bool take(struct serve *s)
{
    uint64_t n = __atomic_load_n(&s->admitted, __ATOMIC_SEQ_CST);
    do {
        if (n >= s->requests_max)
            return false;
    } while (
        !__atomic_compare_exchange_n(&s->admitted, &n, n + 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return true;
}

static struct http_exchange *waiting_leave(struct waiting *w)
{
    struct http_exchange *x = w->x;
    cd_link_remove(&w->link);
    __atomic_fetch_sub(&w->shard->waiters, 1, __ATOMIC_SEQ_CST);
    x->user = NULL;
    x->gone = NULL;
    w->x = NULL;
    io_cancel(&w->timer.op);
    return x;
}

static void look(struct shard *shard)
{
    while (!cd_list_empty(&shard->waiting) && take(shard->s)) {
        struct waiting *w = CD_CONTAINER(cd_list_first(&shard->waiting), struct waiting, link);
        cli_serve_request(shard, waiting_leave(w));
    }
}

static void on_gone(struct http_exchange *x, int status)
{
    (void)status;
    http_exchange_close(waiting_leave(x->user));
}

static void on_late(struct io_op *op, int status)
{
    struct waiting *w = CD_CONTAINER(op, struct waiting, timer.op);
    (void)status;
    if (w->x != NULL)
        cli_serve_refuse(waiting_leave(w), "the node has as many requests as it may (CELLD_MAX_REQUESTS)");
    cd_free(w);
}

void cli_serve_admit(struct shard *shard, struct http_exchange *x)
{
    struct serve *s = shard->s;
    if (s->requests_max == UINT64_MAX || (cd_list_empty(&shard->waiting) && take(s))) {
        cli_serve_request(shard, x);
        return;
    }
    struct waiting *w = cd_new(struct waiting);
    w->shard = shard;
    w->x = x;
    x->user = w;
    x->gone = on_gone;
    cd_list_push(&shard->waiting, &w->link);
    __atomic_fetch_add(&shard->waiters, 1, __ATOMIC_SEQ_CST);
    io_timer_start(&w->timer, shard->io, IO_MS(cli_num(&s->c->settings, CLI_SET_ADMISSION_WAIT_MS)), on_late);
    look(shard);
}

static void on_look(struct io_op *op, int status)
{
    (void)status;
    look(CD_CONTAINER(op, struct shard, look_op));
}

/* Not from inside the turn in which a request may have ended. */
static void look_soon(struct serve *s, struct shard *shard, void *arg)
{
    (void)s, (void)arg;
    if (!io_busy(&shard->look_op))
        io_defer(&shard->look_op, shard->io, IO_OK, on_look);
}

void cli_serve_leave(struct shard *shard)
{
    struct serve *s = shard->s;
    if (s->requests_max == UINT64_MAX)
        return;
    __atomic_fetch_sub(&s->admitted, 1, __ATOMIC_SEQ_CST);
    for (unsigned i = 0; i < s->shards; i++) {
        struct shard *other = &s->shard[i];
        if (__atomic_load_n(&other->waiters, __ATOMIC_SEQ_CST) == 0)
            continue;
        if (other == shard)
            look_soon(s, shard, NULL);
        else
            cli_serve_post(shard->io, i + 1, s, other, look_soon, NULL);
    }
}
