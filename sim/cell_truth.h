/* sim/cell_truth.h: the invariant observers of cells: what has to hold of the bucket and of what nodes let
 * out. simulation.md 7; fleet.md 1.3, 2.3, 11.4. Pure.
 *
 * It is told of every change of the bucket in the order in which they happen, and of a few facts that only
 * the workload knows: what committed, what left a node, who is fenced or dead. It believes no node: sessions,
 * slots, rows, seals, floors, owners and alarms are read from the changes themselves, whose bodies it keeps.
 * The first broken invariant stays; from then on nothing is judged.
 *
 *     I1   epochs of owner.json strictly rise, each write is a transition of fleet.md 2.3, one session writes
 * an epoch, and objects of an epoch hold rows of that session's history I2   what leaves a node reveals only
 * commits that are in the bucket: folded, or in a slot of an unbroken row of slots, below any seal I3   a
 * slot never changes, a batch has one number and one content, slots follow the record's "open", one seal is
 * accepted, in the first free slot I4   a session whose record becomes sealed is wholly in the cells'
 * prefixes; a cell of another session is taken only then, or when it was released I5   a slot goes only when
 * its rows are covered by objects, at or below the floor; a seal never goes I7   what a restore gives is what
 * was committed there, and has everything that was ever revealed I8   a number is within its bound I9 nothing
 * leaves a node that is fenced, dead or beyond its lease I10  an armed alarm is found by somebody: a session
 * that has not ended, a wake entry or a pack
 *
 * Sessions are texts "<node>/<generation>". Times are the simulator's, not a node's. */
#ifndef SIM_CELL_TRUTH_H
#define SIM_CELL_TRUTH_H

#include "base/buf.h"

struct cell_truth;
struct cell_truth *cell_truth_new(void);
void cell_truth_free(struct cell_truth *t); /* NULL is fine. */

/* "I1" ... of the first that broke, with the reason in *why (borrowed); NULL: none. */
const char *cell_truth_broken(const struct cell_truth *t, const char **why);

/* ---- The bucket ---- */

struct cell_change {
    struct cd_str key; /* Without a prefix of the bucket. */
    bool there; /* False: it was deleted. */
    struct cd_str body;
    struct cd_str by; /* Whose request it was, the same text for all of one process; empty: a fixture. */
    uint64_t now_ns;
};
void cell_truth_change(struct cell_truth *t, const struct cell_change *c);

/* Whether a key is that of a cell's ownership record; scope: into the key. */
bool cell_truth_owner_key(struct cd_str key, struct cd_str *scope);

/* ---- The disks of followers ---- */

struct cell_disks {
    void *arg;
    /* Tells file of every file that a power loss would leave in what node keeps of session's log, and that
     * may have batch from or a later one, ascending by name. */
    void (*each)(void *arg, const char *node, const char *session, uint64_t from,
                 void (*file)(void *to, const char *name, struct cd_str bytes), void *to);
};
void cell_truth_disks(struct cell_truth *t, const struct cell_disks *disks); /* None before. */
/* The disk of node is to be lost. False: it is the last that has what followers may have proven; why names
 * it. What it has shown up to now is remembered. */
bool cell_truth_spare(struct cell_truth *t, const char *node, struct cd_buf *why);
/* Its disk has, and perhaps others, what followers may have proven and the slots do not have, and its lease
 * ran out so long ago. */
bool cell_truth_holds(struct cell_truth *t, const char *node, uint64_t now_ns, uint64_t ago_ns);

/* ---- What the workload knows ---- */

/* A transaction of the cell was committed on a node. digest: cell_truth_pages of the database file right
 * after it. Positions that nobody told of are not compared. */
void cell_truth_commit(struct cell_truth *t, struct cd_str scope, uint64_t epoch, uint64_t txid,
                       uint64_t digest);
/* Of a whole database file, whose length is a multiple of page_size. */
uint64_t cell_truth_pages(struct cd_str file, uint32_t page_size);

/* The code of a cell runs in a process of session, at that epoch. */
void cell_truth_runs(struct cell_truth *t, struct cd_str session, struct cd_str scope, uint64_t epoch);

/* Something leaves the node of session at this moment: an answer, a frame, a request to the outside. It can
 * reveal the cell's transactions up to txid of epoch; txid 0: nothing of this epoch yet. What another session
 * says of its cell may be passed on by any. */
struct cell_output {
    struct cd_str session, scope;
    uint64_t epoch, txid;
    uint64_t now_ns;
};
void cell_truth_output(struct cell_truth *t, const struct cell_output *o);

/* The session has fenced itself, or its process is dead: nothing may leave it from now on. */
void cell_truth_fence(struct cell_truth *t, struct cd_str session, const char *cause);

void cell_truth_bound(struct cell_truth *t, const char *what, uint64_t number, uint64_t bound); /* I8 */

/* ---- Audits: at any moment, also while nodes run ---- */

/* I7 and I10 of every cell: what recovery and a restore would come to, from objects and the history in slots.
 */
void cell_truth_audit(struct cell_truth *t);
/* When all nodes have ended in order, or every dead session must have been recovered: the same, and nothing
 * may be left that is in slots alone, and no record may name a session whose log is not sealed.
 * clocks_differ: then a node may have taken another one for dead and have ended in order before that
 * recovery; the log stays with it for whoever starts next. */
void cell_truth_audit_rest(struct cell_truth *t, bool clocks_differ);

/* What a cell's alarm is in the history of the bucket; false: no row or note ever told of one. */
struct cell_alarm_state {
    bool armed;
    uint64_t due_ms, epoch, seq;
};
bool cell_truth_alarm(const struct cell_truth *t, struct cd_str scope, struct cell_alarm_state *out);

/* For reports. */
struct cell_truth_counts {
    uint64_t changes, rows, slots, seals, claims, takeovers, outputs, passed_on, revealing, folds, audits,
        restores, followed; /* followed: answers that followers alone proved. */
};
struct cell_truth_counts cell_truth_counts(const struct cell_truth *t);

#endif
