/* io_real/sigv4.c: the canonical request, the string to sign, and the chain of HMACs. */
#include "io_real/sigv4.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/encode.h"
#include "base/timetext.h"

#define SHA256_SIZE 32u

struct digest {
    unsigned char bytes[SHA256_SIZE];
};

static struct cd_str digest_str(const struct digest *d)
{
    return cd_str_of(d->bytes, sizeof(d->bytes));
}

static struct digest hmac(struct cd_str key, struct cd_str text)
{
    struct digest d;
    unsigned len = 0;
    CD_ASSERT(key.len <= INT32_MAX);
    const unsigned char *ok =
        HMAC(EVP_sha256(), key.ptr, (int)key.len, (const unsigned char *)text.ptr, text.len, d.bytes, &len);
    CD_ASSERT(ok != NULL && len == SHA256_SIZE);
    return d;
}

void sigv4_sha256_hex(struct cd_buf *out, struct cd_str bytes)
{
    struct digest d;
    int ok = EVP_Digest(bytes.len == 0 ? "" : bytes.ptr, bytes.len, d.bytes, NULL, EVP_sha256(), NULL);
    CD_ASSERT(ok == 1);
    cd_hex_encode(out, digest_str(&d));
}

static void add_signed_names(struct cd_buf *out, const struct sigv4_ask *ask)
{
    for (size_t i = 0; i < ask->headers_count; i++)
        cd_buf_addf(out, "%s%s", i == 0 ? "" : ";", ask->headers[i].name);
}

static void add_canonical_request(struct cd_buf *out, const struct sigv4_ask *ask)
{
    cd_buf_addf(out, "%s\n", ask->method);
    cd_buf_add_str(out, ask->path);
    cd_buf_add_byte(out, '\n');
    cd_buf_add_str(out, ask->query);
    cd_buf_add_byte(out, '\n');
    for (size_t i = 0; i < ask->headers_count; i++) {
        CD_ASSERT(i == 0 || strcmp(ask->headers[i - 1].name, ask->headers[i].name) < 0);
        cd_buf_addf(out, "%s:", ask->headers[i].name);
        cd_buf_add_str(out, cd_str_trim(ask->headers[i].value));
        cd_buf_add_byte(out, '\n');
    }
    cd_buf_add_byte(out, '\n');
    add_signed_names(out, ask);
    cd_buf_add_byte(out, '\n');
    cd_buf_add_str(out, ask->payload_sha256);
}

void sigv4_authorization(struct cd_buf *out, const struct sigv4_keys *keys, const struct sigv4_ask *ask)
{
    struct cd_buf time = {0}, scope = {0}, text = {0}, canonical = {0}, seed = {0};
    CD_ASSERT(ask->payload_sha256.len == SHA256_SIZE * 2);
    cd_time_compact(&time, ask->wall_ms);
    struct cd_str day = cd_str_sub(cd_buf_str(&time), 0, 8);
    cd_buf_add_str(&scope, day);
    cd_buf_addf(&scope, "/%.*s/s3/aws4_request", (int)ask->region.len, ask->region.ptr);

    add_canonical_request(&canonical, ask);
    cd_buf_addf(&text, "AWS4-HMAC-SHA256\n%.*s\n%.*s\n", (int)time.len, time.ptr, (int)scope.len, scope.ptr);
    sigv4_sha256_hex(&text, cd_buf_str(&canonical));

    cd_buf_addf(&seed, "AWS4");
    cd_buf_add_str(&seed, keys->secret_key);
    struct digest key = hmac(cd_buf_str(&seed), day);
    key = hmac(digest_str(&key), ask->region);
    key = hmac(digest_str(&key), CD_STR("s3"));
    key = hmac(digest_str(&key), CD_STR("aws4_request"));
    struct digest signature = hmac(digest_str(&key), cd_buf_str(&text));

    cd_buf_addf(out, "AWS4-HMAC-SHA256 Credential=%.*s/%.*s,SignedHeaders=", (int)keys->access_key.len,
                keys->access_key.ptr, (int)scope.len, scope.ptr);
    add_signed_names(out, ask);
    cd_buf_addf(out, ",Signature=");
    cd_hex_encode(out, digest_str(&signature));

    OPENSSL_cleanse(key.bytes, sizeof(key.bytes));
    OPENSSL_cleanse(seed.ptr, seed.len);
    cd_buf_deinit(&time);
    cd_buf_deinit(&scope);
    cd_buf_deinit(&text);
    cd_buf_deinit(&canonical);
    cd_buf_deinit(&seed);
}
