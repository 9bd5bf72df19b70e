/* log/slot.h: a slot object: a run of consecutive batches, or the seal that ends a session's slots
 * (fleet.md 2.10). Pure. */
#ifndef LOG_SLOT_H
#define LOG_SLOT_H

#include "log/batch.h"

#define LOG_SLOT_HEAD_SIZE 72u /* Tells whose object it is; what a leader reads back. */
#define LOG_SLOT_BYTES_MAX (LOG_BATCH_BYTES_MAX + (1u << 20))

enum log_slot_kind { LOG_SLOT_BATCHES = 1, LOG_SLOT_SEAL = 2 };

struct log_slot_head {
    enum log_slot_kind kind;
    uint8_t id[LOG_ID_SIZE]; /* Random, unique per object. */
    uint64_t slot, first_batch, last_batch; /* Seal: last_batch is the last below it, first_batch one more. */
    uint16_t pipeline; /* The session's P. */
    uint64_t directory_offset, total_length; /* Reading only. */
};

/* Writing batches: begin, then batches appended to `to` (log_batch_begin .. end) each followed by
 * log_slot_batch, then end. */
struct log_slot_out {
    struct cd_buf *to;
    size_t start, batch_start;
    size_t session_len;
    struct log_slot_head head;
    struct cd_buf directory; /* owned, until end */
};
void log_slot_begin(struct log_slot_out *o, struct cd_buf *to, struct cd_str session,
                    const struct log_slot_head *head);
void log_slot_batch(struct log_slot_out *o, const uint8_t digest[LOG_SHA256_SIZE]);
void log_slot_end(struct log_slot_out *o);

/* What a seal says of its writer; for a graceful close recoverer is the session itself. */
struct log_seal_text {
    struct cd_str recoverer;
    int64_t claimed_ms, created_ms;
};
void log_slot_seal(struct cd_buf *to, struct cd_str session, const struct log_slot_head *head,
                   const struct log_seal_text *text);

/* The first LOG_SLOT_HEAD_SIZE bytes or more of a slot object. CD_ECORRUPT: it is none of this version. */
CD_MUST_USE int log_slot_head_read(struct log_slot_head *h, struct cd_str bytes, struct cd_buf *why);

/* A whole slot object, checked against its key: everything but the insides of its batches. Borrows. */
struct log_slot {
    struct log_slot_head head;
    struct cd_str session, bytes;
    struct log_seal_text seal; /* LOG_SLOT_SEAL. */
    struct cd_buf recoverer; /* owned: what seal borrows from */
};
/* CD_ECORRUPT with what is wrong in why (may be NULL); then there is nothing to deinit. */
CD_MUST_USE int log_slot_open(struct log_slot *s, struct cd_str bytes, struct cd_str session, uint64_t slot,
                              struct cd_buf *why);
void log_slot_deinit(struct log_slot *s);
size_t log_slot_batches(const struct log_slot *s); /* 0 of a seal. */
/* The index-th batch, checked with its number, session and digest. CD_ECORRUPT. */
CD_MUST_USE int log_slot_batch_open(const struct log_slot *s, size_t index, struct log_batch *b,
                                    struct cd_buf *why);

/* "log/<session>/<slot>", "log/<session>/rows/<id>": appended. */
void log_slot_key(struct cd_buf *out, struct cd_str session, uint64_t slot);
void log_apart_key(struct cd_buf *out, struct cd_str session, const uint8_t id[LOG_ID_SIZE]);
/* The slot number in a key of the session. False: another object (floor.json, rows/...). */
bool log_slot_key_parse(struct cd_str key, struct cd_str session, uint64_t *slot);

#endif
