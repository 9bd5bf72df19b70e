/* ltx/ltx_internal.h: what the files of the codec share. */
#ifndef LTX_LTX_INTERNAL_H
#define LTX_LTX_INTERNAL_H

#include "ltx/ltx.h"

#define LTX_VERSION 1u
#define LTX_FRAME_ZSTD 1u
#define LTX_FRAME_ZERO 2u

/* Appends the reason, if somebody wants it, and gives CD_ECORRUPT. */
int ltx_corrupt(struct cd_buf *why, const char *format, ...) CD_PRINTF(2, 3);

void ltx_put_header(char *at, const struct ltx_header *h); /* LTX_HEADER_SIZE bytes. */
void ltx_put_index_entry(struct cd_buf *out, const struct ltx_entry *e);
/* index_offset .. the end, over bytes that end with the index. crc is that of all of them. */
void ltx_put_trailer(struct cd_buf *out, uint64_t index_offset, uint32_t page_count, uint64_t post_checksum,
                     uint64_t crc);
/* A frame of zeros. */
void ltx_put_zero_frame(struct cd_buf *out, uint32_t pgno, uint32_t page_size);
/* A frame with the page, compressed where that pays. The payload's length. */
uint32_t ltx_put_frame(struct cd_buf *out, struct ltx_zstd *z, uint32_t pgno, const void *page,
                       uint32_t page_size);

#endif
