/* cell/tunnel_frame.h: what two nodes say to each other in a tunnel: frames of many wires. Pure.
 *
 *     u32 length of the payload | u8 type | u64 wire | payload          little-endian
 *
 * The node that connected names the wires; no number is used twice in a tunnel. What the other end of a wire
 * may not have heard of yet, or not any more, is passed over; what makes no sense ends the tunnel. */
#ifndef CELL_TUNNEL_FRAME_H
#define CELL_TUNNEL_FRAME_H

#include "base/buf.h"
#include "cell/wire.h"

#define CELL_FRAME_HEAD 13u
#define CELL_FRAME_PAYLOAD_MAX (64u << 10) /* A longer message goes in parts, so that others get between. */
#define CELL_FRAME_TEXT_MAX 4096u /* Of the reason of an end; longer ones are cut. */
/* What may be under way on a wire in one direction; each frame of a message counts with its head. */
#define CELL_FRAME_WINDOW (256u << 10)
#define CELL_FRAME_HOPS_MAX 2u

enum cell_frame_type {
    CELL_FRAME_LOST, /* Never in a tunnel: it has ended, with all its wires. Payload: a text. */
    CELL_FRAME_OPEN, /* A call: struct cell_frame_open. From the node that connected. */
    CELL_FRAME_STARTED, /* The cell has got the call. To that node; so is REFUSED. */
    CELL_FRAME_REFUSED, /* The last of the wire: the cell never got the call. Payload: struct cell_close. */
    CELL_FRAME_PART, /* The next bytes of a message, which is not complete. */
    CELL_FRAME_DATA, /* The last bytes of a message. */
    CELL_FRAME_CLOSE, /* The last of the wire. Payload: struct cell_close. */
    CELL_FRAME_CREDIT, /* u32: so many more bytes may be sent on the wire. */
    CELL_FRAME_PING, /* Wire 0: is anybody there? */
    CELL_FRAME_PONG,
    /* Wire 0, the last that a node says which stops: what it did not start it will not. To the node that
     * connected. The end of the stream alone does not tell that: it looks the same when a process is killed.
     */
    CELL_FRAME_END,
    CELL_FRAME_TYPES
};

struct cell_frame {
    enum cell_frame_type type;
    uint64_t wire;
    struct cd_str payload; /* Borrowed from the bytes. */
};

struct cell_frame_open {
    unsigned hops; /* Over how many nodes it has come, with this one. */
    uint32_t deadline_ms; /* So long the cell may take to get it. */
    uint64_t epoch; /* Of the ownership record that led here. */
    struct cd_str scope, script, name; /* As in struct cell_target. */
};

/* Bytes taken off the front of in; 0: the frame is not complete; CD_EINVAL: it is none, and *why says so. */
CD_MUST_USE int cell_frame_take(struct cd_str in, struct cell_frame *out, const char **why);
/* Whether a frame that came from the node that connected (caller), or from the other, makes sense. NULL: it
 * does. */
const char *cell_frame_check(const struct cell_frame *f, bool caller);

void cell_frame_add(struct cd_buf *out, enum cell_frame_type type, uint64_t wire, struct cd_str payload);
void cell_frame_add_open(struct cd_buf *out, uint64_t wire, const struct cell_frame_open *o);
/* CLOSE or REFUSED. */
void cell_frame_add_close(struct cd_buf *out, enum cell_frame_type type, uint64_t wire,
                          const struct cell_close *why);
void cell_frame_add_credit(struct cd_buf *out, uint64_t wire, uint32_t bytes);

/* Of payloads; false: it is none. What they borrow lies in the payload. */
CD_MUST_USE bool cell_frame_open_read(struct cd_str payload, struct cell_frame_open *out);
CD_MUST_USE bool cell_frame_close_read(struct cd_str payload, struct cell_close *out);

#endif
