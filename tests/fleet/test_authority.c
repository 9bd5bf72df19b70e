#include "fleet/authority.h"
#include "fleet/claim.h"
#include "fleet/lease.h"
#include "fleet/node.h"
#include "log/restore.h"
#include "support/test.h"

static void test_authority_ends_with_its_deadline_by_itself(void **state)
{
    (void)state;
    struct fleet_authority a = {0};
    assert_false(fleet_authoritative(&a, 0));
    fleet_authority_grant(&a, 100);
    assert_true(fleet_authoritative(&a, 99));
    assert_false(fleet_authoritative(&a, 100));
    fleet_authority_grant(&a, 200);
    assert_true(fleet_authoritative(&a, 100));
}

static void test_nothing_revives_authority_after_a_fence(void **state)
{
    (void)state;
    struct fleet_authority a = {0};
    fleet_authority_grant(&a, 100);
    fleet_authority_fence(&a);
    assert_false(fleet_authoritative(&a, 1));
    fleet_authority_grant(&a, 1000);
    assert_false(fleet_authoritative(&a, 1));
}

CD_TESTS(authority, cmocka_unit_test(test_authority_ends_with_its_deadline_by_itself),
         cmocka_unit_test(test_nothing_revives_authority_after_a_fence))
