/* The JSON records: what is written reads back, what is malformed is refused with a reason, and what another
 * version wrote survives a rewrite. */
#include "base/json.h"
#include "store/records.h"
#include "store/wake.h"
#include "support/test.h"

#define GEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define SESSION "a/" GEN
#define OTHER "b/" GEN

static void check_reason(int rc, int want, struct cd_buf *why, const char *reason)
{
    if (rc != want || strstr(cd_buf_cstr(why), reason) == NULL)
        fail_msg("got %d \"%s\", want %d \"%s\"", rc, cd_buf_cstr(why), want, reason);
    cd_buf_deinit(why);
}

static void test_ownership_reads_back_and_refuses(void **state)
{
    (void)state;
    struct store_owner o = {.session = SESSION, .epoch = 17}, got = {0};
    struct cd_buf body = {0}, why = {0};
    store_owner_write(&body, &o);
    assert_str_is(cd_buf_str(&body), "{\"v\":1,\"session\":\"" SESSION "\",\"epoch\":17}");
    assert_int_equal(store_owner_read(&got, cd_buf_str(&body), NULL), 0);
    assert_string_equal(got.session, SESSION);
    assert_int_equal(got.epoch, 17);
    cd_buf_deinit(&body);
    assert_int_equal(
        store_owner_read(&got, CD_STR("{\"v\":1,\"session\":\"\",\"epoch\":2,\"more\":[]}"), NULL), 0);
    assert_string_equal(got.session, "");
    check_reason(store_owner_read(&got, CD_STR("{\"v\":2,\"session\":\"\",\"epoch\":2}"), &why),
                 CD_EUNSUPPORTED, &why, "v is 2");
    check_reason(store_owner_read(&got, CD_STR("{\"session\":\"\",\"epoch\":2}"), &why), CD_ECORRUPT, &why,
                 "v:");
    check_reason(store_owner_read(&got, CD_STR("{\"v\":1,\"session\":\"\",\"epoch\":0}"), &why), CD_ECORRUPT,
                 &why, "epoch: 0");
    check_reason(store_owner_read(&got, CD_STR("{\"v\":1,\"session\":\"a\",\"epoch\":1}"), &why), CD_ECORRUPT,
                 &why, "session: \"a\" is not one");
    check_reason(
        store_owner_read(&got, CD_STR("{\"v\":1,\"session\":\"\",\"epoch\":9007199254740992}"), &why),
        CD_ECORRUPT, &why, "epoch: want an integer");
    check_reason(store_owner_read(&got, CD_STR("{\"v\":1,\"session\":\"\",\"epoch\":1.5}"), &why),
                 CD_ECORRUPT, &why, "epoch: want an integer");
    check_reason(store_owner_read(&got, CD_STR("[1]"), &why), CD_ECORRUPT, &why, "not an object");
    check_reason(store_owner_read(&got, CD_STR(""), &why), CD_ECORRUPT, &why, "ownership record: ");
    struct cd_buf large = {0};
    cd_buf_add_zero(&large, STORE_RECORD_MAX + 1);
    check_reason(store_owner_read(&got, cd_buf_str(&large), &why), CD_ETOOBIG, &why, "at most 262144");
    cd_buf_deinit(&large);
    assert_int_equal(got.epoch, 2); /* As it was. */
}

static struct store_lease lease_of_a(void)
{
    struct store_lease l = {.node = "a",
                            .generation = GEN,
                            .seq = 412,
                            .expires_ms = 1789000010000,
                            .ttl_ms = 10000,
                            .addr = "10.0.0.12:8081",
                            .peer_protocol = 1,
                            .probe_key = GEN,
                            .paced_handoff = true,
                            .has_log = true,
                            .log = {.state = STORE_LOG_OPEN,
                                    .epoch = 3,
                                    .ensemble_count = 2,
                                    .ensemble = {"b", "c"},
                                    .may_have_fleet_acks = true,
                                    .slot = 8123}};
    store_load_init(&l.load);
    l.load.bucket_format = 2;
    return l;
}

static void test_a_lease_reads_back(void **state)
{
    (void)state;
    struct store_lease l = lease_of_a(), got;
    struct cd_buf body = {0}, again = {0};
    store_lease_write(&body, &l);
    assert_int_equal(store_lease_read(&got, CD_STR("a"), cd_buf_str(&body), NULL), 0);
    assert_int_equal(got.expires_ms, 1789000010000);
    assert_int_equal(got.log.ensemble_count, 2);
    assert_string_equal(got.log.ensemble[1], "c");
    assert_int_equal(got.load.bucket_format, 2);
    assert_true(got.load.owned_cells == STORE_ABSENT);
    store_lease_write(&again, &got);
    assert_str_is(cd_buf_str(&again), cd_buf_cstr(&body));
    struct cd_buf why = {0};
    check_reason(store_lease_read(&got, CD_STR("b"), cd_buf_str(&body), &why), CD_ECORRUPT, &why,
                 "node: a in the record of b");
    cd_buf_deinit(&body);
    cd_buf_deinit(&again);
}

#define LEASE(log)                                                                                           \
    "{\"v\":1,\"node\":\"a\",\"later\":{\"x\":[1,2.5]},\"generation\":\"" GEN                                \
    "\",\"seq\":1,\"expires_ms\":9,"                                                                         \
    "\"ttl_ms\":10,\"addr\":\"\",\"peer_protocol\":1,\"probe_key\":\"" GEN                                   \
    "\",\"paced_handoff\":true,\"ephemeral\":false" log "}"
#define OPEN                                                                                                 \
    ",\"log\":{\"state\":\"open\",\"epoch\":0,\"new\":\"kept\",\"ensemble\":[],\"may_have_fleet_acks\":"     \
    "false,"                                                                                                 \
    "\"slot\":5,\"claimant\":null,\"claimed_ms\":null,\"seal\":null}"

static void test_a_log_record_has_all_it_needs_for_its_state(void **state)
{
    (void)state;
    struct store_lease got;
    struct cd_buf why = {0};
    assert_int_equal(store_lease_read(&got, CD_STR("a"), CD_STR(LEASE("")), NULL), 0);
    assert_false(got.has_log);
    assert_int_equal(store_lease_read(&got, CD_STR("a"), CD_STR(LEASE(OPEN)), NULL), 0);
    assert_int_equal(got.log.slot, 5);
    assert_int_equal(store_lease_read(&got, CD_STR("a"),
                                      CD_STR(LEASE(",\"log\":{\"state\":\"sealed\",\"epoch\":0,\"seal\":0}")),
                                      NULL),
                     0);
    assert_int_equal(got.log.state, STORE_LOG_SEALED);
    check_reason(store_lease_read(
                     &got, CD_STR("a"),
                     CD_STR(LEASE(",\"log\":{\"state\":\"open\",\"epoch\":0,\"ensemble\":[],\"slot\":0}")),
                     &why),
                 CD_ECORRUPT, &why, "may_have_fleet_acks");
    check_reason(store_lease_read(&got, CD_STR("a"),
                                  CD_STR(LEASE(",\"log\":{\"state\":\"sealed\",\"epoch\":0,\"seal\":null}")),
                                  &why),
                 CD_ECORRUPT, &why, "seal");
    check_reason(store_lease_read(&got, CD_STR("a"), CD_STR(LEASE(",\"log\":{\"state\":\"shut\"}")), &why),
                 CD_ECORRUPT, &why, "log.state");
    check_reason(store_lease_read(&got, CD_STR("a"), CD_STR(LEASE(",\"log\":null")), &why), CD_ECORRUPT, &why,
                 "log: want an object");
}

static void test_a_recoverer_changes_the_log_and_nothing_else(void **state)
{
    (void)state;
    struct store_lease got;
    struct cd_buf out = {0};
    assert_int_equal(store_lease_read(&got, CD_STR("a"), CD_STR(LEASE(OPEN)), NULL), 0);
    got.log.state = STORE_LOG_RECOVERING;
    memcpy(got.log.claimant, OTHER, sizeof OTHER);
    got.log.claimed_ms = 77;
    assert_int_equal(store_lease_with_log(&out, CD_STR(LEASE(OPEN)), &got.log, NULL), 0);
    assert_str_is(cd_buf_str(&out),
                  LEASE(",\"log\":{\"state\":\"recovering\",\"epoch\":0,\"new\":\"kept\",\"ensemble\":[],"
                        "\"may_have_fleet_acks\":false,\"slot\":5,\"claimant\":\"" OTHER
                        "\",\"claimed_ms\":77,\"seal\":null}"));
    cd_buf_clear(&out);
    struct store_log_record sealed = {.state = STORE_LOG_SEALED};
    assert_int_equal(store_lease_with_log(&out, CD_STR(LEASE("")), &sealed, NULL), 0);
    assert_int_equal(store_lease_read(&got, CD_STR("a"), cd_buf_str(&out), NULL), 0);
    assert_int_equal(got.log.state, STORE_LOG_SEALED);
    assert_non_null(strstr(cd_buf_cstr(&out), "\"later\":{\"x\":[1,2.5]}"));
    cd_buf_clear(&out);
    assert_int_equal(store_lease_expired(&out, CD_STR(LEASE(OPEN)), NULL), 0);
    assert_int_equal(store_lease_read(&got, CD_STR("a"), cd_buf_str(&out), NULL), 0);
    assert_int_equal(got.expires_ms, 0);
    assert_int_equal(got.log.slot, 5);
    cd_buf_deinit(&out);
}

static void test_a_floor_reads_back_and_freezes(void **state)
{
    (void)state;
    struct store_floor f = {.floor = 4, .batch = 9, .has_alarms = true, .alarms_n = 7, .alarms_through = 9},
                       got;
    struct cd_buf body = {0}, why = {0};
    store_floor_write(&body, &f);
    assert_str_is(cd_buf_str(&body),
                  "{\"v\":1,\"floor\":4,\"batch\":9,\"alarms\":{\"n\":7,\"through\":9},\"frozen\":null}");
    assert_int_equal(store_floor_read(&got, cd_buf_str(&body), NULL), 0);
    assert_int_equal(got.alarms_n, 7);
    assert_string_equal(got.frozen_by, "");
    cd_buf_clear(&body);
    struct cd_str with =
        CD_STR("{\"v\":1,\"floor\":0,\"batch\":0,\"new\":1,\"alarms\":null,\"frozen\":null}");
    assert_int_equal(store_floor_frozen(&body, with, CD_STR(OTHER), 5, NULL), 0);
    assert_str_is(cd_buf_str(&body),
                  "{\"v\":1,\"floor\":0,\"batch\":0,\"new\":1,\"alarms\":null,\"frozen\":{\"by\":\"" OTHER
                  "\",\"at_ms\":5}}");
    assert_int_equal(store_floor_read(&got, cd_buf_str(&body), NULL), 0);
    assert_string_equal(got.frozen_by, OTHER);
    cd_buf_deinit(&body);
    check_reason(store_floor_read(
                     &got, CD_STR("{\"v\":1,\"floor\":1,\"batch\":0,\"alarms\":null,\"frozen\":null}"), &why),
                 CD_ECORRUPT, &why, "floor 1 with batch 0");
    check_reason(
        store_floor_read(&got,
                         CD_STR("{\"v\":1,\"floor\":1,\"batch\":3,\"alarms\":{\"n\":1,\"through\":2},"
                                "\"frozen\":null}"),
                         &why),
        CD_ECORRUPT, &why, "through: 2, below batch 3");
    check_reason(store_floor_read(&got, CD_STR("{\"v\":1,\"floor\":0,\"batch\":0,\"alarms\":null}"), &why),
                 CD_ECORRUPT, &why, "frozen: want an object or null");
}

static void test_recovery_checkpoints_and_retired_epochs(void **state)
{
    (void)state;
    struct store_recovered *r = cd_new(struct store_recovered), *got = cd_new(struct store_recovered);
    struct cd_buf body = {0}, why = {0};
    r->count = 2;
    r->item[0] = (struct store_recovered_item){"Room:x", 3, 40};
    r->item[1] = (struct store_recovered_item){"Room:y", 1, 2};
    store_recovered_write(&body, r);
    assert_int_equal(store_recovered_read(got, cd_buf_str(&body), NULL), 0);
    assert_memory_equal(got, r, sizeof *r);
    cd_buf_clear(&body);
    cd_buf_addf(&body, "{\"v\":1,\"cells\":[");
    for (unsigned i = 0; i <= STORE_RECOVERED_MAX; i++)
        cd_buf_addf(&body, "%s{\"cell\":\"c%u\",\"epoch\":1,\"through\":1}", i == 0 ? "" : ",", i);
    cd_buf_addf(&body, "]}");
    check_reason(store_recovered_read(got, cd_buf_str(&body), &why), CD_ECORRUPT, &why, "513 items");
    uint64_t below = 0;
    cd_buf_clear(&body);
    store_retired_epochs_write(&body, 12);
    assert_int_equal(store_retired_epochs_read(&below, cd_buf_str(&body), NULL), 0);
    assert_int_equal(below, 12);
    cd_buf_deinit(&body);
    cd_free(r);
    cd_free(got);
}

static void test_alarm_checkpoints_read_back_in_order(void **state)
{
    (void)state;
    struct store_alarm items[] = {{CD_STR("Room:b"), {3, 1}, 50}, {CD_STR("Room:a"), {2, 9}, 70}};
    struct store_alarms got = {0};
    struct cd_buf body = {0}, why = {0};
    store_alarms_sort(items, 2, store_alarm_cmp_cell);
    assert_int_equal(store_alarms_write(&body, CD_STR(SESSION), 11, items, 2), 0);
    assert_str_is(cd_buf_str(&body),
                  "{\"format\":2,\"session\":\"" SESSION
                  "\",\"through\":11,\"alarms\":[[\"Room:a\",2,9,70],[\"Room:b\",3,1,50]]}");
    assert_int_equal(store_alarms_read(&got, CD_STR(SESSION), cd_buf_str(&body), NULL), 0);
    assert_int_equal(got.count, 2);
    assert_int_equal(got.through, 11);
    assert_str_is(got.item[1].cell, "Room:b");
    store_alarms_deinit(&got);
    check_reason(store_alarms_read(&got, CD_STR(OTHER), cd_buf_str(&body), &why), CD_ECORRUPT, &why,
                 "session: a/");
    cd_buf_deinit(&body);
    check_reason(store_alarms_read(&got, CD_STR(SESSION),
                                   CD_STR("{\"format\":2,\"session\":\"" SESSION
                                          "\",\"through\":1,\"alarms\":[[\"b\",1,1,1],[\"a\",1,1,1]]}"),
                                   &why),
                 CD_ECORRUPT, &why, "item 1 is not behind");
    check_reason(store_alarms_read(&got, CD_STR(SESSION),
                                   CD_STR("{\"format\":2,\"session\":\"" SESSION
                                          "\",\"through\":1,\"alarms\":[[\"b\",1,0,1]]}"),
                                   &why),
                 CD_ECORRUPT, &why, "an item is not");
}

static void test_a_pack_has_the_name_of_its_content(void **state)
{
    (void)state;
    struct store_alarm items[] = {{CD_STR("Room:b"), {3, 1}, 120050}, {CD_STR("Room:a"), {2, 9}, 120070}};
    struct store_alarms got = {0};
    struct cd_buf body = {0}, key = {0}, other = {0}, why = {0};
    store_alarms_sort(items, 2, store_alarm_cmp_due);
    store_pack_write(&body, &key, CD_STR(SESSION), items, 2);
    assert_true(cd_str_starts(cd_buf_str(&key), CD_STR("wake/packs/000000000002/" SESSION "/")));
    assert_int_equal(store_pack_read(&got, cd_buf_str(&key), cd_buf_str(&body), NULL), 0);
    assert_int_equal(got.count, 2);
    assert_int_equal(got.item[0].due_ms, 120050);
    store_alarms_deinit(&got);
    cd_buf_add_byte(&body, ' ');
    check_reason(store_pack_read(&got, cd_buf_str(&key), cd_buf_str(&body), &why), CD_ECORRUPT, &why,
                 "digest");
    body.len = 0;
    store_pack_write(&body, &other, CD_STR(SESSION), items, 1);
    assert_false(cd_str_eq(cd_buf_str(&key), cd_buf_str(&other)));
    cd_buf_deinit(&body);
    cd_buf_deinit(&key);
    cd_buf_deinit(&other);
}

static void test_a_retirement_settles_what_is_older(void **state)
{
    (void)state;
    struct store_wake_retired armed = {{3, 5}, true, 99}, gone = {{3, 5}, false, 0}, got;
    struct cd_buf body = {0};
    store_wake_retired_write(&body, &armed);
    assert_str_is(cd_buf_str(&body), "{\"format\":2,\"identity\":\"3.5\",\"at_ms\":99}");
    assert_int_equal(store_wake_retired_read(&got, cd_buf_str(&body), NULL), 0);
    assert_true(got.armed && got.at_ms == 99);
    cd_buf_clear(&body);
    store_wake_retired_write(&body, &gone);
    assert_int_equal(store_wake_retired_read(&got, cd_buf_str(&body), NULL), 0);
    assert_false(got.armed);
    cd_buf_deinit(&body);
    assert_true(store_wake_settled(&armed, (struct store_identity){3, 4}));
    assert_true(store_wake_settled(&armed, (struct store_identity){2, 9}));
    assert_false(store_wake_settled(&armed, (struct store_identity){3, 5}));
    assert_true(store_wake_settled(&gone, (struct store_identity){3, 5}));
    assert_false(store_wake_settled(&gone, (struct store_identity){4, 1}));
    assert_int_equal(store_wake_retired_read(&got, CD_STR("{\"format\":2,\"identity\":\"3.5\"}"), NULL),
                     CD_ECORRUPT);
}

static void test_wake_format_and_waker(void **state)
{
    (void)state;
    bool ready = false;
    struct cd_buf body = {0}, why = {0};
    store_wake_format_write(&body, true);
    assert_int_equal(store_wake_format_read(&ready, cd_buf_str(&body), NULL), 0);
    assert_true(ready);
    check_reason(store_wake_format_read(&ready, CD_STR("{\"format\":3,\"state\":\"ready\"}"), &why),
                 CD_EUNSUPPORTED, &why, "format is 3");
    struct store_waker w = {"a", 70}, got = {"b", 1};
    cd_buf_clear(&body);
    store_waker_write(&body, &w);
    store_waker_read(&got, cd_buf_str(&body));
    assert_int_equal(got.expires_ms, 70);
    store_waker_read(&got, CD_STR("nonsense"));
    assert_int_equal(got.expires_ms, 0);
    cd_buf_clear(&body);
    store_wake_entry_write(&body, &(struct store_alarm){CD_STR("Room:x"), {3, 5}, 99});
    assert_str_is(cd_buf_str(&body), "{\"format\":2,\"cell\":\"Room:x\",\"due_ms\":99,\"identity\":\"3.5\"}");
    cd_buf_deinit(&body);
}

CD_TESTS(records, cmocka_unit_test(test_ownership_reads_back_and_refuses),
         cmocka_unit_test(test_a_lease_reads_back),
         cmocka_unit_test(test_a_log_record_has_all_it_needs_for_its_state),
         cmocka_unit_test(test_a_recoverer_changes_the_log_and_nothing_else),
         cmocka_unit_test(test_a_floor_reads_back_and_freezes),
         cmocka_unit_test(test_recovery_checkpoints_and_retired_epochs),
         cmocka_unit_test(test_alarm_checkpoints_read_back_in_order),
         cmocka_unit_test(test_a_pack_has_the_name_of_its_content),
         cmocka_unit_test(test_a_retirement_settles_what_is_older),
         cmocka_unit_test(test_wake_format_and_waker))
