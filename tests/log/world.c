#include "world.h"

#define SETTLE_NS IO_SEC(120)

static uint64_t draw(struct cd_rng *r, uint64_t low, uint64_t high)
{
    return low + cd_rng_below(r, high - low + 1);
}

/* ---- Shards ---- */

static void reset(struct world_shard *s, struct world_cell *c)
{
    struct log_drop d = {.scope = c->scope, .epoch = c->epoch, .cut_txid = c->txid};
    for (size_t i = 0; i < s->rows; i++)
        if (strcmp(s->row[i]->scope, c->scope) == 0 && s->row[i]->epoch == c->epoch && !s->row[i]->acked)
            s->row[i]->in_doubt = true;
    log_feed_drop(s->feed, &d, NULL);
    int rc = io_await(&d.op, IO_FOREVER);
    if (rc != IO_OK)
        return;
    if (d.cut_txid > c->txid)
        world_break(s->w, "C-VALID", "of %s %llu were cut, %llu handed over", c->scope,
                    (unsigned long long)d.cut_txid, (unsigned long long)c->txid);
    world_dropped(s, c, d.cut_txid);
    c->epoch++;
    c->txid = d.cut_txid;
}

static size_t length(struct world_shard *s)
{
    uint64_t target = s->w->opts.target_bytes;
    if (s->w->opts.large && cd_rng_below(&s->rng, 25) == 0)
        return (size_t)draw(&s->rng, target + 1, 3 * target);
    return (size_t)draw(&s->rng, 1, cd_rng_below(&s->rng, 6) == 0 ? target : 200);
}

static void shard_flow(void *arg)
{
    struct world_shard *s = arg;
    struct world *w = s->w;
    uint64_t mean = IO_SEC(1) / w->opts.rows_per_s;
    while (!w->quiet && io_sleep(s->io, draw(&s->rng, 0, 2 * mean)) == IO_OK && !w->quiet) {
        unsigned burst = cd_rng_below(&s->rng, 5) == 0 ? 6 : 1;
        for (unsigned i = 0; i < burst; i++) {
            struct world_cell *c = &s->cell[cd_rng_below(&s->rng, WORLD_CELLS)];
            (void)log_feed_row(s->feed, world_row_new(s, c, length(s)));
        }
        if (w->opts.resets && cd_rng_below(&s->rng, 60) == 0)
            reset(s, &s->cell[cd_rng_below(&s->rng, WORLD_CELLS)]);
    }
    struct log_wait last = {.seq = log_feed_last(s->feed)};
    log_feed_wait(s->feed, &last, NULL);
    int rc = io_await(&last.op, io_now_ns(s->io) + SETTLE_NS);
    world_event(w, NULL);
    if (rc == IO_TIMEDOUT)
        world_break(w, "C-SETTLE", "loop %u: rows up to %llu of %llu became proven", io_loop_index(s->io),
                    (unsigned long long)log_feed_proven(s->feed), (unsigned long long)last.seq);
    struct io_op closed = {0};
    struct log_feed *f = s->feed;
    s->feed = NULL;
    log_feed_close(f, &closed, NULL);
    (void)io_await(&closed, IO_FOREVER); /* It comes even to a dead node. */
    s->ended = true;
}

static void shard_start(struct io *at, struct io_msg *m)
{
    struct world_shard *s = CD_CONTAINER(m, struct world_shard, start);
    s->io = at;
    s->feed = log_feed_open(s->w->log, at);
    (void)io_spawn(at, "shard", shard_flow, s);
}

/* ---- The control loop ---- */

static void publish_due(struct io_op *op, int status)
{
    struct world *w = CD_CONTAINER(op, struct world, publish_timer.op);
    if (status == IO_OK && w->publish_fails > 0) {
        w->publish_fails--;
        status = IO_TIMEDOUT;
    } else if (status == IO_OK && w->publish_seal) {
        w->published_seal = true;
        w->seal_slot = w->publish_slot;
    } else if (status == IO_OK) {
        w->opened = true;
    }
    io_signal_wake(&w->publishing, status);
}

static void publish(void *arg, const struct store_log_record *record, struct io_op *op, io_done_fn *done)
{
    struct world *w = arg;
    struct io *io = sim_io(w->node, 0);
    w->publish_seal = record->state == STORE_LOG_SEALED;
    w->publish_slot = record->seal;
    io_signal_wait(&w->publishing, io, op, done);
    if (!io_busy(&w->publish_timer.op))
        io_timer_start(&w->publish_timer, io, IO_MS(draw(&w->rng, 1, 200)), publish_due);
}

static void fence(void *arg, const char *cause)
{
    struct world *w = arg;
    (void)cause;
    w->fenced = true;
    w->quiet = true;
}

static void durable(void *arg, struct log_durable *d)
{
    world_folded(arg, d);
}

static bool shards_ended(const struct world *w)
{
    for (unsigned i = 1; i < WORLD_LOOPS; i++)
        if (!w->shard[i].ended)
            return false;
    return true;
}

static void control_flow(void *arg)
{
    struct world *w = arg;
    struct io *io = sim_io(w->node, 0);
    struct io_op op = {0};
    while (!shards_ended(w) && io_sleep(io, IO_MS(50)) == IO_OK) {
    }
    log_flush(w->log, &op, NULL);
    w->seal_status = io_await(&op, io_now_ns(io) + SETTLE_NS);
    if (w->seal_status == IO_OK) {
        log_seal(w->log, &op, NULL);
        w->seal_status = io_await(&op, io_now_ns(io) + SETTLE_NS);
    }
    log_close(w->log, &op, NULL);
    (void)io_await(&op, IO_FOREVER);
    w->log = NULL;
    w->ended = true;
}

static void boot(struct io *io, void *arg)
{
    struct world *w = arg;
    if (io_loop_index(io) != 0)
        return;
    struct log_opts opts = {.io = io,
                            .bucket = sim_bucket(io, ""),
                            .session = CD_STR(SESSION),
                            .pipeline = w->opts.pipeline,
                            .target_bytes = w->opts.target_bytes,
                            .arg = w,
                            .publish = publish,
                            .fence = fence,
                            .durable = durable};
    w->log = log_new(&opts);
    (void)io_spawn(io, "control", control_flow, w);
    for (unsigned i = 1; i < WORLD_LOOPS; i++)
        io_post(io, i, &w->shard[i].start);
}

/* ---- The run ---- */

/* As a recoverer does it: in the first slot behind the unbroken row. */
static void seal_now(struct sim *sim, void *arg)
{
    struct world *w = arg;
    struct cd_buf key = {0}, bytes = {0};
    if (!w->opened || w->sealed != 0 || w->published_seal)
        return;
    struct log_slot_head h = {.kind = LOG_SLOT_SEAL,
                              .slot = w->prefix + 1,
                              .first_batch = w->prefix_batch + 1,
                              .last_batch = w->prefix_batch,
                              .pipeline = (uint16_t)w->opts.pipeline};
    struct sim_object o;
    log_slot_key(&key, CD_STR(SESSION), h.slot);
    if (!sim_store_get_truth(sim, cd_buf_str(&key), &o)) {
        log_slot_seal(&bytes, CD_STR(SESSION), &h, &(struct log_seal_text){CD_STR(OTHER), 1, 2});
        w->sealed = h.slot;
        sim_store_put_truth(sim, cd_buf_str(&key), cd_buf_str(&bytes));
    }
    cd_buf_deinit(&key);
    cd_buf_deinit(&bytes);
}

static void crash_now(struct sim *sim, void *arg)
{
    struct world *w = arg;
    (void)sim;
    w->crashed = w->quiet = true;
    sim_crash(w->node, SIM_KILL);
}

static void heal_now(struct sim *sim, void *arg)
{
    struct world *w = arg;
    sim_store_heal(sim);
    w->quiet = true;
}

static void faults(struct world *w)
{
    struct sim_store_opts o = {.latency_ns = IO_MS(5), .jitter_ns = IO_MS(draw(&w->rng, 0, 40))};
    if (w->opts.faults) {
        uint32_t *rate[] = {&o.throttle_ppm, &o.fail_ppm, &o.lose_request_ppm, &o.lose_answer_ppm,
                            &o.late_ppm};
        for (size_t i = 0; i < CD_COUNT(rate); i++)
            *rate[i] = cd_rng_below(&w->rng, 2) == 0 ? 0 : (uint32_t)draw(&w->rng, 1000, 150000);
        o.late_ns = IO_SEC(draw(&w->rng, 1, 40));
        w->publish_fails = (unsigned)cd_rng_below(&w->rng, 3);
    }
    sim_store_set(w->sim, &o);
    if (w->opts.late_ns != 0)
        sim_store_rule(w->sim, &(struct sim_store_rule){.effect = SIM_STORE_LATE,
                                                        .op = "put",
                                                        .pattern = "log/*",
                                                        .ns = w->opts.late_ns,
                                                        .ppm = 100000});
}

static bool over(void *arg)
{
    struct world *w = arg;
    return w->broken != NULL || w->ended || (w->crashed && sim_node_life(w->node) == SIM_DEAD);
}

void world_run(struct world *w, const struct world_opts *opts)
{
    *w = (struct world){.opts = *opts};
    struct world_opts *o = &w->opts;
    cd_rng_seed(&w->rng, o->seed, CD_STR("world"));
    o->pipeline = o->pipeline != 0 ? o->pipeline : (unsigned)draw(&w->rng, 1, 5);
    o->target_bytes = o->target_bytes != 0 ? o->target_bytes : 2000;
    o->rows_per_s = o->rows_per_s != 0 ? o->rows_per_s : 60;
    o->for_ns = o->for_ns != 0 ? o->for_ns : IO_SEC(8);
    w->sim = sim_new(&(struct sim_opts){
        .seed = o->seed, .policy = (enum sim_policy)(o->seed % 3), .slack_ns = IO_MS(o->seed % 2)});
    io_signal_init(&w->publishing);
    for (unsigned i = 1; i < WORLD_LOOPS; i++) {
        struct world_shard *s = &w->shard[i];
        s->w = w;
        s->start.handle = shard_start;
        cd_rng_seed(&s->rng, o->seed * WORLD_LOOPS + i, CD_STR("shard"));
        for (unsigned k = 0; k < WORLD_CELLS; k++) {
            (void)snprintf(s->cell[k].scope, sizeof s->cell[k].scope, "Room:%u-%u", i, k);
            s->cell[k].epoch = 1;
        }
    }
    faults(w);
    w->node = sim_node(w->sim, &(struct sim_node_opts){
                                   .name = "n1", .loops = WORLD_LOOPS, .program = {boot, NULL, w, NULL}});
    sim_on_store(w->sim, world_stored, w);
    sim_on_event(w->sim, world_event, w);
    sim_at(w->sim, o->for_ns, heal_now, w);
    if (o->seal)
        sim_at(w->sim, draw(&w->rng, IO_MS(100), o->for_ns), seal_now, w);
    if (o->crash)
        sim_at(w->sim, draw(&w->rng, IO_MS(1), o->for_ns), crash_now, w);
    bool ended = sim_run_until(w->sim, over, w, o->for_ns + 3 * SETTLE_NS);
    if (!ended)
        world_break(w, "C-SETTLE", "the node does not come to its end");
    world_audit(w);
}

void world_deinit(struct world *w)
{
    w->broken = w->broken != NULL ? w->broken : "over"; /* What still happens is not judged. */
    w->quiet = true;
    sim_free(w->sim);
    for (struct cd_map_node *n = cd_map_first(&w->row); n != NULL; n = cd_map_next(n))
        cd_free(cd_map_value(n));
    cd_map_deinit(&w->row);
    for (unsigned i = 0; i < WORLD_LOOPS; i++)
        cd_free(w->shard[i].row);
    cd_buf_deinit(&w->why);
}
