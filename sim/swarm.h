/* sim/swarm.h: the scenario that a seed stands for when none is given. simulation.md 5.
 *
 * Each fault class is off with probability 1/2, else its rate is log-uniform; macro faults are a plan of
 * steps made before the run. Pure: the same seed gives the same scenario on every machine. */
#ifndef SIM_SWARM_H
#define SIM_SWARM_H

#include "sim/scn.h"

/* s is not initialised; it carries the seed, so that its text replays alone. */
void swarm_draw(struct scn *s, uint64_t seed);

#endif
