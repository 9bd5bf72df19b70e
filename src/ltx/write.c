/* ltx/write.c: pages become a segment. */
#include <stdlib.h>

#include "base/encode.h"
#include "ltx/ltx_internal.h"

/* From here on versions of pages that no longer count are looked for whenever the bytes have doubled. */
#define COMPACT_FROM (16u << 20)

void ltx_put_header(char *at, const struct ltx_header *h)
{
    static const char magic[4] = {'C', 'L', 'T', 'X'}; /* No NUL. */
    memset(at, 0, LTX_HEADER_SIZE);
    memcpy(at, magic, sizeof magic);
    cd_put_u16(at + 4, LTX_VERSION);
    cd_put_u16(at + 6, (uint16_t)h->flags);
    cd_put_u32(at + 8, h->page_size);
    cd_put_u32(at + 12, h->commit);
    cd_put_u64(at + 16, h->min_txid);
    cd_put_u64(at + 24, h->max_txid);
    cd_put_u64(at + 32, h->epoch);
    cd_put_u64(at + 40, (uint64_t)h->timestamp_ms);
    cd_put_u64(at + 48, h->scope_hash);
    cd_put_u64(at + 80, h->base_epoch);
    cd_put_u64(at + 88, h->base_txid);
    cd_put_u32(at + 96, h->page_count);
    cd_put_u32(at + 124, cd_crc32c(0, at, 124));
}

void ltx_put_index_entry(struct cd_buf *out, const struct ltx_entry *e)
{
    cd_buf_add_u32(out, e->pgno);
    cd_buf_add_u32(out, e->stored);
    cd_buf_add_u64(out, e->offset);
}

void ltx_put_trailer(struct cd_buf *out, uint64_t index_offset, uint32_t page_count, uint64_t post_checksum,
                     uint64_t crc)
{
    size_t at = out->len;
    cd_buf_add_u64(out, index_offset);
    cd_buf_add_u64(out, (uint64_t)page_count * LTX_INDEX_ENTRY);
    cd_buf_add_u64(out, post_checksum);
    cd_buf_add_u64(out, cd_crc64(crc, out->ptr + at, 24));
    cd_buf_add_u32(out, page_count);
    cd_buf_add_zero(out, 8);
    cd_buf_add(out, "CLTE", 4);
}

void ltx_builder_deinit(struct ltx_builder *b)
{
    cd_buf_deinit(&b->bytes);
    cd_free(b->entry);
    *b = (struct ltx_builder){0};
}

static int by_page_then_age(const void *a, const void *b)
{
    const struct ltx_entry *x = a, *y = b;
    if (x->pgno != y->pgno)
        return x->pgno < y->pgno ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The entries by page, the last version of each; those above commit go. The bytes stay where they are. */
static void settle(struct ltx_builder *b, uint32_t commit)
{
    if (b->count > 1)
        qsort(b->entry, b->count, sizeof *b->entry, by_page_then_age);
    size_t kept = 0;
    for (size_t i = 0; i < b->count; i++) {
        bool last = i + 1 == b->count || b->entry[i + 1].pgno != b->entry[i].pgno;
        if (last && b->entry[i].pgno <= commit)
            b->entry[kept++] = b->entry[i];
    }
    b->count = kept;
}

/* Moves the frames that count to where they stand in ascending order, a new buffer with room in front. */
static void gather(struct ltx_builder *b, uint32_t page_size, uint32_t old_commit, uint32_t commit)
{
    struct cd_buf out = {0};
    size_t filled = 0, total = 0;
    for (size_t i = 0; i < b->count; i++)
        total += LTX_FRAME_HEAD + b->entry[i].stored;
    cd_buf_reserve(&out, LTX_HEADER_SIZE + total);
    cd_buf_add_zero(&out, LTX_HEADER_SIZE);
    struct ltx_entry *entry = NULL;
    size_t room = b->count + (commit > old_commit ? commit - old_commit : 0);
    entry = cd_alloc(room * sizeof *entry + 1);
    uint32_t lock = ltx_lock_page(page_size), grown = old_commit + 1;
    for (size_t i = 0; i <= b->count; i++) {
        uint32_t next = i < b->count ? b->entry[i].pgno : commit + 1;
        for (; grown < next; grown++) { /* Between two given pages: what SQLite did not write. */
            if (grown == lock)
                continue;
            entry[filled++] = (struct ltx_entry){grown, 0, out.len};
            ltx_put_zero_frame(&out, grown, page_size);
        }
        if (i == b->count)
            break;
        struct ltx_entry e = b->entry[i];
        entry[filled++] = (struct ltx_entry){e.pgno, e.stored, out.len};
        cd_buf_add(&out, b->bytes.ptr + e.offset, (size_t)LTX_FRAME_HEAD + e.stored);
        if (grown == e.pgno)
            grown++;
    }
    cd_buf_deinit(&b->bytes);
    cd_free(b->entry);
    b->bytes = out;
    b->entry = entry;
    b->count = filled;
    b->cap = room;
}

void ltx_builder_cut(struct ltx_builder *b, uint32_t page_size, uint32_t commit)
{
    settle(b, commit);
    gather(b, page_size, UINT32_MAX - 1, UINT32_MAX - 1); /* Nothing has grown: no zeros are filled in. */
    b->compacted = b->bytes.len;
}

void ltx_builder_page(struct ltx_builder *b, struct ltx_zstd *z, uint32_t pgno, const void *page,
                      uint32_t page_size)
{
    if (pgno == ltx_lock_page(page_size))
        return;
    if (b->bytes.len == 0)
        cd_buf_add_zero(&b->bytes, LTX_HEADER_SIZE);
    if (b->bytes.len > COMPACT_FROM && b->bytes.len > 2 * b->compacted)
        ltx_builder_cut(b, page_size, UINT32_MAX);
    if (b->count == b->cap) {
        b->cap = b->cap == 0 ? 4 : 2 * b->cap;
        b->entry = cd_realloc(b->entry, b->cap * sizeof *b->entry);
    }
    uint64_t at = b->bytes.len;
    uint32_t stored = ltx_put_frame(&b->bytes, z, pgno, page, page_size);
    b->entry[b->count++] = (struct ltx_entry){pgno, stored, at};
}

/* SQLite writes the pages of an ordinary commit once and in order: then the frames are in place already. */
static bool in_place(const struct ltx_builder *b, uint32_t page_size, uint32_t old_commit, uint32_t commit)
{
    uint32_t grown = 0;
    for (size_t i = 0; i < b->count; i++) {
        if (b->entry[i].pgno > commit || (i > 0 && b->entry[i].pgno <= b->entry[i - 1].pgno))
            return false;
        grown += b->entry[i].pgno > old_commit;
    }
    uint32_t total = ltx_page_total(page_size, commit), old = ltx_page_total(page_size, old_commit);
    return total <= old || grown == total - old;
}

static uint64_t sum_of(const struct ltx_builder *b, struct ltx_zstd *z, uint32_t page_size)
{
    uint64_t sum = LTX_DBSUM_START;
    char *page = cd_alloc(page_size);
    for (size_t i = 0; i < b->count; i++) {
        const struct ltx_entry *e = &b->entry[i];
        struct cd_str frame = cd_str_of(b->bytes.ptr + e->offset, (size_t)LTX_FRAME_HEAD + e->stored);
        int rc = ltx_frame_page(z, frame, e, page_size, page, NULL);
        CD_ASSERT(rc == 0); /* Its own frame of a moment ago. */
        sum = ltx_dbsum_add(sum, e->pgno, page, page_size);
    }
    cd_free(page);
    return sum;
}

void ltx_builder_finish(struct ltx_builder *b, struct ltx_zstd *z, const struct ltx_header *h,
                        uint32_t old_commit, struct cd_buf *out)
{
    CD_ASSERT(out->len == 0);
    CD_ASSERT(h->commit > 0 && h->min_txid > 0 && h->min_txid <= h->max_txid);
    CD_ASSERT((h->flags & LTX_SNAPSHOT) == 0 || old_commit == 0);
    if (b->bytes.len == 0)
        cd_buf_add_zero(&b->bytes, LTX_HEADER_SIZE);
    if (!in_place(b, h->page_size, old_commit, h->commit)) {
        settle(b, h->commit);
        gather(b, h->page_size, old_commit, h->commit);
    }
    struct ltx_header full = *h;
    full.page_count = (uint32_t)b->count;
    uint64_t sum = (h->flags & LTX_DBSUM) != 0 ? sum_of(b, z, h->page_size) : 0;
    ltx_put_header(b->bytes.ptr, &full);
    uint64_t index_offset = b->bytes.len;
    cd_buf_reserve(&b->bytes, b->count * LTX_INDEX_ENTRY + LTX_TRAILER_SIZE);
    for (size_t i = 0; i < b->count; i++)
        ltx_put_index_entry(&b->bytes, &b->entry[i]);
    uint64_t crc = cd_crc64(0, b->bytes.ptr, b->bytes.len);
    ltx_put_trailer(&b->bytes, index_offset, full.page_count, sum, crc);
    cd_buf_deinit(out);
    *out = cd_buf_move(&b->bytes);
    /* It may stay in the log for minutes, which counts the bytes and not the room that compressing wanted. */
    out->ptr = cd_realloc(out->ptr, out->len);
    out->cap = out->len;
    ltx_builder_deinit(b);
}
