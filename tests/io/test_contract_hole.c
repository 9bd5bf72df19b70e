/* Connecting to where everything gets lost: how long it is tried, and that nothing is left of it. */
#include "support.h"

static bool skipped; /* Of the running test: this machine has no such place. */

/* How late something may be on a busy machine. Far below any limit of the system's own. */
#define LATE_NS IO_SEC(8)

static bool took(struct contract *c, uint64_t from, uint64_t ns)
{
    uint64_t now = io_now_ns(c->io);
    return now >= from + ns && now < from + ns + LATE_NS;
}

/* ---- Streams ---- */

static void flow_stream(struct contract *c)
{
    struct io_addr at;
    struct io_stream s = {0};
    struct io_op op = {0};
    skipped = !contract_hole(c, &at);
    if (skipped)
        return;
    uint64_t from = io_now_ns(c->io);
    io_connect(&s, c->io, &at, &op, NULL);
    CHECK_INT(io_await(&op, from + IO_MS(50)), IO_TIMEDOUT);
    CHECK(took(c, from, IO_MS(50)) && s.io == NULL);
    io_connect(&s, c->io, &at, &op, NULL);
    CHECK_INT(io_sleep(c->io, IO_MS(20)), IO_OK);
    CHECK(io_busy(&op));
    io_cancel(&op);
    CHECK(io_busy(&op));
    CHECK_INT(await(&op), IO_CANCELED);
    CHECK(s.io == NULL);
}

static void test_a_connect_into_nowhere_ends_at_its_deadline(void **state)
{
    (void)state;
    contract_run(flow_stream);
    if (skipped)
        skip();
}

static void flow_others(struct contract *c)
{
    struct io_addr at;
    struct io_stream s = {0};
    struct io_op op = {0};
    struct pair p;
    skipped = !contract_hole(c, &at);
    if (skipped)
        return;
    io_connect(&s, c->io, &at, &op, NULL);
    CHECK_INT(io_sleep(c->io, IO_MS(20)), IO_OK);
    pair_open(c, &p); /* Does not wait for it. */
    CHECK(io_busy(&op));
    io_cancel(&op);
    CHECK_INT(await(&op), IO_CANCELED);
    pair_close(&p);
}

static void test_a_connect_into_nowhere_holds_no_other_back(void **state)
{
    (void)state;
    contract_run(flow_others);
    if (skipped)
        skip();
}

/* ---- Outbound HTTP ---- */

static int hole_ask(struct contract *c, const struct io_addr *at, uint64_t connect_ns, uint64_t total_ns)
{
    char url[IO_HOST_MAX + 20];
    struct io_http h = {0};
    struct io_op op = {0};
    (void)snprintf(url, sizeof url, "http://%s:%u/", at->host, at->port);
    struct io_http_ask ask = {.method = CD_STR("GET"),
                              .url = cd_str(url),
                              .connect_timeout_ns = connect_ns,
                              .total_timeout_ns = total_ns};
    io_http_start(&h, c->io, &ask, &op, NULL);
    int status = await(&op);
    CHECK(h.io == NULL);
    CHECK(status == IO_OK || h.why[0] != '\0');
    return status;
}

static void flow_http(struct contract *c)
{
    struct io_addr at;
    skipped = !contract_hole(c, &at);
    if (skipped)
        return;
    uint64_t from = io_now_ns(c->io);
    CHECK_INT(hole_ask(c, &at, IO_MS(60), 0), IO_TIMEDOUT);
    CHECK(took(c, from, IO_MS(60)));
    from = io_now_ns(c->io);
    CHECK_INT(hole_ask(c, &at, IO_SEC(20), IO_MS(60)), IO_TIMEDOUT); /* Whichever comes first. */
    CHECK(took(c, from, IO_MS(60)));
    from = io_now_ns(c->io);
    CHECK_INT(hole_ask(c, &at, 0, 0), IO_TIMEDOUT);
    CHECK(took(c, from, IO_SEC(10)));
}

static void test_connecting_for_a_request_takes_as_long_as_asked_and_else_ten_seconds(void **state)
{
    (void)state;
    contract_run(flow_http);
    if (skipped)
        skip();
}

static void flow_upload(struct contract *c)
{
    struct io_addr at;
    char url[IO_HOST_MAX + 20];
    struct io_http h = {0};
    struct io_op start = {0}, write = {0};
    skipped = !contract_hole(c, &at);
    if (skipped)
        return;
    (void)snprintf(url, sizeof url, "http://%s:%u/", at.host, at.port);
    struct io_http_ask ask = {
        .method = CD_STR("POST"), .url = cd_str(url), .body_len = 5, .connect_timeout_ns = IO_MS(60)};
    io_http_start(&h, c->io, &ask, &start, NULL);
    io_http_write(&h, CD_STR("hello"), true, &write, NULL);
    CHECK_INT(await(&start), IO_TIMEDOUT);
    CHECK_INT(await(&write), IO_TIMEDOUT);
    CHECK(h.io == NULL);
}

static void test_what_waits_to_be_sent_ends_with_the_connect(void **state)
{
    (void)state;
    contract_run(flow_upload);
    if (skipped)
        skip();
}

struct late_site {
    struct io_listener listener;
    struct io_addr at;
};

static void late_run(struct contract *c, void *arg)
{
    struct late_site *site = arg;
    struct io_stream s = {0};
    char bytes[1000];
    size_t len;
    CHECK_INT(stream_accept(&site->listener, &s), IO_OK);
    CHECK_INT(stream_read(&s, bytes, sizeof bytes, &len), IO_OK);
    CHECK_INT(io_sleep(c->io, IO_MS(700)), IO_OK);
    CHECK_INT(stream_write(&s, CD_STR("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")), IO_OK);
    stream_close(&s, false);
}

static void flow_connected(struct contract *c)
{
    struct late_site site = {0};
    struct task task;
    char url[60];
    struct io_http h = {0};
    struct io_op op = {0};
    listen_any(c, &site.listener, &site.at);
    task_start(&task, c, late_run, &site);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u/", site.at.port);
    struct io_http_ask ask = {.method = CD_STR("GET"), .url = cd_str(url), .connect_timeout_ns = IO_MS(500)};
    io_http_start(&h, c->io, &ask, &op, NULL);
    CHECK_INT(await(&op), IO_OK);
    CHECK_INT(h.status, 204);
    io_http_close(&h, &op, NULL);
    CHECK_INT(await(&op), IO_OK);
    task_join(&task);
    listener_close(&site.listener);
}

static void test_the_connect_timeout_does_not_cover_the_answer(void **state)
{
    (void)state;
    contract_run(flow_connected);
}

CD_TESTS(contract_hole, cmocka_unit_test(test_a_connect_into_nowhere_ends_at_its_deadline),
         cmocka_unit_test(test_a_connect_into_nowhere_holds_no_other_back),
         cmocka_unit_test(test_connecting_for_a_request_takes_as_long_as_asked_and_else_ten_seconds),
         cmocka_unit_test(test_what_waits_to_be_sent_ends_with_the_connect),
         cmocka_unit_test(test_the_connect_timeout_does_not_cover_the_answer))
