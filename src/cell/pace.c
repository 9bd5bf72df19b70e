#include "cell/pace.h"

#include "io/io.h"

#define FIRST 8u
#define BOUND_NS IO_MS(100)
#define SMOOTH 8u

struct cell_pace cell_pace_begin(unsigned max, uint64_t until_ns)
{
    CD_ASSERT(max > 0);
    return (struct cell_pace){.now = max < FIRST ? max : FIRST, .max = max, .until_ns = until_ns};
}

/* So many at once, of this time each, come to an end in half of the time that is left: the other half is for
 * what comes slower than what went before, and for stragglers. */
static uint64_t floor_of(const struct cell_pace *p, uint64_t now_ns, uint64_t left)
{
    uint64_t time_ns = p->until_ns > now_ns ? (p->until_ns - now_ns) / 2 : 0;
    if (time_ns == 0 || left > UINT64_MAX / (p->took_ns + 1))
        return p->max;
    uint64_t least = left * p->took_ns / time_ns + 1;
    return least < p->max ? least : p->max;
}

void cell_pace_ended(struct cell_pace *p, uint64_t begun_ns, uint64_t now_ns, uint64_t left)
{
    CD_ASSERT(begun_ns <= now_ns);
    uint64_t took_ns = now_ns - begun_ns;
    p->took_ns = p->took_ns == 0 ? took_ns : p->took_ns - p->took_ns / SMOOTH + took_ns / SMOOTH;
    if (took_ns > BOUND_NS && begun_ns >= p->shrunk_ns) {
        p->now -= p->now / 4 + (p->now < 4 && p->now > 1); /* At least by one, and not to 0. */
        p->shrunk_ns = now_ns;
        p->slow = true;
        p->good = 0;
    } else if (took_ns <= BOUND_NS && p->now < p->max && ++p->good >= (p->slow ? p->now : 1)) {
        p->now++;
        p->good = 0;
    }
    uint64_t least = floor_of(p, now_ns, left);
    if (p->now < least)
        p->now = (unsigned)least;
    CD_ASSERT(p->now >= 1 && p->now <= p->max);
}
