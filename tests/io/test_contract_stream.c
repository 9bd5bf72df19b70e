/* Streams: bytes, order, ends, backpressure. How connections come and go is in test_contract_net.c. */
#include "support.h"

static void flow_echo(struct contract *c)
{
    struct pair p;
    char got[16];
    size_t len;
    pair_open(c, &p);
    CHECK_INT(stream_write(&p.client, CD_STR("ping")), IO_OK);
    struct cd_buf in = {0};
    CHECK_INT(stream_read_to(&p.server, &in, 4), IO_OK);
    CHECK(cd_str_eq(cd_buf_str(&in), CD_STR("ping")));
    cd_buf_deinit(&in);
    CHECK_INT(stream_write(&p.server, CD_STR("pong")), IO_OK);
    CHECK_INT(stream_read(&p.client, got, 1, &len), IO_OK);
    CHECK(len == 1 && got[0] == 'p');
    CHECK_INT(stream_read(&p.client, got, sizeof got, &len), IO_OK);
    CHECK(memcmp(got, "ong", len) == 0);
    pair_close(&p);
}

static void test_bytes_go_both_ways(void **state)
{
    (void)state;
    contract_run(flow_echo);
}

static void flow_half_close(struct contract *c)
{
    struct pair p;
    struct cd_buf in = {0};
    char byte;
    size_t len;
    pair_open(c, &p);
    CHECK_INT(stream_write(&p.client, CD_STR("question")), IO_OK);
    CHECK_INT(stream_finish(&p.client), IO_OK);
    CHECK_INT(stream_read_to(&p.server, &in, 100), IO_EOF);
    CHECK(cd_str_eq(cd_buf_str(&in), CD_STR("question")));
    CHECK_INT(stream_read(&p.server, &byte, 1, &len), IO_EOF); /* And again. */
    CHECK_INT(stream_write(&p.server, CD_STR("answer")), IO_OK); /* Writing goes on. */
    CHECK_INT(stream_finish(&p.server), IO_OK);
    cd_buf_clear(&in);
    CHECK_INT(stream_read_to(&p.client, &in, 100), IO_EOF);
    CHECK(cd_str_eq(cd_buf_str(&in), CD_STR("answer")));
    CHECK(stream_write(&p.client, CD_STR("more")) != IO_OK); /* Not after the end. */
    cd_buf_deinit(&in);
    pair_close(&p);
}

static void test_a_side_that_has_finished_still_reads(void **state)
{
    (void)state;
    contract_run(flow_half_close);
}

static void flow_lent(struct contract *c)
{
    struct pair p;
    struct io_read r = {0};
    pair_open(c, &p);
    for (int round = 0; round < 3; round++) {
        io_stream_read(&p.server, &r, NULL);
        CHECK(r.buf == NULL);
        CHECK_INT(stream_write(&p.client, CD_STR("lent")), IO_OK);
        CHECK_INT(await(&r.op), IO_OK);
        CHECK(r.buf != NULL && r.len >= 1 && r.len <= 4);
        CHECK(memcmp(r.buf, "lent", r.len) == 0);
        for (size_t have = r.len; have < 4; have += r.len) {
            io_stream_read(&p.server, &r, NULL);
            CHECK_INT(await(&r.op), IO_OK);
        }
    }
    /* A buffer of our own in the same op. */
    char own[8];
    r.buf = own;
    r.cap = sizeof own;
    io_stream_read(&p.server, &r, NULL);
    CHECK_INT(stream_write(&p.client, CD_STR("x")), IO_OK);
    CHECK_INT(await(&r.op), IO_OK);
    CHECK(r.buf == own && r.len == 1 && own[0] == 'x');
    CHECK_INT(stream_finish(&p.client), IO_OK);
    r.buf = NULL;
    io_stream_read(&p.server, &r, NULL);
    CHECK_INT(await(&r.op), IO_EOF);
    pair_close(&p);
}

static void test_a_read_without_a_buffer_is_lent_one(void **state)
{
    (void)state;
    contract_run(flow_lent);
}

#define READERS 40

struct lent_reader {
    struct pair pair;
    struct task task;
    unsigned number;
};

static void lent_reader_run(struct contract *c, void *arg)
{
    struct lent_reader *me = arg;
    struct io_read r = {0};
    (void)c;
    for (uint64_t at = 0;;) {
        io_stream_read(&me->pair.server, &r, NULL);
        int status = await(&r.op);
        if (status == IO_EOF) {
            CHECK_INT(at, 3 * 5000);
            return;
        }
        CHECK_INT(status, IO_OK);
        CHECK(pattern_is(r.buf, r.len, me->number * 1000 + at));
        at += r.len;
    }
}

static void flow_lent_many(struct contract *c)
{
    struct lent_reader *all = cd_alloc(READERS * sizeof *all);
    char bytes[5000];
    for (unsigned i = 0; i < READERS; i++) {
        pair_open(c, &all[i].pair);
        all[i].number = i;
        task_start(&all[i].task, c, lent_reader_run, &all[i]);
    }
    /* All of them have something to read at once, and each must see its own bytes. */
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < READERS; i++) {
            pattern_fill(bytes, sizeof bytes, i * 1000 + round * sizeof bytes);
            CHECK_INT(stream_write(&all[i].pair.client, cd_str_of(bytes, sizeof bytes)), IO_OK);
        }
    }
    for (unsigned i = 0; i < READERS; i++)
        CHECK_INT(stream_finish(&all[i].pair.client), IO_OK);
    for (unsigned i = 0; i < READERS; i++) {
        task_join(&all[i].task);
        pair_close(&all[i].pair);
    }
    cd_free(all);
}

static void test_lent_bytes_stay_until_their_fiber_has_seen_them(void **state)
{
    (void)state;
    contract_run(flow_lent_many);
}

static void flow_lent_late(struct contract *c)
{
    struct pair p, other;
    struct io_read r = {0}, r2 = {0};
    pair_open(c, &p);
    pair_open(c, &other);
    io_stream_read(&p.server, &r, NULL);
    CHECK_INT(stream_write(&p.client, CD_STR("first")), IO_OK);
    while (io_busy(&r.op)) /* It is done while this fiber waits for something else. */
        CHECK_INT(io_sleep(c->io, IO_MS(1)), IO_OK);
    CHECK_INT(stream_write(&other.client, CD_STR("other")), IO_OK);
    io_stream_read(&other.server, &r2, NULL);
    CHECK_INT(await(&r2.op), IO_OK);
    CHECK_INT(await(&r.op), IO_OK);
    CHECK(r.len <= 5 && memcmp(r.buf, "first", r.len) == 0);
    pair_close(&p);
    pair_close(&other);
}

static void test_lent_bytes_stay_while_their_fiber_waits_for_something_else(void **state)
{
    (void)state;
    contract_run(flow_lent_late);
}

static void flow_order(struct contract *c)
{
    struct pair p;
    struct cd_buf want = {0}, got = {0};
    static struct io_write w[IO_WRITES_MAX];
    static struct cd_str part[IO_WRITES_MAX][IO_PARTS_MAX];
    static char bytes[IO_WRITES_MAX][IO_PARTS_MAX];
    pair_open(c, &p);
    for (unsigned i = 0; i < IO_WRITES_MAX; i++) {
        unsigned parts = 1 + i % IO_PARTS_MAX;
        for (unsigned k = 0; k < parts; k++) {
            bytes[i][k] = (char)('!' + (i * 7 + k) % 90);
            part[i][k] = cd_str_of(&bytes[i][k], (i + k) % 3 == 0 ? 0 : 1); /* Empty parts too. */
            cd_buf_add_str(&want, part[i][k]);
        }
        w[i] = (struct io_write){.part = part[i], .parts = parts};
        io_stream_write(&p.client, &w[i], NULL);
    }
    for (unsigned i = 0; i < IO_WRITES_MAX; i++)
        CHECK_INT(await(&w[i].op), IO_OK);
    CHECK_INT(stream_finish(&p.client), IO_OK);
    CHECK_INT(stream_read_to(&p.server, &got, SIZE_MAX), IO_EOF);
    CHECK(cd_str_eq(cd_buf_str(&got), cd_buf_str(&want)));
    cd_buf_deinit(&want);
    cd_buf_deinit(&got);
    pair_close(&p);
}

static void test_writes_arrive_in_the_order_of_submission(void **state)
{
    (void)state;
    contract_run(flow_order);
}

#define BIG (8u << 20)
#define PIECE (256u << 10)

struct bulk {
    struct pair *pair;
    char *bytes;
    size_t sent;
};

static void bulk_write(struct contract *c, void *arg)
{
    struct bulk *b = arg;
    (void)c;
    while (b->sent < BIG) {
        CHECK_INT(stream_write(&b->pair->client, cd_str_of(b->bytes + b->sent, PIECE)), IO_OK);
        b->sent += PIECE;
    }
    CHECK_INT(stream_finish(&b->pair->client), IO_OK);
}

static void flow_big(struct contract *c)
{
    struct pair p;
    pair_open(c, &p);
    struct bulk b = {.pair = &p, .bytes = cd_alloc(BIG)};
    struct task writer;
    pattern_fill(b.bytes, BIG, 0);
    task_start(&writer, c, bulk_write, &b);
    /* Nobody reads: the writer comes to a stop somewhere before the end. */
    size_t before = SIZE_MAX;
    for (int quiet = 0; quiet < 20; quiet = b.sent == before ? quiet + 1 : 0) {
        before = b.sent;
        CHECK_INT(io_sleep(c->io, IO_MS(1)), IO_OK);
    }
    CHECK(b.sent < BIG && !writer.ended);
    /* A slow reader gets every byte, in order. */
    char bytes[30000];
    uint64_t at = 0;
    for (int round = 0;; round++) {
        size_t len;
        int status = stream_read(&p.server, bytes, round % 2 == 0 ? sizeof bytes : 777, &len);
        if (status == IO_EOF)
            break;
        CHECK_INT(status, IO_OK);
        CHECK(pattern_is(bytes, len, at));
        at += len;
        if (round % 16 == 0)
            CHECK_INT(io_sleep(c->io, 0), IO_OK);
    }
    CHECK_INT(at, BIG);
    task_join(&writer);
    cd_free(b.bytes);
    pair_close(&p);
}

static void test_a_slow_reader_holds_the_writer_back_and_misses_nothing(void **state)
{
    (void)state;
    contract_run(flow_big);
}

/* Fills the stream until a write has to wait. */
static void stuff(struct contract *c, struct io_stream *s, struct io_write *w, struct cd_str *bytes)
{
    *bytes = (struct cd_str){cd_alloc(16u << 20), 16u << 20};
    *w = (struct io_write){.part = bytes, .parts = 1};
    io_stream_write(s, w, NULL);
    for (int i = 0; i < 30; i++)
        CHECK_INT(io_sleep(c->io, IO_MS(1)), IO_OK);
    CHECK(io_busy(&w->op));
}

static void flow_cancel_write(struct contract *c)
{
    struct pair p;
    struct io_write w, behind;
    struct cd_str big, small = CD_STR("behind");
    pair_open(c, &p);
    stuff(c, &p.client, &w, &big);
    behind = (struct io_write){.part = &small, .parts = 1};
    io_stream_write(&p.client, &behind, NULL);
    io_cancel(&w.op);
    CHECK(io_busy(&w.op)); /* Never from inside cancel. */
    CHECK_INT(await(&w.op), IO_CANCELED);
    CHECK(await(&behind.op) != IO_OK);
    /* A part has gone: nothing can follow it. */
    CHECK(stream_write(&p.client, CD_STR("more")) != IO_OK);
    cd_free((void *)(uintptr_t)big.ptr);
    stream_close(&p.client, true);
    pair_close(&p);
}

static void test_a_canceled_write_breaks_the_stream(void **state)
{
    (void)state;
    contract_run(flow_cancel_write);
}

static void flow_cancel_read(struct contract *c)
{
    struct pair p;
    char bytes[8];
    size_t len;
    struct io_read r = {.buf = bytes, .cap = sizeof bytes};
    pair_open(c, &p);
    io_stream_read(&p.server, &r, NULL);
    CHECK_INT(io_await(&r.op, io_now_ns(c->io) + IO_MS(2)), IO_TIMEDOUT);
    CHECK(!io_busy(&r.op));
    io_stream_read(&p.server, &r, NULL);
    io_cancel(&r.op);
    CHECK(io_busy(&r.op));
    CHECK_INT(await(&r.op), IO_CANCELED);
    /* Nothing is lost by it. */
    CHECK_INT(stream_write(&p.client, CD_STR("a")), IO_OK);
    CHECK_INT(stream_read(&p.server, bytes, sizeof bytes, &len), IO_OK);
    CHECK(len == 1 && bytes[0] == 'a');
    pair_close(&p);
}

static void test_a_canceled_read_loses_nothing(void **state)
{
    (void)state;
    contract_run(flow_cancel_read);
}

static void flow_close_order(struct contract *c)
{
    struct pair p;
    struct probe finish, close;
    char byte;
    struct cd_str big = {cd_alloc(16u << 20), 16u << 20};
    struct io_read *r = cd_new(struct io_read);
    struct io_write *w = cd_new(struct io_write);
    probe_init(&finish);
    probe_init(&close);
    pair_open(c, &p);
    *r = (struct io_read){.buf = &byte, .cap = 1};
    *w = (struct io_write){.part = &big, .parts = 1};
    io_stream_read(&p.client, r, NULL);
    io_stream_write(&p.client, w, NULL);
    io_stream_finish(&p.client, &finish.op, probe_done);
    io_stream_close(&p.client, false, &close.op, probe_done);
    CHECK(io_busy(&r->op) && io_busy(&close.op) && close.calls == 0);
    CHECK_INT(probe_wait(c, &close), IO_OK);
    /* What was pending has ended before. */
    CHECK(!io_busy(&r->op) && !io_busy(&w->op));
    CHECK_INT(r->op.status, IO_CANCELED);
    CHECK(w->op.status == IO_CANCELED);
    CHECK_INT(finish.calls, 1);
    CHECK_INT(finish.status, IO_CANCELED);
    CHECK(finish.order < close.order);
    CHECK(p.client.io == NULL);
    turn(c);
    CHECK_INT(close.calls, 1);
    cd_free(r);
    cd_free(w);
    cd_free((void *)(uintptr_t)big.ptr);
    pair_close(&p);
}

static void test_closing_ends_what_is_pending_first(void **state)
{
    (void)state;
    contract_run(flow_close_order);
}

static void flow_close_delivers(struct contract *c)
{
    struct pair p;
    struct cd_buf in = {0};
    char bytes[20000];
    pair_open(c, &p);
    pattern_fill(bytes, sizeof bytes, 0);
    /* The one who closes has not read what the other still sends. */
    CHECK_INT(stream_write(&p.client, CD_STR("unread")), IO_OK);
    CHECK_INT(stream_write(&p.server, cd_str_of(bytes, sizeof bytes)), IO_OK);
    CHECK_INT(io_sleep(c->io, IO_MS(2)), IO_OK);
    stream_close(&p.server, false);
    (void)stream_write(&p.client, CD_STR("more"));
    CHECK_INT(io_sleep(c->io, IO_MS(2)), IO_OK);
    (void)stream_write(&p.client, CD_STR("and more"));
    CHECK_INT(stream_read_to(&p.client, &in, sizeof bytes), IO_OK);
    CHECK(pattern_is(in.ptr, in.len, 0));
    cd_buf_deinit(&in);
    pair_close(&p);
}

static void test_closing_delivers_what_was_written_although_the_peer_still_sends(void **state)
{
    (void)state;
    contract_run(flow_close_delivers);
}

static void flow_abort(struct contract *c)
{
    struct pair p;
    char byte;
    size_t len;
    pair_open(c, &p);
    stream_close(&p.client, true);
    CHECK_INT(stream_read(&p.server, &byte, 1, &len), IO_RESET);
    CHECK(stream_read(&p.server, &byte, 1, &len) != IO_OK); /* Broken stays broken. */
    CHECK(stream_write(&p.server, CD_STR("x")) != IO_OK);
    pair_close(&p);
    /* Also for a writer that waits. */
    struct io_write w;
    struct cd_str big;
    pair_open(c, &p);
    stuff(c, &p.server, &w, &big);
    stream_close(&p.client, true);
    CHECK_INT(await(&w.op), IO_RESET);
    CHECK(stream_read(&p.server, &byte, 1, &len) == IO_RESET);
    cd_free((void *)(uintptr_t)big.ptr);
    pair_close(&p);
}

static void test_an_aborted_stream_is_a_reset_at_its_peer(void **state)
{
    (void)state;
    contract_run(flow_abort);
}

static void flow_gone(struct contract *c)
{
    struct pair p;
    pair_open(c, &p);
    stream_close(&p.client, false);
    /* The first writes may still go into the void; an error comes, not a signal and not a hang. */
    int status = IO_OK;
    for (int i = 0; i < 5000 && status == IO_OK; i++) {
        status = stream_write(&p.server, CD_STR("is anybody there"));
        CHECK_INT(io_sleep(c->io, IO_MS(1)), IO_OK);
    }
    CHECK_INT(status, IO_RESET);
    pair_close(&p);
}

static void test_writing_to_a_peer_that_has_closed_fails_in_the_end(void **state)
{
    (void)state;
    contract_run(flow_gone);
}

struct echo {
    struct io_stream *stream;
    struct io_read read;
    struct io_write write;
    struct cd_str part;
    unsigned reads, writes, in_submit;
    struct io_signal over;
};

static void echo_read_done(struct io_op *op, int status);

static void echo_write_done(struct io_op *op, int status)
{
    struct echo *e = CD_CONTAINER(op, struct echo, write.op);
    CHECK_INT(status, IO_OK);
    CHECK_INT(e->in_submit, 0); /* Never from inside submit. */
    e->writes++;
    e->in_submit++;
    io_stream_read(e->stream, &e->read, echo_read_done);
    e->in_submit--;
}

static char echo_copy[8];

static void echo_read_done(struct io_op *op, int status)
{
    struct echo *e = CD_CONTAINER(op, struct echo, read.op);
    CHECK_INT(e->in_submit, 0);
    if (status == IO_EOF) {
        io_signal_wake(&e->over, IO_OK);
        return;
    }
    CHECK_INT(status, IO_OK);
    e->reads++;
    CHECK(e->read.len <= sizeof echo_copy);
    memcpy(echo_copy, e->read.buf, e->read.len); /* Lent bytes end with this callback. */
    e->part = cd_str_of(echo_copy, e->read.len);
    e->write.part = &e->part;
    e->write.parts = 1;
    e->in_submit++;
    io_stream_write(e->stream, &e->write, echo_write_done);
    e->in_submit--;
}

static void flow_callbacks(struct contract *c)
{
    struct pair p;
    char byte;
    size_t len;
    struct io_op over = {0};
    pair_open(c, &p);
    struct echo e = {.stream = &p.server};
    io_signal_init(&e.over);
    io_stream_read(e.stream, &e.read, echo_read_done);
    for (unsigned i = 0; i < 300; i++) {
        char sent = (char)i;
        CHECK_INT(stream_write(&p.client, cd_str_of(&sent, 1)), IO_OK);
        CHECK_INT(stream_read(&p.client, &byte, 1, &len), IO_OK);
        CHECK(byte == sent);
    }
    CHECK_INT(e.reads, 300);
    io_signal_wait(&e.over, c->io, &over, NULL);
    CHECK_INT(stream_finish(&p.client), IO_OK);
    CHECK_INT(await(&over), IO_OK);
    CHECK_INT(e.writes, 300);
    pair_close(&p);
}

static void test_an_op_may_be_submitted_again_in_its_done(void **state)
{
    (void)state;
    contract_run(flow_callbacks);
}

static void close_in_done(struct io_op *op, int status)
{
    struct echo *e = CD_CONTAINER(op, struct echo, read.op);
    CHECK_INT(status, IO_OK);
    static struct io_op close;
    io_stream_close(e->stream, false, &close, NULL);
    io_signal_wake(&e->over, IO_OK);
}

static void flow_close_in_done(struct contract *c)
{
    struct pair p;
    struct io_op over = {0};
    char byte;
    size_t len;
    pair_open(c, &p);
    struct echo *e = cd_new(struct echo);
    e->stream = &p.server;
    io_signal_init(&e->over);
    io_stream_read(e->stream, &e->read, close_in_done);
    io_signal_wait(&e->over, c->io, &over, NULL);
    CHECK_INT(stream_write(&p.client, CD_STR("x")), IO_OK);
    CHECK_INT(await(&over), IO_OK);
    cd_free(e);
    turn(c);
    CHECK_INT(stream_read(&p.client, &byte, 1, &len), IO_EOF);
    pair_close(&p);
}

static void test_a_stream_may_be_closed_in_the_done_of_its_read(void **state)
{
    (void)state;
    contract_run(flow_close_in_done);
}

CD_TESTS(contract_stream, cmocka_unit_test(test_bytes_go_both_ways),
         cmocka_unit_test(test_a_side_that_has_finished_still_reads),
         cmocka_unit_test(test_a_read_without_a_buffer_is_lent_one),
         cmocka_unit_test(test_lent_bytes_stay_until_their_fiber_has_seen_them),
         cmocka_unit_test(test_lent_bytes_stay_while_their_fiber_waits_for_something_else),
         cmocka_unit_test(test_writes_arrive_in_the_order_of_submission),
         cmocka_unit_test(test_a_slow_reader_holds_the_writer_back_and_misses_nothing),
         cmocka_unit_test(test_a_canceled_write_breaks_the_stream),
         cmocka_unit_test(test_a_canceled_read_loses_nothing),
         cmocka_unit_test(test_closing_ends_what_is_pending_first),
         cmocka_unit_test(test_closing_delivers_what_was_written_although_the_peer_still_sends),
         cmocka_unit_test(test_an_aborted_stream_is_a_reset_at_its_peer),
         cmocka_unit_test(test_writing_to_a_peer_that_has_closed_fails_in_the_end),
         cmocka_unit_test(test_an_op_may_be_submitted_again_in_its_done),
         cmocka_unit_test(test_a_stream_may_be_closed_in_the_done_of_its_read))
