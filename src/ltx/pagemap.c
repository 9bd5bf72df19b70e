#include "ltx/pagemap.h"

#include "ltx/ltx_internal.h"

#define NOWHERE UINT32_MAX

void ltx_pagemap_init(struct ltx_pagemap *m, uint32_t page_size, uint32_t commit)
{
    *m = (struct ltx_pagemap){page_size, commit, cd_alloc((size_t)commit * sizeof *m->place + 1)};
    for (uint32_t i = 0; i < commit; i++)
        m->place[i].object = NOWHERE;
}

void ltx_pagemap_deinit(struct ltx_pagemap *m)
{
    cd_free(m->place);
    *m = (struct ltx_pagemap){0};
}

void ltx_pagemap_add(struct ltx_pagemap *m, uint32_t object, const struct ltx_entry *entry, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (entry[i].pgno <= m->commit)
            m->place[entry[i].pgno - 1] = (struct ltx_place){object, entry[i].stored, entry[i].offset};
    }
}

int ltx_pagemap_check(const struct ltx_pagemap *m, struct cd_buf *why)
{
    for (uint32_t pgno = 1; pgno <= m->commit; pgno++) {
        if (m->place[pgno - 1].object == NOWHERE && pgno != ltx_lock_page(m->page_size))
            return ltx_corrupt(why, "page %u of %u is in no object", pgno, m->commit);
    }
    return 0;
}

struct ltx_run ltx_pagemap_run(const struct ltx_pagemap *m, uint32_t first, uint32_t max,
                               bool (*wanted)(void *arg, uint32_t pgno), void *arg)
{
    CD_ASSERT(first >= 1 && first <= m->commit && m->place[first - 1].object != NOWHERE);
    const struct ltx_place *at = &m->place[first - 1];
    struct ltx_run run = {at->object, first, 1, at->offset, LTX_FRAME_HEAD + at->stored};
    for (; run.count < max && first + run.count <= m->commit; run.count++) {
        const struct ltx_place *next = at + run.count;
        if (next->object != run.object || next->offset != run.offset + run.len ||
            !wanted(arg, first + run.count))
            break;
        run.len += LTX_FRAME_HEAD + next->stored;
    }
    return run;
}

int ltx_run_page(struct ltx_zstd *z, const struct ltx_pagemap *m, const struct ltx_run *run,
                 struct cd_str bytes, uint32_t pgno, void *page, struct cd_buf *why)
{
    CD_ASSERT(pgno >= run->first && pgno - run->first < run->count);
    if (bytes.len != run->len)
        return ltx_corrupt(why, "%zu bytes were read of %llu", bytes.len, (unsigned long long)run->len);
    const struct ltx_place *at = &m->place[pgno - 1];
    struct ltx_entry e = {pgno, at->stored, at->offset};
    struct cd_str frame =
        cd_str_sub(bytes, (size_t)(at->offset - run->offset), (size_t)LTX_FRAME_HEAD + at->stored);
    return ltx_frame_page(z, frame, &e, m->page_size, page, why);
}
