#include "ltx/name.h"
#include "support/test.h"

static void test_a_key_is_written_and_read_back(void **state)
{
    (void)state;
    struct cd_buf key = {0};
    struct ltx_name name = {CD_STR("Chat:room-1.$x"), 0x1f, LTX_L9, 1, UINT64_MAX}, got;
    ltx_key(&key, &name);
    assert_str_is(cd_buf_str(&key), "cells/Chat:room-1.$x/ltx/e000000000000001f/0009/"
                                    "0000000000000001-ffffffffffffffff.ltx");
    assert_int_equal(ltx_key_parse(cd_buf_str(&key), &got), 0);
    assert_true(cd_str_eq(got.scope, name.scope) && got.epoch == 0x1f && got.level == 9 &&
                got.min_txid == 1 && got.max_txid == UINT64_MAX);
    cd_buf_clear(&key);
    ltx_key_epoch(&key, CD_STR("C:1"), 10);
    assert_str_is(cd_buf_str(&key), "cells/C:1/ltx/e000000000000000a/");
    uint64_t epoch = 0;
    assert_int_equal(ltx_key_parse_epoch(cd_buf_str(&key), CD_STR("C:1"), &epoch), 0);
    assert_int_equal(epoch, 10);
    assert_int_equal(ltx_key_parse_epoch(cd_buf_str(&key), CD_STR("C:2"), &epoch), CD_ESYNTAX);
    cd_buf_deinit(&key);
}

static void test_another_spelling_is_no_key(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "cells/C:1/owner.json",
        "cells/C:1/ltx/retired.json",
        "cells/C:1/ltx/e0000000000000001/0000/0000000000000001-0000000000000001.ltx.tmp",
        "cells/C:1/ltx/e0000000000000001/0002/0000000000000001-0000000000000001.ltx",
        "cells/C:1/ltx/e0000000000000000/0000/0000000000000001-0000000000000001.ltx",
        "cells/C:1/ltx/e000000000000000A/0000/0000000000000001-0000000000000001.ltx",
        "cells/C:1/ltx/e1/0000/0000000000000001-0000000000000001.ltx",
        "cells/C:1/ltx/e0000000000000001/0000/0000000000000002-0000000000000001.ltx",
        "cells/C:1/ltx/e0000000000000001/0000/0000000000000000-0000000000000001.ltx",
        "cells/../ltx/e0000000000000001/0000/0000000000000001-0000000000000001.ltx",
        "cells//ltx/e0000000000000001/0000/0000000000000001-0000000000000001.ltx",
        "cells/a b/ltx/e0000000000000001/0000/0000000000000001-0000000000000001.ltx",
        "x/cells/C:1/ltx/e0000000000000001/0000/0000000000000001-0000000000000001.ltx",
    };
    struct ltx_name got;
    for (size_t i = 0; i < CD_COUNT(bad); i++)
        assert_int_equal(ltx_key_parse(cd_str(bad[i]), &got), CD_ESYNTAX);
}

static void test_what_may_be_a_scope(void **state)
{
    (void)state;
    char many[LTX_SCOPE_MAX + 1];
    memset(many, 'a', sizeof many);
    assert_true(ltx_scope_valid(cd_str_of(many, LTX_SCOPE_MAX)));
    assert_false(ltx_scope_valid(cd_str_of(many, LTX_SCOPE_MAX + 1)));
    assert_true(ltx_scope_valid(CD_STR("...")) && ltx_scope_valid(CD_STR("Az09_.:$-")));
    static const char *const bad[] = {"", ".", "..", "a/b", "a b", "a\n", "\xc3\xa4", "a%"};
    for (size_t i = 0; i < CD_COUNT(bad); i++)
        assert_false(ltx_scope_valid(cd_str(bad[i])));
}

CD_TESTS(name, cmocka_unit_test(test_a_key_is_written_and_read_back),
         cmocka_unit_test(test_another_spelling_is_no_key), cmocka_unit_test(test_what_may_be_a_scope))
