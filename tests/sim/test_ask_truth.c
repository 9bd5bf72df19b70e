/* The oracle of the js workload against hand-written histories: each bad one is caught by the invariant named
 * for it. */
#include "sim/ask_truth.h"
#include "support/test.h"

static void is(const char *got, const char *want, struct cd_buf *why)
{
    if (want == NULL ? got != NULL : got == NULL || strcmp(got, want) != 0)
        fail_msg("got %s (%s), want %s", got == NULL ? "nothing" : got, cd_buf_cstr(why),
                 want == NULL ? "nothing" : want);
    assert_true((got == NULL) == (why->len == 0));
    cd_buf_deinit(why);
}

static void says(struct ask_truth *t, const char *line, bool up, const char *want)
{
    struct cd_buf why = {0};
    is(ask_truth_console(t, cd_str(line), up, &why), want, &why);
}

static void answers(struct ask_truth *t, uint64_t id, int status, const char *body, uint64_t took_ms,
                    const char *want)
{
    struct cd_buf why = {0};
    is(ask_truth_answer(t, id, status, cd_str(body), took_ms * 1000000, &why), want, &why);
}

static uint64_t asks(struct ask_truth *t, enum ask_route route, uint32_t n)
{
    return ask_truth_add(t, &(struct ask){.route = route, .client = 1, .node = 2, .n = n});
}

#define RANDOM_A "0.25 01234567-0123-4123-8123-0123456789ab 00112233445566778899aabbccddeeff\n"
#define RANDOM_B "0.5 11234567-0123-4123-8123-0123456789ab 10112233445566778899aabbccddeeff\n"
#define RANDOM_C "0.75 21234567-0123-4123-8123-0123456789ab 00112233445566778899aabbccddeeff\n"

static void test_what_a_worker_does_well_is_fine(void **state)
{
    (void)state;
    struct ask_truth t = {0};
    asks(&t, ASK_TEXT, 0);
    asks(&t, ASK_JSON, 0);
    asks(&t, ASK_TIMER, 500);
    asks(&t, ASK_STREAM, 2);
    asks(&t, ASK_THROW, 0);
    asks(&t, ASK_RANDOM, 0);
    asks(&t, ASK_RANDOM, 0);
    asks(&t, ASK_ECHO, 0);
    asks(&t, ASK_READ, 9);
    for (unsigned i = 1; i <= 8; i++) {
        char line[16];
        (void)snprintf(line, sizeof line, "run %u", i);
        says(&t, line, true, NULL);
    }
    answers(&t, 1, 200, "text 1\n", 0, NULL);
    answers(&t, 2, 200, "{\"op\":2,\"list\":[2,null,true],\"nested\":{\"text\":\"op 2\"}}", 0, NULL);
    answers(&t, 3, 200, "timer 3\n", 480, NULL); /* A clock may be fast. */
    answers(&t, 4, 200, "4 line 0\n4 line 1\n", 0, NULL);
    answers(&t, 5, 500, "Worker failed: op 5 fails", 0, NULL);
    answers(&t, 6, 200, "random 6 " RANDOM_A, 0, NULL);
    answers(&t, 7, 200, "random 7 " RANDOM_B, 0, NULL);
    answers(&t, 8, 200, "", 0, NULL);
    answers(&t, 9, 408, "too late", 0, NULL);
    says(&t, "fail 5", true, NULL);
    says(&t, "late 1", true, NULL);
    assert_true(t.answered == 8 && t.refused == 1 && t.thrown == 1 && t.lost == 0);
    ask_truth_deinit(&t);
}

static void test_every_broken_promise_has_its_name(void **state)
{
    (void)state;
    struct ask_truth t = {0};
    asks(&t, ASK_TEXT, 0);
    asks(&t, ASK_TIMER, 500);
    asks(&t, ASK_RANDOM, 0);
    asks(&t, ASK_RANDOM, 0);
    asks(&t, ASK_THROW, 0);
    says(&t, "run 6", true, "js.invented");
    says(&t, "run 0", true, "js.invented");
    says(&t, "hello", true, "js.invented");
    says(&t, "late 1", true, "js.order");
    says(&t, "fail 1", true, "js.order");
    answers(&t, 1, 200, "text 1\n", 0, "js.unexecuted");
    says(&t, "run 1", false, "js.ran-on");
    says(&t, "fail 1", false, "js.ran-on");
    says(&t, "run 1", true, NULL);
    answers(&t, 1, 200, "text 2\n", 0, "js.answer");
    answers(&t, 1, 200, "text 1", 0, "js.answer");
    answers(&t, 1, 500, "Worker failed", 0, "js.answer");
    says(&t, "run 1", true, "js.twice");
    says(&t, "run 2", true, NULL);
    answers(&t, 2, 200, "timer 2\n", 400, "js.early");
    says(&t, "late 2", true, NULL);
    says(&t, "late 2", true, "js.order");
    says(&t, "run 3", true, NULL);
    says(&t, "run 4", true, NULL);
    answers(&t, 3, 200, "random 3 0.1\n", 0, "js.answer");
    answers(&t, 3, 200, "random 4 " RANDOM_A, 0, "js.answer");
    answers(&t, 3, 200, "random 3 " RANDOM_A, 0, NULL);
    answers(&t, 4, 200, "random 4 " RANDOM_C, 0, "js.random"); /* Its bytes came before. */
    says(&t, "run 5", true, NULL);
    answers(&t, 5, 200, "Worker failed: op 5 fails", 0, "js.answer");
    ask_truth_deinit(&t);
}

CD_TESTS(ask_truth, cmocka_unit_test(test_what_a_worker_does_well_is_fine),
         cmocka_unit_test(test_every_broken_promise_has_its_name))
