/* http/server.h: an HTTP/1.1 server on one loop. operations.md 5.1, 5.5; RFC 9112.
 *
 * A server owns a listener and its connections. For each request whose head is complete it calls the handler
 * with an exchange, on which the handler reads the body and writes the answer. Requests of one connection are
 * handled one after the other, in order.
 *
 * The handler owns the exchange until http_exchange_close (or http_answer_all, http_exchange_upgrade, which
 * end it too): it always has to come, also when the client is gone, and x is not touched after it. Operations
 * follow the rules of io.h: done comes exactly once, never from inside the call, and a fiber may await them.
 * Everything happens on the server's loop; nothing blocks. */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include "http/body.h"
#include "http/head.h"
#include "http/parse.h"
#include "io/io.h"

struct http_server_opts { /* Zeroed members mean the value in brackets. */
    struct http_limits limits; /* [HTTP_HEAD_MAX, HTTP_TARGET_MAX, HTTP_FIELDS_MAX, 1 GiB] */
    uint64_t head_timeout_ns; /* [30 s] From the first byte (or the accept) to the end of the head: 408 or
                                 close. */
    uint64_t idle_timeout_ns; /* [75 s] Between requests. */
    uint64_t body_timeout_ns; /* [30 s] Without a byte of the body while somebody waits for it. */
    uint64_t write_timeout_ns; /* [30 s] Of one write; HTTP_WRITE_RATE adds to it for large ones. */
    size_t window; /* [64 KiB] Unread bytes a connection may hold before its reading stops. */
    unsigned connections_max; /* [65536] More wait in the backlog. */
};

/* What is left of a body that nobody wanted, up to this size, is read away to keep the connection. */
#define HTTP_DRAIN_MAX (256u << 10)

struct http_server;
struct http_exchange {
    struct io *io;
    const struct http_head *head; /* Of the request; good until the exchange is closed. */
    /* The handler's. */
    void *user;
    /* Called at most once, from the loop, when the client is seen to be gone: IO_EOF it has finished sending
     * (closed, or half-closed: then it can still read the answer), else the connection broke. Pending
     * operations end by themselves. Not called for an exchange that was closed. May be NULL. */
    void (*gone)(struct http_exchange *x, int status);
};
typedef void http_handler_fn(void *arg, struct http_exchange *x);

/* IO_* of the listen. The server runs until http_server_stop. flags: IO_LISTEN_SHARED. opts NULL: all
 * defaults. */
CD_MUST_USE int http_server_open(struct http_server **out, struct io *io, const struct io_addr *at,
                                 unsigned flags, const struct http_server_opts *opts, http_handler_fn *handle,
                                 void *arg);
void http_server_addr(const struct http_server *s, struct io_addr *out); /* The bound one. */
unsigned http_server_connections(const struct http_server *s);
/* From now on each answer says Connection: close, and connections without a request are closed. Accepting
 * goes on, so that the handler can answer 503. */
void http_server_drain(struct http_server *s);
/* io_listener_cover for its listener, which is shared. No effect once it was stopped. */
void http_server_cover(struct http_server *s, unsigned loop);
/* Stops accepting, drains, and waits for the open exchanges: IO_OK. After grace_ns (0: at once) connections
 * are cut and their handlers hear gone: then done comes, with IO_TIMEDOUT, when they have closed their
 * exchanges. op cannot be cancelled. Once. */
void http_server_stop(struct http_server *s, uint64_t grace_ns, struct io_op *op, io_done_fn *done);
void http_server_free(struct http_server *s); /* After the done of http_server_stop. */

/* The client's address. */
void http_exchange_peer(const struct http_exchange *x, struct io_addr *out);

/* The next bytes of the request's body: r as for io_stream_read (buf NULL: lent until done or the fiber's
 * slice returns). IO_EOF: the end. A client that waits with "Expect: 100-continue" is told to go on. Errors,
 * then for ever: IO_TOOBIG past limits.body_max, IO_PROTOCOL bad framing, IO_RESET the client left inside the
 * body, IO_TIMEDOUT. One read at a time. Nothing is read ahead but the window, so a slow handler slows the
 * client. */
void http_body_read(struct http_exchange *x, struct io_read *r, io_done_fn *done);
/* After such an error: the status to answer with (413, 400, 408) and a text for people. 0: there was none. */
int http_body_error(const struct http_exchange *x, const char **why);

/* Begins the answer: its head and the first parts of its body in one write. answer is used during the call
 * only, the parts of w (0..HTTP_PARTS_MAX of them) stay borrowed until done. last: the body is complete with
 * them. On answers without a body (HEAD, 204, 304) parts are ignored. IO_OK: handed on to the kernel; else
 * the connection is broken. CD_EINVAL: such a head cannot be sent, CD_ETOOBIG: more parts than body_len;
 * nothing was sent and the answer has not begun, so another one may be tried. */
void http_answer_start(struct http_exchange *x, const struct http_answer *answer, struct io_write *w,
                       bool last, io_done_fn *done);
/* More of the body; with last, parts may be 0. One write at a time: done is the back-pressure. A body that is
 * longer than announced is CD_ETOOBIG, one that ends early CD_EINVAL: nothing was sent, the exchange can only
 * be closed. */
void http_answer_write(struct http_exchange *x, struct io_write *w, bool last, io_done_fn *done);
/* A whole answer, copied, and the end of the exchange: the short way for small ones. body_len of answer is
 * ignored. CD_EINVAL as above: nothing was sent and x is still open. Not after http_answer_start. */
CD_MUST_USE int http_answer_all(struct http_exchange *x, const struct http_answer *answer,
                                struct cd_str body);
/* The same with one Content-Type and no other field; cannot fail for our own texts. */
void http_answer_text(struct http_exchange *x, int status, const char *content_type, struct cd_str body);

/* Ends the handler's part. After a complete answer the connection goes on. An answer that has begun and is
 * not complete is cut off with a reset, so that no client takes it for complete. Without an answer: a body
 * error is answered with its status, else the connection is closed. Operations still pending end with
 * IO_CANCELED. */
void http_exchange_close(struct http_exchange *x);

/* 101 Switching Protocols; only when head->upgrade. IO_OK: stream is open and the caller's, rest holds what
 * the client has sent already (owned by the caller). Else the connection is gone. x ends with the call in any
 * case; u must not be freed until done. */
struct http_upgrade {
    struct io_op op;
    struct io_stream stream;
    struct cd_buf rest;
};
void http_exchange_upgrade(struct http_exchange *x, struct http_upgrade *u, struct cd_str protocol,
                           const struct http_field *field, size_t field_count, io_done_fn *done);

#endif
