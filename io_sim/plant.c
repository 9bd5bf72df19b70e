/* io_sim/plant.c: answers CD_PLANT of src. */
#include "io_sim/plant.h"

#include <stddef.h>

#include "base/str.h"

#ifdef CELLD_PLANTS

static struct {
    const char *name;
    uint64_t hits;
} plant;

bool sim_plant_set(const char *name)
{
    plant.name = name;
    plant.hits = 0;
    return true;
}

uint64_t sim_plant_hits(void)
{
    return plant.hits;
}

bool cd_plant(const char *name)
{
    if (plant.name == NULL || strcmp(name, plant.name) != 0)
        return false;
    plant.hits++;
    return true;
}

#else

bool sim_plant_set(const char *name)
{
    return name == NULL;
}

uint64_t sim_plant_hits(void)
{
    return 0;
}

#endif
