#include "base/cron.h"
#include "base/timetext.h"
#include "support/test.h"

static int64_t at(const char *iso)
{
    int64_t ms = 0;
    assert_int_equal(cd_time_parse_iso(cd_str(iso), &ms), 0);
    return ms;
}

static struct cd_cron parsed(const char *text)
{
    struct cd_cron c = {0};
    struct cd_buf why = {0};
    int rc = cd_cron_parse(&c, cd_str(text), &why);
    if (rc != 0)
        print_error("%s: %s\n", text, cd_buf_cstr(&why));
    assert_int_equal(rc, 0);
    cd_buf_deinit(&why);
    return c;
}

/* The occurrences of text after a moment, one after the other. */
static void follow(const char *text, const char *from, const char *const *want, size_t count)
{
    struct cd_cron c = parsed(text);
    int64_t now = at(from);
    for (size_t i = 0; i < count; i++) {
        struct cd_buf got = {0};
        now = cd_cron_next(&c, now);
        cd_time_iso(&got, now * 1000);
        if (strncmp(cd_buf_cstr(&got), want[i], strlen(want[i])) != 0)
            print_error("%s, occurrence %zu after %s: %s, want %s\n", text, i, from, cd_buf_cstr(&got),
                        want[i]);
        assert_memory_equal(got.ptr, want[i], strlen(want[i]));
        cd_buf_deinit(&got);
    }
}
#define FOLLOW(text, from, ...)                                                                              \
    do {                                                                                                     \
        static const char *const want_[] = {__VA_ARGS__};                                                    \
        follow(text, from, want_, CD_COUNT(want_));                                                          \
    } while (0)

static void test_each_field_chooses(void **state)
{
    (void)state;
    FOLLOW("* * * * *", "2026-01-31T23:58:30Z", "2026-01-31T23:59:00", "2026-02-01T00:00:00");
    FOLLOW("* * * * *", "2026-01-31T23:58:00Z", "2026-01-31T23:59:00"); /* After, not at. */
    FOLLOW("30 6 * * *", "2026-03-01T06:30:00Z", "2026-03-02T06:30:00");
    FOLLOW("0,15,59 0,23 * * *", "2026-12-31T23:15:00Z", "2026-12-31T23:59:00", "2027-01-01T00:00:00",
           "2027-01-01T00:15:00");
    FOLLOW("5-7 4 10-11 * *", "2026-01-10T04:06:59Z", "2026-01-10T04:07:00", "2026-01-11T04:05:00");
    FOLLOW("0 0 1 1,jul *", "2026-01-01T00:00:00Z", "2026-07-01", "2027-01-01");
    FOLLOW("0 0 * FEB-mar *", "2026-01-05T00:00:00Z", "2026-02-01T00:00:00");
    FOLLOW("0 0 * * MON-FRI", "2026-01-02T00:00:00Z", "2026-01-05", "2026-01-06"); /* A Friday. */
    FOLLOW("0 0 * * 1", "2026-01-02T00:00:00Z", "2026-01-04", "2026-01-11"); /* 1 is Sunday. */
    FOLLOW("0 0 * * 7", "2026-01-02T00:00:00Z", "2026-01-03");
    FOLLOW("  0 \t 0 * *\n* ", "2026-01-02T00:00:00Z", "2026-01-03");
    FOLLOW("05 08 * * *", "2026-01-02T00:00:00Z", "2026-01-02T08:05:00");
}

static void test_steps_run_over_a_range(void **state)
{
    (void)state;
    FOLLOW("*/20 * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:20:00", "2026-01-01T00:40:00",
           "2026-01-01T01:00:00");
    FOLLOW("10-20/5 0 * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:10:00", "2026-01-01T00:15:00",
           "2026-01-01T00:20:00", "2026-01-02T00:10:00");
    FOLLOW("50/4 0 * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:50:00", "2026-01-01T00:54:00",
           "2026-01-01T00:58:00", "2026-01-02T00:50:00");
    FOLLOW("50/1 0 * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:50:00", "2026-01-02T00:50:00");
    FOLLOW("*/59 0 * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:59:00", "2026-01-02T00:00:00");
    FOLLOW("*/30,7 0 * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:07:00", "2026-01-01T00:30:00");
    FOLLOW("0 0 */10 * *", "2026-01-01T00:00:00Z", "2026-01-11", "2026-01-21", "2026-01-31", "2026-02-01");
    FOLLOW("0 0 1 OCT/2 *", "2026-01-01T00:00:00Z", "2026-10-01", "2026-12-01", "2027-10-01");
}

static void test_the_end_of_the_month(void **state)
{
    (void)state;
    FOLLOW("0 0 L * *", "2024-01-31T00:00:00Z", "2024-02-29", "2024-03-31", "2024-04-30");
    FOLLOW("0 0 l 2 *", "2096-03-01T00:00:00Z", "2097-02-28", "2098-02-28", "2099-02-28", "2100-02-28");
    FOLLOW("0 0 L-2 * *", "2025-01-31T00:00:00Z", "2025-02-26", "2025-03-29");
    FOLLOW("0 0 L-30 * *", "2025-01-02T00:00:00Z", "2025-03-01", "2025-05-01"); /* 31 days or none. */
    FOLLOW("0 0 31 * *", "2025-01-31T00:00:00Z", "2025-03-31", "2025-05-31");
    FOLLOW("0 0 29 2 *", "2024-02-29T00:00:00Z", "2028-02-29");
    FOLLOW("0 0 29 2 *", "2096-02-29T00:00:00Z", "2104-02-29");
}

static void test_the_nearest_workday_stays_in_its_month(void **state)
{
    (void)state;
    FOLLOW("0 0 LW * *", "2026-01-01T00:00:00Z", "2026-01-30", "2026-02-27",
           "2026-03-31"); /* Sat, Sat, Tue. */
    FOLLOW("0 0 LW 5 *", "2026-01-01T00:00:00Z", "2026-05-29"); /* The 31st is a Sunday. */
    FOLLOW("0 0 15W * *", "2026-01-16T00:00:00Z", "2026-02-16", "2026-03-16",
           "2026-04-15"); /* Sun, Sun, Wed. */
    FOLLOW("0 0 15w 8 *", "2026-01-01T00:00:00Z", "2026-08-14"); /* A Saturday. */
    FOLLOW("0 0 1W 8 *", "2026-01-01T00:00:00Z", "2026-08-03"); /* The 1st is a Saturday. */
    FOLLOW("0 0 1W 11 *", "2026-01-01T00:00:00Z", "2026-11-02"); /* A Sunday. */
    FOLLOW("0 0 31W 5 *", "2026-01-01T00:00:00Z", "2026-05-29"); /* The last day, a Sunday. */
    FOLLOW("0 0 31W * *", "2026-01-31T00:00:00Z", "2026-03-31", "2026-05-29"); /* Not in shorter months. */
    FOLLOW("0 0 L-1W 5 *", "2026-01-01T00:00:00Z", "2026-05-29"); /* The 30th is a Saturday. */
    FOLLOW("0 0 L-30W * *", "2026-02-01T00:00:00Z", "2026-03-02", "2026-05-01"); /* Sun 1 March, Fri 1 May. */
}

static void test_weekdays_of_the_month(void **state)
{
    (void)state;
    FOLLOW("0 0 * * L", "2026-01-01T00:00:00Z", "2026-01-03", "2026-01-10"); /* Saturday. */
    FOLLOW("0 0 * * 6L", "2026-01-01T00:00:00Z", "2026-01-30", "2026-02-27"); /* The last Friday. */
    FOLLOW("0 0 * * 6L", "2026-07-01T00:00:00Z", "2026-07-31"); /* The last day, not the 24th. */
    FOLLOW("0 0 * * friL", "2026-01-01T00:00:00Z", "2026-01-30");
    FOLLOW("0 0 * * 2#1", "2026-01-01T00:00:00Z", "2026-01-05", "2026-02-02");
    FOLLOW("0 0 * * MON#5", "2026-01-01T00:00:00Z", "2026-03-30", "2026-06-29");
}

static void test_two_restricted_day_fields_match_by_either(void **state)
{
    (void)state;
    FOLLOW("0 0 10 * MON", "2026-01-05T00:00:00Z", "2026-01-10", "2026-01-12", "2026-01-19");
    FOLLOW("0 0 10 2 MON", "2026-01-05T00:00:00Z", "2026-02-02", "2026-02-09", "2026-02-10");
    FOLLOW("0 0 */1 * MON", "2026-01-05T00:00:00Z", "2026-01-06", "2026-01-07"); /* Restricted, if to all. */
    FOLLOW("0 0 L * MON#1", "2026-01-05T00:00:00Z", "2026-01-31", "2026-02-02");
    FOLLOW("0 0 30 2 MON", "2026-01-05T00:00:00Z", "2026-02-02");
}

static void test_times_before_1970_are_no_different(void **state)
{
    (void)state;
    struct cd_cron c = parsed("30 12 * * *");
    assert_int_equal(cd_cron_next(&c, -1), 45000000);
    assert_int_equal(cd_cron_next(&c, -86400000), 45000000 - 86400000);
}

static void test_bad_expressions_name_field_and_text(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"", "fields are missing: a cron expression has exactly five: minute, hour, day of month, month, day "
             "of week"},
        {"* * * *",
         "fields are missing: a cron expression has exactly five: minute, hour, day of month, month, day of "
         "week"},
        {"* * * * * *",
         "too many fields: a cron expression has exactly five: minute, hour, day of month, month, day "
         "of week"},
        {"60 * * * *", "minute \"60\": 60 is not within 0 to 59"},
        {"* 24 * * *", "hour \"24\": 24 is not within 0 to 23"},
        {"* * 0 * *", "day of month \"0\": 0 is not within 1 to 31"},
        {"* * 32 * *", "day of month \"32\": 32 is not within 1 to 31"},
        {"* * * 13 *", "month \"13\": 13 is not within 1 to 12"},
        {"* * * * 0", "day of week \"0\": 0 is not within 1 to 7"},
        {"* * * * 8", "day of week \"8\": 8 is not within 1 to 7"},
        {"100 * * * *", "minute \"100\": \"100\" is no value"},
        {"-1 * * * *", "minute \"-1\": an item is empty"},
        {"x * * * *", "minute \"x\": \"x\" is no value"},
        {"? * * * *", "minute \"?\": \"?\" is no value"},
        {"* * ? * *", "day of month \"?\": \"?\" is no value"},
        {"* * * MONDAY *", "month \"MONDAY\": \"MONDAY\" is no value"},
        {"MON * * * *", "minute \"MON\": \"MON\" is no value"},
        {"1,,2 * * * *", "minute \"1,,2\": an item is empty"},
        {"1, * * * *", "minute \"1,\": an item is empty"},
        {"*,1 * * * *", "minute \"*,1\": * leaves nothing for the rest of the list"},
        {"5-3 * * * *", "minute \"5-3\": the range 5-3 runs backwards"},
        {"* * * * SAT-SUN", "day of week \"SAT-SUN\": the range SAT-SUN runs backwards"},
        {"1-2-3 * * * *", "minute \"1-2-3\": \"2-3\" is no value"},
        {"*/0 * * * *", "minute \"*/0\": a step is a number from 1 to 59"},
        {"*/60 * * * *", "minute \"*/60\": a step is a number from 1 to 59"},
        {"* */24 * * *", "hour \"*/24\": a step is a number from 1 to 23"},
        {"* * */31 * *", "day of month \"*/31\": a step is a number from 1 to 30"},
        {"* * * */12 *", "month \"*/12\": a step is a number from 1 to 11"},
        {"* * * * */7", "day of week \"*/7\": a step is a number from 1 to 6"},
        {"*/ * * * *", "minute \"*/\": a step is a number from 1 to 59"},
        {"*/1/2 * * * *", "minute \"*/1/2\": a step is a number from 1 to 59"},
        {"/5 * * * *", "minute \"/5\": an item is empty"},
        {"* * L-0 * *", "day of month \"L-0\": after L comes nothing, or - and a number from 1 to 30"},
        {"* * L-31 * *", "day of month \"L-31\": after L comes nothing, or - and a number from 1 to 30"},
        {"* * L,1 * *", "day of month \"L,1\": after L comes nothing, or - and a number from 1 to 30"},
        {"* * 1,L * *", "day of month \"1,L\": \"L\" is no value"},
        {"* * W * *", "day of month \"W\": an item is empty"},
        {"* * 32W * *", "day of month \"32W\": 32 is not within 1 to 31"},
        {"* * 1,2W * *", "day of month \"1,2W\": \"1,2\" is no value"},
        {"* * * * 2#6", "day of week \"2#6\": after # comes a number from 1 to 5"},
        {"* * * * 2#", "day of week \"2#\": after # comes a number from 1 to 5"},
        {"* * * * #1", "day of week \"#1\": an item is empty"},
        {"* * * * 1,2L", "day of week \"1,2L\": \"1,2\" is no value"},
        {"* * * * 8L", "day of week \"8L\": 8 is not within 1 to 7"},
        {"0 0 30 2 *", "\"0 0 30 2 *\": no day of any year matches"},
        {"0 0 31 4,6,9,11 *", "\"0 0 31 4,6,9,11 *\": no day of any year matches"},
        {"0 0 L-30 2 *", "\"0 0 L-30 2 *\": no day of any year matches"},
    };
    for (size_t i = 0; i < CD_COUNT(rows); i++) {
        struct cd_cron c = {.nth = 77};
        struct cd_buf why = {0};
        assert_int_equal(cd_cron_parse(&c, cd_str(rows[i].text), &why), CD_ESYNTAX);
        assert_string_equal(cd_buf_cstr(&why), rows[i].why);
        assert_int_equal(c.nth, 77); /* Untouched. */
        assert_int_equal(cd_cron_parse(&c, cd_str(rows[i].text), NULL), CD_ESYNTAX);
        cd_buf_deinit(&why);
    }
}

CD_TESTS(cron, cmocka_unit_test(test_each_field_chooses), cmocka_unit_test(test_steps_run_over_a_range),
         cmocka_unit_test(test_the_end_of_the_month),
         cmocka_unit_test(test_the_nearest_workday_stays_in_its_month),
         cmocka_unit_test(test_weekdays_of_the_month),
         cmocka_unit_test(test_two_restricted_day_fields_match_by_either),
         cmocka_unit_test(test_times_before_1970_are_no_different),
         cmocka_unit_test(test_bad_expressions_name_field_and_text))
