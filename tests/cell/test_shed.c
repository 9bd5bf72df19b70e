/* Cells of a node whose memory is short: who comes in, who goes, and what becomes of its ownership. */
#include "cell/id.h"
#include "cell/keeper.h"
#include "cell/pressure.h"
#include "cell/rig.h"

#define MIB (UINT64_C(1) << 20)

static struct cell_press press;

static void do_press(struct io *io, void *arg)
{
    (void)arg;
    cell_shard_press(rig.shard[io_loop_index(io)], &press);
}

/* Both shards. */
static void rig_press(bool engaged, bool release, uint64_t floor)
{
    press = (struct cell_press){.engaged = engaged, .release = release, .floor = floor};
    for (unsigned i = 1; i < RIG_LOOPS; i++)
        sim_in_loop(rig.node, i, do_press, NULL);
    rig_run(100);
}

/* Scopes of the first shard. */
static const char *scope(unsigned n)
{
    static char text[8][16];
    static unsigned turn;
    char *out = text[turn++ % 8];
    unsigned i = 0;
    for (unsigned seen = 0;; i++) {
        (void)snprintf(out, sizeof text[0], "C:%u", i);
        if (cell_scope_loop(cd_str(out), RIG_LOOPS) == 1 && seen++ == n)
            return out;
    }
}

static void fill(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        assert_string_equal(rig_ask(scope(i), "add 7"), "7");
}

static void test_nobody_comes_in_while_memory_is_short_and_who_is_in_is_served(void **state)
{
    (void)state;
    rig_open();
    fill(1);
    rig_press(true, true, 100);
    struct call *c = rig_call(scope(1), "get");
    rig_run(5000);
    assert_string_equal(rig_phase(scope(1)), "waiting_capacity");
    assert_string_equal(rig_ask(scope(0), "add 1"), "8");
    assert_false(c->closed);
    rig_press(false, true, 0);
    assert_string_equal(c->got, "0 ");
    rig_free();
}

static void test_who_waits_for_too_long_is_refused(void **state)
{
    (void)state;
    rig_open();
    rig_press(true, true, 100);
    struct call *c = rig_call(scope(1), "get");
    rig_run(16000);
    assert_true(c->closed && c->overloaded && c->retryable && !c->reset);
    assert_string_equal(c->why, CELL_CAPACITY_TEXT);
    rig_free();
}

static void test_while_the_log_has_too_much_to_prove_calls_are_refused_at_once(void **state)
{
    (void)state;
    rig_open();
    fill(1);
    fake.full = true;
    for (unsigned i = 0; i < 2; i++) { /* In memory or not. */
        struct call *c = rig_call(scope(i), "add 1");
        rig_run(100);
        assert_true(c->closed && c->overloaded && c->retryable && !c->reset);
        assert_string_equal(c->why, CELL_OVERLOAD_TEXT);
    }
    assert_string_equal(rig_phase(scope(1)), "unknown");
    fake.full = false;
    assert_string_equal(rig_ask(scope(0), "add 1"), "8");
    assert_string_equal(rig_ask(scope(1), "add 1"), "1");
    rig_free();
}

/* Nothing is lost by that: it comes in its order when half is proven. */
static void test_and_what_comes_over_open_wires_waits_as_alarms_do(void **state)
{
    (void)state;
    rig_open();
    struct call *socket = rig_call("C:1", "served"), *running = rig_call("C:1", "hang");
    assert_string_equal(rig_ask("C:2", "alarm 200"), "ok");
    fake.full = true;
    rig_send(socket, "add 1");
    rig_send(socket, "add 10");
    rig_send(running, "get");
    rig_run(3000);
    assert_int_equal(socket->messages + rig.alarms, 0);
    assert_string_equal(running->got, "0 "); /* It was let in before. */
    fake.full = false;
    rig_run(1000);
    assert_string_equal(socket->got, "1 11 ");
    assert_int_equal(rig.alarms, 1);
    fake.full = true;
    rig_send(socket, "add 100");
    rig_hang_up(socket);
    rig_run(500);
    rig_close_shards(0); /* Who stops waits for nobody. */
    rig_free();
}

/* On a wire that was served. */
static void test_further_calls_of_a_wire_count(void **state)
{
    (void)state;
    rig_open();
    rig.limits.requests_max = 2;
    rig_crash();
    rig_restart();
    struct call *one = rig_call("C:1", "served");
    rig_run(200);
    rig_send(one, "enter"); /* "in", or "full" */
    rig_send(one, "enter");
    rig_send(one, "enter");
    rig_run(100);
    assert_string_equal(one->got, "in in full ");
    struct call *two = rig_call("C:1", "get");
    rig_run(100);
    assert_true(two->closed && two->overloaded);
    rig_send(one, "leave");
    rig_run(100);
    assert_string_equal(rig_ask("C:1", "get"), "0");
    rig_hang_up(one);
    rig_run(100);
    struct call *three = rig_call("C:1", "hang"), *four = rig_call("C:1", "hang");
    rig_run(100);
    assert_false(three->closed || four->closed);
    rig_free();
}

static void test_cells_go_in_order_of_use_down_to_the_floor(void **state)
{
    (void)state;
    rig_open();
    fill(6);
    (void)rig_ask(scope(0), "get"); /* Used last now. */
    rig_press(true, false, 4);
    assert_string_equal(rig_phase(scope(1)), "unknown");
    assert_string_equal(rig_phase(scope(2)), "unknown");
    for (unsigned i = 3; i < 7; i++)
        assert_string_equal(rig_phase(scope(i % 6)), "resident");
    assert_int_equal(cell_shard_tally(rig.shard[1]).shed, 2);
    rig_free();
}

static void test_a_cell_that_is_shed_is_owned_by_nobody_and_comes_back_from_the_bucket(void **state)
{
    (void)state;
    rig_open();
    fill(1);
    rig_press(true, true, 0);
    assert_string_equal(rig_phase(scope(0)), "unknown");
    assert_true(fake_cell(cd_str(scope(0)))->released);
    assert_int_equal(fake_cell(cd_str(scope(0)))->snapshot_epoch, 0);
    rig_press(false, true, 0);
    assert_string_equal(rig_ask(scope(0), "get"), "7");
    assert_int_equal(fake.snapshots_taken, 0);
    assert_int_equal(fake.restores, 1);
    assert_int_equal(cell_epoch(rig.last), 2);
    rig_free();
}

static void test_sticky_ownership_stays(void **state)
{
    (void)state;
    rig_open();
    fill(1);
    rig_press(true, false, 0);
    assert_string_equal(rig_phase(scope(0)), "unknown");
    assert_int_equal(fake.releases, 0);
    assert_int_equal(fake_cell(cd_str(scope(0)))->snapshot_epoch, 1);
    rig_free();
}

static void test_a_cell_that_cannot_be_restored_is_not_released(void **state)
{
    (void)state;
    rig_open();
    fill(1);
    fake.restore_fails = true;
    rig_press(true, true, 0);
    assert_string_equal(rig_phase(scope(0)), "unknown");
    assert_int_equal(fake.releases, 0);
    fake.restore_fails = false;
    rig_press(false, true, 0);
    assert_string_equal(rig_ask(scope(0), "get"), "7");
    rig_free();
}

static void test_a_release_of_unknown_outcome_leaves_the_alarm_with_us(void **state)
{
    (void)state;
    rig_open();
    assert_string_equal(rig_ask(scope(0), "alarm 20000"), "ok");
    fake.release_status = IO_TIMEDOUT;
    rig_press(true, true, 0);
    assert_int_equal(fake.releases, 1);
    rig_press(false, true, 0);
    rig_run(20000);
    assert_int_equal(rig.alarms, 1);
    rig_free();
}

static void test_an_armed_cell_goes_when_its_wake_entry_is_there_and_its_timer_with_it(void **state)
{
    (void)state;
    rig_open();
    assert_string_equal(rig_ask(scope(0), "alarm 20000"), "ok"); /* Pressure does not mind that it is near. */
    rig_press(true, true, 0);
    assert_int_equal(fake.entries, 1);
    assert_int_equal(fake.releases, 1);
    rig_press(false, true, 0);
    rig_run(30000);
    assert_int_equal(rig.alarms, 0); /* Whoever reads the entry looks. */
    rig_free();
}

static void test_an_armed_cell_without_its_entry_stays_and_others_go_first(void **state)
{
    (void)state;
    rig_open();
    assert_string_equal(rig_ask(scope(0), "alarm 3000000"), "ok");
    for (unsigned i = 1; i < 4; i++)
        (void)rig_ask(scope(i), "add 7");
    fake.entry_status = IO_TIMEDOUT;
    rig_press(true, true, 2);
    assert_string_equal(rig_phase(scope(0)), "resident");
    assert_string_equal(rig_phase(scope(1)), "unknown");
    assert_string_equal(rig_phase(scope(2)), "unknown");
    assert_string_equal(rig_phase(scope(3)), "resident");
    rig_evict(scope(0));
    assert_string_equal(rig.evicted, "alarm_uncovered");
    assert_string_equal(rig_ask(scope(0), "get"), "0");
    rig_free();
}

static void test_an_eviction_that_fails_at_once_is_not_tried_without_end(void **state)
{
    (void)state;
    rig_open();
    assert_string_equal(rig_ask(scope(0), "alarm 3000000"), "ok");
    fake.entry_status = IO_TIMEDOUT;
    rig_press(true, true, 0);
    rig_run(1900);
    assert_uint_in_range(fake.entries, 1, 8);
    fake.entry_status = IO_OK;
    rig_press(true, true, 0);
    assert_string_equal(rig_phase(scope(0)), "unknown");
    rig_free();
}

/* ---- The keeper ---- */

static struct cell_keeper *keeper;
static uint64_t beside_mib, each_mib;
static struct io_op keeper_op;

static unsigned residents(void)
{
    unsigned n = 0;
    for (unsigned i = 1; i < RIG_LOOPS; i++)
        n += cell_shard_counts(rig.shard[i]).resident;
    return n;
}

static void use(void *arg, struct io_usage *u)
{
    (void)arg;
    u->rss = (beside_mib + each_mib * residents()) * MIB;
    u->cpu_us = sim_now_ns(rig.sim) / 4000; /* A quarter of a processor. */
}

static unsigned sockets(void *arg, unsigned loop)
{
    (void)arg;
    return 10 + loop;
}

static void keeper_start(struct io *io, void *arg)
{
    (void)arg;
    keeper = cell_keeper_new(&(struct cell_keeper_opts){
        .io = io, .router = rig.router, .high_mib = 100, .release = true, .weight = 3, .sockets = sockets});
}

static void keeper_end(struct io *io, void *arg)
{
    (void)io, (void)arg;
    cell_keeper_stop(keeper, &keeper_op, NULL);
}

static void with_keeper(unsigned cells)
{
    char name[16];
    rig_open();
    beside_mib = 40;
    each_mib = 1;
    sim_on_usage(rig.node, use, NULL);
    for (unsigned i = 0; i < cells; i++) {
        (void)snprintf(name, sizeof name, "C:%u", i);
        (void)rig_ask(name, "add 1");
    }
    sim_in_loop(rig.node, 0, keeper_start, NULL);
    rig_run(2500);
}

static void without_keeper(void)
{
    sim_in_loop(rig.node, 0, keeper_end, NULL);
    rig_run(100);
    rig_free();
}

static void test_the_keeper_sheds_cells_until_memory_suffices(void **state)
{
    (void)state;
    with_keeper(50);
    assert_null(cell_keeper_load(keeper)->shedding);
    assert_int_equal(cell_keeper_load(keeper)->cells.occupied, 50);
    assert_int_equal(cell_keeper_load(keeper)->cpu_percent_x100, 2500);
    beside_mib = 60;
    rig_run(40000);
    assert_null(cell_keeper_load(keeper)->shedding);
    assert_uint_in_range(residents(), 15, 20); /* 20 are the low watermark; a cut is a tenth. */
    assert_true(cell_keeper_load(keeper)->headroom);
    assert_int_equal(cell_keeper_load(keeper)->cells.shed, 50 - residents());
    without_keeper();
}

static void test_the_keeper_keeps_cells_that_are_not_the_reason(void **state)
{
    (void)state;
    with_keeper(50);
    each_mib = 0;
    beside_mib = 150;
    rig_run(30000);
    assert_string_equal(cell_keeper_load(keeper)->shedding, "memory");
    assert_int_equal(residents(), 45);
    assert_false(cell_keeper_load(keeper)->headroom);
    struct call *c = rig_call("C:99", "get");
    rig_run(3000);
    assert_int_equal(c->messages, 0);
    beside_mib = 50;
    rig_run(3000);
    assert_string_equal(c->got, "0 ");
    without_keeper();
}

static void test_the_lease_says_what_the_shards_have(void **state)
{
    struct store_load load;
    (void)state;
    with_keeper(5);
    rig_evict("C:0");
    rig_run(2500);
    store_load_init(&load);
    cell_keeper_tell(keeper, &load);
    assert_int_equal(load.owned_cells, 5);
    assert_int_equal(load.resident_cells, 4);
    assert_int_equal(load.host_websockets, 11 + 12);
    assert_int_equal(load.placement_weight, 3);
    assert_int_equal(load.rss_bytes, 44 * MIB);
    assert_true(load.sampled_ms > 0 && !load.pressured && load.memory_headroom);
    without_keeper();
}

CD_TESTS(shed, cmocka_unit_test(test_nobody_comes_in_while_memory_is_short_and_who_is_in_is_served),
         cmocka_unit_test(test_while_the_log_has_too_much_to_prove_calls_are_refused_at_once),
         cmocka_unit_test(test_and_what_comes_over_open_wires_waits_as_alarms_do),
         cmocka_unit_test(test_further_calls_of_a_wire_count),
         cmocka_unit_test(test_who_waits_for_too_long_is_refused),
         cmocka_unit_test(test_cells_go_in_order_of_use_down_to_the_floor),
         cmocka_unit_test(test_a_cell_that_is_shed_is_owned_by_nobody_and_comes_back_from_the_bucket),
         cmocka_unit_test(test_sticky_ownership_stays),
         cmocka_unit_test(test_a_cell_that_cannot_be_restored_is_not_released),
         cmocka_unit_test(test_a_release_of_unknown_outcome_leaves_the_alarm_with_us),
         cmocka_unit_test(test_an_armed_cell_goes_when_its_wake_entry_is_there_and_its_timer_with_it),
         cmocka_unit_test(test_an_armed_cell_without_its_entry_stays_and_others_go_first),
         cmocka_unit_test(test_an_eviction_that_fails_at_once_is_not_tried_without_end),
         cmocka_unit_test(test_the_keeper_sheds_cells_until_memory_suffices),
         cmocka_unit_test(test_the_keeper_keeps_cells_that_are_not_the_reason),
         cmocka_unit_test(test_the_lease_says_what_the_shards_have))
