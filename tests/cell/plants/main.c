/* tests/cell/plants/main.c: one test of tests/cell or tests/log with one planted bug (fleet.md 11.5). This
 * program has what they test compiled with its plants; rows.txt says which test catches which.
 *
 *     cell_plants PLANT TEST        PLANT "-": none */
#include "io_sim/plant.h"
#include "support/test.h"

int suite_alarm(void);
int suite_leader(void);
int suite_leave(void);
int suite_life(void);
int suite_pressure(void);
int suite_recover_rule(void);
int suite_shed(void);
int suite_tunnel(void);

int main(int argc, char **argv)
{
    if (argc != 3 || !sim_plant_set(strcmp(argv[1], "-") == 0 ? NULL : argv[1]))
        return 2;
    cmocka_set_test_filter(argv[2]);
    return suite_alarm() + suite_leader() + suite_leave() + suite_life() + suite_pressure() +
               suite_recover_rule() + suite_shed() + suite_tunnel() !=
           0;
}
