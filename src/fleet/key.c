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
