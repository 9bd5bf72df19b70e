/* sim/memory.h: counts the blocks of cd_alloc, for leak checks in every build, and shuffles their addresses,
 * for --check.
 *
 * The linker puts these functions in front of cd_alloc, cd_realloc and cd_free (--wrap). Shuffled, a new
 * block is one of several that wait in a pool of its size, so the order of addresses says nothing about the
 * order of allocation; fresh memory that is not zeroed holds a pattern. A run must not notice. */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include <stdint.h>

uint64_t memory_blocks(void); /* Allocated and not freed. */
void memory_shuffle(uint64_t key); /* From now on; key 0 never is one. */

#endif
