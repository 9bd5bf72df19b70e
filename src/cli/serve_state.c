/* cli/serve_state.c: /state, what a node knows of itself. operations.md 5.7. Each shard looks at its cells
 * and answers with one message; what it says is summed up here, on the control loop. */
#include "base/json.h"
#include "cell/handoff.h"
#include "cell/keeper.h"
#include "cell/machine.h"
#include "cli/serve_internal.h"
#include "fleet/node.h"
#include "log/fold.h"
#include "log/log.h"

#define WAIT_NS IO_SEC(1)
#define SCOPES_MAX 10000u /* That one answer names. */

struct part { /* Of a shard. */
    struct query *query;
    struct cell_tally tally;
    uint64_t phase[CELL_PHASE_COUNT];
    unsigned scopes; /* Named in: */
    struct cd_buf residents, published; /* JSON without the brackets. */
};

struct query {
    struct serve *s;
    struct http_exchange *x; /* NULL: answered, or the client is gone. */
    struct io_timer timer;
    unsigned waiting; /* Shards. */
    struct part part[]; /* By shard. */
};

/* ---- Shards ---- */

static bool see(void *arg, const struct cell_view *v)
{
    struct part *p = arg;
    for (unsigned i = 0; i < CELL_PHASE_COUNT; i++)
        p->phase[i] += v->phase == cell_phase_name(i);
    bool resident = v->phase == cell_phase_name(CELL_RESIDENT) || v->phase == cell_phase_name(CELL_PROVING);
    if (!resident || p->scopes >= SCOPES_MAX / p->query->s->shards)
        return true;
    p->scopes++;
    if (p->residents.len > 0)
        cd_buf_add_byte(&p->residents, ',');
    cd_json_quote(&p->residents, v->scope);
    if (v->proven_txid == 0)
        return true;
    if (p->published.len > 0)
        cd_buf_add_byte(&p->published, ',');
    cd_json_quote(&p->published, v->scope);
    cd_buf_addf(&p->published, ":{\"epoch\":%llu,\"txid\":%llu}", (unsigned long long)v->epoch,
                (unsigned long long)v->proven_txid);
    return true;
}

static void part_back(struct serve *s, struct shard *shard, void *arg);

static void part_there(struct serve *s, struct shard *shard, void *arg)
{
    struct part *p = arg;
    if (shard->cells != NULL) {
        p->tally = cell_shard_tally(shard->cells);
        cell_shard_each(shard->cells, (struct cd_str){0}, see, p);
    }
    cli_serve_post(shard->io, 0, s, shard, part_back, p);
}

/* ---- The answer ---- */

static void number(struct cd_json_out *o, const char *key, uint64_t n)
{
    cd_json_out_key(o, key);
    if (n == IO_ABSENT)
        cd_json_out_null(o);
    else
        cd_json_out_u64(o, n);
}

static void text(struct cd_json_out *o, const char *key, const char *value)
{
    cd_json_out_key(o, key);
    if (value == NULL)
        cd_json_out_null(o);
    else
        cd_json_out_str(o, cd_str(value));
}

static void tell_scopes(const struct query *q, struct cd_json_out *o, const char *key, char open, char close,
                        size_t member)
{
    struct cd_buf all = {0};
    cd_buf_add_byte(&all, open);
    for (unsigned i = 0; i < q->s->shards; i++) {
        const struct cd_buf *some = (const void *)((const char *)&q->part[i] + member);
        if (some->len > 0 && all.len > 1)
            cd_buf_add_byte(&all, ',');
        cd_buf_add_str(&all, cd_buf_str(some));
    }
    cd_buf_add_byte(&all, close);
    cd_json_out_key(o, key);
    cd_json_out_raw(o, cd_buf_str(&all));
    cd_buf_deinit(&all);
}

static void tell_cells(const struct query *q, struct cd_json_out *o)
{
    struct cell_tally t = {0};
    unsigned scopes = 0;
    uint64_t phase[CELL_PHASE_COUNT] = {0};
    for (unsigned i = 0; i < q->s->shards; i++) {
        const struct part *p = &q->part[i];
        cell_tally_add(&t, &p->tally);
        scopes += p->scopes;
        for (unsigned k = 0; k < CELL_PHASE_COUNT; k++)
            phase[k] += p->phase[k];
    }
    number(o, "owned_cells", t.inventoried == q->s->shards ? t.owned : IO_ABSENT);
    number(o, "occupied", t.occupied);
    number(o, "quiescing", phase[CELL_QUIESCING]);
    number(o, "evicting", t.leaving);
    number(o, "restoring", t.activating + t.activation_waiting);
    number(o, "activating", t.activating);
    number(o, "activation_waiting", t.activation_waiting);
    number(o, "capacity_waiting", t.capacity_waiting);
    number(o, "handed_off", t.handed_off);
    number(o, "handoff_failed", t.handoff_failed);
    number(o, "rebalanced", t.rebalanced);
    number(o, "rebalance_failed", t.rebalance_failed);
    number(o, "remote_route_refreshes", t.route_refreshes);
    number(o, "publishes", t.published);
    number(o, "stops", t.stops);
    cd_json_out_key(o, "phases");
    cd_json_out_object(o);
    for (unsigned i = 0; i < CELL_PHASE_COUNT; i++) {
        if (phase[i] > 0)
            number(o, cell_phase_name(i), phase[i]);
    }
    cd_json_out_end(o, '}');
    tell_scopes(q, o, "residents", '[', ']', offsetof(struct part, residents));
    tell_scopes(q, o, "published", '{', '}', offsetof(struct part, published));
    if (scopes < phase[CELL_RESIDENT] + phase[CELL_PROVING]) {
        cd_json_out_key(o, "truncated");
        cd_json_out_bool(o, true);
    }
}

static void tell_memory(const struct serve *s, struct cd_json_out *o)
{
    if (s->keeper == NULL)
        return;
    const struct cell_load *l = cell_keeper_load(s->keeper);
    text(o, "shedding", l->shedding);
    number(o, "rss_bytes", l->usage.rss);
    number(o, "in_use_bytes", l->in_use);
    number(o, "cgroup_working_set_bytes", l->usage.cgroup_working_set);
    number(o, "cgroup_current_bytes", l->usage.cgroup_current);
    cd_json_out_key(o, "libc_malloc");
    cd_json_out_object(o);
    number(o, "free_bytes", l->usage.slack);
    cd_json_out_end(o, '}');
}

static void tell_log(const struct serve *s, struct cd_json_out *o)
{
    cd_json_out_key(o, "log");
    if (!s->node_ready || s->node == NULL || fleet_node_log(s->node) == NULL) {
        cd_json_out_null(o);
        return;
    }
    struct log_numbers l;
    struct log_folder_numbers f;
    log_numbers(fleet_node_log(s->node), &l);
    log_folder_numbers(fleet_node_folder(s->node), &f);
    cd_json_out_object(o);
    number(o, "next_batch", l.next_batch);
    number(o, "next_slot", l.next_slot);
    number(o, "bucket_durable_slot", l.durable_slot);
    number(o, "bucket_durable_batch", l.durable_batch);
    number(o, "durable_batch", l.proven_batch);
    number(o, "floor", f.floor);
    number(o, "backlog_batches", l.backlog_batches);
    number(o, "backlog_bytes", l.backlog_bytes);
    number(o, "unfolded_bytes", f.unfolded_bytes);
    number(o, "armed_alarms", f.armed_alarms);
    cd_json_out_end(o, '}');
}

static void tell_deployment(const struct serve *s, struct cd_json_out *o)
{
    cd_json_out_key(o, "deployment");
    if (s->current == NULL) {
        cd_json_out_null(o);
        return;
    }
    cd_json_out_object(o);
    text(o, "version", s->current->app[0]->version);
    cd_json_out_key(o, "script");
    cd_json_out_str(o, s->current->app[0]->script);
    number(o, "generation", s->current->number);
    cd_json_out_end(o, '}');
}

static void tell_drain(const struct serve *s, struct cd_json_out *o)
{
    struct cell_handoff_view v = {0};
    if (s->handoff != NULL)
        v = cell_handoff_view(s->handoff);
    cd_json_out_key(o, "drain");
    if (!v.draining) {
        cd_json_out_null(o);
        return;
    }
    cd_json_out_object(o);
    text(o, "mode", "handoff");
    number(o, "started_ms", (uint64_t)v.started_ms);
    text(o, "token", v.token);
    number(o, "no_progress_ms_left", v.no_progress_ms_left);
    number(o, "total_ms_left", v.total_ms_left);
    cd_json_out_end(o, '}');
}

static void answer(struct query *q)
{
    struct serve *s = q->s;
    struct cd_buf body = {0};
    struct cd_json_out o;
    struct store_load load;
    cd_json_out_init(&o, &body);
    cd_json_out_object(&o);
    text(&o, "ownership", s->ownership);
    tell_cells(q, &o);
    tell_memory(s, &o);
    store_load_init(&load);
    cli_serve_load(s, &load);
    cd_json_out_key(&o, "node_load");
    store_load_write(&o, &load);
    tell_log(s, &o);
    tell_deployment(s, &o);
    tell_drain(s, &o);
    text(&o, "version", CELLD_VERSION);
    text(&o, "fence", s->fenced ? "this process is fenced" : NULL);
    cd_json_out_end(&o, '}');
    cli_serve_answer(q->x, 200, cd_buf_str(&body));
    q->x = NULL;
    cd_buf_deinit(&body);
}

static void settle(struct query *q)
{
    if (q->waiting > 0 || io_busy(&q->timer.op))
        return;
    for (unsigned i = 0; i < q->s->shards; i++) {
        cd_buf_deinit(&q->part[i].residents);
        cd_buf_deinit(&q->part[i].published);
    }
    cd_free(q);
}

static void part_back(struct serve *s, struct shard *shard, void *arg)
{
    struct query *q = ((struct part *)arg)->query;
    (void)s, (void)shard;
    if (--q->waiting > 0)
        return;
    if (q->x != NULL)
        answer(q);
    io_cancel(&q->timer.op);
    settle(q);
}

/* A handler runs for so long on some shard. */
static void late(struct io_op *op, int status)
{
    struct query *q = CD_CONTAINER(op, struct query, timer.op);
    if (status == IO_OK && q->x != NULL) {
        cli_serve_answer(q->x, 503, CD_STR("{\"error\":\"actor_stopped\"}"));
        q->x = NULL;
    }
    settle(q);
}

static void gone(struct http_exchange *x, int status)
{
    struct query *q = x->user;
    if (status == IO_EOF)
        return; /* It can still read. */
    q->x = NULL;
    http_exchange_close(x);
}

void cli_operator_state(struct serve *s, struct http_exchange *x, struct cd_str rest)
{
    struct query *q = cd_alloc(sizeof *q + s->shards * sizeof q->part[0]);
    (void)rest;
    q->s = s;
    q->x = x;
    x->user = q;
    x->gone = gone;
    q->waiting = s->shards;
    io_timer_start(&q->timer, s->control, WAIT_NS, late);
    for (unsigned i = 0; i < s->shards; i++) {
        q->part[i].query = q;
        cli_serve_post(s->control, i + 1, s, &s->shard[i], part_there, &q->part[i]);
    }
}
