/* js/ops_http.h: host functions: requests that come in and go out, and their bodies. */
#ifndef JS_OPS_HTTP_H
#define JS_OPS_HTTP_H

#define JS_OPS_HTTP(X)                                                                                       \
    X(request_head)                                                                                          \
    X(request_body)                                                                                          \
    X(source_read)                                                                                           \
    X(source_close)                                                                                          \
    X(status_text)                                                                                           \
    X(answer)                                                                                                \
    X(answer_start)                                                                                          \
    X(answer_write)                                                                                          \
    X(fetch_start)                                                                                           \
    X(fetch_write)

#endif
