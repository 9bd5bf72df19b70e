/* sim/files_truth.h: the oracle of the files workload: what a node wrote, what it acknowledged, and so what
 * must be found after a crash. Pure.
 *
 * Acknowledged records are there for ever, in order, with their bytes. Those that were written and not
 * acknowledged may be there or not; once found by a recovery that made them durable they count as
 * acknowledged. Nothing else may be found. */
#ifndef SIM_FILES_TRUTH_H
#define SIM_FILES_TRUTH_H

#include "sim/files_format.h"

struct files_issued { /* A record on its way to the disk. */
    uint64_t seq, chain;
    uint32_t attempt, len;
};

struct files_truth {
    uint64_t node; /* Seeds the payloads. */
    uint64_t acked; /* Records 1..acked must be found. */
    uint64_t *chain; /* owned; of record i at [i], 0..acked */
    size_t chain_cap;
    uint64_t *seen; /* owned; of record acked + 1 + i at [i]: a recovery found it, and went on from it */
    size_t seen_count, seen_cap;
    struct files_issued *open; /* owned; issued, not acknowledged */
    size_t opens, opens_cap;
    uint32_t next_attempt;
    uint64_t state_acked; /* The state that must be found, or a later one. */
    struct files_state *states; /* owned; issued: the acknowledged one and later ones */
    size_t states_count, states_cap;
    uint64_t acks, losses; /* Counted for reports: all acknowledgements; times the disk was lost. */
};

void files_truth_init(struct files_truth *t, uint64_t node);
void files_truth_deinit(struct files_truth *t);

uint32_t files_truth_attempt(struct files_truth *t); /* A number that no earlier attempt had. */
void files_truth_issue(struct files_truth *t, const struct files_issued *i);
/* All issued records with numbers up to seq are acknowledged, in the attempts that last returned by the
 * writer: attempt is that of each record, so the writer acknowledges records one by one, in order. */
void files_truth_ack(struct files_truth *t, uint64_t seq, uint32_t attempt);
void files_truth_issue_state(struct files_truth *t, const struct files_state *s);
void files_truth_ack_state(struct files_truth *t, uint64_t version);
/* The budget was spent: the disk is gone with all that was acknowledged. */
void files_truth_lost(struct files_truth *t);

struct files_found { /* What a recovery took for the truth. */
    struct files_state state;
    const struct files_record *record; /* Behind state.base, in order. */
    size_t records;
};
/* NULL: all is well. Else the invariant that is broken, with the reason in why:
 * files.acked-lost, files.torn, files.order, files.invented, files.rename. */
const char *files_truth_check(const struct files_truth *t, const struct files_found *f, struct cd_buf *why);
/* The recovery goes on from what it found; it was checked before. A state that it writes may be all that the
 * next one finds of it, though nobody made anything durable. */
void files_truth_saw(struct files_truth *t, const struct files_found *f);
/* The recovery made what it saw durable, in a state that is acknowledged. */
void files_truth_settle(struct files_truth *t);

#endif
