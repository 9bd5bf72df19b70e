/* Numbers with units: what is read, what is refused, and that printing gives the same value back. */
#include "sim/quantity.h"
#include "support/test.h"

static void is_duration(const char *text, uint64_t want)
{
    uint64_t ns = 1;
    assert_int_equal(quantity_duration(cd_str(text), &ns), 0);
    assert_true(ns == want);
    struct cd_buf out = {0};
    quantity_print_duration(&out, ns);
    uint64_t again = 1;
    assert_int_equal(quantity_duration(cd_buf_str(&out), &again), 0);
    assert_true(again == want);
    cd_buf_deinit(&out);
}

static void test_durations_have_units_and_up_to_three_decimals(void **state)
{
    (void)state;
    is_duration("0", 0);
    is_duration("0s", 0);
    is_duration("5s", 5000000000u);
    is_duration("1.5s", 1500000000u);
    is_duration("5200ms", 5200000000u);
    is_duration("17us", 17000u);
    is_duration("3ns", 3u);
    is_duration("2m", 120000000000u);
    is_duration("1h", 3600000000000u);
}

static void test_durations_of_another_form_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",        "5",   "s",   "-5s",   "5 s",  "5S",
                                      "1.2345s", "1.s", ".5s", "0.5ns", "5sec", "1..2s"};
    for (size_t i = 0; i < CD_COUNT(bad); i++) {
        uint64_t ns = 77;
        assert_int_equal(quantity_duration(cd_str(bad[i]), &ns), CD_ESYNTAX);
        assert_true(ns == 77);
    }
    uint64_t ns = 77;
    assert_int_equal(quantity_duration(CD_STR("99999999999999999999s"), &ns), CD_ETOOBIG);
    assert_int_equal(quantity_duration(CD_STR("9999999999999999h"), &ns), CD_ETOOBIG);
}

static void is_ratio(const char *text, uint64_t want)
{
    uint64_t ppm = 1;
    assert_int_equal(quantity_ratio(cd_str(text), &ppm), 0);
    assert_int_equal(ppm, want);
    struct cd_buf out = {0};
    quantity_print_ratio(&out, ppm);
    assert_int_equal(quantity_ratio(cd_buf_str(&out), &ppm), 0);
    assert_int_equal(ppm, want);
    cd_buf_deinit(&out);
}

static void test_ratios_are_percent_ppm_or_fractions_up_to_one(void **state)
{
    (void)state;
    is_ratio("0", 0);
    is_ratio("30%", 300000);
    is_ratio("2.5%", 25000);
    is_ratio("0.0001%", 1);
    is_ratio("200ppm", 200);
    is_ratio("1/50", 20000);
    is_ratio("1/1", 1000000);
    is_ratio("100%", 1000000);
    static const char *const bad[] = {"", "30", "%", "1/0", "1/", "/2", "a/b", "1.5ppm", "30 %"};
    for (size_t i = 0; i < CD_COUNT(bad); i++) {
        uint64_t ppm;
        assert_int_equal(quantity_ratio(cd_str(bad[i]), &ppm), CD_ESYNTAX);
    }
    uint64_t ppm;
    assert_int_equal(quantity_ratio(CD_STR("101%"), &ppm), CD_ETOOBIG);
    assert_int_equal(quantity_ratio(CD_STR("3/2"), &ppm), CD_ETOOBIG);
}

static void test_rates_and_sizes_read_and_print(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t rate;
        const char *printed;
    } rates[] = {
        {"40/s", 40000, "40/s"}, {"0.5/s", 500, "0.500/s"}, {"30/m", 500, "0.500/s"}, {"0/s", 0, "0/s"}};
    for (size_t i = 0; i < CD_COUNT(rates); i++) {
        uint64_t v;
        assert_int_equal(quantity_rate(cd_str(rates[i].text), &v), 0);
        assert_int_equal(v, rates[i].rate);
        struct cd_buf out = {0};
        quantity_print_rate(&out, v);
        assert_str_is(cd_buf_str(&out), rates[i].printed);
        cd_buf_deinit(&out);
    }
    static const struct {
        const char *text;
        uint64_t bytes;
        const char *printed;
    } sizes[] = {{"512", 512, "512"},
                 {"64k", 65536, "64k"},
                 {"4m", 4u << 20, "4m"},
                 {"2048k", 2u << 20, "2m"},
                 {"0", 0, "0"}};
    for (size_t i = 0; i < CD_COUNT(sizes); i++) {
        uint64_t v;
        assert_int_equal(quantity_bytes(cd_str(sizes[i].text), &v), 0);
        assert_int_equal(v, sizes[i].bytes);
        struct cd_buf out = {0};
        quantity_print_bytes(&out, v);
        assert_str_is(cd_buf_str(&out), sizes[i].printed);
        cd_buf_deinit(&out);
    }
    uint64_t v;
    assert_int_equal(quantity_rate(CD_STR("40"), &v), CD_ESYNTAX);
    assert_int_equal(quantity_rate(CD_STR("40/h"), &v), CD_ESYNTAX);
    assert_int_equal(quantity_bytes(CD_STR("4g"), &v), CD_ESYNTAX);
    assert_int_equal(quantity_bytes(CD_STR("99999999999999999m"), &v), CD_ETOOBIG);
}

CD_TESTS(quantity, cmocka_unit_test(test_durations_have_units_and_up_to_three_decimals),
         cmocka_unit_test(test_durations_of_another_form_are_refused),
         cmocka_unit_test(test_ratios_are_percent_ppm_or_fractions_up_to_one),
         cmocka_unit_test(test_rates_and_sizes_read_and_print))
