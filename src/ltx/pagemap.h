/* ltx/pagemap.h: where each page of a database lies in the objects of a chain (fleet.md 5.12). 16 bytes a
 * page. */
#ifndef LTX_PAGEMAP_H
#define LTX_PAGEMAP_H

#include "ltx/ltx.h"

struct ltx_place {
    uint32_t object; /* UINT32_MAX: nowhere. */
    uint32_t stored;
    uint64_t offset;
};

struct ltx_pagemap {
    uint32_t page_size, commit;
    struct ltx_place *place; /* owned. Of page number index + 1. */
};

/* page_size and commit: of the newest object. */
void ltx_pagemap_init(struct ltx_pagemap *m, uint32_t page_size, uint32_t commit);
void ltx_pagemap_deinit(struct ltx_pagemap *m);
/* The index of an object, in the order of application: what comes later replaces. object is the caller's
 * number for it. */
void ltx_pagemap_add(struct ltx_pagemap *m, uint32_t object, const struct ltx_entry *entry, size_t count);
/* CD_ECORRUPT when a page lies nowhere: the objects are no chain. */
CD_MUST_USE int ltx_pagemap_check(const struct ltx_pagemap *m, struct cd_buf *why);

/* Pages whose frames lie one behind the other in one object: one read. */
struct ltx_run {
    uint32_t object, first, count;
    uint64_t offset, len;
};
/* From page first on, up to max pages, up to the first that wanted says no to. Never over the lock page. */
struct ltx_run ltx_pagemap_run(const struct ltx_pagemap *m, uint32_t first, uint32_t max,
                               bool (*wanted)(void *arg, uint32_t pgno), void *arg);
/* A page of a run out of the bytes that were read for it. */
CD_MUST_USE int ltx_run_page(struct ltx_zstd *z, const struct ltx_pagemap *m, const struct ltx_run *run,
                             struct cd_str bytes, uint32_t pgno, void *page, struct cd_buf *why);

#endif
