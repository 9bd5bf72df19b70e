#include "log/follower_rule.h"

#include "base/json.h"
#include "log/bytes.h"

#define KEPT_MAGIC "CLFB"
#define KEPT_FIXED (4u + 4u * 8u + 4u)

/* ---- Append ---- */

enum log_follow log_follow_decide(const struct log_fragment *f, const struct log_append *a, bool may)
{
    if (!may && !CD_PLANT("follower.without-authority"))
        return LOG_FOLLOW_SILENT;
    if (a->log_epoch <= f->sealed_to && !CD_PLANT("follower.ignores-seal"))
        return LOG_FOLLOW_REFUSE;
    if (a->log_epoch != f->epoch)
        return a->log_epoch < f->epoch || a->count == 0 ? LOG_FOLLOW_REFUSE : LOG_FOLLOW_ADOPT;
    if (!f->verified && !CD_PLANT("follower.unverified"))
        return LOG_FOLLOW_VERIFY;
    return LOG_FOLLOW_TAKE;
}

bool log_follow_verified(const struct log_fragment *f, const struct log_append *a,
                         const struct store_lease *lease, struct cd_str me)
{
    struct cd_str generation;
    if (lease == NULL || !store_session_split(a->leader, NULL, &generation) ||
        !cd_str_eq(cd_str(lease->generation), generation) || !lease->has_log)
        return false;
    bool member = false;
    for (unsigned i = 0; i < lease->log.ensemble_count; i++)
        member = member || cd_str_eq(cd_str(lease->log.ensemble[i]), me);
    return member && lease->log.state == STORE_LOG_OPEN && lease->log.epoch == a->log_epoch &&
           f->sealed_to < a->log_epoch;
}

bool log_follow_adopts(const struct log_fragment *f, const struct log_append *a,
                       const struct store_lease *lease, struct cd_str me, uint64_t first)
{
    if (first != a->first_batch)
        return false;
    return log_follow_verified(f, a, lease, me) || CD_PLANT("follower.leaders-word");
}

struct log_fragment log_fragment_adopted(const struct log_fragment *f, const struct log_append *a)
{
    return (struct log_fragment){.epoch = a->log_epoch,
                                 .base = a->first_batch - 1,
                                 .end = a->first_batch - 1,
                                 .sealed_to = f->sealed_to,
                                 .verified = true};
}

/* NULL, or why a batch is not one of this request's log epoch. */
static const char *batch_wrong(const struct log_batch *b, const struct log_append *a)
{
    if (!cd_str_eq(b->session, a->leader))
        return "it is of another session";
    if ((b->log_epoch != a->log_epoch || b->first_batch != a->first_batch) &&
        !CD_PLANT("follower.other-epoch"))
        return "it is of another log epoch";
    return NULL;
}

void log_follow_take(struct log_take *t, const struct log_fragment *f, const struct log_append *a,
                     struct cd_buf *why)
{
    struct cd_str rest = a->frames, bytes;
    uint64_t next = f->end + 1;
    *t = (struct log_take){.base = f->base};
    for (struct cd_str before = rest; !t->violation && log_frame_next(&rest, &bytes); before = rest) {
        struct log_batch b;
        if (log_batch_open(&b, bytes, why) != 0) {
            t->violation = true;
            break;
        }
        const char *wrong = batch_wrong(&b, a);
        if (wrong == NULL && b.batch > next && !CD_PLANT("follower.gap"))
            wrong = "batches before it are missing";
        if (wrong != NULL) {
            cd_buf_addf(why, "batch %llu: %s", (unsigned long long)b.batch, wrong);
            t->violation = true;
            break;
        }
        t->asked = b.batch;
        if (b.batch < next)
            continue; /* Delivered twice: it is on the disk. */
        if (t->count++ == 0) {
            t->first = b.batch;
            t->frames = cd_str_of(before.ptr, 0);
        }
        t->last = b.batch;
        t->frames.len += 4 + bytes.len;
        next = b.batch + 1;
    }
    uint64_t cap = t->count > 0 && t->first - 1 < f->end ? t->first - 1 : f->end;
    uint64_t base = a->truncate_to < cap ? a->truncate_to : cap;
    if (base > t->base)
        t->base = base;
}

void log_fragment_took(struct log_fragment *f, const struct log_take *t)
{
    CD_ASSERT(t->base >= f->base);
    if (t->count > 0)
        f->end = t->last;
    f->base = t->base;
    if (f->suspect != LOG_SUSPECT_EVER && f->suspect <= f->end)
        f->suspect = 0;
    CD_ASSERT(f->base <= f->end);
}

enum log_closed log_fragment_closed(const struct log_fragment *f, const struct store_lease *lease,
                                    struct cd_str generation)
{
    if (lease == NULL)
        return LOG_CLOSED_NOT;
    if (!cd_str_eq(cd_str(lease->generation), generation))
        return LOG_CLOSED_SESSION; /* A lease is installed over a session only when that is finished. */
    if (!lease->has_log)
        return LOG_CLOSED_NOT;
    if (lease->log.state == STORE_LOG_SEALED)
        return LOG_CLOSED_SESSION;
    return f->epoch != 0 && lease->log.epoch > f->epoch ? LOG_CLOSED_EPOCH : LOG_CLOSED_NOT;
}

/* ---- state.json ---- */

void log_fragment_write(struct cd_buf *to, const struct log_fragment *f)
{
    const struct {
        const char *key;
        uint64_t v;
    } n[] = {{"v", 1},
             {"fragment_epoch", f->epoch},
             {"base", f->base},
             {"end", f->end},
             {"sealed_to", f->sealed_to}};
    struct cd_json_out j;
    cd_json_out_init(&j, to);
    cd_json_out_object(&j);
    for (size_t i = 0; i < CD_COUNT(n); i++) {
        cd_json_out_key(&j, n[i].key);
        cd_json_out_u64(&j, n[i].v);
    }
    cd_json_out_end(&j, '}');
}

int log_fragment_read(struct log_fragment *f, struct cd_str body)
{
    struct cd_json_doc *doc;
    struct log_fragment r = {0};
    uint64_t v = 0;
    int rc = cd_json_parse(&doc, body, NULL) == 0 ? 0 : CD_ECORRUPT;
    if (rc != 0)
        return rc;
    const struct {
        const char *key;
        uint64_t *to;
    } n[] = {{"v", &v},
             {"fragment_epoch", &r.epoch},
             {"base", &r.base},
             {"end", &r.end},
             {"sealed_to", &r.sealed_to}};
    for (size_t i = 0; rc == 0 && i < CD_COUNT(n); i++)
        if (cd_json_u64(cd_json_get(cd_json_root(doc), n[i].key), n[i].to) != 0)
            rc = CD_ECORRUPT;
    cd_json_free(doc);
    if (rc == 0 && (v != 1 || r.base > r.end))
        rc = CD_ECORRUPT;
    if (rc == 0)
        *f = r;
    return rc;
}

/* ---- Files of batches ---- */

void log_kept_name(struct cd_buf *to, uint64_t first, uint64_t last)
{
    cd_buf_addf(to, "%016llx-%016llx.batch", (unsigned long long)first, (unsigned long long)last);
}

bool log_kept_name_read(struct log_kept *k, struct cd_str name)
{
    struct cd_buf again = {0};
    uint64_t v[2] = {0, 0};
    if (name.len != 16 + 1 + 16 + 6)
        return false;
    for (size_t i = 0; i < 33; i++) {
        char c = name.ptr[i];
        if (i == 16)
            continue;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : 0;
        v[i > 16] = v[i > 16] << 4 | digit;
    }
    log_kept_name(&again, v[0], v[1]);
    bool same = cd_str_eq(cd_buf_str(&again), name) && v[0] > 0 && v[0] <= v[1];
    cd_buf_deinit(&again);
    *k = (struct log_kept){.first = v[0], .last = v[1]};
    return same;
}

void log_kept_write(struct cd_buf *to, const struct log_fragment *f, const struct log_take *t)
{
    uint8_t digest[LOG_SHA256_SIZE];
    size_t start = to->len;
    CD_ASSERT(t->count > 0 && t->first > f->base);
    cd_buf_add(to, KEPT_MAGIC, 4);
    cd_buf_add_u64(to, f->epoch);
    cd_buf_add_u64(to, f->base);
    cd_buf_add_u64(to, t->last);
    cd_buf_add_u64(to, f->sealed_to);
    cd_buf_add_u32(to, t->count);
    cd_buf_add_str(to, t->frames);
    log_sha256(cd_str_of(to->ptr + start, to->len - start), (struct cd_str){0}, digest);
    cd_buf_add(to, digest, sizeof digest);
}

int log_kept_read(struct log_kept *k, struct cd_str session, struct cd_str body, struct cd_buf *why)
{
    uint8_t digest[LOG_SHA256_SIZE];
    k->valid = false;
    if (body.len < KEPT_FIXED + LOG_SHA256_SIZE || memcmp(body.ptr, KEPT_MAGIC, 4) != 0)
        return log_corrupt(why, "%zu bytes are no file of batches", body.len);
    const char *end = body.ptr + body.len - LOG_SHA256_SIZE;
    log_sha256(cd_str_of(body.ptr, body.len - LOG_SHA256_SIZE), (struct cd_str){0}, digest);
    if (memcmp(digest, end, sizeof digest) != 0)
        return log_corrupt(why, "file of batches fails its checksum");
    k->epoch = cd_get_u64(body.ptr + 4);
    k->base = cd_get_u64(body.ptr + 12);
    k->sealed_to = cd_get_u64(body.ptr + 28);
    k->count = cd_get_u32(body.ptr + 36);
    k->frames = cd_str_of(body.ptr + KEPT_FIXED, body.len - KEPT_FIXED - LOG_SHA256_SIZE);
    struct cd_str rest = k->frames, bytes;
    uint64_t next = k->first;
    for (; log_frame_next(&rest, &bytes); next++) {
        struct log_batch b;
        int rc = log_batch_open(&b, bytes, why);
        if (rc != 0)
            return rc;
        if (!cd_str_eq(b.session, session) || b.log_epoch != k->epoch || b.batch != next)
            return log_corrupt(why, "batch %llu of epoch %llu, want %llu of epoch %llu",
                               (unsigned long long)b.batch, (unsigned long long)b.log_epoch,
                               (unsigned long long)next, (unsigned long long)k->epoch);
    }
    if (rest.len != 0 || next != k->last + 1 || k->count != k->last - k->first + 1 ||
        cd_get_u64(body.ptr + 20) != k->last || k->first <= k->base)
        return log_corrupt(why, "file of batches is not what its name says");
    k->valid = true;
    return 0;
}

/* Up to where the batches behind from are in valid files of the epoch, without a gap. */
static uint64_t reach(const struct log_kept *kept, size_t count, uint64_t epoch, uint64_t from)
{
    bool more = true;
    while (more) {
        more = false;
        for (size_t i = 0; i < count; i++) {
            const struct log_kept *k = &kept[i];
            if (k->valid && k->epoch == epoch && k->first <= from + 1 && k->last > from) {
                from = k->last;
                more = true;
            }
        }
    }
    return from;
}

void log_fragment_load(struct log_fragment *f, struct log_kept *kept, size_t count, bool strange)
{
    f->verified = false;
    f->suspect = 0;
    for (size_t i = 0; i < count; i++) {
        const struct log_kept *k = &kept[i];
        if (!k->valid)
            continue;
        if (k->sealed_to > f->sealed_to)
            f->sealed_to = k->sealed_to;
        if (k->epoch > f->epoch) { /* The state was lost: the files are all that is known. */
            f->epoch = k->epoch;
            f->base = f->end = k->base;
        }
    }
    uint64_t state_end = f->end;
    for (size_t i = 0; i < count; i++) {
        const struct log_kept *k = &kept[i];
        uint64_t from = state_end > k->base ? state_end : k->base;
        if (!k->valid || k->epoch != f->epoch || k->last <= f->end)
            continue;
        if (reach(kept, count, f->epoch, from) < k->last)
            continue;
        f->end = k->last;
        if (k->base > f->base)
            f->base = k->base;
    }
    for (size_t i = 0; i < count; i++) {
        const struct log_kept *k = &kept[i];
        bool other = k->valid && k->epoch != f->epoch; /* Left of an epoch that was given up. */
        if (!other && k->last > f->end && k->last > f->suspect)
            f->suspect = k->last;
    }
    if (strange)
        f->suspect = LOG_SUSPECT_EVER;
    if (CD_PLANT("follower.no-suspicion"))
        f->suspect = 0;
}

bool log_fragment_complete(const struct log_fragment *f, const struct log_kept *kept, size_t count)
{
    if (CD_PLANT("follower.always-complete"))
        return true;
    return f->suspect == 0 && reach(kept, count, f->epoch, f->base) >= f->end;
}
