/* sim/web_call.h: the client side of the http workload through src/http's client, its pool and its deadlines:
 * one call at a time per fiber, many fibers per pool. What web_client.h does on raw streams is what no such
 * client would do. */
#ifndef SIM_WEB_CALL_H
#define SIM_WEB_CALL_H

#include "http/client.h"
#include "sim/web_client.h"

struct web_call {
    struct io *io;
    struct http_client *pool;
    struct web_truth *truth;
    const char *host;
    struct web_request request;
    uint64_t deadline_ns;
    uint64_t abort_at; /* Bytes of the body after which the call is given up; UINT64_MAX: never. */
};

/* Makes the call; its request is then acked, refused or lost in the truth. Returns as web_conn_batch. */
const char *web_call_do(const struct web_call *w, struct cd_buf *why);

#endif
