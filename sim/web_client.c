/* sim/web_client.c: the client of the http workload. */
#include "sim/web_client.h"

#include "http/head.h"

#define PIECE_MAX 4096u

static const struct http_limits limits = {.head_max = HTTP_HEAD_MAX,
                                          .target_max = HTTP_TARGET_MAX,
                                          .fields_max = HTTP_FIELDS_MAX,
                                          .body_max = 1u << 30};

/* ---- Connection ---- */

int web_conn_open(struct web_conn *c, struct io *io, const char *host, uint64_t deadline_ns)
{
    struct io_addr at = {.port = 80};
    struct io_op op = {0};
    *c = (struct web_conn){.io = io};
    CD_ASSERT(strlen(host) < sizeof at.host);
    memcpy(at.host, host, strlen(host) + 1);
    io_connect(&c->stream, io, &at, &op, NULL);
    int rc = io_await(&op, deadline_ns);
    c->open = rc == 0;
    return rc;
}

static void close_stream(struct web_conn *c, bool abort)
{
    struct io_op op = {0};
    if (!c->open)
        return;
    c->open = false;
    io_stream_close(&c->stream, abort, &op, NULL);
    /* For ever: a close always comes to its end. */
    (void)io_await(&op, IO_FOREVER);
}

void web_conn_close(struct web_conn *c, bool abort)
{
    close_stream(c, abort);
    http_parser_deinit(&c->parser);
    cd_buf_deinit(&c->in);
    c->rest = (struct cd_str){0};
}

/* More bytes behind c->rest. */
static int read_more(struct web_conn *c, uint64_t deadline_ns)
{
    struct io_read r = {0};
    io_stream_read(&c->stream, &r, NULL);
    int rc = io_await(&r.op, deadline_ns);
    if (rc != 0)
        return rc;
    struct cd_buf next = {0};
    cd_buf_add_str(&next, c->rest);
    cd_buf_add(&next, r.buf, r.len);
    cd_buf_deinit(&c->in);
    c->in = next;
    c->rest = cd_buf_str(&c->in);
    return 0;
}

/* ---- Sending ---- */

struct sender {
    struct web_conn *conn;
    const struct web_truth *truth;
    const struct web_batch *batch;
    struct io_signal ended;
    bool done, stop;
    uint64_t sent;
    struct cd_buf bytes; /* owned */
};

static bool cut_off(const struct sender *s)
{
    return s->stop || s->sent >= s->batch->abort_at;
}

/* Writes s->bytes, or what of it is left before the connection is to be cut. */
static int send_bytes(struct sender *s)
{
    uint64_t room = s->batch->abort_at - s->sent;
    struct cd_str part = cd_buf_str(&s->bytes);
    if (part.len > room)
        part.len = room;
    struct io_write w = {.part = &part, .parts = 1};
    if (part.len == 0)
        return 0;
    io_stream_write(&s->conn->stream, &w, NULL);
    int rc = io_await(&w.op, s->batch->deadline_ns);
    s->sent += part.len;
    cd_buf_clear(&s->bytes);
    return rc;
}

static void add_head(struct sender *s, const struct web_request *q, const struct web_op *op)
{
    struct cd_buf number = {0};
    cd_buf_addf(&number, "%llu", (unsigned long long)q->id);
    size_t id_len = number.len;
    cd_buf_addf(&number, "%u", op->reply_len);
    struct http_field fields[] = {
        {CD_STR("x-op"), cd_str_sub(cd_buf_str(&number), 0, id_len)},
        {CD_STR("x-want"), cd_str_sub(cd_buf_str(&number), id_len, SIZE_MAX)},
        {CD_STR("x-chunked"), q->reply_chunked ? CD_STR("1") : CD_STR("0")},
    };
    struct http_ask ask = {
        .method = op->body_len == 0 ? CD_STR("GET") : CD_STR("POST"),
        .target = CD_STR("/op"),
        .authority = CD_STR("fleet.example"),
        .field = fields,
        .field_count = CD_COUNT(fields),
        .body_len = op->body_len == 0 ? 0
                    : q->chunked      ? HTTP_LEN_CHUNKED
                                      : op->body_len,
    };
    int rc = http_head_request(&s->bytes, &ask);
    CD_ASSERT(rc == 0);
    if (q->expect && op->body_len > 0) {
        /* Written by hand: http_head_request leaves it to a client that can wait, and this one does not. */
        s->bytes.len -= 2;
        cd_buf_addf(&s->bytes, "Expect: 100-continue\r\n\r\n");
    }
    cd_buf_deinit(&number);
}

static int send_request(struct sender *s, const struct web_request *q)
{
    const struct web_op op = web_truth_get(s->truth, q->id);
    add_head(s, q, &op);
    int rc = 0;
    /* Small requests go with their head, as most clients send them. */
    if (op.body_len > 512)
        rc = send_bytes(s);
    for (uint64_t at = 0; rc == 0 && at < op.body_len && !cut_off(s);) {
        uint64_t most = op.body_len - at < PIECE_MAX ? op.body_len - at : PIECE_MAX;
        size_t len = 1 + (size_t)io_random_below(s->conn->io, IO_RAND_JITTER, most);
        if (op.body_len > 16 * PIECE_MAX)
            len = (size_t)most; /* Large ones in large pieces: there are enough of them. */
        if (q->chunked)
            http_chunk_head(&s->bytes, len);
        web_bytes(&s->bytes, q->id, WEB_BODY, at, len);
        if (q->chunked)
            cd_buf_addf(&s->bytes, "\r\n");
        at += len;
        if (q->chunked && at == op.body_len)
            cd_buf_addf(&s->bytes, HTTP_CHUNK_LAST);
        rc = send_bytes(s);
    }
    return rc != 0 || s->bytes.len == 0 ? rc : send_bytes(s);
}

static void sender_flow(void *arg)
{
    struct sender *s = arg;
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < s->batch->count && !cut_off(s); i++)
        rc = send_request(s, &s->batch->request[i]);
    if (rc == 0 && s->batch->finish && !cut_off(s)) {
        struct io_op op = {0};
        io_stream_finish(&s->conn->stream, &op, NULL);
        (void)io_await(&op, s->batch->deadline_ns);
    }
    if (s->sent >= s->batch->abort_at) {
        CD_MARK("http.aborted");
        close_stream(s->conn, true); /* Ends the other fiber's read, too. */
    }
    s->done = true;
    io_signal_wake(&s->ended, IO_OK);
}

/* ---- Answers ---- */

struct answer {
    int status;
    bool keep_alive, same, named;
    uint64_t answers, len;
};

static void take_head(struct answer *a, const struct http_head *h)
{
    struct cd_str op = http_field_value(h->field, h->field_count, CD_STR("x-op"));
    a->status = h->status;
    a->keep_alive = h->keep_alive;
    a->same = true;
    a->len = 0;
    a->named = op.ptr != NULL && cd_str_u64(op, &a->answers) == 0;
}

/* One whole answer, interim ones left out. An error: it did not come whole. */
static int read_answer(struct web_conn *c, struct answer *a, uint64_t deadline_ns)
{
    http_parser_start(&c->parser, HTTP_PARSE_RESPONSE, &limits);
    for (;;) {
        struct cd_str body;
        int rc = 0;
        switch (http_parse(&c->parser, &c->rest, &body)) {
        case HTTP_PARSED_HEAD: take_head(a, &c->parser.head); break;
        case HTTP_PARSED_BODY:
            a->same = a->same && (!a->named || web_bytes_are(a->answers, WEB_REPLY, a->len, body));
            a->len += body.len;
            break;
        case HTTP_PARSED_END:
            if (a->status >= 200)
                return 0;
            CD_MARK("http.continue");
            http_parser_start(&c->parser, HTTP_PARSE_RESPONSE, &limits); /* 100: the answer follows. */
            break;
        case HTTP_PARSED_BAD: return IO_PROTOCOL;
        case HTTP_PARSED_MORE:
            rc = read_more(c, deadline_ns);
            if (rc == IO_EOF && http_parse_eof(&c->parser) == HTTP_PARSED_END)
                return 0;
            if (rc != 0 && CD_PLANT("http.cut-answer-is-whole") && http_parser_begun(&c->parser))
                return 0;
            break;
        }
        if (rc != 0)
            return rc;
    }
}

static const char *judge(struct web_truth *truth, const struct web_request *q, const struct answer *a,
                         struct cd_buf *why)
{
    if (a->status == 200)
        return web_truth_answer(truth, q->id, a->named ? a->answers : 0, a->len, a->same, why);
    CD_MARK("http.refused");
    return web_truth_refuse(truth, q->id, a->status, why);
}

static void wait_for_sender(struct sender *s)
{
    while (!s->done) {
        struct io_op op = {0};
        io_signal_wait(&s->ended, s->conn->io, &op, NULL);
        /* For ever: the sender's own waits have a deadline, and closing ends them. */
        (void)io_await(&op, IO_FOREVER);
    }
}

const char *web_conn_batch(struct web_conn *c, struct web_truth *truth, const struct web_batch *b,
                           struct cd_buf *why)
{
    struct sender s = {.conn = c, .truth = truth, .batch = b};
    const char *broken = NULL;
    unsigned taken = 0;
    bool goes_on = true;
    io_signal_init(&s.ended);
    (void)io_spawn(c->io, "sender", sender_flow, &s);
    while (broken == NULL && goes_on && taken < b->count) {
        struct answer a = {0};
        int rc = read_answer(c, &a, b->deadline_ns);
        if (rc != 0) {
            goes_on = false;
            break;
        }
        goes_on = a.keep_alive;
        if (!s.done)
            CD_MARK("http.early_answer");
        broken = judge(truth, &b->request[taken], &a, why);
        taken++;
    }
    /* All answers are in, yet the sender may go on: an answer can come before the end of its request. */
    s.stop = !goes_on || broken != NULL || !s.done;
    bool reuse = goes_on && broken == NULL && s.done && !b->finish && s.sent < b->abort_at;
    if (!reuse)
        close_stream(c, s.stop);
    wait_for_sender(&s);
    cd_buf_deinit(&s.bytes);
    if (!reuse)
        web_conn_close(c, true);
    if (taken < b->count)
        CD_MARK("http.unanswered");
    for (; taken < b->count && broken == NULL; taken++)
        web_truth_lose(truth, b->request[taken].id);
    return broken;
}
