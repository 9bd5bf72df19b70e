/* Outbound HTTP, against a peer written over streams: each test says what the peer does with its one
 * connection. */
#include "support.h"

struct site {
    struct contract *c;
    struct io_listener listener;
    struct io_addr at;
    struct io_stream stream;
    struct cd_buf head; /* Of the request, with its empty line. */
    struct cd_buf rest; /* What came behind it already. */
    void (*serve)(struct site *s);
    struct task task;
    char url[80];
    struct io_signal go; /* For peers that wait to be told. */
    bool gone; /* It was told. */
    uint64_t sent;
};

static void site_accept(struct site *s)
{
    CHECK_INT(stream_accept(&s->listener, &s->stream), IO_OK);
    for (;;) {
        size_t end = cd_str_find_str(cd_buf_str(&s->head), CD_STR("\r\n\r\n"), 0);
        if (end != SIZE_MAX) {
            end += 4;
            cd_buf_add(&s->rest, s->head.ptr + end, s->head.len - end);
            s->head.len = end;
            return;
        }
        char bytes[2000];
        size_t len;
        if (stream_read(&s->stream, bytes, sizeof bytes, &len) != IO_OK)
            return;
        cd_buf_add(&s->head, bytes, len);
    }
}

static void site_run(struct contract *c, void *arg)
{
    struct site *s = arg;
    (void)c;
    site_accept(s);
    s->serve(s);
    if (s->stream.io != NULL)
        stream_close(&s->stream, false);
}

static void site_open(struct contract *c, struct site *s, void (*serve)(struct site *s))
{
    *s = (struct site){.c = c, .serve = serve};
    io_signal_init(&s->go);
    listen_any(c, &s->listener, &s->at);
    (void)snprintf(s->url, sizeof s->url, "http://127.0.0.1:%u/some/path?q=1", s->at.port);
    task_start(&s->task, c, site_run, s);
}

static void site_close(struct site *s)
{
    task_join(&s->task);
    listener_close(&s->listener);
    cd_buf_deinit(&s->head);
    cd_buf_deinit(&s->rest);
}

static void site_say(struct site *s, const char *text)
{
    CHECK_INT(stream_write(&s->stream, cd_str(text)), IO_OK);
}

static void site_wait(struct site *s)
{
    struct io_op op = {0};
    while (!s->gone) {
        io_signal_wait(&s->go, s->c->io, &op, NULL);
        CHECK_INT(await(&op), IO_OK);
    }
}

static void site_tell(struct site *s)
{
    s->gone = true;
    io_signal_wake(&s->go, IO_OK);
}

static bool head_has(const struct cd_buf *head, const char *line)
{
    struct cd_str rest = cd_buf_str(head), piece;
    while (cd_str_next(&rest, '\n', &piece)) {
        if (cd_str_eq_nocase(cd_str_trim(piece), cd_str(line)))
            return true;
    }
    return false;
}

static bool head_has_name(const struct cd_buf *head, const char *name)
{
    struct cd_str rest = cd_buf_str(head), piece;
    while (cd_str_next(&rest, '\n', &piece)) {
        if (cd_str_eq_nocase(cd_str_sub(piece, 0, cd_str_find(piece, ':', 0)), cd_str(name)))
            return true;
    }
    return false;
}

static struct io_http_ask ask_get(struct site *s)
{
    return (struct io_http_ask){.method = CD_STR("GET"), .url = cd_str(s->url)};
}

static int http_start(struct contract *c, struct io_http *h, const struct io_http_ask *ask)
{
    struct io_op op = {0};
    io_http_start(h, c->io, ask, &op, NULL);
    CHECK(io_busy(&op));
    int status = await(&op);
    CHECK((status == IO_OK) == (h->io != NULL));
    return status;
}

static int http_write(struct io_http *h, const char *text, bool last)
{
    struct io_op op = {0};
    io_http_write(h, cd_str(text), last, &op, NULL);
    return await(&op);
}

static int http_read_all(struct io_http *h, struct cd_buf *out)
{
    for (int round = 0;; round++) {
        char bytes[1000];
        struct io_read r = {.buf = round % 2 == 0 ? bytes : NULL, .cap = sizeof bytes};
        io_http_read(h, &r, NULL);
        int status = await(&r.op);
        if (status != IO_OK)
            return status;
        CHECK(r.len >= 1);
        cd_buf_add(out, r.buf, r.len);
    }
}

static void http_close(struct io_http *h)
{
    struct io_op op = {0};
    io_http_close(h, &op, NULL);
    CHECK_INT(await(&op), IO_OK);
    CHECK(h->io == NULL && h->head.ptr == NULL);
}

/* ---- Simple exchanges ---- */

static void serve_hello(struct site *s)
{
    site_say(s, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Answer: yes\r\nConnection: close\r\n\r\nhello");
}

static void flow_get(struct contract *c)
{
    struct site s;
    struct io_http h = {0};
    struct cd_buf body = {0};
    site_open(c, &s, serve_hello);
    struct io_http_ask ask = ask_get(&s);
    ask.head = CD_STR("X-Question: what?\r\nX-Empty:\r\n");
    CHECK_INT(http_start(c, &h, &ask), IO_OK);
    CHECK_INT(h.status, 200);
    CHECK(head_has(&h.head, "X-Answer: yes") && head_has(&h.head, "Content-Length: 5"));
    CHECK(cd_str_ends(cd_buf_str(&h.head), CD_STR("\r\n")));
    CHECK(!cd_str_starts(cd_buf_str(&h.head), CD_STR("HTTP/")));
    CHECK_INT(http_read_all(&h, &body), IO_EOF);
    CHECK(cd_str_eq(cd_buf_str(&body), CD_STR("hello")));
    CHECK_INT(http_read_all(&h, &body), IO_EOF); /* And again. */
    http_close(&h);
    CHECK(cd_str_starts(cd_buf_str(&s.head), CD_STR("GET /some/path?q=1 HTTP/1.1\r\n")));
    CHECK(head_has(&s.head, "X-Question: what?") && head_has(&s.head, "X-Empty:"));
    char host[60];
    (void)snprintf(host, sizeof host, "Host: 127.0.0.1:%u", s.at.port);
    CHECK(head_has(&s.head, host));
    /* Nothing is added that was not asked for. */
    static const char *const not_asked[] = {"Accept", "Accept-Encoding", "User-Agent",
                                            "Cookie", "Expect",          "Content-Length"};
    for (size_t i = 0; i < CD_COUNT(not_asked); i++)
        CHECK(!head_has_name(&s.head, not_asked[i]));
    cd_buf_deinit(&body);
    site_close(&s);
}

static void test_a_get_brings_status_head_and_body(void **state)
{
    (void)state;
    contract_run(flow_get);
}

static void serve_upload(struct site *s)
{
    CHECK_INT(stream_read_to(&s->stream, &s->rest, 11), IO_OK);
    CHECK(cd_str_eq(cd_buf_str(&s->rest), CD_STR("hello world")));
    site_say(s, "HTTP/1.1 201 Created\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

static void flow_post(struct contract *c)
{
    struct site s;
    struct io_http h = {0};
    struct io_op start = {0};
    struct cd_buf body = {0};
    site_open(c, &s, serve_upload);
    struct io_http_ask ask = ask_get(&s);
    ask.method = CD_STR("POST");
    ask.body_len = 11;
    io_http_start(&h, c->io, &ask, &start, NULL);
    CHECK_INT(http_write(&h, "hello", false), IO_OK); /* Before the answer is there. */
    CHECK(io_busy(&start));
    CHECK_INT(http_write(&h, " ", false), IO_OK);
    CHECK_INT(http_write(&h, "world and more", true), CD_EINVAL); /* Not what was announced. */
    CHECK_INT(http_write(&h, "world", true), IO_OK);
    CHECK_INT(await(&start), IO_OK);
    CHECK_INT(h.status, 201);
    CHECK_INT(http_read_all(&h, &body), IO_EOF);
    CHECK_INT(body.len, 0);
    http_close(&h);
    CHECK(cd_str_starts(cd_buf_str(&s.head), CD_STR("POST ")));
    CHECK(head_has(&s.head, "Content-Length: 11") && !head_has_name(&s.head, "Transfer-Encoding"));
    site_close(&s);
}

static void test_a_body_of_known_length_is_written_in_pieces(void **state)
{
    (void)state;
    contract_run(flow_post);
}

/* Reads chunks until the last one; their bytes are appended to body. */
static void site_read_chunked(struct site *s, struct cd_buf *body)
{
    struct cd_buf in = cd_buf_move(&s->rest);
    for (;;) {
        size_t line;
        while ((line = cd_str_find_str(cd_buf_str(&in), CD_STR("\r\n"), 0)) == SIZE_MAX)
            CHECK_INT(stream_read_to(&s->stream, &in, in.len + 1), IO_OK);
        uint64_t len;
        CHECK_INT(cd_str_hex_u64(cd_str_of(in.ptr, line), &len), 0);
        if (in.len < line + 2 + len + 2)
            CHECK_INT(stream_read_to(&s->stream, &in, line + 2 + (size_t)len + 2), IO_OK);
        cd_buf_add(body, in.ptr + line + 2, (size_t)len);
        cd_buf_drop(&in, line + 2 + (size_t)len + 2);
        if (len == 0)
            break;
    }
    cd_buf_deinit(&in);
}

static void serve_chunked(struct site *s)
{
    struct cd_buf body = {0};
    site_read_chunked(s, &body);
    CHECK(cd_str_eq(cd_buf_str(&body), CD_STR("one two three")));
    cd_buf_deinit(&body);
    site_say(s, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
                "3\r\nabc\r\n5;ext=1\r\ndefgh\r\n0\r\nX-Trailer: t\r\n\r\n");
}

static void flow_chunked(struct contract *c)
{
    struct site s;
    struct io_http h = {0};
    struct io_op start = {0};
    struct cd_buf body = {0};
    site_open(c, &s, serve_chunked);
    struct io_http_ask ask = ask_get(&s);
    ask.method = CD_STR("PUT");
    ask.body_len = IO_HTTP_CHUNKED;
    io_http_start(&h, c->io, &ask, &start, NULL);
    CHECK_INT(http_write(&h, "one ", false), IO_OK);
    CHECK_INT(http_write(&h, "", false), IO_OK);
    CHECK_INT(http_write(&h, "two three", false), IO_OK);
    CHECK_INT(http_write(&h, "", true), IO_OK);
    CHECK(http_write(&h, "late", true) != IO_OK);
    CHECK_INT(await(&start), IO_OK);
    CHECK_INT(http_read_all(&h, &body), IO_EOF);
    CHECK(cd_str_eq(cd_buf_str(&body), CD_STR("abcdefgh")));
    CHECK(!head_has_name(&h.head, "X-Trailer"));
    http_close(&h);
    CHECK(head_has(&s.head, "Transfer-Encoding: chunked"));
    cd_buf_deinit(&body);
    site_close(&s);
}

static void test_chunks_go_both_ways(void **state)
{
    (void)state;
    contract_run(flow_chunked);
}

static void serve_as_it_is(struct site *s)
{
    site_say(s, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 302 Found\r\nLocation: /elsewhere\r\n"
                "Content-Encoding: gzip\r\nSet-Cookie: a=1\r\nContent-Length: 8\r\nConnection: "
                "close\r\n\r\nnot gzip");
}

static void flow_as_it_is(struct contract *c)
{
    struct site s;
    struct io_http h = {0};
    struct cd_buf body = {0};
    site_open(c, &s, serve_as_it_is);
    struct io_http_ask ask = ask_get(&s);
    CHECK_INT(http_start(c, &h, &ask), IO_OK);
    CHECK_INT(h.status, 302); /* Neither the hint nor what is elsewhere. */
    CHECK(head_has(&h.head, "Location: /elsewhere") && !head_has_name(&h.head, "Link"));
    CHECK(head_has(&h.head, "Set-Cookie: a=1"));
    CHECK_INT(http_read_all(&h, &body), IO_EOF);
    CHECK(cd_str_eq(cd_buf_str(&body), CD_STR("not gzip")));
    http_close(&h);
    cd_buf_deinit(&body);
    site_close(&s);
}

static void test_answers_are_neither_followed_nor_decoded(void **state)
{
    (void)state;
    contract_run(flow_as_it_is);
}

static void serve_head_only(struct site *s)
{
    if (cd_str_starts(cd_buf_str(&s->head), CD_STR("HEAD ")))
        site_say(s, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nConnection: close\r\n\r\n");
    else
        site_say(s, "HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\nConnection: close\r\n\r\n");
}

static void flow_no_body(struct contract *c)
{
    for (int i = 0; i < 2; i++) {
        struct site s;
        struct io_http h = {0};
        struct cd_buf body = {0};
        site_open(c, &s, serve_head_only);
        struct io_http_ask ask = ask_get(&s);
        if (i == 0)
            ask.method = CD_STR("HEAD");
        CHECK_INT(http_start(c, &h, &ask), IO_OK);
        CHECK_INT(h.status, i == 0 ? 200 : 304);
        CHECK(head_has(&h.head, "Content-Length: 1000"));
        CHECK_INT(http_read_all(&h, &body), IO_EOF);
        CHECK_INT(body.len, 0);
        http_close(&h);
        site_close(&s);
    }
}

static void test_answers_without_a_body_end_at_once(void **state)
{
    (void)state;
    contract_run(flow_no_body);
}

/* ---- Streaming ---- */

static void serve_slowly(struct site *s)
{
    site_say(s, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\n");
    site_say(s, "abc");
    site_wait(s); /* The client has seen these before there are more. */
    site_say(s, "def");
}

static void flow_streaming(struct contract *c)
{
    struct site s;
    struct io_http h = {0};
    struct cd_buf body = {0};
    char bytes[3];
    site_open(c, &s, serve_slowly);
    struct io_http_ask ask = ask_get(&s);
    CHECK_INT(http_start(c, &h, &ask), IO_OK);
    for (size_t have = 0; have < 3;) {
        struct io_read r = {.buf = bytes, .cap = 3 - have};
        io_http_read(&h, &r, NULL);
        CHECK_INT(await(&r.op), IO_OK);
        CHECK(memcmp(bytes, &"abc"[have], r.len) == 0);
        have += r.len;
    }
    struct io_read r = {.buf = bytes, .cap = 3};
    io_http_read(&h, &r, NULL);
    io_cancel(&r.op);
    CHECK(io_busy(&r.op));
    CHECK_INT(await(&r.op), IO_CANCELED); /* Which loses nothing. */
    site_tell(&s);
    CHECK_INT(http_read_all(&h, &body), IO_EOF);
    CHECK(cd_str_eq(cd_buf_str(&body), CD_STR("def")));
    http_close(&h);
    cd_buf_deinit(&body);
    site_close(&s);
}

static void test_the_body_arrives_as_it_is_sent(void **state)
{
    (void)state;
    contract_run(flow_streaming);
}

#define BIG (12u << 20)
#define PIECE (64u << 10)

static void serve_big(struct site *s)
{
    char *piece = cd_alloc(PIECE);
    char head[100];
    (void)snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %u\r\nConnection: close\r\n\r\n",
                   BIG);
    site_say(s, head);
    while (s->sent < BIG) {
        pattern_fill(piece, PIECE, s->sent);
        CHECK_INT(stream_write(&s->stream, cd_str_of(piece, PIECE)), IO_OK);
        s->sent += PIECE;
    }
    cd_free(piece);
}

/* Until *count has not moved for a while. */
static void wait_still(struct contract *c, const uint64_t *count)
{
    uint64_t before = UINT64_MAX;
    for (int quiet = 0; quiet < 30; quiet = *count == before ? quiet + 1 : 0) {
        before = *count;
        CHECK_INT(io_sleep(c->io, IO_MS(1)), IO_OK);
    }
}

static void flow_download(struct contract *c)
{
    struct site s;
    struct io_http h = {0};
    struct io_read r = {0};
    uint64_t got = 0;
    site_open(c, &s, serve_big);
    struct io_http_ask ask = ask_get(&s);
    CHECK_INT(http_start(c, &h, &ask), IO_OK);
    wait_still(c, &s.sent);
    CHECK(s.sent < BIG); /* Nobody reads here, so the peer cannot go on there. */
    for (;;) {
        io_http_read(&h, &r, NULL);
        int status = await(&r.op);
        if (status == IO_EOF)
            break;
        CHECK_INT(status, IO_OK);
        CHECK(pattern_is(r.buf, r.len, got));
        got += r.len;
    }
    CHECK_INT(got, BIG);
    http_close(&h);
    site_close(&s);
}

static void test_a_slow_reader_holds_the_server_back(void **state)
{
    (void)state;
    contract_run(flow_download);
}

static void serve_drain(struct site *s)
{
    site_wait(s);
    CHECK_INT(stream_read_to(&s->stream, &s->rest, BIG), IO_OK);
    CHECK(pattern_is(s->rest.ptr, s->rest.len, 0));
    site_say(s, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
}

struct upload {
    struct io_http *h;
    uint64_t sent;
};

static void upload_run(struct contract *c, void *arg)
{
    struct upload *u = arg;
    char *piece = cd_alloc(PIECE);
    (void)c;
    while (u->sent < BIG) {
        struct io_op op = {0};
        pattern_fill(piece, PIECE, u->sent);
        io_http_write(u->h, cd_str_of(piece, PIECE), u->sent + PIECE == BIG, &op, NULL);
        CHECK_INT(await(&op), IO_OK);
        u->sent += PIECE;
    }
    cd_free(piece);
}

static void flow_upload(struct contract *c)
{
    struct site s;
    struct io_http h = {0};
    struct io_op start = {0};
    struct task writer;
    struct upload u = {.h = &h};
    site_open(c, &s, serve_drain);
    struct io_http_ask ask = ask_get(&s);
    ask.method = CD_STR("PUT");
    ask.body_len = BIG;
    io_http_start(&h, c->io, &ask, &start, NULL);
    task_start(&writer, c, upload_run, &u);
    wait_still(c, &u.sent);
    CHECK(u.sent < BIG); /* The server does not read. */
    site_tell(&s);
    CHECK_INT(await(&start), IO_OK);
    CHECK_INT(h.status, 204);
    task_join(&writer);
    http_close(&h);
    site_close(&s);
}

static void test_a_server_that_does_not_read_holds_the_writer_back(void **state)
{
    (void)state;
    contract_run(flow_upload);
}

static void serve_refusal(struct site *s)
{
    site_say(s, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno!");
    site_wait(s);
}

static void flow_early(struct contract *c)
{
    struct site s;
    struct io_http h = {0};
    struct cd_buf body = {0};
    site_open(c, &s, serve_refusal);
    struct io_http_ask ask = ask_get(&s);
    ask.method = CD_STR("POST");
    ask.body_len = 1000;
    CHECK_INT(http_start(c, &h, &ask), IO_OK); /* The answer comes before the body was sent. */
    CHECK_INT(h.status, 413);
    CHECK_INT(http_read_all(&h, &body), IO_EOF);
    CHECK(cd_str_eq(cd_buf_str(&body), CD_STR("no!")));
    http_close(&h);
    site_tell(&s);
    cd_buf_deinit(&body);
    site_close(&s);
}

static void test_an_answer_may_come_before_the_body_was_sent(void **state)
{
    (void)state;
    contract_run(flow_early);
}

/* ---- What goes wrong ---- */

static void flow_refused(struct contract *c)
{
    struct site s = {0};
    struct io_http h = {0};
    listen_any(c, &s.listener, &s.at);
    listener_close(&s.listener);
    (void)snprintf(s.url, sizeof s.url, "http://127.0.0.1:%u/", s.at.port);
    struct io_http_ask ask = ask_get(&s);
    CHECK_INT(http_start(c, &h, &ask), IO_REFUSED);
    CHECK(h.why[0] != '\0');
    ask.url = CD_STR("http://nobody.invalid/");
    int status = http_start(c, &h, &ask);
    CHECK(status == IO_NOENT || status == IO_UNREACHABLE);
    CHECK(h.why[0] != '\0');
}

static void test_a_server_that_is_not_there_is_an_error_of_start(void **state)
{
    (void)state;
    contract_run(flow_refused);
}

static void serve_silence(struct site *s)
{
    site_wait(s);
}

static void serve_half(struct site *s)
{
    site_say(s, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf!");
    site_wait(s);
}

static void flow_timeout(struct contract *c)
{
    struct site s;
    struct io_http h = {0};
    struct cd_buf body = {0};
    site_open(c, &s, serve_silence);
    struct io_http_ask ask = ask_get(&s);
    ask.total_timeout_ns = IO_MS(20);
    uint64_t from = io_now_ns(c->io);
    CHECK_INT(http_start(c, &h, &ask), IO_TIMEDOUT);
    CHECK(io_now_ns(c->io) >= from + IO_MS(15));
    site_tell(&s);
    site_close(&s);
    site_open(c, &s, serve_half);
    ask = ask_get(&s);
    ask.total_timeout_ns = IO_MS(200);
    CHECK_INT(http_start(c, &h, &ask), IO_OK);
    CHECK_INT(http_read_all(&h, &body), IO_TIMEDOUT); /* The total covers the body. */
    CHECK(cd_str_eq(cd_buf_str(&body), CD_STR("half!")));
    http_close(&h);
    site_tell(&s);
    cd_buf_deinit(&body);
    site_close(&s);
}

static void test_the_total_timeout_covers_head_and_body(void **state)
{
    (void)state;
    contract_run(flow_timeout);
}

static void serve_cut(struct site *s)
{
    site_say(s, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf!");
}

static void serve_cut_chunk(struct site *s)
{
    site_say(s, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhalf!\r\n");
}

static void serve_nothing(struct site *s)
{
    (void)s;
}

static void serve_reset(struct site *s)
{
    stream_close(&s->stream, true);
}

static void serve_garbage(struct site *s)
{
    site_say(s, "this is no HTTP at all\r\n\r\n");
}

static void flow_broken(struct contract *c)
{
    static void (*const after_head[])(struct site *s) = {serve_cut, serve_cut_chunk};
    static void (*const before_head[])(struct site *s) = {serve_nothing, serve_reset, serve_garbage};
    for (size_t i = 0; i < CD_COUNT(after_head); i++) {
        struct site s;
        struct io_http h = {0};
        struct cd_buf body = {0};
        site_open(c, &s, after_head[i]);
        struct io_http_ask ask = ask_get(&s);
        CHECK_INT(http_start(c, &h, &ask), IO_OK);
        int status = http_read_all(&h, &body);
        CHECK(status == IO_RESET || status == IO_PROTOCOL); /* Never a clean end. */
        CHECK(cd_str_eq(cd_buf_str(&body), CD_STR("half!")));
        http_close(&h);
        cd_buf_deinit(&body);
        site_close(&s);
    }
    for (size_t i = 0; i < CD_COUNT(before_head); i++) {
        struct site s;
        struct io_http h = {0};
        site_open(c, &s, before_head[i]);
        struct io_http_ask ask = ask_get(&s);
        ask.method = CD_STR("POST"); /* Not sent a second time by itself. */
        int status = http_start(c, &h, &ask);
        CHECK(status == IO_RESET || status == IO_PROTOCOL);
        CHECK(h.why[0] != '\0');
        site_close(&s);
    }
}

static void test_a_broken_answer_is_never_a_clean_end(void **state)
{
    (void)state;
    contract_run(flow_broken);
}

static void flow_cancel(struct contract *c)
{
    struct site s;
    struct io_http h = {0};
    struct io_op start = {0}, op = {0};
    site_open(c, &s, serve_silence);
    struct io_http_ask ask = ask_get(&s);
    io_http_start(&h, c->io, &ask, &start, NULL);
    CHECK_INT(io_await(&start, io_now_ns(c->io) + IO_MS(20)), IO_TIMEDOUT);
    CHECK(h.io == NULL); /* Nothing is left to close. */
    site_tell(&s);
    site_close(&s);
    site_open(c, &s, serve_silence);
    ask = ask_get(&s);
    io_http_start(&h, c->io, &ask, &start, NULL);
    io_cancel(&start);
    CHECK(io_busy(&start));
    CHECK_INT(await(&start), IO_CANCELED);
    CHECK(h.io == NULL);
    site_tell(&s);
    /* The peer may or may not have seen a connection. */
    struct io_stream last = {0};
    if (!s.task.ended && stream_connect(&last, c->io, &s.at) == IO_OK)
        stream_close(&last, true);
    site_close(&s);
    /* Closing with everything pending. */
    site_open(c, &s, serve_half);
    ask = ask_get(&s);
    ask.method = CD_STR("POST");
    ask.body_len = 10;
    CHECK_INT(http_start(c, &h, &ask), IO_OK);
    struct io_read r = {0};
    io_http_read(&h, &r, NULL);
    CHECK_INT(await(&r.op), IO_OK);
    for (size_t have = r.len; have < 5; have += r.len) {
        io_http_read(&h, &r, NULL);
        CHECK_INT(await(&r.op), IO_OK);
    }
    io_http_read(&h, &r, NULL);
    io_http_close(&h, &op, NULL);
    CHECK(io_busy(&r.op) && io_busy(&op));
    CHECK_INT(await(&op), IO_OK);
    CHECK(!io_busy(&r.op));
    CHECK_INT(r.op.status, IO_CANCELED);
    site_tell(&s);
    site_close(&s);
}

static void test_canceling_and_closing_end_what_is_pending(void **state)
{
    (void)state;
    contract_run(flow_cancel);
}

static void flow_malformed(struct contract *c)
{
    static const char *const urls[] = {"",
                                       "ftp://127.0.0.1/",
                                       "http://",
                                       "/path",
                                       "http://127.0.0.1/a b",
                                       "http://127.0.0.1/\r\nX: y",
                                       "http://127.0.0.1/\x7f",
                                       "http://?query",
                                       "http://user@127.0.0.1/",
                                       "http://user:secret@127.0.0.1/",
                                       "file:///etc/passwd"};
    static const char *const heads[] = {"no colon\r\n",   "A: b",        "A b: c\r\n", ": empty\r\n",
                                        "A: b\nC: d\r\n", "A: \x01\r\n", "A: b\n\r\n", "A: b\r\r\n",
                                        "\r\n",           "A: b\r\n\r\n"};
    static const char *const methods[] = {"", "G ET", "GET\r\n", "CONNECT"};
    struct io_http h = {0};
    for (size_t i = 0; i < CD_COUNT(urls); i++) {
        struct io_http_ask ask = {.method = CD_STR("GET"), .url = cd_str(urls[i])};
        CHECK_INT(http_start(c, &h, &ask), CD_EINVAL);
    }
    for (size_t i = 0; i < CD_COUNT(heads); i++) {
        struct io_http_ask ask = {
            .method = CD_STR("GET"), .url = CD_STR("http://127.0.0.1:1/"), .head = cd_str(heads[i])};
        CHECK_INT(http_start(c, &h, &ask), CD_EINVAL);
    }
    for (size_t i = 0; i < CD_COUNT(methods); i++) {
        struct io_http_ask ask = {.method = cd_str(methods[i]), .url = CD_STR("http://127.0.0.1:1/")};
        CHECK_INT(http_start(c, &h, &ask), CD_EINVAL);
    }
}

static void test_malformed_requests_are_not_sent(void **state)
{
    (void)state;
    contract_run(flow_malformed);
}

CD_TESTS(contract_http, cmocka_unit_test(test_a_get_brings_status_head_and_body),
         cmocka_unit_test(test_a_body_of_known_length_is_written_in_pieces),
         cmocka_unit_test(test_chunks_go_both_ways),
         cmocka_unit_test(test_answers_are_neither_followed_nor_decoded),
         cmocka_unit_test(test_answers_without_a_body_end_at_once),
         cmocka_unit_test(test_the_body_arrives_as_it_is_sent),
         cmocka_unit_test(test_a_slow_reader_holds_the_server_back),
         cmocka_unit_test(test_a_server_that_does_not_read_holds_the_writer_back),
         cmocka_unit_test(test_an_answer_may_come_before_the_body_was_sent),
         cmocka_unit_test(test_a_server_that_is_not_there_is_an_error_of_start),
         cmocka_unit_test(test_the_total_timeout_covers_head_and_body),
         cmocka_unit_test(test_a_broken_answer_is_never_a_clean_end),
         cmocka_unit_test(test_canceling_and_closing_end_what_is_pending),
         cmocka_unit_test(test_malformed_requests_are_not_sent))
