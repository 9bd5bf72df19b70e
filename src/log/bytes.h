/* log/bytes.h: the small common parts of the codecs of src/log. */
#ifndef LOG_BYTES_H
#define LOG_BYTES_H

#include "base/encode.h"
#include "log/row.h"

/* SHA-256 of two pieces, one after the other. */
void log_sha256(struct cd_str a, struct cd_str b, uint8_t out[LOG_SHA256_SIZE]);
/* Writes what is wrong; gives CD_ECORRUPT. why may be NULL. */
CD_MUST_USE int log_corrupt(struct cd_buf *why, const char *format, ...) CD_PRINTF(2, 3);

#endif
