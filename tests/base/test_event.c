/* Lines of the log exactly as operations.md 7.1 has them, and the filters of 7.2. */
#include "base/event.h"
#include "base/json.h"
#include "support/death.h"
#include "support/test.h"

#include <string.h>

#define NOON INT64_C(1787140800123456) /* 2026-08-19T12:00:00.123456Z */

static void check_line(enum cd_event_format format, enum cd_level level, const char *target, const char *name,
                       const struct cd_field *fields, size_t count, const char *want)
{
    struct cd_buf out = {0};
    cd_buf_add_str(&out, CD_STR("before\n"));
    cd_event_format(&out, format, NOON, level, target, name, fields, count);
    assert_true(cd_str_starts(cd_buf_str(&out), CD_STR("before\n")));
    cd_buf_drop(&out, 7);
    assert_str_is(cd_buf_str(&out), want);
    if (format == CD_EVENT_JSON) {
        struct cd_json_doc *doc;
        assert_int_equal(cd_json_parse(&doc, cd_buf_str(&out), NULL), 0);
        cd_json_free(doc);
    }
    cd_buf_deinit(&out);
}

static void test_text_without_fields(void **state)
{
    (void)state;
    check_line(CD_EVENT_TEXT, CD_INFO, "celld", "file_limit", NULL, 0,
               "2026-08-19T12:00:00.123456Z  INFO celld: file_limit event=\"file_limit\"\n");
}

static void test_text_pads_the_level_to_five(void **state)
{
    static const char *const want[] = {"Z ERROR c", "Z  WARN c", "Z  INFO c", "Z DEBUG c", "Z TRACE c"};
    (void)state;
    for (unsigned level = 0; level < 5; level++) {
        struct cd_buf out = {0};
        cd_event_format(&out, CD_EVENT_TEXT, NOON, (enum cd_level)level, "celld", "x", NULL, 0);
        assert_non_null(strstr(cd_buf_cstr(&out), want[level]));
        cd_buf_deinit(&out);
    }
}

static void test_text_quotes_strings_and_leaves_numbers_bare(void **state)
{
    const struct cd_field fields[] = {CD_U("count", UINT64_MAX),
                                      CD_I("left", INT64_MIN),
                                      CD_I("zero", 0),
                                      CD_B("ok", true),
                                      CD_B("bad", false),
                                      CD_Z("outcome", "text with spaces"),
                                      CD_S("key", CD_STR("a\"b\\c\nd\re\x1b[0m")),
                                      CD_Z("none", NULL)};
    (void)state;
    check_line(CD_EVENT_TEXT, CD_WARN, "celld", "lease.renewed", fields, CD_COUNT(fields),
               "2026-08-19T12:00:00.123456Z  WARN celld: lease.renewed event=\"lease.renewed\""
               " count=18446744073709551615 left=-9223372036854775808 zero=0 ok=true bad=false"
               " outcome=\"text with spaces\" key=\"a\\\"b\\\\c\\nd\\re\\u001b[0m\" none=\"\"\n");
}

static void test_a_field_named_msg_is_the_message(void **state)
{
    const struct cd_field fields[] = {CD_U("worker_count", 16), CD_Z("msg", "event loops ready")};
    const struct cd_field broken[] = {CD_Z("msg", "two\nlines")};
    (void)state;
    check_line(CD_EVENT_TEXT, CD_INFO, "celld", "host_runtime", fields, 2,
               "2026-08-19T12:00:00.123456Z  INFO celld: event loops ready event=\"host_runtime\""
               " worker_count=16\n");
    check_line(CD_EVENT_JSON, CD_INFO, "celld", "host_runtime", fields, 2,
               "{\"ts\":\"2026-08-19T12:00:00.123456Z\",\"level\":\"INFO\",\"target\":\"celld\","
               "\"msg\":\"event loops ready\",\"event\":\"host_runtime\",\"worker_count\":16}\n");
    check_line(CD_EVENT_TEXT, CD_INFO, "celld", "x", broken, 1,
               "2026-08-19T12:00:00.123456Z  INFO celld: two\\nlines event=\"x\"\n");
}

static void test_a_target_is_shown_with_its_path(void **state)
{
    const struct cd_field fields[] = {CD_Z("msg", "lease acquired"), CD_Z("attempt", "acquire"),
                                      CD_U("elapsed_ms", 44)};
    (void)state;
    check_line(CD_EVENT_TEXT, CD_INFO, "lease", "node_lease_attempt", fields, 3,
               "2026-08-19T12:00:00.123456Z  INFO celld::lease: lease acquired event=\"node_lease_attempt\""
               " attempt=\"acquire\" elapsed_ms=44\n");
    check_line(CD_EVENT_TEXT, CD_INFO, "log.fold", "x", NULL, 0,
               "2026-08-19T12:00:00.123456Z  INFO celld::log::fold: x event=\"x\"\n");
    check_line(CD_EVENT_TEXT, CD_INFO, "celld.log", "x", NULL, 0,
               "2026-08-19T12:00:00.123456Z  INFO celld::log: x event=\"x\"\n");
    check_line(CD_EVENT_JSON, CD_DEBUG, "store", "x", NULL, 0,
               "{\"ts\":\"2026-08-19T12:00:00.123456Z\",\"level\":\"DEBUG\",\"target\":\"celld::store\","
               "\"msg\":\"x\",\"event\":\"x\"}\n");
}

static void test_json_is_one_object_on_one_line(void **state)
{
    const struct cd_field fields[] = {CD_U("epoch", 7), CD_I("skew_ms", -3), CD_B("ready", true),
                                      CD_S("why", CD_STR("\"a\"\n\xff"))};
    (void)state;
    check_line(CD_EVENT_JSON, CD_ERROR, "celld", "core_actor_exit", fields, CD_COUNT(fields),
               "{\"ts\":\"2026-08-19T12:00:00.123456Z\",\"level\":\"ERROR\",\"target\":\"celld\","
               "\"msg\":\"core_actor_exit\",\"event\":\"core_actor_exit\",\"epoch\":7,\"skew_ms\":-3,"
               "\"ready\":true,\"why\":\"\\\"a\\\"\\n\xef\xbf\xbd\"}\n");
}

static void test_no_value_makes_a_second_line(void **state)
{
    (void)state;
    for (unsigned format = 0; format < 2; format++) {
        for (unsigned c = 0; c < 0x3000; c++) {
            char bytes[3] = {(char)c, 0, 0};
            size_t len = 1;
            if (c >= 0x800) {
                bytes[0] = (char)(0xe0 | c >> 12);
                bytes[1] = (char)(0x80 | (c >> 6 & 63));
                bytes[2] = (char)(0x80 | (c & 63));
                len = 3;
            } else if (c >= 0x80) {
                bytes[0] = (char)(0xc0 | c >> 6);
                bytes[1] = (char)(0x80 | (c & 63));
                len = 2;
            }
            struct cd_buf out = {0};
            const struct cd_field field = CD_S("value", cd_str_of(bytes, len));
            cd_event_format(&out, (enum cd_event_format)format, NOON, CD_INFO, "celld", "x", &field, 1);
            for (size_t i = 0; i + 1 < out.len; i++)
                assert_true((unsigned char)out.ptr[i] >= 0x20 && out.ptr[i] != 0x7f);
            assert_int_equal(out.ptr[out.len - 1], '\n');
            assert_true(cd_str_is_utf8(cd_buf_str(&out)));
            cd_buf_deinit(&out);
        }
    }
}

static void level_out_of_range(void)
{
    (void)cd_level_name((enum cd_level)5);
}

static void test_levels_have_names(void **state)
{
    (void)state;
    assert_string_equal(cd_level_name(CD_ERROR), "ERROR");
    assert_string_equal(cd_level_name(CD_TRACE), "TRACE");
    assert_dies(level_out_of_range, "CD_COUNT(level_names)");
}

/* The highest level that filter lets pass for target: 'o' none, then e w i d t. */
static char passes(const char *filter, const char *target)
{
    struct cd_event_filter f;
    struct cd_buf why = {0};
    if (cd_event_filter_parse(&f, cd_str(filter), &why) != 0)
        fail_msg("%s", cd_buf_cstr(&why));
    unsigned level = 0;
    while (level < 5 && cd_event_filter_allows(&f, target, (enum cd_level)level))
        level++;
    for (unsigned above = level; above < 5; above++)
        assert_false(cd_event_filter_allows(&f, target, (enum cd_level)above));
    cd_event_filter_deinit(&f);
    cd_buf_deinit(&why);
    return "oewidt"[level];
}

static void test_a_level_alone_is_for_all_targets(void **state)
{
    static const char *const level[] = {"off", "error", "warn", "info", "debug", "trace"};
    (void)state;
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(passes(level[i], "celld"), "oewidt"[i]);
        assert_int_equal(passes(level[i], "store"), "oewidt"[i]);
    }
    assert_int_equal(passes("InFo", "celld"), 'i');
    assert_int_equal(passes("OFF", "celld"), 'o');
    assert_int_equal(passes(" info , store=DEBUG ", "store"), 'd');
}

static void test_the_longest_matching_target_wins(void **state)
{
    static const char *const same[] = {"info,store=debug,store.s3=trace,timing=off",
                                       "timing=off,store.s3=trace,store=debug,info"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(passes(same[i], "celld"), 'i');
        assert_int_equal(passes(same[i], "store"), 'd');
        assert_int_equal(passes(same[i], "store.s3"), 't');
        assert_int_equal(passes(same[i], "store.s3.list"), 't');
        assert_int_equal(passes(same[i], "store.gs"), 'd');
        assert_int_equal(passes(same[i], "timing"), 'o');
        assert_int_equal(passes(same[i], "lease"), 'i');
    }
}

static void test_a_target_matches_whole_words(void **state)
{
    (void)state;
    assert_int_equal(passes("log=debug", "logs"), 'o');
    assert_int_equal(passes("log=debug", "log"), 'd');
    assert_int_equal(passes("log=debug", "log.fold"), 'd');
    assert_int_equal(passes("log=debug", "lo"), 'o');
    assert_int_equal(passes("log.fold=debug", "log"), 'o');
    assert_int_equal(passes("store=debug", "celld"), 'o');
    assert_int_equal(passes("celldx=debug", "celld"), 'o');
    assert_int_equal(passes("celld=debug", "celldx"), 'd'); /* A target of that name is celld::celldx. */
}

static void test_a_target_alone_lets_everything_pass(void **state)
{
    (void)state;
    assert_int_equal(passes("store", "store"), 't');
    assert_int_equal(passes("store", "lease"), 'o');
    assert_int_equal(passes("warn,celld::store", "store"), 't');
}

static void test_of_two_directives_for_one_target_the_later_counts(void **state)
{
    (void)state;
    assert_int_equal(passes("info,debug", "celld"), 'd');
    assert_int_equal(passes("debug,info", "celld"), 'i');
    assert_int_equal(passes("store=debug,store=warn", "store"), 'w');
    assert_int_equal(passes("store=warn,celld::store=debug", "store"), 'd');
    assert_int_equal(passes("celld::store=debug,store=warn", "store"), 'w');
}

static void test_both_separators_and_the_program_s_name_are_accepted(void **state)
{
    static const char *const same[] = {"log::fold=debug", "log.fold=debug", "celld::log::fold=debug",
                                       "celld.log.fold=debug", "celld::log.fold=debug"};
    (void)state;
    for (size_t i = 0; i < CD_COUNT(same); i++) {
        assert_int_equal(passes(same[i], "log.fold"), 'd');
        assert_int_equal(passes(same[i], "celld.log.fold"), 'd');
        assert_int_equal(passes(same[i], "log.folds"), 'o');
        assert_int_equal(passes(same[i], "log"), 'o');
    }
    /* The program's own name is the root of all targets, and shorter than any of them. */
    assert_int_equal(passes("celld=debug", "store"), 'd');
    assert_int_equal(passes("celld=debug,log=warn", "log"), 'w');
    assert_int_equal(passes("log=warn,celld=debug", "log"), 'w');
    assert_int_equal(passes("celld=debug,info", "celld"), 'd');
}

static void test_an_empty_filter_lets_nothing_pass(void **state)
{
    (void)state;
    assert_int_equal(passes("", "celld"), 'o');
    assert_int_equal(passes(" , ,", "celld"), 'o');
    struct cd_event_filter f;
    assert_int_equal(cd_event_filter_parse(&f, (struct cd_str){NULL, 0}, NULL), 0);
    assert_false(cd_event_filter_allows(&f, "celld", CD_ERROR));
    cd_event_filter_deinit(&f);
}

static void test_a_bad_directive_is_named_and_leaves_the_filter_as_it_was(void **state)
{
    static const char *const bad[] = {
        "store=",      "=debug", "store=verbose", "store=debug=info", "a b=info",
        "store:=info", "a:b",    "st*re=info",    "store=5",          "st\xc3\xb6re",
        "store =info", "a..b",   ".store=info",   "store.=info",      "::store",
        "store::",     "a:::b",  "[span]=info",   "/regex/"};
    struct cd_event_filter f;
    (void)state;
    assert_int_equal(cd_event_filter_parse(&f, CD_STR("warn,store=debug"), NULL), 0);
    for (size_t i = 0; i < CD_COUNT(bad); i++) {
        struct cd_buf text = {0}, why = {0}, want = {0};
        cd_buf_addf(&text, "info,lease=debug,%s,log=trace", bad[i]);
        cd_buf_addf(&want, "\"%s\" is neither LEVEL, TARGET=LEVEL nor TARGET", bad[i]);
        if (cd_event_filter_parse(&f, cd_buf_str(&text), &why) != CD_ESYNTAX)
            fail_msg("accepted: %s", bad[i]);
        assert_str_is(cd_buf_str(&why), cd_buf_cstr(&want));
        assert_int_equal(cd_event_filter_parse(&f, cd_buf_str(&text), NULL), CD_ESYNTAX);
        assert_true(cd_event_filter_allows(&f, "store", CD_DEBUG));
        assert_false(cd_event_filter_allows(&f, "lease", CD_INFO));
        cd_buf_deinit(&text);
        cd_buf_deinit(&why);
        cd_buf_deinit(&want);
    }
    cd_event_filter_deinit(&f);
}

CD_TESTS(event, cmocka_unit_test(test_text_without_fields),
         cmocka_unit_test(test_text_pads_the_level_to_five),
         cmocka_unit_test(test_text_quotes_strings_and_leaves_numbers_bare),
         cmocka_unit_test(test_a_field_named_msg_is_the_message),
         cmocka_unit_test(test_a_target_is_shown_with_its_path),
         cmocka_unit_test(test_json_is_one_object_on_one_line),
         cmocka_unit_test(test_no_value_makes_a_second_line), cmocka_unit_test(test_levels_have_names),
         cmocka_unit_test(test_a_level_alone_is_for_all_targets),
         cmocka_unit_test(test_the_longest_matching_target_wins),
         cmocka_unit_test(test_a_target_matches_whole_words),
         cmocka_unit_test(test_a_target_alone_lets_everything_pass),
         cmocka_unit_test(test_of_two_directives_for_one_target_the_later_counts),
         cmocka_unit_test(test_both_separators_and_the_program_s_name_are_accepted),
         cmocka_unit_test(test_an_empty_filter_lets_nothing_pass),
         cmocka_unit_test(test_a_bad_directive_is_named_and_leaves_the_filter_as_it_was))
