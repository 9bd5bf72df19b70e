/* sim/web_service.h: the server side of the http workload: src/http's server with a handler that checks,
 * executes and answers what http_client.h sends. One per shard loop. */
#ifndef SIM_WEB_SERVICE_H
#define SIM_WEB_SERVICE_H

#include "http/server.h"
#include "sim/web_truth.h"

struct web_service;
struct web_service_opts {
    const struct http_server_opts *server;
    struct web_truth *truth;
    /* Told of a broken invariant. */
    void (*broken)(void *arg, const char *invariant, struct cd_str why);
    void *arg;
};

/* NULL: the loop cannot listen (it is crashing). */
struct web_service *web_service_new(struct io *io, const struct web_service_opts *opts);
/* At the end of the loop's life: cuts what is open; frees itself when all is closed. */
void web_service_end(struct web_service *s);

#endif
