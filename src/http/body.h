/* http/body.h: what server and client do alike with bodies: frame the parts of a write, serve a waiting read.
 */
#ifndef HTTP_BODY_H
#define HTTP_BODY_H

#include "http/head.h"
#include "http/parse.h"
#include "io/io.h"

/* Parts of one write of a caller: the rest of IO_PARTS_MAX is for heads and framing. */
#define HTTP_PARTS_MAX (IO_PARTS_MAX - 2)
/* The slowest reader we wait for, bytes per second. */
#define HTTP_WRITE_RATE (16u << 10)

/* An outgoing body. Zeroed: valid. */
struct http_out {
    enum http_framing framing;
    uint64_t left; /* Of HTTP_FRAMING_LENGTH. */
    struct cd_buf text; /* owned: a head, when there is one, and the framing of the write in flight. */
    struct cd_str part[IO_PARTS_MAX];
};

/* Whether so many more bytes fit what was announced: IO_OK, CD_ETOOBIG, or CD_EINVAL when they end it too
 * early. */
CD_MUST_USE int http_out_check(const struct http_out *o, const struct cd_str *part, unsigned parts,
                               bool last);
/* Puts o->text (a head, or nothing) and the parts with their framing into o->part. Returns how many there
 * are; 0: there is nothing to write. They are good until the text is cleared. */
unsigned http_out_frame(struct http_out *o, const struct cd_str *part, unsigned parts, bool last);
uint64_t http_parts_size(const struct cd_str *part, unsigned parts);
/* By when a write of so many bytes has to be through. */
uint64_t http_write_until_ns(uint64_t now_ns, uint64_t timeout_ns, uint64_t bytes);

/* Before io_begin of a read: notices whether it wants a buffer lent. */
void http_read_prepare(struct io_read *r);
/* Moves body bytes from in to the read: into its buffer, or one piece to be lent. *got: how many. END or BAD
 * as of http_parse, else MORE: the body goes on. */
enum http_parsed http_body_take(struct http_parser *p, struct io_read *r, struct cd_str *in,
                                struct cd_str *piece, size_t *got);
/* Completes the read. lent keeps the bytes for a fiber, which runs later than piece is good. */
void http_read_complete(struct io_read *r, struct cd_str piece, size_t got, struct cd_buf *lent, int status);

#endif
