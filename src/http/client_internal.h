/* http/client_internal.h: the parts of the client. client.c: pool and connections; call.c: what a caller
 * does.
 *
 * A connection serves one call at a time and outlives it; a call's state outlives the caller's struct until
 * nothing of it is in flight. User code is only called with conn.hold > 0 or as the last step of an event;
 * what follows from it happens in http_link_settle. */
#ifndef HTTP_CLIENT_INTERNAL_H
#define HTTP_CLIENT_INTERNAL_H

#include "base/map.h"
#include "http/client.h"
#include "http/deadline.h"

enum { LINK_CONNECT, LINK_IDLE, LINK_BODY, LINK_WRITE, LINK_DEAF, LINK_KINDS };

enum link_state {
    LINK_CONNECTING,
    LINK_FREE, /* Kept for the next call. */
    LINK_BUSY, /* Serves call. */
    LINK_CLOSING,
    LINK_CLOSED,
};

/* A connection to a server. */
struct http_link {
    struct http_client *client;
    struct http_place *place;
    struct http_call_state *call; /* NULL: none, or it was closed. */
    struct io_stream stream;
    struct io_op connect, close, kick;
    struct io_secure secure;
    struct io_read read; /* Lent. */
    struct io_write write;
    struct http_out out;
    struct http_parser parser;
    struct cd_buf stash; /* owned: what nobody wanted yet, from stash_at on. */
    size_t stash_at;
    struct cd_str *in; /* What is being pumped; NULL outside of it. */
    struct http_deadline deadline, write_deadline;
    int deadline_kind; /* LINK_*, or -1. */
    uint64_t write_until_ns;
    enum link_state state;
    unsigned hold;
    bool eof, deaf; /* The server has finished sending; it does not take our bytes any more. */
    bool late; /* The connect took too long. */
    struct cd_link all, idle; /* Of client.links; of place.idle. */
};

/* One address. */
struct http_place {
    struct io_addr addr;
    bool secure;
    char why[200]; /* Why the last connection could not be secured. */
    struct cd_list waiting; /* struct http_call_state */
    struct cd_list idle; /* struct http_link, the newest first. */
    unsigned links, connecting, idles, waiters;
};

struct http_client {
    struct io *io;
    struct http_client_opts opts;
    struct cd_map places; /* "host:port" -> struct http_place *, owned; kept until the end */
    struct cd_list links, calls;
    unsigned link_count, call_count;
    struct http_deadlines deadlines;
    bool stopping, deadlines_stopped, stopped;
    struct io_signal stop;
};

enum call_answer {
    CALL_WAITS, /* For the head. */
    CALL_BODY,
    CALL_END,
    CALL_SWITCHED, /* 101 */
    CALL_BAD, /* status tells. */
};

struct http_call_state {
    struct http_client *client;
    struct http_call *call; /* NULL: closed. */
    struct http_place *place;
    struct http_link *link; /* NULL: waits for one, or has none any more. */
    struct cd_buf text; /* owned: the head of the request, with the body that was given. */
    enum http_framing framing;
    uint64_t body_len;
    bool is_head, upgrade;
    bool asked; /* The request is complete: its last byte is written. */
    bool ending; /* The write in flight is its last. */
    enum call_answer answer;
    int status; /* Of CALL_BAD. */
    unsigned interims;
    struct io_op *starter; /* Each waits in the list beside it: at most one. */
    struct io_write *writer;
    struct io_read *reader;
    struct cd_list starting, writing, reading;
    bool writer_last, writer_sent;
    struct cd_buf lent; /* owned */
    struct io_timer timer; /* To the head of the answer. */
    struct cd_link link_in_place, all;
};

/* ---- client.c ---- */
void http_place_advance(struct http_place *p, struct http_client *c); /* Gives waiting calls what there is. */
struct http_place *http_client_place(struct http_client *c, const struct io_addr *to, bool secure);
void http_link_settle(struct http_link *k); /* Last call of every event; may free k. */
void http_link_kick(struct http_link *k);
void http_link_fail(struct http_link *k, int status, const char *why); /* Frees nothing. */
void http_client_advance(struct http_client *c); /* Something that the stop waits for may have ended. */

/* ---- call.c ---- */
void http_call_begin(struct http_call_state *s, struct http_link *k); /* Sends the head. */
void http_call_fail(struct http_call_state *s, int status, const char *why);
bool http_call_feed(struct http_call_state *s, struct cd_str *in); /* False: it wants nothing now. */
bool http_call_listens(const struct http_call_state *s); /* Whether to read for it. */
void http_call_wrote(struct http_call_state *s, int status); /* The link's write is done. */
bool http_call_reusable(const struct http_call_state *s);
void http_call_release(struct http_call_state *s); /* Frees it when nothing is left. */

#endif
