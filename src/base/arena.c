/* base/arena.c: bump allocation in blocks. */
#include "base/arena.h"

#include <stdalign.h>

#define ARENA_BLOCK 4096

struct cd_arena_block {
    struct cd_arena_block *next;
    size_t used, cap;
    alignas(max_align_t) char bytes[];
};

void cd_arena_deinit(struct cd_arena *a)
{
    while (a->blocks != NULL) {
        struct cd_arena_block *next = a->blocks->next;
        cd_free(a->blocks);
        a->blocks = next;
    }
    a->used = 0;
}

void cd_arena_reset(struct cd_arena *a)
{
    /* The oldest block stays if it has the common size: a steady load allocates nothing, and what one large
     * request needed is not kept for ever. */
    while (a->blocks != NULL && (a->blocks->next != NULL || a->blocks->cap > ARENA_BLOCK)) {
        struct cd_arena_block *next = a->blocks->next;
        cd_free(a->blocks);
        a->blocks = next;
    }
    if (a->blocks != NULL)
        a->blocks->used = 0;
    a->used = 0;
}

void *cd_arena_alloc(struct cd_arena *a, size_t size)
{
    const size_t align = alignof(max_align_t);
    CD_ASSERT(size <= SIZE_MAX / 4);
    size = (size + align - 1) / align * align;
    struct cd_arena_block *b = a->blocks;
    if (b == NULL || b->cap - b->used < size) {
        size_t cap = size > ARENA_BLOCK ? size : ARENA_BLOCK;
        b = cd_alloc(sizeof *b + cap);
        b->cap = cap;
        b->next = a->blocks;
        a->blocks = b;
    }
    void *at = b->bytes + b->used;
    memset(at, 0, size);
    b->used += size;
    a->used += size;
    return at;
}

struct cd_str cd_arena_copy(struct cd_arena *a, struct cd_str s)
{
    char *copy = cd_arena_alloc(a, s.len + 1);
    if (s.len > 0)
        memcpy(copy, s.ptr, s.len);
    return cd_str_of(copy, s.len);
}
