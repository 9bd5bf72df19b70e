/* sim/cell_truth_internal.h: what the files of the observers share: everything that they know. */
#ifndef SIM_CELL_TRUTH_INTERNAL_H
#define SIM_CELL_TRUTH_INTERNAL_H

#include "base/map.h"
#include "log/slot.h"
#include "ltx/plan.h"
#include "sim/cell_truth.h"
#include "store/records.h"
#include "store/wake.h"

struct truth_object { /* Of the bucket, as it is now. */
    struct cd_buf body;
};

struct truth_row { /* Of a batch that is in a slot or on a follower's disk. */
    struct truth_row *next; /* Of its batch. */
    struct truth_batch *batch;
    struct truth_cell *cell;
    struct truth_session *session;
    uint64_t epoch, min_txid, max_txid;
    bool counts; /* It is history. */
    bool note, apart, whole; /* whole: a first row without a base. */
    bool marker;
    uint64_t base_epoch, base_txid; /* With marker. */
    struct log_alarm alarm;
    size_t offset, length; /* Of the segment in its batch. */
    uint8_t id[LOG_ID_SIZE];
};

struct truth_batch {
    uint64_t number;
    uint8_t digest[LOG_SHA256_SIZE];
    struct truth_row *row, **tail;
    uint64_t slot; /* That has it; 0: none, only followers. */
    size_t offset; /* In that slot's object. */
    struct cd_buf bytes; /* owned; as long as no slot has it. */
};

struct truth_slot {
    bool seal;
    uint64_t first_batch, last_batch, digest;
};

struct truth_member { /* Of the ensemble of a session's record. */
    uint64_t held; /* It has had every batch behind the slots up to this on its disk, durable. */
};

struct truth_session {
    char name[STORE_SESSION_MAX + 1];
    struct cd_map slots; /* By number: all that ever were. */
    struct cd_map batches; /* By number: all that were ever seen. */
    uint64_t prefix, prefix_batch; /* The unbroken row of its own slots. */
    uint64_t proven; /* Batches up to this are its history: those, and what was shown as followers had it. */
    struct store_log_record log; /* Of its record, as it was last. */
    struct truth_member member[STORE_ENSEMBLE_MAX];
    uint64_t seal; /* The accepted one; 0: none yet. */
    bool opened, recovering, sealed; /* What its record says, or said. */
    bool replaced; /* Another session has its lease, over a log that was sealed or never opened. */
    struct store_floor floor;
    bool leased;
    uint64_t expires_ms, ttl_ms, leased_ns; /* Of the last renewal that was applied. */
    const char *gone; /* Why nothing may leave it any more; NULL: it may. Owned. */
};

struct truth_epoch {
    struct truth_session *owner; /* NULL: nobody is known to have claimed it. */
    bool begun; /* It has a row of history; then these hold: */
    uint64_t base_epoch, base_txid; /* 0, 0: none. */
    uint64_t last; /* Txid of its newest row of history. */
    uint64_t covered; /* By objects. */
    uint64_t revealed; /* Highest txid that something showed; 0: none. */
    struct cd_map commits; /* By txid: a digest, owned. */
};

struct truth_cell {
    char scope[STORE_SCOPE_MAX + 1];
    struct cd_map epochs;
    bool has_alarm;
    struct cell_alarm_state alarm; /* The newest of the history. */
    bool unsure; /* Its session ended, and whether a change behind that one counted cannot be known. */
    bool found; /* Of one look at all alarms. */
};

struct cell_truth {
    struct cd_map objects, sessions, cells, writers; /* writers: by process text, not owned. */
    struct ltx_zstd *zstd;
    struct cell_truth_counts counts;
    const char *broken;
    struct cd_buf why;
    struct cell_disks disks;
};

void truth_break(struct cell_truth *t, const char *invariant, const char *format, ...) CD_PRINTF(3, 4);

/* Made on first use. */
struct truth_session *truth_session(struct cell_truth *t, struct cd_str name);
struct truth_cell *truth_cell(struct cell_truth *t, struct cd_str scope);
struct truth_epoch *truth_epoch(struct truth_cell *c, uint64_t epoch);
/* The newest position of the history in an epoch below; false: there is none. */
bool truth_newest(const struct truth_cell *c, uint64_t below, uint64_t *epoch, struct truth_epoch **e);
/* The body at key; false: there is none. */
bool truth_get(const struct cell_truth *t, struct cd_str key, struct cd_str *body);
/* The session's process can do nothing that counts any more. */
static inline bool truth_ended(const struct truth_session *s)
{
    return s->sealed || s->replaced;
}

/* cell_truth_log.c. before: what the key had; NULL: nothing. */
void truth_log_change(struct cell_truth *t, const struct store_log_name *name, const struct cell_change *c,
                      const struct cd_str *before);
void truth_session_free(struct truth_session *s);
/* A batch is in a slot of the session, at this place of its object, or (slot 0) on the disk of a follower. */
void truth_batch_seen(struct cell_truth *t, struct truth_session *s, const struct log_batch *b, uint64_t slot,
                      size_t offset);
/* Batches up to this are history. */
void truth_batches_count(struct cell_truth *t, struct truth_session *s, uint64_t upto);
/* The first row of the session's history that no object covers; NULL: none. cell: of this one; NULL: of all.
 * upto_slot: of those in slots up to this one; UINT64_MAX: also of those in none. */
const struct truth_row *truth_uncovered(const struct truth_session *s, const struct truth_cell *cell,
                                        uint64_t upto_slot);

/* cell_truth_follow.c */
/* Something shows the transaction: if followers prove it, it is history from now on. */
void truth_follow_shown(struct cell_truth *t, const struct truth_cell *c, uint64_t epoch, uint64_t txid);
/* The same of the next change of the cell's alarm: something that would find the one that counts has gone.
 * False: no follower proves any. */
bool truth_follow_alarm(struct cell_truth *t, const struct truth_cell *c);
/* An object has it: if a recovery can have it from a follower, it is history from now on. */
void truth_follow_folded(struct cell_truth *t, struct truth_cell *c, uint64_t epoch, uint64_t txid);
/* The record of s says so of its log. */
void truth_follow_record(struct cell_truth *t, struct truth_session *s, const struct store_log_record *log);
/* The session has ended. */
void truth_follow_sealed(struct cell_truth *t, struct truth_session *s);
/* Its record says that no follower has what it confirmed. */
void truth_follow_lost(struct cell_truth *t, const struct truth_session *s);
/* I5 of all sessions: what was shown and is in no slot is on a disk. */
void truth_follow_audit(struct cell_truth *t);

/* cell_truth_owner.c */
void truth_owner_change(struct cell_truth *t, struct cd_str scope, const struct cell_change *c,
                        const struct cd_str *before);
void truth_lease_change(struct cell_truth *t, struct cd_str node, const struct cell_change *c,
                        const struct cd_str *before);

/* cell_truth_chain.c */
void truth_object_change(struct cell_truth *t, const struct ltx_name *name, const struct cell_change *c);
void truth_row_counts(struct cell_truth *t, struct truth_row *r); /* It has become history. */
void truth_audit_cell(struct cell_truth *t, struct truth_cell *c);

/* cell_truth_alarm.c */
void truth_alarm_counts(struct truth_row *r);
/* I10 of all cells, after what happened. */
void truth_alarms_found(struct cell_truth *t, const char *when);

#endif
