/* io_real/http.c: io_http_* over libcurl.
 *
 * libcurl's callbacks only move bytes between it and the request's own buffers, and heat the request; what is
 * due to the user is then delivered by http_hot, outside of libcurl. When the user does not read, the buffer
 * fills and the transfer is paused; when he does not write, libcurl's wish for bytes is paused. */
#include "io_real/http.h"

#include "io_real/curl.h"

#define BODY_MAX (128u << 10) /* Bytes kept for a slow reader before the transfer is paused. */
#define CONNECT_NS IO_SEC(10)

struct http {
    struct real_transfer transfer;
    struct real_hot hot;
    struct real_loop *loop;
    struct io_http *owner;
    struct curl_slist *lines; /* owned */
    char error[CURL_ERROR_SIZE];

    struct io_op *starting;
    struct io_read *reading;
    struct cd_buf in; /* Body bytes from in_at on are not delivered yet. */
    struct cd_buf lent; /* What the last read lent. */
    size_t in_at;
    bool in_paused;

    struct io_op *writing;
    struct cd_str chunk; /* What is left of it. */
    uint64_t body_left; /* Of a body with a known length. */
    bool chunked, chunk_last;
    bool out_paused, out_ended, out_broken;

    int status; /* Of the head that is being received, later of the answer. */
    struct cd_buf head; /* Its lines. */
    bool has_head;
    bool ended; /* The transfer is over, with end_status: IO_EOF when all went well. */
    int end_status;
};

static void http_heat(struct http *x)
{
    real_heat(x->loop, &x->hot);
}

/* ---- libcurl's callbacks ---- */

static size_t head_cb(char *bytes, size_t size, size_t count, void *arg)
{
    struct http *x = arg;
    struct cd_str line = {bytes, size * count};
    if (x->has_head) /* Trailers. */
        return line.len;
    if (cd_str_starts(line, CD_STR("HTTP/"))) {
        cd_buf_clear(&x->head);
        x->status = real_http_status_of(line);
    } else if (cd_str_trim(line).len != 0) {
        cd_buf_add_str(&x->head, cd_str_trim(line));
        cd_buf_add_str(&x->head, CD_STR("\r\n"));
    } else if (x->status >= 200) { /* 100 and 103 precede the answer. */
        x->has_head = true;
        http_heat(x);
    }
    return line.len;
}

static size_t body_cb(char *bytes, size_t size, size_t count, void *arg)
{
    struct http *x = arg;
    if (x->in.len - x->in_at >= BODY_MAX) {
        x->in_paused = true;
        return CURL_WRITEFUNC_PAUSE;
    }
    cd_buf_add(&x->in, bytes, size * count);
    http_heat(x);
    return size * count;
}

static void write_end(struct http *x, int status)
{
    struct io_op *op = x->writing;
    x->writing = NULL;
    x->chunk = (struct cd_str){NULL, 0};
    if (op != NULL)
        io_complete_later(op, status);
}

static size_t ask_cb(char *to, size_t size, size_t count, void *arg)
{
    struct http *x = arg;
    size_t room = size * count;
    if (x->out_broken)
        return CURL_READFUNC_ABORT;
    if (x->out_ended)
        return 0;
    if (x->writing == NULL) {
        x->out_paused = true;
        return CURL_READFUNC_PAUSE;
    }
    size_t len = x->chunk.len < room ? x->chunk.len : room;
    if (len > 0)
        memcpy(to, x->chunk.ptr, len);
    x->chunk = cd_str_sub(x->chunk, len, SIZE_MAX);
    if (x->chunk.len > 0)
        return len;
    x->out_ended = x->chunk_last;
    write_end(x, IO_OK);
    if (len == 0 && !x->out_ended) {
        x->out_paused = true;
        return CURL_READFUNC_PAUSE;
    }
    return len;
}

static void transfer_done(struct real_transfer *t, CURLcode result)
{
    struct http *x = CD_CONTAINER(t, struct http, transfer);
    x->ended = true;
    x->end_status = result == CURLE_OK ? IO_EOF : real_curl_status(t, result);
    if (result != CURLE_OK) {
        const char *why = x->error[0] != '\0' ? x->error : curl_easy_strerror(result);
        (void)snprintf(x->owner->why, sizeof x->owner->why, "%.199s", why);
    }
    /* The server answered without wanting all of the body, or the connection is gone. */
    write_end(x, result == CURLE_OK ? IO_RESET : x->end_status);
    http_heat(x);
}

/* ---- Delivering ---- */

static void http_free(struct http *x)
{
    struct real_loop *l = x->loop;
    real_curl_cancel(&x->transfer);
    real_curl_easy_free(l, x->transfer.easy);
    curl_slist_free_all(x->lines);
    cd_link_remove(&x->hot.link);
    cd_buf_deinit(&x->in);
    cd_buf_deinit(&x->lent);
    cd_buf_deinit(&x->head);
    l->open--;
    *x->owner = (struct io_http){.head = x->owner->head, .status = x->owner->status};
    cd_free(x);
}

/* The request is over before there was an answer: nothing is left to close. */
static void start_failed(struct http *x, int status)
{
    struct io_op *op = x->starting;
    struct io_http *h = x->owner;
    char why[sizeof h->why];
    memcpy(why, h->why, sizeof why);
    write_end(x, status);
    if (x->reading != NULL)
        io_complete_later(&x->reading->op, status);
    http_free(x);
    memcpy(h->why, why, sizeof why);
    io_complete_later(op, status);
}

static void deliver_body(struct http *x)
{
    struct io_read *r = x->reading;
    size_t have = x->in.len - x->in_at;
    if (have == 0 && !x->ended)
        return;
    x->reading = NULL;
    if (have == 0) {
        r->op.impl = NULL;
        io_complete(&r->op, x->end_status);
        return;
    }
    if (r->lent) { /* The buffers change places: libcurl may bring more while this one is lent. */
        struct cd_buf free = x->lent;
        x->lent = x->in;
        x->in = free;
        cd_buf_clear(&x->in);
        r->buf = x->lent.ptr + x->in_at;
        r->len = have;
        x->in_at = 0;
    } else {
        r->len = have < r->cap ? have : r->cap;
        memcpy(r->buf, x->in.ptr + x->in_at, r->len);
        x->in_at += r->len;
        if (x->in_at == x->in.len) {
            cd_buf_clear(&x->in);
            x->in_at = 0;
        }
    }
    if (x->in_paused) {
        x->in_paused = false;
        real_curl_resume(&x->transfer);
    }
    r->op.impl = r->buf;
    io_complete(&r->op, IO_OK); /* x may be gone from here on. */
}

static void http_hot(struct real_loop *l, struct real_hot *hot)
{
    struct http *x = CD_CONTAINER(hot, struct http, hot);
    real_enter(l);
    if (x->starting != NULL && x->has_head) {
        struct io_op *op = x->starting;
        x->starting = NULL;
        x->owner->status = x->status;
        x->owner->head = cd_buf_move(&x->head);
        if (x->reading != NULL)
            http_heat(x);
        io_complete(op, IO_OK);
    } else if (x->starting != NULL && x->ended) {
        start_failed(x, x->end_status == IO_EOF ? IO_PROTOCOL : x->end_status);
    } else if (x->starting == NULL && x->reading != NULL) {
        deliver_body(x);
    }
    real_leave(l);
}

/* ---- Asking ---- */

#define SET(x, option, value)                                                                                \
    do {                                                                                                     \
        CURLcode set_ = curl_easy_setopt((x)->transfer.easy, (option), (value));                             \
        CD_ASSERT(set_ == CURLE_OK);                                                                         \
    } while (0)

/* libcurl counts in milliseconds; rounded up, so that nothing ends early. */
static long ms_of(uint64_t ns)
{
    uint64_t ms = ns / 1000000u + (ns % 1000000u != 0);
    return ms > INT32_MAX ? INT32_MAX : (long)ms;
}

static void ask_set_body(struct http *x, const struct io_http_ask *ask)
{
    struct cd_str m = ask->method;
    bool tells_length =
        cd_str_eq(m, CD_STR("POST")) || cd_str_eq(m, CD_STR("PUT")) || cd_str_eq(m, CD_STR("PATCH"));
    x->chunked = ask->body_len == IO_HTTP_CHUNKED;
    x->body_left = ask->body_len;
    x->out_ended = ask->body_len == IO_HTTP_NO_BODY;
    if (cd_str_eq(m, CD_STR("HEAD"))) {
        SET(x, CURLOPT_NOBODY, 1L);
    } else if (ask->body_len != IO_HTTP_NO_BODY || tells_length) {
        SET(x, CURLOPT_UPLOAD, 1L);
        SET(x, CURLOPT_INFILESIZE_LARGE, x->chunked ? (curl_off_t)-1 : (curl_off_t)ask->body_len);
    }
}

static void ask_set(struct http *x, const struct io_http_ask *ask)
{
    struct cd_buf text = {0};
    real_http_lines(&x->lines, ask->head);
    x->transfer.easy = real_curl_easy(x->loop);
    cd_buf_add_str(&text, ask->url);
    SET(x, CURLOPT_URL, cd_buf_cstr(&text));
    ask_set_body(x, ask);
    cd_buf_clear(&text);
    cd_buf_add_str(&text, ask->method);
    SET(x, CURLOPT_CUSTOMREQUEST, cd_buf_cstr(&text));
    cd_buf_deinit(&text);
    SET(x, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    SET(x, CURLOPT_HTTPHEADER, x->lines);
    SET(x, CURLOPT_CONNECTTIMEOUT_MS,
        ms_of(ask->connect_timeout_ns == 0 ? CONNECT_NS : ask->connect_timeout_ns));
    SET(x, CURLOPT_TIMEOUT_MS, ms_of(ask->total_timeout_ns));
    SET(x, CURLOPT_ERRORBUFFER, x->error);
    SET(x, CURLOPT_HEADERFUNCTION, head_cb);
    SET(x, CURLOPT_HEADERDATA, (void *)x);
    SET(x, CURLOPT_WRITEFUNCTION, body_cb);
    SET(x, CURLOPT_WRITEDATA, (void *)x);
    SET(x, CURLOPT_READFUNCTION, ask_cb);
    SET(x, CURLOPT_READDATA, (void *)x);
    /* What is safe to do twice may be sent again over a fresh connection when a kept one was dead. */
    x->transfer.once = !real_http_method_safe(ask->method);
}

static void start_cancel(struct io_op *op)
{
    start_failed(op->impl, IO_CANCELED);
}

void io_http_start(struct io_http *h, struct io *io, const struct io_http_ask *ask, struct io_op *op,
                   io_done_fn *done)
{
    struct real_loop *l = real_loop(io);
    *h = (struct io_http){0};
    if (!real_begin(l, op, done, start_cancel))
        return;
    int rc = io_http_ask_check(ask);
    if (rc != 0) {
        (void)snprintf(h->why, sizeof h->why, "malformed method, URL or header");
        io_complete_later(op, rc);
        return;
    }
    struct http *x = cd_new(struct http);
    x->loop = l;
    x->owner = h;
    x->hot.run = http_hot;
    ask_set(x, ask);
    x->starting = op;
    x->transfer.done = transfer_done;
    op->impl = x;
    h->io = io;
    h->impl = x;
    l->open++;
    real_curl_start(l, REAL_LANE_HTTP, &x->transfer);
}

/* ---- Both bodies ---- */

static struct http *http_of(const struct io_http *h)
{
    CD_ASSERT(h->io != NULL && h->impl != NULL);
    return h->impl;
}

/* Without the rest of the chunk the request makes no sense any more. */
static void write_cancel(struct io_op *op)
{
    struct http *x = op->impl;
    x->out_broken = true;
    write_end(x, IO_CANCELED);
    real_curl_resume(&x->transfer);
}

/* Whether the chunk fits what was announced: the bytes of a known length come out even with the last one. */
static int chunk_check(struct http *x, size_t len, bool last)
{
    if (x->out_ended)
        return len == 0 && last ? IO_OK : CD_EINVAL;
    if (x->chunked)
        return IO_OK;
    if (len > x->body_left || (last && len < x->body_left))
        return CD_EINVAL;
    return IO_OK;
}

void io_http_write(struct io_http *h, struct cd_str chunk, bool last, struct io_op *op, io_done_fn *done)
{
    struct http *x = http_of(h);
    CD_ASSERT(x->writing == NULL);
    if (!real_begin(x->loop, op, done, write_cancel))
        return;
    int rc = chunk_check(x, chunk.len, last);
    if (rc == IO_OK && (x->ended || x->out_broken))
        rc = x->end_status == IO_EOF || x->end_status == IO_OK ? IO_RESET : x->end_status;
    if (rc == IO_OK && !x->chunked && !x->out_ended)
        x->body_left -= chunk.len;
    /* libcurl does not ask again once it has all of a known length. */
    if (rc != IO_OK || x->out_ended || (!x->chunked && chunk.len == 0)) {
        io_complete_later(op, rc);
        return;
    }
    op->impl = x;
    x->writing = op;
    x->chunk = chunk;
    x->chunk_last = last;
    if (x->out_paused) {
        x->out_paused = false;
        real_curl_resume(&x->transfer);
    }
}

static void read_cancel(struct io_op *op)
{
    struct http *x = op->impl;
    x->reading = NULL;
    op->impl = NULL;
    io_complete_later(op, IO_CANCELED);
}

void io_http_read(struct io_http *h, struct io_read *r, io_done_fn *done)
{
    struct http *x = http_of(h);
    CD_ASSERT(x->reading == NULL);
    if (r->lent && r->buf == r->op.impl)
        r->buf = NULL;
    r->lent = r->buf == NULL;
    CD_ASSERT(r->lent || r->cap > 0);
    r->len = 0;
    if (!real_begin(x->loop, &r->op, done, read_cancel))
        return;
    r->op.impl = x;
    x->reading = r;
    http_heat(x);
}

void io_http_close(struct io_http *h, struct io_op *op, io_done_fn *done)
{
    struct http *x = http_of(h);
    struct real_loop *l = x->loop;
    write_end(x, IO_CANCELED);
    if (x->reading != NULL)
        read_cancel(&x->reading->op);
    if (x->starting != NULL)
        io_complete_later(x->starting, IO_CANCELED);
    http_free(x);
    cd_buf_deinit(&h->head);
    io_begin(op, &l->io, done);
    io_complete_later(op, IO_OK);
}
