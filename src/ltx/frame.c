/* ltx/frame.c: one page as a frame, and back; zstd lives here. */
#include <zstd.h>

#include "base/encode.h"
#include "ltx/ltx_internal.h"

#define LEVEL 3

struct ltx_zstd {
    ZSTD_CCtx *pack; /* owned */
    ZSTD_DCtx *unpack; /* owned */
};

struct ltx_zstd *ltx_zstd_new(void)
{
    struct ltx_zstd *z = cd_new(struct ltx_zstd);
    z->pack = ZSTD_createCCtx();
    z->unpack = ZSTD_createDCtx();
    CD_ASSERT(z->pack != NULL && z->unpack != NULL);
    return z;
}

void ltx_zstd_free(struct ltx_zstd *z)
{
    if (z == NULL)
        return;
    (void)ZSTD_freeCCtx(z->pack);
    (void)ZSTD_freeDCtx(z->unpack);
    cd_free(z);
}

static void put_head(char *at, uint32_t pgno, unsigned flags, uint32_t stored, uint32_t crc)
{
    cd_put_u32(at, pgno);
    cd_put_u32(at + 4, flags); /* Two bytes of flags and two zeros. */
    cd_put_u32(at + 8, stored);
    cd_put_u32(at + 12, crc);
}

static bool is_zero(const char *page, uint32_t size)
{
    return page[0] == 0 && memcmp(page, page + 1, size - 1) == 0;
}

void ltx_put_zero_frame(struct cd_buf *out, uint32_t pgno, uint32_t page_size)
{
    static const char zeros[LTX_PAGE_MAX];
    char *at = cd_buf_reserve(out, LTX_FRAME_HEAD);
    put_head(at, pgno, LTX_FRAME_ZERO, 0, cd_crc32c(0, zeros, page_size));
    out->len += LTX_FRAME_HEAD;
}

uint32_t ltx_put_frame(struct cd_buf *out, struct ltx_zstd *z, uint32_t pgno, const void *page,
                       uint32_t page_size)
{
    if (is_zero(page, page_size)) {
        ltx_put_zero_frame(out, pgno, page_size);
        return 0;
    }
    size_t bound = ZSTD_compressBound(page_size);
    char *at = cd_buf_reserve(out, LTX_FRAME_HEAD + bound);
    size_t packed = ZSTD_compressCCtx(z->pack, at + LTX_FRAME_HEAD, bound, page, page_size, LEVEL);
    unsigned flags = LTX_FRAME_ZSTD;
    if (ZSTD_isError(packed) || packed > page_size - page_size / 16) {
        memcpy(at + LTX_FRAME_HEAD, page, page_size);
        packed = page_size;
        flags = 0;
    }
    put_head(at, pgno, flags, (uint32_t)packed, cd_crc32c(0, page, page_size));
    out->len += LTX_FRAME_HEAD + packed;
    return (uint32_t)packed;
}

/* Whether the head is that of e, and its flags and length can be true. */
static int check_head(const char *head, const struct ltx_entry *e, uint32_t page_size, struct cd_buf *why)
{
    unsigned flags = cd_get_u16(head + 4);
    if (cd_get_u32(head) != e->pgno || cd_get_u32(head + 8) != e->stored)
        return ltx_corrupt(why, "page %u: its frame says page %u with %u bytes, the index %u", e->pgno,
                           cd_get_u32(head), cd_get_u32(head + 8), e->stored);
    bool ok = (flags == LTX_FRAME_ZERO && e->stored == 0) || (flags == 0 && e->stored == page_size) ||
              (flags == LTX_FRAME_ZSTD && e->stored > 0 && e->stored < page_size);
    if (!ok || cd_get_u16(head + 6) != 0)
        return ltx_corrupt(why, "page %u: frame flags %u with %u bytes do not fit", e->pgno, flags,
                           e->stored);
    return 0;
}

int ltx_frame_page(struct ltx_zstd *z, struct cd_str frame, const struct ltx_entry *e, uint32_t page_size,
                   void *page, struct cd_buf *why)
{
    if (frame.len != (size_t)LTX_FRAME_HEAD + e->stored)
        return ltx_corrupt(why, "page %u: frame has %zu bytes, want %zu", e->pgno, frame.len,
                           (size_t)LTX_FRAME_HEAD + e->stored);
    int rc = check_head(frame.ptr, e, page_size, why);
    if (rc != 0)
        return rc;
    const char *payload = frame.ptr + LTX_FRAME_HEAD;
    if (e->stored == 0) {
        memset(page, 0, page_size);
    } else if (e->stored == page_size) {
        memcpy(page, payload, page_size);
    } else {
        /* One frame with its content size: what zstd would also take, several of them or none, is foreign. */
        if (ZSTD_getFrameContentSize(payload, e->stored) != page_size ||
            ZSTD_findFrameCompressedSize(payload, e->stored) != e->stored ||
            ZSTD_decompressDCtx(z->unpack, page, page_size, payload, e->stored) != page_size)
            return ltx_corrupt(why, "page %u: not one zstd frame of %u bytes", e->pgno, page_size);
    }
    uint32_t crc = cd_crc32c(0, page, page_size);
    if (crc != cd_get_u32(frame.ptr + 12))
        return ltx_corrupt(why, "page %u: checksum %08x, want %08x", e->pgno, crc,
                           cd_get_u32(frame.ptr + 12));
    return 0;
}

uint64_t ltx_dbsum_add(uint64_t sum, uint32_t pgno, const void *page, uint32_t page_size)
{
    const unsigned char number[4] = {(unsigned char)(pgno >> 24), (unsigned char)(pgno >> 16),
                                     (unsigned char)(pgno >> 8), (unsigned char)pgno};
    uint64_t crc = cd_crc64(cd_crc64(0, number, sizeof number), page, page_size);
    return LTX_DBSUM_START | (sum ^ (LTX_DBSUM_START | crc));
}
