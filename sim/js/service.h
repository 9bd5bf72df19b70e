/* sim/js/service.h: the server side of the js workload on one loop: src/http's server, and the Worker behind
 * it as src/js serves it. */
#ifndef SIM_JS_SERVICE_H
#define SIM_JS_SERVICE_H

#include "http/server.h"
#include "io_sim/io_sim.h"
#include "sim/ask_truth.h"

struct js_service;
struct js_service_opts {
    const struct http_server_opts *server;
    struct ask_truth *truth;
    /* Told of a broken invariant. */
    void (*broken)(void *arg, const char *invariant, struct cd_str why);
    void *arg;
};

/* Starts V8 if the process has none yet, loads the Worker and listens at port 80. NULL: the loop cannot
 * listen (it is crashing). */
struct js_service *js_service_new(struct io *io, const struct js_service_opts *opts);
/* The node freezes: its JavaScript stops where it is. It may be running. */
void js_service_freeze(struct js_service *s);
/* At the end of the loop's life: cuts what is open, disposes of the isolate; frees itself when all is closed.
 */
void js_service_end(struct js_service *s);

#endif
