/* store/records.h: the JSON records of ownership, leases and the node log: their values, and reading and
 * writing them (fleet.md 2.2 to 2.4, 2.10).
 *
 * Pure. Reading is strict: CD_ECORRUPT (malformed, or a value that cannot be), CD_ETOOBIG, CD_EUNSUPPORTED (a
 * version we do not know, which is never taken for absence), each with a reason in why (may be NULL), and out
 * as it was. Unknown fields are ignored; the functions that rewrite another process's record carry them
 * through. Writers append, and assert that the values are ones that a reader takes. */
#ifndef STORE_RECORDS_H
#define STORE_RECORDS_H

#include "base/json.h"
#include "store/names.h"

#define STORE_RECORD_MAX (256u << 10)
#define STORE_NUMBER_MAX ((UINT64_C(1) << 53) - 1) /* No number in a record is larger. */

/* cells/<cell>/owner.json */
struct store_owner {
    char session[STORE_SESSION_MAX + 1]; /* Empty: released. */
    uint64_t epoch; /* 1 or more. */
};
CD_MUST_USE int store_owner_read(struct store_owner *out, struct cd_str body, struct cd_buf *why);
void store_owner_write(struct cd_buf *out, const struct store_owner *o);

/* cells/<cell>/ltx/retired.json */
CD_MUST_USE int store_retired_epochs_read(uint64_t *retired_below, struct cd_str body, struct cd_buf *why);
void store_retired_epochs_write(struct cd_buf *out, uint64_t retired_below);

/* The `log` object of a lease. */
enum store_log_state { STORE_LOG_OPEN, STORE_LOG_RECOVERING, STORE_LOG_SEALED };
#define STORE_ENSEMBLE_MAX 8
struct store_log_record {
    enum store_log_state state;
    uint64_t epoch; /* Log epoch; 0: no ensemble was named. */
    unsigned ensemble_count;
    char ensemble[STORE_ENSEMBLE_MAX][STORE_NODE_MAX + 1];
    bool may_have_fleet_acks;
    uint64_t slot; /* A lower bound of the stored slots. */
    char claimant[STORE_SESSION_MAX + 1]; /* Not empty only while recovering, with claimed_ms. */
    uint64_t claimed_ms;
    uint64_t seal; /* Of a sealed one: the slot of the seal, 0 when the session never wrote a log. */
};
const char *store_log_state_name(enum store_log_state s); /* "open", "recovering", "sealed" */

/* The `load` object of a lease: advisory. A number that is not there is STORE_ABSENT, in both directions. */
#define STORE_ABSENT UINT64_MAX
#define STORE_LOAD_NUMBERS(X)                                                                                \
    X(sampled_ms)                                                                                            \
    X(owned_cells)                                                                                           \
    X(placement_weight)                                                                                      \
    X(bucket_format)                                                                                         \
    X(resident_cells)                                                                                        \
    X(host_websockets)                                                                                       \
    X(open_fds)                                                                                              \
    X(fd_limit)                                                                                              \
    X(shed_cells)                                                                                            \
    X(rss_bytes)                                                                                             \
    X(in_use_bytes)                                                                                          \
    X(cgroup_working_set_bytes)                                                                              \
    X(cgroup_current_bytes)                                                                                  \
    X(cpu_percent_x100)                                                                                      \
    X(restoring)
#define STORE_LOAD_FLAGS(X)                                                                                  \
    X(pressured)                                                                                             \
    X(memory_headroom)                                                                                       \
    X(rebalance_paused)                                                                                      \
    X(draining)
struct store_load {
#define X(name) uint64_t name;
    STORE_LOAD_NUMBERS(X)
#undef X
#define X(name) bool name;
    STORE_LOAD_FLAGS(X)
#undef X
};
void store_load_init(struct store_load *l); /* Every number absent, every flag false. */
void store_load_write(struct cd_json_out *j, const struct store_load *l); /* As an object. */

/* nodes/<node>.json */
#define STORE_ADDR_MAX 262 /* A name or literal address, a colon and a port. */
struct store_lease {
    char node[STORE_NODE_MAX + 1];
    char generation[STORE_GENERATION_LEN + 1];
    uint64_t seq, expires_ms, ttl_ms;
    char addr[STORE_ADDR_MAX + 1]; /* Empty: it takes no calls of peers. */
    uint64_t peer_protocol;
    char probe_key[STORE_GENERATION_LEN + 1];
    bool paced_handoff, ephemeral;
    bool has_log; /* False: the session has not opened its log; log is then all zero. */
    struct store_log_record log;
    struct store_load load;
};
/* node: whose record it has to be; another one in the body is CD_ECORRUPT. */
CD_MUST_USE int store_lease_read(struct store_lease *out, struct cd_str node, struct cd_str body,
                                 struct cd_buf *why);
void store_lease_write(struct cd_buf *out, const struct store_lease *l);
void store_lease_session(struct cd_buf *out, const struct store_lease *l); /* `<node>/<generation>` */
/* body, which is a lease, with another log object: what a recoverer writes. All else stays, of the log object
 * what this version does not know. */
CD_MUST_USE int store_lease_with_log(struct cd_buf *out, struct cd_str body,
                                     const struct store_log_record *log, struct cd_buf *why);
/* body, which is a lease, with expires_ms 0: the tombstone of a dead one. */
CD_MUST_USE int store_lease_expired(struct cd_buf *out, struct cd_str body, struct cd_buf *why);

/* log/<session>/floor.json. A zeroed one stands for an absent object. */
struct store_floor {
    uint64_t floor, batch; /* The slot, and its last batch. */
    bool has_alarms;
    uint64_t alarms_n, alarms_through; /* The alarm checkpoint. */
    char frozen_by[STORE_SESSION_MAX + 1]; /* Not empty: frozen. */
    uint64_t frozen_ms;
};
CD_MUST_USE int store_floor_read(struct store_floor *out, struct cd_str body, struct cd_buf *why);
void store_floor_write(struct cd_buf *out, const struct store_floor *f);
/* body, which is a floor, with the freeze mark set. */
CD_MUST_USE int store_floor_frozen(struct cd_buf *out, struct cd_str body, struct cd_str by, uint64_t at_ms,
                                   struct cd_buf *why);

/* log/<session>/recovered/<claimant>-<n>.json */
#define STORE_RECOVERED_MAX 512u
struct store_recovered_item {
    char cell[STORE_SCOPE_MAX + 1];
    uint64_t epoch, through;
};
struct store_recovered {
    unsigned count;
    struct store_recovered_item item[STORE_RECOVERED_MAX];
};
CD_MUST_USE int store_recovered_read(struct store_recovered *out, struct cd_str body, struct cd_buf *why);
void store_recovered_write(struct cd_buf *out, const struct store_recovered *r);

#endif
