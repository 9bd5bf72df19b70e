/* sim/files_truth.c: compares what was found with what must and may be there. */
#include "sim/files_truth.h"

void files_truth_init(struct files_truth *t, uint64_t node)
{
    *t = (struct files_truth){.node = node};
    t->chain_cap = 64;
    t->chain = cd_alloc(t->chain_cap * sizeof *t->chain);
}

void files_truth_deinit(struct files_truth *t)
{
    cd_free(t->chain);
    cd_free(t->seen);
    cd_free(t->open);
    cd_free(t->states);
    *t = (struct files_truth){0};
}

uint32_t files_truth_attempt(struct files_truth *t)
{
    return ++t->next_attempt;
}

void files_truth_issue(struct files_truth *t, const struct files_issued *i)
{
    CD_ASSERT(i->seq > t->acked);
    if (t->opens == t->opens_cap) {
        t->opens_cap = t->opens_cap == 0 ? 16 : t->opens_cap * 2;
        t->open = cd_realloc(t->open, t->opens_cap * sizeof *t->open);
    }
    t->open[t->opens++] = *i;
}

static const struct files_issued *issued(const struct files_truth *t, uint64_t seq, uint32_t attempt)
{
    for (size_t i = 0; i < t->opens; i++) {
        if (t->open[i].seq == seq && t->open[i].attempt == attempt)
            return &t->open[i];
    }
    return NULL;
}

static void append_chain(struct files_truth *t, uint64_t chain)
{
    t->acked++;
    if (t->acked == t->chain_cap) {
        t->chain_cap *= 2;
        t->chain = cd_realloc(t->chain, t->chain_cap * sizeof *t->chain);
    }
    t->chain[t->acked] = chain;
}

void files_truth_ack(struct files_truth *t, uint64_t seq, uint32_t attempt)
{
    CD_ASSERT(seq == t->acked + 1);
    const struct files_issued *i = issued(t, seq, attempt);
    CD_ASSERT(i != NULL);
    append_chain(t, i->chain);
    t->acks++;
    size_t kept = 0;
    for (size_t n = 0; n < t->opens; n++) {
        if (t->open[n].seq > t->acked)
            t->open[kept++] = t->open[n];
    }
    t->opens = kept;
}

void files_truth_issue_state(struct files_truth *t, const struct files_state *s)
{
    CD_ASSERT(s->version > t->state_acked);
    if (t->states_count == t->states_cap) {
        t->states_cap = t->states_cap == 0 ? 16 : t->states_cap * 2;
        t->states = cd_realloc(t->states, t->states_cap * sizeof *t->states);
    }
    t->states[t->states_count++] = *s;
}

void files_truth_ack_state(struct files_truth *t, uint64_t version)
{
    CD_ASSERT(version >= t->state_acked);
    t->state_acked = version;
    size_t kept = 0;
    for (size_t n = 0; n < t->states_count; n++) {
        if (t->states[n].version >= version)
            t->states[kept++] = t->states[n];
    }
    t->states_count = kept;
}

void files_truth_lost(struct files_truth *t)
{
    t->acked = 0;
    t->seen_count = 0;
    t->opens = 0;
    t->state_acked = 0;
    t->states_count = 0;
    t->losses++;
}

static bool state_issued(const struct files_truth *t, const struct files_state *s)
{
    for (size_t i = 0; i < t->states_count; i++) {
        const struct files_state *k = &t->states[i];
        if (k->version == s->version && k->base == s->base && k->chain == s->chain && k->log == s->log)
            return true;
    }
    return false;
}

static const char *check_state(const struct files_truth *t, const struct files_state *s, struct cd_buf *why)
{
    if (s->version < t->state_acked) {
        cd_buf_addf(why, "state %llu was found, %llu had been acknowledged", (unsigned long long)s->version,
                    (unsigned long long)t->state_acked);
        return "files.acked-lost";
    }
    if (s->version > 0 && !state_issued(t, s)) {
        cd_buf_addf(why, "state %llu was found, but never written like that", (unsigned long long)s->version);
        return "files.rename";
    }
    return NULL;
}

static const char *check_record(const struct files_truth *t, const struct files_record *r, uint64_t want,
                                struct cd_buf *why)
{
    if (r->seq != want) {
        cd_buf_addf(why, "record %llu was found where %llu belongs", (unsigned long long)r->seq,
                    (unsigned long long)want);
        return "files.order";
    }
    struct cd_buf bytes = {0};
    files_payload(&bytes, t->node, r->seq, r->attempt, r->payload.len);
    bool whole = cd_str_eq(cd_buf_str(&bytes), r->payload);
    cd_buf_deinit(&bytes);
    if (!whole) {
        cd_buf_addf(why, "record %llu (attempt %u, %llu bytes) was taken with other bytes than were written",
                    (unsigned long long)r->seq, r->attempt, (unsigned long long)r->payload.len);
        return "files.torn";
    }
    if (r->seq <= t->acked) {
        if (r->chain == t->chain[r->seq])
            return NULL;
        cd_buf_addf(why, "record %llu was found in attempt %u, which is not the acknowledged one",
                    (unsigned long long)r->seq, r->attempt);
        return "files.order";
    }
    const struct files_issued *i = issued(t, r->seq, r->attempt);
    if (i != NULL && i->chain == r->chain && i->len == r->payload.len)
        return NULL;
    cd_buf_addf(why, "record %llu (attempt %u) was found, but never written", (unsigned long long)r->seq,
                r->attempt);
    return "files.invented";
}

const char *files_truth_check(const struct files_truth *t, const struct files_found *f, struct cd_buf *why)
{
    const char *broken = check_state(t, &f->state, why);
    if (broken != NULL)
        return broken;
    for (size_t i = 0; i < f->records; i++) {
        broken = check_record(t, &f->record[i], f->state.base + 1 + i, why);
        if (broken != NULL)
            return broken;
    }
    if (f->state.base + f->records < t->acked) {
        cd_buf_addf(why, "records end at %llu (%llu folded, %llu in log %llu), %llu had been acknowledged",
                    (unsigned long long)(f->state.base + f->records), (unsigned long long)f->state.base,
                    (unsigned long long)f->records, (unsigned long long)f->state.log,
                    (unsigned long long)t->acked);
        return "files.acked-lost";
    }
    return NULL;
}

void files_truth_saw(struct files_truth *t, const struct files_found *f)
{
    uint64_t folded = f->state.base > t->acked ? f->state.base - t->acked : 0;
    CD_ASSERT(folded <= t->seen_count); /* By a life that found them as records. */
    t->seen_count = folded;
    for (size_t i = 0; i < f->records; i++) {
        if (f->record[i].seq <= t->acked)
            continue;
        if (t->seen_count == t->seen_cap) {
            t->seen_cap = t->seen_cap == 0 ? 16 : t->seen_cap * 2;
            t->seen = cd_realloc(t->seen, t->seen_cap * sizeof *t->seen);
        }
        t->seen[t->seen_count++] = f->record[i].chain;
    }
}

void files_truth_settle(struct files_truth *t)
{
    for (size_t i = 0; i < t->seen_count; i++)
        append_chain(t, t->seen[i]);
    t->seen_count = 0;
    t->opens = 0; /* What was not found is not there, and never will be. */
}
