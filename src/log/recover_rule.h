/* log/recover_rule.h: what recovery decides, as functions of values (fleet.md 7.1 to 7.3, 7.5). Pure. */
#ifndef LOG_RECOVER_RULE_H
#define LOG_RECOVER_RULE_H

#include "log/peer_wire.h"
#include "log/recover.h"

#define LOG_CLAIM_STALE_MS 30000
#define LOG_SEAL_WINDOW 128u /* Listed slots among which a seal is looked for. */

enum log_gate {
    LOG_GATE_FINISHED,
    LOG_GATE_ALIVE,
    LOG_GATE_NEVER_LOGGED, /* Its log is absent: make that permanent (7.1), then it is finished. */
    LOG_GATE_CLAIM, /* CAS the record to recovering, with our claim. */
    LOG_GATE_OURS, /* It says so already. */
    LOG_GATE_OTHERS, /* Another recoverer's claim is fresh. */
    LOG_GATE_NO_LEASE, /* The listing of its log decides. */
};
/* lease NULL: there is none. */
enum log_gate log_gate_decide(const struct store_lease *lease, struct cd_str generation, struct cd_str me,
                              enum log_recover_mode mode, int64_t now_ms, bool sole);

/* The slots of a dead session above its floor, as a listing after the freeze shows them. */
struct log_listed {
    uint64_t *slot; /* owned; ascending, each once */
    uint64_t *size; /* owned */
    size_t count, cap;
    uint64_t *consent; /* owned; ascending: slots whose loss an operator declared */
    size_t consents, consents_cap;
};
void log_listed_deinit(struct log_listed *l);
void log_listed_slot(struct log_listed *l, uint64_t slot, uint64_t size); /* In any order. */
void log_listed_consent(struct log_listed *l, uint64_t slot);
bool log_listed_consented(const struct log_listed *l, uint64_t slot);
/* Index of the slot; SIZE_MAX when it is not listed. */
size_t log_listed_find(const struct log_listed *l, uint64_t slot);
/* The last slot of the unbroken run from floor + 1 on, consented ones counted as present; floor when it is
 * empty. */
uint64_t log_listed_run(const struct log_listed *l, uint64_t floor);
/* A slot that was stored once and is not there: 0 when none is. run: of log_listed_run; recorded: the lease's
 * lower bound; pipeline: the session's P, 0 when no slot could be asked. */
uint64_t log_listed_missing(const struct log_listed *l, uint64_t run, uint64_t recorded, uint64_t pipeline);

/* What one member of the ensemble said (7.3). */
struct log_member {
    bool has_lease; /* Its lease object is there: */
    int64_t expired_ms; /* for so long it has been expired, by our clock; not positive: it is live. */
    uint64_t ttl_ms;
    bool reached; /* Something took the connection, or may have. */
    int seal_status, tail_status; /* HTTP; 200: the answer was read and is consistent in itself. */
    struct log_seal_answer seal;
    struct log_tail tail;
};
enum log_verdict {
    LOG_MEMBER_WITNESS, /* It takes no appends any more and has every batch that it confirmed. */
    LOG_MEMBER_NONE, /* It certainly is none, and never will be. */
    LOG_MEMBER_UNKNOWN, /* Ask again: it may be one. */
};
/* A member that cannot be reached is one, maybe, until its lease has been expired for so long. */
int64_t log_member_long_dead_ms(uint64_t ttl_ms);
enum log_verdict log_member_verdict(const struct log_member *m, uint64_t log_epoch);

/* Whether a row goes behind what an epoch's prefix has. */
enum log_attach { LOG_ATTACH_COVERED, LOG_ATTACH_NEXT, LOG_ATTACH_GAP };
/* first: the row is the first of its epoch (a marker or a snapshot). */
enum log_attach log_attach(uint64_t covered, uint64_t min_txid, uint64_t max_txid, bool first);

#endif
