#include "cell/pace.h"

#include "io/io.h"

#define FIRST 8u
#define BOUND_NS IO_MS(100)
#define SPAN_NS IO_SEC(5)

struct cell_pace cell_pace_begin(unsigned max, uint64_t until_ns)
{
    CD_ASSERT(max > 0);
    return (struct cell_pace){.now = max < FIRST ? max : FIRST, .max = max, .until_ns = until_ns};
}

/* What one takes when it waits for no other: the shortest time of late. */
static uint64_t alone_ns(struct cell_pace *p, uint64_t took_ns, uint64_t now_ns)
{
    if (now_ns - p->span_ns >= SPAN_NS) {
        p->before_ns = p->least_ns;
        p->least_ns = 0;
        p->span_ns = now_ns;
    }
    if (p->least_ns == 0 || took_ns < p->least_ns)
        p->least_ns = took_ns;
    return p->before_ns != 0 && p->before_ns < p->least_ns ? p->before_ns : p->least_ns;
}

/* So many at once, of this time each, come to an end in three quarters of the time that is left. Reckoned
 * with what one takes alone: where they wait for each other, more of them would be no faster, and the longer
 * they took the more would be asked for. */
static uint64_t floor_of(const struct cell_pace *p, uint64_t alone_ns, uint64_t now_ns, uint64_t left)
{
    uint64_t time_ns = p->until_ns > now_ns ? (p->until_ns - now_ns) / 4 * 3 : 0;
    if (time_ns == 0 || left > UINT64_MAX / (alone_ns + 1))
        return p->max;
    uint64_t least = left * alone_ns / time_ns + 1;
    return least < p->max ? least : p->max;
}

void cell_pace_ended(struct cell_pace *p, uint64_t begun_ns, uint64_t now_ns, uint64_t left)
{
    CD_ASSERT(begun_ns <= now_ns);
    uint64_t took_ns = now_ns - begun_ns, alone = alone_ns(p, took_ns, now_ns);
    p->alone_ns = p->alone_ns == 0 || took_ns < p->alone_ns ? took_ns : p->alone_ns;
    uint64_t bound_ns = 2 * p->alone_ns > BOUND_NS ? 2 * p->alone_ns : BOUND_NS;
    if (took_ns > bound_ns && begun_ns >= p->shrunk_ns) {
        p->now -= p->now / 4 + (p->now < 4 && p->now > 1); /* At least by one, and not to 0. */
        p->shrunk_ns = now_ns;
        p->slow = true;
        p->good = 0;
    } else if (took_ns <= bound_ns && p->now < p->max && ++p->good >= (p->slow ? p->now : 1)) {
        p->now++;
        p->good = 0;
    }
    uint64_t least = floor_of(p, alone, now_ns, left);
    if (p->now < least)
        p->now = (unsigned)least;
    CD_ASSERT(p->now >= 1 && p->now <= p->max);
}
