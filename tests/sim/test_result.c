/* Results of runs on their way through a pipe: whole or refused. */
#include "sim/result.h"
#include "support/test.h"

static void make(struct run_result *r)
{
    *r = (struct run_result){.seed = 7, .events = 12345, .virtual_ns = 99, .hash = 0xdeadbeefu, .boot_ns = 3};
    r->checkpoints = 2;
    r->checkpoint = cd_alloc(2 * sizeof *r->checkpoint);
    r->checkpoint[0] = 1;
    r->checkpoint[1] = UINT64_MAX;
    r->marks = 1;
    r->mark = cd_alloc(sizeof *r->mark);
    memcpy(r->mark[0].name, "a.mark", 7);
    r->mark[0].count = 4;
    run_result_fail(r, RUN_SAFETY, "files.torn", 42, "record %d is torn", 9);
}

static void test_the_first_failure_stays(void **state)
{
    (void)state;
    struct run_result r;
    make(&r);
    run_result_fail(&r, RUN_LEAK, "leak", 50, "later");
    assert_int_equal(r.code, RUN_SAFETY);
    assert_string_equal(r.invariant, "files.torn");
    assert_int_equal(r.failed_at_ns, 42);
    assert_str_is(cd_buf_str(&r.detail), "record 9 is torn");
    run_result_deinit(&r);
}

static void test_a_result_is_read_as_it_was_written(void **state)
{
    (void)state;
    struct run_result r, got;
    struct cd_buf bytes = {0}, again = {0};
    make(&r);
    run_result_write(&bytes, &r);
    assert_int_equal(run_result_read(&got, cd_buf_str(&bytes)), 0);
    assert_int_equal(got.marks, 1);
    assert_string_equal(got.mark[0].name, "a.mark");
    assert_true(got.checkpoint[1] == UINT64_MAX);
    run_result_write(&again, &got);
    assert_true(cd_str_eq(cd_buf_str(&bytes), cd_buf_str(&again)));
    run_result_deinit(&r);
    run_result_deinit(&got);
    cd_buf_deinit(&bytes);
    cd_buf_deinit(&again);
}

static void test_a_result_that_was_cut_off_is_none(void **state)
{
    (void)state;
    struct run_result r, got;
    struct cd_buf bytes = {0};
    make(&r);
    run_result_write(&bytes, &r);
    for (size_t len = 0; len < bytes.len; len++)
        assert_int_equal(run_result_read(&got, cd_str_sub(cd_buf_str(&bytes), 0, len)), CD_ESYNTAX);
    cd_buf_add_byte(&bytes, 0);
    assert_int_equal(run_result_read(&got, cd_buf_str(&bytes)), CD_ESYNTAX);
    assert_int_equal(got.code, RUN_PASS);
    run_result_deinit(&r);
    cd_buf_deinit(&bytes);
}

CD_TESTS(result, cmocka_unit_test(test_the_first_failure_stays),
         cmocka_unit_test(test_a_result_is_read_as_it_was_written),
         cmocka_unit_test(test_a_result_that_was_cut_off_is_none))
