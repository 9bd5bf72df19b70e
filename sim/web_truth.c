/* sim/web_truth.c: judges what servers and clients saw. */
#include "sim/web_truth.h"

#define PIECE 8u

void web_truth_deinit(struct web_truth *t)
{
    cd_free(t->op);
    *t = (struct web_truth){0};
}

uint64_t web_truth_add(struct web_truth *t, const struct web_op *op)
{
    if (t->ops == t->cap) {
        t->cap = t->cap == 0 ? 256 : t->cap * 2;
        t->op = cd_realloc(t->op, t->cap * sizeof *t->op);
    }
    t->op[t->ops] = *op;
    return ++t->ops;
}

static struct web_op *find(const struct web_truth *t, uint64_t id)
{
    return id == 0 || id > t->ops ? NULL : &t->op[id - 1];
}

struct web_op web_truth_get(const struct web_truth *t, uint64_t id)
{
    const struct web_op *op = find(t, id);
    CD_ASSERT(op != NULL);
    return *op;
}

static const char *broken(struct cd_buf *why, const char *invariant, uint64_t id, const struct web_op *op,
                          const char *what, uint64_t got, uint64_t want)
{
    cd_buf_addf(why, "request %llu of c%u to n%u: ", (unsigned long long)id, op->client, op->node);
    cd_buf_addf(why, "%s (%llu, want %llu)", what, (unsigned long long)got, (unsigned long long)want);
    return invariant;
}

const char *web_truth_execute(struct web_truth *t, uint64_t id, uint64_t len, bool same, struct cd_buf *why)
{
    struct web_op *op = find(t, id);
    if (op == NULL) {
        cd_buf_addf(why, "request %llu was executed, nobody sent it", (unsigned long long)id);
        return "http.invented";
    }
    if (len != op->body_len)
        return broken(why, "http.body", id, op, "executed with a body of another length", len, op->body_len);
    if (!same)
        return broken(why, "http.body", id, op, "executed with other bytes than were sent", 0, 1);
    op->executed++;
    t->executed++;
    if (op->executed > 1)
        return broken(why, "http.twice", id, op, "executed again", op->executed, 1);
    if (op->outcome == WEB_REFUSED)
        return broken(why, "http.refused", id, op, "executed after it was refused", 1, 0);
    return NULL;
}

const char *web_truth_answer(struct web_truth *t, uint64_t id, uint64_t answers, uint64_t len, bool same,
                             struct cd_buf *why)
{
    struct web_op *op = find(t, id);
    CD_ASSERT(op != NULL && op->outcome == WEB_OPEN);
    if (answers != id)
        return broken(why, "http.mixed", id, op, "the answer is for another request", answers, id);
    if (len != op->reply_len)
        return broken(why, "http.answer", id, op, "an answer of another length was taken as whole", len,
                      op->reply_len);
    if (!same)
        return broken(why, "http.answer", id, op, "the answer has other bytes than were sent", 0, 1);
    if (op->executed == 0)
        return broken(why, "http.unexecuted", id, op, "answered, but not executed", 0, 1);
    op->outcome = WEB_ACKED;
    t->acked++;
    return NULL;
}

const char *web_truth_refuse(struct web_truth *t, uint64_t id, int status, struct cd_buf *why)
{
    struct web_op *op = find(t, id);
    CD_ASSERT(op != NULL && op->outcome == WEB_OPEN);
    if (op->executed > 0)
        return broken(why, "http.refused", id, op, "executed, but answered with an error", (uint64_t)status,
                      200);
    op->outcome = WEB_REFUSED;
    t->refused++;
    return NULL;
}

void web_truth_lose(struct web_truth *t, uint64_t id)
{
    struct web_op *op = find(t, id);
    CD_ASSERT(op != NULL && op->outcome == WEB_OPEN);
    op->outcome = WEB_UNKNOWN;
    t->unknown++;
}

/* Eight bytes at a time, from their place: any piece can be made alone. */
static uint64_t word(uint64_t id, enum web_way way, uint64_t index)
{
    uint64_t z = (id * 2 + way) * UINT64_C(0x9e3779b97f4a7c15) + index * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 30)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 29);
}

void web_bytes(struct cd_buf *out, uint64_t id, enum web_way way, uint64_t at, size_t len)
{
    char *to = cd_buf_reserve(out, len + PIECE);
    size_t done = 0;
    while (done < len) {
        uint64_t w = word(id, way, (at + done) / PIECE);
        for (uint64_t i = (at + done) % PIECE; i < PIECE && done < len; i++)
            to[done++] = (char)(w >> (8 * i));
    }
    out->len += len;
}

bool web_bytes_are(uint64_t id, enum web_way way, uint64_t at, struct cd_str got)
{
    size_t done = 0;
    while (done < got.len) {
        uint64_t w = word(id, way, (at + done) / PIECE);
        for (uint64_t i = (at + done) % PIECE; i < PIECE && done < got.len; i++) {
            if (got.ptr[done++] != (char)(w >> (8 * i)))
                return false;
        }
    }
    return true;
}
