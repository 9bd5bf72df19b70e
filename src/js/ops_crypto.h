/* js/ops_crypto.h: host functions: hashes, ciphers, keys over OpenSSL. */
#ifndef JS_OPS_CRYPTO_H
#define JS_OPS_CRYPTO_H

#define JS_OPS_CRYPTO(X)

#endif
