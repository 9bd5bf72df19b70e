/* Frames, masks, close payloads and UTF-8 in pieces: http/ws_frame.h. */
#include "http/ws_frame.h"

#include "base/rng.h"
#include "support/test.h"

static int read_head(const char *bytes, size_t len, bool want_masked, struct http_ws_head *h)
{
    /* An exact heap copy, so that a read past the end is noticed. */
    char *copy = malloc(len + 1);
    memcpy(copy, bytes, len);
    copy = realloc(copy, len == 0 ? 1 : len);
    int size = http_ws_head_read(cd_str_of(copy, len), want_masked, h);
    free(copy);
    return size;
}

static void test_heads_survive_a_round_trip(void **state)
{
    (void)state;
    const uint64_t lens[] = {0, 1, 124, 125, 126, 127, 65534, 65535, 65536, 65537, UINT32_MAX, INT64_MAX};
    const enum http_ws_opcode opcodes[] = {HTTP_WS_CONTINUATION, HTTP_WS_TEXT, HTTP_WS_BINARY,
                                           HTTP_WS_CLOSE,        HTTP_WS_PING, HTTP_WS_PONG};
    const unsigned char mask[4] = {1, 2, 3, 0xff};
    for (size_t i = 0; i < CD_COUNT(lens) * CD_COUNT(opcodes) * 4; i++) {
        uint64_t len = lens[i % CD_COUNT(lens)];
        enum http_ws_opcode opcode = opcodes[i / CD_COUNT(lens) % CD_COUNT(opcodes)];
        bool masked = i / (CD_COUNT(lens) * CD_COUNT(opcodes)) % 2 != 0;
        bool fin = i / (CD_COUNT(lens) * CD_COUNT(opcodes)) / 2 == 0;
        if (opcode >= HTTP_WS_CLOSE && (len > HTTP_WS_CONTROL_MAX || !fin))
            continue;
        unsigned char bytes[HTTP_WS_HEAD_MAX] = {0};
        size_t size = http_ws_head_write(bytes, fin, opcode, len, masked ? mask : NULL);
        struct http_ws_head h = {0};
        for (size_t cut = 0; cut < size; cut++)
            assert_int_equal(read_head((char *)bytes, cut, masked, &h), 0);
        assert_int_equal(read_head((char *)bytes, size, masked, &h), size);
        assert_int_equal(h.len, len);
        assert_int_equal(h.opcode, opcode);
        assert_int_equal(h.fin, fin);
        assert_int_equal(h.masked, masked);
        if (masked)
            assert_memory_equal(h.mask, mask, 4);
        assert_int_equal(read_head((char *)bytes, size, !masked, &h), -HTTP_WS_PROTOCOL_ERROR);
    }
}

static void test_the_examples_of_rfc_6455(void **state)
{
    (void)state;
    struct http_ws_head h;
    assert_int_equal(read_head("\x81\x05Hello", 7, false, &h), 2);
    assert_true(h.fin && h.opcode == HTTP_WS_TEXT && h.len == 5);
    assert_int_equal(read_head("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", 11, true, &h), 6);
    char text[5];
    http_ws_mask(text, "\x7f\x9f\x4d\x51\x58", 5, h.mask, 0);
    assert_memory_equal(text, "Hello", 5);
    assert_int_equal(read_head("\x82\x7e\x01\x00", 4, false, &h), 4);
    assert_int_equal(h.len, 256);
    assert_int_equal(read_head("\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00", 10, false, &h), 10);
    assert_int_equal(h.len, 65536);
}

static void test_malformed_heads_are_protocol_errors(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
    } bad[] = {
        {"\xc1", 1}, /* RSV1 without an extension. */
        {"\xa1", 1}, /* RSV2 */
        {"\x91", 1}, /* RSV3 */
        {"\x83", 1}, /* Reserved data opcode. */
        {"\x87", 1},
        {"\x8b", 1}, /* Reserved control opcode. */
        {"\x8f", 1},
        {"\x09\x00", 2}, /* Fragmented ping. */
        {"\x89\x7e", 2}, /* Control frame of more than 125 bytes. */
        {"\x88\x7f", 2},
        {"\x82\x7e\x00\x7d", 4}, /* 125 in 16 bits. */
        {"\x82\x7f\x00\x00\x00\x00\x00\x00\xff\xff", 10}, /* 65535 in 64 bits. */
        {"\x82\x7f\x80\x00\x00\x00\x00\x00\x00\x00", 10}, /* Top bit set. */
    };
    struct http_ws_head h;
    for (size_t i = 0; i < CD_COUNT(bad); i++)
        assert_int_equal(read_head(bad[i].bytes, bad[i].len, false, &h), -HTTP_WS_PROTOCOL_ERROR);
}

static void test_masking_in_pieces_equals_masking_at_once(void **state)
{
    (void)state;
    const unsigned char mask[4] = {0x12, 0x34, 0xab, 0xcd};
    unsigned char plain[67], want[67], got[67];
    for (size_t i = 0; i < sizeof plain; i++) {
        plain[i] = (unsigned char)(i * 7);
        want[i] = plain[i] ^ mask[i % 4];
    }
    for (size_t cut = 0; cut <= sizeof plain; cut++) {
        memset(got, 0, sizeof got);
        http_ws_mask(got, plain, cut, mask, 0);
        http_ws_mask(got + cut, plain + cut, sizeof plain - cut, mask, cut);
        assert_memory_equal(got, want, sizeof want);
        http_ws_mask(got, got, sizeof got, mask, 0); /* In place, and back again. */
        assert_memory_equal(got, plain, sizeof plain);
    }
}

static void test_close_codes_that_may_travel(void **state)
{
    (void)state;
    for (unsigned code = 0; code < 70000; code++) {
        bool want = (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
                    (code >= 3000 && code <= 4999);
        assert_int_equal(http_ws_code_may_travel(code), want);
    }
}

static void test_close_payloads(void **state)
{
    (void)state;
    unsigned code = 0;
    struct cd_str reason = {0};
    assert_int_equal(http_ws_close_read(CD_STR(""), &code, &reason), 0);
    assert_int_equal(code, HTTP_WS_NO_STATUS);
    assert_int_equal(http_ws_close_read(CD_STR("\x03"), &code, &reason), -HTTP_WS_PROTOCOL_ERROR);
    assert_int_equal(http_ws_close_read(CD_STR("\x03\xe8"), &code, &reason), 0);
    assert_int_equal(code, 1000);
    assert_int_equal(reason.len, 0);
    assert_int_equal(http_ws_close_read(CD_STR("\x0f\xa0gr\xc3\xbc\xc3\x9f"), &code, &reason), 0);
    assert_int_equal(code, 4000);
    assert_str_is(reason, "gr\xc3\xbc\xc3\x9f");
    assert_int_equal(http_ws_close_read(CD_STR("\x03\xed"), &code, &reason),
                     -HTTP_WS_PROTOCOL_ERROR); /* 1005 */
    assert_int_equal(http_ws_close_read(CD_STR("\x03\xee"), &code, &reason),
                     -HTTP_WS_PROTOCOL_ERROR); /* 1006 */
    assert_int_equal(http_ws_close_read(CD_STR("\x03\xe8\xff"), &code, &reason), -HTTP_WS_BAD_DATA);
}

/* The answer must not depend on how the text is cut. */
static void utf8_check(const char *text, size_t len)
{
    bool want = cd_str_is_utf8(cd_str_of(text, len));
    for (size_t a = 0; a <= len; a++) {
        for (size_t b = a; b <= len; b++) {
            struct http_utf8 u = {0};
            bool ok = http_utf8_feed(&u, cd_str_of(text, a)) &&
                      http_utf8_feed(&u, cd_str_of(text + a, b - a)) &&
                      http_utf8_feed(&u, cd_str_of(text + b, len - b)) && http_utf8_complete(&u);
            assert_int_equal(ok, want);
        }
    }
}

static void test_utf8_in_pieces_agrees_with_the_whole(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "plain",
        "gr\xc3\xbc\xc3\x9f dich, \xe2\x82\xac 5, \xf0\x9f\x98\x80",
        "\xc0\x80", /* Overlong NUL. */
        "\xe0\x80\x80", /* Overlong. */
        "\xe0\x9f\xbf",
        "\xed\xa0\x80", /* Surrogate. */
        "\xed\x9f\xbf",
        "\xf0\x8f\xbf\xbf", /* Overlong. */
        "\xf4\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", /* Above U+10FFFF. */
        "\xf5\x80\x80\x80",
        "\x80", /* Lone continuation. */
        "\xe2\x82", /* Cut. */
        "abcdefgh\xc3", /* Cut behind a whole word. */
        "abcdefg\xc3\xbcijklmno",
        "\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbcz",
    };
    for (size_t i = 0; i < CD_COUNT(texts); i++)
        utf8_check(texts[i], strlen(texts[i]));
    struct cd_rng rng;
    cd_rng_seed(&rng, 1, CD_STR("utf8"));
    for (int i = 0; i < 3000; i++) {
        char bytes[9];
        size_t len = cd_rng_below(&rng, sizeof bytes) + 1;
        static const unsigned char pool[] = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc2,
                                             0xdf, 0xe0, 0xe1, 0xed, 0xef, 0xf0, 0xf1, 0xf4, 0xf5, 0xff};
        for (size_t k = 0; k < len; k++)
            bytes[k] = (char)pool[cd_rng_below(&rng, sizeof pool)];
        utf8_check(bytes, len);
    }
}

CD_TESTS(ws_frame, cmocka_unit_test(test_heads_survive_a_round_trip),
         cmocka_unit_test(test_the_examples_of_rfc_6455),
         cmocka_unit_test(test_malformed_heads_are_protocol_errors),
         cmocka_unit_test(test_masking_in_pieces_equals_masking_at_once),
         cmocka_unit_test(test_close_codes_that_may_travel), cmocka_unit_test(test_close_payloads),
         cmocka_unit_test(test_utf8_in_pieces_agrees_with_the_whole))
