/* fuzz/fuzz_peer.c: what peers send, read as fields and a body. Any bytes are judged; what is signed as it
 * came is refused before its signature or not at all, and with another signature it is refused always. */
#include "fuzz/fuzz.h"

#include "fleet/probe.h"

#define NOW INT64_C(1789000000000)
#define FIELDS_MAX 32

static const struct fleet_secret key = {.key = "0123456789abcdef0123456789abcde"};

static unsigned fields_of(struct http_field *field, struct cd_str *in)
{
    unsigned count = 0;
    struct cd_str line;
    while (in->ptr != NULL && cd_str_next(in, '\n', &line) && line.len > 0) {
        size_t colon = cd_str_find(line, ':', 0);
        if (colon == SIZE_MAX || count == FIELDS_MAX)
            continue;
        field[count++] = (struct http_field){cd_str_sub(line, 0, colon),
                                             cd_str_trim(cd_str_sub(line, colon + 1, SIZE_MAX))};
    }
    return count;
}

static void request(const struct http_field *field, unsigned count, struct cd_str body)
{
    struct fleet_peer_signed s = {.method = CD_STR("POST"), .target_path = CD_STR("/peer/adopt")};
    char signature[FLEET_HEX_SHA256 + 1];
    fleet_peer_signed_read(&s, field, count);
    enum fleet_verdict came = fleet_peer_verify_head(&s, &key, NOW);
    fleet_peer_sign(signature, &key, &s);
    s.signature = cd_str(signature);
    enum fleet_verdict own = fleet_peer_verify_head(&s, &key, NOW);
    CD_ASSERT(own != FLEET_VERDICT_FORGED && (came == own || came == FLEET_VERDICT_FORGED));
    signature[0] = signature[0] == 'a' ? 'b' : 'a';
    CD_ASSERT(fleet_peer_verify_head(&s, &key, NOW) != FLEET_VERDICT_OK);
    if (own == FLEET_VERDICT_OK) {
        CD_ASSERT(s.nonce.len == (size_t)2 * FLEET_NONCE_SIZE);
        (void)fleet_peer_verify_body(&s, body);
        (void)fleet_peer_is_target(s.target, CD_STR("b"), CD_STR("*"), true);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_field field[FIELDS_MAX];
    struct cd_str in = cd_str_of(data, size);
    struct cd_buf why = {0};
    struct io_addr to;
    static const struct store_lease lease = {.node = "b", .addr = "127.0.0.1:82"};
    unsigned count = fields_of(field, &in);
    struct cd_str body = in.ptr == NULL ? (struct cd_str){"", 0} : in;
    request(field, count, body);
    CD_ASSERT(fleet_probe_check(body, &lease, CD_STR("00"), &why) != 0); /* Nobody has a key of no digits. */
    CD_ASSERT(why.len > 0);
    if (fleet_peer_addr(&to, body, true, NULL) == 0)
        CD_ASSERT(to.host[0] != 0 && to.port != 0);
    cd_buf_deinit(&why);
    return 0;
}
