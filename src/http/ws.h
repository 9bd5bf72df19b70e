/* http/ws.h: WebSockets on one loop, both roles. RFC 6455; frames as bytes are in http/ws_frame.h.
 *
 * A socket hands whole messages to its listener and takes messages with back-pressure. A parked one is a
 * struct of less than 512 bytes and a lent read: message buffers and everything for sending exist only while
 * they are needed. The listener may be replaced at any time, so the state behind a socket can come and go
 * (hibernation) while it stays open.
 *
 * Extensions are declined: none is ever named in a handshake. Everything happens on the host's loop. */
#ifndef HTTP_WS_H
#define HTTP_WS_H

#include "http/client.h"
#include "http/server.h"
#include "http/ws_frame.h"
#include "http/ws_handshake.h"

struct http_ws_opts { /* Zeroed members mean the value in brackets. */
    uint64_t message_max; /* [32 MiB] Larger messages close the socket with 1009. */
    uint64_t ping_ns; /* [0: never] Without a byte from the peer for so long it is asked whether it lives. */
    uint64_t pong_timeout_ns; /* [20 s] Then it has so long to say anything. */
    uint64_t close_timeout_ns; /* [10 s] For the rest of a closing handshake. */
    uint64_t write_timeout_ns; /* [30 s] Of one write; HTTP_WRITE_RATE adds to it for large ones. */
    bool no_close_reply; /* Leaves it to the listener to answer a close frame with http_ws_close. */
};

/* What the sockets of one loop share. */
struct http_ws_host;
struct http_ws_host *http_ws_host_new(struct io *io,
                                      const struct http_ws_opts *opts); /* NULL: all defaults. */
struct io *http_ws_host_io(const struct http_ws_host *h);
unsigned http_ws_host_count(const struct http_ws_host *h); /* Sockets that have not ended. */
/* Closes all sockets with code (1012 on restart), cuts those that have not ended after grace_ns. done comes
 * when all have ended and been freed; IO_TIMEDOUT when some were cut. Then free it. Once; no socket may be
 * opened after it. */
void http_ws_host_stop(struct http_ws_host *h, unsigned code, uint64_t grace_ns, struct io_op *op,
                       io_done_fn *done);
void http_ws_host_free(struct http_ws_host *h);

struct http_ws;
struct http_ws_listener {
    /* A whole message: HTTP_WS_TEXT (valid UTF-8) or HTTP_WS_BINARY. bytes are good for the call only.
     * Messages that come after http_ws_close are dropped. */
    void (*message)(void *arg, struct http_ws *ws, enum http_ws_opcode kind, struct cd_str bytes);
    /* The peer's close frame: 1005 without a code. May be NULL. */
    void (*closing)(void *arg, struct http_ws *ws, unsigned code, struct cd_str reason);
    /* The last call. clean: both close frames were exchanged; code and reason are the peer's. Else code is
     * 1006 (lost), or the one that we closed with for what the peer did wrong, and reason says what. Free the
     * socket then or later. */
    void (*ended)(void *arg, struct http_ws *ws, unsigned code, struct cd_str reason, bool clean);
};

/* Nothing is read before the first call. NULL as listener: parks the socket again; what comes waits. Calls
 * nothing back from inside; a socket that has ended meanwhile says so to the new listener at the next turn.
 */
void http_ws_listen(struct http_ws *ws, const struct http_ws_listener *listener, void *arg);
/* Stops and goes on reading, for back-pressure. At most one message may still come after a pause. Not
 * counted. */
void http_ws_pause(struct http_ws *ws);
void http_ws_resume(struct http_ws *ws);

/* Sends one message; bytes stay borrowed until done: IO_OK, it was handed on to the kernel, in the order of
 * the calls; CD_ECLOSED after http_ws_close; else the socket is broken. Text must be UTF-8. Cancelled while
 * it waits for its turn it is not sent. */
struct http_ws_send {
    struct io_op op;
    struct http_ws *ws; /* The socket's from here on. */
    enum http_ws_opcode kind;
    struct cd_str bytes;
    struct cd_buf masked; /* owned */
};
void http_ws_send(struct http_ws *ws, struct http_ws_send *s, enum http_ws_opcode kind, struct cd_str bytes,
                  io_done_fn *done);
/* Bytes of messages that were given to http_ws_send and are not done. */
uint64_t http_ws_unsent(const struct http_ws *ws);

/* Starts the closing handshake behind what was sent before. code 1005: a close frame without a code.
 * CD_EINVAL for a code that may not travel, or a reason longer than HTTP_WS_REASON_MAX or no UTF-8;
 * CD_ECLOSED when it was called before or the socket has ended. */
CD_MUST_USE int http_ws_close(struct http_ws *ws, unsigned code, struct cd_str reason);
/* Cuts the connection: ended comes with 1006 at a later turn. No effect on a socket that has ended. */
void http_ws_abort(struct http_ws *ws);
/* Gives the socket up. Before ended it is cut, and its listener hears nothing more. */
void http_ws_free(struct http_ws *ws);
void http_ws_peer(const struct http_ws *ws, struct io_addr *out);

/* Accepts a request that http_ws_wanted(x->head): answers 101 with the fields, and Sec-WebSocket-Protocol
 * when protocol is not empty. IO_OK: ws is open, parked, and the caller's. A request that cannot be accepted
 * is answered with 400 or 426: CD_EINVAL. Else the connection is gone. x ends with the call in any case. */
struct http_ws_accept {
    struct io_op op;
    struct http_ws *ws; /* Out. */
    struct http_ws_host *host;
    struct http_upgrade upgrade;
};
void http_ws_accept(struct http_ws_accept *a, struct http_ws_host *host, struct http_exchange *x,
                    struct cd_str protocol, const struct http_field *field, size_t field_count,
                    io_done_fn *done);

/* Opens a socket to a server. target, authority, fields as of http_ask; protocols is a comma-separated list,
 * or empty. IO_OK: ws is open, parked, and the caller's; protocol holds what the server chose.
 * CD_EUNSUPPORTED: it answered status instead of switching, and with keeps_answer the call is then the
 * caller's to read and to close; IO_PROTOCOL: its handshake is wrong. Else as http_call_start. */
struct http_ws_connect {
    struct io_op op;
    bool keeps_answer; /* In. */
    struct http_ws *ws; /* Out. */
    int status; /* Out: of the answer, or 0. */
    const char *why; /* Out: for people, after an error. Static text. */
    struct cd_buf protocol; /* Out, owned by the caller. */
    struct http_ws_host *host;
    struct http_call call;
    struct io_op started;
    struct cd_buf protocols;
    char key[32];
};
void http_ws_connect(struct http_ws_connect *c, struct http_ws_host *host, struct http_client *client,
                     const struct io_addr *to, struct cd_str target, struct cd_str authority,
                     const struct http_field *field, size_t field_count, struct cd_str protocols, bool secure,
                     io_done_fn *done);

/* A socket over a stream whose handshake was done elsewhere. The stream becomes the socket's, so do the bytes
 * of rest. */
struct http_ws *http_ws_adopt(struct http_ws_host *host, struct io_stream *stream, struct cd_buf *rest,
                              bool is_client);

#endif
