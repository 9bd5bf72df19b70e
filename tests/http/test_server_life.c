/* How connections, exchanges and servers end: clients that leave, timeouts, drain, upgrades, faults, crashes.
 */
#include "corpus.h"
#include "rig.h"

#define GET "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
#define POST(fields) "POST / HTTP/1.1\r\nHost: a\r\n" fields "\r\n"

typedef void handler_flow(struct http_exchange *x);

static void note_gone(struct http_exchange *x, int status)
{
    struct rig *r = x->user;
    r->gone++;
    cd_buf_addf(&r->log, "gone: %s\n", cd_err_text(status));
}

static void handle_in_fiber(void *arg, struct http_exchange *x)
{
    struct rig *r = arg;
    r->handled++;
    x->user = r;
    x->gone = note_gone;
    (void)io_spawn(x->io, "handler", (void (*)(void *))r->arg, x);
}

static void note(struct rig *r, const char *what, int status)
{
    cd_buf_addf(&r->log, "%s: %s\n", what, status == 0 ? "ok" : cd_err_text(status));
}

static void run_with(handler_flow *handler, void (*flow)(struct rig *r), const char *log)
{
    struct rig r = {.handle = handle_in_fiber, .arg = (void *)handler};
    rig_open(&r, 1);
    rig_flow(&r, flow);
    assert_str_is(cd_buf_str(&r.log), log);
    rig_close(&r, IO_SEC(10));
}

static int body_read(struct http_exchange *x)
{
    struct io_read read = {0};
    http_body_read(x, &read, NULL);
    return io_await(&read.op, IO_FOREVER);
}

static int answer_start(struct http_exchange *x, const char *body)
{
    struct cd_str part = cd_str(body);
    struct io_write w = {.part = &part, .parts = 1};
    const struct http_answer answer = {.status = 200, .body_len = HTTP_LEN_CHUNKED};
    http_answer_start(x, &answer, &w, false, NULL);
    return io_await(&w.op, IO_FOREVER);
}

static int answer_write(struct http_exchange *x, const char *body, bool last)
{
    struct cd_str part = cd_str(body);
    struct io_write w = {.part = &part, .parts = 1};
    http_answer_write(x, &w, last, NULL);
    return io_await(&w.op, IO_FOREVER);
}

/* ---- Clients that leave ---- */

static void waiting_handler(struct http_exchange *x)
{
    struct rig *r = x->user;
    for (int i = 0; i < 100 && r->gone == 0; i++)
        (void)io_sleep(x->io, IO_MS(1));
    http_answer_text(x, 200, "a", CD_STR("late"));
}

static void half_close_flow(struct rig *r)
{
    struct io_stream s = {0};
    struct cd_buf got = {0};
    CHECK_INT(rig_connect(r, &s), IO_OK);
    CHECK_INT(rig_send(&s, CD_STR(GET GET)), IO_OK);
    CHECK_INT(rig_finish(&s), IO_OK);
    CHECK_INT(rig_receive(r, &s, &got, IO_MS(500)), IO_EOF);
    rig_undate(&got);
    CHECK(cd_str_eq(cd_buf_str(&got),
                    CD_STR("HTTP/1.1 200 OK\r\nContent-Type: a\r\nContent-Length: 4\r\n\r\nlate"
                           "HTTP/1.1 200 OK\r\nContent-Type: a\r\nContent-Length: 4\r\n\r\nlate")));
    rig_hang_up(&s, false);
    cd_buf_deinit(&got);
}

static void test_a_half_closed_client_is_said_to_be_gone_and_still_gets_its_answers(void **state)
{
    (void)state;
    /* The second handler starts behind the end; it too is told. */
    run_with(waiting_handler, half_close_flow, "gone: end of stream\ngone: end of stream\n");
}

static void stream_handler(struct http_exchange *x)
{
    struct rig *r = x->user;
    int status = answer_start(x, "first");
    for (int i = 0; i < 1000 && status == IO_OK; i++) {
        (void)io_sleep(x->io, IO_MS(1));
        status = answer_write(x, "more", false);
    }
    note(r, "write", status);
    note(r, "again", answer_write(x, "more", true));
    struct io_read read = {0};
    http_body_read(x, &read, NULL);
    note(r, "read", io_await(&read.op, IO_FOREVER));
    http_exchange_close(x);
}

static void leave_flow(struct rig *r)
{
    struct io_stream s = {0};
    CHECK_INT(rig_connect(r, &s), IO_OK);
    CHECK_INT(rig_send(&s, CD_STR(GET)), IO_OK);
    (void)io_sleep(r->cio, IO_MS(10));
    rig_hang_up(&s, true);
    (void)io_sleep(r->cio, IO_MS(50));
}

static void test_a_client_that_resets_ends_the_stream(void **state)
{
    (void)state;
    run_with(
        stream_handler, leave_flow,
        "gone: connection reset\nwrite: connection reset\nagain: connection reset\nread: end of stream\n");
}

static void body_handler(struct http_exchange *x)
{
    struct rig *r = x->user;
    int status;
    do {
        status = body_read(x);
    } while (status == IO_OK);
    note(r, "body", status);
    CHECK_INT(body_read(x), status);
    http_exchange_close(x);
}

static void half_body_flow(struct rig *r)
{
    struct io_stream s = {0};
    struct cd_buf got = {0};
    CHECK_INT(rig_connect(r, &s), IO_OK);
    CHECK_INT(rig_send(&s, CD_STR(POST("Content-Length: 5\r\n") "hel")), IO_OK);
    CHECK_INT(rig_finish(&s), IO_OK);
    CHECK_INT(rig_receive(r, &s, &got, IO_MS(500)), IO_EOF);
    CHECK(cd_str_ends(cd_buf_str(&got), CD_STR("invalid request body: the connection ended inside it")));
    CHECK(cd_str_starts(cd_buf_str(&got), CD_STR("HTTP/1.1 400 ")));
    rig_hang_up(&s, false);
    cd_buf_deinit(&got);
}

static void test_a_body_that_ends_early(void **state)
{
    (void)state;
    run_with(body_handler, half_body_flow, "gone: end of stream\nbody: connection reset\n");
}

static void reset_body_flow(struct rig *r)
{
    struct io_stream s = {0};
    CHECK_INT(rig_connect(r, &s), IO_OK);
    CHECK_INT(rig_send(&s, CD_STR(POST("Content-Length: 5\r\n") "hel")), IO_OK);
    (void)io_sleep(r->cio, IO_MS(10));
    rig_hang_up(&s, true);
    (void)io_sleep(r->cio, IO_MS(50));
}

static void test_a_client_that_resets_inside_its_body(void **state)
{
    (void)state;
    run_with(body_handler, reset_body_flow, "gone: connection reset\nbody: connection reset\n");
}

/* It answers without the body, which the server reads away. */
static void hasty_handler(struct http_exchange *x)
{
    http_answer_text(x, 200, "a", CD_STR("no need"));
}

static void reset_drained_body_flow(struct rig *r)
{
    reset_body_flow(r);
    CHECK_INT(r->handled, 1);
    CHECK_INT(http_server_connections(r->server), 0);
}

static void test_a_client_that_resets_while_its_body_is_read_away(void **state)
{
    (void)state;
    run_with(hasty_handler, reset_drained_body_flow, "");
}

/* The client leaves, and the handler finds out only when it is done: nothing happens twice. */
static void deaf_handler(struct http_exchange *x)
{
    (void)io_sleep(x->io, IO_MS(100));
    struct rig *r = x->user;
    note(r, "start", answer_start(x, "x"));
    http_exchange_close(x);
}

static void test_a_handler_that_is_late(void **state)
{
    (void)state;
    run_with(deaf_handler, leave_flow, "gone: connection reset\n");
}

static void late_close_flow(struct rig *r)
{
    leave_flow(r);
    (void)io_sleep(r->cio, IO_MS(200));
}

static void test_a_handler_outlives_its_connection(void **state)
{
    (void)state;
    run_with(deaf_handler, late_close_flow, "gone: connection reset\nstart: connection reset\n");
}

/* ---- Timeouts ---- */

static void expect_after(struct rig *r, const char *sent, uint64_t after_s, const char *status)
{
    struct io_stream s = {0};
    struct cd_buf got = {0};
    CHECK_INT(rig_connect(r, &s), IO_OK);
    uint64_t from_ns = io_now_ns(r->cio);
    if (sent[0] != '\0')
        CHECK_INT(rig_send(&s, cd_str(sent)), IO_OK);
    CHECK_INT(rig_receive(r, &s, &got, IO_SEC(1000)), IO_EOF);
    uint64_t took_ms = (io_now_ns(r->cio) - from_ns) / 1000000;
    if (took_ms + 10 < after_s * 1000 || took_ms > after_s * 1000 + 20) {
        fprintf(stderr, "after %llu ms, want %llu s\n", (unsigned long long)took_ms,
                (unsigned long long)after_s);
        abort();
    }
    if (status[0] == '\0')
        CHECK_INT(got.len, 0);
    else
        CHECK(cd_str_find_str(cd_buf_str(&got), cd_str(status), 0) != SIZE_MAX);
    rig_hang_up(&s, false);
    cd_buf_deinit(&got);
}

static void timeouts_flow(struct rig *r)
{
    expect_after(r, "", 30, ""); /* Nothing was asked: nothing is said. */
    expect_after(r, "\r\n", 30, "");
    expect_after(r, "GET / HT", 30, "HTTP/1.1 408 ");
    expect_after(r, "GET / HTTP/1.1\r\nHost: a\r\nX", 30, "HTTP/1.1 408 ");
    expect_after(r, GET, 75, "HTTP/1.1 200 "); /* Idle behind an answer. */
    expect_after(r, POST("Content-Length: 5\r\n") "hel", 30, "HTTP/1.1 408 ");
    expect_after(r, POST("Transfer-Encoding: chunked\r\n") "5", 30, "HTTP/1.1 408 ");
}

static void test_clients_that_take_too_long(void **state)
{
    (void)state;
    rig_run(timeouts_flow);
}

/* It came in time, and was read late. */
static void held_flow(struct rig *r)
{
    struct io_stream s = {0};
    struct cd_buf got = {0};
    CHECK_INT(rig_connect(r, &s), IO_OK);
    CHECK_INT(io_sleep(r->cio, IO_SEC(29)), IO_OK);
    sim_pause(r->server_node, IO_SEC(5));
    CHECK_INT(rig_send(&s, CD_STR(GET)), IO_OK);
    CHECK_INT(rig_receive(r, &s, &got, IO_SEC(10)), IO_TIMEDOUT);
    CHECK(cd_str_starts(cd_buf_str(&got), CD_STR("HTTP/1.1 200 ")));
    rig_hang_up(&s, false);
    cd_buf_deinit(&got);
    expect_after(r, "", 30, ""); /* As ever. */
}

static void test_time_in_which_the_loop_stood_still_counts_for_nobody(void **state)
{
    (void)state;
    rig_run(held_flow);
}

/* A byte now and then does not stretch the time for a head, but it does for a body. */
static void drip_flow(struct rig *r)
{
    struct io_stream s = {0};
    CHECK_INT(rig_connect(r, &s), IO_OK);
    struct cd_str head = CD_STR("GET / HTTP/1.1\r\nHost: a\r\nX: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy");
    uint64_t from_ns = io_now_ns(r->cio);
    int status = IO_OK;
    size_t sent = 0;
    for (; sent < head.len && status == IO_OK; sent++) {
        status = rig_send(&s, cd_str_sub(head, sent, 1));
        (void)io_sleep(r->cio, IO_SEC(4));
    }
    CHECK(status != IO_OK && io_now_ns(r->cio) - from_ns < IO_SEC(50));
    rig_hang_up(&s, true);

    struct cd_buf got = {0};
    CHECK_INT(rig_connect(r, &s), IO_OK);
    CHECK_INT(rig_send(&s, CD_STR(POST("Content-Length: 20\r\n"))), IO_OK);
    for (int i = 0; i < 20; i++) {
        (void)io_sleep(r->cio, IO_SEC(25));
        CHECK_INT(rig_send(&s, CD_STR("x")), IO_OK);
    }
    CHECK_INT(rig_receive(r, &s, &got, IO_SEC(1)), IO_TIMEDOUT);
    CHECK(cd_str_starts(cd_buf_str(&got), CD_STR("HTTP/1.1 200 ")));
    rig_hang_up(&s, false);
    cd_buf_deinit(&got);
}

static void test_a_client_that_drips(void **state)
{
    (void)state;
    rig_run(drip_flow);
}

/* ---- Drain and stop ---- */

static void drain_run(struct io *io, void *arg)
{
    (void)io;
    http_server_drain(((struct rig *)arg)->server);
}

static void drain_flow(struct rig *r)
{
    struct io_stream idle = {0}, fresh = {0}, busy = {0};
    struct cd_buf got = {0};
    CHECK_INT(rig_connect(r, &idle), IO_OK);
    CHECK_INT(rig_send(&idle, CD_STR(GET)), IO_OK);
    CHECK_INT(rig_receive(r, &idle, &got, IO_MS(20)), IO_TIMEDOUT);
    CHECK_INT(rig_connect(r, &fresh), IO_OK);
    CHECK_INT(rig_connect(r, &busy), IO_OK);
    CHECK_INT(rig_send(&busy, CD_STR(POST("Content-Length: 2\r\n") "a")), IO_OK);
    (void)io_sleep(r->cio, IO_MS(5));
    CHECK_INT(http_server_connections(r->server), 3);
    sim_in_loop(r->server_node, 0, drain_run, r);
    CHECK_INT(rig_receive(r, &idle, &got, IO_MS(20)), IO_EOF);
    CHECK_INT(http_server_connections(r->server), 2);
    cd_buf_clear(&got);
    CHECK_INT(rig_send(&fresh, CD_STR(GET)), IO_OK);
    CHECK_INT(rig_receive(r, &fresh, &got, IO_MS(20)), IO_EOF);
    CHECK(cd_str_find_str(cd_buf_str(&got), CD_STR("Connection: close\r\n"), 0) != SIZE_MAX);
    cd_buf_clear(&got);
    CHECK_INT(rig_send(&busy, CD_STR("b")), IO_OK);
    CHECK_INT(rig_receive(r, &busy, &got, IO_MS(20)), IO_EOF);
    CHECK(cd_str_find_str(cd_buf_str(&got), CD_STR("Connection: close\r\n"), 0) != SIZE_MAX);
    rig_hang_up(&idle, false);
    rig_hang_up(&fresh, false);
    rig_hang_up(&busy, false);
    cd_buf_deinit(&got);
    /* New connections are still answered, once each. */
    rig_expect(r, GET GET,
               "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\nConnection: "
               "close\r\n\r\nGET / ");
}

static void test_a_draining_server_answers_and_closes(void **state)
{
    (void)state;
    struct rig r = {.handled = 0};
    rig_open(&r, 1);
    rig_flow(&r, drain_flow);
    rig_close(&r, IO_SEC(10));
    assert_int_equal(r.stop_status, IO_OK);
}

static void slow_handler(struct http_exchange *x)
{
    struct rig *r = x->user;
    (void)io_sleep(x->io, IO_MS(100));
    note(r, "start", answer_start(x, "x"));
    (void)io_sleep(x->io, IO_SEC(20));
    note(r, "write", answer_write(x, "y", true));
    http_exchange_close(x);
}

static void stop_flow(struct rig *r, uint64_t grace_ns)
{
    struct io_stream s = {0};
    struct cd_buf got = {0};
    CHECK_INT(rig_connect(r, &s), IO_OK);
    CHECK_INT(rig_send(&s, CD_STR(GET)), IO_OK);
    (void)io_sleep(r->cio, IO_MS(10));
    CHECK_INT(r->handled, 1);
    rig_stop(r, grace_ns);
    cd_buf_addf(&r->log, "stop: %s\n", r->stop_status == IO_OK ? "ok" : cd_err_text(r->stop_status));
    CHECK(rig_connect(r, &(struct io_stream){0}) == IO_REFUSED);
    note(r, "client", rig_receive(r, &s, &got, IO_MS(10)));
    rig_hang_up(&s, false);
    cd_buf_deinit(&got);
}

static void stop_patient_flow(struct rig *r)
{
    stop_flow(r, IO_SEC(60));
}

static void stop_hasty_flow(struct rig *r)
{
    stop_flow(r, IO_SEC(5));
}

static void test_stopping_waits_for_the_handlers(void **state)
{
    (void)state;
    run_with(slow_handler, stop_patient_flow, "start: ok\nwrite: ok\nstop: ok\nclient: end of stream\n");
}

static void test_stopping_cuts_what_takes_too_long(void **state)
{
    (void)state;
    run_with(
        slow_handler, stop_hasty_flow,
        "start: ok\ngone: canceled\nwrite: connection reset\nstop: timed out\nclient: connection reset\n");
}

static void stop_while_drained_flow(struct rig *r)
{
    struct io_stream s = {0};
    CHECK_INT(rig_connect(r, &s), IO_OK);
    CHECK_INT(rig_send(&s, CD_STR(POST("Content-Length: 5\r\n") "hel")), IO_OK);
    (void)io_sleep(r->cio, IO_MS(10));
    rig_stop(r, IO_SEC(5));
    CHECK_INT(r->stop_status, IO_TIMEDOUT);
    rig_hang_up(&s, false);
}

static void test_stopping_cuts_a_body_that_is_read_away(void **state)
{
    (void)state;
    run_with(hasty_handler, stop_while_drained_flow, "");
}

/* ---- Many connections ---- */

static void full_flow(struct rig *r)
{
    struct io_stream s[4] = {0};
    struct cd_buf got = {0};
    for (int i = 0; i < 4; i++) {
        CHECK_INT(rig_connect(r, &s[i]), IO_OK);
        CHECK_INT(rig_send(&s[i], CD_STR(GET)), IO_OK);
    }
    CHECK_INT(rig_receive(r, &s[2], &got, IO_MS(50)), IO_TIMEDOUT);
    CHECK(got.len > 0);
    CHECK_INT(http_server_connections(r->server), 3);
    size_t len = got.len;
    CHECK_INT(rig_receive(r, &s[3], &got, IO_MS(50)), IO_TIMEDOUT);
    CHECK_INT(got.len, len); /* It waits for its turn. */
    rig_hang_up(&s[0], false);
    CHECK_INT(rig_receive(r, &s[3], &got, IO_MS(50)), IO_TIMEDOUT);
    CHECK(got.len > len);
    for (int i = 1; i < 4; i++)
        rig_hang_up(&s[i], false);
    cd_buf_deinit(&got);
}

static void test_more_connections_than_allowed_wait(void **state)
{
    (void)state;
    struct rig r = {.opts = {.connections_max = 3}};
    rig_open(&r, 1);
    rig_flow(&r, full_flow);
    rig_close(&r, IO_SEC(10));
}

/* ---- Upgrade ---- */

static void upgrade_handler(struct http_exchange *x)
{
    struct rig *r = x->user;
    struct http_upgrade u = {0};
    const struct http_field f = {CD_STR("X"), CD_STR("y")};
    http_exchange_upgrade(x, &u, CD_STR("foo"), &f, 1, NULL);
    int status = io_await(&u.op, IO_FOREVER);
    note(r, "upgrade", status);
    if (status != IO_OK)
        return;
    cd_buf_addf(&r->log, "rest %.*s\n", (int)u.rest.len, u.rest.ptr);
    struct io_read read = {0};
    io_stream_read(&u.stream, &read, NULL);
    CHECK_INT(io_await(&read.op, IO_FOREVER), IO_OK);
    cd_buf_addf(&r->log, "then %.*s\n", (int)read.len, (char *)read.buf);
    CHECK_INT(rig_send(&u.stream, CD_STR("bye")), IO_OK);
    rig_hang_up(&u.stream, false);
    cd_buf_deinit(&u.rest);
}

#define UPGRADE "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: foo\r\n\r\n"

static void upgrade_flow(struct rig *r)
{
    struct io_stream s = {0};
    struct cd_buf got = {0};
    CHECK_INT(rig_connect(r, &s), IO_OK);
    CHECK_INT(rig_send(&s, CD_STR(UPGRADE "eager")), IO_OK);
    (void)io_sleep(r->cio, IO_MS(10));
    CHECK_INT(http_server_connections(r->server), 0); /* It is not the server's any more. */
    CHECK_INT(rig_send(&s, CD_STR("late")), IO_OK);
    CHECK_INT(rig_receive(r, &s, &got, IO_MS(50)), IO_EOF);
    CHECK(cd_str_eq(cd_buf_str(&got), CD_STR("HTTP/1.1 101 Switching Protocols\r\nX: y\r\nConnection: "
                                             "Upgrade\r\nUpgrade: foo\r\n\r\nbye")) ||
          cd_str_find_str(cd_buf_str(&got), CD_STR("Date: "), 0) != SIZE_MAX);
    rig_hang_up(&s, false);
    cd_buf_deinit(&got);
}

static void test_an_upgrade_hands_over_the_stream_and_what_was_read(void **state)
{
    (void)state;
    run_with(upgrade_handler, upgrade_flow, "upgrade: ok\nrest eager\nthen late\n");
}

static void upgrade_gone_flow(struct rig *r)
{
    struct io_stream s = {0};
    CHECK_INT(rig_connect(r, &s), IO_OK);
    CHECK_INT(rig_send(&s, CD_STR(UPGRADE)), IO_OK);
    CHECK_INT(rig_finish(&s), IO_OK);
    (void)io_sleep(r->cio, IO_MS(10));
    rig_hang_up(&s, false);
}

static void test_an_upgrade_for_a_client_that_has_finished(void **state)
{
    (void)state;
    for (unsigned delay = 0; delay < 2; delay++)
        run_with(upgrade_handler, upgrade_gone_flow, "upgrade: connection reset\n");
}

/* ---- Faults and crashes ---- */

/* A client that does a bit of everything and expects nothing. */
static void busy_flow(struct rig *r)
{
    static const char *const asks[] = {
        GET GET,
        POST("Transfer-Encoding: chunked\r\n") "3\r\nabc\r\n0\r\n\r\n" GET,
        POST("Content-Length: 5\r\nExpect: 100-continue\r\n"),
        "GET / HTTP/1.1\r\n\r\n",
        UPGRADE,
    };
    for (size_t i = 0; i < CD_COUNT(asks); i++) {
        struct cd_str all = cd_str(asks[i]),
                      piece[2] = {cd_str_sub(all, 0, 40), cd_str_sub(all, 40, SIZE_MAX)};
        struct cd_buf got = {0};
        (void)rig_talk(r, piece, 2, &got);
        cd_buf_deinit(&got);
    }
}

/* Half of the requests are echoed by callbacks, the rest is streamed or upgraded by fibers. */
static void mixed_fiber(void *arg)
{
    struct http_exchange *x = arg;
    if (x->head->upgrade) {
        struct http_upgrade u = {0};
        http_exchange_upgrade(x, &u, CD_STR("foo"), NULL, 0, NULL);
        if (io_await(&u.op, IO_FOREVER) == IO_OK) {
            rig_hang_up(&u.stream, false);
            cd_buf_deinit(&u.rest);
        }
        return;
    }
    int status = answer_start(x, "one");
    while (status == IO_OK)
        status = body_read(x);
    if (status == IO_EOF)
        (void)answer_write(x, "two", true);
    http_exchange_close(x);
}

static void handle_mixed(void *arg, struct http_exchange *x)
{
    struct rig *r = arg;
    if (r->handled % 2 == 0 && !x->head->upgrade) {
        rig_handle_echo(arg, x);
        return;
    }
    r->handled++;
    (void)io_spawn(x->io, "mixed", mixed_fiber, x);
}

static void test_every_call_may_fail(void **state)
{
    (void)state;
    FOR_EACH_FAULT(sweep)
    {
        struct rig r = {.handle = handle_mixed};
        rig_open(&r, 1);
        sim_sweep_arm(&sweep, r.server_node);
        rig_flow(&r, busy_flow);
        rig_close(&r, IO_SEC(1));
    }
}

static void test_the_node_may_die_in_every_call(void **state)
{
    (void)state;
    const enum sim_action how[] = {SIM_DIE_KILL, SIM_DIE_POWER};
    for (uint64_t k = 1; k < 2 * 200; k++) {
        struct rig r = {.handle = handle_mixed, .unwinds = true};
        bool hit = false;
        rig_open(&r, k);
        assert_true(sim_at_call(r.server_node, "any", k / 2 + 1, how[k % 2], IO_FAULT, &hit));
        rig_flow(&r, busy_flow);
        rig_close(&r, IO_SEC(1));
        if (!hit && k > 2 * 20)
            return;
    }
    fail_msg("the calls never end");
}

CD_TESTS(server_life,
         cmocka_unit_test(test_a_half_closed_client_is_said_to_be_gone_and_still_gets_its_answers),
         cmocka_unit_test(test_a_client_that_resets_ends_the_stream),
         cmocka_unit_test(test_a_body_that_ends_early),
         cmocka_unit_test(test_a_client_that_resets_inside_its_body),
         cmocka_unit_test(test_a_client_that_resets_while_its_body_is_read_away),
         cmocka_unit_test(test_a_handler_that_is_late),
         cmocka_unit_test(test_a_handler_outlives_its_connection),
         cmocka_unit_test(test_clients_that_take_too_long),
         cmocka_unit_test(test_time_in_which_the_loop_stood_still_counts_for_nobody),
         cmocka_unit_test(test_a_client_that_drips),
         cmocka_unit_test(test_a_draining_server_answers_and_closes),
         cmocka_unit_test(test_stopping_waits_for_the_handlers),
         cmocka_unit_test(test_stopping_cuts_what_takes_too_long),
         cmocka_unit_test(test_stopping_cuts_a_body_that_is_read_away),
         cmocka_unit_test(test_more_connections_than_allowed_wait),
         cmocka_unit_test(test_an_upgrade_hands_over_the_stream_and_what_was_read),
         cmocka_unit_test(test_an_upgrade_for_a_client_that_has_finished),
         cmocka_unit_test(test_every_call_may_fail), cmocka_unit_test(test_the_node_may_die_in_every_call))
