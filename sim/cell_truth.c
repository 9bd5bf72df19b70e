/* sim/cell_truth.c: the bucket as it is, who is who, and what leaves a node. */
#include "sim/cell_truth.h"

#include "base/encode.h"
#include "sim/cell_truth_internal.h"

/* A lease is judged by true time, and the clock that its node goes by may be off by so much. */
#define CLOCK_SLACK(ttl_ns) (UINT64_C(100000000) + (ttl_ns) / 100)

struct cell_truth *cell_truth_new(void)
{
    struct cell_truth *t = cd_new(struct cell_truth);
    t->zstd = ltx_zstd_new();
    return t;
}

static void values_free(struct cd_map *m)
{
    for (struct cd_map_node *n = cd_map_first(m); n != NULL; n = cd_map_next(n))
        cd_free(cd_map_value(n));
    cd_map_deinit(m);
}

void cell_truth_free(struct cell_truth *t)
{
    if (t == NULL)
        return;
    for (struct cd_map_node *n = cd_map_first(&t->objects); n != NULL; n = cd_map_next(n))
        cd_buf_deinit(&((struct truth_object *)cd_map_value(n))->body);
    values_free(&t->objects);
    for (struct cd_map_node *n = cd_map_first(&t->sessions); n != NULL; n = cd_map_next(n))
        truth_session_free(cd_map_value(n));
    cd_map_deinit(&t->sessions);
    for (struct cd_map_node *n = cd_map_first(&t->cells); n != NULL; n = cd_map_next(n)) {
        struct truth_cell *c = cd_map_value(n);
        for (struct cd_map_node *k = cd_map_first(&c->epochs); k != NULL; k = cd_map_next(k))
            values_free(&((struct truth_epoch *)cd_map_value(k))->commits);
        values_free(&c->epochs);
    }
    values_free(&t->cells);
    cd_map_deinit(&t->writers);
    ltx_zstd_free(t->zstd);
    cd_buf_deinit(&t->why);
    cd_free(t);
}

void truth_break(struct cell_truth *t, const char *invariant, const char *format, ...)
{
    va_list args;
    if (t->broken != NULL)
        return;
    t->broken = invariant;
    va_start(args, format);
    cd_buf_vaddf(&t->why, format, args);
    va_end(args);
    (void)cd_buf_cstr(&t->why);
}

const char *cell_truth_broken(const struct cell_truth *t, const char **why)
{
    if (why != NULL)
        *why = t->broken == NULL ? "" : t->why.ptr;
    return t->broken;
}

struct cell_truth_counts cell_truth_counts(const struct cell_truth *t)
{
    return t->counts;
}

/* ---- Who is who ---- */

struct truth_session *truth_session(struct cell_truth *t, struct cd_str name)
{
    struct truth_session *s = cd_map_get(&t->sessions, name);
    if (s == NULL) {
        CD_ASSERT(name.len < sizeof s->name);
        s = cd_new(struct truth_session);
        memcpy(s->name, name.ptr, name.len);
        (void)cd_map_put(&t->sessions, name, s);
    }
    return s;
}

struct truth_cell *truth_cell(struct cell_truth *t, struct cd_str scope)
{
    struct truth_cell *c = cd_map_get(&t->cells, scope);
    if (c == NULL) {
        CD_ASSERT(scope.len < sizeof c->scope);
        c = cd_new(struct truth_cell);
        memcpy(c->scope, scope.ptr, scope.len);
        (void)cd_map_put(&t->cells, scope, c);
    }
    return c;
}

struct truth_epoch *truth_epoch(struct truth_cell *c, uint64_t epoch)
{
    struct truth_epoch *e = cd_map_get_u64(&c->epochs, epoch);
    if (e == NULL) {
        e = cd_new(struct truth_epoch);
        (void)cd_map_put_u64(&c->epochs, epoch, e);
    }
    return e;
}

bool truth_newest(const struct truth_cell *c, uint64_t below, uint64_t *epoch, struct truth_epoch **e)
{
    for (struct cd_map_node *n = cd_map_last(&c->epochs); n != NULL; n = cd_map_prev(n)) {
        struct truth_epoch *at = cd_map_value(n);
        if (cd_map_key_u64(n) >= below || !at->begun)
            continue;
        *e = at;
        *epoch = cd_map_key_u64(n);
        return true;
    }
    return false;
}

/* ---- The bucket ---- */

bool truth_get(const struct cell_truth *t, struct cd_str key, struct cd_str *body)
{
    const struct truth_object *o = cd_map_get(&t->objects, key);
    if (o == NULL)
        return false;
    *body = cd_buf_str(&o->body);
    return true;
}

/* Puts the change into the copy; what was there before goes into old. */
static bool copy(struct cell_truth *t, const struct cell_change *c, struct cd_buf *old)
{
    struct truth_object *o = cd_map_get(&t->objects, c->key);
    bool was = o != NULL;
    if (was)
        *old = cd_buf_move(&o->body);
    if (!c->there) {
        cd_free(cd_map_remove(&t->objects, c->key));
        return was;
    }
    if (o == NULL) {
        o = cd_new(struct truth_object);
        (void)cd_map_put(&t->objects, c->key, o);
    }
    cd_buf_add_str(&o->body, c->body);
    return was;
}

bool cell_truth_owner_key(struct cd_str key, struct cd_str *scope)
{
    const struct cd_str head = CD_STR("cells/"), tail = CD_STR("/owner.json");
    if (!cd_str_starts(key, head) || !cd_str_ends(key, tail) || key.len <= head.len + tail.len)
        return false;
    *scope = cd_str_sub(key, head.len, key.len - head.len - tail.len);
    return store_scope_valid(*scope);
}

void cell_truth_change(struct cell_truth *t, const struct cell_change *c)
{
    struct cd_buf old = {0};
    struct ltx_name object;
    struct store_log_name log;
    struct cd_str name;
    if (t->broken != NULL)
        return;
    t->counts.changes++;
    bool was = copy(t, c, &old);
    struct cd_str bytes = cd_buf_str(&old);
    const struct cd_str *before = was ? &bytes : NULL;
    if (cell_truth_owner_key(c->key, &name))
        truth_owner_change(t, name, c, before);
    else if (ltx_key_parse(c->key, &object) == 0)
        truth_object_change(t, &object, c);
    else if (store_log_name_parse(&log, c->key))
        truth_log_change(t, &log, c, before);
    else if (store_lease_name_parse(&name, c->key))
        truth_lease_change(t, name, c, before);
    else if (cd_str_starts(c->key, CD_STR("wake/retired/")) ||
             (cd_str_starts(c->key, CD_STR("wake/")) && !c->there))
        truth_alarms_found(t, c->there ? "it is retired" : "a wake object went");
    cd_buf_deinit(&old);
}

/* ---- Facts ---- */

/* Not the checksum of the format: there the same change of two pages cancels out. */
uint64_t cell_truth_pages(struct cd_str file, uint32_t page_size)
{
    uint64_t sum = file.len;
    CD_ASSERT(page_size > 0 && file.len % page_size == 0);
    for (size_t at = 0; at < file.len; at += page_size)
        if (at / page_size + 1 != ltx_lock_page(page_size))
            sum = (sum ^ cd_crc64(0, file.ptr + at, page_size)) * UINT64_C(0x9e3779b97f4a7c15) + at;
    return sum;
}

void cell_truth_commit(struct cell_truth *t, struct cd_str scope, uint64_t epoch, uint64_t txid,
                       uint64_t digest)
{
    if (t->broken != NULL)
        return;
    struct truth_epoch *e = truth_epoch(truth_cell(t, scope), epoch);
    uint64_t *value = cd_new(uint64_t);
    *value = digest;
    uint64_t *before = cd_map_put_u64(&e->commits, txid, value);
    if (before != NULL && *before != digest)
        truth_break(t, "I1", "%.*s epoch %llu: transaction %llu was committed twice", (int)scope.len,
                    scope.ptr, (unsigned long long)epoch, (unsigned long long)txid);
    cd_free(before);
}

void cell_truth_fence(struct cell_truth *t, struct cd_str session, const char *cause)
{
    struct truth_session *s = truth_session(t, session);
    if (s->gone == NULL)
        s->gone = cd_str_dup(cd_str(cause));
}

void cell_truth_bound(struct cell_truth *t, const char *what, uint64_t number, uint64_t bound)
{
    if (number > bound)
        truth_break(t, "I8", "%s: %llu, the bound is %llu", what, (unsigned long long)number,
                    (unsigned long long)bound);
}

/* I9. What leaves a process that nobody takes for alive any more may contradict its successor. */
static void judge_authority(struct cell_truth *t, const struct truth_session *s, const struct cell_output *o)
{
    uint64_t ttl_ns = s->ttl_ms * 1000000;
    if (s->gone != NULL)
        truth_break(t, "I9", "%.*s: an answer left %s after its end: %s", (int)o->scope.len, o->scope.ptr,
                    s->name, s->gone);
    else if (s->leased && o->now_ns > s->leased_ns + ttl_ns + CLOCK_SLACK(ttl_ns))
        truth_break(t, "I9", "%.*s: an answer left %s %llu ms after its lease of %llu ms was renewed last",
                    (int)o->scope.len, o->scope.ptr, s->name,
                    (unsigned long long)((o->now_ns - s->leased_ns) / 1000000),
                    (unsigned long long)s->ttl_ms);
}

/* I2. An activation goes on from the position that it opened at: what is not above it is its predecessor's.
 */
static void judge_shown(struct cell_truth *t, const struct cell_output *o, struct truth_epoch *e)
{
    uint64_t base = e->base_txid, before;
    struct truth_epoch *p;
    if (!e->begun && truth_newest(truth_cell(t, o->scope), o->epoch, &before, &p))
        base = p->last;
    if (o->txid <= base)
        return;
    if (o->txid > e->covered && (!e->begun || o->txid > e->last))
        truth_follow_shown(t, truth_cell(t, o->scope), o->epoch, o->txid);
    if (o->txid > e->covered && (!e->begun || o->txid > e->last))
        truth_break(t, "I2", "%.*s epoch %llu: an answer shows transaction %llu; proven are those up to %llu",
                    (int)o->scope.len, o->scope.ptr, (unsigned long long)o->epoch,
                    (unsigned long long)o->txid, (unsigned long long)(e->begun ? e->last : base));
    if (o->txid > e->revealed) {
        e->revealed = o->txid;
        t->counts.revealing++;
    }
}

void cell_truth_runs(struct cell_truth *t, struct cd_str session, struct cd_str scope, uint64_t epoch)
{
    if (t->broken != NULL)
        return;
    struct truth_session *s = truth_session(t, session);
    if (truth_epoch(truth_cell(t, scope), epoch)->owner != s)
        truth_break(t, "I1", "%.*s: epoch %llu runs in %s, which never owned it", (int)scope.len, scope.ptr,
                    (unsigned long long)epoch, s->name);
}

void cell_truth_output(struct cell_truth *t, const struct cell_output *o)
{
    if (t->broken != NULL)
        return;
    struct truth_session *s = truth_session(t, o->session);
    struct truth_epoch *e = truth_epoch(truth_cell(t, o->scope), o->epoch);
    t->counts.outputs++;
    if (e->owner == NULL)
        truth_break(t, "I1", "%.*s: an answer of epoch %llu left %s, which nobody ever owned",
                    (int)o->scope.len, o->scope.ptr, (unsigned long long)o->epoch, s->name);
    if (e->owner == s)
        judge_authority(t, s, o);
    else
        t->counts.passed_on++;
    if (o->txid > 0)
        judge_shown(t, o, e);
}

/* ---- Audits ---- */

void cell_truth_audit(struct cell_truth *t)
{
    t->counts.audits++;
    for (struct cd_map_node *n = cd_map_first(&t->cells); n != NULL && t->broken == NULL; n = cd_map_next(n))
        truth_audit_cell(t, cd_map_value(n));
    if (t->broken == NULL)
        truth_follow_audit(t);
    if (t->broken == NULL)
        truth_alarms_found(t, "at an audit");
}

void cell_truth_audit_rest(struct cell_truth *t, bool clocks_differ)
{
    cell_truth_audit(t);
    for (struct cd_map_node *n = cd_map_first(&t->sessions); n != NULL && t->broken == NULL;
         n = cd_map_next(n)) {
        const struct truth_session *s = cd_map_value(n);
        const struct truth_row *r = truth_uncovered(s, NULL, UINT64_MAX);
        if (clocks_differ && s->log.state == STORE_LOG_RECOVERING)
            continue;
        if (s->opened && !s->sealed)
            truth_break(t, "I4", "the log of %s is not sealed in the end", s->name);
        else if (r != NULL)
            truth_break(t, "I4", "in the end %s epoch %llu: transaction %llu is in no object", r->cell->scope,
                        (unsigned long long)r->epoch, (unsigned long long)r->max_txid);
    }
}
