/* tests/io_real/node_help.h: a real node whose loop 0 runs one fiber, with the options that a test wants. */
#ifndef NODE_HELP_H
#define NODE_HELP_H

#include "io/support.h"
#include "io_real/io_real.h"

struct node_run {
    struct io_real_opts opts;
    void (*flow)(struct contract *c); /* Of tests/io/support.h; c has io, loop and arg. */
    void (*before)(struct io_real *node); /* Before the run; may be NULL. */
    void *arg;
};

/* Runs flow in loop 0, checks that nothing is left, stops and frees the node. */
void node_run(const struct node_run *r);

/* A pipe for the log of a node: text is what came so far. */
struct log_pipe {
    int ends[2];
    struct cd_buf text;
};
void log_pipe_open(struct log_pipe *p);
void log_pipe_drain(struct log_pipe *p); /* What is there now; does not wait. */
void log_pipe_close(struct log_pipe *p);
size_t text_count(const struct cd_buf *text, const char *what);

#endif
