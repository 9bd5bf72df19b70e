#include "ltx/keep.h"

#define HANDOFF_MARGIN (4u << 20)

struct ltx_keep ltx_keep_default(void)
{
    return (struct ltx_keep){.delta_bytes = 4u << 20,
                             .epochs = 8,
                             .objects = 64,
                             .compact_txids = 256,
                             .compact_bytes = 32u << 20};
}

struct ltx_weight ltx_chain_weight(const struct ltx_chain *c)
{
    struct ltx_weight w = {.epochs = c->epochs};
    for (size_t i = 0; i < c->count; i++) {
        if (i == 0) {
            w.image_bytes = c->object[i].size;
        } else {
            w.delta_bytes += c->object[i].size;
            w.delta_objects++;
        }
    }
    return w;
}

bool ltx_join_opts(const struct ltx_chain *c, uint64_t epoch, struct ltx_merge_opts *o)
{
    if (c->count < 2)
        return false;
    const struct ltx_object *image = &c->object[0];
    *o = (struct ltx_merge_opts){0};
    if (image->epoch == epoch) {
        o->min_txid = image->max_txid + 1;
    } else {
        o->epoch = epoch;
        o->base_epoch = image->epoch;
        o->base_txid = image->max_txid;
    }
    return true;
}

enum ltx_shorten ltx_shorten_decide(const struct ltx_weight *w, const struct ltx_keep *k, bool handoff)
{
    uint64_t floor = w->image_bytes > k->delta_bytes ? w->image_bytes : k->delta_bytes;
    if (w->delta_bytes > floor)
        return LTX_IMAGE;
    if (handoff && w->delta_bytes > HANDOFF_MARGIN)
        return LTX_IMAGE;
    if (w->epochs > k->epochs || w->delta_objects > k->objects) /* A join has all its sources in memory. */
        return w->delta_bytes < w->image_bytes / 4 && w->delta_bytes <= LTX_COMPACT_BYTES ? LTX_JOIN
                                                                                          : LTX_IMAGE;
    return LTX_KEEP;
}

bool ltx_compact_due(uint64_t folded_txid, uint64_t compacted_txid, uint64_t pending_bytes,
                     size_t pending_objects, const struct ltx_keep *k)
{
    return k->compact_txids > 0 && pending_objects >= 2 && folded_txid > compacted_txid &&
           (folded_txid - compacted_txid >= k->compact_txids || pending_bytes >= k->compact_bytes);
}

uint64_t ltx_retire_base(const struct ltx_chain *c)
{
    return c->object[0].epoch;
}

size_t ltx_retire_pick(const struct ltx_object *object, size_t count, uint64_t base, uint64_t epoch,
                       int64_t now_ms, const struct ltx_keep *k, uint64_t out[LTX_RETIRE_MAX])
{
    size_t n = 0;
    if (k->retention_ms == 0)
        return 0;
    for (size_t i = 0, end; i < count && n < LTX_RETIRE_MAX; i = end) {
        int64_t newest = object[i].modified_ms;
        for (end = i + 1; end < count && object[end].epoch == object[i].epoch; end++)
            newest = object[end].modified_ms > newest ? object[end].modified_ms : newest;
        bool old = newest < now_ms && (uint64_t)(now_ms - newest) > k->retention_ms;
        if (object[i].epoch < base && object[i].epoch + 1 < epoch && old)
            out[n++] = object[i].epoch;
    }
    return n;
}
