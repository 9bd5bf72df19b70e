/* js/ops_crypto.c: cryptography: arguments, results and objects of OpenSSL, and what needs no key. */
#include "js/ops_crypto.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/kdf.h>

#include "base/encode.h"
#include "js/ops_crypto_internal.h"

/* ---- Arguments ---- */

int js_crypto_in(struct js_args *a, unsigned index, struct js_crypto_in *out)
{
    js_value v = js_arg(a, index);
    enum js_kind kind = js_kind(v);
    out->v = (struct cd_str){0};
    if (kind == JS_UNDEFINED || kind == JS_NULL || js_bytes_read(v, out->small, &out->v))
        return 0;
    return js_throw_error(a->js, JS_TYPE_ERROR, "not an ArrayBuffer or a view");
}

int js_crypto_name(struct js_args *a, unsigned index, struct js_crypto_name *out)
{
    out->text[0] = '\0';
    if (js_is_undefined(js_arg(a, index)))
        return 0;
    struct cd_buf text = {0};
    int rc = js_to_utf8(a->js, js_arg(a, index), &text);
    if (rc == 0 && text.len < sizeof(out->text))
        memcpy(out->text, cd_buf_cstr(&text), text.len + 1);
    else if (rc == 0)
        memcpy(out->text, "(too long)", sizeof("(too long)")); /* No algorithm has this name. */
    cd_buf_deinit(&text);
    return rc;
}

int js_crypto_size(struct js_args *a, unsigned index, size_t *out)
{
    uint64_t v;
    int rc = js_arg_u64(a, index, &v);
    if (rc != 0)
        return rc;
    if (v > INT32_MAX)
        return js_throw_error(a->js, JS_RANGE_ERROR, "%llu is too large", (unsigned long long)v);
    *out = (size_t)v;
    return 0;
}

int js_crypto_md(struct js_args *a, unsigned index, EVP_MD **out)
{
    struct js_crypto_name name;
    int rc = js_crypto_name(a, index, &name);
    if (rc == 0)
        *out = name.text[0] == '\0' ? NULL : EVP_MD_fetch(NULL, name.text, NULL);
    return rc;
}

/* ---- Results ---- */

int js_crypto_out(struct js_args *a, size_t len, js_value *out, unsigned char **bytes)
{
    js_value v;
    int rc = js_buffer(a->js, len, &v);
    if (rc != 0)
        return rc;
    struct js_bytes b;
    bool is_buffer = js_bytes(v, &b);
    CD_ASSERT(is_buffer && b.len == len);
    *out = v;
    *bytes = b.ptr;
    return 0;
}

int js_crypto_return_copy(struct js_args *a, const void *bytes, size_t len)
{
    js_value v;
    int rc = js_buffer_copy(a->js, cd_str_of(bytes, len), &v);
    if (rc == 0)
        js_return(a, v);
    return rc;
}

int js_crypto_return_text(struct js_args *a, const char *text)
{
    js_value v;
    int rc = js_string(a->js, cd_str_of(text, strlen(text)), &v);
    if (rc == 0)
        js_return(a, v);
    return rc;
}

/* ---- Objects ---- */

static void object_gone(struct js_weak *w)
{
    struct js_crypto_object *o = CD_CONTAINER(w, struct js_crypto_object, weak);
    o->type->free(o);
}

js_value js_crypto_wrap(struct js_isolate *js, struct js_crypto_object *o, const struct js_crypto_type *type)
{
    o->type = type;
    js_value v = js_external(js, o);
    js_weak_set(js, &o->weak, v, object_gone);
    return v;
}

int js_crypto_object(struct js_args *a, unsigned index, const struct js_crypto_type *type,
                     struct js_crypto_object **out)
{
    js_value v = js_arg(a, index);
    struct js_crypto_object *o = js_is(v, JS_IS_EXTERNAL) ? js_as_external(v) : NULL;
    if (o == NULL || o->type != type)
        return js_throw_error(a->js, JS_TYPE_ERROR, "not %s", type->name);
    *out = o;
    return 0;
}

/* ---- Bytes ---- */

/* crypto_copy(bytes): a Uint8Array of its own, which user code has not touched. */
int js_op_crypto_copy(struct js_args *a)
{
    struct js_crypto_in in;
    js_value v;
    int rc = js_crypto_in(a, 0, &in);
    if (rc == 0)
        rc = js_uint8_array_copy(a->js, in.v, &v);
    if (rc == 0)
        js_return(a, v);
    return rc;
}

/* crypto_first_bits(bytes, bits): an ArrayBuffer of them; what is left of the last byte is zero. */
int js_op_crypto_first_bits(struct js_args *a)
{
    struct js_crypto_in in;
    size_t bits = 0;
    int rc = js_crypto_in(a, 0, &in);
    if (rc == 0)
        rc = js_crypto_size(a, 1, &bits);
    if (rc != 0)
        return rc;
    if ((bits + 7) / 8 > in.v.len)
        return js_throw_error(a->js, JS_RANGE_ERROR, "there are fewer than %zu bits", bits);
    js_value v;
    unsigned char *out;
    size_t len = (bits + 7) / 8;
    rc = js_crypto_out(a, len, &v, &out);
    if (rc != 0)
        return rc;
    if (len > 0)
        memcpy(out, in.v.ptr, len);
    if (bits % 8 != 0)
        out[len - 1] &= (unsigned char)(0xff << (8 - bits % 8));
    js_return(a, v);
    return 0;
}

/* crypto_equal(bytes, bytes): in a time that depends on their length only; undefined when the lengths differ.
 */
int js_op_crypto_equal(struct js_args *a)
{
    struct js_crypto_in x, y;
    int rc = js_crypto_in(a, 0, &x);
    if (rc == 0)
        rc = js_crypto_in(a, 1, &y);
    if (rc == 0 && x.v.len == y.v.len)
        js_return_bool(a, CRYPTO_memcmp(js_crypto_u8(&x), js_crypto_u8(&y), x.v.len) == 0);
    return rc;
}

/* crypto_error(): what OpenSSL said of the last failure: [text, library, reason]; undefined: nothing. Clears
 * it. */
int js_op_crypto_error(struct js_args *a)
{
    unsigned long code = ERR_peek_error();
    ERR_clear_error();
    if (code == 0)
        return 0;
    char text[256];
    ERR_error_string_n(code, text, sizeof(text));
    const char *library = ERR_lib_error_string(code), *reason = ERR_reason_error_string(code);
    const js_value parts[] = {js_text(a->js, text), js_text(a->js, library != NULL ? library : ""),
                              js_text(a->js, reason != NULL ? reason : "")};
    js_return(a, js_array(a->js, parts, CD_COUNT(parts)));
    return 0;
}

/* crypto_uuid(): a random UUID, version 4. */
int js_op_crypto_uuid(struct js_args *a)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[16];
    char text[36], *at = text;
    io_random(js_worker_of(a)->io, IO_RAND_JS, bytes, sizeof(bytes));
    bytes[6] = (uint8_t)((bytes[6] & 0x0f) | 0x40);
    bytes[8] = (uint8_t)((bytes[8] & 0x3f) | 0x80);
    for (unsigned i = 0; i < sizeof(bytes); i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *at++ = '-';
        *at++ = digits[bytes[i] >> 4];
        *at++ = digits[bytes[i] & 15];
    }
    js_value v;
    int rc = js_string_latin1(a->js, cd_str_of(text, sizeof(text)), &v);
    if (rc == 0)
        js_return(a, v);
    return rc;
}

/* crypto_base64url(bytes): without padding, as JSON Web Keys have it. */
int js_op_crypto_base64url(struct js_args *a)
{
    struct js_crypto_in in;
    struct cd_buf text = {0};
    js_value v;
    int rc = js_crypto_in(a, 0, &in);
    if (rc == 0) {
        cd_base64_encode(&text, in.v, CD_BASE64_URL, false);
        rc = js_string_latin1(a->js, cd_buf_str(&text), &v);
    }
    if (rc == 0)
        js_return(a, v);
    if (text.len > 0)
        OPENSSL_cleanse(text.ptr, text.len);
    cd_buf_deinit(&text);
    return rc;
}

/* crypto_base64url_decode(text): a Uint8Array; undefined when it is malformed. */
int js_op_crypto_base64url_decode(struct js_args *a)
{
    struct cd_buf text = {0}, bytes = {0};
    js_value v;
    int rc = js_to_utf8(a->js, js_arg(a, 0), &text);
    if (rc == 0 && cd_base64_decode(&bytes, cd_buf_str(&text), CD_BASE64_URL) == 0) {
        rc = js_uint8_array_copy(a->js, cd_buf_str(&bytes), &v);
        if (rc == 0)
            js_return(a, v);
    }
    if (bytes.len > 0)
        OPENSSL_cleanse(bytes.ptr, bytes.len);
    cd_buf_deinit(&bytes);
    cd_buf_deinit(&text);
    return rc;
}

/* ---- Derivation from secrets ---- */

/* What derives len bytes through OpenSSL's key derivation `name`; undefined when it refuses. */
static int derive(struct js_args *a, const char *name, size_t len, const OSSL_PARAM *params)
{
    js_value v;
    unsigned char *out;
    int rc = js_crypto_out(a, len, &v, &out);
    if (rc != 0)
        return rc;
    ERR_clear_error();
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, name, NULL);
    EVP_KDF_CTX *ctx = EVP_KDF_CTX_new(kdf);
    if (len == 0 || EVP_KDF_derive(ctx, out, len, params) == 1)
        js_return(a, v);
    EVP_KDF_CTX_free(ctx);
    EVP_KDF_free(kdf);
    return 0;
}

static OSSL_PARAM octets(const char *key, const struct js_crypto_in *in)
{
    /* OpenSSL reads through it only. */
    return OSSL_PARAM_construct_octet_string(key, (void *)(uintptr_t)js_crypto_u8(in), in->v.len);
}

/* crypto_hkdf(hash, key, salt, info, length) */
int js_op_crypto_hkdf(struct js_args *a)
{
    struct js_crypto_name hash;
    struct js_crypto_in key, salt, info;
    size_t len = 0;
    int rc = js_crypto_name(a, 0, &hash);
    if (rc == 0)
        rc = js_crypto_in(a, 1, &key);
    if (rc == 0)
        rc = js_crypto_in(a, 2, &salt);
    if (rc == 0)
        rc = js_crypto_in(a, 3, &info);
    if (rc == 0)
        rc = js_crypto_size(a, 4, &len);
    if (rc != 0)
        return rc;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string("digest", hash.text, 0), octets("key", &key),
                           octets("salt", &salt), octets("info", &info), OSSL_PARAM_construct_end()};
    return derive(a, "HKDF", len, params);
}

/* crypto_pbkdf2(hash, password, salt, iterations, length). It runs in the turn, so the prelude bounds the
 * iterations. */
int js_op_crypto_pbkdf2(struct js_args *a)
{
    struct js_crypto_name hash;
    struct js_crypto_in password, salt;
    size_t iterations, len = 0;
    int rc = js_crypto_name(a, 0, &hash);
    if (rc == 0)
        rc = js_crypto_in(a, 1, &password);
    if (rc == 0)
        rc = js_crypto_in(a, 2, &salt);
    if (rc == 0)
        rc = js_crypto_size(a, 3, &iterations);
    if (rc == 0)
        rc = js_crypto_size(a, 4, &len);
    if (rc != 0)
        return rc;
    int any = 1; /* Short salts and few iterations are the caller's choice. */
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string("digest", hash.text, 0),
                           octets("pass", &password),
                           octets("salt", &salt),
                           OSSL_PARAM_construct_size_t("iter", &iterations),
                           OSSL_PARAM_construct_int("pkcs5", &any),
                           OSSL_PARAM_construct_end()};
    return derive(a, "PBKDF2", len, params);
}

/* crypto_scrypt(password, salt, N, r, p, maxmem, length) */
int js_op_crypto_scrypt(struct js_args *a)
{
    struct js_crypto_in password, salt;
    uint64_t cost[4] = {0};
    size_t len = 0;
    int rc = js_crypto_in(a, 0, &password);
    if (rc == 0)
        rc = js_crypto_in(a, 1, &salt);
    for (unsigned i = 0; rc == 0 && i < CD_COUNT(cost); i++)
        rc = js_arg_u64(a, 2 + i, &cost[i]);
    if (rc == 0)
        rc = js_crypto_size(a, 6, &len);
    if (rc != 0)
        return rc;
    OSSL_PARAM params[] = {octets("pass", &password),
                           octets("salt", &salt),
                           OSSL_PARAM_construct_uint64("n", &cost[0]),
                           OSSL_PARAM_construct_uint64("r", &cost[1]),
                           OSSL_PARAM_construct_uint64("p", &cost[2]),
                           OSSL_PARAM_construct_uint64("maxmem_bytes", &cost[3]),
                           OSSL_PARAM_construct_end()};
    return derive(a, "SCRYPT", len, params);
}
