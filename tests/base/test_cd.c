/* Error texts and assertions. */
#include "base/iotext.h"
#include "io/io.h"
#include "support/death.h"
#include "support/test.h"

static const int codes[] = {
#define X(name, value, text) (value),
    CD_ERRORS(X) IO_STATUSES(X)
#undef X
};

static void test_every_code_has_its_own_number(void **state)
{
    (void)state;
    for (size_t i = 0; i < CD_COUNT(codes); i++) {
        assert_true(codes[i] < 0);
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(codes[i], codes[k]);
    }
}

static void test_io_codes_start_where_cd_codes_end(void **state)
{
    (void)state;
#define X(name, value, text) assert_true((value) > -100);
    CD_ERRORS(X)
#undef X
#define X(name, value, text) assert_true((value) <= -100);
    IO_STATUSES(X)
#undef X
}

static void test_every_code_has_its_text(void **state)
{
    (void)state;
#define X(name, value, text)                                                                                 \
    assert_int_equal(name, value);                                                                           \
    assert_string_equal(cd_err_text(name), text);
    CD_ERRORS(X)
    IO_STATUSES(X)
#undef X
    assert_string_equal(cd_err_text(CD_EFENCED), "another session owns this");
    assert_string_equal(cd_err_text(IO_CONFLICT), "precondition failed");
    assert_string_equal(cd_err_text(0), "success");
}

static void test_an_unknown_code_has_a_text_too(void **state)
{
    static const int unknown[] = {1, -99, -1000, INT32_MAX, INT32_MIN};
    (void)state;
    for (size_t i = 0; i < CD_COUNT(unknown); i++)
        assert_string_equal(cd_err_text(unknown[i]), "unknown error");
}

static void fail_an_assertion(void)
{
    int apples = 3;
    CD_ASSERT(apples == 3);
    CD_ASSERT(apples > 3);
}

static void test_a_failed_assertion_says_what_and_where_and_aborts(void **state)
{
    (void)state;
    assert_dies(fail_an_assertion, "test_cd.c:");
    assert_dies(fail_an_assertion, "fail_an_assertion: assertion failed: apples > 3");
}

static void ask_for_all_memory(void)
{
    volatile size_t all = SIZE_MAX - 4096;
    cd_free(cd_alloc(all));
}

static void test_running_out_of_memory_aborts(void **state)
{
    (void)state;
#ifdef DEATH_SANITIZED
    skip();
#endif
    assert_dies(ask_for_all_memory, "out of memory: ");
}

static void test_memory_of_size_zero_is_not_null(void **state)
{
    (void)state;
    void *p = cd_alloc(0);
    assert_non_null(p);
    p = cd_realloc(p, 0);
    assert_non_null(p);
    cd_free(p);
    cd_free(NULL);
}

static void test_new_memory_is_zero(void **state)
{
    (void)state;
    unsigned char *p = cd_alloc(1000);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(p[i], 0);
    cd_free(p);
}

CD_TESTS(cd, cmocka_unit_test(test_every_code_has_its_own_number),
         cmocka_unit_test(test_io_codes_start_where_cd_codes_end),
         cmocka_unit_test(test_every_code_has_its_text),
         cmocka_unit_test(test_an_unknown_code_has_a_text_too),
         cmocka_unit_test(test_a_failed_assertion_says_what_and_where_and_aborts),
         cmocka_unit_test(test_running_out_of_memory_aborts),
         cmocka_unit_test(test_memory_of_size_zero_is_not_null), cmocka_unit_test(test_new_memory_is_zero))
