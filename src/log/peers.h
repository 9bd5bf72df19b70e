/* log/peers.h: how the log reaches other nodes: filled in by src/fleet, by a fake in tests. */
#ifndef LOG_PEERS_H
#define LOG_PEERS_H

#include "io/io.h"
#include "store/records.h"

#define LOG_MEMBERS_MAX STORE_ENSEMBLE_MAX

struct log_peer {
    char node[STORE_NODE_MAX + 1];
    char generation[STORE_GENERATION_LEN + 1]; /* Empty: whichever process has the node now. */
    char addr[STORE_ADDR_MAX + 1];
};

struct log_call {
    const struct log_peer *peer; /* In; borrowed until the call returns, as path and body. */
    const char *path;
    struct cd_str body;
    uint64_t deadline_ns;
    size_t answer_max;
    bool reached; /* Out: something took the connection. False: nobody can have done anything. */
    int status; /* Out: HTTP, of an answer that is certainly the peer's; 0: none came. */
    bool unable; /* Out: whoever answered does not know the path (404, 405, 501). */
    struct cd_buf answer; /* Out: the caller's to deinit. */
};
struct log_peers {
    void *arg;
    /* A POST, in a fiber. IO_OK: it was answered, with whichever status. Else why not. */
    int (*call)(void *arg, struct log_call *c);
};

#endif
