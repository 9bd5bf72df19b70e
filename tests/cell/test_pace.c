/* How many handoffs go at once: a server that does one after the other, and one that does all at once. */
#include "cell/pace.h"
#include "io/io.h"
#include "support/test.h"

struct drain {
    struct cell_pace pace;
    uint64_t each_ns; /* A handoff, by itself, of what all of them share; */
    uint64_t alone_ns; /* and of what each has for itself. */
    uint64_t cells, begun[4096], ends[4096];
    unsigned under_way;
    uint64_t now_ns, free_ns; /* free_ns: of what is shared. */
    uint64_t worst_ns; /* Of those that began after the first second. */
    unsigned most;
};

static void begin_some(struct drain *d)
{
    while (d->under_way < d->pace.now && d->cells > 0) {
        unsigned i = d->under_way++;
        d->cells--;
        d->free_ns = (d->free_ns > d->now_ns ? d->free_ns : d->now_ns) + d->each_ns;
        d->begun[i] = d->now_ns;
        d->ends[i] = d->free_ns + d->alone_ns;
    }
    d->most = d->under_way > d->most ? d->under_way : d->most;
}

/* Until all are gone; answers when. */
static uint64_t run(struct drain *d, unsigned max, uint64_t until_ns)
{
    d->pace = cell_pace_begin(max, until_ns);
    for (begin_some(d); d->under_way > 0; begin_some(d)) {
        unsigned first = 0;
        for (unsigned i = 1; i < d->under_way; i++)
            first = d->ends[i] < d->ends[first] ? i : first;
        uint64_t begun = d->begun[first];
        d->now_ns = d->ends[first];
        if (begun > IO_SEC(1) && d->now_ns - begun > d->worst_ns)
            d->worst_ns = d->now_ns - begun;
        d->under_way--;
        d->begun[first] = d->begun[d->under_way];
        d->ends[first] = d->ends[d->under_way];
        cell_pace_ended(&d->pace, begun, d->now_ns, d->cells + d->under_way);
    }
    return d->now_ns;
}

static void test_a_fast_store_gets_the_whole_window(void **state)
{
    (void)state;
    struct drain *d = cd_new(struct drain);
    *d = (struct drain){.alone_ns = IO_MS(40), .cells = 5000};
    uint64_t end = run(d, 128, IO_SEC(40));
    assert_int_equal(d->most, 128);
    assert_true(end < IO_SEC(3));
    cd_free(d);
}

static void test_a_slow_store_makes_few_wait(void **state)
{
    (void)state;
    struct drain *d = cd_new(struct drain);
    *d = (struct drain){.each_ns = IO_MS(5), .alone_ns = IO_MS(20), .cells = 1000}; /* 200 a second. */
    uint64_t end = run(d, 128, IO_SEC(40));
    assert_true(d->worst_ns <= IO_MS(150)); /* With all of the window at once it is 660 ms. */
    assert_true(end < IO_SEC(6)); /* Its speed is all used: 5 s are what it needs. */
    cd_free(d);
}

/* It takes all of the time anyway, so nothing is gained when all of them wait. */
static void test_more_at_once_are_not_asked_for_where_they_are_no_faster(void **state)
{
    (void)state;
    struct drain *d = cd_new(struct drain);
    *d = (struct drain){.each_ns = IO_MS(5), .alone_ns = IO_MS(20), .cells = 5500}; /* 28 s of 40. */
    uint64_t end = run(d, 128, IO_SEC(40));
    assert_true(d->worst_ns <= IO_MS(150));
    assert_true(end < IO_SEC(30));
    cd_free(d);
}

static void test_where_each_is_slow_by_itself_many_go_at_once(void **state)
{
    (void)state;
    struct drain *d = cd_new(struct drain);
    *d = (struct drain){.alone_ns = IO_MS(400), .cells = 1000};
    uint64_t end = run(d, 128, IO_SEC(20));
    assert_true(end < IO_SEC(10)); /* With one at a time it is 400 s. */
    cd_free(d);
}

static void test_never_none_and_never_more_than_the_window(void **state)
{
    (void)state;
    struct cell_pace p = cell_pace_begin(3, IO_SEC(1000000));
    cell_pace_ended(&p, IO_SEC(1), IO_SEC(1) + IO_MS(10), 1);
    assert_int_equal(p.now, 3);
    for (unsigned i = 2; i < 5; i++) {
        cell_pace_ended(&p, IO_SEC(i), IO_SEC(i) + IO_MS(900), 1);
        assert_int_equal(p.now, i == 2 ? 2 : 1);
    }
    for (unsigned i = 100; i < 200; i++)
        cell_pace_ended(&p, IO_SEC(i), IO_SEC(i) + IO_MS(9), 1);
    assert_int_equal(p.now, 3);
    p.now = 1; /* Many are left, */
    cell_pace_ended(&p, IO_SEC(300), IO_SEC(301), UINT64_MAX);
    assert_int_equal(p.now, 3);
    p.until_ns = 0; /* or it is late. */
    p.now = 1;
    cell_pace_ended(&p, IO_SEC(302), IO_SEC(303), 1);
    assert_int_equal(p.now, 3);
}

CD_TESTS(pace, cmocka_unit_test(test_a_fast_store_gets_the_whole_window),
         cmocka_unit_test(test_a_slow_store_makes_few_wait),
         cmocka_unit_test(test_more_at_once_are_not_asked_for_where_they_are_no_faster),
         cmocka_unit_test(test_where_each_is_slow_by_itself_many_go_at_once),
         cmocka_unit_test(test_never_none_and_never_more_than_the_window))
