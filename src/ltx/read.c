/* ltx/read.c: foreign bytes become a segment, or a reason why not. */
#include <openssl/sha.h>

#include "base/encode.h"
#include "ltx/ltx_internal.h"

int ltx_corrupt(struct cd_buf *why, const char *format, ...)
{
    if (why != NULL) {
        va_list args;
        va_start(args, format);
        cd_buf_vaddf(why, format, args);
        va_end(args);
    }
    return CD_ECORRUPT;
}

uint64_t ltx_scope_hash(struct cd_str scope)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    (void)SHA256((const unsigned char *)scope.ptr, scope.len, digest);
    return cd_get_u64(digest);
}

uint32_t ltx_page_total(uint32_t page_size, uint32_t commit)
{
    return commit >= ltx_lock_page(page_size) ? commit - 1 : commit;
}

static bool all_zero(const char *at, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (at[i] != 0)
            return false;
    }
    return true;
}

/* Ranges that hold whatever the segment is for. */
static int check_header(const struct ltx_header *h, struct cd_buf *why)
{
    bool power = (h->page_size & (h->page_size - 1)) == 0;
    if (!power || h->page_size < LTX_PAGE_MIN || h->page_size > LTX_PAGE_MAX)
        return ltx_corrupt(why, "page size %u, want a power of two from 512 to 65536", h->page_size);
    if (h->min_txid == 0 || h->max_txid < h->min_txid || h->epoch == 0 || h->commit == 0)
        return ltx_corrupt(why, "txids %llu to %llu, epoch %llu, %u pages: out of range",
                           (unsigned long long)h->min_txid, (unsigned long long)h->max_txid,
                           (unsigned long long)h->epoch, h->commit);
    bool snapshot = (h->flags & LTX_SNAPSHOT) != 0, marker = (h->flags & LTX_MARKER) != 0;
    if ((h->flags & ~(unsigned)(LTX_SNAPSHOT | LTX_MARKER | LTX_DBSUM)) != 0 || (snapshot && marker) ||
        ((h->flags & LTX_DBSUM) != 0 && !snapshot) || (snapshot && h->min_txid != 1))
        return ltx_corrupt(why, "flags %u with first txid %llu do not fit", h->flags,
                           (unsigned long long)h->min_txid);
    if (marker ? h->base_epoch == 0 || h->base_epoch >= h->epoch || h->base_txid == 0 ||
                     h->base_txid != h->min_txid - 1
               : h->base_epoch != 0 || h->base_txid != 0)
        return ltx_corrupt(why, "base (%llu, %llu) does not fit epoch %llu, first txid %llu",
                           (unsigned long long)h->base_epoch, (unsigned long long)h->base_txid,
                           (unsigned long long)h->epoch, (unsigned long long)h->min_txid);
    uint32_t total = ltx_page_total(h->page_size, h->commit);
    if (h->page_count > total || (snapshot && h->page_count != total))
        return ltx_corrupt(why, "%u pages of a database of %u", h->page_count, h->commit);
    return 0;
}

int ltx_header_read(struct cd_str first128, const struct ltx_name *name, struct ltx_header *out,
                    struct cd_buf *why)
{
    const char *p = first128.ptr;
    if (first128.len < LTX_HEADER_SIZE)
        return ltx_corrupt(why, "%zu bytes, too few for a header", first128.len);
    if (memcmp(p, "CLTX", 4) != 0 || cd_get_u16(p + 4) != LTX_VERSION)
        return ltx_corrupt(why, "not a segment of version 1");
    if (cd_get_u32(p + 124) != cd_crc32c(0, p, 124))
        return ltx_corrupt(why, "header checksum is wrong");
    if (!all_zero(p + 56, 24) || !all_zero(p + 100, 24))
        return ltx_corrupt(why, "reserved bytes of the header are not zero");
    struct ltx_header h = {
        .flags = cd_get_u16(p + 6),
        .page_size = cd_get_u32(p + 8),
        .commit = cd_get_u32(p + 12),
        .min_txid = cd_get_u64(p + 16),
        .max_txid = cd_get_u64(p + 24),
        .epoch = cd_get_u64(p + 32),
        .timestamp_ms = (int64_t)cd_get_u64(p + 40),
        .scope_hash = cd_get_u64(p + 48),
        .base_epoch = cd_get_u64(p + 80),
        .base_txid = cd_get_u64(p + 88),
        .page_count = cd_get_u32(p + 96),
    };
    int rc = check_header(&h, why);
    if (rc != 0)
        return rc;
    if (name != NULL && (h.min_txid != name->min_txid || h.max_txid != name->max_txid ||
                         h.epoch != name->epoch || h.scope_hash != ltx_scope_hash(name->scope)))
        return ltx_corrupt(why, "header says epoch %llu, txids %llu to %llu: not the object of its key",
                           (unsigned long long)h.epoch, (unsigned long long)h.min_txid,
                           (unsigned long long)h.max_txid);
    *out = h;
    return 0;
}

int ltx_trailer_read(struct cd_str last48, uint64_t object_size, struct ltx_trailer *out, struct cd_buf *why)
{
    const char *p = last48.ptr;
    if (last48.len != LTX_TRAILER_SIZE || object_size < LTX_HEADER_SIZE + LTX_TRAILER_SIZE)
        return ltx_corrupt(why, "%llu bytes, too few for a segment", (unsigned long long)object_size);
    struct ltx_trailer t = {
        .index_offset = cd_get_u64(p),
        .index_len = cd_get_u64(p + 8),
        .post_checksum = cd_get_u64(p + 16),
        .page_count = cd_get_u32(p + 32),
    };
    if (memcmp(p + 44, "CLTE", 4) != 0 || !all_zero(p + 36, 8))
        return ltx_corrupt(why, "not a segment's trailer: cut off, or foreign");
    uint64_t room = object_size - LTX_TRAILER_SIZE;
    if (t.index_offset < LTX_HEADER_SIZE || t.index_offset > room || t.index_len != room - t.index_offset ||
        t.index_len != (uint64_t)t.page_count * LTX_INDEX_ENTRY)
        return ltx_corrupt(why, "index of %u pages at %llu does not fit %llu bytes", t.page_count,
                           (unsigned long long)t.index_offset, (unsigned long long)object_size);
    *out = t;
    return 0;
}

static struct ltx_entry entry_at(const char *index, uint32_t i)
{
    const char *p = index + (size_t)i * LTX_INDEX_ENTRY;
    return (struct ltx_entry){cd_get_u32(p), cd_get_u32(p + 4), cd_get_u64(p + 8)};
}

/* The frames lie one after another from the header to the index, so one entry tells where the next begins. */
static int check_index(const char *index, const struct ltx_header *h, const struct ltx_trailer *t,
                       struct cd_buf *why)
{
    if (t->page_count != h->page_count)
        return ltx_corrupt(why, "header counts %u pages, trailer %u", h->page_count, t->page_count);
    if ((t->post_checksum != 0) != ((h->flags & LTX_DBSUM) != 0))
        return ltx_corrupt(why, "checksum of the database and flags %u do not fit", h->flags);
    uint64_t at = LTX_HEADER_SIZE;
    uint32_t last = 0, lock = ltx_lock_page(h->page_size);
    for (uint32_t i = 0; i < h->page_count; i++) {
        struct ltx_entry e = entry_at(index, i);
        if (e.pgno <= last || e.pgno > h->commit || e.pgno == lock)
            return ltx_corrupt(why, "index entry %u: page %u after page %u of %u", i, e.pgno, last,
                               h->commit);
        if (e.offset != at || e.stored > h->page_size)
            return ltx_corrupt(why, "index entry %u: page %u with %u bytes at %llu, want it at %llu", i,
                               e.pgno, e.stored, (unsigned long long)e.offset, (unsigned long long)at);
        last = e.pgno;
        at += LTX_FRAME_HEAD + e.stored;
    }
    if (at != t->index_offset)
        return ltx_corrupt(why, "frames end at %llu, the index begins at %llu", (unsigned long long)at,
                           (unsigned long long)t->index_offset);
    return 0;
}

int ltx_index_read(struct cd_str index, const struct ltx_header *h, const struct ltx_trailer *t,
                   struct ltx_entry *out, struct cd_buf *why)
{
    if (index.len != t->index_len)
        return ltx_corrupt(why, "index has %zu bytes, want %llu", index.len,
                           (unsigned long long)t->index_len);
    int rc = check_index(index.ptr, h, t, why);
    if (rc != 0)
        return rc;
    for (uint32_t i = 0; i < h->page_count; i++)
        out[i] = entry_at(index.ptr, i);
    return 0;
}

int ltx_file_open(struct ltx_file *f, struct cd_str object, const struct ltx_name *name, struct cd_buf *why)
{
    struct ltx_file made = {.bytes = object};
    struct ltx_trailer t;
    int rc = ltx_header_read(object, name, &made.h, why);
    if (rc != 0)
        return rc;
    size_t tail = object.len < LTX_TRAILER_SIZE ? 0 : object.len - LTX_TRAILER_SIZE;
    rc = ltx_trailer_read(cd_str_sub(object, tail, SIZE_MAX), object.len, &t, why);
    if (rc != 0)
        return rc;
    if (cd_get_u64(object.ptr + tail + 24) != cd_crc64(0, object.ptr, tail + 24))
        return ltx_corrupt(why, "file checksum is wrong");
    made.index = object.ptr + t.index_offset;
    made.post_checksum = t.post_checksum;
    rc = check_index(made.index, &made.h, &t, why);
    if (rc == 0)
        *f = made;
    return rc;
}

struct ltx_entry ltx_file_entry(const struct ltx_file *f, uint32_t i)
{
    CD_ASSERT(i < f->h.page_count);
    return entry_at(f->index, i);
}

uint32_t ltx_file_find(const struct ltx_file *f, uint32_t pgno)
{
    uint32_t from = 0, to = f->h.page_count;
    while (from < to) {
        uint32_t mid = from + (to - from) / 2;
        uint32_t at = entry_at(f->index, mid).pgno;
        if (at == pgno)
            return mid;
        if (at < pgno)
            from = mid + 1;
        else
            to = mid;
    }
    return UINT32_MAX;
}

int ltx_file_page(struct ltx_zstd *z, const struct ltx_file *f, uint32_t i, void *page, struct cd_buf *why)
{
    struct ltx_entry e = ltx_file_entry(f, i);
    struct cd_str frame = cd_str_sub(f->bytes, (size_t)e.offset, (size_t)LTX_FRAME_HEAD + e.stored);
    return ltx_frame_page(z, frame, &e, f->h.page_size, page, why);
}

int ltx_file_verify(struct ltx_zstd *z, const struct ltx_file *f, struct cd_buf *why)
{
    uint64_t sum = LTX_DBSUM_START;
    char *page = cd_alloc(f->h.page_size);
    int rc = 0;
    for (uint32_t i = 0; i < f->h.page_count && rc == 0; i++) {
        rc = ltx_file_page(z, f, i, page, why);
        if (rc == 0 && (f->h.flags & LTX_DBSUM) != 0)
            sum = ltx_dbsum_add(sum, ltx_file_entry(f, i).pgno, page, f->h.page_size);
    }
    cd_free(page);
    if (rc == 0 && (f->h.flags & LTX_DBSUM) != 0 && sum != f->post_checksum)
        rc = ltx_corrupt(why, "checksum of the database is %016llx, want %016llx", (unsigned long long)sum,
                         (unsigned long long)f->post_checksum);
    return rc;
}
