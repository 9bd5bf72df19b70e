/* ltx/image.c: a whole image in pieces: what comes first does not depend on what comes later. */
#include "base/encode.h"
#include "ltx/ltx_internal.h"

/* Counts what was appended since from. */
static void appended(struct ltx_image *w, const struct cd_buf *out, size_t from)
{
    w->crc = cd_crc64(w->crc, out->ptr + from, out->len - from);
    w->at += out->len - from;
}

void ltx_image_start(struct ltx_image *w, const struct ltx_header *h, struct cd_buf *out)
{
    CD_ASSERT(h->commit > 0 && h->max_txid > 0);
    *w = (struct ltx_image){.h = *h, .sum = LTX_DBSUM_START, .next = 1};
    w->h.flags = LTX_SNAPSHOT | LTX_DBSUM;
    w->h.min_txid = 1;
    w->h.base_epoch = w->h.base_txid = 0;
    w->h.page_count = ltx_page_total(h->page_size, h->commit);
    size_t from = out->len;
    ltx_put_header(cd_buf_reserve(out, LTX_HEADER_SIZE), &w->h);
    out->len += LTX_HEADER_SIZE;
    appended(w, out, from);
}

uint32_t ltx_image_wants(const struct ltx_image *w)
{
    return w->next > w->h.commit ? 0 : w->next;
}

void ltx_image_page(struct ltx_image *w, struct ltx_zstd *z, const void *page, struct cd_buf *out)
{
    CD_ASSERT(w->next <= w->h.commit);
    size_t from = out->len;
    struct ltx_entry e = {w->next, 0, w->at};
    e.stored = ltx_put_frame(out, z, w->next, page, w->h.page_size);
    ltx_put_index_entry(&w->index, &e);
    w->sum = ltx_dbsum_add(w->sum, w->next, page, w->h.page_size);
    w->next++;
    w->next += w->next == ltx_lock_page(w->h.page_size);
    appended(w, out, from);
}

void ltx_image_finish(struct ltx_image *w, struct cd_buf *out)
{
    CD_ASSERT(ltx_image_wants(w) == 0);
    uint64_t index_offset = w->at;
    size_t from = out->len;
    cd_buf_add_str(out, cd_buf_str(&w->index));
    appended(w, out, from);
    ltx_put_trailer(out, index_offset, w->h.page_count, w->sum, w->crc);
}

void ltx_image_deinit(struct ltx_image *w)
{
    cd_buf_deinit(&w->index);
    *w = (struct ltx_image){0};
}
