/* The rules of memory pressure, fleet.md 4.10. */
#include "cell/pressure.h"
#include "support/test.h"

#define GIB (UINT64_C(1) << 30)
#define MIB (UINT64_C(1) << 20)

/* A machine of 10,000 MiB without a control group. */
static struct io_usage usage(uint64_t rss_mib)
{
    return (struct io_usage){.rss = rss_mib * MIB,
                             .machine = 10000 * MIB,
                             .cgroup_limit = IO_ABSENT,
                             .cgroup_current = IO_ABSENT,
                             .cgroup_working_set = IO_ABSENT};
}

static void step(struct cell_pressure *p, uint64_t rss_mib, uint64_t occupied)
{
    struct io_usage u = usage(rss_mib);
    cell_pressure_step(p, &u, occupied);
}

static struct cell_pressure with(uint64_t high_mib)
{
    struct io_usage u = usage(1);
    return (struct cell_pressure){.marks = cell_marks_of(high_mib, &u)};
}

static void test_marks_come_from_the_setting_the_group_and_the_machine(void **state)
{
    (void)state;
    struct io_usage u = usage(1);
    struct cell_marks m = cell_marks_of(CELL_HIGH_DEFAULT, &u);
    assert_int_equal(m.high, 8000 * MIB);
    assert_int_equal(m.hard, 9500 * MIB);
    u.cgroup_limit = 1000 * MIB;
    m = cell_marks_of(CELL_HIGH_DEFAULT, &u);
    assert_int_equal(m.high, 800 * MIB);
    assert_int_equal(m.hard, 9500 * MIB); /* Of the machine, never derived from high. */
    m = cell_marks_of(100, &u);
    assert_int_equal(m.high, 100 * MIB);
    m = cell_marks_of(0, &u);
    assert_true(m.high == 0 && m.hard == 0);
    u.machine = u.cgroup_limit = IO_ABSENT;
    m = cell_marks_of(CELL_HIGH_DEFAULT, &u);
    assert_true(m.high == 0 && m.hard == 0);
    m = cell_marks_of(100, &u);
    assert_int_equal(m.hard, 125 * MIB);
    m = cell_marks_of(UINT64_MAX - 1, &u);
    assert_true(m.high > 0 && m.hard > m.high);
}

static void test_a_latch_engages_at_its_mark_and_holds_until_four_fifths_of_it(void **state)
{
    (void)state;
    struct cell_pressure p = with(1000);
    step(&p, 999, 10);
    assert_null(cell_pressure_reason(&p));
    assert_int_equal(p.floor, 10);
    step(&p, 1000, 10);
    assert_string_equal(cell_pressure_reason(&p), "memory");
    step(&p, 801, 10);
    assert_string_equal(cell_pressure_reason(&p), "memory");
    step(&p, 800, 10);
    assert_null(cell_pressure_reason(&p));
    step(&p, 9500, 10);
    assert_string_equal(cell_pressure_reason(&p), "rss-hard"); /* Named before the other one. */
}

static void test_what_the_allocator_holds_back_is_not_in_use(void **state)
{
    (void)state;
    struct cell_pressure p = with(1000);
    struct io_usage u = usage(1500);
    u.slack = 600 * MIB;
    assert_int_equal(cell_in_use(&u), 900 * MIB);
    cell_pressure_step(&p, &u, 10);
    assert_null(cell_pressure_reason(&p));
    u.cgroup_current = u.cgroup_working_set = 1700 * MIB; /* Less the same slack: 1100. */
    cell_pressure_step(&p, &u, 10);
    assert_string_equal(cell_pressure_reason(&p), "memory");
}

/* Raw size over the hard mark, and little of it in use: two ceilings, two latches. */
static void test_each_measure_has_a_latch_of_its_own(void **state)
{
    (void)state;
    struct cell_pressure p = with(1000);
    struct io_usage u = usage(9600);
    u.slack = 9000 * MIB;
    cell_pressure_step(&p, &u, 10);
    assert_true(p.hard && !p.memory && p.by_rss);
    u = usage(1100);
    cell_pressure_step(&p, &u, 9);
    assert_true(!p.hard && p.memory && !p.by_rss);
    u = usage(1500);
    u.slack = 800 * MIB; /* In use 700: below the low watermark, while the raw size is not. */
    cell_pressure_step(&p, &u, 9);
    assert_null(cell_pressure_reason(&p));
}

static void test_a_cut_is_a_tenth_and_at_least_one_cell(void **state)
{
    (void)state;
    struct cell_pressure p = with(1000);
    step(&p, 1000, 200);
    assert_int_equal(p.floor, 180);
    p = with(1000);
    step(&p, 1000, 5);
    assert_int_equal(p.floor, 4);
    p = with(1000);
    step(&p, 1000, 0);
    assert_false(p.cut);
}

static void test_the_next_cut_waits_for_the_last_one(void **state)
{
    (void)state;
    struct cell_pressure p = with(1000);
    step(&p, 1100, 200);
    step(&p, 1050, 190);
    assert_int_equal(p.floor, 180);
    step(&p, 1000, 180); /* 100 MiB for 20 cells: 180 more would do. */
    assert_int_equal(p.floor, 162);
}

static void test_cells_that_return_too_little_are_kept(void **state)
{
    (void)state;
    struct cell_pressure p = with(1000);
    step(&p, 1100, 200);
    step(&p, 1099, 180); /* A MiB for 20 cells: 9 more for all that are left. */
    assert_int_equal(p.floor, 180);
    assert_string_equal(cell_pressure_reason(&p), "memory");
    step(&p, 1066, 180); /* The allocator gave back late: 34 for 20, 306 for the rest. */
    assert_int_equal(p.floor, 162);
}

/* The projection is exact: 20 cells returned 33 MiB, the other 180 would return 297, and 267 are wanted. */
static void test_the_projection_is_exact_at_its_bound(void **state)
{
    (void)state;
    struct cell_pressure p = with(1000);
    step(&p, 1100, 200);
    step(&p, 1070, 180); /* 30 for 20 are 270 for 180: just as much as it takes from 1070 to 800. */
    assert_int_equal(p.floor, 162);
    p = with(1000);
    step(&p, 1100, 200);
    step(&p, 1071, 180); /* 29: 261 of 271. */
    assert_int_equal(p.floor, 180);
}

static void test_memory_that_grows_takes_another_cut(void **state)
{
    (void)state;
    struct cell_pressure p = with(1000);
    step(&p, 1100, 200);
    step(&p, 1111, 200);
    assert_int_equal(p.floor, 180); /* By one per cent and no more. */
    step(&p, 1112, 190);
    assert_int_equal(p.floor, 171);
    assert_int_equal(p.sample, 1112 * MIB);
}

static void test_another_measure_forgets_the_last_cut(void **state)
{
    (void)state;
    struct cell_pressure p = with(1000);
    struct io_usage u = usage(9600);
    u.slack = 9000 * MIB;
    cell_pressure_step(&p, &u, 200);
    assert_int_equal(p.floor, 180);
    u.slack = 8000 * MIB; /* Now 1600 are in use. */
    cell_pressure_step(&p, &u, 180);
    assert_false(p.by_rss);
    assert_int_equal(p.floor, 162);
}

/* Whatever else fills the memory, the node keeps most of its cells. */
static void test_memory_that_cells_do_not_have_does_not_cost_all_of_them(void **state)
{
    (void)state;
    struct cell_pressure p = with(1000);
    uint64_t cells = 1000;
    for (unsigned second = 0; second < 600; second++) {
        step(&p, 2000, cells);
        cells = p.floor < cells ? p.floor : cells;
    }
    assert_int_equal(cells, 900);
    assert_string_equal(cell_pressure_reason(&p), "memory");
    step(&p, 500, cells);
    assert_null(cell_pressure_reason(&p));
}

static void test_cells_that_fill_the_memory_go_until_it_is_enough(void **state)
{
    (void)state;
    struct cell_pressure p = with(1000);
    uint64_t cells = 1000; /* Of a MiB each, beside 100. */
    for (unsigned second = 0; second < 60; second++) {
        step(&p, 100 + cells, cells);
        cells = p.floor < cells ? p.floor : cells;
    }
    assert_null(cell_pressure_reason(&p));
    assert_true(cells >= 600 && cells <= 700);
}

static void test_headroom_is_below_every_low_watermark(void **state)
{
    (void)state;
    struct cell_pressure p = with(1000);
    struct io_usage u = usage(800);
    assert_true(cell_headroom(&p.marks, &u));
    u = usage(801);
    assert_false(cell_headroom(&p.marks, &u));
    u = usage(7700);
    u.slack = 7000 * MIB;
    assert_false(cell_headroom(&p.marks, &u)); /* Raw: 7600 is the low watermark. */
    p.marks = (struct cell_marks){0};
    assert_true(cell_headroom(&p.marks, &u));
}

CD_TESTS(pressure, cmocka_unit_test(test_marks_come_from_the_setting_the_group_and_the_machine),
         cmocka_unit_test(test_a_latch_engages_at_its_mark_and_holds_until_four_fifths_of_it),
         cmocka_unit_test(test_what_the_allocator_holds_back_is_not_in_use),
         cmocka_unit_test(test_each_measure_has_a_latch_of_its_own),
         cmocka_unit_test(test_a_cut_is_a_tenth_and_at_least_one_cell),
         cmocka_unit_test(test_the_next_cut_waits_for_the_last_one),
         cmocka_unit_test(test_cells_that_return_too_little_are_kept),
         cmocka_unit_test(test_the_projection_is_exact_at_its_bound),
         cmocka_unit_test(test_memory_that_grows_takes_another_cut),
         cmocka_unit_test(test_another_measure_forgets_the_last_cut),
         cmocka_unit_test(test_memory_that_cells_do_not_have_does_not_cost_all_of_them),
         cmocka_unit_test(test_cells_that_fill_the_memory_go_until_it_is_enough),
         cmocka_unit_test(test_headroom_is_below_every_low_watermark))
