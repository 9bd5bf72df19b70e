#include "fleet/authority.h"

void fleet_authority_grant(struct fleet_authority *a, uint64_t deadline_ns)
{
    a->deadline_ns = deadline_ns; /* A fence is a flag of its own, so this cannot undo it. */
}

void fleet_authority_fence(struct fleet_authority *a)
{
    a->fenced = true;
    a->deadline_ns = 0;
}

void fleet_authority_clock(struct fleet_authority *a, uint64_t ahead_ms)
{
    a->ahead_ms = ahead_ms;
}

uint64_t fleet_clock_ahead(int64_t sent_ms, int64_t date_ms, uint64_t ttl_ms)
{
    int64_t normal = ttl_ms / 4 < 2000 ? (int64_t)(ttl_ms / 4) : 2000;
    int64_t excess = sent_ms - (date_ms + 999) - normal;
    return excess > 0 ? (uint64_t)excess : 0;
}
