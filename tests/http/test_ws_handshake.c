/* The opening handshake: http/ws_handshake.h. */
#include "http/ws_handshake.h"

#include "corpus.h"
#include "support/test.h"

#define RFC_KEY "dGhlIHNhbXBsZSBub25jZQ=="
#define RFC_ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

static void test_the_example_of_rfc_6455(void **state)
{
    (void)state;
    char accept[HTTP_WS_ACCEPT_LEN + 1], key[HTTP_WS_KEY_LEN + 1];
    http_ws_accept_text(accept, CD_STR(RFC_KEY));
    assert_string_equal(accept, RFC_ACCEPT);
    http_ws_key_text(key, (const unsigned char *)"the sample nonce");
    assert_string_equal(key, RFC_KEY);
}

static int request_status(const char *text)
{
    struct http_parser p = {0};
    struct cd_str in = cd_str(text), body, key;
    http_parser_start(&p, HTTP_PARSE_REQUEST, &corpus_limits);
    assert_int_equal(http_parse(&p, &in, &body), HTTP_PARSED_HEAD);
    const char *why = NULL;
    int status = http_ws_request_check(&p.head, &key, &why);
    if (status == 0)
        assert_str_is(key, RFC_KEY);
    else
        assert_non_null(why);
    http_parser_deinit(&p);
    return status;
}

#define GET_WS "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\n"

static void test_which_requests_are_accepted(void **state)
{
    (void)state;
    assert_int_equal(
        request_status(GET_WS "Upgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " RFC_KEY
                              "\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n"),
        0);
    assert_int_equal(
        request_status(GET_WS "Upgrade: websocket\r\nSec-WebSocket-Version: 8\r\nSec-WebSocket-Key: " RFC_KEY
                              "\r\n\r\n"),
        426);
    assert_int_equal(request_status(GET_WS "Upgrade: websocket\r\nSec-WebSocket-Key: " RFC_KEY "\r\n\r\n"),
                     426);
    assert_int_equal(request_status(GET_WS "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\r\n"), 400);
    assert_int_equal(request_status(GET_WS "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                                           "Sec-WebSocket-Key: dG9vIHNob3J0\r\n\r\n"),
                     400);
    assert_int_equal(
        request_status(GET_WS "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " RFC_KEY
                              "\r\nSec-WebSocket-Key: " RFC_KEY "\r\n\r\n"),
        400);
    assert_int_equal(request_status(GET_WS "Upgrade: h2c\r\n\r\n"), 400);
    assert_int_equal(
        request_status("POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                       "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " RFC_KEY "\r\n\r\n"),
        400);
    assert_int_equal(request_status(GET_WS
                                    "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nContent-Length: 2\r\n"
                                    "Sec-WebSocket-Key: " RFC_KEY "\r\n\r\n"),
                     400);
}

static int answer_check(const char *text, struct cd_str offered, const char *want_protocol)
{
    struct http_parser p = {0};
    struct cd_str in = cd_str(text), body, protocol = {NULL, 0};
    http_parser_start(&p, HTTP_PARSE_RESPONSE, &corpus_limits);
    assert_int_equal(http_parse(&p, &in, &body), HTTP_PARSED_HEAD);
    const char *why = NULL;
    int rc = http_ws_answer_check(&p.head, CD_STR(RFC_KEY), offered, &protocol, &why);
    if (rc == 0)
        assert_str_is(protocol, want_protocol);
    else
        assert_non_null(why);
    http_parser_deinit(&p);
    return rc;
}

#define SWITCHED "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"

static void test_which_answers_are_believed(void **state)
{
    (void)state;
    const struct cd_str none = {NULL, 0}, two = CD_STR("chat, superchat");
    assert_int_equal(answer_check(SWITCHED "Sec-WebSocket-Accept: " RFC_ACCEPT "\r\n\r\n", none, ""), 0);
    assert_int_equal(answer_check(SWITCHED "Sec-WebSocket-Accept: " RFC_ACCEPT "\r\n"
                                           "Sec-WebSocket-Protocol: superchat\r\n\r\n",
                                  two, "superchat"),
                     0);
    assert_int_equal(answer_check(SWITCHED "Sec-WebSocket-Accept: " RFC_ACCEPT "\r\n"
                                           "Sec-WebSocket-Protocol: other\r\n\r\n",
                                  two, ""),
                     CD_ESYNTAX);
    assert_int_equal(answer_check(SWITCHED "Sec-WebSocket-Accept: " RFC_ACCEPT "\r\n"
                                           "Sec-WebSocket-Protocol: Chat\r\n\r\n",
                                  two, ""),
                     CD_ESYNTAX);
    assert_int_equal(answer_check(SWITCHED "Sec-WebSocket-Accept: " RFC_ACCEPT "\r\n"
                                           "Sec-WebSocket-Protocol: chat\r\n\r\n",
                                  none, ""),
                     CD_ESYNTAX);
    assert_int_equal(answer_check(SWITCHED "Sec-WebSocket-Accept: AAAA\r\n\r\n", none, ""), CD_ESYNTAX);
    assert_int_equal(answer_check(SWITCHED "\r\n", none, ""), CD_ESYNTAX);
    assert_int_equal(answer_check(SWITCHED "Sec-WebSocket-Accept: " RFC_ACCEPT "\r\n"
                                           "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
                                  none, ""),
                     CD_ESYNTAX);
    assert_int_equal(answer_check("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", none, ""), CD_ESYNTAX);
    assert_int_equal(answer_check("HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: h2c\r\n"
                                  "Sec-WebSocket-Accept: " RFC_ACCEPT "\r\n\r\n",
                                  none, ""),
                     CD_ESYNTAX);
    assert_int_equal(answer_check("HTTP/1.1 101 S\r\nUpgrade: websocket\r\n"
                                  "Sec-WebSocket-Accept: " RFC_ACCEPT "\r\n\r\n",
                                  none, ""),
                     CD_ESYNTAX);
}

CD_TESTS(ws_handshake, cmocka_unit_test(test_the_example_of_rfc_6455),
         cmocka_unit_test(test_which_requests_are_accepted),
         cmocka_unit_test(test_which_answers_are_believed))
