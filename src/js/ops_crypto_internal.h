/* js/ops_crypto_internal.h: what the files of cryptography share. runtime.md 5.4, 3.5.
 *
 * Every function of this area runs to its end in the turn. What cryptography refuses (a bad padding, a point
 * that is not on its curve) is no exception here: the function returns undefined, and the prelude knows which
 * error the standard wants; crypto_error() has OpenSSL's words. Exceptions are for wrong types. */
#ifndef JS_OPS_CRYPTO_INTERNAL_H
#define JS_OPS_CRYPTO_INTERNAL_H

#include <openssl/evp.h>

#include "js/ops.h"
#include "js/worker_internal.h"

/* ---- Arguments ---- */

/* Bytes to read: of a view, a buffer, or none where undefined or null is given. Good until JavaScript runs.
 * On the stack, not moved. */
struct js_crypto_in {
    uint8_t small[64];
    struct cd_str v;
};
CD_MUST_USE int js_crypto_in(struct js_args *a, unsigned index, struct js_crypto_in *out);
static inline const unsigned char *js_crypto_u8(const struct js_crypto_in *in)
{
    return in->v.len > 0 ? (const unsigned char *)in->v.ptr : (const unsigned char *)"";
}

/* A short ASCII name: of a hash, a curve. undefined: empty. */
#define JS_CRYPTO_NAME_MAX 48
struct js_crypto_name {
    char text[JS_CRYPTO_NAME_MAX];
};
CD_MUST_USE int js_crypto_name(struct js_args *a, unsigned index, struct js_crypto_name *out);
CD_MUST_USE int js_crypto_size(struct js_args *a, unsigned index, size_t *out); /* 0..2^31-1 */

/* The hash whose name is an argument; NULL without an exception: there is none. To be freed. */
CD_MUST_USE int js_crypto_md(struct js_args *a, unsigned index, EVP_MD **out);

/* ---- Results ---- */

/* An ArrayBuffer of len bytes to write to; it is the function's value once js_return is called. */
CD_MUST_USE int js_crypto_out(struct js_args *a, size_t len, js_value *out, unsigned char **bytes);
CD_MUST_USE int js_crypto_return_copy(struct js_args *a, const void *bytes, size_t len); /* An ArrayBuffer. */
CD_MUST_USE int js_crypto_return_text(struct js_args *a, const char *text);

/* ---- Objects of OpenSSL in the hands of JavaScript ---- */

/* JavaScript holds an opaque value; the object is freed when that is collected, or with the isolate. */
struct js_crypto_object {
    const struct js_crypto_type *type;
    struct js_weak weak;
};
struct js_crypto_type {
    const char *name; /* "a hash" */
    void (*free)(struct js_crypto_object *o);
};
js_value js_crypto_wrap(struct js_isolate *js, struct js_crypto_object *o, const struct js_crypto_type *type);
CD_MUST_USE int js_crypto_object(struct js_args *a, unsigned index, const struct js_crypto_type *type,
                                 struct js_crypto_object **out);

/* A private key, or a public one; what it may be used for is the prelude's business. */
struct js_crypto_key {
    struct js_crypto_object object;
    EVP_PKEY *pkey; /* owned */
};
CD_MUST_USE int js_crypto_key(struct js_args *a, unsigned index, EVP_PKEY **out); /* Borrowed. */
/* Takes pkey; NULL: returns undefined. */
void js_crypto_return_key(struct js_args *a, EVP_PKEY *pkey);

#endif
