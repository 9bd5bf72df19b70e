/* cell/id.c: ids and scopes. See id.h. */
#include "cell/id.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/encode.h"
#include "io/io.h"
#include "store/names.h"

#define HALF (CELL_ID_BYTES / 2)

static void key_init(struct cell_namespace *ns, struct cd_str text)
{
    unsigned len = 0;
    int ok = EVP_Digest(text.ptr, text.len, ns->key, &len, EVP_sha256(), NULL);
    CD_ASSERT(ok == 1 && len == sizeof ns->key);
}

void cell_namespace_init(struct cell_namespace *ns, struct cd_str script, struct cd_str class_name)
{
    struct cd_buf text = {0};
    cd_buf_addf(&text, "cells:v1:%zu:", script.len);
    cd_buf_add_str(&text, script);
    cd_buf_add_byte(&text, ':');
    cd_buf_add_str(&text, class_name);
    key_init(ns, cd_buf_str(&text));
    cd_buf_deinit(&text);
}

void cell_namespace_init_d1(struct cell_namespace *ns)
{
    key_init(ns, CD_STR("cells:v1:d1:__D1Database"));
}

/* The first half of the MAC of bytes. */
static void mac(const struct cell_namespace *ns, struct cd_str bytes, uint8_t out[HALF])
{
    uint8_t whole[32];
    unsigned len = 0;
    const void *ok =
        HMAC(EVP_sha256(), ns->key, (int)sizeof ns->key,
             (const unsigned char *)(bytes.ptr == NULL ? "" : bytes.ptr), bytes.len, whole, &len);
    CD_ASSERT(ok != NULL && len == sizeof whole);
    memcpy(out, whole, HALF);
}

static void tag(const struct cell_namespace *ns, const uint8_t base[HALF], uint8_t out[HALF])
{
    mac(ns, cd_str_of(base, HALF), out);
}

void cell_id_of_name(struct cell_id *out, const struct cell_namespace *ns, struct cd_str name)
{
    mac(ns, name, out->bytes);
    tag(ns, out->bytes, out->bytes + HALF);
}

void cell_id_unique(struct cell_id *out, const struct cell_namespace *ns, struct io *io)
{
    io_random(io, IO_RAND_ID, out->bytes, HALF);
    tag(ns, out->bytes, out->bytes + HALF);
}

int cell_id_parse(struct cell_id *out, const struct cell_namespace *ns, struct cd_str text)
{
    struct cd_buf bytes = {0};
    struct cell_id id;
    uint8_t want[HALF];
    if (text.len != CELL_ID_TEXT || cd_hex_decode(&bytes, text) != 0) {
        cd_buf_deinit(&bytes);
        return CD_ESYNTAX;
    }
    memcpy(id.bytes, bytes.ptr, sizeof id.bytes);
    cd_buf_deinit(&bytes);
    tag(ns, id.bytes, want);
    if (CRYPTO_memcmp(want, id.bytes + HALF, HALF) != 0)
        return CD_EINVAL;
    *out = id;
    return 0;
}

void cell_id_text(const struct cell_id *id, char out[CELL_ID_TEXT + 1])
{
    struct cd_buf text = {0};
    cd_hex_encode(&text, cd_str_of(id->bytes, sizeof id->bytes));
    memcpy(out, text.ptr, CELL_ID_TEXT);
    out[CELL_ID_TEXT] = '\0';
    cd_buf_deinit(&text);
}

int cell_scope_of(struct cd_buf *out, struct cd_str class_name, struct cd_str instance)
{
    size_t before = out->len;
    cd_buf_add_str(out, class_name);
    cd_buf_add_byte(out, ':');
    cd_buf_add_str(out, instance);
    struct cd_str a, b;
    struct cd_str scope = cd_str_sub(cd_buf_str(out), before, SIZE_MAX);
    if (cell_scope_valid(scope) && cell_scope_split(scope, &a, &b) == 0 && cd_str_eq(a, class_name))
        return 0;
    out->len = before;
    return CD_EINVAL;
}

bool cell_scope_valid(struct cd_str scope)
{
    return store_scope_valid(scope);
}

int cell_scope_split(struct cd_str scope, struct cd_str *class_name, struct cd_str *instance)
{
    size_t at = cd_str_find(scope, ':', 0);
    if (at == SIZE_MAX || at == 0 || at + 1 == scope.len)
        return CD_ESYNTAX;
    *class_name = cd_str_sub(scope, 0, at);
    *instance = cd_str_sub(scope, at + 1, SIZE_MAX);
    return 0;
}

unsigned cell_scope_loop(struct cd_str scope, unsigned loops)
{
    CD_ASSERT(loops > 0);
    return loops == 1 ? 0 : 1 + cd_crc32c(0, scope.ptr, scope.len) % (loops - 1);
}
