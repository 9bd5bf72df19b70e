/* log/health.h: whether the followers of an ensemble keep up, as functions of values (fleet.md 6.9). Pure.
 *
 * A member is replaced when an append to it fails or takes longer than the backstop, and when the median of
 * what its appends took has been too high for a while: above the budget, and above four times the best
 * sibling's, so that a leader that is slow itself blames nobody. An append that takes long is sent a second
 * time. */
#ifndef LOG_HEALTH_H
#define LOG_HEALTH_H

#include "log/peers.h"

#define LOG_HEALTH_SAMPLES 64u /* Of a member, at most. */

struct log_health_opts {
    uint64_t budget_ns; /* CELLD_LOG_EVICT_BUDGET_MS; 0: 100 ms */
    uint64_t sustain_ns; /* CELLD_LOG_EVICT_SUSTAIN_MS; 0: 2 s */
    uint64_t backstop_ns; /* CELLD_LOG_EVICT_BACKSTOP_MS; 0: 2 s */
    bool hedge_fixed; /* CELLD_LOG_HEDGE_MS is set: to hedge_ns, 0 for never. */
    uint64_t hedge_ns;
};

enum log_evict {
    LOG_EVICT_NONE, /* It stays. */
    LOG_EVICT_SLOW,
    LOG_EVICT_FAILED, /* An append failed, or took longer than the backstop. */
    LOG_EVICT_UNABLE, /* It has no such endpoint, or its answer is none: quarantine. */
    LOG_EVICT_SELF, /* All members are silent at once: it may be us. */
};
const char *log_evict_name(enum log_evict e);

struct log_health_member {
    uint64_t at_ns[LOG_HEALTH_SAMPLES], took_ns[LOG_HEALTH_SAMPLES]; /* Sample n is at n % SAMPLES. */
    uint64_t samples;
    bool slow;
    uint64_t slow_ns; /* slow: since then. */
};

struct log_health {
    struct log_health_opts o; /* Without zeros. */
    unsigned members;
    struct log_health_member member[LOG_MEMBERS_MAX];
    bool swapped;
    uint64_t swapped_ns; /* When a slow one was replaced last. */
};

void log_health_init(struct log_health *h, const struct log_health_opts *o);
void log_health_begin(struct log_health *h, unsigned members); /* Another ensemble: its windows are empty. */
/* An append that was sent at sent_ns was confirmed now. */
enum log_evict log_health_confirmed(struct log_health *h, unsigned member, uint64_t sent_ns, uint64_t now_ns);
/* An append ended without. head_ns: since when the oldest append of each member is under way; 0: none is. */
enum log_evict log_health_failed(const struct log_health *h, bool timed_out, const uint64_t *head_ns,
                                 uint64_t now_ns);
/* After how long without an answer an append is sent again; UINT64_MAX: never. */
uint64_t log_health_hedge_ns(const struct log_health *h, unsigned member, uint64_t now_ns);

#endif
