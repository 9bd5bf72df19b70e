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

struct truth_row { /* Of a stored slot, whether it counts yet or not. */
    struct truth_row *next; /* In batch order within the session. */
    struct truth_cell *cell;
    struct truth_session *session;
    uint64_t epoch, min_txid, max_txid, slot, batch;
    bool note, apart, whole; /* whole: a first row without a base. */
    bool marker;
    uint64_t base_epoch, base_txid; /* With marker. */
    struct log_alarm alarm;
    size_t offset, length; /* Of the segment in its slot's object. */
    uint8_t id[LOG_ID_SIZE];
};

struct truth_slot {
    bool seal;
    uint64_t first_batch, last_batch, digest;
    struct truth_row *row, **tail;
};

struct truth_session {
    char name[STORE_SESSION_MAX + 1];
    struct cd_map slots; /* By number: all that ever were. */
    struct cd_map batches; /* By number: a digest, owned. */
    uint64_t prefix, prefix_batch; /* The unbroken row of its own slots: its history. */
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
    bool found; /* Of one look at all alarms. */
};

struct cell_truth {
    struct cd_map objects, sessions, cells, writers; /* writers: by process text, not owned. */
    struct ltx_zstd *zstd;
    struct cell_truth_counts counts;
    const char *broken;
    struct cd_buf why;
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
/* The first row of the session's history that no object covers; NULL: none. cell: of this one; NULL: of all.
 */
const struct truth_row *truth_uncovered(const struct truth_session *s, const struct truth_cell *cell,
                                        uint64_t upto_slot);

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
