/* base/rng.c: xoshiro256++ (Blackman, Vigna) seeded by splitmix64, and a multiply-fold hash. */
#include "base/rng.h"

#include "base/buf.h"

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void cd_rng_seed(struct cd_rng *r, uint64_t seed, struct cd_str label)
{
    uint64_t state = cd_hash64(splitmix(&seed), label.ptr, label.len);
    for (size_t i = 0; i < 4; i++)
        r->s[i] = splitmix(&state);
}

static uint64_t rotl(uint64_t x, unsigned k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t cd_rng_next(struct cd_rng *r)
{
    uint64_t *s = r->s;
    uint64_t result = rotl(s[0] + s[3], 23) + s[0];
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

uint64_t cd_rng_below(struct cd_rng *r, uint64_t n)
{
    CD_ASSERT(n > 0);
    /* Values above the last whole multiple of n would favour small results. */
    uint64_t reject = (UINT64_MAX - n + 1) % n;
    uint64_t x;
    do {
        x = cd_rng_next(r);
    } while (x < reject);
    return x % n;
}

void cd_rng_fill(struct cd_rng *r, void *out, size_t len)
{
    unsigned char *at = out;
    for (; len >= 8; at += 8, len -= 8) {
        uint64_t x = cd_rng_next(r);
        for (size_t i = 0; i < 8; i++) /* The compiler makes one store of it. */
            at[i] = (unsigned char)(x >> (8 * i));
    }
    if (len > 0) {
        uint64_t x = cd_rng_next(r);
        for (size_t i = 0; i < len; i++)
            at[i] = (unsigned char)(x >> (8 * i));
    }
}

__extension__ typedef unsigned __int128 wide;

static uint64_t fold(uint64_t a, uint64_t b)
{
    wide p = (wide)a * b;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static uint64_t load_le(const unsigned char *p, size_t len)
{
    uint64_t v = 0;
    for (size_t i = 0; i < len; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

uint64_t cd_hash64(uint64_t h, const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
    h ^= fold(len ^ 0xa0761d6478bd642fu, 0xe7037ed1a0b428dbu);
    while (len >= 8) {
        h = fold(h ^ cd_get_u64(p), 0x8ebc6af09c88c6e3u) + 0x589965cc75374cc3u;
        p += 8;
        len -= 8;
    }
    if (len > 0)
        h = fold(h ^ load_le(p, len) ^ 0x1d8e4e27c47d124fu, 0x8ebc6af09c88c6e3u) + 0x589965cc75374cc3u;
    return h ^ (h >> 32);
}
