/* Listeners and connections. */
#include "support.h"

static void flow_addresses(struct contract *c)
{
    struct io_listener l = {0};
    struct io_addr at, peer;
    struct io_stream client = {0}, server = {0};
    struct io_op connect = {0};
    listen_any(c, &l, &at);
    CHECK(strcmp(at.host, "127.0.0.1") == 0);
    io_connect(&client, c->io, &at, &connect, NULL);
    CHECK_INT(stream_accept(&l, &server), IO_OK);
    CHECK_INT(await(&connect), IO_OK);
    io_stream_peer(&client, &peer);
    CHECK(strcmp(peer.host, "127.0.0.1") == 0 && peer.port == at.port);
    io_stream_peer(&server, &peer);
    CHECK(strcmp(peer.host, "127.0.0.1") == 0 && peer.port != 0 && peer.port != at.port);
    stream_close(&client, false);
    stream_close(&server, false);
    listener_close(&l);
}

static void test_both_ends_know_each_other(void **state)
{
    (void)state;
    contract_run(flow_addresses);
}

static void flow_taken(struct contract *c)
{
    struct io_listener l = {0}, second = {0}, shared = {0};
    struct io_addr at;
    listen_any(c, &l, &at);
    CHECK_INT(io_listen(&second, c->io, &at, 0), IO_BUSY);
    CHECK_INT(io_listen(&shared, c->io, &at, IO_LISTEN_SHARED), IO_BUSY);
    CHECK(second.io == NULL && shared.io == NULL);
    listener_close(&l);
    CHECK_INT(io_listen(&second, c->io, &at, 0), IO_OK);
    listener_close(&second);
    at = (struct io_addr){.host = "not an address", .port = 1};
    CHECK_INT(io_listen(&second, c->io, &at, 0), CD_EINVAL);
}

static void test_an_address_is_taken_until_its_listener_is_closed(void **state)
{
    (void)state;
    contract_run(flow_taken);
}

static void flow_refused(struct contract *c)
{
    struct io_listener l = {0};
    struct io_addr at;
    struct io_stream s = {0};
    listen_any(c, &l, &at);
    listener_close(&l);
    CHECK_INT(stream_connect(&s, c->io, &at), IO_REFUSED);
    CHECK(s.io == NULL);
}

static void test_a_port_without_a_listener_refuses(void **state)
{
    (void)state;
    contract_run(flow_refused);
}

static void flow_names(struct contract *c)
{
    struct io_listener l = {0};
    struct io_addr at, name = {.host = "localhost"}, nobody = {.host = "nobody.invalid", .port = 80};
    struct io_stream client = {0}, server = {0}, none = {0};
    struct io_op connect = {0};
    listen_any(c, &l, &at);
    name.port = at.port;
    io_connect(&client, c->io, &name, &connect, NULL);
    CHECK_INT(stream_accept(&l, &server), IO_OK);
    CHECK_INT(await(&connect), IO_OK);
    int status = stream_connect(&none, c->io, &nobody);
    CHECK(status == IO_NOENT || status == IO_UNREACHABLE); /* The latter without any resolver. */
    CHECK(none.io == NULL);
    /* Cancelled while the name is looked up. */
    for (int i = 0; i < 3; i++) {
        io_connect(&none, c->io, &nobody, &connect, NULL);
        io_cancel(&connect);
        CHECK(io_busy(&connect));
        status = await(&connect);
        CHECK(status == IO_CANCELED || status == IO_NOENT || status == IO_UNREACHABLE);
    }
    stream_close(&client, false);
    stream_close(&server, false);
    listener_close(&l);
}

static void test_names_are_resolved_on_connect(void **state)
{
    (void)state;
    contract_run(flow_names);
}

static void flow_bad(struct contract *c)
{
    struct io_stream s = {0};
    struct io_addr none = {.port = 80}, endless = {.port = 80};
    CHECK(stream_connect(&s, c->io, &none) != IO_OK);
    memset(endless.host, 'x', sizeof endless.host); /* No NUL. */
    CHECK(stream_connect(&s, c->io, &endless) != IO_OK);
    memset(endless.host, 'x', sizeof endless.host - 1);
    endless.host[sizeof endless.host - 1] = '\0'; /* Longer than any name. */
    CHECK(stream_connect(&s, c->io, &endless) != IO_OK);
    CHECK(s.io == NULL);
}

static void test_an_address_that_is_none_is_an_error_of_connect(void **state)
{
    (void)state;
    contract_run(flow_bad);
}

#define WAITING 20

static void flow_backlog(struct contract *c)
{
    struct io_listener l = {0};
    struct io_addr at;
    struct io_stream client[WAITING] = {0}, server[WAITING] = {0};
    bool seen[WAITING] = {false};
    listen_any(c, &l, &at);
    for (unsigned i = 0; i < WAITING; i++) {
        char number = (char)i;
        CHECK_INT(stream_connect(&client[i], c->io, &at), IO_OK); /* Nobody accepts yet. */
        CHECK_INT(stream_write(&client[i], cd_str_of(&number, 1)), IO_OK);
    }
    for (unsigned i = 0; i < WAITING; i++) {
        char number;
        size_t len;
        CHECK_INT(stream_accept(&l, &server[i]), IO_OK);
        CHECK_INT(stream_read(&server[i], &number, 1, &len), IO_OK);
        CHECK(number >= 0 && number < WAITING && !seen[(unsigned)number]);
        seen[(unsigned)number] = true;
    }
    for (unsigned i = 0; i < WAITING; i++) {
        stream_close(&client[i], false);
        stream_close(&server[i], false);
    }
    listener_close(&l);
}

static void test_connections_wait_until_they_are_accepted(void **state)
{
    (void)state;
    contract_run(flow_backlog);
}

static void flow_accept_cancel(struct contract *c)
{
    struct io_listener l = {0};
    struct io_addr at;
    struct io_stream client = {0}, server = {0};
    struct io_op accept = {0};
    listen_any(c, &l, &at);
    io_accept(&l, &server, &accept, NULL);
    io_cancel(&accept);
    CHECK(io_busy(&accept));
    CHECK_INT(await(&accept), IO_CANCELED);
    CHECK(server.io == NULL);
    io_accept(&l, &server, &accept, NULL);
    CHECK_INT(io_await(&accept, io_now_ns(c->io) + IO_MS(1)), IO_TIMEDOUT);
    /* A connection that came meanwhile is not lost. */
    CHECK_INT(stream_connect(&client, c->io, &at), IO_OK);
    CHECK_INT(stream_accept(&l, &server), IO_OK);
    stream_close(&client, false);
    stream_close(&server, false);
    listener_close(&l);
}

static void test_a_canceled_accept_loses_no_connection(void **state)
{
    (void)state;
    contract_run(flow_accept_cancel);
}

static void flow_close_accepting(struct contract *c)
{
    struct io_listener l = {0};
    struct io_addr at;
    struct io_stream server = {0}, client = {0};
    struct probe accept, close;
    probe_init(&accept);
    probe_init(&close);
    listen_any(c, &l, &at);
    io_accept(&l, &server, &accept.op, probe_done);
    io_listener_close(&l, &close.op, probe_done);
    CHECK(accept.calls == 0 && close.calls == 0);
    CHECK_INT(probe_wait(c, &close), IO_OK);
    CHECK_INT(accept.calls, 1);
    CHECK_INT(accept.status, IO_CANCELED);
    CHECK(accept.order < close.order && server.io == NULL && l.io == NULL);
    CHECK_INT(stream_connect(&client, c->io, &at), IO_REFUSED);
}

static void test_closing_a_listener_ends_its_accept_first(void **state)
{
    (void)state;
    contract_run(flow_close_accepting);
}

static void flow_connect_cancel(struct contract *c)
{
    struct io_listener l = {0};
    struct io_addr at;
    listen_any(c, &l, &at);
    for (int i = 0; i < 20; i++) {
        struct io_stream s = {0};
        struct io_op op = {0};
        io_connect(&s, c->io, &at, &op, NULL);
        if (i % 2 == 1)
            turn(c);
        io_cancel(&op); /* In its first moment, or when it may be done already. */
        int status = await(&op);
        CHECK(status == IO_CANCELED || status == IO_OK);
        CHECK((status == IO_OK) == (s.io != NULL));
        if (status == IO_OK)
            stream_close(&s, true);
    }
    listener_close(&l);
}

static void test_a_canceled_connect_leaves_nothing_open(void **state)
{
    (void)state;
    contract_run(flow_connect_cancel);
}

/* ---- Sharing an address between loops ---- */

struct shop {
    struct contract *c;
    struct io_addr at;
    struct io_listener listener[3];
    struct io_stream stream[3];
    struct io_op accept[3], close[3];
    int listened[3];
    unsigned served[3]; /* Written by its loop only. */
};

static void shop_accepted(struct io_op *op, int status);

static void shop_next(struct io *io, struct shop *s)
{
    unsigned i = io_loop_index(io);
    io_accept(&s->listener[i], &s->stream[i], &s->accept[i], shop_accepted);
}

static void shop_served(struct io_op *op, int status)
{
    struct io *io = io_current();
    unsigned i = io_loop_index(io);
    struct shop *s = CD_CONTAINER(op, struct shop, close[i]);
    CHECK_INT(status, IO_OK);
    if (s->listener[i].io != NULL)
        shop_next(io, s);
}

static void shop_accepted(struct io_op *op, int status)
{
    struct io *io = io_current();
    unsigned i = io_loop_index(io);
    struct shop *s = CD_CONTAINER(op, struct shop, accept[i]);
    if (status != IO_OK)
        return;
    s->served[i]++;
    io_stream_close(&s->stream[i], false, &s->close[i], shop_served);
}

static void shop_open(struct io *io, void *arg)
{
    struct shop *s = arg;
    unsigned i = io_loop_index(io);
    s->listened[i] = io_listen(&s->listener[i], io, &s->at, IO_LISTEN_SHARED);
    if (s->listened[i] != IO_OK)
        return;
    io_listener_addr(&s->listener[i], &s->at);
    shop_next(io, s);
}

static void shop_close(struct io *io, void *arg)
{
    struct shop *s = arg;
    unsigned i = io_loop_index(io);
    io_listener_close(&s->listener[i], &s->close[i], shop_served);
}

static void nothing(struct io *io, void *arg)
{
    (void)io;
    (void)arg;
}

static void flow_shared(struct contract *c)
{
    struct shop *s = cd_new(struct shop);
    s->c = c;
    s->at = (struct io_addr){.host = "127.0.0.1"};
    for (unsigned i = 1; i < 3; i++) {
        uint16_t port = s->at.port;
        contract_in_loop(c, i, shop_open, s);
        CHECK_INT(s->listened[i], IO_OK);
        CHECK(s->at.port != 0 && (i == 1 || s->at.port == port)); /* The first one fixes the port. */
    }
    /* Whoever of them gets a connection, none is left out. */
    for (unsigned i = 0; i < 50; i++) {
        struct io_stream client = {0};
        char byte;
        size_t len;
        CHECK_INT(stream_connect(&client, c->io, &s->at), IO_OK);
        CHECK_INT(stream_read(&client, &byte, 1, &len), IO_EOF);
        stream_close(&client, false);
    }
    for (unsigned i = 1; i < 3; i++)
        contract_in_loop(c, i, shop_close, s);
    for (unsigned i = 1; i < 3; i++)
        contract_in_loop(c, i, nothing, NULL);
    CHECK_INT(s->served[1] + s->served[2], 50);
    cd_free(s);
}

static void test_loops_of_a_node_share_an_address(void **state)
{
    (void)state;
    contract_run_loops(3, flow_shared);
}

CD_TESTS(contract_net, cmocka_unit_test(test_both_ends_know_each_other),
         cmocka_unit_test(test_an_address_is_taken_until_its_listener_is_closed),
         cmocka_unit_test(test_a_port_without_a_listener_refuses),
         cmocka_unit_test(test_names_are_resolved_on_connect),
         cmocka_unit_test(test_an_address_that_is_none_is_an_error_of_connect),
         cmocka_unit_test(test_connections_wait_until_they_are_accepted),
         cmocka_unit_test(test_a_canceled_accept_loses_no_connection),
         cmocka_unit_test(test_closing_a_listener_ends_its_accept_first),
         cmocka_unit_test(test_a_canceled_connect_leaves_nothing_open),
         cmocka_unit_test(test_loops_of_a_node_share_an_address))
