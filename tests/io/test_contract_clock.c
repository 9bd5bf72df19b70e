/* The clock of a loop. */
#include "support.h"

static void flow_stands_still(struct contract *c)
{
    uint64_t first = io_now_ns(c->io);
    uint64_t draw;
    for (unsigned i = 0; i < 10000; i++) /* Takes its time. */
        io_random(c->io, IO_RAND_ID, &draw, sizeof draw);
    CHECK(io_now_ns(c->io) == first);
}

static void test_time_stands_still_within_a_callback(void **state)
{
    (void)state;
    contract_run(flow_stands_still);
}

static void flow_moves_on(struct contract *c)
{
    uint64_t last = io_now_ns(c->io);
    CHECK(last > 0);
    for (int i = 0; i < 20; i++) {
        CHECK_INT(io_sleep(c->io, IO_MS(1)), IO_OK);
        uint64_t now = io_now_ns(c->io);
        CHECK(now >= last + IO_MS(1));
        last = now;
    }
}

static void test_time_moves_on_by_at_least_what_was_slept(void **state)
{
    (void)state;
    contract_run(flow_moves_on);
}

static void flow_wall(struct contract *c)
{
    int64_t us = io_wall_us(c->io), ms = io_wall_ms(c->io);
    CHECK(us > 1700000000000000); /* After 2023. */
    CHECK(ms - us / 1000 >= 0 && ms - us / 1000 < 10000);
}

static void test_both_wall_clocks_agree(void **state)
{
    (void)state;
    contract_run(flow_wall);
}

static void read_clock(struct io *io, void *arg)
{
    *(uint64_t *)arg = io_now_ns(io);
}

static void flow_loops(struct contract *c)
{
    uint64_t before = io_now_ns(c->io), there = 0;
    contract_in_loop(c, 1, read_clock, &there);
    CHECK(there >= before);
    CHECK(io_now_ns(c->io) >= there);
}

static void test_all_loops_of_a_node_have_one_clock(void **state)
{
    (void)state;
    contract_run_loops(2, flow_loops);
}

CD_TESTS(contract_clock, cmocka_unit_test(test_time_stands_still_within_a_callback),
         cmocka_unit_test(test_time_moves_on_by_at_least_what_was_slept),
         cmocka_unit_test(test_both_wall_clocks_agree),
         cmocka_unit_test(test_all_loops_of_a_node_have_one_clock))
