/* tests/fleet/plants/main.c: one test of tests/fleet with one planted bug (fleet.md 11.5). This program has
 * src/fleet, what plans and restores, the log's leader and recovery, compiled with their plants; plants.sh
 * says which test catches which.
 *
 *     fleet_plants PLANT TEST        PLANT "-": none */
#include "io_sim/plant.h"
#include "support/test.h"

int suite_authority(void);
int suite_claim(void);
int suite_ensemble(void);
int suite_fill(void);
int suite_leader(void);
int suite_lease(void);
int suite_lease_machine(void);
int suite_peer_auth(void);
int suite_recover_rule(void);
int suite_restore(void);
int suite_sample(void);
int suite_sweep(void);
int suite_waker(void);

int main(int argc, char **argv)
{
    if (argc != 3 || !sim_plant_set(strcmp(argv[1], "-") == 0 ? NULL : argv[1]))
        return 2;
    cmocka_set_test_filter(argv[2]);
    int failed = suite_authority() + suite_claim() + suite_ensemble() + suite_fill() + suite_leader() +
                 suite_lease() + suite_lease_machine() + suite_peer_auth() + suite_recover_rule() +
                 suite_restore() + suite_sample() + suite_sweep() + suite_waker();
    if (failed == 0 && strcmp(argv[1], "-") != 0)
        printf("%s: met %llu times\n", argv[1], (unsigned long long)sim_plant_hits());
    return failed != 0;
}
