/* js/ops_rpc.h: host functions: calls between entrypoints, and what they carry. */
#ifndef JS_OPS_RPC_H
#define JS_OPS_RPC_H

#define JS_OPS_RPC(X)                                                                                        \
    X(event_open)                                                                                            \
    X(value_kind)                                                                                            \
    X(message_copy)                                                                                          \
    X(site_has)                                                                                              \
    X(call_start)                                                                                            \
    X(call_cancel)                                                                                           \
    X(call_reply)                                                                                            \
    X(pipe_open)                                                                                             \
    X(pipe_write)                                                                                            \
    X(pipe_close)

#endif
