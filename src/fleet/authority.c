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
