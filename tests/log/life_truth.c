/* The observers: they see every change of the bucket at the moment it happens. */
#include "life.h"

#include "log/alarms.h"
#include "ltx/plan.h"

/* ---- What is true ---- */

struct objects {
    struct ltx_object list[512];
    size_t count;
};

static void object_add(void *arg, struct cd_str key, const struct sim_object *o)
{
    struct objects *all = arg;
    struct ltx_name n;
    if (ltx_key_parse(key, &n) == 0 && all->count < CD_COUNT(all->list))
        all->list[all->count++] =
            (struct ltx_object){n.epoch, n.level, n.min_txid, n.max_txid, o->body.len, 0};
}

static uint64_t covered_but(struct life *l, const char *scope, uint64_t epoch, uint64_t but_min,
                            uint64_t but_max)
{
    struct objects *all = cd_new(struct objects);
    struct cd_buf prefix = {0};
    ltx_key_epoch(&prefix, cd_str(scope), epoch);
    sim_store_each(l->sim, cd_buf_str(&prefix), object_add, all);
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++)
        if (all->list[i].min_txid != but_min || all->list[i].max_txid != but_max)
            all->list[kept++] = all->list[i];
    uint64_t covered = kept == 0 ? 0 : ltx_coverage(all->list, kept, 0);
    cd_buf_deinit(&prefix);
    cd_free(all);
    return covered;
}

uint64_t life_covered(struct life *l, const char *scope, uint64_t epoch)
{
    return covered_but(l, scope, epoch, 0, 0);
}

/* The slots 1..n that are stored, or were. */
static uint64_t prefix(const struct life *l)
{
    uint64_t n = 0;
    while (n + 1 < CD_COUNT(l->stored) && l->stored[n + 1])
        n++;
    return n;
}

/* What is history as of now: below the seal when there is one. */
static uint64_t history(struct life *l)
{
    return l->seal != 0 ? l->seal - 1 : prefix(l);
}

/* Rows of slots in (from, to], from what the floor knows on. */
static void apply_rows(struct life *l, struct log_alarms *a, uint64_t from, uint64_t to, uint64_t through)
{
    for (size_t i = 0; i < l->rows; i++) {
        const struct life_row *r = &l->row[i];
        if (r->slot > from && r->slot <= to && r->batch > through)
            log_alarms_apply(a, cd_str(r->scope), (struct store_identity){r->epoch, r->alarm.inst_seq},
                             r->alarm.armed, (uint64_t)r->alarm.due_ms, r->batch);
    }
}

/* Every alarm of want has its state in got: the same due time and number; what a restore renamed may have a
 * later epoch. */
static bool alarms_same(const struct log_alarms *want, const struct log_alarms *got, struct cd_buf *why)
{
    size_t wants, gots;
    struct store_alarm *w = log_alarms_list(want, &wants), *g = log_alarms_list(got, &gots);
    bool same = true;
    for (size_t i = 0; i < wants && same; i++) {
        bool found = false;
        for (size_t k = 0; k < gots; k++)
            found |= cd_str_eq(w[i].cell, g[k].cell) && w[i].due_ms == g[k].due_ms &&
                     w[i].identity.seq == g[k].identity.seq;
        if (!found)
            cd_buf_addf(why, "%.*s, due %llu, number %llu", (int)w[i].cell.len, w[i].cell.ptr,
                        (unsigned long long)w[i].due_ms, (unsigned long long)w[i].identity.seq);
        same = found;
    }
    cd_free(w);
    cd_free(g);
    return same;
}

static void all_covered(struct life *l, uint64_t upto, const char *rule, const char *when)
{
    for (size_t i = 0; i < l->rows && l->broken == NULL; i++) {
        const struct life_row *r = &l->row[i];
        if (!r->note && r->slot <= upto && life_covered(l, r->scope, r->epoch) < r->txid)
            life_break(l, rule, "%s: row %llu of %s epoch %llu, slot %llu, is not in its prefix", when,
                       (unsigned long long)r->txid, r->scope, (unsigned long long)r->epoch,
                       (unsigned long long)r->slot);
    }
}

/* ---- Changes ---- */

static void object_changed(struct life *l, const struct ltx_name *n, const struct sim_store_change *change)
{
    char scope[64];
    struct ltx_file f;
    struct cd_buf why = {0};
    (void)snprintf(scope, sizeof scope, "%.*s", (int)n->scope.len, n->scope.ptr);
    if (change->after == NULL) {
        life_break(l, "C-GC", "an object of %s was deleted", scope);
        return;
    }
    if (ltx_file_open(&f, change->after->body, n, &why) != 0 || ltx_file_verify(l->zstd, &f, &why) != 0)
        life_break(l, "C-CHAIN", "%s", cd_buf_cstr(&why));
    cd_buf_deinit(&why);
    bool known = false, first = false;
    for (size_t i = 0; i < l->rows; i++) {
        const struct life_row *r = &l->row[i];
        if (r->note || strcmp(r->scope, scope) != 0 || r->epoch != n->epoch)
            continue;
        known |= r->txid == n->max_txid && r->slot <= history(l);
        first |= r->txid == n->min_txid && r->first;
    }
    uint64_t before = covered_but(l, scope, n->epoch, n->min_txid, n->max_txid);
    if (!known)
        life_break(l, "C-EPOCH", "%s epoch %llu: rows up to %llu are not history", scope,
                   (unsigned long long)n->epoch, (unsigned long long)n->max_txid);
    else if (!first && n->min_txid > before + 1)
        life_break(l, "C-CHAIN", "%s epoch %llu: %llu-%llu behind %llu", scope, (unsigned long long)n->epoch,
                   (unsigned long long)n->min_txid, (unsigned long long)n->max_txid,
                   (unsigned long long)before);
}

static void lease_of(struct life *l, struct store_lease *out)
{
    struct sim_object o;
    struct cd_buf why = {0};
    *out = (struct store_lease){0};
    if (!sim_store_get_truth(l->sim, CD_STR("nodes/node_a.json"), &o) ||
        store_lease_read(out, CD_STR("node_a"), o.body, &why) != 0)
        life_break(l, "C-SEAL", "the lease: %s", cd_buf_cstr(&why));
    cd_buf_deinit(&why);
}

static void seal_created(struct life *l, const struct log_slot_head *h)
{
    struct store_lease lease;
    if (l->sealed)
        return; /* A late one of a slow recoverer: nobody looks there any more. */
    lease_of(l, &lease);
    if (!l->finished && lease.log.state != STORE_LOG_RECOVERING)
        life_break(l, "C-LOG", "a seal at %llu while the record says %s", (unsigned long long)h->slot,
                   store_log_state_name(lease.log.state));
    if (l->seal != 0)
        life_break(l, "C-LOG", "a second seal at %llu", (unsigned long long)h->slot);
    else if (h->slot != prefix(l) + 1)
        life_break(l, "C-LOG", "a seal at %llu, where %llu is the first free slot",
                   (unsigned long long)h->slot, (unsigned long long)prefix(l) + 1);
    else if (h->slot > l->floor + 1 && h->last_batch != l->slot[h->slot - 1]->batch)
        life_break(l, "C-SEAL", "the seal ends with batch %llu, the slots below it with %llu",
                   (unsigned long long)h->last_batch, (unsigned long long)l->slot[h->slot - 1]->batch);
    if (l->seal == 0)
        l->seal = h->slot;
}

static void slot_changed(struct life *l, uint64_t slot, const struct sim_store_change *change)
{
    struct log_slot_head h;
    struct sim_store_change c = *change;
    if (slot == l->harmed && change->by == NULL)
        return; /* The harm itself. */
    if (c.before != NULL && c.after != NULL) {
        life_break(l, "C-LOG", "slot %llu was written twice", (unsigned long long)slot);
    } else if (c.after != NULL) {
        if (log_slot_head_read(&h, c.after->body, NULL) != 0)
            life_break(l, "C-LOG", "slot %llu is no slot", (unsigned long long)slot);
        else if (h.kind == LOG_SLOT_SEAL)
            seal_created(l, &h);
        else
            l->stored[slot] = true;
    } else if (slot == l->seal) {
        life_break(l, "C-LOG", "the seal at %llu was deleted", (unsigned long long)slot);
    } else if (!l->sealed) {
        if (slot > l->floor)
            life_break(l, "C-GC", "slot %llu was deleted above the floor %llu", (unsigned long long)slot,
                       (unsigned long long)l->floor);
        all_covered(l, l->floor, "C-GC", "a slot goes");
    }
}

static void checkpoint_apply(struct life *l, const struct store_floor *f, struct log_alarms *a)
{
    struct cd_buf key = {0}, why = {0};
    struct store_alarms items = {0};
    struct sim_object o;
    store_key_alarms(&key, CD_STR(SESSION), f->alarms_n);
    if (!sim_store_get_truth(l->sim, cd_buf_str(&key), &o) ||
        store_alarms_read(&items, CD_STR(SESSION), o.body, &why) != 0)
        life_break(l, "C-WAKE", "the floor names %s: %s", cd_buf_cstr(&key), cd_buf_cstr(&why));
    for (size_t i = 0; i < items.count; i++)
        log_alarms_apply(a, items.item[i].cell, items.item[i].identity, true, items.item[i].due_ms, 0);
    store_alarms_deinit(&items);
    cd_buf_deinit(&key);
    cd_buf_deinit(&why);
}

static void floor_changed(struct life *l, const struct sim_store_change *change)
{
    struct store_floor before = {0}, f = {0};
    struct log_alarms want = {.keep = true}, got = {.keep = true};
    struct cd_buf why = {0};
    if (change->after == NULL) {
        if (!l->sealed)
            life_break(l, "C-LOG", "the floor was deleted");
        return;
    }
    if (l->sealed)
        return; /* Garbage of a late recoverer. */
    if (store_floor_read(&f, change->after->body, &why) != 0 ||
        (change->before != NULL && store_floor_read(&before, change->before->body, &why) != 0))
        life_break(l, "C-LOG", "the floor: %s", cd_buf_cstr(&why));
    else if (before.frozen_by[0] != 0)
        life_break(l, "C-LOG", "the floor was written although it is frozen");
    else if (f.floor < before.floor)
        life_break(l, "C-LOG", "the floor fell from %llu to %llu", (unsigned long long)before.floor,
                   (unsigned long long)f.floor);
    if (l->broken == NULL) {
        uint64_t upto = prefix(l);
        l->floor = f.floor;
        all_covered(l, f.floor, "C-GC", "the floor rises");
        if (f.has_alarms)
            checkpoint_apply(l, &f, &got);
        apply_rows(l, &want, 0, upto, 0);
        apply_rows(l, &got, f.floor, upto, f.has_alarms ? f.alarms_through : 0);
        if (l->broken == NULL && !alarms_same(&want, &got, &why))
            life_break(l, "C-WAKE", "floor %llu forgets %s", (unsigned long long)f.floor, cd_buf_cstr(&why));
    }
    log_alarms_deinit(&want);
    log_alarms_deinit(&got);
    cd_buf_deinit(&why);
}

static void checkpoint_changed(struct life *l, const struct sim_store_change *change)
{
    struct store_recovered *r = cd_new(struct store_recovered);
    struct cd_buf why = {0};
    if (change->after != NULL && store_recovered_read(r, change->after->body, &why) != 0)
        life_break(l, "C-SEAL", "%s", cd_buf_cstr(&why));
    for (unsigned i = 0; i < r->count; i++)
        if (life_covered(l, r->item[i].cell, r->item[i].epoch) < r->item[i].through)
            life_break(l, "C-SEAL", "a checkpoint says that %s epoch %llu reaches %llu", r->item[i].cell,
                       (unsigned long long)r->item[i].epoch, (unsigned long long)r->item[i].through);
    l->checkpoints += r->count > 0 ? 1 : 0;
    cd_buf_deinit(&why);
    cd_free(r);
}

static void pack_add(void *arg, struct cd_str key, const struct sim_object *o)
{
    struct log_alarms *got = arg;
    struct store_alarms items = {0};
    if (store_pack_read(&items, key, o->body, NULL) != 0)
        return;
    for (size_t i = 0; i < items.count; i++)
        log_alarms_apply(got, items.item[i].cell, items.item[i].identity, true, items.item[i].due_ms, 0);
    store_alarms_deinit(&items);
}

static void record_sealed(struct life *l)
{
    struct log_alarms want = {.keep = true}, got = {.keep = true};
    struct cd_buf why = {0};
    l->sealed = true;
    all_covered(l, history(l), "C-SEAL", "the session is sealed");
    apply_rows(l, &want, 0, history(l), 0);
    sim_store_each(l->sim, CD_STR(STORE_PREFIX_WAKE_PACKS), pack_add, &got);
    if (!alarms_same(&want, &got, &why))
        life_break(l, "C-WAKE", "the session is sealed, and no pack has %s", cd_buf_cstr(&why));
    log_alarms_deinit(&want);
    log_alarms_deinit(&got);
    cd_buf_deinit(&why);
}

void life_changed(void *arg, const struct sim_store_change *change)
{
    struct life *l = arg;
    struct ltx_name object;
    struct store_log_name name;
    if (l->broken != NULL)
        return;
    if (ltx_key_parse(change->key, &object) == 0) {
        object_changed(l, &object, change);
    } else if (store_log_name_parse(&name, change->key)) {
        if (name.kind == STORE_LOG_SLOT)
            slot_changed(l, name.number, change);
        else if (name.kind == STORE_LOG_FLOOR)
            floor_changed(l, change);
        else if (name.kind == STORE_LOG_RECOVERED)
            checkpoint_changed(l, change);
        else if (name.kind == STORE_LOG_ROW && change->after == NULL && !l->sealed && l->floor == 0)
            life_break(l, "C-GC", "a row's object was deleted");
    } else if (cd_str_eq(change->key, CD_STR("nodes/node_a.json"))) {
        struct store_lease lease;
        lease_of(l, &lease);
        if (lease.log.state == STORE_LOG_SEALED && !l->sealed)
            record_sealed(l);
        else if (l->sealed && lease.log.state != STORE_LOG_SEALED)
            life_break(l, "C-SEAL", "the record was sealed, and is %s",
                       store_log_state_name(lease.log.state));
    }
}

/* ---- The end ---- */

struct rest {
    struct life *l;
    size_t seals;
};

static void rest_look(void *arg, struct cd_str key, const struct sim_object *o)
{
    struct rest *r = arg;
    struct store_log_name name;
    (void)o;
    if (store_log_name_parse(&name, key) && name.kind == STORE_LOG_SLOT && name.number == r->l->seal)
        r->seals++;
}

void life_audit(struct life *l)
{
    struct rest rest = {.l = l};
    for (unsigned i = 0; i < LIFE_RACERS && l->broken == NULL; i++)
        if (l->of[i].node != NULL && l->of[i].end != LOG_RECOVER_FINISHED)
            life_break(l, "C-SETTLE", "recovery is %s: %s", log_recover_end_name(l->of[i].end), l->of[i].why);
    if (l->broken == NULL && l->opts.silent && !l->sealed)
        life_break(l, "C-OWN", "a session without a log counts as finished, and can still open one");
    if (l->broken != NULL || l->opts.silent)
        return;
    if (!l->sealed || l->seal == 0)
        life_break(l, "C-SETTLE", "the session is not sealed");
    sim_store_each(l->sim, CD_STR("log/"), rest_look, &rest);
    if (l->broken == NULL && rest.seals != 1)
        life_break(l, "C-LOG", "there are %zu seals", rest.seals);
}
