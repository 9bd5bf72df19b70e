/* io_real/net.h: what streams, listeners, connects and children share. */
#ifndef IO_REAL_NET_H
#define IO_REAL_NET_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "io_real/real.h"

enum real_stream_kind {
    REAL_TCP,
    REAL_PIPE_IN, /* Can only be read. */
    REAL_PIPE_OUT, /* Can only be written. */
};

struct real_stream {
    struct real_watch watch; /* First. Edge-triggered, both ways, from start to end. */
    struct real_hot hot; /* Readable although no edge will come. */
    struct real_grave grave;
    struct cd_link link; /* In loop.lingering. */
    struct real_loop *loop;
    struct io_stream *owner;
    void *attempt; /* Of connect.c, until it is open. */
    struct io_read *reading;
    struct real_loan *loan; /* owned; what the last read lent, when its fiber was not waiting for it. */
    struct io_op *finishing;
    struct real_tls *tls; /* owned; NULL: none */
    struct io_secure *securing;
    struct cd_list writes; /* io_write.op.link, in order; the first may be sent in part. */
    unsigned write_count;
    enum real_stream_kind kind;
    int read_status, write_status; /* Not 0: that side is over, with this. */
    bool readable, writable; /* What the last edge said, until the kernel says EAGAIN. */
    bool hung; /* No more edges are to be expected for reading: the end or an error is near. */
    bool finished;
    uint64_t linger_until_ns;
};

/* Takes fd over, which is non-blocking, in any case. NULL: the kernel has no room to watch it. It is not open
 * yet. */
struct real_stream *real_stream_new(struct real_loop *l, int fd, enum real_stream_kind kind);
void real_stream_open(struct real_stream *s, struct io_stream *owner);
void real_stream_edge(struct real_stream *s, uint32_t events); /* Notes what an edge says. */
void real_stream_free(struct real_stream *s); /* Closes and buries it. */
void real_stream_nodelay(int fd);
void real_linger_start(struct real_stream *s); /* Of a stream that io_stream_close has closed. linger.c */

struct real_addr {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_storage room;
    };
    socklen_t len;
};

/* CD_EINVAL when host is no literal IPv4 or IPv6 address. */
CD_MUST_USE int real_addr_parse(struct real_addr *out, const struct io_addr *from);
void real_addr_port(struct real_addr *a, uint16_t port);
/* Host empty when it is no IP address. IPv4 inside IPv6 is shown as IPv4. */
void real_addr_text(const struct real_addr *a, struct io_addr *out);

#endif
