/* base/encode.h: hex, base64, CRC-32C, CRC-64, percent-encoding. Pure functions. */
#ifndef BASE_ENCODE_H
#define BASE_ENCODE_H

#include "base/buf.h"

void cd_hex_encode(struct cd_buf *out, struct cd_str bytes); /* Lowercase. */
/* Both cases, even length. CD_ESYNTAX leaves out as it was. */
CD_MUST_USE int cd_hex_decode(struct cd_buf *out, struct cd_str text);

enum cd_base64 { CD_BASE64_STD, CD_BASE64_URL };
void cd_base64_encode(struct cd_buf *out, struct cd_str bytes, enum cd_base64 kind, bool pad);
/* Padding may be present or absent; stray bits and other characters are CD_ESYNTAX. */
CD_MUST_USE int cd_base64_decode(struct cd_buf *out, struct cd_str text, enum cd_base64 kind);

/* CRC-32C (Castagnoli) of bytes, going on from crc (0 at the start). */
uint32_t cd_crc32c(uint32_t crc, const void *bytes, size_t len);
/* CRC-64/XZ of bytes, going on from crc (0 at the start). */
uint64_t cd_crc64(uint64_t crc, const void *bytes, size_t len);

/* RFC 3986 unreserved characters stay; also those in keep (NULL: none). */
void cd_percent_encode(struct cd_buf *out, struct cd_str s, const char *keep);
CD_MUST_USE int cd_percent_decode(struct cd_buf *out, struct cd_str s); /* CD_ESYNTAX on a bad escape. */

#endif
