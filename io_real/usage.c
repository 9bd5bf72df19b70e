/* io_real/usage.c: memory, CPU time and descriptors of this process, as the system tells: /proc, and the
 * control group, of which there are two kinds. */
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io_real/real.h"

#define PATH_BYTES 1024

/* ---- Numbers in files ---- */

/* False: no such file, or "max". */
static bool number_of(const char *dir, const char *name, uint64_t *out)
{
    char path[PATH_BYTES + 64];
    unsigned long long n;
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return false;
    bool got = fscanf(f, "%llu", &n) == 1;
    (void)fclose(f);
    if (got)
        *out = n;
    return got;
}

/* The number behind a word that a line starts with; 0: there is none. */
static uint64_t field_of(const char *dir, const char *name, const char *word)
{
    char path[PATH_BYTES + 64], first[128], rest[256];
    unsigned long long n = 0;
    bool got = false, more = true;
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return 0;
    while (!got && more && fscanf(f, "%127s", first) == 1) {
        if (strcmp(first, word) == 0)
            more = got = fscanf(f, "%llu", &n) == 1;
        else
            more = fgets(rest, sizeof rest, f) != NULL;
    }
    (void)fclose(f);
    return got ? n : 0;
}

/* ---- The control group ---- */

static const struct kind {
    const char *root, *limit, *current, *inactive;
} kinds[] = {
    {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"},
    {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
};
#define UNBOUNDED (UINT64_C(1) << 62) /* How version 1 says that there is no limit. */

/* Where /proc/self/cgroup says that we are: "0::/path" in version 2, "4:memory:/path" in version 1. */
static bool group_path(bool old, char *out, size_t cap)
{
    char line[PATH_BYTES];
    bool found = false;
    FILE *f = fopen("/proc/self/cgroup", "re");
    if (f == NULL)
        return false;
    while (!found && fgets(line, sizeof line, f) != NULL) {
        char *names = strchr(line, ':');
        char *path = names == NULL ? NULL : strchr(names + 1, ':');
        if (path == NULL)
            continue;
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        found = old ? strcmp(names, ":memory") == 0 : strcmp(names, ":") == 0;
        if (found)
            (void)snprintf(out, cap, "%s", strcmp(path, "/") == 0 ? "" : path);
    }
    (void)fclose(f);
    return found;
}

/* The group that bounds us: of our own and those around it the one with the smallest limit. In a container
 * the path may be that of the world outside; then what is mounted as the root is ours. */
static void of_group(const struct kind *k, bool old, struct io_usage *out)
{
    char path[PATH_BYTES], dir[2 * PATH_BYTES];
    if (!group_path(old, path, sizeof path))
        return;
    for (;;) {
        uint64_t limit, current;
        (void)snprintf(dir, sizeof dir, "%s%s", k->root, path);
        if (number_of(dir, k->limit, &limit) && limit < UNBOUNDED && limit < out->cgroup_limit &&
            number_of(dir, k->current, &current)) {
            uint64_t idle = field_of(dir, "memory.stat", k->inactive);
            out->cgroup_limit = limit;
            out->cgroup_current = current;
            out->cgroup_working_set = current > idle ? current - idle : 0;
        }
        char *slash = strrchr(path, '/');
        if (slash == NULL)
            return;
        *slash = '\0';
    }
}

/* ---- The process ---- */

static uint64_t fd_count(void)
{
    struct stat st;
    if (stat("/proc/self/fd", &st) == 0 && st.st_size > 0)
        return (uint64_t)st.st_size; /* Linux 6.2 and later: no listing of what may be 100,000 names. */
    DIR *d = opendir("/proc/self/fd");
    uint64_t count = 0;
    if (d == NULL)
        return IO_ABSENT;
    while (readdir(d) != NULL)
        count++;
    (void)closedir(d);
    return count < 3 ? 0 : count - 3; /* Without "." and "..", and its own. */
}

static uint64_t micros(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

void io_usage_read(struct io *io, struct io_usage *out)
{
    struct rusage usage;
    struct rlimit files;
    uint64_t kib = field_of("/proc", "meminfo", "MemTotal:");
    (void)io;
    *out = (struct io_usage){.machine = kib == 0 ? IO_ABSENT : kib << 10,
                             .cgroup_limit = IO_ABSENT,
                             .cgroup_current = IO_ABSENT,
                             .cgroup_working_set = IO_ABSENT,
                             .fds = fd_count(),
                             .fd_limit = IO_ABSENT};
    for (size_t i = 0; i < CD_COUNT(kinds); i++)
        of_group(&kinds[i], i == 1, out);
    out->rss = field_of("/proc/self", "status", "VmRSS:") << 10;
    uint64_t slack = (uint64_t)mallinfo2().fordblks;
    out->slack = slack < out->rss ? slack : out->rss;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        out->cpu_us = micros(usage.ru_utime) + micros(usage.ru_stime);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        out->fd_limit = (uint64_t)files.rlim_cur;
}

void io_usage_trim(struct io *io)
{
    (void)io;
    (void)malloc_trim(0);
}
