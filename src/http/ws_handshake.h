/* http/ws_handshake.h: the opening handshake of RFC 6455 section 4 as text. Pure functions. */
#ifndef HTTP_WS_HANDSHAKE_H
#define HTTP_WS_HANDSHAKE_H

#include "base/buf.h"
#include "http/parse.h"

#define HTTP_WS_KEY_LEN 24 /* base64 of 16 bytes. */
#define HTTP_WS_ACCEPT_LEN 28 /* base64 of a SHA-1. */

/* Sec-WebSocket-Accept for a Sec-WebSocket-Key. */
void http_ws_accept_text(char out[HTTP_WS_ACCEPT_LEN + 1], struct cd_str key);
/* Sec-WebSocket-Key from 16 random bytes. */
void http_ws_key_text(char out[HTTP_WS_KEY_LEN + 1], const unsigned char nonce[16]);

/* Whether a request wants to become a WebSocket at all (Upgrade: websocket). */
bool http_ws_wanted(const struct http_head *request);

/* Judges such a request. 0: may be accepted, and key borrows its Sec-WebSocket-Key. Else the status to answer
 * with (400; 426 for another version, to be sent with Sec-WebSocket-Version: 13) and why, a static text. */
int http_ws_request_check(const struct http_head *request, struct cd_str *key, const char **why);

/* Judges the answer to our request. 0, or CD_ESYNTAX with why: status, Upgrade, Connection, Accept, an
 * extension or subprotocol we did not offer. offered: a comma-separated list, or empty. protocol borrows what
 * was chosen. */
CD_MUST_USE int http_ws_answer_check(const struct http_head *answer, struct cd_str key, struct cd_str offered,
                                     struct cd_str *protocol, const char **why);

#endif
