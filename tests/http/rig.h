/* tests/http/rig.h: a server on one simulated node and flows of a client on another. */
#ifndef TESTS_HTTP_RIG_H
#define TESTS_HTTP_RIG_H

#include "http/server.h"
#include "io_sim/io_sim.h"
#include "support/test.h"

#define RIG_PORT 80

struct rig {
    struct sim_opts sim_opts; /* seed comes from rig_open. */
    struct sim_link link; /* Between all nodes; zeroed: 1 ms, no faults. */
    struct sim *sim;
    struct sim_node *server_node, *client_node;
    struct io *sio, *cio; /* The server's loop, the client's. */
    struct http_server *server; /* NULL when the listen failed. */
    struct http_server_opts opts;
    http_handler_fn *handle; /* Its arg is the rig. */
    void *arg; /* The test's. */
    /* Of rig_handle_log. */
    struct cd_buf log;
    unsigned handled, gone;
    /* Of the flow. */
    bool flow_done;
    void (*flow)(struct rig *r);
    struct io_op stop;
    uint64_t grace_ns;
    int stop_status;
    bool stopped;
    void (*also_unwind)(struct io *io, void *arg); /* May be NULL; its arg is the rig. */
    bool unwinds; /* The node may crash: its server ends when the node unwinds. */
};

/* Corpus limits, small timeouts, rig_handle_echo unless the rig says otherwise. */
void rig_open(struct rig *r, uint64_t seed);
/* Runs flow in a fiber of the client until it returns. */
void rig_flow(struct rig *r, void (*flow)(struct rig *r));
/* Stops the server with that grace and frees all; whatever is left stops the program. */
void rig_close(struct rig *r, uint64_t grace_ns);
/* Whole test: open, flow, close. */
void rig_run(void (*flow)(struct rig *r));

/* In the client's flow: stops the server and waits for it; rig_close then only frees. */
void rig_stop(struct rig *r, uint64_t grace_ns);

/* In the client's flow. They return IO statuses. */
int rig_connect(struct rig *r, struct io_stream *s);
int rig_send(struct io_stream *s, struct cd_str bytes);
void rig_hang_up(struct io_stream *s, bool abort);
int rig_finish(struct io_stream *s);
/* Appends what comes until the end of the stream (IO_EOF), an error, or ns without a byte (IO_TIMEDOUT). */
int rig_receive(struct rig *r, struct io_stream *s, struct cd_buf *into, uint64_t quiet_ns);
/* Connects, sends the pieces with a pause between them, receives until the end or 50 ms of silence, hangs up.
 */
int rig_talk(struct rig *r, const struct cd_str *piece, unsigned pieces, struct cd_buf *answer);
/* The same with one piece, and checks the answer but for Date fields, which are left out. */
void rig_expect(struct rig *r, const char *request, const char *answer);
/* Takes the Date fields out of an answer. */
void rig_undate(struct cd_buf *answer);

/* Answers 200 with "METHOD target body" once the body has been read, or what http_exchange_close says to its
 * error. Appends what it sees to r->log. */
void rig_handle_echo(void *arg, struct http_exchange *x);

#endif
