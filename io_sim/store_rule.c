/* io_sim/store_rule.c: which fault strikes a request. Draws are hashes of (seed, key, how-manieth request of
 * that key), so that a request more or less leaves those of other keys alone. */
#include "io_sim/store.h"

static bool fits_pattern(const char *pattern, struct cd_str text)
{
    size_t at = 0, star = SIZE_MAX, resume = 0, p = 0;
    while (at < text.len) {
        if (pattern[p] == '*') {
            star = p++;
            resume = at;
        } else if (pattern[p] != 0 && pattern[p] == text.ptr[at]) {
            p++;
            at++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            at = ++resume;
        } else {
            return false;
        }
    }
    while (pattern[p] == '*')
        p++;
    return pattern[p] == 0;
}

static const char *op_name(enum sim_kind kind)
{
    return sim_kind_name(kind) + sizeof "store." - 1;
}

static bool fits(const struct sim_store_live_rule *r, const struct sim_store_request *q)
{
    if (r->rule.node != NULL && r->rule.node != q->node)
        return false;
    if (r->op != NULL && strcmp(r->op, op_name(q->kind)) != 0)
        return false;
    return r->pattern == NULL || fits_pattern(r->pattern, cd_buf_str(&q->key));
}

static void rule_free(struct sim_store_live_rule *r)
{
    cd_link_remove(&r->link);
    cd_free(r->op);
    cd_free(r->pattern);
    cd_free(r);
}

static void strike(struct sim_store_request *q, enum sim_store_effect effect, uint64_t ns)
{
    q->struck = true;
    q->effect = effect;
    q->effect_ns = ns;
}

static bool decide_by_rule(struct sim_store_request *q)
{
    struct sim_store *s = q->store;
    struct cd_link *next;
    for (struct cd_link *k = cd_list_first(&s->rules); k != NULL; k = next) {
        struct sim_store_live_rule *r = CD_CONTAINER(k, struct sim_store_live_rule, link);
        next = cd_list_next(&s->rules, k);
        if (s->sim->now_ns >= r->until_ns) {
            rule_free(r);
            continue;
        }
        if (!fits(r, q) || (r->rule.ppm != 0 && !sim_strikes(sim_mix(q->draw, 1), r->rule.ppm)))
            continue;
        strike(q, r->rule.effect, r->rule.ns);
        if (++r->used == r->rule.times)
            rule_free(r);
        return true;
    }
    return false;
}

static void decide_by_rate(struct sim_store_request *q)
{
    const struct sim_store_opts *o = &q->store->opts;
    uint64_t late = o->late_ns == 0 ? IO_SEC(30) : o->late_ns;
    const struct {
        uint32_t ppm;
        enum sim_store_effect effect;
        uint64_t ns;
    } rates[] = {
        {o->throttle_ppm, SIM_STORE_THROTTLE, 0},
        {o->fail_ppm, SIM_STORE_FAIL, 0},
        {o->lose_request_ppm, SIM_STORE_LOSE_REQUEST, 0},
        {o->lose_answer_ppm, SIM_STORE_LOSE_ANSWER, 0},
        {o->late_ppm, SIM_STORE_LATE, sim_mix(q->draw, 2) % (late + 1)},
    };
    for (unsigned i = 0; i < CD_COUNT(rates) && !q->struck; i++) {
        if (sim_strikes(sim_mix(q->draw, 10 + i), rates[i].ppm))
            strike(q, rates[i].effect, rates[i].ns);
    }
}

void sim_store_decide(struct sim_store_request *q)
{
    if (!decide_by_rule(q))
        decide_by_rate(q);
}

void sim_store_rule(struct sim *sim, const struct sim_store_rule *rule)
{
    struct sim_store *s = sim_store(sim);
    struct sim_store_live_rule *r = cd_new(struct sim_store_live_rule);
    r->rule = *rule;
    r->op = rule->op == NULL ? NULL : cd_str_dup(cd_str(rule->op));
    r->pattern = rule->pattern == NULL ? NULL : cd_str_dup(cd_str(rule->pattern));
    r->until_ns = rule->for_ns == 0 ? UINT64_MAX : sim->now_ns + rule->for_ns;
    cd_list_push(&s->rules, &r->link);
}

void sim_store_rules_free(struct sim_store *s)
{
    struct cd_link *k;
    while ((k = cd_list_first(&s->rules)) != NULL)
        rule_free(CD_CONTAINER(k, struct sim_store_live_rule, link));
}

void sim_store_heal(struct sim *sim)
{
    struct sim_store *s = sim_store(sim);
    sim_store_rules_free(s);
    s->opts.throttle_ppm = s->opts.fail_ppm = s->opts.lose_request_ppm = 0;
    s->opts.lose_answer_ppm = s->opts.late_ppm = 0;
}
