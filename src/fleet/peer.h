/* fleet/peer.h: calls between the nodes of a fleet. A client signs requests to the internal listener of a
 * peer; a server verifies them and runs the endpoint they name. fleet.md 10.
 *
 * Calls are made and served in fibers, on the loop of the client or of the server; nothing else blocks. Both
 * sides prove that they know the secret of the fleet: the caller by its signature, the peer by that of its
 * answer, so what comes back is from the node that was meant. */
#ifndef FLEET_PEER_H
#define FLEET_PEER_H

#include "fleet/peer_auth.h"
#include "http/server.h"
#include "io/io.h"
#include "store/records.h"

/* Who is called. */
struct fleet_peer {
    char node[STORE_NODE_MAX + 1];
    /* The process; empty: whichever the node has now, for endpoints that allow it (any_process). */
    char generation[STORE_GENERATION_LEN + 1];
    char addr[STORE_ADDR_MAX + 1]; /* HOST:PORT, as its lease has it. */
};
void fleet_peer_of_lease(struct fleet_peer *out, const struct store_lease *l);
/* HOST:PORT with a literal address (IPv6 in brackets) or a name (10.1). CD_EINVAL: it is none,
 * CD_EUNSUPPORTED: a public literal address, which public_ok allows. why may be NULL. */
CD_MUST_USE int fleet_peer_addr(struct io_addr *out, struct cd_str text, bool public_ok, struct cd_buf *why);

/* ---- Calling ---- */

struct fleet_peer_client; /* Connections to peers, kept while they are used. One per loop that calls. */
struct fleet_peer_client_opts {
    struct io *io;
    const struct fleet_secret *secret; /* Borrowed for the client's life. */
    struct cd_str source; /* Our node id; copied. */
    bool public_ok; /* CELLD_UNSAFE_PUBLIC_ADVERTISE */
    uint64_t connect_timeout_ns; /* 0: 3 s */
};
struct fleet_peer_client *fleet_peer_client_new(const struct fleet_peer_client_opts *o);
/* Running calls end with IO_CANCELED; streams of upgrades are their owners'. Then free it. Once. */
void fleet_peer_client_stop(struct fleet_peer_client *c, struct io_op *op, io_done_fn *done);
void fleet_peer_client_free(struct fleet_peer_client *c);

/* What is known about a call afterwards. */
enum fleet_peer_end {
    /* Certainly nothing was started: never connected, or refused before the endpoint ran. Only this may be
     * repeated (9.10). */
    FLEET_PEER_NOT_STARTED,
    FLEET_PEER_AMBIGUOUS, /* Sent in part or whole, and no answer that is certainly the peer's. */
    FLEET_PEER_ANSWERED, /* By the endpoint of the node that was meant; whichever status. */
};

#define FLEET_PEER_ANSWER_MAX (64u << 10)
struct fleet_peer_call {
    /* In; borrowed until the call returns. */
    const struct fleet_peer *peer;
    struct cd_str method; /* Empty: POST. */
    struct cd_str target; /* "/peer/adopt", with a query if there is one. */
    const struct http_field *field; /* More fields of the request; not signed. */
    size_t field_count;
    struct cd_str body;
    uint64_t deadline_ns; /* Of all of it. */
    size_t answer_max; /* 0: FLEET_PEER_ANSWER_MAX */
    struct cd_str upgrade; /* fleet_peer_upgrade: the protocol to switch to. */
    /* Out */
    enum fleet_peer_end end;
    int status; /* Of the answer, also of a refusal; 0: none came. */
    struct cd_buf answer; /* Its body; the caller's to deinit. */
    char why[200]; /* For people, unless ANSWERED. */
};
/* In a fiber. IO_OK: ANSWERED; else a status (IO_TIMEDOUT, IO_RESET, IO_REFUSED, IO_PROTOCOL an answer that
 * is not the peer's, IO_DENIED a refusal, IO_CANCELED, CD_EINVAL, CD_EUNSUPPORTED an address) and end says
 * more. */
CD_MUST_USE int fleet_peer_call(struct fleet_peer_client *c, struct fleet_peer_call *call);
/* The same, switching the connection to another protocol: IO_OK with ANSWERED and status 101: stream is open
 * and the caller's, with what the peer has sent behind its answer in rest (owned by the caller). Any other
 * answer of the endpoint is IO_DENIED, ANSWERED, with its status and body. */
CD_MUST_USE int fleet_peer_upgrade(struct fleet_peer_client *c, struct fleet_peer_call *call,
                                   struct io_stream *stream, struct cd_buf *rest);

/* ---- Serving ---- */

/* A verified request. In the fiber of its endpoint, which may await; good until the endpoint returns. */
struct fleet_peer_request {
    struct io *io;
    struct cd_str source; /* The node that asks. */
    struct cd_str rest; /* The path behind that of a prefix route. */
    struct cd_str query; /* NULL ptr: none. */
    const struct http_head *head;
    struct cd_str body;
    /* Out: the answer, JSON. */
    int status; /* To be set; 101 for an upgrade. 0: 500, or cut off when the node stops. */
    struct cd_buf answer;
};

struct fleet_peer_route {
    const char *method; /* NULL: any. */
    const char *path; /* Static text. */
    bool prefix; /* And all paths that start with it. */
    bool
        any_process; /* Requests to whichever process of the node, too: only what is safe to repeat (10.3). */
    bool in_startup; /* Also before fleet_peer_server_ready. */
    size_t body_max; /* 0: 64 KiB */
    /* Answers: fills status and answer. A node that stops cancels the fiber. */
    void (*handle)(void *arg, struct fleet_peer_request *r);
    /* Not NULL: the request has to ask for this protocol (else 400). When handle sets 101 it is answered, and
     * upgraded gets the stream and what has come behind the request (both its own from then on), in the same
     * fiber, which it may keep for as long as it wants. It has to close the stream; a node that stops cancels
     * the fiber. */
    const char *upgrade;
    void (*upgraded)(void *arg, struct fleet_peer_request *r, struct io_stream *stream, struct cd_buf *rest);
    void *arg;
};
#define FLEET_PEER_ROUTES_MAX 16u

struct fleet_peer_server;
struct fleet_peer_server *fleet_peer_server_new(struct io *io);
/* Before the paths are asked for; copied. */
void fleet_peer_server_route(struct fleet_peer_server *s, const struct fleet_peer_route *r);
/* Who we are and what others sign with; borrowed for the server's life. Before it every call is answered 503.
 */
void fleet_peer_server_open(struct fleet_peer_server *s, const struct fleet_secret *secret, const char *node,
                            const char *generation);
/* From now on all routes are served; before, only those that say in_startup (10.2). */
void fleet_peer_server_ready(struct fleet_peer_server *s);
/* A request at the internal listener. False: its path is not one of ours, x was not touched. Else x is ours.
 */
CD_MUST_USE bool fleet_peer_server_handle(struct fleet_peer_server *s, struct http_exchange *x);
/* Takes no more (503), cancels what runs; done when all endpoints have returned. Cannot be cancelled. Once.
 */
void fleet_peer_server_stop(struct fleet_peer_server *s, struct io_op *op, io_done_fn *done);
void fleet_peer_server_free(struct fleet_peer_server *s); /* After the stop, or when it was never asked. */

#endif
