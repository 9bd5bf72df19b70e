/* io_real/bucket_s3.c: operations of a loop on an S3-compatible store, over libcurl.
 *
 * Here bytes are moved and counted; what is sent is made by s3_request.c, what an answer proves is judged by
 * s3_answer.c. Nothing is sent a second time: not by us, and not by libcurl (real_transfer.once). */
#include <stdio.h>

#include "io_real/bucket_internal.h"
#include "io_real/curl.h"
#include "io_real/http.h"
#include "io_real/s3_answer.h"
#include "io_real/s3_list.h"
#include "io_real/sigv4.h"

#define CONNECT_MS 3000L /* fleet.md 3.6 */
#define HASH_HERE_BYTES (128u << 10) /* Larger bodies are hashed by another thread: 16 MiB take 10 ms. */
#define ERROR_BODY_MAX (64u << 10)
#define LIST_BODY_MAX (16u << 20) /* A thousand keys of 1 KiB, each byte escaped, stay far below. */
#define EMPTY_PAGES_MAX 16u

struct call {
    struct real_transfer transfer;
    uv_work_t hash_work;
    struct io_bucket *bucket;
    struct bucket_ask ask;
    uint64_t deadline_ns;
    struct s3_request request;
    struct curl_slist *lines; /* owned */
    struct cd_buf sha256, continuation; /* owned */
    char error[CURL_ERROR_SIZE];
    size_t sent; /* Bytes of the body that libcurl has taken. */
    unsigned http; /* Of the last status line. */
    struct cd_buf head, body; /* owned; of the answer */
    bool head_ended, body_cut;
    bool hashing, canceled; /* canceled: while hashing. */
    unsigned pages;
};

static void call_free(struct call *c)
{
    if (c->transfer.easy != NULL)
        real_curl_easy_free(c->bucket->loop, c->transfer.easy);
    curl_slist_free_all(c->lines);
    s3_request_deinit(&c->request);
    cd_buf_deinit(&c->sha256);
    cd_buf_deinit(&c->continuation);
    cd_buf_deinit(&c->head);
    cd_buf_deinit(&c->body);
    cd_buf_deinit(&c->ask.key);
    cd_buf_deinit(&c->ask.after);
    cd_free(c);
}

/* ---- libcurl's callbacks ---- */

static size_t head_cb(char *bytes, size_t size, size_t count, void *arg)
{
    struct call *c = arg;
    struct cd_str line = {bytes, size * count};
    if (c->head_ended) /* Trailers. */
        return line.len;
    if (cd_str_starts(line, CD_STR("HTTP/"))) {
        cd_buf_clear(&c->head);
        c->http = (unsigned)real_http_status_of(line);
    } else if (cd_str_trim(line).len != 0) {
        cd_buf_add_str(&c->head, line);
    } else {
        c->head_ended = c->http >= 200; /* 100 precedes the answer. */
    }
    return line.len;
}

/* The most that may come; a good answer is never longer. */
static uint64_t body_max(const struct call *c)
{
    if (c->http >= 300)
        return ERROR_BODY_MAX;
    if (c->ask.kind == S3_GET)
        return c->ask.len < IO_BODY_MAX ? c->ask.len : IO_BODY_MAX;
    return c->ask.kind == S3_LIST ? LIST_BODY_MAX : ERROR_BODY_MAX;
}

static size_t body_cb(char *bytes, size_t size, size_t count, void *arg)
{
    struct call *c = arg;
    uint64_t room = body_max(c) - c->body.len;
    size_t len = size * count;
    if (len > room) {
        c->body_cut = true;
        return CURL_WRITEFUNC_ERROR;
    }
    cd_buf_add(&c->body, bytes, len);
    return len;
}

static size_t ask_cb(char *to, size_t size, size_t count, void *arg)
{
    struct call *c = arg;
    struct cd_str part = cd_str_sub(c->ask.body, c->sent, size * count);
    if (part.len > 0)
        memcpy(to, part.ptr, part.len);
    c->sent += part.len;
    return part.len;
}

/* ---- The end ---- */

/* No provider should, but one might tell our own keys back to us in a message. */
static void scrub(const struct call *c, char *why)
{
    const struct s3_config *s3 = &c->bucket->store->s3;
    const char *secrets[] = {s3->access_key, s3->secret_key, s3->session_token};
    for (size_t i = 0; i < CD_COUNT(secrets); i++) {
        if (secrets[i][0] != 0 && strstr(why, secrets[i]) != NULL)
            snprintf(why, S3_WHY_MAX, "the store's message holds credentials and is not shown");
    }
}

static void finish_why(const struct call *c, char *to, const char *why)
{
    snprintf(to, S3_WHY_MAX, "%s", why);
    scrub(c, to);
}

/* io_complete_later suits both callers: cancel, where done may not come at once, and the end of a transfer.
 */
static void finish(struct call *c, int status)
{
    struct io_op *op = bucket_op(&c->ask);
    call_free(c);
    io_complete_later(op, status);
}

static void finish_failed(struct call *c, const struct s3_verdict *v)
{
    if (c->ask.kind == S3_LIST) {
        finish_why(c, c->ask.list->why, v->why);
    } else {
        struct io_store *s = c->ask.store;
        s->outcome = v->outcome;
        s->retry_after_ns = v->retry_after_ns;
        finish_why(c, s->why, v->why);
    }
    finish(c, v->status);
}

/* An answer of the right status that lacks what it must have. For a write: it may well be done. */
static void finish_wrong(struct call *c, int status)
{
    if (c->ask.kind == S3_LIST) {
        scrub(c, c->ask.list->why);
    } else {
        c->ask.store->outcome = bucket_is_write(c->ask.kind) ? IO_UNKNOWN : IO_REJECTED;
        scrub(c, c->ask.store->why);
    }
    finish(c, status);
}

static void send_page(struct call *c);

static void finish_list(struct call *c, const struct s3_answer *a)
{
    struct io_list *l = c->ask.list;
    struct s3_page page;
    size_t own = strlen(c->bucket->store->url.prefix);
    struct cd_str prefix = cd_str_sub(cd_buf_str(&c->ask.key), own, SIZE_MAX);
    struct cd_str after = cd_str_sub(cd_buf_str(&c->ask.after), own, SIZE_MAX);
    int rc = s3_list_read(l, &page, a->body, cd_str_sub(cd_buf_str(&c->ask.key), 0, own), prefix, after);
    if (rc != 0) {
        s3_page_deinit(&page);
        finish_wrong(c, rc);
        return;
    }
    /* Groups that after has passed were all of this page: only the store knows how to go on. */
    if (l->count == 0 && page.truncated && c->pages < EMPTY_PAGES_MAX) {
        cd_buf_deinit(&c->continuation);
        c->continuation = page.continuation;
        send_page(c);
        return;
    }
    bool stuck = l->count == 0 && page.truncated;
    s3_page_deinit(&page);
    if (stuck) {
        snprintf(l->why, sizeof(l->why), "%u pages without a key", c->pages);
        finish_wrong(c, IO_PROTOCOL);
        return;
    }
    l->more = page.truncated || l->count > c->ask.max;
    if (l->count > c->ask.max) /* max-keys was not heeded. */
        io_list_cut(l, c->ask.max);
    io_list_seal(l);
    finish(c, IO_OK);
}

static void finish_good(struct call *c, const struct s3_answer *a)
{
    struct io_store *s = c->ask.store;
    int rc = 0;
    if (c->ask.kind == S3_LIST) {
        finish_list(c, a);
        return;
    }
    if (c->ask.kind == S3_GET)
        rc = s3_check_range(s, a, c->ask.from, c->ask.len);
    if (rc == 0 && c->ask.kind != S3_DELETE)
        rc = s3_read_head(s, a);
    if (rc != 0) {
        finish_wrong(c, rc);
        return;
    }
    if (c->ask.kind == S3_GET) {
        cd_buf_deinit(&s->body);
        s->body = cd_buf_move(&c->body);
    }
    s->outcome = IO_DONE;
    finish(c, IO_OK);
}

static int transport_status(const struct call *c, CURLcode result)
{
    if (result == CURLE_WRITE_ERROR && c->body_cut)
        return c->ask.kind == S3_GET && c->ask.len == IO_WHOLE ? IO_TOOBIG : IO_PROTOCOL;
    int status = real_curl_status(&c->transfer, result);
    /* A host that is not found is no object that is not found. Before the request, late means no connection.
     */
    if (status == IO_NOENT || (status == IO_TIMEDOUT && c->transfer.sends == 0))
        return IO_UNREACHABLE;
    return status;
}

static void judge(struct call *c, int transport, const char *why)
{
    struct s3_verdict v;
    struct s3_answer a = {.kind = c->ask.kind,
                          .how = c->ask.how,
                          .transport = transport,
                          .transport_why = why,
                          .sent = c->transfer.sends > 0,
                          .sent_all = c->transfer.sends > 0 && c->sent == c->ask.body.len,
                          .http = c->http,
                          .head = cd_buf_str(&c->head),
                          .body = cd_buf_str(&c->body),
                          .wall_ms = io_wall_ms(&c->bucket->loop->io)};
    s3_judge(&a, &v);
    if (a.kind != S3_LIST)
        c->ask.store->date_ms = s3_date_ms(a.head);
    if (v.status == IO_OK)
        finish_good(c, &a);
    else
        finish_failed(c, &v);
}

static void transfer_done(struct real_transfer *t, CURLcode result)
{
    struct call *c = CD_CONTAINER(t, struct call, transfer);
    /* More of an error's body than anybody needs: its status stands. */
    if (result == CURLE_WRITE_ERROR && c->body_cut && c->http >= 300)
        result = CURLE_OK;
    int status = result == CURLE_OK ? IO_OK : transport_status(c, result);
    judge(c, status, c->error[0] != 0 ? c->error : curl_easy_strerror(result));
}

static void call_cancel(struct io_op *op)
{
    struct call *c = op->impl;
    if (c->hashing) { /* The other thread still reads the body. */
        c->canceled = true;
        return;
    }
    real_curl_cancel(&c->transfer);
    judge(c, IO_CANCELED, "canceled");
}

/* ---- The start ---- */

#define SET(c, option, value)                                                                                \
    do {                                                                                                     \
        CURLcode set_ = curl_easy_setopt((c)->transfer.easy, (option), (value));                             \
        CD_ASSERT(set_ == CURLE_OK);                                                                         \
    } while (0)

static const char *agent_of(enum io_lane lane)
{
    switch (lane) {
    case IO_LANE_LEASE: return "celld-lease";
    case IO_LANE_TELEMETRY: return "celld-telemetry";
    case IO_LANE_DATA:
    case IO_LANE_LOG:
    case IO_LANE_CONTROL:
    case IO_LANE_COUNT: break;
    }
    return "celld";
}

static void set_lines(struct call *c)
{
    struct cd_str rest = cd_buf_str(&c->request.head), line;
    struct cd_buf text = {0};
    curl_slist_free_all(c->lines);
    c->lines = NULL;
    while (cd_str_next(&rest, '\n', &line)) {
        if (line.len == 0)
            continue;
        cd_buf_clear(&text);
        cd_buf_add_str(&text, cd_str_trim(line));
        c->lines = curl_slist_append(c->lines, cd_buf_cstr(&text));
        CD_ASSERT(c->lines != NULL);
    }
    c->lines = curl_slist_append(c->lines, "Expect:"); /* No extra turn before a body. */
    cd_buf_deinit(&text);
    SET(c, CURLOPT_HTTPHEADER, c->lines);
}

static void build_request(struct call *c)
{
    struct s3_ask ask = {.kind = c->ask.kind,
                         .key = cd_buf_str(&c->ask.key),
                         .from = c->ask.from,
                         .len = c->ask.len,
                         .how = c->ask.how,
                         .body_sha256 = cd_buf_str(&c->sha256),
                         .max = c->ask.max,
                         .continuation = cd_buf_str(&c->continuation),
                         .agent = agent_of(c->ask.lane),
                         .wall_ms = io_wall_ms(&c->bucket->loop->io)};
    if (c->ask.kind == S3_LIST) {
        ask.prefix = cd_buf_str(&c->ask.key);
        ask.after = cd_buf_str(&c->ask.after);
        ask.delimiter = c->ask.list->delimiter;
    } else {
        ask.token = cd_str(c->ask.store->token);
    }
    s3_request_deinit(&c->request);
    s3_request_build(&c->request, &c->bucket->store->s3, &ask);
}

/* libcurl counts in milliseconds; rounded up, so that nothing ends early, and 0 would be no limit. */
static long ms_left(const struct call *c)
{
    uint64_t now = io_now_ns(&c->bucket->loop->io);
    uint64_t ns = c->deadline_ns > now ? c->deadline_ns - now : 0;
    uint64_t ms = ns / 1000000u + 1;
    return ms > INT32_MAX ? INT32_MAX : (long)ms;
}

static void send_request(struct call *c)
{
    struct real_loop *l = c->bucket->loop;
    build_request(c);
    if (c->transfer.easy == NULL)
        c->transfer.easy = real_curl_easy(l);
    SET(c, CURLOPT_URL, cd_buf_cstr(&c->request.url));
    set_lines(c);
    /* A lane is connections of its own; streams of one connection would wait for each other's losses. */
    SET(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(c, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    SET(c, CURLOPT_TIMEOUT_MS, ms_left(c));
    SET(c, CURLOPT_ERRORBUFFER, c->error);
    SET(c, CURLOPT_HEADERFUNCTION, head_cb);
    SET(c, CURLOPT_HEADERDATA, (void *)c);
    SET(c, CURLOPT_WRITEFUNCTION, body_cb);
    SET(c, CURLOPT_WRITEDATA, (void *)c);
    if (c->ask.kind == S3_PUT) {
        SET(c, CURLOPT_UPLOAD, 1L);
        SET(c, CURLOPT_INFILESIZE_LARGE, (curl_off_t)c->ask.body.len);
        SET(c, CURLOPT_READFUNCTION, ask_cb);
        SET(c, CURLOPT_READDATA, (void *)c);
    } else if (c->ask.kind == S3_HEAD) {
        SET(c, CURLOPT_NOBODY, 1L);
    } else if (c->ask.kind == S3_DELETE) {
        SET(c, CURLOPT_CUSTOMREQUEST, "DELETE");
    }
    c->transfer.done = transfer_done;
    c->transfer.once = bucket_is_write(c->ask.kind);
    c->error[0] = 0;
    real_curl_start(l, c->ask.lane, &c->transfer);
}

static void send_page(struct call *c)
{
    c->http = 0;
    c->head_ended = c->body_cut = false;
    cd_buf_clear(&c->head);
    cd_buf_clear(&c->body);
    c->pages++;
    send_request(c);
}

static void hash_run(uv_work_t *w)
{
    struct call *c = w->data;
    sigv4_sha256_hex(&c->sha256, c->ask.body);
}

static void hash_done(uv_work_t *w, int status)
{
    struct call *c = w->data;
    struct real_loop *l = c->bucket->loop;
    (void)status; /* Never cancelled. */
    real_enter(l);
    c->hashing = false;
    if (c->canceled)
        judge(c, IO_CANCELED, "canceled");
    else if (io_now_ns(&l->io) >= c->deadline_ns)
        judge(c, IO_TIMEDOUT, "no time was left to send it");
    else
        send_request(c);
    real_leave(l);
}

void bucket_s3_start(struct io_bucket *b, struct bucket_ask *ask)
{
    struct call *c = cd_new(struct call);
    struct io_op *op = bucket_op(ask);
    c->bucket = b;
    c->ask = *ask;
    c->deadline_ns = io_now_ns(&b->loop->io) + ask->timeout_ns;
    c->pages = 1;
    op->impl = c;
    op->cancel = call_cancel;
    if (ask->kind == S3_PUT && ask->body.len > HASH_HERE_BYTES) {
        c->hashing = true;
        c->hash_work.data = c;
        int rc = uv_queue_work(&b->loop->uv, &c->hash_work, hash_run, hash_done);
        CD_ASSERT(rc == 0);
        return;
    }
    if (ask->kind == S3_PUT)
        sigv4_sha256_hex(&c->sha256, ask->body);
    send_request(c);
}
