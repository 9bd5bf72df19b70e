/* io_sim/inode.c: bytes of a file: the page cache, the log of unsynced changes, and what a crash makes of it.
 */
#include "io_sim/fs.h"

#define LOG_BYTES_MAX (32u << 20) /* More unsynced bytes than that the system writes back on its own. */

/* ---- Pages ---- */

static void page_release(struct sim_page *p)
{
    if (p != NULL && --p->refs == 0)
        cd_free(p);
}

static size_t pages_for(uint64_t size)
{
    return (size_t)((size + SIM_PAGE_BYTES - 1) / SIM_PAGE_BYTES);
}

static void pages_grow(struct sim_pages *p, size_t count)
{
    if (count <= p->count)
        return;
    size_t cap = count + count / 2;
    p->page = cd_realloc(p->page, cap * sizeof(struct sim_page *));
    memset(p->page + p->count, 0, (cap - p->count) * sizeof(struct sim_page *));
    p->count = cap;
}

/* The page to write to: its own, with its old bytes unless all will be overwritten. */
static struct sim_page *page_own(struct sim_pages *p, size_t index, bool whole)
{
    pages_grow(p, index + 1);
    struct sim_page *old = p->page[index];
    if (old != NULL && old->refs == 1)
        return old;
    struct sim_page *made = cd_new(struct sim_page);
    made->refs = 1;
    if (old != NULL && !whole)
        memcpy(made->bytes, old->bytes, SIM_PAGE_BYTES);
    page_release(old);
    p->page[index] = made;
    return made;
}

static void pages_put(struct sim_pages *p, const char *bytes, uint64_t len, uint64_t at)
{
    while (len > 0) {
        size_t offset = (size_t)(at % SIM_PAGE_BYTES);
        size_t take = SIM_PAGE_BYTES - offset < len ? SIM_PAGE_BYTES - offset : (size_t)len;
        struct sim_page *page = page_own(p, (size_t)(at / SIM_PAGE_BYTES), take == SIM_PAGE_BYTES);
        memcpy(page->bytes + offset, bytes, take);
        bytes += take;
        at += take;
        len -= take;
    }
    if (at > p->size)
        p->size = at;
}

static void pages_cut(struct sim_pages *p, uint64_t size)
{
    if (size < p->size) {
        size_t keep = pages_for(size), offset = (size_t)(size % SIM_PAGE_BYTES);
        for (size_t i = keep; i < p->count; i++) {
            page_release(p->page[i]);
            p->page[i] = NULL;
        }
        if (offset != 0 && keep <= p->count && p->page[keep - 1] != NULL)
            memset(page_own(p, keep - 1, false)->bytes + offset, 0, SIM_PAGE_BYTES - offset);
    }
    p->size = size;
}

static void pages_free(struct sim_pages *p)
{
    for (size_t i = 0; i < p->count; i++)
        page_release(p->page[i]);
    cd_free(p->page);
    *p = (struct sim_pages){0};
}

/* to shows what from shows, by sharing pages first..end. */
static void pages_share(struct sim_pages *to, const struct sim_pages *from, size_t first, size_t end)
{
    pages_grow(to, end < from->count ? end : from->count);
    for (size_t i = first; i < end && (i < to->count || i < from->count); i++) {
        struct sim_page *page = i < from->count ? from->page[i] : NULL;
        if (i >= to->count || to->page[i] == page)
            continue;
        page_release(to->page[i]);
        to->page[i] = page;
        if (page != NULL)
            page->refs++;
    }
}

static uint64_t pages_bytes(const struct sim_pages *p)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < p->count; i++)
        sum += p->page[i] == NULL ? 0 : SIM_PAGE_BYTES;
    return sum;
}

/* ---- Changes ---- */

static void log_add(struct sim_inode *i, bool truncate, uint64_t at, uint64_t len, const void *bytes)
{
    size_t size = truncate ? 0 : (size_t)len;
    struct sim_change *c = cd_alloc(sizeof *c + size);
    c->ordinal = ++i->changes;
    c->truncate = truncate;
    c->at = at;
    c->len = len;
    if (size > 0)
        memcpy(c->bytes, bytes, size);
    i->log_bytes += size;
    cd_list_push(&i->log, &c->link);
    if (i->log_bytes > LOG_BYTES_MAX)
        sim_inode_sync(i, i->changes);
}

static void log_pop(struct sim_inode *i, struct sim_change *c)
{
    cd_link_remove(&c->link);
    i->log_bytes -= c->truncate ? 0 : c->len;
    cd_free(c);
}

void sim_inode_read(const struct sim_pages *p, void *buf, size_t len, uint64_t at)
{
    char *to = buf;
    CD_ASSERT(at + len <= p->size);
    while (len > 0) {
        size_t index = (size_t)(at / SIM_PAGE_BYTES), offset = (size_t)(at % SIM_PAGE_BYTES);
        size_t take = SIM_PAGE_BYTES - offset < len ? SIM_PAGE_BYTES - offset : len;
        const struct sim_page *page = index < p->count ? p->page[index] : NULL;
        if (page == NULL)
            memset(to, 0, take);
        else
            memcpy(to, page->bytes + offset, take);
        to += take;
        at += take;
        len -= take;
    }
}

uint64_t sim_inode_growth(const struct sim_inode *i, size_t len, uint64_t at)
{
    uint64_t sum = 0;
    for (size_t k = (size_t)(at / SIM_PAGE_BYTES); k < pages_for(at + len); k++)
        sum += k < i->now.count && i->now.page[k] != NULL ? 0 : SIM_PAGE_BYTES;
    return sum;
}

void sim_inode_write(struct sim_inode *i, const void *bytes, size_t len, uint64_t at)
{
    i->fs->used += sim_inode_growth(i, len, at);
    pages_put(&i->now, bytes, len, at);
    log_add(i, false, at, len, bytes);
}

void sim_inode_truncate(struct sim_inode *i, uint64_t size)
{
    uint64_t old = i->now.size, before = pages_bytes(&i->now);
    pages_cut(&i->now, size);
    i->fs->used -= before - pages_bytes(&i->now);
    log_add(i, true, size, old, NULL);
}

/* What one change does to what is durable. */
static void apply(struct sim_inode *i, const struct sim_change *c)
{
    if (c->truncate)
        pages_cut(&i->durable, c->at);
    else
        pages_put(&i->durable, c->bytes, c->len, c->at);
}

/* Each sector of the write reached the disk, or did not. */
static void apply_torn(struct sim_inode *i, const struct sim_change *c, uint64_t draw)
{
    uint64_t done = 0;
    for (uint64_t sector = 0; done < c->len; sector++) {
        uint64_t left = SIM_SECTOR_BYTES - (c->at + done) % SIM_SECTOR_BYTES;
        uint64_t take = left < c->len - done ? left : c->len - done;
        if (sim_mix(draw, sector) % 2 == 0)
            pages_put(&i->durable, c->bytes + done, take, c->at + done);
        done += take;
    }
}

/* All changes at once: the pages they touched are shared from now on, no byte is copied. */
static void sync_by_sharing(struct sim_inode *i)
{
    struct cd_link *k;
    while ((k = cd_list_first(&i->log)) != NULL) {
        struct sim_change *c = CD_CONTAINER(k, struct sim_change, link);
        uint64_t low = c->truncate && c->len < c->at ? c->len : c->at;
        size_t end = c->truncate ? SIZE_MAX : pages_for(c->at + c->len);
        pages_share(&i->durable, &i->now, (size_t)(low / SIM_PAGE_BYTES), end);
        log_pop(i, c);
    }
    i->durable.size = i->now.size;
}

void sim_inode_sync(struct sim_inode *i, uint64_t upto)
{
    if (upto == i->changes && !i->diverged) {
        sync_by_sharing(i);
        return;
    }
    struct cd_link *k;
    while ((k = cd_list_first(&i->log)) != NULL) {
        struct sim_change *c = CD_CONTAINER(k, struct sim_change, link);
        if (c->ordinal > upto)
            break;
        apply(i, c);
        log_pop(i, c);
    }
}

/* ---- Crashes ---- */

enum sim_fate sim_fate(const struct sim_disk *d, uint64_t draw, bool tears)
{
    uint64_t keep = d->keep, drop = d->drop, tear = tears ? d->tear : 0;
    if (keep + drop + tear == 0) {
        keep = drop = 1;
        tear = tears ? 1 : 0;
    }
    uint64_t at = draw % (keep + drop + tear);
    if (at < keep)
        return SIM_KEEP;
    return at < keep + drop ? SIM_DROP : SIM_TEAR;
}

/* Changes up to an ordinal meet their fates. Without weights a quarter of the files keep all, a quarter lose
 * all, a quarter keep a prefix: what mixed fates alone would hardly ever give in a long log. */
static void draw_fates(struct sim_inode *i, uint64_t upto, uint64_t draw)
{
    const struct sim_disk *d = &i->fs->node->disk;
    bool weighted = d->keep + d->drop + d->tear != 0;
    struct cd_link *k = cd_list_first(&i->log);
    if (k == NULL)
        return;
    uint64_t first = CD_CONTAINER(k, struct sim_change, link)->ordinal;
    uint64_t mode = weighted ? 3 : draw % 4, prefix = first + sim_mix(draw, 1) % (i->changes - first + 1);
    while ((k = cd_list_first(&i->log)) != NULL) {
        struct sim_change *c = CD_CONTAINER(k, struct sim_change, link);
        if (c->ordinal > upto)
            break;
        enum sim_fate fate = sim_fate(d, sim_mix(draw, c->ordinal), !c->truncate);
        if (mode == 0)
            fate = SIM_KEEP;
        else if (mode == 1)
            fate = SIM_DROP;
        else if (mode == 2)
            fate = c->ordinal <= prefix ? SIM_KEEP : SIM_DROP;
        if (fate == SIM_KEEP)
            apply(i, c);
        else if (fate == SIM_TEAR)
            apply_torn(i, c, sim_mix(draw, c->ordinal + 1000000));
        log_pop(i, c);
    }
}

static void show_durable(struct sim_inode *i)
{
    i->fs->used -= pages_bytes(&i->now);
    pages_share(&i->now, &i->durable, 0, SIZE_MAX);
    i->now.size = i->durable.size;
    i->fs->used += pages_bytes(&i->now);
    i->diverged = false;
}

void sim_inode_sync_fails(struct sim_inode *i, uint64_t upto, uint64_t draw)
{
    draw_fates(i, upto, draw);
    i->diverged = true;
    /* Either the cache still shows what is lost, until it is written again, or not even that. */
    if (sim_mix(draw, 3) % 2 == 0 && cd_list_empty(&i->log))
        show_durable(i);
}

void sim_inode_power_loss(struct sim_inode *i)
{
    uint64_t draw = sim_draw(i->fs->node->sim, "power loss", i->key, i->fs->crashes);
    draw_fates(i, UINT64_MAX, draw);
    show_durable(i);
}

void sim_inode_free_pages(struct sim_inode *i)
{
    i->fs->used -= pages_bytes(&i->now);
    pages_free(&i->now);
    pages_free(&i->durable);
    struct cd_link *k;
    while ((k = cd_list_first(&i->log)) != NULL)
        log_pop(i, CD_CONTAINER(k, struct sim_change, link));
}

bool sim_inode_flip(struct sim_inode *i, uint64_t at, unsigned bit)
{
    size_t index = (size_t)(at / SIM_PAGE_BYTES), offset = (size_t)(at % SIM_PAGE_BYTES);
    if (at >= i->now.size || at >= i->durable.size)
        return false;
    struct sim_pages *both[] = {&i->now, &i->durable};
    for (unsigned k = 0; k < 2; k++) {
        struct sim_page *p = page_own(both[k], index, false);
        p->bytes[offset] = (char)(p->bytes[offset] ^ (1 << bit % 8));
    }
    return true;
}
