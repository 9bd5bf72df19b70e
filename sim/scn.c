/* sim/scn.c: scenarios as values: the table of settings, defaults, copies, equality. */
#include "sim/scn.h"

#include "sim/quantity.h"

#define US 1000u
#define MS 1000000u
#define S UINT64_C(1000000000)
#define PPM QUANTITY_PPM
#define PER_S 1000u

static const struct scn_setting_info settings[] = {
#define X(id, group, key, kind, value, min, max, words) {group, key, kind, value, min, max, words},
    SCN_SETTINGS(X)
#undef X
};

static const char *const group_texts[] = {
#define X(id, text) text,
    SCN_GROUPS(X)
#undef X
};

static const char *const action_texts[] = {
#define X(id, text) text,
    SCN_ACTIONS(X)
#undef X
};

static const char *const memory_texts[] = {"ok", "cells", "other"};
CD_STATIC_ASSERT(CD_COUNT(memory_texts) == SCN_MEMORY_COUNT, "every state of memory has a word");
static const char *const disk_texts[] = {"full", "slow", "torn", "lost", "sync-fails", "ok"};
CD_STATIC_ASSERT(CD_COUNT(disk_texts) == SCN_DISK_COUNT, "every state of a disk has a word");
static const char *const effect_texts[] = {"hold-answer", "lose-answer", "lose-request", "throttle",
                                           "fail",        "slow",        "down"};
CD_STATIC_ASSERT(CD_COUNT(effect_texts) == SCN_STORE_EFFECT_COUNT, "every effect at the store has a word");

const struct scn_setting_info *scn_setting_info(enum scn_setting id)
{
    CD_ASSERT(id < SCN_SETTING_COUNT);
    return &settings[id];
}

const char *scn_group_text(enum scn_group group)
{
    CD_ASSERT(group < SCN_GROUP_COUNT);
    return group_texts[group];
}

const char *scn_action_text(enum scn_action action)
{
    CD_ASSERT(action < SCN_ACTION_COUNT);
    return action_texts[action];
}

const char *scn_memory_text(enum scn_memory m)
{
    return m < SCN_MEMORY_COUNT ? memory_texts[m] : NULL;
}

const char *scn_disk_text(enum scn_disk d)
{
    return d < SCN_DISK_COUNT ? disk_texts[d] : NULL;
}

const char *scn_store_effect_text(enum scn_store_effect e)
{
    return e < SCN_STORE_EFFECT_COUNT ? effect_texts[e] : NULL;
}

void scn_init(struct scn *s)
{
    *s = (struct scn){0};
    for (unsigned i = 0; i < SCN_SETTING_COUNT; i++)
        s->value[i].lo = s->value[i].hi = settings[i].value;
}

void scn_deinit(struct scn *s)
{
    cd_free(s->step);
    *s = (struct scn){0};
}

/* Room for steps: a power of two, so that the capacity follows from the count. */
static size_t step_cap(unsigned steps)
{
    size_t cap = 1;
    while (cap < steps)
        cap *= 2;
    return cap;
}

void scn_copy(struct scn *to, const struct scn *from)
{
    *to = *from;
    to->step = NULL;
    if (from->steps > 0) {
        to->step = cd_alloc(step_cap(from->steps) * sizeof *from->step);
        memcpy(to->step, from->step, from->steps * sizeof *from->step);
    }
}

uint64_t scn_get(const struct scn *s, enum scn_setting id)
{
    CD_ASSERT(id < SCN_SETTING_COUNT);
    return s->value[id].lo;
}

void scn_set(struct scn *s, enum scn_setting id, uint64_t value)
{
    const struct scn_setting_info *info = scn_setting_info(id);
    CD_ASSERT(info->kind == SCN_WORD || (value >= info->min && value <= info->max));
    s->value[id] = (struct scn_value){.set = true, .lo = value, .hi = value};
    s->has[info->group] = true;
}

void scn_forget(struct scn *s, enum scn_group group)
{
    s->has[group] = false;
    for (unsigned i = 0; i < SCN_SETTING_COUNT; i++) {
        const struct scn_setting_info *info = scn_setting_info(i);
        if (info->group == group)
            s->value[i] = (struct scn_value){.lo = info->value, .hi = info->value};
    }
}

struct scn_step *scn_add_step(struct scn *s, const struct scn_step *step)
{
    CD_ASSERT(s->steps < SCN_STEPS_MAX);
    if (s->steps == 0 || step_cap(s->steps + 1) > step_cap(s->steps))
        s->step = cd_realloc(s->step, step_cap(s->steps + 1) * sizeof *s->step);
    s->step[s->steps] = *step;
    return &s->step[s->steps++];
}

void scn_drop_steps(struct scn *s, unsigned from, unsigned count)
{
    CD_ASSERT(from + count <= s->steps);
    struct scn_step *kept = NULL;
    unsigned left = s->steps - count;
    if (left > 0) {
        kept = cd_alloc(step_cap(left) * sizeof *kept);
        memcpy(kept, s->step, from * sizeof *kept);
        memcpy(kept + from, s->step + from + count, (left - from) * sizeof *kept);
    }
    cd_free(s->step);
    s->step = kept;
    s->steps = left;
}

static bool who_equal(struct scn_who a, struct scn_who b)
{
    return a.kind == b.kind && a.index == b.index;
}

static bool step_equal(const struct scn_step *a, const struct scn_step *b)
{
    return a->trigger == b->trigger && a->at_ns == b->at_ns && strcmp(a->when, b->when) == 0 &&
           a->when_nth == b->when_nth && a->action == b->action && who_equal(a->a, b->a) &&
           who_equal(a->b, b->b) && a->both_ways == b->both_ways && a->kill == b->kill &&
           a->wipe == b->wipe && a->for_ns == b->for_ns && a->step_ns == b->step_ns &&
           a->drift_ppm == b->drift_ppm && a->ppm == b->ppm && strcmp(a->name, b->name) == 0 &&
           strcmp(a->pattern, b->pattern) == 0 && a->nth == b->nth && a->disk == b->disk &&
           a->memory == b->memory && a->effect == b->effect;
}

static bool expect_equal(const struct scn_expect *a, const struct scn_expect *b)
{
    return a->kind == b->kind && strcmp(a->name, b->name) == 0 && a->by_ns == b->by_ns;
}

bool scn_equal(const struct scn *a, const struct scn *b)
{
    if (a->has_seed != b->has_seed || a->seed != b->seed || a->steps != b->steps ||
        a->expects != b->expects || strcmp(a->plant, b->plant) != 0 || strcmp(a->text, b->text) != 0)
        return false;
    for (unsigned i = 0; i < SCN_GROUP_COUNT; i++) {
        if (a->has[i] != b->has[i])
            return false;
    }
    for (unsigned i = 0; i < SCN_SETTING_COUNT; i++) {
        const struct scn_value *x = &a->value[i], *y = &b->value[i];
        if (x->set != y->set || x->lo != y->lo || x->hi != y->hi)
            return false;
    }
    for (unsigned i = 0; i < a->steps; i++) {
        if (!step_equal(&a->step[i], &b->step[i]))
            return false;
    }
    for (unsigned i = 0; i < a->expects; i++) {
        if (!expect_equal(&a->expect[i], &b->expect[i]))
            return false;
    }
    return true;
}
