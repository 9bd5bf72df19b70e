/* Outbound HTTP: several requests to one host at once. */
#include "support.h"

#define MANY 10

/* Takes the heads of MANY requests before it answers any, the last one first; of the first one it sends no
 * end. */
struct counter {
    struct io_listener listener;
    struct io_addr at;
};

static void counter_run(struct contract *c, void *arg)
{
    struct counter *site = arg;
    struct io_stream s[MANY] = {0};
    struct io_read held = {0};
    (void)c;
    for (int i = 0; i < MANY; i++) {
        struct cd_buf head = {0};
        CHECK_INT(stream_accept(&site->listener, &s[i]), IO_OK);
        while (!cd_str_ends(cd_buf_str(&head), CD_STR("\r\n\r\n")))
            CHECK_INT(stream_read_to(&s[i], &head, head.len + 1), IO_OK);
        cd_buf_deinit(&head);
    }
    CHECK_INT(stream_write(&s[0], CD_STR("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")), IO_OK);
    for (int i = MANY - 1; i > 0; i--) {
        CHECK_INT(stream_write(&s[i], CD_STR("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")), IO_OK);
        stream_close(&s[i], false);
    }
    io_stream_read(&s[0], &held, NULL);
    CHECK(await(&held.op) != IO_OK); /* Until it is given up. */
    stream_close(&s[0], false);
}

static void flow_many(struct contract *c)
{
    struct counter site = {0};
    struct task task;
    char url[60];
    struct io_http h[MANY] = {0};
    struct io_op op[MANY] = {0}, close = {0};
    int first = -1;
    listen_any(c, &site.listener, &site.at);
    task_start(&task, c, counter_run, &site);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u/", site.at.port);
    for (int i = 0; i < MANY; i++) {
        struct io_http_ask ask = {.method = CD_STR("GET"), .url = cd_str(url)};
        io_http_start(&h[i], c->io, &ask, &op[i], NULL);
    }
    for (int i = 0; i < MANY; i++) {
        CHECK_INT(await(&op[i]), IO_OK);
        if (h[i].status == 200) { /* Nobody reads this one. */
            CHECK_INT(first, -1);
            first = i;
            continue;
        }
        CHECK_INT(h[i].status, 204);
        io_http_close(&h[i], &close, NULL);
        CHECK_INT(await(&close), IO_OK);
    }
    CHECK(first >= 0);
    io_http_close(&h[first], &close, NULL);
    CHECK_INT(await(&close), IO_OK);
    task_join(&task);
    listener_close(&site.listener);
}

static void test_requests_to_one_host_do_not_wait_for_each_other(void **state)
{
    (void)state;
    contract_run(flow_many);
}

CD_TESTS(contract_http_many, cmocka_unit_test(test_requests_to_one_host_do_not_wait_for_each_other))
