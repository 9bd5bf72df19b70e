/* Signing and verifying calls of peers: values in, verdicts out. */
#include "base/encode.h"
#include "fleet/peer_auth.h"
#include "rig.h"

#define NOW INT64_C(1789000000000)
#define SECOND UINT64_C(1000000000)

static const struct fleet_secret key = {.key = "0123456789abcdef0123456789abcde"};
static const struct fleet_secret other_key = {.key = "0123456789abcdef0123456789abcdf"};

struct request {
    struct fleet_peer_signed s;
    char target[STORE_SESSION_MAX + 1], hash[65], signature[65], timestamp[32];
};

static void seal(struct request *q)
{
    fleet_peer_sign(q->signature, &key, &q->s);
    q->s.signature = cd_str(q->signature);
}

static void request(struct request *q, const char *body)
{
    *q = (struct request){0};
    (void)snprintf(q->target, sizeof q->target, "b/%s", rig_generation('7'));
    (void)snprintf(q->timestamp, sizeof q->timestamp, "%lld", (long long)NOW);
    fleet_sha256_hex(q->hash, cd_str(body));
    q->s = (struct fleet_peer_signed){.method = CD_STR("POST"),
                                      .target_path = CD_STR("/peer/adopt?x=1"),
                                      .version = CD_STR("1"),
                                      .source = CD_STR("a"),
                                      .target = cd_str(q->target),
                                      .timestamp = cd_str(q->timestamp),
                                      .nonce = CD_STR("00112233445566778899aabbccddeeff"),
                                      .body_sha256 = cd_str(q->hash)};
    seal(q);
}

static enum fleet_verdict head_of(const struct request *q)
{
    return fleet_peer_verify_head(&q->s, &key, NOW);
}

static void test_what_is_signed_is_the_canonical_text(void **state)
{
    (void)state;
    struct request q;
    struct cd_buf text = {0};
    request(&q, "");
    fleet_peer_canonical(&text, &q.s);
    struct cd_buf want = {0};
    cd_buf_addf(&want,
                "celld-peer-v1\n1\nPOST\n/peer/adopt?x=1\n"
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\na\nb/%s\n1789000000000\n"
                "00112233445566778899aabbccddeeff",
                rig_generation('7'));
    assert_str_is(cd_buf_str(&text), cd_buf_cstr(&want));
    cd_buf_deinit(&text);
    cd_buf_deinit(&want);
}

static void test_a_signed_request_is_accepted(void **state)
{
    (void)state;
    struct request q;
    request(&q, "{}");
    assert_int_equal(head_of(&q), FLEET_VERDICT_OK);
    assert_true(fleet_peer_verify_body(&q.s, CD_STR("{}")));
    assert_false(fleet_peer_verify_body(&q.s, CD_STR("{} ")));
    assert_false(fleet_peer_verify_body(&q.s, CD_STR("")));
}

/* Whatever is changed after the signing, the signature no longer holds. */
static void test_each_part_is_covered_by_the_signature(void **state)
{
    (void)state;
    struct request q;
    char other[STORE_SESSION_MAX + 1];
    (void)snprintf(other, sizeof other, "b/%s", rig_generation('8'));
#define FORGED(member, value)                                                                                \
    do {                                                                                                     \
        request(&q, "{}");                                                                                   \
        q.s.member = (value);                                                                                \
        assert_int_equal(head_of(&q), FLEET_VERDICT_FORGED);                                                 \
    } while (0)
    FORGED(method, CD_STR("GET"));
    FORGED(target_path, CD_STR("/peer/adopt?x=2"));
    FORGED(source, CD_STR("c"));
    FORGED(target, cd_str(other));
    FORGED(target, CD_STR("b/*"));
    FORGED(timestamp, CD_STR("1789000000001"));
    FORGED(nonce, CD_STR("00112233445566778899aabbccddeefe"));
    FORGED(body_sha256, CD_STR("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
    FORGED(signature, CD_STR(""));
    FORGED(signature, cd_str_sub(cd_str(q.signature), 0, 63));
#undef FORGED
    request(&q, "{}");
    assert_int_equal(fleet_peer_verify_head(&q.s, &other_key, NOW), FLEET_VERDICT_FORGED);
}

static void test_each_refusal_has_its_status(void **state)
{
    (void)state;
    struct request q;
#define REFUSED(member, value, verdict, status)                                                              \
    do {                                                                                                     \
        request(&q, "{}");                                                                                   \
        q.s.member = (value);                                                                                \
        seal(&q);                                                                                            \
        assert_int_equal(head_of(&q), verdict);                                                              \
        assert_int_equal(fleet_verdict_status(verdict), status);                                             \
        assert_false(fleet_verdict_proven(verdict));                                                         \
    } while (0)
    const struct cd_str absent = {NULL, 0};
    REFUSED(version, absent, FLEET_VERDICT_UNSIGNED, 401);
    REFUSED(version, CD_STR("2"), FLEET_VERDICT_VERSION, 426);
    REFUSED(version, CD_STR("01"), FLEET_VERDICT_VERSION, 426);
    REFUSED(version, CD_STR(""), FLEET_VERDICT_VERSION, 426);
    REFUSED(source, absent, FLEET_VERDICT_MALFORMED, 401);
    REFUSED(source, CD_STR(".."), FLEET_VERDICT_MALFORMED, 401);
    REFUSED(source, CD_STR("a/b"), FLEET_VERDICT_MALFORMED, 401);
    REFUSED(target, CD_STR("b"), FLEET_VERDICT_MALFORMED, 401);
    REFUSED(target, CD_STR("b/"), FLEET_VERDICT_MALFORMED, 401);
    REFUSED(target, CD_STR("b/1234"), FLEET_VERDICT_MALFORMED, 401);
    REFUSED(target, CD_STR("/*"), FLEET_VERDICT_MALFORMED, 401);
    REFUSED(nonce, CD_STR("00112233445566778899aabbccddeef"), FLEET_VERDICT_MALFORMED, 401);
    REFUSED(nonce, CD_STR("00112233445566778899AABBCCDDEEFF"), FLEET_VERDICT_MALFORMED, 401);
    REFUSED(body_sha256, CD_STR("00"), FLEET_VERDICT_MALFORMED, 401);
    REFUSED(timestamp, CD_STR("now"), FLEET_VERDICT_MALFORMED, 401);
    REFUSED(timestamp, CD_STR("99999999999999999999999"), FLEET_VERDICT_MALFORMED, 401);
    REFUSED(timestamp, absent, FLEET_VERDICT_MALFORMED, 401);
#undef REFUSED
    assert_int_equal(fleet_verdict_status(FLEET_VERDICT_FORGED), 401);
    assert_int_equal(fleet_verdict_status(FLEET_VERDICT_TARGET), 409);
    assert_int_equal(fleet_verdict_status(FLEET_VERDICT_REPLAY), 409);
    assert_int_equal(fleet_verdict_status(FLEET_VERDICT_FULL), 503);
    assert_false(fleet_verdict_proven(FLEET_VERDICT_FORGED));
    assert_true(fleet_verdict_proven(FLEET_VERDICT_TARGET));
}

static enum fleet_verdict at(uint64_t timestamp, int64_t now)
{
    struct request q;
    request(&q, "");
    (void)snprintf(q.timestamp, sizeof q.timestamp, "%llu", (unsigned long long)timestamp);
    q.s.timestamp = cd_str(q.timestamp);
    seal(&q);
    return fleet_peer_verify_head(&q.s, &key, now);
}

static void test_clocks_may_be_half_a_minute_apart_either_way(void **state)
{
    (void)state;
    assert_int_equal(at((uint64_t)NOW - 30000, NOW), FLEET_VERDICT_OK);
    assert_int_equal(at((uint64_t)NOW - 30001, NOW), FLEET_VERDICT_CLOCK);
    assert_int_equal(at((uint64_t)NOW + 30000, NOW), FLEET_VERDICT_OK);
    assert_int_equal(at((uint64_t)NOW + 30001, NOW), FLEET_VERDICT_CLOCK);
    assert_int_equal(at(UINT64_MAX, NOW), FLEET_VERDICT_CLOCK);
    assert_int_equal(at(0, 30000), FLEET_VERDICT_OK);
    assert_int_equal(at(0, -1), FLEET_VERDICT_CLOCK);
    assert_int_equal(fleet_verdict_status(FLEET_VERDICT_CLOCK), 401);
    assert_string_equal(fleet_verdict_text(FLEET_VERDICT_CLOCK), "clock");
}

static void test_a_target_is_a_process_or_with_consent_a_node(void **state)
{
    (void)state;
    struct cd_str mine = cd_str(rig_generation('7')), node = CD_STR("b");
    char own[STORE_SESSION_MAX + 1], before[STORE_SESSION_MAX + 1];
    (void)snprintf(own, sizeof own, "b/%s", rig_generation('7'));
    (void)snprintf(before, sizeof before, "b/%s", rig_generation('6'));
    assert_true(fleet_peer_is_target(cd_str(own), node, mine, false));
    assert_true(fleet_peer_is_target(cd_str(own), node, mine, true));
    assert_false(fleet_peer_is_target(cd_str(before), node, mine, false));
    assert_false(fleet_peer_is_target(cd_str(before), node, mine, true));
    assert_true(fleet_peer_is_target(CD_STR("b/*"), node, mine, true));
    assert_false(fleet_peer_is_target(CD_STR("b/*"), node, mine, false));
    assert_false(fleet_peer_is_target(cd_str(own), CD_STR("c"), mine, true));
}

static void test_an_answer_is_bound_to_its_question_and_its_node(void **state)
{
    (void)state;
    char signature[65];
    struct cd_str nonce = CD_STR("00112233445566778899aabbccddeeff"), node = CD_STR("b"), body = CD_STR("{}");
    fleet_peer_sign_answer(signature, &key, nonce, node, 200, body);
    struct cd_str s = cd_str(signature);
    assert_true(fleet_peer_verify_answer(s, &key, nonce, node, 200, body));
    assert_false(fleet_peer_verify_answer(s, &other_key, nonce, node, 200, body));
    assert_false(fleet_peer_verify_answer(s, &key, CD_STR("0011"), node, 200, body));
    assert_false(fleet_peer_verify_answer(s, &key, nonce, CD_STR("c"), 200, body));
    assert_false(fleet_peer_verify_answer(s, &key, nonce, node, 503, body));
    assert_false(fleet_peer_verify_answer(s, &key, nonce, node, 200, CD_STR("")));
    assert_false(fleet_peer_verify_answer((struct cd_str){NULL, 0}, &key, nonce, node, 200, body));
}

static void nonce_of(unsigned char out[FLEET_NONCE_SIZE], uint64_t n)
{
    memset(out, 0, FLEET_NONCE_SIZE);
    cd_put_u64(out, n);
}

static enum fleet_verdict add(struct fleet_nonces *n, uint64_t number, uint64_t now_ns)
{
    unsigned char nonce[FLEET_NONCE_SIZE];
    nonce_of(nonce, number);
    return fleet_nonces_add(n, nonce, now_ns);
}

/* A request that was signed with a clock half a minute ahead stays valid for a minute. */
static void test_a_nonce_is_known_for_as_long_as_its_request_is_valid(void **state)
{
    (void)state;
    struct fleet_nonces n = {0};
    assert_int_equal(add(&n, 1, 5 * SECOND), FLEET_VERDICT_OK);
    assert_int_equal(add(&n, 1, 5 * SECOND), FLEET_VERDICT_REPLAY);
    for (uint64_t s = 6; s <= 65; s++)
        assert_int_equal(add(&n, 1, s * SECOND), FLEET_VERDICT_REPLAY);
    assert_int_equal(add(&n, 2, 300 * SECOND), FLEET_VERDICT_OK);
    assert_int_equal(n.known.count, 1); /* The first has been forgotten. */
    fleet_nonces_deinit(&n);
}

static void test_a_full_cache_refuses_until_something_is_old_enough(void **state)
{
    (void)state;
    struct fleet_nonces n = {.count_max = 3};
    assert_int_equal(add(&n, 1, 0), FLEET_VERDICT_OK);
    assert_int_equal(add(&n, 2, 10 * SECOND), FLEET_VERDICT_OK);
    assert_int_equal(add(&n, 3, 10 * SECOND), FLEET_VERDICT_OK);
    assert_int_equal(add(&n, 4, 20 * SECOND), FLEET_VERDICT_FULL);
    assert_int_equal(add(&n, 3, 20 * SECOND), FLEET_VERDICT_REPLAY);
    assert_int_equal(add(&n, 4, 66 * SECOND), FLEET_VERDICT_OK);
    assert_int_equal(add(&n, 5, 66 * SECOND), FLEET_VERDICT_FULL);
    assert_int_equal(n.known.count, 3);
    fleet_nonces_deinit(&n);
}

static void test_a_field_that_comes_twice_is_absent(void **state)
{
    (void)state;
    const struct http_field field[] = {{CD_STR("X-Celld-Peer-Version"), CD_STR("1")},
                                       {CD_STR("x-celld-peer-source"), CD_STR("a")},
                                       {CD_STR("x-celld-peer-target"), CD_STR("b/*")},
                                       {CD_STR("X-CELLD-PEER-SOURCE"), CD_STR("c")}};
    struct fleet_peer_signed s = {.method = CD_STR("GET")};
    fleet_peer_signed_read(&s, field, CD_COUNT(field));
    assert_str_is(s.version, "1");
    assert_str_is(s.target, "b/*");
    assert_null(s.source.ptr);
    assert_null(s.signature.ptr);
    assert_str_is(s.method, "GET");
}

CD_TESTS(peer_auth, cmocka_unit_test(test_what_is_signed_is_the_canonical_text),
         cmocka_unit_test(test_a_signed_request_is_accepted),
         cmocka_unit_test(test_each_part_is_covered_by_the_signature),
         cmocka_unit_test(test_each_refusal_has_its_status),
         cmocka_unit_test(test_clocks_may_be_half_a_minute_apart_either_way),
         cmocka_unit_test(test_a_target_is_a_process_or_with_consent_a_node),
         cmocka_unit_test(test_an_answer_is_bound_to_its_question_and_its_node),
         cmocka_unit_test(test_a_nonce_is_known_for_as_long_as_its_request_is_valid),
         cmocka_unit_test(test_a_full_cache_refuses_until_something_is_old_enough),
         cmocka_unit_test(test_a_field_that_comes_twice_is_absent))
