/* base/arena.h: memory that is freed all at once, for what one request needs. Zeroed struct: valid, empty. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/str.h"

struct cd_arena_block;
struct cd_arena {
    struct cd_arena_block *blocks; /* owned */
    size_t used; /* Bytes handed out since the last reset. */
};

void cd_arena_deinit(struct cd_arena *a);
void cd_arena_reset(struct cd_arena *a); /* Frees all but one block of the common size. */
void *cd_arena_alloc(struct cd_arena *a, size_t size); /* Zeroed, aligned for any type. */
struct cd_str cd_arena_copy(struct cd_arena *a, struct cd_str s); /* With a NUL behind it. */

#endif
