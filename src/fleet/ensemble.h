/* fleet/ensemble.h: this node and the followers of logs: it picks its own (fleet.md 6.6), and it answers for
 * those of others (10.2).
 *
 * On the control loop. In the bucket posture nothing is picked; what others ask is answered in both. */
#ifndef FLEET_ENSEMBLE_H
#define FLEET_ENSEMBLE_H

#include "fleet/claim.h"
#include "fleet/peer.h"
#include "log/follower.h"
#include "log/log.h"

#define FLEET_ENSEMBLE_SIZE 2u

struct fleet_ensemble {
    /* Set before use. */
    struct io *io;
    struct io_bucket *bucket;
    const struct fleet_self *self;
    struct fleet_peer_client *caller; /* NULL: nobody can be called. */
    struct log_follower *follower;
    struct log *log; /* NULL: not yet, or no longer. */
    uint64_t quarantine_ns; /* CELLD_LOG_EVICT_QUARANTINE_MS; 0: 300 s */

    struct log_peers peers;
    struct log_peer member[FLEET_ENSEMBLE_SIZE]; /* Of the last one that was named. */
    unsigned count;
    uint64_t look_ns; /* Nothing is looked at before. */
    unsigned failures; /* Ensembles and looks in a row that came to nothing. */
    uint64_t named_ns;
    struct cd_map avoided; /* owned: node to struct avoided: members that were replaced of late */
    bool suspect; /* All members were silent at once: nobody is named until somebody answers us (6.9). */
    bool hinted; /* It was said that there is nobody. */
};
void fleet_ensemble_init(struct fleet_ensemble *e); /* Fills in peers; the rest was set. */
void fleet_ensemble_deinit(struct fleet_ensemble *e);
/* Appends, seals and tails, for the follower of e; before that is there they are answered 503. */
void fleet_ensemble_serve(struct fleet_ensemble *e, struct fleet_peer_server *s);
/* In a fiber, about once per second: names an ensemble when there is none, or a better one. IO_OK or
 * IO_CANCELED. */
CD_MUST_USE int fleet_ensemble_pass(struct fleet_ensemble *e);
/* The ensemble was given up because of this member. */
void fleet_ensemble_evicted(struct fleet_ensemble *e, const char *node, enum log_evict why);

/* Who is to be a member. Pure. */
struct fleet_candidate {
    struct log_peer peer;
    bool current; /* A member now. */
    bool pressured;
    uint64_t restoring, hash;
};
/* Whether a lease is that of a node that can follow us now. */
bool fleet_candidate_of(struct fleet_candidate *out, const struct store_lease *lease,
                        const struct fleet_self *self, int64_t now_ms);
/* Puts the best to the front. */
void fleet_candidates_order(struct fleet_candidate *c, size_t count);

#endif
