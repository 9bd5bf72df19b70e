/* fleet/peer_auth.h: how a call between nodes is signed and verified. fleet.md 10.3.
 *
 * Pure functions of values. What is signed is the canonical text of a request; the key is the secret of the
 * fleet. Nothing here says why to a caller that could not prove itself: 401 has no detail but "clock". */
#ifndef FLEET_PEER_AUTH_H
#define FLEET_PEER_AUTH_H

#include "base/list.h"
#include "base/map.h"
#include "http/http.h"
#include "store/names.h"

#define FLEET_PEER_VERSION "1" /* FLEET_PEER_PROTOCOL, as requests say it. */
#define FLEET_PEER_WINDOW_MS 30000 /* How far clocks of peers may be apart, either way. */
#define FLEET_SECRET_SIZE 32u
#define FLEET_HEX_SHA256 64u
#define FLEET_NONCE_SIZE 16u

/* Of the fleet, from fleet/peer-auth.json. Never in an event, a message or an answer. */
struct fleet_secret {
    unsigned char key[FLEET_SECRET_SIZE];
};

/* What the signature of a request covers. All borrowed; a NULL ptr: the request does not say it. */
struct fleet_peer_signed {
    struct cd_str method, target_path; /* target_path: path and query as they stand in the request. */
    struct cd_str version, source, target, timestamp, nonce, body_sha256, signature;
};
void fleet_sha256_hex(char out[FLEET_HEX_SHA256 + 1], struct cd_str bytes);
/* signature is not read. */
void fleet_peer_canonical(struct cd_buf *out, const struct fleet_peer_signed *s);
void fleet_peer_sign(char out[FLEET_HEX_SHA256 + 1], const struct fleet_secret *k,
                     const struct fleet_peer_signed *s);
/* Takes the fields of a request apart; method and target_path stay as they are. A field that comes twice is
 * one that is not there. */
void fleet_peer_signed_read(struct fleet_peer_signed *out, const struct http_field *field, size_t count);

/* Name, status, text of the answer. In the order in which they are found out. */
#define FLEET_PEER_VERDICTS(X)                                                                               \
    X(FLEET_VERDICT_OK, 200, "ok")                                                                           \
    X(FLEET_VERDICT_UNSIGNED, 401, "unauthorized") /* No version. */                                         \
    X(FLEET_VERDICT_VERSION, 426, "peer protocol mismatch")                                                  \
    X(FLEET_VERDICT_MALFORMED, 401, "unauthorized") /* Identities, numbers, or a field is not there. */      \
    X(FLEET_VERDICT_CLOCK, 401, "clock")                                                                     \
    X(FLEET_VERDICT_FORGED, 401, "unauthorized") /* The signature, or the hash of the body. */               \
    X(FLEET_VERDICT_TARGET, 409, "wrong-target")                                                             \
    X(FLEET_VERDICT_REPLAY, 409, "replay")                                                                   \
    X(FLEET_VERDICT_FULL, 503, "too many peer calls")
enum fleet_verdict {
#define X(name, status, text) name,
    FLEET_PEER_VERDICTS(X)
#undef X
};
int fleet_verdict_status(enum fleet_verdict v);
const char *fleet_verdict_text(enum fleet_verdict v);
/* Whether the caller has proved that it knows the secret: then the refusal is signed too. */
bool fleet_verdict_proven(enum fleet_verdict v);

/* All that can be said before the body has come: up to FLEET_VERDICT_FORGED. */
enum fleet_verdict fleet_peer_verify_head(const struct fleet_peer_signed *s, const struct fleet_secret *k,
                                          int64_t now_ms);
/* Whether the body is the one that was signed. */
bool fleet_peer_verify_body(const struct fleet_peer_signed *s, struct cd_str body);
/* Whether target names this process: `<node>/<generation>`, or `<node>/` and a star where any_process. */
bool fleet_peer_is_target(struct cd_str target, struct cd_str node, struct cd_str generation,
                          bool any_process);

/* The signature of an answer to the request with that nonce: x-celld-peer-response. */
void fleet_peer_sign_answer(char out[FLEET_HEX_SHA256 + 1], const struct fleet_secret *k, struct cd_str nonce,
                            struct cd_str responder, int status, struct cd_str body);
bool fleet_peer_verify_answer(struct cd_str signature, const struct fleet_secret *k, struct cd_str nonce,
                              struct cd_str responder, int status, struct cd_str body);

/* Nonces that were accepted, each for longer than its request is inside the clock window. Not persisted: a
 * new process has a new generation. Zeroed: empty, with the limit in brackets. */
#define FLEET_NONCES_MAX 1000000u
#define FLEET_NONCE_KEEP_MS                                                                                  \
    (2 * FLEET_PEER_WINDOW_MS + 5000) /* Clocks that drift tick unlike each other.                           \
                                       */
struct fleet_nonces {
    struct cd_map known; /* struct nonce, owned */
    struct cd_list arrived; /* The same, oldest first. */
    size_t count_max; /* 0: FLEET_NONCES_MAX. */
};
/* OK (and it is known from now on), REPLAY or FULL. now_ns is monotonic. */
enum fleet_verdict fleet_nonces_add(struct fleet_nonces *n, const unsigned char nonce[FLEET_NONCE_SIZE],
                                    uint64_t now_ns);
void fleet_nonces_deinit(struct fleet_nonces *n);

#endif
