/* Child processes: the programs are in contract.h. */
#include <signal.h>

#include "support.h"

struct run {
    struct io_child child;
    const char *env[8];
};

static void run_start(struct contract *c, struct run *r, const char *const argv[], const char *cwd)
{
    size_t n = 0;
    while (r->env[n] != NULL)
        n++;
    CHECK(n + 2 <= CD_COUNT(r->env));
    r->env[n] = c->path;
    io_child_start(&r->child, c->io, argv, r->env, cwd, NULL);
    CHECK(io_busy(&r->child.exited));
    CHECK(r->child.in.io == c->io && r->child.out.io == c->io); /* Open from start on. */
}

static void run_close(struct run *r)
{
    stream_close(&r->child.in, false);
    stream_close(&r->child.out, false);
    if ((r->child.flags & IO_CHILD_ERR) != 0)
        stream_close(&r->child.err, false);
}

static void flow_exit(struct contract *c)
{
    static const char *const codes[] = {"0", "1", "77", "255"};
    static const int numbers[] = {0, 1, 77, 255};
    for (size_t i = 0; i < CD_COUNT(codes); i++) {
        struct run r = {0};
        const char *const argv[] = {"contract-exit", codes[i], NULL};
        run_start(c, &r, argv, NULL);
        CHECK_INT(await(&r.child.exited), IO_OK);
        CHECK_INT(r.child.code, numbers[i]);
        io_child_kill(&r.child, SIGKILL); /* No effect once it has ended. */
        run_close(&r);
    }
}

static void test_the_exit_code_arrives(void **state)
{
    (void)state;
    contract_run(flow_exit);
}

static void flow_say(struct contract *c)
{
    struct run r = {.env = {"GREETING=hello world", "EMPTY="}};
    const char *const argv[] = {"contract-say", "", "two words", "--flag", NULL};
    struct cd_buf got = {0}, want = {0};
    run_start(c, &r, argv, c->dir);
    CHECK_INT(stream_read_to(&r.child.out, &got, SIZE_MAX), IO_EOF);
    CHECK_INT(await(&r.child.exited), IO_OK);
    CHECK_INT(r.child.code, 0);
    cd_buf_addf(&want, "%s\ncontract-say\n\ntwo words\n--flag\nGREETING=hello world\nEMPTY=\n", c->dir);
    CHECK(cd_str_eq(cd_buf_str(&got), cd_buf_str(&want)));
    cd_buf_deinit(&got);
    cd_buf_deinit(&want);
    run_close(&r);
}

static void test_arguments_environment_and_directory_arrive(void **state)
{
    (void)state;
    contract_run(flow_say);
}

#define CAT_BYTES (1u << 20)

static void cat_feed(struct contract *c, void *arg)
{
    struct run *r = arg;
    char bytes[10000];
    (void)c;
    for (uint64_t at = 0; at < CAT_BYTES; at += sizeof bytes) {
        size_t len = CAT_BYTES - at < sizeof bytes ? (size_t)(CAT_BYTES - at) : sizeof bytes;
        pattern_fill(bytes, len, at);
        CHECK_INT(stream_write(&r->child.in, cd_str_of(bytes, len)), IO_OK);
    }
    CHECK_INT(stream_finish(&r->child.in), IO_OK);
}

static void flow_cat(struct contract *c)
{
    struct run r = {0};
    const char *const argv[] = {"contract-cat", NULL};
    struct task feeder;
    struct cd_buf got = {0};
    run_start(c, &r, argv, NULL);
    task_start(&feeder, c, cat_feed, &r);
    CHECK_INT(stream_read_to(&r.child.out, &got, SIZE_MAX), IO_EOF);
    CHECK_INT(got.len, CAT_BYTES);
    CHECK(pattern_is(got.ptr, got.len, 0));
    task_join(&feeder);
    CHECK_INT(await(&r.child.exited), IO_OK);
    CHECK_INT(r.child.code, 0);
    cd_buf_deinit(&got);
    run_close(&r);
}

static void test_a_child_reads_its_input_and_its_output_is_read(void **state)
{
    (void)state;
    contract_run(flow_cat);
}

static void hang_start(struct contract *c, struct run *r)
{
    const char *const argv[] = {"contract-hang", NULL};
    struct cd_buf got = {0};
    run_start(c, r, argv, NULL);
    CHECK_INT(stream_read_to(&r->child.out, &got, 3), IO_OK);
    CHECK(cd_str_eq(cd_buf_str(&got), CD_STR("up\n")));
    cd_buf_deinit(&got);
    CHECK(io_busy(&r->child.exited));
}

static void flow_kill(struct contract *c)
{
    struct run r = {0};
    char byte;
    size_t len;
    hang_start(c, &r);
    io_child_kill(&r.child, SIGTERM);
    CHECK_INT(await(&r.child.exited), IO_OK);
    CHECK_INT(r.child.code, 128 + SIGTERM);
    CHECK_INT(stream_read(&r.child.out, &byte, 1, &len), IO_EOF);
    run_close(&r);
}

static void test_a_signal_ends_a_child_and_shows_in_its_code(void **state)
{
    (void)state;
    contract_run(flow_kill);
}

/* Whether the child answers within the time; what it answers is read then. */
static bool echoes(struct contract *c, struct run *r, uint64_t ns)
{
    char byte;
    struct io_read read = {.buf = &byte, .cap = 1};
    io_stream_read(&r->child.out, &read, NULL);
    return io_await(&read.op, io_now_ns(c->io) + ns) == IO_OK;
}

static void flow_stop(struct contract *c)
{
    struct run r = {0};
    const char *const argv[] = {"contract-cat", NULL};
    run_start(c, &r, argv, NULL);
    CHECK_INT(stream_write(&r.child.in, CD_STR("1")), IO_OK);
    CHECK(echoes(c, &r, IO_SEC(30)));
    io_child_kill(&r.child, SIGSTOP);
    CHECK_INT(stream_write(&r.child.in, CD_STR("2")), IO_OK);
    CHECK(!echoes(c, &r, IO_MS(50)));
    io_child_kill(&r.child, SIGCONT);
    CHECK(echoes(c, &r, IO_SEC(30)));
    io_child_kill(&r.child, SIGCONT); /* It runs: no effect. */
    io_child_kill(&r.child, SIGTERM);
    CHECK_INT(await(&r.child.exited), IO_OK);
    CHECK_INT(r.child.code, 128 + SIGTERM);
    run_close(&r);
}

static void test_a_stopped_child_stands_still_until_it_is_continued(void **state)
{
    (void)state;
    contract_run(flow_stop);
}

static void flow_stop_kill(struct contract *c)
{
    struct run killed = {0}, canceled = {0};
    hang_start(c, &killed);
    hang_start(c, &canceled);
    io_child_kill(&killed.child, SIGSTOP);
    io_child_kill(&killed.child, SIGKILL);
    CHECK_INT(await(&killed.child.exited), IO_OK);
    CHECK_INT(killed.child.code, 128 + SIGKILL);
    io_child_kill(&canceled.child, SIGSTOP);
    io_cancel(&canceled.child.exited);
    CHECK_INT(await(&canceled.child.exited), IO_CANCELED);
    run_close(&killed);
    run_close(&canceled);
}

static void test_a_stopped_child_can_be_killed(void **state)
{
    (void)state;
    contract_run(flow_stop_kill);
}

static void flow_cancel(struct contract *c)
{
    struct run r = {0};
    hang_start(c, &r);
    io_cancel(&r.child.exited);
    CHECK(io_busy(&r.child.exited));
    CHECK_INT(await(&r.child.exited), IO_CANCELED); /* And it is gone: the harness counts. */
    run_close(&r);
    struct run late = {0};
    hang_start(c, &late);
    CHECK_INT(io_await(&late.child.exited, io_now_ns(c->io) + IO_MS(1)), IO_TIMEDOUT);
    run_close(&late);
}

static void test_canceling_ends_the_child(void **state)
{
    (void)state;
    contract_run(flow_cancel);
}

static void flow_absent(struct contract *c)
{
    struct run r = {0};
    const char *const argv[] = {"contract-absent", NULL};
    char byte;
    size_t len;
    run_start(c, &r, argv, NULL);
    CHECK_INT(await(&r.child.exited), IO_NOENT);
    /* The streams are those of a child that has ended. */
    CHECK_INT(stream_read(&r.child.out, &byte, 1, &len), IO_EOF);
    CHECK(stream_write(&r.child.in, CD_STR("x")) != IO_OK);
    io_child_kill(&r.child, SIGKILL);
    run_close(&r);
    /* Not on the PATH of env, wherever else it may be. */
    const char *const other[] = {"contract-exit", "0", NULL};
    const char *const env[] = {"PATH=/nowhere", NULL};
    io_child_start(&r.child, c->io, other, env, NULL, NULL);
    CHECK_INT(await(&r.child.exited), IO_NOENT);
    run_close(&r);
}

static void test_a_program_that_is_nowhere_is_an_error_of_exited(void **state)
{
    (void)state;
    contract_run(flow_absent);
}

static void flow_complain(struct contract *c)
{
    struct run r = {0};
    const char *const argv[] = {"contract-complain", NULL};
    struct cd_buf got = {0}, said = {0};
    contract_console_start(c, IO_STDERR, IO_OK);
    run_start(c, &r, argv, NULL);
    int end = stream_read_to(&r.child.out, &got, SIZE_MAX);
    int status = await(&r.child.exited);
    contract_console_end(c, IO_STDERR, &said);
    CHECK_INT(end, IO_EOF);
    CHECK_INT(got.len, 0);
    CHECK_INT(status, IO_OK);
    CHECK_INT(r.child.code, 0);
    CHECK(cd_str_eq(cd_buf_str(&said), CD_STR("complaint\n")));
    cd_buf_deinit(&got);
    cd_buf_deinit(&said);
    run_close(&r);
}

static void test_standard_error_of_a_child_goes_with_ours(void **state)
{
    (void)state;
    contract_run(flow_complain);
}

static void flow_caught(struct contract *c)
{
    struct run r = {.child.flags = IO_CHILD_ERR};
    const char *const argv[] = {"contract-complain", NULL};
    struct cd_buf got = {0}, said = {0};
    contract_console_start(c, IO_STDERR, IO_OK);
    run_start(c, &r, argv, NULL);
    CHECK(r.child.err.io == c->io);
    int end = stream_read_to(&r.child.err, &got, SIZE_MAX);
    int status = await(&r.child.exited);
    contract_console_end(c, IO_STDERR, &said);
    CHECK_INT(end, IO_EOF);
    CHECK_INT(status, IO_OK);
    CHECK_INT(r.child.code, 0);
    CHECK(cd_str_eq(cd_buf_str(&got), CD_STR("complaint\n")));
    CHECK_INT(said.len, 0);
    cd_buf_deinit(&got);
    run_close(&r);
}

static void test_standard_error_of_a_child_can_be_read(void **state)
{
    (void)state;
    contract_run(flow_caught);
}

static void flow_apart(struct contract *c)
{
    struct run r = {.child.flags = IO_CHILD_GROUP | IO_CHILD_TIED | IO_CHILD_ERR | IO_CHILD_SELF};
    struct run absent = {.child.flags = IO_CHILD_GROUP | IO_CHILD_TIED | IO_CHILD_ERR};
    const char *const argv[] = {"contract-absent", NULL};
    char byte;
    size_t len;
    hang_start(c, &r);
    io_child_kill(&r.child, SIGTERM);
    CHECK_INT(await(&r.child.exited), IO_OK);
    CHECK_INT(r.child.code, 128 + SIGTERM);
    run_close(&r);
    run_start(c, &absent, argv, NULL);
    CHECK_INT(await(&absent.child.exited), IO_NOENT);
    CHECK_INT(stream_read(&absent.child.err, &byte, 1, &len), IO_EOF);
    run_close(&absent);
}

static void test_a_child_with_a_group_of_its_own_is_killed_as_others_are(void **state)
{
    (void)state;
    contract_run(flow_apart);
}

static void flow_many(struct contract *c)
{
    static struct run r[8];
    memset(r, 0, sizeof r);
    for (unsigned i = 0; i < CD_COUNT(r); i++) {
        const char *const argv[] = {"contract-exit", i % 2 == 0 ? "3" : "4", NULL};
        run_start(c, &r[i], argv, NULL);
    }
    for (unsigned i = 0; i < CD_COUNT(r); i++) {
        CHECK_INT(await(&r[i].child.exited), IO_OK);
        CHECK_INT(r[i].child.code, i % 2 == 0 ? 3 : 4);
        run_close(&r[i]);
    }
}

static void test_several_children_run_at_once(void **state)
{
    (void)state;
    contract_run(flow_many);
}

CD_TESTS(contract_child, cmocka_unit_test(test_the_exit_code_arrives),
         cmocka_unit_test(test_arguments_environment_and_directory_arrive),
         cmocka_unit_test(test_a_child_reads_its_input_and_its_output_is_read),
         cmocka_unit_test(test_a_signal_ends_a_child_and_shows_in_its_code),
         cmocka_unit_test(test_a_stopped_child_stands_still_until_it_is_continued),
         cmocka_unit_test(test_a_stopped_child_can_be_killed),
         cmocka_unit_test(test_canceling_ends_the_child),
         cmocka_unit_test(test_a_program_that_is_nowhere_is_an_error_of_exited),
         cmocka_unit_test(test_standard_error_of_a_child_goes_with_ours),
         cmocka_unit_test(test_standard_error_of_a_child_can_be_read),
         cmocka_unit_test(test_a_child_with_a_group_of_its_own_is_killed_as_others_are),
         cmocka_unit_test(test_several_children_run_at_once))
