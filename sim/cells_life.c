/* sim/cells_life.c: a node of cells, started and ended the way src/cli does it. */
#include "sim/cells_life.h"

#include <stdio.h>

#include "cell/handoff.h"
#include "cell/keeper.h"
#include "cell/tunnel.h"
#include "fleet/node.h"
#include "fleet/peer.h"
#include "http/server.h"
#include "sim/cells_service.h"

#define STOP_GRACE_NS IO_SEC(1)
#define STOP_TOTAL_MS 40000u

struct cells_shard {
    struct cells_life *life;
    struct io *io;
    struct cells_service *service;
    struct cell_shard *cells;
    struct io_op closed;
    struct io_msg open_msg, stop_msg, fence_msg, gone_msg;
};

struct cells_life {
    struct cells_life_opts o;
    struct io *control;
    struct cell_router *router;
    struct cell_tunnels *tunnels;
    struct fleet_node *node;
    struct http_server *internal;
    struct io_op internal_op;
    struct cell_keeper *keeper;
    struct cell_handoff *handoff;
    struct cells_shard shard[CELLS_LOOPS_MAX];
    unsigned open_shards;
    struct io_op stop_op, tunnels_op, keeper_op;
    bool started; /* It has had its lease. */
    bool crashed, ending, tunnels_stopped, stopped;
    bool leaving; /* It hands its cells off, or has done so. */
    bool drains; /* That goes on. */
    bool keeping; /* The keeper is being stopped. */
};

struct cells_life *cells_life_new(const struct cells_life_opts *opts)
{
    struct cells_life *l = cd_new(struct cells_life);
    CD_ASSERT(opts->loops >= 2 && opts->loops <= CELLS_LOOPS_MAX);
    l->o = *opts;
    l->router = cell_router_new(opts->loops);
    l->tunnels = cell_tunnels_new(l->router);
    for (unsigned i = 0; i < opts->loops; i++)
        l->shard[i].life = l;
    return l;
}

void cells_life_free(struct cells_life *l)
{
    if (l == NULL)
        return;
    CD_ASSERT(l->node == NULL && l->internal == NULL && l->open_shards == 0 && !l->drains);
    cell_tunnels_free(l->tunnels);
    cell_router_free(l->router);
    cd_free(l);
}

bool cells_life_started(const struct cells_life *l)
{
    return l->started;
}

bool cells_life_stopped(const struct cells_life *l)
{
    return l->stopped;
}

struct cd_str cells_life_session(const struct cells_life *l)
{
    return l->node == NULL ? (struct cd_str){0} : cd_str(fleet_node_self(l->node)->session);
}

unsigned cells_life_residents(const struct cells_life *l)
{
    unsigned n = 0;
    for (unsigned i = 1; i < l->o.loops; i++)
        n += l->shard[i].cells == NULL ? 0 : cell_shard_counts(l->shard[i].cells).resident;
    return n;
}

/* ---- Shards ---- */

static void shard_open(struct io *at, struct io_msg *m)
{
    struct cells_shard *s = CD_CONTAINER(m, struct cells_shard, open_msg);
    struct cells_life *l = s->life;
    const struct cells_life_opts *o = &l->o;
    if (l->ending)
        return;
    struct cell_limits limits = cell_limits_default(o->loops - 1, 2, 8000);
    limits.resident_max = o->resident_max;
    limits.requests_max = o->requests_max;
    limits.activations_max = o->activations_max;
    limits.idle_ns = o->idle_ns;
    limits.proof_ns = o->proof_ns;
    limits.operation_ns = o->operation_ns;
    limits.alarm_resident_ms = o->alarm_resident_ms;
    limits.page_size = o->page_size;
    limits.keep = o->keep;
    limits.image_step = 1024; /* Their databases are small, and something is to happen in between. */
    limits.cache_bytes = o->cache_bytes;
    s->cells = cell_shard_new(&(struct cell_shard_opts){.io = at,
                                                        .router = l->router,
                                                        .code = o->code,
                                                        .code_arg = o->code_arg,
                                                        .self = fleet_node_self(l->node),
                                                        .log = fleet_node_log(l->node),
                                                        .folder = fleet_node_folder(l->node),
                                                        .data_dir = CELLS_DATA_DIR,
                                                        .limits = limits});
    l->open_shards++;
}

static void internal_stopped(struct io_op *op, int status)
{
    struct cells_life *l = CD_CONTAINER(op, struct cells_life, internal_op);
    (void)status;
    http_server_free(l->internal);
    l->internal = NULL;
    l->stopped = true;
}

static void node_stopped(struct io_op *op, int status)
{
    struct cells_life *l = CD_CONTAINER(op, struct cells_life, stop_op);
    (void)status;
    cell_handoff_free(l->handoff);
    l->handoff = NULL;
    fleet_node_free(l->node);
    l->node = NULL;
    if (l->internal != NULL)
        http_server_stop(l->internal, 0, &l->internal_op, internal_stopped);
    else
        l->stopped = true;
}

static void tunnels_stopped(struct io_op *op, int status)
{
    struct cells_life *l = CD_CONTAINER(op, struct cells_life, tunnels_op);
    (void)status;
    fleet_node_stop(l->node, &l->stop_op, node_stopped);
}

static void stop_node(struct cells_life *l);

static void keeper_stopped(struct io_op *op, int status)
{
    struct cells_life *l = CD_CONTAINER(op, struct cells_life, keeper_op);
    (void)status;
    l->keeping = false;
    stop_node(l);
}

/* Cells first, then what they rest on. */
static void stop_node(struct cells_life *l)
{
    if (l->ending && l->keeper != NULL) {
        cell_keeper_stop(l->keeper, &l->keeper_op, keeper_stopped);
        l->keeper = NULL;
        l->keeping = true;
    }
    if (l->drains || l->keeping || !l->ending || l->open_shards > 0 || l->node == NULL || l->tunnels_stopped)
        return;
    l->tunnels_stopped = true;
    cell_tunnels_stop(l->tunnels, l->control, l->crashed, &l->tunnels_op, tunnels_stopped);
}

static void shard_gone(struct io *at, struct io_msg *m)
{
    struct cells_life *l = CD_CONTAINER(m, struct cells_shard, gone_msg)->life;
    (void)at;
    l->open_shards--;
    stop_node(l);
}

static void shard_closed(struct io_op *op, int status)
{
    struct cells_shard *s = CD_CONTAINER(op, struct cells_shard, closed);
    (void)status;
    s->cells = NULL;
    s->gone_msg.handle = shard_gone;
    io_post(s->io, 0, &s->gone_msg);
}

static void end_service(struct cells_shard *s)
{
    if (s->service != NULL)
        cells_service_end(s->service);
    s->service = NULL;
}

static void shard_stop(struct io *at, struct io_msg *m)
{
    struct cells_shard *s = CD_CONTAINER(m, struct cells_shard, stop_msg);
    end_service(s);
    if (s->cells != NULL && !s->life->crashed) /* Else it is unwound, or will be. */
        cell_shard_close(s->cells, io_now_ns(at) + STOP_GRACE_NS, &s->closed, shard_closed);
}

static void shard_fence(struct io *at, struct io_msg *m)
{
    struct cells_shard *s = CD_CONTAINER(m, struct cells_shard, fence_msg);
    struct cells_life *l = s->life;
    (void)at;
    if (s->cells != NULL && !l->ending) /* What ends takes care of itself. */
        cell_shard_fence(s->cells, CD_STR("node_fenced"));
}

/* ---- The node ---- */

static void on_ready(void *arg)
{
    struct cells_life *l = arg;
    l->started = true;
    for (unsigned i = 1; i < l->o.loops; i++) {
        l->shard[i].open_msg.handle = shard_open;
        io_post(l->control, i, &l->shard[i].open_msg);
    }
}

static void on_halt(void *arg, enum fleet_halt how, const char *why)
{
    struct cells_life *l = arg;
    for (unsigned i = 1; i < l->o.loops && how == FLEET_HALT_FENCE; i++) {
        l->shard[i].fence_msg.handle = shard_fence;
        io_post(l->control, i, &l->shard[i].fence_msg);
    }
    l->o.halted(l->o.arg, how == FLEET_HALT_FENCE, why);
}

static void on_hint(void *arg, struct cd_str scope)
{
    struct cells_life *l = arg;
    if (!l->ending && !l->leaving)
        cell_wake_scope(l->router, l->control, scope);
}

static void on_internal(void *arg, struct http_exchange *x)
{
    struct cells_life *l = arg;
    if (l->node == NULL || !fleet_peer_server_handle(fleet_node_peers(l->node), x))
        http_answer_text(x, 404, "text/plain", CD_STR("nothing here"));
}

static void on_load(void *arg, struct store_load *load)
{
    const struct cells_life *l = arg;
    if (l->keeper != NULL)
        cell_keeper_tell(l->keeper, load);
    load->draining = l->leaving;
}

static void on_folded(void *arg, struct cd_str scope, uint64_t epoch, uint64_t max_txid, uint64_t bytes)
{
    struct cells_life *l = arg;
    cell_folded(l->router, l->control, scope, epoch, max_txid, bytes);
}

static void control_boot(struct cells_life *l, struct io *io)
{
    const struct cells_life_opts *o = &l->o;
    const struct io_addr at = {.port = CELLS_PEER_PORT};
    char addr[STORE_NODE_MAX + 8];
    l->control = io;
    int rc = http_server_open(&l->internal, io, &at, 0, NULL, on_internal, l);
    if (rc != 0)
        l->internal = NULL; /* It dies in this very call. */
    (void)snprintf(addr, sizeof addr, "%s:%u", o->node, CELLS_PEER_PORT);
    l->keeper = cell_keeper_new(&(struct cell_keeper_opts){
        .io = io, .router = l->router, .high_mib = o->high_mib, .release = o->release, .weight = 1});
    l->node = fleet_node_start(&(struct fleet_node_opts){.io = io,
                                                         .data_dir = CD_STR(CELLS_DATA_DIR),
                                                         .node = cd_str(o->node),
                                                         .addr = cd_str(addr),
                                                         .ttl_ms = o->ttl_ms,
                                                         .waker_tick_ms = o->waker_ms,
                                                         .pipeline = o->pipeline,
                                                         .fold_ms = o->fold_ms,
                                                         .sole = o->sole,
                                                         .followers = o->followers,
                                                         .flush_ms = o->flush_ms,
                                                         .window = o->window,
                                                         .health = {.backstop_ns = o->backstop_ns},
                                                         .batch_bytes = o->batch_bytes,
                                                         .fold = {.cell_rows = o->fold_rows,
                                                                  .slots = o->fold_slots,
                                                                  .cache_bytes = o->fold_cache,
                                                                  .range_bytes = o->fold_range},
                                                         .ready = on_ready,
                                                         .halt = on_halt,
                                                         .hint = on_hint,
                                                         .load = on_load,
                                                         .folded = on_folded,
                                                         .arg = l});
    cell_tunnels_join(l->tunnels, io, l->node);
    l->handoff = cell_handoff_new(&(struct cell_handoff_opts){.io = io,
                                                              .router = l->router,
                                                              .node = l->node,
                                                              .ttl_ms = o->sole ? 0 : o->ttl_ms,
                                                              .interval_ms = o->balance_ms,
                                                              .activations = 16,
                                                              .load = on_load,
                                                              .arg = l});
}

static void on_answer(void *arg, struct cd_str scope, struct cd_str text)
{
    struct cells_life *l = arg;
    struct cells_output out = {.session = cells_life_session(l), .scope = scope, .text = text};
    if (l->o.output != NULL)
        l->o.output(l->o.arg, &out);
}

void cells_life_boot(struct cells_life *l, struct io *io)
{
    unsigned loop = io_loop_index(io);
    struct cells_shard *s = &l->shard[loop];
    s->io = io;
    if (loop == 0)
        control_boot(l, io);
    else
        s->service = cells_service_new(io, l->router, on_answer, l);
}

void cells_life_unwind(struct cells_life *l, struct io *io)
{
    struct cells_shard *s = &l->shard[io_loop_index(io)];
    l->ending = l->crashed = true;
    if (io_loop_index(io) == 0) {
        stop_node(l);
        return;
    }
    end_service(s);
    if (s->cells != NULL && !io_busy(&s->closed)) /* Also when it was closing; but then it may be gone. */
        cell_shard_unwind(s->cells, &s->closed, shard_closed);
}

static void stop_flow(void *arg)
{
    struct cells_life *l = arg;
    cell_handoff_drain(l->handoff, io_now_ns(l->control), STOP_TOTAL_MS, l->o.releases);
    l->drains = false;
    if (!l->ending) { /* Else it crashed meanwhile. */
        l->ending = true;
        for (unsigned i = 1; i < l->o.loops; i++) {
            l->shard[i].stop_msg.handle = shard_stop;
            io_post(l->control, i, &l->shard[i].stop_msg);
        }
    }
    stop_node(l);
}

void cells_life_stop(struct cells_life *l, struct io *io)
{
    if (l->ending || l->leaving)
        return;
    l->leaving = l->drains = true;
    (void)io_spawn(io, "stop", stop_flow, l);
}
