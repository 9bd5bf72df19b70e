#include "log/peer_wire.h"

#include "base/json.h"
#include "log/bytes.h"
#include "store/names.h"

#define APPEND_MAGIC "CLA1"
#define TAIL_MAGIC "CLT2"
#define APPEND_FIXED (3u * 8u + 4u) /* Behind the leader's name. */
#define TAIL_FIXED (4u + 3u * 8u + 1u + 4u)

/* ---- Frames ---- */

void log_frame_add(struct cd_buf *to, struct cd_str batch)
{
    cd_buf_add_u32(to, (uint32_t)batch.len);
    cd_buf_add_str(to, batch);
}

bool log_frame_next(struct cd_str *rest, struct cd_str *batch)
{
    if (rest->len < 4)
        return false;
    size_t len = cd_get_u32(rest->ptr);
    if (len > rest->len - 4)
        return false;
    *batch = cd_str_sub(*rest, 4, len);
    *rest = cd_str_sub(*rest, 4 + len, SIZE_MAX);
    return true;
}

static int frames_check(struct cd_str frames, uint32_t count, struct cd_buf *why)
{
    struct cd_str batch;
    uint32_t seen = 0;
    while (log_frame_next(&frames, &batch))
        seen++;
    if (frames.len != 0 || seen != count)
        return log_corrupt(why, "%u frames and %zu bytes, %u frames are announced", seen, frames.len, count);
    return 0;
}

/* ---- Append ---- */

void log_append_write(struct cd_buf *to, const struct log_append *a)
{
    cd_buf_add(to, APPEND_MAGIC, 4);
    cd_buf_add_u16(to, (uint16_t)a->leader.len);
    cd_buf_add_str(to, a->leader);
    cd_buf_add_u64(to, a->log_epoch);
    cd_buf_add_u64(to, a->first_batch);
    cd_buf_add_u64(to, a->truncate_to);
    cd_buf_add_u32(to, a->count);
    cd_buf_add_str(to, a->frames);
}

int log_append_read(struct log_append *a, struct cd_str body, struct cd_buf *why)
{
    if (body.len < 6 || memcmp(body.ptr, APPEND_MAGIC, 4) != 0)
        return log_corrupt(why, "no append: it does not begin with " APPEND_MAGIC);
    size_t name = cd_get_u16(body.ptr + 4);
    if (body.len < 6 + name + APPEND_FIXED)
        return log_corrupt(why, "append of %zu bytes ends inside its header", body.len);
    const char *p = body.ptr + 6 + name;
    *a = (struct log_append){.leader = cd_str_sub(body, 6, name),
                             .log_epoch = cd_get_u64(p),
                             .first_batch = cd_get_u64(p + 8),
                             .truncate_to = cd_get_u64(p + 16),
                             .count = cd_get_u32(p + 24),
                             .frames = cd_str_sub(body, 6 + name + APPEND_FIXED, SIZE_MAX)};
    if (!store_session_valid(a->leader))
        return log_corrupt(why, "the leader's name of %zu bytes is no session", name);
    if (a->log_epoch == 0 || a->first_batch == 0 || a->count > LOG_FRAMES_MAX)
        return log_corrupt(why, "log epoch %llu, first batch %llu, %u frames",
                           (unsigned long long)a->log_epoch, (unsigned long long)a->first_batch, a->count);
    return frames_check(a->frames, a->count, why);
}

/* ---- JSON ---- */

static void out_number(struct cd_json_out *j, const char *key, uint64_t v)
{
    cd_json_out_key(j, key);
    cd_json_out_u64(j, v);
}

static void out_begin(struct cd_json_out *j, struct cd_buf *to)
{
    cd_json_out_init(j, to);
    cd_json_out_object(j);
}

struct number {
    const char *key;
    uint64_t *to;
};

/* Every named number is there. */
static int read_numbers(const struct cd_json *root, const struct number *n, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (cd_json_u64(cd_json_get(root, n[i].key), n[i].to) != 0)
            return CD_ECORRUPT;
    return 0;
}

static int read_leader(const struct cd_json *root, char *leader)
{
    struct cd_str s;
    if (cd_json_str(cd_json_get(root, "leader"), &s) != 0 || !store_session_valid(s))
        return CD_ECORRUPT;
    memcpy(leader, s.ptr, s.len);
    leader[s.len] = 0;
    return 0;
}

void log_append_answer_write(struct cd_buf *to, const struct log_append_answer *a)
{
    struct cd_json_out j;
    out_begin(&j, to);
    cd_json_out_key(&j, "ok");
    cd_json_out_bool(&j, a->ok);
    out_number(&j, "end", a->end);
    out_number(&j, "epoch", a->epoch);
    cd_json_out_end(&j, '}');
}

int log_append_answer_read(struct log_append_answer *a, struct cd_str body)
{
    struct cd_json_doc *doc;
    struct log_append_answer r = {0};
    if (cd_json_parse(&doc, body, NULL) != 0)
        return CD_ECORRUPT;
    const struct number n[] = {{"end", &r.end}, {"epoch", &r.epoch}};
    int rc = read_numbers(cd_json_root(doc), n, CD_COUNT(n));
    if (rc == 0 && cd_json_bool(cd_json_get(cd_json_root(doc), "ok"), &r.ok) != 0)
        rc = CD_ECORRUPT;
    cd_json_free(doc);
    if (rc == 0)
        *a = r;
    return rc;
}

bool log_append_heard(const struct log_append_answer *a, uint64_t log_epoch, uint64_t first_batch,
                      uint64_t last)
{
    if (a->ok)
        return true;
    if (last < first_batch)
        return a->epoch < log_epoch;
    return a->epoch == log_epoch && a->end >= last; /* It had come before. */
}

void log_seal_ask_write(struct cd_buf *to, struct cd_str leader, uint64_t log_epoch)
{
    struct cd_json_out j;
    out_begin(&j, to);
    cd_json_out_key(&j, "leader");
    cd_json_out_str(&j, leader);
    out_number(&j, "epoch", log_epoch);
    cd_json_out_end(&j, '}');
}

int log_seal_ask_read(char *leader, uint64_t *log_epoch, struct cd_str body)
{
    struct cd_json_doc *doc;
    if (cd_json_parse(&doc, body, NULL) != 0)
        return CD_ECORRUPT;
    const struct number n[] = {{"epoch", log_epoch}};
    int rc = read_numbers(cd_json_root(doc), n, CD_COUNT(n));
    if (rc == 0)
        rc = read_leader(cd_json_root(doc), leader);
    cd_json_free(doc);
    return rc;
}

void log_seal_answer_write(struct cd_buf *to, const struct log_seal_answer *a)
{
    struct cd_json_out j;
    out_begin(&j, to);
    out_number(&j, "end", a->end);
    out_number(&j, "base", a->base);
    out_number(&j, "held_fragment_epoch", a->held);
    out_number(&j, "certified_fragment_epoch", a->certified);
    cd_json_out_end(&j, '}');
}

int log_seal_answer_read(struct log_seal_answer *a, struct cd_str body)
{
    struct cd_json_doc *doc;
    struct log_seal_answer r = {0};
    if (cd_json_parse(&doc, body, NULL) != 0)
        return CD_ECORRUPT;
    const struct number n[] = {{"end", &r.end},
                               {"base", &r.base},
                               {"held_fragment_epoch", &r.held},
                               {"certified_fragment_epoch", &r.certified}};
    int rc = read_numbers(cd_json_root(doc), n, CD_COUNT(n));
    cd_json_free(doc);
    if (rc == 0 && (r.base > r.end || (r.certified != 0 && r.certified != r.held)))
        rc = CD_ECORRUPT;
    if (rc == 0)
        *a = r;
    return rc;
}

void log_tail_ask_write(struct cd_buf *to, struct cd_str leader)
{
    struct cd_json_out j;
    out_begin(&j, to);
    cd_json_out_key(&j, "leader");
    cd_json_out_str(&j, leader);
    out_number(&j, "tail_format", LOG_TAIL_FORMAT);
    cd_json_out_end(&j, '}');
}

int log_tail_ask_read(char *leader, struct cd_str body)
{
    struct cd_json_doc *doc;
    uint64_t format = 0;
    if (cd_json_parse(&doc, body, NULL) != 0)
        return CD_ECORRUPT;
    const struct number n[] = {{"tail_format", &format}};
    int rc = read_numbers(cd_json_root(doc), n, CD_COUNT(n));
    if (rc == 0)
        rc = read_leader(cd_json_root(doc), leader);
    cd_json_free(doc);
    return rc == 0 && format != LOG_TAIL_FORMAT ? CD_EUNSUPPORTED : rc;
}

/* ---- Tail ---- */

void log_tail_write(struct cd_buf *to, const struct log_tail *t)
{
    cd_buf_add(to, TAIL_MAGIC, 4);
    cd_buf_add_u64(to, t->epoch);
    cd_buf_add_u64(to, t->base);
    cd_buf_add_u64(to, t->end);
    cd_buf_add_byte(to, t->complete ? 1 : 0);
    cd_buf_add_u32(to, t->count);
    cd_buf_add_str(to, t->frames);
}

int log_tail_read(struct log_tail *t, struct cd_str session, struct cd_str body, struct cd_buf *why)
{
    if (body.len < TAIL_FIXED || memcmp(body.ptr, TAIL_MAGIC, 4) != 0)
        return log_corrupt(why, "no tail: it does not begin with " TAIL_MAGIC);
    unsigned complete = (unsigned char)body.ptr[28];
    *t = (struct log_tail){.epoch = cd_get_u64(body.ptr + 4),
                           .base = cd_get_u64(body.ptr + 12),
                           .end = cd_get_u64(body.ptr + 20),
                           .complete = complete == 1,
                           .count = cd_get_u32(body.ptr + 29),
                           .frames = cd_str_sub(body, TAIL_FIXED, SIZE_MAX)};
    if (complete > 1 || t->base > t->end)
        return log_corrupt(why, "tail of %llu to %llu, complete %u", (unsigned long long)t->base,
                           (unsigned long long)t->end, complete);
    int rc = frames_check(t->frames, t->count, why);
    struct cd_str rest = t->frames, bytes;
    uint64_t last = t->base;
    while (rc == 0 && log_frame_next(&rest, &bytes)) {
        struct log_batch b;
        rc = log_batch_open(&b, bytes, why);
        if (rc != 0)
            break;
        if (!cd_str_eq(b.session, session) || b.log_epoch != t->epoch || b.batch <= last || b.batch > t->end)
            rc = log_corrupt(why, "tail of log epoch %llu: batch %llu of epoch %llu behind batch %llu",
                             (unsigned long long)t->epoch, (unsigned long long)b.batch,
                             (unsigned long long)b.log_epoch, (unsigned long long)last);
        last = b.batch;
    }
    if (rc == 0 && t->complete && t->count != t->end - t->base)
        rc = log_corrupt(why, "the tail says that it is complete, with %u batches of %llu", t->count,
                         (unsigned long long)(t->end - t->base));
    return rc;
}
