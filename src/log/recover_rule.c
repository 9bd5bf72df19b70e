/* log/recover_rule.c: see recover_rule.h. */
#include "log/recover_rule.h"

enum log_gate log_gate_decide(const struct store_lease *lease, struct cd_str generation, struct cd_str me,
                              enum log_recover_mode mode, int64_t now_ms, bool sole)
{
    if (lease == NULL)
        return LOG_GATE_NO_LEASE;
    if (!cd_str_eq(cd_str(lease->generation), generation))
        return LOG_GATE_FINISHED;
    bool dead = sole || (int64_t)lease->expires_ms <= now_ms;
    bool sealed = lease->has_log && lease->log.state == STORE_LOG_SEALED;
    if (sealed && (dead || mode == LOG_RECOVER_BOOT))
        return LOG_GATE_FINISHED;
    if (!dead)
        return LOG_GATE_ALIVE;
    if (!lease->has_log)
        return CD_PLANT("recover.absent-is-finished") ? LOG_GATE_FINISHED : LOG_GATE_NEVER_LOGGED;
    if (lease->log.state == STORE_LOG_OPEN)
        return LOG_GATE_CLAIM;
    if (cd_str_eq(cd_str(lease->log.claimant), me))
        return LOG_GATE_OURS;
    bool fresh = (int64_t)lease->log.claimed_ms + LOG_CLAIM_STALE_MS > now_ms;
    return fresh && !sole ? LOG_GATE_OTHERS : LOG_GATE_CLAIM;
}

/* ---- The listing ---- */

void log_listed_deinit(struct log_listed *l)
{
    cd_free(l->slot);
    cd_free(l->size);
    cd_free(l->consent);
    *l = (struct log_listed){0};
}

/* The place of v in ascending a: the first that is not below it. */
static size_t place(const uint64_t *a, size_t count, uint64_t v)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (a[mid] < v)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void grow(uint64_t **a, size_t cap)
{
    *a = cd_realloc(*a, cap * sizeof **a);
}

static void insert(uint64_t *a, size_t count, size_t at, uint64_t v)
{
    memmove(a + at + 1, a + at, (count - at) * sizeof *a);
    a[at] = v;
}

void log_listed_slot(struct log_listed *l, uint64_t slot, uint64_t size)
{
    size_t at = place(l->slot, l->count, slot);
    if (at < l->count && l->slot[at] == slot)
        return;
    if (l->count == l->cap) {
        l->cap = l->cap == 0 ? 64 : l->cap * 2;
        grow(&l->slot, l->cap);
        grow(&l->size, l->cap);
    }
    insert(l->slot, l->count, at, slot);
    insert(l->size, l->count, at, size);
    l->count++;
}

void log_listed_consent(struct log_listed *l, uint64_t slot)
{
    size_t at = place(l->consent, l->consents, slot);
    if (at < l->consents && l->consent[at] == slot)
        return;
    if (l->consents == l->consents_cap) {
        l->consents_cap = l->consents_cap == 0 ? 8 : l->consents_cap * 2;
        grow(&l->consent, l->consents_cap);
    }
    insert(l->consent, l->consents, at, slot);
    l->consents++;
}

bool log_listed_consented(const struct log_listed *l, uint64_t slot)
{
    size_t at = place(l->consent, l->consents, slot);
    return at < l->consents && l->consent[at] == slot;
}

size_t log_listed_find(const struct log_listed *l, uint64_t slot)
{
    size_t at = place(l->slot, l->count, slot);
    return at < l->count && l->slot[at] == slot ? at : SIZE_MAX;
}

uint64_t log_listed_run(const struct log_listed *l, uint64_t floor)
{
    uint64_t run = floor;
    while (log_listed_find(l, run + 1) != SIZE_MAX || log_listed_consented(l, run + 1))
        run++;
    return run;
}

uint64_t log_listed_missing(const struct log_listed *l, uint64_t run, uint64_t recorded, uint64_t pipeline)
{
    if (CD_PLANT("recover.hole-sealed"))
        return 0;
    if (run < recorded)
        return run + 1;
    uint64_t last = l->count == 0 ? 0 : l->slot[l->count - 1];
    return last > run && pipeline > 0 && last - run > pipeline ? run + 1 : 0;
}

int64_t log_member_long_dead_ms(uint64_t ttl_ms)
{
    return ttl_ms > UINT64_C(20000) / 3 ? (int64_t)(3 * ttl_ms) : 20000;
}

enum log_verdict log_member_verdict(const struct log_member *m, uint64_t log_epoch)
{
    if (CD_PLANT("recover.error-is-conclusive") && m->seal_status != 200)
        return LOG_MEMBER_NONE;
    if (!m->reached)
        return m->has_lease && m->expired_ms > log_member_long_dead_ms(m->ttl_ms) ? LOG_MEMBER_NONE
                                                                                  : LOG_MEMBER_UNKNOWN;
    if (m->seal_status != 200)
        return LOG_MEMBER_UNKNOWN;
    if (CD_PLANT("recover.seal-is-witness") && m->seal.certified == log_epoch)
        return LOG_MEMBER_WITNESS;
    if (m->seal.held != log_epoch && (m->tail_status != 200 || m->tail.epoch == m->seal.held))
        return m->tail_status == 200 ? LOG_MEMBER_NONE : LOG_MEMBER_UNKNOWN;
    if (m->tail_status != 200 || m->tail.epoch != log_epoch || m->tail.base != m->seal.base ||
        m->tail.end != m->seal.end || m->tail.complete != (m->seal.certified == log_epoch))
        return LOG_MEMBER_UNKNOWN;
    return m->tail.complete ? LOG_MEMBER_WITNESS : LOG_MEMBER_NONE;
}

enum log_attach log_attach(uint64_t covered, uint64_t min_txid, uint64_t max_txid, bool first)
{
    if (max_txid <= covered)
        return LOG_ATTACH_COVERED;
    if (covered == 0)
        return first ? LOG_ATTACH_NEXT : LOG_ATTACH_GAP;
    return min_txid <= covered + 1 ? LOG_ATTACH_NEXT : LOG_ATTACH_GAP;
}
