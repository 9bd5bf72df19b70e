/* js/ops.h: the host functions of the runtime, by area. Each X(name) is a function js_op_name in ops_*.c; the
 * prelude gets them as properties of `host`. runtime.md 1.7, 9.
 *
 * A host function that starts work takes the id of the event it works for and the id of the promise that it
 * settles as its first two arguments (js/worker_internal.h, struct js_async). */
#ifndef JS_OPS_H
#define JS_OPS_H

#include "js/ops_cells.h"
#include "js/ops_core.h"
#include "js/ops_crypto.h"
#include "js/ops_http.h"
#include "js/ops_net.h"
#include "js/ops_node.h"
#include "js/ops_rpc.h"
#include "js/ops_storage.h"
#include "js/ops_text.h"
#include "js/ops_wire.h"
#include "js/ops_ws.h"

#define JS_OPS(X)                                                                                            \
    JS_OPS_CORE(X)                                                                                           \
    JS_OPS_TEXT(X)                                                                                           \
    JS_OPS_CRYPTO(X)                                                                                         \
    JS_OPS_HTTP(X)                                                                                           \
    JS_OPS_WS(X)                                                                                             \
    JS_OPS_NET(X)                                                                                            \
    JS_OPS_NODE(X)                                                                                           \
    JS_OPS_RPC(X)                                                                                            \
    JS_OPS_CELLS(X)                                                                                          \
    JS_OPS_STORAGE(X)                                                                                        \
    JS_OPS_WIRE(X)

struct js_args;
#define X(name) int js_op_##name(struct js_args *a);
JS_OPS(X)
#undef X

#endif
