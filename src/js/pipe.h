/* js/pipe.h: a stream of bytes between two isolates of a loop. runtime.md 6.3.
 *
 * A pipe has a writing and a reading end. JavaScript opens it with one end in its own isolate; the other end
 * is loose until a call (event_call.c) takes it along and attaches it to the event at its other side. The
 * reading end is a body (source_read, source_close). One chunk is under way at a time: a write is done when
 * the reader has taken the chunk. An end goes with its event; then the other one fails, unless the writer had
 * said which chunk was the last. */
#ifndef JS_PIPE_H
#define JS_PIPE_H

#include "js/worker_internal.h"

#define JS_PIPES_MAX 256 /* Of one message. */

struct js_pipe;

/* Loose ends in somebody's hands. Zeroed: none. */
struct js_pipes {
    struct js_pipe **pipe; /* owned */
    unsigned count;
};

/* The loose ends of the pipes whose numbers are in an array, an argument. Throws when one is none or was
 * taken before; then none is taken. */
CD_MUST_USE int js_arg_pipes(struct js_args *a, unsigned index, struct js_pipes *out);
/* Inside an entry of e's worker: attaches them; the array of their numbers there. p is empty then. */
js_value js_pipes_attach(struct js_pipes *p, struct js_event *e);
void js_pipes_drop(struct js_pipes *p);

#endif
