/* js/ops_crypto.h: host functions: hashes, ciphers, keys over OpenSSL. */
#ifndef JS_OPS_CRYPTO_H
#define JS_OPS_CRYPTO_H

#define JS_OPS_CRYPTO(X)                                                                                     \
    X(crypto_copy)                                                                                           \
    X(crypto_first_bits)                                                                                     \
    X(crypto_equal)                                                                                          \
    X(crypto_error)                                                                                          \
    X(crypto_uuid)                                                                                           \
    X(crypto_base64url)                                                                                      \
    X(crypto_base64url_decode)                                                                               \
    X(crypto_digest)                                                                                         \
    X(crypto_hash_new)                                                                                       \
    X(crypto_hash_copy)                                                                                      \
    X(crypto_hash_update)                                                                                    \
    X(crypto_hash_final)                                                                                     \
    X(crypto_hmac)                                                                                           \
    X(crypto_hkdf)                                                                                           \
    X(crypto_pbkdf2)                                                                                         \
    X(crypto_scrypt)                                                                                         \
    X(crypto_names)                                                                                          \
    X(crypto_crypt)                                                                                          \
    X(crypto_ctr)                                                                                            \
    X(crypto_cipher_info)                                                                                    \
    X(crypto_cipher_new)                                                                                     \
    X(crypto_cipher_update)                                                                                  \
    X(crypto_cipher_final)                                                                                   \
    X(crypto_cipher_tag)                                                                                     \
    X(crypto_key_generate)                                                                                   \
    X(crypto_key_decode)                                                                                     \
    X(crypto_key_encode)                                                                                     \
    X(crypto_key_from_raw)                                                                                   \
    X(crypto_key_from_ec)                                                                                    \
    X(crypto_key_from_rsa)                                                                                   \
    X(crypto_key_info)                                                                                       \
    X(crypto_key_parts)                                                                                      \
    X(crypto_key_check)                                                                                      \
    X(crypto_key_equal)                                                                                      \
    X(crypto_sign)                                                                                           \
    X(crypto_verify)                                                                                         \
    X(crypto_rsa)                                                                                            \
    X(crypto_derive)                                                                                         \
    X(crypto_modexp)                                                                                         \
    X(crypto_prime)                                                                                          \
    X(crypto_prime_check)                                                                                    \
    X(crypto_dh_group)                                                                                       \
    X(crypto_ec_point)                                                                                       \
    X(crypto_curves)                                                                                         \
    X(crypto_x509_new)                                                                                       \
    X(crypto_x509_key)                                                                                       \
    X(crypto_x509_info)                                                                                      \
    X(crypto_x509_check)                                                                                     \
    X(crypto_x509_issued)                                                                                    \
    X(crypto_x509_verify)                                                                                    \
    X(crypto_spkac)

#endif
