/* sim/cell_truth_follow.c: what followers prove: batches that are on the disks of all members of an ensemble
 * and in no slot yet. fleet.md 6.6, 7.3, 7.4.
 *
 * A batch counts because something shows it: an answer that left, when every member has had it on its disk;
 * or an object, when a recoverer can have it from a member. What nothing shows may be history or not, and is
 * judged by nobody. Disks are looked at only when that is needed. */
#include "sim/cell_truth_internal.h"

#include "log/follower_rule.h"

void cell_truth_disks(struct cell_truth *t, const struct cell_disks *disks)
{
    t->disks = *disks;
}

/* ---- Disks ---- */

struct reach { /* How far the batches on a disk go, without a gap. */
    struct cell_truth *t;
    struct truth_session *s;
    uint64_t upto;
};

static void file_seen(void *to, const char *name, struct cd_str bytes)
{
    struct reach *r = to;
    struct log_kept k;
    struct log_batch b;
    struct cd_str batch;
    if (!log_kept_name_read(&k, cd_str(name)) || log_kept_read(&k, cd_str(r->s->name), bytes, NULL) != 0 ||
        k.epoch != r->s->log.epoch || k.first > r->upto + 1 || k.last <= r->upto)
        return;
    while (r->t->broken == NULL && log_frame_next(&k.frames, &batch))
        if (log_batch_open(&b, batch, NULL) == 0)
            truth_batch_seen(r->t, r->s, &b, 0, 0);
    r->upto = k.last;
}

/* From behind `from` on. */
static uint64_t reach_of(struct cell_truth *t, struct truth_session *s, unsigned member, uint64_t from)
{
    struct reach r = {t, s, from};
    if (t->disks.each != NULL)
        t->disks.each(t->disks.arg, s->log.ensemble[member], s->name, from + 1, file_seen, &r);
    return r.upto;
}

/* Looks at every member. Returns up to where all have had everything; *most: one of them. */
static uint64_t look(struct cell_truth *t, struct truth_session *s, uint64_t *most)
{
    uint64_t all = UINT64_MAX;
    *most = 0;
    for (unsigned i = 0; i < s->log.ensemble_count; i++) {
        struct truth_member *m = &s->member[i];
        m->held = reach_of(t, s, i, m->held > s->prefix_batch ? m->held : s->prefix_batch);
        all = m->held < all ? m->held : all;
        *most = m->held > *most ? m->held : *most;
    }
    return s->log.ensemble_count == 0 ? 0 : all;
}

/* ---- What counts ---- */

void truth_follow_shown(struct cell_truth *t, const struct truth_cell *c, uint64_t epoch, uint64_t txid)
{
    struct truth_session *s = ((struct truth_epoch *)cd_map_get_u64(&c->epochs, epoch))->owner;
    uint64_t most;
    if (s == NULL || !s->log.may_have_fleet_acks)
        return;
    uint64_t all = look(t, s, &most);
    for (uint64_t n = s->proven + 1; n <= all; n++) {
        const struct truth_batch *b = cd_map_get_u64(&s->batches, n);
        for (const struct truth_row *r = b == NULL ? NULL : b->row; r != NULL; r = r->next)
            if (r->cell == c && r->epoch == epoch && !r->note && r->max_txid >= txid) {
                t->counts.followed++;
                truth_batches_count(t, s, n);
                return;
            }
    }
}

static bool newer_alarm(const struct truth_row *r, const struct truth_cell *c)
{
    struct store_identity i = {r->epoch, r->alarm.inst_seq}, now = {c->alarm.epoch, c->alarm.seq};
    return r->cell == c && i.seq > 0 && store_identity_cmp(i, now) > 0;
}

bool truth_follow_alarm(struct cell_truth *t, const struct truth_cell *c)
{
    uint64_t most;
    for (struct cd_map_node *k = cd_map_first(&t->sessions); k != NULL; k = cd_map_next(k)) {
        struct truth_session *s = cd_map_value(k);
        uint64_t all = truth_ended(s) || !s->log.may_have_fleet_acks ? 0 : look(t, s, &most);
        for (uint64_t n = s->proven + 1; n <= all; n++) {
            const struct truth_batch *b = cd_map_get_u64(&s->batches, n);
            for (const struct truth_row *r = b == NULL ? NULL : b->row; r != NULL; r = r->next)
                if (newer_alarm(r, c)) {
                    truth_batches_count(t, s, n);
                    return true;
                }
        }
    }
    return false;
}

void truth_follow_folded(struct cell_truth *t, struct truth_cell *c, uint64_t epoch, uint64_t txid)
{
    struct truth_epoch *e = truth_epoch(c, epoch);
    struct truth_session *s = e->owner;
    uint64_t most;
    if (s == NULL || !s->recovering || !s->log.may_have_fleet_acks)
        return;
    (void)look(t, s, &most);
    for (uint64_t n = s->proven + 1; n <= most && t->broken == NULL; n++) {
        const struct truth_batch *b = cd_map_get_u64(&s->batches, n);
        for (struct truth_row *r = b == NULL ? NULL : b->row; r != NULL && t->broken == NULL; r = r->next)
            if (r->cell == c && r->epoch == epoch && !r->note && r->max_txid <= txid)
                truth_row_counts(t, r);
    }
}

/* ---- The record ---- */

void truth_follow_record(struct cell_truth *t, struct truth_session *s, const struct store_log_record *log)
{
    if (log->epoch != s->log.epoch) {
        if (s->proven > s->prefix_batch)
            truth_break(t, "I5",
                        "%s names another ensemble, and batch %llu that the last one proved is in no slot",
                        s->name, (unsigned long long)s->proven);
        memset(s->member, 0, sizeof s->member);
    }
    s->log = *log;
}

void truth_follow_sealed(struct cell_truth *t, struct truth_session *s)
{
    uint64_t most;
    (void)look(t, s, &most);
    for (uint64_t n = s->proven + 1; n <= most; n++) {
        const struct truth_batch *b = cd_map_get_u64(&s->batches, n);
        for (const struct truth_row *r = b == NULL ? NULL : b->row; r != NULL; r = r->next)
            if (!r->counts && r->alarm.inst_seq > 0)
                r->cell->unsure = true;
    }
}

void truth_follow_lost(struct cell_truth *t, const struct truth_session *s)
{
    if (!s->sealed && s->proven > s->prefix_batch && truth_uncovered(s, NULL, UINT64_MAX) != NULL)
        truth_break(t, "I5",
                    "a loss is declared of %s, whose batches up to %llu were shown; its slots end with %llu",
                    s->name, (unsigned long long)s->proven, (unsigned long long)s->prefix_batch);
}

/* ---- Copies ---- */

/* A member that has everything up to upto on its disk now, and is not except. */
static bool copy_of(struct cell_truth *t, struct truth_session *s, uint64_t upto, const char *except)
{
    for (unsigned i = 0; i < s->log.ensemble_count; i++)
        if (strcmp(s->log.ensemble[i], except) != 0 && reach_of(t, s, i, s->prefix_batch) >= upto)
            return true;
    return false;
}

void truth_follow_audit(struct cell_truth *t)
{
    for (struct cd_map_node *n = cd_map_first(&t->sessions); n != NULL && t->broken == NULL;
         n = cd_map_next(n)) {
        struct truth_session *s = cd_map_value(n);
        if (!truth_ended(s) && s->proven > s->prefix_batch && truth_uncovered(s, NULL, UINT64_MAX) != NULL &&
            !copy_of(t, s, s->proven, ""))
            truth_break(t, "I5", "%s: batch %llu was shown, and is in no slot and on no disk", s->name,
                        (unsigned long long)s->proven);
    }
}

/* The first session behind s (NULL: of all) that has followers, node among them, with batches up to *all that
 * no slot has. */
static struct truth_session *followed(struct cell_truth *t, const struct truth_session *s, const char *node,
                                      uint64_t *all)
{
    struct cd_map_node *n = s == NULL ? cd_map_first(&t->sessions)
                                      : cd_map_next(cd_map_at_or_after(&t->sessions, cd_str(s->name)));
    for (; n != NULL && t->broken == NULL; n = cd_map_next(n)) {
        struct truth_session *at = cd_map_value(n);
        bool member = false;
        uint64_t most;
        for (unsigned i = 0; i < at->log.ensemble_count; i++)
            member |= strcmp(at->log.ensemble[i], node) == 0;
        if (!member || truth_ended(at) || !at->log.may_have_fleet_acks)
            continue;
        *all = look(t, at, &most);
        if (*all > at->prefix_batch)
            return at;
    }
    return NULL;
}

/* When the last lease of node runs out. */
static uint64_t lease_end(const struct cell_truth *t, const char *node)
{
    uint64_t end = 0;
    for (struct cd_map_node *n = cd_map_first(&t->sessions); n != NULL; n = cd_map_next(n)) {
        const struct truth_session *s = cd_map_value(n);
        size_t len = strlen(node);
        if (strncmp(s->name, node, len) == 0 && s->name[len] == '/' &&
            s->leased_ns + s->ttl_ms * 1000000 > end)
            end = s->leased_ns + s->ttl_ms * 1000000;
    }
    return end;
}

bool cell_truth_holds(struct cell_truth *t, const char *node, uint64_t now_ns, uint64_t ago_ns)
{
    uint64_t all;
    return lease_end(t, node) + ago_ns <= now_ns && followed(t, NULL, node, &all) != NULL;
}

bool cell_truth_spare(struct cell_truth *t, const char *node, struct cd_buf *why)
{
    uint64_t all;
    for (struct truth_session *s = NULL; (s = followed(t, s, node, &all)) != NULL;)
        if (!copy_of(t, s, all, node)) {
            cd_buf_addf(why, "batches %llu to %llu of %s", (unsigned long long)s->prefix_batch + 1,
                        (unsigned long long)all, s->name);
            return false;
        }
    return true;
}
