/* fuzz/fuzz_http_chunked.c: chunked bodies, read into buffers of every size and lent. */
#include "fuzz/fuzz.h"

#include "base/rng.h"
#include "http/body.h"

static const struct http_limits limits = {
    .head_max = 4096, .target_max = 1024, .fields_max = 16, .body_max = 100000};

#define HEAD "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

/* Reads the whole body; cap 0: lent. Appends the bytes and how it ended. */
static void take_all(struct cd_str bytes, size_t cap, uint64_t seed, struct cd_buf *out)
{
    struct http_parser p = {0};
    struct cd_rng rng;
    struct cd_str in = CD_STR(HEAD), piece;
    char room[64];
    cd_rng_seed(&rng, seed, CD_STR("cuts"));
    http_parser_start(&p, HTTP_PARSE_REQUEST, &limits);
    CD_ASSERT(http_parse(&p, &in, &piece) == HTTP_PARSED_HEAD && in.len == 0);
    size_t at = 0;
    for (;;) {
        struct io_read r = {.buf = cap == 0 ? NULL : room, .cap = cap};
        size_t got = 0;
        http_read_prepare(&r);
        piece = (struct cd_str){NULL, 0};
        enum http_parsed found = http_body_take(&p, &r, &in, &piece, &got);
        CD_ASSERT(cap == 0 ? got == piece.len : got <= cap);
        cd_buf_add(out, cap == 0 ? piece.ptr : room, got);
        if (found == HTTP_PARSED_END || found == HTTP_PARSED_BAD) {
            cd_buf_addf(out, "<%s>", found == HTTP_PARSED_END ? "end" : "bad");
            break;
        }
        if (got > 0)
            continue;
        CD_ASSERT(in.len == 0);
        if (at == bytes.len)
            break;
        in = cd_str_sub(bytes, at, cd_rng_below(&rng, 30) + 1);
        at += in.len;
    }
    http_parser_deinit(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct cd_str bytes = cd_str_of(data + 1, size - 1);
    struct cd_buf lent = {0}, own = {0};
    take_all(bytes, 0, 1, &lent);
    take_all(bytes, data[0] % 64 + 1, data[0], &own);
    CD_ASSERT(cd_str_eq(cd_buf_str(&lent), cd_buf_str(&own)));
    cd_buf_deinit(&lent);
    cd_buf_deinit(&own);
    return 0;
}
