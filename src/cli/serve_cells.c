/* cli/serve_cells.c: what makes a node that serves one of a fleet: its lease, its log and its data directory
 * on the control loop, and the cells of each shard. architecture.md 5; fleet.md Appendix B. */
#include "cli/serve_internal.h"

#include "cell/handoff.h"
#include "cell/keeper.h"
#include "cell/pressure.h"
#include "cell/tunnel.h"
#include "fleet/node.h"
#include "http/ws.h"
#include "js/cell_splice.h"
#include "js/cells.h"

#define HINTS_MAX 10000u /* Those above it come with the next look of the node. */

/* Unset: fleet. */
static bool has_followers(const struct cli_settings *set)
{
    return !cd_str_eq(set->value[CLI_SET_DURABILITY].text, CD_STR("bucket"));
}

static unsigned num_u32(const struct cli_settings *set, enum cli_set id)
{
    uint64_t n = cli_num(set, id);
    return n > UINT32_MAX ? UINT32_MAX : (unsigned)n;
}

/* ---- Shards ---- */

static struct cell_limits limits_of(const struct serve *s)
{
    const struct cli_settings *set = &s->c->settings;
    struct cell_limits l = cell_limits_default(s->shards, s->c->threads, (unsigned)s->fd_limit);
    if (cli_is_set(set, CLI_SET_MAX_RESIDENT_CELLS)) {
        uint64_t most = cli_num(set, CLI_SET_MAX_RESIDENT_CELLS);
        l.resident_max = most == 0 || most > UINT32_MAX ? UINT32_MAX
                         : most < s->shards             ? 1
                                                        : (unsigned)(most / s->shards);
    }
    if (cli_is_set(set, CLI_SET_ACTIVATIONS)) {
        uint64_t most = cli_num(set, CLI_SET_ACTIVATIONS) / s->shards;
        l.activations_max = most == 0 ? 1 : most > UINT32_MAX ? UINT32_MAX : (unsigned)most;
    }
    l.requests_max = num_u32(set, CLI_SET_MAX_CELL_REQUESTS);
    l.operation_ns = IO_MS(cli_num(set, CLI_SET_OPERATION_DEADLINE_MS));
    l.recovery_retry_ns = IO_MS(cli_num(set, CLI_SET_RECOVERY_RETRY_MS));
    l.recovery_retries = num_u32(set, CLI_SET_RECOVERY_RETRIES);
    l.proof_ns = IO_SEC(cli_num(set, CLI_SET_LTX_DURABILITY_TIMEOUT_SECS));
    l.idle_ns = cli_is_set(set, CLI_SET_IDLE_EVICT_S) ? IO_SEC(cli_num(set, CLI_SET_IDLE_EVICT_S)) : 0;
    l.alarm_resident_ms = (int64_t)cli_num(set, CLI_SET_ALARM_RESIDENT_MS);
    l.verify_local = cli_num(set, CLI_SET_VERIFY_LOCAL) != 0;
    l.keep.compact_txids =
        cli_num(set, CLI_SET_LTX_COMPACTION) != 0 ? cli_num(set, CLI_SET_LTX_COMPACTION_MIN_TXIDS) : 0;
    l.keep.compact_bytes = cli_num(set, CLI_SET_LTX_COMPACTION_MIN_MB) << 20;
    l.keep.retention_ms = has_followers(set) ? cli_num(set, CLI_SET_LTX_RETENTION_SECS) * 1000 : 0;
    l.compactions_max = num_u32(set, CLI_SET_LTX_COMPACTIONS);
    l.cache_bytes = cli_num(set, CLI_SET_LOCAL_CACHE_MAX_BYTES) / s->shards;
    return l;
}

uint64_t cli_serve_activations(const struct serve *s)
{
    return (uint64_t)limits_of(s).activations_max * s->shards;
}

static void shard_open(struct serve *s, struct shard *shard, void *arg)
{
    (void)arg;
    if (shard->stopping)
        return;
    const struct js_cells_opts code = {
        .io = shard->io, .deploy_max_age_ns = IO_SEC(cli_num(&s->c->settings, CLI_SET_DEPLOY_MAX_AGE_S))};
    shard->code = js_cells_new(&code);
    const struct cell_shard_opts opts = {.io = shard->io,
                                         .router = s->router,
                                         .code = js_cells_code(),
                                         .code_arg = shard->code,
                                         .self = fleet_node_self(s->node),
                                         .log = fleet_node_log(s->node),
                                         .folder = fleet_node_folder(s->node),
                                         .data_dir = s->data_dir,
                                         .limits = limits_of(s)};
    shard->cells = cell_shard_new(&opts);
    if (shard->site != NULL)
        js_cells_serve(shard->code, shard->site);
}

static void shard_fence(struct serve *s, struct shard *shard, void *arg)
{
    (void)s, (void)arg;
    if (shard->cells != NULL && !shard->stopping)
        cell_shard_fence(shard->cells, CD_STR("node_fenced"));
}

static void on_closed(struct io_op *op, int status)
{
    struct shard *shard = CD_CONTAINER(op, struct shard, cells_closed);
    (void)status;
    shard->cells = NULL;
    js_cells_free(shard->code);
    shard->code = NULL;
    shard->on_cells_closed(shard);
}

void cli_serve_cells_close(struct shard *shard, void (*done)(struct shard *shard))
{
    shard->stopping = true;
    if (shard->cells == NULL) {
        done(shard);
        return;
    }
    shard->on_cells_closed = done;
    cli_reload_note(shard);
    /* The listener has stopped: who waited for an answer had his time. */
    cell_shard_close(shard->cells, io_now_ns(shard->io), &shard->cells_closed, on_closed);
}

/* ---- The node, on the control loop ---- */

static void on_tested(void *arg)
{
    struct serve *s = arg;
    s->node_tested = true;
    io_signal_wake(&s->node_news, IO_OK);
}

static void on_ready(void *arg)
{
    struct serve *s = arg;
    for (unsigned i = 0; i < s->shards; i++)
        cli_serve_post(s->control, i + 1, s, &s->shard[i], shard_open, NULL);
    s->node_ready = true; /* What is asked of a shard from now on comes behind that. */
    io_signal_wake(&s->node_news, IO_OK);
}

static void on_halt(void *arg, enum fleet_halt how, const char *why)
{
    struct serve *s = arg;
    s->node_halted = true;
    if (how == FLEET_HALT_FENCE) {
        struct cd_buf line = {0};
        cd_buf_addf(&line, "SELF-FENCE: %s\n", why);
        int rc = io_console_write(s->control, IO_STDERR, cd_buf_str(&line));
        CD_MAYBE(rc != 0); /* Nobody reads it. */
        cd_buf_deinit(&line);
        s->fenced = true;
        for (unsigned i = 0; i < s->shards; i++)
            cli_serve_post(s->control, i + 1, s, &s->shard[i], shard_fence, NULL);
    } else if (s->failure.len == 0) {
        cd_buf_addf(&s->failure, "%s", why);
    }
    io_signal_wake(&s->node_news, IO_OK);
    cli_serve_stop(s);
}

/* The node looks for due alarms as soon as it has its lease, when there may be no code yet to run them: a
 * cell woken then would fail, and wait for the next look of the node. */
static void on_hint(void *arg, struct cd_str scope)
{
    struct serve *s = arg;
    if (s->serves)
        cell_wake_scope(s->router, s->control, scope);
    else if (s->hints.count < HINTS_MAX)
        (void)cd_map_put(&s->hints, scope, s);
}

static void on_load(void *arg, struct store_load *load)
{
    cli_serve_load(arg, load);
}

/* Those that cells have; one that JavaScript of a Worker has ends with it. */
static unsigned on_sockets(void *arg, unsigned loop)
{
    const struct serve *s = arg;
    const struct shard *shard = &s->shard[loop - 1];
    return http_ws_host_count(js_splices_host(shard->splices));
}

void cli_serve_load(struct serve *s, struct store_load *load)
{
    load->bucket_format = 2;
    load->rebalance_paused = s->paused;
    load->draining = __atomic_load_n(&s->draining, __ATOMIC_SEQ_CST);
    if (s->keeper != NULL)
        cell_keeper_tell(s->keeper, load);
}

void cli_serve_hints_pass(struct serve *s)
{
    s->serves = true;
    for (struct cd_map_node *n = cd_map_first(&s->hints); n != NULL; n = cd_map_next(n))
        cell_wake_scope(s->router, s->control, cd_map_key(n));
    cd_map_deinit(&s->hints);
}

/* The store of celld dev writes one round at a time, and nobody else is to be sent batches: a second slot
 * under way would only wait for the first one's round, and carry fewer rows than if it were cut then. */
static unsigned pipeline(const struct cli_settings *set, bool sole)
{
    return sole && !cli_is_set(set, CLI_SET_LOG_PIPELINE) ? 1 : (unsigned)cli_num(set, CLI_SET_LOG_PIPELINE);
}

static void on_folded(void *arg, struct cd_str scope, uint64_t epoch, uint64_t max_txid, uint64_t bytes)
{
    struct serve *s = arg;
    cell_folded(s->router, s->control, scope, epoch, max_txid, bytes);
}

void cli_serve_node_start(struct serve *s)
{
    const struct cli_settings *set = &s->c->settings;
    if (strcmp(s->ownership, "file") == 0)
        cd_event(s->control, CD_WARN, "bucket_is_local",
                 CD_Z("hint", "file:// keeps everything on this machine: not for production"));
    struct cd_str ownership = set->value[CLI_SET_PRESSURE_OWNERSHIP].text;
    s->keeper = cell_keeper_new(&(struct cell_keeper_opts){
        .io = s->control,
        .router = s->router,
        .high_mib =
            cli_is_set(set, CLI_SET_MAX_RSS_MB) ? cli_num(set, CLI_SET_MAX_RSS_MB) : CELL_HIGH_DEFAULT,
        .release = !cd_str_eq(ownership, CD_STR("sticky")),
        .weight = cli_is_set(set, CLI_SET_PLACEMENT_WEIGHT) ? cli_num(set, CLI_SET_PLACEMENT_WEIGHT)
                                                            : s->c->threads,
        .sockets = on_sockets,
        .arg = s});
    const struct fleet_node_opts opts = {
        .io = s->control,
        .data_dir = cd_str(s->data_dir),
        .node = set->value[CLI_SET_NODE].text,
        .addr = cd_buf_str(&s->advertise),
        .public_peers = cli_on(s->c, CLI_UNSAFE_PUBLIC_ADVERTISE, CLI_SET_UNSAFE_PUBLIC_ADVERTISE),
        .ttl_ms = cli_num(set, CLI_SET_TTL_MS),
        .waker_tick_ms = cli_num(set, CLI_SET_WAKER_TICK_MS),
        .pipeline = pipeline(set, s->sole),
        .fold_ms = cli_num(set, CLI_SET_LOG_FOLD_MS),
        .followers = has_followers(set),
        .flush_ms = cli_num(set, CLI_SET_LOG_FLUSH_MS),
        .window = cli_num(set, CLI_SET_LOG_WINDOW),
        .window_bytes = cli_num(set, CLI_SET_LOG_WINDOW_BYTES),
        .health = {.budget_ns = IO_MS(cli_num(set, CLI_SET_LOG_EVICT_BUDGET_MS)),
                   .sustain_ns = IO_MS(cli_num(set, CLI_SET_LOG_EVICT_SUSTAIN_MS)),
                   .backstop_ns = IO_MS(cli_num(set, CLI_SET_LOG_EVICT_BACKSTOP_MS)),
                   .hedge_fixed = cli_is_set(set, CLI_SET_LOG_HEDGE_MS),
                   .hedge_ns = IO_MS(cli_num(set, CLI_SET_LOG_HEDGE_MS))},
        .quarantine_ms = cli_num(set, CLI_SET_LOG_EVICT_QUARANTINE_MS),
        .sole = s->sole,
        .tested = on_tested,
        .ready = on_ready,
        .halt = on_halt,
        .hint = on_hint,
        .load = on_load,
        .folded = on_folded,
        .arg = s};
    s->node = fleet_node_start(&opts);
    cell_tunnels_join(s->tunnels, s->control, s->node);
    s->handoff = cell_handoff_new(
        &(struct cell_handoff_opts){.io = s->control,
                                    .router = s->router,
                                    .node = s->node,
                                    .ttl_ms = s->sole ? 0 : cli_num(set, CLI_SET_TTL_MS),
                                    .interval_ms = cli_num(set, CLI_SET_REBALANCE_INTERVAL_MS),
                                    .activations = cli_serve_activations(s),
                                    .load = on_load,
                                    .arg = s});
}

static int node_wait(struct serve *s, const bool *what, struct cd_buf *why)
{
    while (!*what && !s->node_halted && !s->stopping) {
        struct io_op op = {0};
        io_signal_wait(&s->node_news, s->control, &op, NULL);
        (void)io_await(&op, IO_FOREVER); /* What, halted, or stopped: each of them tells. */
    }
    if (*what && !s->node_halted)
        return 0;
    cd_buf_addf(why, "%s", s->failure.len > 0 ? cd_buf_cstr(&s->failure) : "the node stops");
    return CD_ECLOSED;
}

int cli_serve_bucket_wait(struct serve *s, struct cd_buf *why)
{
    return node_wait(s, &s->node_tested, why);
}

int cli_serve_node_wait(struct serve *s, struct cd_buf *why)
{
    return node_wait(s, &s->node_ready, why);
}

void cli_serve_handoff(struct serve *s)
{
    const struct cli_settings *set = &s->c->settings;
    if (s->handoff != NULL && s->node_ready && !s->preserve)
        cell_handoff_drain(s->handoff, s->stop_ns, cli_num(set, CLI_SET_SHUTDOWN_TOTAL_MS),
                           num_u32(set, CLI_SET_RELEASES));
}

void cli_serve_node_stop(struct serve *s)
{
    struct io_op op = {0}, kept = {0};
    if (s->node == NULL)
        return;
    struct cell_keeper *keeper = s->keeper;
    s->keeper = NULL;
    cell_keeper_stop(keeper, &kept, NULL);
    (void)io_await(&kept, IO_FOREVER); /* Its messages come back from loops that run. */
    cell_tunnels_stop(s->tunnels, s->control, false, &op, NULL);
    (void)io_await(&op, IO_FOREVER); /* A second at most. */
    fleet_node_stop(s->node, &op, NULL);
    (void)io_await(&op, IO_FOREVER); /* The log's own bounds end it. */
    cell_handoff_free(s->handoff);
    s->handoff = NULL;
    cli_reload_leave(s);
    fleet_node_free(s->node);
    s->node = NULL;
}
