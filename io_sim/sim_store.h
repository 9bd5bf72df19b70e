/* io_sim/sim_store.h: the simulated bucket, for tests and for celld-sim. simulation.md 4.
 *
 * The truth is a map that changes in one event per request (linearizable). What a node learns of it passes
 * two links, to sim_store_node() and back, which may be slow, cut or clogged, and the rules and rates below.
 * A request that is under way goes on when its node gives up or dies: it may land late. */
#ifndef IO_SIM_SIM_STORE_H
#define IO_SIM_SIM_STORE_H

#include "io_sim/io_sim.h"

/* Zeroed: no latency, no faults, tokens by content as ETags are. */
struct sim_store_opts {
    uint64_t latency_ns, jitter_ns; /* In the store, per request. */
    bool tokens_by_generation; /* Else equal bytes give an equal token. */
    unsigned page_max; /* Entries per page; 0: IO_LIST_MAX. */
    uint64_t list_lag_ns; /* Listings show the keys of so long ago. */
    bool ignores_conditions; /* A store that must be refused. */
    uint32_t throttle_ppm, fail_ppm, lose_request_ppm, lose_answer_ppm, late_ppm; /* Per request. */
    uint64_t late_ns; /* How late at most; 0: 30 s. */
};
void sim_store_set(struct sim *sim, const struct sim_store_opts *o);
void sim_store_get_opts(struct sim *sim, struct sim_store_opts *out);

/* Gives a loop its bucket for this life: io_bucket(io). The prefix is empty or ends in '/'. */
struct io_bucket *sim_bucket(struct io *io, const char *prefix);

enum sim_store_effect {
    SIM_STORE_HOLD_ANSWER, /* Done at once; the answer comes ns later. */
    SIM_STORE_LOSE_ANSWER, /* Done; the connection is reset. */
    SIM_STORE_LOSE_REQUEST, /* Not done; the connection is reset. */
    SIM_STORE_LATE, /* Reaches the store ns later. */
    SIM_STORE_THROTTLE, /* 503 SlowDown, asking for a wait of ns (0: 1 s). Not done. */
    SIM_STORE_FAIL, /* 500; done or not is drawn. */
    SIM_STORE_FAIL_DONE, /* 500; done. */
    SIM_STORE_SLOW, /* ns more in the store. */
    SIM_STORE_CUT_BODY, /* The answer is reset in its body; done. */
    SIM_STORE_DOWN, /* The connection is refused. */
};

struct sim_store_rule {
    enum sim_store_effect effect;
    const struct sim_node *node; /* NULL: of any node. */
    const char *op; /* "get", "head", "put", "delete" or "list"; NULL: any. Copied. */
    const char
        *pattern; /* Of the whole key (list: of its prefix); '*' is any run of bytes. NULL: any. Copied. */
    uint64_t ns;
    uint32_t ppm; /* 0: each that fits. */
    unsigned times; /* It is used up after so many; 0: never. */
    uint64_t for_ns; /* It ends after so long; 0: never. */
};
/* The first rule that fits a request decides; without one the rates of the options do. */
void sim_store_rule(struct sim *sim, const struct sim_store_rule *rule);
void sim_store_heal(struct sim *sim); /* Takes all rules away and sets the rates to 0. */

/* ---- The truth, for checkers and fixtures. Keys are whole: with the bucket's prefix. ---- */

struct sim_object {
    struct cd_str body; /* Good until the next event. */
    const char *token;
    uint64_t generation; /* Rises with every write to the bucket. */
    int64_t modified_ms;
};
bool sim_store_get_truth(struct sim *sim, struct cd_str key, struct sim_object *out); /* False: absent. */
/* Ascending by key. */
void sim_store_each(struct sim *sim, struct cd_str prefix,
                    void (*each)(void *arg, struct cd_str key, const struct sim_object *o), void *arg);
void sim_store_put_truth(struct sim *sim, struct cd_str key, struct cd_str body);
void sim_store_delete_truth(struct sim *sim, struct cd_str key);

/* One change of the truth, at its event: invariants that hold of every step. */
struct sim_store_change {
    struct cd_str key;
    const struct sim_object *before, *after; /* NULL: absent. */
    const struct sim_node *by; /* Whose request it was, dead or alive; NULL: a fixture. */
    unsigned life; /* Of that node, when it asked. */
};
void sim_on_store(struct sim *sim, void (*fn)(void *arg, const struct sim_store_change *change), void *arg);

/* Requests that are under way, those of dead nodes included. */
size_t sim_store_under_way(struct sim *sim);

#endif
