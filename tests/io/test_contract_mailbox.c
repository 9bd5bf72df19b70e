/* Mailboxes between the loops of a node. */
#include "support.h"

#define MAILS 2000

struct letter {
    struct io_msg msg;
    struct office *office;
    unsigned from, number;
};

struct office {
    struct contract *c;
    struct letter letter[3][MAILS];
    unsigned seen[3]; /* By sender, at loop 0. */
    struct io_signal arrived;
};

static void letter_read(struct io *at, struct io_msg *m)
{
    struct letter *t = CD_CONTAINER(m, struct letter, msg);
    struct office *o = t->office;
    CHECK(at == o->c->io && io_current() == at);
    CHECK_INT(t->number, o->seen[t->from]); /* FIFO per pair. */
    o->seen[t->from]++;
    io_signal_wake(&o->arrived, IO_OK);
}

static void send_all(struct io *io, void *arg)
{
    struct office *o = arg;
    unsigned from = io_loop_index(io);
    for (unsigned i = 0; i < MAILS; i++) {
        struct letter *t = &o->letter[from][i];
        *t = (struct letter){.msg.handle = letter_read, .office = o, .from = from, .number = i};
        io_post(io, 0, &t->msg);
    }
}

static void send_later(struct io *at, struct io_msg *m)
{
    struct office *o = CD_CONTAINER(m, struct letter, msg)->office;
    cd_free(CD_CONTAINER(m, struct letter, msg));
    send_all(at, o);
}

static void wait_all(struct contract *c, struct office *o)
{
    struct io_op op = {0};
    while (o->seen[0] + o->seen[1] + o->seen[2] < 3 * MAILS) {
        io_signal_wait(&o->arrived, c->io, &op, NULL);
        CHECK_INT(await(&op), IO_OK);
    }
}

static void flow_fifo(struct contract *c)
{
    struct office *o = cd_new(struct office);
    o->c = c;
    io_signal_init(&o->arrived);
    CHECK_INT(io_loop_count(c->io), 3);
    for (unsigned loop = 1; loop < 3; loop++) {
        struct letter *start = cd_new(struct letter);
        CHECK_INT(io_loop_index(c->loop[loop]), loop);
        start->office = o;
        start->msg.handle = send_later;
        io_post(c->io, loop, &start->msg);
    }
    send_all(c->io, o);
    CHECK_INT(o->seen[0], 0); /* Never from inside post. */
    wait_all(c, o);
    for (unsigned loop = 0; loop < 3; loop++)
        CHECK_INT(o->seen[loop], MAILS);
    cd_free(o);
}

static void test_messages_of_each_pair_arrive_once_and_in_order(void **state)
{
    (void)state;
    contract_run_loops(3, flow_fifo);
}

struct ball {
    struct io_msg msg;
    unsigned hits;
    struct io_signal over;
};

static void ball_hit(struct io *at, struct io_msg *m)
{
    struct ball *b = CD_CONTAINER(m, struct ball, msg);
    CHECK_INT(io_loop_index(at), b->hits % 2 == 0 ? 1 : 0);
    if (++b->hits == 1000)
        io_signal_wake(&b->over, IO_OK);
    else
        io_post(at, 1 - io_loop_index(at), m); /* The receiver owns the message: it may post it on. */
}

static void flow_ping_pong(struct contract *c)
{
    struct ball b = {.msg.handle = ball_hit};
    struct io_op op = {0};
    io_signal_init(&b.over);
    io_signal_wait(&b.over, c->io, &op, NULL);
    io_post(c->io, 1, &b.msg);
    CHECK_INT(await(&op), IO_OK);
    CHECK_INT(b.hits, 1000);
}

static void test_a_message_may_be_posted_on_by_its_receiver(void **state)
{
    (void)state;
    contract_run_loops(2, flow_ping_pong);
}

CD_TESTS(contract_mailbox, cmocka_unit_test(test_messages_of_each_pair_arrive_once_and_in_order),
         cmocka_unit_test(test_a_message_may_be_posted_on_by_its_receiver))
