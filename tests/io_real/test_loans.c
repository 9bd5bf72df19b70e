/* Lent reads when the loop has more fibers to run than fit into one turn. */
#include "node_help.h"

#define CROWD 1200 /* Several turns' worth. */
#define READERS 8
#define ROUNDS 4
#define PIECE 3000

struct reader {
    struct pair pair;
    struct task task;
    uint64_t number, at;
};

static void reader_run(struct contract *c, void *arg)
{
    struct reader *me = arg;
    struct io_read r = {0};
    (void)c;
    for (;;) {
        io_stream_read(&me->pair.server, &r, NULL);
        if (io_await(&r.op, IO_FOREVER) != IO_OK)
            break;
        CHECK(pattern_is(r.buf, r.len, me->number * 777 + me->at));
        me->at += r.len;
    }
    CHECK_INT(r.op.status, IO_EOF);
    CHECK_INT(me->at, ROUNDS * PIECE);
}

static void pass_by(void *arg)
{
    ++*(unsigned *)arg;
}

/* Has something for every reader, and a crowd that is ready before them. */
static void one_round(struct contract *c, struct reader *all, uint64_t round)
{
    static char bytes[READERS][PIECE];
    struct cd_str part[READERS];
    struct io_write w[READERS];
    unsigned passed = 0;
    for (unsigned i = 0; i < READERS; i++) {
        pattern_fill(bytes[i], PIECE, i * 777 + round * PIECE);
        part[i] = cd_str_of(bytes[i], PIECE);
        w[i] = (struct io_write){.part = &part[i], .parts = 1};
        io_stream_write(&all[i].pair.client, &w[i], NULL);
    }
    for (unsigned i = 0; i < CROWD; i++)
        (void)io_spawn(c->io, "crowd", pass_by, &passed);
    for (unsigned i = 0; i < READERS; i++)
        CHECK_INT(await(&w[i].op), IO_OK);
    while (passed < CROWD)
        CHECK_INT(io_sleep(c->io, 0), IO_OK);
    for (unsigned i = 0; i < READERS; i++) {
        while (all[i].at < (round + 1) * PIECE)
            CHECK_INT(io_sleep(c->io, IO_MS(1)), IO_OK);
    }
}

static void flow_crowd(struct contract *c)
{
    struct reader *all = cd_alloc(READERS * sizeof *all);
    for (unsigned i = 0; i < READERS; i++) {
        pair_open(c, &all[i].pair);
        all[i].number = i;
        task_start(&all[i].task, c, reader_run, &all[i]);
    }
    for (uint64_t round = 0; round < ROUNDS; round++)
        one_round(c, all, round);
    for (unsigned i = 0; i < READERS; i++) {
        CHECK_INT(stream_finish(&all[i].pair.client), IO_OK);
        task_join(&all[i].task);
        pair_close(&all[i].pair);
    }
    cd_free(all);
}

static void test_lent_bytes_stay_until_a_fiber_that_comes_late_has_seen_them(void **state)
{
    (void)state;
    node_run(&(struct node_run){.opts = {.log_fd = -1}, .flow = flow_crowd});
}

CD_TESTS(loans, cmocka_unit_test(test_lent_bytes_stay_until_a_fiber_that_comes_late_has_seen_them))
