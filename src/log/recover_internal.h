/* log/recover_internal.h: what the files of recovery share: recover.c (election, the record), recover_seal.c
 * (freeze, listing, seal), recover_read.c (history), recover_fold.c (rows to prefixes), clean.c. */
#ifndef LOG_RECOVER_INTERNAL_H
#define LOG_RECOVER_INTERNAL_H

#include "log/alarms.h"
#include "log/recover_rule.h"
#include "log/slot.h"
#include "ltx/ltx.h"
#include "store/retry.h"

#define REC_GETS 64u /* At once, as the next two. */
#define REC_PUTS 128u
#define REC_ASKS 64u
#define REC_SLOTS 1024u /* Of a window. */
#define REC_NOTES 32u /* Cells, at least, of a checkpoint. */

/* How a step ends beside 0, go on, and IO_CANCELED. */
enum {
    REC_ENDED = 1, /* r->end says how the call ends. */
    REC_AGAIN = 2, /* The record changed under us: decide anew. */
};

/* One epoch of one cell in the history. */
struct rec_cell {
    struct cd_str scope; /* owned */
    uint64_t epoch;
    bool known; /* covered was asked for, or comes from a checkpoint. */
    bool broken; /* A consented loss cut it: the rest of it cannot attach. */
    uint64_t covered; /* The prefix reaches this txid. */
    uint64_t noted; /* covered as the last checkpoint that we wrote has it. */
    struct rec_row *row; /* owned; of this window, in txid order */
    size_t count, cap, next;
    struct cd_buf object; /* owned; what is being put, */
    uint64_t object_min, object_max; /* and its range. */
};

struct rec_row {
    struct log_entry e; /* Borrows from the window's slots. */
    uint64_t slot;
};

struct rec_copy { /* Of a batch, at a member. */
    struct cd_str bytes;
    unsigned member;
};

struct rec {
    struct log_recoverer *rr;
    struct log_recover *r;
    struct io *io;
    struct io_bucket *bucket;
    struct cd_str session, node, generation, me;

    struct cd_buf lease_key; /* owned, as the rest */
    struct io_store lease_at; /* Body and token as last read or written. */
    struct store_lease *lease; /* NULL: there is none. */
    uint64_t beat_ns; /* When the claim was last renewed. */

    struct store_floor floor;
    struct log_listed listed;
    struct cd_list recovered; /* Checkpoint keys of earlier passes: struct rec_key.link */
    uint64_t pipeline, seal, last_batch; /* Of the run below the seal. */

    /* What only followers hold: the tail of the witness. */
    bool witnessed, lost; /* lost: there was none, and there will be none. */
    struct log_tail tail;
    struct cd_buf held[LOG_MEMBERS_MAX]; /* Tails as members sent them; tail and copies borrow. */
    struct cd_map copies; /* owned: struct rec_copy by batch: what some member holds */
    struct cd_buf losses; /* JSON: why no member is one. */

    struct log_alarms alarms;
    uint64_t alarms_through;
    struct cd_map cells; /* Of struct rec_cell. */
    uint64_t batch; /* The last one read. */
    bool lossy; /* A slot whose loss was declared was passed, */
    bool gap; /* and it was the last one. */
    /* Not 0: this slot, and all behind it so far, could not be read: a member has to have their batches. */
    uint64_t missing;
    int missing_status;
    struct store_recovered *note; /* Cells completed since the last checkpoint. */
    uint64_t notes; /* Checkpoints written, */
    struct io_store note_put; /* and the one that is being written: */
    struct cd_buf note_key, note_body;
    char claim_id[STORE_SESSION_MAX + 1];
};

/* By which foreign leases are judged: what it is found to be ahead of the store is taken off (4.4). */
int64_t log_rec_wall_ms(const struct rec *c);

struct rec_key {
    struct cd_link link;
    struct cd_buf key;
};

/* recover.c */
uint64_t log_recoverer_window(const struct log_recoverer *rr);
unsigned log_recoverer_page(const struct log_recoverer *rr);
int log_rec_end(struct rec *c, enum log_recover_end end, const char *format, ...)
    CD_PRINTF(3, 4); /* REC_ENDED */
int log_rec_failed(struct rec *c, struct cd_str key, int status,
                   const char *why); /* FAILED, or IO_CANCELED. */
/* Something of the history is missing or corrupt. Reads the record first: when the session was sealed
 * meanwhile it has been cleaned up. Else the event, and REFUSED. */
int log_rec_corrupt(struct rec *c, const char *event, struct cd_str key, const char *why);
/* Something is not there. REC_AGAIN: because another recoverer has sealed the session and cleaned up. */
int log_rec_missed(struct rec *c);
/* Renews the claim when it is time. REC_AGAIN: it is no longer ours. */
int log_rec_beat(struct rec *c);
int log_rec_lease_read(struct rec *c);

const struct log_peers *log_recoverer_peers(const struct log_recoverer *rr);

/* recover_members.c: seals the members of the ensemble, finds the witness; declares what is lost. */
int log_rec_members(struct rec *c);
int log_rec_declare(struct rec *c);
/* Whether members hold every batch from first to last, one at least. */
bool log_rec_held(const struct rec *c, uint64_t first, uint64_t last);
void log_rec_copies_deinit(struct rec *c);

/* recover_seal.c: freezes the floor, finds or makes the seal. */
int log_rec_freeze(struct rec *c);
int log_rec_list(struct rec *c);
int log_rec_seal(struct rec *c);

/* recover_read.c: reads the history into c->alarms and, window by window, into log_rec_fold. */
int log_rec_history(struct rec *c);
/* The object at key into body, tried three times; its digest when sha256 is given. CD_ENOTFOUND, CD_ECORRUPT
 * with why, an IO_ status, or 0. */
int log_rec_get(struct rec *c, struct cd_str key, const uint8_t *sha256, struct cd_buf *body,
                struct cd_buf *why);

/* recover_fold.c: brings the rows of all cells of the window into their prefixes, and forgets them. */
int log_rec_fold(struct rec *c);
int log_rec_notes_read(struct rec *c); /* The checkpoints of earlier passes. */
void log_rec_note_wait(struct rec *c); /* Until no checkpoint of ours is being written. */
struct rec_cell *log_rec_cell_of(struct rec *c, struct cd_str scope, uint64_t epoch);

/* recover_reach.c: covered of those cells of which it is not known. */
int log_rec_reach(struct rec *c, struct rec_cell **cell, size_t count);

/* merge.c. In a fiber: merges segments into out, which was empty, without holding the loop up. opts may be
 * NULL. */
CD_MUST_USE int log_merge(struct io *io, const struct ltx_file *file, size_t count,
                          const struct ltx_merge_opts *opts, struct cd_buf *out, struct cd_buf *why);

/* clean.c: how many of the keys, from the first on, are gone. At most 64. */
#define LOG_DELETES 64u
unsigned log_delete_some(struct io_bucket *bucket, struct cd_buf *key, unsigned count);

#endif
