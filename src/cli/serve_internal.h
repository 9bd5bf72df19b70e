/* cli/serve_internal.h: what the files of serve share. */
#ifndef CLI_SERVE_INTERNAL_H
#define CLI_SERVE_INTERNAL_H

#include "base/map.h"
#include "cli/generation.h"
#include "cli/node.h"
#include "cli/command.h"
#include "cli/serve.h"
#include "http/server.h"
#include "js/site.h"

struct cell_handoff;
struct cell_keeper;
struct cell_router;
struct cell_shard;
struct cell_tunnels;
struct cli_reload;
struct fleet_node;
struct js_cells;
struct js_splices;
struct serve;
struct store_load;

struct shard {
    struct serve *s;
    struct io *io;
    struct http_server *server; /* NULL: not listening. */
    struct js_site *site; /* NULL: nothing is deployed. */
    struct cli_generation *generation; /* What site serves. */
    struct js_worker *blank; /* owned; NULL: the site makes its workers itself. */
    struct js_watch watch;
    /* Of serve_cover.c, on the control loop: */
    uint64_t turn; /* That ran when it was looked at last; 0: none. */
    bool stuck; /* The same turn ran at two looks. */
    struct shard *cover; /* Who accepts for it; NULL: itself. */
    bool covers; /* It accepts for another one. */
    struct io_op stopped;
    struct js_splices
        *splices; /* owned, from the loop's start to its end: sockets of clients that cells have */
    struct io_op splices_stopped;
    struct js_cells *code; /* What runs in cells; NULL as long as there can be none. */
    struct cell_shard *cells;
    struct io_op cells_closed;
    void (*on_cells_closed)(struct shard *shard);
    bool stopping;
    struct cd_buf residents; /* For its next process: serve_reload.c */
    struct cd_list waiting; /* Requests over CELLD_MAX_REQUESTS: serve_admit.c */
    unsigned waiters; /* How many. Atomic. */
    struct io_op look_op;
};

struct serve {
    struct cli *c;
    bool warm; /* V8 has started: this is the copy that celld dev kept waiting. */
    struct io *control;
    struct io_addr at, internal_at; /* at: the bound one, once a shard listens. */
    const char *ownership; /* Of the announcement. */
    bool sole; /* Nobody else works with the store: `celld dev` without --nodes. */
    char *data_dir; /* owned; absolute. All shards read it: a buffer would be written by cd_buf_cstr. */
    uint64_t fd_limit;
    struct cell_router *router; /* owned */
    struct cell_tunnels *tunnels; /* owned */
    struct fleet_node *node; /* owned; NULL: not started */
    struct cell_handoff *handoff; /* owned; NULL: not started */
    bool paused; /* This node keeps the fleet from balancing. */
    struct cell_keeper *keeper; /* owned; of the memory; NULL: not started */
    struct io_signal node_news;
    bool node_tested; /* The bucket is one that celld can work with. */
    bool node_ready, node_halted; /* Cells may be claimed; it will not be ready, or is not any more. */
    bool serves; /* A generation was adopted by all shards. */
    struct cd_map hints; /* Scopes of cells to wake once there is code for them. */
    bool fenced; /* Exit code 3. */
    struct http_server *internal;
    struct cd_buf advertise; /* HOST:PORT of the internal listener, as peers are told. */
    struct shard *shard; /* owned */
    unsigned shards;
    struct cli_generation *current; /* owned; control loop only */
    struct io_timer watch_timer;
    bool started, stopping;
    bool draining; /* Atomic: shards look at it. */
    bool preserve; /* Cells are not handed to others: this node comes back, or all end. */
    uint64_t stop_ns; /* When that began. */
    uint64_t
        turns_end_ns; /* While it stops: turns that last longer than a look are told to end from then on. */
    uint64_t requests_max; /* CELLD_MAX_REQUESTS; UINT64_MAX: no bound. */
    uint64_t admitted; /* Requests that Workers have now, as far as there is a bound. Atomic. */
    bool adopting; /* One at a time. */
    bool ready; /* Atomic: it has said that it serves, and goes on saying so. */
    struct io_fiber *gate; /* Until then; NULL: it does not run. */
    struct cli_reload *reload; /* owned; NULL: it did not begin. */
    struct io_fiber *poller; /* Looks for new deployments; NULL: it does not run. */
    /* Questions to shards: control loop only. */
    unsigned asked;
    struct io_signal answered;
    struct cd_buf failed; /* Why one of them could not. */
    struct cd_buf failure; /* Why the node does not start. */
};

/* Posts fn to a loop of the node, for a shard. */
void cli_serve_post(struct io *from, unsigned loop, struct serve *s, struct shard *shard,
                    void (*fn)(struct serve *s, struct shard *shard, void *arg), void *arg);

/* On the control loop: begins to get a lease and all that goes with it (serve_cells.c). */
void cli_serve_node_start(struct serve *s);
/* In a fiber: until the bucket was tested, which a node does before it serves anything. CD_ECLOSED: as below.
 */
CD_MUST_USE int cli_serve_bucket_wait(struct serve *s, struct cd_buf *why);
/* In a fiber: until cells can be served. CD_ECLOSED: they never will, why. */
CD_MUST_USE int cli_serve_node_wait(struct serve *s, struct cd_buf *why);
/* On the control loop: the load block of the lease, and of /state. */
void cli_serve_load(struct serve *s, struct store_load *load);
/* In a fiber: hands the cells to other nodes, as far as there are any, unless they are to stay. */
void cli_serve_handoff(struct serve *s);
/* In a fiber, when the cells of all shards are closed. */
void cli_serve_node_stop(struct serve *s);
uint64_t cli_serve_activations(const struct serve *s); /* CELLD_ACTIVATIONS, of the whole node. */
/* On the control loop, when the node is announced: looks until it may say that it serves (serve_ready.c). */
void cli_serve_ready_start(struct serve *s);
/* A node that is told to come back (serve_reload.c). On a shard, before its cells close: which it has. */
void cli_reload_note(struct shard *shard);
/* On the control loop, between the node's stop and its end: all of them, if its log was sealed. */
void cli_reload_leave(struct serve *s);
/* In a fiber, once cells can be served: activates what the process before this one had. */
void cli_reload_begin(struct serve *s);
bool cli_reload_over(const struct serve *s);
void cli_reload_free(struct serve *s);
/* On any loop, as long as the node does not drain. */
bool cli_serve_healthy(const struct serve *s, struct io *io);
/* On the control loop, when a generation is served: wakes the cells that were hinted at before. */
void cli_serve_hints_pass(struct serve *s);
/* On a shard: stops its cells; done may come from inside the call. */
void cli_serve_cells_close(struct shard *shard, void (*done)(struct shard *shard));

/* On a shard: gives the request to the Worker when it may have one more, lets it wait, or refuses it. */
void cli_serve_admit(struct shard *shard, struct http_exchange *x);
/* A request that the Worker had is over. */
void cli_serve_leave(struct shard *shard);
/* An admitted request, to the Worker. */
void cli_serve_request(struct shard *shard, struct http_exchange *x);
bool cli_serve_trusts_proxy(const struct serve *s); /* CELLD_TRUST_FORWARDED_HEADERS */
void cli_serve_refuse(struct http_exchange *x, const char *reason); /* 503 */

/* On a shard: its public listener. */
CD_MUST_USE int cli_serve_listen(struct shard *shard, struct cd_buf *why);
/* On the control loop, about once a second: ends turns that are over their time, and the node when one does
 * not end. */
void cli_serve_look(struct serve *s);
/* On the control loop, about once a second: lets other shards accept for those whose turn does not end. */
void cli_serve_cover(struct serve *s);
/* On the control loop: the internal listener, with what peers and operators ask. From then on advertise is
 * known; until the node has started only peers are answered. */
CD_MUST_USE int cli_serve_operator_open(struct serve *s, struct cd_buf *why);
void cli_serve_answer(struct http_exchange *x, int status, struct cd_str json); /* A whole one. */
/* serve_operator.c, serve_state.c: what operators ask about cells (operations.md 5.6, 5.7). */
void cli_operator_cell(struct serve *s, struct http_exchange *x, struct cd_str scope);
void cli_operator_evict(struct serve *s, struct http_exchange *x, struct cd_str scope);
void cli_operator_pause(struct serve *s, struct http_exchange *x, struct cd_str rest);
void cli_operator_resume(struct serve *s, struct http_exchange *x, struct cd_str rest);
void cli_operator_state(struct serve *s, struct http_exchange *x, struct cd_str rest);
/* In a fiber of the control loop: adopts what the deployment pointer names. IO_NOENT: there is none. */
CD_MUST_USE int cli_serve_adopt(struct serve *s, struct cd_buf *why);
/* Begins the end of the node, once. */
void cli_serve_stop(struct serve *s);

#endif
