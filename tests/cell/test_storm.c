#include "base/rng.h"
#include "cell/rig.h"

/* Random calls, evictions, aborts, alarms, stalls of the log and crashes, with events late and ties at
 * random. The model of a cell is a counter that only "add 1" changes: an answer is a proof, so no later one
 * may be smaller, and no two adds may answer the same. */

#define SCOPES 6

struct storm {
    int64_t acked[SCOPES]; /* The highest value that an answer has shown. */
    bool seen[SCOPES][4096];
    struct {
        struct call *call;
        unsigned scope;
        bool add;
    } open[64];
    unsigned opened;
};

static const char *const names[SCOPES] = {"C:0", "C:1", "C:2", "C:3", "C:4", "C:5"};

static void storm_check(struct storm *s, unsigned i)
{
    const struct call *c = s->open[i].call;
    if (c->messages == 0)
        return;
    int64_t value = strtoll(c->got, NULL, 10);
    unsigned scope = s->open[i].scope;
    assert_true(value >= 0 && value < 4096);
    if (s->open[i].add) {
        assert_false(s->seen[scope][value]); /* Two writers, or a lost write that was written again. */
        s->seen[scope][value] = true;
    }
    if (value > s->acked[scope])
        s->acked[scope] = value;
}

static void storm_reap(struct storm *s)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < s->opened; i++) {
        if (s->open[i].call->messages == 0 && !s->open[i].call->closed) {
            s->open[kept++] = s->open[i];
            continue;
        }
        storm_check(s, i);
        rig_hang_up(s->open[i].call);
    }
    s->opened = kept;
}

static void storm_forget(struct storm *s)
{
    for (unsigned i = 0; i < s->opened; i++)
        storm_check(s, i);
    s->opened = 0;
}

static void poke(struct io *io, void *arg)
{
    (void)io;
    cell_wake(rig_shard_of(arg), cd_str(arg));
}

static void drop(void *arg, const char *reason)
{
    (void)arg;
    (void)reason;
}

static void push_out(struct io *io, void *arg)
{
    (void)io;
    cell_evict(rig_shard_of(arg), cd_str(arg), drop, NULL);
}

static void storm_call(struct storm *s, unsigned scope, const char *what)
{
    if (s->opened == CD_COUNT(s->open) || rig.calls == RIG_CALLS_MAX)
        return;
    s->open[s->opened].call = rig_call(names[scope], what);
    s->open[s->opened].scope = scope;
    s->open[s->opened++].add = strcmp(what, "add 1") == 0;
}

static void storm_act(struct storm *s, struct cd_rng *rng)
{
    unsigned scope = (unsigned)cd_rng_below(rng, SCOPES);
    void *name = (void *)(uintptr_t)names[scope];
    switch (cd_rng_below(rng, 16)) {
    case 0: rig_on(names[scope], push_out, name); break;
    case 1: storm_call(s, scope, "abort enough"); break;
    case 2: rig_on(names[scope], poke, name); break;
    case 3: fake.stall = cd_rng_below(rng, 3) == 0; break;
    case 4:
        fake.uncut = cd_rng_below(rng, 2) == 0;
        rig.stop_late = !rig.stop_late;
        break;
    case 5: fake.claim_end = cd_rng_below(rng, 3) == 0 ? FLEET_CLAIM_FAILED : FLEET_CLAIM_OWNED; break;
    case 6: fake.fold_status = cd_rng_below(rng, 3) == 0 ? IO_CANCELED : IO_OK; break;
    case 7:
    case 8:
    case 9: storm_call(s, scope, "get"); break;
    default: storm_call(s, scope, "add 1");
    }
}

static void storm(uint64_t seed)
{
    struct storm *s = cd_new(struct storm);
    struct cd_rng rng;
    rig_open_with(&(struct sim_opts){.seed = seed, .policy = SIM_RANDOM, .slack_ns = IO_MS(2)});
    rig.limits.resident_max = 2 + (unsigned)(seed % 3);
    rig.limits.activations_max = 1 + (unsigned)(seed % 2);
    rig_crash();
    rig_restart();
    cd_rng_seed(&rng, seed, CD_STR("storm"));
    for (unsigned round = 0; round < 6; round++) {
        for (unsigned i = 0; i < 40; i++) {
            storm_act(s, &rng);
            rig_run((unsigned)cd_rng_below(&rng, cd_rng_below(&rng, 8) == 0 ? 4000 : 30));
            storm_reap(s);
        }
        storm_forget(s);
        rig_crash();
        rig_restart();
    }
    fake.stall = false;
    fake.claim_end = FLEET_CLAIM_OWNED;
    fake.fold_status = IO_OK;
    for (unsigned i = 0; i < SCOPES; i++) {
        const char *text = rig_ask(names[i], "get");
        int64_t value = strtoll(text, NULL, 10);
        if (value < s->acked[i])
            print_error("seed %llu: %s is %s, %lld was acknowledged\n", (unsigned long long)seed, names[i],
                        text, (long long)s->acked[i]);
        assert_true(value >= s->acked[i]);
    }
    rig_free();
    cd_free(s);
}

static void test_no_answer_is_ever_taken_back(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++)
        storm(seed);
}

CD_TESTS(storm, cmocka_unit_test(test_no_answer_is_ever_taken_back))
