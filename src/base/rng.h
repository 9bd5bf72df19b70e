/* base/rng.h: the seeded generator (xoshiro256++, seeded by splitmix64) and the hash of the simulator. Not
 * for keys. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include "base/str.h"

struct cd_rng {
    uint64_t s[4];
};

void cd_rng_seed(struct cd_rng *r, uint64_t seed, struct cd_str label); /* One stream per (seed, label). */
uint64_t cd_rng_next(struct cd_rng *r);
uint64_t cd_rng_below(struct cd_rng *r, uint64_t n); /* 0..n-1 without bias; n > 0. */
void cd_rng_fill(struct cd_rng *r, void *out, size_t len);

/* 64-bit hash of bytes, going on from h. The same on all machines; not keyed: not for tables fed by users. */
uint64_t cd_hash64(uint64_t h, const void *bytes, size_t len);

#endif
