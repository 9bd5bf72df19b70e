#include "io_real/s3_list.h"
#include "support/test.h"

#include "io/backend.h"

#define HEAD                                                                                                 \
    "<?xml version=\"1.0\"?><ListBucketResult "                                                              \
    "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name>"
#define TAIL "</ListBucketResult>"
#define WHOLE "<IsTruncated>false</IsTruncated>"
#define KEY(k, size)                                                                                         \
    "<Contents><Key>" k                                                                                      \
    "</Key><LastModified>2013-05-24T00:00:00.500Z</LastModified><ETag>&quot;e&quot;</ETag><Size>" size       \
    "</Size></Contents>"
#define GROUP(p) "<CommonPrefixes><Prefix>" p "</Prefix></CommonPrefixes>"
#define URL "<EncodingType>url</EncodingType>"

static void want_list(const char *document, const char *bucket_prefix, const char *after, const char *keys)
{
    struct io_list l = {0};
    struct s3_page page;
    struct cd_buf got = {0};
    int rc = s3_list_read(&l, &page, cd_str(document), cd_str(bucket_prefix), CD_STR(""), cd_str(after));
    if (rc != 0) {
        assert_int_equal(rc, IO_PROTOCOL);
        cd_buf_addf(&got, "%s", l.why);
    } else {
        io_list_seal(&l);
        for (unsigned i = 0; i < l.count; i++)
            cd_buf_addf(&got, "%s%.*s:%u|", l.entry[i].is_prefix ? "*" : "", (int)l.entry[i].key.len,
                        l.entry[i].key.ptr, (unsigned)l.entry[i].size);
        if (page.truncated)
            cd_buf_addf(&got, "more:%s", cd_buf_cstr(&page.continuation));
    }
    assert_string_equal(cd_buf_cstr(&got), keys);
    io_list_deinit(&l);
    s3_page_deinit(&page);
    cd_buf_deinit(&got);
}

static void test_keys_and_groups_are_merged_in_order(void **state)
{
    (void)state;
    want_list(HEAD WHOLE TAIL, "", "", "");
    want_list(HEAD KEY("a", "1") KEY("c", "3") WHOLE GROUP("b/") GROUP("d/") TAIL, "", "",
              "a:1|*b/:0|c:3|*d/:0|");
    want_list(HEAD GROUP("a/") WHOLE KEY("a.txt", "0") TAIL, "", "", "a.txt:0|*a/:0|");
}

static void test_order_is_checked(void **state)
{
    (void)state;
    want_list(HEAD KEY("b", "1") KEY("a", "1") WHOLE TAIL, "", "", "listing: keys do not ascend");
    want_list(HEAD KEY("a", "1") KEY("a", "1") WHOLE TAIL, "", "", "listing: keys do not ascend");
    want_list(HEAD KEY("a/", "1") GROUP("a/") WHOLE TAIL, "", "", "listing: keys do not ascend");
}

static void test_names_are_decoded_when_the_store_says_so(void **state)
{
    (void)state;
    want_list(HEAD URL KEY("a%2Fb%20c+d%2B%C3%A4", "1") WHOLE TAIL, "", "", "a/b c d+\xc3\xa4:1|");
    want_list(HEAD KEY("a%2Fb%20c+d%2B%C3%A4", "1") WHOLE TAIL, "", "", "a%2Fb%20c+d%2B%C3%A4:1|");
    want_list(HEAD KEY("a&amp;b&lt;", "1") WHOLE TAIL, "", "", "a&b<:1|");
    want_list(HEAD KEY("a%2F", "1") KEY("b+", "1") WHOLE URL TAIL, "", "", "a/:1|b :1|");
    want_list(HEAD URL KEY("a%2", "1") WHOLE TAIL, "", "", "listing: a key with a broken escape");
}

static void test_the_bucket_prefix_goes_and_after_is_kept(void **state)
{
    (void)state;
    want_list(HEAD KEY("p/a", "1") KEY("p/b", "1") WHOLE TAIL, "p/", "", "a:1|b:1|");
    want_list(HEAD KEY("p/a", "1") KEY("p/b", "1") WHOLE TAIL, "p/", "a", "b:1|");
    want_list(HEAD KEY("p/b", "1") WHOLE GROUP("p/a/") TAIL, "p/", "a/", "b:1|");
    want_list(HEAD KEY("q/a", "1") WHOLE TAIL, "p/", "", "listing: a key outside of the prefix");
}

static void test_a_page_that_goes_on_says_where(void **state)
{
    (void)state;
    want_list(HEAD KEY("a", "1") "<IsTruncated>true</IsTruncated><NextContinuationToken>x=/&#43;</"
                                 "NextContinuationToken>" TAIL,
              "", "", "a:1|more:x=/+");
    want_list(HEAD KEY("a", "1") "<IsTruncated>true</IsTruncated>" TAIL, "", "",
              "listing: truncated without a continuation token");
}

static void test_malformed_documents_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "<html/>",
        HEAD WHOLE,
        HEAD TAIL, /* Without IsTruncated it may be anything. */
        HEAD KEY("a", "x") WHOLE TAIL,
        HEAD "<Contents><Size>1</Size></Contents>" WHOLE TAIL,
        HEAD "<Contents><Key>a</Key></Contents>" WHOLE TAIL,
        HEAD "<CommonPrefixes></CommonPrefixes>" WHOLE TAIL,
        "<Error><Code>x</Code></Error>",
    };
    for (size_t i = 0; i < CD_COUNT(bad); i++)
        want_list(bad[i], "", "", "listing: malformed document");
}

static void test_times_and_sizes_are_read(void **state)
{
    (void)state;
    struct io_list l = {0};
    struct s3_page page;
    assert_int_equal(s3_list_read(&l, &page, CD_STR(HEAD KEY("k", "18446744073709551615") WHOLE TAIL),
                                  CD_STR(""), CD_STR(""), CD_STR("")),
                     0);
    assert_int_equal(l.count, 1);
    assert_true(l.entry[0].size == UINT64_MAX);
    assert_int_equal(l.entry[0].modified_ms, INT64_C(1369353600500));
    io_list_deinit(&l);
    s3_page_deinit(&page);
}

CD_TESTS(s3_list, cmocka_unit_test(test_keys_and_groups_are_merged_in_order),
         cmocka_unit_test(test_order_is_checked),
         cmocka_unit_test(test_names_are_decoded_when_the_store_says_so),
         cmocka_unit_test(test_the_bucket_prefix_goes_and_after_is_kept),
         cmocka_unit_test(test_a_page_that_goes_on_says_where),
         cmocka_unit_test(test_malformed_documents_are_refused),
         cmocka_unit_test(test_times_and_sizes_are_read))
