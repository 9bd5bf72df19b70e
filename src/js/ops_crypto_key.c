/* js/ops_crypto_key.c: asymmetric keys: made, decoded, encoded, taken apart. */
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/decoder.h>
#include <openssl/encoder.h>
#include <openssl/err.h>
#include <openssl/param_build.h>

#include "js/ops_crypto_internal.h"

#define EC_POINT_MAX 133 /* Uncompressed, of P-521. */
#define RSA_BITS_MAX 16384

static void key_free(struct js_crypto_object *o)
{
    struct js_crypto_key *k = CD_CONTAINER(o, struct js_crypto_key, object);
    EVP_PKEY_free(k->pkey);
    cd_free(k);
}

static const struct js_crypto_type key_type = {"a key", key_free};

int js_crypto_key(struct js_args *a, unsigned index, EVP_PKEY **out)
{
    struct js_crypto_object *o;
    int rc = js_crypto_object(a, index, &key_type, &o);
    if (rc == 0)
        *out = CD_CONTAINER(o, struct js_crypto_key, object)->pkey;
    return rc;
}

void js_crypto_return_key(struct js_args *a, EVP_PKEY *pkey)
{
    if (pkey == NULL)
        return;
    struct js_crypto_key *k = cd_new(struct js_crypto_key);
    k->pkey = pkey;
    js_return(a, js_crypto_wrap(a->js, &k->object, &key_type));
}

/* ---- Generation ---- */

/* Called between the steps of a search for primes: a worker that is to be stopped is. */
static int generate_step(EVP_PKEY_CTX *ctx)
{
    return js_terminate_asked(EVP_PKEY_CTX_get_app_data(ctx)) ? 0 : 1;
}

/* crypto_key_generate(type, curve or bits, exponent): a private key, or undefined. type: OpenSSL's: "RSA",
 * "RSA-PSS", "EC", "ED25519", "X25519", ... The entropy is OpenSSL's: docs/js-engine.md. */
int js_op_crypto_key_generate(struct js_args *a)
{
    struct js_crypto_name type, curve = {0};
    uint64_t bits = 0, exponent = 0;
    int rc = js_crypto_name(a, 0, &type);
    bool rsa = rc == 0 && strncmp(type.text, "RSA", 3) == 0;
    if (rc == 0)
        rc = rsa ? js_arg_u64(a, 1, &bits) : js_crypto_name(a, 1, &curve);
    if (rc == 0 && rsa)
        rc = js_arg_u64(a, 2, &exponent);
    if (rc != 0 || bits > RSA_BITS_MAX)
        return rc;
    ERR_clear_error();
    EVP_PKEY *pkey = NULL;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type.text, NULL);
    size_t size = (size_t)bits;
    OSSL_PARAM params[3] = {OSSL_PARAM_construct_end(), OSSL_PARAM_construct_end(),
                            OSSL_PARAM_construct_end()};
    if (rsa) {
        params[0] = OSSL_PARAM_construct_size_t(OSSL_PKEY_PARAM_RSA_BITS, &size);
        params[1] = OSSL_PARAM_construct_uint64(OSSL_PKEY_PARAM_RSA_E, &exponent);
    } else if (curve.text[0] != '\0') {
        params[0] = OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, curve.text, 0);
    }
    if (ctx != NULL && EVP_PKEY_keygen_init(ctx) == 1 && EVP_PKEY_CTX_set_params(ctx, params) == 1) {
        EVP_PKEY_CTX_set_app_data(ctx, a->js);
        EVP_PKEY_CTX_set_cb(ctx, generate_step);
        if (EVP_PKEY_generate(ctx, &pkey) != 1)
            pkey = NULL;
    }
    EVP_PKEY_CTX_free(ctx);
    js_crypto_return_key(a, pkey);
    return js_unwind(a);
}

/* ---- Encodings ---- */

static int selection_of(const struct js_crypto_name *what)
{
    if (strcmp(what->text, "public") == 0)
        return EVP_PKEY_PUBLIC_KEY;
    return strcmp(what->text, "private") == 0 ? EVP_PKEY_KEYPAIR : 0;
}

static const char *text_or_null(const struct js_crypto_name *name)
{
    return name->text[0] != '\0' ? name->text : NULL;
}

/* Whether DER is that of PKCS #8: a version and then a sequence; or encrypted: a sequence first. OpenSSL
 * would take PKCS #1 and SEC 1 for it. */
static bool looks_like(const char *structure, struct cd_str der)
{
    bool plain = strcmp(structure, "PrivateKeyInfo") == 0;
    if (!plain && strcmp(structure, "EncryptedPrivateKeyInfo") != 0)
        return true;
    const unsigned char *p = (const unsigned char *)der.ptr;
    size_t head = der.len > 1 && p[1] > 0x80 ? 2 + (p[1] & 0x7fu) : 2;
    if (der.len <= head + 3 || p[0] != 0x30)
        return false;
    return plain ? p[head] == 0x02 && p[head + 1] == 1 && p[head + 3] == 0x30 : p[head] == 0x30;
}

/* crypto_key_decode(form, structure, type, what, bytes, passphrase): a key; undefined when bytes are not one,
 * to the last byte for DER. form: "DER", "PEM". structure: "SubjectPublicKeyInfo", "PrivateKeyInfo",
 * "EncryptedPrivateKeyInfo", "type-specific" or any. type: of the key, or any. what: "public", "private" or
 * any. */
int js_op_crypto_key_decode(struct js_args *a)
{
    struct js_crypto_name form, structure, type, what;
    struct js_crypto_in in, passphrase;
    int rc = js_crypto_name(a, 0, &form);
    if (rc == 0)
        rc = js_crypto_name(a, 1, &structure);
    if (rc == 0)
        rc = js_crypto_name(a, 2, &type);
    if (rc == 0)
        rc = js_crypto_name(a, 3, &what);
    if (rc == 0)
        rc = js_crypto_in(a, 4, &in);
    if (rc == 0)
        rc = js_crypto_in(a, 5, &passphrase);
    if (rc != 0 || (strcmp(form.text, "DER") == 0 && !looks_like(structure.text, in.v)))
        return rc;
    ERR_clear_error();
    EVP_PKEY *pkey = NULL;
    OSSL_DECODER_CTX *ctx = OSSL_DECODER_CTX_new_for_pkey(
        &pkey, form.text, text_or_null(&structure), text_or_null(&type), selection_of(&what), NULL, NULL);
    const unsigned char *at = js_crypto_u8(&in);
    size_t left = in.v.len;
    if (!js_is_undefined(js_arg(a, 5)))
        OSSL_DECODER_CTX_set_passphrase(ctx, js_crypto_u8(&passphrase), passphrase.v.len);
    if (OSSL_DECODER_from_data(ctx, &at, &left) != 1 || (left > 0 && strcmp(form.text, "DER") == 0)) {
        EVP_PKEY_free(pkey);
        pkey = NULL;
    }
    OSSL_DECODER_CTX_free(ctx);
    js_crypto_return_key(a, pkey);
    return 0;
}

/* crypto_key_encode(key, form, structure, what, cipher, passphrase): an ArrayBuffer; undefined when the key
 * has no such form. */
int js_op_crypto_key_encode(struct js_args *a)
{
    EVP_PKEY *pkey;
    struct js_crypto_name form, structure, what, cipher;
    struct js_crypto_in passphrase;
    int rc = js_crypto_key(a, 0, &pkey);
    if (rc == 0)
        rc = js_crypto_name(a, 1, &form);
    if (rc == 0)
        rc = js_crypto_name(a, 2, &structure);
    if (rc == 0)
        rc = js_crypto_name(a, 3, &what);
    if (rc == 0)
        rc = js_crypto_name(a, 4, &cipher);
    if (rc == 0)
        rc = js_crypto_in(a, 5, &passphrase);
    if (rc != 0)
        return rc;
    ERR_clear_error();
    OSSL_ENCODER_CTX *ctx =
        OSSL_ENCODER_CTX_new_for_pkey(pkey, selection_of(&what), form.text, text_or_null(&structure), NULL);
    bool ok = true;
    if (cipher.text[0] != '\0')
        ok = OSSL_ENCODER_CTX_set_cipher(ctx, cipher.text, NULL) == 1 &&
             OSSL_ENCODER_CTX_set_passphrase(ctx, js_crypto_u8(&passphrase), passphrase.v.len) == 1;
    unsigned char *out = NULL;
    size_t len = 0;
    if (ok && OSSL_ENCODER_to_data(ctx, &out, &len) == 1)
        rc = js_crypto_return_copy(a, out, len);
    OPENSSL_clear_free(out, len);
    OSSL_ENCODER_CTX_free(ctx);
    return rc;
}

/* ---- From parts ---- */

static EVP_PKEY *from_params(const char *type, int selection, OSSL_PARAM_BLD *build)
{
    EVP_PKEY *pkey = NULL;
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    if (params == NULL || EVP_PKEY_fromdata_init(ctx) != 1 ||
        EVP_PKEY_fromdata(ctx, &pkey, selection, params) != 1)
        pkey = NULL;
    EVP_PKEY_CTX_free(ctx);
    OSSL_PARAM_free(params);
    return pkey;
}

/* crypto_key_from_raw(type, private, bytes): "ED25519", "X25519", "ED448", "X448"; undefined when they do not
 * fit. */
int js_op_crypto_key_from_raw(struct js_args *a)
{
    struct js_crypto_name type;
    struct js_crypto_in in;
    int rc = js_crypto_name(a, 0, &type);
    if (rc == 0)
        rc = js_crypto_in(a, 2, &in);
    if (rc != 0)
        return rc;
    ERR_clear_error();
    EVP_PKEY *pkey = js_to_bool(a->js, js_arg(a, 1))
                         ? EVP_PKEY_new_raw_private_key_ex(NULL, type.text, NULL, js_crypto_u8(&in), in.v.len)
                         : EVP_PKEY_new_raw_public_key_ex(NULL, type.text, NULL, js_crypto_u8(&in), in.v.len);
    js_crypto_return_key(a, pkey);
    return 0;
}

/* crypto_key_from_ec(curve, point, d): point: encoded as X9.62 does; d undefined: a public key. undefined
 * when the point is not on the curve, or not d's. */
int js_op_crypto_key_from_ec(struct js_args *a)
{
    struct js_crypto_name curve;
    struct js_crypto_in point, d;
    int rc = js_crypto_name(a, 0, &curve);
    if (rc == 0)
        rc = js_crypto_in(a, 1, &point);
    if (rc == 0)
        rc = js_crypto_in(a, 2, &d);
    if (rc != 0 || point.v.len > EC_POINT_MAX || d.v.len > EC_POINT_MAX)
        return rc;
    ERR_clear_error();
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    BIGNUM *secret = NULL;
    bool private = !js_is_undefined(js_arg(a, 2));
    OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, curve.text, 0);
    OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, js_crypto_u8(&point), point.v.len);
    if (private) {
        secret = BN_secure_new();
        BN_bin2bn(js_crypto_u8(&d), (int)d.v.len, secret);
        OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_PRIV_KEY, secret);
    }
    EVP_PKEY *pkey = from_params("EC", private ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY, build);
    EVP_PKEY_CTX *check = pkey != NULL ? EVP_PKEY_CTX_new_from_pkey(NULL, pkey, NULL) : NULL;
    if (check != NULL && (private ? EVP_PKEY_check(check) : EVP_PKEY_public_check(check)) != 1) {
        EVP_PKEY_free(pkey);
        pkey = NULL;
    }
    EVP_PKEY_CTX_free(check);
    BN_clear_free(secret);
    OSSL_PARAM_BLD_free(build);
    js_crypto_return_key(a, pkey);
    return 0;
}

/* The parts of an RSA key, in the order that JSON Web Keys have them. */
enum { RSA_N, RSA_E, RSA_D, RSA_P, RSA_Q, RSA_DP, RSA_DQ, RSA_QI, RSA_PARTS };
static const char *const rsa_names[RSA_PARTS] = {
    OSSL_PKEY_PARAM_RSA_N,         OSSL_PKEY_PARAM_RSA_E,           OSSL_PKEY_PARAM_RSA_D,
    OSSL_PKEY_PARAM_RSA_FACTOR1,   OSSL_PKEY_PARAM_RSA_FACTOR2,     OSSL_PKEY_PARAM_RSA_EXPONENT1,
    OSSL_PKEY_PARAM_RSA_EXPONENT2, OSSL_PKEY_PARAM_RSA_COEFFICIENT1};

/* x * y % m is 1, or x % m is y, for m = of - 1. */
static bool inverse_below(const BIGNUM *x, const BIGNUM *y, const BIGNUM *of, BN_CTX *ctx)
{
    BIGNUM *m = BN_CTX_get(ctx), *r = BN_CTX_get(ctx);
    return r != NULL && BN_sub(m, of, BN_value_one()) == 1 && !BN_is_zero(m) &&
           BN_mod_mul(r, x, y, m, ctx) == 1 && BN_is_one(r);
}

static bool same_below(const BIGNUM *x, const BIGNUM *y, const BIGNUM *of, BN_CTX *ctx)
{
    BIGNUM *m = BN_CTX_get(ctx), *r = BN_CTX_get(ctx);
    return r != NULL && BN_sub(m, of, BN_value_one()) == 1 && !BN_is_zero(m) && BN_mod(r, x, m, ctx) == 1 &&
           BN_cmp(r, y) == 0;
}

/* Whether the parts of a private key belong together. Whether p and q are prime is not asked: that takes
 * longer than anything the key will do, and harms only whoever made it. */
static bool rsa_fits(BIGNUM *const part[RSA_PARTS])
{
    BN_CTX *ctx = BN_CTX_secure_new();
    BN_CTX_start(ctx);
    const BIGNUM *p = part[RSA_P], *q = part[RSA_Q], *d = part[RSA_D];
    BIGNUM *r = BN_CTX_get(ctx);
    bool fits = !BN_is_zero(p) && !BN_is_zero(q) && !BN_is_zero(d) && BN_mul(r, p, q, ctx) == 1 &&
                BN_cmp(r, part[RSA_N]) == 0 && inverse_below(part[RSA_E], d, p, ctx) &&
                inverse_below(part[RSA_E], d, q, ctx) && same_below(d, part[RSA_DP], p, ctx) &&
                same_below(d, part[RSA_DQ], q, ctx) && BN_mod_mul(r, part[RSA_QI], q, p, ctx) == 1 &&
                BN_is_one(r);
    BN_CTX_end(ctx);
    BN_CTX_free(ctx);
    return fits;
}

/* Of a key that was decoded: the same. */
static bool rsa_key_fits(const EVP_PKEY *pkey)
{
    BIGNUM *part[RSA_PARTS] = {NULL};
    bool fits = true;
    for (unsigned i = 0; i < RSA_PARTS; i++)
        fits = EVP_PKEY_get_bn_param(pkey, rsa_names[i], &part[i]) == 1 && fits;
    fits = fits && rsa_fits(part);
    for (unsigned i = 0; i < RSA_PARTS; i++)
        BN_clear_free(part[i]);
    return fits;
}

/* crypto_key_from_rsa(n, e, d, p, q, dp, dq, qi): d and the following undefined: a public key. undefined when
 * they do not belong together. */
int js_op_crypto_key_from_rsa(struct js_args *a)
{
    struct js_crypto_in in;
    BIGNUM *part[RSA_PARTS] = {NULL};
    unsigned count = js_is_undefined(js_arg(a, RSA_D)) ? RSA_D : RSA_PARTS;
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    int rc = 0;
    bool fits = true;
    for (unsigned i = 0; rc == 0 && i < count; i++) {
        rc = js_crypto_in(a, i, &in);
        fits = fits && rc == 0 && in.v.len <= RSA_BITS_MAX / 8 + 1;
        if (!fits)
            break;
        part[i] = i < RSA_D ? BN_new() : BN_secure_new();
        BN_bin2bn(js_crypto_u8(&in), (int)in.v.len, part[i]);
        OSSL_PARAM_BLD_push_BN(build, rsa_names[i], part[i]);
    }
    ERR_clear_error();
    EVP_PKEY *pkey = NULL;
    if (fits && (count == RSA_D || rsa_fits(part)))
        pkey = from_params("RSA", count == RSA_D ? EVP_PKEY_PUBLIC_KEY : EVP_PKEY_KEYPAIR, build);
    OSSL_PARAM_BLD_free(build);
    for (unsigned i = 0; i < RSA_PARTS; i++)
        BN_clear_free(part[i]);
    if (rc == 0)
        js_crypto_return_key(a, pkey);
    return rc;
}

/* crypto_key_check(key, private): whether the parts of a key that was decoded belong together. */
int js_op_crypto_key_check(struct js_args *a)
{
    EVP_PKEY *pkey;
    int rc = js_crypto_key(a, 0, &pkey);
    if (rc != 0)
        return rc;
    bool private = js_to_bool(a->js, js_arg(a, 1)), fits;
    if (EVP_PKEY_is_a(pkey, "RSA") || EVP_PKEY_is_a(pkey, "RSA-PSS")) {
        fits = !private || rsa_key_fits(pkey);
    } else {
        EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, pkey, NULL);
        fits = (private ? EVP_PKEY_pairwise_check(ctx) : EVP_PKEY_public_check(ctx)) == 1;
        EVP_PKEY_CTX_free(ctx);
    }
    js_return_bool(a, fits);
    return 0;
}

/* ---- Into parts ---- */

/* crypto_key_info(key): [OpenSSL's type, bits, curve or undefined, bits of DSA's q or undefined]. */
int js_op_crypto_key_info(struct js_args *a)
{
    EVP_PKEY *pkey;
    int rc = js_crypto_key(a, 0, &pkey);
    if (rc != 0)
        return rc;
    char curve[JS_CRYPTO_NAME_MAX] = "";
    size_t len;
    const char *type = EVP_PKEY_get0_type_name(pkey);
    ERR_clear_error();
    bool has_curve =
        EVP_PKEY_get_utf8_string_param(pkey, OSSL_PKEY_PARAM_GROUP_NAME, curve, sizeof(curve), &len);
    BIGNUM *q = NULL;
    bool has_q = EVP_PKEY_get_bn_param(pkey, OSSL_PKEY_PARAM_FFC_Q, &q) == 1;
    const js_value info[] = {js_text(a->js, type != NULL ? type : ""), js_int(a->js, EVP_PKEY_get_bits(pkey)),
                             has_curve ? js_text(a->js, curve) : js_undefined(a->js),
                             has_q ? js_int(a->js, BN_num_bits(q)) : js_undefined(a->js)};
    BN_free(q);
    js_return(a, js_array(a->js, info, CD_COUNT(info)));
    return 0;
}

/* A number of the key as a buffer of size bytes, or of as many as it needs when size is 0. */
static int number_part(struct js_args *a, EVP_PKEY *pkey, const char *name, size_t size, js_value *out)
{
    BIGNUM *n = NULL;
    if (EVP_PKEY_get_bn_param(pkey, name, &n) != 1) {
        *out = js_undefined(a->js);
        return 0;
    }
    unsigned char bytes[RSA_BITS_MAX / 8 + 1];
    size_t len = size > 0 ? size : (size_t)BN_num_bytes(n);
    int rc = CD_EINVAL;
    if (len <= sizeof(bytes) && BN_bn2binpad(n, bytes, (int)len) >= 0)
        rc = js_buffer_copy(a->js, cd_str_of((char *)bytes, len), out);
    OPENSSL_cleanse(bytes, sizeof(bytes));
    BN_clear_free(n);
    return rc;
}

static int raw_part(struct js_args *a, const EVP_PKEY *pkey, bool private, js_value *out)
{
    unsigned char bytes[64];
    size_t len = sizeof(bytes);
    int ok = private ? EVP_PKEY_get_raw_private_key(pkey, bytes, &len)
                     : EVP_PKEY_get_raw_public_key(pkey, bytes, &len);
    int rc = 0;
    if (ok == 1)
        rc = js_buffer_copy(a->js, cd_str_of((char *)bytes, len), out);
    else
        *out = js_undefined(a->js);
    OPENSSL_cleanse(bytes, sizeof(bytes));
    return rc;
}

/* crypto_key_parts(key, private): RSA: [n, e, d, p, q, dp, dq, qi]; EC: [x, y, d]; others: [public, private].
 * What is not asked for, or not there, is undefined. */
int js_op_crypto_key_parts(struct js_args *a)
{
    EVP_PKEY *pkey;
    int rc = js_crypto_key(a, 0, &pkey);
    if (rc != 0)
        return rc;
    bool private = js_to_bool(a->js, js_arg(a, 1));
    js_value part[RSA_PARTS];
    for (unsigned i = 0; i < RSA_PARTS; i++)
        part[i] = js_undefined(a->js);
    unsigned count = 2;
    if (EVP_PKEY_is_a(pkey, "RSA") || EVP_PKEY_is_a(pkey, "RSA-PSS")) {
        count = RSA_PARTS;
        for (unsigned i = 0; rc == 0 && i < (private ? RSA_PARTS : RSA_D); i++)
            rc = number_part(a, pkey, rsa_names[i], 0, &part[i]);
    } else if (EVP_PKEY_is_a(pkey, "EC")) {
        size_t size = ((size_t)EVP_PKEY_get_bits(pkey) + 7) / 8;
        count = 3;
        rc = number_part(a, pkey, OSSL_PKEY_PARAM_EC_PUB_X, size, &part[0]);
        if (rc == 0)
            rc = number_part(a, pkey, OSSL_PKEY_PARAM_EC_PUB_Y, size, &part[1]);
        if (rc == 0 && private)
            rc = number_part(a, pkey, OSSL_PKEY_PARAM_PRIV_KEY, size, &part[2]);
    } else {
        rc = raw_part(a, pkey, false, &part[0]);
        if (rc == 0 && private)
            rc = raw_part(a, pkey, true, &part[1]);
    }
    if (rc == 0)
        js_return(a, js_array(a->js, part, count));
    return rc;
}

/* crypto_key_equal(key, key): whether their public halves are the same. */
int js_op_crypto_key_equal(struct js_args *a)
{
    EVP_PKEY *x, *y;
    int rc = js_crypto_key(a, 0, &x);
    if (rc == 0)
        rc = js_crypto_key(a, 1, &y);
    if (rc == 0)
        js_return_bool(a, EVP_PKEY_eq(x, y) == 1);
    return rc;
}
