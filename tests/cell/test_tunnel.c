/* Calls of cells that another node has. */
#include "cell/rig.h"
#include "cell/rig_links.h"
#include "cell/tunnel_frame.h"

static void test_a_call_of_another_nodes_cell_is_answered_there(void **state)
{
    (void)state;
    rig_open_two();
    assert_string_equal(rig_ask("C:1", "add 5"), "5");
    assert_string_equal(rig_ask("C:1", "add 2"), "7");
    assert_string_equal(rig_ask("C:2", "get"), "0");
    assert_string_equal(rig_phase("C:1"), "remote");
    assert_int_equal(rig.starts, 2);
    assert_int_equal(rig.dials, 1); /* One tunnel for all. */
    assert_str_is(cell_name(rig.last), "me");
    assert_str_is(cell_script(rig.last), "test");
    rig_free();
}

static void test_messages_keep_their_order_and_the_end_comes_behind_them(void **state)
{
    (void)state;
    rig_open_two();
    struct call *c = rig_call("C:1", "add 1");
    for (unsigned i = 0; i < 10; i++)
        rig_send(c, "add 1");
    rig_send(c, "end");
    rig_run(500);
    assert_string_equal(c->got, "1 2 3 4 5 6 7 8 9 10 11 ");
    assert_true(c->closed && c->why[0] == '\0' && !c->retryable);
    rig_free();
}

static void test_who_hangs_up_is_gone_there_too(void **state)
{
    (void)state;
    rig_open_two();
    struct call *c = rig_call("C:1", "hang");
    rig_run(200);
    assert_int_equal(rig.starts, 1);
    rig_hang_up(c);
    rig_run(200);
    assert_int_equal(rig.stops[CELL_STOP_EVICT], 0);
    rig_close_other(); /* At once: nothing runs there any more. */
    rig_free();
}

static void test_a_reset_over_there_says_so_here(void **state)
{
    (void)state;
    rig_open_two();
    struct call *c = rig_call("C:1", "add 1");
    rig_run(200);
    rig_send(c, "abort by myself");
    rig_run(200);
    assert_true(c->closed && c->reset);
    assert_string_equal(c->why, "by myself");
    assert_string_equal(rig_ask("C:1", "get"), "1");
    rig_free();
}

static void test_an_owner_that_dies_loses_its_calls_and_they_are_not_made_again(void **state)
{
    (void)state;
    rig_open_two();
    assert_string_equal(rig_ask("C:1", "add 1"), "1");
    struct call *started = rig_call("C:1", "hang");
    rig_run(100);
    sim_crash_wait(rig.other.node, SIM_KILL);
    rig_run(100);
    assert_true(started->closed && !started->retryable && !started->reset);
    assert_string_equal(started->why, "Network connection lost.");
    rig_free();
}

/* It has the call, and nobody here knows how far it came. */
static void test_a_call_that_an_owner_took_along_is_not_made_again(void **state)
{
    (void)state;
    rig_open_two();
    rig.start_hangs = true;
    struct call *c = rig_call("C:1", "add 1");
    rig_run(1000);
    assert_false(c->closed);
    sim_crash_wait(rig.other.node, SIM_KILL);
    rig_run(100);
    assert_true(c->closed && !c->retryable);
    assert_string_equal(c->why, "Network connection lost.");
    rig_free();
}

static void test_calls_wait_for_an_owner_that_cannot_be_reached_and_go_to_the_next(void **state)
{
    (void)state;
    rig_open_two();
    sim_crash_wait(rig.other.node, SIM_KILL);
    struct call *first = rig_call("C:1", "add 1"), *second = rig_call("C:1", "add 10");
    rig_send(first, "add 100");
    rig_run(4000);
    assert_false(first->closed || first->messages > 0);
    assert_uint_in_range(rig.dials, 5, 9); /* At once, after 50 ms, 100 ms, ... 1 s. */
    fake.owner = NULL; /* Its lease has ended: we take over. */
    rig_run(2000);
    assert_string_equal(first->got, "1 101 ");
    assert_string_equal(second->got, "111 ");
    assert_string_equal(rig_phase("C:1"), "resident");
    rig_free();
}

static void test_a_call_on_its_way_to_a_node_that_stops_goes_to_the_next(void **state)
{
    (void)state;
    rig_open_two();
    struct call *before = rig_call("C:2", "add 1");
    rig_run(200);
    assert_string_equal(before->got, "1 ");
    rig_hang_up(before);
    rig_run(200);
    struct call *c = rig_call("C:1", "add 10");
    rig_links_stop_other(false); /* Its last word is under way before the call arrives. */
    rig_run(100);
    assert_false(c->closed);
    fake.owner = NULL; /* It has handed its cells over. */
    rig_run(3000);
    assert_string_equal(c->got, "10 ");
    rig_free();
}

/* Its listener is there to the end, and takes tunnels until then. */
static void test_a_tunnel_to_a_node_that_stops_is_told_that_nothing_started(void **state)
{
    (void)state;
    rig_open_two();
    rig_links_stop_other(true);
    rig_run(100);
    struct call *c = rig_call("C:1", "add 10");
    rig_send(c, "add 1");
    rig_run(300);
    assert_true(rig.dials > 1); /* It was tried, and is tried again. */
    assert_false(c->closed);
    fake.owner = NULL;
    rig_run(3000);
    assert_string_equal(c->got, "10 11 ");
    rig_free();
}

/* A call that has started has a second to come to its end. */
static void test_a_node_that_stops_does_not_cut_the_calls_that_end(void **state)
{
    (void)state;
    rig_open_two();
    struct call *c = rig_call("C:1", "add 1");
    rig_run(200);
    rig_links_stop_other(false);
    rig_send(c, "add 2");
    rig_run(200);
    assert_string_equal(c->got, "1 3 ");
    assert_false(c->closed);
    rig_send(c, "end");
    rig_run(200);
    assert_true(c->closed && c->why[0] == '\0');
    rig_free();
}

static void test_a_call_that_finds_no_owner_ends_with_its_deadline_and_may_be_made_again(void **state)
{
    (void)state;
    rig_open_two();
    sim_crash_wait(rig.other.node, SIM_KILL);
    struct call *c = rig_call("C:1", "add 1");
    rig_run(14500);
    assert_false(c->closed);
    rig_run(1500);
    assert_true(c->closed && c->retryable);
    assert_non_null(strstr(c->why, "cannot be reached"));
    rig_free();
}

static void test_an_owner_that_says_nothing_ends_the_call_for_good(void **state)
{
    (void)state;
    rig_open_two();
    rig.start_hangs = true;
    struct call *c = rig_call("C:1", "add 1");
    rig_run(1000);
    sim_pause(rig.other.node, IO_SEC(120)); /* It has the call. */
    rig_run(14000);
    assert_false(c->closed);
    rig_run(2000);
    assert_true(c->closed && !c->retryable);
    assert_string_equal(c->why, "Network connection lost.");
    sim_crash_wait(rig.other.node, SIM_KILL);
    rig_free();
}

static void test_a_call_ends_when_its_owner_gives_no_sign_of_life(void **state)
{
    (void)state;
    rig_open_two();
    struct call *c = rig_call("C:1", "add 1");
    rig_run(200);
    assert_string_equal(c->got, "1 ");
    rig_run(60000); /* Nothing is said, and the tunnel stays. */
    assert_false(c->closed);
    sim_pause(rig.other.node, IO_SEC(60));
    rig_run(14000);
    assert_false(c->closed);
    rig_run(12000);
    assert_true(c->closed && !c->retryable);
    rig_run(60000);
    rig_free();
}

static void test_a_route_is_not_used_beyond_the_lease_that_was_read(void **state)
{
    (void)state;
    rig_open_two();
    assert_string_equal(rig_ask("C:1", "add 1"), "1");
    unsigned claims = fake.claims;
    assert_string_equal(rig_ask("C:1", "add 1"), "2");
    assert_int_equal(fake.claims, claims);
    rig_run(10500);
    assert_string_equal(rig_phase("C:1"), "unknown"); /* Not worth a record. */
    fake.owner = "n/1"; /* The tunnel is open still. */
    assert_string_equal(rig_ask("C:1", "add 1"), "3");
    assert_string_equal(rig_phase("C:1"), "resident");
    rig_free();
}

static void on_route(struct io *io, void *arg)
{
    (void)io;
    (void)arg;
    fake.owner = NULL; /* n claims, and is asked by m in vain. */
}

static void test_a_node_that_does_not_have_the_cell_says_so_and_the_next_look_finds_who_has_it(void **state)
{
    (void)state;
    rig_open_two();
    assert_string_equal(rig_ask("C:1", "add 1"), "1");
    rig_close_other(); /* m lets go of it, and still listens. */
    struct call *c = rig_call("C:1", "add 1");
    rig_run(300);
    assert_false(c->closed);
    rig_on("C:1", on_route, NULL);
    rig_run(2000);
    assert_string_equal(c->got, "2 ");
    rig_free();
}

/* Bigger than a window: it comes in parts, and others get between. */
static void test_a_long_message_goes_in_parts(void **state)
{
    (void)state;
    rig_open_two();
    struct call *c = rig_call("C:1", "hang");
    rig_run(100);
    rig_fill(c, 3u << 20);
    assert_string_equal(rig_ask("C:2", "add 1"), "1");
    rig_run(2000);
    assert_int_equal(rig.longest, (3u << 20));
    rig_send(c, "get");
    rig_run(200);
    assert_string_equal(c->got, "0 ");
    rig_free();
}

static void frame(struct cd_buf *out, enum cell_frame_type type, uint64_t wire, struct cd_str payload)
{
    cd_buf_clear(out);
    cell_frame_add(out, type, wire, payload);
}

static void test_nonsense_ends_the_tunnel(void **state)
{
    (void)state;
    struct cd_buf b = {0};
    rig_open_two();
    rig_links_say(CD_STR("GET / HTTP/1.1\r\nHost: m\r\n\r\n"));
    assert_string_equal(rig_links_heard(), "ended");
    frame(&b, CELL_FRAME_STARTED, 1, (struct cd_str){0});
    rig_links_say(cd_buf_str(&b));
    assert_string_equal(rig_links_heard(), "ended");
    frame(&b, CELL_FRAME_OPEN, 1, CD_STR("what"));
    rig_links_say(cd_buf_str(&b));
    assert_string_equal(rig_links_heard(), "ended");
    frame(&b, CELL_FRAME_CREDIT, 7, CD_STR("1234")); /* Of a wire that ended before. */
    rig_links_say(cd_buf_str(&b));
    assert_string_equal(rig_links_heard(), "open");
    const struct cell_frame_open open = {.hops = 1, .deadline_ms = 1000, .scope = CD_STR("C:1")};
    cd_buf_clear(&b);
    cell_frame_add_open(&b, 1, &open);
    rig_links_say(cd_buf_str(&b));
    assert_string_equal(rig_links_heard(), "open");
    cell_frame_add_open(&b, 1, &open);
    rig_links_say(cd_buf_str(&b));
    assert_string_equal(rig_links_heard(), "ended");
    cd_buf_deinit(&b);
    assert_string_equal(rig_ask("C:1", "add 1"), "1"); /* Others are as they were. */
    rig_free();
}

static void test_a_parked_socket_stays_with_its_owner(void **state)
{
    (void)state;
    rig_open_two();
    struct call *c = rig_call("C:1", "park");
    rig_run(200);
    rig_send(c, "hello");
    rig_run(200);
    assert_string_equal(c->got, "hello ");
    assert_false(c->closed);
    rig_hang_up(c);
    rig_run(100);
    rig_free();
}

CD_TESTS(tunnel, cmocka_unit_test(test_a_call_of_another_nodes_cell_is_answered_there),
         cmocka_unit_test(test_messages_keep_their_order_and_the_end_comes_behind_them),
         cmocka_unit_test(test_who_hangs_up_is_gone_there_too),
         cmocka_unit_test(test_a_reset_over_there_says_so_here),
         cmocka_unit_test(test_an_owner_that_dies_loses_its_calls_and_they_are_not_made_again),
         cmocka_unit_test(test_a_call_that_an_owner_took_along_is_not_made_again),
         cmocka_unit_test(test_calls_wait_for_an_owner_that_cannot_be_reached_and_go_to_the_next),
         cmocka_unit_test(test_a_call_on_its_way_to_a_node_that_stops_goes_to_the_next),
         cmocka_unit_test(test_a_tunnel_to_a_node_that_stops_is_told_that_nothing_started),
         cmocka_unit_test(test_a_node_that_stops_does_not_cut_the_calls_that_end),
         cmocka_unit_test(test_a_call_that_finds_no_owner_ends_with_its_deadline_and_may_be_made_again),
         cmocka_unit_test(test_an_owner_that_says_nothing_ends_the_call_for_good),
         cmocka_unit_test(test_a_call_ends_when_its_owner_gives_no_sign_of_life),
         cmocka_unit_test(test_a_route_is_not_used_beyond_the_lease_that_was_read),
         cmocka_unit_test(test_a_node_that_does_not_have_the_cell_says_so_and_the_next_look_finds_who_has_it),
         cmocka_unit_test(test_a_long_message_goes_in_parts), cmocka_unit_test(test_nonsense_ends_the_tunnel),
         cmocka_unit_test(test_a_parked_socket_stays_with_its_owner))
