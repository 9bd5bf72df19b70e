/* http/ws_handshake.c: the opening handshake of RFC 6455. */
#include "http/ws_handshake.h"

#include <openssl/evp.h>

#include "base/encode.h"

#define SHA1_SIZE 20

static const char accept_salt[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; /* RFC 6455 1.3 */

static void base64_into(char *out, size_t out_len, const void *bytes, size_t len)
{
    struct cd_buf text = {0};
    cd_base64_encode(&text, cd_str_of(bytes, len), CD_BASE64_STD, true);
    CD_ASSERT(text.len == out_len);
    memcpy(out, text.ptr, out_len);
    out[out_len] = '\0';
    cd_buf_deinit(&text);
}

void http_ws_accept_text(char out[HTTP_WS_ACCEPT_LEN + 1], struct cd_str key)
{
    struct cd_buf salted = {0};
    cd_buf_add_str(&salted, key);
    cd_buf_add(&salted, accept_salt, sizeof accept_salt - 1);
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    int ok = EVP_Digest(salted.ptr, salted.len, digest, &size, EVP_sha1(), NULL);
    CD_ASSERT(ok == 1 && size == SHA1_SIZE);
    cd_buf_deinit(&salted);
    base64_into(out, HTTP_WS_ACCEPT_LEN, digest, size);
}

void http_ws_key_text(char out[HTTP_WS_KEY_LEN + 1], const unsigned char nonce[16])
{
    base64_into(out, HTTP_WS_KEY_LEN, nonce, 16);
}

static struct cd_str value_of(const struct http_head *h, const char *name)
{
    return http_field_value(h->field, h->field_count, cd_str(name));
}

static unsigned count_of(const struct http_head *h, struct cd_str name)
{
    unsigned count = 0;
    for (size_t i = 0; i < h->field_count; i++)
        count += cd_str_eq_nocase(h->field[i].name, name);
    return count;
}

bool http_ws_wanted(const struct http_head *request)
{
    return request->upgrade && http_list_has(value_of(request, "upgrade"), CD_STR("websocket"));
}

static bool key_ok(struct cd_str key)
{
    struct cd_buf nonce = {0};
    bool ok =
        key.len == HTTP_WS_KEY_LEN && cd_base64_decode(&nonce, key, CD_BASE64_STD) == 0 && nonce.len == 16;
    cd_buf_deinit(&nonce);
    return ok;
}

int http_ws_request_check(const struct http_head *request, struct cd_str *key, const char **why)
{
    if (!http_ws_wanted(request)) {
        *why = "not a WebSocket request";
        return 400;
    }
    if (!request->is_get || request->minor < 1 || request->body_len != 0) {
        *why = "a WebSocket starts with an HTTP/1.1 GET without a body";
        return 400;
    }
    if (!cd_str_eq(value_of(request, "sec-websocket-version"), CD_STR("13"))) {
        *why = "unsupported Sec-WebSocket-Version";
        return 426;
    }
    struct cd_str said = value_of(request, "sec-websocket-key");
    if (count_of(request, CD_STR("sec-websocket-key")) != 1 || !key_ok(said)) {
        *why = "malformed Sec-WebSocket-Key";
        return 400;
    }
    *key = said;
    return 0;
}

/* Names of subprotocols are compared with case, unlike most of HTTP. */
static bool offers(struct cd_str list, struct cd_str name)
{
    struct cd_str piece;
    while (cd_str_next(&list, ',', &piece)) {
        if (name.len > 0 && cd_str_eq(cd_str_trim(piece), name))
            return true;
    }
    return false;
}

int http_ws_answer_check(const struct http_head *answer, struct cd_str key, struct cd_str offered,
                         struct cd_str *protocol, const char **why)
{
    char accept[HTTP_WS_ACCEPT_LEN + 1];
    http_ws_accept_text(accept, key);
    struct cd_str chosen = value_of(answer, "sec-websocket-protocol");
    if (answer->status != 101)
        *why = "the server did not switch protocols";
    else if (!answer->upgrade || !cd_str_eq_nocase(value_of(answer, "upgrade"), CD_STR("websocket")))
        *why = "the server switched to another protocol";
    else if (!cd_str_eq(value_of(answer, "sec-websocket-accept"), cd_str(accept)))
        *why = "wrong Sec-WebSocket-Accept";
    else if (count_of(answer, CD_STR("sec-websocket-extensions")) != 0)
        *why = "an extension that was not offered";
    else if (chosen.ptr != NULL &&
             (!offers(offered, chosen) || count_of(answer, CD_STR("sec-websocket-protocol")) != 1))
        *why = "a subprotocol that was not offered";
    else {
        *protocol = chosen;
        return 0;
    }
    return CD_ESYNTAX;
}
