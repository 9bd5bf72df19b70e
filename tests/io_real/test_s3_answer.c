#include "io_real/s3_answer.h"
#include "support/test.h"

#define ERROR_OF(code) "<?xml version=\"1.0\"?><Error><Code>" code "</Code><Message>said so</Message></Error>"

struct row {
    enum s3_kind kind;
    enum io_put how;
    unsigned http;
    const char *body;
    int status;
    enum io_outcome outcome;
};

static void want_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct s3_verdict v;
        s3_judge(&(struct s3_answer){.kind = rows[i].kind,
                                     .how = rows[i].how,
                                     .sent = true,
                                     .sent_all = true,
                                     .http = rows[i].http,
                                     .body = cd_str(rows[i].body)},
                 &v);
        if (v.status != rows[i].status || v.outcome != rows[i].outcome)
            print_error("row %zu: status %d outcome %d: %s\n", i, v.status, v.outcome, v.why);
        assert_int_equal(v.status, rows[i].status);
        assert_int_equal(v.outcome, rows[i].outcome);
        assert_true((v.why[0] == 0) == (v.outcome == IO_DONE));
    }
}
#define WANT_ROWS(rows) want_rows((rows), CD_COUNT(rows))

static void test_what_a_write_proves(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {S3_PUT, IO_PUT_ANY, 200, "", IO_OK, IO_DONE},
        {S3_PUT, IO_PUT_ANY, 201, "", IO_OK, IO_DONE},
        {S3_PUT, IO_PUT_ANY, 206, "", IO_PROTOCOL, IO_UNKNOWN},
        {S3_PUT, IO_PUT_ANY, 202, "", IO_PROTOCOL, IO_UNKNOWN},
        {S3_DELETE, IO_PUT_ANY, 204, "", IO_OK, IO_DONE},
        {S3_PUT, IO_PUT_IF_ABSENT, 412, ERROR_OF("PreconditionFailed"), IO_CONFLICT, IO_REJECTED},
        {S3_PUT, IO_PUT_IF_ABSENT, 412, "", IO_CONFLICT, IO_REJECTED},
        {S3_PUT, IO_PUT_IF_MATCH, 412, ERROR_OF("PreconditionFailed"), IO_CONFLICT, IO_REJECTED},
        {S3_PUT, IO_PUT_ANY, 412, ERROR_OF("PreconditionFailed"), CD_EINVAL, IO_REJECTED},
        {S3_PUT, IO_PUT_IF_ABSENT, 409, ERROR_OF("ConditionalRequestConflict"), IO_CONFLICT, IO_REJECTED},
        {S3_PUT, IO_PUT_IF_MATCH, 409, ERROR_OF("ConcurrentModification"), IO_CONFLICT, IO_REJECTED},
        {S3_PUT, IO_PUT_ANY, 409, ERROR_OF("ConcurrentModification"), IO_BUSY, IO_REJECTED},
        {S3_PUT, IO_PUT_IF_MATCH, 409, ERROR_OF("SomethingElse"), IO_PROTOCOL, IO_UNKNOWN},
        {S3_PUT, IO_PUT_IF_MATCH, 409, "", IO_PROTOCOL, IO_UNKNOWN},
        {S3_PUT, IO_PUT_IF_MATCH, 404, ERROR_OF("NoSuchKey"), IO_CONFLICT, IO_REJECTED},
        {S3_PUT, IO_PUT_IF_MATCH, 404, ERROR_OF("NoSuchBucket"), IO_FAULT, IO_REJECTED},
        {S3_PUT, IO_PUT_IF_MATCH, 404, "not here", IO_PROTOCOL, IO_UNKNOWN},
        {S3_PUT, IO_PUT_ANY, 404, ERROR_OF("NoSuchKey"), IO_PROTOCOL, IO_UNKNOWN},
        {S3_DELETE, IO_PUT_ANY, 404, ERROR_OF("NoSuchKey"), IO_OK, IO_DONE},
        {S3_DELETE, IO_PUT_ANY, 404, ERROR_OF("NoSuchBucket"), IO_FAULT, IO_REJECTED},
        {S3_DELETE, IO_PUT_ANY, 404, "", IO_PROTOCOL, IO_UNKNOWN},
        {S3_PUT, IO_PUT_IF_MATCH, 400, "", CD_EINVAL, IO_REJECTED},
        {S3_PUT, IO_PUT_ANY, 400, ERROR_OF("RequestTimeout"), IO_TIMEDOUT, IO_REJECTED},
        {S3_PUT, IO_PUT_ANY, 400, ERROR_OF("ExpiredToken"), IO_DENIED, IO_REJECTED},
        {S3_PUT, IO_PUT_ANY, 401, "", IO_DENIED, IO_REJECTED},
        {S3_PUT, IO_PUT_ANY, 403, ERROR_OF("AccessDenied"), IO_DENIED, IO_REJECTED},
        {S3_PUT, IO_PUT_ANY, 405, "", CD_EUNSUPPORTED, IO_REJECTED},
        {S3_PUT, IO_PUT_ANY, 411, "", CD_EINVAL, IO_REJECTED},
        {S3_PUT, IO_PUT_ANY, 413, "", IO_TOOBIG, IO_REJECTED},
        {S3_PUT, IO_PUT_ANY, 408, "", IO_TIMEDOUT, IO_UNKNOWN},
        {S3_PUT, IO_PUT_ANY, 418, "", IO_PROTOCOL, IO_UNKNOWN},
        {S3_PUT, IO_PUT_ANY, 429, ERROR_OF("TooManyRequests"), IO_THROTTLED, IO_REJECTED},
        {S3_PUT, IO_PUT_ANY, 429, "slow down", IO_THROTTLED, IO_UNKNOWN},
        {S3_PUT, IO_PUT_ANY, 503, ERROR_OF("SlowDown"), IO_THROTTLED, IO_REJECTED},
        {S3_PUT, IO_PUT_ANY, 503, ERROR_OF("ServiceUnavailable"), IO_THROTTLED, IO_UNKNOWN},
        {S3_PUT, IO_PUT_ANY, 503, "<html>", IO_THROTTLED, IO_UNKNOWN},
        {S3_PUT, IO_PUT_ANY, 503, "<Error><Code>SlowDown</Code>", IO_THROTTLED, IO_UNKNOWN},
        {S3_PUT, IO_PUT_ANY, 503, "<Oops><Code>SlowDown</Code></Oops>", IO_THROTTLED, IO_UNKNOWN},
        {S3_PUT, IO_PUT_ANY, 500, ERROR_OF("InternalError"), IO_FAULT, IO_UNKNOWN},
        {S3_PUT, IO_PUT_ANY, 502, "", IO_FAULT, IO_UNKNOWN},
        {S3_PUT, IO_PUT_IF_MATCH, 501, ERROR_OF("NotImplemented"), CD_EUNSUPPORTED, IO_UNKNOWN},
        {S3_PUT, IO_PUT_ANY, 301, ERROR_OF("PermanentRedirect"), CD_EINVAL, IO_REJECTED},
        {S3_PUT, IO_PUT_ANY, 307, "", IO_PROTOCOL, IO_UNKNOWN},
        {S3_PUT, IO_PUT_ANY, 100, "", IO_PROTOCOL, IO_UNKNOWN},
        {S3_PUT, IO_PUT_ANY, 999, "", IO_PROTOCOL, IO_UNKNOWN},
    };
    WANT_ROWS(rows);
}

static void test_what_a_read_proves(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {S3_GET, IO_PUT_ANY, 200, "", IO_OK, IO_DONE},
        {S3_GET, IO_PUT_ANY, 206, "", IO_OK, IO_DONE},
        {S3_LIST, IO_PUT_ANY, 206, "", IO_PROTOCOL, IO_REJECTED},
        {S3_HEAD, IO_PUT_ANY, 200, "", IO_OK, IO_DONE},
        {S3_GET, IO_PUT_ANY, 204, "", IO_PROTOCOL, IO_REJECTED},
        {S3_GET, IO_PUT_ANY, 404, ERROR_OF("NoSuchKey"), IO_NOENT, IO_REJECTED},
        {S3_GET, IO_PUT_ANY, 404, ERROR_OF("NoSuchBucket"), IO_FAULT, IO_REJECTED},
        {S3_GET, IO_PUT_ANY, 404, "<html>a proxy</html>", IO_PROTOCOL, IO_REJECTED},
        {S3_LIST, IO_PUT_ANY, 404, ERROR_OF("NoSuchBucket"), IO_FAULT, IO_REJECTED},
        {S3_HEAD, IO_PUT_ANY, 404, "", IO_NOENT, IO_REJECTED},
        {S3_GET, IO_PUT_ANY, 416, ERROR_OF("InvalidRange"), IO_EOF, IO_REJECTED},
        {S3_LIST, IO_PUT_ANY, 416, "", IO_PROTOCOL, IO_REJECTED},
        {S3_GET, IO_PUT_ANY, 403, ERROR_OF("SignatureDoesNotMatch"), IO_DENIED, IO_REJECTED},
        {S3_GET, IO_PUT_ANY, 503, "", IO_THROTTLED, IO_REJECTED},
        {S3_GET, IO_PUT_ANY, 500, "", IO_FAULT, IO_REJECTED},
        {S3_HEAD, IO_PUT_ANY, 501, "", CD_EUNSUPPORTED, IO_REJECTED},
    };
    WANT_ROWS(rows);
}

static void test_a_broken_exchange_is_certain_only_when_the_store_cannot_have_acted(void **state)
{
    (void)state;
    static const struct {
        enum s3_kind kind;
        bool sent, sent_all;
        unsigned http;
        int transport;
        enum io_outcome outcome;
    } rows[] = {
        {S3_PUT, false, false, 0, IO_REFUSED, IO_REJECTED},
        {S3_PUT, false, false, 0, IO_TIMEDOUT, IO_REJECTED},
        {S3_PUT, true, false, 0, IO_RESET, IO_REJECTED},
        {S3_PUT, true, true, 0, IO_RESET, IO_UNKNOWN},
        {S3_PUT, true, true, 0, IO_TIMEDOUT, IO_UNKNOWN},
        {S3_PUT, true, true, 412, IO_RESET, IO_UNKNOWN},
        {S3_PUT, true, false, 200, IO_RESET, IO_UNKNOWN},
        {S3_DELETE, true, true, 0, IO_CANCELED, IO_UNKNOWN},
        {S3_DELETE, false, false, 0, IO_CANCELED, IO_REJECTED},
        {S3_GET, true, true, 200, IO_RESET, IO_REJECTED},
    };
    for (size_t i = 0; i < CD_COUNT(rows); i++) {
        struct s3_verdict v;
        s3_judge(&(struct s3_answer){.kind = rows[i].kind,
                                     .transport = rows[i].transport,
                                     .transport_why = "gone",
                                     .sent = rows[i].sent,
                                     .sent_all = rows[i].sent_all,
                                     .http = rows[i].http},
                 &v);
        assert_int_equal(v.status, rows[i].transport);
        assert_int_equal(v.outcome, rows[i].outcome);
        assert_string_equal(v.why, "gone");
    }
}

static void test_retry_after_is_read_as_seconds_or_date(void **state)
{
    (void)state;
    static const struct {
        const char *head;
        uint64_t ns;
    } rows[] = {{"Retry-After: 7\r\n", IO_SEC(7)},
                {"x: 1\r\nRETRY-AFTER:  7 \r\n", IO_SEC(7)},
                {"Retry-After: 99999999999\r\n", IO_SEC(86400)},
                {"Retry-After: Fri, 24 May 2013 00:00:03 GMT\r\n", IO_SEC(3)},
                {"Retry-After: Fri, 24 May 2013 00:00:00 GMT\r\n", 0},
                {"Retry-After: -1\r\n", 0},
                {"Retry-After: soon\r\n", 0},
                {"", 0}};
    for (size_t i = 0; i < CD_COUNT(rows); i++) {
        struct s3_verdict v;
        struct s3_answer a = {
            .kind = S3_GET, .http = 503, .head = cd_str(rows[i].head), .wall_ms = INT64_C(1369353600000)};
        s3_judge(&a, &v);
        assert_int_equal(v.retry_after_ns, rows[i].ns);
        a.http = 500;
        s3_judge(&a, &v);
        assert_int_equal(v.retry_after_ns, 0);
    }
}

static void test_what_a_server_says_is_shown_as_plain_text(void **state)
{
    (void)state;
    struct s3_verdict v;
    s3_judge(
        &(struct s3_answer){
            .kind = S3_PUT,
            .http = 500,
            .body = CD_STR("<Error><Message>a\x1b[31m\xc3\xa4</Message><Code>Internal</Code></Error>")},
        &v);
    assert_string_equal(v.why, "HTTP 500 Internal: a?[31m??");
}

static void test_the_clock_of_the_store_is_read_where_it_is_told(void **state)
{
    (void)state;
    assert_int_equal(s3_date_ms(CD_STR("ETag: \"abc\"\r\ndate: Fri, 24 May 2013 00:00:00 GMT\r\n")),
                     INT64_C(1369353600000));
    assert_int_equal(s3_date_ms(CD_STR("Date: yesterday\r\n")), 0);
    assert_int_equal(s3_date_ms(CD_STR("ETag: \"abc\"\r\n")), 0);
}

static void test_a_head_must_carry_a_token(void **state)
{
    (void)state;
    struct io_store s = {0};
    struct s3_answer a = {.kind = S3_HEAD, .http = 200};
    a.head =
        CD_STR("Etag: \"abc\"\r\nContent-Length: 12\r\nLast-Modified: Fri, 24 May 2013 00:00:00 GMT\r\n");
    assert_int_equal(s3_read_head(&s, &a), 0);
    assert_string_equal(s.token, "\"abc\"");
    assert_int_equal(s.size, 12);
    assert_int_equal(s.modified_ms, INT64_C(1369353600000));
    a.head = CD_STR("Content-Length: 12\r\n");
    assert_int_equal(s3_read_head(&s, &a), IO_PROTOCOL);
    assert_string_equal(s.why, "the answer has no ETag");
    a.head = CD_STR("ETag: \"abc\"\r\n");
    assert_int_equal(s3_read_head(&s, &a), IO_PROTOCOL);
    a.head = CD_STR(
        "ETag: 0123456789012345678901234567890123456789012345678901234567890123456789xy\r\nContent-Length: "
        "1\r\n");
    assert_int_equal(s3_read_head(&s, &a), IO_PROTOCOL);
    a.head = CD_STR("ETag: \0ab\r\nContent-Length: 1\r\n");
    assert_int_equal(s3_read_head(&s, &a), IO_PROTOCOL);
    assert_string_equal(s.why, "the answer has an ETag that is not plain text");
    a.head = CD_STR("ETag: \"a b\"\r\nContent-Length: 1\r\n");
    assert_int_equal(s3_read_head(&s, &a), IO_PROTOCOL);
    assert_string_equal(s.token, "\"abc\""); /* Never half of one. */
}

static void test_a_range_must_be_the_one_asked_for(void **state)
{
    (void)state;
    static const struct {
        unsigned http;
        const char *range, *body;
        uint64_t from, len;
        bool good;
    } rows[] = {
        {200, "", "abc", 0, IO_WHOLE, true},
        {206, "bytes 0-2/3", "abc", 0, IO_WHOLE, false},
        {206, "bytes 2-4/9", "cde", 2, 3, true},
        {206, "bytes 2-4/5", "cde", 2, 100, true},
        {206, "bytes 2-4/5", "cde", 2, IO_WHOLE, true},
        {206, "bytes 2-4/9", "cde", 2, IO_WHOLE, false},
        {206, "bytes 2-3/9", "cd", 2, 3, false},
        {206, "bytes 2-5/9", "cdef", 2, 3, false},
        {206, "bytes 1-3/9", "bcd", 2, 3, false},
        {206, "bytes 3-5/9", "def", 2, 3, false},
        {206, "bytes 2-4/9", "cd", 2, 3, false},
        {206, "bytes 2-4/9", "cdef", 2, 3, false},
        {206, "bytes 2-4/4", "cde", 2, 3, false},
        {206, "bytes 2-4/*", "cde", 2, 3, false},
        {206, "2-4/9", "cde", 2, 3, false},
        {206, "", "cde", 2, 3, false},
        {200, "bytes 2-4/9", "cde", 2, 3, false},
        {206, "bytes 0-18446744073709551615/9", "cde", 0, 3, false},
        {206, "bytes 9/4-2", "cde", 2, 3, false},
        {206, "bytes 18446744073709551613-18446744073709551614/18446744073709551615", "cd", UINT64_MAX - 2, 2,
         true},
    };
    for (size_t i = 0; i < CD_COUNT(rows); i++) {
        struct io_store s = {0};
        struct cd_buf head = {0};
        cd_buf_addf(&head, "Content-Range: %s\r\n", rows[i].range);
        int rc = s3_check_range(&s,
                                &(struct s3_answer){.kind = S3_GET,
                                                    .http = rows[i].http,
                                                    .head = cd_buf_str(&head),
                                                    .body = cd_str(rows[i].body)},
                                rows[i].from, rows[i].len);
        if ((rc == 0) != rows[i].good)
            print_error("row %zu: %s\n", i, s.why);
        assert_int_equal(rc, rows[i].good ? 0 : IO_PROTOCOL);
        assert_true(rows[i].good || s.why[0] != 0);
        cd_buf_deinit(&head);
    }
}

CD_TESTS(s3_answer, cmocka_unit_test(test_what_a_write_proves),
         cmocka_unit_test(test_the_clock_of_the_store_is_read_where_it_is_told),
         cmocka_unit_test(test_what_a_read_proves),
         cmocka_unit_test(test_a_broken_exchange_is_certain_only_when_the_store_cannot_have_acted),
         cmocka_unit_test(test_retry_after_is_read_as_seconds_or_date),
         cmocka_unit_test(test_what_a_server_says_is_shown_as_plain_text),
         cmocka_unit_test(test_a_head_must_carry_a_token),
         cmocka_unit_test(test_a_range_must_be_the_one_asked_for))
