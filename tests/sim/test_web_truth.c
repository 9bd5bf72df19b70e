/* The oracle of the http workload against hand-written histories: each bad one is caught by the invariant
 * named for it. */
#include "sim/web_truth.h"
#include "support/test.h"

static void start(struct web_truth *t)
{
    *t = (struct web_truth){0};
    for (unsigned i = 0; i < 3; i++) {
        uint64_t id = web_truth_add(
            t, &(struct web_op){.body_len = 100 + i, .reply_len = 200 + i, .client = 1, .node = 2});
        assert_int_equal(id, i + 1);
    }
}

static void is(const char *got, const char *want, struct cd_buf *why)
{
    if (want == NULL ? got != NULL : got == NULL || strcmp(got, want) != 0)
        fail_msg("got %s (%s), want %s", got == NULL ? "nothing" : got, cd_buf_cstr(why),
                 want == NULL ? "nothing" : want);
    assert_true((got == NULL) == (why->len == 0));
    cd_buf_deinit(why);
}

static void test_executed_once_and_answered_whole_is_fine(void **state)
{
    (void)state;
    struct web_truth t;
    struct cd_buf why = {0};
    start(&t);
    is(web_truth_execute(&t, 1, 100, true, &why), NULL, &why);
    is(web_truth_answer(&t, 1, 1, 200, true, &why), NULL, &why);
    is(web_truth_refuse(&t, 2, 413, &why), NULL, &why);
    web_truth_lose(&t, 3);
    is(web_truth_execute(&t, 3, 102, true, &why), NULL, &why); /* Later: it was on its way. */
    assert_true(t.acked == 1 && t.refused == 1 && t.unknown == 1 && t.executed == 2);
    web_truth_deinit(&t);
}

static void test_every_broken_promise_has_its_name(void **state)
{
    (void)state;
    struct web_truth t;
    struct cd_buf why = {0};
    start(&t);
    is(web_truth_execute(&t, 4, 100, true, &why), "http.invented", &why);
    is(web_truth_execute(&t, 0, 100, true, &why), "http.invented", &why);
    is(web_truth_execute(&t, 1, 99, true, &why), "http.body", &why);
    is(web_truth_execute(&t, 1, 100, false, &why), "http.body", &why);
    is(web_truth_answer(&t, 1, 1, 200, true, &why), "http.unexecuted", &why);
    is(web_truth_execute(&t, 1, 100, true, &why), NULL, &why);
    is(web_truth_answer(&t, 1, 2, 201, true, &why), "http.mixed", &why);
    is(web_truth_answer(&t, 1, 1, 150, true, &why), "http.answer", &why);
    is(web_truth_answer(&t, 1, 1, 200, false, &why), "http.answer", &why);
    is(web_truth_refuse(&t, 1, 500, &why), "http.refused", &why);
    is(web_truth_execute(&t, 1, 100, true, &why), "http.twice", &why);
    is(web_truth_refuse(&t, 2, 413, &why), NULL, &why);
    is(web_truth_execute(&t, 2, 101, true, &why), "http.refused", &why);
    web_truth_deinit(&t);
}

static void test_bytes_can_be_made_and_compared_in_any_pieces(void **state)
{
    (void)state;
    struct cd_buf whole = {0}, pieces = {0};
    web_bytes(&whole, 77, WEB_BODY, 0, 1000);
    for (size_t at = 0, len = 1; at < 1000; at += len, len = len % 13 + 1) {
        size_t take = at + len > 1000 ? 1000 - at : len;
        web_bytes(&pieces, 77, WEB_BODY, at, take);
        assert_true(web_bytes_are(77, WEB_BODY, at, cd_str_sub(cd_buf_str(&whole), at, take)));
        assert_false(web_bytes_are(78, WEB_BODY, at, cd_str_sub(cd_buf_str(&whole), at, 8)));
        assert_false(web_bytes_are(77, WEB_REPLY, at, cd_str_sub(cd_buf_str(&whole), at, 8)));
    }
    assert_true(cd_str_eq(cd_buf_str(&whole), cd_buf_str(&pieces)));
    assert_false(web_bytes_are(77, WEB_BODY, 8, cd_buf_str(&whole))); /* Shifted. */
    whole.ptr[999] ^= 1;
    assert_false(web_bytes_are(77, WEB_BODY, 0, cd_buf_str(&whole)));
    cd_buf_deinit(&whole);
    cd_buf_deinit(&pieces);
}

CD_TESTS(web_truth, cmocka_unit_test(test_executed_once_and_answered_whole_is_fine),
         cmocka_unit_test(test_every_broken_promise_has_its_name),
         cmocka_unit_test(test_bytes_can_be_made_and_compared_in_any_pieces))
