/* Everything at once: three nodes that serve, ask, write files and start children, under all faults of the
 * simulator. The programs check nothing but themselves; what is checked is the simulator: it ends, leaves
 * nothing, and repeats. STRESS_SEEDS=N runs more seeds than the few of every day. */
#include "base/rng.h"
#include "rig.h"

#define NODES 3u
#define RUN_NS IO_SEC(20)

static const char *const names[NODES] = {"n0", "n1", "n2"};

/* ---- The programs ---- */

struct visit {
    struct io_stream s;
};

static void visit_flow(void *arg)
{
    struct visit *v = arg;
    struct cd_buf in = {0};
    int rc;
    do {
        char bytes[700];
        struct io_read r = {.buf = bytes, .cap = sizeof bytes};
        io_stream_read(&v->s, &r, NULL);
        rc = io_await(&r.op, io_now_ns(v->s.io) + IO_SEC(3));
        if (rc == IO_OK)
            rc = rig_write(&v->s, bytes, r.len);
    } while (rc == IO_OK);
    struct io_op op = {0};
    io_stream_close(&v->s, rc != IO_EOF, &op, NULL);
    (void)io_await(&op, IO_FOREVER);
    cd_buf_deinit(&in);
    cd_free(v);
}

static void server_flow(void *arg)
{
    struct io *io = arg;
    struct io_listener l = {0};
    if (io_listen(&l, io, &(struct io_addr){.port = 80}, IO_LISTEN_SHARED) != IO_OK)
        return;
    for (;;) {
        struct visit *v = cd_new(struct visit);
        if (rig_accept(&l, &v->s) != IO_OK) {
            cd_free(v);
            break;
        }
        (void)io_spawn(io, "visit", visit_flow, v);
    }
    rig_listener_close(&l);
}

static void talk_once(struct io *io, uint64_t draw)
{
    struct io_stream s = {0};
    char bytes[3000];
    if (rig_connect(io, &s, names[draw % NODES], 80) != IO_OK)
        return;
    memset(bytes, 'x', sizeof bytes);
    for (unsigned i = 0; i < 3; i++) {
        struct io_read r = {0};
        if (rig_write(&s, bytes, 1 + (draw >> 8) % sizeof bytes) != IO_OK)
            break;
        io_stream_read(&s, &r, NULL);
        if (io_await(&r.op, io_now_ns(io) + IO_SEC(1)) != IO_OK)
            break;
    }
    rig_close(&s);
}

static void file_once(struct io *io, uint64_t draw)
{
    char path[32], bytes[5000];
    struct io_file f = {0};
    (void)snprintf(path, sizeof path, "/f%u", (unsigned)(draw % 5));
    memset(bytes, 'y', sizeof bytes);
    int rc = io_file_open(&f, io, path, draw % 3 == 0 ? IO_FILE_CREATE | IO_FILE_LOCK : IO_FILE_CREATE);
    if (rc != IO_OK)
        return;
    rc = io_file_pwrite(&f, bytes, (draw >> 8) % sizeof bytes, (draw >> 24) % 100000);
    if (rc == IO_OK && draw % 2 == 0)
        rc = io_file_sync(&f);
    struct io_op op = {0};
    if (rc == IO_OK && draw % 7 == 0) {
        io_file_sync_start(&f, &op, NULL);
        rc = io_await(&op, IO_FOREVER);
    }
    if (rc == IO_OK && draw % 11 == 0)
        rc = io_file_truncate(&f, (draw >> 32) % 50000);
    (void)io_file_close(&f);
    if (rc == IO_OK && draw % 5 == 0)
        rc = io_path_rename(io, path, "/renamed");
    if (rc == IO_OK && draw % 13 == 0)
        rc = io_path_remove(io, path);
    if (rc == IO_OK && draw % 4 == 0)
        rc = io_path_sync(io, "/");
    (void)rc;
}

static void ask_once(struct io *io, uint64_t draw)
{
    struct io_http h = {0};
    struct io_op op = {0}, close = {0};
    const struct io_http_ask ask = {.method = CD_STR("GET"),
                                    .url = CD_STR("http://api.example/"),
                                    .total_timeout_ns = draw % 2 == 0 ? IO_SEC(2) : 0};
    io_http_start(&h, io, &ask, &op, NULL);
    if (io_await(&op, io_now_ns(io) + IO_SEC(3)) != IO_OK)
        return;
    struct io_read r = {0};
    do {
        r = (struct io_read){0};
        io_http_read(&h, &r, NULL);
    } while (io_await(&r.op, io_now_ns(io) + IO_SEC(1)) == IO_OK);
    io_http_close(&h, &close, NULL);
    (void)io_await(&close, IO_FOREVER);
}

static void child_once(struct io *io, uint64_t draw)
{
    struct io_child c = {0};
    const char *argv[] = {"copy", NULL};
    io_child_start(&c, io, argv, NULL, NULL, NULL);
    (void)rig_write(&c.in, "hello", 5);
    rig_close(&c.in);
    if (draw % 3 == 0)
        io_child_kill(&c, 9);
    struct cd_buf out = {0};
    (void)rig_read_all(&c.out, &out);
    cd_buf_deinit(&out);
    rig_close(&c.out);
    (void)io_await(&c.exited, io_now_ns(io) + IO_SEC(1)); /* Late: it is killed. */
}

static void worker_flow(void *arg)
{
    struct io *io = arg;
    for (;;) {
        uint64_t draw;
        io_random(io, IO_RAND_JITTER, &draw, sizeof draw);
        if (io_sleep(io, draw % IO_MS(300)) != IO_OK)
            return;
        switch (draw >> 40 & 3) {
        case 0: talk_once(io, draw >> 4); break;
        case 1: file_once(io, draw >> 4); break;
        case 2: ask_once(io, draw >> 4); break;
        case 3: child_once(io, draw >> 4); break;
        }
    }
}

static void boot(struct io *io, void *arg)
{
    (void)arg;
    (void)io_spawn(io, "server", server_flow, io);
    for (unsigned i = 0; i < 3; i++)
        (void)io_spawn(io, "worker", worker_flow, io);
}

static int program_copy(struct sim_child *c)
{
    struct cd_buf in = {0};
    int rc = rig_read_all(c->in, &in);
    if (rc == IO_EOF)
        rc = rig_write(c->out, in.ptr, in.len);
    cd_buf_deinit(&in);
    return rc == IO_OK ? 0 : 1;
}

static void peer_request(void *arg, struct sim_http *x, struct cd_str method, struct cd_str url,
                         struct cd_str head)
{
    (void)arg;
    (void)method;
    (void)url;
    (void)head;
    sim_http_head(x, 200, CD_STR("A: b\r\n"));
    sim_http_chunk(x, CD_STR("some bytes of an answer, "), false);
    sim_http_chunk(x, CD_STR("and the rest of it"), true);
}

/* ---- The faults ---- */

struct plan {
    struct sim_node *node[NODES];
    struct cd_rng rng;
    unsigned crashes;
};

static uint32_t rate(struct cd_rng *rng, uint32_t most)
{
    return cd_rng_below(rng, 2) == 0 ? 0 : (uint32_t)cd_rng_below(rng, most);
}

static void faults_draw(struct sim *sim, struct plan *p)
{
    struct cd_rng *r = &p->rng;
    sim_link_set(sim, NULL, NULL,
                 &(struct sim_link){.delay_ns = 1 + cd_rng_below(r, IO_MS(5)),
                                    .jitter_ns = cd_rng_below(r, IO_MS(50)),
                                    .bytes_per_s = cd_rng_below(r, 2) * 100000,
                                    .window = 500 + (uint32_t)cd_rng_below(r, 10000),
                                    .loss_ppm = rate(r, 200000),
                                    .split_ppm = rate(r, 900000),
                                    .refuse_ppm = rate(r, 100000),
                                    .reset_ppm = rate(r, 20000),
                                    .half_open_ppm = rate(r, 50000),
                                    .slow_ppm = rate(r, 200000),
                                    .give_up_ns = IO_SEC(2)});
    for (unsigned i = 0; i < NODES; i++)
        sim_disk_set(p->node[i], &(struct sim_disk){.capacity = cd_rng_below(r, 2) * 200000,
                                                    .read_ns = 1000,
                                                    .write_ns = 5000,
                                                    .sync_ns = 100000,
                                                    .sync_jitter_ns = IO_MS(3),
                                                    .read_fail_ppm = rate(r, 10000),
                                                    .write_fail_ppm = rate(r, 10000),
                                                    .sync_fail_ppm = rate(r, 50000),
                                                    .stuck_ppm = rate(r, 10000)});
    sim_child_fault(
        sim, "copy",
        &(struct sim_child_fault){rate(r, 200000), rate(r, 200000), rate(r, 200000), rate(r, 200000)});
}

static void plan_step(struct sim *sim, void *arg)
{
    struct plan *p = arg;
    struct cd_rng *r = &p->rng;
    struct sim_node *n = p->node[cd_rng_below(r, NODES)], *m = p->node[cd_rng_below(r, NODES)];
    switch (cd_rng_below(r, 12)) {
    case 0: sim_cut(sim, n, m); break;
    case 1: sim_cut_both(sim, n, cd_rng_below(r, 2) == 0 ? m : sim_world_node(sim)); break;
    case 2: sim_heal_all(sim); break;
    case 3: sim_clog(sim, n, m, cd_rng_below(r, IO_SEC(3))); break;
    case 4: sim_swizzle(n, IO_SEC(2)); break;
    case 5: (void)sim_reset(sim, n, m); break;
    case 6: sim_pause(n, cd_rng_below(r, IO_SEC(2))); break;
    case 7: sim_clock_drift(n, (int32_t)cd_rng_below(r, 2000) - 1000); break;
    case 8: sim_clock_step(n, (int64_t)cd_rng_below(r, 100000) - 50000); break;
    default:
        if (sim_node_life(n) == SIM_DEAD) {
            sim_restart(n, cd_rng_below(r, 4) == 0);
        } else {
            sim_crash(n, cd_rng_below(r, 2) == 0 ? SIM_KILL : SIM_POWER);
            p->crashes++;
        }
    }
    sim_at(sim, cd_rng_below(r, IO_MS(600)), plan_step, p);
}

static uint64_t stress(uint64_t seed, uint64_t *events)
{
    struct sim *sim = sim_new(&(struct sim_opts){.seed = seed,
                                                 .policy = (enum sim_policy)(seed % 3),
                                                 .slack_ns = seed % 2 * IO_MS(1),
                                                 .pct_horizon = 20000});
    struct plan p = {0};
    sim_rng(sim, "plan", &p.rng);
    for (unsigned i = 0; i < NODES; i++)
        p.node[i] =
            sim_node(sim, &(struct sim_node_opts){
                              .name = names[i], .loops = 1 + (unsigned)(seed + i) % 3, .program.boot = boot});
    sim_child_program(sim, "copy", program_copy, NULL);
    sim_http_peer(sim, "api.example", &(struct sim_http_peer){.request = peer_request});
    faults_draw(sim, &p);
    sim_at(sim, IO_SEC(1), plan_step, &p);
    sim_run_for(sim, RUN_NS);
    assert_true(p.crashes > 0);
    *events = sim_events(sim);
    uint64_t hash = sim_hash(sim);
    sim_free(sim);
    return hash;
}

static void test_all_faults_at_once_leave_nothing_and_repeat(void **state)
{
    (void)state;
    const char *more = getenv("STRESS_SEEDS");
    uint64_t last = more == NULL ? 12 : strtoull(more, NULL, 10);
    for (uint64_t seed = 1; seed <= last; seed++) {
        uint64_t events, again;
        uint64_t hash = stress(seed, &events);
        assert_true(events > 1000);
        if (seed % 4 == 0) {
            assert_true(stress(seed, &again) == hash);
            assert_int_equal(again, events);
        }
    }
}

CD_TESTS(stress, cmocka_unit_test(test_all_faults_at_once_leave_nothing_and_repeat))
