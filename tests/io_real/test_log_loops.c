/* The node log on real threads: rows of two shards, proofs back to them, a real store, its end. What the log
 * decides is tested on the simulator (tests/log); here the loops really run beside each other. */
#include <stdlib.h>
#include <unistd.h>

#include "io_real/bucket.h"
#include "io_real/io_real.h"
#include "log/log.h"
#include "log/slot.h"
#include "support/test.h"

#define SHARDS 2u
#define ROWS 200u
#define SESSION "node_a/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct shard {
    struct rig *r;
    struct io *io;
    struct log_feed *feed;
    struct io_msg start, over;
};

struct rig {
    struct io_real *node;
    struct io *control;
    struct io_bucket *bucket;
    struct log *log;
    struct shard shard[SHARDS];
    unsigned over; /* Of the control loop. */
    struct io_signal changed;
    uint64_t folded, found, slots;
    int seal_status;
};

static void publish(void *arg, const struct store_log_record *record, struct io_op *op, io_done_fn *done)
{
    (void)record;
    io_defer(op, ((struct rig *)arg)->control, IO_OK, done);
}

static void fence(void *arg, const char *cause)
{
    (void)arg;
    (void)cause;
    CHECK(false);
}

static void durable(void *arg, struct log_durable *d)
{
    struct rig *r = arg;
    struct cd_link *k;
    while ((k = cd_list_pop(&d->rows)) != NULL) {
        r->folded++;
        log_row_free(CD_CONTAINER(k, struct log_row, link));
    }
}

static void shard_over(struct io *at, struct io_msg *m)
{
    struct shard *s = CD_CONTAINER(m, struct shard, over);
    (void)at;
    s->r->over++;
    io_signal_wake(&s->r->changed, IO_OK);
}

static void shard_flow(void *arg)
{
    struct shard *s = arg;
    for (unsigned i = 1; i <= ROWS; i++) {
        struct log_row *row = log_row_new(CD_STR("Room:a"), io_loop_index(s->io));
        row->min_txid = row->max_txid = i;
        cd_buf_add_zero(&row->ltx, i % 100 == 0 ? 50000 : 100);
        CHECK_INT(log_feed_row(s->feed, row), i);
        if (i % 7 == 0) {
            struct log_wait w = {.seq = i};
            log_feed_wait(s->feed, &w, NULL);
            CHECK_INT(io_await(&w.op, io_now_ns(s->io) + IO_SEC(60)), IO_OK);
        }
    }
    struct log_wait last = {.seq = ROWS};
    log_feed_wait(s->feed, &last, NULL);
    CHECK_INT(io_await(&last.op, io_now_ns(s->io) + IO_SEC(60)), IO_OK);
    struct io_op op = {0};
    log_feed_close(s->feed, &op, NULL);
    CHECK_INT(io_await(&op, IO_FOREVER), IO_OK);
    s->over.handle = shard_over;
    io_post(s->io, 0, &s->over);
}

static void shard_start(struct io *at, struct io_msg *m)
{
    struct shard *s = CD_CONTAINER(m, struct shard, start);
    s->io = at;
    s->feed = log_feed_open(s->r->log, at);
    (void)io_spawn(at, "shard", shard_flow, s);
}

/* Reads the slots back: all rows, each batch after the one before. */
static void read_slots(struct rig *r)
{
    struct io_store s = {.lane = IO_LANE_CONTROL};
    uint64_t batch = 0;
    for (uint64_t n = 1;; n++) {
        struct cd_buf key = {0}, why = {0};
        struct log_slot slot;
        struct log_batch b;
        log_slot_key(&key, CD_STR(SESSION), n);
        io_store_get(&s, r->bucket, cd_buf_str(&key), 0, IO_WHOLE, NULL);
        CHECK_INT(io_await(&s.op, io_now_ns(r->control) + IO_SEC(30)), IO_OK);
        CHECK_INT(log_slot_open(&slot, cd_buf_str(&s.body), CD_STR(SESSION), n, &why), 0);
        bool seal = slot.head.kind == LOG_SLOT_SEAL;
        CHECK_INT(slot.head.first_batch, batch + 1);
        for (size_t i = 0; i < log_slot_batches(&slot); i++) {
            CHECK_INT(log_slot_batch_open(&slot, i, &b, &why), 0);
            r->found += b.rows;
        }
        batch = slot.head.last_batch;
        r->slots = n;
        log_slot_deinit(&slot);
        cd_buf_deinit(&key);
        cd_buf_deinit(&why);
        if (seal)
            break;
    }
    cd_buf_deinit(&s.body);
}

static void control_flow(void *arg)
{
    struct rig *r = arg;
    struct io_op op = {0};
    while (r->over < SHARDS) {
        io_signal_wait(&r->changed, r->control, &op, NULL);
        CHECK_INT(io_await(&op, IO_FOREVER), IO_OK);
    }
    log_flush(r->log, &op, NULL);
    CHECK_INT(io_await(&op, IO_FOREVER), IO_OK);
    log_seal(r->log, &op, NULL);
    r->seal_status = io_await(&op, IO_FOREVER);
    log_close(r->log, &op, NULL);
    CHECK_INT(io_await(&op, IO_FOREVER), IO_OK);
    read_slots(r);
    io_real_stop(r->node);
}

static void entry(struct io *io, void *arg)
{
    struct rig *r = arg;
    if (io_loop_index(io) != 0)
        return;
    r->control = io;
    io_signal_init(&r->changed);
    r->log = log_new(&(struct log_opts){.io = io,
                                        .bucket = r->bucket,
                                        .session = CD_STR(SESSION),
                                        .pipeline = 4,
                                        .target_bytes = 40000,
                                        .arg = r,
                                        .publish = publish,
                                        .fence = fence,
                                        .durable = durable});
    (void)io_spawn(io, "control", control_flow, r);
    for (unsigned i = 0; i < SHARDS; i++) {
        r->shard[i] = (struct shard){.r = r, .start.handle = shard_start};
        io_post(io, i + 1, &r->shard[i].start);
    }
}

static void test_rows_of_real_shards_are_stored_and_proven(void **state)
{
    (void)state;
    static struct rig r;
    char dir[] = "/tmp/celld-log-XXXXXX";
    struct cd_buf why = {0}, url = {0}, file = {0};
    struct io_real_store *store = NULL;
    assert_non_null(mkdtemp(dir));
    cd_buf_addf(&url, "file://%s", dir);
    struct io_real_store_opts o = {.url = cd_buf_str(&url)};
    assert_int_equal(io_real_store_open(&store, &o, &why), 0);
    r.node = io_real_new(&(struct io_real_opts){.shards = SHARDS, .log_fd = -1});
    r.bucket = io_real_bucket_open(store, io_real_loop(r.node, 0));
    io_real_run(r.node, entry, &r);
    io_real_bucket_close(r.bucket);
    io_real_free(r.node);
    io_real_store_close(store);
    assert_int_equal(r.seal_status, IO_OK);
    assert_int_equal(r.folded, SHARDS * ROWS);
    assert_int_equal(r.found, SHARDS * ROWS);
    assert_true(r.slots > 2 && r.slots < SHARDS * ROWS);
    static const char *const left[] = {"objects.sqlite3", "objects.sqlite3-wal", "objects.sqlite3-shm"};
    for (size_t i = 0; i < CD_COUNT(left); i++) {
        cd_buf_clear(&file);
        cd_buf_addf(&file, "%s/%s", dir, left[i]);
        (void)unlink(cd_buf_cstr(&file));
    }
    assert_int_equal(rmdir(dir), 0);
    cd_buf_deinit(&file);
    cd_buf_deinit(&url);
    cd_buf_deinit(&why);
}

CD_TESTS(log_loops, cmocka_unit_test(test_rows_of_real_shards_are_stored_and_proven))
