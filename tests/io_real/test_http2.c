/* Outbound HTTP/2, against a server of Node's: see programs/h2_site.cjs. */
#include "node_help.h"
#include "tls_help.h"

struct h2 {
    struct contract *c;
    struct tls_cert cert;
    struct io_child child;
    uint64_t port;
};

static void site_start(struct h2 *s)
{
    const char *const argv[] = {"node", CD_TESTS_DIR "/io_real/programs/h2_site.cjs", s->cert.key_file,
                                s->cert.cert_file, NULL};
    const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    struct cd_buf line = {0};
    io_child_start(&s->child, s->c->io, argv, env, NULL, NULL);
    while (line.len == 0 || line.ptr[line.len - 1] != '\n')
        CHECK_INT(stream_read_to(&s->child.out, &line, line.len + 1), IO_OK);
    CHECK_INT(cd_str_u64(cd_str_trim(cd_buf_str(&line)), &s->port), 0);
    cd_buf_deinit(&line);
}

static void site_end(struct h2 *s)
{
    stream_close(&s->child.in, false);
    CHECK_INT(await(&s->child.exited), IO_OK);
    CHECK_INT(s->child.code, 0);
    stream_close(&s->child.out, false);
}

static void (*h2_flow)(struct h2 *s);

static void flow_site(struct contract *c)
{
    struct h2 *s = c->arg;
    s->c = c;
    site_start(s);
    h2_flow(s);
    site_end(s);
}

static void h2_run(void (*flow)(struct h2 *s))
{
    struct h2 s = {0};
    tls_cert_make(&s.cert);
    h2_flow = flow;
    tls_trust(&s.cert);
    node_run(&(struct node_run){.opts = {.log_fd = -1}, .flow = flow_site, .arg = &s});
    tls_trust(NULL);
    tls_cert_free(&s.cert);
}

/* ---- Asking ---- */

static void ask_start(struct h2 *s, struct io_http *h, const char *method, const char *path,
                      uint64_t body_len, struct io_op *op)
{
    char url[100];
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%u/%s", (unsigned)s->port, path);
    struct io_http_ask ask = {
        .method = cd_str(method), .url = cd_str(url), .head = CD_STR("X-Empty:\r\n"), .body_len = body_len};
    io_http_start(h, s->c->io, &ask, op, NULL);
}

static int read_all(struct io_http *h, struct cd_buf *out)
{
    for (;;) {
        struct io_read r = {0};
        io_http_read(h, &r, NULL);
        int status = await(&r.op);
        if (status != IO_OK)
            return status;
        cd_buf_add(out, r.buf, r.len);
    }
}

static void ask_close(struct io_http *h)
{
    struct io_op op = {0};
    io_http_close(h, &op, NULL);
    CHECK_INT(await(&op), IO_OK);
}

/* The whole answer, which has to be a good one. */
static void get(struct h2 *s, const char *path, struct cd_buf *out)
{
    struct io_http h = {0};
    struct io_op op = {0};
    cd_buf_clear(out);
    ask_start(s, &h, "GET", path, IO_HTTP_NO_BODY, &op);
    CHECK_INT(await(&op), IO_OK);
    CHECK_INT(h.status, 200);
    CHECK_INT(read_all(&h, out), IO_EOF);
    ask_close(&h);
}

static bool answers(struct h2 *s, const char *path, const char *want)
{
    struct cd_buf got = {0};
    get(s, path, &got);
    bool same = cd_str_eq(cd_buf_str(&got), cd_str(want));
    if (!same)
        (void)fprintf(stderr, "%s: \"%s\", want \"%s\"\n", path, cd_buf_cstr(&got), want);
    cd_buf_deinit(&got);
    return same;
}

/* ---- What is promised ---- */

static void flow_used(struct h2 *s)
{
    struct io_http h = {0};
    struct io_op op = {0};
    struct cd_buf body = {0};
    CHECK(answers(s, "version", "2.0 1"));
    CHECK(answers(s, "version", "2.0 1")); /* The connection is kept. */
    ask_start(s, &h, "HEAD", "version", IO_HTTP_NO_BODY, &op);
    CHECK_INT(await(&op), IO_OK);
    CHECK_INT(h.status, 200);
    struct cd_str head = cd_buf_str(&h.head);
    CHECK(!cd_str_starts(head, CD_STR("HTTP/")) && cd_str_ends(head, CD_STR("\r\n")));
    CHECK(cd_str_find_str(head, CD_STR(":status"), 0) == SIZE_MAX); /* Only fields. */
    CHECK_INT(read_all(&h, &body), IO_EOF);
    CHECK_INT(body.len, 0);
    ask_close(&h);
}

static void test_http2_is_used_where_it_is_offered(void **state)
{
    (void)state;
    h2_run(flow_used);
}

static void echo(struct h2 *s, uint64_t body_len, const char *seen)
{
    static const char *const pieces[] = {"one ", "two ", "three"};
    struct io_http h = {0};
    struct io_op start = {0}, op = {0};
    struct cd_buf body = {0};
    ask_start(s, &h, "POST", "echo", body_len, &start);
    for (size_t i = 0; i < CD_COUNT(pieces); i++) {
        io_http_write(&h, cd_str(pieces[i]), i + 1 == CD_COUNT(pieces), &op, NULL);
        CHECK_INT(await(&op), IO_OK);
    }
    CHECK_INT(await(&start), IO_OK);
    CHECK_INT(h.status, 200);
    size_t at = cd_str_find_str(cd_buf_str(&h.head), CD_STR("x-seen: "), 0);
    CHECK(at != SIZE_MAX);
    struct cd_str got = cd_str_sub(cd_buf_str(&h.head), at + 8, SIZE_MAX);
    got = cd_str_sub(got, 0, cd_str_find(got, '\r', 0));
    if (!cd_str_eq(got, cd_str(seen)))
        (void)fprintf(stderr, "seen: %.*s, want %s\n", (int)got.len, got.ptr, seen);
    CHECK(cd_str_eq(got, cd_str(seen)));
    CHECK_INT(read_all(&h, &body), IO_EOF);
    CHECK(cd_str_eq(cd_buf_str(&body), CD_STR("one two three")));
    ask_close(&h);
    cd_buf_deinit(&body);
}

static void flow_bodies(struct h2 *s)
{
    echo(s, 13, "content-length=13,x-empty=");
    echo(s, IO_HTTP_CHUNKED, "x-empty="); /* HTTP/2 has frames of its own for it. */
}

static void test_bodies_go_both_ways(void **state)
{
    (void)state;
    h2_run(flow_bodies);
}

#define AT_ONCE 12

static void flow_multiplexed(struct h2 *s)
{
    struct io_http h[AT_ONCE] = {0};
    struct io_op op[AT_ONCE] = {0};
    struct cd_buf body = {0};
    CHECK(answers(s, "version", "2.0 1"));
    for (int i = 0; i < AT_ONCE; i++)
        ask_start(s, &h[i], "GET", "gate?12", IO_HTTP_NO_BODY, &op[i]);
    for (int i = 0; i < AT_ONCE; i++) { /* All are there before any is answered. */
        CHECK_INT(await(&op[i]), IO_OK);
        cd_buf_clear(&body);
        CHECK_INT(read_all(&h[i], &body), IO_EOF);
        CHECK(cd_str_eq(cd_buf_str(&body), CD_STR("2.0 1"))); /* Over the one connection. */
        ask_close(&h[i]);
    }
    cd_buf_deinit(&body);
}

static void test_requests_share_a_connection_and_do_not_wait_for_each_other(void **state)
{
    (void)state;
    h2_run(flow_multiplexed);
}

#define BIG (64u << 20)

static void flow_slow_reader(struct h2 *s)
{
    struct io_http h = {0};
    struct io_op op = {0};
    struct cd_buf text = {0};
    uint64_t sent = 0, before = UINT64_MAX, got = 0;
    CHECK(answers(s, "version", "2.0 1"));
    ask_start(s, &h, "GET", "big?67108864", IO_HTTP_NO_BODY, &op);
    CHECK_INT(await(&op), IO_OK);
    for (int quiet = 0; quiet < 5;
         quiet = sent == before ? quiet + 1 : 0) { /* Until the server stands still. */
        before = sent;
        get(s, "sent", &text); /* The other streams of the connection go on meanwhile. */
        CHECK_INT(cd_str_u64(cd_buf_str(&text), &sent), 0);
        CHECK_INT(io_sleep(s->c->io, IO_MS(20)), IO_OK);
    }
    CHECK(sent < BIG / 2);
    CHECK(answers(s, "version", "2.0 1"));
    for (;;) {
        struct io_read r = {0};
        io_http_read(&h, &r, NULL);
        int status = await(&r.op);
        if (status == IO_EOF)
            break;
        CHECK_INT(status, IO_OK);
        got += r.len;
    }
    CHECK_INT(got, BIG);
    ask_close(&h);
    cd_buf_deinit(&text);
}

static void test_a_slow_reader_holds_its_server_back_and_nobody_else(void **state)
{
    (void)state;
    h2_run(flow_slow_reader);
}

static void flow_canceled(struct h2 *s)
{
    struct io_http h = {0};
    struct io_op op = {0};
    struct io_read r = {0};
    CHECK(answers(s, "version", "2.0 1"));
    ask_start(s, &h, "GET", "silent", IO_HTTP_NO_BODY, &op);
    CHECK_INT(io_await(&op, io_now_ns(s->c->io) + IO_MS(50)), IO_TIMEDOUT);
    CHECK(h.io == NULL);
    ask_start(s, &h, "GET", "big?67108864", IO_HTTP_NO_BODY, &op);
    CHECK_INT(await(&op), IO_OK);
    io_http_read(&h, &r, NULL);
    CHECK_INT(await(&r.op), IO_OK);
    ask_close(&h);
    CHECK(answers(s, "version", "2.0 1")); /* Only the streams ended. */
}

static void test_canceling_a_request_leaves_the_others_their_connection(void **state)
{
    (void)state;
    h2_run(flow_canceled);
}

static void flow_broken(struct h2 *s)
{
    struct io_http h = {0};
    struct io_op op = {0};
    struct cd_buf body = {0};
    ask_start(s, &h, "GET", "cut", IO_HTTP_NO_BODY, &op);
    CHECK_INT(await(&op), IO_OK);
    int status = read_all(&h, &body);
    CHECK(status == IO_RESET || status == IO_PROTOCOL); /* Never a clean end. */
    CHECK(cd_str_starts(CD_STR("half!"), cd_buf_str(&body)));
    CHECK(h.why[0] != '\0');
    ask_close(&h);
    cd_buf_deinit(&body);
    ask_start(s, &h, "POST", "refuse", IO_HTTP_NO_BODY, &op);
    status = await(&op);
    CHECK(status == IO_RESET || status == IO_PROTOCOL);
    CHECK(answers(s, "refused", "1")); /* What changes something is sent once. */
}

static void test_a_broken_stream_is_an_error_and_no_write_is_sent_twice(void **state)
{
    (void)state;
    h2_run(flow_broken);
}

CD_TESTS(http2, cmocka_unit_test(test_http2_is_used_where_it_is_offered),
         cmocka_unit_test(test_bodies_go_both_ways),
         cmocka_unit_test(test_requests_share_a_connection_and_do_not_wait_for_each_other),
         cmocka_unit_test(test_a_slow_reader_holds_its_server_back_and_nobody_else),
         cmocka_unit_test(test_canceling_a_request_leaves_the_others_their_connection),
         cmocka_unit_test(test_a_broken_stream_is_an_error_and_no_write_is_sent_twice))
