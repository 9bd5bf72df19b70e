/* fleet/drain.h: how long a node that stops may take to hand its cells off, whose turn it is, and who may
 * take them. fleet.md 2.5, 9.1, 9.2, 9.9. */
#ifndef FLEET_DRAIN_H
#define FLEET_DRAIN_H

#include "fleet/peer.h"
#include "io/io.h"

struct fleet_self;

/* All of CELLD_SHUTDOWN_TOTAL_MS, rounded down; good for any total. */
struct fleet_drain_budget {
    uint64_t token_wait_ms; /* For the drain token; then the drain goes on without it. */
    uint64_t no_progress_ms; /* Without an acknowledgement the drain ends. */
    uint64_t reserve_ms; /* Kept free before the deadline, for giving the token back. */
    uint64_t grace_ms; /* For frames and connections. */
};
struct fleet_drain_budget fleet_drain_budget(uint64_t total_ms);

/* The token: at most one node drains at a time, as far as everybody hears of it. */
#define FLEET_DRAIN_TTL_MS 120000u
#define FLEET_DRAIN_KEY "fleet/drain-token.json"
struct fleet_drain_token {
    struct io *io; /* In, with the next two; borrowed. */
    struct io_bucket *bucket;
    struct cd_str node;
    bool held; /* Out */
    uint64_t until_ns; /* Out: when it has to be renewed at the latest. */
    char token[IO_TOKEN_MAX];
};
/* In a fiber: takes it, or renews it. baseline is a JSON array. IO_BUSY: another node has it; any other
 * status: it is not known. */
CD_MUST_USE int fleet_drain_take(struct fleet_drain_token *t, struct cd_str baseline);
/* In a fiber: does another node have it now? baseline (may be NULL): what its record holds of that, as JSON;
 * empty: nothing. What cannot be read as a token is none. */
CD_MUST_USE int fleet_drain_seen(struct io *io, struct io_bucket *bucket, struct cd_str node, bool *held,
                                 struct cd_buf *baseline);
/* In a fiber: gives it back; it runs out by itself where that fails. */
void fleet_drain_release(struct fleet_drain_token *t, struct cd_str baseline);

/* Who may take cells. */
#define FLEET_RECEIVERS_MAX 64u
struct fleet_receiver {
    struct fleet_peer peer;
    char session[STORE_SESSION_MAX + 1];
    int64_t until_ms; /* Its lease ends. */
    uint64_t cells; /* That it has, with those that were given to it since. */
    uint64_t weight; /* Its share; 0: as 1. */
    bool bounded; /* It takes no more than */
    uint64_t room;
    bool refused; /* It did, since the leases were read. */
};
/* May a cell be offered to whose lease this is? */
bool fleet_may_receive(const struct store_lease *l, const struct fleet_self *self, int64_t now_ms);
/* In a fiber: reads all leases, our own too. What cannot be read as one is passed over. */
CD_MUST_USE int fleet_leases_read(struct io *io, struct io_bucket *bucket,
                                  void (*each)(void *arg, const struct store_lease *l), void *arg);
/* In a fiber: reads all leases. Appends the JSON of the restoration baseline to baseline (may be NULL). */
CD_MUST_USE int fleet_receivers_read(struct io *io, struct io_bucket *bucket, const struct fleet_self *self,
                                     struct fleet_receiver out[FLEET_RECEIVERS_MAX], unsigned *count,
                                     struct cd_buf *baseline);
void fleet_receiver_of(struct fleet_receiver *out, const struct store_lease *l,
                       const struct fleet_self *self);
/* The one with the fewest cells for its weight that lives, has room and has not refused; ties: the smaller
 * node id. NULL: none. */
struct fleet_receiver *fleet_receiver_pick(struct fleet_receiver *r, unsigned count, int64_t now_ms);

#endif
