/* base/buf.h: owned, growing bytes.
 *
 * A zeroed struct cd_buf is a valid empty buffer. Whoever holds the struct owns the bytes and calls
 * cd_buf_deinit; passing a pointer lets the callee append. What is appended never lies in the same buffer. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>

#include "base/str.h"

struct cd_buf {
    char *ptr; /* owned */
    size_t len, cap;
};

void cd_buf_deinit(struct cd_buf *b); /* Frees; b is empty and usable again. */
void cd_buf_clear(struct cd_buf *b); /* Forgets the bytes, keeps the memory. */
/* Room for at least more bytes behind len; returns the place to write to. */
char *cd_buf_reserve(struct cd_buf *b, size_t more);
void cd_buf_add(struct cd_buf *b, const void *bytes, size_t len);
void cd_buf_add_str(struct cd_buf *b, struct cd_str s);
void cd_buf_add_byte(struct cd_buf *b, char byte);
void cd_buf_add_zero(struct cd_buf *b, size_t count);
/* printf without locale surprises: use integers, %s, %.*s and %c only. */
void cd_buf_addf(struct cd_buf *b, const char *format, ...) CD_PRINTF(2, 3);
void cd_buf_vaddf(struct cd_buf *b, const char *format, va_list args) CD_PRINTF(2, 0);
/* Little-endian integers, for formats on disk and wire. */
void cd_buf_add_u16(struct cd_buf *b, uint16_t v);
void cd_buf_add_u32(struct cd_buf *b, uint32_t v);
void cd_buf_add_u64(struct cd_buf *b, uint64_t v);
/* Drops the first count bytes (count <= len), moving the rest to the front. */
void cd_buf_drop(struct cd_buf *b, size_t count);
/* Gives the bytes away and leaves b empty. */
struct cd_buf cd_buf_move(struct cd_buf *b);
/* A NUL behind the bytes, not counted in len. It writes: not for what several threads read. */
const char *cd_buf_cstr(struct cd_buf *b);

static inline struct cd_str cd_buf_str(const struct cd_buf *b)
{
    return (struct cd_str){b->ptr, b->len};
}

/* Reading little-endian integers from a place that has the bytes; any alignment. Written out, so that
 * compilers make one load of it. */
static inline uint16_t cd_get_u16(const void *at)
{
    const unsigned char *p = (const unsigned char *)at;
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t cd_get_u32(const void *at)
{
    const unsigned char *p = (const unsigned char *)at;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t cd_get_u64(const void *at)
{
    const unsigned char *p = (const unsigned char *)at;
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

/* Writing them in place. */
static inline void cd_put_u16(void *at, uint16_t v)
{
    unsigned char *p = (unsigned char *)at;
    p[0] = (unsigned char)(v & 0xff);
    p[1] = (unsigned char)(v >> 8);
}

static inline void cd_put_u32(void *at, uint32_t v)
{
    unsigned char *p = (unsigned char *)at;
    cd_put_u16(p, (uint16_t)(v & 0xffff));
    cd_put_u16(p + 2, (uint16_t)(v >> 16));
}

static inline void cd_put_u64(void *at, uint64_t v)
{
    unsigned char *p = (unsigned char *)at;
    cd_put_u32(p, (uint32_t)(v & UINT32_MAX));
    cd_put_u32(p + 4, (uint32_t)(v >> 32));
}

#endif
