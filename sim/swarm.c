/* sim/swarm.c: draws settings ("swarm") and the plan of macro faults ("plan") from two streams of the seed,
 * so that a change of one leaves the other's draws alone. */
#include "sim/swarm.h"

#include "base/rng.h"
#include "sim/run.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define S UINT64_C(1000000000)
#define PLAN_PER_CLASS_MAX 8
#define PLAN_CRASHES_MAX 24 /* What recovery is for. */
#define RECOVER_MARGIN (10 * S) /* No macro fault starts so close to the end of chaos. */
#define CELLS_BANDWIDTH_MIN (512u << 10)

static bool chance(struct cd_rng *r, uint64_t of)
{
    return cd_rng_below(r, of) == 0;
}

static uint64_t between(struct cd_rng *r, uint64_t lo, uint64_t hi)
{
    return lo + cd_rng_below(r, hi - lo + 1);
}

/* Log-uniform over whole octaves: first the octave, then a place in it. In integers, so that every machine
 * agrees. */
static uint64_t log_between(struct cd_rng *r, uint64_t lo, uint64_t hi)
{
    CD_ASSERT(lo > 0 && lo <= hi);
    unsigned octaves = 0;
    while (lo << octaves <= hi / 2)
        octaves++;
    uint64_t from = lo << cd_rng_below(r, octaves + 1);
    uint64_t to = from > hi / 2 ? hi : from * 2 - 1;
    return between(r, from, to);
}

/* Two digits are as good as ten, and a person can read them. */
static uint64_t rounded(uint64_t v)
{
    uint64_t scale = 1;
    while (v / scale >= 100)
        scale *= 10;
    return v / scale * scale;
}

/* A fault that is off in half of the runs. */
static void draw_fault(struct scn *s, struct cd_rng *r, enum scn_setting id, uint64_t lo, uint64_t hi)
{
    bool off = chance(r, 2);
    uint64_t v = rounded(log_between(r, lo, hi));
    if (!off)
        scn_set(s, id, v);
}

static void draw_log(struct scn *s, struct cd_rng *r, enum scn_setting id, uint64_t lo, uint64_t hi)
{
    scn_set(s, id, rounded(log_between(r, lo, hi)));
}

static void draw_sched(struct scn *s, struct cd_rng *r)
{
    static const uint64_t slacks[] = {0, 10 * US, MS};
    static const uint64_t policies[] = {0, 1, 1, 1, 2}; /* fifo, random thrice, pct */
    scn_set(s, SCN_SCHED_POLICY, policies[cd_rng_below(r, CD_COUNT(policies))]);
    scn_set(s, SCN_SCHED_SLACK, slacks[cd_rng_below(r, CD_COUNT(slacks))]);
    uint64_t points = between(r, 1, 3);
    if (scn_get(s, SCN_SCHED_POLICY) == 2)
        scn_set(s, SCN_SCHED_POINTS, points);
}

static void draw_net(struct scn *s, struct cd_rng *r)
{
    draw_log(s, r, SCN_NET_DELAY, 50 * US, 50 * MS);
    draw_fault(s, r, SCN_NET_JITTER, 50 * US, 100 * MS);
    draw_fault(s, r, SCN_NET_BANDWIDTH, 64 << 10, 16 << 20);
    draw_fault(s, r, SCN_NET_WINDOW, 256, 64 << 10);
    draw_fault(s, r, SCN_NET_LOSS, 100, 100000);
    draw_fault(s, r, SCN_NET_SPLIT, 1000, 1000000);
    draw_fault(s, r, SCN_NET_REFUSE, 1000, 300000);
    draw_fault(s, r, SCN_NET_RESET, 10, 20000);
    draw_fault(s, r, SCN_NET_HALF_OPEN, 1000, 50000);
    draw_fault(s, r, SCN_NET_SLOW, 1000, 200000);
    draw_fault(s, r, SCN_NET_GIVE_UP, S, 15 * S);
}

static void draw_disk(struct scn *s, struct cd_rng *r)
{
    draw_log(s, r, SCN_DISK_SYNC, 20 * US, 20 * MS);
    draw_fault(s, r, SCN_DISK_SYNC_JITTER, 50 * US, 50 * MS);
    draw_fault(s, r, SCN_DISK_READ_FAIL, 100, 50000);
    draw_fault(s, r, SCN_DISK_WRITE_FAIL, 100, 50000);
    draw_fault(s, r, SCN_DISK_SYNC_FAIL, 100, 50000);
    draw_fault(s, r, SCN_DISK_FLIP, 1000, 200000);
    draw_fault(s, r, SCN_DISK_STUCK, 100, 10000);
    scn_set(s, SCN_DISK_KEEP, between(r, 0, 3));
    scn_set(s, SCN_DISK_DROP, between(r, 0, 3));
    scn_set(s, SCN_DISK_TEAR, between(r, 0, 3));
}

static void draw_loads(struct scn *s, struct cd_rng *r, uint64_t chaos_ns)
{
    draw_fault(s, r, SCN_SERVER_BODY_MAX, 64 << 10, 1 << 20);
    draw_fault(s, r, SCN_SERVER_HEAD_TIMEOUT, 200 * MS, 10 * S);
    draw_fault(s, r, SCN_SERVER_BODY_TIMEOUT, 200 * MS, 10 * S);
    draw_fault(s, r, SCN_SERVER_IDLE_TIMEOUT, 200 * MS, 30 * S);
    scn_set(s, SCN_HTTP_CLIENTS, between(r, 1, SCN_CLIENTS_MAX));
    scn_set(s, SCN_HTTP_RATE, rounded(log_between(r, 1, 60)) * 1000);
    scn_set(s, SCN_HTTP_FOR, chaos_ns);
    draw_log(s, r, SCN_HTTP_BODY, 64, 32 << 10);
    scn_set(s, SCN_HTTP_PIPELINE, between(r, 1, 8));
    draw_log(s, r, SCN_HTTP_TIMEOUT, 500 * MS, 15 * S);
    draw_fault(s, r, SCN_HTTP_SMALL, 1, 100);
    draw_fault(s, r, SCN_HTTP_CHUNKED, 1, 100);
    draw_fault(s, r, SCN_HTTP_LARGE, 1, 4);
    draw_fault(s, r, SCN_HTTP_ABORT, 1, 20);
    scn_set(s, SCN_FILES_RATE, rounded(log_between(r, 1, 60)) * 1000);
    scn_set(s, SCN_FILES_FOR, chaos_ns);
    draw_log(s, r, SCN_FILES_RECORD, 16, 8 << 10);
    scn_set(s, SCN_FILES_BATCH, between(r, 1, 8));
    draw_log(s, r, SCN_FILES_FOLD, 2, 200);
}

/* In place of the http workload, in a program that has JavaScript. A stream of its own, so that it leaves the
 * other draws alone. Fewer requests: each is a hundred times the work. */
static void draw_js(struct scn *s, uint64_t seed, uint64_t chaos_ns)
{
    struct cd_rng r;
    cd_rng_seed(&r, seed, CD_STR("swarm/js"));
    scn_forget(s, SCN_LOAD_HTTP);
    scn_set(s, SCN_JS_CLIENTS, between(&r, 1, SCN_CLIENTS_MAX));
    scn_set(s, SCN_JS_RATE, rounded(log_between(&r, 1, 30)) * 1000);
    scn_set(s, SCN_JS_FOR, chaos_ns);
    draw_log(s, &r, SCN_JS_BODY, 64, 64 << 10);
    draw_log(s, &r, SCN_JS_TIMEOUT, 3 * S, 15 * S);
    draw_fault(s, &r, SCN_JS_ABORT, 1000, 300000);
}

/* In place of the http and files workloads, in a third of the draws; from a stream of its own as well. Limits
 * are made tiny, so that edges come within seconds. */
static void draw_store(struct scn *s, struct cd_rng *r)
{
    scn_set(s, SCN_STORE_TOKENS, cd_rng_below(r, 2));
    uint64_t lo = rounded(log_between(r, MS, 50 * MS)), more = rounded(log_between(r, MS, 200 * MS));
    scn_set(s, SCN_STORE_LATENCY, lo);
    s->value[SCN_STORE_LATENCY].hi = lo + more;
    draw_fault(s, r, SCN_STORE_PAGE, 20,
               500); /* Fewer, and a listing of slots takes longer than the audit. */
    draw_fault(s, r, SCN_STORE_THROTTLED, 100, 100000);
    draw_fault(s, r, SCN_STORE_FAILS, 100, 100000);
    draw_fault(s, r, SCN_STORE_LOSES_REQUEST, 100, 100000);
    draw_fault(s, r, SCN_STORE_LOSES_ANSWER, 100, 100000);
    draw_fault(s, r, SCN_STORE_LATE, 100, 20000);
    draw_log(s, r, SCN_STORE_LATE_BY, S, 60 * S);
}

static void draw_cell_limits(struct scn *s, struct cd_rng *r)
{
    draw_log(s, r, SCN_CELLS_PIPELINE, 1, 8);
    draw_fault(s, r, SCN_CELLS_BATCH, 2 << 10, 64 << 10);
    draw_log(s, r, SCN_CELLS_FOLD, 10 * MS, 60 * S);
    draw_fault(s, r, SCN_CELLS_FOLD_ROWS, 1, 64);
    draw_fault(s, r, SCN_CELLS_FOLD_SLOTS, 1, 64);
    draw_fault(s, r, SCN_CELLS_FOLD_CACHE, 1 << 10, 1 << 20);
    draw_fault(s, r, SCN_CELLS_FOLD_RANGE, 1 << 10, 64 << 10);
    draw_fault(s, r, SCN_CELLS_PAGE, 9, 16);
    draw_fault(s, r, SCN_CELLS_RESIDENT, 1, 16);
    draw_fault(s, r, SCN_CELLS_REQUESTS, 1, 16);
    draw_fault(s, r, SCN_CELLS_ACTIVATIONS, 1, 8);
    draw_fault(s, r, SCN_CELLS_IDLE, 200 * MS, 20 * S);
    draw_log(s, r, SCN_CELLS_PROOF, 2 * S, 15 * S);
    draw_log(s, r, SCN_CELLS_OPERATION, 2 * S, 15 * S);
    draw_log(s, r, SCN_CELLS_WAKER, 500 * MS, 10 * S);
    draw_log(s, r, SCN_CELLS_TIMEOUT, S, 15 * S);
    draw_fault(s, r, SCN_CELLS_CHAIN_EPOCHS, 1, 8);
    draw_fault(s, r, SCN_CELLS_CHAIN_OBJECTS, 1, 64);
    draw_fault(s, r, SCN_CELLS_CHAIN_BYTES, 1 << 10, 1 << 20);
    draw_fault(s, r, SCN_CELLS_COMPACT, 1, 64);
    draw_fault(s, r, SCN_CELLS_RETENTION, 100 * MS, 60 * S);
    draw_fault(s, r, SCN_CELLS_CACHE, 1 << 10, 1 << 20);
    draw_fault(s, r, SCN_CELLS_BALANCE, 500 * MS, 10 * S);
}

static bool draw_cells(struct scn *s, uint64_t seed, uint64_t chaos_ns)
{
    static const struct {
        enum scn_setting clients, cells, rate, lasts;
    } loads[] = {{SCN_LEDGER_CLIENTS, SCN_LEDGER_CELLS, SCN_LEDGER_RATE, SCN_LEDGER_FOR},
                 {SCN_STORAGE_CLIENTS, SCN_STORAGE_CELLS, SCN_STORAGE_RATE, SCN_STORAGE_FOR},
                 {SCN_ALARMS_CLIENTS, SCN_ALARMS_CELLS, SCN_ALARMS_RATE, SCN_ALARMS_FOR}};
    struct cd_rng r;
    cd_rng_seed(&r, seed, CD_STR("swarm/cells"));
    if (!chance(&r, 3))
        return false;
    scn_forget(s, SCN_LOAD_HTTP);
    scn_forget(s, SCN_LOAD_FILES);
    scn_forget(s, SCN_SERVER);
    s->value[SCN_DISK_FLIP] = (struct scn_value){0}; /* The file of a database has no checksums. */
    draw_log(s, &r, SCN_FLEET_TTL, 2 * S, 15 * S);
    /* Less, and renewals of a short lease wait behind restores until it has run out, for ever. */
    uint64_t bandwidth = scn_get(s, SCN_NET_BANDWIDTH);
    if (bandwidth != 0 && bandwidth < CELLS_BANDWIDTH_MIN)
        scn_set(s, SCN_NET_BANDWIDTH, CELLS_BANDWIDTH_MIN);
    if (scn_get(s, SCN_FLEET_NODES) == 1)
        scn_set(s, SCN_CELLS_SOLE, cd_rng_below(&r, 2));
    draw_store(s, &r);
    draw_cell_limits(s, &r);
    uint64_t first = cd_rng_below(&r, CD_COUNT(loads));
    for (unsigned i = 0; i < CD_COUNT(loads); i++) {
        bool on = i == first || chance(&r, 2);
        uint64_t clients = between(&r, 1, 4), cells = log_between(&r, 1, 20), rate = log_between(&r, 1, 40);
        if (!on)
            continue;
        scn_set(s, loads[i].clients, clients);
        scn_set(s, loads[i].cells, cells);
        scn_set(s, loads[i].rate, rounded(rate) * 1000);
        scn_set(s, loads[i].lasts, chaos_ns);
    }
    if (scn_get(s, SCN_FLEET_NODES) == 3 && chance(&r, 2))
        scn_set(s, SCN_FLEET_NODES, 4);
    return true;
}

/* Half of the fleets of several nodes let followers prove writes; from a stream of its own. */
static void draw_followers(struct scn *s, uint64_t seed)
{
    struct cd_rng r;
    cd_rng_seed(&r, seed, CD_STR("swarm/followers"));
    if (scn_get(s, SCN_FLEET_NODES) < 2 || !chance(&r, 2))
        return;
    scn_set(s, SCN_FLEET_DURABILITY, 1);
    draw_fault(s, &r, SCN_CELLS_FLUSH, 10 * MS, 10 * S);
    draw_fault(s, &r, SCN_CELLS_WINDOW, 2, 256);
    draw_fault(s, &r, SCN_CELLS_BACKSTOP, 100 * MS, 5 * S);
}

/* ---- The plan ---- */

struct plan {
    struct scn *scn;
    struct cd_rng rng;
    unsigned nodes, clients;
    uint64_t end_ns; /* Faults start before. */
    uint64_t skew_max_ms; /* Of one step of a clock. */
    uint64_t drift_max_ppm;
};

/* To the millisecond: what a person reads and the shrinker rounds. */
static uint64_t plan_time(struct plan *p)
{
    return between(&p->rng, 100, p->end_ns / MS) * MS;
}

static uint64_t plan_span(struct plan *p, uint64_t lo_ms, uint64_t hi_ms)
{
    return rounded(log_between(&p->rng, lo_ms, hi_ms)) * MS;
}

static struct scn_who plan_node(struct plan *p)
{
    return (struct scn_who){SCN_ONE_NODE, (unsigned)between(&p->rng, 1, p->nodes)};
}

/* One draw per statement: the order of evaluation inside an expression is the compiler's. */
static struct scn_step plan_step(struct plan *p, enum scn_action action)
{
    struct scn_step t = {.action = action};
    t.at_ns = plan_time(p);
    t.a = plan_node(p);
    return t;
}

/* The other end of a link from a node: what talks to nodes today are clients. */
static struct scn_who plan_client(struct plan *p)
{
    if (chance(&p->rng, 3))
        return (struct scn_who){SCN_ALL_CLIENTS, 0};
    return (struct scn_who){SCN_ONE_CLIENT, (unsigned)between(&p->rng, 1, p->clients)};
}

static void plan_crash(struct plan *p)
{
    /* Those between which data is at stake more often than the rest. */
    static const char *const calls[] = {
        "file.sync", "file.sync",   "file.sync",  "path.sync",     "path.sync",  "path.rename",
        "any",       "file.write",  "file.write", "file.open",     "net.read",   "net.write",
        "file.read", "path.remove", "net.accept", "file.truncate", "path.rename"};
    struct scn_step crash = plan_step(p, SCN_CRASH);
    crash.kill = chance(&p->rng, 3);
    const char *call = calls[cd_rng_below(&p->rng, CD_COUNT(calls))];
    unsigned nth = (unsigned)log_between(&p->rng, 1, 32);
    if (!chance(&p->rng, 3)) {
        memcpy(crash.name, call, strlen(call) + 1);
        crash.nth = nth;
    }
    scn_add_step(p->scn, &crash);
    struct scn_step restart = {.action = SCN_RESTART, .a = crash.a};
    restart.at_ns = crash.at_ns + plan_span(p, 1, 10000);
    scn_add_step(p->scn, &restart);
}

static void plan_pause(struct plan *p)
{
    struct scn_step t = plan_step(p, SCN_PAUSE);
    t.for_ns = plan_span(p, 10, 15000);
    scn_add_step(p->scn, &t);
}

static void plan_link(struct plan *p, enum scn_action action)
{
    struct scn_step t = plan_step(p, action);
    t.b = plan_client(p);
    if (chance(&p->rng, 2)) {
        struct scn_who a = t.a;
        t.a = t.b;
        t.b = a;
    }
    t.both_ways = action == SCN_RESET || chance(&p->rng, 2);
    if (action != SCN_RESET)
        t.for_ns = plan_span(p, 10, 20000);
    scn_add_step(p->scn, &t);
}

static void plan_swizzle(struct plan *p)
{
    struct scn_step t = plan_step(p, SCN_SWIZZLE);
    t.for_ns = plan_span(p, 100, 10000);
    scn_add_step(p->scn, &t);
}

static void plan_skew(struct plan *p)
{
    struct scn_step t = plan_step(p, SCN_SKEW);
    t.step_ns = (int64_t)plan_span(p, 1, p->skew_max_ms);
    if (chance(&p->rng, 2))
        t.step_ns = -t.step_ns;
    t.drift_ppm = (int32_t)rounded(log_between(&p->rng, 10, p->drift_max_ppm));
    if (chance(&p->rng, 2))
        t.drift_ppm = -t.drift_ppm;
    scn_add_step(p->scn, &t);
}

/* A state of the disk, and after a while the end of it. */
static void plan_disk(struct plan *p, enum scn_disk disk)
{
    struct scn_step t = plan_step(p, SCN_DISK_IS);
    t.disk = disk;
    t.nth = 1;
    if (disk == SCN_DISK_SYNC_FAILS)
        t.nth = (unsigned)between(&p->rng, 1, 4);
    scn_add_step(p->scn, &t);
    struct scn_step after = {.at_ns = t.at_ns + plan_span(p, 10, 8000), .a = t.a, .nth = 1};
    after.action = disk == SCN_DISK_LOST ? SCN_RESTART : SCN_DISK_IS;
    after.disk = SCN_DISK_OK;
    if (disk == SCN_DISK_LOST) {
        after.nth = 0;
        after.disk = 0;
    }
    if (disk != SCN_DISK_SYNC_FAILS)
        scn_add_step(p->scn, &after);
}

/* ---- What only cells have ---- */

static void plan_store_cut(struct plan *p)
{
    struct scn_step t = plan_step(p, SCN_CUT);
    t.b = (struct scn_who){SCN_THE_STORE, 0};
    t.both_ways = chance(&p->rng, 2);
    t.for_ns = plan_span(p, 10, 20000);
    scn_add_step(p->scn, &t);
}

static void plan_store(struct plan *p)
{
    static const char *const ops[] = {"put", "put", "put", "get", "list", "delete"};
    static const char *const patterns[] = {"*", "log/*", "nodes/*", "cells/*", "wake/*", "*owner.json"};
    struct scn_step t = plan_step(p, SCN_STORE_DOES);
    if (chance(&p->rng, 2))
        t.a = (struct scn_who){SCN_ALL_NODES, 0};
    t.effect = (enum scn_store_effect)cd_rng_below(&p->rng, SCN_STORE_EFFECT_COUNT);
    const char *op = ops[cd_rng_below(&p->rng, CD_COUNT(ops))];
    const char *pattern = patterns[cd_rng_below(&p->rng, CD_COUNT(patterns))];
    if (t.effect <= SCN_STORE_LOSE_REQUEST || chance(&p->rng, 2)) {
        memcpy(t.name, op, strlen(op) + 1);
        memcpy(t.pattern, pattern, strlen(pattern) + 1);
    }
    t.for_ns = plan_span(p, 10, 20000);
    if (t.effect == SCN_STORE_SLOW)
        t.for_ns = plan_span(p, 10, 500); /* Of each request, until the heal. */
    if (t.effect == SCN_STORE_THROTTLE || t.effect == SCN_STORE_FAIL)
        t.ppm = (uint32_t)rounded(log_between(&p->rng, 10000, 900000));
    scn_add_step(p->scn, &t);
}

static void plan_late(struct plan *p)
{
    static const char *const patterns[] = {"log/*", "log/*", "nodes/*", "cells/*", "*owner.json", "wake/*"};
    struct scn_step t = plan_step(p, SCN_LATE_PUT);
    t.a = (struct scn_who){0};
    const char *pattern = patterns[cd_rng_below(&p->rng, CD_COUNT(patterns))];
    memcpy(t.pattern, pattern, strlen(pattern) + 1);
    t.for_ns = plan_span(p, 10, 40000);
    scn_add_step(p->scn, &t);
}

static void plan_drain(struct plan *p)
{
    struct scn_step t = plan_step(p, SCN_DRAIN);
    scn_add_step(p->scn, &t);
    struct scn_step restart = {.action = SCN_RESTART, .a = t.a, .wipe = chance(&p->rng, 3)};
    restart.at_ns = t.at_ns + plan_span(p, 1000, 15000);
    scn_add_step(p->scn, &restart);
}

/* And after a while it is enough again. */
static void plan_memory(struct plan *p)
{
    struct scn_step t = plan_step(p, SCN_MEMORY_IS);
    t.memory = chance(&p->rng, 3) ? SCN_MEMORY_OTHER : SCN_MEMORY_CELLS;
    scn_add_step(p->scn, &t);
    t.at_ns += plan_span(p, 1000, 20000);
    t.memory = SCN_MEMORY_OK;
    scn_add_step(p->scn, &t);
}

/* Between nodes: calls of a cell that another node has go over it. */
static void plan_peers(struct plan *p)
{
    static const enum scn_action actions[] = {SCN_CUT, SCN_CUT, SCN_CLOG, SCN_RESET};
    struct scn_step t = plan_step(p, actions[cd_rng_below(&p->rng, CD_COUNT(actions))]);
    t.b = (struct scn_who){SCN_ALL_NODES, 0};
    if (chance(&p->rng, 2))
        t.b = plan_node(p);
    t.both_ways = t.action == SCN_RESET || chance(&p->rng, 2);
    if (t.action != SCN_RESET)
        t.for_ns = plan_span(p, 10, 20000);
    if (p->nodes > 1 && (t.b.kind == SCN_ALL_NODES || t.b.index != t.a.index))
        scn_add_step(p->scn, &t);
}

/* A crash in a request to the store. */
static void plan_store_crash(struct plan *p)
{
    static const char *const calls[] = {"store.put", "store.put", "store.get", "store.list", "store.delete"};
    struct scn_step crash = plan_step(p, SCN_CRASH);
    crash.kill = chance(&p->rng, 3);
    const char *call = calls[cd_rng_below(&p->rng, CD_COUNT(calls))];
    crash.nth = (unsigned)log_between(&p->rng, 1, 64);
    memcpy(crash.name, call, strlen(call) + 1);
    scn_add_step(p->scn, &crash);
    struct scn_step restart = {.action = SCN_RESTART, .a = crash.a, .wipe = chance(&p->rng, 3)};
    restart.at_ns = crash.at_ns + plan_span(p, 1, 20000);
    scn_add_step(p->scn, &restart);
}

static void plan_cells(struct plan *p)
{
    static void (*const classes[])(struct plan *p) = {plan_store_cut,   plan_store,  plan_late, plan_drain,
                                                      plan_store_crash, plan_memory, plan_peers};
    for (unsigned class = 0; class < CD_COUNT(classes); class ++) {
        bool off = chance(&p->rng, 2);
        uint64_t times = log_between(&p->rng, 1, PLAN_PER_CLASS_MAX);
        for (uint64_t i = 0; !off && i < times; i++)
            classes[class](p);
    }
}

/* One class of macro faults: off in half of the runs, else 1..PLAN_PER_CLASS_MAX times. */
static void plan_class(struct plan *p, unsigned class)
{
    bool off = chance(&p->rng, 2);
    uint64_t times = log_between(&p->rng, 1, class == 0 ? PLAN_CRASHES_MAX : PLAN_PER_CLASS_MAX);
    for (uint64_t i = 0; !off && i < times; i++) {
        switch (class) {
        case 0: plan_crash(p); break;
        case 1: plan_pause(p); break;
        case 2: plan_link(p, SCN_CUT); break;
        case 3: plan_link(p, SCN_CLOG); break;
        case 4: plan_link(p, SCN_RESET); break;
        case 5: plan_swizzle(p); break;
        case 6: plan_skew(p); break;
        case 7: plan_disk(p, SCN_DISK_FULL); break;
        case 8: plan_disk(p, SCN_DISK_SLOW); break;
        case 9: plan_disk(p, SCN_DISK_SYNC_FAILS); break;
        case 10: plan_disk(p, SCN_DISK_TORN); break;
        default: plan_disk(p, SCN_DISK_LOST); break;
        }
    }
}
#define PLAN_CLASSES 12

static void sort_steps(struct scn *s)
{
    /* Insertion keeps steps of the same time in the order of their drawing. */
    for (unsigned i = 1; i < s->steps; i++) {
        struct scn_step t = s->step[i];
        unsigned at = i;
        for (; at > 0 && s->step[at - 1].at_ns > t.at_ns; at--)
            s->step[at] = s->step[at - 1];
        s->step[at] = t;
    }
}

void swarm_draw(struct scn *s, uint64_t seed)
{
    struct cd_rng r;
    scn_init(s);
    s->has_seed = true;
    s->seed = seed;
    cd_rng_seed(&r, seed, CD_STR("swarm"));
    uint64_t chaos_ns = between(&r, 30, 120) * S;
    scn_set(s, SCN_FLEET_NODES, between(&r, 1, 3));
    scn_set(s, SCN_FLEET_SHARDS, chance(&r, 2) ? 1 : between(&r, 1, 3));
    draw_sched(s, &r);
    draw_net(s, &r);
    draw_disk(s, &r);
    draw_loads(s, &r, chaos_ns);
    if (run_has_kind(SCN_LOAD_JS))
        draw_js(s, seed, chaos_ns);
    bool cells = run_has_kind(SCN_LOAD_LEDGER) && draw_cells(s, seed, chaos_ns);
    if (cells)
        draw_followers(s, seed);
    struct plan p = {
        .scn = s, .end_ns = chaos_ns - RECOVER_MARGIN, .skew_max_ms = 100000, .drift_max_ppm = 50000};
    if (cells) { /* An alarm comes by the clock of its node, and the audit waits for it. */
        p.skew_max_ms = 4000;
        p.drift_max_ppm = 1000;
    }
    p.nodes = (unsigned)scn_get(s, SCN_FLEET_NODES);
    p.clients = scn_clients(s);
    cd_rng_seed(&p.rng, seed, CD_STR("plan"));
    for (unsigned class = 0; class < PLAN_CLASSES; class ++)
        plan_class(&p, class);
    if (cells)
        plan_cells(&p);
    /* What ends a fault comes no later than the end of all of them. */
    for (unsigned i = 0; i < s->steps; i++)
        if (s->step[i].at_ns > chaos_ns)
            s->step[i].at_ns = chaos_ns;
    struct scn_step heal = {.action = SCN_HEAL, .at_ns = chaos_ns};
    scn_add_step(s, &heal);
    sort_steps(s);
    struct scn_expect none = {.kind = SCN_NO_FAILURE};
    s->expect[s->expects++] = none;
}
