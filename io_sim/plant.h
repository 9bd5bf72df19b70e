/* io_sim/plant.h: which planted bug of src this run has (preset plants). One run is one process. */
#ifndef IO_SIM_PLANT_H
#define IO_SIM_PLANT_H

#include <stdbool.h>
#include <stdint.h>

/* Asks for one planted bug by name; NULL for none. The name must stay. False: this build has no plants. */
bool sim_plant_set(const char *name);
/* How often the run came by that bug; 0 means the name is unknown to src, or the run never got there. */
uint64_t sim_plant_hits(void);

#endif
