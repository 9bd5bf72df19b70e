/* http/client.h: an HTTP/1.1 client on one loop, with a pool of connections per address. RFC 9112.
 *
 * A call is one request and its answer, bodies streamed both ways. Nothing is ever sent twice: whether a
 * failed call may be repeated is for the caller to decide, and fate tells what is known. Operations follow
 * the rules of io.h: done comes exactly once, never from inside the call, and a fiber may await them. */
#ifndef HTTP_CLIENT_H
#define HTTP_CLIENT_H

#include "http/body.h"
#include "http/head.h"
#include "http/parse.h"
#include "io/io.h"

struct http_client_opts { /* Zeroed members mean the value in brackets. */
    struct http_limits limits; /* Of answers. [HTTP_HEAD_MAX, -, HTTP_FIELDS_MAX, no limit] */
    uint64_t connect_timeout_ns; /* [10 s] */
    uint64_t
        head_timeout_ns; /* [120 s] From the start of the call, connecting included, to the answer's head. */
    uint64_t body_timeout_ns; /* [60 s] Without a byte of the answer while somebody waits for it. */
    uint64_t write_timeout_ns; /* [30 s] Of one write; HTTP_WRITE_RATE adds to it for large ones. */
    uint64_t idle_timeout_ns; /* [30 s] How long a connection without a call is kept. */
    unsigned connections_max; /* [64] Per address; further calls wait. */
    unsigned idle_max; /* [8] Kept per address. */
    unsigned waiting_max; /* [1024] Calls that wait, per address; more fail with CD_EFULL. */
};

struct http_client;
/* Never fails. opts NULL: all defaults. */
struct http_client *http_client_new(struct io *io, const struct http_client_opts *opts);
/* Ends all calls (their operations end with IO_CANCELED; they still have to be closed) and all connections.
 * done comes when that is so; then free it. Once. */
void http_client_stop(struct http_client *c, struct io_op *op, io_done_fn *done);
void http_client_free(struct http_client *c);
unsigned http_client_connections(const struct http_client *c); /* Open ones, for tests and metrics. */

/* What is known about a request that was not answered. */
enum http_fate {
    HTTP_UNSENT, /* Certainly not processed: no byte of it was given to a connection. */
    HTTP_MAYBE, /* Some of it was sent, so it may have been processed, or may yet be. */
    HTTP_ANSWERED, /* The head of an answer has come. */
};

struct http_call_state;
struct http_call { /* Zeroed: not started. Not moved until http_call_close. */
    struct http_call_state *state; /* NULL: closed. */
    const struct http_head
        *head; /* The answer's, once start is done with IO_OK; good until http_call_close. */
    enum http_fate fate;
    const char *why; /* For people, after an error. Static text. */
    void *user; /* The caller's. */
};

/* Done when the head of the answer is there: IO_OK, and then http_call_read. Else IO_REFUSED, ... of the
 * connect; IO_RESET the connection ended before the answer; IO_PROTOCOL, IO_TOOBIG a broken or too large
 * head; IO_TIMEDOUT; CD_EINVAL a request that cannot be sent; CD_EFULL. A failed call is to be closed like
 * others. Interim answers (1xx) are skipped; 101 ends the call's HTTP: see http_call_detach. ask is used
 * during the call only. body, copied, goes out with the head and ends the request; else ask->body_len bytes
 * (or HTTP_LEN_CHUNKED) follow by http_call_write, before, while or after the answer comes. */
void http_call_start(struct http_call *call, struct http_client *c, const struct io_addr *to,
                     const struct http_ask *ask, struct cd_str body, struct io_op *op, io_done_fn *done);
/* More of the request's body, as http_answer_write: waits for the connection if need be. IO_RESET when the
 * server has stopped listening; its answer may still come. */
void http_call_write(struct http_call *call, struct io_write *w, bool last, io_done_fn *done);
/* The next bytes of the answer's body, as http_body_read: IO_EOF at its end. IO_PROTOCOL, IO_TOOBIG,
 * IO_RESET, IO_TIMEDOUT, then for ever. */
void http_call_read(struct http_call *call, struct io_read *r, io_done_fn *done);
/* Ends the call, whatever it is doing; call may be started again at once. What is pending ends with
 * IO_CANCELED. The connection is kept when request and answer are complete, else it is cut. */
void http_call_close(struct http_call *call);
/* After an answer of 101: the stream, and what the server has sent behind its head (owned by the caller). The
 * call is closed by this. */
void http_call_detach(struct http_call *call, struct io_stream *stream, struct cd_buf *rest);

#endif
