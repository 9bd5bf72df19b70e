#include "store/retry.h"
#include "support/test.h"

static void test_backoff_doubles_up_to_two_seconds_with_half_of_it_as_jitter(void **state)
{
    (void)state;
    static const unsigned base_ms[] = {100, 200, 400, 800, 1600, 2000, 2000, 2000};
    for (unsigned i = 0; i < CD_COUNT(base_ms); i++) {
        uint64_t base = IO_MS(base_ms[i]);
        assert_int_equal(store_backoff_ns(i + 1, 0, 0), base / 2);
        assert_int_equal(store_backoff_ns(i + 1, 0, base - 1), base / 2 + base - 1);
        assert_int_equal(store_backoff_ns(i + 1, 0, base), base / 2);
        uint64_t any = store_backoff_ns(i + 1, 0, UINT64_MAX);
        assert_true(any >= base / 2 && any < base / 2 + base);
    }
    assert_true(store_backoff_ns(1000000, 0, 0) == IO_SEC(1));
}

static void test_what_the_store_asks_for_is_heeded_up_to_ten_seconds(void **state)
{
    (void)state;
    assert_int_equal(store_backoff_ns(1, IO_SEC(3), 0), IO_SEC(3));
    assert_int_equal(store_backoff_ns(1, IO_SEC(10), 0), IO_SEC(10));
    assert_int_equal(store_backoff_ns(1, IO_SEC(3600), 0), IO_SEC(10));
    assert_int_equal(store_backoff_ns(5, IO_MS(1), 0), IO_MS(800)); /* Never less than our own wait. */
}

static void test_only_what_may_go_away_is_tried_again(void **state)
{
    (void)state;
    static const int yes[] = {IO_TIMEDOUT, IO_REFUSED,   IO_RESET, IO_UNREACHABLE,
                              IO_FAULT,    IO_THROTTLED, IO_BUSY,  IO_PROTOCOL};
    static const int no[] = {IO_OK,       IO_CANCELED, IO_EOF,    IO_NOENT,  IO_EXISTS,      IO_NOSPACE,
                             IO_CONFLICT, IO_DENIED,   IO_TOOBIG, CD_EINVAL, CD_EUNSUPPORTED};
    for (size_t i = 0; i < CD_COUNT(yes); i++)
        assert_true(store_may_retry(yes[i]));
    for (size_t i = 0; i < CD_COUNT(no); i++)
        assert_false(store_may_retry(no[i]));
}

static void test_each_lane_has_its_policy(void **state)
{
    (void)state;
    static const struct {
        enum io_lane lane;
        uint64_t size;
        struct store_policy want;
    } rows[] = {
        {IO_LANE_CONTROL, 9 << 20, {IO_LANE_CONTROL, IO_SEC(15), IO_SEC(30), 0, 2}},
        {IO_LANE_TELEMETRY, 0, {IO_LANE_TELEMETRY, IO_SEC(15), IO_SEC(30), 0, 2}},
        {IO_LANE_LEASE, 0, {IO_LANE_LEASE, IO_SEC(15), 0, 0, 1}},
        {IO_LANE_LOG, 8 << 20, {IO_LANE_LOG, IO_SEC(23), 0, 0, 0}},
        {IO_LANE_DATA, (8 << 20) + 1, {IO_LANE_DATA, IO_SEC(68), 0, IO_SEC(30), 3}},
    };
    for (size_t i = 0; i < CD_COUNT(rows); i++) {
        struct store_policy got = store_policy_of(rows[i].lane, rows[i].size);
        assert_int_equal(got.lane, rows[i].want.lane);
        assert_int_equal(got.attempt_ns, rows[i].want.attempt_ns);
        assert_int_equal(got.whole_ns, rows[i].want.whole_ns);
        assert_int_equal(got.window_ns, rows[i].want.window_ns);
        assert_int_equal(got.retries, rows[i].want.retries);
    }
}

CD_TESTS(retry, cmocka_unit_test(test_backoff_doubles_up_to_two_seconds_with_half_of_it_as_jitter),
         cmocka_unit_test(test_what_the_store_asks_for_is_heeded_up_to_ten_seconds),
         cmocka_unit_test(test_only_what_may_go_away_is_tried_again),
         cmocka_unit_test(test_each_lane_has_its_policy))
