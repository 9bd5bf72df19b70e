/* Lanes of an S3-compatible store: each has connections of its own, which it keeps. */
#include "node_help.h"

#include "io_real/bucket.h"

/* Says of every object that it is absent, and counts who connects. */
struct shop {
    struct io_listener listener;
    struct io_addr at;
    unsigned connections;
    struct task guest[2 * IO_LANE_COUNT];
    struct io_stream stream[2 * IO_LANE_COUNT];
};
static struct shop shop;

static void guest_run(struct contract *c, void *arg)
{
    struct io_stream *s = arg;
    struct cd_buf in = {0};
    (void)c;
    while (stream_read_to(s, &in, in.len + 1) == IO_OK) {
        if (!cd_str_ends(cd_buf_str(&in), CD_STR("\r\n\r\n")))
            continue;
        cd_buf_clear(&in);
        CHECK_INT(stream_write(s, CD_STR("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")), IO_OK);
    }
    cd_buf_deinit(&in);
    stream_close(s, false);
}

static void shop_run(struct contract *c, void *arg)
{
    (void)arg;
    for (;;) {
        struct io_op op = {0};
        unsigned i = shop.connections;
        CHECK(i < CD_COUNT(shop.stream));
        io_accept(&shop.listener, &shop.stream[i], &op, NULL);
        if (io_await(&op, IO_FOREVER) != IO_OK) /* Until the test is over. */
            return;
        shop.connections++;
        task_start(&shop.guest[i], c, guest_run, &shop.stream[i]);
    }
}

static void flow_lanes(struct contract *c)
{
    struct task task;
    char endpoint[60];
    struct io_real_store *store = NULL;
    struct cd_buf why = {0};
    shop = (struct shop){0};
    listen_any(c, &shop.listener, &shop.at);
    task_start(&task, c, shop_run, NULL);
    (void)snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u", shop.at.port);
    struct io_real_store_opts o = {.url = CD_STR("s3://bucket"),
                                   .endpoint = cd_str(endpoint),
                                   .access_key = CD_STR("a"),
                                   .secret_key = CD_STR("b")};
    CHECK_INT(io_real_store_open(&store, &o, &why), 0);
    struct io_bucket *bucket = io_real_bucket_open(store, c->io);
    for (unsigned i = 0; i < 3 * IO_LANE_COUNT; i++) {
        struct io_store s = {.lane = (enum io_lane)(i % IO_LANE_COUNT)};
        io_store_head(&s, bucket, CD_STR("k"), NULL);
        CHECK_INT(await(&s.op), IO_NOENT);
        CHECK_INT(shop.connections, i < IO_LANE_COUNT ? i + 1 : IO_LANE_COUNT);
    }
    io_real_bucket_close(bucket);
    io_real_store_close(store);
    cd_buf_deinit(&why);
    io_fiber_cancel(task.fiber);
    task_join(&task);
    for (unsigned i = 0; i < shop.connections; i++) {
        io_fiber_cancel(shop.guest[i].fiber);
        task_join(&shop.guest[i]);
    }
    listener_close(&shop.listener);
}

static void test_each_lane_has_and_keeps_connections_of_its_own(void **state)
{
    (void)state;
    node_run(&(struct node_run){.opts = {.log_fd = -1}, .flow = flow_lanes});
}

CD_TESTS(lanes, cmocka_unit_test(test_each_lane_has_and_keeps_connections_of_its_own))
