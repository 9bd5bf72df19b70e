/* log/peer_wire.h: what a leader, a recoverer and a follower say to each other, as bytes (fleet.md 6.4, 7.3).
 * Pure. Readers borrow from what they read; CD_ECORRUPT comes with what is wrong in why (may be NULL). */
#ifndef LOG_PEER_WIRE_H
#define LOG_PEER_WIRE_H

#include "log/batch.h"
#include "store/names.h"

#define LOG_PATH_APPEND "/peer/log/append"
#define LOG_PATH_SEAL "/peer/log/seal"
#define LOG_PATH_TAIL "/peer/log/tail"
#define LOG_FRAMES_MAX 64u /* Of one append. */
#define LOG_APPEND_BYTES_MAX (LOG_BATCH_BYTES_MAX + (64u << 10))
#define LOG_TAIL_FORMAT 2u

/* Frames, as appends, tails and a follower's files carry them: u32 length and the bytes of a batch. */
void log_frame_add(struct cd_buf *to, struct cd_str batch);
/* Takes the next one off the front of rest. False: there is none, or (rest is not empty) it is cut. */
bool log_frame_next(struct cd_str *rest, struct cd_str *batch);

struct log_append {
    struct cd_str leader; /* A session. */
    uint64_t log_epoch, first_batch, truncate_to;
    uint32_t count;
    struct cd_str frames;
};
void log_append_write(struct cd_buf *to, const struct log_append *a); /* a->count frames are in a->frames. */
CD_MUST_USE int log_append_read(struct log_append *a, struct cd_str body, struct cd_buf *why);

struct log_append_answer {
    bool ok;
    uint64_t end, epoch; /* Of the fragment that is held. */
};
void log_append_answer_write(struct cd_buf *to, const struct log_append_answer *a);
CD_MUST_USE int log_append_answer_read(struct log_append_answer *a, struct cd_str body);
/* Whether it is what a member answers that does well. last: the last batch that the member has with this
 * append, first_batch - 1 while it has none. Then the append is an idle probe of a member that adopts the log
 * epoch with the first batch: it refuses, and that it holds an older epoch, or none, only says that it is
 * alive. */
bool log_append_heard(const struct log_append_answer *a, uint64_t log_epoch, uint64_t first_batch,
                      uint64_t last);

void log_seal_ask_write(struct cd_buf *to, struct cd_str leader, uint64_t log_epoch);
/* leader is a session of at most STORE_SESSION_MAX bytes; out has one more. */
CD_MUST_USE int log_seal_ask_read(char *leader, uint64_t *log_epoch, struct cd_str body);
struct log_seal_answer {
    uint64_t base, end, held, certified; /* held, certified: log epochs; certified 0: not complete. */
};
void log_seal_answer_write(struct cd_buf *to, const struct log_seal_answer *a);
CD_MUST_USE int log_seal_answer_read(struct log_seal_answer *a, struct cd_str body);

void log_tail_ask_write(struct cd_buf *to, struct cd_str leader);
/* CD_EUNSUPPORTED: another tail_format. */
CD_MUST_USE int log_tail_ask_read(char *leader, struct cd_str body);
struct log_tail {
    uint64_t epoch, base, end; /* epoch: of the fragment. */
    bool complete; /* Every batch in (base, end] is here, and nothing speaks against it. */
    uint32_t count;
    struct cd_str frames;
};
void log_tail_write(struct cd_buf *to, const struct log_tail *t);
/* Its frames are batches of session, of the fragment's epoch, ascending, in (base, end]; all of them when it
 * says complete. */
CD_MUST_USE int log_tail_read(struct log_tail *t, struct cd_str session, struct cd_str body,
                              struct cd_buf *why);

#endif
