/* io_real/cpu.c: how much of the machine is ours: CPUs and file descriptors. */
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "io_real/real.h"

#define CPUS_MAX 4096

struct cpus {
    cpu_set_t *set; /* owned */
    size_t size;
    unsigned count;
};

static void cpus_load(struct cpus *c)
{
    c->set = CPU_ALLOC(CPUS_MAX);
    CD_ASSERT(c->set != NULL);
    c->size = CPU_ALLOC_SIZE(CPUS_MAX);
    CPU_ZERO_S(c->size, c->set);
    int rc = sched_getaffinity(0, c->size, c->set);
    c->count = rc == 0 ? (unsigned)CPU_COUNT_S(c->size, c->set) : 1;
}

/* cgroup v2 says "<quota> <period>" or "max <period>", v1 has one file each and -1 for no limit. 0: no limit.
 */
static unsigned quota_cpus(void)
{
    long long quota = -1, period = 0;
    FILE *f = fopen("/sys/fs/cgroup/cpu.max", "re");
    if (f != NULL) {
        if (fscanf(f, "%lld %lld", &quota, &period) != 2)
            quota = -1;
        (void)fclose(f);
    } else {
        f = fopen("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "re");
        if (f != NULL) {
            if (fscanf(f, "%lld", &quota) != 1)
                quota = -1;
            (void)fclose(f);
        }
        f = fopen("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "re");
        if (f != NULL) {
            if (fscanf(f, "%lld", &period) != 1)
                period = 0;
            (void)fclose(f);
        }
    }
    if (quota <= 0 || period <= 0)
        return 0;
    return (unsigned)((quota + period - 1) / period);
}

unsigned io_real_cpu_count(void)
{
    struct cpus c;
    cpus_load(&c);
    CPU_FREE(c.set);
    unsigned quota = quota_cpus();
    unsigned count = quota != 0 && quota < c.count ? quota : c.count;
    return count == 0 ? 1 : count;
}

void real_pin(unsigned index, unsigned of)
{
    struct cpus c;
    cpus_load(&c);
    if (c.count == of) {
        unsigned seen = 0;
        for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
            if (!CPU_ISSET_S(cpu, c.size, c.set) || seen++ != index)
                continue;
            CPU_ZERO_S(c.size, c.set);
            CPU_SET_S(cpu, c.size, c.set);
            (void)sched_setaffinity(0, c.size, c.set); /* A wish: the shard runs as well elsewhere. */
            break;
        }
    }
    CPU_FREE(c.set);
}

uint64_t io_real_raise_fd_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 1024; /* POSIX promises less; every Linux gives this. */
    struct rlimit wanted = {.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &wanted) == 0)
        limit = wanted;
    return (uint64_t)limit.rlim_cur;
}
