/* The client against scripted servers: http/client.h. */
#include "peer.h"

#define ASKED "\r\n\r\n"
#define OK_3 "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"

/* ---- Answers ---- */

static void reuse_flow(struct peer *p)
{
    peer_call(p, "GET", "/1", "", "200 OK|abc");
    (void)io_sleep(p->cio, IO_MS(5));
    CHECK_INT(http_client_connections(p->client), 1);
    peer_call(p, "POST", "/2", "hello", "200 OK|abc");
    peer_call(p, "HEAD", "/3", "", "200 OK|");
    CHECK_INT(p->conns, 1);
    CHECK(cd_str_eq(cd_buf_str(&p->seen[0]),
                    CD_STR("GET /1 HTTP/1.1\r\nHost: host\r\n\r\n"
                           "POST /2 HTTP/1.1\r\nHost: host\r\nContent-Length: 5\r\n\r\nhello"
                           "HEAD /3 HTTP/1.1\r\nHost: host\r\n\r\n")));
}

static void test_a_connection_is_used_again(void **state)
{
    (void)state;
    static const struct peer_step script[] = {
        {PEER_READ, ASKED, 0},   {PEER_SEND, OK_3, 0},
        {PEER_READ, "hello", 0}, {PEER_SEND, OK_3, 0},
        {PEER_READ, ASKED, 0},   {PEER_SEND, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", 0},
        {PEER_HOLD, NULL, 0}};
    peer_run(&(struct peer){.script = {script}}, reuse_flow);
}

struct answer_case {
    const char *answer, *want;
    bool reset;
};

static const struct answer_case *answer_case;

static void answer_flow(struct peer *p)
{
    peer_call(p, "GET", "/", "", answer_case->want);
}

static void check_answers(const struct answer_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(cases[i].answer);
        /* The server's answer comes whole, or cut in two. */
        for (size_t cut = 0; cut <= len; cut += len < 400 ? 1 : 97) {
            char *first = cd_str_dup(cd_str_of(cases[i].answer, cut));
            const struct peer_step script[] = {{PEER_READ, ASKED, 0},
                                               {cut > 0 ? PEER_SEND : PEER_SLEEP, first, 1},
                                               {PEER_SLEEP, NULL, 2},
                                               {cut < len ? PEER_SEND : PEER_SLEEP, cases[i].answer + cut, 1},
                                               {cases[i].reset ? PEER_RESET : PEER_END, NULL, 0}};
            answer_case = &cases[i];
            peer_run(&(struct peer){.script = {script}}, answer_flow);
            cd_free(first);
        }
    }
}

static void test_answers_of_every_framing(void **state)
{
    (void)state;
    static const struct answer_case cases[] = {
        {OK_3, "200 OK|abc", false},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4;x\r\ndefg\r\n0\r\nT: u\r\n\r\n",
         "200 OK|abcdefg", false},
        {"HTTP/1.1 200 OK\r\n\r\nuntil the end", "200 OK|until the end", false},
        {"HTTP/1.0 404 Nope\r\n\r\n", "404 Nope|", false},
        {"HTTP/1.1 204 Gone\r\n\r\n", "204 Gone|", false},
        {"HTTP/1.1 304\r\nContent-Length: 10\r\n\r\n", "304 |", false},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\n" OK_3, "200 OK|abc", false},
    };
    check_answers(cases, CD_COUNT(cases));
}

static void test_broken_answers(void **state)
{
    (void)state;
    static const struct answer_case cases[] = {
        {"", "<connection reset> maybe the connection ended before the answer", false},
        {"", "<connection reset> maybe the connection broke", true},
        {"HTTP/1.1 200 OK\r\nCont", "<connection reset> maybe the connection ended before the answer", false},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
         "200 OK|abc<connection reset> answered connection ended inside a message", false},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
         "200 OK|abc<connection reset> answered connection ended inside a message", false},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
         "200 OK|abc<peer broke the protocol> answered Expected LF after chunk data", false},
        {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
         "<peer broke the protocol> maybe Transfer-Encoding can't be present with Content-Length", false},
        {"SSH-2.0-OpenSSH\r\n", "<peer broke the protocol> maybe Expected HTTP/, RTSP/ or ICE/", false},
        {"HTTP/1.1 101 Up\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
         "<peer broke the protocol> maybe an upgrade that was not asked for", false},
    };
    check_answers(cases, CD_COUNT(cases));
}

static void too_large_flow(struct peer *p)
{
    peer_call(p, "GET", "/", "", "<larger than the limit> maybe request head too large");
    peer_call(p, "GET", "/", "", "<larger than the limit> maybe response body too large");
    peer_call(p, "GET", "/", "", "<peer broke the protocol> maybe too many interim answers");
}

static void test_limits_of_answers(void **state)
{
    (void)state;
    static const struct peer_step head[] = {{PEER_READ, ASKED, 0},
                                            {PEER_SEND, "HTTP/1.1 200 OK\r\nX: ", 0},
                                            {PEER_FLOOD, NULL, 0},
                                            {PEER_HOLD, NULL, 0}};
    static const struct peer_step body[] = {{PEER_READ, ASKED, 0},
                                            {PEER_SEND, "HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n", 0},
                                            {PEER_HOLD, NULL, 0}};
    static const struct peer_step interims[] = {
        {PEER_READ, ASKED, 0},
#define HINT "HTTP/1.1 103 Hint\r\n\r\n"
        {PEER_SEND, HINT HINT HINT HINT HINT HINT HINT HINT HINT HINT HINT HINT HINT HINT HINT HINT HINT, 0},
        {PEER_HOLD, NULL, 0}};
    (void)head;
    static struct peer_step large[4];
    static char text[400];
    memset(text, 'x', sizeof text - 1);
    large[0] = head[0];
    large[1] = head[1];
    large[2] = (struct peer_step){PEER_SEND, text, 0};
    large[3] = head[3];
    peer_run(&(struct peer){.script = {large, body, interims},
                            .opts = {.limits = {.head_max = 200, .body_max = 1000}}},
             too_large_flow);
}

/* ---- Fate ---- */

static void refused_flow(struct peer *p)
{
    peer_call(p, "GET", "/", "", "<connection refused> unsent could not connect");
    p->addr = (struct io_addr){.host = "nowhere", .port = 1};
    struct http_call call = {0};
    CHECK(peer_start(p, &call, "GET", "/", 0, "") != IO_OK);
    CHECK_INT(call.fate, HTTP_UNSENT);
    http_call_close(&call);
    CHECK_INT(peer_start(p, &call, "G T", "/", 0, ""), CD_EINVAL);
    CHECK_INT(call.fate, HTTP_UNSENT);
    http_call_close(&call);
    CHECK_INT(http_client_connections(p->client), 0);
}

static void test_what_was_never_sent_is_known(void **state)
{
    (void)state;
    peer_run(&(struct peer){.no_listener = true}, refused_flow);
}

static void stale_flow(struct peer *p)
{
    peer_call(p, "GET", "/1", "", "200 OK|abc");
    (void)io_sleep(p->cio, IO_MS(50)); /* The server closes it meanwhile. */
    CHECK_INT(http_client_connections(p->client), 0);
    peer_call(p, "GET", "/2", "", "200 OK|abc");
    CHECK_INT(p->conns, 2);
    /* This one talks out of turn. */
    (void)io_sleep(p->cio, IO_MS(50));
    peer_call(p, "GET", "/3", "", "200 OK|abc");
    CHECK_INT(p->conns, 3);
    (void)io_sleep(p->cio, IO_SEC(31));
    CHECK_INT(http_client_connections(p->client), 0); /* Idle for too long. */
}

static void test_connections_that_ended_while_idle_are_not_used(void **state)
{
    (void)state;
    static const struct peer_step closes[] = {
        {PEER_READ, ASKED, 0}, {PEER_SEND, OK_3, 0}, {PEER_SLEEP, NULL, 20}, {PEER_END, NULL, 0}};
    static const struct peer_step talks[] = {{PEER_READ, ASKED, 0},
                                             {PEER_SEND, OK_3, 0},
                                             {PEER_SLEEP, NULL, 20},
                                             {PEER_SEND, OK_3, 0},
                                             {PEER_HOLD, NULL, 0}};
    static const struct peer_step stays[] = {
        {PEER_READ, ASKED, 0}, {PEER_SEND, OK_3, 0}, {PEER_HOLD, NULL, 0}};
    peer_run(&(struct peer){.script = {closes, talks, stays}}, stale_flow);
}

/* ---- Timeouts ---- */

static void late_flow(struct peer *p)
{
    uint64_t from_ns = io_now_ns(p->cio);
    peer_call(p, "GET", "/", "", "<timed out> maybe no answer in time");
    CHECK_INT((io_now_ns(p->cio) - from_ns) / IO_SEC(1), 120);
    from_ns = io_now_ns(p->cio);
    peer_call(p, "GET", "/", "", "200 OK|ab<timed out> answered the answer stalled");
    CHECK_INT((io_now_ns(p->cio) - from_ns) / IO_SEC(1), 60);
    sim_cut_both(p->sim, p->server_node, p->client_node);
    from_ns = io_now_ns(p->cio);
    peer_call(p, "GET", "/", "", "<timed out> unsent could not connect");
    CHECK_INT((io_now_ns(p->cio) - from_ns) / IO_SEC(1), 10);
    sim_heal_all(p->sim);
}

static void test_servers_that_take_too_long(void **state)
{
    (void)state;
    static const struct peer_step silent[] = {{PEER_READ, ASKED, 0}, {PEER_HOLD, NULL, 0}};
    static const struct peer_step stalls[] = {
        {PEER_READ, ASKED, 0},
        {PEER_SEND, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", 0},
        {PEER_HOLD, NULL, 0}};
    /* After the heal. */
    static const struct peer_step stray[] = {{PEER_READ, "never", 0}, {PEER_END, NULL, 0}};
    peer_run(&(struct peer){.script = {silent, stalls, stray}}, late_flow);
}

/* ---- Streamed requests ---- */

static int call_write(struct http_call *call, const char *bytes, bool last)
{
    struct cd_str part = cd_str(bytes);
    struct io_write w = {.part = &part, .parts = part.len > 0 ? 1 : 0};
    http_call_write(call, &w, last, NULL);
    return io_await(&w.op, IO_FOREVER);
}

static void stream_flow(struct peer *p)
{
    const struct http_ask ask = {.method = CD_STR("PUT"),
                                 .target = CD_STR("/"),
                                 .authority = CD_STR("host"),
                                 .body_len = HTTP_LEN_CHUNKED};
    struct http_call call = {0};
    struct io_op op = {0};
    struct cd_buf got = {0};
    http_call_start(&call, p->client, &p->addr, &ask, CD_STR(""), &op, NULL);
    CHECK_INT(call_write(&call, "first", false), IO_OK); /* Waits for the connection by itself. */
    CHECK_INT(call_write(&call, "", false), IO_OK);
    CHECK_INT(call_write(&call, "second", true), IO_OK);
    CHECK_INT(io_await(&op, IO_FOREVER), IO_OK);
    CHECK_INT(peer_read_all(p, &call, &got), IO_EOF);
    http_call_close(&call);
    struct http_ask known = ask;
    known.body_len = 6;
    http_call_start(&call, p->client, &p->addr, &known, CD_STR(""), &op, NULL);
    CHECK_INT(call_write(&call, "1234567", false), CD_ETOOBIG);
    CHECK_INT(call_write(&call, "123", true), CD_EINVAL);
    CHECK_INT(call_write(&call, "123", false), IO_OK);
    CHECK_INT(call_write(&call, "456", true), IO_OK);
    CHECK_INT(io_await(&op, IO_FOREVER), IO_OK);
    CHECK_INT(peer_read_all(p, &call, &got), IO_EOF);
    http_call_close(&call);
    CHECK_INT(p->conns, 1);
    CHECK(cd_str_eq(cd_buf_str(&p->seen[0]),
                    CD_STR("PUT / HTTP/1.1\r\nHost: host\r\nTransfer-Encoding: chunked\r\n\r\n"
                           "5\r\nfirst\r\n6\r\nsecond\r\n0\r\n\r\n"
                           "PUT / HTTP/1.1\r\nHost: host\r\nContent-Length: 6\r\n\r\n123456")));
    cd_buf_deinit(&got);
}

static void test_a_request_body_is_streamed(void **state)
{
    (void)state;
    static const struct peer_step script[] = {{PEER_READ, "0\r\n\r\n", 0},
                                              {PEER_SEND, OK_3, 0},
                                              {PEER_READ, "123456", 0},
                                              {PEER_SEND, OK_3, 0},
                                              {PEER_HOLD, NULL, 0}};
    peer_run(&(struct peer){.script = {script}}, stream_flow);
}

static void early_flow(struct peer *p)
{
    const struct http_ask ask = {
        .method = CD_STR("PUT"), .target = CD_STR("/"), .authority = CD_STR("host"), .body_len = 10u << 20};
    struct http_call call = {0};
    struct io_op op = {0};
    struct cd_buf got = {0}, big = {0};
    cd_buf_add_zero(&big, 1u << 20);
    http_call_start(&call, p->client, &p->addr, &ask, CD_STR(""), &op, NULL);
    struct cd_str part = cd_buf_str(&big);
    struct io_write w = {.part = &part, .parts = 1};
    http_call_write(&call, &w, false, NULL);
    CHECK_INT(io_await(&op, IO_FOREVER), IO_OK);
    CHECK_INT(call.head->status, 413);
    CHECK(io_busy(&w.op)); /* The server never took it all. */
    CHECK_INT(peer_read_all(p, &call, &got), IO_EOF);
    CHECK(cd_str_eq(cd_buf_str(&got), CD_STR("no")));
    http_call_close(&call);
    CHECK_INT(io_await(&w.op, IO_FOREVER), IO_CANCELED);
    (void)io_sleep(p->cio, IO_MS(5));
    CHECK_INT(http_client_connections(p->client), 0); /* It cannot carry another request. */
    cd_buf_deinit(&got);
    cd_buf_deinit(&big);
}

static void test_an_answer_may_come_before_the_request_is_complete(void **state)
{
    (void)state;
    static const struct peer_step script[] = {
        {PEER_TAKE, NULL, 70},
        {PEER_SEND, "HTTP/1.1 413 No\r\nContent-Length: 2\r\n\r\nno", 0},
        {PEER_HOLD, NULL, 0}};
    peer_run(&(struct peer){.script = {script}}, early_flow);
}

static void large_flow(struct peer *p)
{
    struct http_call call = {0};
    struct cd_buf got = {0};
    CHECK_INT(peer_start(p, &call, "GET", "/", 0, ""), IO_OK);
    (void)io_sleep(p->cio, IO_SEC(20)); /* Nobody reads: the server waits, and nothing grows. */
    CHECK_INT(p->conns, 1);
    for (size_t left = 1u << 20; left > 0;) {
        char room[5000];
        struct io_read r = {.buf = room, .cap = sizeof room};
        http_call_read(&call, &r, NULL);
        CHECK_INT(io_await(&r.op, IO_FOREVER), IO_OK);
        CHECK(r.len <= left);
        left -= r.len;
    }
    CHECK_INT(peer_read_all(p, &call, &got), IO_EOF);
    CHECK_INT(peer_read_all(p, &call, &got), IO_EOF);
    CHECK_INT(got.len, 0);
    http_call_close(&call);
    cd_buf_deinit(&got);
}

static void test_a_slow_reader_slows_the_server(void **state)
{
    (void)state;
    static const struct peer_step script[] = {
        {PEER_READ, ASKED, 0},
        {PEER_SEND, "HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n", 0},
        {PEER_FLOOD, NULL, 1u << 20},
        {PEER_HOLD, NULL, 0}};
    peer_run(&(struct peer){.script = {script}}, large_flow);
}

/* ---- Many calls ---- */

struct many {
    struct peer *p;
    unsigned *done;
    const char *want;
};

static void many_fiber(void *arg)
{
    struct many *m = arg;
    peer_call(m->p, "GET", "/", "", m->want);
    ++*m->done;
    cd_free(m);
}

static void many_spawn(struct peer *p, unsigned *done, const char *want)
{
    struct many *m = cd_new(struct many);
    *m = (struct many){p, done, want};
    (void)io_spawn(p->cio, "many", many_fiber, m);
}

static void pool_flow(struct peer *p)
{
    unsigned done = 0;
    for (int i = 0; i < 6; i++)
        many_spawn(p, &done, "200 OK|abc");
    (void)io_sleep(p->cio, IO_MS(1));
    CHECK_INT(http_client_connections(p->client), 2);
    many_spawn(p, &done, "<no room left> unsent too many calls wait");
    while (done < 7)
        (void)io_sleep(p->cio, IO_MS(1));
    CHECK_INT(p->conns, 2);
    (void)io_sleep(p->cio, IO_MS(10));
    CHECK_INT(http_client_connections(p->client), 1); /* The other one is not worth keeping. */
}

static void test_calls_wait_for_a_connection(void **state)
{
    (void)state;
#define ROUND {PEER_READ, ASKED, 0}, {PEER_SLEEP, NULL, 3}, {PEER_SEND, OK_3, 0}
    static const struct peer_step script[] = {ROUND, ROUND, ROUND, ROUND, ROUND, ROUND, {PEER_HOLD, NULL, 0}};
    peer_run(&(struct peer){.script = {script, script},
                            .opts = {.connections_max = 2, .idle_max = 1, .waiting_max = 6}},
             pool_flow);
}

/* ---- Closing early ---- */

static void close_flow(struct peer *p)
{
    const struct http_ask ask = {.method = CD_STR("PUT"),
                                 .target = CD_STR("/"),
                                 .authority = CD_STR("host"),
                                 .body_len = HTTP_LEN_CHUNKED};
    /* At every millisecond of a call's life: connecting, writing, waiting, reading. */
    for (uint64_t ms = 0; ms < 16; ms++) {
        struct http_call call = {0};
        struct io_op op = {0};
        struct cd_str part = CD_STR("body");
        struct io_write w = {.part = &part, .parts = 1};
        struct io_read r = {0};
        bool reading = false;
        http_call_start(&call, p->client, &p->addr, &ask, CD_STR(""), &op, NULL);
        http_call_write(&call, &w, true, NULL);
        for (uint64_t t = 0; t < ms; t++) {
            (void)io_sleep(p->cio, IO_MS(1));
            if (call.head != NULL && !reading) {
                http_call_read(&call, &r, NULL);
                reading = true;
            }
        }
        http_call_close(&call);
        CHECK(call.state == NULL);
        (void)io_await(&w.op, IO_FOREVER);
        if (reading)
            (void)io_await(&r.op, IO_FOREVER);
        int status = io_await(&op, IO_FOREVER);
        CHECK(status == (reading ? IO_OK : IO_CANCELED));
        /* A connection that was being made is kept like an idle one. */
        (void)io_sleep(p->cio, ms < 4 ? IO_SEC(31) : IO_MS(20));
        CHECK_INT(http_client_connections(p->client), 0);
        p->conns = 0;
    }
}

static void test_a_call_may_be_closed_at_any_time(void **state)
{
    (void)state;
    static const struct peer_step script[] = {{PEER_READ, "0\r\n\r\n", 0},
                                              {PEER_SLEEP, NULL, 3},
                                              {PEER_SEND, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", 0},
                                              {PEER_SLEEP, NULL, 4},
                                              {PEER_SEND, "abc", 0},
                                              {PEER_READ, "never", 0},
                                              {PEER_END, NULL, 0}};
    peer_run(&(struct peer){.script = {script, script, script}}, close_flow);
}

/* ---- Upgrade ---- */

static void upgrade_flow(struct peer *p)
{
    const struct http_ask ask = {.method = CD_STR("GET"),
                                 .target = CD_STR("/"),
                                 .authority = CD_STR("host"),
                                 .upgrade = CD_STR("foo")};
    struct http_call call = {0};
    struct io_op op = {0};
    http_call_start(&call, p->client, &p->addr, &ask, CD_STR(""), &op, NULL);
    CHECK_INT(io_await(&op, IO_FOREVER), IO_OK);
    CHECK_INT(call.head->status, 101);
    struct io_stream s = {0};
    struct cd_buf rest = {0};
    http_call_detach(&call, &s, &rest);
    CHECK(cd_str_eq(cd_buf_str(&rest), CD_STR("eager")));
    cd_buf_deinit(&rest);
    (void)io_sleep(p->cio, IO_MS(1));
    CHECK_INT(http_client_connections(p->client), 0);
    struct cd_str part = CD_STR("ping");
    struct io_write w = {.part = &part, .parts = 1};
    io_stream_write(&s, &w, NULL);
    CHECK_INT(io_await(&w.op, IO_FOREVER), IO_OK);
    struct io_read r = {0};
    io_stream_read(&s, &r, NULL);
    CHECK_INT(io_await(&r.op, IO_FOREVER), IO_OK);
    CHECK(cd_str_eq(cd_str_of(r.buf, r.len), CD_STR("pong")));
    io_stream_close(&s, false, &op, NULL);
    (void)io_await(&op, IO_FOREVER);
    /* A server that does not switch just answers. */
    http_call_start(&call, p->client, &p->addr, &ask, CD_STR(""), &op, NULL);
    CHECK_INT(io_await(&op, IO_FOREVER), IO_OK);
    CHECK_INT(call.head->status, 200);
    http_call_close(&call);
}

static void test_an_upgrade_hands_over_the_stream(void **state)
{
    (void)state;
    static const struct peer_step switches[] = {
        {PEER_READ, "Connection: Upgrade\r\nUpgrade: foo\r\n\r\n", 0},
        {PEER_SEND, "HTTP/1.1 101 Go\r\nConnection: upgrade\r\nUpgrade: foo\r\n\r\neager", 0},
        {PEER_READ, "ping", 0},
        {PEER_SEND, "pong", 0},
        {PEER_HOLD, NULL, 0}};
    static const struct peer_step refuses[] = {
        {PEER_READ, ASKED, 0}, {PEER_SEND, OK_3, 0}, {PEER_HOLD, NULL, 0}};
    peer_run(&(struct peer){.script = {switches, refuses}}, upgrade_flow);
}

#define LONG_TARGET (1u << 20) /* More than is under way at once. */

static void upgrade_end_flow(struct peer *p)
{
    struct cd_buf target = {0};
    cd_buf_add_byte(&target, '/');
    while (target.len < LONG_TARGET)
        cd_buf_add_byte(&target, 'a');
    const struct http_ask ask = {.method = CD_STR("GET"),
                                 .target = cd_buf_str(&target),
                                 .authority = CD_STR("host"),
                                 .upgrade = CD_STR("foo")};
    struct http_call call = {0};
    struct io_op op = {0};
    uint64_t from = io_now_ns(p->cio);
    http_call_start(&call, p->client, &p->addr, &ask, CD_STR(""), &op, NULL);
    CHECK_INT(io_await(&op, IO_FOREVER), IO_RESET);
    CHECK(io_now_ns(p->cio) - from < IO_SEC(10));
    http_call_close(&call);
    cd_buf_deinit(&target);
}

static void test_a_server_that_ends_while_an_upgrade_is_asked_for(void **state)
{
    (void)state;
    static const struct peer_step ends[] = {
        {PEER_FINISH, NULL, 0}, {PEER_SLEEP, NULL, 50}, {PEER_TAKE, NULL, LONG_TARGET}, {PEER_HOLD, NULL, 0}};
    peer_run(&(struct peer){.script = {ends}}, upgrade_end_flow);
}

/* ---- Faults and crashes ---- */

static const struct peer_step any_first[] = {{PEER_READ, ASKED, 0},
                                             {PEER_SEND, OK_3, 0},
                                             {PEER_READ, "0\r\n\r\n", 0},
                                             {PEER_SEND, "HTTP/1.1 200 OK\r\n\r\nuntil", 0},
                                             {PEER_END, NULL, 0}};
static const struct peer_step any_more[] = {
    {PEER_READ, ASKED, 0}, {PEER_SEND, OK_3, 0}, {PEER_HOLD, NULL, 0}};

static void any_flow(struct peer *p)
{
    struct cd_buf got = {0};
    for (int i = 0; i < 3; i++) {
        struct http_call call = {0};
        struct io_op op = {0};
        const struct http_ask ask = {.method = CD_STR("PUT"),
                                     .target = CD_STR("/"),
                                     .authority = CD_STR("host"),
                                     .body_len = i == 1 ? HTTP_LEN_CHUNKED : 0};
        http_call_start(&call, p->client, &p->addr, &ask, CD_STR(""), &op, NULL);
        if (i == 1)
            (void)call_write(&call, "body", true);
        if (io_await(&op, IO_FOREVER) == IO_OK)
            (void)peer_read_all(p, &call, &got);
        http_call_close(&call);
    }
    cd_buf_deinit(&got);
}

static void test_every_call_may_fail(void **state)
{
    (void)state;
    FOR_EACH_FAULT(sweep)
    {
        struct peer p = {.script = {any_first, any_more, any_more, any_more}};
        peer_open(&p, 1);
        sim_sweep_arm(&sweep, p.client_node);
        peer_flow(&p, any_flow);
        peer_close(&p);
    }
}

static void test_the_node_may_die_in_every_call(void **state)
{
    (void)state;
    bool hit = true;
    for (uint64_t k = 1; hit; k++) {
        struct peer p = {.script = {any_first, any_more, any_more, any_more}};
        peer_open(&p, k);
        hit = false;
        assert_true(
            sim_at_call(p.client_node, "any", k, k % 2 ? SIM_DIE_KILL : SIM_DIE_POWER, IO_FAULT, &hit));
        peer_flow(&p, any_flow);
        sim_run_for(p.sim, IO_SEC(1));
        peer_close(&p);
        assert_true(k < 1000);
    }
}

CD_TESTS(client, cmocka_unit_test(test_a_connection_is_used_again),
         cmocka_unit_test(test_answers_of_every_framing), cmocka_unit_test(test_broken_answers),
         cmocka_unit_test(test_limits_of_answers), cmocka_unit_test(test_what_was_never_sent_is_known),
         cmocka_unit_test(test_connections_that_ended_while_idle_are_not_used),
         cmocka_unit_test(test_servers_that_take_too_long), cmocka_unit_test(test_a_request_body_is_streamed),
         cmocka_unit_test(test_an_answer_may_come_before_the_request_is_complete),
         cmocka_unit_test(test_a_slow_reader_slows_the_server),
         cmocka_unit_test(test_calls_wait_for_a_connection),
         cmocka_unit_test(test_a_call_may_be_closed_at_any_time),
         cmocka_unit_test(test_an_upgrade_hands_over_the_stream),
         cmocka_unit_test(test_a_server_that_ends_while_an_upgrade_is_asked_for),
         cmocka_unit_test(test_every_call_may_fail), cmocka_unit_test(test_the_node_may_die_in_every_call))
