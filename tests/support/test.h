/* tests/support/test.h: every tests/<folder>/test_<file>.c ends with
 *
 *     CD_TESTS(file, cmocka_unit_test(test_a), cmocka_unit_test(test_b))
 *
 * and the build makes one executable per folder that runs the suites of its files. */
#ifndef SUPPORT_TEST_H
#define SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cd.h"
#include "base/str.h"

#define CD_TESTS(file, ...)                                                                                  \
    int suite_##file(void);                                                                                  \
    int suite_##file(void)                                                                                   \
    {                                                                                                        \
        const struct CMUnitTest tests[] = {__VA_ARGS__};                                                     \
        return cmocka_run_group_tests_name(#file, tests, NULL, NULL);                                        \
    }

/* For code that runs in a fiber, where cmocka's long jump may not be used: says what failed and stops the
 * program. */
#define CHECK(x)                                                                                             \
    do {                                                                                                     \
        if (!(x)) {                                                                                          \
            fprintf(stderr, "%s:%d: %s: not so: %s\n", __FILE__, __LINE__, __func__, #x);                    \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)
#define CHECK_INT(got, want)                                                                                 \
    do {                                                                                                     \
        long long got_ = (long long)(got), want_ = (long long)(want);                                        \
        if (got_ != want_) {                                                                                 \
            fprintf(stderr, "%s:%d: %s: %s is %lld, want %lld\n", __FILE__, __LINE__, __func__, #got, got_,  \
                    want_);                                                                                  \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

#define assert_str_is(got, text)                                                                             \
    do {                                                                                                     \
        struct cd_str got_ = (got);                                                                          \
        struct cd_str want_ = cd_str(text);                                                                  \
        assert_int_equal(got_.len, want_.len);                                                               \
        assert_memory_equal(got_.len == 0 ? "" : got_.ptr, want_.ptr, want_.len);                            \
    } while (0)

#endif
