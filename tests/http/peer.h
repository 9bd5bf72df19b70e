/* tests/http/peer.h: a scripted server on one simulated node, and a client of src/http on another. */
#ifndef TESTS_HTTP_PEER_H
#define TESTS_HTTP_PEER_H

#include "http/client.h"
#include "io_sim/io_sim.h"
#include "support/test.h"

#define PEER_PORT 8000
#define PEER_CONNS_MAX 8

enum peer_step_kind {
    PEER_END, /* Zero: closes after the last step. */
    PEER_READ, /* Reads until what came since the last step ends with text. */
    PEER_TAKE, /* Reads until count bytes have come. */
    PEER_SEND,
    PEER_FLOOD, /* Sends count zero bytes. */
    PEER_SLEEP, /* count milliseconds */
    PEER_FINISH, /* Half-closes. */
    PEER_RESET,
    PEER_HOLD, /* Keeps the connection open until the flow is done. */
};

struct peer_step {
    enum peer_step_kind kind;
    const char *text;
    uint64_t count;
};

struct peer {
    struct sim *sim;
    struct sim_node *server_node, *client_node;
    struct io *sio, *cio;
    const struct peer_step *script[PEER_CONNS_MAX]; /* Of the n-th connection; NULL: none comes. */
    unsigned conns; /* Accepted. */
    struct cd_buf seen[PEER_CONNS_MAX]; /* All that came, by connection. */
    struct http_client_opts opts;
    struct http_client *client;
    struct io_addr addr;
    void (*flow)(struct peer *p);
    bool flow_done, stopping, stopped, no_listener;
};

/* Runs flow in a fiber of the client node, then stops and frees everything; what is left stops the program.
 */
void peer_run(struct peer *p, void (*flow)(struct peer *p));
/* The pieces of it. */
void peer_open(struct peer *p, uint64_t seed);
void peer_flow(struct peer *p, void (*flow)(struct peer *p));
void peer_close(struct peer *p);

/* In the flow. */
int peer_start(struct peer *p, struct http_call *call, const char *method, const char *target,
               uint64_t body_len, const char *body);
/* Appends the answer's body; returns the status that ended it, IO_EOF when all is well. */
int peer_read_all(struct peer *p, struct http_call *call, struct cd_buf *into);
/* A whole call: "status reason|body", or "<error> fate why". */
void peer_call(struct peer *p, const char *method, const char *target, const char *body, const char *want);

#endif
