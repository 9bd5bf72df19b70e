/* http/server_internal.h: the parts of the server. server.c: listener and drain; conn.c: a connection's
 * states and its input; exchange.c: what the handler calls.
 *
 * User code (handlers, done, gone) is only called with conn.hold > 0 or as the last step of an event, so it
 * may call anything back; what follows from that happens in http_conn_settle. */
#ifndef HTTP_SERVER_INTERNAL_H
#define HTTP_SERVER_INTERNAL_H

#include "http/body.h"
#include "http/deadline.h"
#include "http/server.h"

#define SERVER_SPARE_MAX 64 /* Exchanges kept for reuse. */
#define SERVER_KEEP_BYTES (16u << 10) /* Larger buffers are not kept with them, */
#define SERVER_KEEP_FIELDS 128 /* nor room for more fields. */
#define SERVER_DATE_LEN 29

enum { DEADLINE_HEAD, DEADLINE_IDLE, DEADLINE_BODY, DEADLINE_WRITE, DEADLINE_COUNT };

enum conn_state {
    CONN_IDLE, /* No byte of a request yet. */
    CONN_HEAD, /* x collects a head. */
    CONN_BUSY, /* x is the handler's, or answers an error, or reads away a body. */
    CONN_CLOSING, /* The stream is being closed. */
    CONN_CLOSED, /* It is; x may still be the handler's. */
};

struct conn {
    struct http_server *server;
    struct io_stream stream;
    struct io_read read; /* Lent: an idle connection has no buffer. */
    struct io_op close;
    struct cd_link link; /* Of server.conns. */
    struct http_deadline deadline; /* Of what the client should send. */
    struct exchange *x; /* NULL while idle. */
    struct cd_buf stash; /* owned: bytes that nobody wanted yet, from stash_at on. */
    size_t stash_at;
    enum conn_state state;
    int deadline_kind; /* DEADLINE_*, or -1: not set. */
    unsigned hold; /* Callbacks we are inside of. */
    bool eof; /* The client has finished sending. */
    bool fresh; /* No request yet: then the head's timeout runs from the accept. */
};
CD_STATIC_ASSERT(sizeof(struct conn) <= 1024, "an idle connection is small");

enum body_state {
    BODY_OPEN,
    BODY_DONE,
    BODY_BAD, /* body_status tells. */
};
enum answer_state {
    ANSWER_NONE,
    ANSWER_OPEN, /* The head is written, parts may follow. */
    ANSWER_LAST, /* The last write is in flight. */
    ANSWER_DONE, /* It has all been handed on. */
    ANSWER_BROKEN, /* Never will be. */
};

struct exchange {
    struct http_exchange pub; /* First. */
    struct conn *conn;
    struct http_parser parser;
    /* The body. */
    enum body_state body;
    int body_status; /* IO_TOOBIG, IO_PROTOCOL, IO_RESET, IO_TIMEDOUT */
    struct io_read *reader; /* Waits, in reading. */
    struct cd_list reading, writing; /* At most one op each (io_op.link). */
    struct cd_buf lent; /* owned: what a fiber has been lent. */
    uint64_t drained; /* Bytes read away. */
    /* The answer. */
    enum answer_state answer;
    struct http_out out;
    struct io_write write, interim;
    struct io_write *writer; /* The handler's, of the write in flight. */
    struct http_deadline write_deadline;
    uint64_t write_until_ns;
    struct http_upgrade *upgrade; /* Waits, in writing. */
    struct io_op kick; /* Runs http_conn_pump at the loop's next turn. */
    bool keep_alive; /* What the answer's head said, or will. */
    bool continue_wanted; /* The client waits for 100 Continue. */
    bool closed; /* By the handler. */
    bool gone_told, draining;
    struct cd_link link; /* Of server.spare. */
};

struct http_server {
    struct io *io;
    struct http_server_opts opts;
    http_handler_fn *handle;
    void *arg;
    struct io_listener listener;
    struct io_op accept, listener_close;
    struct conn *accepting; /* owned: the next connection. */
    struct io_timer backoff; /* After a failed accept. */
    uint64_t backoff_ns; /* 0: the last accept was fine. */
    struct cd_list conns;
    unsigned count; /* Of connections, detached ones not. */
    struct cd_list spare; /* struct exchange */
    unsigned spares;
    struct http_deadlines deadlines;
    bool draining, stopping, forced, deadlines_stopped, stopped;
    struct io_timer grace;
    struct io_op *stop; /* Who waits for the end. */
    int64_t date_s;
    struct cd_buf date; /* owned: "Wed, 19 Aug ..." of date_s. */
};

static inline struct exchange *exchange_of(struct http_exchange *x)
{
    return CD_CONTAINER(x, struct exchange, pub);
}

/* ---- server.c ---- */
struct cd_str http_server_date(struct http_server *s);
struct exchange *http_server_exchange_get(struct http_server *s, struct conn *c);
void http_server_exchange_put(struct http_server *s, struct exchange *x);
void http_server_conn_gone(struct conn *c); /* Frees it; may end the server. */

/* ---- conn.c ---- */
void http_conn_start(struct conn *c); /* Its stream is open. */
/* Whatever has become possible: the next request, reading on, closing, freeing. Last call of every event; may
 * free c. */
void http_conn_settle(struct conn *c);
void http_conn_pump(struct conn *c, struct cd_str lent); /* Input for whoever waits, then http_conn_settle. */
void http_conn_kick(struct conn *c); /* http_conn_pump at the loop's next turn. c->x != NULL. */
/* The connection is over: closes it, tells the handler. status goes to what is pending. Idempotent. Frees
 * nothing. */
void http_conn_fail(struct conn *c, int status);
void http_conn_drain(struct conn *c); /* Closes it when no request is under way. */
void http_conn_expired(struct http_deadlines *d, struct http_deadline *which, unsigned kind);

/* ---- exchange.c ---- */
void http_exchange_refuse(struct exchange *x, int status,
                          const char *why); /* An error answer that ends the connection. */
void http_exchange_body_fail(struct exchange *x, int status);
bool http_exchange_serve(struct exchange *x,
                         struct cd_str *in); /* Body bytes for the waiting reader. False: none. */
void http_exchange_broken(struct exchange *x, int status); /* Ends what is pending and tells the handler. */
void http_exchange_tell_gone(struct exchange *x, int status); /* Once. */
bool http_exchange_over(const struct exchange *x); /* Both sides are done with it. */
bool http_exchange_detachable(const struct exchange *x);
void http_exchange_write_expired(struct exchange *x);

#endif
