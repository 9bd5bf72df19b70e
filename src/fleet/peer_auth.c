#include "fleet/peer_auth.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/encode.h"

static void hex_out(char out[FLEET_HEX_SHA256 + 1], const unsigned char digest[32])
{
    struct cd_buf hex = {0};
    cd_hex_encode(&hex, cd_str_of(digest, 32));
    memcpy(out, hex.ptr, FLEET_HEX_SHA256);
    out[FLEET_HEX_SHA256] = 0;
    cd_buf_deinit(&hex);
}

void fleet_sha256_hex(char out[FLEET_HEX_SHA256 + 1], struct cd_str bytes)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len;
    int ok = EVP_Digest(bytes.len == 0 ? "" : bytes.ptr, bytes.len, digest, &len, EVP_sha256(), NULL);
    CD_ASSERT(ok == 1 && len == 32);
    hex_out(out, digest);
}

static void mac(char out[FLEET_HEX_SHA256 + 1], const struct fleet_secret *k, struct cd_str text)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    const unsigned char *done = HMAC(EVP_sha256(), k->key, (int)sizeof k->key,
                                     (const unsigned char *)text.ptr, text.len, digest, &len);
    CD_ASSERT(done != NULL && len == 32);
    hex_out(out, digest);
}

static bool same(const char want[FLEET_HEX_SHA256 + 1], struct cd_str got)
{
    return got.len == FLEET_HEX_SHA256 && CRYPTO_memcmp(want, got.ptr, FLEET_HEX_SHA256) == 0;
}

static void line(struct cd_buf *out, struct cd_str s)
{
    cd_buf_add_byte(out, '\n');
    cd_buf_add_str(out, s);
}

/* ---- Requests ---- */

void fleet_peer_canonical(struct cd_buf *out, const struct fleet_peer_signed *s)
{
    cd_buf_add_str(out, CD_STR("celld-peer-v1"));
    line(out, s->version);
    line(out, s->method);
    line(out, s->target_path);
    line(out, s->body_sha256);
    line(out, s->source);
    line(out, s->target);
    line(out, s->timestamp);
    line(out, s->nonce);
}

void fleet_peer_sign(char out[FLEET_HEX_SHA256 + 1], const struct fleet_secret *k,
                     const struct fleet_peer_signed *s)
{
    struct cd_buf text = {0};
    fleet_peer_canonical(&text, s);
    mac(out, k, cd_buf_str(&text));
    cd_buf_deinit(&text);
}

static struct cd_str field_once(const struct http_field *field, size_t count, const char *name)
{
    struct cd_str value = {NULL, 0};
    for (size_t i = 0; i < count; i++) {
        if (!cd_str_eq_nocase(field[i].name, cd_str(name)))
            continue;
        if (value.ptr != NULL)
            return (struct cd_str){NULL, 0};
        value = field[i].value.ptr == NULL ? CD_STR("") : field[i].value;
    }
    return value;
}

void fleet_peer_signed_read(struct fleet_peer_signed *out, const struct http_field *field, size_t count)
{
    out->version = field_once(field, count, "x-celld-peer-version");
    out->source = field_once(field, count, "x-celld-peer-source");
    out->target = field_once(field, count, "x-celld-peer-target");
    out->timestamp = field_once(field, count, "x-celld-peer-timestamp");
    out->nonce = field_once(field, count, "x-celld-peer-nonce");
    out->body_sha256 = field_once(field, count, "x-celld-peer-body-sha256");
    out->signature = field_once(field, count, "x-celld-peer-signature");
}

int fleet_verdict_status(enum fleet_verdict v)
{
    switch (v) {
#define X(name, status, text)                                                                                \
    case name: return status;
        FLEET_PEER_VERDICTS(X)
#undef X
    }
    CD_UNREACHABLE();
}

const char *fleet_verdict_text(enum fleet_verdict v)
{
    switch (v) {
#define X(name, status, text)                                                                                \
    case name: return text;
        FLEET_PEER_VERDICTS(X)
#undef X
    }
    CD_UNREACHABLE();
}

bool fleet_verdict_proven(enum fleet_verdict v)
{
    return v == FLEET_VERDICT_OK || v > FLEET_VERDICT_FORGED;
}

static bool is_hex(struct cd_str s, size_t len)
{
    for (size_t i = 0; i < s.len; i++) {
        if (strchr("0123456789abcdef", s.ptr[i]) == NULL || s.ptr[i] == 0)
            return false;
    }
    return s.len == len;
}

static bool target_split(struct cd_str target, struct cd_str *node, struct cd_str *process)
{
    size_t slash = cd_str_find(target, '/', 0);
    if (slash == SIZE_MAX)
        return false;
    *node = cd_str_sub(target, 0, slash);
    *process = cd_str_sub(target, slash + 1, SIZE_MAX);
    return store_node_valid(*node) && (cd_str_eq(*process, CD_STR("*")) || store_generation_valid(*process));
}

/* Both ways: a clock that is behind is as wrong as one that is ahead. */
static bool in_window(struct cd_str timestamp, int64_t now_ms)
{
    uint64_t at;
    if (cd_str_u64(timestamp, &at) != 0 || now_ms < 0)
        return false;
    uint64_t now = (uint64_t)now_ms;
    return (at > now ? at - now : now - at) <= FLEET_PEER_WINDOW_MS;
}

enum fleet_verdict fleet_peer_verify_head(const struct fleet_peer_signed *s, const struct fleet_secret *k,
                                          int64_t now_ms)
{
    struct cd_str node, process;
    char want[FLEET_HEX_SHA256 + 1];
    uint64_t number;
    if (s->version.ptr == NULL)
        return FLEET_VERDICT_UNSIGNED;
    if (!cd_str_eq(s->version, CD_STR(FLEET_PEER_VERSION)))
        return FLEET_VERDICT_VERSION;
    if (!store_node_valid(s->source) || !target_split(s->target, &node, &process) ||
        !is_hex(s->nonce, (size_t)2 * FLEET_NONCE_SIZE) || !is_hex(s->body_sha256, FLEET_HEX_SHA256) ||
        cd_str_u64(s->timestamp, &number) != 0)
        return FLEET_VERDICT_MALFORMED;
    if (!in_window(s->timestamp, now_ms))
        return FLEET_VERDICT_CLOCK;
    fleet_peer_sign(want, k, s);
    return same(want, s->signature) ? FLEET_VERDICT_OK : FLEET_VERDICT_FORGED;
}

bool fleet_peer_verify_body(const struct fleet_peer_signed *s, struct cd_str body)
{
    char hash[FLEET_HEX_SHA256 + 1];
    fleet_sha256_hex(hash, body);
    return same(hash, s->body_sha256);
}

bool fleet_peer_is_target(struct cd_str target, struct cd_str node, struct cd_str generation,
                          bool any_process)
{
    struct cd_str to, process;
    if (!target_split(target, &to, &process) || !cd_str_eq(to, node))
        return false;
    return cd_str_eq(process, generation) || (any_process && cd_str_eq(process, CD_STR("*")));
}

/* ---- Answers ---- */

void fleet_peer_sign_answer(char out[FLEET_HEX_SHA256 + 1], const struct fleet_secret *k, struct cd_str nonce,
                            struct cd_str responder, int status, struct cd_str body)
{
    struct cd_buf text = {0};
    char hash[FLEET_HEX_SHA256 + 1];
    fleet_sha256_hex(hash, body);
    cd_buf_add_str(&text, CD_STR("celld-peer-response-v1"));
    line(&text, nonce);
    line(&text, responder);
    cd_buf_addf(&text, "\n%d", status);
    line(&text, cd_str(hash));
    mac(out, k, cd_buf_str(&text));
    cd_buf_deinit(&text);
}

bool fleet_peer_verify_answer(struct cd_str signature, const struct fleet_secret *k, struct cd_str nonce,
                              struct cd_str responder, int status, struct cd_str body)
{
    char want[FLEET_HEX_SHA256 + 1];
    fleet_peer_sign_answer(want, k, nonce, responder, status, body);
    return same(want, signature);
}

/* ---- Replays ---- */

struct nonce {
    struct cd_link link;
    uint64_t at_ns;
    unsigned char bytes[FLEET_NONCE_SIZE];
};

static void forget_oldest(struct fleet_nonces *n)
{
    struct nonce *e = CD_CONTAINER(n->arrived.head.next, struct nonce, link);
    void *removed = cd_map_remove(&n->known, cd_str_of(e->bytes, sizeof e->bytes));
    CD_ASSERT(removed == e);
    cd_link_remove(&e->link);
    cd_free(e);
}

static void forget_old(struct fleet_nonces *n, uint64_t now_ns)
{
    uint64_t keep_ns = FLEET_NONCE_KEEP_MS * UINT64_C(1000000);
    if (CD_PLANT("fleet.nonce_forgotten")) /* B76 */
        keep_ns = FLEET_PEER_WINDOW_MS * UINT64_C(1000000);
    while (n->known.count > 0 &&
           now_ns - CD_CONTAINER(n->arrived.head.next, struct nonce, link)->at_ns > keep_ns)
        forget_oldest(n);
}

enum fleet_verdict fleet_nonces_add(struct fleet_nonces *n, const unsigned char nonce[FLEET_NONCE_SIZE],
                                    uint64_t now_ns)
{
    if (n->arrived.head.next == NULL)
        cd_list_init(&n->arrived);
    forget_old(n, now_ns);
    if (cd_map_get(&n->known, cd_str_of(nonce, FLEET_NONCE_SIZE)) != NULL)
        return FLEET_VERDICT_REPLAY;
    if (n->known.count >= (n->count_max == 0 ? FLEET_NONCES_MAX : n->count_max))
        return FLEET_VERDICT_FULL;
    struct nonce *e = cd_new(struct nonce);
    e->at_ns = now_ns;
    memcpy(e->bytes, nonce, sizeof e->bytes);
    cd_list_push(&n->arrived, &e->link);
    (void)cd_map_put(&n->known, cd_str_of(e->bytes, sizeof e->bytes), e);
    return FLEET_VERDICT_OK;
}

void fleet_nonces_deinit(struct fleet_nonces *n)
{
    while (n->known.count > 0)
        forget_oldest(n);
    cd_map_deinit(&n->known);
}
