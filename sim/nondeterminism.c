/* sim/nondeterminism.c: see nondeterminism.h. Compiled to nothing in what ships. */
#include "sim/nondeterminism.h"

#include <time.h>

#include "base/cd.h"

/* Whether later blocks lie higher: so with most allocators, and not with others. */
static uint64_t address_order(void)
{
    void *one = cd_alloc(100), *two = cd_alloc(100);
    uint64_t higher = (uintptr_t)two > (uintptr_t)one;
    cd_free(one);
    cd_free(two);
    return higher;
}

static uint64_t uninitialised_byte(void)
{
    unsigned char *bytes = cd_realloc(NULL, 1000);
    uint64_t v = *(volatile unsigned char *)&bytes[777];
    cd_free(bytes);
    return v;
}

static uint64_t real_clock(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_nsec % 1000;
}

uint64_t nondeterminism(void)
{
    uint64_t ns = 0;
    if (CD_PLANT("check.address-order"))
        ns += address_order();
    if (CD_PLANT("check.uninitialised-byte"))
        ns += uninitialised_byte();
    if (CD_PLANT("check.real-clock"))
        ns += real_clock();
    return ns;
}
