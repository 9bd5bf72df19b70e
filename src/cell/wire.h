/* cell/wire.h: calls of cells: an ordered two-way pipe of messages between a caller and a cell.
 *
 * A wire has two ends, each the property of one loop: the caller's (any loop of the node) and the cell's.
 * Messages are owned bytes, delivered in order, one callback each, never from inside a call of this header.
 * What they mean is the session's matter (js). The cell's end, and the caller's end where the caller is a
 * cell itself, hold what they send behind that cell's output gate.
 *
 * Nobody is stopped from sending, but who can wait should while cell_wire_full: what was sent and not taken
 * lies in memory. Bytes count until the other end's hooks.message has got them, so a receiver that detaches
 * itself (cell_wire_attach without hooks) holds its sender up, also one on another node. runtime.md 2.10.
 *
 * An end is its user's until cell_wire_close, which the user calls exactly once, also after hooks.closed. The
 * other end may go away at any time: what is sent then is dropped. */
#ifndef CELL_WIRE_H
#define CELL_WIRE_H

#include "base/buf.h"

struct io;
struct cell;
struct cell_router;
struct cell_wire;

/* Why a node did not take a call. The cell never got it, so another node, or this one later, may. */
enum cell_refusal {
    CELL_NOT_REFUSED,
    CELL_REFUSED_STALE_OWNER, /* Somebody else has the cell. */
    CELL_REFUSED_CAPACITY,
    CELL_REFUSED_STARTING,
    CELL_REFUSED_DRAINING,
    CELL_REFUSED_UNREACHABLE, /* The node was never connected to. */
    CELL_REFUSED_FAILED, /* The cell could not be brought up: asking elsewhere at once would not help. */
    CELL_REFUSALS
};

/* Why an end went away. Zeroed: an orderly end. */
struct cell_close {
    struct cd_str text; /* For people, and the message of the error; empty: an orderly end. */
    bool overloaded; /* Refused by a limit; the handler was not started. */
    bool retryable; /* The handler provably did not start, or the cell was reset before it ended. */
    bool reset; /* The cell was reset: stubs of it stay broken (runtime.md 6.4). */
    enum cell_refusal refusal;
};

struct cell_wire_hooks {
    /* bytes are the receiver's: it takes them (cd_buf_move) or leaves them to be freed. */
    void (*message)(void *arg, struct cell_wire *w, struct cd_buf *bytes);
    /* The last callback of w: the other end is gone. why and its text are borrowed. */
    void (*closed)(void *arg, struct cell_wire *w, const struct cell_close *why);
    /* The cell's code has the call. Only for a call that came from another node; NULL: nobody asks. */
    void (*started)(void *arg, struct cell_wire *w);
    /* The end is not full any more: may come whenever much of what was sent has been taken. NULL: nobody
     * waits. */
    void (*drained)(void *arg, struct cell_wire *w);
};

/* What may lie between two ends before the sender is to wait; one message may be larger. */
#define CELL_WIRE_WINDOW (512u << 10)

/* Whom to call. All is copied. */
struct cell_target {
    struct cd_str scope; /* "Class:instance", see cell/id.h. */
    struct cd_str script; /* Whose code the cell runs. */
    struct cd_str name; /* Of idFromName, where the caller knows it; else empty. */
    /* Only wants it in memory: the wire ends, in order, as soon as it is, and no handler starts. On another
     * node it is left alone. */
    bool activate;
};

/* What an activation hears, as its only message, when another node has the cell; then the wire ends with
 * CELL_REFUSED_STALE_OWNER. */
struct cell_where {
    struct cd_str session, addr;
    uint64_t epoch; /* Of the ownership record. */
};
CD_MUST_USE bool cell_where_read(struct cd_str message, struct cell_where *out); /* Borrows from it. */

/* Opens a wire to a cell, on whatever node it is; it is activated when it is in no memory. Never NULL:
 * whatever goes wrong arrives in closed. from: the cell that calls, whose output gate holds what is sent;
 * else NULL. No I/O happens in the call. */
struct cell_wire *cell_call(struct cell_router *r, struct io *io, const struct cell_target *target,
                            struct cell *from);

/* Who hears of this end from now on; what came before is delivered then, in order. hooks NULL: nobody,
 * messages and the end wait in w. hooks is borrowed until the next attach or close. */
void cell_wire_attach(struct cell_wire *w, const struct cell_wire_hooks *hooks, void *arg);
/* Takes the bytes (they are empty afterwards). Gated: they leave when what the cell had committed by now is
 * proven. */
void cell_wire_send(struct cell_wire *w, struct cd_buf *bytes);
/* What was sent over it and not taken: in bytes, each message with what it costs to keep. */
size_t cell_wire_unsent(const struct cell_wire *w);
/* That is CELL_WIRE_WINDOW or more; hooks.drained comes when it is less than half of it. */
bool cell_wire_full(const struct cell_wire *w);
/* Gives the end up: no callback comes any more. The other end hears why (NULL: orderly) behind all that was
 * sent before; behind the gate too. */
void cell_wire_close(struct cell_wire *w, const struct cell_close *why);

/* ---- The cell's end only ---- */

/* A call counts against the cell's limit of requests (fleet.md 4.7) from its arrival until this is called or
 * the end is closed: the event that it started has ended, although the wire lives on for stubs or streams. */
void cell_wire_served(struct cell_wire *w);
/* A further call that came over the wire, on a stub that the cell gave: it counts against the same limit
 * until cell_wire_call_end, or the end is closed. False: as cell_request_begin. */
CD_MUST_USE bool cell_wire_call_begin(struct cell_wire *w);
void cell_wire_call_end(struct cell_wire *w);
/* A parked end (a hibernated socket) keeps no cell in memory and outlives its stop, except for a reset that
 * finds something of it behind the failed gate: then it is closed. Its hooks belong to C code that lives as
 * long as the shard. parked false: it keeps the cell resident again. */
void cell_wire_park(struct cell_wire *w, bool parked);

#endif
