/* sim/nondeterminism.h: planted sources of nondeterminism, which --check has to find. Without plants there
 * are none. */
#ifndef SIM_NONDETERMINISM_H
#define SIM_NONDETERMINISM_H

#include <stdint.h>

/* Nanoseconds that depend on what a run must not depend on, when the run's plant is one of
 * check.address-order, check.uninitialised-byte and check.real-clock; else 0. */
uint64_t nondeterminism(void);

#endif
