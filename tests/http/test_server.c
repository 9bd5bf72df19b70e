/* What a server says and does, byte by byte, without faults. */
#include "corpus.h"
#include "rig.h"

#define GET "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
#define POST(fields) "POST / HTTP/1.1\r\nHost: a\r\n" fields "\r\n"

/* ---- Handlers made of a fiber: r->arg is a function of the exchange ---- */

typedef void handler_flow(struct http_exchange *x);

static void handle_in_fiber(void *arg, struct http_exchange *x)
{
    struct rig *r = arg;
    r->handled++;
    x->user = r;
    (void)io_spawn(x->io, "handler", (void (*)(void *))r->arg, x);
}

static void run_with(handler_flow *handler, void (*flow)(struct rig *r))
{
    struct rig r = {.handle = handle_in_fiber, .arg = (void *)handler};
    rig_open(&r, 1);
    rig_flow(&r, flow);
    rig_close(&r, IO_SEC(10));
    assert_int_equal(r.stop_status, IO_OK);
}

static int answer_start(struct http_exchange *x, int status, uint64_t body_len, const char *body, bool last)
{
    struct cd_str part = cd_str(body);
    struct io_write w = {.part = &part, .parts = part.len > 0 ? 1 : 0};
    const struct http_answer answer = {.status = status, .body_len = body_len};
    http_answer_start(x, &answer, &w, last, NULL);
    return io_await(&w.op, IO_FOREVER);
}

static int answer_write(struct http_exchange *x, const char *body, bool last)
{
    struct cd_str part = cd_str(body);
    struct io_write w = {.part = &part, .parts = part.len > 0 ? 1 : 0};
    http_answer_write(x, &w, last, NULL);
    return io_await(&w.op, IO_FOREVER);
}

/* ---- The head outlives its body ---- */

static void echo_field_after_body(struct http_exchange *x)
{
    struct io_read read = {0};
    do {
        http_body_read(x, &read, NULL);
    } while (io_await(&read.op, IO_FOREVER) == IO_OK);
    http_answer_text(x, 200, "text/plain",
                     http_field_value(x->head->field, x->head->field_count, CD_STR("x-mine")));
}

static void head_after_trailers_flow(struct rig *r)
{
    struct cd_buf ask = {0};
    cd_buf_add_str(&ask, CD_STR(POST("X-Mine: hello\r\nTransfer-Encoding: chunked\r\n") "1\r\nx\r\n0\r\n"));
    for (int i = 0; i < 15; i++)
        cd_buf_add_str(&ask, CD_STR("X-Mine: theirs\r\n"));
    cd_buf_add_str(&ask, CD_STR("\r\n"));
    rig_expect(r, cd_buf_cstr(&ask),
               "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello");
    cd_buf_deinit(&ask);
}

static void test_trailers_do_not_touch_the_fields_of_the_head(void **state)
{
    (void)state;
    run_with(echo_field_after_body, head_after_trailers_flow);
}

/* ---- Simple answers ---- */

static void simple_flow(struct rig *r)
{
    rig_expect(r, GET, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nGET / ");
    rig_expect(r, POST("Content-Length: 3\r\n") "abc" GET,
               "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\nPOST / abc"
               "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nGET / ");
    rig_expect(r, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n" GET,
               "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 7\r\n\r\n"
               "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nGET / ");
    rig_expect(r, "GET / HTTP/1.0\r\n\r\n",
               "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\nConnection: "
               "close\r\n\r\nGET / ");
    rig_expect(
        r, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\nConnection: keep-alive\r\n\r\n"
        "GET / ");
    rig_expect(r, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
               "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\nConnection: "
               "close\r\n\r\nGET / ");
    rig_expect(r, "GET / HTTP/1.1\r\n\r\n",
               "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 19\r\n"
               "Connection: close\r\n\r\nwant one Host field");
    rig_expect(
        r, POST("Content-Length: 9999999\r\n"),
        "HTTP/1.1 413 Content Too Large\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 22\r\n"
        "Connection: close\r\n\r\nrequest body too large");
    rig_expect(r, POST("Transfer-Encoding: chunked\r\n") "1\r\nab\r\n",
               "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 50\r\n"
               "Connection: close\r\n\r\ninvalid request body: Expected LF after chunk data");
}

static void test_simple_answers(void **state)
{
    (void)state;
    rig_run(simple_flow);
}

static void date_flow(struct rig *r)
{
    struct cd_buf got = {0};
    struct cd_str piece = CD_STR(GET);
    for (int i = 0; i < 2; i++) {
        cd_buf_clear(&got);
        (void)rig_talk(r, &piece, 1, &got);
        CHECK(cd_str_find_str(cd_buf_str(&got),
                              i == 0 ? CD_STR("\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n")
                                     : CD_STR("\r\nDate: Thu, 01 Jan 2026 00:00:05 GMT\r\n"),
                              0) != SIZE_MAX);
        (void)io_sleep(r->cio, IO_MS(5000 - io_wall_ms(r->cio) % 5000));
    }
    cd_buf_deinit(&got);
}

static void test_the_date_is_of_the_second(void **state)
{
    (void)state;
    rig_run(date_flow);
}

/* ---- Streamed answers ---- */

static void chunks_handler(struct http_exchange *x)
{
    CHECK_INT(answer_start(x, 200, HTTP_LEN_CHUNKED, "first", false), IO_OK);
    struct cd_str part[] = {CD_STR("a"), CD_STR(""), CD_STR("bc"), CD_STR("0123456789abcdef")};
    struct io_write w = {.part = part, .parts = 4};
    http_answer_write(x, &w, false, NULL);
    CHECK_INT(io_await(&w.op, IO_FOREVER), IO_OK);
    CHECK_INT(answer_write(x, "", false), IO_OK); /* Nothing: no end of the body by mistake. */
    CHECK_INT(answer_write(x, "end", true), IO_OK);
    http_exchange_close(x);
}

static void chunks_flow(struct rig *r)
{
#define CHUNKS "5\r\nfirst\r\n13\r\nabc0123456789abcdef\r\n3\r\nend\r\n0\r\n\r\n"
    rig_expect(r, GET GET,
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" CHUNKS
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" CHUNKS);
    rig_expect(r, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n" GET,
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" CHUNKS);
    rig_expect(r, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
               "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nfirstabc0123456789abcdefend");
}

static void test_a_body_of_unknown_length(void **state)
{
    (void)state;
    run_with(chunks_handler, chunks_flow);
}

static void empty_end_handler(struct http_exchange *x)
{
    CHECK_INT(answer_start(x, 200, HTTP_LEN_CHUNKED, "", false), IO_OK);
    CHECK_INT(answer_write(x, "", true), IO_OK);
    http_exchange_close(x);
}

static void empty_end_flow(struct rig *r)
{
    rig_expect(r, GET, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
}

static void test_an_empty_body_of_unknown_length(void **state)
{
    (void)state;
    run_with(empty_end_handler, empty_end_flow);
}

static void length_handler(struct http_exchange *x)
{
    struct cd_str part = CD_STR("12345678");
    struct io_write w = {.part = &part, .parts = 1};
    const struct http_answer bad = {.status = 200, .body_len = 7}, short_one = {.status = 200, .body_len = 9};
    http_answer_start(x, &bad, &w, false, NULL);
    CHECK_INT(io_await(&w.op, IO_FOREVER), CD_ETOOBIG);
    http_answer_start(x, &short_one, &w, true, NULL);
    CHECK_INT(io_await(&w.op, IO_FOREVER), CD_EINVAL);
    const struct http_field evil = {CD_STR("X"), CD_STR("a\r\nb")};
    const struct http_answer split = {.status = 200, .field = &evil, .field_count = 1};
    http_answer_start(x, &split, &w, true, NULL);
    CHECK_INT(io_await(&w.op, IO_FOREVER), CD_EINVAL);
    CHECK_INT(http_answer_all(x, &split, part), CD_EINVAL);
    /* Nothing of all that has been sent. */
    CHECK_INT(answer_start(x, 201, 9, "12345678", false), IO_OK);
    CHECK_INT(answer_write(x, "xy", true), CD_ETOOBIG);
    CHECK_INT(answer_write(x, "", true), CD_EINVAL);
    CHECK_INT(answer_write(x, "9", false), IO_OK);
    CHECK_INT(answer_write(x, "", true), IO_OK);
    http_exchange_close(x);
}

static void length_flow(struct rig *r)
{
    rig_expect(r, GET GET,
               "HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\n123456789"
               "HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\n123456789");
}

static void test_a_body_is_as_long_as_announced(void **state)
{
    (void)state;
    run_with(length_handler, length_flow);
}

static void cut_handler(struct http_exchange *x)
{
    struct rig *r = x->user;
    CHECK_INT(answer_start(x, 200, r->handled == 1 ? HTTP_LEN_CHUNKED : 100, "part", false), IO_OK);
    http_exchange_close(x);
}

static void cut_flow(struct rig *r)
{
    struct cd_str piece = CD_STR(GET);
    for (int i = 0; i < 2; i++) {
        struct cd_buf got = {0};
        CHECK_INT(rig_talk(r, &piece, 1, &got), IO_RESET);
        cd_buf_deinit(&got);
    }
}

static void test_an_unfinished_answer_is_never_taken_for_complete(void **state)
{
    (void)state;
    run_with(cut_handler, cut_flow);
}

static void silent_handler(struct http_exchange *x)
{
    http_exchange_close(x);
}

static void silent_flow(struct rig *r)
{
    struct cd_str piece = CD_STR(GET);
    struct cd_buf got = {0};
    CHECK_INT(rig_talk(r, &piece, 1, &got), IO_RESET);
    CHECK_INT(got.len, 0);
    cd_buf_deinit(&got);
}

static void test_closing_without_an_answer_ends_the_connection(void **state)
{
    (void)state;
    run_with(silent_handler, silent_flow);
}

/* ---- Bodies of requests ---- */

static void continue_handler(struct http_exchange *x)
{
    CHECK(x->head->expect_continue);
    (void)io_sleep(x->io, IO_MS(20));
    struct cd_buf body = {0};
    for (;;) {
        struct io_read read = {0};
        http_body_read(x, &read, NULL);
        int status = io_await(&read.op, IO_FOREVER);
        if (status == IO_EOF)
            break;
        CHECK_INT(status, IO_OK);
        cd_buf_add(&body, read.buf, read.len);
    }
    http_answer_text(x, 200, "a", cd_buf_str(&body));
    cd_buf_deinit(&body);
}

static void continue_flow(struct rig *r)
{
    struct io_stream s = {0};
    struct cd_buf got = {0};
    CHECK_INT(rig_connect(r, &s), IO_OK);
    CHECK_INT(rig_send(&s, CD_STR(POST("Content-Length: 5\r\nExpect: 100-continue\r\n"))), IO_OK);
    CHECK_INT(rig_receive(r, &s, &got, IO_MS(10)), IO_TIMEDOUT);
    CHECK_INT(got.len, 0); /* Not before the handler wants the body. */
    CHECK_INT(rig_receive(r, &s, &got, IO_MS(30)), IO_TIMEDOUT);
    CHECK(cd_str_eq(cd_buf_str(&got), CD_STR("HTTP/1.1 100 Continue\r\n\r\n")));
    CHECK_INT(rig_send(&s, CD_STR("hello")), IO_OK);
    cd_buf_clear(&got);
    CHECK_INT(rig_receive(r, &s, &got, IO_MS(30)), IO_TIMEDOUT);
    rig_undate(&got);
    CHECK(cd_str_eq(cd_buf_str(&got),
                    CD_STR("HTTP/1.1 200 OK\r\nContent-Type: a\r\nContent-Length: 5\r\n\r\nhello")));
    rig_hang_up(&s, false);
    cd_buf_deinit(&got);
    /* Who sends the body without waiting is not told to go on. */
    rig_expect(r, POST("Content-Length: 5\r\nExpect: 100-continue\r\n") "hello",
               "HTTP/1.1 200 OK\r\nContent-Type: a\r\nContent-Length: 5\r\n\r\nhello");
}

static void test_the_client_is_told_to_go_on_when_the_body_is_wanted(void **state)
{
    (void)state;
    run_with(continue_handler, continue_flow);
}

static void refuse_handler(struct http_exchange *x)
{
    http_answer_text(x, 403, "a", CD_STR("no"));
}

static void refuse_flow(struct rig *r)
{
#define REFUSED(more) "HTTP/1.1 403 Forbidden\r\nContent-Type: a\r\nContent-Length: 2\r\n" more "\r\nno"
    rig_expect(r, POST("Content-Length: 5\r\nExpect: 100-continue\r\n"), REFUSED("Connection: close\r\n"));
    /* A small body that nobody wanted is read away. */
    rig_expect(r, POST("Content-Length: 5\r\n") "hello" GET, REFUSED("") REFUSED(""));
    rig_expect(r, POST("Transfer-Encoding: chunked\r\n") "5\r\nhello\r\n0\r\n\r\n" GET,
               REFUSED("") REFUSED(""));
    rig_expect(r, POST("Transfer-Encoding: chunked\r\n") "5\r\nhello!\r\n0\r\n\r\n" GET, REFUSED(""));
}

static void test_a_body_that_nobody_wants(void **state)
{
    (void)state;
    run_with(refuse_handler, refuse_flow);
}

static void refuse_large_flow(struct rig *r)
{
    struct io_stream s = {0};
    struct cd_buf got = {0}, big = {0};
    cd_buf_add_zero(&big, HTTP_DRAIN_MAX + 70000);
    CHECK_INT(rig_connect(r, &s), IO_OK);
    CHECK_INT(rig_send(&s, CD_STR(POST("Content-Length: 1000000\r\n"))), IO_OK);
    (void)rig_send(&s, cd_buf_str(&big));
    CHECK_INT(rig_receive(r, &s, &got, IO_SEC(1)), IO_EOF);
    rig_undate(&got);
    CHECK(cd_str_eq(cd_buf_str(&got), CD_STR(REFUSED(""))));
    rig_hang_up(&s, false);
    cd_buf_deinit(&got);
    cd_buf_deinit(&big);
}

static void test_a_large_body_that_nobody_wants_ends_the_connection(void **state)
{
    (void)state;
    run_with(refuse_handler, refuse_large_flow);
}

/* Reads the body in pieces of every size, into its own buffer and lent. */
static void pieces_handler(struct http_exchange *x)
{
    struct cd_buf body = {0};
    char room[7];
    for (size_t i = 0;; i++) {
        struct io_read read = {.buf = i % 3 == 0 ? NULL : room, .cap = i % sizeof room + 1};
        http_body_read(x, &read, NULL);
        int status = io_await(&read.op, IO_FOREVER);
        if (status == IO_EOF)
            break;
        CHECK_INT(status, IO_OK);
        CHECK(read.len > 0 && (i % 3 == 0 || read.len <= read.cap));
        cd_buf_add(&body, read.buf, read.len);
        if (i % 5 == 0)
            (void)io_sleep(x->io, 1000);
    }
    struct io_read again = {.buf = room, .cap = 1};
    http_body_read(x, &again, NULL);
    CHECK_INT(io_await(&again.op, IO_FOREVER), IO_EOF); /* The end stays the end. */
    http_answer_text(x, 200, "a", cd_buf_str(&body));
    cd_buf_deinit(&body);
}

static void pieces_flow(struct rig *r)
{
#define LONG_TEXT "The quick brown fox jumps over the lazy dog, again and again, until the evening comes."
    const char *want = "HTTP/1.1 200 OK\r\nContent-Type: a\r\nContent-Length: 86\r\n\r\n" LONG_TEXT;
    rig_expect(r, POST("Content-Length: 86\r\n") LONG_TEXT, want);
    rig_expect(
        r,
        POST("Transfer-Encoding: chunked\r\n") "3\r\nThe\r\n1;x=y\r\n \r\n52\r\n"
                                               "quick brown fox jumps over the lazy dog, again and again, "
                                               "until the evening comes.\r\n0\r\nX: y\r\n\r\n",
        want);
}

static void test_a_body_is_read_in_any_pieces(void **state)
{
    (void)state;
    run_with(pieces_handler, pieces_flow);
}

/* ---- Back-pressure ---- */

#define FLOOD (1u << 20)

struct flood {
    bool read_now, wrote;
    uint64_t got;
};

static struct flood flood;

static void slow_reader_handler(struct http_exchange *x)
{
    while (!flood.read_now)
        (void)io_sleep(x->io, IO_MS(1));
    char room[3000];
    int status;
    do {
        struct io_read read = {.buf = room, .cap = sizeof room};
        http_body_read(x, &read, NULL);
        status = io_await(&read.op, IO_FOREVER);
        flood.got += status == IO_OK ? read.len : 0;
    } while (status == IO_OK);
    CHECK_INT(status, IO_EOF);
    http_answer_text(x, 200, "a", CD_STR(""));
}

static void flood_writer(void *arg)
{
    struct cd_buf big = {0};
    cd_buf_add_zero(&big, FLOOD);
    CHECK_INT(rig_send(arg, cd_buf_str(&big)), IO_OK);
    cd_buf_deinit(&big);
    flood.wrote = true;
}

static void slow_reader_flow(struct rig *r)
{
    struct io_stream s = {0};
    struct cd_buf got = {0};
    flood = (struct flood){.got = 0};
    CHECK_INT(rig_connect(r, &s), IO_OK);
    CHECK_INT(rig_send(&s, CD_STR(POST("Content-Length: 1048576\r\n"))), IO_OK);
    (void)io_spawn(r->cio, "flood", flood_writer, &s);
    CHECK_INT(rig_receive(r, &s, &got, IO_SEC(20)), IO_TIMEDOUT);
    CHECK(!flood.wrote); /* Half a minute may pass: the client waits, and nobody complains. */
    CHECK_INT(flood.got, 0);
    flood.read_now = true;
    CHECK_INT(rig_receive(r, &s, &got, IO_SEC(1)), IO_TIMEDOUT);
    CHECK(flood.wrote);
    CHECK_INT(flood.got, FLOOD);
    CHECK(got.len > 0);
    rig_hang_up(&s, false);
    cd_buf_deinit(&got);
}

static void test_a_slow_handler_slows_its_client(void **state)
{
    (void)state;
    run_with(slow_reader_handler, slow_reader_flow);
}

static void slow_client_handler(struct http_exchange *x)
{
    struct cd_buf big = {0};
    cd_buf_add_zero(&big, FLOOD);
    struct cd_str part = cd_buf_str(&big);
    struct io_write w = {.part = &part, .parts = 1};
    const struct http_answer answer = {.status = 200, .body_len = FLOOD};
    http_answer_start(x, &answer, &w, true, NULL);
    CHECK_INT(io_await(&w.op, IO_FOREVER), IO_OK);
    flood.wrote = true;
    cd_buf_deinit(&big);
    http_exchange_close(x);
}

static void slow_client_flow(struct rig *r)
{
    struct io_stream s = {0};
    struct cd_buf got = {0};
    flood = (struct flood){.got = 0};
    CHECK_INT(rig_connect(r, &s), IO_OK);
    CHECK_INT(rig_send(&s, CD_STR(GET)), IO_OK);
    (void)io_sleep(r->cio, IO_SEC(20));
    CHECK(!flood.wrote);
    CHECK_INT(rig_receive(r, &s, &got, IO_SEC(1)), IO_TIMEDOUT);
    CHECK(flood.wrote);
    CHECK(got.len > FLOOD && got.len < FLOOD + 200);
    rig_hang_up(&s, false);
    cd_buf_deinit(&got);
}

static void test_a_slow_client_slows_the_handler(void **state)
{
    (void)state;
    run_with(slow_client_handler, slow_client_flow);
}

static void never_reads_handler(struct http_exchange *x)
{
    struct rig *r = x->user;
    struct cd_buf big = {0};
    cd_buf_add_zero(&big, FLOOD);
    struct cd_str part = cd_buf_str(&big);
    struct io_write w = {.part = &part, .parts = 1};
    const struct http_answer answer = {.status = 200, .body_len = FLOOD};
    uint64_t from_ns = io_now_ns(x->io);
    http_answer_start(x, &answer, &w, true, NULL);
    CHECK(io_await(&w.op, IO_FOREVER) != IO_OK);
    uint64_t took_s = (io_now_ns(x->io) - from_ns) / IO_SEC(1);
    CHECK(took_s >= 30 + FLOOD / HTTP_WRITE_RATE && took_s <= 2 * 30 + FLOOD / HTTP_WRITE_RATE);
    r->gone++;
    cd_buf_deinit(&big);
    http_exchange_close(x);
}

static void never_reads_flow(struct rig *r)
{
    struct io_stream s = {0};
    CHECK_INT(rig_connect(r, &s), IO_OK);
    CHECK_INT(rig_send(&s, CD_STR(GET)), IO_OK);
    (void)io_sleep(r->cio, IO_SEC(200));
    CHECK_INT(r->gone, 1);
    CHECK_INT(http_server_connections(r->server), 0);
    rig_hang_up(&s, false);
}

static void test_a_client_that_never_reads_is_cut_off(void **state)
{
    (void)state;
    run_with(never_reads_handler, never_reads_flow);
}

/* ---- Order ---- */

static void order_handler(struct http_exchange *x)
{
    struct rig *r = x->user;
    CHECK_INT(r->gone, 0); /* Counts handlers at work here. */
    r->gone++;
    (void)io_sleep(x->io, IO_MS(5));
    r->gone--;
    http_answer_text(x, 200, "a", x->head->target);
}

static void order_flow(struct rig *r)
{
#define ASK(target) "GET " target " HTTP/1.1\r\nHost: a\r\n\r\n"
#define TOLD(target) "HTTP/1.1 200 OK\r\nContent-Type: a\r\nContent-Length: 2\r\n\r\n" target
    rig_expect(r, ASK("/1") ASK("/2") ASK("/3") ASK("/4"), TOLD("/1") TOLD("/2") TOLD("/3") TOLD("/4"));
}

static void test_pipelined_requests_are_handled_one_after_the_other(void **state)
{
    (void)state;
    run_with(order_handler, order_flow);
}

static void target_handler(struct http_exchange *x)
{
    http_answer_text(x, 200, "a", x->head->target);
}

/* More than the window holds: the connection stops reading, and goes on. */
static void many_flow(struct rig *r)
{
    struct cd_buf ask = {0}, want = {0}, got = {0};
    for (int i = 0; i < 3000; i++) {
        cd_buf_addf(&ask, ASK("/%d"), 10000 + i);
        cd_buf_addf(&want, "HTTP/1.1 200 OK\r\nContent-Type: a\r\nContent-Length: 6\r\n\r\n/%d", 10000 + i);
    }
    struct cd_str piece = cd_buf_str(&ask);
    CHECK_INT(rig_talk(r, &piece, 1, &got), IO_TIMEDOUT);
    struct cd_buf undated = {0};
    struct cd_str rest = cd_buf_str(&got), line;
    while (cd_str_next(&rest, '\n', &line)) {
        if (!cd_str_starts(line, CD_STR("Date: ")))
            cd_buf_addf(&undated, "%.*s%s", (int)line.len, line.ptr, rest.ptr == NULL ? "" : "\n");
    }
    CHECK(cd_str_eq(cd_buf_str(&undated), cd_buf_str(&want)));
    cd_buf_deinit(&undated);
    cd_buf_deinit(&ask);
    cd_buf_deinit(&want);
    cd_buf_deinit(&got);
}

static void test_many_pipelined_requests(void **state)
{
    (void)state;
    run_with(target_handler, many_flow);
}

CD_TESTS(server, cmocka_unit_test(test_trailers_do_not_touch_the_fields_of_the_head),
         cmocka_unit_test(test_simple_answers), cmocka_unit_test(test_the_date_is_of_the_second),
         cmocka_unit_test(test_a_body_of_unknown_length),
         cmocka_unit_test(test_an_empty_body_of_unknown_length),
         cmocka_unit_test(test_a_body_is_as_long_as_announced),
         cmocka_unit_test(test_an_unfinished_answer_is_never_taken_for_complete),
         cmocka_unit_test(test_closing_without_an_answer_ends_the_connection),
         cmocka_unit_test(test_the_client_is_told_to_go_on_when_the_body_is_wanted),
         cmocka_unit_test(test_a_body_that_nobody_wants),
         cmocka_unit_test(test_a_large_body_that_nobody_wants_ends_the_connection),
         cmocka_unit_test(test_a_body_is_read_in_any_pieces),
         cmocka_unit_test(test_a_slow_handler_slows_its_client),
         cmocka_unit_test(test_a_slow_client_slows_the_handler),
         cmocka_unit_test(test_a_client_that_never_reads_is_cut_off),
         cmocka_unit_test(test_pipelined_requests_are_handled_one_after_the_other),
         cmocka_unit_test(test_many_pipelined_requests))
