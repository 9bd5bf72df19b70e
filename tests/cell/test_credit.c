/* Senders that are faster than their receivers: what lies between the ends of a wire is bounded. */
#include "cell/rig.h"

#define MESSAGE (64u << 10)

/* Sends as somebody does who heeds the wire: how many messages went. */
static unsigned send_until_full(struct call *c)
{
    unsigned n = 0;
    while (!cell_wire_full(c->wire) && n < 1000) {
        rig_fill(c, MESSAGE);
        rig_run(50);
        n++;
    }
    return n;
}

static void receiver_wakes(struct call *c, unsigned sent)
{
    rig_run(5000);
    assert_true(cell_wire_full(c->wire));
    assert_int_equal(c->drained + rig.filled, 0);
    rig_hear();
    rig_run(1000);
    assert_int_equal(rig.filled, sent);
    assert_int_equal(c->drained, 1);
    assert_true(cell_wire_unsent(c->wire) < CELL_WIRE_WINDOW / 2);
    for (unsigned i = 0; i < 100; i++) /* One after the other: it never fills again. */
        rig_fill(c, MESSAGE), rig_run(20);
    assert_int_equal(rig.filled, sent + 100);
    assert_true(cell_wire_unsent(c->wire) < CELL_WIRE_WINDOW / 2);
    rig_send(c, "get"); /* Behind all that. */
    rig_run(200);
    assert_string_equal(c->got, "0 ");
}

static void test_a_receiver_that_takes_nothing_holds_its_sender_up(void **state)
{
    (void)state;
    rig_open();
    struct call *c = rig_call("C:1", "deaf");
    rig_run(200);
    unsigned sent = send_until_full(c);
    assert_int_equal(sent, CELL_WIRE_WINDOW / MESSAGE);
    receiver_wakes(c, sent);
    rig_free();
}

static void test_one_at_another_node_does_too(void **state)
{
    (void)state;
    rig_open_two();
    struct call *c = rig_call("C:1", "deaf");
    rig_run(200);
    unsigned sent = send_until_full(c);
    /* Both nodes' wires, the window of the tunnel, and what is being passed on. */
    assert_uint_in_range(sent, 8, 2 * CELL_WIRE_WINDOW / MESSAGE + 2 * (256u << 10) / MESSAGE);
    receiver_wakes(c, sent);
    rig_free();
}

static void test_a_larger_message_comes_alone(void **state)
{
    (void)state;
    rig_open();
    struct call *c = rig_call("C:1", "deaf");
    rig_run(200);
    rig_fill(c, 3u << 20);
    rig_run(200);
    assert_true(cell_wire_full(c->wire));
    rig_hear();
    rig_run(1000);
    assert_int_equal(rig.longest, 3u << 20);
    assert_int_equal(c->drained, 1);
    rig_free();
}

static void test_the_end_of_a_wire_that_is_full_is_heard_behind_it(void **state)
{
    (void)state;
    rig_open();
    struct call *c = rig_call("C:1", "deaf");
    rig_run(200);
    unsigned sent = send_until_full(c);
    rig_hang_up(c);
    rig_run(200);
    rig_hear();
    rig_run(200);
    assert_int_equal(rig.filled, sent);
    rig_free();
}

CD_TESTS(credit, cmocka_unit_test(test_a_receiver_that_takes_nothing_holds_its_sender_up),
         cmocka_unit_test(test_one_at_another_node_does_too),
         cmocka_unit_test(test_a_larger_message_comes_alone),
         cmocka_unit_test(test_the_end_of_a_wire_that_is_full_is_heard_behind_it))
