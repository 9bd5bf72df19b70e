/* sim/web_client.h: one connection of a client of the http workload: requests out, answers in, over a raw
 * stream.
 *
 * It writes requests of all shapes (pipelined, chunked, in pieces, cut off in the middle) and judges answers
 * with the parser of src/http alone, so that it can do what a well-behaved client never would. Everything
 * runs in fibers of the client's loop; every wait has the deadline of its batch. */
#ifndef SIM_WEB_CLIENT_H
#define SIM_WEB_CLIENT_H

#include "http/parse.h"
#include "io/io.h"
#include "sim/web_truth.h"

#define WEB_BATCH_MAX 64

struct web_request { /* How one request is sent. */
    uint64_t id;
    bool chunked, reply_chunked, expect;
};

struct web_conn {
    struct io *io;
    struct io_stream stream;
    struct http_parser parser; /* owned */
    struct cd_buf in; /* owned; read and not used yet */
    struct cd_str rest; /* Of in. */
    bool open;
};

struct web_batch {
    struct web_request request[WEB_BATCH_MAX];
    unsigned count;
    uint64_t deadline_ns;
    uint64_t abort_at; /* After so many bytes the connection is cut; UINT64_MAX: never. */
    bool finish; /* The client half-closes behind the last request. */
};

int web_conn_open(struct web_conn *c, struct io *io, const char *host, uint64_t deadline_ns);
void web_conn_close(struct web_conn *c, bool abort); /* Also frees; no effect when it is not open. */

/* Sends the batch and takes the answers. Each request of it is then acked, refused or lost in the truth.
 * Returns the invariant that is broken, or NULL; why as in web_truth.h. The connection is closed when it
 * cannot be used any more. */
const char *web_conn_batch(struct web_conn *c, struct web_truth *truth, const struct web_batch *b,
                           struct cd_buf *why);

#endif
