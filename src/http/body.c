/* http/body.c: what server and client do alike with bodies. */
#include "http/body.h"

#include "io/backend.h"

uint64_t http_parts_size(const struct cd_str *part, unsigned parts)
{
    uint64_t size = 0;
    for (unsigned i = 0; i < parts; i++)
        size += part[i].len;
    return size;
}

int http_out_check(const struct http_out *o, const struct cd_str *part, unsigned parts, bool last)
{
    uint64_t size = http_parts_size(part, parts);
    if (o->framing != HTTP_FRAMING_LENGTH)
        return IO_OK;
    if (size > o->left)
        return CD_ETOOBIG;
    if (last && size < o->left)
        return CD_EINVAL;
    return IO_OK;
}

unsigned http_out_frame(struct http_out *o, const struct cd_str *part, unsigned parts, bool last)
{
    CD_ASSERT(parts <= HTTP_PARTS_MAX);
    uint64_t size = o->framing == HTTP_FRAMING_NONE ? 0 : http_parts_size(part, parts);
    bool chunked = o->framing == HTTP_FRAMING_CHUNKED;
    struct cd_str tail = {NULL, 0};
    if (o->framing == HTTP_FRAMING_LENGTH)
        o->left -= size;
    if (chunked && size > 0) {
        http_chunk_head(&o->text, size);
        tail = last ? CD_STR("\r\n" HTTP_CHUNK_LAST) : CD_STR("\r\n");
    } else if (chunked && last) {
        tail = CD_STR(HTTP_CHUNK_LAST);
    }
    unsigned count = 0;
    if (o->text.len > 0)
        o->part[count++] = cd_buf_str(&o->text);
    for (unsigned i = 0; size > 0 && i < parts; i++) {
        if (part[i].len > 0)
            o->part[count++] = part[i];
    }
    if (tail.len > 0)
        o->part[count++] = tail;
    return count;
}

uint64_t http_write_until_ns(uint64_t now_ns, uint64_t timeout_ns, uint64_t bytes)
{
    return now_ns + timeout_ns + bytes / HTTP_WRITE_RATE * IO_SEC(1);
}

void http_read_prepare(struct io_read *r)
{
    /* impl of an idle op still says what was lent last: that is no buffer of the caller's. */
    if (r->lent && r->buf == r->op.impl)
        r->buf = NULL;
    r->lent = r->buf == NULL;
    r->len = 0;
    CD_ASSERT(r->lent || r->cap > 0);
}

enum http_parsed http_body_take(struct http_parser *p, struct io_read *r, struct cd_str *in,
                                struct cd_str *piece, size_t *got)
{
    *got = 0;
    while (r->lent || *got < r->cap) {
        /* No more goes in than fits out: decoding never makes bytes more. */
        struct cd_str window = r->lent ? *in : cd_str_sub(*in, 0, r->cap - *got);
        size_t fed = window.len;
        enum http_parsed found = http_parse(p, &window, piece);
        *in = cd_str_sub(*in, fed - window.len, SIZE_MAX);
        if (found == HTTP_PARSED_BODY) {
            if (!r->lent)
                memcpy((char *)r->buf + *got, piece->ptr, piece->len);
            *got += piece->len;
            if (http_parser_ended(p))
                return HTTP_PARSED_END; /* Known now: nobody has to wait for input to hear it. */
            if (r->lent)
                return HTTP_PARSED_MORE;
        } else if (found != HTTP_PARSED_MORE) {
            return found;
        } else if (in->len == 0) {
            return HTTP_PARSED_MORE;
        }
    }
    return HTTP_PARSED_MORE;
}

void http_read_complete(struct io_read *r, struct cd_str piece, size_t got, struct cd_buf *lent, int status)
{
    if (r->lent && got > 0 && r->op.done == NULL) {
        cd_buf_clear(lent);
        cd_buf_add_str(lent, piece);
        piece.ptr = lent->ptr;
    }
    if (r->lent)
        r->buf = got > 0 ? (void *)(uintptr_t)piece.ptr : NULL;
    r->len = got;
    r->op.impl = r->buf;
    io_complete(&r->op, status);
}
