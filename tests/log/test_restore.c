/* Restores from buckets that were filled as owners, folders, recoverers and late ones fill them. */
#include "io_sim/sim_store.h"
#include "log/restore.h"
#include "ltx/rig.h"

#define PAGES_MAX 12u
#define PATH "/data/db.sqlite"

/* A database: for each page the seed that it was written with. */
struct model {
    uint32_t commit;
    unsigned seed[PAGES_MAX + 1];
};

struct stage {
    struct sim *sim;
    struct sim_node *node;
    struct ltx_zstd *zstd;
    struct log_restore r;
    int rc;
    bool done;
};

static void stage_open(struct stage *g, uint64_t seed)
{
    *g = (struct stage){.sim = sim_new(&(struct sim_opts){.seed = seed}), .zstd = ltx_zstd_new()};
    sim_store_set(g->sim, &(struct sim_store_opts){.latency_ns = IO_MS(5), .jitter_ns = IO_MS(5)});
    g->node = sim_node(g->sim, &(struct sim_node_opts){.name = "n1"});
    sim_disk_put(g->node, "/data/x", CD_STR(""));
    (void)sim_bucket(sim_io(g->node, 0), "");
}

static void stage_close(struct stage *g)
{
    sim_free(g->sim);
    ltx_zstd_free(g->zstd);
}

static void put(struct stage *g, unsigned level, const struct cd_buf *bytes)
{
    struct ltx_header h;
    assert_int_equal(ltx_header_read(cd_buf_str(bytes), NULL, &h, NULL), 0);
    struct ltx_name name = {RIG_SCOPE, h.epoch, level, h.min_txid, h.max_txid};
    struct cd_buf key = {0};
    ltx_key(&key, &name);
    sim_store_put_truth(g->sim, cd_buf_str(&key), cd_buf_str(bytes));
    cd_buf_deinit(&key);
}

static void make(struct stage *g, unsigned level, const struct rig_segment *s)
{
    struct cd_buf bytes = rig_make(g->zstd, s);
    put(g, level, &bytes);
    cd_buf_deinit(&bytes);
}

static void restore_flow(void *arg)
{
    struct stage *g = arg;
    g->rc = log_restore(&g->r);
    g->done = true;
}

static void restore_start(struct stage *g, uint64_t epoch, const char *path)
{
    struct io *io = sim_io(g->node, 0);
    g->done = false;
    g->r = (struct log_restore){
        .io = io, .bucket = io_bucket(io), .scope = RIG_SCOPE, .epoch = epoch, .path = path, .zstd = g->zstd};
    (void)io_spawn(io, "restore", restore_flow, g);
}

static bool is_done(void *arg)
{
    return ((struct stage *)arg)->done;
}

static enum log_restore_end restore(struct stage *g, uint64_t epoch)
{
    restore_start(g, epoch, PATH);
    assert_true(sim_run_until(g->sim, is_done, g, IO_SEC(600)));
    assert_int_equal(g->rc, IO_OK);
    struct io_path_info info;
    bool there = io_path_stat(sim_io(g->node, 0), PATH, &info) == IO_OK;
    assert_int_equal(there, g->r.end == LOG_RESTORE_DONE);
    assert_int_equal(io_path_stat(sim_io(g->node, 0), PATH ".tmp", &info), IO_NOENT);
    return g->r.end;
}

static void check_file(struct stage *g, const struct model *m)
{
    struct io_file f = {0};
    uint64_t size;
    assert_int_equal(io_file_open(&f, sim_io(g->node, 0), PATH, IO_FILE_READONLY), IO_OK);
    assert_int_equal(io_file_size(&f, &size), IO_OK);
    assert_int_equal(size, (uint64_t)m->commit * RIG_PAGE);
    for (uint32_t p = 1; p <= m->commit; p++) {
        char got[RIG_PAGE], want[RIG_PAGE];
        size_t n;
        rig_page(want, p, m->seed[p]);
        assert_int_equal(io_file_pread(&f, got, RIG_PAGE, (uint64_t)(p - 1) * RIG_PAGE, &n), IO_OK);
        assert_memory_equal(got, want, RIG_PAGE);
    }
    assert_int_equal(io_file_close(&f), IO_OK);
    assert_int_equal(io_path_remove(sim_io(g->node, 0), PATH), IO_OK);
    assert_int_equal(g->r.pages, m->commit);
    assert_int_equal(g->r.page_size, RIG_PAGE);
}

/* ---- Random histories ---- */

#define ROWS_MAX 12u

struct history {
    struct stage *g;
    struct cd_rng rng;
    unsigned seeds;
    struct model now;
    uint64_t epoch, txid; /* The position of now. */
    /* Of the epoch in progress. */
    struct model before[ROWS_MAX + 1]; /* [i]: after i rows. */
    struct cd_buf row[ROWS_MAX];
    unsigned rows;
};

static uint64_t dice(struct history *h, uint64_t n)
{
    return cd_rng_below(&h->rng, n);
}

/* One transaction: some pages, and perhaps another size. */
static void add_row(struct history *h, uint64_t epoch, uint64_t base_epoch, uint64_t base_txid)
{
    struct rig_segment s = {.epoch = epoch, .old_commit = h->now.commit, .seed = ++h->seeds};
    unsigned n = 0;
    s.min = base_txid + h->rows + 1;
    s.commit = dice(h, 3) == 0 ? 1 + (uint32_t)dice(h, PAGES_MAX) : h->now.commit;
    if (h->rows == 0)
        s.flags = base_epoch == 0 ? LTX_SNAPSHOT | LTX_DBSUM : LTX_MARKER;
    if (s.flags == LTX_MARKER) {
        s.base_epoch = base_epoch;
        s.base_txid = base_txid;
    } else if (s.flags != 0) {
        s.commit = 1 + (uint32_t)dice(h, PAGES_MAX);
        s.old_commit = 0;
    }
    for (uint32_t p = 1; p <= s.commit; p++) {
        if (p > h->now.commit)
            h->now.seed[p] = 0; /* Zeros, unless it is written. */
        if (dice(h, 3) == 0 || p == 1) {
            h->now.seed[p] = s.seed;
            s.pages[n++] = p;
        }
    }
    h->now.commit = s.commit;
    h->row[h->rows++] = rig_make(h->g->zstd, &s);
    h->before[h->rows] = h->now;
}

/* An object of the rows from..to (from 0), as a folder or a compaction makes it. */
static void put_range(struct history *h, unsigned level, unsigned from, unsigned to)
{
    struct ltx_file f[ROWS_MAX];
    struct cd_buf out = {0};
    for (unsigned i = from; i <= to; i++)
        assert_int_equal(ltx_file_open(&f[i - from], cd_buf_str(&h->row[i]), NULL, NULL), 0);
    if (from == to) {
        put(h->g, level, &h->row[from]);
        return;
    }
    assert_int_equal(ltx_merge(&out, f, to - from + 1, NULL, NULL), 0);
    put(h->g, level, &out);
    cd_buf_deinit(&out);
}

static void put_image(struct history *h, uint64_t epoch, uint64_t txid)
{
    /* Each page has a seed of its own: page by page. */
    struct ltx_builder b = {0};
    char page[RIG_PAGE];
    for (uint32_t p = 1; p <= h->now.commit; p++) {
        rig_page(page, p, h->now.seed[p]);
        ltx_builder_page(&b, h->g->zstd, p, page, RIG_PAGE);
    }
    struct ltx_header head = {.flags = LTX_SNAPSHOT | LTX_DBSUM,
                              .page_size = RIG_PAGE,
                              .commit = h->now.commit,
                              .min_txid = 1,
                              .max_txid = txid,
                              .epoch = epoch,
                              .scope_hash = ltx_scope_hash(RIG_SCOPE)};
    struct cd_buf out = {0};
    ltx_builder_finish(&b, h->g->zstd, &head, 0, &out);
    put(h->g, LTX_L9, &out);
    cd_buf_deinit(&out);
}

/* One activation: rows, their objects up to a cut, and what lands beyond it when nobody wants it any more. */
static void activation(struct history *h, uint64_t epoch)
{
    uint64_t base_epoch = h->epoch, base_txid = h->txid;
    h->rows = 0;
    h->before[0] = h->now;
    unsigned rows = 1 + (unsigned)dice(h, 6);
    for (unsigned i = 0; i < rows; i++)
        add_row(h, epoch, base_epoch, base_txid);
    unsigned cut = 1 + (unsigned)dice(h, rows);
    for (unsigned from = 0, to; from < cut; from = to + 1) { /* In ascending order, without a gap. */
        to = from + (unsigned)dice(h, cut - from);
        put_range(h, LTX_L0, from, to);
    }
    for (unsigned i = 0; i < 2; i++) { /* Repeats of what is there. */
        unsigned from = (unsigned)dice(h, cut);
        if (dice(h, 3) == 0)
            put_range(h, from == 0 ? LTX_L1 : LTX_L0, from, from + (unsigned)dice(h, cut - from));
    }
    h->now = h->before[cut];
    h->epoch = epoch;
    h->txid = base_txid + cut;
    if (dice(h, 5) == 0)
        put_image(h, epoch, h->txid);
}

/* Objects that lost: of rows beyond the cut, once a successor has written. */
static void late_ones(struct history *h, uint64_t base_txid)
{
    unsigned cut = (unsigned)(h->txid - base_txid);
    if (cut < h->rows && dice(h, 2) == 0) {
        unsigned from = (unsigned)dice(h, cut + 1);
        put_range(h, LTX_L0, from, cut + (unsigned)dice(h, h->rows - cut));
    }
}

static void forget_rows(struct history *h)
{
    for (unsigned i = 0; i < h->rows; i++)
        cd_buf_deinit(&h->row[i]);
}

static void history(uint64_t seed)
{
    struct stage g;
    stage_open(&g, seed);
    struct history h = {.g = &g};
    cd_rng_seed(&h.rng, seed, CD_STR("history"));
    uint64_t epoch = 0;
    unsigned activations = 1 + (unsigned)dice(&h, 10);
    for (unsigned i = 0; i < activations; i++) {
        uint64_t base_txid = h.txid;
        epoch += 1 + dice(&h, 3); /* Some activations only read. */
        activation(&h, epoch);
        assert_int_equal(restore(&g, epoch + 1), LOG_RESTORE_DONE);
        assert_int_equal(g.r.base_epoch, h.epoch);
        assert_int_equal(g.r.base_txid, h.txid);
        check_file(&g, &h.now);
        struct model at = h.now;
        uint64_t at_epoch = h.epoch, at_txid = h.txid;
        if (i + 1 < activations) { /* The successor writes, then the late ones of this epoch land. */
            struct history next = h;
            epoch += 1;
            activation(&next, epoch);
            late_ones(&h, base_txid);
            forget_rows(&h);
            h = next;
            at = h.now;
            at_epoch = h.epoch;
            at_txid = h.txid;
        }
        forget_rows(&h);
        h.rows = 0;
        assert_int_equal(restore(&g, epoch + 1), LOG_RESTORE_DONE);
        assert_int_equal(g.r.base_epoch, at_epoch);
        assert_int_equal(g.r.base_txid, at_txid);
        check_file(&g, &at);
    }
    stage_close(&g);
}

static void test_random_histories_come_back_as_they_were(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++)
        history(seed);
}

/* ---- Cases ---- */

/* Epoch 1: txids 1 (image), 2, 3. Epoch 4 continues (1, 3): txids 4, 5. */
static const struct rig_segment CHAIN[] = {
    {.flags = LTX_SNAPSHOT | LTX_DBSUM, .epoch = 1, .min = 1, .commit = 3, .pages = {1, 2, 3}, .seed = 1},
    {.epoch = 1, .min = 2, .old_commit = 3, .commit = 3, .pages = {2}, .seed = 2},
    {.epoch = 1, .min = 3, .old_commit = 3, .commit = 4, .pages = {1, 4}, .seed = 3},
    {.flags = LTX_MARKER,
     .epoch = 4,
     .min = 4,
     .base_epoch = 1,
     .base_txid = 3,
     .old_commit = 4,
     .commit = 4,
     .pages = {3},
     .seed = 4},
    {.epoch = 4, .min = 5, .old_commit = 4, .commit = 4, .pages = {2}, .seed = 5},
};
static const struct model CHAIN_END = {.commit = 4, .seed = {0, 3, 5, 4, 3}};

static void make_chain(struct stage *g, unsigned without)
{
    for (unsigned i = 0; i < CD_COUNT(CHAIN); i++) {
        if (i != without)
            make(g, LTX_L0, &CHAIN[i]);
    }
}

static struct cd_str key_of(struct cd_buf *key, const struct rig_segment *s)
{
    struct ltx_name name = {RIG_SCOPE, s->epoch, LTX_L0, s->min, s->min};
    cd_buf_clear(key);
    ltx_key(key, &name);
    return cd_buf_str(key);
}

static void test_a_missing_object_is_an_error_of_its_name(void **state)
{
    (void)state;
    static const enum log_restore_end want[] = {LOG_RESTORE_CORRUPT, LOG_RESTORE_GAP, LOG_RESTORE_CUT_MISSED,
                                                LOG_RESTORE_CORRUPT, LOG_RESTORE_DONE};
    for (unsigned i = 0; i < CD_COUNT(CHAIN); i++) {
        struct stage g;
        stage_open(&g, 1);
        make_chain(&g, i);
        assert_int_equal(restore(&g, 5), want[i]);
        if (want[i] != LOG_RESTORE_DONE)
            assert_true(strlen(g.r.why) > 10);
        stage_close(&g);
    }
}

static void test_each_object_is_verified_and_named(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CD_COUNT(CHAIN); i++) {
        for (unsigned at = 0; at < 3; at++) {
            struct stage g;
            struct cd_buf key = {0};
            stage_open(&g, 1);
            make_chain(&g, i);
            struct cd_buf bytes = rig_make(g.zstd, &CHAIN[i]);
            size_t place = at == 0 ? 40 : at == 1 ? bytes.len / 2 : bytes.len - 20;
            bytes.ptr[place] = (char)(bytes.ptr[place] ^ 1);
            sim_store_put_truth(g.sim, key_of(&key, &CHAIN[i]), cd_buf_str(&bytes));
            assert_int_equal(restore(&g, 5), LOG_RESTORE_CORRUPT);
            assert_true(strstr(g.r.why, cd_buf_cstr(&key)) != NULL);
            cd_buf_deinit(&key);
            cd_buf_deinit(&bytes);
            stage_close(&g);
        }
    }
}

static void test_data_at_the_claimed_epoch_is_refused(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, 1);
    make_chain(&g, 99);
    assert_int_equal(restore(&g, 4), LOG_RESTORE_REFUSED);
    assert_int_equal(restore(&g, 3), LOG_RESTORE_REFUSED);
    assert_int_equal(restore(&g, 5), LOG_RESTORE_DONE);
    check_file(&g, &CHAIN_END);
    assert_int_equal(restore(&g, 0), LOG_RESTORE_DONE);
    assert_int_equal(g.r.objects, 5);
    assert_int_equal(g.r.epochs, 2);
    stage_close(&g);
}

static void test_a_cell_without_objects_has_no_data(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, 1);
    sim_store_put_truth(g.sim, CD_STR("cells/Counter:a/ltx/retired.json"),
                        CD_STR("{\"v\":1,\"retired_below\":2}"));
    sim_store_put_truth(g.sim, CD_STR("cells/Counter:ab/ltx/e0000000000000001/0000/x.ltx"), CD_STR("x"));
    assert_int_equal(restore(&g, 7), LOG_RESTORE_NO_DATA);
    stage_close(&g);
}

static void test_a_plan_reads_headers_only_and_makes_no_file(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, 1);
    make_chain(&g, 99);
    uint64_t gets = sim_calls(g.node, "store.get");
    restore_start(&g, 5, NULL);
    assert_true(sim_run_until(g.sim, is_done, &g, IO_SEC(60)));
    assert_int_equal(g.r.end, LOG_RESTORE_DONE);
    assert_int_equal(g.r.base_epoch, 4);
    assert_int_equal(g.r.base_txid, 5);
    assert_int_equal(sim_calls(g.node, "store.get") - gets, 2);
    struct io_path_info info;
    assert_int_equal(io_path_stat(sim_io(g.node, 0), PATH, &info), IO_NOENT);
    stage_close(&g);
}

/* Nothing is read twice, and headers cost one round trip, not one for each epoch. */
static void test_headers_of_a_chain_are_read_at_once(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, 1);
    sim_store_set(g.sim, &(struct sim_store_opts){.latency_ns = IO_MS(10)});
    for (unsigned e = 1; e <= 6; e++) {
        struct rig_segment s = {.flags = e == 1 ? LTX_SNAPSHOT | LTX_DBSUM : LTX_MARKER,
                                .epoch = 2 * e,
                                .min = e,
                                .base_epoch = 2 * e - 2,
                                .base_txid = e - 1,
                                .old_commit = e > 1,
                                .commit = 1,
                                .pages = {1},
                                .seed = e};
        make(&g, LTX_L0, &s);
        if (e == 3) { /* What a loser of epoch 5 left: no marker leads to it. */
            s.epoch = 5;
            s.base_epoch = 4;
            s.min = 3;
            make(&g, LTX_L0, &s);
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        uint64_t gets = sim_calls(g.node, "store.get");
        uint64_t from_ns = io_now_ns(sim_io(g.node, 0));
        restore_start(&g, 13, i == 0 ? NULL : PATH);
        assert_true(sim_run_until(g.sim, is_done, &g, IO_SEC(60)));
        assert_int_equal(g.r.end, LOG_RESTORE_DONE);
        assert_int_equal(g.r.epochs, 6);
        assert_int_equal(g.r.base_txid, 6);
        assert_int_equal(sim_calls(g.node, "store.get") - gets, 6);
        assert_true(io_now_ns(sim_io(g.node, 0)) - from_ns < IO_MS(30)); /* A listing, and the headers. */
    }
    stage_close(&g);
}

static void test_long_listings_come_in_pages(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, 1);
    sim_store_set(g.sim, &(struct sim_store_opts){.latency_ns = IO_MS(5), .page_max = 2});
    make_chain(&g, 99);
    assert_int_equal(restore(&g, 5), LOG_RESTORE_DONE);
    check_file(&g, &CHAIN_END);
    stage_close(&g);
}

static void gc_runs(struct sim *sim, void *arg)
{
    struct stage *g = arg;
    struct cd_buf key = {0};
    struct rig_segment image = {
        .flags = LTX_SNAPSHOT, .epoch = 4, .min = 1, .max = 5, .commit = 4, .pages = {1, 2, 3, 4}, .seed = 9};
    make(g, LTX_L9, &image);
    for (unsigned i = 0; i < 3; i++)
        sim_store_delete_truth(sim, key_of(&key, &CHAIN[i]));
    cd_buf_deinit(&key);
}

static void test_objects_that_a_collection_removes_meanwhile_are_not_missed(void **state)
{
    (void)state;
    for (unsigned ms = 0; ms < 120; ms += 5) {
        struct stage g;
        stage_open(&g, 1 + ms);
        make_chain(&g, 99);
        sim_at(g.sim, IO_MS(ms), gc_runs, &g);
        assert_int_equal(restore(&g, 5), LOG_RESTORE_DONE);
        assert_int_equal(g.r.base_txid, 5);
        stage_close(&g);
    }
}

static void test_any_failing_call_ends_in_an_error_or_in_the_right_file(void **state)
{
    (void)state;
    unsigned failed = 0;
    FOR_EACH_FAULT(sweep)
    {
        struct stage g;
        stage_open(&g, 1);
        make_chain(&g, 99);
        sweep.status = sweep.at % 2 == 0 ? IO_NOSPACE : IO_DENIED; /* Nothing that is tried again. */
        sim_sweep_arm(&sweep, g.node);
        restore_start(&g, 5, PATH);
        assert_true(sim_run_until(g.sim, is_done, &g, IO_SEC(600)));
        assert_int_equal(g.rc, IO_OK);
        bool ended = sim_at_call(g.node, "any", 0, SIM_FAIL, 0, NULL);
        assert_true(ended);
        if (g.r.end == LOG_RESTORE_DONE)
            check_file(&g, &CHAIN_END);
        else
            assert_int_equal(g.r.end, LOG_RESTORE_FAILED);
        failed += g.r.end != LOG_RESTORE_DONE;
        stage_close(&g);
    }
    assert_true(failed >= 10);
}

static void test_a_flaky_store_only_delays(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct stage g;
        stage_open(&g, seed);
        make_chain(&g, 99);
        sim_store_set(g.sim, &(struct sim_store_opts){.latency_ns = IO_MS(5),
                                                      .throttle_ppm = 50000,
                                                      .fail_ppm = 50000,
                                                      .lose_request_ppm = 50000,
                                                      .lose_answer_ppm = 50000});
        enum log_restore_end end = restore(&g, 5);
        assert_true(end == LOG_RESTORE_DONE || end == LOG_RESTORE_FAILED);
        if (end == LOG_RESTORE_DONE)
            check_file(&g, &CHAIN_END);
        stage_close(&g);
    }
}

static void test_a_crash_in_any_call_leaves_nothing_open(void **state)
{
    (void)state;
    bool hit = true;
    for (uint64_t k = 1; hit; k++) {
        struct stage g;
        stage_open(&g, k);
        make_chain(&g, 99);
        hit = false;
        assert_true(sim_at_call(g.node, "any", k, SIM_DIE_KILL, 0, &hit));
        restore_start(&g, 5, PATH);
        sim_run_for(g.sim, IO_SEC(5));
        assert_true(g.done);
        assert_int_equal(sim_node_life(g.node), hit ? SIM_DEAD : SIM_UP);
        stage_close(&g);
    }
}

CD_TESTS(restore, cmocka_unit_test(test_random_histories_come_back_as_they_were),
         cmocka_unit_test(test_a_missing_object_is_an_error_of_its_name),
         cmocka_unit_test(test_each_object_is_verified_and_named),
         cmocka_unit_test(test_data_at_the_claimed_epoch_is_refused),
         cmocka_unit_test(test_a_cell_without_objects_has_no_data),
         cmocka_unit_test(test_a_plan_reads_headers_only_and_makes_no_file),
         cmocka_unit_test(test_headers_of_a_chain_are_read_at_once),
         cmocka_unit_test(test_long_listings_come_in_pages),
         cmocka_unit_test(test_objects_that_a_collection_removes_meanwhile_are_not_missed),
         cmocka_unit_test(test_any_failing_call_ends_in_an_error_or_in_the_right_file),
         cmocka_unit_test(test_a_flaky_store_only_delays),
         cmocka_unit_test(test_a_crash_in_any_call_leaves_nothing_open))
