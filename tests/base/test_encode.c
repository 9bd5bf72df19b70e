/* Hex, base64 (RFC 4648), CRC-32C (RFC 3720), percent escapes (RFC 3986). */
#include "base/encode_internal.h"
#include "base/rng.h"
#include "support/test.h"

#include <string.h>

/* What a decoder that fails must leave as it was. */
static struct cd_buf with_text(const char *text)
{
    struct cd_buf b = {0};
    cd_buf_add_str(&b, cd_str(text));
    return b;
}

static void random_bytes(struct cd_buf *b, struct cd_rng *rng, size_t len)
{
    cd_buf_clear(b);
    cd_rng_fill(rng, cd_buf_reserve(b, len), len);
    b->len = len;
}

static void test_hex_of_every_byte_and_back(void **state)
{
    struct cd_buf hex = {0}, back = {0};
    unsigned char all[256];
    (void)state;
    for (size_t i = 0; i < 256; i++) {
        char want[3];
        all[i] = (unsigned char)i;
        cd_buf_clear(&hex);
        cd_hex_encode(&hex, cd_str_of(&all[i], 1));
        (void)snprintf(want, sizeof want, "%02x", (unsigned)i);
        assert_str_is(cd_buf_str(&hex), want);
    }
    cd_buf_clear(&hex);
    cd_hex_encode(&hex, cd_str_of(all, 256));
    assert_int_equal(cd_hex_decode(&back, cd_buf_str(&hex)), 0);
    assert_int_equal(back.len, 256);
    assert_memory_equal(back.ptr, all, 256);
    cd_buf_deinit(&hex);
    cd_buf_deinit(&back);
}

static void test_hex_reads_both_cases_and_appends(void **state)
{
    struct cd_buf out = with_text("<");
    (void)state;
    assert_int_equal(cd_hex_decode(&out, CD_STR("3c3E4a4B")), 0);
    assert_str_is(cd_buf_str(&out), "<<>JK");
    assert_int_equal(cd_hex_decode(&out, (struct cd_str){NULL, 0}), 0);
    assert_int_equal(out.len, 5);
    cd_hex_encode(&out, (struct cd_str){NULL, 0});
    assert_int_equal(out.len, 5);
    cd_buf_deinit(&out);
}

static void test_bad_hex_leaves_the_output_as_it_was(void **state)
{
    static const char *const bad[] = {"0",    "000",      "0g", "g0", "00 0", " 00", "0x00",
                                      "00\n", "\xb0\xb0", "0/", ":0", "@0",   "`0",  "0000G0"};
    struct cd_buf out = with_text("kept");
    (void)state;
    for (size_t i = 0; i < CD_COUNT(bad); i++) {
        assert_int_equal(cd_hex_decode(&out, cd_str(bad[i])), CD_ESYNTAX);
        assert_str_is(cd_buf_str(&out), "kept");
    }
    assert_int_equal(cd_hex_decode(&out, CD_STR("00\0\0")), CD_ESYNTAX);
    assert_str_is(cd_buf_str(&out), "kept");
    cd_buf_deinit(&out);
}

static const struct {
    const char *plain, *padded, *bare;
} rfc4648[] = {
    {"", "", ""},
    {"f", "Zg==", "Zg"},
    {"fo", "Zm8=", "Zm8"},
    {"foo", "Zm9v", "Zm9v"},
    {"foob", "Zm9vYg==", "Zm9vYg"},
    {"fooba", "Zm9vYmE=", "Zm9vYmE"},
    {"foobar", "Zm9vYmFy", "Zm9vYmFy"},
};

static void test_base64_vectors_of_rfc_4648(void **state)
{
    (void)state;
    for (size_t i = 0; i < CD_COUNT(rfc4648); i++) {
        for (unsigned kind = 0; kind < 2; kind++) {
            struct cd_buf out = {0};
            cd_base64_encode(&out, cd_str(rfc4648[i].plain), (enum cd_base64)kind, true);
            assert_str_is(cd_buf_str(&out), rfc4648[i].padded);
            cd_buf_clear(&out);
            cd_base64_encode(&out, cd_str(rfc4648[i].plain), (enum cd_base64)kind, false);
            assert_str_is(cd_buf_str(&out), rfc4648[i].bare);
            cd_buf_clear(&out);
            assert_int_equal(cd_base64_decode(&out, cd_str(rfc4648[i].padded), (enum cd_base64)kind), 0);
            assert_int_equal(cd_base64_decode(&out, cd_str(rfc4648[i].bare), (enum cd_base64)kind), 0);
            assert_int_equal(out.len, 2 * strlen(rfc4648[i].plain));
            cd_buf_deinit(&out);
        }
    }
}

static void test_the_two_alphabets_differ_in_two_letters(void **state)
{
    struct cd_buf out = {0};
    struct cd_str bytes = CD_STR("\xfb\xef\xff");
    (void)state;
    cd_base64_encode(&out, bytes, CD_BASE64_STD, true);
    cd_base64_encode(&out, bytes, CD_BASE64_URL, true);
    assert_str_is(cd_buf_str(&out), "++//--__");
    cd_buf_clear(&out);
    assert_int_equal(cd_base64_decode(&out, CD_STR("--__"), CD_BASE64_STD), CD_ESYNTAX);
    assert_int_equal(cd_base64_decode(&out, CD_STR("++//"), CD_BASE64_URL), CD_ESYNTAX);
    assert_int_equal(cd_base64_decode(&out, CD_STR("--__"), CD_BASE64_URL), 0);
    assert_int_equal(cd_base64_decode(&out, CD_STR("++//"), CD_BASE64_STD), 0);
    assert_memory_equal(out.ptr, "\xfb\xef\xff\xfb\xef\xff", 6);
    cd_buf_deinit(&out);
}

static void test_bad_base64_leaves_the_output_as_it_was(void **state)
{
    static const char *const bad[] = {
        "A",     "AAAAA", "=",          "==",     "===",    "====",     "A=",       "A==",  "A===", "AA=",
        "AA===", "AAA==", "AAA===",     "AAAA=",  "AAAA==", "AAAA====", "AA==AA==", "AA=A", "=AAA", "Zg==\n",
        " Zg==", "Zm 8=", "Z\xc3\xa4g", "Zg-_+/", "Zh==",   "Zh",       "Zm9=",     "Zm9",  "//",   "//8=8",
    };
    struct cd_buf out = with_text("kept");
    (void)state;
    for (size_t i = 0; i < CD_COUNT(bad); i++) {
        for (unsigned kind = 0; kind < 2; kind++) {
            assert_int_equal(cd_base64_decode(&out, cd_str(bad[i]), (enum cd_base64)kind), CD_ESYNTAX);
            assert_str_is(cd_buf_str(&out), "kept");
        }
    }
    assert_int_equal(cd_base64_decode(&out, CD_STR("AA\0\0"), CD_BASE64_STD), CD_ESYNTAX);
    cd_buf_deinit(&out);
}

/* Of all texts of up to three characters over a few letters, exactly those that an encoder writes are read.
 */
static void test_one_text_stands_for_one_sequence_of_bytes(void **state)
{
    static const char letters[] = "AQgw/+=Z9-";
    struct cd_buf bytes = {0}, again = {0};
    size_t read = 0;
    (void)state;
    for (unsigned v = 0; v < 10000; v++) {
        char text[4] = {letters[v % 10], letters[v / 10 % 10], letters[v / 100 % 10], letters[v / 1000]};
        for (size_t len = 1; len <= 4; len++) {
            cd_buf_clear(&bytes);
            if (cd_base64_decode(&bytes, cd_str_of(text, len), CD_BASE64_STD) != 0)
                continue;
            read++;
            cd_buf_clear(&again);
            cd_base64_encode(&again, cd_buf_str(&bytes), CD_BASE64_STD, len == 4);
            assert_int_equal(again.len, len);
            assert_memory_equal(again.ptr, text, len);
        }
    }
    assert_true(read > 1000);
    cd_buf_deinit(&bytes);
    cd_buf_deinit(&again);
}

static void test_base64_round_trips(void **state)
{
    struct cd_rng rng;
    struct cd_buf bytes = {0}, text = {0}, back = {0};
    (void)state;
    cd_rng_seed(&rng, 2, CD_STR("base64"));
    for (size_t len = 1; len < 200; len++) {
        random_bytes(&bytes, &rng, len);
        for (unsigned way = 0; way < 4; way++) {
            cd_buf_clear(&text);
            cd_buf_clear(&back);
            cd_base64_encode(&text, cd_buf_str(&bytes), (enum cd_base64)(way & 1), way > 1);
            assert_int_equal(cd_base64_decode(&back, cd_buf_str(&text), (enum cd_base64)(way & 1)), 0);
            assert_int_equal(back.len, len);
            assert_memory_equal(back.ptr, bytes.ptr, len);
        }
    }
    cd_buf_deinit(&bytes);
    cd_buf_deinit(&text);
    cd_buf_deinit(&back);
}

static void check_crc(const void *bytes, size_t len, uint32_t want)
{
    assert_true(cd_crc32c(0, bytes, len) == want);
    assert_true(cd_crc32c_plain(0, bytes, len) == want);
}

static void test_crc32c_vectors_of_rfc_3720(void **state)
{
    unsigned char v[48] = {0};
    (void)state;
    check_crc(v, 32, 0x8a9136aa);
    memset(v, 0xff, 32);
    check_crc(v, 32, 0x62a8ab43);
    for (unsigned i = 0; i < 32; i++)
        v[i] = (unsigned char)i;
    check_crc(v, 32, 0x46dd794e);
    for (unsigned i = 0; i < 32; i++)
        v[i] = (unsigned char)(31 - i);
    check_crc(v, 32, 0x113fdb5c);
    static const unsigned char read_pdu[48] = {
        [0] = 0x01, [1] = 0xc0, [16] = 0x14, [22] = 0x04, [27] = 0x14, [31] = 0x18, [32] = 0x28, [40] = 0x02};
    check_crc(read_pdu, 48, 0xd9963a56);
    check_crc("123456789", 9, 0xe3069283);
    check_crc(NULL, 0, 0);
}

static void test_both_crc_paths_agree_at_every_length_and_alignment(void **state)
{
    struct cd_rng rng;
    struct cd_buf b = {0};
    (void)state;
    cd_rng_seed(&rng, 3, CD_STR("crc"));
    random_bytes(&b, &rng, 300);
    for (size_t from = 0; from < 9; from++) {
        for (size_t len = 0; len < 290; len++) {
            uint32_t whole = cd_crc32c_plain(7, b.ptr + from, len);
            assert_true(cd_crc32c(7, b.ptr + from, len) == whole);
            size_t cut = len / 3;
            uint32_t part = cd_crc32c(7, b.ptr + from, cut);
            assert_true(cd_crc32c_plain(part, b.ptr + from + cut, len - cut) == whole);
            assert_true(cd_crc32c(part, b.ptr + from + cut, len - cut) == whole);
        }
    }
    cd_buf_deinit(&b);
}

static void test_crc64_of_the_xz_vector_and_in_pieces(void **state)
{
    (void)state;
    assert_true(cd_crc64(0, "123456789", 9) == 0x995dc9bbdf1939fau);
    assert_true(cd_crc64(0, "", 0) == 0);
    unsigned char bytes[61];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 37 + 11);
    for (size_t len = 0; len <= sizeof bytes; len++) {
        uint64_t slow = ~(uint64_t)0; /* Bit by bit, as the polynomial says. */
        for (size_t i = 0; i < len; i++) {
            slow ^= bytes[i];
            for (unsigned bit = 0; bit < 8; bit++)
                slow = slow >> 1 ^ (slow & 1 ? 0xc96c5795d7870f42u : 0);
        }
        assert_true(cd_crc64(0, bytes, len) == ~slow);
        for (size_t cut = 0; cut <= len; cut++)
            assert_true(cd_crc64(cd_crc64(0, bytes, cut), bytes + cut, len - cut) == ~slow);
    }
}

static void test_percent_keeps_what_rfc_3986_calls_unreserved(void **state)
{
    struct cd_buf out = {0}, back = {0};
    (void)state;
    for (unsigned v = 0; v < 256; v++) {
        char c = (char)v, want[4];
        bool plain =
            v != 0 && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~", c) != NULL;
        (void)snprintf(want, sizeof want, plain ? "%c" : "%%%02X", v);
        cd_buf_clear(&out);
        cd_percent_encode(&out, cd_str_of(&c, 1), NULL);
        assert_str_is(cd_buf_str(&out), want);
        cd_buf_clear(&back);
        assert_int_equal(cd_percent_decode(&back, cd_buf_str(&out)), 0);
        assert_int_equal(back.len, 1);
        assert_int_equal(back.ptr[0], c);
    }
    cd_buf_deinit(&out);
    cd_buf_deinit(&back);
}

static void test_percent_keeps_what_the_caller_names(void **state)
{
    struct cd_buf out = {0};
    (void)state;
    cd_percent_encode(&out, CD_STR("log/a b\0%\xc3\xa4"), "/");
    assert_str_is(cd_buf_str(&out), "log/a%20b%00%25%C3%A4");
    cd_buf_clear(&out);
    cd_percent_encode(&out, CD_STR("/"), "");
    assert_str_is(cd_buf_str(&out), "%2F");
    cd_buf_clear(&out);
    cd_percent_encode(&out, (struct cd_str){NULL, 0}, "/");
    assert_int_equal(out.len, 0);
    cd_buf_deinit(&out);
}

static void test_percent_decode_takes_both_cases_and_leaves_plus_alone(void **state)
{
    struct cd_buf out = {0};
    (void)state;
    assert_int_equal(cd_percent_decode(&out, CD_STR("a+b%2f%2F%00c")), 0);
    assert_int_equal(out.len, 7);
    assert_memory_equal(out.ptr, "a+b//\0c", 7);
    cd_buf_deinit(&out);
}

static void test_bad_escapes_leave_the_output_as_it_was(void **state)
{
    static const char *const bad[] = {"%",   "%4",   "a%",     "a%4",  "%%",  "%4g",
                                      "%g4", "%%41", "ok%41%", "% 41", "%-1", "%u0041"};
    struct cd_buf out = with_text("kept");
    (void)state;
    for (size_t i = 0; i < CD_COUNT(bad); i++) {
        assert_int_equal(cd_percent_decode(&out, cd_str(bad[i])), CD_ESYNTAX);
        assert_str_is(cd_buf_str(&out), "kept");
    }
    cd_buf_deinit(&out);
}

CD_TESTS(encode, cmocka_unit_test(test_hex_of_every_byte_and_back),
         cmocka_unit_test(test_hex_reads_both_cases_and_appends),
         cmocka_unit_test(test_bad_hex_leaves_the_output_as_it_was),
         cmocka_unit_test(test_base64_vectors_of_rfc_4648),
         cmocka_unit_test(test_the_two_alphabets_differ_in_two_letters),
         cmocka_unit_test(test_bad_base64_leaves_the_output_as_it_was),
         cmocka_unit_test(test_one_text_stands_for_one_sequence_of_bytes),
         cmocka_unit_test(test_base64_round_trips), cmocka_unit_test(test_crc32c_vectors_of_rfc_3720),
         cmocka_unit_test(test_both_crc_paths_agree_at_every_length_and_alignment),
         cmocka_unit_test(test_crc64_of_the_xz_vector_and_in_pieces),
         cmocka_unit_test(test_percent_keeps_what_rfc_3986_calls_unreserved),
         cmocka_unit_test(test_percent_keeps_what_the_caller_names),
         cmocka_unit_test(test_percent_decode_takes_both_cases_and_leaves_plus_alone),
         cmocka_unit_test(test_bad_escapes_leave_the_output_as_it_was))
