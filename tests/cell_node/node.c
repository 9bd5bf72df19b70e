#include "cell_node/node.h"

#include <stdlib.h>

#include "cell/id.h"
#include "db/storage.h"

struct node node;

/* ---- Counters ---- */

struct counter {
    struct cell *cell;
    struct cd_list talks;
};

struct talk {
    struct counter *counter;
    struct cell_wire *wire;
    struct cd_link link;
};

static int64_t value_of(struct storage *s)
{
    struct cd_str v;
    if (storage_kv_get(s, CD_STR("n"), &v) != 0)
        return 0;
    char text[32];
    (void)snprintf(text, sizeof text, "%.*s", (int)v.len, v.ptr);
    return strtoll(text, NULL, 10);
}

static int put_value(struct storage *s, int64_t value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%lld", (long long)value);
    return storage_kv_put(s, CD_STR("n"), cd_str(text));
}

static void talk_end(struct talk *t)
{
    cd_link_remove(&t->link);
    cell_wire_close(t->wire, NULL);
    cd_free(t);
}

static void talk_message(void *arg, struct cell_wire *w, struct cd_buf *bytes)
{
    struct talk *t = arg;
    struct cell *c = t->counter->cell;
    struct storage *s = cell_storage(c);
    const char *text = cd_buf_cstr(bytes);
    int rc = 0;
    if (strncmp(text, "add ", 4) == 0)
        rc = put_value(s, value_of(s) + strtoll(text + 4, NULL, 10));
    else if (strncmp(text, "alarm ", 6) == 0)
        rc = storage_alarm_set(s, io_wall_ms(cell_io(c)) + strtoll(text + 6, NULL, 10));
    if (rc != 0) {
        cell_abort(c, storage_error(s));
        return;
    }
    struct cd_buf answer = {0};
    cd_buf_addf(&answer, "%lld", (long long)value_of(s));
    cell_wire_send(w, &answer);
}

static void talk_closed(void *arg, struct cell_wire *w, const struct cell_close *why)
{
    (void)w;
    (void)why;
    talk_end(arg);
}

static const struct cell_wire_hooks talk_hooks = {talk_message, talk_closed, NULL, NULL};

static void counter_start(void *arg, struct cell *c)
{
    (void)arg;
    struct counter *a = cd_new(struct counter);
    a->cell = c;
    cd_list_init(&a->talks);
    cell_set_user(c, a);
    node.starts++;
    node.alive++;
    node.epoch = cell_epoch(c);
    cell_started(c, NULL);
}

static void counter_open(void *arg, struct cell *c, struct cell_wire *w)
{
    (void)arg;
    struct talk *t = cd_new(struct talk);
    t->counter = cell_user(c);
    t->wire = w;
    cd_list_push(&t->counter->talks, &t->link);
    cell_wire_attach(w, &talk_hooks, t);
}

static void counter_alarm(void *arg, struct cell *c, const struct cell_alarm_run *run)
{
    (void)arg;
    (void)run;
    node.alarms++;
    (void)snprintf(node.name, sizeof node.name, "%.*s", (int)cell_name(c).len, cell_name(c).ptr);
    int rc = put_value(cell_storage(c), value_of(cell_storage(c)) + 1000);
    cell_alarm_done(c, rc == 0 ? CELL_ALARM_OK : CELL_ALARM_FAILED);
}

static void counter_wake(void *arg, struct cell *c)
{
    (void)arg;
    (void)c;
}

static void counter_stop(void *arg, struct cell *c, enum cell_stop cause, struct cd_str why)
{
    struct counter *a = cell_user(c);
    struct cd_link *k;
    (void)arg;
    (void)cause;
    (void)why;
    while ((k = cd_list_first(&a->talks)) != NULL)
        talk_end(CD_CONTAINER(k, struct talk, link));
    cd_free(a);
    node.alive--;
    cell_stopped(c);
}

static const struct cell_code counter = {counter_start, counter_open, counter_alarm,
                                         counter_wake,  counter_stop, NULL};

/* ---- Callers ---- */

static void call_message(void *arg, struct cell_wire *w, struct cd_buf *bytes)
{
    struct node_call *c = arg;
    (void)w;
    c->answered = true;
    c->value = strtoll(cd_buf_cstr(bytes), NULL, 10);
}

static void call_closed(void *arg, struct cell_wire *w, const struct cell_close *why)
{
    struct node_call *c = arg;
    (void)w;
    c->closed = true;
    (void)snprintf(c->why, sizeof c->why, "%.*s", (int)why->text.len, why->text.ptr);
}

static const struct cell_wire_hooks call_hooks = {call_message, call_closed, NULL, NULL};

static void call_close(struct node_call *c)
{
    if (c->wire != NULL)
        cell_wire_close(c->wire, NULL);
    c->wire = NULL;
}

static void call_open(struct io *io, void *arg)
{
    struct node_call *c = arg;
    struct cd_buf text = {0};
    if (node.ending)
        return;
    c->wire = cell_call(node.router, io,
                        &(struct cell_target){.scope = cd_str(c->scope), .name = CD_STR("lobby")}, NULL);
    cell_wire_attach(c->wire, &call_hooks, c);
    cd_buf_add_str(&text, cd_str(c->text));
    cell_wire_send(c->wire, &text);
}

struct node_call *node_send(const char *scope, const char *text)
{
    assert_true(node.calls < NODE_CALLS_MAX);
    struct node_call *c = &node.call[node.calls++];
    *c = (struct node_call){0};
    (void)snprintf(c->scope, sizeof c->scope, "%s", scope);
    (void)snprintf(c->text, sizeof c->text, "%s", text);
    sim_in_loop(node.node, 0, call_open, c);
    return c;
}

static void reap(struct io *io, void *arg)
{
    (void)io;
    (void)arg;
    for (unsigned i = 0; i < node.calls; i++) {
        if (node.call[i].answered || node.call[i].closed)
            call_close(&node.call[i]);
    }
}

static bool settled(void *arg)
{
    const struct node_call *c = arg;
    return c->answered || c->closed;
}

int64_t node_ask(const char *scope, const char *text)
{
    for (unsigned i = 0; i < 100; i++) {
        struct node_call *c = node_send(scope, text);
        bool ended = sim_run_until(node.sim, settled, c, IO_SEC(120));
        assert_true(ended);
        sim_in_loop(node.node, 0, reap, NULL);
        node_run(5);
        if (c->answered)
            return c->value;
        if (i == 99)
            print_error("%s: %s\n", scope, c->why);
        node_run(500);
    }
    fail();
    return -1;
}

/* ---- The node ---- */

static void shard_boot(struct io *io, void *arg)
{
    unsigned loop = io_loop_index(io);
    (void)arg;
    if (node.ending)
        return;
    node.shard[loop] = cell_shard_new(&(struct cell_shard_opts){.io = io,
                                                                .router = node.router,
                                                                .code = &counter,
                                                                .self = fleet_node_self(node.fleet),
                                                                .log = fleet_node_log(node.fleet),
                                                                .folder = fleet_node_folder(node.fleet),
                                                                .data_dir = "/d",
                                                                .limits = node.limits});
    node.shards++;
}

static void ready(void *arg)
{
    (void)arg;
    for (unsigned i = 1; i < NODE_LOOPS; i++)
        sim_in_loop(node.node, i, shard_boot, NULL);
    node.ready = true;
}

static void halt(void *arg, enum fleet_halt how, const char *why)
{
    (void)arg;
    (void)how;
    (void)snprintf(node.halt, sizeof node.halt, "%s", why);
}

static void hint(void *arg, struct cd_str scope)
{
    (void)arg;
    cell_wake_scope(node.router, sim_io(node.node, 0), scope);
}

static void folded(void *arg, struct cd_str scope, uint64_t epoch, uint64_t max_txid, uint64_t bytes)
{
    (void)arg;
    cell_folded(node.router, sim_io(node.node, 0), scope, epoch, max_txid, bytes);
}

static void fleet_stopped(struct io_op *op, int status)
{
    (void)op;
    (void)status;
    fleet_node_free(node.fleet);
    node.fleet = NULL;
    node.stopped = true;
}

static void fleet_stop(void)
{
    if (node.shards == 0 && node.ending && node.fleet != NULL && !io_busy(&node.fleet_op))
        fleet_node_stop(node.fleet, &node.fleet_op, fleet_stopped);
}

static void shard_gone(struct io *at, struct io_msg *m)
{
    (void)at;
    (void)m;
    node.shards--;
    fleet_stop();
}

static void shard_closed(struct io_op *op, int status)
{
    unsigned loop = (unsigned)(op - node.shard_op);
    (void)status;
    node.gone[loop].handle = shard_gone;
    io_post(io_current(), 0, &node.gone[loop]);
}

static void boot(struct io *io, void *arg)
{
    (void)arg;
    (void)sim_bucket(io, "");
    if (io_loop_index(io) != 0)
        return;
    node.fleet = fleet_node_start(&(struct fleet_node_opts){.io = io,
                                                            .data_dir = CD_STR("/d"),
                                                            .node = CD_STR("n"),
                                                            .ttl_ms = 10000,
                                                            .waker_tick_ms = 5000,
                                                            .pipeline = 4,
                                                            .fold_ms = 600000,
                                                            .sole = true,
                                                            .ready = ready,
                                                            .halt = halt,
                                                            .fold = {.cell_rows = node.fold_rows},
                                                            .hint = hint,
                                                            .folded = folded});
}

static void unwind(struct io *io, void *arg)
{
    unsigned loop = io_loop_index(io);
    (void)arg;
    node.ending = true;
    if (loop != 0) {
        if (node.shard[loop] != NULL)
            cell_shard_unwind(node.shard[loop], &node.shard_op[loop], shard_closed);
        node.shard[loop] = NULL;
        return;
    }
    for (unsigned i = 0; i < node.calls; i++)
        call_close(&node.call[i]);
    fleet_stop();
}

static void life(void)
{
    node.router = cell_router_new(NODE_LOOPS);
    node.ready = node.stopped = node.ending = false;
    node.shards = 0;
    memset(node.shard_op, 0, sizeof node.shard_op);
    memset(&node.fleet_op, 0, sizeof node.fleet_op);
}

void node_open(const struct sim_opts *opts)
{
    node = (struct node){.limits = cell_limits_default(NODE_LOOPS - 1, 2, 8000)};
    node.sim = sim_new(opts);
    sim_store_set(node.sim, &(struct sim_store_opts){.latency_ns = IO_MS(5), .jitter_ns = IO_MS(10)});
    life();
    node.node = sim_node(node.sim, &(struct sim_node_opts){.name = "n",
                                                           .loops = NODE_LOOPS,
                                                           .program = {.boot = boot, .unwind = unwind}});
}

static bool serves(void *arg)
{
    (void)arg;
    return (node.ready && node.shards == NODE_LOOPS - 1) || node.halt[0] != '\0';
}

void node_ready(void)
{
    (void)sim_run_until(node.sim, serves, NULL, IO_SEC(120));
    assert_string_equal(node.halt, "");
    assert_true(node.ready);
}

void node_run(unsigned ms)
{
    sim_run_for(node.sim, IO_MS(ms));
}

static void dead(void)
{
    assert_int_equal(node.alive, 0);
    assert_null(node.fleet);
    cell_router_free(node.router);
    node.router = NULL;
    node.calls = 0;
}

void node_crash(enum sim_crash how)
{
    sim_crash_wait(node.node, how);
    dead();
}

void node_restart(bool wipe)
{
    node.halt[0] = '\0';
    life();
    sim_restart(node.node, wipe);
}

static void shard_stop(struct io *io, void *arg)
{
    unsigned loop = io_loop_index(io);
    (void)arg;
    struct cell_shard *s = node.shard[loop];
    node.shard[loop] = NULL;
    if (s != NULL)
        cell_shard_close(s, io_now_ns(io) + IO_SEC(1), &node.shard_op[loop], shard_closed);
}

static void hang_up(struct io *io, void *arg)
{
    (void)io;
    (void)arg;
    node.ending = true;
    for (unsigned i = 0; i < node.calls; i++)
        call_close(&node.call[i]);
}

static bool stopped(void *arg)
{
    (void)arg;
    return node.stopped;
}

void node_stop(void)
{
    sim_in_loop(node.node, 0, hang_up, NULL);
    for (unsigned i = 1; i < NODE_LOOPS; i++)
        sim_in_loop(node.node, i, shard_stop, NULL);
    bool ended = sim_run_until(node.sim, stopped, NULL, IO_SEC(120));
    assert_true(ended);
    node_crash(SIM_KILL); /* The process ends. */
}

void node_free(void)
{
    sim_store_heal(node.sim);
    if (sim_node_life(node.node) == SIM_UP)
        node_stop();
    sim_free(node.sim);
}

static char evicted[64];

static void note(void *arg, const char *reason)
{
    (void)arg;
    (void)snprintf(evicted, sizeof evicted, "%s", reason == NULL ? "evicted" : reason);
}

static void evict(struct io *io, void *arg)
{
    cell_evict(node.shard[io_loop_index(io)], cd_str(arg), note, NULL);
}

static bool noted(void *arg)
{
    (void)arg;
    return evicted[0] != '\0';
}

void node_evict(const char *scope)
{
    char copy[64];
    (void)snprintf(copy, sizeof copy, "%s", scope);
    evicted[0] = '\0';
    sim_in_loop(node.node, cell_scope_loop(cd_str(scope), NODE_LOOPS), evict, copy);
    bool ended = sim_run_until(node.sim, noted, NULL, IO_SEC(120));
    assert_true(ended);
    assert_string_equal(evicted, "evicted");
}

static void count(void *arg, struct cd_str key, const struct sim_object *o)
{
    (void)key, (void)o;
    ++*(unsigned *)arg;
}

unsigned node_keys(const char *prefix)
{
    unsigned n = 0;
    sim_store_each(node.sim, cd_str(prefix), count, &n);
    return n;
}
