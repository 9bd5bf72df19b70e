/* The contract of the object store: cancel, timeouts, and what is known after a request or its answer was
 * lost. */
#include "store_support.h"

/* ---- Cancel ---- */

/* Cancels after so many turns of the loop; the write is in one of three states, and says which. */
static void cancel_put(struct contract *c, unsigned turns, const char *key, struct cd_str body)
{
    struct io_store s = {0};
    io_store_put(&s, c->bucket, cd_str(key), body, IO_PUT_IF_ABSENT, NULL);
    for (unsigned i = 0; i < turns && io_busy(&s.op); i++)
        (void)io_sleep(c->io, turns < 20 ? 0 : 100000);
    io_cancel(&s.op);
    int status = io_busy(&s.op) ? store_end(&s, true) : s.op.status;
    enum io_outcome outcome = s.outcome;
    CHECK(status == IO_OK || status == IO_CANCELED);
    (void)io_sleep(c->io, IO_MS(50)); /* What is under way lands. */
    int found = store_get(c, key, 0, 1, NULL, NULL);
    CHECK(found == IO_OK || found == IO_NOENT);
    if (outcome == IO_DONE)
        CHECK_INT(found, IO_OK);
    if (outcome == IO_REJECTED)
        CHECK_INT(found, IO_NOENT);
    CHECK_INT(store_delete(c, key), IO_OK);
}

static void flow_a_canceled_write_says_what_it_may_have_done(struct contract *c)
{
    static const unsigned turns[] = {0, 1, 2, 3, 5, 8, 12, 19, 20, 30, 50};
    struct cd_buf big = {0};
    cd_buf_add_zero(&big, 1 << 20);
    for (size_t i = 0; i < CD_COUNT(turns); i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "cancel/%zu", i);
        cancel_put(c, turns[i], key, CD_STR("small"));
        cancel_put(c, turns[i], key, cd_buf_str(&big));
    }
    cd_buf_deinit(&big);
}

static void flow_a_canceled_read_ends(struct contract *c)
{
    CHECK_INT(store_put_text(c, "k", "body", IO_PUT_ANY, NULL), IO_OK);
    for (unsigned turns = 0; turns < 12; turns++) {
        struct io_store s = {0};
        struct io_list l = {0};
        io_store_get(&s, c->bucket, CD_STR("k"), 0, IO_WHOLE, NULL);
        io_store_list(&l, c->bucket, CD_STR(""), CD_STR(""), 10, NULL);
        for (unsigned i = 0; i < turns; i++)
            (void)io_sleep(c->io, 0);
        io_cancel(&s.op);
        io_cancel(&l.op);
        int status = io_busy(&s.op) ? store_end(&s, false) : s.op.status;
        CHECK(status == IO_OK || status == IO_CANCELED);
        status = await(&l.op);
        CHECK(status == IO_OK || status == IO_CANCELED);
        cd_buf_deinit(&s.body);
        io_list_deinit(&l);
    }
    CHECK(store_holds(c, "k", "body"));
}

/* ---- Lost requests and answers ---- */

static bool fault(struct contract *c, enum contract_store_fault what, const char *method, unsigned times)
{
    store_skipped = !contract_store_fault(c, what, method, times);
    return !store_skipped;
}

/* A create whose end is unknown. */
static int unclear_create(struct contract *c, const char *key, const char *body, uint64_t timeout_ns)
{
    struct io_store s = {.timeout_ns = timeout_ns};
    io_store_put(&s, c->bucket, cd_str(key), cd_str(body), IO_PUT_IF_ABSENT, NULL);
    int status = store_end(&s, true);
    CHECK_INT(s.outcome, IO_UNKNOWN);
    return status;
}

static void flow_a_lost_answer_leaves_a_create_unknown_and_done(struct contract *c)
{
    if (!fault(c, CONTRACT_LOSE_ANSWER, "PUT", 1))
        return;
    CHECK_INT(unclear_create(c, "k", "ours", 0), IO_RESET);
    CHECK(store_holds(c, "k", "ours"));
    CHECK_INT(store_put_text(c, "k", "ours", IO_PUT_IF_ABSENT, NULL),
              IO_CONFLICT); /* By our own first try. */
    CHECK(store_holds(c, "k", "ours"));
}

static void flow_a_lost_request_leaves_a_create_unknown_and_undone(struct contract *c)
{
    if (!fault(c, CONTRACT_LOSE_REQUEST, "PUT", 1))
        return;
    CHECK_INT(unclear_create(c, "k", "ours", 0), IO_RESET);
    CHECK(store_holds(c, "k", NULL));
    CHECK_INT(store_put_text(c, "k", "ours", IO_PUT_IF_ABSENT, NULL), IO_OK);
}

static void flow_a_lost_answer_leaves_an_overwrite_unknown_and_done(struct contract *c)
{
    char token[IO_TOKEN_MAX] = "";
    struct io_store s = {0};
    CHECK_INT(store_put_text(c, "k", "old", IO_PUT_IF_ABSENT, token), IO_OK);
    if (!fault(c, CONTRACT_LOSE_ANSWER, "PUT", 1))
        return;
    memcpy(s.token, token, sizeof s.token);
    io_store_put(&s, c->bucket, CD_STR("k"), CD_STR("new"), IO_PUT_IF_MATCH, NULL);
    CHECK_INT(store_end(&s, true), IO_RESET);
    CHECK_INT(s.outcome, IO_UNKNOWN);
    CHECK_INT(store_put_text(c, "k", "new", IO_PUT_IF_MATCH, token), IO_CONFLICT);
    CHECK(store_holds(c, "k", "new"));
}

static void flow_a_write_that_got_no_answer_in_time_is_unknown(struct contract *c)
{
    if (!fault(c, CONTRACT_HOLD_ANSWER, "PUT", 1))
        return;
    uint64_t before = io_now_ns(c->io);
    CHECK_INT(unclear_create(c, "k", "ours", IO_MS(300)), IO_TIMEDOUT);
    uint64_t took = io_now_ns(c->io) - before;
    CHECK(took >= IO_MS(290) && took < IO_SEC(5));
    CHECK(store_holds(c, "k", "ours"));
}

static void flow_a_canceled_write_without_answer_is_unknown(struct contract *c)
{
    struct io_store s = {0};
    if (!fault(c, CONTRACT_HOLD_ANSWER, "PUT", 1))
        return;
    io_store_put(&s, c->bucket, CD_STR("k"), CD_STR("ours"), IO_PUT_IF_ABSENT, NULL);
    (void)io_sleep(c->io, IO_MS(300));
    CHECK(io_busy(&s.op));
    io_cancel(&s.op);
    CHECK(io_busy(&s.op)); /* Never from inside cancel. */
    CHECK_INT(store_end(&s, true), IO_CANCELED);
    CHECK_INT(s.outcome, IO_UNKNOWN);
    CHECK(store_holds(c, "k", "ours"));
}

static void flow_a_write_may_land_after_it_was_given_up(struct contract *c)
{
    if (!fault(c, CONTRACT_HOLD_REQUEST, "PUT", 1))
        return;
    CHECK_INT(unclear_create(c, "k", "late", IO_MS(200)), IO_TIMEDOUT);
    CHECK(store_holds(c, "k", NULL)); /* Not yet. */
    (void)io_sleep(c->io, IO_MS(1500));
    int found = store_get(c, "k", 0, IO_WHOLE, NULL, NULL);
    CD_MAYBE(found == IO_OK); /* The way may drop what nobody waits for any more. */
    CHECK(found == IO_OK || found == IO_NOENT);
}

static void flow_a_late_write_cannot_undo_a_newer_one(struct contract *c)
{
    char token[IO_TOKEN_MAX] = "";
    struct io_store s = {.timeout_ns = IO_MS(200)};
    CHECK_INT(store_put_text(c, "k", "one", IO_PUT_IF_ABSENT, token), IO_OK);
    if (!fault(c, CONTRACT_HOLD_REQUEST, "PUT", 1))
        return;
    memcpy(s.token, token, sizeof s.token);
    io_store_put(&s, c->bucket, CD_STR("k"), CD_STR("late"), IO_PUT_IF_MATCH, NULL);
    CHECK_INT(store_end(&s, true), IO_TIMEDOUT);
    CHECK_INT(s.outcome, IO_UNKNOWN);
    CHECK_INT(store_put_text(c, "k", "newer", IO_PUT_IF_MATCH, token), IO_OK);
    (void)io_sleep(c->io, IO_MS(1500));
    CHECK(store_holds(c, "k", "newer"));
}

static void flow_a_lost_delete_is_unknown(struct contract *c)
{
    struct io_store s = {0};
    CHECK_INT(store_put_text(c, "k", "x", IO_PUT_ANY, NULL), IO_OK);
    if (!fault(c, CONTRACT_LOSE_ANSWER, "DELETE", 1))
        return;
    io_store_delete(&s, c->bucket, CD_STR("k"), NULL);
    CHECK_INT(store_end(&s, true), IO_RESET);
    CHECK_INT(s.outcome, IO_UNKNOWN);
    CHECK(store_holds(c, "k", NULL));
    CHECK_INT(store_delete(c, "k"), IO_OK);
}

/* ---- Errors that the store says ---- */

static void flow_a_throttled_write_is_rejected_with_the_wait_asked_for(struct contract *c)
{
    struct io_store s = {0};
    if (!fault(c, CONTRACT_THROTTLE, "PUT", 1))
        return;
    io_store_put(&s, c->bucket, CD_STR("k"), CD_STR("x"), IO_PUT_IF_ABSENT, NULL);
    CHECK_INT(store_end(&s, true), IO_THROTTLED);
    CHECK_INT(s.outcome, IO_REJECTED);
    CHECK_INT(s.retry_after_ns, IO_SEC(1));
    CHECK(store_holds(c, "k", NULL));
    CHECK_INT(store_put_text(c, "k", "x", IO_PUT_IF_ABSENT, NULL), IO_OK);
}

static void flow_an_error_of_the_store_leaves_a_write_unknown(struct contract *c)
{
    if (!fault(c, CONTRACT_ERROR, "PUT", 1))
        return;
    CHECK_INT(unclear_create(c, "k", "ours", 0), IO_FAULT);
    CHECK(store_holds(c, "k", "ours"));
}

static void flow_nothing_is_sent_while_the_store_is_down(struct contract *c)
{
    struct io_store s = {0};
    CHECK_INT(store_put_text(c, "k", "x", IO_PUT_ANY, NULL), IO_OK);
    if (!fault(c, CONTRACT_DOWN, "PUT", 1))
        return;
    io_store_put(&s, c->bucket, CD_STR("k"), CD_STR("y"), IO_PUT_ANY, NULL);
    int status = store_end(&s, true);
    CHECK(status == IO_REFUSED || status == IO_UNREACHABLE);
    CHECK_INT(s.outcome, IO_REJECTED);
    status = store_get(c, "k", 0, IO_WHOLE, NULL, NULL);
    CHECK(status == IO_REFUSED || status == IO_UNREACHABLE); /* Never IO_NOENT. */
    contract_store_heal(c);
    CHECK(store_holds(c, "k", "x"));
}

static void flow_a_cut_body_is_no_body(struct contract *c)
{
    CHECK_INT(store_put_text(c, "k", "0123456789", IO_PUT_ANY, NULL), IO_OK);
    if (!fault(c, CONTRACT_CUT_BODY, "GET", 2))
        return;
    CHECK_INT(store_get(c, "k", 0, IO_WHOLE, NULL, NULL), IO_RESET);
    CHECK_INT(store_get(c, "k", 1, 8, NULL, NULL), IO_RESET);
    CHECK(store_holds(c, "k", "0123456789"));
}

static void flow_reads_fail_for_the_same_reasons(struct contract *c)
{
    struct io_list l = {0};
    struct io_store s = {.timeout_ns = IO_MS(300)};
    CHECK_INT(store_put_text(c, "k", "x", IO_PUT_ANY, NULL), IO_OK);
    if (!fault(c, CONTRACT_THROTTLE, "GET", 1))
        return;
    CHECK_INT(store_get(c, "k", 0, IO_WHOLE, NULL, NULL), IO_THROTTLED);
    CHECK(contract_store_fault(c, CONTRACT_THROTTLE, "HEAD", 1));
    io_store_head(&s, c->bucket, CD_STR("k"), NULL);
    CHECK_INT(store_end(&s, false), IO_THROTTLED);
    CHECK_INT(s.retry_after_ns, IO_SEC(1));
    /* Twice: a read may go out again when a kept connection turns out to be dead. */
    CHECK(contract_store_fault(c, CONTRACT_LOSE_REQUEST, "GET", 2));
    CHECK_INT(store_get(c, "k", 0, IO_WHOLE, NULL, NULL), IO_RESET);
    CHECK(contract_store_fault(c, CONTRACT_HOLD_ANSWER, "GET", 1));
    io_store_get(&s, c->bucket, CD_STR("k"), 0, IO_WHOLE, NULL);
    CHECK_INT(store_end(&s, false), IO_TIMEDOUT);
    CHECK(contract_store_fault(c, CONTRACT_THROTTLE, "LIST", 1));
    io_store_list(&l, c->bucket, CD_STR(""), CD_STR(""), 10, NULL);
    CHECK_INT(await(&l.op), IO_THROTTLED);
    CHECK(l.why[0] != 0 && l.count == 0 && !l.more);
    CHECK(contract_store_fault(c, CONTRACT_CUT_BODY, "LIST", 1));
    io_store_list(&l, c->bucket, CD_STR(""), CD_STR(""), 10, NULL);
    CHECK_INT(await(&l.op), IO_RESET);
    contract_store_heal(c);
    io_store_list(&l, c->bucket, CD_STR(""), CD_STR(""), 10, NULL);
    CHECK_INT(await(&l.op), IO_OK);
    CHECK_INT(l.count, 1);
    io_list_deinit(&l);
}

STORE_TEST(a_canceled_write_says_what_it_may_have_done, 1)
STORE_TEST(a_canceled_read_ends, 1)
STORE_TEST(a_lost_answer_leaves_a_create_unknown_and_done, 1)
STORE_TEST(a_lost_request_leaves_a_create_unknown_and_undone, 1)
STORE_TEST(a_lost_answer_leaves_an_overwrite_unknown_and_done, 1)
STORE_TEST(a_write_that_got_no_answer_in_time_is_unknown, 1)
STORE_TEST(a_canceled_write_without_answer_is_unknown, 1)
STORE_TEST(a_write_may_land_after_it_was_given_up, 1)
STORE_TEST(a_late_write_cannot_undo_a_newer_one, 1)
STORE_TEST(a_lost_delete_is_unknown, 1)
STORE_TEST(a_throttled_write_is_rejected_with_the_wait_asked_for, 1)
STORE_TEST(an_error_of_the_store_leaves_a_write_unknown, 1)
STORE_TEST(nothing_is_sent_while_the_store_is_down, 1)
STORE_TEST(a_cut_body_is_no_body, 1)
STORE_TEST(reads_fail_for_the_same_reasons, 1)

CD_TESTS(contract_store_fault, cmocka_unit_test(test_a_canceled_write_says_what_it_may_have_done),
         cmocka_unit_test(test_a_canceled_read_ends),
         cmocka_unit_test(test_a_lost_answer_leaves_a_create_unknown_and_done),
         cmocka_unit_test(test_a_lost_request_leaves_a_create_unknown_and_undone),
         cmocka_unit_test(test_a_lost_answer_leaves_an_overwrite_unknown_and_done),
         cmocka_unit_test(test_a_write_that_got_no_answer_in_time_is_unknown),
         cmocka_unit_test(test_a_canceled_write_without_answer_is_unknown),
         cmocka_unit_test(test_a_write_may_land_after_it_was_given_up),
         cmocka_unit_test(test_a_late_write_cannot_undo_a_newer_one),
         cmocka_unit_test(test_a_lost_delete_is_unknown),
         cmocka_unit_test(test_a_throttled_write_is_rejected_with_the_wait_asked_for),
         cmocka_unit_test(test_an_error_of_the_store_leaves_a_write_unknown),
         cmocka_unit_test(test_nothing_is_sent_while_the_store_is_down),
         cmocka_unit_test(test_a_cut_body_is_no_body), cmocka_unit_test(test_reads_fail_for_the_same_reasons))
