/* Streams of the simulator without faults, under every policy. */
#include "rig.h"

struct echo {
    struct io *server, *client;
    size_t bytes; /* Of one message. */
    unsigned messages;
    uint64_t sum_sent, sum_got;
    unsigned done;
    int client_status;
};

static void echo_server(void *arg)
{
    struct echo *e = arg;
    struct io_listener l = {0};
    struct io_addr at = {.port = 80};
    CHECK_INT(io_listen(&l, e->server, &at, 0), IO_OK);
    struct io_stream s = {0};
    CHECK_INT(rig_accept(&l, &s), IO_OK);
    for (;;) {
        struct io_read r = {0};
        io_stream_read(&s, &r, NULL);
        int status = io_await(&r.op, IO_FOREVER);
        if (status == IO_EOF)
            break;
        CHECK_INT(status, IO_OK);
        struct cd_buf copy = {0};
        cd_buf_add(&copy, r.buf, r.len); /* Lent bytes go with the next await. */
        CHECK_INT(rig_write(&s, copy.ptr, copy.len), IO_OK);
        cd_buf_deinit(&copy);
    }
    rig_close(&s);
    rig_listener_close(&l);
    e->done++;
}

static void echo_client(void *arg)
{
    struct echo *e = arg;
    CHECK_INT(io_sleep(e->client, IO_MS(1)), IO_OK);
    struct io_stream s = {0};
    CHECK_INT(rig_connect(e->client, &s, "server", 80), IO_OK);
    char *out = cd_alloc(e->bytes), *in = cd_alloc(e->bytes);
    for (unsigned i = 0; i < e->messages; i++) {
        for (size_t k = 0; k < e->bytes; k++)
            out[k] = (char)(k * 7 + i);
        CHECK_INT(rig_write(&s, out, e->bytes), IO_OK);
        for (size_t got = 0; got < e->bytes;) {
            struct io_read r = {.buf = in + got, .cap = e->bytes - got};
            io_stream_read(&s, &r, NULL);
            CHECK_INT(io_await(&r.op, IO_FOREVER), IO_OK);
            got += r.len;
        }
        CHECK(memcmp(in, out, e->bytes) == 0);
    }
    cd_free(out);
    cd_free(in);
    rig_close(&s);
    e->done++;
}

static void test_bytes_come_back_in_order_under_every_policy(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct sim *sim = sim_new(&(struct sim_opts){
            .seed = seed, .policy = (enum sim_policy)(seed % 3), .slack_ns = seed * 10000});
        sim_link_set(
            sim, NULL, NULL,
            &(struct sim_link){.delay_ns = 1000, .jitter_ns = 50000, .split_ppm = 500000, .window = 3000});
        struct sim_node *a = rig_node(sim, "server"), *b = rig_node(sim, "client");
        struct echo e = {.server = sim_io(a, 0), .client = sim_io(b, 0), .bytes = 2000, .messages = 20};
        (void)io_spawn(e.server, "server", echo_server, &e);
        (void)io_spawn(e.client, "client", echo_client, &e);
        assert_true(rig_run(sim, a, b));
        assert_int_equal(e.done, 2);
        sim_free(sim);
    }
}

/* ---- Backpressure ---- */

struct flood {
    struct io *reader, *writer;
    bool read_now, wrote;
    struct cd_buf got;
    int end;
};

static void flood_reader(void *arg)
{
    struct flood *f = arg;
    struct io_listener l = {0};
    struct io_addr at = {.host = "reader", .port = 9};
    CHECK_INT(io_listen(&l, f->reader, &at, 0), IO_OK);
    struct io_stream s = {0};
    CHECK_INT(rig_accept(&l, &s), IO_OK);
    while (!f->read_now)
        CHECK_INT(io_sleep(f->reader, IO_MS(10)), IO_OK);
    f->end = rig_read_all(&s, &f->got);
    rig_close(&s);
    rig_listener_close(&l);
}

static void flood_writer(void *arg)
{
    struct flood *f = arg;
    struct io_stream s = {0};
    CHECK_INT(io_sleep(f->writer, IO_MS(1)), IO_OK);
    CHECK_INT(rig_connect(f->writer, &s, "reader", 9), IO_OK);
    char *big = cd_alloc(200000);
    for (unsigned i = 0; i < 200000; i++)
        big[i] = (char)(i / 3);
    CHECK_INT(rig_write(&s, big, 200000), IO_OK);
    f->wrote = true;
    cd_free(big);
    rig_close(&s);
}

static void test_a_writer_waits_for_its_reader(void **state)
{
    (void)state;
    struct sim *sim = sim_new(NULL);
    struct sim_node *a = rig_node(sim, "reader"), *b = rig_node(sim, "writer");
    struct flood f = {.reader = sim_io(a, 0), .writer = sim_io(b, 0)};
    (void)io_spawn(f.reader, "reader", flood_reader, &f);
    (void)io_spawn(f.writer, "writer", flood_writer, &f);
    sim_run_for(sim, IO_SEC(10));
    assert_false(f.wrote);
    f.read_now = true;
    assert_true(rig_run(sim, a, b));
    assert_true(f.wrote);
    assert_int_equal(f.end, IO_EOF);
    assert_int_equal(f.got.len, 200000);
    for (unsigned i = 0; i < 200000; i++)
        assert_int_equal(f.got.ptr[i], (char)(i / 3));
    cd_buf_deinit(&f.got);
    sim_free(sim);
}

/* ---- Refusals and names ---- */

static void names_flow(void *arg)
{
    struct io *io = arg;
    struct io_stream s = {0};
    CHECK_INT(rig_connect(io, &s, "nowhere.example", 80), IO_NOENT);
    CHECK_INT(rig_connect(io, &s, "n1", 80), IO_REFUSED);
    struct io_listener l = {0}, twice = {0}, shared = {0};
    struct io_addr at = {.host = "127.0.0.1"}, bound, foreign = {.host = "10.0.9.9", .port = 1};
    CHECK_INT(io_listen(&l, io, &at, 0), IO_OK);
    io_listener_addr(&l, &bound);
    CHECK(bound.port != 0);
    CHECK_INT(io_listen(&twice, io, &bound, 0), IO_BUSY);
    CHECK_INT(io_listen(&twice, io, &foreign, 0), CD_EINVAL);
    CHECK_INT(rig_connect(io, &s, "n1", bound.port),
              IO_REFUSED); /* It listens on the loopback address only. */
    CHECK_INT(rig_connect(io, &s, "localhost", bound.port), IO_OK);
    struct io_stream t = {0};
    CHECK_INT(rig_accept(&l, &t), IO_OK);
    struct io_addr peer;
    io_stream_peer(&s, &peer);
    CHECK(strcmp(peer.host, "127.0.0.1") == 0 && peer.port == bound.port);
    io_stream_peer(&t, &peer);
    CHECK(strcmp(peer.host, "127.0.0.1") == 0 && peer.port != bound.port);
    rig_close(&s);
    rig_close(&t);
    rig_listener_close(&l);
    at.port = 7777;
    CHECK_INT(io_listen(&l, io, &at, IO_LISTEN_SHARED), IO_OK);
    CHECK_INT(io_listen(&shared, io, &at, IO_LISTEN_SHARED), IO_OK);
    CHECK_INT(io_listen(&twice, io, &at, 0), IO_BUSY);
    rig_listener_close(&l);
    rig_listener_close(&shared);
}

static void test_names_ports_and_refusals(void **state)
{
    (void)state;
    struct sim *sim = sim_new(NULL);
    struct sim_node *n = rig_node(sim, "n1");
    (void)io_spawn(sim_io(n, 0), "names", names_flow, sim_io(n, 0));
    assert_true(rig_run(sim, n, NULL));
    sim_free(sim);
}

static void lent_flow(void *arg)
{
    struct io *io = arg;
    struct io_listener l = {0};
    struct io_stream s = {0}, t = {0};
    struct io_addr at = {.port = 80};
    CHECK_INT(io_listen(&l, io, &at, 0), IO_OK);
    CHECK_INT(rig_connect(io, &s, "localhost", 80), IO_OK);
    CHECK_INT(rig_accept(&l, &t), IO_OK);
    CHECK_INT(rig_write(&s, "lent", 4), IO_OK);
    struct io_read r = {0};
    io_stream_read(&t, &r, NULL);
    CHECK_INT(io_await(&r.op, io_now_ns(io) + IO_SEC(1)), IO_OK);
    CHECK(r.len == 4 && memcmp(r.buf, "lent", 4) == 0);
    rig_close(&s);
    rig_close(&t);
    rig_listener_close(&l);
}

/* The deadline's timer is cancelled then, and must not be waited for: the bytes go when the fiber suspends.
 */
static void test_lent_bytes_are_good_behind_an_await_with_a_deadline(void **state)
{
    (void)state;
    struct sim *sim = sim_new(NULL);
    struct sim_node *n = rig_node(sim, "n1");
    (void)io_spawn(sim_io(n, 0), "lent", lent_flow, sim_io(n, 0));
    assert_true(rig_run(sim, n, NULL));
    sim_free(sim);
}

CD_TESTS(net, cmocka_unit_test(test_bytes_come_back_in_order_under_every_policy),
         cmocka_unit_test(test_a_writer_waits_for_its_reader),
         cmocka_unit_test(test_names_ports_and_refusals),
         cmocka_unit_test(test_lent_bytes_are_good_behind_an_await_with_a_deadline))
