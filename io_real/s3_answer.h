/* io_real/s3_answer.h: what an answer of an S3-compatible store proves (fleet.md 3.3). Pure functions of
 * values.
 *
 * When in doubt a write is IO_UNKNOWN: that costs its owner one read, while a wrong IO_REJECTED reuses a
 * stale token and loses somebody's write. */
#ifndef IO_REAL_S3_ANSWER_H
#define IO_REAL_S3_ANSWER_H

#include "io_real/s3_request.h"

#define S3_WHY_MAX 200

/* How far an exchange came. */
struct s3_answer {
    enum s3_kind kind;
    enum io_put how; /* Of S3_PUT. */
    int transport; /* IO_OK: a complete answer is there; else why not (IO_TIMEDOUT, IO_RESET, IO_REFUSED,
                      ...). */
    const char *transport_why; /* For people. */
    bool sent; /* The request may have reached the store, wholly or in part. */
    bool sent_all; /* Its last byte may have left: the store may act on it. */
    unsigned http; /* 0: no head came. */
    struct cd_str head; /* "Name: value\r\n"... */
    struct cd_str body;
    int64_t wall_ms; /* Now, for a Retry-After that names a date. */
};

struct s3_verdict {
    int status;
    enum io_outcome outcome; /* Reads: DONE or REJECTED. */
    uint64_t retry_after_ns;
    char why[S3_WHY_MAX]; /* Empty when DONE. */
};

/* Success only means that the status line says so: tokens, ranges and listings are read below. */
void s3_judge(const struct s3_answer *a, struct s3_verdict *v);

/* The value of a header, trimmed; its ptr is NULL when absent. The name in any case. */
struct cd_str s3_header(struct cd_str head, const char *name);
/* The store's clock (Date); 0: not told, or in no form that it may have. */
int64_t s3_date_ms(struct cd_str head);
/* Token, size and time of an object from the head of a GET, HEAD or PUT. IO_PROTOCOL with why when the token
 * is missing or too long, or (GET, HEAD) the size is unknown. */
CD_MUST_USE int s3_read_head(struct io_store *s, const struct s3_answer *a);
/* Checks that the body of a GET is exactly bytes from..from+len, cut at the object's end, and says so; sets
 * s->size. IO_PROTOCOL with s->why when not. */
CD_MUST_USE int s3_check_range(struct io_store *s, const struct s3_answer *a, uint64_t from, uint64_t len);

#endif
