/* js/ops_crypto_use.c: what asymmetric keys are for: signatures, encryption with RSA, shared secrets. */
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/rsa.h>

#include "js/ops_crypto_internal.h"

#define SIGNATURE_MAX 2048 /* Of RSA with 16384 bits. */

/* ---- Signatures ---- */

/* The arguments that signing and verifying share. */
struct signing {
    EVP_PKEY *pkey;
    EVP_MD *md; /* owned; NULL: the scheme has its own, or none. */
    size_t padding; /* RSA_*_PADDING; 0: not RSA. */
    int salt_len; /* Or RSA_PSS_SALTLEN_*. */
    bool ieee; /* ECDSA: r and s behind each other, not DER. */
    bool digested; /* The data is the digest. */
    struct js_crypto_in data;
};

static int signing_args(struct js_args *a, struct signing *s)
{
    double salt = 0;
    int rc = js_crypto_key(a, 0, &s->pkey);
    if (rc == 0)
        rc = js_crypto_md(a, 1, &s->md);
    if (rc == 0)
        rc = js_crypto_size(a, 2, &s->padding);
    if (rc == 0)
        rc = js_to_number(a->js, js_arg(a, 3), &salt);
    if (rc == 0)
        rc = js_crypto_in(a, 6, &s->data);
    if (rc != 0)
        return rc;
    s->salt_len = salt >= -8 && salt <= SIGNATURE_MAX ? (int)salt : SIGNATURE_MAX;
    s->ieee = js_to_bool(a->js, js_arg(a, 4)) && EVP_PKEY_is_a(s->pkey, "EC");
    s->digested = js_to_bool(a->js, js_arg(a, 5));
    ERR_clear_error();
    return 0;
}

static bool set_padding(EVP_PKEY_CTX *ctx, const struct signing *s)
{
    if (s->padding == 0)
        return true;
    return EVP_PKEY_CTX_set_rsa_padding(ctx, (int)s->padding) == 1 &&
           (s->padding != RSA_PKCS1_PSS_PADDING || EVP_PKEY_CTX_set_rsa_pss_saltlen(ctx, s->salt_len) == 1);
}

static size_t ieee_half(EVP_PKEY *pkey)
{
    return ((size_t)EVP_PKEY_get_bits(pkey) + 7) / 8;
}

/* DER to r and s of a fixed size; the new length, or 0. */
static size_t to_ieee(EVP_PKEY *pkey, const unsigned char *der, size_t len, unsigned char *out)
{
    size_t half = ieee_half(pkey);
    ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &der, (long)len);
    bool ok = sig != NULL && BN_bn2binpad(ECDSA_SIG_get0_r(sig), out, (int)half) >= 0 &&
              BN_bn2binpad(ECDSA_SIG_get0_s(sig), out + half, (int)half) >= 0;
    ECDSA_SIG_free(sig);
    return ok ? 2 * half : 0;
}

static size_t to_der(EVP_PKEY *pkey, const unsigned char *ieee, size_t len, unsigned char *out)
{
    size_t half = ieee_half(pkey);
    if (len != 2 * half)
        return 0;
    ECDSA_SIG *sig = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(ieee, (int)half, NULL), *s = BN_bin2bn(ieee + half, (int)half, NULL);
    ECDSA_SIG_set0(sig, r, s); /* Takes both. */
    int der = i2d_ECDSA_SIG(sig, &out);
    ECDSA_SIG_free(sig);
    return der > 0 ? (size_t)der : 0;
}

static bool sign(const struct signing *s, unsigned char *out, size_t *len)
{
    bool ok;
    EVP_PKEY_CTX *ctx = NULL;
    if (s->digested) {
        ctx = EVP_PKEY_CTX_new_from_pkey(NULL, s->pkey, NULL);
        ok = EVP_PKEY_sign_init(ctx) == 1 && set_padding(ctx, s) &&
             (s->md == NULL || EVP_PKEY_CTX_set_signature_md(ctx, s->md) == 1) &&
             EVP_PKEY_sign(ctx, out, len, js_crypto_u8(&s->data), s->data.v.len) == 1;
        EVP_PKEY_CTX_free(ctx);
        return ok;
    }
    EVP_MD_CTX *md = EVP_MD_CTX_new(); /* Owns ctx. */
    ok = EVP_DigestSignInit(md, &ctx, s->md, NULL, s->pkey) == 1 && set_padding(ctx, s) &&
         EVP_DigestSign(md, out, len, js_crypto_u8(&s->data), s->data.v.len) == 1;
    EVP_MD_CTX_free(md);
    return ok;
}

static bool verify(const struct signing *s, const unsigned char *signature, size_t len)
{
    bool ok;
    EVP_PKEY_CTX *ctx = NULL;
    if (s->digested) {
        ctx = EVP_PKEY_CTX_new_from_pkey(NULL, s->pkey, NULL);
        ok = EVP_PKEY_verify_init(ctx) == 1 && set_padding(ctx, s) &&
             (s->md == NULL || EVP_PKEY_CTX_set_signature_md(ctx, s->md) == 1) &&
             EVP_PKEY_verify(ctx, signature, len, js_crypto_u8(&s->data), s->data.v.len) == 1;
        EVP_PKEY_CTX_free(ctx);
        return ok;
    }
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    ok = EVP_DigestVerifyInit(md, &ctx, s->md, NULL, s->pkey) == 1 && set_padding(ctx, s) &&
         EVP_DigestVerify(md, signature, len, js_crypto_u8(&s->data), s->data.v.len) == 1;
    EVP_MD_CTX_free(md);
    return ok;
}

/* crypto_sign(key, hash, padding, salt length, ieee, digested, data): an ArrayBuffer; undefined when the key
 * cannot. */
int js_op_crypto_sign(struct js_args *a)
{
    struct signing s = {0};
    int rc = signing_args(a, &s);
    if (rc == 0) {
        unsigned char out[SIGNATURE_MAX], ieee[256];
        size_t len = sizeof(out);
        bool ok = sign(&s, out, &len);
        if (ok && s.ieee) {
            len = to_ieee(s.pkey, out, len, ieee);
            rc = js_crypto_return_copy(a, ieee, len);
        } else if (ok) {
            rc = js_crypto_return_copy(a, out, len);
        }
    }
    EVP_MD_free(s.md);
    return rc;
}

/* crypto_verify(key, hash, padding, salt length, ieee, digested, data, signature): whether it is genuine. */
int js_op_crypto_verify(struct js_args *a)
{
    struct signing s = {0};
    struct js_crypto_in signature;
    int rc = signing_args(a, &s);
    if (rc == 0)
        rc = js_crypto_in(a, 7, &signature);
    if (rc == 0) {
        unsigned char der[256];
        const unsigned char *bytes = js_crypto_u8(&signature);
        size_t len = signature.v.len;
        bool ok = true;
        if (s.ieee) {
            len = to_der(s.pkey, bytes, len, der);
            bytes = der;
            ok = len > 0;
        }
        js_return_bool(a, ok && verify(&s, bytes, len));
    }
    EVP_MD_free(s.md);
    return rc;
}

/* ---- Encryption ---- */

static bool oaep(EVP_PKEY_CTX *ctx, const EVP_MD *md, const struct js_crypto_in *label)
{
    if (EVP_PKEY_CTX_set_rsa_oaep_md(ctx, md) != 1 || EVP_PKEY_CTX_set_rsa_mgf1_md(ctx, md) != 1)
        return false;
    if (label->v.len == 0)
        return true;
    void *copy = OPENSSL_memdup(label->v.ptr, label->v.len);
    if (EVP_PKEY_CTX_set0_rsa_oaep_label(ctx, copy, (int)label->v.len) == 1)
        return true; /* It is ctx's now. */
    OPENSSL_free(copy);
    return false;
}

enum rsa_use { RSA_ENCRYPT, RSA_DECRYPT, RSA_SIGN, RSA_RECOVER };

static bool rsa_run(EVP_PKEY_CTX *ctx, enum rsa_use use, size_t padding, const EVP_MD *md,
                    const struct js_crypto_in *label, const struct js_crypto_in *in, unsigned char *out,
                    size_t *len)
{
    static int (*const init[])(EVP_PKEY_CTX *) = {EVP_PKEY_encrypt_init, EVP_PKEY_decrypt_init,
                                                  EVP_PKEY_sign_init, EVP_PKEY_verify_recover_init};
    static int (*const run[])(EVP_PKEY_CTX *, unsigned char *, size_t *, const unsigned char *, size_t) = {
        EVP_PKEY_encrypt, EVP_PKEY_decrypt, EVP_PKEY_sign, EVP_PKEY_verify_recover};
    return init[use](ctx) == 1 && EVP_PKEY_CTX_set_rsa_padding(ctx, (int)padding) == 1 &&
           (padding != RSA_PKCS1_OAEP_PADDING || oaep(ctx, md, label)) &&
           run[use](ctx, out, len, js_crypto_u8(in), in->v.len) == 1;
}

/* crypto_rsa(key, use, padding, hash, label, data): an ArrayBuffer; undefined when it cannot be done or does
 * not decrypt. use: 0 encrypt, 1 decrypt, 2 with the private key ("private encrypt"), 3 the reverse of it. */
int js_op_crypto_rsa(struct js_args *a)
{
    EVP_PKEY *pkey;
    EVP_MD *md = NULL;
    struct js_crypto_in label, in;
    size_t use = 0, padding = 0;
    int rc = js_crypto_key(a, 0, &pkey);
    if (rc == 0)
        rc = js_crypto_size(a, 1, &use);
    if (rc == 0)
        rc = js_crypto_size(a, 2, &padding);
    if (rc == 0)
        rc = js_crypto_in(a, 4, &label);
    if (rc == 0)
        rc = js_crypto_in(a, 5, &in);
    if (rc == 0)
        rc = js_crypto_md(a, 3, &md);
    if (rc != 0)
        return rc;
    if (use <= RSA_RECOVER) {
        unsigned char out[SIGNATURE_MAX];
        size_t len = sizeof(out);
        ERR_clear_error();
        EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, pkey, NULL);
        if (rsa_run(ctx, (enum rsa_use)use, padding, md, &label, &in, out, &len))
            rc = js_crypto_return_copy(a, out, len);
        OPENSSL_cleanse(out, sizeof(out));
        EVP_PKEY_CTX_free(ctx);
    }
    EVP_MD_free(md);
    return rc;
}

/* ---- Shared secrets ---- */

/* crypto_derive(private key, public key): an ArrayBuffer; undefined when they do not fit or the secret would
 * be zero. */
int js_op_crypto_derive(struct js_args *a)
{
    EVP_PKEY *own, *peer;
    int rc = js_crypto_key(a, 0, &own);
    if (rc == 0)
        rc = js_crypto_key(a, 1, &peer);
    if (rc != 0)
        return rc;
    unsigned char out[SIGNATURE_MAX];
    size_t len = sizeof(out);
    ERR_clear_error();
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, own, NULL);
    if (EVP_PKEY_derive_init(ctx) == 1 && EVP_PKEY_derive_set_peer(ctx, peer) == 1 &&
        EVP_PKEY_derive(ctx, out, &len) == 1)
        rc = js_crypto_return_copy(a, out, len);
    OPENSSL_cleanse(out, sizeof(out));
    EVP_PKEY_CTX_free(ctx);
    return rc;
}
