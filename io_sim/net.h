/* io_sim/net.h: connections, shared by link.c (wires between nodes), pipe.c (bytes) and net.c (listen,
 * connect, close).
 *
 * A connection has two ends, each with a pipe towards the other. Bytes of a write enter the pipe as far as
 * its window has room and fly as one event of the wire; what the event tells is a position, so no order of
 * events reorders bytes. */
#ifndef IO_SIM_NET_H
#define IO_SIM_NET_H

#include "io_sim/kernel.h"

#define SIM_GIVE_UP_NS IO_SEC(15)
#define SIM_WINDOW_BYTES 65536u
#define SIM_BACKLOG_MAX 128u

/* One direction between two nodes. */
struct sim_wire {
    struct sim_node *from, *to;
    uint64_t id; /* Hash of both names, for draws. */
    bool set; /* own is a setting for exactly this wire. */
    struct sim_link own, link; /* link: the one that applies, while version is the network's. */
    uint64_t version;
    bool cut;
    uint64_t clogged_until_ns;
    uint64_t busy_until_ns; /* Bandwidth: the last byte on its way leaves then. */
    struct cd_list waiting; /* Events held by a cut or a clog (sim_event.link). */
};

struct sim_conn;

struct sim_pipe { /* Bytes from one end to the other. Positions count from the start of the stream. */
    struct cd_buf data; /* The bytes consumed..sent, from head on. */
    size_t head;
    uint64_t sent, arrived, consumed;
    uint64_t hole_from; /* Bytes from here on vanish; UINT64_MAX: none. */
    uint64_t fin_at; /* Position of the end of the stream; UINT64_MAX: not sent. */
    bool fin_arrived;
    bool half_open; /* hole_from was drawn with the connection: resets vanish too. */
    bool slow;
    bool giving_up; /* An event will look whether something is still undelivered. */
    uint64_t last_at_ns; /* Arrival of the newest flight: the next one is not earlier. */
    uint64_t writes, reads; /* Ordinals of draws. */
};

struct sim_end {
    struct sim_conn *conn;
    unsigned side; /* conn->end[side] is this one. */
    struct sim_node *node;
    unsigned life; /* Of the node, when it was made. */
    struct sim_loop *loop; /* Whose program has it; NULL: not yet accepted, or closed. */
    struct io_stream *stream;
    struct cd_link link; /* Of sim_loop.streams, or of a listener's backlog. */
    struct sim_pipe out;
    struct sim_event *read, *close; /* Pending ops. */
    struct cd_list writes; /* Pending: not all bytes in the pipe yet (sim_event.link). Finish ops too. */
    struct cd_list written; /* All in, done will come (sim_event.link). */
    unsigned ops; /* Whose done has not come, but for close. */
    int broken; /* The status of everything from now on, after unread bytes. */
    bool finished; /* No more writes. */
    bool shut; /* The program closed it, or died: what arrives is answered by a reset. */
    bool silent; /* The machine is gone: nothing is answered. */
    uint16_t port;
    char *lent; /* owned: the bytes of the last read without a buffer */
    char peer[64];
};

struct sim_conn {
    struct sim_end end[2]; /* 0: who connected. */
    uint64_t id; /* Hash, for draws: (seed, node, its n-th connect). */
    unsigned refs; /* Ends held by programs or backlogs, events on the wire, the connect op. */
    struct sim_event *connecting;
    struct io_stream *into;
    bool loopback, pipe;
    struct cd_link link; /* Of sim_net.conns. */
};

struct sim_port {
    struct cd_list listeners; /* sim_listener.same */
    unsigned count;
    bool shared;
};

struct sim_listener {
    struct sim_loop *loop;
    struct io_addr addr;
    bool loopback_only, outside_only;
    bool dead; /* Of a frozen node: not in the port table any more. */
    struct sim_port *port;
    struct cd_link same, link; /* Of sim_port.listeners, sim_loop.listeners. */
    struct cd_list backlog; /* sim_end.link */
    unsigned waiting;
    struct sim_event *accept, *close;
    struct io_stream *into;
    struct io_listener *handle;
};

struct sim_net {
    struct cd_map wires; /* from id << 32 | to id -> struct sim_wire * */
    struct cd_map rules; /* The same key with ANY for either: struct sim_link *, owned */
    uint64_t version;
    struct cd_map ports; /* node id << 16 | port -> struct sim_port * */
    struct cd_list conns;
};

struct sim_net *sim_net(struct sim *sim); /* Made on first use. */

/* link.c */
struct sim_wire *sim_wire(struct sim *sim, struct sim_node *from, struct sim_node *to);
const struct sim_link *sim_wire_link(struct sim *sim, struct sim_wire *w);
bool sim_wire_held(const struct sim_wire *w); /* Cut or clogged now. */
uint64_t sim_give_up_ns(struct sim *sim, struct sim_wire *w);
/* Delay of a message of so many bytes that leaves now; draw decides jitter and loss. UINT64_MAX: lost for
 * good. */
uint64_t sim_wire_delay(struct sim *sim, struct sim_wire *w, uint64_t bytes, uint64_t draw);

/* pipe.c */
struct sim_wire *sim_end_wire(struct sim_end *e); /* From this end to the other. */
struct sim_end *sim_end_other(struct sim_end *e);
void sim_end_init(struct sim_end *e, struct sim_conn *c, unsigned side);
void sim_end_deinit(struct sim_end *e);
void sim_end_pump(struct sim_end *e);
void sim_end_fin(struct sim_end *e); /* Sends the end of the stream. */
void sim_end_send_reset(struct sim_end *e); /* The other end hears of a reset. */
void sim_end_break(struct sim_end *e, int status); /* This end is broken from now on. */
void sim_end_drop_pending(struct sim_end *e); /* Pending reads and writes end with IO_CANCELED. */
void sim_end_op_ended(struct sim *sim, struct sim_event *op); /* sim_event.ended of ops of ends. */

/* net.c */
void sim_conn_hold(struct sim_conn *c);
void sim_conn_release(struct sim *sim, struct sim_conn *c);
struct sim_event *sim_conn_wire_event(struct sim_end *from, sim_fire_fn *fire); /* Holds the connection. */
void sim_conn_wire_event_end(struct sim *sim, struct sim_event *e); /* Frees it and lets go. */
/* Two connected ends in two loops, as a pipe of the system has them. */
void sim_net_pair(struct sim_loop *a, struct io_stream *at_a, struct sim_loop *b, struct io_stream *at_b);
/* One whose other side is gone: reads end at once, writes fail. */
void sim_net_half(struct sim_loop *a, struct io_stream *at_a);
struct sim_node *sim_net_node(struct sim_node *n); /* Whose network it uses: its own, or its parent's. */
struct sim_node *sim_resolve(struct sim_node *from, const char *host, bool *loopback);

#endif
