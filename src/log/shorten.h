/* log/shorten.h: makes the chain of a cell shorter, and deletes what no chain needs, from its objects alone:
 * joins, L1 objects, epoch GC (fleet.md 5.7, 5.13, 5.14).
 *
 * For the cell's owner, in fibers of any loop. What is in a cell's prefix is proven, so what is made of it
 * may be stored at any time, also after the epoch has ended: it repeats what is there. Nothing waits for
 * these. */
#ifndef LOG_SHORTEN_H
#define LOG_SHORTEN_H

#include "io/io.h"
#include "ltx/keep.h"

struct log_shorten {
    struct io *io; /* In */
    struct io_bucket *bucket; /* In */
    struct cd_str scope; /* In */
    uint64_t epoch; /* In: the owner's. */
    /* Out */
    size_t objects; /* Merged, or deleted; 0: there was nothing to do. */
    uint64_t bytes; /* Of the new object. */
    uint64_t reach; /* Its last txid. */
    struct cd_buf why; /* After an error, for people; owned by the caller. */
};

/* All that is behind the image of c, which ends in the owner's epoch, becomes one object of that epoch. */
CD_MUST_USE int log_join(struct log_shorten *s, const struct ltx_chain *c);
/* The next L1 of the epoch, when k says that it is due. */
CD_MUST_USE int log_compact(struct log_shorten *s, const struct ltx_keep *k);
/* Deletes epochs below base (ltx_retire_base of the newest chain) that are old enough, while the owner's
 * record still names session and the epoch. retired.json says so first. */
CD_MUST_USE int log_retire(struct log_shorten *s, struct cd_str session, uint64_t base,
                           const struct ltx_keep *k);
/* What epoch GC may delete of a cell once it is older than a grace (5.13 step 5). In a fiber; writes nothing.
 */
struct log_retirable {
    struct io *io; /* In */
    struct io_bucket *bucket; /* In */
    struct cd_str scope; /* In */
    uint64_t grace_ms; /* In */
    /* Out */
    uint64_t base; /* Below it. */
    uint64_t *epoch; /* Ascending; cd_free, after an error too. */
    size_t epochs;
    uint64_t bytes; /* Of their objects. */
    struct cd_buf why; /* After an error, for people; owned by the caller. */
};
CD_MUST_USE int log_retirable(struct log_retirable *g);

/* A whole image of txids 1..reach of the epoch. The caller knows that the prefix covers them. */
CD_MUST_USE int log_image_put(struct log_shorten *s, uint64_t reach, struct cd_str body);

/* All objects below a prefix of the cell, in the order of their keys; cd_free(*out). */
CD_MUST_USE int log_objects_list(struct log_shorten *s, struct cd_str prefix, struct ltx_object **out,
                                 size_t *count);

#endif
