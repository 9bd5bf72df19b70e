/* base/iotext.h: the texts of IO_* codes, so that cd_err_text() knows them without an arrow from base to io.
 *
 * The list is X-macro shaped like CD_ERRORS; io/io.h makes its enum from it. */
#ifndef BASE_IOTEXT_H
#define BASE_IOTEXT_H

#define IO_STATUSES(X)                                                                                       \
    X(IO_CANCELED, -100, "canceled")                                                                         \
    X(IO_EOF, -101, "end of stream")                                                                         \
    X(IO_TIMEDOUT, -102, "timed out")                                                                        \
    X(IO_REFUSED, -103, "connection refused")                                                                \
    X(IO_RESET, -104, "connection reset")                                                                    \
    X(IO_UNREACHABLE, -105, "host unreachable")                                                              \
    X(IO_NOENT, -106, "no such object, file or host")                                                        \
    X(IO_EXISTS, -107, "exists already")                                                                     \
    X(IO_NOSPACE, -108, "no space left")                                                                     \
    X(IO_FAULT, -109, "input/output error")                                                                  \
    X(IO_THROTTLED, -110, "throttled")                                                                       \
    X(IO_CONFLICT, -111, "precondition failed")                                                              \
    X(IO_DENIED, -112, "access denied")                                                                      \
    X(IO_BUSY, -113, "in use")                                                                               \
    X(IO_TOOBIG, -114, "larger than the limit")                                                              \
    X(IO_PROTOCOL, -115, "peer broke the protocol")

#endif
