/* tests/http/ws_rig.h: a WebSocket server on the rig's server node that notes what it hears and echoes
 * messages. */
#ifndef TESTS_HTTP_WS_RIG_H
#define TESTS_HTTP_WS_RIG_H

#include "http/ws.h"
#include "rig.h"

struct ws_rig {
    struct rig r; /* Its arg is this. */
    struct http_ws_opts opts;
    struct http_ws_host *host;
    struct http_ws *ws; /* The last one that was accepted; NULL after it has ended. */
    struct cd_buf log; /* "text hello\n", "closing 1000 bye\n", "ended 1006 - unclean\n" */
    bool no_echo, no_listen;
    const char *protocol; /* To be chosen; NULL: none. */
    unsigned accepted, refused, ended, sends;
    struct io_op stop;
    uint64_t grace_ns;
    int stop_status;
    bool stopping, stopped;
    void (*flow)(struct ws_rig *w);
    void *arg;
};

void ws_rig_run(struct ws_rig *w, void (*flow)(struct ws_rig *w)); /* Open, flow, close. */
void ws_rig_open(struct ws_rig *w, uint64_t seed);
void ws_rig_flow(struct ws_rig *w, void (*flow)(struct ws_rig *w));
void ws_rig_close(struct ws_rig *w);
/* In the flow: stops the host and waits. */
void ws_rig_stop(struct ws_rig *w, uint64_t grace_ns);
/* In the flow: runs fn on the server's loop and waits until it has run. */
void ws_rig_do(struct ws_rig *w, void (*fn)(struct ws_rig *w));
void ws_rig_log_is(struct ws_rig *w, const char *want);
extern const struct http_ws_listener ws_rig_listener; /* arg: the rig. */

/* A raw client: connects and shakes hands. */
void ws_raw_open(struct ws_rig *w, struct io_stream *s);
/* Appends a frame; masked as of a client. */
void ws_raw_frame(struct cd_buf *out, bool fin, unsigned opcode, const void *payload, size_t len);
/* Sends bytes, receives until quiet or the end; the status that ended it. */
int ws_raw_talk(struct ws_rig *w, struct io_stream *s, struct cd_str bytes, struct cd_buf *got);
/* Frames of the server as text: "text hello|pong x|close 1000 bye|". Fails on malformed ones. */
void ws_raw_text(struct cd_buf *out, struct cd_str frames);

#endif
