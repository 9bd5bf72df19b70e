#include "log/health.h"

#include "support/test.h"

/* Appends of one member, one after the other; what the last of them says. */
static enum log_evict feed(struct log_health *h, unsigned member, uint64_t *now, unsigned count,
                           uint64_t took_ms, uint64_t pause_ms)
{
    enum log_evict e = LOG_EVICT_NONE;
    for (unsigned i = 0; i < count && e == LOG_EVICT_NONE; i++) {
        *now += IO_MS(took_ms);
        e = log_health_confirmed(h, member, *now - IO_MS(took_ms), *now);
        *now += IO_MS(pause_ms);
    }
    return e;
}

/* What one member's appends take leads to this. The other, where there is one, takes other_ms. */
static const struct {
    const char *what;
    unsigned members;
    uint64_t other_ms;
    unsigned before;
    uint64_t before_ms;
    unsigned count;
    uint64_t took_ms, pause_ms;
    enum log_evict end;
} rows[] = {
    {"a quick one stays", 2, 5, 0, 0, 2000, 5, 1, LOG_EVICT_NONE},
    {"one within its budget stays", 2, 5, 0, 0, 200, 100, 1, LOG_EVICT_NONE},
    {"seven answers are too few", 2, 5, 0, 0, 7, 900, 0, LOG_EVICT_NONE},
    {"a slow one goes after a while", 2, 5, 0, 0, 30, 110, 0, LOG_EVICT_SLOW},
    {"not before that", 2, 5, 0, 0, 20, 110, 0, LOG_EVICT_NONE},
    {"also one that answers once a second", 2, 5, 0, 0, 12, 1000, 0, LOG_EVICT_SLOW},
    {"alone, the budget decides", 1, 0, 0, 0, 30, 110, 0, LOG_EVICT_SLOW},
    {"its sibling is slow too", 2, 60, 0, 0, 100, 200, 0, LOG_EVICT_NONE},
    {"but not as slow", 2, 40, 0, 0, 100, 200, 0, LOG_EVICT_SLOW},
    {"slow answers of long ago go with the window", 2, 5, 20, 110, 40, 5, 100, LOG_EVICT_NONE},
};

static void test_who_is_slow_for_a_while_is_replaced(void **state)
{
    (void)state;
    for (size_t i = 0; i < CD_COUNT(rows); i++) {
        struct log_health h;
        uint64_t now = IO_SEC(100);
        log_health_init(&h, &(struct log_health_opts){0});
        log_health_begin(&h, rows[i].members);
        if (rows[i].members > 1)
            assert_int_equal(feed(&h, 1, &now, 20, rows[i].other_ms, 0), LOG_EVICT_NONE);
        assert_int_equal(feed(&h, 0, &now, rows[i].before, rows[i].before_ms, 0), LOG_EVICT_NONE);
        if (feed(&h, 0, &now, rows[i].count, rows[i].took_ms, rows[i].pause_ms) != rows[i].end)
            fail_msg("%s: want %s", rows[i].what, log_evict_name(rows[i].end));
    }
}

static void test_a_burst_that_is_over_blames_nobody_later(void **state)
{
    (void)state;
    struct log_health h;
    uint64_t now = IO_SEC(100);
    log_health_init(&h, &(struct log_health_opts){0});
    log_health_begin(&h, 1);
    assert_int_equal(feed(&h, 0, &now, 9, 150, 0), LOG_EVICT_NONE);
    now += IO_SEC(3);
    assert_int_equal(feed(&h, 0, &now, 1, 2, 0), LOG_EVICT_NONE); /* The probe of a quiet member. */
}

static void test_slow_members_are_replaced_one_in_ten_seconds(void **state)
{
    (void)state;
    struct log_health h;
    uint64_t now = IO_SEC(100);
    log_health_init(&h, &(struct log_health_opts){0});
    log_health_begin(&h, 1);
    assert_int_equal(feed(&h, 0, &now, 100, 150, 0), LOG_EVICT_SLOW);
    uint64_t first = now;
    log_health_begin(&h, 1);
    assert_int_equal(feed(&h, 0, &now, 7, 150, 0), LOG_EVICT_NONE); /* The new one's window was empty. */
    assert_int_equal(feed(&h, 0, &now, 100, 150, 0), LOG_EVICT_SLOW);
    assert_true(now - first >= IO_SEC(10) && now - first < IO_SEC(11));
}

static void test_all_silent_at_once_may_be_us(void **state)
{
    (void)state;
    struct log_health h;
    uint64_t now = IO_SEC(100), late = now - IO_MS(2100), just = now - IO_MS(900);
    log_health_init(&h, &(struct log_health_opts){0});
    log_health_begin(&h, 2);
    assert_int_equal(log_health_failed(&h, true, (uint64_t[]){late, late + IO_MS(1000)}, now),
                     LOG_EVICT_SELF);
    assert_int_equal(log_health_failed(&h, true, (uint64_t[]){late, just}, now), LOG_EVICT_FAILED);
    assert_int_equal(log_health_failed(&h, true, (uint64_t[]){late, 0}, now), LOG_EVICT_FAILED);
    assert_int_equal(log_health_failed(&h, false, (uint64_t[]){late, late}, now), LOG_EVICT_FAILED);
    log_health_begin(&h, 1);
    assert_int_equal(log_health_failed(&h, true, (uint64_t[]){late}, now), LOG_EVICT_FAILED);
}

static void test_a_second_copy_goes_after_four_times_the_slowest(void **state)
{
    (void)state;
    static const struct {
        uint64_t took_ms;
        struct log_health_opts o;
        uint64_t wait_ns;
    } hedges[] = {
        {0, {0}, IO_MS(250)},
        {10, {0}, IO_MS(250)},
        {100, {0}, IO_MS(400)},
        {900, {0}, IO_MS(1900)},
        {100, {.backstop_ns = IO_MS(300)}, IO_MS(200)},
        {100, {.backstop_ns = IO_MS(50)}, IO_MS(25)},
        {100, {.hedge_fixed = true, .hedge_ns = IO_MS(7)}, IO_MS(7)},
        {100, {.hedge_fixed = true}, UINT64_MAX},
    };
    for (size_t i = 0; i < CD_COUNT(hedges); i++) {
        struct log_health h;
        uint64_t now = IO_SEC(100);
        log_health_init(&h, &hedges[i].o);
        log_health_begin(&h, 1);
        assert_int_equal(feed(&h, 0, &now, hedges[i].took_ms > 0, hedges[i].took_ms, 0), LOG_EVICT_NONE);
        assert_int_equal(log_health_hedge_ns(&h, 0, now), hedges[i].wait_ns);
    }
}

CD_TESTS(health, cmocka_unit_test(test_who_is_slow_for_a_while_is_replaced),
         cmocka_unit_test(test_a_burst_that_is_over_blames_nobody_later),
         cmocka_unit_test(test_slow_members_are_replaced_one_in_ten_seconds),
         cmocka_unit_test(test_all_silent_at_once_may_be_us),
         cmocka_unit_test(test_a_second_copy_goes_after_four_times_the_slowest))
