/* sim/mix_truth.h: the storage workload: random transactions of pairs and SQL, what a database is after them,
 * and the oracle. Pure. simulation.md 6.
 *
 * A transaction is a number; its steps follow from the number, so a cell and the oracle make the same ones.
 * It says which transaction it goes on from (the last one that the client knows of) and is done only there,
 * so the states of a database are a chain, and what is not known to be done is either the next link or never
 * one. */
#ifndef SIM_MIX_TRUTH_H
#define SIM_MIX_TRUTH_H

#include "base/buf.h"

#define MIX_PAIRS 24u /* Keys k00, k01, ... */
#define MIX_ROWS 48u /* Of table t: id 1, 2, ... */
#define MIX_STEPS_MAX 24u

enum mix_kind {
    MIX_PUT, /* Pair at: len bytes that follow from value. */
    MIX_DELETE,
    MIX_INSERT, /* Row at: n = value, v = len bytes. Replaces one that is there. */
    MIX_REMOVE, /* Rows at..at+len-1. */
    MIX_ADD, /* To n of rows at..at+len-1. */
    MIX_BEGIN, /* A savepoint. */
    MIX_KEEP,
    MIX_UNDO,
    MIX_CLEAR, /* Everything; first, if at all. */
};
struct mix_step {
    enum mix_kind kind;
    unsigned at, len;
    uint64_t value;
};
/* At most MIX_STEPS_MAX; savepoints are balanced. */
unsigned mix_steps(uint64_t id, uint64_t seed, struct mix_step *out);
void mix_bytes(struct cd_buf *out, uint64_t value, unsigned len);

struct mix_state {
    struct mix_pair {
        bool there;
        unsigned len;
        uint64_t value;
    } pair[MIX_PAIRS];
    struct mix_row {
        bool there;
        unsigned len;
        uint64_t value;
        int64_t n;
    } row[MIX_ROWS + 1];
};
void mix_apply(struct mix_state *s, const struct mix_step *step, unsigned steps);
/* Pairs in order, then rows: of what a digest is made. */
uint64_t mix_digest_pair(uint64_t digest, struct cd_str key, struct cd_str value);
uint64_t mix_digest_row(uint64_t digest, uint64_t id, int64_t n, struct cd_str v);
uint64_t mix_digest(const struct mix_state *s);

/* ---- The oracle ---- */

struct mix_op {
    unsigned cell;
    uint64_t before; /* The transaction it goes on from; 0: none. */
    bool refused;
};

struct mix_link { /* A state that a database has been in. */
    uint64_t id, digest;
};

struct mix_cell {
    struct mix_state now;
    struct mix_link *link; /* owned; link[0] is the empty database */
    size_t links, cap;
};

struct mix_truth {
    uint64_t seed;
    struct mix_cell *cell; /* owned; from 1 */
    unsigned cells;
    struct mix_op *op; /* owned; number n is op[n - 1] */
    uint64_t ops, ops_cap;
    uint64_t done, conflicts, refused, unknown;
};

void mix_truth_init(struct mix_truth *t, unsigned cells, uint64_t seed);
void mix_truth_deinit(struct mix_truth *t);
/* A new transaction, going on from the newest state that is known. */
uint64_t mix_truth_begin(struct mix_truth *t, unsigned cell);
uint64_t mix_truth_before(const struct mix_truth *t, uint64_t id);
size_t mix_truth_floor(const struct mix_truth *t, unsigned cell); /* To be asked before a question. */

/* NULL, or the invariant that is broken: mix.lost, mix.refused, mix.invented, mix.digest. */

/* An answer says that the database is in the state behind transaction last. floor is of before the question.
 */
const char *mix_truth_state(struct mix_truth *t, unsigned cell, size_t floor, uint64_t last, uint64_t digest,
                            struct cd_buf *why);
/* It was done (now or by the state of another answer), or did not go on from the state that was there. */
const char *mix_truth_done(struct mix_truth *t, uint64_t id, size_t floor, uint64_t digest,
                           struct cd_buf *why);
const char *mix_truth_refuse(struct mix_truth *t, uint64_t id, struct cd_buf *why);

#endif
