/* base/cd.h: what every file of celld may rely on: error codes, assertions, attributes.
 *
 * Nothing here does I/O. Codes of the I/O interface live in io/io.h and never collide with these. */
#ifndef BASE_CD_H
#define BASE_CD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CD_MUST_USE __attribute__((warn_unused_result))
#define CD_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define CD_NORETURN __attribute__((noreturn))

#define CD_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CD_CONTAINER(ptr, type, member) ((type *)(void *)((char *)(ptr) - offsetof(type, member)))
#ifdef __cplusplus /* src/js wraps V8, whose headers are C++. */
#define CD_STATIC_ASSERT(x, text) static_assert(x, text)
#else
#define CD_STATIC_ASSERT(x, text) _Static_assert(x, text)
#endif

CD_STATIC_ASSERT(sizeof(void *) == 8 && sizeof(size_t) == 8, "celld is for 64-bit machines");

/* Error codes: 0 is success, all others are negative. io/io.h adds IO_* from -100 down. */
#define CD_ERRORS(X)                                                                                         \
    X(CD_EINVAL, -1, "invalid argument")                                                                     \
    X(CD_ETOOBIG, -2, "larger than the limit")                                                               \
    X(CD_ECORRUPT, -3, "stored bytes fail their check")                                                      \
    X(CD_EFENCED, -4, "another session owns this")                                                           \
    X(CD_ESYNTAX, -5, "malformed input")                                                                     \
    X(CD_ENOTFOUND, -6, "not found")                                                                         \
    X(CD_EEXISTS, -7, "exists already")                                                                      \
    X(CD_EUNSUPPORTED, -8, "not supported")                                                                  \
    X(CD_ECLOSED, -9, "closed")                                                                              \
    X(CD_EFULL, -10, "no room left")

enum cd_err {
#define X(name, value, text) name = (value),
    CD_ERRORS(X)
#undef X
};

/* A text for people, for CD_* and IO_* codes. Never NULL; programs compare codes. */
const char *cd_err_text(int code);

/* Assertions guard against our own mistakes and stay in every build. Never assert about input. */
CD_NORETURN void cd_assert_failed(const char *file, int line, const char *func, const char *text);
#define CD_ASSERT(x) ((x) ? (void)0 : cd_assert_failed(__FILE__, __LINE__, __func__, #x))
#define CD_UNREACHABLE() cd_assert_failed(__FILE__, __LINE__, __func__, "unreachable")
/* Documents that both answers are legal here. */
#define CD_MAYBE(x) ((void)(x))

/* A planted bug (simulation.md 8): true for the run that asks for it, in programs compiled with CELLD_PLANTS;
 * else always false. */
#ifdef CELLD_PLANTS
bool cd_plant(const char *name); /* The simulator's, io_sim/plant.c. */
#define CD_PLANT(name) cd_plant(name)
#else
#define CD_PLANT(name) false
#endif

/* Allocation never returns NULL: running out of memory aborts. What input can make large has a limit
 * elsewhere. Memory of cd_alloc and cd_new is zeroed. Sizes are bytes. */
void *cd_alloc(size_t size);
void *cd_realloc(void *ptr, size_t size);
void cd_free(void *ptr);
#define cd_new(type) ((type *)cd_alloc(sizeof(type)))

#endif
