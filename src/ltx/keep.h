/* ltx/keep.h: when a chain has become longer than it pays, what shortens it, and which epochs are not needed
 * any more (fleet.md 5.7, 5.13, 5.14). Pure. */
#ifndef LTX_KEEP_H
#define LTX_KEEP_H

#include "ltx/plan.h"

/* What the decisions compare with. */
struct ltx_keep {
    uint64_t delta_bytes; /* Behind the image: more, and more than the image, is too much; 4 MiB. */
    unsigned epochs; /* Of a chain, at most: 8, */
    size_t objects; /* and behind the image: 64. */
    /* An L1 is due when so many transactions, or bytes, of the epoch are in none:
     * CELLD_LTX_COMPACTION_MIN_TXIDS, CELLD_LTX_COMPACTION_MIN_MB. 0 txids: never (CELLD_LTX_COMPACTION=0).
     */
    uint64_t compact_txids, compact_bytes;
    uint64_t retention_ms; /* CELLD_LTX_RETENTION_SECS; 0: nothing is ever deleted. */
};
struct ltx_keep ltx_keep_default(void);

/* Bytes and objects behind the chain's last whole image, and the image's own. */
struct ltx_weight {
    uint64_t image_bytes, delta_bytes;
    size_t delta_objects;
    unsigned epochs;
};
struct ltx_weight ltx_chain_weight(const struct ltx_chain *c);

/* A join (5.14) of a whole chain by the owner of epoch: the sources are all objects of c but the first, the
 * image; o is what ltx_merge makes one object of, [image's last + 1 .. reach]. False: there is nothing to
 * join. */
bool ltx_join_opts(const struct ltx_chain *c, uint64_t epoch, struct ltx_merge_opts *o);

enum ltx_shorten { LTX_KEEP, LTX_JOIN, LTX_IMAGE };
/* Whether a chain has become longer than it pays, and what shortens it (5.14). handoff: a successor is about
 * to read it. */
enum ltx_shorten ltx_shorten_decide(const struct ltx_weight *w, const struct ltx_keep *k, bool handoff);
/* Whether it is time for an L1: enough transactions or bytes, and two objects to make one of. */
bool ltx_compact_due(uint64_t folded_txid, uint64_t compacted_txid, uint64_t pending_bytes,
                     size_t pending_objects, const struct ltx_keep *k);

/* Epoch GC (5.13): everything below it is in no chain that a restore can come to. That is the epoch of the
 * image that the chain c ends in, and never one of a newer image: a marker may lead past that one. */
uint64_t ltx_retire_base(const struct ltx_chain *c);
#define LTX_RETIRE_MAX 64u
/* The epochs among the objects that may go: below base, not epoch or the one before it, whose newest object
 * is older than the retention; ascending. object in the order of keys: an epoch's are together. */
size_t ltx_retire_pick(const struct ltx_object *object, size_t count, uint64_t base, uint64_t epoch,
                       int64_t now_ms, const struct ltx_keep *k, uint64_t out[LTX_RETIRE_MAX]);

#endif
