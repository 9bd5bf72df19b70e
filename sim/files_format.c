/* sim/files_format.c: records and states as bytes. */
#include "sim/files_format.h"

#include "base/encode.h"
#include "base/rng.h"

#define RECORD_MAGIC 0x43455246u /* "FREC" */
#define STATE_MAGIC 0x54535446u
#define PAYLOAD_MAX (8u << 20)

void files_payload(struct cd_buf *out, uint64_t node, uint64_t seq, uint32_t attempt, size_t len)
{
    struct cd_rng rng;
    cd_rng_seed(&rng, node * UINT64_C(1000003) + attempt, CD_STR("payload"));
    rng.s[0] ^= seq;
    cd_rng_fill(&rng, cd_buf_reserve(out, len), len);
    out->len += len;
}

uint64_t files_record_add(struct cd_buf *out, uint64_t node, uint64_t seq, uint32_t attempt, uint64_t chain,
                          size_t len)
{
    CD_ASSERT(len <= PAYLOAD_MAX);
    size_t start = out->len;
    cd_buf_add_u32(out, RECORD_MAGIC);
    cd_buf_add_u32(out, (uint32_t)len);
    cd_buf_add_u64(out, seq);
    cd_buf_add_u32(out, attempt);
    size_t crc_at = out->len;
    cd_buf_add_u32(out, 0);
    size_t chain_at = out->len;
    cd_buf_add_zero(out, FILES_HEADER_BYTES - (chain_at - start));
    files_payload(out, node, seq, attempt, len);
    uint64_t next = cd_hash64(chain, out->ptr + start + FILES_HEADER_BYTES, len);
    for (unsigned i = 0; i < 8; i++)
        out->ptr[chain_at + i] = (char)(next >> (8 * i));
    uint32_t crc = cd_crc32c(0, out->ptr + start, out->len - start);
    for (unsigned i = 0; i < 4; i++)
        out->ptr[crc_at + i] = (char)(crc >> (8 * i));
    return next;
}

int files_record_parse(struct cd_str bytes, bool checked, struct files_record *out)
{
    if (bytes.len < FILES_HEADER_BYTES || cd_get_u32(bytes.ptr) != RECORD_MAGIC)
        return CD_ECORRUPT;
    size_t len = cd_get_u32(bytes.ptr + 4);
    if (len > PAYLOAD_MAX || len > bytes.len - FILES_HEADER_BYTES)
        return CD_ECORRUPT;
    struct files_record r = {.size = FILES_HEADER_BYTES + len};
    r.seq = cd_get_u64(bytes.ptr + 8);
    r.attempt = cd_get_u32(bytes.ptr + 16);
    r.chain = cd_get_u64(bytes.ptr + 24);
    r.payload = cd_str_sub(bytes, FILES_HEADER_BYTES, len);
    if (checked) {
        static const char zero[4];
        uint32_t crc = cd_crc32c(0, bytes.ptr, 20);
        crc = cd_crc32c(crc, zero, sizeof zero);
        crc = cd_crc32c(crc, bytes.ptr + 24, r.size - 24);
        if (crc != cd_get_u32(bytes.ptr + 20))
            return CD_ECORRUPT;
    }
    *out = r;
    return 0;
}

void files_state_add(struct cd_buf *out, const struct files_state *s)
{
    size_t start = out->len;
    cd_buf_add_u32(out, STATE_MAGIC);
    cd_buf_add_u32(out, 0);
    cd_buf_add_u64(out, s->version);
    cd_buf_add_u64(out, s->base);
    cd_buf_add_u64(out, s->chain);
    cd_buf_add_u64(out, s->log);
    files_payload(out, 0, s->version, 0, FILES_STATE_BYTES - (out->len - start) - 4);
    cd_buf_add_u32(out, cd_crc32c(0, out->ptr + start, out->len - start));
}

int files_state_parse(struct cd_str bytes, struct files_state *out)
{
    if (bytes.len != FILES_STATE_BYTES || cd_get_u32(bytes.ptr) != STATE_MAGIC)
        return CD_ECORRUPT;
    if (cd_crc32c(0, bytes.ptr, bytes.len - 4) != cd_get_u32(bytes.ptr + bytes.len - 4))
        return CD_ECORRUPT;
    out->version = cd_get_u64(bytes.ptr + 8);
    out->base = cd_get_u64(bytes.ptr + 16);
    out->chain = cd_get_u64(bytes.ptr + 24);
    out->log = cd_get_u64(bytes.ptr + 32);
    return 0;
}
