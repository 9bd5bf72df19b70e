/* io_sim/entropy.c: OpenSSL's random bytes come from the run. simulation.md 2.
 *
 * Inside of a loop they are those of its IO_RAND_KEY use, outside of one a stream of the run. The generator
 * is process-wide, as OpenSSL's is: one run per process has it, and without one every draw fails, so that
 * none can go unnoticed. */
#define OPENSSL_SUPPRESS_DEPRECATED /* The provider interface for this is ten times the code. */
#include <openssl/rand.h>

#include "io_sim/sim_internal.h"

static struct sim *source;
static struct cd_rng outside;

static int entropy_bytes(unsigned char *out, int len)
{
    if (source == NULL || len < 0)
        return 0;
    struct io *io = io_current();
    if (io != NULL)
        io_random(io, IO_RAND_KEY, out, (size_t)len);
    else
        cd_rng_fill(&outside, out, (size_t)len);
    return 1;
}

static int entropy_status(void)
{
    return source != NULL;
}

static int entropy_seed(const void *bytes, int len)
{
    (void)bytes;
    (void)len;
    return 1; /* The run's seed is the only one. */
}

static int entropy_add(const void *bytes, int len, double bits)
{
    (void)bytes;
    (void)len;
    (void)bits;
    return 1;
}

static void entropy_remove(struct sim *sim)
{
    if (source == sim)
        source = NULL;
}

void sim_entropy_install(struct sim *sim)
{
    static const RAND_METHOD method = {
        .seed = entropy_seed,
        .bytes = entropy_bytes,
        .add = entropy_add,
        .pseudorand = entropy_bytes,
        .status = entropy_status,
    };
    CD_ASSERT(source == NULL); /* One run per process at a time. */
    source = sim;
    sim->entropy_free = entropy_remove;
    sim_rng(sim, "openssl", &outside);
    int ok = RAND_set_rand_method(&method);
    CD_ASSERT(ok == 1);
}
