/* ltx/ltx.h: the segment format (fleet.md 5.3), read and written as bytes. Pure: no I/O, no clock.
 *
 * A segment holds the last version of each page that the transactions min_txid..max_txid of one cell changed.
 * It is the row of a log and the object of a bucket, byte for byte. Whatever a reader is given may be
 * foreign: anything that does not fit is CD_ECORRUPT with a reason, never an assertion and never "absent".
 *
 * why may be NULL everywhere; else a reason for people is appended. */
#ifndef LTX_LTX_H
#define LTX_LTX_H

#include "base/buf.h"
#include "ltx/name.h"

#define LTX_HEADER_SIZE 128u
#define LTX_FRAME_HEAD 16u /* In front of each page's payload. */
#define LTX_INDEX_ENTRY 16u
#define LTX_TRAILER_SIZE 48u
#define LTX_PAGE_MIN 512u
#define LTX_PAGE_MAX 65536u

enum {
    LTX_SNAPSHOT = 1, /* All pages: a whole image. */
    LTX_MARKER = 2, /* Continues (base_epoch, base_txid). */
    LTX_DBSUM = 4, /* The trailer has the checksum over all pages. */
};

struct ltx_header {
    unsigned flags;
    uint32_t page_size;
    uint32_t commit; /* Size of the database in pages after max_txid. */
    uint64_t min_txid, max_txid;
    uint64_t epoch;
    int64_t timestamp_ms;
    uint64_t scope_hash;
    uint64_t base_epoch, base_txid; /* With LTX_MARKER, else 0. */
    uint32_t page_count;
};

uint64_t ltx_scope_hash(struct cd_str scope);
/* The page that SQLite never uses, for its locks. */
static inline uint32_t ltx_lock_page(uint32_t page_size)
{
    return 0x40000000u / page_size + 1;
}
/* How many pages a whole image of commit pages has. */
uint32_t ltx_page_total(uint32_t page_size, uint32_t commit);

/* zstd's working memory, about 200 KiB: one for each loop. */
struct ltx_zstd;
struct ltx_zstd *ltx_zstd_new(void);
void ltx_zstd_free(struct ltx_zstd *z); /* NULL is fine. */

/* The checksum over all pages of a database but the lock page, in any order. */
#define LTX_DBSUM_START ((uint64_t)1 << 63)
uint64_t ltx_dbsum_add(uint64_t sum, uint32_t pgno, const void *page, uint32_t page_size);

/* ---- Reading a whole segment ---- */

/* Borrows the bytes it was opened over. */
struct ltx_file {
    struct ltx_header h;
    struct cd_str bytes;
    const char *index;
    uint64_t post_checksum;
};

struct ltx_entry {
    uint32_t pgno;
    uint32_t stored; /* Length of the payload; 0 for a page of zeros. */
    uint64_t offset; /* Of the frame's head in the object. */
};

/* Checks everything but the pages' own checksums, file checksum included. name, if given, is what the
 * object's key said: a segment that is not the one of its key is corrupt. */
CD_MUST_USE int ltx_file_open(struct ltx_file *f, struct cd_str object, const struct ltx_name *name,
                              struct cd_buf *why);
/* The i-th page, i < h.page_count, by ascending number. */
struct ltx_entry ltx_file_entry(const struct ltx_file *f, uint32_t i);
/* Index of a page; UINT32_MAX when the segment does not have it. */
uint32_t ltx_file_find(const struct ltx_file *f, uint32_t pgno);
/* The page's bytes into page, which has h.page_size bytes. */
CD_MUST_USE int ltx_file_page(struct ltx_zstd *z, const struct ltx_file *f, uint32_t i, void *page,
                              struct cd_buf *why);
/* Decodes every page; with LTX_DBSUM the checksum over all of them too. */
CD_MUST_USE int ltx_file_verify(struct ltx_zstd *z, const struct ltx_file *f, struct cd_buf *why);

/* ---- Reading by ranges: header, the last 48 bytes, the index, then frames ---- */

struct ltx_trailer {
    uint64_t index_offset, index_len, post_checksum;
    uint32_t page_count;
};
CD_MUST_USE int ltx_header_read(struct cd_str first128, const struct ltx_name *name, struct ltx_header *out,
                                struct cd_buf *why);
CD_MUST_USE int ltx_trailer_read(struct cd_str last48, uint64_t object_size, struct ltx_trailer *out,
                                 struct cd_buf *why);
/* index is the bytes that the trailer tells of. out has room for page_count entries. */
CD_MUST_USE int ltx_index_read(struct cd_str index, const struct ltx_header *h, const struct ltx_trailer *t,
                               struct ltx_entry *out, struct cd_buf *why);
/* frame is head and payload of e: LTX_FRAME_HEAD + e->stored bytes at e->offset. */
CD_MUST_USE int ltx_frame_page(struct ltx_zstd *z, struct cd_str frame, const struct ltx_entry *e,
                               uint32_t page_size, void *page, struct cd_buf *why);

/* ---- Writing ---- */

/* Pages in any order; of several versions of one the last counts. Zeroed struct: valid, empty. */
struct ltx_builder {
    struct cd_buf bytes; /* Room for the header, then frames as they came. */
    struct ltx_entry *entry; /* owned */
    size_t count, cap;
    size_t compacted; /* Size after versions that no longer count were dropped the last time. */
};
void ltx_builder_deinit(struct ltx_builder *b); /* Empty and usable again. */
void ltx_builder_page(struct ltx_builder *b, struct ltx_zstd *z, uint32_t pgno, const void *page,
                      uint32_t page_size);
/* Forgets pages above commit, and older versions of the others. */
void ltx_builder_cut(struct ltx_builder *b, uint32_t page_size, uint32_t commit);
static inline bool ltx_builder_empty(const struct ltx_builder *b)
{
    return b->count == 0;
}
static inline size_t ltx_builder_size(const struct ltx_builder *b)
{
    return b->bytes.len;
}
/* Makes the segment and leaves b empty. Pages above h->commit are dropped; those in (old_commit, h->commit]
 * that were not given are zeros. page_count is computed; with LTX_DBSUM, which needs LTX_SNAPSHOT and
 * old_commit 0, so is the checksum. out is appended to nothing: it was empty. h must be consistent. */
void ltx_builder_finish(struct ltx_builder *b, struct ltx_zstd *z, const struct ltx_header *h,
                        uint32_t old_commit, struct cd_buf *out);

/* A whole image that is too large to hold: pages in ascending order, bytes as they come. All of it is
 * appended to out, which the caller may empty between calls. */
struct ltx_image {
    struct ltx_header h;
    struct cd_buf index; /* owned */
    uint64_t at, sum, crc;
    uint32_t next; /* The page that is wanted. */
};
/* h says what it is of; flags and page_count follow. */
void ltx_image_start(struct ltx_image *w, const struct ltx_header *h, struct cd_buf *out);
/* 0: all pages are there. Never the lock page. */
uint32_t ltx_image_wants(const struct ltx_image *w);
void ltx_image_page(struct ltx_image *w, struct ltx_zstd *z, const void *page, struct cd_buf *out);
void ltx_image_finish(struct ltx_image *w, struct cd_buf *out); /* After the last page. */
void ltx_image_deinit(struct ltx_image *w);

/* ---- Merging (fleet.md 5.4 item 4, 5.7, 5.14) ---- */

/* What the result is, where it is not what follows from the sources. Zeroed: one run of one epoch, from the
 * first source's min_txid, with its flags. */
struct ltx_merge_opts {
    uint64_t
        min_txid; /* Above the first source's: what it repeats is left out; the result is no first row. */
    /* A join: sources may be of several epochs; the result is of epoch and a marker of this base. */
    uint64_t epoch, base_epoch, base_txid;
};

/* Sources in txid order, each reaching farther than the one before, without a gap; newest page wins, pages
 * above the last commit are dropped. No page is decoded. The result has no LTX_DBSUM. */
struct ltx_merge;
/* Borrows the sources until it is freed. CD_ECORRUPT when they do not fit together. */
CD_MUST_USE int ltx_merge_new(struct ltx_merge **out, const struct ltx_file *source, size_t count,
                              const struct ltx_merge_opts *opts, struct cd_buf *why);
/* Copies about so many bytes, at least one page. True: ready. For loops that must not be held up. */
bool ltx_merge_step(struct ltx_merge *m, size_t bytes);
struct cd_buf ltx_merge_take(struct ltx_merge *m); /* After step returned true. */
void ltx_merge_free(struct ltx_merge *m); /* NULL is fine. */
/* All at once, into out, which was empty. */
CD_MUST_USE int ltx_merge(struct cd_buf *out, const struct ltx_file *source, size_t count,
                          const struct ltx_merge_opts *opts, struct cd_buf *why);

#endif
