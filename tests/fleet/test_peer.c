/* Calls between two simulated nodes: what is answered, what is refused, what stays unclear. */
#include "peers.h"
#include "rig.h"

static void check_call(struct peers *p, const char *target, const char *body, int rc, enum fleet_peer_end end,
                       int status, const char *answer)
{
    struct fleet_peer_call call = {0};
    int got = peers_call(p, &call, target, body);
    if (got != rc || call.end != end || call.status != status ||
        (answer != NULL && !cd_str_eq(cd_buf_str(&call.answer), cd_str(answer)))) {
        fprintf(stderr, "%s: %d, end %d, status %d, %s | %s\n", target, got, call.end, call.status,
                cd_buf_cstr(&call.answer), call.why);
        abort();
    }
    cd_buf_deinit(&call.answer);
}

static void answered_flow(struct peers *p)
{
    check_call(p, "/peer/echo", "hi", IO_OK, FLEET_PEER_ANSWERED, 200, "{\"source\":\"a\",\"body\":\"hi\"}");
    check_call(p, "/peer/deny", "no", IO_OK, FLEET_PEER_ANSWERED, 409, "{\"source\":\"a\",\"body\":\"no\"}");
    check_call(p, "/runtime/Room:x", "", IO_OK, FLEET_PEER_ANSWERED, 200, "{\"source\":\"a\",\"body\":\"\"}");
    CHECK_INT(p->runs, 3);
    check_call(p, "/peer/none", "", IO_DENIED, FLEET_PEER_NOT_STARTED, 404, NULL);
    check_call(p, "/other", "", IO_DENIED, FLEET_PEER_NOT_STARTED, 404, "not of peers");
    struct fleet_peer_call call = {.method = CD_STR("GET")};
    CHECK_INT(peers_call(p, &call, "/peer/echo", ""), IO_DENIED);
    CHECK_INT(call.status, 405);
    cd_buf_deinit(&call.answer);
    CHECK_INT(p->runs, 3);
}

static void test_an_endpoint_answers_with_its_status_and_body(void **state)
{
    (void)state;
    struct peers p = {0};
    peers_open(&p, 1);
    peers_flow(&p, answered_flow);
    peers_close(&p);
}

static void large_flow(struct peers *p)
{
    struct cd_buf body = {0};
    struct fleet_peer_call call = {
        .peer = &p->peer, .target = CD_STR("/peer/echo"), .deadline_ns = io_now_ns(p->io) + IO_SEC(60)};
    memset(cd_buf_reserve(&body, 1u << 20), 'x', 1u << 20);
    body.len = 1u << 20;
    call.body = cd_buf_str(&body);
    CHECK_INT(fleet_peer_call(p->client, &call), IO_OK);
    cd_buf_add_byte(&body, 'x');
    call.body = cd_buf_str(&body);
    CHECK_INT(fleet_peer_call(p->client, &call), IO_DENIED);
    CHECK_INT(call.status, 413);
    CHECK_INT(call.end, FLEET_PEER_NOT_STARTED);
    CHECK_INT(p->runs, 1);
    cd_buf_deinit(&body);
    cd_buf_deinit(&call.answer);
}

static void test_a_body_has_the_bound_of_its_endpoint(void **state)
{
    (void)state;
    struct peers p = {0};
    peers_open(&p, 1);
    peers_flow(&p, large_flow);
    peers_close(&p);
}

static void restart_flow(struct peers *p)
{
    check_call(p, "/peer/echo", "1", IO_OK, FLEET_PEER_ANSWERED, 200, NULL);
    peers_restart(p);
    check_call(p, "/peer/echo", "2", IO_DENIED, FLEET_PEER_NOT_STARTED, 409,
               "{\"error\":\"wrong-target\",\"refused\":true}");
    p->peer.generation[0] = 0;
    check_call(p, "/peer/echo", "3", IO_DENIED, FLEET_PEER_NOT_STARTED, 409, NULL);
    CHECK_INT(p->runs, 1);
    check_call(p, "/peer/again", "4", IO_OK, FLEET_PEER_ANSWERED, 200, NULL);
    memcpy(p->peer.generation, rig_generation('2'), STORE_GENERATION_LEN);
    check_call(p, "/peer/echo", "5", IO_OK, FLEET_PEER_ANSWERED, 200, NULL);
}

static void test_a_call_for_an_earlier_process_is_refused_by_the_next(void **state)
{
    (void)state;
    struct peers p = {0};
    peers_open(&p, 1);
    peers_flow(&p, restart_flow);
    peers_close(&p);
}

static void foreign_flow(struct peers *p)
{
    check_call(p, "/peer/echo", "", IO_DENIED, FLEET_PEER_NOT_STARTED, 409, NULL);
    CHECK_INT(p->runs, 0);
}

static void test_another_node_at_the_address_starts_nothing(void **state)
{
    (void)state;
    struct peers p = {.node = "c"};
    peers_open(&p, 1);
    peers_flow(&p, foreign_flow);
    peers_close(&p);
}

static void secret_flow(struct peers *p)
{
    static const struct fleet_secret other = {.key = "another"};
    struct fleet_peer_client *c = fleet_peer_client_new(
        &(struct fleet_peer_client_opts){.io = p->io, .secret = &other, .source = CD_STR("a")});
    struct fleet_peer_call call = {
        .peer = &p->peer, .target = CD_STR("/peer/echo"), .deadline_ns = io_now_ns(p->io) + IO_SEC(10)};
    struct io_op op = {0};
    CHECK_INT(fleet_peer_call(c, &call), IO_DENIED);
    CHECK_INT(call.status, 401);
    CHECK_INT(call.end, FLEET_PEER_NOT_STARTED);
    CHECK(cd_str_eq(cd_buf_str(&call.answer), CD_STR("{\"error\":\"unauthorized\",\"refused\":true}")));
    CHECK_INT(p->runs, 0);
    cd_buf_deinit(&call.answer);
    fleet_peer_client_stop(c, &op, NULL);
    (void)io_await(&op, IO_FOREVER); /* Nothing is open any more. */
    fleet_peer_client_free(c);
}

static void test_who_has_another_secret_is_refused(void **state)
{
    (void)state;
    struct peers p = {0};
    peers_open(&p, 1);
    peers_flow(&p, secret_flow);
    peers_close(&p);
}

static void clock_flow(struct peers *p)
{
    sim_clock_step(p->called, 31000);
    check_call(p, "/peer/echo", "", IO_DENIED, FLEET_PEER_NOT_STARTED, 401,
               "{\"error\":\"clock\",\"refused\":true}");
    sim_clock_step(p->called, -62000);
    check_call(p, "/peer/echo", "", IO_DENIED, FLEET_PEER_NOT_STARTED, 401, NULL);
    sim_clock_step(p->called, 2000);
    check_call(p, "/peer/echo", "", IO_OK, FLEET_PEER_ANSWERED, 200, NULL);
}

static void test_a_clock_that_is_half_a_minute_off_is_refused(void **state)
{
    (void)state;
    struct peers p = {0};
    peers_open(&p, 1);
    peers_flow(&p, clock_flow);
    peers_close(&p);
}

static void starting_flow(struct peers *p)
{
    check_call(p, "/peer/echo", "", IO_DENIED, FLEET_PEER_NOT_STARTED, 503, NULL);
    check_call(p, "/peer/again", "", IO_OK, FLEET_PEER_ANSWERED, 200, NULL);
    fleet_peer_server_ready(p->server);
    check_call(p, "/peer/echo", "", IO_OK, FLEET_PEER_ANSWERED, 200, NULL);
}

static void test_a_node_that_starts_serves_what_its_predecessor_owes(void **state)
{
    (void)state;
    struct peers p = {.starting = true};
    peers_open(&p, 1);
    peers_flow(&p, starting_flow);
    peers_close(&p);
}

static void closed_flow(struct peers *p)
{
    check_call(p, "/peer/again", "", IO_DENIED, FLEET_PEER_NOT_STARTED, 503, NULL);
}

static void test_without_a_secret_nobody_is_served(void **state)
{
    (void)state;
    struct peers p = {.closed = true};
    peers_open(&p, 1);
    peers_flow(&p, closed_flow);
    peers_close(&p);
}

static void tunnel_flow(struct peers *p)
{
    struct fleet_peer_call call = {.peer = &p->peer,
                                   .target = CD_STR("/peer/tunnel"),
                                   .upgrade = CD_STR("celld-tunnel"),
                                   .deadline_ns = io_now_ns(p->io) + IO_SEC(10)};
    struct io_stream stream;
    struct cd_buf rest;
    struct cd_str bytes = CD_STR("hello");
    CHECK_INT(fleet_peer_upgrade(p->client, &call, &stream, &rest), IO_OK);
    CHECK_INT(call.status, 101);
    CHECK_INT(rest.len, 0);
    struct io_write w = {.part = &bytes, .parts = 1};
    io_stream_write(&stream, &w, NULL);
    CHECK_INT(io_await(&w.op, call.deadline_ns), IO_OK);
    struct io_read r = {0};
    io_stream_read(&stream, &r, NULL);
    CHECK_INT(io_await(&r.op, call.deadline_ns), IO_OK);
    CHECK(cd_str_eq(cd_str_of(r.buf, r.len), CD_STR("ack")));
    CHECK(cd_str_eq(cd_buf_str(&p->heard), bytes));
    struct io_op op = {0};
    io_stream_close(&stream, false, &op, NULL);
    (void)io_await(&op, IO_FOREVER); /* Closing ends. */
    check_call(p, "/peer/tunnel", "", IO_DENIED, FLEET_PEER_NOT_STARTED, 400,
               "{\"error\":\"tunnel establishment must upgrade\",\"refused\":true}");
    CHECK_INT(p->runs, 1);
    /* A process that is no more: the upgrade is refused, nothing was started. */
    peers_restart(p);
    CHECK_INT(fleet_peer_upgrade(p->client, &call, &stream, &rest), IO_DENIED);
    CHECK_INT(call.end, FLEET_PEER_NOT_STARTED);
    CHECK_INT(call.status, 409);
    CHECK_INT(p->runs, 1);
    cd_buf_deinit(&call.answer);
}

static void test_an_upgrade_gives_both_sides_the_stream(void **state)
{
    (void)state;
    struct peers p = {0};
    peers_open(&p, 1);
    peers_flow(&p, tunnel_flow);
    peers_close(&p);
}

CD_TESTS(peer, cmocka_unit_test(test_an_endpoint_answers_with_its_status_and_body),
         cmocka_unit_test(test_a_body_has_the_bound_of_its_endpoint),
         cmocka_unit_test(test_a_call_for_an_earlier_process_is_refused_by_the_next),
         cmocka_unit_test(test_another_node_at_the_address_starts_nothing),
         cmocka_unit_test(test_who_has_another_secret_is_refused),
         cmocka_unit_test(test_a_clock_that_is_half_a_minute_off_is_refused),
         cmocka_unit_test(test_a_node_that_starts_serves_what_its_predecessor_owes),
         cmocka_unit_test(test_without_a_secret_nobody_is_served),
         cmocka_unit_test(test_an_upgrade_gives_both_sides_the_stream))
