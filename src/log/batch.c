#include "log/batch.h"

#include "log/bytes.h"
#include "store/names.h"

#define HEAD_SIZE 64u
#define TRAILER_SIZE (LOG_SHA256_SIZE + 8u + 4u)
#define MAGIC "CLBT"
#define MAGIC_END "CLBE"
#define VERSION 1u
#define ENTRY_FIXED (2u + 3u * 8u + 2u + 4u * 8u) /* Without the cell's name and what kind 2 adds. */
#define ENTRY_MAX (ENTRY_FIXED + STORE_SCOPE_MAX + LOG_ID_SIZE + LOG_SHA256_SIZE)

/* ---- Writing ---- */

void log_batch_begin(struct log_batch_out *o, struct cd_buf *to, struct cd_str session, uint64_t batch,
                     uint64_t log_epoch, uint64_t first_batch)
{
    CD_ASSERT(store_session_valid(session) && batch > 0);
    CD_ASSERT((log_epoch == 0) == (first_batch == 0));
    *o = (struct log_batch_out){.to = to, .start = to->len};
    cd_buf_add(to, MAGIC, 4);
    cd_buf_add_u16(to, VERSION);
    cd_buf_add_u16(to, (uint16_t)session.len);
    cd_buf_add_u64(to, batch);
    cd_buf_add_u64(to, log_epoch);
    cd_buf_add_u64(to, first_batch);
    cd_buf_add_zero(to, HEAD_SIZE - 32); /* Table offset, length, row count: set by end. */
    cd_buf_add_str(to, session);
    cd_buf_add_u32(to, 0); /* The CRC too. */
}

void log_batch_add(struct log_batch_out *o, struct log_row *row)
{
    struct cd_buf *t = &o->table;
    struct cd_str scope = cd_str(row->scope);
    bool apart = row->kind == LOG_ROW_APART;
    CD_ASSERT(store_scope_valid(scope) && row->alarm.due_ms >= 0);
    CD_ASSERT(row->kind != LOG_ROW_NOTE || (row->ltx.len == 0 && row->min_txid == 0 && row->max_txid == 0));
    row->offset = 0;
    if (!apart)
        row->length = row->ltx.len;
    uint64_t at = 0;
    if (row->kind == LOG_ROW_BYTES) {
        row->offset = o->to->len;
        at = o->to->len - o->start;
        cd_buf_add_str(o->to, cd_buf_str(&row->ltx));
    }
    cd_buf_add_u16(t, (uint16_t)scope.len);
    cd_buf_add_str(t, scope);
    cd_buf_add_u64(t, row->epoch);
    cd_buf_add_u64(t, row->min_txid);
    cd_buf_add_u64(t, row->max_txid);
    cd_buf_add_byte(t, (char)row->kind);
    cd_buf_add_byte(t, row->alarm.armed ? 1 : 0);
    cd_buf_add_u64(t, row->alarm.armed ? (uint64_t)row->alarm.due_ms : 0);
    cd_buf_add_u64(t, row->alarm.inst_seq);
    cd_buf_add_u64(t, at);
    cd_buf_add_u64(t, row->length);
    if (apart) {
        cd_buf_add(t, row->id, sizeof row->id);
        cd_buf_add(t, row->sha256, sizeof row->sha256);
    }
    o->rows++;
}

void log_batch_end(struct log_batch_out *o, uint8_t digest[LOG_SHA256_SIZE])
{
    struct cd_buf *to = o->to;
    uint64_t table = to->len - o->start;
    cd_buf_add_str(to, cd_buf_str(&o->table));
    cd_buf_deinit(&o->table);
    uint64_t total = to->len - o->start + TRAILER_SIZE;
    CD_ASSERT(o->rows > 0 && total <= LOG_BATCH_BYTES_MAX);
    char *head = to->ptr + o->start;
    cd_put_u64(head + 32, table);
    cd_put_u64(head + 40, total);
    cd_put_u32(head + 48, o->rows);
    size_t before_crc = HEAD_SIZE + cd_get_u16(head + 6);
    cd_put_u32(head + before_crc, cd_crc32c(0, head, before_crc));
    log_sha256(cd_str_of(head, to->len - o->start), (struct cd_str){0}, digest);
    cd_buf_add(to, digest, LOG_SHA256_SIZE);
    cd_buf_add_u64(to, total);
    cd_buf_add(to, MAGIC_END, 4);
}

size_t log_batch_overhead(size_t rows)
{
    return HEAD_SIZE + STORE_SESSION_MAX + 4 + TRAILER_SIZE + rows * ENTRY_MAX;
}

/* ---- Reading ---- */

/* The entry at the front of rest, as far as its own bytes tell. */
static int entry_read(struct cd_str *rest, struct log_entry *e, uint64_t *offset, struct cd_buf *why)
{
    *e = (struct log_entry){0};
    size_t name = rest->len < 2 ? 0 : cd_get_u16(rest->ptr);
    if (rest->len < ENTRY_FIXED + name)
        return log_corrupt(why, "row table ends inside an entry");
    const char *p = rest->ptr + 2;
    e->cell = cd_str_of(p, name);
    if (!store_scope_valid(e->cell))
        return log_corrupt(why, "row table: a cell's name of %zu bytes is not valid", name);
    p += name;
    e->epoch = cd_get_u64(p);
    e->min_txid = cd_get_u64(p + 8);
    e->max_txid = cd_get_u64(p + 16);
    unsigned kind = (unsigned char)p[24], armed = (unsigned char)p[25];
    uint64_t due = cd_get_u64(p + 26);
    e->alarm.inst_seq = cd_get_u64(p + 34);
    *offset = cd_get_u64(p + 42);
    e->length = cd_get_u64(p + 50);
    p += 58;
    if (kind < LOG_ROW_BYTES || kind > LOG_ROW_NOTE)
        return log_corrupt(why, "row table: row of kind %u, known are 1 to 3", kind);
    if (armed > 1 || due > INT64_MAX || (armed == 0 && due != 0))
        return log_corrupt(why, "row table: alarm state %u due %llu", armed, (unsigned long long)due);
    e->kind = (enum log_row_kind)kind;
    e->alarm.armed = armed == 1;
    e->alarm.due_ms = (int64_t)due;
    size_t len = ENTRY_FIXED + name;
    if (e->kind == LOG_ROW_APART) {
        if (rest->len < len + LOG_ID_SIZE + LOG_SHA256_SIZE)
            return log_corrupt(why, "row table ends inside an entry");
        memcpy(e->id, p, LOG_ID_SIZE);
        memcpy(e->sha256, p + LOG_ID_SIZE, LOG_SHA256_SIZE);
        len += LOG_ID_SIZE + LOG_SHA256_SIZE;
    }
    *rest = cd_str_sub(*rest, len, SIZE_MAX);
    return 0;
}

/* Walks the table: the segments lie one after the other, from the header to the table. */
static int table_check(const struct log_batch *b, uint64_t at, uint64_t end, struct cd_buf *why)
{
    struct cd_str rest = b->table;
    for (uint32_t i = 0; i < b->rows; i++) {
        struct log_entry e;
        uint64_t offset;
        int rc = entry_read(&rest, &e, &offset, why);
        if (rc != 0)
            return rc;
        bool note = e.kind == LOG_ROW_NOTE;
        if (note ? e.min_txid != 0 || e.max_txid != 0 || e.length != 0
                 : e.min_txid == 0 || e.min_txid > e.max_txid || e.length == 0)
            return log_corrupt(why, "row %u: txids %llu to %llu in %llu bytes", i,
                               (unsigned long long)e.min_txid, (unsigned long long)e.max_txid,
                               (unsigned long long)e.length);
        if (offset != (e.kind == LOG_ROW_BYTES ? at : 0))
            return log_corrupt(why, "row %u: at offset %llu, want %llu", i, (unsigned long long)offset,
                               (unsigned long long)(e.kind == LOG_ROW_BYTES ? at : 0));
        if (e.kind == LOG_ROW_BYTES) {
            if (e.length > end - at)
                return log_corrupt(why, "row %u: %llu bytes, %llu are there", i, (unsigned long long)e.length,
                                   (unsigned long long)(end - at));
            at += e.length;
        }
    }
    if (rest.len != 0 || at != end)
        return log_corrupt(why, "%zu bytes behind the row table, %llu before it", rest.len,
                           (unsigned long long)(end - at));
    return 0;
}

int log_batch_open(struct log_batch *b, struct cd_str bytes, struct cd_buf *why)
{
    if (bytes.len < HEAD_SIZE + 4 + TRAILER_SIZE || bytes.len > LOG_BATCH_BYTES_MAX)
        return log_corrupt(why, "batch of %zu bytes", bytes.len);
    const char *p = bytes.ptr;
    if (memcmp(p, MAGIC, 4) != 0)
        return log_corrupt(why, "no batch: it does not begin with " MAGIC);
    if (cd_get_u16(p + 4) != VERSION)
        return log_corrupt(why, "batch of version %u, known is %u", cd_get_u16(p + 4), VERSION);
    size_t session = cd_get_u16(p + 6), begin = HEAD_SIZE + session + 4;
    if (begin + TRAILER_SIZE > bytes.len)
        return log_corrupt(why, "batch of %zu bytes ends inside its header", bytes.len);
    if (cd_crc32c(0, p, begin - 4) != cd_get_u32(p + begin - 4))
        return log_corrupt(why, "header of the batch fails its checksum");
    *b = (struct log_batch){.session = cd_str_of(p + HEAD_SIZE, session),
                            .batch = cd_get_u64(p + 8),
                            .log_epoch = cd_get_u64(p + 16),
                            .first_batch = cd_get_u64(p + 24),
                            .rows = cd_get_u32(p + 48),
                            .bytes = bytes};
    uint64_t table = cd_get_u64(p + 32), total = cd_get_u64(p + 40);
    static const char zero[12];
    if (!store_session_valid(b->session) || b->batch == 0 || memcmp(p + 52, zero, sizeof zero) != 0)
        return log_corrupt(why, "header of the batch: session, number or padding is not valid");
    if ((b->log_epoch == 0) != (b->first_batch == 0) || b->first_batch > b->batch)
        return log_corrupt(why, "batch %llu: log epoch %llu with first batch %llu",
                           (unsigned long long)b->batch, (unsigned long long)b->log_epoch,
                           (unsigned long long)b->first_batch);
    if (total != bytes.len || table < begin || table > total - TRAILER_SIZE || b->rows == 0)
        return log_corrupt(why, "batch %llu: %llu bytes with a table of %u rows at %llu; %zu bytes are here",
                           (unsigned long long)b->batch, (unsigned long long)total, b->rows,
                           (unsigned long long)table, bytes.len);
    const char *end = p + bytes.len - TRAILER_SIZE;
    if (cd_get_u64(end + LOG_SHA256_SIZE) != total || memcmp(end + LOG_SHA256_SIZE + 8, MAGIC_END, 4) != 0)
        return log_corrupt(why, "batch %llu: no trailer at its end", (unsigned long long)b->batch);
    log_sha256(cd_str_sub(bytes, 0, bytes.len - TRAILER_SIZE), (struct cd_str){0}, b->digest);
    if (memcmp(b->digest, end, LOG_SHA256_SIZE) != 0)
        return log_corrupt(why, "batch %llu fails its checksum", (unsigned long long)b->batch);
    b->table = cd_str_sub(bytes, table, total - TRAILER_SIZE - table);
    return table_check(b, begin, table, why);
}

bool log_batch_next(const struct log_batch *b, struct cd_str *rest, struct log_entry *e)
{
    uint64_t offset;
    if (rest->len == 0)
        return false;
    CD_ASSERT(entry_read(rest, e, &offset, NULL) == 0); /* log_batch_open went through all of them. */
    if (e->kind == LOG_ROW_BYTES)
        e->ltx = cd_str_sub(b->bytes, offset, e->length);
    return true;
}
