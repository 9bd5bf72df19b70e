/* deploy/compat.c: switches, and what a date and flags decide about them. */
#include "deploy/compat.h"

#include "base/timetext.h"
#include "deploy/compat_flags.h"

static const struct {
    const char *flag, *opposite, *date;
} switches[] = {
#define X(name, flag, opposite, date) [name] = {flag, opposite, date},
    DEPLOY_SWITCHES(X)
#undef X
};
CD_STATIC_ASSERT(DEPLOY_SWITCH_COUNT <= 64, "a set of switches is one word");

const char *deploy_switch_name(enum deploy_switch which)
{
    CD_ASSERT(which < DEPLOY_SWITCH_COUNT);
    return switches[which].flag;
}

bool deploy_date_is_real(struct cd_str date)
{
    uint64_t year, month, day;
    if (date.len != 10 || date.ptr[4] != '-' || date.ptr[7] != '-' ||
        cd_str_u64(cd_str_sub(date, 0, 4), &year) != 0 || cd_str_u64(cd_str_sub(date, 5, 2), &month) != 0 ||
        cd_str_u64(cd_str_sub(date, 8, 2), &day) != 0)
        return false;
    /* A day past the end of its month comes back as one of the next. */
    struct cd_date wanted = {.year = (int)year, .month = (int)month, .day = (int)day};
    struct cd_date real = cd_date_of(cd_date_ms(&wanted));
    return real.year == wanted.year && real.month == wanted.month && real.day == wanted.day;
}

static bool is(struct cd_str flag, const char *name)
{
    return name != NULL && cd_str_eq(flag, cd_str(name));
}

/* The switch that flag is about, or DEPLOY_SWITCH_COUNT. */
static unsigned find_switch(struct cd_str flag)
{
    unsigned i = 0;
    while (i < DEPLOY_SWITCH_COUNT && !is(flag, switches[i].flag) && !is(flag, switches[i].opposite))
        i++;
    return i;
}

static const struct deploy_known_flag *find_known(struct cd_str flag)
{
    for (size_t i = 0; i < deploy_known_flag_count; i++) {
        if (is(flag, deploy_known_flags[i].flag) || is(flag, deploy_known_flags[i].opposite))
            return &deploy_known_flags[i];
    }
    return NULL;
}

enum deploy_flag_kind deploy_flag_kind(struct cd_str flag)
{
    if (find_switch(flag) < DEPLOY_SWITCH_COUNT)
        return DEPLOY_FLAG_SWITCH;
    return find_known(flag) != NULL ? DEPLOY_FLAG_KNOWN : DEPLOY_FLAG_UNKNOWN;
}

const char *deploy_flag_opposite(struct cd_str flag)
{
    unsigned i = find_switch(flag);
    if (i < DEPLOY_SWITCH_COUNT)
        return is(flag, switches[i].flag) ? switches[i].opposite : switches[i].flag;
    const struct deploy_known_flag *k = find_known(flag);
    if (k == NULL)
        return NULL;
    return is(flag, k->flag) ? k->opposite : k->flag;
}

void deploy_compat_decide(struct deploy_compat *c)
{
    c->on = 0;
    for (unsigned i = 0; i < DEPLOY_SWITCH_COUNT; i++) {
        /* Without a date nothing is on: an empty text comes before every date. */
        bool on = switches[i].date != NULL && cd_str_cmp(c->date, cd_str(switches[i].date)) >= 0;
        for (size_t k = 0; k < c->flags; k++) {
            if (is(c->flag[k], switches[i].flag))
                on = true;
            else if (is(c->flag[k], switches[i].opposite))
                on = false;
        }
        if (on)
            c->on |= UINT64_C(1) << i;
    }
}
