#include "follow.h"
#include "ltx/rig.h"

#include "log/recover.h"

/* A dead session with seven batches: slots of two each for the first six, followers that hold some of them.
 */
#define BATCHES 7u
#define SLOTS 3u
#define MEMBERS 2u

struct fill {
    const char *what;
    unsigned missing, corrupt,
        cut; /* A slot; 0: none. corrupt: a byte of it is wrong; cut: half of it is there. */
    uint64_t recorded; /* The lease's lower bound of its slots. */
    uint64_t base[MEMBERS], end[MEMBERS]; /* What the followers hold: (base, end]. */
    unsigned other[MEMBERS]; /* This batch is not what the leader sent; 0: none. */
    enum log_recover_end how;
    const char *why;
};

static const struct fill fills[] = {
    {"all is there", 0, 0, 0, 3, {4, 4}, {7, 7}, {0, 0}, LOG_RECOVER_FINISHED, ""},
    {"a slot is gone", 2, 0, 0, 3, {2, 4}, {7, 7}, {0, 0}, LOG_RECOVER_FINISHED, ""},
    {"the first slot is gone", 1, 0, 0, 3, {0, 0}, {7, 7}, {0, 0}, LOG_RECOVER_FINISHED, ""},
    {"two of them", 1, 0, 2, 3, {0, 0}, {7, 7}, {0, 0}, LOG_RECOVER_FINISHED, ""},
    {"a slot is damaged", 0, 2, 0, 3, {4, 2}, {7, 7}, {0, 0}, LOG_RECOVER_FINISHED, ""},
    {"a slot is cut", 0, 0, 2, 3, {4, 2}, {7, 7}, {0, 0}, LOG_RECOVER_FINISHED, ""},
    {"given up", 2, 0, 0, 3, {3, 3}, {7, 7}, {0, 0}, LOG_RECOVER_REFUSED, "log_slot_missing"},
    {"given up, damaged", 0, 2, 0, 3, {4, 4}, {7, 7}, {0, 0}, LOG_RECOVER_REFUSED, "log_slot_corrupt"},
    {"given up, cut", 0, 0, 2, 3, {4, 4}, {7, 7}, {0, 0}, LOG_RECOVER_REFUSED, "log_slot_corrupt"},
    {"nothing behind it", 3, 0, 0, 3, {0, 0}, {7, 7}, {0, 0}, LOG_RECOVER_REFUSED, "log_slot_missing"},
    {"cut, nothing behind it", 0, 0, 3, 3, {0, 0}, {7, 7}, {0, 0}, LOG_RECOVER_REFUSED, "log_slot_corrupt"},
    {"damaged, its head tells", 0, 3, 0, 3, {0, 0}, {7, 7}, {0, 0}, LOG_RECOVER_FINISHED, ""},
    {"the last one was never stored", 3, 0, 0, 2, {4, 4}, {7, 7}, {0, 0}, LOG_RECOVER_FINISHED, ""},
    {"slot and follower differ",
     0,
     0,
     0,
     3,
     {2, 4},
     {7, 7},
     {4, 0},
     LOG_RECOVER_REFUSED,
     "log_copies_differ"},
    {"followers differ", 0, 0, 0, 3, {2, 4}, {7, 7}, {0, 7}, LOG_RECOVER_REFUSED, "log_copies_differ"},
};

struct bay {
    const struct fill *f;
    unsigned wide; /* So many other cells have a row in the first batch, too. */
    uint64_t left; /* Not 0: the epoch is retired, but the object of transactions 1 to this is there. */
    struct sim *sim;
    struct ltx_zstd *zstd;
    struct cd_buf batch[BATCHES + 1], wrong; /* wrong: what a follower has instead. */
    uint8_t digest[BATCHES + 1][LOG_SHA256_SIZE];
    struct log_recover r;
    bool over;
};

static void make_batch(struct bay *b, struct cd_buf *to, uint64_t n, unsigned seed, uint8_t *digest)
{
    struct rig_segment s = {.epoch = 1,
                            .min = n,
                            .old_commit = n == 1 ? 0 : 2,
                            .commit = 2,
                            .pages = {1},
                            .seed = seed,
                            .flags = n == 1 ? LTX_SNAPSHOT | LTX_DBSUM : 0};
    struct log_batch_out o;
    struct log_row *row = log_row_new(RIG_SCOPE, 1);
    row->min_txid = row->max_txid = n;
    row->ltx = rig_make(b->zstd, &s);
    log_batch_begin(&o, to, CD_STR(SESSION), n, 2, 1);
    log_batch_add(&o, row);
    for (unsigned i = 0; n == 1 && i < b->wide; i++) {
        char scope[32];
        (void)snprintf(scope, sizeof scope, "Wide:%u", i);
        struct log_row *other = log_row_new(cd_str(scope), 1);
        other->min_txid = other->max_txid = 1;
        s.scope = cd_str(scope);
        other->ltx = rig_make(b->zstd, &s);
        log_batch_add(&o, other);
        log_row_free(other);
    }
    log_batch_end(&o, digest);
    log_row_free(row);
}

static void put_slot(struct bay *b, uint64_t slot)
{
    struct log_slot_head head = {.kind = LOG_SLOT_BATCHES,
                                 .slot = slot,
                                 .first_batch = 2 * slot - 1,
                                 .last_batch = 2 * slot,
                                 .pipeline = 1};
    struct cd_buf key = {0}, body = {0};
    struct log_slot_out o;
    log_slot_key(&key, CD_STR(SESSION), slot);
    log_slot_begin(&o, &body, CD_STR(SESSION), &head);
    for (uint64_t n = head.first_batch; n <= head.last_batch; n++) {
        cd_buf_add_str(&body, cd_buf_str(&b->batch[n]));
        log_slot_batch(&o, b->digest[n]);
    }
    log_slot_end(&o);
    if (slot == b->f->corrupt)
        body.ptr[body.len / 2] ^= 1;
    if (slot == b->f->cut)
        body.len /= 2;
    sim_store_put_truth(b->sim, cd_buf_str(&key), cd_buf_str(&body));
    cd_buf_deinit(&key);
    cd_buf_deinit(&body);
}

static const char *const member[MEMBERS] = {"node_f", "node_g"};

static void put_leases(struct bay *b)
{
    struct store_lease l = follow_lease(2);
    l.log.may_have_fleet_acks = true;
    l.log.slot = b->f->recorded;
    l.log.ensemble_count = MEMBERS;
    for (unsigned i = 0; i < MEMBERS; i++) {
        struct store_lease m = follow_lease(1);
        (void)snprintf(l.log.ensemble[i], sizeof l.log.ensemble[i], "%s", member[i]);
        (void)snprintf(m.node, sizeof m.node, "%s", member[i]);
        (void)snprintf(m.addr, sizeof m.addr, "host:1");
        m.has_log = false;
        follow_lease_put(b->sim, &m);
    }
    follow_lease_put(b->sim, &l);
}

static void put_name(struct bay *b, uint64_t epoch, unsigned level, uint64_t max)
{
    struct cd_buf key = {0};
    ltx_key(&key, &(struct ltx_name){RIG_SCOPE, epoch, level, 1, max});
    sim_store_put_truth(b->sim, cd_buf_str(&key), CD_STR("only its name is read"));
    cd_buf_deinit(&key);
}

/* A later epoch of the same session has an image, the log its floor where a slot is missing, and the deletes
 * of the first epoch's objects came to all but one. */
static void put_retired(struct bay *b)
{
    struct cd_buf key = {0}, body = {0};
    put_name(b, 1, LTX_L0, b->left);
    put_name(b, 2, LTX_L9, 2 * BATCHES);
    store_key_retired_epochs(&key, RIG_SCOPE);
    store_retired_epochs_write(&body, 2);
    sim_store_put_truth(b->sim, cd_buf_str(&key), cd_buf_str(&body));
    cd_buf_clear(&key);
    cd_buf_clear(&body);
    store_key_floor(&key, CD_STR(SESSION));
    store_floor_write(&body, &(struct store_floor){.floor = b->f->missing, .batch = 2 * b->f->missing});
    sim_store_put_truth(b->sim, cd_buf_str(&key), cd_buf_str(&body));
    cd_buf_deinit(&key);
    cd_buf_deinit(&body);
}

static int answer(void *arg, struct log_call *c)
{
    struct bay *b = arg;
    unsigned i = strcmp(c->peer->node, member[0]) == 0 ? 0 : 1;
    struct cd_buf frames = {0};
    c->reached = true;
    c->status = 200;
    if (strcmp(c->path, LOG_PATH_SEAL) == 0) {
        log_seal_answer_write(&c->answer, &(struct log_seal_answer){b->f->base[i], b->f->end[i], 2, 2});
        return IO_OK;
    }
    for (uint64_t n = b->f->base[i] + 1; n <= b->f->end[i]; n++)
        log_frame_add(&frames, cd_buf_str(n == b->f->other[i] ? &b->wrong : &b->batch[n]));
    log_tail_write(&c->answer, &(struct log_tail){.epoch = 2,
                                                  .base = b->f->base[i],
                                                  .end = b->f->end[i],
                                                  .complete = true,
                                                  .count = (uint32_t)(b->f->end[i] - b->f->base[i]),
                                                  .frames = cd_buf_str(&frames)});
    cd_buf_deinit(&frames);
    return IO_OK;
}

static void flow(void *arg)
{
    struct bay *b = arg;
    struct io *io = io_current();
    const struct log_peers peers = {b, answer};
    struct log_recoverer *rr = log_recoverer_new(&(struct log_recoverer_opts){
        .io = io, .bucket = sim_bucket(io, ""), .session = CD_STR(OTHER), .peers = &peers});
    b->r = (struct log_recover){.session = CD_STR(SESSION), .mode = LOG_RECOVER_SWEEP};
    CHECK_INT(log_recover(rr, &b->r), IO_OK);
    log_recoverer_free(rr);
    b->over = true;
}

static void boot(struct io *io, void *arg)
{
    (void)io_spawn(io, "fill", flow, arg);
}

static bool over(void *arg)
{
    return ((struct bay *)arg)->over;
}

/* *ms, if wanted: when it was over. */
static struct log_recover bay_run(struct bay b, uint64_t *ms)
{
    const struct fill *f = b.f;
    b.sim = sim_new(NULL);
    b.zstd = ltx_zstd_new();
    sim_store_set(b.sim, &(struct sim_store_opts){.latency_ns = IO_MS(20)});
    uint8_t digest[LOG_SHA256_SIZE];
    for (uint64_t n = 1; n <= BATCHES; n++)
        make_batch(&b, &b.batch[n], n, (unsigned)n, b.digest[n]);
    if (f->other[0] + f->other[1] > 0)
        make_batch(&b, &b.wrong, f->other[0] + f->other[1], 50, digest);
    for (unsigned slot = 1; slot <= SLOTS; slot++)
        if (slot != f->missing)
            put_slot(&b, slot);
    put_leases(&b);
    if (b.left > 0)
        put_retired(&b);
    (void)sim_node(b.sim,
                   &(struct sim_node_opts){.name = "r", .loops = 1, .program = {boot, NULL, &b, NULL}});
    assert_true(sim_run_until(b.sim, over, &b, IO_SEC(60)));
    if (b.r.end != f->how || strstr(b.r.why, f->why) == NULL)
        fail_msg("%s: %s, %s", f->what, log_recover_end_name(b.r.end), b.r.why);
    if (ms != NULL)
        *ms = sim_now_ns(b.sim) / 1000000;
    for (uint64_t n = 1; n <= BATCHES; n++)
        cd_buf_deinit(&b.batch[n]);
    cd_buf_deinit(&b.wrong);
    sim_free(b.sim);
    ltx_zstd_free(b.zstd);
    return b.r;
}

static void fill_run(const struct fill *f, uint64_t left)
{
    struct log_recover r = bay_run((struct bay){.f = f, .left = left}, NULL);
    if (f->how == LOG_RECOVER_FINISHED)
        assert_int_equal(r.rows, left > 0 ? 0 : BATCHES); /* Each once, wherever it came from. */
}

static void test_slots_that_are_lost_come_from_followers_or_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < CD_COUNT(fills); i++)
        if (fills[i].other[0] + fills[i].other[1] == 0)
            fill_run(&fills[i], 0);
}

static void test_copies_that_differ_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < CD_COUNT(fills); i++)
        if (fills[i].other[0] + fills[i].other[1] > 0)
            fill_run(&fills[i], 0);
}

static void test_nothing_of_a_retired_epoch_comes_back(void **state)
{
    (void)state;
    const struct fill attaches = {
        .what = "a row would attach", .recorded = 3, .how = LOG_RECOVER_FINISHED, .why = ""};
    const struct fill detached = {
        .what = "no row would", .missing = 1, .recorded = 3, .how = LOG_RECOVER_FINISHED, .why = ""};
    fill_run(&attaches, 2);
    fill_run(&detached, 1);
}

/* Nobody gets a cell of the session before the last one is there. */
static void test_many_cells_take_few_rounds_of_the_bucket(void **state)
{
    (void)state;
    uint64_t few, many;
    const unsigned wide = 300;
    (void)bay_run((struct bay){.f = &fills[0]}, &few);
    struct log_recover r = bay_run((struct bay){.f = &fills[0], .wide = wide}, &many);
    assert_int_equal(r.rows, BATCHES + wide);
    /* Five rounds of lists and five of puts, where one cell is one of each, and a checkpoint. */
    if (many > few + 10 * 20)
        fail_msg("one cell took %llu ms, 301 took %llu", (unsigned long long)few, (unsigned long long)many);
}

CD_TESTS(fill, cmocka_unit_test(test_slots_that_are_lost_come_from_followers_or_are_named),
         cmocka_unit_test(test_copies_that_differ_are_named),
         cmocka_unit_test(test_nothing_of_a_retired_epoch_comes_back),
         cmocka_unit_test(test_many_cells_take_few_rounds_of_the_bucket))
