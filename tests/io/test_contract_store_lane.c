/* The contract of the object store: what is asked in one lane does not wait behind what waits in another. */
#include "store_support.h"

#define HELD 40

static struct io_store held[HELD]; /* Large, and the stack of a fiber is not. */

/* One write and one read in each other lane, while reads of the data lane get no answer. */
static void flow_lanes_do_not_wait_for_a_lane_without_answers(struct contract *c)
{
    CHECK_INT(store_put_text(c, "k", "body", IO_PUT_ANY, NULL), IO_OK);
    store_skipped = !contract_store_fault(c, CONTRACT_HOLD_ANSWER, "GET", HELD);
    if (store_skipped)
        return;
    for (unsigned i = 0; i < HELD; i++) {
        held[i] = (struct io_store){.lane = IO_LANE_DATA, .timeout_ns = IO_SEC(40)};
        io_store_get(&held[i], c->bucket, CD_STR("k"), 0, IO_WHOLE, NULL);
    }
    uint64_t from = io_now_ns(c->io);
    for (unsigned lane = 0; lane < IO_LANE_COUNT; lane++) {
        char key[20];
        struct io_store s = {.lane = (enum io_lane)lane};
        if (lane == IO_LANE_DATA)
            continue;
        (void)snprintf(key, sizeof key, "lane/%u", lane);
        io_store_put(&s, c->bucket, cd_str(key), CD_STR("x"), IO_PUT_IF_ABSENT, NULL);
        CHECK_INT(store_end(&s, true), IO_OK);
        io_store_head(&s, c->bucket, cd_str(key), NULL);
        CHECK_INT(store_end(&s, false), IO_OK);
    }
    CHECK(io_now_ns(c->io) < from + IO_SEC(30));
    for (unsigned i = 0; i < HELD; i++) {
        CHECK(io_busy(&held[i].op));
        io_cancel(&held[i].op);
    }
    for (unsigned i = 0; i < HELD; i++)
        CHECK_INT(store_end(&held[i], false), IO_CANCELED);
}

/* ---- A lane with much to do ---- */

#define FLOOD 3000
#define LARGE (16u << 20)
#define TRIES 20

static struct io_store flood[FLOOD];
static unsigned flood_left, flood_left_then;
static struct io_signal flood_over;

static void flood_done(struct io_op *op, int status)
{
    (void)op;
    CHECK_INT(status, IO_OK);
    if (--flood_left == 0)
        io_signal_wake(&flood_over, IO_OK);
}

static void lease_done(struct io_op *op, int status)
{
    (void)op;
    CHECK_INT(status, IO_OK);
    flood_left_then = flood_left;
}

/* The first of them is large, so that the rest is queued while it is done; the lease comes last. Whether it
 * ended before the flood did. */
static bool lease_overtakes(struct contract *c, bool write, struct cd_str large)
{
    struct io_store lease = {.lane = IO_LANE_LEASE, .timeout_ns = IO_SEC(60)};
    struct io_op wait = {0};
    flood_left = FLOOD;
    flood_left_then = 0;
    io_signal_init(&flood_over);
    for (unsigned i = 0; i < FLOOD; i++) {
        struct io_store *s = &flood[i];
        *s = (struct io_store){.lane = IO_LANE_DATA, .timeout_ns = IO_SEC(60)};
        if (write)
            io_store_put(s, c->bucket, CD_STR("k"), i == 0 ? large : CD_STR("x"), IO_PUT_ANY, flood_done);
        else if (i == 0)
            io_store_get(s, c->bucket, CD_STR("large"), 0, IO_WHOLE, flood_done);
        else
            io_store_head(s, c->bucket, CD_STR("k"), flood_done);
    }
    if (write)
        io_store_put(&lease, c->bucket, CD_STR("lease"), CD_STR("x"), IO_PUT_ANY, lease_done);
    else
        io_store_head(&lease, c->bucket, CD_STR("lease"), lease_done);
    while (flood_left > 0) {
        io_signal_wait(&flood_over, c->io, &wait, NULL);
        CHECK_INT(io_await(&wait, io_now_ns(c->io) + STORE_AWAIT_NS), IO_OK);
    }
    while (io_busy(&lease.op))
        CHECK_INT(io_sleep(c->io, IO_MS(1)), IO_OK);
    cd_buf_deinit(&flood[0].body);
    return flood_left_then > 0;
}

/* On a busy machine the flood may be over before the lease is asked for. In one queue the lease never comes
 * first, however often it is tried. */
static void flow_a_lease_overtakes_a_flood_of_data(struct contract *c)
{
    struct cd_buf large = {0};
    store_skipped = !contract_store_queues();
    if (store_skipped)
        return;
    cd_buf_add_zero(&large, LARGE);
    CHECK_INT(store_put(c, "large", cd_buf_str(&large), IO_PUT_ANY, NULL), IO_OK);
    for (int write = 1; write >= 0; write--) {
        unsigned tries = 1;
        while (!lease_overtakes(c, write == 1, cd_buf_str(&large)))
            CHECK(tries++ < TRIES);
    }
    cd_buf_deinit(&large);
}

STORE_TEST(lanes_do_not_wait_for_a_lane_without_answers, 1)
STORE_TEST(a_lease_overtakes_a_flood_of_data, 1)

CD_TESTS(contract_store_lane, cmocka_unit_test(test_lanes_do_not_wait_for_a_lane_without_answers),
         cmocka_unit_test(test_a_lease_overtakes_a_flood_of_data))
