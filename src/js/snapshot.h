/* js/snapshot.h: the startup snapshot: a heap in which the prelude has run already.
 *
 * Built once with the program, by a process of its own: V8's read-only heap is shared by all isolates of a
 * process, so no isolate may be made where a snapshot was built, nor the other way round. */
#ifndef JS_SNAPSHOT_H
#define JS_SNAPSHOT_H

#include "js/engine.h"

/* prelude is the text of one function expression: it is called with an object of host functions, named and
 * numbered like ops, and with frame_get() and frame_set(value) for js_continuation(); what it returns is
 * js_prelude() of every isolate. It must not call them. On failure (CD_EINVAL) why says what the prelude
 * threw. The platform must have been started. The same input gives the same bytes when the platform is
 * deterministic. */
CD_MUST_USE int js_snapshot_build(struct cd_str prelude, const char *name, const struct js_op *ops,
                                  unsigned op_count, struct cd_buf *out, struct cd_buf *why);

#endif
