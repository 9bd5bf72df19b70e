/* js/ops_text.h: host functions: encodings, URLs, compression. */
#ifndef JS_OPS_TEXT_H
#define JS_OPS_TEXT_H

#define JS_OPS_TEXT(X)                                                                                       \
    X(utf8_encode)                                                                                           \
    X(utf8_into)                                                                                             \
    X(utf8_decode)                                                                                           \
    X(utf8_decode_part)                                                                                      \
    X(legacy_table)                                                                                          \
    X(legacy_decode)                                                                                         \
    X(atob)                                                                                                  \
    X(btoa)                                                                                                  \
    X(codec_new)                                                                                             \
    X(codec_step)                                                                                            \
    X(codec_stop)                                                                                            \
    X(url_parse)                                                                                             \
    X(url_parts)                                                                                             \
    X(url_set)

#endif
