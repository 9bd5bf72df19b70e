#include "cell/rig.h"

#include <stdlib.h>

#include "cell/id.h"
#include "cell/rig_links.h"
#include "io_sim/sim_store.h"

struct rig rig;

/* ---- Actors ---- */

struct actor {
    struct cell *cell;
    struct cd_list talks;
    struct io_timer late;
    bool hung; /* Its alarm. */
};

struct talk {
    struct actor *actor;
    struct cell_wire *wire;
    struct cd_link link;
    struct cell_wire *onward;
};

static void say(struct cell_wire *w, const char *text)
{
    struct cd_buf b = {0};
    cd_buf_add_str(&b, cd_str(text));
    cell_wire_send(w, &b);
}

static void say_number(struct cell_wire *w, int64_t n)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%lld", (long long)n);
    say(w, text);
}

static void talk_end(struct talk *t, const struct cell_close *why)
{
    cd_link_remove(&t->link);
    if (t->onward != NULL)
        cell_wire_close(t->onward, NULL);
    cell_wire_close(t->wire, why);
    cd_free(t);
}

static void onward_message(void *arg, struct cell_wire *w, struct cd_buf *bytes)
{
    struct talk *t = arg;
    (void)w;
    say(t->wire, cd_buf_cstr(bytes));
}

static void onward_closed(void *arg, struct cell_wire *w, const struct cell_close *why)
{
    (void)arg;
    (void)w;
    (void)why;
}

static const struct cell_wire_hooks onward_hooks = {onward_message, onward_closed, NULL, NULL};

static bool command(const char *text, const char *name, const char **rest)
{
    size_t len = strlen(name);
    *rest = text + len + (text[len] == ' ');
    return strncmp(text, name, len) == 0 && (text[len] == ' ' || text[len] == '\0');
}

static void set_alarm(struct cell *c, const char *ms)
{
    int rc = storage_alarm_set(cell_storage(c), io_wall_ms(cell_io(c)) + strtoll(ms, NULL, 10));
    assert_int_equal(rc, 0);
}

static const struct cell_wire_hooks talk_hooks;

static void talk_message(void *arg, struct cell_wire *w, struct cd_buf *bytes)
{
    struct talk *t = arg;
    if (bytes->len > rig.longest)
        rig.longest = bytes->len;
    if (t->actor == NULL) { /* Parked: an answer without the cell. */
        say(w, cd_buf_cstr(bytes));
        return;
    }
    struct cell *c = t->actor->cell;
    struct storage *s = cell_storage(c);
    const char *text = cd_buf_cstr(bytes);
    const char *rest;
    if (command(text, "get", &rest)) {
        say_number(w, fake_value(s));
    } else if (command(text, "add", &rest)) {
        if (fake_set(s, fake_value(s) + strtoll(rest, NULL, 10)) == 0)
            say_number(w, fake_value(s));
    } else if (command(text, "put", &rest)) {
        (void)fake_set(s, strtoll(rest, NULL, 10));
        (void)cell_stamp(c);
    } else if (command(text, "alarm", &rest)) {
        set_alarm(c, rest);
        say(w, "ok");
    } else if (command(text, "quiet", &rest)) {
        set_alarm(c, rest);
        (void)cell_stamp(c);
    } else if (command(text, "end", &rest)) {
        talk_end(t, NULL);
    } else if (command(text, "abort", &rest)) {
        cell_abort(c, cd_str(rest));
    } else if (command(text, "served", &rest)) {
        cell_wire_served(w);
    } else if (command(text, "park", &rest)) {
        cell_wire_park(w, true);
        cd_link_remove(&t->link); /* Of C code that outlives the actor: here nobody's. */
        t->actor = NULL;
    } else if (command(text, "enter", &rest)) {
        say(w, cell_wire_call_begin(w) ? "in" : "full");
    } else if (command(text, "leave", &rest)) {
        cell_wire_call_end(w);
    } else if (command(text, "deaf", &rest)) {
        rig.deaf = t;
        cell_wire_attach(w, NULL, NULL);
    } else if (command(text, "call", &rest)) {
        struct cell_target to = {.scope = cd_str(rest)};
        t->onward = cell_call(rig.router, cell_io(c), &to, c);
        cell_wire_attach(t->onward, &onward_hooks, t);
        say(t->onward, "add 1");
    } else {
        assert_true(command(text, "hang", &rest) || text[0] == '.');
        rig.filled += text[0] == '.';
    }
}

static void talk_closed(void *arg, struct cell_wire *w, const struct cell_close *why)
{
    (void)w;
    (void)why;
    talk_end(arg, NULL);
}

static const struct cell_wire_hooks talk_hooks = {talk_message, talk_closed, NULL, NULL};

static void actor_start(void *arg, struct cell *c)
{
    (void)arg;
    rig.starts++;
    if (rig.start_fails != NULL) {
        cell_started(c, rig.start_fails);
        return;
    }
    struct actor *a = cd_new(struct actor);
    a->cell = c;
    cd_list_init(&a->talks);
    cell_set_user(c, a);
    rig.alive++;
    rig.last = c;
    if (!rig.start_hangs)
        cell_started(c, NULL);
}

static void actor_open(void *arg, struct cell *c, struct cell_wire *w)
{
    (void)arg;
    struct talk *t = cd_new(struct talk);
    t->actor = cell_user(c);
    t->wire = w;
    cd_list_push(&t->actor->talks, &t->link);
    cell_wire_attach(w, &talk_hooks, t);
}

static void actor_alarm(void *arg, struct cell *c, const struct cell_alarm_run *run)
{
    (void)arg;
    rig.alarms++;
    rig.last_alarm = *run;
    rig.last_alarm_ns = io_now_ns(cell_io(c));
    if (rig.alarm_aborts)
        cell_abort(c, CD_STR("not now"));
    if (rig.alarm_hangs || rig.alarm_aborts)
        return;
    bool fails = rig.alarm_fails > 0;
    rig.alarm_fails -= fails;
    int rc = fake_set(cell_storage(c), fake_value(cell_storage(c)) + 100);
    CD_MAYBE(rc == 0);
    cell_alarm_done(c, fails ? CELL_ALARM_FAILED : CELL_ALARM_OK);
}

static void actor_wake(void *arg, struct cell *c)
{
    (void)arg;
    (void)c;
    rig.wakes++;
}

static void actor_gone(struct actor *a)
{
    struct cell *c = a->cell;
    cd_free(a);
    rig.alive--;
    cell_stopped(c);
}

static void late_done(struct io_op *op, int status)
{
    (void)status;
    actor_gone(CD_CONTAINER(op, struct actor, late.op));
}

static void actor_stop(void *arg, struct cell *c, enum cell_stop cause, struct cd_str why)
{
    struct actor *a = cell_user(c);
    struct cd_link *k;
    (void)arg;
    (void)why;
    rig.stops[cause]++;
    while ((k = cd_list_first(&a->talks)) != NULL)
        talk_end(CD_CONTAINER(k, struct talk, link), NULL);
    if (rig.stop_late)
        io_timer_start(&a->late, cell_io(c), IO_MS(50), late_done);
    else
        actor_gone(a);
}

static void actor_shrink(void *arg)
{
    (void)arg;
    rig.shrinks++;
}

static const struct cell_code actor_code = {actor_start, actor_open, actor_alarm,
                                            actor_wake,  actor_stop, actor_shrink};

/* ---- Callers ---- */

static void call_message(void *arg, struct cell_wire *w, struct cd_buf *bytes)
{
    struct call *c = arg;
    (void)w;
    c->messages++;
    size_t len = strlen(c->got);
    (void)snprintf(c->got + len, sizeof c->got - len, "%s ", cd_buf_cstr(bytes));
}

static void call_drained(void *arg, struct cell_wire *w)
{
    struct call *c = arg;
    assert_false(cell_wire_full(w));
    c->drained++;
}

static void call_closed(void *arg, struct cell_wire *w, const struct cell_close *why)
{
    struct call *c = arg;
    (void)w;
    c->closed = true;
    c->overloaded = why->overloaded;
    c->retryable = why->retryable;
    c->reset = why->reset;
    (void)snprintf(c->why, sizeof c->why, "%.*s", (int)why->text.len, why->text.ptr);
}

static const struct cell_wire_hooks call_hooks = {call_message, call_closed, NULL, call_drained};

static void call_open(struct io *io, void *arg)
{
    struct call *c = arg;
    struct cell_target to = {.scope = cd_str(c->scope), .script = CD_STR("test"), .name = CD_STR("me")};
    c->wire = cell_call(rig.router, io, &to, NULL);
    cell_wire_attach(c->wire, &call_hooks, c);
    if (c->first[0] != '\0')
        say(c->wire, c->first);
}

struct call *rig_call(const char *scope, const char *first)
{
    assert_true(rig.calls < RIG_CALLS_MAX);
    struct call *c = &rig.call[rig.calls++];
    (void)snprintf(c->scope, sizeof c->scope, "%s", scope);
    (void)snprintf(c->first, sizeof c->first, "%s", first);
    sim_in_loop(rig.node, 0, call_open, c);
    return c;
}

static void call_close(struct io *io, void *arg)
{
    struct call *c = arg;
    (void)io;
    if (c->wire != NULL)
        cell_wire_close(c->wire, NULL);
    c->wire = NULL;
}

struct order {
    struct call *call;
    char text[64];
};

static void call_say(struct io *io, void *arg)
{
    struct order *o = arg;
    (void)io;
    if (o->call->wire != NULL)
        say(o->call->wire, o->text);
    cd_free(o);
}

void rig_send(struct call *c, const char *message)
{
    struct order *o = cd_new(struct order);
    o->call = c;
    (void)snprintf(o->text, sizeof o->text, "%s", message);
    sim_in_loop(rig.node, 0, call_say, o);
}

static void call_fill(struct io *io, void *arg)
{
    struct order *o = arg;
    struct cd_buf b = {0};
    (void)io;
    size_t len = strtoull(o->text, NULL, 10);
    memset(cd_buf_reserve(&b, len), '.', len);
    b.len = len;
    cell_wire_send(o->call->wire, &b);
    cd_free(o);
}

void rig_fill(struct call *c, size_t len)
{
    struct order *o = cd_new(struct order);
    o->call = c;
    (void)snprintf(o->text, sizeof o->text, "%zu", len);
    sim_in_loop(rig.node, 0, call_fill, o);
}

static void hear(struct io *io, void *arg)
{
    struct talk *t = arg;
    (void)io;
    cell_wire_attach(t->wire, &talk_hooks, t);
}

void rig_hear(void)
{
    struct talk *t = rig.deaf;
    unsigned loop = io_loop_index(cell_io(t->actor->cell));
    sim_in_loop(rig.other.node != NULL ? rig.other.node : rig.node, loop, hear, t);
}

void rig_hang_up(struct call *c)
{
    sim_in_loop(rig.node, 0, call_close, c);
}

/* ---- The node ---- */

static struct cell_shard *shard_new(struct io *io, struct cell_router *router, const struct fleet_self *self)
{
    return cell_shard_new(&(struct cell_shard_opts){.io = io,
                                                    .router = router,
                                                    .code = &actor_code,
                                                    .self = self,
                                                    .data_dir = "/d",
                                                    .limits = rig.limits});
}

static void boot(struct io *io, void *arg)
{
    unsigned loop = io_loop_index(io);
    (void)arg;
    (void)sim_bucket(io, ""); /* Where nothing is: what matters is fake. */
    if (loop == 0)
        rig_links_boot(io, 0);
    else
        rig.shard[loop] = shard_new(io, rig.router, &fake.self);
}

static void other_boot(struct io *io, void *arg)
{
    unsigned loop = io_loop_index(io);
    (void)arg;
    (void)sim_bucket(io, "");
    if (loop == 0)
        rig_links_boot(io, 1);
    else
        rig.other.shard[loop] = shard_new(io, rig.other.router, &fake.other);
}

static void other_unwind(struct io *io, void *arg)
{
    unsigned loop = io_loop_index(io);
    (void)arg;
    if (loop == 0)
        rig_links_unwind(io, 1);
    else if (rig.other.shard[loop] != NULL)
        cell_shard_unwind(rig.other.shard[loop], NULL, NULL);
    rig.other.shard[loop] = NULL;
}

static void unwind(struct io *io, void *arg)
{
    unsigned loop = io_loop_index(io);
    (void)arg;
    if (loop == 0)
        rig_links_unwind(io, 0);
    if (loop != 0 && rig.shard[loop] != NULL)
        cell_shard_unwind(rig.shard[loop], NULL, NULL);
    rig.shard[loop] = NULL;
    for (unsigned i = 0; loop == 0 && i < rig.calls; i++)
        call_close(io, &rig.call[i]);
}

void rig_open(void)
{
    rig_open_with(NULL);
}

void rig_open_with(const struct sim_opts *opts)
{
    fake_reset();
    rig = (struct rig){0};
    rig.limits = cell_limits_default(2, 2, 8000);
    rig.sim = sim_new(opts);
    rig.router = cell_router_new(RIG_LOOPS);
    rig.node =
        sim_node(rig.sim, &(struct sim_node_opts){
                              .name = "n", .loops = RIG_LOOPS, .program = {.boot = boot, .unwind = unwind}});
    sim_disk_put(rig.node, "/d/marker", CD_STR("x"));
    sim_run_for(rig.sim, IO_MS(1));
}

void rig_open_two(void)
{
    rig_open();
    rig_links_new(rig.router, 0);
    rig.other.router = cell_router_new(RIG_LOOPS);
    rig_links_new(rig.other.router, 1);
    rig_links_start();
    rig.other.node =
        sim_node(rig.sim, &(struct sim_node_opts){.name = "m",
                                                  .loops = RIG_LOOPS,
                                                  .program = {.boot = other_boot, .unwind = other_unwind}});
    sim_disk_put(rig.other.node, "/d/marker", CD_STR("x"));
    fake.owner = "m/1";
    fake.owner_addr = "m:90";
    rig_run(1);
}

void rig_run(unsigned ms)
{
    sim_run_for(rig.sim, IO_MS(ms));
}

void rig_crash(void)
{
    sim_crash_wait(rig.node, SIM_KILL);
    assert_int_equal(rig.alive, 0);
    assert_int_equal(fake.open_now, 0);
    rig.calls = 0;
    memset(rig.call, 0, sizeof rig.call);
}

void rig_restart(void)
{
    sim_restart(rig.node, false);
    rig_run(10);
}

static void shard_closed(struct io_op *op, int status)
{
    assert_int_equal(status, IO_OK);
    rig.shards_closed++;
    cd_free(op);
}

static void shard_close(struct io *io, void *arg)
{
    unsigned loop = io_loop_index(io);
    uint64_t *ms = arg;
    cell_shard_close(rig.shard[loop], io_now_ns(io) + IO_MS(*ms), cd_new(struct io_op), shard_closed);
    rig.shard[loop] = NULL;
}

static void other_close(struct io *io, void *arg)
{
    unsigned loop = io_loop_index(io);
    (void)arg;
    cell_shard_close(rig.other.shard[loop], io_now_ns(io), cd_new(struct io_op), shard_closed);
    rig.other.shard[loop] = NULL;
}

void rig_close_other(void)
{
    unsigned before = rig.shards_closed;
    for (unsigned i = 1; i < RIG_LOOPS; i++)
        sim_in_loop(rig.other.node, i, other_close, NULL);
    for (unsigned i = 0; i < 1000 && rig.shards_closed < before + RIG_LOOPS - 1; i++)
        rig_run(10);
    assert_int_equal(rig.shards_closed, before + RIG_LOOPS - 1);
}

static bool closed(void *arg)
{
    return rig.shards_closed == *(unsigned *)arg;
}

void rig_close_shards(unsigned deadline_ms)
{
    uint64_t ms = deadline_ms;
    unsigned all = rig.shards_closed + RIG_LOOPS - 1;
    for (unsigned i = 1; i < RIG_LOOPS; i++)
        sim_in_loop(rig.node, i, shard_close, &ms);
    assert_true(sim_run_until(rig.sim, closed, &all, IO_SEC(600)));
    assert_int_equal(rig.alive, 0);
    assert_int_equal(fake.open_now, 0);
}

void rig_free(void)
{
    for (unsigned i = 0; i < rig.calls; i++)
        rig_hang_up(&rig.call[i]);
    rig_run(10);
    fake.stall = false;
    if (rig.other.node != NULL && sim_node_life(rig.other.node) == SIM_UP && rig.other.shard[1] != NULL)
        rig_close_other();
    if (sim_node_life(rig.node) == SIM_UP && rig.shard[1] != NULL)
        rig_close_shards(1000);
    rig_links_stop();
    sim_free(rig.sim);
    rig_links_free();
    cell_router_free(rig.router);
    if (rig.other.router != NULL)
        cell_router_free(rig.other.router);
    rig = (struct rig){0};
}

/* ---- Asking ---- */

static bool answered(void *arg)
{
    const struct call *c = arg;
    return c->messages > 0 || c->closed;
}

const char *rig_ask(const char *scope, const char *message)
{
    struct call *c = rig_call(scope, message);
    (void)sim_run_until(rig.sim, answered, c, IO_SEC(60));
    rig_hang_up(c);
    rig_run(5);
    if (c->messages > 0)
        c->got[strlen(c->got) - 1] = '\0';
    return c->messages > 0 ? c->got : c->closed ? c->why : "nothing";
}

struct cell_shard *rig_shard_of(const char *scope)
{
    return rig.shard[cell_scope_loop(cd_str(scope), RIG_LOOPS)];
}

struct seen {
    const char *scope, *phase;
};

static bool see(void *arg, const struct cell_view *v)
{
    struct seen *s = arg;
    if (!cd_str_eq(v->scope, cd_str(s->scope)))
        return true;
    s->phase = v->phase;
    return false;
}

const char *rig_phase(const char *scope)
{
    struct seen s = {.scope = scope, .phase = "unknown"};
    cell_shard_each(rig_shard_of(scope), (struct cd_str){0}, see, &s);
    return s.phase;
}

static void evicted(void *arg, const char *reason)
{
    (void)arg;
    (void)snprintf(rig.evicted, sizeof rig.evicted, "%s", reason == NULL ? "evicted" : reason);
}

static void evict(struct io *io, void *arg)
{
    (void)io;
    cell_evict(rig_shard_of(arg), cd_str(arg), evicted, NULL);
}

void rig_on(const char *scope, void (*fn)(struct io *io, void *arg), void *arg)
{
    sim_in_loop(rig.node, cell_scope_loop(cd_str(scope), RIG_LOOPS), fn, arg);
}

static bool evict_ended(void *arg)
{
    (void)arg;
    return rig.evicted[0] != '\0';
}

void rig_evict(const char *scope)
{
    char copy[256];
    rig.evicted[0] = '\0';
    (void)snprintf(copy, sizeof copy, "%s", scope);
    rig_on(scope, evict, copy);
    assert_true(sim_run_until(rig.sim, evict_ended, NULL, IO_SEC(60)));
    rig_run(5);
}
