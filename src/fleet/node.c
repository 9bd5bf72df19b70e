#include "fleet/node.h"

#include <stdio.h>

#include "base/encode.h"
#include "fleet/node_internal.h"
#include "fleet/wake_format.h"
#include "store/selftest.h"

#define RETRY_NS IO_SEC(1) /* Between tries of a step of the start that the store did not let through. */
#define BOOT_RECOVERY_NS IO_SEC(60) /* Of one attempt; the lease tries again for ever. */
#define FOLLOWER_GC_NS IO_SEC(600) /* fleet.md 6.10 */
#define SWEEP_NS IO_SEC(30)

void fleet_node_halt(struct fleet_node *n, enum fleet_halt how, const char *why)
{
    if (n->halted)
        return;
    n->halted = true;
    n->o.halt(n->o.arg, how, why);
}

/* ---- Hooks of lease, log and folder ---- */

static int lease_recover(void *arg, struct cd_str session)
{
    struct fleet_node *n = arg;
    if (session.len == 0) {
        struct cd_buf why = {0};
        int rc = fleet_sweep_before_create(&n->sweep, &why);
        if (rc == CD_ECORRUPT)
            cd_event(n->o.io, CD_ERROR, "log_without_lease", CD_Z("node", n->self.node),
                     CD_S("error", cd_buf_str(&why)));
        cd_buf_deinit(&why);
        return rc;
    }
    struct log_recover r = {
        .session = session, .mode = LOG_RECOVER_BOOT, .deadline_ns = io_now_ns(n->o.io) + BOOT_RECOVERY_NS};
    int rc = log_recover(n->recoverer, &r);
    if (rc == IO_OK && r.end != LOG_RECOVER_FINISHED) {
        cd_event(n->o.io, CD_WARN, "predecessor_not_recovered", CD_S("session", session),
                 CD_Z("end", log_recover_end_name(r.end)), CD_Z("error", r.why));
        rc = IO_TIMEDOUT;
    }
    return rc;
}

static uint64_t lease_slot(void *arg)
{
    const struct fleet_node *n = arg;
    struct log_numbers numbers;
    log_numbers(n->log, &numbers);
    return numbers.durable_slot;
}

static void lease_load(void *arg, struct store_load *load)
{
    const struct fleet_node *n = arg;
    load->sampled_ms = 0; /* Never. */
    load->bucket_format = 2;
    if (n->o.load != NULL)
        n->o.load(n->o.arg, load);
}

static void lease_held(void *arg)
{
    io_signal_wake(&((struct fleet_node *)arg)->changed, IO_OK);
}

static void lease_fence(void *arg, const char *cause)
{
    fleet_node_halt(arg, FLEET_HALT_FENCE, cause);
}

static void log_publish(void *arg, const struct store_log_record *r, struct io_op *op, io_done_fn *done)
{
    struct fleet_node *n = arg;
    fleet_lease_publish(n->lease, r, op, done);
}

static void log_fence(void *arg, const char *cause)
{
    struct fleet_node *n = arg;
    fleet_lease_fence(n->lease, cause);
}

static uint64_t log_stored(void *arg)
{
    struct fleet_node *n = arg;
    return n->log == NULL ? 0 : log_want_stored(n->log);
}

static void log_member_evicted(void *arg, const char *node, enum log_evict why)
{
    struct fleet_node *n = arg;
    fleet_ensemble_evicted(&n->ensemble, node, why);
}

static void log_rows_durable(void *arg, struct log_durable *d)
{
    struct fleet_node *n = arg;
    log_folder_durable(n->folder, d);
}

static void log_folded(void *arg, struct cd_str scope, uint64_t epoch, uint64_t max_txid, uint64_t bytes)
{
    struct fleet_node *n = arg;
    if (n->o.folded != NULL && !n->halted)
        n->o.folded(n->o.arg, scope, epoch, max_txid, bytes);
}

static void wake_hint(void *arg, struct cd_str scope)
{
    struct fleet_node *n = arg;
    if (n->o.hint != NULL && !n->halted)
        n->o.hint(n->o.arg, scope);
}

/* ---- Maintenance ---- */

static void task_flow(void *arg)
{
    struct fleet_task *t = arg;
    struct fleet_node *n = t->node;
    int rc;
    do {
        rc = t->pass(n);
        if (rc == IO_OK)
            rc = t->every_ns == 0 ? IO_CANCELED : io_sleep(n->o.io, t->every_ns);
    } while (rc == IO_OK);
    t->fiber = NULL;
    io_signal_wake(&n->changed, IO_OK);
}

static void task_start(struct fleet_node *n, const char *name, uint64_t every_ns,
                       int (*pass)(struct fleet_node *n))
{
    CD_ASSERT(n->tasks < FLEET_TASKS_MAX);
    struct fleet_task *t = &n->task[n->tasks++];
    *t = (struct fleet_task){.node = n, .every_ns = every_ns, .pass = pass};
    t->fiber = io_spawn(n->o.io, name, task_flow, t);
}

static int sweep_own_pass(struct fleet_node *n)
{
    return fleet_sweep_own(&n->sweep);
}

static int sweep_pass(struct fleet_node *n)
{
    return fleet_sweep_pass(&n->sweep);
}

static int ensemble_pass(struct fleet_node *n)
{
    n->ensemble.log = n->log;
    return fleet_ensemble_pass(&n->ensemble);
}

static int follower_gc_pass(struct fleet_node *n)
{
    return log_follower_gc(n->ensemble.follower);
}

static int waker_pass(struct fleet_node *n)
{
    return fleet_waker_pass(&n->waker);
}

/* ---- The start, in the order of Appendix B ---- */

static int step_data_dir(struct fleet_node *n, struct cd_buf *why)
{
    unsigned removed = 0;
    int rc = fleet_data_dir_open(&n->data, n->o.io, n->data_dir, why);
    if (rc == IO_OK)
        fleet_data_dir_clean(n->o.io, n->data_dir, &removed);
    if (removed > 0)
        cd_event(n->o.io, CD_INFO, "data_dir_cleaned", CD_U("directories", removed));
    return rc;
}

static int step_storage_test(struct fleet_node *n, struct cd_buf *why)
{
    struct store_selftest t = {.ranges = true};
    int rc = store_selftest_run(n->o.io, n->bucket, &t);
    if (rc != IO_OK)
        return rc;
    switch (t.verdict) {
    case STORE_CONFORMANT: return IO_OK;
    case STORE_AMBIGUOUS:
        cd_event(n->o.io, CD_WARN, "storage_test_ambiguous", CD_Z("step", t.which), CD_Z("error", t.why));
        return IO_OK;
    case STORE_VIOLATION:
        cd_buf_addf(why, "the bucket does not keep what celld rests on (%s): %s", t.which, t.why);
        return CD_EUNSUPPORTED;
    }
    CD_UNREACHABLE();
}

/* Until the store lets one read or make what every node of the fleet has to agree on. */
static int step_record(struct fleet_node *n, const char *event,
                       int (*step)(struct fleet_node *n, struct cd_buf *why), struct cd_buf *why)
{
    for (;;) {
        cd_buf_clear(why);
        int rc = step(n, why);
        if (rc == IO_OK || rc == IO_CANCELED || rc == CD_EUNSUPPORTED)
            return rc;
        cd_event(n->o.io, CD_WARN, event, CD_S("error", cd_buf_str(why)));
        if (io_sleep(n->o.io, RETRY_NS) != IO_OK)
            return IO_CANCELED;
    }
}

static int step_secret(struct fleet_node *n, struct cd_buf *why)
{
    return n->o.sole ? IO_OK : fleet_secret_load(&n->secret, n->o.io, n->bucket, why);
}

static int step_wake_format(struct fleet_node *n, struct cd_buf *why)
{
    return fleet_wake_format(n->o.io, n->bucket, why);
}

static void make_self(struct fleet_node *n)
{
    fleet_key_make(&n->key, n->o.io);
    memcpy(n->self.generation, n->key.generation, sizeof n->self.generation);
    (void)snprintf(n->self.session, sizeof n->self.session, "%s/%s", n->self.node, n->self.generation);
    n->recoverer =
        log_recoverer_new(&(struct log_recoverer_opts){.io = n->o.io,
                                                       .bucket = n->bucket,
                                                       .session = cd_str(n->self.session),
                                                       .sole = n->o.sole,
                                                       .ahead_ms = &n->authority.ahead_ms,
                                                       .peers = n->o.sole ? NULL : &n->ensemble.peers});
    fleet_finisher_init(&n->finisher, n->o.io, n->recoverer);
    n->self.finisher = &n->finisher;
    n->sweep = (struct fleet_sweep){.io = n->o.io,
                                    .bucket = n->bucket,
                                    .self = &n->self,
                                    .recoverer = n->recoverer,
                                    .role = &n->waker.holds_role};
    n->waker = (struct fleet_waker){.io = n->o.io,
                                    .bucket = n->bucket,
                                    .self = &n->self,
                                    .tick_ms = n->o.waker_tick_ms,
                                    .hint = wake_hint,
                                    .arg = n};
}

static bool may_follow(void *arg)
{
    const struct fleet_node *n = arg;
    return n->ready && !n->halted && fleet_authoritative(&n->authority, io_now_ns(n->o.io));
}

static void make_peers(struct fleet_node *n)
{
    n->probed = (struct fleet_probed){.key = &n->key, .node = n->self.node, .advertise = n->addr};
    if (n->o.sole)
        return;
    fleet_peer_server_open(n->peers, &n->secret, n->self.node, n->self.generation);
    n->caller = fleet_peer_client_new(&(struct fleet_peer_client_opts){
        .io = n->o.io, .secret = &n->secret, .source = cd_str(n->self.node), .public_ok = n->o.public_peers});
    n->ensemble.caller = n->caller;
    n->ensemble.follower = log_follower_new(&(struct log_follower_opts){.io = n->o.io,
                                                                        .bucket = n->bucket,
                                                                        .data_dir = cd_str(n->data_dir),
                                                                        .node = cd_str(n->self.node),
                                                                        .may = may_follow,
                                                                        .arg = n});
}

static void make_log(struct fleet_node *n)
{
    struct fleet_lease_opts lease = {.io = n->o.io,
                                     .bucket = n->bucket,
                                     .authority = &n->authority,
                                     .node = cd_str(n->self.node),
                                     .generation = cd_str(n->self.generation),
                                     .addr = cd_str(n->addr),
                                     .ttl_ms = n->o.ttl_ms,
                                     .ephemeral = n->generated_id,
                                     .configured_id = !n->generated_id,
                                     .recover = lease_recover,
                                     .load = lease_load,
                                     .slot = lease_slot,
                                     .held = lease_held,
                                     .fence = lease_fence,
                                     .arg = n};
    n->lease = fleet_lease_new(&lease);
    n->folder = log_folder_new(&(struct log_folder_opts){.io = n->o.io,
                                                         .bucket = n->bucket,
                                                         .session = cd_str(n->self.session),
                                                         .fold_ms = n->o.fold_ms,
                                                         .limits = n->o.fold,
                                                         .fence = log_fence,
                                                         .stored = log_stored,
                                                         .folded = log_folded,
                                                         .arg = n});
    n->log = log_new(&(struct log_opts){.io = n->o.io,
                                        .bucket = n->bucket,
                                        .session = cd_str(n->self.session),
                                        .pipeline = n->o.pipeline,
                                        .target_bytes = n->o.batch_bytes,
                                        .flush_ns = IO_MS(n->o.flush_ms),
                                        .window = n->o.window,
                                        .window_bytes = n->o.window_bytes,
                                        .health = n->o.health,
                                        .peers = n->o.sole ? NULL : &n->ensemble.peers,
                                        .member_evicted = log_member_evicted,
                                        .arg = n,
                                        .publish = log_publish,
                                        .fence = log_fence,
                                        .durable = log_rows_durable});
}

static int wait_for_lease(struct fleet_node *n)
{
    fleet_lease_start(n->lease);
    int rc = IO_OK;
    while (rc == IO_OK && !fleet_lease_held(n->lease) && !n->halted) {
        struct io_op op = {0};
        io_signal_wait(&n->changed, n->o.io, &op, NULL);
        rc = io_await(&op, IO_FOREVER); /* For ever: the node stays up and waits for its lease (4.1). */
    }
    return n->halted ? IO_CANCELED : rc;
}

static void start_flow(void *arg)
{
    struct fleet_node *n = arg;
    struct cd_buf why = {0};
    int rc = step_data_dir(n, &why);
    if (rc == IO_OK)
        rc = step_storage_test(n, &why);
    if (rc == IO_OK && n->o.tested != NULL)
        n->o.tested(n->o.arg);
    if (rc == IO_OK)
        rc = step_record(n, "peer_secret_not_reached", step_secret, &why);
    if (rc == IO_OK)
        rc = step_record(n, "wake_format_not_reached", step_wake_format, &why);
    if (rc == IO_OK) {
        make_self(n);
        make_peers(n);
        make_log(n);
        rc = wait_for_lease(n);
    }
    if (rc == IO_OK) {
        task_start(n, "sweep_own", 0, sweep_own_pass);
        task_start(n, "sweep", SWEEP_NS, sweep_pass);
        task_start(n, "waker", IO_MS(n->o.waker_tick_ms), waker_pass);
        if (n->o.followers && !n->o.sole)
            task_start(n, "ensemble", IO_SEC(1), ensemble_pass);
        if (!n->o.sole)
            task_start(n, "follower_gc", FOLLOWER_GC_NS, follower_gc_pass);
        n->ready = true;
        fleet_peer_server_ready(n->peers);
        n->o.ready(n->o.arg);
    } else if (rc != IO_CANCELED) {
        fleet_node_halt(n, FLEET_HALT_START, cd_buf_cstr(&why));
    }
    cd_buf_deinit(&why);
    n->starting = NULL;
    io_signal_wake(&n->changed, IO_OK);
}

static void choose_id(struct fleet_node *n, struct cd_str id)
{
    if (id.len > 0) {
        CD_ASSERT(store_node_valid(id)); /* A setting, checked where settings are. */
        memcpy(n->self.node, id.ptr, id.len);
        return;
    }
    unsigned char bytes[16];
    struct cd_buf hex = {0};
    io_random(n->o.io, IO_RAND_ID, bytes, sizeof bytes);
    cd_hex_encode(&hex, cd_str_of(bytes, sizeof bytes));
    (void)snprintf(n->self.node, sizeof n->self.node, "node_%s", cd_buf_cstr(&hex));
    cd_buf_deinit(&hex);
    n->generated_id = true;
}

struct fleet_node *fleet_node_start(const struct fleet_node_opts *o)
{
    CD_ASSERT(io_loop_index(o->io) == 0 && o->ttl_ms > 0 && o->waker_tick_ms > 0);
    struct fleet_node *n = cd_new(struct fleet_node);
    n->o = *o;
    n->bucket = io_bucket(o->io);
    CD_ASSERT(n->bucket != NULL);
    n->data_dir = cd_str_dup(o->data_dir);
    n->addr = cd_str_dup(o->addr);
    choose_id(n, o->node);
    n->o.data_dir = cd_str(n->data_dir);
    n->o.addr = cd_str(n->addr);
    n->o.node = cd_str(n->self.node);
    n->self.sole = o->sole;
    n->self.authority = &n->authority;
    io_signal_init(&n->changed);
    n->peers = fleet_peer_server_new(o->io);
    fleet_probe_serve(n->peers, &n->probed);
    n->ensemble = (struct fleet_ensemble){
        .io = o->io, .bucket = n->bucket, .self = &n->self, .quarantine_ns = IO_MS(o->quarantine_ms)};
    fleet_ensemble_init(&n->ensemble);
    fleet_ensemble_serve(&n->ensemble, n->peers);
    n->starting = io_spawn(o->io, "node_start", start_flow, n);
    return n;
}

const struct fleet_self *fleet_node_self(const struct fleet_node *n)
{
    return &n->self;
}

const struct fleet_authority *fleet_node_authority(const struct fleet_node *n)
{
    return &n->authority;
}

struct fleet_peer_server *fleet_node_peers(struct fleet_node *n)
{
    return n->peers;
}

struct fleet_peer_client *fleet_node_caller(struct fleet_node *n)
{
    return n->caller;
}

const struct fleet_secret *fleet_node_secret(const struct fleet_node *n)
{
    return n->o.sole ? NULL : &n->secret;
}

void fleet_node_refresh(struct fleet_node *n)
{
    if (n->lease != NULL)
        fleet_lease_refresh(n->lease);
}

struct log *fleet_node_log(struct fleet_node *n)
{
    return n->log;
}

struct log_folder *fleet_node_folder(struct fleet_node *n)
{
    return n->folder;
}

struct cd_str fleet_node_predecessor(const struct fleet_node *n)
{
    return n->lease == NULL ? (struct cd_str){0} : fleet_lease_predecessor(n->lease);
}

bool fleet_node_sealed(const struct fleet_node *n)
{
    return n->sealed;
}
