/* log/leader.h: the batches and slots of a leader as a machine of plain values (fleet.md 1.5, 6.2, 6.3).
 *
 * One struct, one total and deterministic function from an event to what is to be done. It knows nothing of
 * bytes, rows, clocks or I/O. Whoever drives it does the action and brings its end back as an event with the
 * action's op number; an event whose op is not awaited any more changes nothing.
 *
 * What it keeps true: a slot that was cut keeps its number and its batches until it is stored; at most
 * `pipeline` slots are above the durable one; batch m is durable when its slot and every lower one are known
 * to be stored; an answer that proves nothing is followed by a look at the slot itself; an object there that
 * is not ours fences. Batches that followers can acknowledge may stay un-slotted for a while (lazy); all
 * others go into a slot as soon as a place is free (eager). A batch is credited by followers only when all of
 * them confirmed it, the bucket has every batch from before them, and the record says that this may happen.
 */
#ifndef LOG_LEADER_H
#define LOG_LEADER_H

#include "log/log.h"

#define LOG_BACKLOG_AGE_NS                                                                                   \
    IO_SEC(10) /* Of the oldest batch that is not stored: then the backlog is full (6.3). */

enum log_phase {
    LOG_CLOSED, /* No record is published: no slot may exist. */
    LOG_OPENING, /* The record is on its way. */
    LOG_OPEN,
    LOG_SEALING, /* Our own seal is on its way. Nothing is cut any more, from here on. */
    LOG_SEALED,
    LOG_LEFT, /* Ended without a seal: a successor recovers the log. */
    LOG_FENCED,
};

enum log_place_state {
    LOG_PLACE_FREE,
    LOG_PLACE_SENT, /* Its PUT is under way. */
    LOG_PLACE_READ, /* Its slot is being looked at. */
    LOG_PLACE_WAITS_TO_SEND,
    LOG_PLACE_WAITS_TO_READ,
    LOG_PLACE_STORED, /* Known to be stored, above a slot that is not. */
};

struct log_place { /* A slot that is not durable yet. */
    enum log_place_state state;
    bool seal;
    uint64_t slot;
    uint64_t first, batch; /* Its batches, from first to batch. A seal's: 0. */
    uint64_t bytes;
    uint64_t op; /* The awaited one; 0 in FREE and STORED. */
    unsigned failures; /* Answers so far that did not store it. */
};

enum log_fleet_state {
    LOG_FLEET_NONE, /* No ensemble was named, or the last one is given up. */
    LOG_FLEET_ACTIVE,
    LOG_FLEET_DEGRADED, /* Nothing is credited to it any more; the record names it still. */
};

struct log_leader {
    enum log_phase phase;
    unsigned pipeline;
    uint64_t next_batch, next_slot; /* From 1. */
    uint64_t durable_slot, durable_batch; /* D and B of fleet.md 6.3. */
    uint64_t backlog_batches, backlog_bytes; /* Cut, not durable. */
    uint64_t next_op, open_op; /* open_op: of the publication, or of the wait before the next one. */
    bool open_waits;
    unsigned open_failures;
    struct log_place place[LOG_PIPELINE_MAX]; /* Slot n is at n % LOG_PIPELINE_MAX. */
    uint64_t slotted; /* The last batch that is in a slot. */
    uint64_t unslotted_bytes;
    /* The ensemble. */
    enum log_fleet_state fleet;
    uint64_t log_epoch, first_batch; /* Of the last ensemble; 0: there was none. */
    uint64_t confirmed; /* F: by every member of the active one. */
    uint64_t credited; /* By any ensemble; the barrier of the next one. */
    bool acks, acks_asked; /* may_have_fleet_acks is published for log_epoch; is being. */
    uint64_t hurry_to; /* Batches up to this go into slots at once. */
};

/* What the machine does not keep: the clock, and limits. Zero: no limit. */
struct log_pace {
    uint64_t now_ns, unslotted_ns, backlog_ns; /* When the oldest of each was cut; without one: now. */
    uint64_t flush_ns; /* CELLD_LOG_FLUSH_MS */
    uint64_t target_bytes; /* Of a slot. */
    uint64_t window, window_bytes; /* The backlog's: CELLD_LOG_WINDOW, CELLD_LOG_WINDOW_BYTES. */
};

enum log_event_kind {
    LOG_EVENT_OPEN, /* Rows wait, or somebody wants the log opened. */
    LOG_EVENT_PUBLISHED, /* ok, lost */
    LOG_EVENT_CUT, /* bytes: a batch. Only when log_leader_may_cut; else nothing happens. */
    LOG_EVENT_SLOT, /* batch, bytes: the un-slotted ones up to batch. Only when log_leader_slot_due. */
    LOG_EVENT_ENSEMBLE, /* batch: its log epoch. The record names it; it starts with the next batch. */
    LOG_EVENT_CONFIRMED, /* batch: every member has all up to it. */
    LOG_EVENT_ACKS, /* ok: the record says that acknowledgements may exist; op: the log epoch. */
    LOG_EVENT_DEGRADE, /* A member failed, or a better ensemble is wanted. */
    LOG_EVENT_HURRY, /* batch: somebody waits for the slots of all up to it. */
    LOG_EVENT_PUT, /* slot, put */
    LOG_EVENT_READ, /* slot, found */
    LOG_EVENT_WAITED, /* slot; 0: the wait before the next publication. */
    LOG_EVENT_SEAL, /* The graceful end. */
};
enum log_put { /* fleet.md 3.3 */
               LOG_PUT_APPLIED,
               LOG_PUT_NOT_COMMITTED, /* DENIED too. */
               LOG_PUT_REJECTED, /* Something is there. */
               LOG_PUT_UNKNOWN,
};
enum log_found { LOG_FOUND_OURS, LOG_FOUND_NOTHING, LOG_FOUND_OTHER, LOG_FOUND_ERROR };
struct log_event {
    enum log_event_kind kind;
    uint64_t slot, op;
    uint64_t bytes, batch;
    bool ok, lost; /* PUBLISHED: applied; the lease is lost. Neither: ask again. */
    enum log_put put;
    enum log_found found;
};

enum log_action_kind {
    LOG_DO_NOTHING,
    LOG_DO_PUBLISH, /* State open; ends in PUBLISHED. */
    LOG_DO_SEND, /* The bytes of the slot, by conditional create; ends in PUT. Always the same bytes. */
    LOG_DO_READ, /* The head of the slot; ends in READ. */
    LOG_DO_WAIT, /* wait_ns; ends in WAITED. */
    LOG_DO_LOOK, /* A slot was stored: durable_slot may have risen, a place may be free. */
    LOG_DO_FENCE, /* Once. */
    LOG_DO_PUBLISH_ACKS, /* may_have_fleet_acks; ends in ACKS with op. */
    LOG_DO_SEALED, /* Our seal is stored in `slot`: publish it. */
    LOG_DO_LEAVE, /* The seal did not come about; the log stays open. */
};
struct log_action {
    enum log_action_kind kind;
    uint64_t slot, op;
    uint64_t wait_ns;
};

void log_leader_init(struct log_leader *l, unsigned pipeline);
bool log_leader_may_cut(const struct log_leader *l, const struct log_pace *p);
/* Whether a slot is to be cut now. */
bool log_leader_slot_due(const struct log_leader *l, const struct log_pace *p);
uint64_t log_leader_proven(const struct log_leader *l); /* durable_batch of fleet.md 6.8. */
/* Whether another ensemble may be named: everything that only the last one proves is in the bucket. */
bool log_leader_barrier(const struct log_leader *l);
struct log_action log_leader_step(struct log_leader *l, const struct log_event *e);
/* Whether slot is one that the leader awaits an end of; NULL: it is not. */
const struct log_place *log_leader_place(const struct log_leader *l, uint64_t slot);
/* fleet.md 4.12: NULL, or the rule that does not hold. */
const char *log_leader_validate(const struct log_leader *l);

#endif
