/* log_bench [SECONDS]: what the node log costs by itself. Two shards hand over rows of 1 KiB at a given rate
 * to a leader whose simulated store takes 8 to 12 ms for a PUT; for each rate: the PUTs that 1,000 rows take,
 * the time from a row to its proof (virtual), and the CPU time of a row, the simulator's included (real). */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "io_sim/sim_store.h"
#include "log/log.h"

#define SHARDS 2u
#define PIPELINE 4u
#define STORE_MS 10u
#define ROW_BYTES 1024u
#define SESSION "bench/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct shard {
    struct bench *b;
    struct io *io;
    struct log_feed *feed;
    uint64_t *at_ns; /* owned: when each row was handed over */
    uint64_t *took_ns; /* owned */
    uint64_t rows, proven, cap;
    struct log_wait wait;
    bool ended;
    struct io_msg start;
};

struct bench {
    struct sim *sim;
    struct sim_node *node;
    struct log *log;
    uint64_t rate, lasts_ns;
    struct shard shard[SHARDS];
    bool closed;
};

static void publish(void *arg, const struct store_log_record *record, struct io_op *op, io_done_fn *done)
{
    (void)record;
    io_defer(op, sim_io(((struct bench *)arg)->node, 0), IO_OK, done);
}

static void fence(void *arg, const char *cause)
{
    (void)arg;
    (void)cause;
    CD_UNREACHABLE();
}

static void durable(void *arg, struct log_durable *d)
{
    struct cd_link *k;
    (void)arg;
    while ((k = cd_list_pop(&d->rows)) != NULL)
        log_row_free(CD_CONTAINER(k, struct log_row, link));
}

static void proven(struct io_op *op, int status)
{
    struct shard *s = CD_CONTAINER(op, struct shard, wait.op);
    uint64_t now = io_now_ns(s->io);
    if (status != IO_OK)
        return;
    for (; s->proven < log_feed_proven(s->feed); s->proven++)
        s->took_ns[s->proven] = now - s->at_ns[s->proven];
    s->wait.seq = s->proven + 1;
    log_feed_wait(s->feed, &s->wait, proven);
}

static void shard_flow(void *arg)
{
    struct shard *s = arg;
    struct bench *b = s->b;
    uint64_t gap_ns = IO_SEC(1) * SHARDS / b->rate, until_ns = io_now_ns(s->io) + b->lasts_ns;
    s->wait.seq = 1;
    log_feed_wait(s->feed, &s->wait, proven);
    while (io_now_ns(s->io) < until_ns && s->rows < s->cap) {
        char scope[32];
        (void)snprintf(scope, sizeof scope, "Bench:%u-%u", io_loop_index(s->io), (unsigned)(s->rows % 1000));
        struct log_row *row = log_row_new(cd_str(scope), 1);
        row->min_txid = row->max_txid = s->rows + 1;
        cd_buf_add_zero(&row->ltx, ROW_BYTES);
        s->at_ns[s->rows++] = io_now_ns(s->io);
        (void)log_feed_row(s->feed, row);
        CD_ASSERT(io_sleep(s->io, io_random_below(s->io, IO_RAND_JITTER, 2 * gap_ns)) == IO_OK);
    }
    while (s->proven < s->rows)
        CD_ASSERT(io_sleep(s->io, IO_MS(1)) == IO_OK);
    struct io_op op = {0};
    log_feed_close(s->feed, &op, NULL);
    CD_ASSERT(io_await(&op, IO_FOREVER) == IO_OK);
    s->ended = true;
}

static void shard_start(struct io *at, struct io_msg *m)
{
    struct shard *s = CD_CONTAINER(m, struct shard, start);
    s->io = at;
    s->feed = log_feed_open(s->b->log, at);
    (void)io_spawn(at, "shard", shard_flow, s);
}

static void control_flow(void *arg)
{
    struct bench *b = arg;
    struct io *io = sim_io(b->node, 0);
    struct io_op op = {0};
    while (!b->shard[0].ended || !b->shard[1].ended)
        CD_ASSERT(io_sleep(io, IO_MS(10)) == IO_OK);
    log_close(b->log, &op, NULL);
    CD_ASSERT(io_await(&op, IO_FOREVER) == IO_OK);
    b->closed = true;
}

static void boot(struct io *io, void *arg)
{
    struct bench *b = arg;
    if (io_loop_index(io) != 0)
        return;
    b->log = log_new(&(struct log_opts){.io = io,
                                        .bucket = sim_bucket(io, ""),
                                        .session = CD_STR(SESSION),
                                        .pipeline = PIPELINE,
                                        .arg = b,
                                        .publish = publish,
                                        .fence = fence,
                                        .durable = durable});
    (void)io_spawn(io, "control", control_flow, b);
    for (unsigned i = 0; i < SHARDS; i++)
        io_post(io, i + 1, &b->shard[i].start);
}

static bool closed(void *arg)
{
    return ((struct bench *)arg)->closed;
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static double cpu_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void measure(uint64_t rate, uint64_t seconds)
{
    struct bench b = {.rate = rate, .lasts_ns = IO_SEC(seconds)};
    uint64_t cap = rate * seconds * 2 + 100;
    uint64_t *all = cd_alloc(2 * cap * sizeof *all);
    b.sim = sim_new(NULL);
    sim_store_set(b.sim, &(struct sim_store_opts){.latency_ns = IO_MS(STORE_MS - 2), .jitter_ns = IO_MS(4)});
    for (unsigned i = 0; i < SHARDS; i++)
        b.shard[i] = (struct shard){.b = &b,
                                    .cap = cap,
                                    .at_ns = cd_alloc(cap * sizeof *all),
                                    .took_ns = cd_alloc(cap * sizeof *all),
                                    .start.handle = shard_start};
    double from = cpu_s();
    b.node = sim_node(
        b.sim, &(struct sim_node_opts){.name = "n1", .loops = SHARDS + 1, .program = {boot, NULL, &b, NULL}});
    CD_ASSERT(sim_run_until(b.sim, closed, &b, IO_SEC(seconds + 60)));
    double cpu = cpu_s() - from;
    uint64_t rows = 0, puts = sim_calls(b.node, "store.put");
    for (unsigned i = 0; i < SHARDS; i++) {
        memcpy(all + rows, b.shard[i].took_ns, b.shard[i].rows * sizeof *all);
        rows += b.shard[i].rows;
    }
    qsort(all, rows, sizeof *all, by_size);
    double ideal = 1e6 * PIPELINE / STORE_MS / (double)rate;
    printf("%8llu %10.1f %10.1f %9.1f %9.1f %9.1f %10.2f\n", (unsigned long long)rate,
           1000.0 * (double)puts / (double)rows, ideal < 1000 ? ideal : 1000, (double)all[rows / 2] / 1e6,
           (double)all[rows * 99 / 100] / 1e6, (double)puts / (double)seconds, cpu * 1e6 / (double)rows);
    sim_free(b.sim);
    for (unsigned i = 0; i < SHARDS; i++) {
        cd_free(b.shard[i].at_ns);
        cd_free(b.shard[i].took_ns);
    }
    cd_free(all);
}

int main(int argc, char **argv)
{
    static const uint64_t rate[] = {10, 100, 1000, 10000, 50000};
    uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 5;
    printf("  rows/s  PUTs/1000  P/(L W)     p50 ms    p99 ms    PUTs/s  CPU us/row\n");
    for (size_t i = 0; i < CD_COUNT(rate); i++)
        measure(rate[i], seconds);
    return 0;
}
