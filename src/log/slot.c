#include "log/slot.h"

#include "base/json.h"
#include "log/bytes.h"
#include "store/names.h"

#define TRAILER_SIZE (LOG_SHA256_SIZE + 8u + 4u)
#define MAGIC "CLSL"
#define MAGIC_END "CLSE"
#define VERSION 1u
#define DIRECTORY_ENTRY (8u + 8u + LOG_SHA256_SIZE)

/* ---- Writing ---- */

static void head_write(struct cd_buf *to, struct cd_str session, const struct log_slot_head *h)
{
    CD_ASSERT(store_session_valid(session) && h->slot > 0);
    CD_ASSERT(h->kind == LOG_SLOT_BATCHES ? h->first_batch > 0 && h->first_batch <= h->last_batch
                                          : h->first_batch == h->last_batch + 1);
    cd_buf_add(to, MAGIC, 4);
    cd_buf_add_u16(to, VERSION);
    cd_buf_add_byte(to, (char)h->kind);
    cd_buf_add_byte(to, 0);
    cd_buf_add(to, h->id, LOG_ID_SIZE);
    cd_buf_add_u64(to, h->slot);
    cd_buf_add_u64(to, h->first_batch);
    cd_buf_add_u64(to, h->last_batch);
    cd_buf_add_zero(to, 16); /* Directory offset and length: set by finish. */
    cd_buf_add_u16(to, h->pipeline);
    cd_buf_add_u16(to, (uint16_t)session.len);
    cd_buf_add_zero(to, 4);
    cd_buf_add_str(to, session);
    cd_buf_add_u32(to, 0); /* The CRC too. */
}

/* Appends the directory, or the text of a seal, and the trailer; completes the header. */
static void finish(struct cd_buf *to, size_t start, size_t session_len, struct cd_str directory)
{
    uint64_t at = to->len - start, total = at + directory.len + TRAILER_SIZE;
    size_t before_crc = LOG_SLOT_HEAD_SIZE + session_len;
    char *head = to->ptr + start;
    cd_put_u64(head + 48, at);
    cd_put_u64(head + 56, total);
    cd_put_u32(head + before_crc, cd_crc32c(0, head, before_crc));
    uint8_t digest[LOG_SHA256_SIZE];
    log_sha256(cd_str_of(head, before_crc), directory, digest);
    cd_buf_add_str(to, directory);
    cd_buf_add(to, digest, sizeof digest);
    cd_buf_add_u64(to, total);
    cd_buf_add(to, MAGIC_END, 4);
}

void log_slot_begin(struct log_slot_out *o, struct cd_buf *to, struct cd_str session,
                    const struct log_slot_head *head)
{
    CD_ASSERT(head->kind == LOG_SLOT_BATCHES);
    *o = (struct log_slot_out){.to = to, .start = to->len, .session_len = session.len, .head = *head};
    head_write(to, session, head);
    o->batch_start = to->len;
}

void log_slot_batch(struct log_slot_out *o, const uint8_t digest[LOG_SHA256_SIZE])
{
    cd_buf_add_u64(&o->directory, o->batch_start - o->start);
    cd_buf_add_u64(&o->directory, o->to->len - o->batch_start);
    cd_buf_add(&o->directory, digest, LOG_SHA256_SIZE);
    o->batch_start = o->to->len;
}

void log_slot_end(struct log_slot_out *o)
{
    CD_ASSERT(o->batch_start == o->to->len);
    CD_ASSERT(o->directory.len / DIRECTORY_ENTRY == o->head.last_batch - o->head.first_batch + 1);
    finish(o->to, o->start, o->session_len, cd_buf_str(&o->directory));
    cd_buf_deinit(&o->directory);
}

void log_slot_seal(struct cd_buf *to, struct cd_str session, const struct log_slot_head *head,
                   const struct log_seal_text *text)
{
    CD_ASSERT(head->kind == LOG_SLOT_SEAL && text->claimed_ms >= 0 && text->created_ms >= 0);
    size_t start = to->len;
    struct cd_buf json = {0};
    struct cd_json_out o;
    head_write(to, session, head);
    cd_json_out_init(&o, &json);
    cd_json_out_object(&o);
    cd_json_out_key(&o, "v");
    cd_json_out_u64(&o, 1);
    cd_json_out_key(&o, "session");
    cd_json_out_str(&o, session);
    cd_json_out_key(&o, "recoverer");
    cd_json_out_str(&o, text->recoverer);
    cd_json_out_key(&o, "claimed_ms");
    cd_json_out_i64(&o, text->claimed_ms);
    cd_json_out_key(&o, "created_ms");
    cd_json_out_i64(&o, text->created_ms);
    cd_json_out_end(&o, '}');
    finish(to, start, session.len, cd_buf_str(&json));
    cd_buf_deinit(&json);
}

/* ---- Reading ---- */

int log_slot_head_read(struct log_slot_head *h, struct cd_str bytes, struct cd_buf *why)
{
    const char *p = bytes.ptr;
    if (bytes.len < LOG_SLOT_HEAD_SIZE || memcmp(p, MAGIC, 4) != 0)
        return log_corrupt(why, "no slot: %zu bytes that do not begin with " MAGIC, bytes.len);
    if (cd_get_u16(p + 4) != VERSION)
        return log_corrupt(why, "slot of version %u, known is %u", cd_get_u16(p + 4), VERSION);
    unsigned kind = (unsigned char)p[6];
    if ((kind != LOG_SLOT_BATCHES && kind != LOG_SLOT_SEAL) || p[7] != 0 || cd_get_u32(p + 68) != 0)
        return log_corrupt(why, "slot of kind %u, known are 1 and 2; or its padding is not zero", kind);
    *h = (struct log_slot_head){.kind = (enum log_slot_kind)kind,
                                .slot = cd_get_u64(p + 24),
                                .first_batch = cd_get_u64(p + 32),
                                .last_batch = cd_get_u64(p + 40),
                                .directory_offset = cd_get_u64(p + 48),
                                .total_length = cd_get_u64(p + 56),
                                .pipeline = cd_get_u16(p + 64)};
    memcpy(h->id, p + 8, LOG_ID_SIZE);
    bool fits = h->kind == LOG_SLOT_BATCHES
                    ? h->first_batch > 0 && h->first_batch <= h->last_batch
                    : h->last_batch < UINT64_MAX && h->first_batch == h->last_batch + 1;
    if (h->slot == 0 || h->pipeline == 0 || !fits)
        return log_corrupt(why, "slot %llu of pipeline %u with batches %llu to %llu",
                           (unsigned long long)h->slot, h->pipeline, (unsigned long long)h->first_batch,
                           (unsigned long long)h->last_batch);
    return 0;
}

/* The batches lie one after the other, from the header to the directory. */
static int directory_check(const struct log_slot *s, size_t begin, struct cd_str directory,
                           struct cd_buf *why)
{
    uint64_t at = begin, end = s->head.directory_offset;
    if (directory.len % DIRECTORY_ENTRY != 0 ||
        directory.len / DIRECTORY_ENTRY - 1 != s->head.last_batch - s->head.first_batch)
        return log_corrupt(why, "slot %llu: a directory of %zu bytes for batches %llu to %llu",
                           (unsigned long long)s->head.slot, directory.len,
                           (unsigned long long)s->head.first_batch, (unsigned long long)s->head.last_batch);
    for (const char *p = directory.ptr; p < directory.ptr + directory.len; p += DIRECTORY_ENTRY) {
        uint64_t length = cd_get_u64(p + 8);
        if (cd_get_u64(p) != at || length > end - at)
            return log_corrupt(why, "slot %llu: its directory has a batch of %llu bytes at %llu, want %llu",
                               (unsigned long long)s->head.slot, (unsigned long long)length,
                               (unsigned long long)cd_get_u64(p), (unsigned long long)at);
        at += length;
    }
    if (at != end)
        return log_corrupt(why, "slot %llu: %llu bytes before its directory belong to no batch",
                           (unsigned long long)s->head.slot, (unsigned long long)(end - at));
    return 0;
}

static int seal_read(struct log_slot *s, struct cd_str json, struct cd_buf *why)
{
    struct cd_json_doc *doc = NULL;
    struct cd_str session, recoverer;
    uint64_t v, claimed, created;
    int rc = cd_json_parse(&doc, json, NULL);
    if (rc != 0)
        return log_corrupt(why, "slot %llu: the text of its seal is no JSON",
                           (unsigned long long)s->head.slot);
    const struct cd_json *root = cd_json_root(doc);
    if (cd_json_u64(cd_json_get(root, "v"), &v) != 0 || v != 1 ||
        cd_json_str(cd_json_get(root, "session"), &session) != 0 || !cd_str_eq(session, s->session) ||
        cd_json_str(cd_json_get(root, "recoverer"), &recoverer) != 0 || !store_session_valid(recoverer) ||
        cd_json_u64(cd_json_get(root, "claimed_ms"), &claimed) != 0 ||
        cd_json_u64(cd_json_get(root, "created_ms"), &created) != 0) {
        rc = log_corrupt(why, "slot %llu: the text of its seal is not valid: %.*s",
                         (unsigned long long)s->head.slot, (int)(json.len < 400 ? json.len : 400), json.ptr);
    } else {
        cd_buf_add_str(&s->recoverer, recoverer);
        s->seal.recoverer = cd_buf_str(&s->recoverer);
        s->seal.claimed_ms = (int64_t)claimed;
        s->seal.created_ms = (int64_t)created;
    }
    cd_json_free(doc);
    return rc;
}

int log_slot_open(struct log_slot *s, struct cd_str bytes, struct cd_str session, uint64_t slot,
                  struct cd_buf *why)
{
    *s = (struct log_slot){.bytes = bytes};
    int rc = log_slot_head_read(&s->head, bytes, why);
    if (rc != 0)
        return rc;
    const char *p = bytes.ptr;
    size_t before_crc = (size_t)LOG_SLOT_HEAD_SIZE + cd_get_u16(p + 66), begin = before_crc + 4;
    uint64_t at = s->head.directory_offset, total = s->head.total_length;
    if (begin + TRAILER_SIZE > bytes.len || total != bytes.len || at < begin || at > total - TRAILER_SIZE)
        return log_corrupt(why, "slot %llu: %llu bytes with a directory at %llu; %zu bytes are here",
                           (unsigned long long)s->head.slot, (unsigned long long)total,
                           (unsigned long long)at, bytes.len);
    if (cd_crc32c(0, p, before_crc) != cd_get_u32(p + before_crc))
        return log_corrupt(why, "header of the slot fails its checksum");
    s->session = cd_str_of(p + LOG_SLOT_HEAD_SIZE, before_crc - LOG_SLOT_HEAD_SIZE);
    if (s->head.slot != slot || !cd_str_eq(s->session, session))
        return log_corrupt(why, "slot %llu of session %.*s under the key of slot %llu of %.*s",
                           (unsigned long long)s->head.slot, (int)s->session.len, s->session.ptr,
                           (unsigned long long)slot, (int)session.len, session.ptr);
    const char *end = p + bytes.len - TRAILER_SIZE;
    if (cd_get_u64(end + LOG_SHA256_SIZE) != total || memcmp(end + LOG_SHA256_SIZE + 8, MAGIC_END, 4) != 0)
        return log_corrupt(why, "slot %llu: no trailer at its end", (unsigned long long)slot);
    struct cd_str directory = cd_str_sub(bytes, at, total - TRAILER_SIZE - at);
    uint8_t digest[LOG_SHA256_SIZE];
    log_sha256(cd_str_sub(bytes, 0, before_crc), directory, digest);
    if (memcmp(digest, end, sizeof digest) != 0)
        return log_corrupt(why, "slot %llu fails its checksum", (unsigned long long)slot);
    if (s->head.kind == LOG_SLOT_SEAL)
        return seal_read(s, directory, why);
    return directory_check(s, begin, directory, why);
}

void log_slot_deinit(struct log_slot *s)
{
    cd_buf_deinit(&s->recoverer);
}

size_t log_slot_batches(const struct log_slot *s)
{
    return s->head.kind == LOG_SLOT_SEAL ? 0 : (size_t)(s->head.last_batch - s->head.first_batch + 1);
}

int log_slot_batch_open(const struct log_slot *s, size_t index, struct log_batch *b, struct cd_buf *why)
{
    CD_ASSERT(index < log_slot_batches(s));
    const char *p = s->bytes.ptr + s->head.directory_offset + index * DIRECTORY_ENTRY;
    int rc = log_batch_open(b, cd_str_sub(s->bytes, cd_get_u64(p), cd_get_u64(p + 8)), why);
    if (rc != 0)
        return rc;
    if (b->batch != s->head.first_batch + index || !cd_str_eq(b->session, s->session) ||
        memcmp(b->digest, p + 16, LOG_SHA256_SIZE) != 0)
        return log_corrupt(why, "slot %llu: batch %llu is not the one that its directory names for %llu",
                           (unsigned long long)s->head.slot, (unsigned long long)b->batch,
                           (unsigned long long)(s->head.first_batch + index));
    return 0;
}

/* ---- Keys ---- */

void log_slot_key(struct cd_buf *out, struct cd_str session, uint64_t slot)
{
    cd_buf_addf(out, "log/%.*s/%016llx", (int)session.len, session.ptr, (unsigned long long)slot);
}

void log_apart_key(struct cd_buf *out, struct cd_str session, const uint8_t id[LOG_ID_SIZE])
{
    cd_buf_addf(out, "log/%.*s/rows/", (int)session.len, session.ptr);
    cd_hex_encode(out, cd_str_of(id, LOG_ID_SIZE));
}

bool log_slot_key_parse(struct cd_str key, struct cd_str session, uint64_t *slot)
{
    struct cd_buf want = {0};
    uint64_t n;
    struct cd_str digits = cd_str_sub(key, 4 + session.len + 1, SIZE_MAX);
    bool is = digits.len == 16 && cd_str_hex_u64(digits, &n) == 0 && n > 0;
    if (is) {
        log_slot_key(&want, session, n);
        is = cd_str_eq(cd_buf_str(&want), key); /* Lower case, the right session. */
        if (is)
            *slot = n;
    }
    cd_buf_deinit(&want);
    return is;
}
