/* ltx/merge.c: a run of segments as one. Frames are copied as they are: a page's own checksum goes with it.
 */
#include "ltx/ltx_internal.h"

#include "base/encode.h"

struct ltx_merge {
    const struct ltx_file *source; /* Borrowed. */
    uint32_t *next; /* owned. Of each source: the first entry that is not behind us. */
    size_t count;
    struct ltx_header h;
    struct cd_buf out;
    struct cd_buf index; /* Entries of out. */
    uint64_t crc; /* Of out. */
    bool counted; /* h.page_count is known: the header comes first, so a first walk counts. */
    bool ready;
};

/* Whether the sources follow each other; reach is where the run ends. */
static int check_sources(const struct ltx_file *source, size_t count, bool join, struct cd_buf *why)
{
    const struct ltx_header *first = &source[0].h;
    uint64_t reach = first->max_txid;
    for (size_t i = 1; i < count; i++) {
        const struct ltx_header *h = &source[i].h;
        if (h->page_size != first->page_size || h->scope_hash != first->scope_hash)
            return ltx_corrupt(why, "source %zu is of another database", i);
        if (join ? h->epoch < source[i - 1].h.epoch : h->epoch != first->epoch)
            return ltx_corrupt(why, "source %zu is of epoch %llu, the one before of %llu", i,
                               (unsigned long long)h->epoch, (unsigned long long)source[i - 1].h.epoch);
        if (h->min_txid > reach + 1 || h->max_txid <= reach)
            return ltx_corrupt(why, "source %zu has txids %llu to %llu where %llu is next", i,
                               (unsigned long long)h->min_txid, (unsigned long long)h->max_txid,
                               (unsigned long long)reach + 1);
        reach = h->max_txid;
    }
    return 0;
}

static int check_opts(const struct ltx_header *first, const struct ltx_header *last,
                      const struct ltx_merge_opts *o, struct cd_buf *why)
{
    bool fits = true;
    if (o->epoch != 0)
        fits = o->epoch >= last->epoch && o->base_epoch > 0 && o->base_epoch < o->epoch && o->min_txid == 0 &&
               o->base_txid > 0 && o->base_txid + 1 >= first->min_txid && o->base_txid < first->max_txid;
    else if (o->min_txid != 0)
        fits = o->min_txid >= first->min_txid && o->min_txid <= first->max_txid;
    if (!fits)
        return ltx_corrupt(why, "sources from txid %llu to %llu of epoch %llu are not what is asked for",
                           (unsigned long long)first->min_txid, (unsigned long long)last->max_txid,
                           (unsigned long long)last->epoch);
    return 0;
}

int ltx_merge_new(struct ltx_merge **out, const struct ltx_file *source, size_t count,
                  const struct ltx_merge_opts *opts, struct cd_buf *why)
{
    CD_ASSERT(count > 0);
    const struct ltx_merge_opts none = {0}, *o = opts == NULL ? &none : opts;
    const struct ltx_header *first = &source[0].h, *last = &source[count - 1].h;
    int rc = check_sources(source, count, o->epoch != 0, why);
    if (rc == 0)
        rc = check_opts(first, last, o, why);
    if (rc != 0)
        return rc;
    struct ltx_merge *m = cd_new(struct ltx_merge);
    m->source = source;
    m->count = count;
    m->next = cd_alloc(count * sizeof *m->next);
    m->h = *first;
    m->h.flags &= ~(unsigned)LTX_DBSUM;
    m->h.commit = last->commit;
    m->h.max_txid = last->max_txid;
    m->h.timestamp_ms = last->timestamp_ms;
    if (o->epoch != 0) {
        m->h.flags = LTX_MARKER;
        m->h.epoch = o->epoch;
        m->h.base_epoch = o->base_epoch;
        m->h.base_txid = o->base_txid;
        m->h.min_txid = o->base_txid + 1;
    } else if (o->min_txid > first->min_txid) {
        m->h.flags = 0;
        m->h.base_epoch = m->h.base_txid = 0;
        m->h.min_txid = o->min_txid;
    }
    m->h.page_count = 0;
    *out = m;
    return 0;
}

/* The lowest page that some source still has, in its newest version; all its versions are behind us then.
 * False: none up to the last commit. */
static bool take_page(struct ltx_merge *m, struct ltx_entry *e, struct cd_str *frame)
{
    uint32_t lowest = UINT32_MAX;
    for (size_t i = 0; i < m->count; i++) {
        if (m->next[i] < m->source[i].h.page_count) {
            struct ltx_entry at = ltx_file_entry(&m->source[i], m->next[i]);
            lowest = at.pgno < lowest ? at.pgno : lowest;
        }
    }
    if (lowest > m->h.commit)
        return false;
    for (size_t i = 0; i < m->count; i++) {
        if (m->next[i] == m->source[i].h.page_count)
            continue;
        struct ltx_entry at = ltx_file_entry(&m->source[i], m->next[i]);
        if (at.pgno == lowest) {
            *e = at;
            *frame = cd_str_sub(m->source[i].bytes, (size_t)at.offset, (size_t)LTX_FRAME_HEAD + at.stored);
            m->next[i]++;
        }
    }
    return true;
}

/* The first walk looks at indexes alone: a page of it is as much work as so many copied bytes. */
#define COUNT_COST 256u

static void count_step(struct ltx_merge *m, size_t bytes)
{
    struct ltx_entry e;
    struct cd_str frame;
    for (size_t done = 0; done < bytes; done += COUNT_COST) {
        if (!take_page(m, &e, &frame)) {
            memset(m->next, 0, m->count * sizeof *m->next);
            m->counted = true;
            char *at = cd_buf_reserve(&m->out, LTX_HEADER_SIZE);
            ltx_put_header(at, &m->h);
            m->out.len = LTX_HEADER_SIZE;
            m->crc = cd_crc64(0, at, LTX_HEADER_SIZE);
            return;
        }
        m->h.page_count++;
    }
}

static void finish(struct ltx_merge *m)
{
    uint64_t index_offset = m->out.len;
    CD_ASSERT(m->index.len == (size_t)m->h.page_count * LTX_INDEX_ENTRY);
    cd_buf_add_str(&m->out, cd_buf_str(&m->index));
    m->crc = cd_crc64(m->crc, m->index.ptr, m->index.len);
    ltx_put_trailer(&m->out, index_offset, m->h.page_count, 0, m->crc);
    m->ready = true;
}

bool ltx_merge_step(struct ltx_merge *m, size_t bytes)
{
    if (!m->counted)
        count_step(m, bytes);
    size_t from = m->out.len;
    while (m->counted && !m->ready) {
        struct ltx_entry e;
        struct cd_str frame;
        if (!take_page(m, &e, &frame)) {
            finish(m);
            break;
        }
        e.offset = m->out.len;
        ltx_put_index_entry(&m->index, &e);
        cd_buf_add_str(&m->out, frame);
        m->crc = cd_crc64(m->crc, frame.ptr, frame.len);
        if (m->out.len - from >= bytes)
            break;
    }
    return m->ready;
}

struct cd_buf ltx_merge_take(struct ltx_merge *m)
{
    CD_ASSERT(m->ready);
    return cd_buf_move(&m->out);
}

void ltx_merge_free(struct ltx_merge *m)
{
    if (m == NULL)
        return;
    cd_buf_deinit(&m->out);
    cd_buf_deinit(&m->index);
    cd_free(m->next);
    cd_free(m);
}

int ltx_merge(struct cd_buf *out, const struct ltx_file *source, size_t count,
              const struct ltx_merge_opts *opts, struct cd_buf *why)
{
    struct ltx_merge *m = NULL;
    int rc = ltx_merge_new(&m, source, count, opts, why);
    if (rc != 0)
        return rc;
    CD_ASSERT(out->len == 0);
    (void)ltx_merge_step(m, SIZE_MAX);
    cd_buf_deinit(out);
    *out = ltx_merge_take(m);
    ltx_merge_free(m);
    return 0;
}
