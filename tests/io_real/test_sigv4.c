/* The vectors are the worked examples of Amazon's description of Signature Version 4 for S3. */
#include "io_real/sigv4.h"
#include "support/test.h"

static const struct sigv4_keys keys = {{"AKIAIOSFODNN7EXAMPLE", 20},
                                       {"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", 40}};
#define MAY_24_2013 INT64_C(1369353600000)

static void want_signature(const struct sigv4_ask *ask, const char *names, const char *signature)
{
    struct cd_buf out = {0}, want = {0};
    sigv4_authorization(&out, &keys, ask);
    cd_buf_addf(&want,
                "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
                "SignedHeaders=%s,Signature=%s",
                names, signature);
    assert_string_equal(cd_buf_cstr(&out), cd_buf_cstr(&want));
    cd_buf_deinit(&out);
    cd_buf_deinit(&want);
}

static void test_a_ranged_get_signs_as_in_the_example(void **state)
{
    (void)state;
    const struct sigv4_header headers[] = {{"host", CD_STR("examplebucket.s3.amazonaws.com")},
                                           {"range", CD_STR("bytes=0-9")},
                                           {"x-amz-content-sha256", CD_STR(SIGV4_EMPTY_SHA256)},
                                           {"x-amz-date", CD_STR("20130524T000000Z")}};
    want_signature(&(struct sigv4_ask){"GET", CD_STR("/test.txt"), CD_STR(""), headers, CD_COUNT(headers),
                                       CD_STR(SIGV4_EMPTY_SHA256), CD_STR("us-east-1"), MAY_24_2013},
                   "host;range;x-amz-content-sha256;x-amz-date",
                   "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

static void test_a_put_signs_as_in_the_example(void **state)
{
    (void)state;
    struct cd_buf sha = {0};
    sigv4_sha256_hex(&sha, CD_STR("Welcome to Amazon S3."));
    const struct sigv4_header headers[] = {{"date", CD_STR("Fri, 24 May 2013 00:00:00 GMT")},
                                           {"host", CD_STR("examplebucket.s3.amazonaws.com")},
                                           {"x-amz-content-sha256", cd_buf_str(&sha)},
                                           {"x-amz-date", CD_STR(" 20130524T000000Z ")},
                                           {"x-amz-storage-class", CD_STR("REDUCED_REDUNDANCY")}};
    want_signature(&(struct sigv4_ask){"PUT", CD_STR("/test%24file.text"), CD_STR(""), headers,
                                       CD_COUNT(headers), cd_buf_str(&sha), CD_STR("us-east-1"), MAY_24_2013},
                   "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
                   "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
    cd_buf_deinit(&sha);
}

static void test_queries_sign_as_in_the_examples(void **state)
{
    (void)state;
    const struct sigv4_header headers[] = {{"host", CD_STR("examplebucket.s3.amazonaws.com")},
                                           {"x-amz-content-sha256", CD_STR(SIGV4_EMPTY_SHA256)},
                                           {"x-amz-date", CD_STR("20130524T000000Z")}};
    struct sigv4_ask ask = {"GET",
                            CD_STR("/"),
                            CD_STR("lifecycle="),
                            headers,
                            CD_COUNT(headers),
                            CD_STR(SIGV4_EMPTY_SHA256),
                            CD_STR("us-east-1"),
                            MAY_24_2013};
    want_signature(&ask, "host;x-amz-content-sha256;x-amz-date",
                   "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
    ask.query = CD_STR("max-keys=2&prefix=J");
    want_signature(&ask, "host;x-amz-content-sha256;x-amz-date",
                   "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

static void test_the_hash_of_nothing_is_the_constant(void **state)
{
    (void)state;
    struct cd_buf sha = {0};
    sigv4_sha256_hex(&sha, CD_STR(""));
    assert_string_equal(cd_buf_cstr(&sha), SIGV4_EMPTY_SHA256);
    cd_buf_deinit(&sha);
}

CD_TESTS(sigv4, cmocka_unit_test(test_a_ranged_get_signs_as_in_the_example),
         cmocka_unit_test(test_a_put_signs_as_in_the_example),
         cmocka_unit_test(test_queries_sign_as_in_the_examples),
         cmocka_unit_test(test_the_hash_of_nothing_is_the_constant))
