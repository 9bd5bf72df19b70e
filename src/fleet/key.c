#include "fleet/key.h"

#include <openssl/evp.h>

#include "base/encode.h"

void fleet_key_make(struct fleet_key *k, struct io *io)
{
    unsigned char public[32];
    size_t len = sizeof public;
    io_random(io, IO_RAND_KEY, k->secret, sizeof k->secret);
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, k->secret, sizeof k->secret);
    CD_ASSERT(key != NULL); /* Any 32 bytes are a key. */
    int ok = EVP_PKEY_get_raw_public_key(key, public, &len);
    CD_ASSERT(ok == 1 && len == sizeof public);
    EVP_PKEY_free(key);
    struct cd_buf hex = {0};
    cd_hex_encode(&hex, cd_str_of(public, len));
    memcpy(k->generation, hex.ptr, STORE_GENERATION_LEN);
    k->generation[STORE_GENERATION_LEN] = 0;
    cd_buf_deinit(&hex);
}

void fleet_key_sign(unsigned char out[FLEET_SIGNATURE_SIZE], const struct fleet_key *k, struct cd_str text)
{
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, k->secret, sizeof k->secret);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    size_t len = FLEET_SIGNATURE_SIZE;
    CD_ASSERT(key != NULL && ctx != NULL);
    int ok = EVP_DigestSignInit(ctx, NULL, NULL, NULL, key) == 1 &&
             EVP_DigestSign(ctx, out, &len, (const unsigned char *)text.ptr, text.len) == 1;
    CD_ASSERT(ok && len == FLEET_SIGNATURE_SIZE);
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(key);
}

bool fleet_key_verify(struct cd_str public_key, struct cd_str text, struct cd_str signature)
{
    struct cd_buf raw = {0};
    if (cd_hex_decode(&raw, public_key) != 0 || raw.len != 32 || signature.len != FLEET_SIGNATURE_SIZE) {
        cd_buf_deinit(&raw);
        return false;
    }
    EVP_PKEY *key =
        EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, (const unsigned char *)raw.ptr, raw.len);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool ok = key != NULL && ctx != NULL && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key) == 1 &&
              EVP_DigestVerify(ctx, (const unsigned char *)signature.ptr, signature.len,
                               (const unsigned char *)text.ptr, text.len) == 1;
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(key);
    cd_buf_deinit(&raw);
    return ok;
}
