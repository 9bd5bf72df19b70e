/* js/ops_node.h: host functions: what node: modules need. */
#ifndef JS_OPS_NODE_H
#define JS_OPS_NODE_H

#define JS_OPS_NODE(X)                                                                                       \
    X(preview)                                                                                               \
    X(proxy_parts)                                                                                           \
    X(buffer_decode)                                                                                         \
    X(buffer_encode)                                                                                         \
    X(buffer_find)                                                                                           \
    X(buffer_compare)                                                                                        \
    X(buffer_check)                                                                                          \
    X(bundle_names)                                                                                          \
    X(bundle_bytes)                                                                                          \
    X(zlib_new)                                                                                              \
    X(zlib_new_params)                                                                                       \
    X(zlib_params)                                                                                           \
    X(zlib_reset)                                                                                            \
    X(zlib_step)                                                                                             \
    X(zlib_crc32)

#endif
