/* fleet/node.h: a node of a fleet, from its start to its stop, on the control loop. fleet.md 7.9, 9.3,
 * Appendix B.
 *
 * Start: lock of the data directory, storage test, secret of the fleet, wake format, the process key, stale
 * local state removed, recovery of the predecessor session, lease, log, then the waker, the collector and the
 * sweep of dead sessions. Stop: cells first (the caller's), then the log is sealed where it can be, then the
 * endpoints for peers and the lease end. */
#ifndef FLEET_NODE_H
#define FLEET_NODE_H

#include "fleet/claim.h"
#include "fleet/lease.h"
#include "log/fold.h"
#include "log/health.h"

struct fleet_node;
struct fleet_peer_client; /* fleet/peer.h */
struct fleet_peer_server;
struct fleet_secret;
struct log; /* log/log.h */

enum fleet_halt {
    FLEET_HALT_START, /* It could not start: why; exit code 1. */
    FLEET_HALT_FENCE, /* why is the cause: print "SELF-FENCE: " and it, stop everything, exit code 3. */
};

/* Texts are copied. Hooks run on the control loop. */
struct fleet_node_opts {
    struct io *io; /* The control loop. */
    struct cd_str data_dir; /* Absolute; made when absent; locked by this process. */
    struct cd_str node; /* CELLD_NODE; empty: generated. */
    struct cd_str addr; /* Advertised internal address; empty: none. */
    bool public_peers; /* CELLD_UNSAFE_PUBLIC_ADVERTISE */
    uint64_t ttl_ms; /* CELLD_TTL_MS */
    uint64_t waker_tick_ms; /* CELLD_WAKER_TICK_MS */
    unsigned pipeline; /* CELLD_LOG_PIPELINE */
    uint64_t fold_ms; /* CELLD_LOG_FOLD_MS */
    bool followers; /* CELLD_DURABILITY=fleet: other nodes prove writes; without one the bucket does. */
    uint64_t flush_ms, window, window_bytes; /* CELLD_LOG_FLUSH_MS, _WINDOW, _WINDOW_BYTES */
    struct log_health_opts health; /* CELLD_LOG_EVICT_BUDGET_MS, _SUSTAIN_MS, _BACKSTOP_MS, _LOG_HEDGE_MS */
    uint64_t quarantine_ms; /* CELLD_LOG_EVICT_QUARANTINE_MS; 0: 300000 */
    uint64_t batch_bytes; /* Of a batch and a slot; 0: LOG_TARGET_BYTES. For tests, like fold. */
    struct log_folder_limits fold;
    bool sole; /* The bucket is private to this process: other sessions are dead (`celld dev`). */
    void (*tested)(void *arg); /* The bucket keeps what celld rests on. May be NULL. */
    void (*ready)(void *arg); /* Authority is held and the log can be opened: cells may be claimed. */
    void (*halt)(void *arg, enum fleet_halt how, const char *why);
    /* Looks at the alarm of a cell that nobody else will look at: an ordinary cold route that fires nothing
     * by itself (8.4). May come again for the same cell. */
    void (*hint)(void *arg, struct cd_str scope);
    /* What the lease says of the load of this node (2.4), as last sampled; what is not known stays absent.
     * NULL: it says nothing. Asked from the first acquisition on. */
    void (*load)(void *arg, struct store_load *load);
    /* An object of a cell was stored (log/fold.h). May be NULL. */
    void (*folded)(void *arg, struct cd_str scope, uint64_t epoch, uint64_t max_txid, uint64_t bytes);
    void *arg;
};

/* Starts; ready or halt follows. */
struct fleet_node *fleet_node_start(const struct fleet_node_opts *o);
/* What every loop needs to claim. Good from fleet_node_start on until fleet_node_free, for any loop once
 * ready was called. */
const struct fleet_self *fleet_node_self(const struct fleet_node *n);
const struct fleet_authority *fleet_node_authority(const struct fleet_node *n);
struct log *fleet_node_log(struct fleet_node *n); /* From ready on, for feeds of any loop. */
struct log_folder *fleet_node_folder(struct fleet_node *n); /* The same. */
/* The endpoints for peers: what the internal listener gets is asked of it (fleet_peer_server_handle), and
 * whoever has one adds it before that. Good from fleet_node_start to fleet_node_free. Without a secret (sole)
 * it answers 503. */
struct fleet_peer_server *fleet_node_peers(struct fleet_node *n);
/* Calls peers from the control loop, from the recovery of the predecessor to the stop; NULL before, and when
 * sole. */
struct fleet_peer_client *fleet_node_caller(struct fleet_node *n);
/* For clients of other loops: from ready to fleet_node_free. NULL when sole. */
const struct fleet_secret *fleet_node_secret(const struct fleet_node *n);
/* What the hook load tells is written to the lease at once (9.2). On the control loop. */
void fleet_node_refresh(struct fleet_node *n);
/* The session whose record this node's lease replaced; empty: there was none. From ready on. */
struct cd_str fleet_node_predecessor(const struct fleet_node *n);
/* After the stop: whether the log was sealed, so that all that this session proved is in the prefixes. */
bool fleet_node_sealed(const struct fleet_node *n);
/* After every cell and every feed of the log was closed: seals the log where nothing is missing in the
 * prefixes (9.3), else leaves it to recovery, and ends the lease. Also while it still starts, or after a
 * halt. Once. */
void fleet_node_stop(struct fleet_node *n, struct io_op *op, io_done_fn *done);
void fleet_node_free(struct fleet_node *n); /* After the stop. */

#endif
