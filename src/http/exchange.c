/* http/exchange.c: what a handler calls: the body of the request, the answer, the end. */
#include "http/server_internal.h"

#include "io/backend.h"

static const struct cd_str continue_text = {"HTTP/1.1 100 Continue\r\n\r\n", 25};

void http_exchange_peer(const struct http_exchange *pub, struct io_addr *out)
{
    const struct exchange *x = CD_CONTAINER(pub, const struct exchange, pub);
    if (x->conn->state < CONN_CLOSING)
        io_stream_peer(&x->conn->stream, out);
    else
        *out = (struct io_addr){.port = 0};
}

/* ---- The request's body ---- */

void http_exchange_body_fail(struct exchange *x, int status)
{
    x->body = BODY_BAD;
    x->body_status = status;
    x->keep_alive = false;
}

int http_body_error(const struct http_exchange *pub, const char **why)
{
    const struct exchange *x = CD_CONTAINER(pub, const struct exchange, pub);
    if (x->body != BODY_BAD)
        return 0;
    switch (x->body_status) {
    case IO_TIMEDOUT: *why = "request body took too long"; return 408;
    case IO_TOOBIG:
    case IO_PROTOCOL: *why = x->parser.bad_why; return x->parser.bad_status;
    }
    *why = "the connection ended inside it";
    return 400;
}

bool http_exchange_serve(struct exchange *x, struct cd_str *in)
{
    struct cd_str piece = {NULL, 0};
    size_t got = 0;
    if (x->body == BODY_OPEN) {
        enum http_parsed found = http_body_take(&x->parser, x->reader, in, &piece, &got);
        if (found == HTTP_PARSED_END)
            x->body = BODY_DONE;
        else if (found == HTTP_PARSED_BAD)
            http_exchange_body_fail(x, x->parser.bad_status == 400 ? IO_PROTOCOL : IO_TOOBIG);
        else if (got == 0 && x->conn->eof)
            http_exchange_body_fail(x, IO_RESET);
    }
    if (got == 0 && x->body == BODY_OPEN)
        return false;
    struct io_read *r = x->reader;
    x->reader = NULL;
    http_read_complete(r, piece, got, &x->lent,
                       got > 0                ? IO_OK
                       : x->body == BODY_DONE ? IO_EOF
                                              : x->body_status);
    return true;
}

static void reader_end(struct exchange *x, int status)
{
    struct io_read *r = x->reader;
    if (r == NULL)
        return;
    x->reader = NULL;
    cd_link_remove(&r->op.link);
    io_complete_later(&r->op, status);
}

/* A waiting op is alone in its list, so its neighbour is the head: the way back to the exchange. */
static void reader_cancel(struct io_op *op)
{
    reader_end(CD_CONTAINER(op->link.next, struct exchange, reading.head), IO_CANCELED);
}

static void interim_done(struct io_op *op, int status)
{
    struct exchange *x = CD_CONTAINER(op, struct exchange, interim.op);
    struct conn *c = x->conn;
    if (status != IO_OK)
        http_conn_fail(c, status);
    http_conn_settle(c);
}

/* The client waits for a word before it sends the body; once it has begun to send, the word is not needed. */
static void continue_send(struct exchange *x)
{
    struct conn *c = x->conn;
    x->continue_wanted = false;
    if (x->answer != ANSWER_NONE || c->state >= CONN_CLOSING || c->stash.len > c->stash_at)
        return;
    x->interim.part = &continue_text;
    x->interim.parts = 1;
    io_stream_write(&c->stream, &x->interim, interim_done);
}

void http_body_read(struct http_exchange *pub, struct io_read *r, io_done_fn *done)
{
    struct exchange *x = exchange_of(pub);
    CD_ASSERT(!x->closed && x->reader == NULL);
    http_read_prepare(r);
    io_begin(&r->op, pub->io, done);
    r->op.cancel = reader_cancel;
    cd_list_init(&x->reading);
    cd_list_push(&x->reading, &r->op.link);
    x->reader = r;
    if (x->continue_wanted)
        continue_send(x);
    struct conn *c = x->conn;
    if (x->body != BODY_OPEN || c->eof || c->state >= CONN_CLOSING || c->stash.len > c->stash_at)
        http_conn_kick(c);
    else
        http_conn_settle(c);
}

/* ---- The answer ---- */

static void write_done(struct io_op *op, int status)
{
    struct exchange *x = CD_CONTAINER(op, struct exchange, write.op);
    struct conn *c = x->conn;
    http_deadline_clear(&x->write_deadline);
    cd_buf_clear(&x->out.text);
    c->hold++;
    if (status != IO_OK)
        http_conn_fail(c, status);
    else if (x->answer == ANSWER_LAST)
        x->answer = ANSWER_DONE;
    struct io_write *w = x->writer;
    x->writer = NULL;
    if (w != NULL)
        io_complete(&w->op, status);
    c->hold--;
    if (x->upgrade != NULL && io_busy(&c->read.op))
        io_cancel(&c->read.op); /* The stream changes hands when nothing is in flight on it. */
    http_conn_settle(c);
}

void http_exchange_write_expired(struct exchange *x)
{
    struct conn *c = x->conn;
    if (io_now_ns(x->pub.io) < x->write_until_ns) {
        http_deadline_set(&c->server->deadlines, &x->write_deadline, DEADLINE_WRITE);
        return;
    }
    http_conn_fail(c, IO_TIMEDOUT);
    http_conn_settle(c);
}

/* Writes the text (a head, or nothing yet) and the parts with their framing. False: there was nothing to
 * write. */
static bool out_send(struct exchange *x, const struct cd_str *part, unsigned parts, bool last)
{
    struct conn *c = x->conn;
    unsigned count = http_out_frame(&x->out, part, parts, last);
    x->answer = last ? ANSWER_LAST : ANSWER_OPEN;
    if (count == 0)
        return false;
    x->write.part = x->out.part;
    x->write.parts = count;
    x->write_until_ns = http_write_until_ns(io_now_ns(x->pub.io), c->server->opts.write_timeout_ns,
                                            http_parts_size(x->out.part, count));
    http_deadline_set(&c->server->deadlines, &x->write_deadline, DEADLINE_WRITE);
    io_stream_write(&c->stream, &x->write, write_done);
    return true;
}

static void writer_cancel(struct io_op *op)
{
    struct exchange *x = CD_CONTAINER(op->link.next, struct exchange, writing.head);
    x->gone_told = true; /* Its own doing. */
    http_conn_fail(x->conn, IO_CANCELED);
}

static void writer_begin(struct exchange *x, struct io_write *w, io_done_fn *done)
{
    CD_ASSERT(!x->closed && x->writer == NULL && w->parts <= HTTP_PARTS_MAX);
    io_begin(&w->op, x->pub.io, done);
}

/* Writes w's parts; its done comes with that of our write, or at once when there is nothing to say. */
static void writer_send(struct exchange *x, struct io_write *w, bool last)
{
    if (out_send(x, w->part, w->parts, last)) {
        x->writer = w;
        w->op.cancel = writer_cancel;
        cd_list_init(&x->writing);
        cd_list_push(&x->writing, &w->op.link);
        return;
    }
    if (last)
        x->answer = ANSWER_DONE;
    io_complete_later(&w->op, IO_OK);
}

/* The head of the answer, into x->out. */
static int head_build(struct exchange *x, const struct http_answer *answer, struct cd_str upgrade)
{
    struct http_server *s = x->conn->server;
    const struct http_head *h = &x->parser.head;
    struct http_answer_to to = {.minor = h->minor, .is_head = h->is_head, .upgrade = upgrade};
    to.date = http_server_date(s);
    /* A client that was not told to go on may or may not send its body: nothing can follow on this
     * connection. */
    to.keep_alive = x->keep_alive && !s->draining && !x->continue_wanted;
    CD_ASSERT(x->answer == ANSWER_NONE && x->out.text.len == 0);
    int rc = http_head_answer(&x->out.text, answer, &to, &x->out.framing, &x->keep_alive);
    x->out.left = answer->body_len;
    return rc;
}

void http_answer_start(struct http_exchange *pub, const struct http_answer *answer, struct io_write *w,
                       bool last, io_done_fn *done)
{
    struct exchange *x = exchange_of(pub);
    writer_begin(x, w, done);
    if (x->answer == ANSWER_BROKEN) {
        io_complete_later(&w->op, IO_RESET);
        return;
    }
    bool keep_alive = x->keep_alive;
    int rc = head_build(x, answer, (struct cd_str){NULL, 0});
    if (rc == 0)
        rc = http_out_check(&x->out, w->part, w->parts, last);
    if (rc != 0) {
        x->keep_alive = keep_alive;
        cd_buf_clear(&x->out.text);
        io_complete_later(&w->op, rc);
        return;
    }
    writer_send(x, w, last);
}

void http_answer_write(struct http_exchange *pub, struct io_write *w, bool last, io_done_fn *done)
{
    struct exchange *x = exchange_of(pub);
    writer_begin(x, w, done);
    if (x->answer == ANSWER_BROKEN) {
        io_complete_later(&w->op, IO_RESET);
        return;
    }
    CD_ASSERT(x->answer == ANSWER_OPEN);
    int rc = http_out_check(&x->out, w->part, w->parts, last);
    if (rc != IO_OK)
        io_complete_later(&w->op, rc);
    else
        writer_send(x, w, last);
}

int http_answer_all(struct http_exchange *pub, const struct http_answer *answer, struct cd_str body)
{
    struct exchange *x = exchange_of(pub);
    CD_ASSERT(!x->closed && x->reader == NULL);
    if (x->answer != ANSWER_BROKEN) {
        struct http_answer whole = *answer;
        whole.body_len = body.len;
        int rc = head_build(x, &whole, (struct cd_str){NULL, 0});
        if (rc != 0)
            return rc;
        if (x->out.framing != HTTP_FRAMING_NONE)
            cd_buf_add_str(&x->out.text, body); /* One part: the copy is cheaper than a second one. */
        x->out.framing = HTTP_FRAMING_NONE;
        (void)out_send(x, NULL, 0, true);
    }
    x->closed = true;
    if (x->conn->hold == 0)
        http_conn_kick(x->conn);
    return 0;
}

void http_answer_text(struct http_exchange *x, int status, const char *content_type, struct cd_str body)
{
    const struct http_field type = {CD_STR("Content-Type"), cd_str(content_type)};
    const struct http_answer answer = {.status = status, .field = &type, .field_count = 1};
    int rc = http_answer_all(x, &answer, body);
    CD_ASSERT(rc == 0);
}

void http_exchange_refuse(struct exchange *x, int status, const char *why)
{
    x->keep_alive = false;
    x->closed = false;
    x->reader = NULL;
    http_answer_text(&x->pub, status, "text/plain; charset=utf-8", cd_str(why));
}

/* ---- The end ---- */

void http_exchange_tell_gone(struct exchange *x, int status)
{
    if (x->gone_told || x->closed)
        return;
    x->gone_told = true;
    if (x->pub.gone != NULL)
        x->pub.gone(&x->pub, status);
}

void http_exchange_broken(struct exchange *x, int status)
{
    if (x->answer != ANSWER_DONE)
        x->answer = ANSWER_BROKEN;
    if (x->body == BODY_OPEN)
        http_exchange_body_fail(x, IO_RESET);
    reader_end(x, status);
    if (x->upgrade != NULL) {
        cd_link_remove(&x->upgrade->op.link);
        io_complete_later(&x->upgrade->op, status);
    }
    x->upgrade = NULL;
    http_exchange_tell_gone(x, status);
}

bool http_exchange_over(const struct exchange *x)
{
    return x->closed && x->answer >= ANSWER_DONE && !io_busy(&x->write.op) && !io_busy(&x->interim.op) &&
           !io_busy(&x->kick) && x->reader == NULL && x->writer == NULL && x->upgrade == NULL;
}

void http_exchange_close(struct http_exchange *pub)
{
    struct exchange *x = exchange_of(pub);
    struct conn *c = x->conn;
    CD_ASSERT(!x->closed);
    x->closed = true;
    reader_end(x, IO_CANCELED);
    if (x->answer == ANSWER_NONE && x->body == BODY_BAD) {
        const char *why;
        int status = http_body_error(pub, &why);
        struct cd_buf text = {0};
        cd_buf_addf(&text, "%s%s", status == 400 ? "invalid request body: " : "", why);
        http_exchange_refuse(x, status, cd_buf_cstr(&text));
        cd_buf_deinit(&text);
    } else if (x->answer <= ANSWER_OPEN) {
        http_conn_fail(c, IO_CANCELED);
    }
    if (c->hold == 0)
        http_conn_kick(c);
}

/* ---- Upgrade ---- */

static void upgrade_cancel(struct io_op *op)
{
    http_conn_fail(CD_CONTAINER(op->link.next, struct exchange, writing.head)->conn, IO_CANCELED);
}

bool http_exchange_detachable(const struct exchange *x)
{
    return x->upgrade != NULL && x->answer == ANSWER_DONE && !io_busy(&x->write.op) &&
           !io_busy(&x->interim.op) && !io_busy(&x->kick) && !io_busy(&x->conn->read.op) && !x->conn->eof;
}

void http_exchange_upgrade(struct http_exchange *pub, struct http_upgrade *u, struct cd_str protocol,
                           const struct http_field *field, size_t field_count, io_done_fn *done)
{
    struct exchange *x = exchange_of(pub);
    struct conn *c = x->conn;
    CD_ASSERT(!x->closed && x->reader == NULL && x->parser.head.upgrade);
    io_begin(&u->op, pub->io, done);
    x->closed = true;
    int rc = x->answer == ANSWER_BROKEN ? IO_RESET : IO_OK;
    const struct http_answer answer = {.status = 101, .field = field, .field_count = field_count};
    if (rc == IO_OK)
        rc = x->body == BODY_DONE ? head_build(x, &answer, protocol) : CD_EINVAL;
    if (rc != IO_OK) {
        cd_buf_clear(&x->out.text);
        io_complete_later(&u->op, rc);
        http_conn_fail(c, IO_CANCELED);
    } else {
        x->upgrade = u;
        u->op.cancel = upgrade_cancel;
        cd_list_init(&x->writing);
        cd_list_push(&x->writing, &u->op.link);
        (void)out_send(x, NULL, 0, true);
    }
    if (c->hold == 0)
        http_conn_kick(c);
}
