#include "store/reconcile.h"
#include "support/test.h"

static void test_the_fate_of_a_write_by_what_is_found(void **state)
{
    (void)state;
    static const struct {
        enum io_put how;
        int status;
        const char *body, *token;
        enum store_fate fate;
    } rows[] = {
        {IO_PUT_IF_ABSENT, IO_NOENT, "", "", STORE_FATE_OPEN},
        {IO_PUT_IF_ABSENT, IO_OK, "ours", "t9", STORE_FATE_OURS},
        {IO_PUT_IF_ABSENT, IO_OK, "theirs", "t9", STORE_FATE_OTHERS},
        {IO_PUT_IF_ABSENT, IO_OK, "", "t9", STORE_FATE_OTHERS},
        {IO_PUT_IF_MATCH, IO_NOENT, "", "", STORE_FATE_OTHERS},
        {IO_PUT_IF_MATCH, IO_OK, "before", "t1", STORE_FATE_OPEN},
        {IO_PUT_IF_MATCH, IO_OK, "ours", "t2", STORE_FATE_OURS},
        {IO_PUT_IF_MATCH, IO_OK, "ours", "t1", STORE_FATE_OURS}, /* The same bytes were there before. */
        {IO_PUT_IF_MATCH, IO_OK, "theirs", "t2", STORE_FATE_OTHERS},
        {IO_PUT_ANY, IO_NOENT, "", "", STORE_FATE_OPEN},
        {IO_PUT_ANY, IO_OK, "theirs", "t2", STORE_FATE_OPEN},
        {IO_PUT_ANY, IO_OK, "ours", "t2", STORE_FATE_OURS},
    };
    for (size_t i = 0; i < CD_COUNT(rows); i++) {
        struct store_write w = {CD_STR("k"), CD_STR("ours"), rows[i].how, "t1"};
        assert_int_equal(store_fate_of(&w, rows[i].status, cd_str(rows[i].body), rows[i].token),
                         rows[i].fate);
    }
}

CD_TESTS(reconcile, cmocka_unit_test(test_the_fate_of_a_write_by_what_is_found))
