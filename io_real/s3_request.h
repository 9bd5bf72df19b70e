/* io_real/s3_request.h: what is sent to an S3-compatible store: URL and signed headers of one request
 * (fleet.md 3.4, operations.md 3.3). Pure functions of values. */
#ifndef IO_REAL_S3_REQUEST_H
#define IO_REAL_S3_REQUEST_H

#include "io/io.h"

/* How the token is spelled back to the store; some know only one of the forms (CELLD_S3_ETAG_MODE). */
enum s3_etag_mode { S3_ETAG_PRESERVE, S3_ETAG_QUOTED, S3_ETAG_UNQUOTED };

struct s3_options {
    struct cd_str bucket;
    struct cd_str endpoint; /* Empty: Amazon's of the region. */
    struct cd_str region; /* Empty: us-east-1. */
    struct cd_str access_key, secret_key, session_token; /* The last may be empty. */
    enum s3_etag_mode etag_mode;
};

struct s3_config {
    char *origin; /* owned; "https://host[:port]" */
    char *host; /* owned; the Host header */
    char
        *base; /* owned; the encoded path in front of "/key": "" or "/bucket", after a path of the endpoint */
    char *region, *access_key, *secret_key, *session_token; /* owned */
    enum s3_etag_mode etag_mode;
};

/* CD_EINVAL with the reason in why. Path-style addressing at an endpoint, else virtual-host style. */
CD_MUST_USE int s3_config_init(struct s3_config *c, const struct s3_options *o, struct cd_buf *why);
void s3_config_deinit(struct s3_config *c); /* Overwrites the secrets. Zeroed: no effect. */

enum s3_kind { S3_GET, S3_HEAD, S3_PUT, S3_DELETE, S3_LIST };

struct s3_ask {
    enum s3_kind kind;
    struct cd_str key; /* With the bucket's prefix. Not of S3_LIST. */
    uint64_t from, len; /* S3_GET; 0 and IO_WHOLE send no Range. */
    enum io_put how; /* S3_PUT */
    struct cd_str token; /* S3_PUT with IO_PUT_IF_MATCH */
    struct cd_str body_sha256; /* S3_PUT: hex. */
    struct cd_str prefix, after; /* S3_LIST, with the bucket's prefix; after may be empty. */
    struct cd_str continuation; /* S3_LIST: the store's own mark of the next page, in place of after. */
    char delimiter;
    unsigned max;
    const char *agent; /* "celld", "celld-lease", ... */
    int64_t wall_ms;
};

struct s3_request {
    const char *method;
    struct cd_buf url; /* owned */
    struct cd_buf head; /* owned; "name: value\r\n"..., with Host */
};

void s3_request_build(struct s3_request *r, const struct s3_config *c, const struct s3_ask *ask);
void s3_request_deinit(struct s3_request *r);

#endif
