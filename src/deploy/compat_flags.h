/* deploy/compat_flags.h: the published compatibility flags that celld has no switch for (runtime.md 7).
 *
 * They are accepted without effect. Their names are here so that one that is not can be called a likely
 * mistake. */
#ifndef DEPLOY_COMPAT_FLAGS_H
#define DEPLOY_COMPAT_FLAGS_H

#include <stddef.h>

struct deploy_known_flag {
    const char *flag, *opposite; /* The latter may be NULL. */
};
extern const struct deploy_known_flag deploy_known_flags[];
extern const size_t deploy_known_flag_count;

#endif
