/* io_sim/usage.c: what a node uses of its machine: what the test says. */
#include "io_sim/sim_internal.h"

#define MACHINE (UINT64_C(8) << 30)
#define RSS (UINT64_C(64) << 20)
#define FD_LIMIT 8192u

void sim_on_usage(struct sim_node *n, void (*fn)(void *arg, struct io_usage *usage), void *arg)
{
    n->usage = fn;
    n->usage_arg = arg;
}

void io_usage_read(struct io *io, struct io_usage *out)
{
    const struct sim_node *n = sim_loop_of(io)->node;
    *out = (struct io_usage){.rss = RSS,
                             .machine = MACHINE,
                             .cgroup_limit = IO_ABSENT,
                             .cgroup_current = IO_ABSENT,
                             .cgroup_working_set = IO_ABSENT,
                             .fds = 16,
                             .fd_limit = FD_LIMIT};
    if (n->usage != NULL)
        n->usage(n->usage_arg, out);
}

void io_usage_trim(struct io *io)
{
    (void)io; /* What a node uses is what the test says. */
}
