/* The leader and a feed, step by step: a store that takes 10 ms, a shard whose flow is the test. */
#include "fixture.h"

#include "io_sim/sim_store.h"
#include "log/log.h"

struct rig {
    struct sim *sim;
    struct sim_node *node;
    struct io *control, *shard;
    struct log *log;
    struct log_feed *feed;
    unsigned pipeline;
    uint64_t unproven;
    enum sim_store_effect effect;
    void (*flow)(struct rig *r); /* In a fiber of the shard. */
    bool ended, closed;
    unsigned publish_fails;
    bool opened, sealed_record;
    uint64_t seal;
    unsigned fences;
    uint64_t folded_rows, folded_batch;
    int flush_status, seal_status;
    bool seals, sealing_done;
};

static void publish(void *arg, const struct store_log_record *record, struct io_op *op, io_done_fn *done)
{
    struct rig *r = arg;
    bool fails = r->publish_fails > 0, sealed = record->state == STORE_LOG_SEALED;
    if (fails)
        r->publish_fails--;
    else if (sealed)
        r->sealed_record = true;
    else
        r->opened = true;
    r->seal = sealed ? record->seal : r->seal;
    io_defer(op, r->control, fails ? IO_TIMEDOUT : IO_OK, done);
}

static void fence(void *arg, const char *cause)
{
    struct rig *r = arg;
    assert_string_equal(cause, "node_log_sealed_fence");
    r->fences++;
}

static void durable(void *arg, struct log_durable *d)
{
    struct rig *r = arg;
    struct cd_link *k;
    assert_int_equal(d->batch, ++r->folded_batch);
    while ((k = cd_list_pop(&d->rows)) != NULL) {
        r->folded_rows++;
        log_row_free(CD_CONTAINER(k, struct log_row, link));
    }
}

static void shard_flow(void *arg)
{
    struct rig *r = arg;
    r->flow(r);
    struct io_op op = {0};
    log_feed_close(r->feed, &op, NULL);
    CHECK_INT(io_await(&op, IO_FOREVER), IO_OK);
    r->ended = true;
}

static void shard_start(struct io *io, void *arg)
{
    struct rig *r = arg;
    r->shard = io;
    r->feed = log_feed_open(r->log, io);
    (void)io_spawn(io, "test", shard_flow, r);
}

static void control_flow(void *arg)
{
    struct rig *r = arg;
    struct io_op op = {0};
    while (!r->ended)
        CHECK_INT(io_sleep(r->control, IO_MS(1)), IO_OK);
    if (r->seals) {
        log_seal(r->log, &op, NULL);
        r->seal_status = io_await(&op, IO_FOREVER);
    }
    log_close(r->log, &op, NULL);
    CHECK_INT(io_await(&op, IO_FOREVER), IO_OK);
    r->closed = true;
}

static void boot(struct io *io, void *arg)
{
    struct rig *r = arg;
    if (io_loop_index(io) != 0)
        return;
    r->control = io;
    struct log_opts opts = {.io = io,
                            .bucket = sim_bucket(io, ""),
                            .session = CD_STR(SESSION),
                            .pipeline = r->pipeline,
                            .target_bytes = 100000,
                            .unproven_bytes = r->unproven,
                            .arg = r,
                            .publish = publish,
                            .fence = fence,
                            .durable = durable};
    r->log = log_new(&opts);
    (void)io_spawn(io, "control", control_flow, r);
    sim_in_loop(r->node, 1, shard_start, r);
}

static bool over(void *arg)
{
    struct rig *r = arg;
    return r->closed;
}

/* Before run: options. Runs flow to its end and closes everything. */
static void run(struct rig *r, void (*flow)(struct rig *r))
{
    r->sim = sim_new(NULL);
    r->flow = flow;
    r->pipeline = r->pipeline == 0 ? 4 : r->pipeline;
    sim_store_set(r->sim, &(struct sim_store_opts){.latency_ns = IO_MS(10)});
    r->node =
        sim_node(r->sim, &(struct sim_node_opts){.name = "n1", .loops = 2, .program = {boot, NULL, r, NULL}});
    assert_true(sim_run_until(r->sim, over, r, IO_SEC(300)));
}

static uint64_t now_ms(struct rig *r)
{
    return sim_now_ns(r->sim) / 1000000;
}

static uint64_t put_calls(struct rig *r)
{
    return sim_calls(r->node, "store.put");
}

static uint64_t hand(struct rig *r, const char *scope, uint64_t txid, size_t bytes)
{
    return log_feed_row(r->feed, row_of(scope, txid, bytes));
}

static int wait_for(struct rig *r, uint64_t seq)
{
    struct log_wait w = {.seq = seq};
    log_feed_wait(r->feed, &w, NULL);
    return io_await(&w.op, io_now_ns(r->shard) + IO_SEC(60));
}

static bool object(struct rig *r, uint64_t slot, struct log_slot *s)
{
    struct cd_buf key = {0};
    struct sim_object o;
    log_slot_key(&key, CD_STR(SESSION), slot);
    bool is = sim_store_get_truth(r->sim, cd_buf_str(&key), &o) &&
              log_slot_open(s, o.body, CD_STR(SESSION), slot, NULL) == 0;
    cd_buf_deinit(&key);
    return is;
}

static void put_seal(struct rig *r, uint64_t slot)
{
    struct cd_buf key = {0}, bytes = {0};
    struct log_slot_head h = {
        .kind = LOG_SLOT_SEAL, .slot = slot, .first_batch = slot, .last_batch = slot - 1, .pipeline = 4};
    log_slot_key(&key, CD_STR(SESSION), slot);
    log_slot_seal(&bytes, CD_STR(SESSION), &h, &(struct log_seal_text){CD_STR(OTHER), 1, 2});
    sim_store_put_truth(r->sim, cd_buf_str(&key), cd_buf_str(&bytes));
    cd_buf_deinit(&key);
    cd_buf_deinit(&bytes);
}

/* ---- Cutting ---- */

static void lone_row(struct rig *r)
{
    CHECK_INT(wait_for(r, hand(r, "Room:a", 1, 100)), IO_OK);
    uint64_t from = now_ms(r);
    CHECK_INT(wait_for(r, hand(r, "Room:a", 2, 100)), IO_OK);
    CHECK(now_ms(r) - from <= 11);
    CHECK_INT(put_calls(r), 2);
    CHECK(r->opened);
}

static void test_a_lone_row_waits_for_one_conditional_put_and_nothing_else(void **state)
{
    (void)state;
    struct rig r = {0};
    run(&r, lone_row);
    assert_int_equal(sim_calls(r.node, "store"), 2); /* No read, no list. */
    assert_int_equal(r.folded_rows, 2);
    sim_free(r.sim);
}

static void burst(struct rig *r)
{
    for (uint64_t i = 1; i <= 50; i++)
        (void)hand(r, i % 2 == 0 ? "Room:a" : "Room:b", i, 100);
    CHECK_INT(wait_for(r, 50), IO_OK);
    CHECK_INT(put_calls(r), 1);
}

static void test_rows_of_one_moment_go_in_one_batch(void **state)
{
    (void)state;
    struct rig r = {0};
    run(&r, burst);
    assert_int_equal(r.folded_batch, 1);
    sim_free(r.sim);
}

static void pressed(struct rig *r)
{
    for (uint64_t i = 1; i <= 100; i++) {
        (void)hand(r, "Room:a", i, 100);
        CHECK_INT(io_sleep(r->shard, IO_MS(1)), IO_OK);
        CHECK(sim_store_under_way(r->sim) <= 2);
    }
    CHECK_INT(wait_for(r, 100), IO_OK);
    CHECK(put_calls(r) >= 18 &&
          put_calls(r) <= 24); /* P per round trip of 10 ms: batches grow, PUTs do not. */
}

static void test_at_most_p_slots_are_in_flight_and_what_waits_becomes_one_batch(void **state)
{
    (void)state;
    struct rig r = {.pipeline = 2};
    run(&r, pressed);
    assert_int_equal(r.folded_rows, 100);
    sim_free(r.sim);
}

static void sized(struct rig *r)
{
    for (uint64_t i = 1; i <= 6; i++)
        (void)hand(r, "Room:a", i, 45000); /* Two of these and what they weigh beside fit into 100000. */
    CHECK_INT(wait_for(r, 6), IO_OK);
    CHECK_INT(put_calls(r), 3);
}

static void test_a_batch_ends_at_its_target_size(void **state)
{
    (void)state;
    struct rig r = {0};
    run(&r, sized);
    sim_free(r.sim);
}

static void large(struct rig *r)
{
    sim_store_rule(
        r->sim,
        &(struct sim_store_rule){
            .effect = SIM_STORE_SLOW, .op = "put", .pattern = "*/rows/*", .ns = IO_MS(500), .times = 1});
    (void)hand(r, "Room:a", 1, 10);
    uint64_t whale = hand(r, "Room:a", 2, 100001);
    uint64_t behind = hand(r, "Room:a", 3, 10), other = hand(r, "Room:b", 1, 10);
    CHECK_INT(io_sleep(r->shard, IO_MS(100)), IO_OK);
    /* The other cell's row is stored; its shard hears of it when the whale is proven. */
    CHECK_INT(r->folded_rows, 2);
    CHECK_INT(log_feed_proven(r->feed), whale - 1);
    CHECK_INT(wait_for(r, behind), IO_OK);
    CHECK(now_ms(r) >= 500 && now_ms(r) < 600);
    CHECK_INT(wait_for(r, other), IO_OK);
}

static void test_a_row_above_the_target_is_stored_apart_and_only_its_cell_waits(void **state)
{
    (void)state;
    struct rig r = {0};
    struct log_slot s;
    struct log_batch b;
    struct log_entry e;
    run(&r, large);
    assert_true(object(&r, 2, &s));
    assert_int_equal(log_slot_batch_open(&s, 0, &b, NULL), 0);
    struct cd_str rest = b.table;
    assert_true(log_batch_next(&b, &rest, &e));
    assert_int_equal(e.kind, LOG_ROW_APART);
    assert_int_equal(e.length, 100001);
    struct cd_buf key = {0};
    struct sim_object o;
    log_apart_key(&key, CD_STR(SESSION), e.id);
    assert_true(sim_store_get_truth(r.sim, cd_buf_str(&key), &o));
    assert_int_equal(o.body.len, 100001);
    cd_buf_deinit(&key);
    sim_free(r.sim);
}

/* One PUT at a time; each batch takes the three rows that fit. */
static void full_flow(struct rig *r)
{
    sim_store_rule(
        r->sim,
        &(struct sim_store_rule){
            .effect = SIM_STORE_SLOW, .op = "put", .pattern = "*/rows/*", .ns = IO_MS(500), .times = 1});
    for (uint64_t n = 1; n <= 10; n++)
        (void)hand(r, "Room:a", n, 30000);
    CHECK(!log_feed_full(r->feed));
    (void)hand(r, "Room:a", 11, 200000); /* Of no batch yet: it is stored apart. */
    CHECK_INT(io_sleep(r->shard, IO_MS(1)), IO_OK);
    CHECK(log_feed_full(r->feed));
    bool was = true;
    while (log_feed_proven(r->feed) < 11) {
        CHECK_INT(io_sleep(r->shard, IO_MS(1)), IO_OK);
        bool full = log_feed_full(r->feed);
        CHECK(was || !full);
        if (was && !full)
            CHECK_INT(log_feed_proven(r->feed), 10); /* 200,000 of 500,000 are left, before 230,000 were. */
        was = full;
    }
    CHECK(!was);
}

static void test_a_feed_is_full_until_half_of_the_limit_is_proven(void **state)
{
    (void)state;
    struct rig r = {.pipeline = 1, .unproven = 450000};
    run(&r, full_flow);
    assert_int_equal(r.folded_rows, 11);
    sim_free(r.sim);
}

/* One slot after the other, so that the log knows how long one takes; then one hangs. */
static void hung_flow(struct rig *r)
{
    for (uint64_t n = 1; n <= 10; n++)
        CHECK_INT(wait_for(r, hand(r, "Room:a", n, 100)), IO_OK);
    uint64_t puts = put_calls(r), before = now_ms(r);
    sim_store_rule(r->sim,
                   &(struct sim_store_rule){
                       .effect = r->effect, .op = "put", .pattern = "log/*", .ns = IO_SEC(14), .times = 1});
    (void)hand(r, "Room:a", 11, 100);
    CHECK_INT(io_sleep(r->shard, IO_MS(5)), IO_OK);
    CHECK_INT(wait_for(r, hand(r, "Room:b", 1, 100)), IO_OK); /* In the slot behind it. */
    CHECK(now_ms(r) - before < 200);
    CHECK_INT(put_calls(r) - puts, 3);
    CHECK_INT(io_sleep(r->shard, IO_SEC(20)), IO_OK); /* What the hung one did meanwhile changes nothing. */
    CHECK_INT(wait_for(r, hand(r, "Room:a", 12, 100)), IO_OK);
    CHECK_INT(put_calls(r) - puts, 4);
}

static void test_a_put_that_hangs_is_sent_once_more(void **state)
{
    (void)state;
    static const enum sim_store_effect effects[] = {SIM_STORE_HOLD_ANSWER, SIM_STORE_LATE};
    for (size_t i = 0; i < CD_COUNT(effects); i++) {
        struct rig r = {.effect = effects[i]};
        run(&r, hung_flow);
        assert_int_equal(r.folded_rows, 13);
        assert_int_equal(r.fences, 0);
        sim_free(r.sim);
    }
}

/* ---- The record ---- */

static void opens_late(struct rig *r)
{
    CHECK_INT(wait_for(r, hand(r, "Room:a", 1, 100)), IO_OK);
    CHECK(now_ms(r) >= 150); /* 50 and 100 ms between the tries. */
}

static void test_no_slot_is_written_until_the_record_says_open(void **state)
{
    (void)state;
    struct rig r = {.publish_fails = 2};
    run(&r, opens_late);
    assert_int_equal(r.publish_fails, 0);
    sim_free(r.sim);
}

/* ---- Answers ---- */

static void answers(struct rig *r)
{
    static const enum sim_store_effect effect[] = {SIM_STORE_LOSE_ANSWER, SIM_STORE_LOSE_REQUEST,
                                                   SIM_STORE_THROTTLE, SIM_STORE_FAIL_DONE, SIM_STORE_DOWN};
    for (uint64_t i = 0; i < CD_COUNT(effect); i++) {
        sim_store_rule(r->sim, &(struct sim_store_rule){
                                   .effect = effect[i], .op = "put", .pattern = "log/*", .times = 1});
        CHECK_INT(wait_for(r, hand(r, "Room:a", i + 1, 100)), IO_OK);
        sim_store_heal(r->sim);
    }
}

static void test_every_unclear_answer_is_cleared_up_by_a_look_at_the_slot(void **state)
{
    (void)state;
    struct rig r = {0};
    run(&r, answers);
    assert_int_equal(r.fences, 0);
    assert_true(sim_marks(r.sim, "log.read_ours") >= 2 && sim_marks(r.sim, "log.read_nothing") >= 1);
    assert_int_equal(r.folded_batch, 5);
    sim_free(r.sim);
}

static void hole(struct rig *r)
{
    CHECK_INT(wait_for(r, hand(r, "Room:a", 1, 100)), IO_OK);
    sim_store_rule(r->sim, &(struct sim_store_rule){
                               .effect = SIM_STORE_SLOW, .op = "put", .ns = IO_MS(300), .times = 1});
    (void)hand(r, "Room:a", 2, 100);
    CHECK_INT(io_sleep(r->shard, IO_MS(1)), IO_OK);
    (void)hand(r, "Room:b", 1, 100);
    CHECK_INT(io_sleep(r->shard, IO_MS(100)), IO_OK);
    struct log_slot s;
    CHECK(object(r, 3, &s) && !object(r, 2, &s));
    CHECK_INT(log_feed_proven(r->feed), 1);
    CHECK_INT(r->folded_rows, 1);
    CHECK_INT(wait_for(r, 3), IO_OK);
}

static void test_a_slot_above_a_hole_proves_nothing_until_the_hole_is_filled(void **state)
{
    (void)state;
    struct rig r = {0};
    run(&r, hole);
    assert_true(sim_marks(r.sim, "log.stored_above_hole") == 1);
    assert_int_equal(r.folded_rows, 3);
    sim_free(r.sim);
}

static void sealed_by_another(struct rig *r)
{
    struct log_wait first = {.seq = 2};
    CHECK_INT(wait_for(r, hand(r, "Room:a", 1, 100)), IO_OK);
    put_seal(r, 2);
    (void)hand(r, "Room:a", 2, 100);
    log_feed_wait(r->feed, &first, NULL);
    CHECK_INT(io_await(&first.op, IO_FOREVER), CD_EFENCED);
    CHECK(log_feed_lost(r->feed));
    CHECK_INT(r->fences, 1);
    CHECK_INT(wait_for(r, hand(r, "Room:a", 3, 100)), CD_EFENCED);
    struct log_drop d = {.scope = "Room:a", .epoch = 3, .cut_txid = 3};
    log_feed_drop(r->feed, &d, NULL);
    CHECK_INT(io_await(&d.op, IO_FOREVER), CD_EFENCED);
    CHECK_INT(wait_for(r, 1), IO_OK); /* What was proven stays proven. */
}

static void test_a_foreign_seal_fences_and_ends_all_waits(void **state)
{
    (void)state;
    struct rig r = {.seals = true};
    run(&r, sealed_by_another);
    assert_int_equal(r.folded_rows, 1);
    assert_int_equal(r.seal_status, CD_EFENCED);
    assert_false(r.sealed_record);
    sim_free(r.sim);
}

static void strange_object(struct rig *r)
{
    CHECK_INT(wait_for(r, hand(r, "Room:a", 1, 100)), IO_OK);
    sim_store_put_truth(r->sim, CD_STR("log/" SESSION "/0000000000000002"), CD_STR(""));
    CHECK_INT(wait_for(r, hand(r, "Room:a", 2, 100)), CD_EFENCED);
}

static void test_even_an_empty_object_in_a_slot_fences(void **state)
{
    (void)state;
    struct rig r = {0};
    run(&r, strange_object);
    assert_int_equal(r.fences, 1);
    sim_free(r.sim);
}

/* ---- Resets ---- */

static void resets(struct rig *r)
{
    CHECK_INT(wait_for(r, hand(r, "Room:a", 1, 100)), IO_OK);
    sim_store_rule(r->sim, &(struct sim_store_rule){
                               .effect = SIM_STORE_SLOW, .op = "put", .ns = IO_MS(200), .times = 1});
    (void)hand(r, "Room:a", 2, 100); /* Cut; the only place is taken now. */
    CHECK_INT(io_sleep(r->shard, IO_MS(1)), IO_OK);
    (void)hand(r, "Room:a", 3, 100);
    (void)hand(r, "Room:b", 1, 100);
    (void)hand(r, "Room:a", 4, 100001);
    (void)hand(r, "Room:a", 5, 100);
    CHECK_INT(io_sleep(r->shard, IO_MS(1)), IO_OK);
    struct log_drop d = {.scope = "Room:a", .epoch = 3, .cut_txid = 5};
    log_feed_drop(r->feed, &d, NULL);
    CHECK_INT(io_await(&d.op, IO_FOREVER), IO_OK);
    CHECK_INT(d.cut_txid, 2);
    CHECK_INT(wait_for(r, 6), IO_OK);
    CHECK_INT(r->folded_rows, 3); /* 1 and 2 of a, 1 of b. */
    struct log_drop none = {.scope = "Room:c", .epoch = 1, .cut_txid = 77};
    log_feed_drop(r->feed, &none, NULL);
    CHECK_INT(io_await(&none.op, IO_FOREVER), IO_OK);
    CHECK_INT(none.cut_txid, 77);
}

static void test_a_reset_drops_what_is_not_cut_and_keeps_what_is(void **state)
{
    (void)state;
    struct rig r = {.pipeline = 1};
    run(&r, resets);
    assert_true(sim_marks(r.sim, "log.row_dropped") == 1 && sim_marks(r.sim, "log.row_apart_dropped") == 1);
    sim_free(r.sim);
}

/* ---- Waiting ---- */

static unsigned turn;
static unsigned ended_at[4];
static int ended_with[4];
static struct log_wait four[4];

static void wait_ended(struct io_op *op, int status)
{
    size_t i = (size_t)(CD_CONTAINER(op, struct log_wait, op) - four);
    ended_at[i] = ++turn;
    ended_with[i] = status;
}

static void waits(struct rig *r)
{
    static const uint64_t seq[] = {3, 1, 9, 2};
    turn = 0;
    for (uint64_t i = 1; i <= 3; i++)
        (void)hand(r, "Room:a", i, 100);
    for (size_t i = 0; i < 4; i++) {
        four[i] = (struct log_wait){.seq = seq[i]};
        log_feed_wait(r->feed, &four[i], wait_ended);
    }
    io_cancel(&four[3].op);
    CHECK_INT(io_sleep(r->shard, IO_MS(50)), IO_OK);
    CHECK_INT(turn, 3);
    CHECK_INT(ended_with[3], IO_CANCELED);
    CHECK(ended_with[0] == IO_OK && ended_with[1] == IO_OK && ended_at[1] < ended_at[0]);
} /* Closing the feed ends the wait for row 9. */

static void test_waits_end_in_order_and_can_be_cancelled(void **state)
{
    (void)state;
    struct rig r = {0};
    run(&r, waits);
    assert_int_equal(ended_with[2], IO_CANCELED);
    sim_free(r.sim);
}

/* ---- The graceful end ---- */

static void test_the_end_is_a_seal_of_our_own_in_the_first_free_slot(void **state)
{
    (void)state;
    struct rig r = {.seals = true};
    struct log_slot s;
    run(&r, burst);
    assert_int_equal(r.seal_status, IO_OK);
    assert_true(r.sealed_record && r.seal == 2);
    assert_true(object(&r, 2, &s));
    assert_int_equal(s.head.kind, LOG_SLOT_SEAL);
    assert_int_equal(s.head.last_batch, 1);
    assert_str_is(s.seal.recoverer, SESSION);
    log_slot_deinit(&s);
    sim_free(r.sim);
}

static void nothing(struct rig *r)
{
    CHECK_INT(io_sleep(r->shard, IO_MS(1)), IO_OK);
}

static void test_a_log_that_was_never_opened_has_nothing_to_seal(void **state)
{
    (void)state;
    struct rig r = {.seals = true};
    run(&r, nothing);
    assert_int_equal(r.seal_status, IO_OK);
    assert_false(r.opened || r.sealed_record);
    assert_int_equal(sim_calls(r.node, "store"), 0);
    sim_free(r.sim);
}

static void burst_then_throttled(struct rig *r)
{
    burst(r);
    sim_store_rule(r->sim, &(struct sim_store_rule){.effect = SIM_STORE_THROTTLE, .op = "put"});
}

static void test_a_seal_that_is_not_stored_leaves_the_log_open(void **state)
{
    (void)state;
    struct rig r = {.seals = true};
    struct log_slot s;
    run(&r, burst_then_throttled);
    assert_int_equal(r.seal_status, IO_FAULT);
    assert_false(r.sealed_record || object(&r, 2, &s));
    sim_free(r.sim);
}

CD_TESTS(log, cmocka_unit_test(test_a_lone_row_waits_for_one_conditional_put_and_nothing_else),
         cmocka_unit_test(test_rows_of_one_moment_go_in_one_batch),
         cmocka_unit_test(test_at_most_p_slots_are_in_flight_and_what_waits_becomes_one_batch),
         cmocka_unit_test(test_a_batch_ends_at_its_target_size),
         cmocka_unit_test(test_a_row_above_the_target_is_stored_apart_and_only_its_cell_waits),
         cmocka_unit_test(test_a_feed_is_full_until_half_of_the_limit_is_proven),
         cmocka_unit_test(test_a_put_that_hangs_is_sent_once_more),
         cmocka_unit_test(test_no_slot_is_written_until_the_record_says_open),
         cmocka_unit_test(test_every_unclear_answer_is_cleared_up_by_a_look_at_the_slot),
         cmocka_unit_test(test_a_slot_above_a_hole_proves_nothing_until_the_hole_is_filled),
         cmocka_unit_test(test_a_foreign_seal_fences_and_ends_all_waits),
         cmocka_unit_test(test_even_an_empty_object_in_a_slot_fences),
         cmocka_unit_test(test_a_reset_drops_what_is_not_cut_and_keeps_what_is),
         cmocka_unit_test(test_waits_end_in_order_and_can_be_cancelled),
         cmocka_unit_test(test_the_end_is_a_seal_of_our_own_in_the_first_free_slot),
         cmocka_unit_test(test_a_log_that_was_never_opened_has_nothing_to_seal),
         cmocka_unit_test(test_a_seal_that_is_not_stored_leaves_the_log_open))
