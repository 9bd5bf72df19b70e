/* store/names.h: the names of the bucket: scopes, nodes, sessions, and the key of every record (fleet.md 1.1,
 * 2.1).
 *
 * Pure. A key that is read back from a listing is taken apart here too, strictly: what does not parse exactly
 * is nobody's and is left alone. Keys of LTX objects are in src/ltx. */
#ifndef STORE_NAMES_H
#define STORE_NAMES_H

#include "base/buf.h"

#define STORE_SCOPE_MAX 255
#define STORE_NODE_MAX 128
#define STORE_GENERATION_LEN 64
#define STORE_SESSION_MAX (STORE_NODE_MAX + 1 + STORE_GENERATION_LEN)
#define STORE_ID_LEN 32 /* Hex digits of a large row's id and of a pack's digest. */

bool store_scope_valid(struct cd_str scope);
bool store_node_valid(struct cd_str node);
bool store_generation_valid(struct cd_str generation); /* 64 lowercase hex digits. */
/* `<node>/<generation>`. False when it is not one; node and generation (either may be NULL) borrow from
 * session. */
bool store_session_split(struct cd_str session, struct cd_str *node, struct cd_str *generation);
bool store_session_valid(struct cd_str session);

/* Two names of one alarm state (fleet.md 8.1): lexicographic. <0, 0, >0. */
struct store_identity {
    uint64_t epoch, seq;
};
int store_identity_cmp(struct store_identity a, struct store_identity b);
/* `<E>.<S>`: two positive decimals without leading zeros, up to 2^53-1. */
void store_identity_text(struct cd_buf *out, struct store_identity i);
bool store_identity_parse(struct store_identity *out, struct cd_str text);

/* Each appends one key. Names must be valid: a bad one is a mistake of the caller's and is asserted about. */
void store_key_owner(struct cd_buf *out, struct cd_str scope);
void store_key_retired_epochs(struct cd_buf *out, struct cd_str scope); /* cells/<cell>/ltx/retired.json */
void store_key_lease(struct cd_buf *out, struct cd_str node);
void store_key_log(struct cd_buf *out,
                   struct cd_str session); /* log/<session>/: the prefix of what follows. */
void store_key_slot(struct cd_buf *out, struct cd_str session, uint64_t slot);
void store_key_row(struct cd_buf *out, struct cd_str session, struct cd_str id); /* id: 32 hex digits. */
void store_key_floor(struct cd_buf *out, struct cd_str session);
void store_key_recovered(struct cd_buf *out, struct cd_str session, struct cd_str claimant, uint64_t n);
void store_key_loss_slot(struct cd_buf *out, struct cd_str session, uint64_t slot);
void store_key_alarms(struct cd_buf *out, struct cd_str session, uint64_t n); /* Alarm checkpoint n. */
void store_key_wake_session(struct cd_buf *out, struct cd_str session); /* wake/sessions/<session>/ */
void store_key_wake_entry(struct cd_buf *out, struct cd_str scope, uint64_t due_ms, struct store_identity i);
void store_key_wake_retired(struct cd_buf *out, struct cd_str scope);
#define STORE_KEY_WAKE_FORMAT "wake/format.json"
#define STORE_KEY_WAKER "wake/waker.json"
#define STORE_KEY_PEER_AUTH "fleet/peer-auth.json"
#define STORE_PREFIX_NODES "nodes/"
#define STORE_PREFIX_WAKE_ENTRIES "wake/entries/"
#define STORE_PREFIX_WAKE_PACKS "wake/packs/"

/* What a key below log/<session>/ is. */
enum store_log_kind {
    STORE_LOG_OTHER, /* Nothing that this version knows. */
    STORE_LOG_SLOT, /* number is set. */
    STORE_LOG_FLOOR,
    STORE_LOG_ROW,
    STORE_LOG_RECOVERED,
    STORE_LOG_LOSS,
};
struct store_log_name {
    enum store_log_kind kind;
    struct cd_str session; /* Borrows from the key. */
    uint64_t number;
};
/* False when key is not below the log of a session at all. */
bool store_log_name_parse(struct store_log_name *out, struct cd_str key);
/* The slot of log/<session>/loss/slot-<slot>.json. */
bool store_loss_slot_parse(uint64_t *slot, struct cd_str key);
bool store_lease_name_parse(struct cd_str *node, struct cd_str key); /* nodes/<node>.json */

struct store_wake_name {
    uint64_t minute;
    struct cd_str scope; /* Borrows from the key. */
    struct store_identity identity;
};
bool store_wake_entry_parse(struct store_wake_name *out, struct cd_str key);

struct store_pack_name {
    uint64_t minute;
    struct cd_str session, digest; /* Borrow from the key. */
};
void store_key_pack(struct cd_buf *out, const struct store_pack_name *n);
bool store_pack_name_parse(struct store_pack_name *out, struct cd_str key);

#define STORE_MINUTE_DIGITS 12
uint64_t store_minute_of(uint64_t due_ms);

#endif
