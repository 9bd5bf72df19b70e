/* sim/run.c: the phases of a run and its end. One event at a time; the first violation ends it. */
#include "sim/run.h"

#include "base/json.h"
#include "io_sim/plant.h"

#include "sim/memory.h"

#define SETTLE_POLL_NS IO_MS(20)
#define WATCH_EVENTS 10000u /* Bounds are looked at so often. */
#define LEFT_MAX 20000u /* Ops, fibers, files and streams of a node: more is growth without bound. */

bool run_has_kind(enum scn_group group)
{
    for (unsigned i = 0; i < run_kind_count; i++) {
        if (run_kinds[i]->group == group)
            return true;
    }
    return false;
}

bool run_clocks_differ(const struct run *run)
{
    bool skewed = false;
    for (unsigned i = 0; i < run->scn->steps; i++)
        skewed |= run->scn->step[i].action == SCN_SKEW;
    return skewed && run->nodes > 1;
}

/* ---- Failures and the trace ---- */

void run_fail(struct run *run, enum run_code code, const char *invariant, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    run_result_vfail(run->result, code, invariant, sim_now_ns(run->sim), format, args);
    va_end(args);
    run_note(run, "failed: %s", invariant);
    struct cd_buf why = {0};
    va_start(args, format);
    cd_buf_vaddf(&why, format, args);
    va_end(args);
    struct cd_str rest = cd_str_trim(cd_buf_str(&why)), line;
    while (run_traced(run) && rest.ptr != NULL && cd_str_next(&rest, '\n', &line))
        run_note(run, "    %.*s", (int)line.len, line.ptr);
    cd_buf_deinit(&why);
}

bool run_failed(const struct run *run)
{
    return run->result->code != RUN_PASS;
}

bool run_traced(const struct run *run)
{
    return run->setup->trace != RUN_TRACE_NONE && sim_events(run->sim) >= run->setup->trace_from;
}

void run_note(struct run *run, const char *format, ...)
{
    if (!run_traced(run))
        return;
    struct cd_buf text = {0};
    va_list args;
    va_start(args, format);
    cd_buf_vaddf(&text, format, args);
    va_end(args);
    uint64_t now = sim_now_ns(run->sim);
    cd_buf_clear(&run->line);
    if (run->setup->trace != RUN_TRACE_TEXT) {
        cd_buf_addf(&run->line, "{\"ns\":%llu,\"note\":", (unsigned long long)now);
        cd_json_quote(&run->line, cd_buf_str(&text));
        cd_buf_addf(&run->line, "}\n");
    } else {
        cd_buf_addf(&run->line, "# %llu.%09llu %.*s\n", (unsigned long long)(now / IO_SEC(1)),
                    (unsigned long long)(now % IO_SEC(1)), (int)text.len, text.ptr);
    }
    run->setup->trace_write(run->setup->trace_arg, cd_buf_str(&run->line));
    cd_buf_deinit(&text);
}

static void show_record(void *arg, const struct sim_record *r)
{
    struct run *run = arg;
    if (r->event < run->setup->trace_from)
        return;
    cd_buf_clear(&run->line);
    if (run->setup->trace != RUN_TRACE_TEXT)
        sim_record_json(&run->line, r);
    else
        sim_record_text(&run->line, r);
    run->setup->trace_write(run->setup->trace_arg, cd_buf_str(&run->line));
}

/* ---- Phases ---- */

static bool settled(struct run *run, struct cd_buf *why)
{
    bool yes = fleet_up(run, why);
    for (unsigned i = 0; i < run->loads && (yes || why != NULL); i++)
        yes = run->load_kind[i]->settled(run->load[i], why) && yes;
    return yes;
}

static uint64_t settle_time(const struct run *run)
{
    uint64_t leases = 4 * scn_get(run->scn, SCN_FLEET_TTL) + IO_SEC(30);
    return leases > RUN_SETTLE_NS ? leases : RUN_SETTLE_NS;
}

/* The bound starts when nothing hinders any more: at the heal, the end of the load, or the end of the last
 * pause. */
static uint64_t settle_deadline(const struct run *run)
{
    uint64_t from = run->healed_ns > run->end_of_chaos_ns ? run->healed_ns : run->end_of_chaos_ns;
    for (unsigned i = 1; i <= run->nodes; i++) {
        if (run->node[i].paused_until_ns > from)
            from = run->node[i].paused_until_ns;
    }
    return from + settle_time(run);
}

static void start_audit(struct run *run)
{
    run->phase = RUN_AUDIT;
    run->settled_ns = sim_now_ns(run->sim);
    run_note(run, "settled: every node loses its power once more, then everything is looked at");
    for (unsigned i = 1; i <= run->nodes; i++) {
        if (run->node[i].node == NULL)
            continue;
        fleet_crash(&run->node[i], SIM_POWER);
        fleet_restart(&run->node[i], false);
    }
    for (unsigned i = 0; i < run->loads; i++)
        run->load_kind[i]->audit(run->load[i]);
}

/* Whether a load keeps what counts in the bucket, so that the disks are worth nothing. */
static bool lives_in_bucket(const struct run *run)
{
    for (unsigned i = 0; i < run->loads; i++) {
        if (run->load_kind[i]->drain != NULL)
            return true;
    }
    return false;
}

static void start_drain(struct run *run)
{
    run->phase = RUN_DRAIN;
    run->settled_ns = sim_now_ns(run->sim);
    run_note(run, "audited: every node ends in order");
    for (unsigned i = 1; i <= run->nodes; i++) {
        struct fleet_node *n = &run->node[i];
        if (n->node != NULL && !fleet_drain(n))
            run_note(run, "n%u: has nothing to drain", i);
    }
}

static bool drained(struct run *run, struct cd_buf *why)
{
    bool yes = true;
    for (unsigned i = 1; i <= run->nodes; i++) {
        const struct fleet_node *n = &run->node[i];
        if (n->node == NULL || sim_node_life(n->node) == SIM_DEAD)
            continue;
        yes = false;
        if (why != NULL)
            cd_buf_addf(why, "n%u has not ended\n", i);
    }
    return yes;
}

static void start_rebuild(struct run *run)
{
    run->phase = RUN_REBUILD;
    run->settled_ns = sim_now_ns(run->sim);
    run_note(run, "drained: the disks are thrown away, one node starts from the bucket alone");
    for (unsigned i = 1; i <= run->nodes; i++)
        run->node[i].retired = run->node[i].node != NULL;
    run->node[1].retired = false;
    fleet_restart(&run->node[1], true);
    for (unsigned i = 0; i < run->loads; i++)
        run->load_kind[i]->audit(run->load[i]);
}

static const char *phase_invariant(const struct run *run)
{
    switch (run->phase) {
    case RUN_AUDIT: return "liveness.audit";
    case RUN_DRAIN: return "liveness.drain";
    case RUN_REBUILD: return "liveness.rebuild";
    case RUN_CHAOS:
    case RUN_SETTLE:
    case RUN_OVER: break;
    }
    return "liveness.settle";
}

static void next_phase(struct run *run)
{
    switch (run->phase) {
    case RUN_CHAOS: CD_UNREACHABLE();
    case RUN_SETTLE: start_audit(run); return;
    case RUN_AUDIT:
        if (lives_in_bucket(run))
            start_drain(run);
        else
            run->phase = RUN_OVER;
        return;
    case RUN_DRAIN: start_rebuild(run); return;
    case RUN_REBUILD: run->phase = RUN_OVER; return;
    case RUN_OVER: return;
    }
}

static void settle_poll(struct sim *sim, void *arg)
{
    struct run *run = arg;
    if (run->phase == RUN_OVER)
        return;
    uint64_t now = sim_now_ns(sim);
    uint64_t deadline = run->phase == RUN_SETTLE ? settle_deadline(run) : run->settled_ns + settle_time(run);
    bool (*over)(struct run *run, struct cd_buf *why) = run->phase == RUN_DRAIN ? drained : settled;
    if (over(run, NULL)) {
        next_phase(run);
    } else if (now > deadline) {
        struct cd_buf why = {0};
        (void)over(run, &why);
        fleet_report(run, &why);
        run_fail(run, RUN_LIVENESS, phase_invariant(run), "not done within %llu s:\n%s",
                 (unsigned long long)(settle_time(run) / IO_SEC(1)), cd_buf_cstr(&why));
        cd_buf_deinit(&why);
    }
    if (run->phase != RUN_OVER)
        sim_at(sim, SETTLE_POLL_NS, settle_poll, run);
}

static void chaos_over(struct sim *sim, void *arg)
{
    struct run *run = arg;
    if (run->phase != RUN_CHAOS)
        return;
    run->phase = RUN_SETTLE;
    run_note(run, "end of the load");
    for (unsigned i = 0; i < run->loads; i++)
        run->load_kind[i]->quiet(run->load[i]);
    if (!run->healed) {
        const struct scn_step heal = {.action = SCN_HEAL, .at_ns = sim_now_ns(sim)};
        steps_do(run, &heal);
    }
    settle_poll(sim, run);
}

/* ---- Expectations ---- */

/* "expect fails X" turns things around: that failure is the pass, and anything else is a mistake of the
 * scenario. */
static void judge_failure(struct run *run, const struct scn_expect *e)
{
    struct run_result *r = run->result;
    if (strcmp(r->invariant, e->name) == 0) {
        cd_buf_deinit(&r->detail);
        r->code = RUN_PASS;
        r->invariant[0] = 0;
        r->failed_at_ns = 0;
        return;
    }
    char got[RUN_INVARIANT_MAX];
    memcpy(got, r->invariant, sizeof got);
    struct cd_buf detail = cd_buf_move(&r->detail);
    r->code = RUN_PASS;
    run_fail(run, RUN_HARNESS, "expect.fails", "line %u wants %s to fail, but %s did\n%s", e->line, e->name,
             got[0] == 0 ? "nothing" : got, cd_buf_cstr(&detail));
    cd_buf_deinit(&detail);
}

static void judge(struct run *run)
{
    if (run->scn->plant[0] != 0 && sim_plant_hits() == 0)
        run_fail(run, RUN_HARNESS, "plant", "the run never came by %s, or there is no such bug",
                 run->scn->plant);
    for (unsigned i = 0; i < run->scn->expects; i++) {
        const struct scn_expect *e = &run->scn->expect[i];
        switch (e->kind) {
        case SCN_NO_FAILURE: break;
        case SCN_FAILS: judge_failure(run, e); return;
        case SCN_MARK:
            if (!run_failed(run) && sim_marks(run->sim, e->name) == 0)
                run_fail(run, RUN_HARNESS, "expect.mark", "line %u wants mark %s, it was not hit", e->line,
                         e->name);
            break;
        case SCN_SERVED:
            if (!run_failed(run) && run->settled_ns > e->by_ns)
                run_fail(run, RUN_LIVENESS, "liveness.served",
                         "line %u wants all served by %llu ms, it took %llu ms", e->line,
                         (unsigned long long)(e->by_ns / 1000000),
                         (unsigned long long)(run->settled_ns / 1000000));
            break;
        }
    }
}

/* ---- The run ---- */

static void watch_bounds(struct run *run)
{
    for (unsigned i = 1; i <= run->nodes; i++) {
        if (run->node[i].node == NULL)
            continue;
        size_t left = sim_left(run->node[i].node, NULL);
        if (left > LEFT_MAX)
            run_fail(run, RUN_SAFETY, "bounds", "n%u has %llu ops, fibers, files and streams", i,
                     (unsigned long long)left);
    }
}

/* Fires the next event. False: the run is over. */
static bool one_event(struct run *run)
{
    const struct run_setup *setup = run->setup;
    uint64_t next = sim_events(run->sim) + 1;
    if (setup->break_event == next)
        setup->trap();
    if (!sim_step(run->sim)) {
        run_fail(run, RUN_LIVENESS, "liveness.stopped", "no event is left");
        return false;
    }
    uint64_t now = sim_now_ns(run->sim);
    if (setup->progress != NULL) {
        setup->progress->events = next;
        setup->progress->now_ns = now;
    }
    if (run->watching > 0)
        steps_watch(run);
    if (next % WATCH_EVENTS == 0)
        watch_bounds(run);
    return run->phase != RUN_OVER && !run_failed(run) && (setup->until_ns == 0 || now < setup->until_ns);
}

static void add_mark(void *arg, const char *name, uint64_t count)
{
    struct run_result *r = arg;
    size_t len = strlen(name) < RUN_INVARIANT_MAX ? strlen(name) : RUN_INVARIANT_MAX - 1;
    r->mark = cd_realloc(r->mark, (r->marks + 1) * sizeof *r->mark);
    r->mark[r->marks] = (struct run_mark){.count = count};
    memcpy(r->mark[r->marks].name, name, len);
    r->marks++;
}

static void collect(struct run *run)
{
    struct run_result *r = run->result;
    size_t count;
    const uint64_t *checkpoint = sim_checkpoints(run->sim, &count);
    r->events = sim_events(run->sim);
    r->virtual_ns = sim_now_ns(run->sim);
    r->hash = sim_hash(run->sim);
    r->checkpoints = count;
    r->checkpoint = cd_alloc(count * sizeof *checkpoint);
    if (count > 0)
        memcpy(r->checkpoint, checkpoint, count * sizeof *checkpoint);
    sim_marks_each(run->sim, add_mark, r);
}

static void node_leaks(void *arg, const char *node, const char *report)
{
    struct run *run = arg;
    run_fail(run, RUN_LEAK, "leak", "%s did not come to its end:\n%s", node, report);
    judge(run);
    collect(run);
    run->setup->give_up(run->setup->give_up_arg, run->result);
    CD_UNREACHABLE();
}

static void start(struct run *run)
{
    CD_ASSERT(run_kind_count <= RUN_LOADS_MAX);
    for (unsigned i = 0; i < run_kind_count; i++) {
        const struct load_kind *kind = run_kinds[i];
        if (!run->scn->has[kind->group])
            continue;
        if (scn_get(run->scn, kind->lasts) > run->end_of_chaos_ns)
            run->end_of_chaos_ns = scn_get(run->scn, kind->lasts);
        run->load_kind[run->loads] = kind;
        run->load[run->loads] = kind->start(run);
        run->loads++;
    }
    fleet_start(run);
    steps_start(run);
    sim_at(run->sim, run->end_of_chaos_ns, chaos_over, run);
}

/* The end of a run that came to its end: everything is taken down, and nothing may be left. After a violation
 * nothing is taken down: what is broken may not be able to end, and would hide the cause. */
static void finish(struct run *run, uint64_t memory_before)
{
    run->phase = RUN_OVER;
    sim_free(run->sim);
    for (unsigned i = 0; i < run->loads; i++)
        run->load_kind[i]->finish(run->load[i]);
    cd_free(run->timed);
    cd_free(run->fired);
    cd_free(run->seen);
    cd_buf_deinit(&run->line);
    uint64_t left = memory_blocks() - memory_before;
    if (left != 0)
        run_result_fail(run->result, RUN_LEAK, "leak.memory", run->result->virtual_ns,
                        "%lld blocks of memory are left at the end; preset sim-asan tells whose",
                        (long long)left);
}

void run_execute(const struct run_setup *setup, struct run_result *result)
{
    static const enum sim_policy policies[] = {SIM_FIFO, SIM_RANDOM, SIM_PCT};
    struct run run = {.setup = setup, .scn = setup->scn, .result = result};
    *result = (struct run_result){.seed = setup->seed};
    uint64_t began = setup->cpu_ns == NULL ? 0 : setup->cpu_ns(), memory = memory_blocks();
    struct sim_opts opts = {
        .seed = setup->seed,
        .policy = policies[scn_get(run.scn, SCN_SCHED_POLICY)],
        .slack_ns = scn_get(run.scn, SCN_SCHED_SLACK),
        .pct_points = (unsigned)scn_get(run.scn, SCN_SCHED_POINTS),
        .leak = node_leaks,
        .leak_arg = &run,
    };
    bool plants = sim_plant_set(run.scn->plant[0] == 0 ? NULL : run.scn->plant);
    CD_ASSERT(plants); /* The scenario was refused otherwise. */
    run.sim = sim_new(&opts);
    sim_entropy_install(run.sim);
    if (setup->trace != RUN_TRACE_NONE)
        sim_on_record(run.sim, show_record, &run);
    start(&run);
    bool more = true;
    while (more && run.boots_left > 0)
        more = one_event(&run);
    uint64_t booted = setup->cpu_ns == NULL ? 0 : setup->cpu_ns();
    while (more)
        more = one_event(&run);
    judge(&run);
    if (setup->all_steps)
        steps_judge(&run);
    uint64_t before = memory_blocks();
    collect(&run);
    if (!run_failed(&run))
        finish(&run, memory + memory_blocks() - before); /* What the result holds stays. */
    result->boot_ns = booted - began;
    result->cpu_ns = setup->cpu_ns == NULL ? 0 : setup->cpu_ns() - began;
}
