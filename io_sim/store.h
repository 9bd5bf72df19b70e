/* io_sim/store.h: what the files of the simulated store share. */
#ifndef IO_SIM_STORE_H
#define IO_SIM_STORE_H

#include "io_sim/sim_internal.h"
#include "io_sim/sim_store.h"

struct sim_store_object {
    struct cd_buf body; /* owned */
    char token[IO_TOKEN_MAX];
    uint64_t generation;
    int64_t modified_ms;
    bool absent; /* Kept only while listings still show it. */
    uint64_t listed_from_ns, listed_until_ns; /* Listings lag. */
};

struct sim_store_live_rule {
    struct cd_link link;
    struct sim_store_rule rule;
    char *op, *pattern; /* owned; NULL: any */
    uint64_t until_ns;
    unsigned used;
};

struct sim_store {
    struct sim *sim;
    struct sim_store_opts opts;
    struct cd_map objects; /* Key -> struct sim_store_object *. */
    struct cd_map ordinals; /* Key -> requests so far + 1, as a pointer's value. */
    struct cd_list rules, requests;
    uint64_t generation;
    struct sim_hooks on_change;
};
struct sim_store *sim_store(struct sim *sim); /* Made on first use. */

/* One operation on its way. */
enum sim_store_stage { SIM_STORE_LEAVING, SIM_STORE_TRAVELING, SIM_STORE_ANSWERING };
struct sim_store_request {
    struct cd_link link; /* Of sim_store.requests. */
    struct sim_store *store;
    struct sim_event *wire; /* The event that moves it on. */
    struct sim_event *waiting; /* Of the op; NULL: nobody waits any more. */
    struct sim_node *node;
    unsigned life;
    enum sim_kind kind;
    enum sim_store_stage stage;
    struct io_store *out; /* Of the op; NULL for a listing. */
    struct io_list *list;
    size_t own; /* Bytes of the bucket's prefix. */
    struct cd_buf key, body, after; /* owned; key: of a listing its prefix */
    enum io_put how;
    char token[IO_TOKEN_MAX];
    uint64_t from, len;
    unsigned max;
    char delimiter;
    uint64_t draw; /* Of this request alone. */
    int64_t date_ms; /* The store's clock when it answered, as a Date header tells it. */
    bool struck; /* effect holds. */
    enum sim_store_effect effect;
    uint64_t effect_ns;
    /* The answer. */
    int status;
    enum io_outcome outcome;
    const char *why;
    struct io_store found;
    struct io_list listed;
};
static inline bool sim_store_is_write(const struct sim_store_request *q)
{
    return q->kind == SIM_STORE_PUT || q->kind == SIM_STORE_DELETE;
}

/* ---- store_truth.c ---- */
void sim_store_act(struct sim_store_request *q); /* Does it to the truth and sets the answer. */
void sim_store_truth_free(struct sim_store *s);
/* ---- store_rule.c ---- */
void sim_store_decide(struct sim_store_request *q); /* Sets struck and effect. */
void sim_store_rules_free(struct sim_store *s);

#endif
