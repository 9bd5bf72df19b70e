/* tests/log/follow.h: a follower on the simulator, a leader that sends it what it should and what it should
 * not, crashes, damaged disks, and observers that know what was confirmed (fleet.md 6.4, 6.5, 11.4). */
#ifndef TESTS_LOG_FOLLOW_H
#define TESTS_LOG_FOLLOW_H

#include "fixture.h"

#include "base/rng.h"
#include "io_sim/sim_store.h"
#include "log/follower.h"
#include "log/peer_wire.h"
#include "store/records.h"

#define FOLLOW_NODE "node_f"

struct follow {
    uint64_t seed;
    bool damage; /* In: files may rot or vanish. */
    bool gc; /* In: it collects fragments now and then. */
    unsigned steps; /* In; 0: 60 */
    struct sim *sim;
    struct sim_node *node;
    struct io *io; /* Of this life. */
    struct log_follower *follower;
    struct cd_rng rng;
    bool may, over, alive;
    unsigned left; /* Steps to do. */
    /* The leader. */
    struct store_lease lease; /* As the bucket has it. */
    uint64_t log_epoch, first, next; /* Its ensemble's; next: the batch that comes next. */
    uint64_t sent; /* The last batch that was sent, whatever came of it. */
    /* What the follower has said. */
    uint64_t confirmed; /* Of the leader's log epoch; first - 1: none. */
    uint64_t truncated; /* No batch above this was given up. */
    uint64_t sealed; /* Answered. */
    uint64_t last_epoch, last_from, last_to; /* What was asked last. */
    bool damaged, open_seen; /* open_seen: in this life an append passed while the lease was good. */
    unsigned confirms, certified, crashes;
    /* The verdict. */
    const char *broken;
    struct cd_buf why;
};

void follow_run(struct follow *f); /* Inputs are set, the rest is zero. */
void follow_deinit(struct follow *f);

/* The bytes of batch n of SESSION. */
void follow_batch(struct cd_buf *to, uint64_t n, uint64_t log_epoch, uint64_t first);
void follow_lease_put(struct sim *sim, const struct store_lease *l);
struct store_lease follow_lease(uint64_t log_epoch); /* Open, with FOLLOW_NODE in its ensemble. */
/* In a fiber: sends batches from..to (none when to < from). HTTP status. */
int follow_append(struct log_follower *f, const struct log_append *a, uint64_t from, uint64_t to,
                  struct log_append_answer *answer);
int follow_seal(struct log_follower *f, uint64_t log_epoch, struct log_seal_answer *answer);
/* body keeps what t borrows. A tail that is none: CD_ECORRUPT. */
int follow_tail(struct log_follower *f, struct log_tail *t, struct cd_buf *body);

#endif
