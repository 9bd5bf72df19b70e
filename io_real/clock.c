/* io_real/clock.c: CLOCK_BOOTTIME, read at most once per callback; it runs on while the machine sleeps. */
#include <time.h>

#include "io_real/real.h"

static struct timespec clock_read(clockid_t id)
{
    struct timespec t;
    int rc = clock_gettime(id, &t);
    CD_ASSERT(rc == 0);
    return t;
}

uint64_t real_clock_ns(void)
{
    struct timespec t = clock_read(CLOCK_BOOTTIME);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t io_now_ns(struct io *io)
{
    struct real_loop *l = real_loop(io);
    if (!l->now_known) {
        l->now_ns = real_clock_ns();
        l->now_known = l->depth > 0;
    }
    return l->now_ns;
}

int64_t io_wall_us(struct io *io)
{
    (void)io;
    struct timespec t = clock_read(CLOCK_REALTIME);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t io_wall_ms(struct io *io)
{
    return io_wall_us(io) / 1000;
}
