/* sim/steps.c: carries out the steps of a scenario, at their time or when their mark or event has come. */
#include "io_sim/sim_store.h"
#include "sim/run.h"

#define SLOW_SYNC_NS IO_MS(250)
#define SLOW_IO_NS IO_MS(5)

/* ---- Links ---- */

/* The nodes that a who stands for: at most all nodes and clients. */
struct crowd {
    struct sim_node *who[SCN_NODES_MAX + SCN_CLIENTS_MAX];
    unsigned count;
};

static void crowd_add(struct crowd *c, struct sim_node *n)
{
    if (n != NULL)
        c->who[c->count++] = n;
}

static struct crowd crowd_of(struct run *run, struct scn_who who)
{
    struct crowd c = {.count = 0};
    switch (who.kind) {
    case SCN_ONE_NODE: crowd_add(&c, run->node[who.index].node); break;
    case SCN_ONE_CLIENT: crowd_add(&c, run->client[who.index]); break;
    case SCN_ALL_NODES:
        for (unsigned i = 1; i <= run->nodes; i++)
            crowd_add(&c, run->node[i].node);
        break;
    case SCN_ALL_CLIENTS:
        for (unsigned i = 1; i <= run->clients; i++)
            crowd_add(&c, run->client[i]);
        break;
    case SCN_THE_STORE: crowd_add(&c, sim_store_node(run->sim)); break;
    case SCN_NOBODY: break;
    }
    return c;
}

typedef void link_fn(struct run *run, struct sim_node *from, struct sim_node *to, const struct scn_step *p);

static void each_link(struct run *run, const struct scn_step *p, link_fn *fn)
{
    struct crowd a = crowd_of(run, p->a), b = crowd_of(run, p->b);
    for (unsigned i = 0; i < a.count; i++) {
        for (unsigned k = 0; k < b.count; k++) {
            if (a.who[i] != b.who[k])
                fn(run, a.who[i], b.who[k], p);
        }
    }
}

static void link_cut(struct run *run, struct sim_node *from, struct sim_node *to, const struct scn_step *p)
{
    sim_cut(run->sim, from, to);
    if (p->both_ways)
        sim_cut(run->sim, to, from);
}

static void link_heal(struct run *run, struct sim_node *from, struct sim_node *to, const struct scn_step *p)
{
    sim_heal(run->sim, from, to);
    if (p->both_ways)
        sim_heal(run->sim, to, from);
}

static void link_clog(struct run *run, struct sim_node *from, struct sim_node *to, const struct scn_step *p)
{
    sim_clog(run->sim, from, to, p->for_ns);
    if (p->both_ways)
        sim_clog(run->sim, to, from, p->for_ns);
}

static void link_reset(struct run *run, struct sim_node *from, struct sim_node *to, const struct scn_step *p)
{
    (void)p;
    (void)sim_reset(run->sim, from, to);
}

static void cut_over(struct sim *sim, void *arg)
{
    const struct timed_step *t = arg;
    (void)sim;
    if (t->run->phase != RUN_OVER)
        each_link(t->run, &t->run->scn->step[t->step], link_heal);
}

static void do_cut(struct run *run, const struct scn_step *p)
{
    each_link(run, p, link_cut);
    if (p->for_ns > 0)
        sim_at(run->sim, p->for_ns, cut_over, &run->timed[p - run->scn->step]);
}

/* ---- The store ---- */

static void do_store(struct run *run, const struct scn_step *p)
{
    static const enum sim_store_effect effects[] = {
        [SCN_STORE_HOLD_ANSWER] = SIM_STORE_HOLD_ANSWER,
        [SCN_STORE_LOSE_ANSWER] = SIM_STORE_LOSE_ANSWER,
        [SCN_STORE_LOSE_REQUEST] = SIM_STORE_LOSE_REQUEST,
        [SCN_STORE_THROTTLE] = SIM_STORE_THROTTLE,
        [SCN_STORE_FAIL] = SIM_STORE_FAIL,
        [SCN_STORE_SLOW] = SIM_STORE_SLOW,
        [SCN_STORE_DOWN] = SIM_STORE_DOWN,
    };
    CD_STATIC_ASSERT(CD_COUNT(effects) == SCN_STORE_EFFECT_COUNT, "every effect is one of the store's");
    struct sim_store_rule r = {.effect = effects[p->effect], .ppm = p->ppm};
    if (p->a.kind == SCN_ONE_NODE) {
        r.node = run->node[p->a.index].node;
        if (r.node == NULL) {
            run_note(run, "n%u has not joined yet", p->a.index);
            return;
        }
    }
    if (p->name[0] != 0) {
        r.op = p->name;
        r.pattern = p->pattern;
    }
    switch (p->effect) {
    case SCN_STORE_HOLD_ANSWER: /* One answer, for so long. */
    case SCN_STORE_LOSE_ANSWER:
    case SCN_STORE_LOSE_REQUEST:
        r.ns = p->for_ns;
        r.times = 1;
        break;
    case SCN_STORE_SLOW: r.ns = p->for_ns; break; /* Each request, until the heal. */
    case SCN_STORE_THROTTLE:
    case SCN_STORE_FAIL:
    case SCN_STORE_DOWN: r.for_ns = p->for_ns; break;
    case SCN_STORE_EFFECT_COUNT: CD_UNREACHABLE();
    }
    sim_store_rule(run->sim, &r);
}

/* The next put of such a key reaches the store so much later, whatever has become of its node by then. */
static void do_late(struct run *run, const struct scn_step *p)
{
    sim_store_rule(
        run->sim,
        &(struct sim_store_rule){
            .effect = SIM_STORE_LATE, .op = "put", .pattern = p->pattern, .ns = p->for_ns, .times = 1});
}

/* ---- Nodes ---- */

static void do_crash(struct fleet_node *n, const struct scn_step *p)
{
    if (p->name[0] == 0) {
        fleet_crash(n, p->kill ? SIM_KILL : SIM_POWER);
        return;
    }
    n->crash_hit = false;
    bool known = sim_at_call(n->node, p->name, p->nth, p->kill ? SIM_DIE_KILL : SIM_DIE_POWER, IO_FAULT,
                             &n->crash_hit);
    CD_ASSERT(known); /* scn_available knows the calls. */
}

static void do_pause(struct fleet_node *n, const struct scn_step *p)
{
    struct run *run = n->run;
    if (sim_node_life(n->node) != SIM_UP) {
        run_note(run, "pause n%u: is down", n->index);
        return;
    }
    uint64_t now = sim_now_ns(run->sim);
    uint64_t from = n->paused_until_ns > now ? n->paused_until_ns : now;
    n->paused_until_ns = from + p->for_ns;
    run_note(run, "n%u: paused until %llu ns", n->index, (unsigned long long)n->paused_until_ns);
    sim_pause(n->node, p->for_ns);
}

static void do_disk(struct fleet_node *n, const struct scn_step *p)
{
    struct sim_disk d;
    sim_disk_get(n->node, &d);
    switch (p->disk) {
    case SCN_DISK_FULL: sim_disk_full(n->node, true); return;
    case SCN_DISK_SLOW:
        d.sync_ns = SLOW_SYNC_NS;
        d.read_ns = d.write_ns = SLOW_IO_NS;
        break;
    case SCN_DISK_TORN:
        d.keep = d.drop = 0;
        d.tear = 1;
        break;
    case SCN_DISK_LOST:
        n->wipe = true;
        fleet_crash(n, SIM_POWER);
        return;
    case SCN_DISK_SYNC_FAILS: sim_disk_fail_syncs(n->node, "/", p->nth); return;
    case SCN_DISK_OK:
        sim_disk_full(n->node, false);
        d.sync_ns = scn_get(n->run->scn, SCN_DISK_SYNC);
        d.read_ns = scn_get(n->run->scn, SCN_DISK_READ);
        d.write_ns = scn_get(n->run->scn, SCN_DISK_WRITE);
        d.keep = (uint32_t)scn_get(n->run->scn, SCN_DISK_KEEP);
        d.drop = (uint32_t)scn_get(n->run->scn, SCN_DISK_DROP);
        d.tear = (uint32_t)scn_get(n->run->scn, SCN_DISK_TEAR);
        break;
    case SCN_DISK_COUNT: CD_UNREACHABLE();
    }
    sim_disk_set(n->node, &d);
}

static void do_to_node(struct run *run, const struct scn_step *p)
{
    struct fleet_node *n = &run->node[p->a.index];
    if (n->node == NULL) {
        run_note(run, "n%u has not joined yet", p->a.index);
        return;
    }
    switch (p->action) {
    case SCN_SWIZZLE: sim_swizzle(n->node, p->for_ns); break;
    case SCN_PAUSE: do_pause(n, p); break;
    case SCN_CRASH: do_crash(n, p); break;
    case SCN_RESTART: fleet_restart(n, p->wipe); break;
    case SCN_SKEW:
        sim_clock_step(n->node, p->step_ns / 1000000);
        sim_clock_drift(n->node, p->drift_ppm);
        break;
    case SCN_DISK_IS: do_disk(n, p); break;
    case SCN_MEMORY_IS: n->memory = p->memory; break;
    case SCN_DRAIN:
        if (!fleet_drain(n))
            run_note(run, "drain n%u: is not up", n->index);
        break;
    case SCN_CUT:
    case SCN_CLOG:
    case SCN_RESET:
    case SCN_JOIN:
    case SCN_HEAL:
    case SCN_STORE_DOES:
    case SCN_LATE_PUT:
    case SCN_ACTION_COUNT: CD_UNREACHABLE();
    }
}

static void do_heal(struct run *run)
{
    if (run->healed) {
        run_note(run, "heal: is healed already");
        return;
    }
    run->healed = true;
    run->healed_ns = sim_now_ns(run->sim);
    fleet_heal(run);
}

void steps_do(struct run *run, const struct scn_step *p)
{
    struct cd_buf text = {0};
    scn_print_step(&text, p);
    run_note(run, "plan: %.*s", (int)text.len - 1, text.ptr);
    cd_buf_deinit(&text);
    if (run->healed && p->action != SCN_HEAL && p->action != SCN_RESTART) {
        run_note(run, "the fleet is healed: skipped");
        return;
    }
    switch (p->action) {
    case SCN_CUT: do_cut(run, p); break;
    case SCN_CLOG: each_link(run, p, link_clog); break;
    case SCN_RESET: each_link(run, p, link_reset); break;
    case SCN_JOIN: fleet_join(run, p->a.index); break;
    case SCN_HEAL: do_heal(run); break;
    case SCN_SWIZZLE:
    case SCN_PAUSE:
    case SCN_CRASH:
    case SCN_RESTART:
    case SCN_SKEW:
    case SCN_DRAIN:
    case SCN_MEMORY_IS:
    case SCN_DISK_IS: do_to_node(run, p); break;
    case SCN_STORE_DOES: do_store(run, p); break;
    case SCN_LATE_PUT: do_late(run, p); break;
    case SCN_ACTION_COUNT: CD_UNREACHABLE();
    }
}

/* ---- When ---- */

static void timed_fire(struct sim *sim, void *arg)
{
    const struct timed_step *t = arg;
    (void)sim;
    if (t->run->phase == RUN_OVER)
        return;
    t->run->fired[t->step] = true;
    steps_do(t->run, &t->run->scn->step[t->step]);
}

static void log_seen(void *arg, const struct sim_log *log)
{
    struct run *run = arg;
    for (unsigned i = 0; i < run->scn->steps; i++) {
        const struct scn_step *p = &run->scn->step[i];
        if (p->trigger == SCN_WHEN_EVENT && strcmp(p->when, log->name) == 0)
            run->seen[i]++;
    }
}

void steps_start(struct run *run)
{
    bool events = false;
    run->fired = cd_alloc((run->scn->steps + 1) * sizeof *run->fired);
    run->seen = cd_alloc((run->scn->steps + 1) * sizeof *run->seen);
    run->timed = cd_alloc((run->scn->steps + 1) * sizeof *run->timed);
    for (unsigned i = 0; i < run->scn->steps; i++)
        run->timed[i] = (struct timed_step){run, i};
    for (unsigned i = 0; i < run->scn->steps; i++) {
        const struct scn_step *p = &run->scn->step[i];
        if (p->trigger != SCN_AT) {
            run->watching++;
            events |= p->trigger == SCN_WHEN_EVENT;
            continue;
        }
        sim_at(run->sim, p->at_ns, timed_fire, &run->timed[i]);
    }
    if (events)
        sim_on_log(run->sim, log_seen, run);
}

void steps_watch(struct run *run)
{
    for (unsigned i = 0; run->watching > 0 && i < run->scn->steps; i++) {
        const struct scn_step *p = &run->scn->step[i];
        if (p->trigger == SCN_AT || run->fired[i])
            continue;
        uint64_t seen = p->trigger == SCN_WHEN_MARK ? sim_marks(run->sim, p->when) : run->seen[i];
        if (seen < p->when_nth)
            continue;
        run->fired[i] = true;
        run->watching--;
        steps_do(run, p); /* Between two events: nothing else runs. */
    }
}

void steps_judge(struct run *run)
{
    struct cd_buf missed = {0};
    if (run->phase != RUN_OVER || run_failed(run))
        return; /* Ended before its end: what had not come yet may still have come. */
    for (unsigned i = 0; i < run->scn->steps; i++) {
        if (run->fired[i])
            continue;
        cd_buf_addf(&missed, "step never came: ");
        scn_print_step(&missed, &run->scn->step[i]);
    }
    if (missed.len > 0)
        run_fail(run, RUN_HARNESS, "step", "%.*s", (int)missed.len - 1, missed.ptr);
    cd_buf_deinit(&missed);
}
