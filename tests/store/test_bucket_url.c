#include "store/bucket_url.h"
#include "support/test.h"

static void want_url(const char *text, enum store_scheme scheme, const char *name, const char *prefix,
                     const char *shown)
{
    struct store_bucket_url u;
    struct cd_buf why = {0}, out = {0};
    int rc = store_bucket_url_parse(&u, cd_str(text), &why);
    if (rc != 0)
        print_error("%s: %s\n", text, cd_buf_cstr(&why));
    assert_int_equal(rc, 0);
    assert_int_equal(u.scheme, scheme);
    assert_string_equal(scheme == STORE_FILE ? u.dir : u.name, name);
    assert_string_equal(u.prefix, prefix);
    store_bucket_url_text(&out, &u);
    assert_string_equal(cd_buf_cstr(&out), shown);

    struct store_bucket_url again;
    assert_int_equal(store_bucket_url_parse(&again, cd_buf_str(&out), &why), 0);
    assert_memory_equal(&again, &u, sizeof(u));
    cd_buf_deinit(&why);
    cd_buf_deinit(&out);
}

static void want_error(const char *text, const char *message)
{
    struct store_bucket_url u = {.name = "untouched"};
    struct cd_buf why = {0};
    assert_int_equal(store_bucket_url_parse(&u, cd_str(text), &why), CD_EINVAL);
    assert_string_equal(cd_buf_cstr(&why), message);
    assert_string_equal(u.name, "untouched");
    cd_buf_deinit(&why);
}

static void test_the_four_schemes_are_read_in_any_case(void **state)
{
    (void)state;
    want_url("s3://data", STORE_S3, "data", "", "s3://data");
    want_url("S3://data", STORE_S3, "data", "", "s3://data");
    want_url("data", STORE_S3, "data", "", "s3://data");
    want_url("Gs://My_data.x", STORE_GS, "My_data.x", "", "gs://My_data.x");
    want_url("aZ://box", STORE_AZ, "box", "", "az://box");
    want_url("FILE:///var/lib/celld", STORE_FILE, "/var/lib/celld", "", "file:///var/lib/celld");
}

static void test_surrounding_space_and_empty_segments_go(void **state)
{
    (void)state;
    want_url(" \t data/fleet/a \n", STORE_S3, "data", "fleet/a/", "s3://data/fleet/a");
    want_url("s3://data/", STORE_S3, "data", "", "s3://data");
    want_url("s3://data///fleet//a_-.b//", STORE_S3, "data", "fleet/a_-.b/", "s3://data/fleet/a_-.b");
    want_url("file:////srv//x/", STORE_FILE, "/srv/x", "", "file:///srv/x");
    want_url("file:///", STORE_FILE, "/", "", "file:///");
    want_url("file:///with space/%20", STORE_FILE, "/with space/%20", "", "file:///with space/%20");
}

static void test_bad_urls_say_what_is_wrong(void **state)
{
    (void)state;
    want_error("", "bucket URL is empty; want s3://NAME, gs://NAME, az://CONTAINER or file:///DIR");
    want_error("http://x", "unknown bucket scheme \"http\"; use s3://, gs://, az:// or file://");
    want_error("://x", "unknown bucket scheme \"\"; use s3://, gs://, az:// or file://");
    want_error("s3://", "bucket URL has no bucket name; want s3://NAME, gs://NAME or az://CONTAINER");
    want_error("/x", "bucket URL has no bucket name; want s3://NAME, gs://NAME or az://CONTAINER");
    want_error("s3://a b", "bucket name \"a b\" accepts only letters, digits and -_.");
    want_error("s3://..", "bucket name \"..\" accepts only letters, digits and -_.");
    /* Secrets are not repeated. */
    static const char *const users[] = {"s3://key:secret@x",  "key:secret@x",
                                        "gs://key:sec/ret@x", "https://key:secret@x",
                                        "key:secret@s3://x",  "file://key:secret@host/d"};
    for (size_t i = 0; i < CD_COUNT(users); i++)
        want_error(users[i], "bucket URL has a user or password; want them in the environment "
                             "(AWS_ACCESS_KEY_ID, ...)");
    want_error("s3://x/a?b", "bucket prefix accepts only letters, digits and -_./");
    want_error("s3://x/\xc3\xa4", "bucket prefix accepts only letters, digits and -_./");
    want_error("s3://x/a/../b", "bucket prefix has a \"..\" segment");
    want_error("s3://x/.", "bucket prefix has a \".\" segment");
}

static void test_a_file_bucket_takes_nothing_but_a_directory(void **state)
{
    (void)state;
    want_error("file://host/dir",
               "file bucket \"file://host/dir\" needs an absolute directory without a host: file:///DIR");
    want_error("file://", "file bucket \"file://\" needs an absolute directory without a host: file:///DIR");
    want_error("file:///a?b",
               "file bucket takes a plain directory, without query, fragment or control characters");
    want_error("file:///a/../b", "file bucket has a \"..\" segment");
    want_error("file:/a", "bucket name \"file:\" accepts only letters, digits and -_.");
}

static void test_lengths_are_bounded(void **state)
{
    (void)state;
    struct cd_buf text = {0}, why = {0};
    struct store_bucket_url u;
    for (unsigned i = 0; i < STORE_BUCKET_NAME_MAX - 1; i++)
        cd_buf_add_byte(&text, 'b');
    assert_int_equal(store_bucket_url_parse(&u, cd_buf_str(&text), &why), 0);
    cd_buf_add_byte(&text, 'b');
    assert_int_equal(store_bucket_url_parse(&u, cd_buf_str(&text), &why), CD_EINVAL);

    cd_buf_clear(&text);
    cd_buf_addf(&text, "b/");
    for (unsigned i = 0; i < STORE_BUCKET_PREFIX_MAX - 2; i++)
        cd_buf_add_byte(&text, 'p');
    assert_int_equal(store_bucket_url_parse(&u, cd_buf_str(&text), &why), 0);
    assert_int_equal(strlen(u.prefix), STORE_BUCKET_PREFIX_MAX - 1);
    cd_buf_add_byte(&text, 'p');
    assert_int_equal(store_bucket_url_parse(&u, cd_buf_str(&text), &why), CD_EINVAL);

    cd_buf_clear(&text);
    cd_buf_addf(&text, "file:///");
    for (unsigned i = 0; i < STORE_BUCKET_DIR_MAX; i++)
        cd_buf_add_byte(&text, 'd');
    assert_int_equal(store_bucket_url_parse(&u, cd_buf_str(&text), &why), CD_EINVAL);
    cd_buf_deinit(&text);
    cd_buf_deinit(&why);
}

static void test_only_s3_takes_an_endpoint(void **state)
{
    (void)state;
    static const struct {
        const char *url, *message;
    } rows[] = {
        {"x", NULL},
        {"gs://x", "a gs:// bucket takes no S3 endpoint; unset --endpoint / S3_ENDPOINT"},
        {"az://x", "an az:// bucket takes no S3 endpoint; unset --endpoint / S3_ENDPOINT"},
        {"file:///x", "a file:// bucket takes no S3 endpoint; unset --endpoint / S3_ENDPOINT"},
    };
    for (size_t i = 0; i < CD_COUNT(rows); i++) {
        struct store_bucket_url u;
        struct cd_buf why = {0};
        assert_int_equal(store_bucket_url_parse(&u, cd_str(rows[i].url), &why), 0);
        assert_int_equal(store_bucket_url_check_endpoint(&u, CD_STR(" "), &why), 0);
        int rc = store_bucket_url_check_endpoint(&u, CD_STR("http://127.0.0.1:9000"), &why);
        assert_int_equal(rc, rows[i].message == NULL ? 0 : CD_EINVAL);
        assert_str_is(cd_buf_str(&why), rows[i].message == NULL ? "" : rows[i].message);
        cd_buf_deinit(&why);
    }
}

CD_TESTS(bucket_url, cmocka_unit_test(test_the_four_schemes_are_read_in_any_case),
         cmocka_unit_test(test_surrounding_space_and_empty_segments_go),
         cmocka_unit_test(test_bad_urls_say_what_is_wrong),
         cmocka_unit_test(test_a_file_bucket_takes_nothing_but_a_directory),
         cmocka_unit_test(test_lengths_are_bounded), cmocka_unit_test(test_only_s3_takes_an_endpoint))
