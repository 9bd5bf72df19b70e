/* io_real/random.c: the kernel's generator, buffered so that ids and jitter cost no system call each. Keys
 * are never buffered: their bytes exist nowhere but with their owner. */
#include <errno.h>
#include <sys/random.h>

#include "io_real/real.h"

static void random_fill(void *out, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = getrandom((char *)out + done, len - done, 0);
        CD_ASSERT(n > 0 || (n < 0 && errno == EINTR)); /* Nothing else can go wrong since Linux 3.17. */
        if (n > 0)
            done += (size_t)n;
    }
}

void io_random(struct io *io, enum io_rand use, void *out, size_t len)
{
    CD_ASSERT(use < IO_RAND_COUNT);
    struct real_random *r = &real_loop(io)->random[use];
    if (use == IO_RAND_KEY || len > sizeof r->bytes / 4) {
        random_fill(out, len);
        return;
    }
    if (r->left < len) {
        random_fill(r->bytes, sizeof r->bytes);
        r->left = sizeof r->bytes;
    }
    uint8_t *from = r->bytes + sizeof r->bytes - r->left;
    memcpy(out, from, len);
    memset(from, 0, len); /* What was handed out is not kept. */
    r->left -= len;
}
