/* cell/chain.c: keeps the chains of a shard's cells short and clean, in the background.
 * fleet.md 5.7, 5.13, 5.14.
 *
 * An attempt is a fiber that looks at the chain in the bucket and does what the decisions of ltx/keep.h say
 * of it: an image, a join, an L1, and after that the epochs that nothing needs any more. What starts one is
 * only a hint. No cell waits for an attempt, and none holds a cell: after each await it asks whether the cell
 * is still the one it works for. */
#include "cell/cell_internal.h"

#include "db/image.h"
#include "log/shorten.h"

#define JOBS_MAX 1024u /* Beyond them hints are dropped; the next fold or eviction gives another. */
#define RETRY_NS IO_SEC(30)
#define RETRY_MAX_NS IO_SEC(300)
#define PAUSE_MAX_NS IO_SEC(2) /* Between two successful attempts at a cell: as long as the first took. */
#define FUTILE_NS IO_SEC(300) /* What could not be done now will not be possible soon. */
#define CLEAN_NS IO_SEC(300) /* Between looks for old epochs of a resident cell. */
#define STEP_BYTES (1u << 20)
#define IN_TRANSACTION_NS IO_MS(100) /* Another look at a cell that was in one, */
#define IN_TRANSACTION_MAX 50u /* so many times. */

struct chain_flow {
    struct cell_flow flow; /* First: freed with it. */
    char *scope; /* owned */
    uint64_t epoch;
    struct log_shorten s;
    bool file; /* It reads a kept file, */
    bool stop; /* which is another's by now. */
};

/* A cell that is to be looked at. */
struct chain_job {
    uint64_t epoch, due_ns;
    unsigned failures; /* One after another. */
    bool again; /* Something was said while an attempt ran. */
    struct chain_flow *flow; /* NULL: it waits. */
};

/* ---- The cell ---- */

/* The cell as this attempt's owner has it open; NULL: it is not, or not to be trusted. */
static struct cell *holder(const struct chain_flow *a)
{
    struct cell *c = cell_find(a->flow.shard, cd_str(a->scope), false);
    bool same = c != NULL && c->epoch == a->epoch && cell_phase_awake(c->state.phase) && c->db != NULL;
    return same && !c->doomed && !c->gate_failed ? c : NULL;
}

static struct log_shorten *shorten(struct chain_flow *a)
{
    cd_buf_deinit(&a->s.why);
    a->s = (struct log_shorten){.io = a->flow.shard->o.io,
                                .bucket = io_bucket(a->flow.shard->o.io),
                                .scope = cd_str(a->scope),
                                .epoch = a->epoch};
    return &a->s;
}

/* The chain as the bucket has it now. */
static int look(struct chain_flow *a, struct log_restore *r, struct ltx_chain *chain)
{
    struct io *io = a->flow.shard->o.io;
    ltx_chain_deinit(chain);
    *r = (struct log_restore){.io = io, .bucket = io_bucket(io), .scope = cd_str(a->scope), .chain = chain};
    int rc = log_restore(r);
    struct cell *c = holder(a);
    if (rc == IO_OK && r->end != LOG_RESTORE_DONE && r->end != LOG_RESTORE_NO_DATA) {
        cd_buf_addf(&a->s.why, "%s", r->why);
        rc = IO_FAULT;
    }
    if (rc == IO_OK && r->end == LOG_RESTORE_DONE && c != NULL) {
        c->chain.weight = r->weight;
        c->chain.known = true;
        c->chain.begun = r->base_epoch == a->epoch;
        c->chain.garbage = r->garbage;
        c->chain.looked_ns = io_now_ns(io);
        c->chain.pending_objects = 0;
        c->chain.pending_bytes = 0;
    }
    return rc;
}

/* ---- Images ---- */

static int image_of_file(struct chain_flow *a, const struct ltx_chain *chain, struct db_image **out)
{
    struct cell_shard *s = a->flow.shard;
    struct cd_buf dir = {0}, path = {0};
    struct db_snapshot kept;
    cell_dir(&dir, s, cd_str(a->scope), a->epoch);
    int rc = db_snapshot_look(s->o.io, cd_buf_cstr(&dir), cd_str(a->scope), a->epoch, &kept);
    if (rc == 0 && (kept.at.epoch != chain->reach_epoch || kept.at.txid != chain->reach_txid))
        rc = CD_ENOTFOUND;
    if (rc == 0) {
        db_snapshot_path(&path, cd_buf_cstr(&dir));
        rc = db_image_open_file(out, s->host, cd_buf_cstr(&path), cd_str(a->scope), &kept, &a->s.why);
        a->file = rc == 0;
    }
    cd_buf_deinit(&dir);
    cd_buf_deinit(&path);
    return rc;
}

/* *seq: the row up to which the image has to be proven; 0: it is of a closed database, whose position the
 * prefix covers. CD_ENOTFOUND: there is nothing to read it from. */
static int image_open(struct chain_flow *a, const struct ltx_chain *chain, struct db_image **out,
                      uint64_t *seq)
{
    struct io *io = a->flow.shard->o.io;
    struct cell *c;
    for (unsigned i = 0; (c = holder(a)) != NULL && db_in_transaction(c->db); i++) {
        int rc = i < IN_TRANSACTION_MAX ? io_sleep(io, IN_TRANSACTION_NS) : IO_BUSY;
        if (rc != IO_OK)
            return rc;
    }
    if (c != NULL) {
        *seq = c->seq;
        return c->txid == 0 ? CD_ENOTFOUND : db_image_open(out, c->db, &a->s.why);
    }
    c = cell_find(a->flow.shard, cd_str(a->scope), false);
    *seq = 0;
    return c == NULL || c->db == NULL ? image_of_file(a, chain, out) : CD_ENOTFOUND; /* It comes or goes. */
}

/* Of an open database: whether its position has become history, and stands in the prefix. Only the bucket
 * tells: rows of a cell that was reset are passed over by the log's numbers. */
static int image_settled(struct chain_flow *a, uint64_t seq, uint64_t txid)
{
    struct cell_shard *s = a->flow.shard;
    struct log_wait proof = {.seq = seq};
    struct log_fold fold = {.scope = a->scope, .epoch = a->epoch, .upto = txid};
    struct ltx_chain chain = {0};
    struct log_restore r;
    log_feed_wait(s->feed, &proof, NULL);
    int rc = io_await(&proof.op, io_now_ns(s->o.io) + s->o.limits.proof_ns);
    if (rc == IO_OK && holder(a) == NULL)
        rc = CD_ECLOSED;
    if (rc == IO_OK) {
        log_fold(s->o.folder, s->o.io, &fold, NULL);
        rc = io_await(&fold.op, io_now_ns(s->o.io) + s->o.limits.operation_ns);
    }
    if (rc == IO_OK)
        rc = look(a, &r, &chain);
    if (rc == IO_OK &&
        (r.end != LOG_RESTORE_DONE || chain.reach_epoch != a->epoch || chain.reach_txid < txid))
        rc = CD_ECLOSED;
    ltx_chain_deinit(&chain);
    return rc;
}

static int image(struct chain_flow *a, const struct ltx_chain *chain)
{
    struct io *io = a->flow.shard->o.io;
    struct log_shorten *s = shorten(a);
    struct db_image *i = NULL;
    struct cd_buf body = {0};
    uint64_t seq = 0, txid = 0;
    bool last = false;
    size_t step = a->flow.shard->o.limits.image_step;
    int rc = image_open(a, chain, &i, &seq);
    if (rc != 0)
        return rc;
    txid = db_image_at(i).txid;
    while (rc == 0 && !last) {
        rc = a->stop ? CD_ECLOSED : db_image_step(i, step == 0 ? STEP_BYTES : step, &body, &last, &s->why);
        if (rc == 0 && body.len > IO_BODY_MAX)
            rc = CD_ETOOBIG;
        if (rc == 0 && !last)
            rc = io_sleep(io, 0);
    }
    db_image_close(i);
    a->file = false;
    if (rc == CD_ETOOBIG)
        cd_event_to(io, CD_WARN, "store", "ltx_image", CD_Z("scope", a->scope), CD_Z("outcome", "too_large"),
                    CD_U("bytes", body.len), CD_U("max", IO_BODY_MAX));
    if (rc == 0 && seq != 0 && !CD_PLANT("cell.image-unproven"))
        rc = image_settled(a, seq, txid);
    if (rc == 0)
        rc = log_image_put(s, txid, cd_buf_str(&body));
    cd_buf_deinit(&body);
    return rc;
}

/* ---- An attempt ---- */

static bool too_deep(const struct ltx_weight *w, const struct ltx_keep *k)
{
    return w->epochs > k->epochs || w->delta_objects > k->objects;
}

static void did(const struct chain_flow *a, const char *event, const char *kind)
{
    struct cell *c = holder(a);
    cd_event_to(a->flow.shard->o.io, CD_DEBUG, "store", event, CD_Z("scope", a->scope),
                CD_U("epoch", a->epoch), CD_Z("kind", kind), CD_U("objects", a->s.objects),
                CD_U("bytes", a->s.bytes), CD_U("reach", a->s.reach));
    if (c != NULL && a->s.reach > c->chain.compacted_txid)
        c->chain.compacted_txid = a->s.reach;
}

/* *changed: the chain is another one now. CD_ENOTFOUND: what it needs cannot be done. */
static int shorten_chain(struct chain_flow *a, const struct ltx_chain *chain, bool *changed)
{
    const struct ltx_keep *k = &a->flow.shard->o.limits.keep;
    struct ltx_weight w = ltx_chain_weight(chain);
    enum ltx_shorten how = ltx_shorten_decide(&w, k, false);
    int rc = IO_OK;
    if (how == LTX_IMAGE) {
        rc = image(a, chain);
        if (rc == IO_OK) {
            did(a, "ltx_image", "image");
            io_mark(a->flow.shard->o.io, "cell.image");
            *changed = true;
        }
        /* Without a file, or too large for one object: at least fewer objects. */
        bool join =
            (rc == CD_ENOTFOUND || rc == CD_ETOOBIG) && too_deep(&w, k) && w.delta_bytes <= LTX_COMPACT_BYTES;
        how = join ? LTX_JOIN : LTX_IMAGE;
    }
    if (how == LTX_JOIN) {
        rc = log_join(shorten(a), chain);
        if (rc == IO_OK && a->s.objects > 0) {
            did(a, "ltx_compaction", "join");
            io_mark(a->flow.shard->o.io, "cell.join");
            *changed = true;
        }
    } else if (how == LTX_KEEP && k->compact_txids > 0) {
        rc = log_compact(shorten(a), k);
        if (rc == IO_OK && a->s.objects > 0) {
            did(a, "ltx_compaction", "l1");
            io_mark(a->flow.shard->o.io, "cell.compaction");
        }
    }
    return rc;
}

static int attempt(struct chain_flow *a)
{
    struct cell_shard *s = a->flow.shard;
    struct ltx_chain chain = {0};
    struct log_restore r;
    bool changed = false;
    (void)shorten(a);
    int rc = look(a, &r, &chain);
    bool ours = rc == IO_OK && r.end == LOG_RESTORE_DONE && chain.reach_epoch == a->epoch;
    if (ours)
        rc = shorten_chain(a, &chain, &changed);
    if (ours && rc == IO_OK && changed) { /* The new one may begin above old epochs. */
        rc = look(a, &r, &chain);
        ours = rc == IO_OK && r.end == LOG_RESTORE_DONE && chain.reach_epoch == a->epoch;
    }
    if (ours && rc == IO_OK && r.garbage && s->o.limits.keep.retention_ms > 0) {
        rc = log_retire(shorten(a), cd_str(s->o.self->session), ltx_retire_base(&chain), &s->o.limits.keep);
        if (a->s.objects > 0)
            io_mark(s->o.io, "cell.epochs_retired");
    }
    ltx_chain_deinit(&chain);
    return rc;
}

/* ---- Jobs ---- */

static void job_remove(struct cell_shard *s, struct cd_str scope)
{
    cd_free(cd_map_remove(&s->chains, scope));
}

static void ended(struct chain_flow *a, int rc, uint64_t took_ns)
{
    struct cell_shard *s = a->flow.shard;
    struct chain_job *job = cd_map_get(&s->chains, cd_str(a->scope));
    uint64_t now = io_now_ns(s->o.io), pause = took_ns < PAUSE_MAX_NS ? took_ns : PAUSE_MAX_NS;
    bool over = s->closing || s->fenced || rc == IO_CANCELED;
    bool futile = rc == CD_ENOTFOUND || rc == CD_ETOOBIG;
    CD_ASSERT(job != NULL && job->flow == a);
    job->flow = NULL;
    if (!over && (job->again || job->epoch != a->epoch)) {
        job->again = false;
        job->failures = 0;
        job->due_ns = now + pause;
    } else if (over || futile || rc == IO_OK || rc == CD_ECLOSED || rc == CD_EFENCED) {
        job_remove(s, cd_str(a->scope));
        struct cell *c = holder(a);
        if (c != NULL)
            c->chain.not_before_ns = now + (futile ? FUTILE_NS : pause);
    } else {
        uint64_t wait = job->failures < 4 ? RETRY_NS << job->failures : RETRY_MAX_NS;
        job->failures++;
        job->due_ns = now + (wait < RETRY_MAX_NS ? wait : RETRY_MAX_NS);
        cd_event_to(s->o.io, CD_WARN, "store", "ltx_shorten_failed", CD_Z("scope", a->scope),
                    CD_U("epoch", a->epoch), CD_Z("error", cd_err_text(rc)),
                    CD_S("why", cd_buf_str(&a->s.why)));
    }
}

static void run(struct cell_flow *f)
{
    struct chain_flow *a = CD_CONTAINER(f, struct chain_flow, flow);
    struct cell_shard *s = f->shard;
    uint64_t began = io_now_ns(s->o.io);
    int rc = attempt(a);
    s->o.router->shortening--;
    ended(a, rc, io_now_ns(s->o.io) - began);
    cd_buf_deinit(&a->s.why);
    cd_free(a->scope);
    cell_chain_sweep(s);
}

/* Starts what is due, as far as the node has places for it. */
void cell_chain_sweep(struct cell_shard *s)
{
    struct cell_router *r = s->o.router;
    uint64_t now = io_now_ns(s->o.io);
    for (struct cd_map_node *n = cd_map_first(&s->chains); n != NULL && !s->closing && !s->fenced;
         n = cd_map_next(n)) {
        struct chain_job *job = cd_map_value(n);
        if (job->flow != NULL || job->due_ns > now)
            continue;
        if (r->shortening++ >= s->o.limits.compactions_max) {
            r->shortening--;
            return; /* The sweep asks again. */
        }
        struct chain_flow *a = cd_new(struct chain_flow);
        a->scope = cd_str_dup(cd_map_key(n));
        a->epoch = job->epoch;
        job->flow = a;
        cell_flow_detached(s, "chain", &a->flow, run);
    }
}

static void want(struct cell_shard *s, struct cd_str scope, uint64_t epoch)
{
    struct chain_job *job = cd_map_get(&s->chains, scope);
    if (s->closing || s->fenced || (job == NULL && s->chains.count >= JOBS_MAX))
        return;
    if (job == NULL) {
        job = cd_new(struct chain_job);
        job->epoch = epoch;
        (void)cd_map_put(&s->chains, scope, job);
    } else if (job->epoch != epoch) {
        job->epoch = epoch;
        job->failures = 0;
        job->due_ns = 0;
    }
    job->again = job->flow != NULL;
    cell_chain_sweep(s);
    cell_shard_stir(s);
}

void cell_chain_let_go(struct cell_shard *s, struct cd_str scope)
{
    struct chain_job *job = cd_map_get(&s->chains, scope);
    if (job != NULL && job->flow != NULL && job->flow->file)
        job->flow->stop = true;
}

void cell_chain_free(struct cell_shard *s)
{
    for (struct cd_map_node *n; (n = cd_map_first(&s->chains)) != NULL;) {
        CD_ASSERT(((struct chain_job *)cd_map_value(n))->flow == NULL);
        cd_free(cd_map_remove(&s->chains, cd_map_key(n)));
    }
    cd_map_deinit(&s->chains);
}

/* ---- Hints ---- */

void cell_chain_opened(struct cell *c, const struct log_restore *r)
{
    struct db_position at = db_position(c->db);
    memset(&c->chain, 0, sizeof c->chain);
    c->chain.folded_txid = c->chain.compacted_txid = at.txid;
    c->chain.known = r != NULL || at.txid == 0;
    if (r != NULL) {
        c->chain.weight = r->weight;
        c->chain.garbage = r->garbage;
    }
    c->chain.looked_ns = io_now_ns(c->shard->o.io);
}

bool cell_chain_compacts(const struct cell *c)
{
    return ltx_compact_due(c->chain.folded_txid, c->chain.compacted_txid, c->chain.pending_bytes,
                           c->chain.pending_objects, &c->shard->o.limits.keep);
}

/* Old epochs are looked for now and then, by who knows of some. */
static bool cleans(const struct cell *c, uint64_t now)
{
    uint64_t retention = IO_MS(c->shard->o.limits.keep.retention_ms);
    return retention > 0 && c->chain.garbage &&
           now - c->chain.looked_ns >= (retention < CLEAN_NS ? retention : CLEAN_NS);
}

void cell_chain_folded(struct cell_shard *s, struct cd_str scope, uint64_t epoch, uint64_t max_txid,
                       uint64_t bytes)
{
    struct cell *c = cell_find(s, scope, false);
    if (c == NULL || c->epoch != epoch)
        return;
    uint64_t now = io_now_ns(s->o.io);
    c->chain.weight.epochs += c->chain.begun ? 0 : 1;
    c->chain.begun = true;
    c->chain.weight.delta_bytes += bytes;
    c->chain.weight.delta_objects++;
    c->chain.folded_txid = max_txid;
    c->chain.pending_bytes += bytes;
    c->chain.pending_objects++;
    if (!cell_phase_awake(c->state.phase) || now < c->chain.not_before_ns)
        return; /* Who puts it away looks at the chain itself. */
    if (!c->chain.known || cell_chain_compacts(c) || cleans(c, now) ||
        ltx_shorten_decide(&c->chain.weight, &s->o.limits.keep, false) != LTX_KEEP)
        want(s, scope, epoch);
}

void cell_chain_evicted(struct cell_shard *s, struct cd_str scope, uint64_t epoch,
                        const struct log_restore *r, bool compact)
{
    const struct ltx_keep *k = &s->o.limits.keep;
    int64_t age_ms = io_wall_ms(s->o.io) - r->garbage_ms;
    bool clean = k->retention_ms > 0 && r->garbage && age_ms > 0 && (uint64_t)age_ms > k->retention_ms;
    if (compact || clean || ltx_shorten_decide(&r->weight, k, false) != LTX_KEEP)
        want(s, scope, epoch);
}
