/* log/follower_rule.h: what a follower decides, as functions of values, and the format of its files
 * (fleet.md 6.4, 6.5). Pure. follower.c does the reading, writing and syncing.
 *
 * A fragment is what one follower holds of one leader's session: the batches of (base, end], all of one log
 * epoch. A leader's word alone is never authority: an epoch is adopted, and a fragment that was loaded from
 * disk is trusted again, only when the leader's lease in the bucket names it. */
#ifndef LOG_FOLLOWER_RULE_H
#define LOG_FOLLOWER_RULE_H

#include "log/peer_wire.h"
#include "store/records.h"

#define LOG_SUSPECT_EVER UINT64_MAX /* It is not known how far: nothing is certified in this epoch. */

struct log_fragment {
    uint64_t epoch, base, end; /* epoch 0: nothing was ever adopted. */
    uint64_t sealed_to; /* Log epochs up to this take no appends any more, for ever. */
    bool verified; /* The lease was looked at since this process has the fragment. */
    /* Not 0: something on the disk says that batches up to this may have been confirmed, and they cannot be
     * read. Until the leader has sent them again the range is not certified. */
    uint64_t suspect;
};

/* ---- Append ---- */

enum log_follow {
    LOG_FOLLOW_REFUSE, /* What is held is the answer. */
    LOG_FOLLOW_SILENT, /* Nothing that is held may count as a confirmation: an error. */
    LOG_FOLLOW_VERIFY, /* Read the leader's lease; then log_follow_verified. */
    LOG_FOLLOW_ADOPT, /* The same, then log_follow_adopts: all old batches go. */
    LOG_FOLLOW_TAKE,
};
/* may: this process is authoritative and past its start. */
enum log_follow log_follow_decide(const struct log_fragment *f, const struct log_append *a, bool may);
/* The lease as it was read; NULL: there is none. */
bool log_follow_verified(const struct log_fragment *f, const struct log_append *a,
                         const struct store_lease *lease, struct cd_str me);
/* first: the number of the first batch of the request. */
bool log_follow_adopts(const struct log_fragment *f, const struct log_append *a,
                       const struct store_lease *lease, struct cd_str me, uint64_t first);
/* The fragment as it is from an adoption on. */
struct log_fragment log_fragment_adopted(const struct log_fragment *f, const struct log_append *a);

/* Which frames of a request are to be stored: those behind end, in order, up to the first violation. */
struct log_take {
    struct cd_str frames; /* The accepted ones that are new. */
    uint32_t count;
    uint64_t first, last; /* Their batches; count 0: nothing. */
    uint64_t base; /* Of the fragment after the request. */
    uint64_t asked; /* The last batch that the request has, as its header says; 0: none. */
    bool violation; /* A frame was not accepted: why says which rule. */
};
void log_follow_take(struct log_take *t, const struct log_fragment *f, const struct log_append *a,
                     struct cd_buf *why);
/* Batches up to end are on the disk. */
void log_fragment_took(struct log_fragment *f, const struct log_take *t);

/* ---- The end ---- */

enum log_closed {
    LOG_CLOSED_NOT, /* Somebody may ask for it yet, or it cannot be known. */
    LOG_CLOSED_EPOCH, /* The session lives with a later log epoch: its batches are in the bucket. */
    LOG_CLOSED_SESSION, /* It is finished, for ever. */
};
/* lease: as it was read; NULL: there is none. */
enum log_closed log_fragment_closed(const struct log_fragment *f, const struct store_lease *lease,
                                    struct cd_str generation);

/* ---- Files ---- */

/* state.json */
void log_fragment_write(struct cd_buf *to, const struct log_fragment *f);
CD_MUST_USE int log_fragment_read(struct log_fragment *f, struct cd_str body);

struct log_kept { /* <first>-<last>.batch */
    uint64_t first, last;
    uint64_t epoch, base, sealed_to;
    uint32_t count;
    struct cd_str frames; /* Reading: borrowed. */
    bool valid;
};
void log_kept_name(struct cd_buf *to, uint64_t first, uint64_t last);
bool log_kept_name_read(struct log_kept *k, struct cd_str name); /* first and last. */
/* f: the fragment as it is with the file. */
void log_kept_write(struct cd_buf *to, const struct log_fragment *f, const struct log_take *t);
/* The rest of k, whose name was read: digest, batches of session in order, name. CD_ECORRUPT. */
CD_MUST_USE int log_kept_read(struct log_kept *k, struct cd_str session, struct cd_str body,
                              struct cd_buf *why);

/* What a restarted process makes of the state that it read (zeroed: none) and the files that it found, in any
 * order; strange: a name that could not be read was among them. */
void log_fragment_load(struct log_fragment *f, struct log_kept *kept, size_t count, bool strange);

/* Whether the batches of (base, end] are all in these files (valid ones of the fragment's epoch), and nothing
 * speaks against it. */
bool log_fragment_complete(const struct log_fragment *f, const struct log_kept *kept, size_t count);

#endif
