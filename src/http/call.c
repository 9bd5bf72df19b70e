/* http/call.c: one request and its answer, from the caller's side. */
#include "http/client.h"
#include "http/client_internal.h"
#include "io/backend.h"

#define INTERIMS_MAX 16 /* Answers of 1xx before the real one. */

/* A waiting op is alone in its list, so its neighbour is the head: the way back to the state. */
static void op_park(struct cd_list *list, struct io_op *op, void (*cancel)(struct io_op *op))
{
    op->cancel = cancel;
    cd_list_init(list);
    cd_list_push(list, &op->link);
}

static void op_end(struct io_op *op, int status)
{
    cd_link_remove(&op->link);
    io_complete_later(op, status);
}

/* ---- Ends ---- */

static void starter_end(struct http_call_state *s, int status)
{
    struct io_op *op = s->starter;
    s->starter = NULL;
    if (op != NULL)
        op_end(op, status);
}

static void reader_end(struct http_call_state *s, int status)
{
    struct io_read *r = s->reader;
    s->reader = NULL;
    if (r != NULL)
        op_end(&r->op, status);
}

/* A writer whose parts are in flight ends with the link's write. */
static void writer_end(struct http_call_state *s, int status)
{
    struct io_write *w = s->writer;
    if (w == NULL || s->writer_sent)
        return;
    s->writer = NULL;
    op_end(&w->op, status);
}

static void place_leave(struct http_call_state *s)
{
    if (!cd_link_linked(&s->link_in_place))
        return;
    cd_link_remove(&s->link_in_place);
    s->place->waiters--;
}

void http_call_fail(struct http_call_state *s, int status, const char *why)
{
    place_leave(s);
    if (s->answer == CALL_WAITS || s->answer == CALL_BODY) {
        s->answer = CALL_BAD;
        s->status = status;
        if (s->call != NULL)
            s->call->why = why;
    }
    io_cancel(&s->timer.op);
    starter_end(s, status);
    reader_end(s, s->answer == CALL_END ? IO_EOF : status);
    writer_end(s, status == IO_CANCELED ? IO_CANCELED : IO_RESET);
}

void http_call_release(struct http_call_state *s)
{
    if (s->call != NULL || s->link != NULL || io_busy(&s->timer.op))
        return;
    struct http_client *c = s->client;
    CD_ASSERT(s->starter == NULL && s->reader == NULL && s->writer == NULL);
    cd_link_remove(&s->all);
    c->call_count--;
    cd_buf_deinit(&s->text);
    cd_buf_deinit(&s->lent);
    cd_free(s);
    http_client_advance(c);
}

/* ---- The request ---- */

static void write_done(struct io_op *op, int status)
{
    struct http_link *k = CD_CONTAINER(op, struct http_link, write.op);
    http_deadline_clear(&k->write_deadline);
    cd_buf_clear(&k->out.text);
    k->hold++;
    if (status != IO_OK)
        k->deaf = true; /* It may have answered before it stopped listening: reading goes on. */
    if (k->call != NULL)
        http_call_wrote(k->call, status);
    k->hold--;
    if (k->stash.len > k->stash_at || k->eof)
        http_link_kick(k); /* See http_call_feed. */
    http_link_settle(k);
}

/* False: there was nothing to write. */
static bool link_write(struct http_call_state *s, const struct cd_str *part, unsigned parts, bool last)
{
    struct http_link *k = s->link;
    struct http_client *c = s->client;
    unsigned count = http_out_frame(&k->out, part, parts, last);
    s->ending = last;
    if (count == 0)
        return false;
    k->write.part = k->out.part;
    k->write.parts = count;
    k->write_until_ns =
        http_write_until_ns(io_now_ns(c->io), c->opts.write_timeout_ns, http_parts_size(k->out.part, count));
    http_deadline_set(&c->deadlines, &k->write_deadline, LINK_WRITE);
    io_stream_write(&k->stream, &k->write, write_done);
    return true;
}

void http_call_begin(struct http_call_state *s, struct http_link *k)
{
    s->link = k;
    k->deaf = false;
    http_parser_start(&k->parser, s->is_head ? HTTP_PARSE_RESPONSE_TO_HEAD : HTTP_PARSE_RESPONSE,
                      &s->client->opts.limits);
    cd_buf_clear(&k->out.text);
    cd_buf_add_str(&k->out.text, cd_buf_str(&s->text));
    cd_buf_deinit(&s->text);
    k->out.framing = HTTP_FRAMING_NONE; /* The head goes as it is; what follows is framed. */
    (void)link_write(s, NULL, 0, s->framing == HTTP_FRAMING_NONE);
    k->out.framing = s->framing;
    k->out.left = s->body_len;
    if (s->call != NULL)
        s->call->fate = HTTP_MAYBE;
}

/* The caller's parts, when the link is free for them. */
static void writer_send(struct http_call_state *s)
{
    struct http_link *k = s->link;
    struct io_write *w = s->writer;
    if (w == NULL || s->writer_sent || k == NULL || io_busy(&k->write.op))
        return;
    if (k->deaf || k->state != LINK_BUSY) {
        writer_end(s, IO_RESET);
        return;
    }
    int rc = http_out_check(&k->out, w->part, w->parts, s->writer_last);
    if (rc != IO_OK) {
        writer_end(s, rc);
        return;
    }
    if (link_write(s, w->part, w->parts, s->writer_last)) {
        s->writer_sent = true;
        return;
    }
    if (s->writer_last)
        s->asked = true;
    writer_end(s, IO_OK);
}

void http_call_wrote(struct http_call_state *s, int status)
{
    if (status == IO_OK && s->ending)
        s->asked = true;
    struct io_write *w = s->writer_sent ? s->writer : NULL;
    if (w != NULL) {
        s->writer = NULL;
        s->writer_sent = false;
        io_complete(&w->op, status);
    }
    writer_send(s);
}

static void writer_cancel(struct io_op *op)
{
    struct http_call_state *s = CD_CONTAINER(op->link.next, struct http_call_state, writing.head);
    if (s->writer_sent)
        http_link_fail(s->link, IO_CANCELED, "canceled");
    else
        writer_end(s, IO_CANCELED);
}

void http_call_write(struct http_call *call, struct io_write *w, bool last, io_done_fn *done)
{
    struct http_call_state *s = call->state;
    CD_ASSERT(s->writer == NULL && !s->asked && w->parts <= HTTP_PARTS_MAX);
    io_begin(&w->op, s->client->io, done);
    if (s->answer == CALL_BAD) {
        io_complete_later(&w->op, IO_RESET);
        return;
    }
    s->writer = w;
    s->writer_last = last;
    s->writer_sent = false;
    op_park(&s->writing, &w->op, writer_cancel);
    writer_send(s);
}

/* ---- The answer ---- */

static void answer_bad(struct http_call_state *s)
{
    const struct http_parser *p = &s->link->parser;
    http_link_fail(s->link, p->bad_status == 400 || p->bad_status >= 500 ? IO_PROTOCOL : IO_TOOBIG,
                   p->bad_why);
}

static void answer_begin(struct http_call_state *s, enum call_answer answer)
{
    struct io_op *op = s->starter;
    s->answer = answer;
    io_cancel(&s->timer.op);
    if (s->call != NULL) {
        s->call->head = &s->link->parser.head;
        s->call->fate = HTTP_ANSWERED;
    }
    s->starter = NULL;
    if (op != NULL)
        io_complete(op, IO_OK);
}

/* An interim answer is over at once; then comes another. */
static bool answer_interim(struct http_call_state *s)
{
    struct cd_str none = {NULL, 0}, piece;
    struct http_parser *p = &s->link->parser;
    enum http_parsed found = http_parse(p, &none, &piece);
    CD_ASSERT(found == HTTP_PARSED_END);
    if (++s->interims > INTERIMS_MAX) {
        http_link_fail(s->link, IO_PROTOCOL, "too many interim answers");
        return false;
    }
    http_parser_start(p, s->is_head ? HTTP_PARSE_RESPONSE_TO_HEAD : HTTP_PARSE_RESPONSE,
                      &s->client->opts.limits);
    return true;
}

static bool feed_head(struct http_call_state *s, struct cd_str *in)
{
    struct http_link *k = s->link;
    struct cd_str piece;
    enum http_parsed found = http_parse(&k->parser, in, &piece);
    if (found == HTTP_PARSED_MORE) {
        if (k->eof)
            http_link_fail(k, IO_RESET, "the connection ended before the answer");
        return false;
    }
    if (found != HTTP_PARSED_HEAD) {
        answer_bad(s);
        return false;
    }
    const struct http_head *h = &k->parser.head;
    if (h->status == 101 && (!s->upgrade || !h->upgrade)) {
        http_link_fail(k, IO_PROTOCOL, "an upgrade that was not asked for");
        return false;
    }
    if (h->status < 200 && h->status != 101)
        return answer_interim(s);
    answer_begin(s, h->status == 101 ? CALL_SWITCHED : h->body_len == 0 ? CALL_END : CALL_BODY);
    return true;
}

static bool feed_body(struct http_call_state *s, struct cd_str *in)
{
    struct http_link *k = s->link;
    struct cd_str piece = {NULL, 0};
    size_t got = 0;
    if (s->reader == NULL)
        return false;
    enum http_parsed found = http_body_take(&k->parser, s->reader, in, &piece, &got);
    if (found == HTTP_PARSED_MORE && got == 0 && k->eof)
        found = http_parse_eof(&k->parser);
    if (found == HTTP_PARSED_MORE && got == 0)
        return false;
    struct io_read *r = s->reader;
    s->reader = NULL;
    if (found == HTTP_PARSED_END)
        s->answer = CALL_END;
    int status = got > 0 ? IO_OK : s->answer == CALL_END ? IO_EOF : IO_PROTOCOL;
    if (found == HTTP_PARSED_BAD) {
        answer_bad(s);
        if (k->eof)
            s->status = IO_RESET;
        status = got > 0 ? IO_OK : s->status;
    }
    http_read_complete(r, piece, got, &s->lent, status);
    return true;
}

bool http_call_feed(struct http_call_state *s, struct cd_str *in)
{
    if (s->call == NULL || s->link->state != LINK_BUSY)
        return false;
    /* A stream that may change hands does so with nothing in flight on it. */
    if (s->upgrade && io_busy(&s->link->write.op))
        return false;
    if (s->answer == CALL_WAITS)
        return feed_head(s, in);
    return s->answer == CALL_BODY && feed_body(s, in);
}

bool http_call_listens(const struct http_call_state *s)
{
    if (s->call == NULL || s->link->stash.len > s->link->stash_at)
        return false;
    return s->answer == CALL_WAITS || (s->answer == CALL_BODY && s->reader != NULL);
}

bool http_call_reusable(const struct http_call_state *s)
{
    const struct http_link *k = s->link;
    bool asked = s->asked || (s->ending && io_busy(&k->write.op)); /* The last write may be told late. */
    /* A server that refused to switch protocols may have stopped to read HTTP there. */
    return s->answer == CALL_END && asked && k->parser.head.keep_alive && !s->upgrade;
}

static void reader_cancel(struct io_op *op)
{
    reader_end(CD_CONTAINER(op->link.next, struct http_call_state, reading.head), IO_CANCELED);
}

void http_call_read(struct http_call *call, struct io_read *r, io_done_fn *done)
{
    struct http_call_state *s = call->state;
    CD_ASSERT(s->reader == NULL && s->starter == NULL);
    http_read_prepare(r);
    io_begin(&r->op, s->client->io, done);
    if (s->answer != CALL_BODY) {
        io_complete_later(&r->op, s->answer == CALL_BAD ? s->status : IO_EOF);
        return;
    }
    s->reader = r;
    op_park(&s->reading, &r->op, reader_cancel);
    if (s->link->stash.len > s->link->stash_at || s->link->eof || http_parser_ended(&s->link->parser))
        http_link_kick(s->link);
    else
        http_link_settle(s->link);
}

/* ---- Start and end ---- */

static void timer_done(struct io_op *op, int status)
{
    struct http_call_state *s = CD_CONTAINER(op, struct http_call_state, timer.op);
    struct http_link *k = s->link;
    if (status == IO_OK && s->answer == CALL_WAITS && s->call != NULL) {
        if (k != NULL)
            http_link_fail(k, IO_TIMEDOUT, "no answer in time");
        else
            http_call_fail(s, IO_TIMEDOUT, "no connection in time");
        if (k != NULL)
            http_link_settle(k);
    }
    http_call_release(s);
}

static void starter_cancel(struct io_op *op)
{
    struct http_call_state *s = CD_CONTAINER(op->link.next, struct http_call_state, starting.head);
    if (s->link != NULL)
        http_link_fail(s->link, IO_CANCELED, "canceled");
    else
        http_call_fail(s, IO_CANCELED, "canceled");
}

/* The head, with the body that was given, as bytes. */
static int request_build(struct http_call_state *s, const struct http_ask *ask, struct cd_str body)
{
    struct http_ask whole = *ask;
    if (body.len > 0)
        whole.body_len = body.len;
    int rc = http_head_request(&s->text, &whole);
    if (rc != 0)
        return rc;
    cd_buf_add_str(&s->text, body);
    s->body_len = whole.body_len;
    s->framing = body.len > 0 || whole.body_len == 0  ? HTTP_FRAMING_NONE
                 : whole.body_len == HTTP_LEN_CHUNKED ? HTTP_FRAMING_CHUNKED
                                                      : HTTP_FRAMING_LENGTH;
    s->is_head = cd_str_eq(ask->method, CD_STR("HEAD"));
    s->upgrade = ask->upgrade.len > 0;
    return 0;
}

void http_call_start(struct http_call *call, struct http_client *c, const struct io_addr *to,
                     const struct http_ask *ask, struct cd_str body, struct io_op *op, io_done_fn *done)
{
    CD_ASSERT(call->state == NULL && !c->stopped);
    struct http_call_state *s = cd_new(struct http_call_state);
    s->client = c;
    s->call = call;
    cd_list_push(&c->calls, &s->all);
    c->call_count++;
    call->state = s;
    call->head = NULL;
    call->fate = HTTP_UNSENT;
    call->why = NULL;
    io_begin(op, c->io, done);
    s->place = http_client_place(c, to, ask->secure);
    int rc = c->stopping ? IO_CANCELED : request_build(s, ask, body);
    if (rc == 0 && s->place->waiters >= c->opts.waiting_max)
        rc = CD_EFULL;
    if (rc != 0) {
        s->answer = CALL_BAD;
        s->status = rc;
        call->why = rc == CD_EINVAL  ? "malformed request"
                    : rc == CD_EFULL ? "too many calls wait"
                                     : "stopping";
        io_complete_later(op, rc);
        return;
    }
    s->starter = op;
    op_park(&s->starting, op, starter_cancel);
    io_timer_start(&s->timer, c->io, c->opts.head_timeout_ns, timer_done);
    cd_list_push(&s->place->waiting, &s->link_in_place);
    s->place->waiters++;
    http_place_advance(s->place, c);
    if (s->link != NULL)
        http_link_settle(s->link);
}

void http_call_close(struct http_call *call)
{
    struct http_call_state *s = call->state;
    struct http_link *k = s->link;
    CD_ASSERT(s->call == call);
    s->call = NULL;
    *call = (struct http_call){.user = call->user};
    if (k == NULL || !http_call_reusable(s)) {
        if (k != NULL)
            http_link_fail(k, IO_CANCELED, "closed");
        http_call_fail(s, IO_CANCELED, "closed");
    } else {
        reader_end(s, IO_CANCELED);
    }
    if (k == NULL)
        http_call_release(s);
    else
        http_link_settle(k);
}

void http_call_detach(struct http_call *call, struct io_stream *stream, struct cd_buf *rest)
{
    struct http_call_state *s = call->state;
    struct http_link *k = s->link;
    CD_ASSERT(s->answer == CALL_SWITCHED && k->state == LINK_BUSY && s->writer == NULL);
    CD_ASSERT(!io_busy(&k->read.op) && !io_busy(&k->write.op));
    *stream = k->stream;
    k->stream = (struct io_stream){0};
    *rest = (struct cd_buf){0};
    cd_buf_add_str(rest, k->in != NULL ? *k->in : cd_str_sub(cd_buf_str(&k->stash), k->stash_at, SIZE_MAX));
    s->call = NULL;
    *call = (struct http_call){.user = call->user};
    k->state = LINK_CLOSED;
    http_link_settle(k);
}
