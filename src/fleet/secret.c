#include "fleet/secret.h"

#include <openssl/crypto.h>

#include "base/encode.h"
#include "base/json.h"
#include "store/retry.h"

#define TRIES_MAX 8u /* Each hears an unclear answer. */

static int parse(struct fleet_secret *out, struct cd_str body)
{
    struct cd_json_doc *doc;
    struct cd_buf key = {0};
    struct cd_str hex;
    uint64_t version;
    if (cd_json_parse(&doc, body, NULL) != 0)
        return CD_EUNSUPPORTED;
    const struct cd_json *root = cd_json_root(doc);
    bool ok = cd_json_kind(root) == CD_JSON_OBJECT && cd_json_count(root) == 2 &&
              cd_json_u64(cd_json_get(root, "v"), &version) == 0 && version == 1 &&
              cd_json_str(cd_json_get(root, "key"), &hex) == 0 && cd_hex_decode(&key, hex) == 0 &&
              key.len == sizeof out->key;
    if (ok)
        memcpy(out->key, key.ptr, sizeof out->key);
    if (key.len > 0)
        OPENSSL_cleanse(key.ptr, key.len);
    cd_buf_deinit(&key);
    cd_json_free(doc);
    return ok ? IO_OK : CD_EUNSUPPORTED;
}

int fleet_secret_read(struct fleet_secret *out, struct io *io, struct io_bucket *bucket, struct cd_buf *why)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct io_store s = {0};
    int rc = store_retry_get(&s, io, bucket, CD_STR(STORE_KEY_PEER_AUTH), 0, IO_WHOLE, &p);
    if (rc == IO_OK) {
        rc = parse(out, cd_buf_str(&s.body));
        OPENSSL_cleanse(s.body.ptr, s.body.len);
        if (rc != IO_OK)
            cd_buf_addf(why, "%s is not a secret that this version of celld knows", STORE_KEY_PEER_AUTH);
    } else {
        cd_buf_addf(why, "%s: %s", STORE_KEY_PEER_AUTH, s.why);
    }
    cd_buf_deinit(&s.body);
    return rc;
}

/* Whatever became of it, the next read tells. */
static int create(struct io *io, struct io_bucket *bucket)
{
    struct io_store s = {.lane = IO_LANE_CONTROL};
    struct cd_buf body = {0};
    unsigned char key[FLEET_SECRET_SIZE];
    io_random(io, IO_RAND_KEY, key, sizeof key);
    cd_buf_add_str(&body, CD_STR("{\"v\":1,\"key\":\""));
    cd_hex_encode(&body, cd_str_of(key, sizeof key));
    cd_buf_add_str(&body, CD_STR("\"}"));
    io_store_put(&s, bucket, CD_STR(STORE_KEY_PEER_AUTH), cd_buf_str(&body), IO_PUT_IF_ABSENT, NULL);
    int rc = io_await(&s.op, IO_FOREVER); /* Its own timeout bounds it. */
    OPENSSL_cleanse(key, sizeof key);
    OPENSSL_cleanse(body.ptr, body.len);
    cd_buf_deinit(&body);
    return rc == IO_CANCELED ? rc : IO_OK;
}

int fleet_secret_load(struct fleet_secret *out, struct io *io, struct io_bucket *bucket, struct cd_buf *why)
{
    for (unsigned i = 0; i < TRIES_MAX; i++) {
        cd_buf_clear(why);
        int rc = fleet_secret_read(out, io, bucket, why);
        if (rc != IO_NOENT)
            return rc;
        rc = create(io, bucket);
        if (rc != IO_OK)
            return rc;
    }
    cd_buf_clear(why);
    cd_buf_addf(why, "%s: its writes do not come through", STORE_KEY_PEER_AUTH);
    return IO_TIMEDOUT;
}
