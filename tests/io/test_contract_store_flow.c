/* The flows of src/store on every store: the self-test, reading back, trying again. */
#include "store_support.h"

#include "store/reconcile.h"
#include "store/selftest.h"

static bool fault(struct contract *c, enum contract_store_fault what, const char *method, unsigned times)
{
    store_skipped = !contract_store_fault(c, what, method, times);
    return !store_skipped;
}

/* ---- The self-test ---- */

static void test_leaves_nothing(struct contract *c)
{
    struct cd_buf keys = {0};
    store_walk(c, "", "", 0, 100, &keys);
    CHECK(cd_str_eq(cd_buf_str(&keys), CD_STR("")));
    cd_buf_deinit(&keys);
}

static void flow_a_good_store_is_conformant(struct contract *c)
{
    struct store_selftest t = {.ranges = true};
    CHECK_INT(store_selftest_run(c->io, c->bucket, &t), IO_OK);
    if (t.verdict != STORE_CONFORMANT)
        (void)fprintf(stderr, "%s: %s\n", t.which, t.why);
    CHECK_INT(t.verdict, STORE_CONFORMANT);
    CHECK_INT(t.attempts, 1);
    t.ranges = false;
    CHECK_INT(store_selftest_run(c->io, c->bucket, &t), IO_OK);
    CHECK_INT(t.verdict, STORE_CONFORMANT);
    test_leaves_nothing(c);
}

static void flow_a_store_that_ignores_conditions_is_refused(struct contract *c)
{
    struct store_selftest t = {.ranges = true};
    CHECK_INT(store_selftest_run(c->io, c->bucket, &t), IO_OK);
    CHECK_INT(t.verdict, STORE_VIOLATION);
    CHECK_INT(t.attempts, 1);
    CHECK(strcmp(t.which, "reject-create") == 0);
    CHECK(strcmp(t.why, "the store ignored a condition that did not hold") == 0);
    test_leaves_nothing(c);
}

/* Not STORE_TEST: this one runs on the broken store, and on it alone. */
static void test_a_store_that_ignores_conditions_is_refused(void **state)
{
    (void)state;
    if (!contract_store_is_broken())
        skip();
    contract_run_store(1, flow_a_store_that_ignores_conditions_is_refused);
}

static void flow_an_unclear_attempt_is_made_again(struct contract *c)
{
    struct store_selftest t = {.ranges = true};
    if (!fault(c, CONTRACT_LOSE_ANSWER, "PUT", 1))
        return;
    CHECK_INT(store_selftest_run(c->io, c->bucket, &t), IO_OK);
    CHECK_INT(t.verdict, STORE_CONFORMANT);
    CHECK_INT(t.attempts, 2);
    test_leaves_nothing(c);
    CHECK(contract_store_fault(c, CONTRACT_ERROR, "PUT", 100));
    CHECK_INT(store_selftest_run(c->io, c->bucket, &t), IO_OK);
    CHECK_INT(t.verdict, STORE_AMBIGUOUS);
    CHECK_INT(t.attempts, 3);
    CHECK(strcmp(t.which, "create") == 0);
    contract_store_heal(c);
    test_leaves_nothing(c);
}

static void flow_a_store_that_is_down_is_ambiguous(struct contract *c)
{
    struct store_selftest t = {.ranges = true};
    if (!fault(c, CONTRACT_DOWN, "PUT", 1))
        return;
    CHECK_INT(store_selftest_run(c->io, c->bucket, &t), IO_OK);
    CHECK_INT(t.verdict, STORE_AMBIGUOUS);
    CHECK_INT(t.attempts, 3);
    CHECK(t.status == IO_REFUSED || t.status == IO_UNREACHABLE);
}

static void selftest_task(struct contract *c, void *arg)
{
    struct store_selftest *t = arg;
    t->status = store_selftest_run(c->io, c->bucket, t);
}

static void flow_a_canceled_self_test_cleans_up(struct contract *c)
{
    for (unsigned wait_ms = 0; wait_ms < 40; wait_ms += 4) {
        struct store_selftest t = {.ranges = true};
        struct task task;
        task_start(&task, c, selftest_task, &t);
        (void)io_sleep(c->io, IO_MS(wait_ms));
        if (!task.ended)
            io_fiber_cancel(task.fiber);
        task_join(&task);
        CHECK(t.status == IO_CANCELED || t.verdict == STORE_CONFORMANT);
    }
    /* The fibers that delete end soon. A write that was given up may land after its delete, but not each one.
     */
    struct cd_buf keys = {0};
    for (unsigned i = 0; i < 50; i++) {
        (void)io_sleep(c->io, IO_MS(100));
        store_walk(c, "", "", 0, 100, &keys);
        if (keys.len == 0)
            break;
    }
    CHECK(keys.len < 400);
    (void)io_sleep(c->io, IO_MS(300));
    cd_buf_deinit(&keys);
}

/* ---- Reading back ---- */

static enum store_fate fate_of(struct contract *c, const struct store_write *w)
{
    struct io_store s = {0};
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    enum store_fate fate;
    CHECK_INT(store_read_back(&s, c->io, c->bucket, w, &p, &fate), IO_OK);
    cd_buf_deinit(&s.body);
    return fate;
}

static void write_unclear(struct contract *c, struct store_write *w)
{
    struct io_store s = {0};
    memcpy(s.token, w->guard, sizeof s.token);
    io_store_put(&s, c->bucket, w->key, w->body, w->how, NULL);
    CHECK(store_end(&s, true) != IO_OK);
    CHECK_INT(s.outcome, IO_UNKNOWN);
}

static void flow_an_unclear_create_is_read_back(struct contract *c)
{
    struct store_write w = {CD_STR("k"), CD_STR("by session a"), IO_PUT_IF_ABSENT, ""};
    if (!fault(c, CONTRACT_LOSE_REQUEST, "PUT", 1))
        return;
    write_unclear(c, &w);
    CHECK_INT(fate_of(c, &w), STORE_FATE_OPEN);
    CHECK(contract_store_fault(c, CONTRACT_LOSE_ANSWER, "PUT", 1));
    write_unclear(c, &w);
    CHECK_INT(fate_of(c, &w), STORE_FATE_OURS);
    w.body = CD_STR("by session b");
    CHECK_INT(fate_of(c, &w), STORE_FATE_OTHERS);
}

static void flow_an_unclear_overwrite_is_read_back(struct contract *c)
{
    struct store_write w = {CD_STR("k"), CD_STR("two by a"), IO_PUT_IF_MATCH, ""};
    CHECK_INT(store_put_text(c, "k", "one", IO_PUT_IF_ABSENT, w.guard), IO_OK);
    if (!fault(c, CONTRACT_LOSE_REQUEST, "PUT", 1))
        return;
    write_unclear(c, &w);
    CHECK_INT(fate_of(c, &w), STORE_FATE_OPEN);
    CHECK(contract_store_fault(c, CONTRACT_LOSE_ANSWER, "PUT", 1));
    write_unclear(c, &w);
    CHECK_INT(fate_of(c, &w), STORE_FATE_OURS);
    w.body = CD_STR("two by b");
    CHECK_INT(fate_of(c, &w), STORE_FATE_OTHERS);
    CHECK_INT(store_delete(c, "k"), IO_OK);
    CHECK_INT(fate_of(c, &w), STORE_FATE_OTHERS);
}

/* ---- Trying again ---- */

static void flow_reads_and_plain_writes_are_tried_again(struct contract *c)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct io_store s = {0};
    struct io_list l = {0};
    if (!fault(c, CONTRACT_ERROR, "PUT", 2))
        return;
    CHECK_INT(store_retry_put(&s, c->io, c->bucket, CD_STR("k"), CD_STR("x"), &p), IO_OK);
    CHECK_INT(s.outcome, IO_DONE);
    CHECK(contract_store_fault(c, CONTRACT_THROTTLE, "GET", 1));
    uint64_t before = io_now_ns(c->io);
    CHECK_INT(store_retry_get(&s, c->io, c->bucket, CD_STR("k"), 0, IO_WHOLE, &p), IO_OK);
    CHECK(cd_str_eq(cd_buf_str(&s.body), CD_STR("x")));
    CHECK(io_now_ns(c->io) - before >= IO_SEC(1)); /* As the store asked for. */
    CHECK(contract_store_fault(c, CONTRACT_CUT_BODY, "LIST", 2));
    CHECK_INT(store_retry_list(&l, c->io, c->bucket, CD_STR(""), CD_STR(""), 10, &p), IO_OK);
    CHECK_INT(l.count, 1);
    CHECK(contract_store_fault(c, CONTRACT_LOSE_ANSWER, "DELETE", 1));
    CHECK_INT(store_retry_delete(&s, c->io, c->bucket, CD_STR("k"), &p), IO_OK);
    CHECK_INT(store_retry_head(&s, c->io, c->bucket, CD_STR("k"), &p), IO_NOENT);
    cd_buf_deinit(&s.body);
    io_list_deinit(&l);
}

static void flow_what_stays_broken_is_given_up(struct contract *c)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct io_store s = {0};
    if (!fault(c, CONTRACT_ERROR, "PUT", 100))
        return;
    CHECK_INT(store_retry_put(&s, c->io, c->bucket, CD_STR("k"), CD_STR("x"), &p), IO_FAULT);
    CHECK_INT(s.outcome, IO_UNKNOWN);
    CHECK(store_holds(c, "k", "x"));
    CHECK(contract_store_fault(c, CONTRACT_THROTTLE, "GET", 100));
    CHECK_INT(store_retry_get(&s, c->io, c->bucket, CD_STR("k"), 0, IO_WHOLE, &p), IO_THROTTLED);
    CHECK_INT(s.outcome, IO_REJECTED);
    cd_buf_deinit(&s.body);
}

STORE_TEST(a_good_store_is_conformant, 1)
STORE_TEST(an_unclear_attempt_is_made_again, 1)
STORE_TEST(a_store_that_is_down_is_ambiguous, 1)
STORE_TEST(a_canceled_self_test_cleans_up, 1)
STORE_TEST(an_unclear_create_is_read_back, 1)
STORE_TEST(an_unclear_overwrite_is_read_back, 1)
STORE_TEST(reads_and_plain_writes_are_tried_again, 1)
STORE_TEST(what_stays_broken_is_given_up, 1)

CD_TESTS(contract_store_flow, cmocka_unit_test(test_a_good_store_is_conformant),
         cmocka_unit_test(test_a_store_that_ignores_conditions_is_refused),
         cmocka_unit_test(test_an_unclear_attempt_is_made_again),
         cmocka_unit_test(test_a_store_that_is_down_is_ambiguous),
         cmocka_unit_test(test_a_canceled_self_test_cleans_up),
         cmocka_unit_test(test_an_unclear_create_is_read_back),
         cmocka_unit_test(test_an_unclear_overwrite_is_read_back),
         cmocka_unit_test(test_reads_and_plain_writes_are_tried_again),
         cmocka_unit_test(test_what_stays_broken_is_given_up))
