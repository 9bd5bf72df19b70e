/* sim/model/slot_log.h: an exhaustive model of the node log (fleet.md 6.3, 6.6, 6.7, 7.3 to 7.6).
 *
 * One session (the leader) cuts batches, packs runs of them into slots, ships batches to at most two
 * followers, folds, raises its floor and deletes slots. Recoverers take the session over at any moment, also
 * while the leader is alive. Every request to the bucket may land at once, late, or after its answer was
 * given up. The program visits every reachable state of a small configuration, breadth first. It finds flaws
 * of the rules; the simulator and tests/log find flaws of the code. The rules change in the specification
 * first, then here.
 *
 * Modelled: any packing of batches into slots, which covers eager and lazy cutting; PUTs in flight, given up,
 * landing late, sent again; floor CAS and DELETEs that land late; naming, installing, crediting, degrading
 * and changing an ensemble; appends lost, reordered, duplicated; truncation; recoverers that race, find each
 * other's seal, seal with lost answers, fold with the tail of either member, clean up; the leader's own seal;
 * followers that lose their disk, and with it that they were sealed; every CAS of the session's record with a
 * lost answer, applied at once, late or never.
 * A stop of the leader or of a recoverer needs no step of its own: it is a run in which that actor does
 * nothing more.
 *
 * Not modelled: rows, cells, epochs and markers; alarms; clocks, and with them members that count as lost
 * because they are long away; renewals and heartbeats, which only make other CAS fail. One slot key holds one
 * object, batch n is the number n, all records are linearizable.
 *
 * Checked in every state: once the record has been sealed, every batch acknowledged so far, then or later, is
 * in the per-cell prefixes (S2, S7, S15), unless the loss was declared; no loss is declared while a member
 * has its disk; no recoverer meets a missing slot, a gap between slots, or a member whose base lies above the
 * slots. */
#ifndef SIM_MODEL_SLOT_LOG_H
#define SIM_MODEL_SLOT_LOG_H

#include "base/cd.h"

#define MODEL_SLOTS 4u /* Slots and batches 1 to 3; index 0 of their arrays is unused. */
#define MODEL_MEMBERS 2u
#define MODEL_RECOVERERS 2u
#define MODEL_SEAL 15u /* In the place of a last batch. */

enum { PUT_IDLE, PUT_FLIGHT, PUT_READ, PUT_STORED };
enum { OWN_NONE, OWN_FLIGHT, OWN_READ, OWN_STORED, OWN_RECORDED, OWN_LEFT };
enum { LEASE_OPEN, LEASE_RECOVERING, LEASE_SEALED };
enum { PUBLISH_NONE, PUBLISH_NAME, PUBLISH_MAY, PUBLISH_SEAL };
enum { CAS_NONE, CAS_CLAIM, CAS_RECORD };
enum {
    RECOVER_IDLE,
    RECOVER_CLAIM,
    RECOVER_MEMBERS,
    RECOVER_FREEZE,
    RECOVER_LIST,
    RECOVER_CREATE,
    RECOVER_WAIT,
    RECOVER_READ,
    RECOVER_FOLD,
    RECOVER_RECORD,
    RECOVER_ANSWER,
    RECOVER_CLEAN,
    RECOVER_DONE
};

struct recoverer {
    unsigned at;
    unsigned end; /* Last slot of the unbroken row, as it knows it. */
    unsigned batch, seal; /* Last batch of the history; slot of the seal. */
    unsigned tries, witness_base, witness_end; /* PUTs of its seal; MODEL_SEAL: no witness. */
    unsigned seals[MODEL_SLOTS]; /* Its seal PUTs under way: a bit per try. */
    unsigned cas; /* Its CAS of the record under way. */
};

/* Every field is a number below 16, so that a state packs into half a byte for each. */
struct state {
    /* Leader: batches cut, slots cut; of each slot its batches, the fate of its PUT, PUTs sent. */
    unsigned fenced, cut, slots;
    unsigned last[MODEL_SLOTS], first[MODEL_SLOTS], put[MODEL_SLOTS], tries[MODEL_SLOTS];
    unsigned flight[MODEL_SLOTS][2]; /* PUTs under way: 0, or the last batch in their bytes. */
    /* Ensemble: log epoch that is credited, and one that is only named; the first batch of each; what each
     * member confirmed; the highest credit. */
    unsigned active, named, from[3], confirmed[MODEL_MEMBERS], credited;
    unsigned log_epoch[MODEL_SLOTS]; /* Of each batch. */
    unsigned ship[MODEL_MEMBERS]; /* Appends under way or lost: a bit per batch. */
    /* Followers. lost: the disk is gone, and no append of a log epoch up to that reaches its new process. */
    unsigned fragment[MODEL_MEMBERS], base[MODEL_MEMBERS], end[MODEL_MEMBERS], sealed_to[MODEL_MEMBERS];
    unsigned lost[MODEL_MEMBERS], disks;
    /* Bucket: 0 nothing, MODEL_SEAL a seal. */
    unsigned object_first[MODEL_SLOTS], object_last[MODEL_SLOTS];
    /* The session's record, and floor.json. */
    unsigned lease, epoch, may_have_acks, claimant, seal;
    unsigned ended, declared; /* It was sealed once; the loss of all members is declared. */
    /* What the leader waits to see in the record, whether it is there, its CAS under way; what it knows. */
    unsigned publish, landed, cas, may_known;
    unsigned floor, floor_batch, frozen;
    /* Leader: folded up to this slot, the floor it knows, a floor CAS under way. */
    unsigned folded, own_floor, want, want_from;
    unsigned late_floor[2]; /* A floor CAS given up that may land: floor + 1, expected floor. */
    unsigned asked, deleting; /* Deletes issued once, deletes under way: a bit per slot. */
    /* The graceful end: the leader's own seal, its PUT under way, it is the object in its slot. */
    unsigned own_seal, own_put, own_there;
    unsigned cells; /* Per-cell prefixes: a bit per batch. */
    struct recoverer recoverer[MODEL_RECOVERERS];
};
#define MODEL_FIELDS (sizeof(struct state) / sizeof(unsigned))
#define MODEL_PACKED ((MODEL_FIELDS + 15) / 16 * 8) /* Whole words. */

/* Planted bugs, each in the configuration in which it must be found. */
#define MODEL_BUGS(X)                                                                                        \
    X(HOLE, "hole", 'a')                                                                                     \
    X(UNREAD, "unread", 'a')                                                                                 \
    X(REPACK, "repack", 'a')                                                                                 \
    X(UNCOVERED, "uncovered", 'a')                                                                           \
    X(EARLY, "early", 'a')                                                                                   \
    X(PLAINFLOOR, "plainfloor", 'a')                                                                         \
    X(PLAINSEAL, "plainseal", 'a')                                                                           \
    X(NOFREEZE, "nofreeze", 'a')                                                                             \
    X(NOSEAL, "noseal", 'b')                                                                                 \
    X(ANY, "any", 'c')                                                                                       \
    X(TRUNCATE, "truncate", 'c')                                                                             \
    X(NOTAIL, "notail", 'c')                                                                                 \
    X(NOMAY, "nomay", 'c')                                                                                   \
    X(UNSEALED, "unsealed", 'c')                                                                             \
    X(JOIN, "join", 'c')                                                                                     \
    X(UNJOINED, "unjoined", 'd')                                                                             \
    X(BARRIER, "barrier", 'd')                                                                               \
    X(FORGET, "forget", 'd')                                                                                 \
    X(UNFOLDED, "unfolded", 'e')                                                                             \
    X(REBORN, "reborn", 'f')                                                                                 \
    X(HASTY, "hasty", 'f')                                                                                   \
    X(UNKNOWNMAY, "unknownmay", 'g')                                                                         \
    X(PLAINRECORD, "plainrecord", 'g')                                                                       \
    X(UNRECORDED, "unrecorded", 'i')                                                                         \
    X(FOUNDSEAL, "foundseal", 'h')
enum model_bug {
    BUG_NONE,
#define X(name, text, config) BUG_##name,
    MODEL_BUGS(X)
#undef X
};

struct model {
    /* Batches, pipeline, PUTs per slot and per seal, followers, log epochs, recoverers; whether there are
     * floor and deletes, and a graceful end. */
    unsigned batches, pipeline, puts, seal_puts, members, epochs, recoverers, floors, closes;
    unsigned disks, unclear; /* Disks that may be lost; whether answers to CAS of the record may be. */
    enum model_bug bug;
    const char *verdict; /* NULL: none yet. */
    struct state next; /* The successor that is being made. */
    /* Explorer. */
    uint8_t (*seen)[MODEL_PACKED]; /* owned: states in the order of discovery */
    uint32_t *parent, *table; /* owned */
    const char **how; /* owned: the step that led there */
    uint32_t count, at, limit, buckets;
};

/* explore.c */
void model_init(struct model *m, uint32_t limit); /* Room for so many states; leaves the bounds alone. */
void model_deinit(struct model *m);
/* A copy of s to change, then model_add with the name of the step. */
struct state *model_fork(struct model *m, const struct state *s);
void model_add(struct model *m, const char *step);
/* Visits all states. The verdict: "COMPLETE", "VIOLATION ...", "LIMIT". */
const char *model_run(struct model *m);
void model_trace(const struct model *m); /* The shortest run to the verdict. */

/* steps.c */
unsigned model_up_to(unsigned batch); /* Bits of batches 1..batch. */
unsigned model_durable_slot(const struct model *m, const struct state *s);
unsigned model_durable_batch(const struct model *m, const struct state *s);
void model_leader(struct model *m, const struct state *s);
/* lease.c: the session's record. The leader wants it to say something; a recoverer claims or seals it. */
void model_publish(struct model *m, const struct state *s, unsigned what, const char *step);
void model_lease_claim(struct model *m, const struct state *s, unsigned q);
void model_lease_record(struct model *m, const struct state *s, unsigned q);
void model_lease_leader(struct model *m, const struct state *s); /* What comes of its CAS, to the leader. */
void model_lease_landings(struct model *m, const struct state *s);
/* landings.c: what was sent arrives, also when its sender is gone. */
void model_landings(struct model *m, const struct state *s);
/* recover.c */
void model_recoverer(struct model *m, const struct state *s, unsigned q);

#endif
