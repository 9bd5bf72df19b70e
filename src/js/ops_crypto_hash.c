/* js/ops_crypto_hash.c: hashes, HMAC and checksums, in one go and piece by piece. */
#include <openssl/err.h>
#include <openssl/hmac.h>
#include <zlib.h>

#include "base/encode.h"
#include "js/ops_crypto_internal.h"

/* ---- Checksums ---- */

/* CRC-64/NVME, bit by bit reflected; the table is made for each use of more than a few bytes. */
#define CRC64_POLYNOMIAL UINT64_C(0x9a6c9329ac4bc9b5)

static void crc64_table(uint64_t table[256])
{
    for (unsigned i = 0; i < 256; i++) {
        uint64_t v = i;
        for (unsigned bit = 0; bit < 8; bit++)
            v = (v >> 1) ^ ((v & 1) != 0 ? CRC64_POLYNOMIAL : 0);
        table[i] = v;
    }
}

static uint64_t crc64_nvme(uint64_t crc, const uint8_t *bytes, size_t len)
{
    uint64_t table[256];
    crc64_table(table);
    crc = ~crc;
    for (size_t i = 0; i < len; i++)
        crc = (crc >> 8) ^ table[(uint8_t)crc ^ bytes[i]];
    return ~crc;
}

/* ---- One in progress ---- */

enum hash_kind { HASH_DIGEST, HASH_MAC, HASH_CRC32, HASH_CRC32C, HASH_CRC64 };

struct hash {
    struct js_crypto_object object;
    enum hash_kind kind;
    EVP_MD_CTX *md; /* owned; of HASH_DIGEST */
    EVP_MAC_CTX *mac; /* owned; of HASH_MAC */
    uint64_t crc;
    bool ended;
};

static void hash_free(struct js_crypto_object *o)
{
    struct hash *h = CD_CONTAINER(o, struct hash, object);
    EVP_MD_CTX_free(h->md);
    EVP_MAC_CTX_free(h->mac);
    cd_free(h);
}

static const struct js_crypto_type hash_type = {"a hash", hash_free};

static EVP_MAC_CTX *mac_new(const char *digest, const struct js_crypto_in *key)
{
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(mac);
    EVP_MAC_free(mac);
    char name[JS_CRYPTO_NAME_MAX];
    snprintf(name, sizeof(name), "%s", digest);
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string("digest", name, 0), OSSL_PARAM_construct_end()};
    if (EVP_MAC_init(ctx, js_crypto_u8(key), key->v.len, params) == 1)
        return ctx;
    EVP_MAC_CTX_free(ctx);
    return NULL;
}

static bool is(const struct js_crypto_name *name, const char *text)
{
    return strcmp(name->text, text) == 0;
}

/* crypto_hash_new(name, key): a hash; an HMAC when key is not undefined; undefined when there is no such
 * hash.
 */
int js_op_crypto_hash_new(struct js_args *a)
{
    struct js_crypto_name name;
    struct js_crypto_in key;
    int rc = js_crypto_name(a, 0, &name);
    if (rc == 0)
        rc = js_crypto_in(a, 1, &key);
    if (rc != 0)
        return rc;
    ERR_clear_error();
    struct hash *h = cd_new(struct hash);
    bool ok = true;
    if (!js_is_undefined(js_arg(a, 1))) {
        h->kind = HASH_MAC;
        h->mac = mac_new(name.text, &key);
        ok = h->mac != NULL;
    } else if (is(&name, "CRC32") || is(&name, "CRC32C") || is(&name, "CRC64-NVME")) {
        h->kind = is(&name, "CRC32") ? HASH_CRC32 : is(&name, "CRC32C") ? HASH_CRC32C : HASH_CRC64;
    } else {
        EVP_MD *md = EVP_MD_fetch(NULL, name.text, NULL);
        h->md = EVP_MD_CTX_new();
        ok = md != NULL && EVP_DigestInit_ex(h->md, md, NULL) == 1;
        EVP_MD_free(md);
    }
    if (ok)
        js_return(a, js_crypto_wrap(a->js, &h->object, &hash_type));
    else
        hash_free(&h->object);
    return 0;
}

static int hash_arg(struct js_args *a, struct hash **out)
{
    struct js_crypto_object *o;
    int rc = js_crypto_object(a, 0, &hash_type, &o);
    if (rc != 0)
        return rc;
    *out = CD_CONTAINER(o, struct hash, object);
    if ((*out)->ended)
        return js_throw_error(a->js, JS_ERROR, "Digest already called");
    return 0;
}

/* crypto_hash_copy(hash): another that goes on from where it is. */
int js_op_crypto_hash_copy(struct js_args *a)
{
    struct hash *from;
    int rc = hash_arg(a, &from);
    if (rc != 0)
        return rc;
    struct hash *h = cd_new(struct hash);
    h->kind = from->kind;
    h->crc = from->crc;
    if (from->mac != NULL)
        h->mac = EVP_MAC_CTX_dup(from->mac);
    if (from->md != NULL) {
        h->md = EVP_MD_CTX_new();
        int ok = EVP_MD_CTX_copy_ex(h->md, from->md);
        CD_ASSERT(ok == 1);
    }
    js_return(a, js_crypto_wrap(a->js, &h->object, &hash_type));
    return 0;
}

static bool update(struct hash *h, const uint8_t *bytes, size_t len)
{
    switch (h->kind) {
    case HASH_DIGEST: return EVP_DigestUpdate(h->md, bytes, len) == 1;
    case HASH_MAC: return EVP_MAC_update(h->mac, bytes, len) == 1;
    case HASH_CRC32: h->crc = crc32_z((uLong)h->crc, bytes, len); return true;
    case HASH_CRC32C: h->crc = cd_crc32c((uint32_t)h->crc, bytes, len); return true;
    case HASH_CRC64: h->crc = crc64_nvme(h->crc, bytes, len); return true;
    }
    CD_UNREACHABLE();
}

/* crypto_hash_update(hash, bytes or a string, as UTF-8): how many bytes that were. */
int js_op_crypto_hash_update(struct js_args *a)
{
    struct hash *h;
    int rc = hash_arg(a, &h);
    if (rc != 0)
        return rc;
    struct cd_buf text = {0};
    struct js_crypto_in in;
    if (js_kind(js_arg(a, 1)) == JS_STRING) {
        js_string_add(a->js, js_arg(a, 1), &text);
        in.v = cd_buf_str(&text);
    } else {
        rc = js_crypto_in(a, 1, &in);
    }
    if (rc == 0 && !update(h, js_crypto_u8(&in), in.v.len))
        rc = js_throw_error(a->js, JS_ERROR, "the hash does not take more data");
    if (rc == 0)
        js_return_number(a, (double)in.v.len);
    cd_buf_deinit(&text);
    return rc;
}

static int return_crc(struct js_args *a, uint64_t crc, unsigned len)
{
    uint8_t bytes[8]; /* The highest first. */
    for (unsigned i = 0; i < len; i++)
        bytes[i] = (uint8_t)(crc >> (8 * (len - 1 - i)));
    return js_crypto_return_copy(a, bytes, len);
}

/* crypto_hash_final(hash, length): an ArrayBuffer. length: of the output, where the hash lets one choose;
 * undefined otherwise. undefined: the hash has no output of this length. */
int js_op_crypto_hash_final(struct js_args *a)
{
    struct hash *h;
    unsigned char out[EVP_MAX_MD_SIZE];
    size_t len = 0;
    int rc = hash_arg(a, &h);
    if (rc == 0 && !js_is_undefined(js_arg(a, 1)))
        rc = js_crypto_size(a, 1, &len);
    if (rc != 0)
        return rc;
    h->ended = true;
    switch (h->kind) {
    case HASH_CRC32:
    case HASH_CRC32C: return return_crc(a, h->crc, 4);
    case HASH_CRC64: return return_crc(a, h->crc, 8);
    case HASH_MAC:
        if (EVP_MAC_final(h->mac, out, &len, sizeof(out)) != 1)
            return 0;
        return js_crypto_return_copy(a, out, len);
    case HASH_DIGEST: break;
    }
    unsigned size = (unsigned)EVP_MD_CTX_get_size(h->md);
    if (js_is_undefined(js_arg(a, 1)) || len == size) {
        if (EVP_DigestFinal_ex(h->md, out, &size) != 1)
            return 0;
        return js_crypto_return_copy(a, out, size);
    }
    js_value v;
    unsigned char *bytes;
    rc = js_crypto_out(a, len, &v, &bytes);
    if (rc == 0 && (EVP_MD_get_flags(EVP_MD_CTX_get0_md(h->md)) & EVP_MD_FLAG_XOF) != 0 &&
        (len == 0 || EVP_DigestFinalXOF(h->md, bytes, len) == 1))
        js_return(a, v);
    return rc;
}

/* ---- In one go ---- */

/* crypto_digest(name, bytes): an ArrayBuffer; undefined when there is no such hash. */
int js_op_crypto_digest(struct js_args *a)
{
    struct js_crypto_in in;
    EVP_MD *md = NULL;
    int rc = js_crypto_in(a, 1, &in);
    if (rc == 0)
        rc = js_crypto_md(a, 0, &md);
    if (rc != 0 || md == NULL)
        return rc;
    unsigned char out[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    int ok = EVP_Digest(js_crypto_u8(&in), in.v.len, out, &len, md, NULL);
    EVP_MD_free(md);
    return ok == 1 ? js_crypto_return_copy(a, out, len) : 0;
}

/* crypto_hmac(name, key, bytes): an ArrayBuffer; undefined when there is no such hash. */
int js_op_crypto_hmac(struct js_args *a)
{
    struct js_crypto_in key, in;
    struct js_crypto_name name;
    int rc = js_crypto_name(a, 0, &name);
    if (rc == 0)
        rc = js_crypto_in(a, 1, &key);
    if (rc == 0)
        rc = js_crypto_in(a, 2, &in);
    if (rc != 0)
        return rc;
    unsigned char out[EVP_MAX_MD_SIZE];
    size_t len = 0;
    EVP_MAC_CTX *ctx = mac_new(name.text, &key);
    bool ok = ctx != NULL && EVP_MAC_update(ctx, js_crypto_u8(&in), in.v.len) == 1 &&
              EVP_MAC_final(ctx, out, &len, sizeof(out)) == 1;
    EVP_MAC_CTX_free(ctx);
    return ok ? js_crypto_return_copy(a, out, len) : 0;
}

/* ---- What there is ---- */

struct names {
    struct js_args *a;
    js_value list;
    unsigned count;
    int rc;
};

static void add_name(struct names *n, const char *name)
{
    if (n->rc == 0 && name != NULL)
        n->rc = js_set_index(n->a->js, n->list, n->count++, js_text(n->a->js, name));
}

static void add_md(EVP_MD *md, void *arg)
{
    add_name(arg, EVP_MD_get0_name(md));
}

static void add_cipher(EVP_CIPHER *cipher, void *arg)
{
    add_name(arg, EVP_CIPHER_get0_name(cipher));
}

/* crypto_names(what): "hashes" or "ciphers": an array of OpenSSL's names. */
int js_op_crypto_names(struct js_args *a)
{
    struct js_crypto_name what;
    int rc = js_crypto_name(a, 0, &what);
    if (rc != 0)
        return rc;
    struct names n = {.a = a, .list = js_array(a->js, NULL, 0)};
    if (is(&what, "hashes"))
        EVP_MD_do_all_provided(NULL, add_md, &n);
    else
        EVP_CIPHER_do_all_provided(NULL, add_cipher, &n);
    if (n.rc == 0)
        js_return(a, n.list);
    return n.rc;
}
