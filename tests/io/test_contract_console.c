/* Standard output and error of a command. */
#include "support.h"

static const enum io_console both[] = {IO_STDOUT, IO_STDERR};

/* Checks come after contract_console_end: they are told on standard error. */
static void flow_captured(struct contract *c)
{
    for (size_t i = 0; i < CD_COUNT(both); i++) {
        struct cd_buf got = {0}, want = {0};
        char bytes[10000];
        pattern_fill(bytes, sizeof bytes, 0);
        contract_console_start(c, both[i], IO_OK);
        int empty = io_console_write(c->io, both[i], CD_STR(""));
        int small = io_console_write(c->io, both[i], CD_STR("small\n"));
        int large = io_console_write(c->io, both[i], cd_str_of(bytes, sizeof bytes));
        bool tty = io_console_is_tty(c->io, both[i]);
        contract_console_end(c, both[i], &got);
        CHECK_INT(empty, IO_OK);
        CHECK_INT(small, IO_OK);
        CHECK_INT(large, IO_OK);
        CHECK(!tty);
        cd_buf_add_str(&want, CD_STR("small\n"));
        cd_buf_add_str(&want, cd_str_of(bytes, sizeof bytes));
        CHECK(cd_str_eq(cd_buf_str(&got), cd_buf_str(&want)));
        cd_buf_deinit(&got);
        cd_buf_deinit(&want);
    }
}

static void test_all_bytes_come_out_in_order(void **state)
{
    (void)state;
    contract_run(flow_captured);
}

static void flow_apart(struct contract *c)
{
    struct cd_buf out = {0}, err = {0};
    contract_console_start(c, IO_STDOUT, IO_OK);
    contract_console_start(c, IO_STDERR, IO_OK);
    int first = io_console_write(c->io, IO_STDOUT, CD_STR("answer"));
    int second = io_console_write(c->io, IO_STDERR, CD_STR("complaint"));
    contract_console_end(c, IO_STDERR, &err);
    contract_console_end(c, IO_STDOUT, &out);
    CHECK_INT(first, IO_OK);
    CHECK_INT(second, IO_OK);
    CHECK(cd_str_eq(cd_buf_str(&out), CD_STR("answer")));
    CHECK(cd_str_eq(cd_buf_str(&err), CD_STR("complaint")));
    cd_buf_deinit(&out);
    cd_buf_deinit(&err);
}

static void test_output_and_error_are_apart(void **state)
{
    (void)state;
    contract_run(flow_apart);
}

static void flow_fails(struct contract *c)
{
    static const int causes[] = {IO_EOF, IO_NOSPACE, CD_ECLOSED};
    for (size_t i = 0; i < CD_COUNT(causes) * CD_COUNT(both); i++) {
        enum io_console which = both[i % CD_COUNT(both)];
        int cause = causes[i / CD_COUNT(both)];
        contract_console_start(c, which, cause);
        int empty = io_console_write(c->io, which, CD_STR(""));
        int first = io_console_write(c->io, which, CD_STR("lost"));
        int again = io_console_write(c->io, which, CD_STR("lost"));
        bool tty = io_console_is_tty(c->io, which);
        contract_console_end(c, which, NULL);
        CHECK_INT(empty, IO_OK); /* No byte of it is missing. */
        CHECK_INT(first, cause);
        CHECK_INT(again, cause);
        CHECK(!tty);
    }
}

static void test_the_code_tells_why_bytes_did_not_come_out(void **state)
{
    (void)state;
    contract_run(flow_fails);
}

static void flow_typed(struct contract *c)
{
    static const enum contract_keyboard kinds[] = {CONTRACT_PIPE, CONTRACT_SOCKET};
    for (size_t i = 0; i < CD_COUNT(kinds); i++) {
        struct io_stream in = {0};
        struct cd_buf got = {0};
        char byte;
        struct io_read read = {.buf = &byte, .cap = 1};
        contract_keyboard_start(c, kinds[i]);
        CHECK_INT(io_console_input(&in, c->io), IO_OK);
        io_stream_read(&in, &read, NULL);
        CHECK_INT(io_await(&read.op, io_now_ns(c->io) + IO_MS(20)), IO_TIMEDOUT); /* Nobody has typed yet. */
        contract_keyboard_type(c, CD_STR("kill 2\n"));
        CHECK_INT(stream_read_to(&in, &got, 7), IO_OK);
        CHECK(cd_str_eq(cd_buf_str(&got), CD_STR("kill 2\n")));
        contract_keyboard_hangup(c);
        CHECK_INT(stream_read_to(&in, &got, SIZE_MAX), IO_EOF);
        stream_close(&in, false);
        contract_keyboard_end(c);
        cd_buf_deinit(&got);
    }
}

static void test_what_is_typed_can_be_read(void **state)
{
    (void)state;
    contract_run(flow_typed);
}

static void flow_untyped(struct contract *c)
{
    struct io_stream in = {0};
    contract_keyboard_start(c, CONTRACT_NO_KEYBOARD);
    CHECK_INT(io_console_input(&in, c->io), IO_NOENT);
    CHECK(in.io == NULL);
    contract_keyboard_end(c);
}

static void test_input_that_cannot_be_waited_for_is_none(void **state)
{
    (void)state;
    contract_run(flow_untyped);
}

CD_TESTS(contract_console, cmocka_unit_test(test_what_is_typed_can_be_read),
         cmocka_unit_test(test_input_that_cannot_be_waited_for_is_none),
         cmocka_unit_test(test_all_bytes_come_out_in_order),
         cmocka_unit_test(test_output_and_error_are_apart),
         cmocka_unit_test(test_the_code_tells_why_bytes_did_not_come_out))
