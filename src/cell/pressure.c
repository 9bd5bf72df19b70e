#include "cell/pressure.h"

#define MIB (UINT64_C(1) << 20)

static uint64_t low(uint64_t mark)
{
    return mark / 5 * 4;
}

uint64_t cell_in_use(const struct io_usage *u)
{
    return u->rss - u->slack;
}

/* The control group counts what the allocator holds back, too. */
static uint64_t decision(const struct io_usage *u)
{
    uint64_t own = cell_in_use(u), group = 0;
    if (CD_PLANT("cell.pressure_by_rss"))
        return u->rss;
    if (u->cgroup_working_set != IO_ABSENT && u->cgroup_working_set > u->slack)
        group = u->cgroup_working_set - u->slack;
    return own > group ? own : group;
}

struct cell_marks cell_marks_of(uint64_t high_mib, const struct io_usage *u)
{
    struct cell_marks m = {0};
    bool given = high_mib != CELL_HIGH_DEFAULT;
    if (high_mib == 0)
        return m;
    /* IO_ABSENT is larger than any size. */
    uint64_t most = u->cgroup_limit < u->machine ? u->cgroup_limit : u->machine;
    if (given)
        m.high = high_mib > UINT64_MAX / 2 / MIB ? UINT64_MAX / 2 : high_mib * MIB;
    else if (most != IO_ABSENT)
        m.high = most / 5 * 4;
    if (u->machine != IO_ABSENT)
        m.hard = u->machine / 20 * 19;
    else if (given)
        m.hard = m.high / 4 * 5;
    return m;
}

static bool latch(bool engaged, uint64_t sample, uint64_t mark)
{
    return mark != 0 && (engaged ? sample > low(mark) : sample >= mark);
}

bool cell_headroom(const struct cell_marks *m, const struct io_usage *u)
{
    return (m->high == 0 || decision(u) <= low(m->high)) && (m->hard == 0 || u->rss <= low(m->hard));
}

const char *cell_pressure_reason(const struct cell_pressure *p)
{
    return p->hard ? "rss-hard" : p->memory ? "memory" : NULL;
}

/* The last cut gave back so much for so many cells: would the rest do? */
static bool reachable(const struct cell_pressure *p, uint64_t sample, uint64_t occupied)
{
    __extension__ typedef unsigned __int128 wide;
    uint64_t removed = p->occupied - occupied;
    uint64_t returned = p->sample > sample ? p->sample - sample : 0;
    uint64_t aim = low(p->by_rss ? p->marks.hard : p->marks.high);
    wide more = (wide)returned * occupied / removed;
    return sample <= aim || more >= sample - aim;
}

static bool cut_again(const struct cell_pressure *p, uint64_t sample, uint64_t occupied)
{
    if (!p->cut || CD_PLANT("cell.shed_without_end"))
        return true;
    if (sample > p->sample && sample - p->sample > p->sample / 100)
        return true; /* It grew: what the last cut returned says nothing of now. */
    bool finished = occupied <= p->floor && occupied < p->occupied;
    return finished && reachable(p, sample, occupied);
}

void cell_pressure_step(struct cell_pressure *p, const struct io_usage *u, uint64_t occupied)
{
    p->memory = latch(p->memory, decision(u), p->marks.high);
    p->hard = latch(p->hard, u->rss, p->marks.hard);
    if (!p->memory && !p->hard) {
        p->cut = false;
        p->floor = occupied;
        return;
    }
    bool by_rss = !p->memory;
    uint64_t sample = by_rss ? u->rss : decision(u);
    if (p->cut && p->by_rss != by_rss)
        p->cut = false; /* Another measure: the two cannot be compared. */
    if (occupied == 0 || !cut_again(p, sample, occupied))
        return;
    p->cut = true;
    p->by_rss = by_rss;
    p->sample = sample;
    p->occupied = occupied;
    p->floor = occupied - (occupied < 20 ? 1 : occupied / 10);
}
