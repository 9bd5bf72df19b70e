/* sim/cells_call.h: one question of a client to a cell, through src/http's client. In a fiber. */
#ifndef SIM_CELLS_CALL_H
#define SIM_CELLS_CALL_H

#include "http/client.h"

enum cells_outcome {
    CELLS_ANSWERED,
    CELLS_REFUSED, /* It certainly did nothing, and never will. */
    CELLS_UNKNOWN, /* It may have been done, or may yet be. */
};

struct cells_ask {
    struct io *io;
    struct http_client *pool;
    unsigned node; /* Whom to ask: n1 is 1. */
    const char *class;
    unsigned cell;
    struct cd_str message;
    uint64_t deadline_ns;
    /* Out. */
    enum cells_outcome outcome;
    int status; /* Of HTTP; 0: none came. */
    struct cd_buf text; /* The caller's, cleared by the call. */
};
void cells_ask(struct cells_ask *a);

#endif
