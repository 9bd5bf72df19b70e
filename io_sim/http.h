/* io_sim/http.h: one outbound HTTP exchange. http.c has the asking side, http_peer.c scripted peers (messages
 * over a wire), http_wire.c hosts that are nodes (HTTP/1.1 over a stream). */
#ifndef IO_SIM_HTTP_H
#define IO_SIM_HTTP_H

#include "io_sim/net.h"
#include "io_sim/peers.h"

#define SIM_HTTP_KEPT_MAX                                                                                    \
    (128u << 10) /* Body bytes kept for a slow reader before the sender is held back.                        \
                  */

struct sim_http_wire; /* http_wire.c */

struct sim_http {
    struct sim *sim;
    unsigned refs; /* The asking side, the peer, messages under way. */
    struct cd_link all; /* Of sim_peers.exchanges. */
    /* The asking side; loop NULL: gone. */
    struct sim_loop *loop;
    struct io_http *owner;
    struct cd_link link; /* Of sim_loop.https. */
    struct sim_event *start, *read, *write, *close, *late;
    unsigned ops;
    char *lent; /* owned */
    bool announced; /* start was done well. */
    bool over; /* Closed, or never opened: it goes once its ops and its wire have ended. */
    /* The request. */
    struct cd_buf method, host, target, lines; /* lines: "Name: value\r\n"... */
    uint16_t port;
    uint64_t body_len, body_left, connect_ns;
    bool out_ended;
    /* The answer. */
    int status;
    struct cd_buf head, in;
    size_t in_at;
    bool has_head, ended;
    int end_status; /* IO_EOF: complete. */
    /* Where it goes. */
    const struct sim_http_peer *peer; /* A scripted one; else there is a wire until it has ended. */
    bool peer_over; /* The peer does not know x any more. */
    void *user;
    struct cd_list to_peer, to_us; /* struct message.link, in their order */
    uint64_t last_at_ns[2], messages[2]; /* To the peer, to us. */
    uint64_t draw;
    struct sim_node *node; /* Who asks, for the wire. */
    bool asked; /* The peer was told of x. */
    bool hole; /* Answers vanish. */
    bool broken; /* A reset is under way: nothing else is any more. */
    struct sim_http_wire *wire;
};

/* http.c */
void sim_http_hold(struct sim_http *x);
void sim_http_release(struct sim_http *x);
void sim_http_head_is_there(struct sim_http *x, int status, struct cd_str head);
void sim_http_body_is_there(struct sim_http *x, struct cd_str bytes);
void sim_http_end(struct sim_http *x, int status); /* IO_EOF: the answer is complete. */
void sim_http_settle(struct sim_http *x); /* Something ended: maybe all has. x may be gone afterwards. */

/* http_text.c: CD_EINVAL when the request cannot be sent as it is. */
CD_MUST_USE int sim_http_ask_parse(struct sim_http *x, const struct io_http_ask *ask);

/* http_peer.c */
void sim_http_peer_start(struct sim_http *x);
void sim_http_peer_write(struct sim_http *x, struct cd_str bytes, bool last);
void sim_http_peer_leave(struct sim_http *x);

/* http_wire.c */
void sim_http_wire_start(struct sim_http *x);
void sim_http_wire_write(struct sim_http *x, struct cd_str bytes, bool last); /* Settles x->write. */
void sim_http_wire_more(struct sim_http *x); /* The reader took bytes. */
void sim_http_wire_leave(struct sim_http *x);

#endif
