/* io_sim/trigger.c: counting the io calls of a node, and the fault at the k-th of them. simulation.md 4. */
#include "io_sim/sim_internal.h"

#define SWEEP_MAX 1000000u

static bool kind_counted(unsigned kind)
{
    static const bool counted[] = {
#define X(id, text, count) count,
        SIM_KINDS(X)
#undef X
    };
    return counted[kind];
}

/* False: pattern names nothing. */
static bool pattern_match(const char *pattern, unsigned char match[SIM_KIND_COUNT])
{
    struct cd_str want = cd_str(pattern);
    bool any = false;
    for (unsigned kind = 0; kind < SIM_KIND_COUNT; kind++) {
        struct cd_str name = cd_str(sim_kind_name((enum sim_kind)kind));
        struct cd_str group = cd_str_sub(name, 0, cd_str_find(name, '.', 0));
        match[kind] = kind_counted(kind) && (cd_str_eq(want, CD_STR("any")) || cd_str_eq(want, name) ||
                                             (group.len < name.len && cd_str_eq(want, group)));
        any = any || match[kind] != 0;
    }
    return any;
}

bool sim_at_call(struct sim_node *n, const char *pattern, uint64_t k, enum sim_action action, int status,
                 bool *hit)
{
    struct sim_trigger t = {.left = k, .action = action, .status = status, .hit = hit};
    if (!pattern_match(pattern, t.match))
        return false;
    n->trigger = t;
    return true;
}

uint64_t sim_calls(const struct sim_node *n, const char *pattern)
{
    unsigned char match[SIM_KIND_COUNT];
    uint64_t sum = 0;
    if (!pattern_match(pattern, match))
        return 0;
    for (unsigned kind = 0; kind < SIM_KIND_COUNT; kind++)
        sum += match[kind] != 0 ? n->call_count[kind] : 0;
    return sum;
}

static int strike(struct sim_node *n)
{
    struct sim_trigger *t = &n->trigger;
    if (t->hit != NULL)
        *t->hit = true;
    switch (t->action) {
    case SIM_FAIL: return t->status;
    case SIM_DIE_KILL: sim_crash(n, SIM_KILL); return IO_CANCELED;
    case SIM_DIE_POWER: sim_crash(n, SIM_POWER); return IO_CANCELED;
    }
    CD_UNREACHABLE();
}

int sim_call(struct sim_loop *loop, enum sim_kind kind)
{
    struct sim_node *n = loop->node;
    if (loop->frozen)
        return IO_CANCELED;
    n->call_count[kind]++;
    if (n->trigger.left == 0 || n->trigger.match[kind] == 0 || --n->trigger.left > 0)
        return 0;
    return strike(n);
}

bool sim_sweep_next(struct sim_sweep *s)
{
    CD_ASSERT(s->at == 0 || s->armed); /* A body that forgets sim_sweep_arm would pass at once. */
    CD_ASSERT(s->at < SWEEP_MAX);
    if (s->at > 0 && !s->hit)
        return false;
    s->at++;
    s->armed = s->hit = false;
    return true;
}

void sim_sweep_arm(struct sim_sweep *s, struct sim_node *n)
{
    s->armed = sim_at_call(n, "any", s->at, SIM_FAIL, s->status == 0 ? IO_FAULT : s->status, &s->hit);
}
