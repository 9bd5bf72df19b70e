#include "town.h"

#include "fleet/peer.h"
#include "log/fold.h"
#include "support/test.h"

#define SCOPE RIG_SCOPE
#define KEY "cells/Counter:a/owner.json"
#define DATA "/data"
#define PEER_PORT 82u
#define FILE_ DATA "/db.sqlite"

/* ---- The truth ---- */

static bool descends(const struct town *t, unsigned row, unsigned from)
{
    while (row > from)
        row = t->parent[row];
    return row == from;
}

static void on_store(void *arg, const struct sim_store_change *c)
{
    struct town *t = arg;
    struct store_owner o;
    if (!cd_str_eq(c->key, CD_STR(KEY)))
        return;
    CHECK(c->after != NULL);
    CHECK_INT(store_owner_read(&o, c->after->body, NULL), 0);
    CHECK_INT(o.epoch, t->epoch + 1);
    t->epoch = o.epoch;
}

/* Seeds that rig_page writes as text. */
static unsigned seed_of(unsigned row)
{
    return 3 * row + 1;
}

static unsigned row_in_file(struct io *io)
{
    struct io_file f = {0};
    char page[RIG_PAGE];
    size_t n;
    uint64_t seed;
    CHECK_INT(io_file_open(&f, io, FILE_, IO_FILE_READONLY), IO_OK);
    CHECK_INT(io_file_pread(&f, page, sizeof page, 0, &n), IO_OK);
    CHECK_INT(io_file_close(&f), IO_OK);
    size_t head = sizeof "page 1 of seed " - 1;
    CHECK_INT(n, sizeof page);
    CHECK_INT(cd_str_u64(cd_str_of(page + head, strnlen(page + head, 12)), &seed), 0);
    return (unsigned)(seed - 1) / 3;
}

/* ---- The actor ---- */

struct activation {
    struct town_node *n;
    struct io *io;
    uint64_t epoch, txid, base_epoch, base_txid;
    unsigned row; /* The newest in the database. */
    unsigned written; /* By this activation. */
    uint64_t seq; /* Of its last row in the feed. */
};

static int claim_it(struct activation *a, struct fleet_claim *c)
{
    uint64_t until = io_now_ns(a->io) + IO_SEC(15);
    *c = (struct fleet_claim){.io = a->io,
                              .bucket = io_bucket(a->io),
                              .self = fleet_node_self(a->n->node),
                              .scope = SCOPE,
                              .deadline_ns = until,
                              .recovery_deadline_ns = until};
    int rc = fleet_claim(c);
    if (rc == IO_OK && c->end != FLEET_CLAIM_OWNED) {
        memcpy(a->n->why, c->why, sizeof a->n->why);
        return IO_BUSY;
    }
    return rc;
}

static int restore_it(struct activation *a, const struct fleet_claim *c)
{
    struct town *t = a->n->town;
    struct log_restore r = {.io = a->io,
                            .bucket = io_bucket(a->io),
                            .scope = SCOPE,
                            .epoch = c->epoch,
                            .path = FILE_,
                            .zstd = t->zstd};
    int rc = log_restore(&r);
    if (rc != IO_OK)
        return rc;
    memcpy(a->n->why, r.why, sizeof r.why);
    if (r.end == LOG_RESTORE_FAILED)
        return IO_BUSY;
    CHECK(r.end == LOG_RESTORE_DONE || r.end == LOG_RESTORE_NO_DATA);
    unsigned row = r.end == LOG_RESTORE_DONE ? row_in_file(a->io) : 0;
    CHECK(row <= t->rows);
    if (t->lossy)
        t->acked = row;
    t->lossy = false;
    if (t->epoch == c->epoch) /* Else somebody took the cell meanwhile, and we are about to hear of it. */
        CHECK(descends(t, row, t->acked)); /* No acknowledged row is ever lost. */
    a->epoch = c->epoch;
    a->base_epoch = r.base_epoch;
    a->base_txid = a->txid = r.end == LOG_RESTORE_DONE ? r.base_txid : 0;
    a->row = row;
    a->written = 0;
    a->n->restores++;
    return IO_OK;
}

static void write_row(struct activation *a)
{
    struct town *t = a->n->town;
    CHECK(t->rows + 1 < TOWN_ROWS);
    unsigned row = ++t->rows;
    t->parent[row] = a->row;
    struct rig_segment s = {.epoch = a->epoch,
                            .min = a->txid + 1,
                            .old_commit = a->txid == 0 ? 0 : 2,
                            .commit = 2,
                            .pages = {1},
                            .seed = seed_of(row)};
    if (a->written == 0)
        s.flags = a->txid == 0 ? LTX_SNAPSHOT | LTX_DBSUM : LTX_MARKER;
    if (s.flags == LTX_MARKER) {
        s.base_epoch = a->base_epoch;
        s.base_txid = a->base_txid;
    }
    struct log_row *out = log_row_new(SCOPE, a->epoch);
    out->min_txid = out->max_txid = s.min;
    out->ltx = rig_make(t->zstd, &s);
    a->seq = log_feed_row(a->n->feed, out);
    a->txid++;
    a->row = row;
    a->written++;
}

static int prove(struct activation *a)
{
    struct log_wait w = {.seq = a->seq};
    log_feed_wait(a->n->feed, &w, NULL);
    return io_await(&w.op, io_now_ns(a->io) + IO_SEC(10));
}

/* A row is acknowledged: it descends from the newest that is, or it is an ancestor of that. The latter is one
 * whose slot a successor has read: who is dead by a clock that jumped may hear of it later than that. */
static void acknowledge(struct activation *a)
{
    struct town *t = a->n->town;
    bool late = descends(t, t->acked, a->row), fork = !late && !descends(t, a->row, t->acked);
    if (fork)
        fprintf(stderr,
                "row %u (of %u) by %s in epoch %llu, the record is at %llu, acknowledged is %u (of %u)\n",
                a->row, t->parent[a->row], a->n->id, (unsigned long long)a->epoch,
                (unsigned long long)t->epoch, t->acked, t->parent[t->acked]);
    CHECK(!fork); /* Nobody acknowledged what the other has not seen. */
    if (!late)
        t->acked = a->row;
    a->n->acks++;
}

/* The output gate: proven, and with authority at this very instant. */
static int gate(struct activation *a)
{
    int rc = prove(a);
    if (rc == IO_OK && fleet_authoritative(fleet_node_authority(a->n->node), io_now_ns(a->io)) &&
        !a->n->leaving)
        acknowledge(a);
    return rc;
}

/* Before the same session takes the cell again: its own rows come first (fleet.md 7.7). */
static int fold_tail(struct activation *a)
{
    if (a->written == 0)
        return IO_OK;
    struct log_fold f = {.scope = "Counter:a", .epoch = a->epoch, .upto = a->txid};
    int rc = prove(a);
    if (rc != IO_OK)
        return rc;
    log_fold(fleet_node_folder(a->n->node), a->io, &f, NULL);
    return io_await(&f.op, io_now_ns(a->io) + IO_SEC(15));
}

static void actor_flow(void *arg)
{
    struct town_node *n = arg;
    struct activation a = {.n = n, .io = io_current()};
    struct cd_rng *rng = &n->town->rng;
    int rc = IO_OK;
    while (!n->leaving && rc != IO_CANCELED) {
        struct fleet_claim c;
        rc = fold_tail(&a);
        if (rc == IO_OK)
            rc = claim_it(&a, &c);
        if (rc == IO_OK) {
            n->claims++;
            rc = restore_it(&a, &c);
        }
        for (uint64_t i = n->town->steady ? UINT64_MAX : cd_rng_below(rng, 6);
             rc == IO_OK && i > 0 && !n->leaving; i--) {
            for (uint64_t k = 1 + cd_rng_below(rng, 3); k > 0; k--)
                write_row(&a);
            rc = gate(&a);
            do {
                if (rc == IO_OK)
                    rc = io_sleep(a.io, IO_MS(cd_rng_below(rng, 300)));
            } while (rc == IO_OK && n->town->quiet && !n->leaving);
        }
        if (rc != IO_CANCELED && rc != CD_EFENCED && !n->leaving)
            rc = io_sleep(a.io, IO_MS(200));
        if (rc == CD_EFENCED)
            break; /* The process is about to end. */
    }
    n->actor = NULL;
}

/* ---- A process ---- */

static void supervise(struct sim *sim, void *arg)
{
    struct town_node *n = arg;
    if (sim_node_life(n->sim) == SIM_UP)
        sim_crash(n->sim, SIM_KILL);
    if (sim_node_life(n->sim) != SIM_DEAD) {
        sim_at(sim, IO_MS(10), supervise, n);
        return;
    }
    n->ready = false;
    sim_restart(n->sim, false);
}

static void ready(void *arg)
{
    struct town_node *n = arg;
    struct io *io = sim_io(n->sim, 0);
    n->ready = true;
    n->readies++;
    n->ready_ns = sim_now_ns(n->town->sim);
    n->feed = log_feed_open(fleet_node_log(n->node), io);
    n->actor = io_spawn(io, "actor", actor_flow, n);
}

static void halt(void *arg, enum fleet_halt how, const char *why)
{
    struct town_node *n = arg;
    (void)snprintf(n->why, sizeof n->why, "%s", why);
    n->halted = n->leaving = true;
    if (how == FLEET_HALT_START) {
        n->refused++;
        return;
    }
    CHECK(!fleet_authoritative(fleet_node_authority(n->node), io_now_ns(sim_io(n->sim, 0))));
    n->fences++;
    if (!n->town->calm)
        sim_at(n->town->sim, IO_MS(TOWN_TTL_MS), supervise, n);
}

static void hint(void *arg, struct cd_str scope)
{
    (void)scope;
    ((struct town_node *)arg)->hints++;
}

static void on_internal(void *arg, struct http_exchange *x)
{
    struct town_node *n = arg;
    if (!fleet_peer_server_handle(fleet_node_peers(n->node), x))
        http_answer_text(x, 404, "text/plain", CD_STR("nothing here"));
}

static void boot(struct io *io, void *arg)
{
    struct town_node *n = arg;
    (void)sim_bucket(io, "");
    n->lives++;
    n->leaving = n->ready = n->halted = false;
    if (n->town->followers) {
        int rc =
            http_server_open(&n->internal, io, &(struct io_addr){.port = PEER_PORT}, 0, NULL, on_internal, n);
        if (rc != 0)
            n->internal = NULL; /* It dies in this very call. */
        (void)snprintf(n->addr, sizeof n->addr, "%s:%u", sim_node_name(n->sim), PEER_PORT);
    }
    n->node = fleet_node_start(&(struct fleet_node_opts){.io = io,
                                                         .data_dir = CD_STR(DATA),
                                                         .node = cd_str(n->id),
                                                         .addr = cd_str(n->addr),
                                                         .followers = n->town->followers,
                                                         .flush_ms = 1000,
                                                         .ttl_ms = TOWN_TTL_MS,
                                                         .waker_tick_ms = 5000,
                                                         .pipeline = 2,
                                                         .fold_ms = n->town->steady ? 600000 : 3000,
                                                         .sole = n->sole,
                                                         .ready = ready,
                                                         .halt = halt,
                                                         .hint = hint,
                                                         .arg = n});
}

static void internal_stopped(struct io_op *op, int status)
{
    (void)status;
    struct town_node *n = CD_CONTAINER(op, struct town_node, closing);
    if (n->internal != NULL)
        http_server_free(n->internal);
    n->internal = NULL;
    fleet_node_free(n->node);
    n->node = NULL;
    n->stops++;
}

static void node_stopped(struct io_op *op, int status)
{
    struct town_node *n = CD_CONTAINER(op, struct town_node, closing);
    if (n->internal != NULL)
        http_server_stop(n->internal, 0, &n->closing, internal_stopped);
    else
        internal_stopped(op, status);
}

static void feed_closed(struct io_op *op, int status)
{
    (void)status;
    struct town_node *n = CD_CONTAINER(op, struct town_node, closing);
    fleet_node_stop(n->node, &n->closing, node_stopped);
}

static void close_all(struct town_node *n)
{
    struct log_feed *feed = n->feed;
    n->feed = NULL;
    n->leaving = true;
    if (feed != NULL)
        log_feed_close(feed, &n->closing, feed_closed);
    else
        fleet_node_stop(n->node, &n->closing, node_stopped);
}

static void unwind(struct io *io, void *arg)
{
    struct town_node *n = arg;
    (void)io;
    if (n->actor != NULL)
        io_fiber_cancel(n->actor);
    if (n->node != NULL && !io_busy(&n->closing))
        close_all(n);
}

static void leave(struct io *io, void *arg)
{
    (void)io;
    close_all(arg);
}

static bool gone(void *arg)
{
    return ((struct town_node *)arg)->node == NULL;
}

static bool actor_gone(void *arg)
{
    const struct town_node *n = arg;
    return n->actor == NULL || sim_node_life(n->sim) != SIM_UP;
}

void town_restart(struct town_node *n)
{
    struct sim *sim = n->town->sim;
    if (sim_node_life(n->sim) != SIM_UP || n->halted || n->node == NULL)
        return;
    n->leaving = true;
    assert_true(sim_run_until(sim, actor_gone, n, IO_SEC(120)));
    if (sim_node_life(n->sim) != SIM_UP || n->halted)
        return;
    sim_in_loop(n->sim, 0, leave, n);
    assert_true(sim_run_until(sim, gone, n, IO_SEC(120)));
    if (n->halted) /* While it closed: its supervisor starts it again. */
        return;
    sim_run_for(sim, IO_MS(10)); /* Timers that were cancelled end, too. */
    /* A storage test that was cut short cleans up behind the node. */
    assert_true(!n->ready || sim_left(n->sim, NULL) == 0);
    sim_crash_wait(n->sim, SIM_KILL);
    n->ready = false;
    sim_restart(n->sim, false);
}

void town_kill(struct town_node *n, uint64_t after_ns)
{
    if (sim_node_life(n->sim) != SIM_UP || n->halted)
        return;
    sim_crash(n->sim, SIM_KILL);
    sim_at(n->town->sim, after_ns, supervise, n);
}

/* ---- A town ---- */

void town_open(struct town *t, uint64_t seed)
{
    *t = (struct town){.sim = sim_new(&(struct sim_opts){
                           .seed = seed, .policy = (enum sim_policy)(seed % 3), .slack_ns = IO_MS(2)}),
                       .zstd = ltx_zstd_new()};
    cd_rng_seed(&t->rng, seed, CD_STR("town"));
    sim_store_set(t->sim, &(struct sim_store_opts){.latency_ns = IO_MS(10), .jitter_ns = IO_MS(20)});
    sim_on_store(t->sim, on_store, t);
    sim_entropy_install(t->sim);
}

void town_start(struct town *t, unsigned i, const char *host, const char *id)
{
    struct town_node *n = &t->node[i];
    n->town = t;
    n->id = id;
    n->sim = sim_node(t->sim, &(struct sim_node_opts){.name = host, .program = {boot, unwind, n, NULL}});
}

void town_close(struct town *t)
{
    sim_free(t->sim);
    ltx_zstd_free(t->zstd);
}

bool town_acked_more(void *arg)
{
    const struct town_node *n = arg;
    return n->ready && n->acks > 0;
}

bool town_ready(void *arg)
{
    return ((const struct town_node *)arg)->ready;
}
