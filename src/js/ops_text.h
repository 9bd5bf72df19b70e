/* js/ops_text.h: host functions: encodings, URLs, compression. */
#ifndef JS_OPS_TEXT_H
#define JS_OPS_TEXT_H

#define JS_OPS_TEXT(X)                                                                                       \
    X(utf8_encode)                                                                                           \
    X(utf8_decode)                                                                                           \
    X(url_parse)                                                                                             \
    X(url_set)

#endif
