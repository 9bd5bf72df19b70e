/* sim/memory.c: see memory.h. Process-wide by nature, so the state is too. */
#include "sim/memory.h"

#include <malloc.h>
#include <string.h>

#include "base/cd.h"

#define CLASS_BYTES 32u
#define CLASSES 128u /* Blocks up to 4 KiB are shuffled; larger ones are mapped anywhere anyway. */
#define POOL 8u

void *__real_cd_alloc(size_t size);
void *__real_cd_realloc(void *ptr, size_t size);
void __real_cd_free(void *ptr);
void *__wrap_cd_alloc(size_t size);
void *__wrap_cd_realloc(void *ptr, size_t size);
void __wrap_cd_free(void *ptr);

static struct {
    uint64_t blocks, key;
    void *pool[CLASSES][POOL];
} memory;

uint64_t memory_blocks(void)
{
    return memory.blocks;
}

void memory_shuffle(uint64_t key)
{
    memory.key = key;
}

/* Not a stream of the run: what it decides must not matter. */
static uint64_t next_draw(void)
{
    uint64_t x = memory.key;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    memory.key = x;
    return x;
}

static void *shuffled(size_t size)
{
    size_t class = size / CLASS_BYTES;
    if (class >= CLASSES)
        return __real_cd_alloc(size);
    void **slot = &memory.pool[class][next_draw() % POOL];
    if (*slot == NULL) {
        for (unsigned i = 0; i < POOL; i++)
            memory.pool[class][i] = __real_cd_alloc((class + 1) * CLASS_BYTES);
    }
    void *block = *slot;
    *slot = __real_cd_alloc((class + 1) * CLASS_BYTES);
    return block;
}

void *__wrap_cd_alloc(size_t size)
{
    memory.blocks++;
    return memory.key == 0 ? __real_cd_alloc(size) : shuffled(size);
}

void *__wrap_cd_realloc(void *ptr, size_t size)
{
    if (ptr == NULL)
        memory.blocks++;
    if (memory.key == 0)
        return __real_cd_realloc(ptr, size);
    size_t old = ptr == NULL ? 0 : malloc_usable_size(ptr);
    char *moved = shuffled(size);
    size_t kept = old < size ? old : size;
    if (kept > 0)
        memcpy(moved, ptr, kept);
    /* What realloc adds is not zeroed: whoever reads it sees a pattern here, and something else elsewhere. */
    memset(moved + kept, 0xa5, size - kept);
    __real_cd_free(ptr);
    return moved;
}

void __wrap_cd_free(void *ptr)
{
    if (ptr != NULL)
        memory.blocks--;
    __real_cd_free(ptr);
}
