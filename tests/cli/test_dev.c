/* The nodes of `celld dev --nodes`: their lives, and what is typed. The nodes themselves are a program that
 * only answers as one does. */
#include "cli/dev_internal.h"
#include "rig.h"

#define NODES 3u

/* ---- A node that does nothing ---- */

struct world {
    struct rig r;
    struct cli c;
    struct cli_dev d;
    unsigned starts, reloads[NODES + 1];
    bool broken; /* Processes end at once. */
    int gives_up; /* Not 0: they end with this code when they are told to reload. */
    unsigned port; /* Of the next one's internal listener. */
    struct io_stream keyboard;
    struct io_write typed;
    struct cd_str text;
    struct io_op closing;
    bool finish, over;
    uint64_t closed_ns; /* When all was over. */
    int rc;
};

static void say(struct sim_child *c, struct io_stream *s, const char *text)
{
    struct cd_str part = cd_str(text);
    struct io_write w = {.part = &part, .parts = 1};
    (void)c;
    io_stream_write(s, &w, NULL);
    (void)io_await(&w.op, IO_FOREVER);
}

static unsigned number_of(const struct sim_child *c)
{
    for (size_t i = 0; c->env[i] != NULL; i++) {
        if (cd_str_starts(cd_str(c->env[i]), CD_STR("CELLD_NODE=dev-")) && strlen(c->env[i]) == 29)
            return (unsigned)(c->env[i][28] - '0');
    }
    return 0;
}

/* Answers one request; false: it was told to go. */
static bool answer(struct sim_child *c, struct io_listener *l)
{
    struct world *w = c->arg;
    struct io_stream s = {0};
    struct io_op op = {0};
    char bytes[2000];
    io_accept(l, &s, &op, NULL);
    if (io_await(&op, IO_FOREVER) != IO_OK)
        return false;
    struct io_read r = {.buf = bytes, .cap = sizeof bytes};
    io_stream_read(&s, &r, NULL);
    (void)io_await(&r.op, IO_FOREVER);
    bool leave = cd_str_starts(cd_str_of(bytes, r.len), CD_STR("POST /shutdown"));
    bool reload = cd_str_starts(cd_str_of(bytes, r.len), CD_STR("POST /reload"));
    w->reloads[number_of(c)] += reload;
    say(c, &s, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}");
    io_stream_close(&s, false, &op, NULL);
    (void)io_await(&op, IO_FOREVER);
    return !leave && !(reload && w->gives_up != 0);
}

static int node_program(struct sim_child *c)
{
    struct world *w = c->arg;
    struct io_listener l = {0};
    struct io_op op = {0};
    struct io_addr at = {.host = "127.0.0.1"};
    struct cd_buf line = {0};
    w->starts++;
    if (w->broken || io_listen(&l, c->io, &at, 0) != IO_OK)
        return 1;
    io_listener_addr(&l, &at);
    cd_buf_addf(&line, "celld internal listening on 127.0.0.1:%u (advertise=a)\n", at.port);
    say(c, c->out, cd_buf_cstr(&line));
    cd_buf_deinit(&line);
    while (answer(c, &l)) {
    }
    io_listener_close(&l, &op, NULL);
    (void)io_await(&op, IO_FOREVER);
    return w->gives_up;
}

/* ---- The supervisor's part ---- */

static bool is_finished(const void *arg)
{
    return ((const struct world *)arg)->finish;
}

static void main_flow(void *arg)
{
    struct world *w = arg;
    cli_dev_fleet_start(&w->d);
    w->rc = cli_dev_fleet_wait(&w->d, &w->d.failure);
    if (w->d.fleet)
        cli_dev_keys_start(&w->d);
    (void)cli_dev_wait(&w->d, is_finished, w, IO_FOREVER);
    cli_dev_keys_stop(&w->d);
    cli_dev_fleet_stop(&w->d);
    w->over = true;
}

static void boot(struct io *io, void *arg)
{
    (void)io_spawn(io, "main", main_flow, arg);
}

static void world_open(struct world *w, bool fleet)
{
    static const char *const no_env[] = {NULL};
    *w = (struct world){0};
    rig_open(&w->r);
    struct io *io = sim_io(w->r.node, 0);
    w->c = (struct cli){.io = io, .env = no_env, .threads = 2};
    w->d = (struct cli_dev){.c = &w->c,
                            .io = io,
                            .view.io = io,
                            .host = CD_STR("127.0.0.1"),
                            .port = 9876,
                            .fleet = fleet,
                            .nodes = fleet ? NODES : 1,
                            .ttl_ms = CLI_DEV_TTL_MS};
    w->d.project[0].project.root = CD_STR("/p");
    cd_buf_addf(&w->d.state, "/p/.celld/dev");
    io_signal_init(&w->d.news);
    sim_console_keyboard(w->r.node, &w->keyboard);
    sim_child_program(w->r.sim, "celld", node_program, w);
}

static void world_boot(struct world *w)
{
    sim_in_loop(w->r.node, 0, boot, w);
}

static bool is_over(void *arg)
{
    return ((struct world *)arg)->over;
}

static void finish(struct io *io, void *arg)
{
    struct world *w = arg;
    (void)io;
    w->finish = true;
    cli_dev_wake(&w->d);
}

static void keyboard_close(struct io *io, void *arg)
{
    struct world *w = arg;
    (void)io;
    if (w->keyboard.io != NULL)
        io_stream_close(&w->keyboard, false, &w->closing, NULL);
}

static void world_close(struct world *w)
{
    sim_in_loop(w->r.node, 0, finish, w);
    assert_true(sim_run_until(w->r.sim, is_over, w, IO_SEC(60)));
    w->closed_ns = sim_now_ns(w->r.sim);
    sim_in_loop(w->r.node, 0, keyboard_close, w);
    sim_run_for(w->r.sim, IO_SEC(1));
    cd_buf_deinit(&w->d.state);
    cd_buf_deinit(&w->d.failure);
    rig_close(&w->r);
}

static void type_now(struct io *io, void *arg)
{
    struct world *w = arg;
    (void)io;
    w->typed = (struct io_write){.part = &w->text, .parts = 1};
    io_stream_write(&w->keyboard, &w->typed, NULL);
}

struct wanted {
    struct world *w;
    const char *text;
    unsigned times;
};

static unsigned count_of(struct world *w, const char *text)
{
    struct cd_str out = rig_out(&w->r);
    unsigned n = 0;
    for (size_t at = 0; (at = cd_str_find_str(out, cd_str(text), at)) != SIZE_MAX; at++)
        n++;
    return n;
}

static bool is_shown(void *arg)
{
    struct wanted *x = arg;
    return count_of(x->w, x->text) >= x->times;
}

/* Until the text was shown so often; how long that took. */
static uint64_t shown(struct world *w, const char *text, unsigned times)
{
    struct wanted x = {w, text, times};
    uint64_t from = sim_now_ns(w->r.sim);
    if (!sim_run_until(w->r.sim, is_shown, &x, IO_SEC(60)))
        fail_msg("never shown %u times: %s\n%.*s", times, text, (int)rig_out(&w->r).len, rig_out(&w->r).ptr);
    return sim_now_ns(w->r.sim) - from;
}

static void type(struct world *w, const char *text)
{
    w->text = cd_str(text);
    sim_in_loop(w->r.node, 0, type_now, w);
    sim_run_for(w->r.sim, IO_MS(100));
}

static void fleet_open(struct world *w)
{
    world_open(w, true);
    world_boot(w);
    (void)shown(w, "ready  http://127.0.0.1:9876  node 1\n", 1);
    (void)shown(w, "ready  http://127.0.0.1:9877  node 2\n", 1);
    (void)shown(w, "ready  http://127.0.0.1:9878  node 3\n", 1);
    sim_run_for(w->r.sim, IO_MS(10));
    assert_int_equal(w->starts, 3);
}

static void test_a_killed_node_starts_again_when_the_others_had_the_time_to_take_over(void **state)
{
    struct world w;
    (void)state;
    fleet_open(&w);
    type(&w, "kill 2\n");
    (void)shown(&w, "node 2 is dead; it starts again in 8 s, with start 2 at once\n", 1);
    uint64_t took = shown(&w, "http://127.0.0.1:9877  node 2\n", 2);
    assert_true(took >= IO_MS(7900) && took < IO_SEC(9));
    assert_int_equal(w.starts, 4);
    world_close(&w);
}

static void test_a_killed_node_starts_at_once_when_told(void **state)
{
    struct world w;
    (void)state;
    fleet_open(&w);
    type(&w, "k3\n");
    (void)shown(&w, "node 3 is dead", 1);
    type(&w, "s 3\n");
    assert_true(shown(&w, "http://127.0.0.1:9878  node 3\n", 2) < IO_SEC(1));
    type(&w, "start 3\n");
    (void)shown(&w, "not now: node 3 serves\n", 1);
    world_close(&w);
}

static void test_a_drained_node_stays_away_until_it_is_wanted(void **state)
{
    struct world w;
    (void)state;
    fleet_open(&w);
    type(&w, "drain 1\n");
    (void)shown(&w, "node 1 has left; start 1 brings it back\n", 1);
    sim_run_for(w.r.sim, IO_SEC(60));
    assert_int_equal(w.starts, 3);
    type(&w, "nodes\n");
    (void)shown(&w, "node 1 has left\n", 1);
    (void)shown(&w, "node 2 serves\n", 1);
    type(&w, "start 1\n");
    (void)shown(&w, "http://127.0.0.1:9876  node 1\n", 2);
    world_close(&w);
}

static void reload(void *arg)
{
    cli_dev_fleet_reload(arg);
}

static void reload_boot(struct io *io, void *arg)
{
    (void)io_spawn(io, "reload", reload, arg);
}

static void test_a_frozen_node_adopts_when_it_goes_on(void **state)
{
    struct world w;
    (void)state;
    fleet_open(&w);
    type(&w, "freeze 1\n");
    (void)shown(&w, "node 1 is frozen\n", 1);
    for (unsigned i = 0; i < NODES; i++)
        w.d.node[i].stale = true;
    assert_true(cli_dev_fleet_stale(&w.d));
    sim_in_loop(w.r.node, 0, reload_boot, &w.d);
    (void)shown(&w, "http://127.0.0.1:9878  node 3\n", 2);
    assert_true(w.reloads[1] == 0 && w.reloads[2] == 1 && w.reloads[3] == 1);
    assert_false(cli_dev_fleet_stale(&w.d));
    type(&w, "drain 1\n");
    (void)shown(&w, "not now: node 1 is frozen\n", 1);
    type(&w, "thaw 1\n");
    assert_true(cli_dev_fleet_stale(&w.d));
    sim_in_loop(w.r.node, 0, reload_boot, &w.d);
    (void)shown(&w, "http://127.0.0.1:9876  node 1\n", 2);
    assert_int_equal(w.reloads[1], 1);
    /* One that is frozen at the end does not hold it up. */
    type(&w, "freeze 2\n");
    uint64_t from = sim_now_ns(w.r.sim);
    world_close(&w);
    assert_true(w.closed_ns - from < IO_SEC(5));
}

static void test_a_node_that_never_served_ends_the_start(void **state)
{
    struct world w;
    (void)state;
    world_open(&w, true);
    w.broken = true;
    world_boot(&w);
    sim_run_for(w.r.sim, IO_SEC(30));
    assert_int_equal(w.rc, CD_ECLOSED);
    assert_true(rig_has(cd_buf_str(&w.d.failure), "node 1 exited with 1"));
    assert_int_equal(w.starts, NODES);
    world_close(&w);
}

static void node_kill(struct io *io, void *arg)
{
    (void)io;
    cli_dev_node_kill(arg, 9);
}

static bool has_ended(void *arg)
{
    return cli_dev_fleet_over(arg);
}

static void test_the_only_node_is_not_started_again(void **state)
{
    struct world w;
    (void)state;
    world_open(&w, false);
    world_boot(&w);
    (void)shown(&w, "ready  http://127.0.0.1:9876\n", 1);
    sim_in_loop(w.r.node, 0, node_kill, &w.d.node[0]);
    assert_true(sim_run_until(w.r.sim, has_ended, &w.d, IO_SEC(1)));
    assert_true(rig_has(cd_buf_str(&w.d.node[0].failure), "the local celld node exited with signal 9"));
    world_close(&w);
}

static void test_the_only_node_is_started_again_when_it_gave_up(void **state)
{
    struct world w;
    (void)state;
    world_open(&w, false);
    w.gives_up = CLI_EXIT_STUCK;
    world_boot(&w);
    (void)shown(&w, "ready  http://127.0.0.1:9876\n", 1);
    w.d.node[0].stale = true;
    sim_in_loop(w.r.node, 0, reload_boot, &w.d);
    (void)shown(&w, "the node ended itself, because JavaScript could not be stopped; it starts again\n", 1);
    (void)shown(&w, "ready  http://127.0.0.1:9876\n", 2);
    assert_int_equal(w.starts, 2);
    world_close(&w);
}

/* ---- Lines ---- */

static void test_lines_say_what_is_done_to_which_node(void **state)
{
    static const struct {
        const char *line;
        unsigned nodes;
        int deed; /* -1: refused */
        unsigned node;
    } lines[] = {
        {"kill 2", 3, CLI_DEV_KILL, 2},
        {"k2", 3, CLI_DEV_KILL, 2},
        {" kill  3 \r", 3, CLI_DEV_KILL, 3},
        {"freeze1", 3, CLI_DEV_FREEZE, 1},
        {"t 1", 3, CLI_DEV_THAW, 1},
        {"d7", 7, CLI_DEV_DRAIN, 7},
        {"start 1", 1, CLI_DEV_START, 1},
        {"kill", 1, CLI_DEV_KILL, 1},
        {"nodes", 3, CLI_DEV_LIST, 0},
        {"", 3, CLI_DEV_HELP, 0},
        {"?", 3, CLI_DEV_HELP, 0},
        {"help", 1, CLI_DEV_HELP, 0},
        {"kill", 3, -1, 0},
        {"kill 0", 3, -1, 0},
        {"kill 4", 3, -1, 0},
        {"kill two", 3, -1, 0},
        {"kill 2 3", 3, -1, 0},
        {"kill -1", 3, -1, 0},
        {"nodes 2", 3, -1, 0},
        {"nodes 1", 1, -1, 0},
        {"Kill 2", 3, -1, 0},
        {"2", 3, -1, 0},
        {"kill 99999999999999999999", 3, -1, 0},
    };
    (void)state;
    for (size_t i = 0; i < CD_COUNT(lines); i++) {
        struct cli_dev_key key = {.node = 99};
        struct cd_buf why = {0};
        int rc = cli_dev_key_parse(cd_str(lines[i].line), lines[i].nodes, &key, &why);
        if (lines[i].deed < 0 ? rc == 0 || why.len == 0
                              : rc != 0 || (int)key.deed != lines[i].deed || key.node != lines[i].node)
            fail_msg("line \"%s\": rc %d, deed %d, node %u: %s", lines[i].line, rc, (int)key.deed, key.node,
                     cd_buf_cstr(&why));
        cd_buf_deinit(&why);
    }
}

CD_TESTS(dev, cmocka_unit_test(test_a_killed_node_starts_again_when_the_others_had_the_time_to_take_over),
         cmocka_unit_test(test_a_killed_node_starts_at_once_when_told),
         cmocka_unit_test(test_a_drained_node_stays_away_until_it_is_wanted),
         cmocka_unit_test(test_a_frozen_node_adopts_when_it_goes_on),
         cmocka_unit_test(test_a_node_that_never_served_ends_the_start),
         cmocka_unit_test(test_the_only_node_is_not_started_again),
         cmocka_unit_test(test_the_only_node_is_started_again_when_it_gave_up),
         cmocka_unit_test(test_lines_say_what_is_done_to_which_node))
