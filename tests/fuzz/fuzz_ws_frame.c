/* fuzz/fuzz_ws_frame.c: frames as bytes: heads, close payloads, UTF-8 in pieces. */
#include "fuzz/fuzz.h"

#include "http/ws_frame.h"

/* Text in two pieces is judged like the whole. */
static void text(struct cd_str bytes, size_t cut)
{
    struct http_utf8 u = {0};
    bool ok = http_utf8_feed(&u, cd_str_sub(bytes, 0, cut)) &&
              http_utf8_feed(&u, cd_str_sub(bytes, cut, SIZE_MAX)) && http_utf8_complete(&u);
    CD_ASSERT(ok == cd_str_is_utf8(bytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cd_str in = cd_str_of(data, size);
    text(in, size / 3);
    while (in.len > 0) {
        struct http_ws_head h;
        bool masked = in.len >= 2 && ((unsigned char)in.ptr[1] & 0x80u) != 0;
        int head = http_ws_head_read(in, masked, &h);
        CD_ASSERT(head >= -HTTP_WS_TOO_BIG && head <= HTTP_WS_HEAD_MAX);
        if (head <= 0)
            break;
        unsigned char again[HTTP_WS_HEAD_MAX];
        CD_ASSERT(http_ws_head_write(again, h.fin, h.opcode, h.len, masked ? h.mask : NULL) == (size_t)head);
        CD_ASSERT(memcmp(again, in.ptr, (size_t)head) == 0); /* There is one way to write a head. */
        in = cd_str_sub(in, (size_t)head, SIZE_MAX);
        struct cd_str payload = cd_str_sub(in, 0, h.len > SIZE_MAX ? SIZE_MAX : (size_t)h.len);
        in = cd_str_sub(in, payload.len, SIZE_MAX);
        if (h.opcode == HTTP_WS_CLOSE) {
            unsigned code = 0;
            struct cd_str reason;
            int rc = http_ws_close_read(payload, &code, &reason);
            CD_ASSERT(rc != 0 || code == HTTP_WS_NO_STATUS || http_ws_code_may_travel(code));
        }
    }
    return 0;
}
