#include "sim/cells_observe.h"

#include "db/db.h"
#include "log/follower_rule.h"
#include "sim/cell_watch.h"
#include "sim/cells_code.h"
#include "store/names.h"
#include "store/records.h"

#define AUDIT_NS IO_SEC(10)

struct cells_observe {
    struct run *run;
    struct cell_truth *truth;
    struct cell_watch watch;
    struct cd_buf file, path;
    bool told; /* A run that was meant to fail goes on to its end. */
};

static void judge(struct cells_observe *o)
{
    const char *why, *broken = cell_truth_broken(o->truth, &why);
    if (broken != NULL && !o->told && !run_failed(o->run))
        run_fail(o->run, RUN_SAFETY, broken, "%s", why);
    o->told = broken != NULL;
}

/* For traces, whose bars of ownership and leases are made of these lines. */
static void tell(struct cells_observe *o, const struct sim_store_change *change)
{
    struct store_owner owner;
    struct store_lease lease;
    struct cd_str name, body = change->after == NULL ? CD_STR("") : change->after->body;
    if (!run_traced(o->run) || change->after == NULL)
        return;
    if (cell_truth_owner_key(change->key, &name) && store_owner_read(&owner, body, NULL) == 0)
        run_note(o->run, "owner of %.*s: epoch %llu, %s", (int)name.len, name.ptr,
                 (unsigned long long)owner.epoch, owner.session[0] == 0 ? "nobody" : owner.session);
    else if (store_lease_name_parse(&name, change->key) && store_lease_read(&lease, name, body, NULL) == 0)
        run_note(o->run, "lease of %s/%s: %llu ms, log %s%s%s", lease.node, lease.generation,
                 (unsigned long long)(lease.expires_ms == 0 ? 0 : lease.ttl_ms),
                 lease.has_log ? store_log_state_name(lease.log.state) : "none",
                 lease.log.claimant[0] == 0 ? "" : " by ", lease.log.claimant);
}

static void changed(void *arg, const struct sim_store_change *change)
{
    tell(arg, change);
    judge(arg);
}

static void audit_due(struct sim *sim, void *arg)
{
    struct cells_observe *o = arg;
    if (o->run->phase == RUN_OVER)
        return;
    cell_truth_audit(o->truth);
    judge(o);
    sim_at(sim, AUDIT_NS, audit_due, o);
}

/* ---- What followers keep ---- */

struct kept_look {
    struct sim_node *node;
    struct cd_buf dir, path, body;
    uint64_t from;
    void (*file)(void *to, const char *name, struct cd_str bytes);
    void *to;
};

static void kept_found(void *arg, const char *name)
{
    struct kept_look *k = arg;
    struct log_kept kept;
    if (!log_kept_name_read(&kept, cd_str(name)) || kept.last < k->from)
        return;
    cd_buf_clear(&k->path);
    cd_buf_clear(&k->body);
    cd_buf_addf(&k->path, "%s/%s", cd_buf_cstr(&k->dir), name);
    if (sim_disk_durable(k->node, cd_buf_cstr(&k->path), &k->body) == IO_OK)
        k->file(k->to, name, cd_buf_str(&k->body));
}

static void kept_each(void *arg, const char *node, const char *session, uint64_t from,
                      void (*file)(void *to, const char *name, struct cd_str bytes), void *to)
{
    const struct cells_observe *o = arg;
    struct kept_look k = {.from = from, .file = file, .to = to};
    for (unsigned i = 1; i <= o->run->nodes; i++)
        if (o->run->node[i].node != NULL && strcmp(sim_node_name(o->run->node[i].node), node) == 0)
            k.node = o->run->node[i].node;
    cd_buf_addf(&k.dir, CELLS_DATA_DIR "/peerlog/%s", session);
    if (k.node != NULL)
        sim_disk_names(k.node, cd_buf_cstr(&k.dir), kept_found, &k);
    cd_buf_deinit(&k.dir);
    cd_buf_deinit(&k.path);
    cd_buf_deinit(&k.body);
}

bool cells_observe_spare(struct cells_observe *o, const char *node, struct cd_buf *why)
{
    bool spare = cell_truth_spare(o->truth, node, why);
    judge(o);
    return spare;
}

bool cells_observe_holds(struct cells_observe *o, const char *node, uint64_t ago_ns)
{
    bool holds = cell_truth_holds(o->truth, node, sim_now_ns(o->run->sim), ago_ns);
    judge(o);
    return holds;
}

struct cells_observe *cells_observe_new(struct run *run)
{
    struct cells_observe *o = cd_new(struct cells_observe);
    o->run = run;
    o->truth = cell_truth_new();
    cell_watch(&o->watch, run->sim, o->truth);
    cell_truth_disks(o->truth, &(struct cell_disks){o, kept_each});
    sim_on_store(run->sim, changed, o);
    sim_at(run->sim, AUDIT_NS, audit_due, o);
    return o;
}

void cells_observe_free(struct cells_observe *o)
{
    cell_truth_free(o->truth);
    cd_buf_deinit(&o->file);
    cd_buf_deinit(&o->path);
    cd_free(o);
}

/* Bytes 16 and 17 of a database tell the size of its pages; 1 is 65536. */
static uint32_t page_size(struct cd_str file)
{
    uint32_t size = (uint32_t)((unsigned char)file.ptr[16] << 8 | (unsigned char)file.ptr[17]);
    return size == 1 ? 65536 : size;
}

void cells_observe_commit(struct cells_observe *o, struct cd_str session, struct cell *c)
{
    struct cd_str scope = cell_scope(c);
    cell_truth_runs(o->truth, session, scope, cell_epoch(c));
    uint64_t txid = db_txid(cell_db(c));
    cd_buf_clear(&o->file);
    cd_buf_clear(&o->path);
    cd_buf_addf(&o->path, CELLS_DATA_DIR "/cells/%.*s/e%llu/db.sqlite", (int)scope.len, scope.ptr,
                (unsigned long long)cell_epoch(c));
    int rc = sim_disk_now(sim_node_of(io_current()), cd_buf_cstr(&o->path), &o->file);
    CD_ASSERT(rc == 0);
    if (o->file.len < 100 || txid == 0)
        return; /* Nothing has been written yet. */
    struct cd_str file = cd_buf_str(&o->file);
    cell_truth_commit(o->truth, scope, cell_epoch(c), txid, cell_truth_pages(file, page_size(file)));
    judge(o);
}

void cells_observe_output(struct cells_observe *o, const struct cells_output *out)
{
    struct cell_output shown = {
        .session = out->session, .scope = out->scope, .now_ns = sim_now_ns(o->run->sim)};
    struct cd_str text = out->text;
    if (!cells_answer_take(&text, &shown.epoch, &shown.txid) || run_failed(o->run))
        return; /* The client says that it is no answer. */
    uint64_t followed = cell_truth_counts(o->truth).followed;
    cell_truth_output(o->truth, &shown);
    if (cell_truth_counts(o->truth).followed > followed)
        CD_MARK("cells.follower_proof");
    judge(o);
}

void cells_observe_end(struct cells_observe *o, struct cd_str session, const char *cause)
{
    if (session.len > 0)
        cell_truth_fence(o->truth, session, cause);
}

void cells_observe_audit(struct cells_observe *o)
{
    if (o->run->phase == RUN_REBUILD)
        cell_truth_audit_rest(o->truth, run_clocks_differ(o->run));
    else
        cell_truth_audit(o->truth);
    judge(o);
    struct cell_truth_counts n = cell_truth_counts(o->truth);
    run_note(
        o->run,
        "observers: %llu changes of the bucket, %llu rows in %llu slots, %llu claims, %llu takeovers, %llu "
        "answers, %llu of them passed on, %llu proven by followers alone, %llu restores",
        (unsigned long long)n.changes, (unsigned long long)n.rows, (unsigned long long)n.slots,
        (unsigned long long)n.claims, (unsigned long long)n.takeovers, (unsigned long long)n.outputs,
        (unsigned long long)n.passed_on, (unsigned long long)n.followed, (unsigned long long)n.restores);
}
