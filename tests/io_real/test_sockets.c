/* Sockets: what only a real kernel has. */
#include <dirent.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <unistd.h>

#include "io_real/net.h"
#include "node_help.h"

static unsigned open_fds(void)
{
    unsigned count = 0;
    DIR *d = opendir("/proc/self/fd");
    CHECK(d != NULL);
    while (readdir(d) != NULL)
        count++;
    CHECK(closedir(d) == 0);
    return count;
}

static void limit_fds(rlim_t soft)
{
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = soft;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/* Waits until the log has said so many times that it does not accept. */
static void wait_paused(struct contract *c, struct log_pipe *log, size_t times)
{
    uint64_t deadline_ns = io_now_ns(c->io) + IO_SEC(30);
    for (;;) {
        CHECK(io_real_log_flush(io_real_of(c->io), IO_SEC(30)));
        log_pipe_drain(log);
        size_t count = text_count(&log->text, "accept_paused event=");
        CHECK(count <= times);
        if (count == times)
            return;
        CHECK(io_now_ns(c->io) < deadline_ns);
        CHECK_INT(io_sleep(c->io, IO_MS(1)), IO_OK);
    }
}

static void flow_no_fds(struct contract *c)
{
    struct io_listener l = {0};
    struct io_addr at;
    listen_any(c, &l, &at);
    struct rlimit before;
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    for (size_t episode = 1; episode <= 2; episode++) {
        struct io_stream client = {0}, server = {0};
        struct io_op accept = {0};
        CHECK_INT(stream_connect(&client, c->io, &at), IO_OK);
        int next = dup(0); /* The lowest free number is the first one that is forbidden. */
        CHECK(next >= 0 && close(next) == 0);
        limit_fds((rlim_t)next);
        io_accept(&l, &server, &accept, NULL);
        wait_paused(c, c->arg, episode);
        CHECK_INT(io_sleep(c->io, IO_MS(80)), IO_OK); /* Tries some more. */
        wait_paused(c, c->arg, episode); /* Once per episode. */
        CHECK(io_busy(&accept));
        limit_fds(before.rlim_cur);
        CHECK_INT(await(&accept), IO_OK); /* The connection has waited. */
        stream_close(&client, false);
        stream_close(&server, false);
    }
    /* Closing while it pauses. */
    struct io_stream client = {0}, server = {0};
    struct io_op accept = {0};
    CHECK_INT(stream_connect(&client, c->io, &at), IO_OK);
    int next = dup(0);
    CHECK(next >= 0 && close(next) == 0);
    limit_fds((rlim_t)next);
    io_accept(&l, &server, &accept, NULL);
    wait_paused(c, c->arg, 3);
    io_cancel(&accept);
    CHECK_INT(await(&accept), IO_CANCELED);
    listener_close(&l);
    limit_fds(before.rlim_cur);
    stream_close(&client, true);
}

static void test_accepting_pauses_when_descriptors_run_out(void **state)
{
    (void)state;
    struct log_pipe log;
    log_pipe_open(&log);
    node_run(&(struct node_run){.opts = {.log_fd = log.ends[1]}, .flow = flow_no_fds, .arg = &log});
    log_pipe_close(&log);
}

static void flow_exclusive(struct contract *c)
{
    struct io_listener mine = {0}, also_mine = {0}, foreign = {0};
    struct io_addr at = {.host = "127.0.0.1"};
    CHECK_INT(io_listen(&mine, c->io, &at, IO_LISTEN_SHARED), IO_OK);
    io_listener_addr(&mine, &at);
    CHECK_INT(io_listen(&also_mine, c->io, &at, IO_LISTEN_SHARED), IO_OK);
    /* The kernel would share it with any process of this user. */
    struct io_real *other = io_real_new(&(struct io_real_opts){.log_fd = -1});
    CHECK_INT(io_listen(&foreign, io_real_loop(other, 0), &at, IO_LISTEN_SHARED), IO_BUSY);
    io_real_free(other);
    listener_close(&mine);
    listener_close(&also_mine);
}

static void test_a_shared_address_is_not_shared_with_another_node(void **state)
{
    (void)state;
    node_run(&(struct node_run){.opts = {.log_fd = -1}, .flow = flow_exclusive});
}

static void flow_unreachable(struct contract *c)
{
    struct io_stream s = {0};
    struct io_addr broadcast = {.host = "255.255.255.255", .port = 9};
    CHECK_INT(stream_connect(&s, c->io, &broadcast), IO_UNREACHABLE);
    struct io_listener l = {0};
    struct io_addr foreign = {.host = "192.0.2.1", .port = 9};
    CHECK_INT(io_listen(&l, c->io, &foreign, 0), IO_UNREACHABLE); /* Not an address of this machine. */
}

static void test_an_address_without_a_way_to_it_is_unreachable(void **state)
{
    (void)state;
    node_run(&(struct node_run){.opts = {.log_fd = -1}, .flow = flow_unreachable});
}

static void flow_dual(struct contract *c)
{
    struct io_listener l = {0};
    struct io_addr at = {.host = "::"}, peer;
    struct io_stream client = {0}, server = {0};
    struct io_op connect = {0};
    bool *has_v6 = c->arg;
    *has_v6 = io_listen(&l, c->io, &at, 0) == IO_OK;
    if (!*has_v6)
        return;
    io_listener_addr(&l, &at);
    CHECK(strcmp(at.host, "::") == 0);
    static const char *const hosts[] = {"127.0.0.1", "::1"};
    for (size_t i = 0; i < CD_COUNT(hosts); i++) {
        struct io_addr to = {.port = at.port};
        (void)snprintf(to.host, sizeof to.host, "%s", hosts[i]);
        io_connect(&client, c->io, &to, &connect, NULL);
        CHECK_INT(stream_accept(&l, &server), IO_OK);
        CHECK_INT(await(&connect), IO_OK);
        io_stream_peer(&server, &peer);
        CHECK(strcmp(peer.host, hosts[i]) == 0); /* IPv4 shows as itself. */
        stream_close(&client, false);
        stream_close(&server, false);
    }
    listener_close(&l);
}

static void test_one_listener_takes_both_families(void **state)
{
    (void)state;
    bool has_v6 = false;
    node_run(&(struct node_run){.opts = {.log_fd = -1}, .flow = flow_dual, .arg = &has_v6});
    if (!has_v6)
        skip();
}

static bool no_delay(const struct io_stream *s)
{
    const struct real_stream *x = s->impl;
    int on = 0;
    socklen_t len = sizeof on;
    CHECK(getsockopt(x->watch.fd, IPPROTO_TCP, TCP_NODELAY, &on, &len) == 0);
    return on != 0;
}

static void flow_no_delay(struct contract *c)
{
    struct pair p;
    pair_open(c, &p);
    CHECK(no_delay(&p.client) && no_delay(&p.server));
    pair_close(&p);
}

static void test_small_writes_are_not_held_back(void **state)
{
    (void)state;
    node_run(&(struct node_run){.opts = {.log_fd = -1}, .flow = flow_no_delay});
}

#define LINGERERS 1100 /* More than a loop keeps. */

static void wait_fds(struct contract *c, unsigned at_most)
{
    uint64_t deadline_ns = io_now_ns(c->io) + IO_SEC(30);
    while (open_fds() > at_most) {
        CHECK(io_now_ns(c->io) < deadline_ns);
        CHECK_INT(io_sleep(c->io, IO_MS(2)), IO_OK);
    }
}

static void flow_linger(struct contract *c)
{
    static struct pair p[LINGERERS];
    unsigned before = open_fds();
    for (unsigned i = 0; i < LINGERERS; i++)
        pair_open(c, &p[i]);
    for (unsigned i = 0; i < LINGERERS; i++)
        stream_close(&p[i].server, false);
    /* Each waits for its peer, but not all of them, and not for ever. */
    wait_fds(c, before + LINGERERS + 1024);
    for (unsigned i = 0; i < LINGERERS; i++) {
        char byte;
        size_t len;
        CHECK_INT(stream_read(&p[i].client, &byte, 1, &len), IO_EOF);
    }
    for (unsigned i = 0; i < LINGERERS / 2; i++)
        stream_close(&p[i].client, false);
    wait_fds(c, before + LINGERERS / 2 + LINGERERS / 2); /* Those whose peer has finished are gone. */
    wait_fds(c, before + LINGERERS / 2); /* The others too, after their time. */
    for (unsigned i = LINGERERS / 2; i < LINGERERS; i++)
        stream_close(&p[i].client, false);
    wait_fds(c, before);
}

static void test_closed_sockets_wait_for_their_peers_within_bounds(void **state)
{
    (void)state;
    if (io_real_raise_fd_limit() < 3 * LINGERERS)
        skip();
    unsigned before = open_fds();
    node_run(&(struct node_run){.opts = {.log_fd = -1}, .flow = flow_linger});
    assert_int_equal(open_fds(), before);
}

/* ---- A loop that does not accept ---- */

struct idler { /* Listens on loop 1 and never accepts. */
    struct io_msg msg;
    struct io_listener listener;
    struct io_addr at;
    struct io_op close;
    int rc;
    unsigned done; /* Atomic: steps that are behind it. */
};

static void idler_step(struct idler *x)
{
    __atomic_add_fetch(&x->done, 1, __ATOMIC_SEQ_CST);
}

static void idler_closed(struct io_op *op, int status)
{
    CHECK_INT(status, IO_OK);
    idler_step(CD_CONTAINER(op, struct idler, close));
}

static void idler_open(struct io *io, struct io_msg *m)
{
    struct idler *x = CD_CONTAINER(m, struct idler, msg);
    x->rc = io_listen(&x->listener, io, &x->at, IO_LISTEN_SHARED);
    idler_step(x);
}

static void idler_close(struct io *io, struct io_msg *m)
{
    struct idler *x = CD_CONTAINER(m, struct idler, msg);
    (void)io;
    io_listener_close(&x->listener, &x->close, idler_closed);
}

static void idler_do(struct contract *c, struct idler *x, void (*what)(struct io *io, struct io_msg *m))
{
    unsigned before = __atomic_load_n(&x->done, __ATOMIC_SEQ_CST);
    x->msg.handle = what;
    io_post(c->io, 1, &x->msg);
    while (__atomic_load_n(&x->done, __ATOMIC_SEQ_CST) == before)
        CHECK_INT(io_sleep(c->io, IO_MS(1)), IO_OK);
}

static void flow_cover(struct contract *c)
{
    struct io_listener l = {0};
    struct idler x = {.at = {.host = "127.0.0.1"}};
    CHECK_INT(io_listen(&l, c->io, &x.at, IO_LISTEN_SHARED), IO_OK);
    io_listener_addr(&l, &x.at);
    CHECK_INT(io_listener_cover(&l, 1), IO_NOENT);
    idler_do(c, &x, idler_open);
    CHECK_INT(x.rc, IO_OK);
    CHECK_INT(io_listener_cover(&l, 1), IO_OK);
    for (unsigned i = 0; i < 40; i++) { /* The kernel gives about half of them to the idler. */
        struct io_stream client = {0}, server = {0};
        struct io_op accept = {0};
        CHECK_INT(stream_connect(&client, c->io, &x.at), IO_OK);
        io_accept(&l, &server, &accept, NULL);
        CHECK_INT(io_await(&accept, io_now_ns(c->io) + IO_SEC(10)), IO_OK);
        stream_close(&client, false);
        stream_close(&server, false);
    }
    CHECK_INT(io_listener_cover(&l, IO_NO_LOOP), IO_OK);
    CHECK_INT(io_listener_cover(&l, 1), IO_OK);
    idler_do(c, &x, idler_close);
    listener_close(&l);
}

static void test_a_listener_accepts_for_a_loop_that_does_not(void **state)
{
    (void)state;
    unsigned before = open_fds();
    node_run(&(struct node_run){.opts = {.shards = 1, .log_fd = -1}, .flow = flow_cover});
    assert_int_equal(open_fds(), before);
}

CD_TESTS(sockets, cmocka_unit_test(test_a_listener_accepts_for_a_loop_that_does_not),
         cmocka_unit_test(test_accepting_pauses_when_descriptors_run_out),
         cmocka_unit_test(test_a_shared_address_is_not_shared_with_another_node),
         cmocka_unit_test(test_an_address_without_a_way_to_it_is_unreachable),
         cmocka_unit_test(test_one_listener_takes_both_families),
         cmocka_unit_test(test_small_writes_are_not_held_back),
         cmocka_unit_test(test_closed_sockets_wait_for_their_peers_within_bounds))
