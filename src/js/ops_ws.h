/* js/ops_ws.h: host functions: WebSockets. */
#ifndef JS_OPS_WS_H
#define JS_OPS_WS_H

#define JS_OPS_WS(X)

#endif
