/* UTC dates: every day of 800 years, the three forms of RFC 9110 dates, and what must be refused. */
#include "base/timetext.h"
#include "support/test.h"

#include <string.h>

#define DAY INT64_C(86400000)

static bool is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int days_of_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year));
}

/* A calendar that only counts: from Saturday 1600-01-01 to 2399-12-31. */
static void test_every_day_of_800_years(void **state)
{
    int64_t ms = -135140 * DAY; /* 1600-01-01: 370 years of 365 days and 90 leap days before 1970. */
    int weekday = 6;
    (void)state;
    for (int year = 1600; year < 2400; year++) {
        for (int month = 1; month <= 12; month++) {
            for (int day = 1; day <= days_of_month(year, month);
                 day++, ms += DAY, weekday = (weekday + 1) % 7) {
                struct cd_date first = cd_date_of(ms), last = cd_date_of(ms + DAY - 1);
                assert_true(first.year == year && first.month == month && first.day == day);
                assert_true(first.hour == 0 && first.minute == 0 && first.second == 0);
                assert_true(last.year == year && last.month == month && last.day == day);
                assert_true(last.hour == 23 && last.minute == 59 && last.second == 59);
                assert_true(first.weekday == weekday && last.weekday == weekday);
                assert_true(cd_date_ms(&first) == ms);
            }
        }
    }
    assert_true(ms == 157054 * DAY); /* 2400-01-01. */
}

static void test_every_second_day_comes_back_from_its_text(void **state)
{
    struct cd_buf text = {0};
    (void)state;
    for (int64_t ms = -135140 * DAY + 43210000; ms < 157054 * DAY; ms += 2 * DAY) {
        int64_t back = 0;
        cd_buf_clear(&text);
        cd_time_http(&text, ms);
        assert_int_equal(cd_time_parse_http(cd_buf_str(&text), &back), 0);
        assert_true(back == ms);
        cd_buf_clear(&text);
        cd_time_iso(&text, ms * 1000 + 789123);
        assert_int_equal(cd_time_parse_iso(cd_buf_str(&text), &back), 0);
        assert_true(back == ms + 789);
    }
    cd_buf_deinit(&text);
}

static void check_texts(int64_t us, const char *iso, const char *http, const char *compact)
{
    struct cd_buf b = {0};
    int64_t ms = us / 1000 - (us % 1000 < 0);
    cd_time_iso(&b, us);
    assert_str_is(cd_buf_str(&b), iso);
    cd_buf_clear(&b);
    cd_time_http(&b, ms);
    assert_str_is(cd_buf_str(&b), http);
    cd_buf_clear(&b);
    cd_time_compact(&b, ms);
    assert_str_is(cd_buf_str(&b), compact);
    cd_buf_deinit(&b);
}

static void test_known_times(void **state)
{
    (void)state;
    check_texts(0, "1970-01-01T00:00:00.000000Z", "Thu, 01 Jan 1970 00:00:00 GMT", "19700101T000000Z");
    check_texts(784111777000000, "1994-11-06T08:49:37.000000Z", "Sun, 06 Nov 1994 08:49:37 GMT",
                "19941106T084937Z");
    check_texts(1787140800123456, "2026-08-19T12:00:00.123456Z", "Wed, 19 Aug 2026 12:00:00 GMT",
                "20260819T120000Z");
    check_texts(951782400000000, "2000-02-29T00:00:00.000000Z", "Tue, 29 Feb 2000 00:00:00 GMT",
                "20000229T000000Z");
    check_texts(-1, "1969-12-31T23:59:59.999999Z", "Wed, 31 Dec 1969 23:59:59 GMT", "19691231T235959Z");
    check_texts(253402300799999999, "9999-12-31T23:59:59.999999Z", "Fri, 31 Dec 9999 23:59:59 GMT",
                "99991231T235959Z");
}

static void test_no_time_is_too_far_away(void **state)
{
    static const int64_t far[] = {INT64_MIN, INT64_MIN + 1, INT64_MAX - 1, INT64_MAX};
    (void)state;
    for (size_t i = 0; i < CD_COUNT(far); i++) {
        struct cd_buf b = {0};
        struct cd_date d = cd_date_of(far[i]);
        assert_true(d.month >= 1 && d.month <= 12 && d.day >= 1 && d.day <= 31);
        assert_true(d.weekday >= 0 && d.weekday <= 6 && d.hour >= 0 && d.second >= 0);
        assert_int_equal(d.year, far[i] < 0 ? -292275055 : 292278994);
        cd_time_iso(&b, far[i]);
        cd_time_http(&b, far[i]);
        cd_time_compact(&b, far[i]);
        assert_true(b.len > 60);
        cd_buf_deinit(&b);
    }
}

static void test_the_three_forms_of_rfc_9110_name_one_second(void **state)
{
    static const char *const form[] = {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
                                       "Sun Nov  6 08:49:37 1994"};
    (void)state;
    for (size_t i = 0; i < CD_COUNT(form); i++) {
        int64_t ms = 0;
        assert_int_equal(cd_time_parse_http(cd_str(form[i]), &ms), 0);
        assert_true(ms == 784111777000);
    }
    int64_t ms = 0;
    assert_int_equal(cd_time_parse_http(CD_STR("Wed Aug 19 12:00:00 2026"), &ms), 0);
    assert_true(ms == 1787140800000);
    assert_int_equal(cd_time_parse_http(CD_STR("Wednesday, 19-Aug-26 12:00:00 GMT"), &ms), 0);
    assert_true(ms == 1787140800000);
    /* Two digits are taken for 1970 to 2069. */
    assert_int_equal(cd_time_parse_http(CD_STR("Thursday, 01-Jan-70 00:00:00 GMT"), &ms), 0);
    assert_true(ms == 0);
    assert_int_equal(cd_time_parse_http(CD_STR("Tuesday, 31-Dec-69 23:59:59 GMT"), &ms), 0);
    assert_true(ms == 3155759999000);
}

static void test_http_dates_that_are_none_leave_the_time_alone(void **state)
{
    static const char *const bad[] = {
        "",
        "Sun,",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 GMT ",
        " Sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 gmt",
        "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun,06 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT",
        "sun, 06 Nov 1994 08:49:37 GMT",
        "Xyz, 06 Nov 1994 08:49:37 GMT",
        "Mon, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT",
        "Sun, 06 Nov 1994 08:49 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:00 GMT",
        "Sun, 06 Nov 1994 08:49:60 GMT",
        "Sun, 06 Nov 1994 -8:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Thu, 31 Nov 1994 08:49:37 GMT",
        "Thu, 01 Dec 1994 08:49:37.5 GMT",
        "Thu, 29 Feb 2001 00:00:00 GMT",
        "Thu, 29 Feb 1900 00:00:00 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT",
        "Sunday, 06 Nov 1994 08:49:37 GMT",
        "Monday, 06-Nov-94 08:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sunday, 31-Nov-94 08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994",
        "Sun Nov 06 08:49:37 1994 GMT",
        "Mon Nov  6 08:49:37 1994",
        "Sun Nov  0 08:49:37 1994",
        "Sun Nov  6 08:49:37 94",
        "1994-11-06T08:49:37Z",
    };
    (void)state;
    for (size_t i = 0; i < CD_COUNT(bad); i++) {
        int64_t ms = 77;
        if (cd_time_parse_http(cd_str(bad[i]), &ms) != CD_ESYNTAX)
            fail_msg("accepted: %s", bad[i]);
        assert_int_equal(ms, 77);
    }
    int64_t ms = 77;
    assert_int_equal(cd_time_parse_http((struct cd_str){NULL, 0}, &ms), CD_ESYNTAX);
    assert_int_equal(cd_time_parse_http(CD_STR("Sun, 06 Nov 1994 08:49:37 GMT\0"), &ms), CD_ESYNTAX);
    assert_int_equal(ms, 77);
}

static void check_iso(const char *text, int64_t want)
{
    int64_t ms = 77;
    assert_int_equal(cd_time_parse_iso(cd_str(text), &ms), 0);
    assert_true(ms == want);
}

static void test_iso_times_with_and_without_a_fraction(void **state)
{
    (void)state;
    check_iso("1970-01-01T00:00:00Z", 0);
    check_iso("1994-11-06T08:49:37Z", 784111777000);
    check_iso("1994-11-06T08:49:37.1Z", 784111777100);
    check_iso("1994-11-06T08:49:37.12Z", 784111777120);
    check_iso("1994-11-06T08:49:37.123Z", 784111777123);
    check_iso("1994-11-06T08:49:37.123999999999999999999999Z", 784111777123);
    check_iso("1969-12-31T23:59:59.999Z", -1);
    check_iso("2000-02-29T00:00:00Z", 951782400000);
    check_iso("0000-01-01T00:00:00Z", -62167219200000);
    check_iso("9999-12-31T23:59:59.999Z", 253402300799999);
}

static void test_iso_times_that_are_none_leave_the_time_alone(void **state)
{
    static const char *const bad[] = {
        "",
        "Z",
        "1994",
        "1994-11-06",
        "1994-11-06T08:49:37",
        "1994-11-06T08:49:37.Z",
        "1994-11-06T08:49:37.",
        "1994-11-06T08:49:37.xZ",
        "1994-11-06T08:49:37.1.2Z",
        "1994-11-06T08:49:37,1Z",
        "1994-11-06T08:49:37z",
        "1994-11-06t08:49:37Z",
        "1994-11-06 08:49:37Z",
        "1994-11-06T08:49:37+00:00",
        "1994-11-06T08:49:37Z ",
        " 1994-11-06T08:49:37Z",
        "1994-11-06T08:49Z",
        "1994-1-06T08:49:37Z",
        "19941106T084937Z",
        "+1994-11-06T08:49:37Z",
        "-994-11-06T08:49:37Z",
        "1994-00-06T08:49:37Z",
        "1994-13-06T08:49:37Z",
        "1994-99-06T08:49:37Z",
        "1994-11-00T08:49:37Z",
        "1994-11-31T08:49:37Z",
        "1994-11-99T08:49:37Z",
        "1994-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "1994-11-06T24:00:00Z",
        "1994-11-06T08:60:00Z",
        "1994-12-31T23:59:60Z",
        "0000-00-00T00:00:00Z",
    };
    (void)state;
    for (size_t i = 0; i < CD_COUNT(bad); i++) {
        int64_t ms = 77;
        if (cd_time_parse_iso(cd_str(bad[i]), &ms) != CD_ESYNTAX)
            fail_msg("accepted: %s", bad[i]);
        assert_int_equal(ms, 77);
    }
    int64_t ms = 77;
    assert_int_equal(cd_time_parse_iso((struct cd_str){NULL, 0}, &ms), CD_ESYNTAX);
}

/* Every two digits for month, day, hour, minute and second, alone out of place: only what a clock shows. */
static void test_fields_keep_their_ranges(void **state)
{
    static const struct {
        const char *format;
        unsigned low, high;
    } field[] = {{"2000-%02u-01T00:00:00Z", 1, 12}, {"2000-02-%02uT00:00:00Z", 1, 29},
                 {"2001-02-%02uT00:00:00Z", 1, 28}, {"2001-04-%02uT00:00:00Z", 1, 30},
                 {"2001-05-%02uT00:00:00Z", 1, 31}, {"2001-05-01T%02u:00:00Z", 0, 23},
                 {"2001-05-01T00:%02u:00Z", 0, 59}, {"2001-05-01T00:00:%02uZ", 0, 59}};
    (void)state;
    for (size_t i = 0; i < CD_COUNT(field); i++) {
        for (unsigned v = 0; v < 100; v++) {
            char text[40];
            int64_t ms;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            (void)snprintf(text, sizeof text, field[i].format, v);
#pragma GCC diagnostic pop
            bool good = v >= field[i].low && v <= field[i].high;
            assert_int_equal(cd_time_parse_iso(cd_str(text), &ms), good ? 0 : CD_ESYNTAX);
        }
    }
}

CD_TESTS(timetext, cmocka_unit_test(test_every_day_of_800_years),
         cmocka_unit_test(test_every_second_day_comes_back_from_its_text), cmocka_unit_test(test_known_times),
         cmocka_unit_test(test_no_time_is_too_far_away),
         cmocka_unit_test(test_the_three_forms_of_rfc_9110_name_one_second),
         cmocka_unit_test(test_http_dates_that_are_none_leave_the_time_alone),
         cmocka_unit_test(test_iso_times_with_and_without_a_fraction),
         cmocka_unit_test(test_iso_times_that_are_none_leave_the_time_alone),
         cmocka_unit_test(test_fields_keep_their_ranges))
