/* sim/web_call.c: calls of the http workload. */
#include "sim/web_call.h"

#define PIECE_MAX 4096u
#define AT_ONCE_MAX 1024u /* Smaller bodies go with the head. */

struct progress {
    const struct web_call *call;
    struct http_call *http;
    struct web_op op;
    uint64_t sent, got;
    bool same;
};

static void start(struct progress *p, struct io_op *op, struct cd_str body)
{
    const struct web_call *w = p->call;
    struct io_addr to = {.port = 80};
    struct cd_buf number = {0};
    cd_buf_addf(&number, "%llu", (unsigned long long)w->request.id);
    size_t id_len = number.len;
    cd_buf_addf(&number, "%u", p->op.reply_len);
    struct http_field fields[] = {
        {CD_STR("x-op"), cd_str_sub(cd_buf_str(&number), 0, id_len)},
        {CD_STR("x-want"), cd_str_sub(cd_buf_str(&number), id_len, SIZE_MAX)},
        {CD_STR("x-chunked"), w->request.reply_chunked ? CD_STR("1") : CD_STR("0")},
    };
    struct http_ask ask = {
        .method = p->op.body_len == 0 ? CD_STR("GET") : CD_STR("POST"),
        .target = CD_STR("/op"),
        .authority = CD_STR("fleet.example"),
        .field = fields,
        .field_count = CD_COUNT(fields),
        .body_len = p->op.body_len == 0  ? 0
                    : w->request.chunked ? HTTP_LEN_CHUNKED
                                         : p->op.body_len,
    };
    CD_ASSERT(strlen(w->host) < sizeof to.host);
    memcpy(to.host, w->host, strlen(w->host) + 1);
    http_call_start(p->http, w->pool, &to, &ask, body, op, NULL);
    cd_buf_deinit(&number);
}

/* The body in pieces, each taken by the client before the next. An error is no reason to stop: the answer may
 * come. */
static void send_body(struct progress *p)
{
    struct cd_buf bytes = {0};
    int rc = 0;
    while (rc == 0 && p->sent < p->op.body_len && p->sent < p->call->abort_at) {
        uint64_t most = p->op.body_len - p->sent < PIECE_MAX ? p->op.body_len - p->sent : PIECE_MAX;
        size_t len = 1 + (size_t)io_random_below(p->call->io, IO_RAND_JITTER, most);
        cd_buf_clear(&bytes);
        web_bytes(&bytes, p->call->request.id, WEB_BODY, p->sent, len);
        struct cd_str part = cd_buf_str(&bytes);
        struct io_write w = {.part = &part, .parts = 1};
        p->sent += len;
        http_call_write(p->http, &w, p->sent == p->op.body_len, NULL);
        rc = io_await(&w.op, p->call->deadline_ns);
    }
    cd_buf_deinit(&bytes);
}

/* IO_EOF: the whole answer is there. */
static int read_answer(struct progress *p, uint64_t answers)
{
    for (;;) {
        struct io_read r = {0};
        http_call_read(p->http, &r, NULL);
        int rc = io_await(&r.op, p->call->deadline_ns);
        if (rc != 0)
            return rc;
        p->same = p->same && web_bytes_are(answers, WEB_REPLY, p->got, cd_str_of(r.buf, r.len));
        p->got += r.len;
    }
}

static const char *judge_answer(struct progress *p, struct cd_buf *why)
{
    uint64_t answers = 0, id = p->call->request.id;
    const struct http_head *head = p->http->head;
    if (head->status != 200)
        return web_truth_refuse(p->call->truth, id, head->status, why);
    struct cd_str named = http_field_value(head->field, head->field_count, CD_STR("x-op"));
    if (named.ptr == NULL || cd_str_u64(named, &answers) != 0)
        answers = 0;
    if (read_answer(p, answers) == IO_EOF)
        return web_truth_answer(p->call->truth, id, answers, p->got, p->same, why);
    CD_MARK("http.call_cut");
    web_truth_lose(p->call->truth, id);
    return NULL;
}

const char *web_call_do(const struct web_call *w, struct cd_buf *why)
{
    struct http_call http = {0};
    struct progress p = {
        .call = w, .http = &http, .op = web_truth_get(w->truth, w->request.id), .same = true};
    struct io_op op = {0};
    struct cd_buf body = {0};
    const char *broken = NULL;
    bool at_once = p.op.body_len <= AT_ONCE_MAX && !w->request.chunked && w->abort_at == UINT64_MAX;
    if (at_once)
        web_bytes(&body, w->request.id, WEB_BODY, 0, p.op.body_len);
    start(&p, &op, cd_buf_str(&body));
    cd_buf_deinit(&body);
    if (!at_once)
        send_body(&p);
    bool aborted = p.sent >= w->abort_at && p.sent < p.op.body_len;
    if (aborted) {
        CD_MARK("http.call_aborted");
        io_cancel(&op);
    }
    int rc = io_await(&op, w->deadline_ns);
    if (rc == 0 && !aborted) {
        broken = judge_answer(&p, why);
    } else if (rc != 0 && http.fate == HTTP_UNSENT) {
        /* Nothing of it was sent: it must never be seen. */
        CD_MARK("http.call_unsent");
        broken = web_truth_refuse(w->truth, w->request.id, 0, why);
    } else {
        CD_MARK("http.call_lost");
        web_truth_lose(w->truth, w->request.id);
    }
    http_call_close(&http);
    return broken;
}
