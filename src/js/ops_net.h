/* js/ops_net.h: host functions: TCP connections. */
#ifndef JS_OPS_NET_H
#define JS_OPS_NET_H

#define JS_OPS_NET(X)                                                                                        \
    X(tcp_connect)                                                                                           \
    X(tcp_secure)                                                                                            \
    X(tcp_write)                                                                                             \
    X(tcp_abort)

#endif
