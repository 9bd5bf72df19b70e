#include "log/health.h"

#include <stdlib.h>

#define WINDOW_NS IO_SEC(3)
#define SAMPLES_MIN 8u
#define SIBLINGS 4u /* So many times the best sibling's median is slow. */
#define SWAP_NS IO_SEC(10) /* Between two members that are replaced for being slow. */
#define HEDGE_MIN_NS IO_MS(250)
#define HEDGE_BELOW_NS IO_MS(100) /* So long before the backstop, at the latest. */

const char *log_evict_name(enum log_evict e)
{
    switch (e) {
    case LOG_EVICT_NONE: return "none";
    case LOG_EVICT_SLOW: return "slow";
    case LOG_EVICT_FAILED: return "failed";
    case LOG_EVICT_UNABLE: return "unable";
    case LOG_EVICT_SELF: return "self";
    }
    CD_UNREACHABLE();
}

void log_health_init(struct log_health *h, const struct log_health_opts *o)
{
    *h = (struct log_health){.o = *o};
    if (h->o.budget_ns == 0)
        h->o.budget_ns = IO_MS(100);
    if (h->o.sustain_ns == 0)
        h->o.sustain_ns = IO_SEC(2);
    if (h->o.backstop_ns == 0)
        h->o.backstop_ns = IO_SEC(2);
}

void log_health_begin(struct log_health *h, unsigned members)
{
    CD_ASSERT(members <= LOG_MEMBERS_MAX);
    h->members = members;
    memset(h->member, 0, sizeof h->member);
}

/* How many of the last samples make up the window: those of the last seconds, but the last few in any case: a
 * member that answers twice a second would never have enough of them else. */
static uint64_t window(const struct log_health_member *m, uint64_t now_ns)
{
    uint64_t kept = m->samples < LOG_HEALTH_SAMPLES ? m->samples : LOG_HEALTH_SAMPLES, n = 0;
    while (n < kept &&
           (n < SAMPLES_MIN || now_ns - m->at_ns[(m->samples - 1 - n) % LOG_HEALTH_SAMPLES] <= WINDOW_NS))
        n++;
    return n;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* UINT64_MAX: too little is known. */
static uint64_t median(const struct log_health_member *m, uint64_t now_ns)
{
    uint64_t sorted[LOG_HEALTH_SAMPLES], n = window(m, now_ns);
    if (n < SAMPLES_MIN)
        return UINT64_MAX;
    for (uint64_t i = 0; i < n; i++)
        sorted[i] = m->took_ns[(m->samples - 1 - i) % LOG_HEALTH_SAMPLES];
    qsort(sorted, n, sizeof *sorted, compare);
    return sorted[n / 2];
}

/* What a member's median may be. */
static uint64_t limit(const struct log_health *h, unsigned member, uint64_t now_ns)
{
    uint64_t best = UINT64_MAX;
    for (unsigned i = 0; i < h->members; i++) {
        uint64_t other = i == member ? UINT64_MAX : median(&h->member[i], now_ns);
        best = other < best ? other : best;
    }
    uint64_t of_sibling = best == UINT64_MAX ? 0 : SIBLINGS * best;
    return of_sibling > h->o.budget_ns ? of_sibling : h->o.budget_ns;
}

enum log_evict log_health_confirmed(struct log_health *h, unsigned member, uint64_t sent_ns, uint64_t now_ns)
{
    CD_ASSERT(member < h->members);
    struct log_health_member *m = &h->member[member];
    uint64_t took = now_ns - sent_ns, most = limit(h, member, now_ns);
    m->at_ns[m->samples % LOG_HEALTH_SAMPLES] = now_ns;
    m->took_ns[m->samples++ % LOG_HEALTH_SAMPLES] = took;
    uint64_t mine = median(m, now_ns);
    if (mine == UINT64_MAX || mine <= most) {
        m->slow = false;
        return LOG_EVICT_NONE;
    }
    if (!m->slow) {
        m->slow = true;
        m->slow_ns = now_ns;
    }
    /* It has to be slow still: old samples of a member that nobody wrote to since prove nothing. */
    if (took <= most || now_ns - m->slow_ns < h->o.sustain_ns)
        return LOG_EVICT_NONE;
    if (h->swapped && now_ns - h->swapped_ns < SWAP_NS)
        return LOG_EVICT_NONE;
    h->swapped = true;
    h->swapped_ns = now_ns;
    return LOG_EVICT_SLOW;
}

enum log_evict log_health_failed(const struct log_health *h, bool timed_out, const uint64_t *head_ns,
                                 uint64_t now_ns)
{
    /* Appends to members do not begin together: half the time is enough for the others. */
    bool all = timed_out && h->members >= 2;
    for (unsigned i = 0; i < h->members; i++)
        all = all && head_ns[i] != 0 && now_ns - head_ns[i] >= h->o.backstop_ns / 2;
    return all ? LOG_EVICT_SELF : LOG_EVICT_FAILED;
}

uint64_t log_health_hedge_ns(const struct log_health *h, unsigned member, uint64_t now_ns)
{
    if (h->o.hedge_fixed)
        return h->o.hedge_ns == 0 ? UINT64_MAX : h->o.hedge_ns;
    const struct log_health_member *m = &h->member[member];
    uint64_t slowest = 0, n = window(m, now_ns);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t took = m->took_ns[(m->samples - 1 - i) % LOG_HEALTH_SAMPLES];
        slowest = took > slowest ? took : slowest;
    }
    uint64_t wait = 4 * slowest > HEDGE_MIN_NS ? 4 * slowest : HEDGE_MIN_NS;
    uint64_t most =
        h->o.backstop_ns > 2 * HEDGE_BELOW_NS ? h->o.backstop_ns - HEDGE_BELOW_NS : h->o.backstop_ns / 2;
    return wait < most ? wait : most;
}
