/* base/cd.c: error texts, assertions, allocation. */
#include "base/cd.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/iotext.h"

const char *cd_err_text(int code)
{
    switch (code) {
    case 0: return "success";
#define X(name, value, text)                                                                                 \
    case value: return text;
        CD_ERRORS(X)
        IO_STATUSES(X)
#undef X
    }
    return "unknown error";
}

CD_NORETURN void cd_assert_failed(const char *file, int line, const char *func, const char *text)
{
    fprintf(stderr, "%s:%d: %s: assertion failed: %s\n", file, line, func, text);
    abort();
}

CD_NORETURN static void out_of_memory(size_t size)
{
    fprintf(stderr, "out of memory: %zu bytes wanted\n", size);
    abort();
}

void *cd_alloc(size_t size)
{
    void *ptr = calloc(1, size == 0 ? 1 : size);
    if (ptr == NULL)
        out_of_memory(size);
    return ptr;
}

void *cd_realloc(void *ptr, size_t size)
{
    void *moved = realloc(ptr, size == 0 ? 1 : size);
    if (moved == NULL)
        out_of_memory(size);
    return moved;
}

void cd_free(void *ptr)
{
    free(ptr);
}
