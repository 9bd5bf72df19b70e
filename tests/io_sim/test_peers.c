/* Scripted HTTP peers, HTTP to nodes, and child programs. */
#include "rig.h"

/* ---- Asking ---- */

struct ask {
    struct io *io;
    const char *url, *body; /* body NULL: none */
    uint64_t total_ns;
    int status, started, ended; /* Of the answer; of start; of the last read. */
    struct cd_buf head, got;
    char why[200];
};

static void ask_body(struct io_http *h, const char *body)
{
    struct io_op op = {0};
    io_http_write(h, cd_str(body), true, &op, NULL);
    (void)io_await(&op, IO_FOREVER);
}

static void ask_flow(void *arg)
{
    struct ask *a = arg;
    struct io_http h = {0};
    struct io_op op = {0};
    struct io_http_ask ask = {.method = a->body == NULL ? CD_STR("GET") : CD_STR("POST"),
                              .url = cd_str(a->url),
                              .head = CD_STR("X-Test: 1\r\n"),
                              .body_len = a->body == NULL ? IO_HTTP_NO_BODY : IO_HTTP_CHUNKED,
                              .total_timeout_ns = a->total_ns};
    io_http_start(&h, a->io, &ask, &op, NULL);
    if (a->body != NULL && h.io != NULL)
        ask_body(&h, a->body);
    a->started = io_await(&op, IO_FOREVER);
    memcpy(a->why, h.why, sizeof a->why);
    if (a->started != IO_OK) {
        CHECK(h.io == NULL);
        return;
    }
    a->status = h.status;
    cd_buf_add_str(&a->head, cd_buf_str(&h.head));
    do {
        struct io_read r = {0};
        io_http_read(&h, &r, NULL);
        a->ended = io_await(&r.op, IO_FOREVER);
        if (a->ended == IO_OK)
            cd_buf_add(&a->got, r.buf, r.len);
    } while (a->ended == IO_OK);
    struct io_op close = {0};
    io_http_close(&h, &close, NULL);
    CHECK_INT(io_await(&close, IO_FOREVER), IO_OK);
}

static void ask_free(struct ask *a)
{
    cd_buf_deinit(&a->head);
    cd_buf_deinit(&a->got);
}

/* ---- A peer that tells what it was asked ---- */

struct peer {
    struct cd_buf seen;
    unsigned gone;
    bool silent, resets;
};

static void peer_request(void *arg, struct sim_http *x, struct cd_str method, struct cd_str url,
                         struct cd_str head)
{
    struct peer *p = arg;
    cd_buf_clear(&p->seen);
    cd_buf_addf(&p->seen, "%.*s %.*s %.*s", (int)method.len, method.ptr, (int)url.len, url.ptr, (int)head.len,
                head.ptr);
    (void)x;
}

static void peer_body(void *arg, struct sim_http *x, struct cd_str piece, bool last)
{
    struct peer *p = arg;
    cd_buf_add_str(&p->seen, piece);
    if (!last || p->silent)
        return;
    sim_http_head(x, 201, CD_STR("Name: value\r\n"));
    sim_http_chunk(x, CD_STR("one "), false);
    if (p->resets)
        sim_http_reset(x);
    else
        sim_http_chunk(x, cd_buf_str(&p->seen), true);
}

static void peer_gone(void *arg, struct sim_http *x)
{
    (void)x;
    ((struct peer *)arg)->gone++;
}

static void peer_add(struct sim *sim, struct peer *p)
{
    *p = (struct peer){0};
    sim_http_peer(
        sim, "api.example",
        &(struct sim_http_peer){.request = peer_request, .body = peer_body, .gone = peer_gone, .arg = p});
}

static void test_a_peer_sees_the_request_and_its_answer_comes_back(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct sim *sim = sim_new(
            &(struct sim_opts){.seed = seed, .policy = (enum sim_policy)(seed % 3), .slack_ns = 50000});
        struct sim_node *n = rig_node(sim, "n1");
        struct peer p;
        peer_add(sim, &p);
        struct ask a = {.io = sim_io(n, 0), .url = "https://api.example/x?y#z", .body = "hello"};
        (void)io_spawn(a.io, "ask", ask_flow, &a);
        assert_true(rig_run(sim, n, NULL));
        assert_int_equal(a.started, IO_OK);
        assert_int_equal(a.status, 201);
        assert_str_is(cd_buf_str(&a.head), "Name: value\r\n");
        assert_str_is(cd_buf_str(&a.got), "one POST http://api.example:443/x?y X-Test: 1\r\nhello");
        assert_int_equal(a.ended, IO_EOF);
        ask_free(&a);
        sim_free(sim);
        cd_buf_deinit(&p.seen);
        assert_int_equal(p.gone, 0);
    }
}

static void test_unknown_hosts_and_bad_requests_fail(void **state)
{
    (void)state;
    struct sim *sim = sim_new(NULL);
    struct sim_node *n = rig_node(sim, "n1");
    struct ask a[] = {
        {.url = "http://nowhere.example/"}, {.url = "ftp://api.example/"}, {.url = "http://a b/"}};
    const int want[] = {IO_NOENT, CD_EINVAL, CD_EINVAL};
    for (unsigned i = 0; i < CD_COUNT(a); i++) {
        a[i].io = sim_io(n, 0);
        (void)io_spawn(a[i].io, "ask", ask_flow, &a[i]);
    }
    assert_true(rig_run(sim, n, NULL));
    for (unsigned i = 0; i < CD_COUNT(a); i++) {
        assert_int_equal(a[i].started, want[i]);
        assert_true(a[i].why[0] != '\0');
    }
    sim_free(sim);
}

static void test_peer_faults_resets_timeouts_cuts(void **state)
{
    (void)state;
    struct sim *sim = sim_new(NULL);
    struct sim_node *n = rig_node(sim, "n1");
    struct peer p;
    peer_add(sim, &p);
    struct ask a = {.io = sim_io(n, 0), .url = "http://api.example/"}, b = a, c = a, d = a;
    p.resets = true;
    (void)io_spawn(a.io, "ask", ask_flow, &a);
    assert_true(rig_run(sim, n, NULL));
    assert_int_equal(a.status, 201);
    assert_int_equal(a.ended, IO_RESET);
    assert_str_is(cd_buf_str(&a.got), "one ");
    p.resets = false;
    p.silent = true;
    b.total_ns = IO_SEC(3);
    (void)io_spawn(b.io, "ask", ask_flow, &b);
    assert_true(rig_run(sim, n, NULL));
    assert_int_equal(b.started, IO_TIMEDOUT);
    sim_run_for(sim, IO_SEC(1));
    assert_int_equal(p.gone, 1); /* The peer hears that nobody waits any more. */
    sim_cut_both(sim, n, sim_world_node(sim));
    (void)io_spawn(c.io, "ask", ask_flow, &c);
    assert_true(rig_run(sim, n, NULL));
    assert_int_equal(c.started, IO_TIMEDOUT); /* It never connected. */
    sim_heal_all(sim);
    sim_link_set(sim, n, sim_world_node(sim), &(struct sim_link){.refuse_ppm = 1000000});
    (void)io_spawn(d.io, "ask", ask_flow, &d);
    assert_true(rig_run(sim, n, NULL));
    assert_int_equal(d.started, IO_REFUSED);
    ask_free(&a);
    sim_free(sim);
    cd_buf_deinit(&p.seen);
}

static void test_a_crash_in_the_middle_of_an_exchange_leaves_nothing(void **state)
{
    (void)state;
    for (uint64_t k = 1;; k++) {
        struct sim *sim = sim_new(NULL);
        struct sim_node *n = rig_node(sim, "n1");
        struct peer p;
        bool hit = false;
        peer_add(sim, &p);
        struct ask a = {.io = sim_io(n, 0), .url = "http://api.example/", .body = "b"};
        assert_true(sim_at_call(n, "any", k, SIM_DIE_POWER, 0, &hit));
        (void)io_spawn(a.io, "ask", ask_flow, &a);
        assert_true(rig_run(sim, n, NULL));
        sim_run_for(sim, IO_SEC(1));
        assert_int_equal(sim_node_life(n), hit ? SIM_DEAD : SIM_UP);
        ask_free(&a);
        sim_free(sim);
        cd_buf_deinit(&p.seen);
        if (!hit)
            break;
    }
}

/* ---- HTTP to a node ---- */

struct server {
    struct io *io;
    struct cd_buf seen;
    const char *answer;
};

static void server_flow(void *arg)
{
    struct server *s = arg;
    struct io_listener l = {0};
    struct io_stream c = {0};
    CHECK_INT(io_listen(&l, s->io, &(struct io_addr){.port = 8080}, 0), IO_OK);
    CHECK_INT(rig_accept(&l, &c), IO_OK);
    while (cd_str_find_str(cd_buf_str(&s->seen), CD_STR("0\r\n\r\n"), 0) == SIZE_MAX) {
        struct io_read r = {0};
        io_stream_read(&c, &r, NULL);
        CHECK_INT(io_await(&r.op, IO_FOREVER), IO_OK);
        cd_buf_add(&s->seen, r.buf, r.len);
    }
    CHECK_INT(rig_write(&c, s->answer, strlen(s->answer)), IO_OK);
    rig_close(&c);
    rig_listener_close(&l);
}

static void node_answers(const char *answer, struct ask *a)
{
    struct sim *sim = sim_new(&(struct sim_opts){.seed = 3, .policy = SIM_RANDOM, .slack_ns = 10000});
    sim_link_set(sim, NULL, NULL, &(struct sim_link){.delay_ns = 1000, .split_ppm = 800000});
    struct sim_node *n = rig_node(sim, "n1"), *m = rig_node(sim, "web");
    struct server s = {.io = sim_io(m, 0), .answer = answer};
    *a = (struct ask){.io = sim_io(n, 0), .url = "http://web:8080/p", .body = "hello"};
    (void)io_spawn(s.io, "server", server_flow, &s);
    sim_run_for(sim, IO_MS(1));
    (void)io_spawn(a->io, "ask", ask_flow, a);
    assert_true(rig_run(sim, n, m));
    assert_str_is(cd_buf_str(&s.seen), "POST /p HTTP/1.1\r\nHost: web:8080\r\nX-Test: 1\r\n"
                                       "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
    cd_buf_deinit(&s.seen);
    sim_free(sim);
}

static void test_a_node_is_asked_over_its_listener(void **state)
{
    (void)state;
    struct ask a;
    node_answers("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\nTransfer-Encoding: chunked\r\n\r\n"
                 "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
                 &a);
    assert_int_equal(a.status, 200);
    assert_str_is(cd_buf_str(&a.head), "A: b\r\nTransfer-Encoding: chunked\r\n");
    assert_str_is(cd_buf_str(&a.got), "abcde");
    assert_int_equal(a.ended, IO_EOF);
    ask_free(&a);
    node_answers("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", &a);
    assert_str_is(cd_buf_str(&a.got), "abc");
    assert_int_equal(a.ended, IO_RESET); /* Cut short. */
    ask_free(&a);
    node_answers("HTTP/1.1 200 OK\r\n\r\nuntil the end", &a);
    assert_str_is(cd_buf_str(&a.got), "until the end");
    assert_int_equal(a.ended, IO_EOF);
    ask_free(&a);
    node_answers("nonsense\r\n\r\n", &a);
    assert_int_equal(a.started, IO_PROTOCOL);
    ask_free(&a);
    node_answers("", &a);
    assert_int_equal(a.started, IO_RESET);
    ask_free(&a);
}

/* ---- Children ---- */

struct run {
    struct io *io;
    const char *name;
    int kill; /* Signal to send after 10 ms, or 0. */
    int code, status;
    struct cd_buf out;
    int out_end;
};

static void run_flow(void *arg)
{
    struct run *r = arg;
    struct io_child c = {0};
    const char *argv[] = {r->name, "7", NULL}, *env[] = {"A=b", NULL};
    io_child_start(&c, r->io, argv, env, "/work", NULL);
    if (r->kill != 0) {
        CHECK_INT(io_sleep(r->io, IO_MS(10)), IO_OK);
        io_child_kill(&c, r->kill);
    }
    (void)rig_write(&c.in, "ping", 4);
    rig_close(&c.in);
    r->out_end = rig_read_all(&c.out, &r->out);
    rig_close(&c.out);
    r->status = io_await(&c.exited, IO_FOREVER);
    r->code = c.code;
}

static int program_echo(struct sim_child *c)
{
    struct cd_buf in = {0};
    if (rig_read_all(c->in, &in) == IO_EOF) {
        cd_buf_addf(&in, " %s %s %s", c->argv[1], c->env[0], c->cwd);
        (void)rig_write(c->out, in.ptr, in.len);
    }
    cd_buf_deinit(&in);
    return 7;
}

static int program_sleep(struct sim_child *c)
{
    (void)io_sleep(c->io, IO_SEC(1000));
    return 0;
}

static struct run child_run(const char *name, int kill, const struct sim_child_fault *fault)
{
    struct sim *sim = sim_new(NULL);
    struct sim_node *n = rig_node(sim, "n1");
    sim_child_program(sim, "echo", program_echo, NULL);
    sim_child_program(sim, "sleep", program_sleep, NULL);
    if (fault != NULL)
        sim_child_fault(sim, "echo", fault);
    struct run r = {.io = sim_io(n, 0), .name = name, .kill = kill};
    (void)io_spawn(r.io, "run", run_flow, &r);
    assert_true(rig_run(sim, n, NULL));
    sim_free(sim);
    return r;
}

static void test_children_run_exit_and_are_killed(void **state)
{
    (void)state;
    struct run r = child_run("/usr/bin/echo", 0, NULL);
    assert_int_equal(r.status, IO_OK);
    assert_int_equal(r.code, 7);
    assert_int_equal(r.out_end, IO_EOF);
    assert_str_is(cd_buf_str(&r.out), "ping 7 A=b /work");
    cd_buf_deinit(&r.out);
    r = child_run("sleep", 15, NULL);
    assert_int_equal(r.status, IO_OK);
    assert_int_equal(r.code, 128 + 15);
    r = child_run("unheard-of", 0, NULL);
    assert_int_equal(r.status, IO_NOENT);
    r = child_run("echo", 0, &(struct sim_child_fault){.crash_ppm = 1000000});
    assert_int_equal(r.code, 139);
    r = child_run("echo", 9, &(struct sim_child_fault){.hang_ppm = 1000000});
    assert_int_equal(r.code, 128 + 9);
    r = child_run("echo", 0, &(struct sim_child_fault){.garbage_ppm = 1000000, .slow_ppm = 1000000});
    assert_int_equal(r.code, 7);
    assert_true(r.out.len > 500);
    cd_buf_deinit(&r.out);
}

static void test_a_crash_takes_the_children_along(void **state)
{
    (void)state;
    for (uint64_t k = 1;; k++) {
        struct sim *sim = sim_new(NULL);
        struct sim_node *n = rig_node(sim, "n1");
        bool hit = false;
        sim_child_program(sim, "echo", program_echo, NULL);
        struct run r = {.io = sim_io(n, 0), .name = "echo"};
        assert_true(sim_at_call(n, "any", k, SIM_DIE_KILL, 0, &hit));
        (void)io_spawn(r.io, "run", run_flow, &r);
        assert_true(rig_run(sim, n, NULL));
        sim_run_for(sim, IO_SEC(1));
        assert_int_equal(sim_node_life(n), hit ? SIM_DEAD : SIM_UP);
        cd_buf_deinit(&r.out);
        sim_free(sim);
        if (!hit)
            break;
    }
}

CD_TESTS(peers, cmocka_unit_test(test_a_peer_sees_the_request_and_its_answer_comes_back),
         cmocka_unit_test(test_unknown_hosts_and_bad_requests_fail),
         cmocka_unit_test(test_peer_faults_resets_timeouts_cuts),
         cmocka_unit_test(test_a_crash_in_the_middle_of_an_exchange_leaves_nothing),
         cmocka_unit_test(test_a_node_is_asked_over_its_listener),
         cmocka_unit_test(test_children_run_exit_and_are_killed),
         cmocka_unit_test(test_a_crash_takes_the_children_along))
