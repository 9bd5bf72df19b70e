/* http/ws_internal.h: the parts of a WebSocket. ws.c: life and end; ws_in.c: frames that come; ws_out.c:
 * frames that go.
 *
 * The listener is only called with ws.hold > 0; what follows from that happens in http_ws_settle. */
#ifndef HTTP_WS_INTERNAL_H
#define HTTP_WS_INTERNAL_H

#include "http/deadline.h"
#include "http/ws.h"

enum { WS_DEADLINE_PING, WS_DEADLINE_PONG, WS_DEADLINE_CLOSE, WS_DEADLINE_WRITE, WS_DEADLINE_COUNT };

#define WS_BATCH_MAX                                                                                         \
    6 /* Messages of one write: a head and a payload each, and our own frames before and behind. */

/* What is needed only while something is to be sent, or while the stream is being closed. */
struct http_ws_out {
    struct http_ws *ws;
    struct cd_list queue; /* struct http_ws_send, waiting. */
    struct cd_list flight; /* struct http_ws_send, in the write. */
    struct cd_buf control; /* owned: pings and pongs that wait. */
    struct cd_buf sending; /* owned: those in the write, and its close frame. */
    struct cd_buf last; /* owned: the close frame that waits. */
    struct io_write write;
    struct cd_str part[IO_PARTS_MAX];
    unsigned char head[WS_BATCH_MAX][HTTP_WS_HEAD_MAX];
    struct http_deadline deadline;
    uint64_t until_ns;
    struct io_op close, kick;
};

struct http_ws {
    struct http_ws_host *host;
    struct io_stream stream;
    struct io_read read; /* Lent. */
    struct cd_link link; /* Of host.sockets. */
    struct http_deadline deadline;
    const struct http_ws_listener *listener; /* NULL: parked. */
    void *arg;
    struct http_ws_out *out; /* owned; NULL: nothing to send. */
    struct cd_buf stash; /* owned: input that waits: the start of a frame, or all while paused. */
    struct cd_buf message; /* owned: the message so far. */
    struct cd_buf reason; /* owned: of the end. */
    uint64_t unsent;
    uint64_t frame_left, frame_at; /* Of the payload of the current data frame. */
    unsigned char mask[4];
    struct http_utf8 utf8;
    uint16_t code; /* Of the end, as far as known: 0 is not. */
    uint8_t hold;
    uint8_t message_kind; /* HTTP_WS_TEXT, HTTP_WS_BINARY; 0: no message has begun. */
    int8_t deadline_kind; /* WS_DEADLINE_*, or -1. */
    bool is_client, in_frame, frame_fin;
    bool paused, eof, freed;
    bool close_asked; /* http_ws_close, or our own: no message is taken any more. */
    bool close_sent, close_got;
    bool failed; /* The peer broke the protocol: what it still says is not read. */
    bool closing; /* The stream is being closed. */
    bool ended, told;
};
CD_STATIC_ASSERT(sizeof(struct http_ws) <= 512, "a parked socket is small");

struct http_ws_host {
    struct io *io;
    struct http_ws_opts opts;
    struct cd_list sockets;
    unsigned count, alive;
    struct cd_buf
        scratch; /* owned: a message that came in one read, unmasked; for the listener's call only. */
    struct http_ws_out *spare; /* owned: the last one that was not needed any more. */
    struct http_deadlines deadlines;
    bool stopping, cut, deadlines_stopped, stopped;
    struct io_timer grace;
    struct io_signal stop;
};

/* ---- ws.c ---- */
void http_ws_settle(struct http_ws *ws); /* Last call of every event; may free ws. */
void http_ws_fail(struct http_ws *ws, unsigned code, const char *why); /* Closes with code. 1006: cuts it. */
void http_ws_cut(struct http_ws *ws, bool abort); /* Closes the stream. */

/* ---- ws_in.c ---- */
void http_ws_input(struct http_ws *ws, struct cd_str bytes);

/* ---- ws_out.c ---- */
struct http_ws_out *http_ws_out(struct http_ws *ws); /* Made when it is not there. */
void http_ws_out_pump(struct http_ws *ws);
void http_ws_out_end(struct http_ws *ws, int status); /* Ends all that waits, at later turns. */
bool http_ws_out_idle(const struct http_ws_out *out);
void http_ws_control(struct http_ws *ws, enum http_ws_opcode opcode, struct cd_str payload);
void http_ws_out_free(struct http_ws *ws);

#endif
