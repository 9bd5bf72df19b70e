/* fleet/lease_machine.h: the node lease as a machine: (state, event) -> (state, what to do next).
 * fleet.md 4.1.
 *
 * Pure values: no I/O, no clock of its own. fleet/lease.c does what it says, one thing at a time, and tells
 * it how that ended. Two rules carry all: authority is counted from the anchor, an instant before the request
 * was sent; and an attempt whose answer was unclear stays possible until a newer write is known to be there.
 */
#ifndef FLEET_LEASE_MACHINE_H
#define FLEET_LEASE_MACHINE_H

#include "io/io.h"

enum fleet_lease_state {
    FLEET_LEASE_UNSTARTED,
    FLEET_LEASE_READING, /* The record as it is before the first write. */
    FLEET_LEASE_PREDECESSOR, /* An earlier session of this node id is being recovered (7.1, 7.2). */
    FLEET_LEASE_WRITING,
    FLEET_LEASE_READBACK, /* A write was ambiguous or rejected: what is there? */
    FLEET_LEASE_HELD, /* Waits for the next renewal. */
    FLEET_LEASE_RETRYING, /* Not acquired: waits for the next try. */
    FLEET_LEASE_STOPPED,
    FLEET_LEASE_FENCED, /* Final, like STOPPED. */
};

/* What a read of the record found. */
enum fleet_lease_found {
    FLEET_LEASE_FAILED, /* The read failed. */
    FLEET_LEASE_ABSENT,
    FLEET_LEASE_OTHER, /* Another generation whose log is absent or sealed, or a tombstone. */
    FLEET_LEASE_OTHER_LOG, /* Another generation whose log is open or recovering. */
    FLEET_LEASE_OURS, /* This generation: the body of an attempt in the list (attempt), or one older than it.
                       */
    FLEET_LEASE_OURS_PRIOR, /* This generation: the body that is held. */
    FLEET_LEASE_OURS_CHANGED, /* This generation, but somebody changed the log: we were recovered. */
};

enum fleet_lease_outcome { /* fleet.md 3.3 */
                           FLEET_LEASE_APPLIED,
                           FLEET_LEASE_REJECTED,
                           FLEET_LEASE_NOT_COMMITTED,
                           FLEET_LEASE_AMBIGUOUS,
};

enum fleet_lease_event_kind {
    FLEET_LEASE_START,
    FLEET_LEASE_READ, /* found, attempt, token: a read or read-back ended. */
    FLEET_LEASE_RECOVERED, /* ok: the recovery of the predecessor ended. */
    FLEET_LEASE_WROTE, /* outcome, token */
    FLEET_LEASE_TICK, /* Time passed, or a publication is wanted. */
    FLEET_LEASE_LOST, /* cause: another part knows that the session is over. */
    FLEET_LEASE_STOP,
};

struct fleet_lease_event {
    enum fleet_lease_event_kind kind;
    uint64_t now_ns;
    enum fleet_lease_found found;
    unsigned attempt; /* Of FLEET_LEASE_OURS: its index; FLEET_LEASE_ATTEMPTS: not in the list. */
    enum fleet_lease_outcome outcome;
    const char *token; /* Of what was read or written; NULL: none. */
    bool ok;
    const char *cause;
};

enum fleet_lease_action_kind {
    FLEET_LEASE_DO_NOTHING, /* What is in flight goes on. */
    FLEET_LEASE_DO_READ, /* Ends in FLEET_LEASE_READ, as a read-back does. */
    FLEET_LEASE_DO_RECOVER,
    FLEET_LEASE_DO_WRITE, /* The newest attempt: its seq, its publication, wall + ttl of this very instant. */
    FLEET_LEASE_DO_WAIT, /* Until wake_ns or until something is wanted, then TICK. */
    FLEET_LEASE_DO_END, /* Stopped or fenced. */
};

/* A body that was sent: which publication of the log it carries, and when its expiry was computed. */
struct fleet_lease_attempt {
    uint64_t seq, anchor_ns, publication;
};

#define FLEET_LEASE_ATTEMPTS 16u

struct fleet_lease_machine {
    /* Set by the owner before START. */
    uint64_t ttl_ns;
    bool configured_id; /* An absent record may hide earlier sessions: look for their logs first. */

    enum fleet_lease_state state;
    bool acquired; /* Once: `held` is the last write known to be applied. */
    struct fleet_lease_attempt held;
    /* Writes that may still land: all have the same guard. Ascending by seq, all above held.seq. */
    struct fleet_lease_attempt attempt[FLEET_LEASE_ATTEMPTS];
    unsigned attempts;
    bool guard_absent; /* The guard of the next write: no record, or token. */
    char token[IO_TOKEN_MAX];
    uint64_t next_seq;
    uint64_t wanted; /* The publication that the lease should carry. */
    bool looked; /* An absent record was looked behind. */
    bool absent; /* Of PREDECESSOR: there was no record. */
    uint64_t wake_ns; /* Of HELD, RETRYING, READBACK: when to go on. */
    const char *cause; /* Of FENCED. */
};

void fleet_lease_machine_init(struct fleet_lease_machine *m, uint64_t ttl_ns, bool configured_id);
enum fleet_lease_action_kind fleet_lease_step(struct fleet_lease_machine *m,
                                              const struct fleet_lease_event *e);
/* The instant at which authority ends: 0 without one. Good as long as the machine is not fenced. */
uint64_t fleet_lease_deadline_ns(const struct fleet_lease_machine *m);
/* Whether a wait should be cut short: a publication is wanted that nothing in flight carries. */
bool fleet_lease_wants_write(const struct fleet_lease_machine *m);
/* Asserts what holds in every state (4.12). */
void fleet_lease_validate(const struct fleet_lease_machine *m);

#endif
