/* js/ops_ws.h: host functions: WebSockets. */
#ifndef JS_OPS_WS_H
#define JS_OPS_WS_H

#define JS_OPS_WS(X)                                                                                         \
    X(answer_websocket)                                                                                      \
    X(ws_connect)                                                                                            \
    X(ws_listen)                                                                                             \
    X(ws_send)                                                                                               \
    X(ws_unsent)                                                                                             \
    X(ws_close)                                                                                              \
    X(ws_abort)                                                                                              \
    X(ws_pack)                                                                                               \
    X(ws_unpack)

#endif
