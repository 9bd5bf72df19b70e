/* What heads we write: http/head.h, http/http.h. */
#include "http/head.h"

#include "support/test.h"

static const struct http_answer_to to_11 = {.minor = 1, .keep_alive = true, .date = {"D", 1}};

static void check_answer(const struct http_answer *answer, const struct http_answer_to *to, const char *want,
                         enum http_framing framing, bool keep_alive)
{
    struct cd_buf out = {0};
    enum http_framing how;
    bool keep;
    assert_int_equal(http_head_answer(&out, answer, to, &how, &keep), 0);
    assert_str_is(cd_buf_str(&out), want);
    assert_int_equal(how, framing);
    assert_int_equal(keep, keep_alive);
    cd_buf_deinit(&out);
}

static void test_a_plain_answer(void **state)
{
    (void)state;
    struct http_field f[] = {{CD_STR("Content-Type"), CD_STR("text/plain")}, {CD_STR("X-Empty"), CD_STR("")}};
    struct http_answer a = {.status = 200, .field = f, .field_count = 2, .body_len = 12345678901234567890u};
    check_answer(&a, &to_11,
                 "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Empty: \r\nDate: D\r\n"
                 "Content-Length: 12345678901234567890\r\n\r\n",
                 HTTP_FRAMING_LENGTH, true);
    a.body_len = 0;
    a.field_count = 0;
    check_answer(&a, &to_11, "HTTP/1.1 200 OK\r\nDate: D\r\nContent-Length: 0\r\n\r\n", HTTP_FRAMING_LENGTH,
                 true);
    a.status = 599;
    a.reason = CD_STR("Odd");
    check_answer(&a, &to_11, "HTTP/1.1 599 Odd\r\nDate: D\r\nContent-Length: 0\r\n\r\n", HTTP_FRAMING_LENGTH,
                 true);
    a.reason = CD_STR("");
    check_answer(&a, &to_11, "HTTP/1.1 599 Server Error\r\nDate: D\r\nContent-Length: 0\r\n\r\n",
                 HTTP_FRAMING_LENGTH, true);
}

static void test_fields_about_framing_are_ours(void **state)
{
    (void)state;
    struct http_field f[] = {
        {CD_STR("transfer-encoding"), CD_STR("gzip")},
        {CD_STR("CONNECTION"), CD_STR("x")},
        {CD_STR("Keep-Alive"), CD_STR("9")},
        {CD_STR("content-length"), CD_STR("77")},
        {CD_STR("Upgrade"), CD_STR("h2c")},
        {CD_STR("Trailer"), CD_STR("X")},
        {CD_STR("TE"), CD_STR("x")},
        {CD_STR("Proxy-Connection"), CD_STR("x")},
        {CD_STR("Date"), CD_STR("mine")},
    };
    struct http_answer a = {
        .status = 200, .field = f, .field_count = CD_COUNT(f), .body_len = HTTP_LEN_CHUNKED};
    check_answer(&a, &to_11, "HTTP/1.1 200 OK\r\nDate: mine\r\nTransfer-Encoding: chunked\r\n\r\n",
                 HTTP_FRAMING_CHUNKED, true);
}

static void test_statuses_without_a_body(void **state)
{
    (void)state;
    struct http_field f[] = {{CD_STR("Content-Length"), CD_STR("5")}};
    const int statuses[] = {204, 304};
    const char *const want[] = {"HTTP/1.1 204 No Content\r\nDate: D\r\n\r\n",
                                "HTTP/1.1 304 Not Modified\r\nDate: D\r\n\r\n"};
    for (size_t i = 0; i < 2; i++) {
        struct http_answer a = {.status = statuses[i], .field = f, .field_count = 1, .body_len = 5};
        check_answer(&a, &to_11, want[i], HTTP_FRAMING_NONE, true);
        a.body_len = HTTP_LEN_CHUNKED;
        check_answer(&a, &to_11, want[i], HTTP_FRAMING_NONE, true);
    }
}

static void test_answers_to_head_announce_but_send_nothing(void **state)
{
    (void)state;
    struct http_answer_to to = to_11;
    to.is_head = true;
    struct http_field f[] = {{CD_STR("Content-Length"), CD_STR("42")},
                             {CD_STR("Content-Length"), CD_STR("43")}};
    struct http_answer a = {.status = 200, .field = f, .field_count = 2, .body_len = HTTP_LEN_CHUNKED};
    check_answer(&a, &to, "HTTP/1.1 200 OK\r\nContent-Length: 42\r\nDate: D\r\n\r\n", HTTP_FRAMING_NONE,
                 true);
    a.field_count = 0;
    check_answer(&a, &to, "HTTP/1.1 200 OK\r\nDate: D\r\nTransfer-Encoding: chunked\r\n\r\n",
                 HTTP_FRAMING_NONE, true);
    a.body_len = 7;
    a.field_count = 1;
    check_answer(&a, &to, "HTTP/1.1 200 OK\r\nDate: D\r\nContent-Length: 7\r\n\r\n", HTTP_FRAMING_NONE, true);
    f[0].value = CD_STR("4x");
    a.body_len = HTTP_LEN_CHUNKED;
    check_answer(&a, &to, "HTTP/1.1 200 OK\r\nDate: D\r\nTransfer-Encoding: chunked\r\n\r\n",
                 HTTP_FRAMING_NONE, true);
}

static void test_persistence_of_both_versions(void **state)
{
    (void)state;
    struct http_answer a = {.status = 200, .body_len = 1};
    struct http_answer_to to = {.minor = 1, .keep_alive = false};
    check_answer(&a, &to, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n",
                 HTTP_FRAMING_LENGTH, false);
    to = (struct http_answer_to){.minor = 0, .keep_alive = true};
    check_answer(&a, &to, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\n",
                 HTTP_FRAMING_LENGTH, true);
    a.close = true;
    check_answer(&a, &to, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n",
                 HTTP_FRAMING_LENGTH, false);
    a = (struct http_answer){.status = 200, .body_len = HTTP_LEN_CHUNKED};
    check_answer(&a, &to, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", HTTP_FRAMING_CLOSE, false);
}

static void test_switching_protocols(void **state)
{
    (void)state;
    struct http_answer_to to = {.minor = 1, .keep_alive = true, .upgrade = CD_STR("websocket")};
    struct http_field f[] = {{CD_STR("Sec-WebSocket-Accept"), CD_STR("x")}};
    struct http_answer a = {.status = 101, .field = f, .field_count = 1};
    check_answer(&a, &to,
                 "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: x\r\nConnection: Upgrade\r\n"
                 "Upgrade: websocket\r\n\r\n",
                 HTTP_FRAMING_NONE, true);
}

static void test_nothing_that_breaks_out_of_its_line_is_written(void **state)
{
    (void)state;
    struct cd_buf out = {0};
    enum http_framing how;
    bool keep;
    static const struct http_field bad[] = {
        {{"a b", 3}, {"x", 1}},
        {{"", 0}, {"x", 1}},
        {{"a:", 2}, {"x", 1}},
        {{"a\0b", 3}, {"x", 1}},
        {{"a\r\nb", 4}, {"x", 1}},
        {{"\xc3\xbc", 2}, {"x", 1}},
        {{"a", 1}, {"x\r\ny", 4}},
        {{"a", 1}, {"x\ny", 3}},
        {{"a", 1}, {"x\0y", 3}},
        {{"a", 1}, {"x\x7f", 2}},
        {{"Content-Length", 14}, {"1\r\n", 3}},
    };
    for (size_t i = 0; i < CD_COUNT(bad); i++) {
        struct http_answer a = {.status = 200, .field = &bad[i], .field_count = 1};
        assert_int_equal(http_head_answer(&out, &a, &to_11, &how, &keep), CD_EINVAL);
        struct http_ask q = {.method = CD_STR("GET"),
                             .target = CD_STR("/"),
                             .authority = CD_STR("h"),
                             .field = &bad[i],
                             .field_count = 1};
        assert_int_equal(http_head_request(&out, &q), CD_EINVAL);
    }
    const int statuses[] = {0, 99, 100, 101, 103, 199, 600, 1000, -1};
    for (size_t i = 0; i < CD_COUNT(statuses); i++) {
        struct http_answer a = {.status = statuses[i]};
        assert_int_equal(http_head_answer(&out, &a, &to_11, &how, &keep), CD_EINVAL);
    }
    struct http_answer a = {.status = 200, .reason = CD_STR("x\r\ny")};
    assert_int_equal(http_head_answer(&out, &a, &to_11, &how, &keep), CD_EINVAL);
    struct http_ask q = {.method = CD_STR("GET"), .target = CD_STR("/ x"), .authority = CD_STR("h")};
    assert_int_equal(http_head_request(&out, &q), CD_EINVAL);
    q.target = CD_STR("x");
    assert_int_equal(http_head_request(&out, &q), CD_EINVAL);
    q.target = CD_STR("/");
    q.method = CD_STR("G T");
    assert_int_equal(http_head_request(&out, &q), CD_EINVAL);
    q.method = CD_STR("GET");
    q.authority = CD_STR("h\r\nX: y");
    assert_int_equal(http_head_request(&out, &q), CD_EINVAL);
    assert_int_equal(out.len, 0);
    cd_buf_deinit(&out);
}

static void check_ask(const struct http_ask *ask, const char *want)
{
    struct cd_buf out = {0};
    assert_int_equal(http_head_request(&out, ask), 0);
    assert_str_is(cd_buf_str(&out), want);
    cd_buf_deinit(&out);
}

static void test_requests(void **state)
{
    (void)state;
    struct http_field f[] = {{CD_STR("Accept"), CD_STR("*/*")},
                             {CD_STR("Host"), CD_STR("evil")},
                             {CD_STR("expect"), CD_STR("100-continue")},
                             {CD_STR("Content-Length"), CD_STR("3")}};
    struct http_ask q = {.method = CD_STR("GET"),
                         .target = CD_STR("/a?b"),
                         .authority = CD_STR("h:1"),
                         .field = f,
                         .field_count = CD_COUNT(f)};
    check_ask(&q, "GET /a?b HTTP/1.1\r\nHost: h:1\r\nAccept: */*\r\n\r\n");
    q.field_count = 0;
    q.close = true;
    check_ask(&q, "GET /a?b HTTP/1.1\r\nHost: h:1\r\nConnection: close\r\n\r\n");
    q.close = false;
    q.method = CD_STR("POST");
    check_ask(&q, "POST /a?b HTTP/1.1\r\nHost: h:1\r\nContent-Length: 0\r\n\r\n");
    q.body_len = HTTP_LEN_CHUNKED;
    check_ask(&q, "POST /a?b HTTP/1.1\r\nHost: h:1\r\nTransfer-Encoding: chunked\r\n\r\n");
    q = (struct http_ask){.method = CD_STR("GET"),
                          .target = CD_STR("/"),
                          .authority = CD_STR("h"),
                          .upgrade = CD_STR("websocket")};
    check_ask(&q, "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
}

static void test_chunk_heads(void **state)
{
    (void)state;
    static const struct {
        uint64_t len;
        const char *want;
    } cases[] = {{1, "1\r\n"},
                 {15, "f\r\n"},
                 {16, "10\r\n"},
                 {0xabcdef, "abcdef\r\n"},
                 {UINT64_MAX, "ffffffffffffffff\r\n"}};
    for (size_t i = 0; i < CD_COUNT(cases); i++) {
        struct cd_buf out = {0};
        http_chunk_head(&out, cases[i].len);
        assert_str_is(cd_buf_str(&out), cases[i].want);
        cd_buf_deinit(&out);
    }
}

static void test_lists_of_tokens(void **state)
{
    (void)state;
    assert_true(http_list_has(CD_STR("close"), CD_STR("close")));
    assert_true(http_list_has(CD_STR("a, Upgrade\t, b"), CD_STR("upgrade")));
    assert_false(http_list_has(CD_STR("closed, xclose"), CD_STR("close")));
    assert_false(http_list_has(CD_STR(""), CD_STR("close")));
    assert_false(http_list_has((struct cd_str){NULL, 0}, CD_STR("close")));
}

CD_TESTS(head, cmocka_unit_test(test_a_plain_answer), cmocka_unit_test(test_fields_about_framing_are_ours),
         cmocka_unit_test(test_statuses_without_a_body),
         cmocka_unit_test(test_answers_to_head_announce_but_send_nothing),
         cmocka_unit_test(test_persistence_of_both_versions), cmocka_unit_test(test_switching_protocols),
         cmocka_unit_test(test_nothing_that_breaks_out_of_its_line_is_written),
         cmocka_unit_test(test_requests), cmocka_unit_test(test_chunk_heads),
         cmocka_unit_test(test_lists_of_tokens))
