/* base/buf.c: owned bytes. */
#include "base/buf.h"

#include <stdio.h>

#define BUF_CAP_FIRST 64

void cd_buf_deinit(struct cd_buf *b)
{
    cd_free(b->ptr);
    *b = (struct cd_buf){0};
}

void cd_buf_clear(struct cd_buf *b)
{
    b->len = 0;
}

char *cd_buf_reserve(struct cd_buf *b, size_t more)
{
    CD_ASSERT(more <= SIZE_MAX / 4 && b->len <= SIZE_MAX / 4);
    if (b->cap - b->len < more) {
        size_t cap = b->cap < BUF_CAP_FIRST ? BUF_CAP_FIRST : b->cap;
        while (cap - b->len < more)
            cap *= 2;
        b->ptr = cd_realloc(b->ptr, cap);
        b->cap = cap;
    }
    return b->ptr == NULL ? NULL : b->ptr + b->len;
}

void cd_buf_add(struct cd_buf *b, const void *bytes, size_t len)
{
    if (len == 0)
        return;
    CD_ASSERT((uintptr_t)bytes - (uintptr_t)b->ptr >= b->cap); /* Growing would move what is to be added. */
    memcpy(cd_buf_reserve(b, len), bytes, len);
    b->len += len;
}

void cd_buf_add_str(struct cd_buf *b, struct cd_str s)
{
    cd_buf_add(b, s.ptr, s.len);
}

void cd_buf_add_byte(struct cd_buf *b, char byte)
{
    *cd_buf_reserve(b, 1) = byte;
    b->len++;
}

void cd_buf_add_zero(struct cd_buf *b, size_t count)
{
    if (count == 0)
        return;
    memset(cd_buf_reserve(b, count), 0, count);
    b->len += count;
}

void cd_buf_vaddf(struct cd_buf *b, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    char *at = cd_buf_reserve(b, BUF_CAP_FIRST);
    size_t room = b->cap - b->len;
    int len = vsnprintf(at, room, format, args);
    CD_ASSERT(len >= 0);
    if ((size_t)len >= room) {
        at = cd_buf_reserve(b, (size_t)len + 1);
        (void)vsnprintf(at, (size_t)len + 1, format, again);
    }
    va_end(again);
    b->len += (size_t)len;
}

void cd_buf_addf(struct cd_buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    cd_buf_vaddf(b, format, args);
    va_end(args);
}

static void add_le(struct cd_buf *b, uint64_t v, size_t size)
{
    char *at = cd_buf_reserve(b, size);
    for (size_t i = 0; i < size; i++)
        at[i] = (char)(unsigned char)(v >> (8 * i));
    b->len += size;
}

void cd_buf_add_u16(struct cd_buf *b, uint16_t v)
{
    add_le(b, v, 2);
}

void cd_buf_add_u32(struct cd_buf *b, uint32_t v)
{
    add_le(b, v, 4);
}

void cd_buf_add_u64(struct cd_buf *b, uint64_t v)
{
    add_le(b, v, 8);
}

void cd_buf_drop(struct cd_buf *b, size_t count)
{
    CD_ASSERT(count <= b->len);
    if (count == 0)
        return;
    b->len -= count;
    memmove(b->ptr, b->ptr + count, b->len);
}

struct cd_buf cd_buf_move(struct cd_buf *b)
{
    struct cd_buf given = *b;
    *b = (struct cd_buf){0};
    return given;
}

const char *cd_buf_cstr(struct cd_buf *b)
{
    *cd_buf_reserve(b, 1) = '\0';
    return b->ptr;
}
