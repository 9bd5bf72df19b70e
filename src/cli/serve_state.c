/* cli/serve_state.c: /state, what a node knows of itself. operations.md 5.7. Each shard looks at its cells
 * and answers with one message; what it says is summed up here, on the control loop. */
#include "base/json.h"
#include "cell/keeper.h"
#include "cell/machine.h"
#include "cli/serve_internal.h"
#include "fleet/node.h"
#include "log/fold.h"
#include "log/log.h"

#define WAIT_NS IO_SEC(1)

struct part { /* Of a shard. */
    struct query *query;
    struct cell_tally tally;
    uint64_t phase[CELL_PHASE_COUNT];
    struct cd_buf residents; /* JSON strings with commas between them. */
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
    if (v->phase == cell_phase_name(CELL_RESIDENT) || v->phase == cell_phase_name(CELL_PROVING)) {
        if (p->residents.len > 0)
            cd_buf_add_byte(&p->residents, ',');
        cd_json_quote(&p->residents, v->scope);
    }
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

static void tell_cells(const struct query *q, struct cd_json_out *o)
{
    struct cell_tally t = {0};
    uint64_t phase[CELL_PHASE_COUNT] = {0};
    for (unsigned i = 0; i < q->s->shards; i++) {
        const struct part *p = &q->part[i];
        t.occupied += p->tally.occupied;
        t.leaving += p->tally.leaving;
        t.activating += p->tally.activating;
        t.activation_waiting += p->tally.activation_waiting;
        t.capacity_waiting += p->tally.capacity_waiting;
        for (unsigned k = 0; k < CELL_PHASE_COUNT; k++)
            phase[k] += p->phase[k];
    }
    number(o, "occupied", t.occupied);
    number(o, "evicting", t.leaving);
    number(o, "restoring", t.activating + t.activation_waiting);
    number(o, "activating", t.activating);
    number(o, "activation_waiting", t.activation_waiting);
    number(o, "capacity_waiting", t.capacity_waiting);
    cd_json_out_key(o, "phases");
    cd_json_out_object(o);
    for (unsigned i = 0; i < CELL_PHASE_COUNT; i++) {
        if (phase[i] > 0)
            number(o, cell_phase_name(i), phase[i]);
    }
    cd_json_out_end(o, '}');
    struct cd_buf residents = {0};
    cd_buf_add_byte(&residents, '[');
    for (unsigned i = 0; i < q->s->shards; i++) {
        if (q->part[i].residents.len > 0 && residents.len > 1)
            cd_buf_add_byte(&residents, ',');
        cd_buf_add_str(&residents, cd_buf_str(&q->part[i].residents));
    }
    cd_buf_add_byte(&residents, ']');
    cd_json_out_key(o, "residents");
    cd_json_out_raw(o, cd_buf_str(&residents));
    cd_buf_deinit(&residents);
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
    for (unsigned i = 0; i < q->s->shards; i++)
        cd_buf_deinit(&q->part[i].residents);
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
