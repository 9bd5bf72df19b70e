/* base/encode_internal.h: for the tests of encode.c. */
#ifndef BASE_ENCODE_INTERNAL_H
#define BASE_ENCODE_INTERNAL_H

#include "base/encode.h"

/* cd_crc32c without the processor's instruction: what machines that lack it run. */
uint32_t cd_crc32c_plain(uint32_t crc, const void *bytes, size_t len);

#endif
