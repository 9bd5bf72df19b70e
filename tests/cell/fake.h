/* tests/cell/fake.h: stands where database, log, ownership and restore are in a node, for tests that want to
 * decide when a row is proven, what a claim answers, and whether a restore works. A cell's data is one number
 * and its alarm. What the "bucket" holds outlives a node. */
#ifndef CELL_FAKE_H
#define CELL_FAKE_H

#include "db/storage.h"
#include "fleet/claim.h"
#include "log/feed.h"

struct fake_data {
    int64_t value;
    struct storage_alarm alarm;
};

/* One cell in the bucket. */
struct fake_cell {
    char scope[256];
    uint64_t epoch; /* Of its ownership record. */
    bool released;
    struct {
        uint64_t epoch, txid;
        struct fake_data data;
    } prefix; /* What is folded. */
    struct fake_data file; /* What the last restore or snapshot put on the disk. */
    uint64_t snapshot_epoch; /* Of a snapshot on the disk; 0: none. */
};

struct fake {
    struct fake_cell cell[128];
    unsigned cells;
    uint64_t prove_ns; /* How long the log takes. */
    bool stall; /* It proves nothing. */
    bool uncut; /* And cuts nothing. */
    bool full; /* It has more to prove than it may. */
    bool lost; /* And never will again. */
    enum fleet_claim_end claim_end; /* What claims answer. */
    int fold_status; /* Of every fold. */
    bool restore_fails, open_fails, commit_fails;
    bool entries_late; /* Wake entries come behind releases: of a handoff. */
    int entry_status, release_status; /* Of every wake entry and release. */
    uint64_t claim_ns; /* How long a claim takes. */
    unsigned claims, restores, snapshots_taken, folds, opens, open_now, rows, notes, duties, retired, entries,
        releases;
    struct fleet_authority authority;
    struct fleet_self self;
    /* With two nodes: the other one, and the session that has every cell (NULL: whoever claims) and is said
     * to live for so long, at an address. */
    struct fleet_self other;
    const char *owner, *owner_addr;
    uint64_t owner_ms;
};
extern struct fake fake;

void fake_reset(void);
struct fake_cell *fake_cell(struct cd_str scope); /* Made when there is none. */
/* What a cell of a test does with its storage. */
int64_t fake_value(const struct storage *s);
int fake_set(struct storage *s, int64_t value);

#endif
