/* js/ops_crypto_number.c: large numbers, primes and points of curves, for Diffie-Hellman as node:crypto has
 * it. */
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/objects.h>

#include "js/ops_crypto_internal.h"

#define NUMBER_BYTES_MAX 2048 /* 16384 bits: the powers of larger ones take minutes. */
#define POINT_MAX 256

/* A number of an argument, big-endian; NULL where the argument is undefined. To be freed. */
static int number_arg(struct js_args *a, unsigned index, BIGNUM **out)
{
    struct js_crypto_in in;
    int rc = js_crypto_in(a, index, &in);
    *out = NULL;
    if (rc != 0 || js_is_undefined(js_arg(a, index)))
        return rc;
    if (in.v.len > NUMBER_BYTES_MAX)
        return js_throw_error(a->js, JS_RANGE_ERROR, "numbers have at most %d bytes here", NUMBER_BYTES_MAX);
    *out = BN_bin2bn(js_crypto_u8(&in), (int)in.v.len, BN_secure_new());
    return 0;
}

static int return_number(struct js_args *a, const BIGNUM *n)
{
    unsigned char bytes[NUMBER_BYTES_MAX + 1];
    CD_ASSERT((size_t)BN_num_bytes(n) <= sizeof(bytes));
    int len = BN_bn2bin(n, bytes);
    int rc = js_crypto_return_copy(a, bytes, (size_t)len);
    OPENSSL_cleanse(bytes, sizeof(bytes));
    return rc;
}

/* crypto_modexp(base, exponent, modulus): base to the power of exponent; undefined when it cannot be. */
int js_op_crypto_modexp(struct js_args *a)
{
    BIGNUM *n[3] = {NULL}, *r = BN_secure_new();
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < CD_COUNT(n); i++)
        rc = number_arg(a, i, &n[i]);
    ERR_clear_error();
    if (rc == 0 && n[0] != NULL && n[1] != NULL && n[2] != NULL && BN_is_odd(n[2])) {
        BN_CTX *ctx = BN_CTX_secure_new();
        BN_set_flags(n[1], BN_FLG_CONSTTIME);
        if (BN_mod_exp(r, n[0], n[1], n[2], ctx) == 1)
            rc = return_number(a, r);
        BN_CTX_free(ctx);
    }
    for (unsigned i = 0; i < CD_COUNT(n); i++)
        BN_clear_free(n[i]);
    BN_clear_free(r);
    return rc;
}

static int prime_step(int what, int count, BN_GENCB *cb)
{
    (void)what, (void)count;
    return js_terminate_asked(BN_GENCB_get_arg(cb)) ? 0 : 1;
}

/* crypto_prime(bits, safe, add, rem): a prime p, (p - 1) / 2 too when safe, and p % add == rem. */
int js_op_crypto_prime(struct js_args *a)
{
    size_t bits;
    BIGNUM *add, *rem = NULL;
    int rc = js_crypto_size(a, 0, &bits);
    if (rc != 0)
        return rc;
    rc = number_arg(a, 2, &add);
    if (rc == 0)
        rc = number_arg(a, 3, &rem);
    if (rc == 0 && bits <= NUMBER_BYTES_MAX * 8u) {
        BIGNUM *p = BN_new();
        BN_GENCB *cb = BN_GENCB_new();
        BN_GENCB_set(cb, prime_step, a->js);
        ERR_clear_error();
        if (BN_generate_prime_ex(p, (int)bits, js_to_bool(a->js, js_arg(a, 1)), add, rem, cb) == 1)
            rc = return_number(a, p);
        BN_GENCB_free(cb);
        BN_free(p);
    }
    BN_clear_free(add);
    BN_clear_free(rem);
    return rc == 0 ? js_unwind(a) : rc;
}

/* crypto_prime_check(number): whether it is prime, as far as anybody can tell: the rounds are OpenSSL's. */
int js_op_crypto_prime_check(struct js_args *a)
{
    BIGNUM *n;
    int rc = number_arg(a, 0, &n);
    if (rc != 0)
        return rc;
    BN_CTX *ctx = BN_CTX_new();
    BN_GENCB *cb = BN_GENCB_new();
    BN_GENCB_set(cb, prime_step, a->js);
    js_return_bool(a, n != NULL && BN_check_prime(n, ctx, cb) == 1);
    BN_GENCB_free(cb);
    BN_CTX_free(ctx);
    BN_clear_free(n);
    return js_unwind(a);
}

/* crypto_dh_group(bits): the prime of RFC 2409 or RFC 3526 of this length; undefined: there is none. */
int js_op_crypto_dh_group(struct js_args *a)
{
    size_t bits;
    int rc = js_crypto_size(a, 0, &bits);
    if (rc != 0)
        return rc;
    BIGNUM *p = NULL;
    switch (bits) {
    case 768: p = BN_get_rfc2409_prime_768(NULL); break;
    case 1024: p = BN_get_rfc2409_prime_1024(NULL); break;
    case 1536: p = BN_get_rfc3526_prime_1536(NULL); break;
    case 2048: p = BN_get_rfc3526_prime_2048(NULL); break;
    case 3072: p = BN_get_rfc3526_prime_3072(NULL); break;
    case 4096: p = BN_get_rfc3526_prime_4096(NULL); break;
    case 6144: p = BN_get_rfc3526_prime_6144(NULL); break;
    case 8192: p = BN_get_rfc3526_prime_8192(NULL); break;
    }
    if (p != NULL)
        rc = return_number(a, p);
    BN_free(p);
    return rc;
}

/* ---- Points ---- */

static EC_GROUP *group_of(const char *name)
{
    int nid = EC_curve_nist2nid(name);
    if (nid == NID_undef)
        nid = OBJ_sn2nid(name);
    return nid == NID_undef ? NULL : EC_GROUP_new_by_curve_name(nid);
}

/* The point that is given, or that of the private number d; false: there is none. */
static bool point_of(const EC_GROUP *group, const struct js_crypto_in *given, const BIGNUM *d,
                     EC_POINT *point)
{
    const BIGNUM *order = EC_GROUP_get0_order(group);
    if (d == NULL)
        return EC_POINT_oct2point(group, point, js_crypto_u8(given), given->v.len, NULL) == 1 &&
               !EC_POINT_is_at_infinity(group, point);
    return !BN_is_zero(d) && BN_cmp(d, order) < 0 && EC_POINT_mul(group, point, d, NULL, NULL, NULL) == 1;
}

/* crypto_ec_point(curve, point, d, form): the point, or that of d, in this form: 2 compressed, 4 not, 6
 * hybrid. undefined: it is none of the curve. null: there is no such curve. */
int js_op_crypto_ec_point(struct js_args *a)
{
    struct js_crypto_name curve;
    struct js_crypto_in given;
    BIGNUM *d = NULL;
    size_t form = 0;
    int rc = js_crypto_name(a, 0, &curve);
    if (rc == 0)
        rc = js_crypto_in(a, 1, &given);
    if (rc == 0)
        rc = js_crypto_size(a, 3, &form);
    if (rc == 0)
        rc = number_arg(a, 2, &d);
    if (rc != 0)
        return rc;
    ERR_clear_error();
    EC_GROUP *group = group_of(curve.text);
    if (group == NULL) {
        js_return(a, js_null(a->js));
    } else {
        unsigned char out[POINT_MAX];
        EC_POINT *point = EC_POINT_new(group);
        size_t len = 0;
        if (point_of(group, &given, d, point))
            len = EC_POINT_point2oct(group, point, (point_conversion_form_t)form, out, sizeof(out), NULL);
        if (len > 0)
            rc = js_crypto_return_copy(a, out, len);
        EC_POINT_free(point);
    }
    EC_GROUP_free(group);
    BN_clear_free(d);
    return rc;
}

/* crypto_curves(): the names of all curves. */
int js_op_crypto_curves(struct js_args *a)
{
    EC_builtin_curve curve[128];
    size_t count = EC_get_builtin_curves(curve, CD_COUNT(curve));
    js_value list = js_array(a->js, NULL, 0);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count && i < CD_COUNT(curve); i++) {
        const char *name = OBJ_nid2sn(curve[i].nid);
        rc = js_set_index(a->js, list, (unsigned)i, js_text(a->js, name != NULL ? name : ""));
    }
    if (rc == 0)
        js_return(a, list);
    return rc;
}
