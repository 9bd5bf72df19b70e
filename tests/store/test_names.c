/* Names and keys of the bucket: what is written parses back, and nothing else does. */
#include "store/names.h"
#include "support/test.h"

#define GEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define SESSION "node_a/" GEN

#define check_key(want, call)                                                                                \
    do {                                                                                                     \
        struct cd_buf key = {0};                                                                             \
        call;                                                                                                \
        assert_str_is(cd_buf_str(&key), want);                                                               \
        cd_buf_deinit(&key);                                                                                 \
    } while (0)

static void test_what_a_scope_may_be(void **state)
{
    (void)state;
    char longest[256];
    memset(longest, 'x', sizeof longest);
    assert_true(store_scope_valid(CD_STR("Room:a.b_c-$d")));
    assert_true(store_scope_valid(cd_str_of(longest, 255)));
    assert_false(store_scope_valid(cd_str_of(longest, 256)));
    assert_false(store_scope_valid(CD_STR("")));
    assert_false(store_scope_valid(CD_STR(".")));
    assert_false(store_scope_valid(CD_STR("..")));
    assert_false(store_scope_valid(CD_STR("Room/x")));
    assert_false(store_scope_valid(CD_STR("Room:\0")));
    assert_false(store_scope_valid(CD_STR("Room:\xc3\xa4")));
    assert_true(store_node_valid(CD_STR("a")));
    assert_false(store_node_valid(CD_STR("a:b")));
    assert_false(store_node_valid(cd_str_of(longest, 129)));
}

static void test_a_session_is_a_node_and_a_generation(void **state)
{
    (void)state;
    struct cd_str node, generation;
    assert_true(store_session_split(CD_STR(SESSION), &node, &generation));
    assert_str_is(node, "node_a");
    assert_str_is(generation, GEN);
    assert_false(store_session_valid(CD_STR("node_a/" GEN "0")));
    assert_false(store_session_valid(
        CD_STR("node_a/0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef")));
    assert_false(store_session_valid(CD_STR("node_a" GEN)));
    assert_false(store_session_valid(CD_STR("/" GEN)));
}

static void test_every_key_is_that_of_the_table(void **state)
{
    (void)state;
    struct cd_str s = CD_STR(SESSION), id = CD_STR("00112233445566778899aabbccddeeff");
    check_key("cells/Room:x/owner.json", store_key_owner(&key, CD_STR("Room:x")));
    check_key("cells/Room:x/ltx/retired.json", store_key_retired_epochs(&key, CD_STR("Room:x")));
    check_key("nodes/n.json", store_key_lease(&key, CD_STR("n")));
    check_key("log/" SESSION "/", store_key_log(&key, s));
    check_key("log/" SESSION "/00000000000000ff", store_key_slot(&key, s, 255));
    check_key("log/" SESSION "/rows/00112233445566778899aabbccddeeff", store_key_row(&key, s, id));
    check_key("log/" SESSION "/floor.json", store_key_floor(&key, s));
    check_key("log/" SESSION "/recovered/" SESSION "-3.json", store_key_recovered(&key, s, s, 3));
    check_key("log/" SESSION "/loss/slot-0000000000000007.json", store_key_loss_slot(&key, s, 7));
    check_key("wake/sessions/" SESSION "/12.json", store_key_alarms(&key, s, 12));
    check_key("wake/entries/000000000002/Room:x/17.4",
              store_key_wake_entry(&key, CD_STR("Room:x"), 179999, (struct store_identity){17, 4}));
    check_key("wake/retired/Room:x.json", store_key_wake_retired(&key, CD_STR("Room:x")));
}

static void test_keys_of_a_log_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        bool ok;
        enum store_log_kind kind;
        uint64_t number;
    } rows[] = {
        {"log/" SESSION "/0000000000000010", true, STORE_LOG_SLOT, 16},
        {"log/" SESSION "/0000000000000000", true, STORE_LOG_OTHER, 0},
        {"log/" SESSION "/000000000000001F", true, STORE_LOG_OTHER, 0},
        {"log/" SESSION "/00000000000000010", true, STORE_LOG_OTHER, 0},
        {"log/" SESSION "/floor.json", true, STORE_LOG_FLOOR, 0},
        {"log/" SESSION "/rows/00", true, STORE_LOG_ROW, 0},
        {"log/" SESSION "/recovered/b", true, STORE_LOG_RECOVERED, 0},
        {"log/" SESSION "/loss/e1.json", true, STORE_LOG_LOSS, 0},
        {"log/" SESSION "/later", true, STORE_LOG_OTHER, 0},
        {"log/" SESSION, false, STORE_LOG_OTHER, 0},
        {"logs/" SESSION "/floor.json", false, STORE_LOG_OTHER, 0},
        {"log/a/b/floor.json", false, STORE_LOG_OTHER, 0},
    };
    for (size_t i = 0; i < CD_COUNT(rows); i++) {
        struct store_log_name n = {0};
        assert_int_equal(store_log_name_parse(&n, cd_str(rows[i].key)), rows[i].ok);
        if (!rows[i].ok)
            continue;
        assert_int_equal(n.kind, rows[i].kind);
        assert_str_is(n.session, SESSION);
        if (n.kind == STORE_LOG_SLOT)
            assert_int_equal(n.number, rows[i].number);
    }
    uint64_t slot = 0;
    assert_true(store_loss_slot_parse(&slot, CD_STR("log/" SESSION "/loss/slot-0000000000000010.json")));
    assert_int_equal(slot, 16);
    assert_false(store_loss_slot_parse(&slot, CD_STR("log/" SESSION "/loss/e1.json")));
    struct cd_str node;
    assert_true(store_lease_name_parse(&node, CD_STR("nodes/a.b.json")));
    assert_str_is(node, "a.b");
    assert_false(store_lease_name_parse(&node, CD_STR("nodes/a/b.json")));
}

static void test_wake_names_parse_exactly_or_not_at_all(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "wake/entries/00000000002/Room:x/17.4",   "wake/entries/0000000000002/Room:x/17.4",
        "wake/entries/000000000002/Room:x/017.4", "wake/entries/000000000002/Room:x/17.0",
        "wake/entries/000000000002/Room:x/17",    "wake/entries/000000000002/Room/x/17.4",
        "wake/entries/000000000002/../17.4",      "wake/entries/000000000002/Room:x/17.4/",
        "wake/entries/00000000000a/Room:x/17.4",  "wake/entries/000000000002/Room:x/17.9007199254740992",
    };
    struct store_wake_name n;
    assert_true(store_wake_entry_parse(&n, CD_STR("wake/entries/000000000002/Room:x/17.4")));
    assert_int_equal(n.minute, 2);
    assert_str_is(n.scope, "Room:x");
    assert_int_equal(n.identity.epoch, 17);
    assert_int_equal(n.identity.seq, 4);
    for (size_t i = 0; i < CD_COUNT(bad); i++)
        if (store_wake_entry_parse(&n, cd_str(bad[i])))
            fail_msg("accepted: %s", bad[i]);
    struct store_pack_name p;
    struct cd_buf key = {0};
    store_key_pack(&key,
                   &(struct store_pack_name){9, CD_STR(SESSION), CD_STR("00112233445566778899aabbccddeeff")});
    assert_str_is(cd_buf_str(&key),
                  "wake/packs/000000000009/" SESSION "/00112233445566778899aabbccddeeff.json");
    assert_true(store_pack_name_parse(&p, cd_buf_str(&key)));
    assert_str_is(p.session, SESSION);
    key.len -= 5;
    assert_false(store_pack_name_parse(&p, cd_buf_str(&key)));
    cd_buf_deinit(&key);
}

CD_TESTS(names, cmocka_unit_test(test_what_a_scope_may_be),
         cmocka_unit_test(test_a_session_is_a_node_and_a_generation),
         cmocka_unit_test(test_every_key_is_that_of_the_table),
         cmocka_unit_test(test_keys_of_a_log_are_told_apart),
         cmocka_unit_test(test_wake_names_parse_exactly_or_not_at_all))
