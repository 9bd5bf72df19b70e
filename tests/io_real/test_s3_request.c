#include "io_real/s3_request.h"
#include "support/test.h"

#define MAY_24_2013 INT64_C(1369353600000)

static struct s3_options options(const char *endpoint, const char *bucket)
{
    return (struct s3_options){.bucket = cd_str(bucket),
                               .endpoint = cd_str(endpoint),
                               .access_key = CD_STR("AKIAIOSFODNN7EXAMPLE"),
                               .secret_key = CD_STR("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")};
}

static void open_config(struct s3_config *c, const struct s3_options *o)
{
    struct cd_buf why = {0};
    int rc = s3_config_init(c, o, &why);
    if (rc != 0)
        print_error("%s\n", cd_buf_cstr(&why));
    assert_int_equal(rc, 0);
    cd_buf_deinit(&why);
}

static void want_refused(const struct s3_options *o, const char *message)
{
    struct s3_config c;
    struct cd_buf why = {0};
    assert_int_equal(s3_config_init(&c, o, &why), CD_EINVAL);
    assert_non_null(strstr(cd_buf_cstr(&why), message));
    s3_config_deinit(&c);
    cd_buf_deinit(&why);
}

static void want_address(const char *endpoint, const char *region, const char *bucket, const char *url,
                         const char *host)
{
    struct s3_options o = options(endpoint, bucket);
    o.region = cd_str(region);
    struct s3_config c;
    struct s3_request r;
    struct cd_buf line = {0};
    open_config(&c, &o);
    s3_request_build(&r, &c, &(struct s3_ask){.kind = S3_HEAD, .key = CD_STR("a/b c"), .agent = "celld"});
    assert_string_equal(cd_buf_cstr(&r.url), url);
    cd_buf_addf(&line, "host: %s\r\n", host);
    assert_true(cd_str_starts(cd_buf_str(&r.head), cd_buf_str(&line)));
    s3_request_deinit(&r);
    s3_config_deinit(&c);
    cd_buf_deinit(&line);
}

static void test_an_endpoint_is_addressed_by_path(void **state)
{
    (void)state;
    want_address("http://127.0.0.1:9000", "", "data", "http://127.0.0.1:9000/data/a/b%20c", "127.0.0.1:9000");
    want_address(" HTTP://store.example/ ", "", "da.ta", "http://store.example/da.ta/a/b%20c",
                 "store.example");
    want_address("https://store.example:443/s3//", "", "data", "https://store.example/s3/data/a/b%20c",
                 "store.example");
    want_address("http://[::1]:9000", "auto", "data", "http://[::1]:9000/data/a/b%20c", "[::1]:9000");
}

static void test_amazon_is_addressed_by_virtual_host(void **state)
{
    (void)state;
    want_address("", "", "data", "https://data.s3.us-east-1.amazonaws.com/a/b%20c",
                 "data.s3.us-east-1.amazonaws.com");
    want_address("", "cn-north-1", "data", "https://data.s3.cn-north-1.amazonaws.com.cn/a/b%20c",
                 "data.s3.cn-north-1.amazonaws.com.cn");
    want_address("", "eu-west-1", "da.ta", "https://s3.eu-west-1.amazonaws.com/da.ta/a/b%20c",
                 "s3.eu-west-1.amazonaws.com");
}

static void test_bad_settings_are_refused_without_showing_secrets(void **state)
{
    (void)state;
    struct s3_options o = options("ftp://x", "data");
    want_refused(&o, "must start with http:// or https://");
    static const char *const bad[] = {"http://", "http://u:p@x", "http://x/?q", "http://x/#f", "http://x y"};
    for (size_t i = 0; i < CD_COUNT(bad); i++) {
        o = options(bad[i], "data");
        want_refused(&o, "wants http(s)://HOST[:PORT][/PATH]");
    }
    o = options("", "data");
    o.region = CD_STR("evil.example/");
    want_refused(&o, "S3 region \"evil.example/\"");
    o = options("", "data");
    o.secret_key = CD_STR("");
    want_refused(&o, "must be set together");
    o.access_key = CD_STR("");
    want_refused(&o, "no S3 credentials");
    o = options("", "data");
    o.session_token = CD_STR("a\r\nX-Evil: 1");
    want_refused(&o, "S3 credentials hold");
}

/* Lines of the head without those that are tested elsewhere. */
static void want_head(const struct s3_options *o, const struct s3_ask *ask, const char *method,
                      const char *lines)
{
    struct s3_config c;
    struct s3_request r;
    struct cd_buf got = {0};
    open_config(&c, o);
    s3_request_build(&r, &c, ask);
    struct cd_str rest = cd_buf_str(&r.head), line;
    while (cd_str_next(&rest, '\n', &line)) {
        if (line.len != 0 && !cd_str_starts(line, CD_STR("authorization: ")))
            cd_buf_addf(&got, "%.*s|", (int)line.len - 1, line.ptr);
    }
    assert_string_equal(r.method, method);
    assert_string_equal(cd_buf_cstr(&got), lines);
    assert_int_equal(cd_str_find_str(cd_buf_str(&r.head), o->secret_key, 0), SIZE_MAX);
    s3_request_deinit(&r);
    s3_config_deinit(&c);
    cd_buf_deinit(&got);
}

#define EMPTY_SHA "x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855|"
#define DATE "x-amz-date: 20130524T000000Z|"
#define AGENT "user-agent: celld/" CELLD_VERSION "|"

static void test_conditions_and_ranges_become_headers(void **state)
{
    (void)state;
    struct s3_options o = options("http://s:1", "b");
    struct cd_str key = CD_STR("k");
    struct cd_str sha = CD_STR("00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff");
#define SHA "x-amz-content-sha256: 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff|"
    struct s3_ask ask = {
        .kind = S3_PUT, .key = key, .body_sha256 = sha, .agent = "celld", .wall_ms = MAY_24_2013};
    want_head(&o, &ask, "PUT", "host: s:1|" SHA DATE AGENT);
    ask.how = IO_PUT_IF_ABSENT;
    want_head(&o, &ask, "PUT", "host: s:1|if-none-match: *|" SHA DATE AGENT);
    ask.how = IO_PUT_IF_MATCH;
    ask.token = CD_STR("\"t1\"");
    want_head(&o, &ask, "PUT", "host: s:1|if-match: \"t1\"|" SHA DATE AGENT);
    o.etag_mode = S3_ETAG_UNQUOTED;
    want_head(&o, &ask, "PUT", "host: s:1|if-match: t1|" SHA DATE AGENT);
    o.etag_mode = S3_ETAG_QUOTED;
    want_head(&o, &ask, "PUT", "host: s:1|if-match: \"t1\"|" SHA DATE AGENT);
    ask.token = CD_STR("t1");
    want_head(&o, &ask, "PUT", "host: s:1|if-match: \"t1\"|" SHA DATE AGENT);
    o.etag_mode = S3_ETAG_PRESERVE;
    o.session_token = CD_STR("session/+=");
    want_head(&o, &ask, "PUT", "host: s:1|if-match: t1|" SHA DATE "x-amz-security-token: session/+=|" AGENT);
    o.session_token = CD_STR("");

    ask = (struct s3_ask){
        .kind = S3_GET, .key = key, .len = IO_WHOLE, .agent = "celld", .wall_ms = MAY_24_2013};
    want_head(&o, &ask, "GET", "host: s:1|" EMPTY_SHA DATE AGENT);
    ask.from = 7;
    want_head(&o, &ask, "GET", "host: s:1|range: bytes=7-|" EMPTY_SHA DATE AGENT);
    ask.len = 1;
    want_head(&o, &ask, "GET", "host: s:1|range: bytes=7-7|" EMPTY_SHA DATE AGENT);
    ask.len = IO_WHOLE - 1;
    want_head(&o, &ask, "GET", "host: s:1|range: bytes=7-|" EMPTY_SHA DATE AGENT);
    ask.from = 0;
    ask.len = 10;
    want_head(&o, &ask, "GET", "host: s:1|range: bytes=0-9|" EMPTY_SHA DATE AGENT);
    ask.kind = S3_DELETE;
    want_head(&o, &ask, "DELETE", "host: s:1|" EMPTY_SHA DATE AGENT);
}

static void want_url(const struct s3_ask *ask, const char *url)
{
    struct s3_options o = options("http://s", "b");
    struct s3_config c;
    struct s3_request r;
    open_config(&c, &o);
    s3_request_build(&r, &c, ask);
    assert_string_equal(cd_buf_cstr(&r.url), url);
    s3_request_deinit(&r);
    s3_config_deinit(&c);
}

static void test_keys_and_listings_are_encoded(void **state)
{
    (void)state;
    want_url(
        &(struct s3_ask){.kind = S3_GET, .key = CD_STR("/a//..//\xc3\xa4+~:$?#%&="), .len = 1, .agent = "x"},
        "http://s/b//a//..//%C3%A4%2B~%3A%24%3F%23%25%26%3D");
    struct s3_ask ask = {.kind = S3_LIST, .prefix = CD_STR("p/q "), .max = 7, .agent = "x"};
    want_url(&ask, "http://s/b/?encoding-type=url&list-type=2&max-keys=7&prefix=p%2Fq%20");
    ask.delimiter = '/';
    want_url(&ask, "http://s/b/?delimiter=%2F&encoding-type=url&list-type=2&max-keys=7&prefix=p%2Fq%20");
    ask.after = CD_STR("p/q k");
    want_url(&ask, "http://s/b/?delimiter=%2F&encoding-type=url&list-type=2&max-keys=7&prefix=p%2Fq%20"
                   "&start-after=p%2Fq%20k");
    ask.after = CD_STR("p/q group/x");
    want_url(&ask, "http://s/b/?delimiter=%2F&encoding-type=url&list-type=2&max-keys=7&prefix=p%2Fq%20"
                   "&start-after=p%2Fq%20group%2F%F4%8F%BF%BF");
    ask.continuation = CD_STR("m+/=");
    want_url(&ask, "http://s/b/?continuation-token=m%2B%2F%3D&delimiter=%2F&encoding-type=url&list-type=2"
                   "&max-keys=7&prefix=p%2Fq%20");
}

CD_TESTS(s3_request, cmocka_unit_test(test_an_endpoint_is_addressed_by_path),
         cmocka_unit_test(test_amazon_is_addressed_by_virtual_host),
         cmocka_unit_test(test_bad_settings_are_refused_without_showing_secrets),
         cmocka_unit_test(test_conditions_and_ranges_become_headers),
         cmocka_unit_test(test_keys_and_listings_are_encoded))
