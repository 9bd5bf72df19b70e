/* The page of a trace: whatever is in the records, they stay inside of their element. */
#include "sim/trace_html.h"
#include "support/test.h"

static unsigned count(const struct cd_buf *page, const char *what)
{
    unsigned n = 0;
    for (size_t at = 0; (at = cd_str_find_str(cd_buf_str(page), cd_str(what), at)) != SIZE_MAX; at++)
        n++;
    return n;
}

static void test_no_record_ends_the_element_that_holds_it(void **state)
{
    (void)state;
    struct cd_buf page = {0}, why = {0};
    struct scn s;
    struct report r = {.rev = "abc", .events = 5};
    struct run_result failed = {.seed = 4, .events = 5};
    assert_int_equal(scn_parse(&s, CD_STR("scn 1\nload files for=5s\n"), "t.scn", &why), 0);
    run_result_fail(&failed, RUN_SAFETY, "files.torn", 42, "the bytes are </script><!--");
    report_add(&r, &failed, NULL);
    trace_html_begin(&page, &s, 4);
    unsigned ends = count(&page, "</script>");
    trace_html_add(&page, CD_STR("{\"ns\":1,\"note\":\"</script><script>\"}\n"));
    assert_int_equal(count(&page, "</script>"), ends);
    trace_html_end(&page, &r);
    assert_int_equal(count(&page, "</script>"), ends + 1);
    assert_int_equal(count(&page, "<!--"), 0);
    assert_int_equal(count(&page, "\n{\"ns\":1,\"note\":\"\\u003c/script>\\u003cscript>\"}\n"), 1);
    assert_int_equal(
        count(&page, "\n{\"end\":\"safety\",\"invariant\":\"files.torn\",\"event\":5,\"failed_ns\":42,"), 1);
    assert_int_equal(count(&page, "\n{\"run\":\"celld-sim\",\"seed\":4,\"scenario\":\"scn 1\\n"), 1);
    assert_int_equal(count(&page, "@RECORDS@"), 0);
    scn_deinit(&s);
    report_deinit(&r);
    cd_buf_deinit(&page);
    cd_buf_deinit(&why);
}

CD_TESTS(trace_html, cmocka_unit_test(test_no_record_ends_the_element_that_holds_it))
