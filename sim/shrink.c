/* sim/shrink.c: tries changes from the coarse to the fine until none is left that keeps the failure. */
#include "sim/shrink.h"

#include "sim/run.h"

#define S UINT64_C(1000000000)

/* Asks about the candidate; takes its place when it still fails. candidate is consumed. */
static bool keep_if_fails(struct shrink *k, struct scn *s, struct scn *candidate)
{
    struct cd_buf why = {0};
    uint64_t at_ns = 0;
    bool runs = k->tries < k->tries_max && !scn_equal(s, candidate) &&
                scn_available(candidate, "candidate", &why) == 0;
    cd_buf_deinit(&why);
    if (runs)
        k->tries++;
    bool fails = runs && k->fails(k->arg, candidate, &at_ns);
    if (fails) {
        scn_deinit(s);
        *s = *candidate;
        k->failed_at_ns = at_ns;
        k->kept++;
    } else {
        scn_deinit(candidate);
    }
    return fails;
}

/* Ends load and steps a little behind the failure. */
static bool cut_behind_failure(struct shrink *k, struct scn *s)
{
    uint64_t end = (k->failed_at_ns / S + 1) * S;
    struct scn c;
    scn_copy(&c, s);
    for (unsigned i = 0; i < run_kind_count; i++) {
        enum scn_setting lasts = run_kinds[i]->lasts;
        if (c.has[run_kinds[i]->group] && scn_get(&c, lasts) > end)
            scn_set(&c, lasts, end);
    }
    for (unsigned i = c.steps; i > 0; i--) {
        if (c.step[i - 1].trigger == SCN_AT && c.step[i - 1].at_ns > k->failed_at_ns)
            scn_drop_steps(&c, i - 1, 1);
    }
    return keep_if_fails(k, s, &c);
}

/* Halves, quarters, ..., single steps. */
static bool drop_steps(struct shrink *k, struct scn *s)
{
    bool any = false;
    for (unsigned size = s->steps; size > 0; size /= 2) {
        for (unsigned from = 0; from < s->steps;) {
            unsigned count = s->steps - from < size ? s->steps - from : size;
            struct scn c;
            scn_copy(&c, s);
            scn_drop_steps(&c, from, count);
            bool kept = keep_if_fails(k, s, &c);
            any |= kept;
            if (!kept)
                from += count;
        }
    }
    return any;
}

/* Whether forgetting the setting would make the scenario larger: the default of nodes is three, and a load
 * goes on for half a minute. */
static bool default_is_larger(const struct scn *s, enum scn_setting id)
{
    const struct scn_setting_info *info = scn_setting_info(id);
    bool counts = info->kind == SCN_COUNT;
    for (unsigned i = 0; i < run_kind_count; i++)
        counts = counts || run_kinds[i]->lasts == id;
    return counts && info->value > s->value[id].lo;
}

/* A failure that came with the audit does so after a shorter load too, and leaves less to look at. */
static bool shorter_loads(struct shrink *k, struct scn *s)
{
    static const uint64_t lasts[] = {S, 2 * S, 5 * S, 10 * S, 20 * S};
    bool any = false;
    for (unsigned i = 0; i < run_kind_count; i++) {
        enum scn_setting id = run_kinds[i]->lasts;
        for (size_t t = 0; s->has[run_kinds[i]->group] && t < CD_COUNT(lasts) && lasts[t] < scn_get(s, id);
             t++) {
            struct scn c;
            scn_copy(&c, s);
            scn_set(&c, id, lasts[t]);
            any |= keep_if_fails(k, s, &c);
        }
    }
    return any;
}

/* Whole statements first, then setting by setting: what is not named is harmless. */
static bool drop_settings(struct shrink *k, struct scn *s)
{
    bool any = false;
    for (unsigned g = 0; g < SCN_GROUP_COUNT; g++) {
        if (!s->has[g] || g == SCN_FLEET)
            continue;
        struct scn c;
        scn_copy(&c, s);
        scn_forget(&c, g);
        any |= keep_if_fails(k, s, &c);
    }
    for (unsigned i = 0; i < SCN_SETTING_COUNT; i++) {
        const struct scn_setting_info *info = scn_setting_info(i);
        if (!s->value[i].set || default_is_larger(s, i))
            continue;
        struct scn c;
        scn_copy(&c, s);
        c.value[i] = (struct scn_value){.lo = info->value, .hi = info->value};
        any |= keep_if_fails(k, s, &c);
    }
    return any;
}

/* Numbers of nodes, shards, clients: one at once, else one less. Steps about those that are gone go with
 * them. */
static void drop_strangers(struct scn *s)
{
    for (unsigned i = s->steps; i > 0; i--) {
        struct scn one;
        struct cd_buf why = {0};
        scn_copy(&one, s);
        scn_drop_steps(&one, i, one.steps - i);
        scn_drop_steps(&one, 0, i - 1);
        if (scn_available(&one, "step", &why) != 0)
            scn_drop_steps(s, i - 1, 1);
        scn_deinit(&one);
        cd_buf_deinit(&why);
    }
}

static bool fewer_actors(struct shrink *k, struct scn *s)
{
    static const enum scn_setting actors[] = {
        SCN_HTTP_CLIENTS,    SCN_JS_CLIENTS,    SCN_LEDGER_CLIENTS, SCN_LEDGER_CELLS,
        SCN_STORAGE_CLIENTS, SCN_STORAGE_CELLS, SCN_ALARMS_CLIENTS, SCN_ALARMS_CELLS,
        SCN_FLEET_NODES,     SCN_FLEET_SHARDS,  SCN_HTTP_PIPELINE,  SCN_FILES_BATCH,
    };
    bool any = false;
    for (size_t i = 0; i < CD_COUNT(actors); i++) {
        enum scn_group group = scn_setting_info(actors[i])->group;
        if (!s->has[group] && group != SCN_FLEET)
            continue;
        for (uint64_t now = scn_get(s, actors[i]), next = 1; now > 1 && next < now;
             now = scn_get(s, actors[i])) {
            struct scn c;
            scn_copy(&c, s);
            scn_set(&c, actors[i], next);
            drop_strangers(&c);
            bool kept = keep_if_fails(k, s, &c);
            any |= kept;
            if (!kept && next == now - 1)
                break;
            next = kept ? 1 : now - 1;
        }
    }
    return any;
}

/* Down to a multiple of step. */
static uint64_t round_time(uint64_t v, uint64_t step)
{
    return v / step * step;
}

static bool rounder_times(struct shrink *k, struct scn *s)
{
    static const uint64_t steps[] = {10 * S, S, S / 10};
    bool any = false;
    for (unsigned i = 0; i < s->steps; i++) {
        for (size_t t = 0; t < CD_COUNT(steps); t++) {
            struct scn c;
            scn_copy(&c, s);
            c.step[i].at_ns = round_time(c.step[i].at_ns, steps[t]);
            if (c.step[i].for_ns > steps[t])
                c.step[i].for_ns = round_time(c.step[i].for_ns, steps[t]);
            if (!keep_if_fails(k, s, &c))
                continue;
            any = true;
            break;
        }
    }
    return any;
}

/* What happens to n3 and c7 may as well happen to n1 and c1: then the others can go. */
static bool lower_indices(struct shrink *k, struct scn *s)
{
    bool any = false;
    for (unsigned i = 0; i < s->steps; i++) {
        if (s->step[i].a.index <= 1 && s->step[i].b.index <= 1)
            continue;
        struct scn c;
        scn_copy(&c, s);
        c.step[i].a.index = c.step[i].a.index > 0;
        c.step[i].b.index = c.step[i].b.index > 0;
        any |= keep_if_fails(k, s, &c);
    }
    return any;
}

static bool calmer_schedule(struct shrink *k, struct scn *s)
{
    struct scn c;
    if (scn_get(s, SCN_SCHED_POLICY) == 0 && scn_get(s, SCN_SCHED_SLACK) == 0)
        return false;
    scn_copy(&c, s);
    scn_forget(&c, SCN_SCHED);
    return keep_if_fails(k, s, &c);
}

void shrink_run(struct shrink *k, struct scn *s)
{
    bool again = true;
    k->tries = k->kept = 0;
    while (again && k->tries < k->tries_max) {
        again = cut_behind_failure(k, s);
        again |= drop_steps(k, s);
        again |= calmer_schedule(k, s);
        again |= lower_indices(k, s);
        again |= fewer_actors(k, s);
        again |= shorter_loads(k, s);
        again |= drop_settings(k, s);
        again |= rounder_times(k, s);
    }
}
