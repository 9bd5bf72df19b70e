/* fleet/lease.h: the node lease of this process: nodes/<node>.json, its one writer. fleet.md 2.4, 4.1, 4.2.
 *
 * The decisions are in fleet/lease_machine.h; here is the fiber that reads, writes and waits for it, on the
 * control loop and on IO_LANE_LEASE, which never waits behind other traffic. The session's log record rides
 * in the lease: the log says what it wants recorded with fleet_lease_publish. */
#ifndef FLEET_LEASE_H
#define FLEET_LEASE_H

#include "fleet/authority.h"
#include "io/io.h"
#include "store/records.h"

struct fleet_lease;

/* Texts are copied; pointers stay valid until fleet_lease_free. Hooks run on the control loop. */
struct fleet_lease_opts {
    struct io *io; /* The control loop. */
    struct io_bucket *bucket;
    struct fleet_authority *authority;
    struct cd_str node, generation; /* The session is node "/" generation. */
    struct cd_str addr; /* Advertised HOST:PORT; may be empty as long as nobody calls in. */
    uint64_t ttl_ms;
    bool ephemeral; /* The node id was made for this process. */
    bool configured_id; /* The node id may have had earlier sessions: look for their logs (7.1). */
    /* In the lease's fiber: another session of this node id has a log that is neither absent nor sealed;
     * recover it (7.2, mode boot). On an error the lease tries again after ttl/3, for ever. NULL: only waits.
     */
    int (*recover)(void *arg, struct cd_str session);
    void (*load)(void *arg, struct store_load *load); /* Fills in the load block; NULL: it stays empty. */
    uint64_t (*slot)(void *arg); /* bucket_durable_slot of now; NULL: that of the last publication. */
    void (*held)(void *arg); /* Once: the lease was acquired. */
    /* Once, after authority has ended: the process must stop with "SELF-FENCE: cause" and exit code 3. */
    void (*fence)(void *arg, const char *cause);
    void *arg;
};

struct fleet_lease *fleet_lease_new(const struct fleet_lease_opts *o);
void fleet_lease_start(struct fleet_lease *l); /* Acquires, then renews, until stopped or fenced. */
/* Ends renewing and authority without a fence or a write (a closed session; its lease runs out). The lease is
 * idle when done comes. */
void fleet_lease_stop(struct fleet_lease *l, struct io_op *op, io_done_fn *done);
/* The session of the record that was there before ours; empty: there was none. Once it is held. */
struct cd_str fleet_lease_predecessor(const struct fleet_lease *l);
void fleet_lease_free(struct fleet_lease *l); /* Stopped, or never started. NULL is fine. */

/* Records log in the lease. Ends with IO_OK when a write with it, or with a newer publication, was applied;
 * CD_EFENCED: this session is over. An op that is cancelled takes nothing back. Never lasts longer than the
 * lease: what is not applied by then fences. */
void fleet_lease_publish(struct fleet_lease *l, const struct store_log_record *log, struct io_op *op,
                         io_done_fn *done);
/* Another part found that the session is over ("node_log_sealed_fence"). cause is a literal. */
void fleet_lease_fence(struct fleet_lease *l, const char *cause);
/* Writes what the hook load tells now, at once instead of at the next renewal (9.2). */
void fleet_lease_refresh(struct fleet_lease *l);
bool fleet_lease_held(const struct fleet_lease *l); /* Acquired and not fenced; says nothing of the clock. */

#endif
