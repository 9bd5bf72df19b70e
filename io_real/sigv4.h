/* io_real/sigv4.h: AWS Signature Version 4 for S3 (fleet.md 3.4). Pure functions of values.
 *
 * S3 differs from other services in one rule: the path is encoded once. Secrets enter here and leave only as
 * HMACs. */
#ifndef IO_REAL_SIGV4_H
#define IO_REAL_SIGV4_H

#include "base/buf.h"

struct sigv4_keys {
    struct cd_str access_key, secret_key; /* A session token is a signed header, x-amz-security-token. */
};

struct sigv4_header {
    const char *name; /* Lower case. */
    struct cd_str value; /* As it goes over the wire. */
};

struct sigv4_ask {
    const char *method;
    struct cd_str path; /* Encoded, from the first slash on. */
    struct cd_str query; /* Canonical: encoded, sorted by name; empty: none. */
    const struct sigv4_header *headers; /* All that are signed, ascending by name; host and x-amz-date are
                                           among them. */
    size_t headers_count;
    struct cd_str payload_sha256; /* 64 hex digits. */
    struct cd_str region;
    int64_t wall_ms; /* The time in x-amz-date. */
};

#define SIGV4_EMPTY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

void sigv4_sha256_hex(struct cd_buf *out, struct cd_str bytes);
/* Appends the value of the Authorization header. */
void sigv4_authorization(struct cd_buf *out, const struct sigv4_keys *keys, const struct sigv4_ask *ask);

#endif
