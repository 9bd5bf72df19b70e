/* tests/io_real/node_help.c: see node_help.h. */
#include "node_help.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "io/backend.h"

struct running {
    struct contract c;
    struct io_real *node;
    const struct node_run *run;
};

static void main_flow(void *arg)
{
    struct running *r = arg;
    r->run->flow(&r->c);
    for (int i = 0; i < 20 && (r->c.io->busy > 0 || r->c.io->fibers > 1); i++)
        (void)io_sleep(r->c.io, 0);
    CHECK_INT(r->c.io->busy, 0);
    CHECK_INT(r->c.io->fibers, 1);
    CHECK_INT(io_real_open_count(r->c.io), 0);
    io_real_stop(r->node);
}

static void entry(struct io *io, void *arg)
{
    if (io_loop_index(io) == 0)
        (void)io_spawn(io, "test", main_flow, arg);
}

void node_run(const struct node_run *run)
{
    struct running r = {.run = run, .c.arg = run->arg};
    r.node = io_real_new(&run->opts);
    r.c.io = io_real_loop(r.node, 0);
    for (unsigned i = 0; i < io_real_loops(r.node) && i < CD_COUNT(r.c.loop); i++)
        r.c.loop[i] = io_real_loop(r.node, i);
    if (run->before != NULL)
        run->before(r.node);
    io_real_run(r.node, entry, &r);
    io_real_free(r.node);
}

void log_pipe_open(struct log_pipe *p)
{
    *p = (struct log_pipe){0};
    CHECK(pipe2(p->ends, O_CLOEXEC) == 0);
    CHECK(fcntl(p->ends[0], F_SETFL, O_NONBLOCK) == 0);
}

void log_pipe_drain(struct log_pipe *p)
{
    char bytes[65536];
    ssize_t n;
    while ((n = read(p->ends[0], bytes, sizeof bytes)) > 0)
        cd_buf_add(&p->text, bytes, (size_t)n);
    CHECK(n == 0 || errno == EAGAIN);
}

void log_pipe_close(struct log_pipe *p)
{
    for (int i = 0; i < 2; i++) {
        if (p->ends[i] >= 0)
            CHECK(close(p->ends[i]) == 0);
    }
    cd_buf_deinit(&p->text);
}

size_t text_count(const struct cd_buf *text, const char *what)
{
    struct cd_str needle = cd_str(what);
    size_t count = 0, at = 0;
    while ((at = cd_str_find_str(cd_buf_str(text), needle, at)) != SIZE_MAX) {
        count++;
        at += needle.len;
    }
    return count;
}
