/* The command line of celld-sim: what is accepted, and that everything else is refused with a reason. */
#include "sim/options.h"
#include "support/test.h"

#define PARSE(o, why, ...)                                                                                   \
    run_options_parse((o), (const char *const[]){__VA_ARGS__},                                               \
                      CD_COUNT(((const char *const[]){__VA_ARGS__})), (why))

static void test_without_arguments_seed_one_is_run(void **state)
{
    (void)state;
    struct run_options o;
    struct cd_buf why = {0};
    assert_int_equal(run_options_parse(&o, NULL, 0, &why), 0);
    assert_false(o.has_seed);
    assert_int_equal(o.seed_first, 1);
    assert_int_equal(o.seed_last, 1);
    assert_int_equal(o.jobs, 0);
    assert_int_equal(o.scenario_count, 0);
}

static void test_every_option_is_read(void **state)
{
    (void)state;
    struct run_options o;
    struct cd_buf why = {0};
    assert_int_equal(PARSE(&o, &why, "a.scn", "--seed", "5..90", "--check", "--jobs", "3", "--quiet",
                           "--list-marks", "b.scn", "--rev=abc", "--until", "90s"),
                     0);
    assert_true(o.has_seed && o.check && o.quiet && o.list_marks && o.has_until);
    assert_int_equal(o.seed_first, 5);
    assert_int_equal(o.seed_last, 90);
    assert_int_equal(o.jobs, 3);
    assert_int_equal(o.scenario_count, 2);
    assert_string_equal(o.scenarios[1], "b.scn");
    assert_string_equal(o.rev, "abc");
    assert_true(o.until_ns == 90000000000u);
    assert_int_equal(PARSE(&o, &why, "--seed=7", "--trace=json", "--break-at", "12"), 0);
    assert_int_equal(o.trace, RUN_TRACE_JSON);
    assert_true(o.has_break && o.break_serial == 12);
    assert_int_equal(PARSE(&o, &why, "--dump"), 0);
    assert_true(o.dump);
    assert_int_equal(PARSE(&o, &why, "--shrink", "--seed", "3"), 0);
    assert_true(o.shrink);
}

static void refuse(const char *want, const char *const *args, unsigned count)
{
    struct run_options o;
    struct cd_buf why = {0};
    assert_int_equal(run_options_parse(&o, args, count, &why), CD_EINVAL);
    if (strstr(cd_buf_cstr(&why), want) == NULL)
        fail_msg("message is '%s', want '%s' in it", cd_buf_cstr(&why), want);
    cd_buf_deinit(&why);
}
#define REFUSE(want, ...)                                                                                    \
    refuse(want, (const char *const[]){__VA_ARGS__}, CD_COUNT(((const char *const[]){__VA_ARGS__})))

static void test_wrong_command_lines_say_what_was_wanted(void **state)
{
    (void)state;
    REFUSE("unknown option --sed", "--sed", "1");
    REFUSE("unknown option -v", "-v");
    REFUSE("--seed wants N or A..B", "--seed");
    REFUSE("--seed x: want a number", "--seed", "x");
    REFUSE("--seed 1..: want a number", "--seed", "1..");
    REFUSE("--seed 9..3: want A <= B", "--seed", "9..3");
    REFUSE("--seed 0..18446744073709551615: want A <= B", "--seed", "0..18446744073709551615");
    REFUSE("--trace xml: want text, json or html", "--trace", "xml");
    REFUSE("--until 5: want a time", "--until", "5");
    REFUSE("--until 0: want a time", "--until", "0");
    REFUSE("--jobs 0: want a number", "--jobs", "0");
    REFUSE("--jobs 257: want a number", "--jobs", "257");
    REFUSE("--break-at x", "--break-at", "x");
    REFUSE("--check takes no value", "--check=yes");
}

static void test_options_that_contradict_each_other_are_refused(void **state)
{
    (void)state;
    REFUSE("--trace: want one seed", "--trace", "text", "--seed", "1..2");
    REFUSE("--dump: want one seed", "--dump", "--seed", "1..2");
    REFUSE("--shrink: want one seed", "--shrink", "a.scn", "b.scn");
    REFUSE("--break-at: want one seed", "--break-at", "4", "--seed", "1..2");
    REFUSE("--check and --trace", "--check", "--trace", "text");
    REFUSE("--check and --shrink", "--check", "--shrink");
    REFUSE("--dump runs nothing", "--dump", "--shrink");
    REFUSE("--shrink excludes", "--shrink", "--trace", "text");
}

CD_TESTS(options, cmocka_unit_test(test_without_arguments_seed_one_is_run),
         cmocka_unit_test(test_every_option_is_read),
         cmocka_unit_test(test_wrong_command_lines_say_what_was_wanted),
         cmocka_unit_test(test_options_that_contradict_each_other_are_refused))
