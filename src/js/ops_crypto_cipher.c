/* js/ops_crypto_cipher.c: symmetric ciphers, in one go for Web Crypto and piece by piece for node:crypto. */
#include <openssl/err.h>
#include <openssl/objects.h>

#include "js/ops_crypto_internal.h"

#define TAG_MAX 16

/* ---- In one go ---- */

struct job {
    EVP_CIPHER *cipher;
    EVP_CIPHER_CTX *ctx;
    const unsigned char *key, *iv, *aad, *in;
    size_t iv_len, aad_len, in_len, tag_len; /* tag_len: 0 where the cipher does not authenticate. */
    bool encrypt;
};

static bool job_init(const struct job *j)
{
    EVP_CIPHER_CTX_set_flags(j->ctx, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
    if (EVP_CipherInit_ex2(j->ctx, j->cipher, NULL, NULL, j->encrypt, NULL) != 1)
        return false;
    if (j->tag_len > 0 && EVP_CIPHER_CTX_ctrl(j->ctx, EVP_CTRL_AEAD_SET_IVLEN, (int)j->iv_len, NULL) != 1)
        return false;
    return EVP_CipherInit_ex2(j->ctx, NULL, j->key, j->iv, j->encrypt, NULL) == 1;
}

/* Writes to out, which has room for the input, a block and the tag. */
static bool job_run(const struct job *j, unsigned char *out, size_t *out_len)
{
    int len = 0, more = 0;
    size_t in_len = j->in_len;
    if (!job_init(j))
        return false;
    if (j->tag_len > 0 && !j->encrypt) {
        in_len -= j->tag_len;
        unsigned char tag[TAG_MAX];
        memcpy(tag, j->in + in_len, j->tag_len);
        if (EVP_CIPHER_CTX_ctrl(j->ctx, EVP_CTRL_AEAD_SET_TAG, (int)j->tag_len, tag) != 1)
            return false;
    }
    if (j->aad_len > 0 && EVP_CipherUpdate(j->ctx, NULL, &len, j->aad, (int)j->aad_len) != 1)
        return false;
    if (in_len > 0 && EVP_CipherUpdate(j->ctx, out, &len, j->in, (int)in_len) != 1)
        return false;
    if (in_len == 0)
        len = 0;
    if (EVP_CipherFinal_ex(j->ctx, out + len, &more) != 1)
        return false;
    *out_len = (size_t)len + (size_t)more;
    if (j->tag_len == 0 || !j->encrypt)
        return true;
    if (EVP_CIPHER_CTX_ctrl(j->ctx, EVP_CTRL_AEAD_GET_TAG, (int)j->tag_len, out + *out_len) != 1)
        return false;
    *out_len += j->tag_len;
    return true;
}

/* The value of the function is the buffer out, or its first len bytes. */
static int return_first(struct js_args *a, js_value buffer, const unsigned char *out, size_t room, size_t len)
{
    if (len == room) {
        js_return(a, buffer);
        return 0;
    }
    return js_crypto_return_copy(a, out, len);
}

static int job_return(struct js_args *a, const struct job *j)
{
    size_t room = j->in_len, len = 0;
    if (j->tag_len > 0)
        room = j->encrypt ? room + j->tag_len : room - j->tag_len;
    else if (EVP_CIPHER_get_mode(j->cipher) == EVP_CIPH_CBC_MODE && j->encrypt)
        room += 16 - room % 16;
    else if (EVP_CIPHER_get_mode(j->cipher) == EVP_CIPH_WRAP_MODE)
        room = j->encrypt ? room + 8 : room - 8;
    js_value v;
    unsigned char *out, spare[32]; /* OpenSSL decrypts no byte more than it gets. */
    int rc = js_crypto_out(a, room, &v, &out);
    if (rc != 0)
        return rc;
    if (!job_run(j, room > 0 ? out : spare, &len))
        return 0;
    CD_ASSERT(len <= room);
    return return_first(a, v, out, room, len);
}

/* crypto_crypt(cipher, encrypt, key, iv, additional data, tag length, data): an ArrayBuffer; the tag is at
 * the end of the encrypted data. undefined: it cannot be done, or does not decrypt. */
int js_op_crypto_crypt(struct js_args *a)
{
    struct js_crypto_name name;
    struct js_crypto_in key, iv, aad, in;
    size_t tag_len = 0;
    int rc = js_crypto_name(a, 0, &name);
    if (rc == 0)
        rc = js_crypto_in(a, 2, &key);
    if (rc == 0)
        rc = js_crypto_in(a, 3, &iv);
    if (rc == 0)
        rc = js_crypto_in(a, 4, &aad);
    if (rc == 0)
        rc = js_crypto_size(a, 5, &tag_len);
    if (rc == 0)
        rc = js_crypto_in(a, 6, &in);
    if (rc != 0)
        return rc;
    bool encrypt = js_to_bool(a->js, js_arg(a, 1));
    if (in.v.len > INT32_MAX - 64 || aad.v.len > INT32_MAX || iv.v.len > INT32_MAX || tag_len > TAG_MAX)
        return 0;
    ERR_clear_error();
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, name.text, NULL);
    bool wraps = cipher != NULL && EVP_CIPHER_get_mode(cipher) == EVP_CIPH_WRAP_MODE;
    if (cipher != NULL && (size_t)EVP_CIPHER_get_key_length(cipher) == key.v.len &&
        (tag_len > 0 || wraps || (size_t)EVP_CIPHER_get_iv_length(cipher) == iv.v.len) &&
        (!wraps || (in.v.len >= 16 && in.v.len % 8 == 0)) && (encrypt || in.v.len >= tag_len)) {
        struct job j = {.cipher = cipher,
                        .ctx = EVP_CIPHER_CTX_new(),
                        .key = js_crypto_u8(&key),
                        .iv = wraps ? NULL : js_crypto_u8(&iv),
                        .iv_len = iv.v.len,
                        .aad = js_crypto_u8(&aad),
                        .aad_len = aad.v.len,
                        .in = js_crypto_u8(&in),
                        .in_len = in.v.len,
                        .tag_len = tag_len,
                        .encrypt = encrypt};
        rc = job_return(a, &j);
        EVP_CIPHER_CTX_free(j.ctx);
    }
    EVP_CIPHER_free(cipher);
    return rc;
}

/* ---- Counter mode whose counter is only the last bits of the block ---- */

static bool ctr_run(const EVP_CIPHER *cipher, const unsigned char *key, const unsigned char *counter,
                    const unsigned char *in, size_t len, unsigned char *out)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int done = 0;
    bool ok = EVP_EncryptInit_ex2(ctx, cipher, key, counter, NULL) == 1 &&
              (len == 0 || EVP_EncryptUpdate(ctx, out, &done, in, (int)len) == 1);
    EVP_CIPHER_CTX_free(ctx);
    return ok;
}

/* How many blocks there are before the counter's low `bits` bits start over, at most `blocks`; 0: they would
 * repeat. */
static size_t ctr_blocks(const unsigned char counter[16], size_t bits, size_t blocks)
{
    unsigned __int128 value = 0, mask = ~(unsigned __int128)0;
    for (unsigned i = 0; i < 16; i++)
        value = value << 8 | counter[i];
    if (bits < 128)
        mask = ((unsigned __int128)1 << bits) - 1;
    if (blocks > 0 && (unsigned __int128)(blocks - 1) > mask)
        return 0;
    unsigned __int128 before_last = mask - (value & mask);
    return before_last >= blocks ? blocks : (size_t)before_last + 1;
}

static void ctr_restart(unsigned char counter[16], size_t bits)
{
    for (size_t i = 0; i < bits; i++)
        counter[15 - i / 8] &= (unsigned char)~(1u << (i % 8));
}

/* crypto_ctr(cipher, key, counter, bits, data): an ArrayBuffer; undefined: the counter would repeat. */
int js_op_crypto_ctr(struct js_args *a)
{
    struct js_crypto_name name;
    struct js_crypto_in key, iv, in;
    size_t bits = 0;
    int rc = js_crypto_name(a, 0, &name);
    if (rc == 0)
        rc = js_crypto_in(a, 1, &key);
    if (rc == 0)
        rc = js_crypto_in(a, 2, &iv);
    if (rc == 0)
        rc = js_crypto_size(a, 3, &bits);
    if (rc == 0)
        rc = js_crypto_in(a, 4, &in);
    if (rc != 0 || iv.v.len != 16 || bits < 1 || bits > 128 || in.v.len > INT32_MAX - 16)
        return rc;
    unsigned char counter[16];
    memcpy(counter, iv.v.ptr, sizeof(counter));
    size_t blocks = (in.v.len + 15) / 16, first = ctr_blocks(counter, bits, blocks);
    if (blocks > 0 && first == 0)
        return 0;
    js_value v;
    unsigned char *out;
    rc = js_crypto_out(a, in.v.len, &v, &out);
    if (rc != 0)
        return rc;
    ERR_clear_error();
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, name.text, NULL);
    if (cipher != NULL && (size_t)EVP_CIPHER_get_key_length(cipher) == key.v.len &&
        EVP_CIPHER_get_mode(cipher) == EVP_CIPH_CTR_MODE) {
        size_t part = first < blocks ? first * 16 : in.v.len;
        bool ok = ctr_run(cipher, js_crypto_u8(&key), counter, js_crypto_u8(&in), part, out);
        ctr_restart(counter, bits);
        if (ok && part < in.v.len)
            ok = ctr_run(cipher, js_crypto_u8(&key), counter, js_crypto_u8(&in) + part, in.v.len - part,
                         out + part);
        if (ok)
            js_return(a, v);
    }
    EVP_CIPHER_free(cipher);
    return 0;
}

/* ---- Piece by piece ---- */

struct cipher {
    struct js_crypto_object object;
    EVP_CIPHER_CTX *ctx; /* owned */
    bool encrypt;
};

static void cipher_free(struct js_crypto_object *o)
{
    struct cipher *c = CD_CONTAINER(o, struct cipher, object);
    EVP_CIPHER_CTX_free(c->ctx);
    cd_free(c);
}

static const struct js_crypto_type cipher_type = {"a cipher", cipher_free};

static int cipher_arg(struct js_args *a, struct cipher **out)
{
    struct js_crypto_object *o;
    int rc = js_crypto_object(a, 0, &cipher_type, &o);
    if (rc == 0)
        *out = CD_CONTAINER(o, struct cipher, object);
    return rc;
}

static const char *mode_name(int mode)
{
    switch (mode) {
    case EVP_CIPH_ECB_MODE: return "ecb";
    case EVP_CIPH_CBC_MODE: return "cbc";
    case EVP_CIPH_CFB_MODE: return "cfb";
    case EVP_CIPH_OFB_MODE: return "ofb";
    case EVP_CIPH_CTR_MODE: return "ctr";
    case EVP_CIPH_GCM_MODE: return "gcm";
    case EVP_CIPH_CCM_MODE: return "ccm";
    case EVP_CIPH_XTS_MODE: return "xts";
    case EVP_CIPH_WRAP_MODE: return "wrap";
    case EVP_CIPH_OCB_MODE: return "ocb";
    case EVP_CIPH_STREAM_CIPHER: return "stream";
    }
    return "";
}

/* crypto_cipher_info(name or number): [name, number, block size, IV's length, key's length, mode,
 * authenticated]; undefined when there is none. */
int js_op_crypto_cipher_info(struct js_args *a)
{
    struct js_crypto_name name;
    uint64_t number = 0;
    int rc = js_crypto_name(a, 0, &name);
    if (rc == 0 && js_kind(js_arg(a, 0)) == JS_NUMBER) {
        rc = js_arg_u64(a, 0, &number);
        const char *known = number > 0 && number < INT32_MAX ? OBJ_nid2sn((int)number) : NULL;
        snprintf(name.text, sizeof(name.text), "%s", known != NULL ? known : "");
    }
    if (rc != 0)
        return rc;
    ERR_clear_error();
    EVP_CIPHER *c = EVP_CIPHER_fetch(NULL, name.text, NULL);
    if (c == NULL)
        return 0;
    const char *short_name = EVP_CIPHER_get_nid(c) > 0 ? OBJ_nid2ln(EVP_CIPHER_get_nid(c)) : NULL;
    const js_value info[] = {
        js_text(a->js, short_name != NULL ? short_name : EVP_CIPHER_get0_name(c)),
        js_int(a->js, EVP_CIPHER_get_nid(c)),
        js_int(a->js, EVP_CIPHER_get_block_size(c)),
        js_int(a->js, EVP_CIPHER_get_iv_length(c)),
        js_int(a->js, EVP_CIPHER_get_key_length(c)),
        js_text(a->js, mode_name(EVP_CIPHER_get_mode(c))),
        js_bool(a->js, (EVP_CIPHER_get_flags(c) & EVP_CIPH_FLAG_AEAD_CIPHER) != 0),
    };
    js_return(a, js_array(a->js, info, CD_COUNT(info)));
    EVP_CIPHER_free(c);
    return 0;
}

/* crypto_cipher_new(name, encrypt, key, iv, padding): undefined when it cannot be. */
int js_op_crypto_cipher_new(struct js_args *a)
{
    struct js_crypto_name name;
    struct js_crypto_in key, iv;
    int rc = js_crypto_name(a, 0, &name);
    if (rc == 0)
        rc = js_crypto_in(a, 2, &key);
    if (rc == 0)
        rc = js_crypto_in(a, 3, &iv);
    if (rc != 0)
        return rc;
    ERR_clear_error();
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, name.text, NULL);
    struct cipher *c = cd_new(struct cipher);
    c->ctx = EVP_CIPHER_CTX_new();
    c->encrypt = js_to_bool(a->js, js_arg(a, 1));
    bool ok = cipher != NULL && (size_t)EVP_CIPHER_get_key_length(cipher) == key.v.len;
    if (ok) {
        bool aead = (EVP_CIPHER_get_flags(cipher) & EVP_CIPH_FLAG_AEAD_CIPHER) != 0;
        EVP_CIPHER_CTX_set_flags(c->ctx, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
        ok = EVP_CipherInit_ex2(c->ctx, cipher, NULL, NULL, c->encrypt, NULL) == 1 &&
             (aead ? EVP_CIPHER_CTX_ctrl(c->ctx, EVP_CTRL_AEAD_SET_IVLEN, (int)iv.v.len, NULL) == 1
                   : (size_t)EVP_CIPHER_get_iv_length(cipher) == iv.v.len) &&
             EVP_CipherInit_ex2(c->ctx, NULL, js_crypto_u8(&key), iv.v.len > 0 ? js_crypto_u8(&iv) : NULL,
                                c->encrypt, NULL) == 1;
    }
    if (ok)
        EVP_CIPHER_CTX_set_padding(c->ctx, js_to_bool(a->js, js_arg(a, 4)));
    if (ok)
        js_return(a, js_crypto_wrap(a->js, &c->object, &cipher_type));
    else
        cipher_free(&c->object);
    EVP_CIPHER_free(cipher);
    return 0;
}

/* crypto_cipher_update(cipher, data, additional): an ArrayBuffer. additional: data is authenticated only. */
int js_op_crypto_cipher_update(struct js_args *a)
{
    struct cipher *c;
    struct js_crypto_in in;
    int rc = cipher_arg(a, &c);
    if (rc == 0)
        rc = js_crypto_in(a, 1, &in);
    if (rc != 0 || in.v.len > INT32_MAX - 64)
        return rc;
    js_value v;
    unsigned char *out;
    int len = 0;
    bool additional = js_to_bool(a->js, js_arg(a, 2));
    size_t room = additional ? 0 : in.v.len + (size_t)EVP_CIPHER_CTX_get_block_size(c->ctx);
    if (EVP_CIPHER_CTX_get_mode(c->ctx) == EVP_CIPH_WRAP_MODE)
        room += 16;
    rc = js_crypto_out(a, room, &v, &out);
    if (rc != 0)
        return rc;
    ERR_clear_error();
    if (in.v.len > 0 &&
        EVP_CipherUpdate(c->ctx, additional ? NULL : out, &len, js_crypto_u8(&in), (int)in.v.len) != 1)
        return 0;
    if (additional)
        len = 0;
    CD_ASSERT((size_t)len <= room);
    return return_first(a, v, out, room, (size_t)len);
}

/* crypto_cipher_final(cipher, padding): an ArrayBuffer; undefined when what was decrypted is not genuine or
 * not whole. */
int js_op_crypto_cipher_final(struct js_args *a)
{
    struct cipher *c;
    int rc = cipher_arg(a, &c);
    if (rc != 0)
        return rc;
    unsigned char out[64];
    int len = 0;
    ERR_clear_error();
    EVP_CIPHER_CTX_set_padding(c->ctx, js_to_bool(a->js, js_arg(a, 1)));
    if (EVP_CipherFinal_ex(c->ctx, out, &len) != 1)
        return 0;
    return js_crypto_return_copy(a, out, (size_t)len);
}

/* crypto_cipher_tag(cipher, bytes or length): sets the tag to be checked (true), or gets the one that was
 * made; undefined when it cannot be. */
int js_op_crypto_cipher_tag(struct js_args *a)
{
    struct cipher *c;
    unsigned char tag[TAG_MAX];
    int rc = cipher_arg(a, &c);
    if (rc != 0)
        return rc;
    ERR_clear_error();
    if (c->encrypt) {
        size_t len;
        rc = js_crypto_size(a, 1, &len);
        if (rc != 0 || len > sizeof(tag) ||
            EVP_CIPHER_CTX_ctrl(c->ctx, EVP_CTRL_AEAD_GET_TAG, (int)len, tag) != 1)
            return rc;
        return js_crypto_return_copy(a, tag, len);
    }
    struct js_crypto_in in;
    rc = js_crypto_in(a, 1, &in);
    if (rc != 0 || in.v.len > sizeof(tag) || in.v.len == 0)
        return rc;
    memcpy(tag, in.v.ptr, in.v.len);
    if (EVP_CIPHER_CTX_ctrl(c->ctx, EVP_CTRL_AEAD_SET_TAG, (int)in.v.len, tag) == 1)
        js_return_bool(a, true);
    return 0;
}
