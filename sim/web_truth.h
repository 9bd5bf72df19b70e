/* sim/web_truth.h: the oracle of the http workload: which requests there are, what was executed, what was
 * answered. Pure.
 *
 * Every request has a number of its own that is never used again, and bytes that follow from the number, both
 * ways. So a body or an answer that belongs to another request, has a piece missing, twice or elsewhere, is
 * seen at once. */
#ifndef SIM_WEB_TRUTH_H
#define SIM_WEB_TRUTH_H

#include "base/buf.h"

enum web_outcome {
    WEB_OPEN,
    WEB_ACKED, /* Answered with 200, whole: it was executed, once. */
    WEB_REFUSED, /* Answered with an error: it was not, and never will be. */
    WEB_UNKNOWN, /* No answer: executed at most once. */
};

struct web_op {
    uint32_t body_len, reply_len;
    uint8_t client, node;
    uint8_t executed;
    enum web_outcome outcome;
};

struct web_truth {
    struct web_op *op; /* owned; number n is op[n - 1] */
    uint64_t ops, cap;
    uint64_t acked, refused, unknown, executed;
};

void web_truth_deinit(struct web_truth *t);
uint64_t web_truth_add(struct web_truth *t, const struct web_op *op); /* Returns its number, from 1. */
struct web_op web_truth_get(const struct web_truth *t,
                            uint64_t id); /* A copy: the table moves as it grows. */

/* The rest returns NULL when all is well, else the invariant that is broken, with the reason in why. */

/* A server took the whole body and did what it asks. same: every byte was the right one.
 * http.invented, http.body, http.twice, http.refused */
const char *web_truth_execute(struct web_truth *t, uint64_t id, uint64_t len, bool same, struct cd_buf *why);
/* The client that waits for the answer to id took an answer that says it is for answers, whole as far as HTTP
 * tells. http.mixed, http.answer, http.unexecuted */
const char *web_truth_answer(struct web_truth *t, uint64_t id, uint64_t answers, uint64_t len, bool same,
                             struct cd_buf *why);
const char *web_truth_refuse(struct web_truth *t, uint64_t id, int status,
                             struct cd_buf *why); /* http.refused */
void web_truth_lose(struct web_truth *t, uint64_t id); /* No answer came. */

/* The bytes at..at+len of a body: of the request, or of its answer. */
enum web_way { WEB_BODY, WEB_REPLY };
void web_bytes(struct cd_buf *out, uint64_t id, enum web_way way, uint64_t at, size_t len);
bool web_bytes_are(uint64_t id, enum web_way way, uint64_t at, struct cd_str got);

#endif
