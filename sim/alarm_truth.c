/* sim/alarm_truth.c: changes of alarms and their runs. */
#include "sim/alarm_truth.h"

#define ULL(v) ((unsigned long long)(v))

void alarm_truth_init(struct alarm_truth *t, unsigned cells)
{
    *t = (struct alarm_truth){.cells = cells};
    t->cell = cd_alloc((cells + 1) * sizeof *t->cell);
}

void alarm_truth_deinit(struct alarm_truth *t)
{
    cd_free(t->cell);
    cd_free(t->change);
    *t = (struct alarm_truth){0};
}

uint64_t alarm_truth_begin(struct alarm_truth *t, unsigned cell, int64_t due_ms)
{
    CD_ASSERT(cell >= 1 && cell <= t->cells);
    if (t->changes == t->cap) {
        t->cap = t->cap == 0 ? 64 : t->cap * 2;
        t->change = cd_realloc(t->change, t->cap * sizeof *t->change);
    }
    t->change[t->changes++] = (struct alarm_change){.cell = cell, .due_ms = due_ms, .open = true};
    return t->changes;
}

uint64_t alarm_truth_floor(const struct alarm_truth *t, unsigned cell)
{
    uint64_t id = t->cell[cell].newest;
    return id == 0 ? 0 : t->change[id - 1].seq;
}

static struct alarm_change *change_of(struct alarm_truth *t, unsigned cell, uint64_t id)
{
    struct alarm_change *c = id >= 1 && id <= t->changes ? &t->change[id - 1] : NULL;
    return c != NULL && c->cell == cell ? c : NULL;
}

static const char *invented(unsigned cell, uint64_t id, struct cd_buf *why)
{
    cd_buf_addf(why, "cell %u names change %llu, which nobody asked of it", cell, ULL(id));
    return "alarm.invented";
}

/* It was done, and is the seq-th change of its cell. */
static const char *pin(struct alarm_truth *t, uint64_t id, uint64_t seq, struct cd_buf *why)
{
    struct alarm_change *c = &t->change[id - 1];
    if (c->refused) {
        cd_buf_addf(why, "change %llu of cell %u was refused, but it was done", ULL(id), c->cell);
        return "alarm.refused";
    }
    if (c->seq != 0 && c->seq != seq) {
        cd_buf_addf(why, "change %llu of cell %u was the %lluth, now it is the %lluth", ULL(id), c->cell,
                    ULL(c->seq), ULL(seq));
        return "alarm.lost";
    }
    c->seq = seq;
    if (seq > alarm_truth_floor(t, c->cell))
        t->cell[c->cell].newest = id;
    return NULL;
}

static const char *behind(unsigned cell, uint64_t floor, uint64_t seq, struct cd_buf *why)
{
    cd_buf_addf(why, "cell %u has made %llu changes of its alarm, but %llu had been seen before", cell,
                ULL(seq), ULL(floor));
    return "alarm.lost";
}

const char *alarm_truth_ack(struct alarm_truth *t, uint64_t id, uint64_t floor, uint64_t seq,
                            struct cd_buf *why)
{
    struct alarm_change *c = &t->change[id - 1];
    c->open = false;
    t->acked++;
    return seq <= floor ? behind(c->cell, floor, seq, why) : pin(t, id, seq, why);
}

const char *alarm_truth_refuse(struct alarm_truth *t, uint64_t id, struct cd_buf *why)
{
    struct alarm_change *c = &t->change[id - 1];
    c->open = false;
    c->refused = true;
    t->refused++;
    if (c->seq == 0 && c->runs == 0)
        return NULL;
    cd_buf_addf(why, "change %llu of cell %u was refused, but it was done", ULL(id), c->cell);
    return "alarm.refused";
}

const char *alarm_truth_run(struct alarm_truth *t, unsigned cell, uint64_t id, int64_t scheduled_ms,
                            unsigned retry, int64_t wall_ms, struct cd_buf *why)
{
    struct alarm_change *c = change_of(t, cell, id);
    t->runs++;
    if (c == NULL || c->due_ms == 0)
        return invented(cell, id, why);
    c->runs++;
    if (c->refused) {
        cd_buf_addf(why, "the alarm of cell %u that was refused (change %llu) runs", cell, ULL(id));
        return "alarm.refused";
    }
    if (wall_ms < c->due_ms || wall_ms < scheduled_ms || (retry == 0 && scheduled_ms != c->due_ms)) {
        cd_buf_addf(why, "cell %u: an alarm for %lld runs at %lld, said to be for %lld", cell,
                    (long long)c->due_ms, (long long)wall_ms, (long long)scheduled_ms);
        return "alarm.early";
    }
    uint64_t newest = alarm_truth_floor(t, cell);
    if (!c->open && c->seq != 0 && c->seq < newest) {
        cd_buf_addf(why, "cell %u: the alarm of change %llu runs, but the %lluth change was acknowledged",
                    cell, ULL(id), ULL(newest));
        return "alarm.late";
    }
    if (c->done) {
        cd_buf_addf(why, "cell %u: the alarm of change %llu runs again after it was seen to be done", cell,
                    ULL(id));
        return "alarm.again";
    }
    return NULL;
}

const char *alarm_truth_state(struct alarm_truth *t, unsigned cell, uint64_t floor, uint64_t seq, uint64_t id,
                              bool armed, struct cd_buf *why)
{
    if (seq < floor)
        return behind(cell, floor, seq, why);
    if (seq == 0)
        return NULL;
    struct alarm_change *c = change_of(t, cell, id);
    if (c == NULL)
        return invented(cell, id, why);
    const char *broken = pin(t, id, seq, why);
    if (broken != NULL)
        return broken;
    if (c->due_ms == 0 && armed) {
        cd_buf_addf(why, "cell %u: change %llu cancelled the alarm, but it is armed", cell, ULL(id));
        return "alarm.late";
    }
    if (c->due_ms != 0 && !armed && c->runs == 0) {
        cd_buf_addf(why, "cell %u: the alarm of change %llu is not armed any more and has not run", cell,
                    ULL(id));
        return "alarm.lost";
    }
    c->done = c->done || !armed;
    return NULL;
}
