/* fuzz/fuzz_ltx.c: segments, their keys and listings as bytes. The first byte says which. Checksums over the
 * whole are made right first: what lies behind them must stand alone. */
#include "fuzz/fuzz.h"

#include "base/encode.h"
#include "ltx/ltx_internal.h"
#include "ltx/plan.h"

static void put(char *at, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (char)(v >> (8 * i));
}

static void reseal(struct cd_buf *b)
{
    if (b->len < LTX_HEADER_SIZE + LTX_TRAILER_SIZE)
        return;
    put(b->ptr + 124, cd_crc32c(0, b->ptr, 124), 4);
    size_t at = b->len - LTX_TRAILER_SIZE + 24;
    put(b->ptr + at, cd_crc64(0, b->ptr, at), 8);
}

/* Ranges tell what the whole tells. */
static void by_ranges(struct ltx_zstd *z, const struct ltx_file *f)
{
    struct ltx_header h;
    struct ltx_trailer t;
    struct cd_str all = f->bytes;
    CD_ASSERT(ltx_header_read(cd_str_sub(all, 0, LTX_HEADER_SIZE), NULL, &h, NULL) == 0);
    CD_ASSERT(ltx_trailer_read(cd_str_sub(all, all.len - LTX_TRAILER_SIZE, SIZE_MAX), all.len, &t, NULL) ==
              0);
    struct ltx_entry *e = cd_alloc(t.page_count * sizeof *e + 1);
    CD_ASSERT(ltx_index_read(cd_str_sub(all, t.index_offset, t.index_len), &h, &t, e, NULL) == 0);
    char *one = cd_alloc(h.page_size), *two = cd_alloc(h.page_size);
    for (uint32_t i = 0; i < t.page_count; i++) {
        struct cd_str frame = cd_str_sub(all, e[i].offset, LTX_FRAME_HEAD + e[i].stored);
        int a = ltx_file_page(z, f, i, one, NULL),
            b = ltx_frame_page(z, frame, &e[i], h.page_size, two, NULL);
        CD_ASSERT(a == b && (a == 0 || a == CD_ECORRUPT));
        CD_ASSERT(a != 0 || memcmp(one, two, h.page_size) == 0);
        CD_ASSERT(ltx_file_find(f, e[i].pgno) == i);
    }
    cd_free(one);
    cd_free(two);
    cd_free(e);
}

static void segment(struct cd_str bytes)
{
    struct ltx_zstd *z = ltx_zstd_new();
    struct cd_buf b = {0}, why = {0}, merged = {0};
    struct ltx_file f[2];
    cd_buf_add_str(&b, bytes);
    reseal(&b);
    int rc = ltx_file_open(&f[0], cd_buf_str(&b), NULL, &why);
    CD_ASSERT(rc == 0 || (rc == CD_ECORRUPT && why.len > 0));
    if (rc == 0) {
        by_ranges(z, &f[0]);
        rc = ltx_file_verify(z, &f[0], NULL);
        CD_ASSERT(rc == 0 || rc == CD_ECORRUPT);
        CD_ASSERT(ltx_merge(&merged, f, 1, NULL, NULL) == 0);
        CD_ASSERT(ltx_file_open(&f[1], cd_buf_str(&merged), NULL, NULL) == 0);
        CD_ASSERT(f[1].h.page_count == f[0].h.page_count && f[1].h.max_txid == f[0].h.max_txid);
        CD_ASSERT(ltx_merge(&b, f, 2, NULL, NULL) == CD_ECORRUPT); /* It reaches no farther. */
    }
    cd_buf_deinit(&b);
    cd_buf_deinit(&why);
    cd_buf_deinit(&merged);
    ltx_zstd_free(z);
}

static void key(struct cd_str bytes)
{
    struct ltx_name name;
    struct cd_buf again = {0};
    if (ltx_key_parse(bytes, &name) == 0) {
        ltx_key(&again, &name);
        CD_ASSERT(cd_str_eq(cd_buf_str(&again), bytes)); /* There is one way to write a key. */
    }
    cd_buf_deinit(&again);
}

/* Three bytes make an object. A plan, if it is one, has no gap and ends where the listing does. */
static void listing(struct cd_str bytes)
{
    struct ltx_object o[64];
    size_t n = 0, plan[64], planned = 0, last = 0;
    for (; n < 64 && bytes.len >= 3; bytes = cd_str_sub(bytes, 3, SIZE_MAX)) {
        uint64_t min = 1 + (unsigned char)bytes.ptr[0], max = min + (unsigned char)bytes.ptr[1];
        unsigned level = (unsigned char)bytes.ptr[2] % 3;
        o[n++] = (struct ltx_object){1, level == 2 ? LTX_L9 : level, level == 2 ? 1 : min, max, 1, 0};
        last = max > last ? max : last;
    }
    uint64_t reach = 0;
    if (ltx_plan_epoch(o, n, UINT64_MAX, plan, &planned, &reach) != LTX_FAULT_NONE)
        return;
    CD_ASSERT(reach == last && planned <= n);
    for (size_t i = 1; i < planned; i++)
        CD_ASSERT(o[plan[i]].min_txid <= o[plan[i - 1]].max_txid + 1 &&
                  o[plan[i]].max_txid > o[plan[i - 1]].max_txid);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct cd_str rest = cd_str_of(data + 1, size - 1);
    if (data[0] == 'k')
        key(rest);
    else if (data[0] == 'l')
        listing(rest);
    else
        segment(rest);
    return 0;
}
