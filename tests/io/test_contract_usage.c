/* What a process uses of its machine. */
#include "support.h"

static void flow_usage(struct contract *c)
{
    struct io_usage u, later;
    io_usage_read(c->io, &u);
    CHECK(u.rss > 0 && u.slack <= u.rss);
    CHECK(u.machine == IO_ABSENT || u.rss < u.machine);
    CHECK(u.fds > 0 && u.fds < u.fd_limit);
    bool bounded = u.cgroup_limit != IO_ABSENT;
    CHECK(bounded == (u.cgroup_current != IO_ABSENT) && bounded == (u.cgroup_working_set != IO_ABSENT));
    CHECK(!bounded || u.cgroup_working_set <= u.cgroup_current);
    io_usage_read(c->io, &later);
    CHECK(later.cpu_us >= u.cpu_us);
}

static void test_numbers_fit_together(void **state)
{
    (void)state;
    contract_run(flow_usage);
}

#ifdef CONTRACT_BACKEND_real

#define MORE (64u << 20)

static void flow_memory(struct contract *c)
{
    struct io_usage before, after;
    io_usage_read(c->io, &before);
    char *block = malloc(MORE);
    CHECK(block != NULL);
    for (size_t i = 0; i < MORE; i += 512)
        block[i] = (char)(i >> 9);
    io_usage_read(c->io, &after);
    CHECK(after.rss >= before.rss + MORE / 2);
    free(block);
}

static void test_memory_that_is_used_is_seen(void **state)
{
    (void)state;
    contract_run(flow_memory);
}

CD_TESTS(contract_usage, cmocka_unit_test(test_numbers_fit_together),
         cmocka_unit_test(test_memory_that_is_used_is_seen))

#else

CD_TESTS(contract_usage, cmocka_unit_test(test_numbers_fit_together))

#endif
