/* tests/ltx/rig.h: segments made by hand. */
#ifndef TESTS_LTX_RIG_H
#define TESTS_LTX_RIG_H

#include "base/rng.h"
#include "ltx/ltx.h"
#include "support/test.h"

#define RIG_PAGE 512u
#define RIG_SCOPE CD_STR("Counter:a")

/* What a segment is to hold. Pages: numbers up to a 0; their content follows from number and seed. */
struct rig_segment {
    struct cd_str scope; /* Empty: RIG_SCOPE. */
    unsigned flags;
    uint64_t epoch, min, max, base_epoch, base_txid;
    uint32_t old_commit, commit;
    uint32_t pages[16];
    unsigned seed;
};

/* 0: zeros; every third seed cannot be compressed. */
static inline void rig_page(char *page, uint32_t pgno, unsigned seed)
{
    memset(page, 0, RIG_PAGE);
    if (seed == 0)
        return;
    if (seed % 3 == 0) {
        struct cd_rng r;
        cd_rng_seed(&r, (uint64_t)seed << 32 | pgno, CD_STR("page"));
        cd_rng_fill(&r, page, RIG_PAGE);
    } else {
        (void)snprintf(page, RIG_PAGE, "page %u of seed %u", pgno, seed);
    }
}

static inline struct cd_buf rig_make(struct ltx_zstd *z, const struct rig_segment *s)
{
    struct ltx_builder b = {0};
    char page[RIG_PAGE];
    for (unsigned i = 0; i < CD_COUNT(s->pages) && s->pages[i] != 0; i++) {
        rig_page(page, s->pages[i], s->seed);
        ltx_builder_page(&b, z, s->pages[i], page, RIG_PAGE);
    }
    struct ltx_header h = {.flags = s->flags,
                           .page_size = RIG_PAGE,
                           .commit = s->commit,
                           .min_txid = s->min,
                           .max_txid = s->max == 0 ? s->min : s->max,
                           .epoch = s->epoch == 0 ? 1 : s->epoch,
                           .timestamp_ms = 1700000000000 + (int64_t)s->min,
                           .scope_hash = ltx_scope_hash(s->scope.len > 0 ? s->scope : RIG_SCOPE),
                           .base_epoch = s->base_epoch,
                           .base_txid = s->base_txid};
    struct cd_buf out = {0};
    ltx_builder_finish(&b, z, &h, s->old_commit, &out);
    return out;
}

#endif
