/* Calls between two nodes under faults: what a caller is told is true, and nothing that was recorded works
 * twice. */
#include "base/rng.h"
#include "http/client.h"
#include "peers.h"
#include "rig.h"

#define CALLS 60u
#define AT_ONCE 4u

/* ---- What is told is true ---- */

struct told {
    unsigned answered, ambiguous, not_started;
};

struct caller {
    struct peers *p;
    struct cd_rng *rng;
    struct told *told;
    unsigned number;
    unsigned *left;
};

/* Each call has a body of its own, so its runs can be counted. */
static void call_and_check(struct caller *c, unsigned number)
{
    struct peers *p = c->p;
    static const char *const paths[] = {"/peer/echo", "/peer/again", "/peer/deny"};
    char body[32], path[32];
    struct fleet_peer peer = p->peer;
    (void)snprintf(body, sizeof body, "call-%u;", number);
    (void)snprintf(path, sizeof path, "%s", paths[number % CD_COUNT(paths)]);
    memcpy(peer.generation, rig_generation(p->generation), sizeof peer.generation);
    struct fleet_peer_call call = {.peer = &peer,
                                   .target = cd_str(path),
                                   .body = cd_str(body),
                                   .deadline_ns = io_now_ns(p->io) + IO_MS(200 + cd_rng_below(c->rng, 4000))};
    int rc = fleet_peer_call(p->client, &call);
    unsigned runs = peers_runs_of(p, body);
    CHECK((rc == IO_OK) == (call.end == FLEET_PEER_ANSWERED));
    switch (call.end) {
    case FLEET_PEER_ANSWERED:
        CHECK_INT(runs, 1);
        CHECK_INT(call.status, number % CD_COUNT(paths) == 2 ? 409 : 200);
        c->told->answered++;
        break;
    case FLEET_PEER_NOT_STARTED:
        CHECK_INT(runs, 0); /* And never: see the end of the test. */
        cd_buf_addf(&p->never, "%s", body);
        c->told->not_started++;
        break;
    case FLEET_PEER_AMBIGUOUS:
        CHECK(runs <= 1);
        c->told->ambiguous++;
        break;
    }
    cd_buf_deinit(&call.answer);
}

static void caller_flow(void *arg)
{
    struct caller *c = arg;
    for (unsigned i = 0; i < CALLS / AT_ONCE; i++) {
        call_and_check(c, c->number + i * AT_ONCE);
        CHECK_INT(io_sleep(c->p->io, IO_MS(cd_rng_below(c->rng, 200))), IO_OK);
    }
    --*c->left;
}

static void trouble(struct sim *sim, void *arg);

static void trouble_next(struct peers *p)
{
    struct cd_rng *rng = p->arg;
    sim_at(p->sim, IO_MS(50 + cd_rng_below(rng, 700)), trouble, p);
}

static void trouble(struct sim *sim, void *arg)
{
    struct peers *p = arg;
    switch (cd_rng_below(p->arg, 5)) {
    case 0: (void)sim_reset(sim, p->called, p->caller); break;
    case 1: sim_clog(sim, p->called, p->caller, IO_MS(900)); break;
    case 2: sim_clog(sim, p->caller, p->called, IO_MS(900)); break;
    case 3: sim_pause(p->called, IO_MS(600)); break;
    default:
        if (p->generation < '9' && sim_node_life(p->called) == SIM_UP)
            peers_kill(p);
        break;
    }
    trouble_next(p);
}

static bool all_over(void *arg)
{
    return *(unsigned *)arg == 0;
}

static void faults(uint64_t seed, struct told *told)
{
    struct cd_rng rng;
    struct caller by[AT_ONCE];
    unsigned left = AT_ONCE;
    cd_rng_seed(&rng, seed, CD_STR("peer faults"));
    struct peers p = {.arg = &rng,
                      .link = {.delay_ns = IO_MS(1),
                               .jitter_ns = IO_MS(20),
                               .reset_ppm = 30000,
                               .refuse_ppm = 50000,
                               .half_open_ppm = 20000,
                               .split_ppm = 300000,
                               .give_up_ns = IO_SEC(2)}};
    peers_open(&p, seed);
    sim_run_for(p.sim, IO_MS(1));
    trouble_next(&p);
    for (unsigned i = 0; i < AT_ONCE; i++) {
        by[i] = (struct caller){.p = &p, .rng = &rng, .told = told, .number = i, .left = &left};
        (void)io_spawn(p.io, "caller", caller_flow, &by[i]);
    }
    assert_true(sim_run_until(p.sim, all_over, &left, IO_SEC(3600)));
    sim_run_for(p.sim, IO_SEC(20)); /* What was still under way arrives. */
    struct cd_str never = cd_buf_str(&p.never), body;
    while (never.len > 0 && cd_str_next(&never, ';', &body)) {
        char text[32];
        (void)snprintf(text, sizeof text, "%.*s;", (int)body.len, body.ptr);
        if (body.len > 0)
            assert_int_equal(peers_runs_of(&p, text), 0);
    }
    peers_close(&p);
}

static void test_what_a_caller_is_told_is_true_under_faults(void **state)
{
    (void)state;
    struct told told = {0};
    for (uint64_t seed = 1; seed <= 12; seed++)
        faults(seed, &told);
    /* All three were met, or the faults are none. */
    assert_true(told.answered > 100 && told.ambiguous > 20 && told.not_started > 20);
}

/* ---- Recorded requests ---- */

/* The bytes of a signed request, as somebody on the network could record them. */
static void record(struct cd_buf *out, struct peers *p, const char *target)
{
    char timestamp[24], hash[FLEET_HEX_SHA256 + 1], signature[FLEET_HEX_SHA256 + 1];
    (void)snprintf(timestamp, sizeof timestamp, "%lld", (long long)io_wall_ms(p->io));
    fleet_sha256_hex(hash, CD_STR("once"));
    const struct fleet_peer_signed s = {.method = CD_STR("POST"),
                                        .target_path = CD_STR("/peer/again"),
                                        .version = CD_STR("1"),
                                        .source = CD_STR("a"),
                                        .target = cd_str(target),
                                        .timestamp = cd_str(timestamp),
                                        .nonce = CD_STR("00112233445566778899aabbccddeeff"),
                                        .body_sha256 = cd_str(hash)};
    fleet_peer_sign(signature, &p->secret, &s);
    cd_buf_clear(out);
    cd_buf_addf(
        out,
        "POST /peer/again HTTP/1.1\r\nhost: b\r\nx-celld-peer-version: 1\r\nx-celld-peer-source: a\r\n"
        "x-celld-peer-target: %s\r\nx-celld-peer-timestamp: %s\r\n"
        "x-celld-peer-nonce: 00112233445566778899aabbccddeeff\r\nx-celld-peer-body-sha256: %s\r\n"
        "x-celld-peer-signature: %s\r\nconnection: close\r\ncontent-length: 4\r\n\r\nonce",
        target, timestamp, hash, signature);
}

static int play(struct peers *p, const struct cd_buf *request)
{
    const struct io_addr to = {.host = "hostb", .port = PEERS_PORT};
    uint64_t deadline_ns = io_now_ns(p->io) + IO_SEC(10);
    struct io_stream stream = {0};
    struct io_op op = {0};
    struct cd_buf answer = {0};
    struct cd_str bytes = cd_buf_str(request);
    struct io_write w = {.part = &bytes, .parts = 1};
    io_connect(&stream, p->io, &to, &op, NULL);
    CHECK_INT(io_await(&op, deadline_ns), IO_OK);
    io_stream_write(&stream, &w, NULL);
    CHECK_INT(io_await(&w.op, deadline_ns), IO_OK);
    for (int rc = IO_OK; rc == IO_OK;) {
        struct io_read r = {0};
        io_stream_read(&stream, &r, NULL);
        rc = io_await(&r.op, deadline_ns);
        if (rc == IO_OK)
            cd_buf_add(&answer, r.buf, r.len);
    }
    io_stream_close(&stream, false, &op, NULL);
    (void)io_await(&op, IO_FOREVER); /* Closing ends. */
    uint64_t status = 0;
    CHECK_INT(cd_str_u64(cd_str_sub(cd_buf_str(&answer), 9, 3), &status), 0);
    cd_buf_deinit(&answer);
    return (int)status;
}

static void replay_flow(struct peers *p)
{
    struct cd_buf request = {0};
    char target[STORE_SESSION_MAX + 1];
    (void)snprintf(target, sizeof target, "b/%s", rig_generation('1'));
    record(&request, p, target);
    CHECK_INT(play(p, &request), 200);
    CHECK_INT(play(p, &request), 409);
    CHECK_INT(io_sleep(p->io, IO_SEC(29)), IO_OK);
    CHECK_INT(play(p, &request), 409);
    CHECK_INT(p->runs, 1);
    peers_restart(p); /* It has forgotten its nonces, and is another process. */
    CHECK_INT(play(p, &request), 409);
    CHECK_INT(p->runs, 1);
    CHECK_INT(io_sleep(p->io, IO_SEC(5)), IO_OK);
    CHECK_INT(play(p, &request), 401);
    /* What names whichever process may work once in each: those endpoints are safe to repeat. */
    record(&request, p, "b/*");
    CHECK_INT(play(p, &request), 200);
    CHECK_INT(play(p, &request), 409);
    peers_restart(p);
    CHECK_INT(play(p, &request), 200);
    CHECK_INT(p->runs, 3);
    cd_buf_deinit(&request);
}

static void test_a_recorded_request_does_not_work_again(void **state)
{
    (void)state;
    struct peers p = {0};
    peers_open(&p, 1);
    peers_flow(&p, replay_flow);
    peers_close(&p);
}

/* ---- The end of a node ---- */

static void kill_soon(struct sim *sim, void *arg)
{
    (void)sim;
    peers_kill(arg);
}

static void cut_flow(struct peers *p)
{
    struct fleet_peer_call call = {0};
    sim_at(p->sim, IO_SEC(1), kill_soon, p);
    CHECK(peers_call(p, &call, "/peer/slow", "x;") != IO_OK);
    CHECK_INT(call.end, FLEET_PEER_AMBIGUOUS);
    CHECK_INT(call.status, 0);
    cd_buf_deinit(&call.answer);
}

static void test_a_node_that_dies_in_a_call_leaves_it_unclear(void **state)
{
    (void)state;
    struct peers p = {0};
    peers_open(&p, 1);
    peers_flow(&p, cut_flow);
    peers_close(&p);
}

static void deadline_flow(struct peers *p)
{
    struct fleet_peer_call call = {
        .peer = &p->peer, .target = CD_STR("/peer/slow"), .deadline_ns = io_now_ns(p->io) + IO_SEC(1)};
    CHECK_INT(fleet_peer_call(p->client, &call), IO_TIMEDOUT);
    CHECK_INT(call.end, FLEET_PEER_AMBIGUOUS);
    sim_cut_both(p->sim, p->caller, p->called);
    CHECK_INT(io_sleep(p->io, IO_SEC(60)), IO_OK); /* No connection is left. */
    call.deadline_ns = io_now_ns(p->io) + IO_SEC(10);
    CHECK_INT(fleet_peer_call(p->client, &call), IO_TIMEDOUT);
    CHECK_INT(call.end, FLEET_PEER_NOT_STARTED);
    CHECK(io_now_ns(p->io) < call.deadline_ns - IO_SEC(6)); /* A connect has three seconds. */
    cd_buf_deinit(&call.answer);
}

static void test_a_deadline_before_the_request_was_sent_started_nothing(void **state)
{
    (void)state;
    struct peers p = {0};
    peers_open(&p, 1);
    peers_flow(&p, deadline_flow);
    peers_close(&p);
}

CD_TESTS(peer_faults, cmocka_unit_test(test_what_a_caller_is_told_is_true_under_faults),
         cmocka_unit_test(test_a_recorded_request_does_not_work_again),
         cmocka_unit_test(test_a_node_that_dies_in_a_call_leaves_it_unclear),
         cmocka_unit_test(test_a_deadline_before_the_request_was_sent_started_nothing))
