/* fleet/claim.h: taking the ownership of a cell: cells/<cell>/owner.json. fleet.md 2.3, 4.4, 4.5, 7.1.
 *
 * One call resolves the record and, where the rules allow, claims the next epoch by CAS. On any loop, in a
 * fiber; a dead owner's log is recovered on the control loop before its cell is taken. */
#ifndef FLEET_CLAIM_H
#define FLEET_CLAIM_H

#include "fleet/authority.h"
#include "base/map.h"
#include "io/io.h"
#include "store/records.h"

struct fleet_finisher;

/* Who claims: this process as all its loops know it. Never changes while loops use it. */
struct fleet_self {
    char node[STORE_NODE_MAX + 1];
    char generation[STORE_GENERATION_LEN + 1];
    char session[STORE_SESSION_MAX + 1];
    /* The bucket belongs to this process alone (`celld dev`): every other session is dead. */
    bool sole;
    const struct fleet_authority *authority;
    struct fleet_finisher *finisher; /* Of the control loop (fleet/finish.h). */
};

/* Sessions that are finished, as one loop learned it: true for ever, so it spares reads. Zeroed: empty. */
struct fleet_finished {
    struct cd_map sessions;
};
void fleet_finished_deinit(struct fleet_finished *f);

enum fleet_claim_end {
    FLEET_CLAIM_OWNED, /* epoch is ours, and new. */
    /* A live session of another node has it: owner, epoch, live, addr, until_ms. */
    FLEET_CLAIM_REMOTE,
    FLEET_CLAIM_LOOKED, /* With look_only: no other node that lives has it; from says what a claim would find.
                         */
    FLEET_CLAIM_NOT_OURS, /* With only_ours: the record names no session of this node. */
    FLEET_CLAIM_REFUSED, /* Not by the rules, or not now: why says which. */
    FLEET_CLAIM_RECOVERING, /* The dead owner's log is not recovered yet: ask again (7.8). */
    FLEET_CLAIM_FAILED, /* Reads or the CAS failed; nothing is known to be ours. Ask again. */
};

/* Where an epoch that was claimed comes from. */
enum fleet_claim_from {
    FLEET_CLAIM_FRESH, /* There was no record: no older data can exist. */
    FLEET_CLAIM_RELEASED, /* The record named nobody. An armed alarm that the restore finds needs a note
                             (8.2). */
    /* It named a session of this node, this or an earlier one, at epoch - 1: what this node kept of that
     * epoch may seed this one (4.5 rule 4), and rows of this session are folded first (7.7). */
    FLEET_CLAIM_LOCAL,
    FLEET_CLAIM_TAKEOVER, /* It named a session of another node, which is finished. As for the alarm: a note.
                           */
};

struct fleet_claim {
    struct io *io; /* In: the loop of the calling fiber. */
    struct io_bucket *bucket; /* In */
    const struct fleet_self *self; /* In */
    struct fleet_finished *finished; /* In: of this loop; may be NULL. */
    struct cd_str scope; /* In; borrowed until the call returns. */
    bool look_only; /* In: claims nothing, recovers nothing: REMOTE, or LOOKED (a node that drains or is
                       full). */
    bool only_ours; /* In: takes the cell only when the record names a session of this node (9.10). */
    uint64_t deadline_ns; /* In: of every read and of the CAS together, without recovery. */
    uint64_t recovery_deadline_ns; /* In: how long a recovery may be waited for; IO_FOREVER: until it ends. */
    /* Out */
    enum fleet_claim_end end;
    uint64_t epoch; /* OWNED: ours; REMOTE: of the record */
    enum fleet_claim_from from; /* OWNED */
    char token[IO_TOKEN_MAX]; /* OWNED: of the record as we wrote it. */
    char prior[STORE_SESSION_MAX + 1]; /* LOCAL, TAKEOVER: the session that owned epoch - 1. */
    char owner[STORE_SESSION_MAX + 1]; /* REMOTE: as the record has it */
    char live[STORE_SESSION_MAX + 1]; /* REMOTE: the session that this node has now */
    char addr[STORE_ADDR_MAX + 1]; /* REMOTE: its internal address; may be empty. */
    int64_t until_ms; /* REMOTE: the route may be used until then, never beyond. */
    bool unreadable; /* FAILED: a record makes no sense; asking again helps when somebody has mended it. */
    char why[256]; /* For people, when not OWNED. */
};

/* In a fiber. IO_OK: end says what happened. IO_CANCELED: a CAS may have been applied; that is harmless, the
 * next claim takes a higher epoch. */
CD_MUST_USE int fleet_claim(struct fleet_claim *c);

/* In a fiber: gives a cell back, {us, epoch} -> {"", epoch}, after the caller proved that its prefix holds a
 * complete restore path (5.8). us: this session, or an earlier one of this node that the caller knows to be
 * one (fleet/inventory.h). token: of the record as this session wrote it, which spares reading it; empty: not
 * known. With IO_OK it is that of the released record. IO_OK also when it was released already; CD_EFENCED:
 * the record names another session or epoch; IO_DENIED: this node has no authority; any other status: the
 * outcome is unknown, ask again. */
CD_MUST_USE int fleet_release(struct io *io, struct io_bucket *bucket, const struct fleet_self *self,
                              struct cd_str scope, uint64_t epoch, uint64_t deadline_ns,
                              char token[IO_TOKEN_MAX]);

/* In a fiber: takes a cell that another node has just given back, {"", epoch} -> {us, epoch + 1} (10.5).
 * token: of the record as it was given back, or empty; with IO_OK of ours. IO_OK: the record names us at
 * *taken, also when it did so before. CD_EFENCED: it names another session or epoch; IO_DENIED: this node has
 * no authority; any other status: the outcome is unknown, ask again. */
CD_MUST_USE int fleet_adopt(struct io *io, struct io_bucket *bucket, const struct fleet_self *self,
                            struct cd_str scope, uint64_t epoch, uint64_t deadline_ns,
                            char token[IO_TOKEN_MAX], uint64_t *taken);

#endif
