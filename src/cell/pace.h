/* cell/pace.h: how many handoffs of a shard are under way at once. fleet.md 9.2.
 *
 * A cell answers nobody from the end of its quiescing until its successor has it, and what takes that time is
 * a store, a log and peers that all handoffs under way share: where they are slow, more at once are each
 * slower and no more together. So the number grows while one takes less than 100 ms, and shrinks above that
 * (where even a lone one takes long, above twice its time); but never below what the end of the drain asks
 * for. Plain values. */
#ifndef CELL_PACE_H
#define CELL_PACE_H

#include "base/cd.h"

struct cell_pace {
    unsigned now, max;
    uint64_t until_ns; /* When all cells should be gone. */
    unsigned good; /* Below the bound since it grew last. */
    bool slow; /* It was above the bound once: it grows slower from then on. */
    uint64_t shrunk_ns; /* What began before this tells nothing of what it is now. */
    uint64_t alone_ns; /* The shortest so far; 0: none has ended. */
    uint64_t least_ns, before_ns; /* The shortest of this span of some seconds, and of the last. */
    uint64_t span_ns; /* When this one began. */
};

struct cell_pace cell_pace_begin(unsigned max, uint64_t until_ns); /* max > 0 */
/* A handoff that began then has ended now; left: cells that still have to go. */
void cell_pace_ended(struct cell_pace *p, uint64_t begun_ns, uint64_t now_ns, uint64_t left);

#endif
