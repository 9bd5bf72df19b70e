/* store/bucket_url.h: the grammar of --bucket and CELLD_BUCKET (operations.md 3.1, 3.6). Pure; opens nothing.
 *
 *     [ws] [scheme://] NAME ["/" PREFIX] [ws]     scheme s3, gs or az in any case; none is s3
 *     [ws] file:///absolute/dir [ws]              the embedded store in dir/objects.sqlite3 */
#ifndef STORE_BUCKET_URL_H
#define STORE_BUCKET_URL_H

#include "base/buf.h"

enum store_scheme { STORE_S3, STORE_GS, STORE_AZ, STORE_FILE };

/* Longer than any provider allows, so that a limit of ours is never what is met first. */
#define STORE_BUCKET_NAME_MAX 256
#define STORE_BUCKET_PREFIX_MAX 512 /* Half of IO_KEY_MAX: the rest is for the keys themselves. */
#define STORE_BUCKET_DIR_MAX 1024

struct store_bucket_url {
    enum store_scheme scheme;
    char name[STORE_BUCKET_NAME_MAX]; /* Bucket or container; empty for file. */
    char prefix[STORE_BUCKET_PREFIX_MAX]; /* Empty, or "a/b/": canonical, put in front of every key. */
    char dir[STORE_BUCKET_DIR_MAX]; /* Of file: absolute, without a slash at its end unless it is "/". */
};

/* CD_EINVAL with what is wrong and what was wanted in why. */
CD_MUST_USE int store_bucket_url_parse(struct store_bucket_url *out, struct cd_str text, struct cd_buf *why);
/* Only s3 takes an endpoint: CD_EINVAL with the frozen text of operations.md 3.4 to 3.6 in why. An endpoint
 * of spaces counts as none. */
CD_MUST_USE int store_bucket_url_check_endpoint(const struct store_bucket_url *u, struct cd_str endpoint,
                                                struct cd_buf *why);
/* The canonical display form, "s3://name/a/b". It parses to the same value. */
void store_bucket_url_text(struct cd_buf *out, const struct store_bucket_url *u);
const char *store_scheme_name(enum store_scheme scheme); /* "s3", "gs", "az", "file" */

#endif
