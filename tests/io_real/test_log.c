/* The log of a node: operations.md 7.1. */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "io_real/real.h"
#include "node_help.h"

#define RING 8192
#define FLUSH_NS IO_SEC(20)

static void say(struct real_log *log, enum cd_level level, const char *name, uint64_t number)
{
    const struct cd_field f = CD_U("number", number);
    if (real_log_wanted(log, level, "celld"))
        real_log_event(log, 0, level, "celld", name, &f, 1);
}

static void test_lines_are_written_whole_and_in_order(void **state)
{
    (void)state;
    struct log_pipe p;
    log_pipe_open(&p);
    struct real_log *log = real_log_new(p.ends[1], CD_EVENT_TEXT, CD_STR("info"));
    for (uint64_t i = 0; i < 500; i++)
        say(log, i % 2 == 0 ? CD_INFO : CD_DEBUG, "counted", i);
    assert_true(real_log_flush(log, FLUSH_NS));
    log_pipe_drain(&p);
    real_log_free(log);
    struct cd_buf want = {0};
    for (uint64_t i = 0; i < 500; i += 2)
        cd_buf_addf(&want, "1970-01-01T00:00:00.000000Z  INFO celld: counted event=\"counted\" number=%u\n",
                    (unsigned)i);
    assert_int_equal(p.text.len, want.len);
    assert_memory_equal(p.text.ptr, want.ptr, want.len);
    cd_buf_deinit(&want);
    log_pipe_close(&p);
}

static void test_the_json_format_is_one_object_a_line(void **state)
{
    (void)state;
    struct log_pipe p;
    log_pipe_open(&p);
    struct real_log *log = real_log_new(p.ends[1], CD_EVENT_JSON, CD_STR(""));
    say(log, CD_WARN, "odd", 7);
    say(log, CD_DEBUG, "unwanted", 8); /* The filter is "info" when none is given. */
    real_log_free(log); /* Which flushes. */
    log_pipe_drain(&p);
    assert_str_is(cd_buf_str(&p.text),
                  "{\"ts\":\"1970-01-01T00:00:00.000000Z\",\"level\":\"WARN\",\"target\":\"celld\","
                  "\"msg\":\"odd\",\"event\":\"odd\",\"number\":7}\n");
    log_pipe_close(&p);
}

static void test_a_full_ring_drops_lines_and_says_how_many(void **state)
{
    (void)state;
    struct log_pipe p;
    log_pipe_open(&p);
    struct real_log *log = real_log_new(p.ends[1], CD_EVENT_TEXT, CD_STR("info"));
    const uint64_t total = 3 * RING;
    for (uint64_t i = 0; i < total; i++) /* Nobody reads: the writer is stuck, we never are. */
        say(log, CD_INFO, "counted", i);
    while (!real_log_flush(log, IO_MS(1)))
        log_pipe_drain(&p);
    log_pipe_drain(&p);
    size_t written = text_count(&p.text, "counted event=");
    assert_true(written >= RING && written < total);
    assert_int_equal(text_count(&p.text, "log lines dropped event="), 1);
    char expected[100];
    (void)snprintf(expected, sizeof expected,
                   "WARN celld: log lines dropped event=\"log lines dropped\" dropped=%zu\n",
                   (size_t)total - written);
    assert_int_equal(text_count(&p.text, expected), 1);
    /* And then on as before. */
    say(log, CD_INFO, "after", 0);
    assert_true(real_log_flush(log, FLUSH_NS));
    log_pipe_drain(&p);
    assert_int_equal(text_count(&p.text, "after event="), 1);
    assert_int_equal(text_count(&p.text, "log lines dropped event="), 1);
    real_log_free(log);
    log_pipe_close(&p);
}

static void test_the_end_does_not_wait_for_an_output_that_is_stuck(void **state)
{
    (void)state;
    struct log_pipe p;
    log_pipe_open(&p);
    int out = dup(p.ends[1]); /* The writer may use it after the log was freed. */
    assert_true(out >= 0);
    struct real_log *log = real_log_new(out, CD_EVENT_TEXT, CD_STR("info"));
    for (uint64_t i = 0; i < RING; i++)
        say(log, CD_INFO, "counted", i);
    assert_false(real_log_flush(log, IO_MS(1)));
    real_log_free(log);
    /* The writer comes back to a log that is its own now. */
    log_pipe_drain(&p);
    while (p.text.len == 0 || fcntl(p.ends[0], F_GETPIPE_SZ) <= 0)
        log_pipe_drain(&p);
    log_pipe_close(&p);
    (void)close(out);
}

/* Each write is a packet of this pipe, and each read takes one. */
static void test_lines_in_quick_succession_share_writes(void **state)
{
    (void)state;
    int ends[2];
    char packet[4096];
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_DIRECT), 0);
    struct real_log *log = real_log_new(ends[1], CD_EVENT_TEXT, CD_STR("info"));
    say(log, CD_INFO, "first", 0);
    ssize_t n = read(ends[0], packet, sizeof packet); /* It is not held back. */
    assert_true(n > 0 && memchr(packet, '\n', (size_t)n) == packet + n - 1);
    const unsigned total = 40;
    for (unsigned i = 0; i < total; i++) {
        say(log, CD_INFO, "next", i);
        (void)usleep(200);
    }
    assert_true(real_log_flush(log, FLUSH_NS));
    real_log_free(log);
    (void)close(ends[1]);
    unsigned packets = 0;
    while (read(ends[0], packet, sizeof packet) > 0)
        packets++;
    assert_true(packets > 0 && packets < total / 2);
    (void)close(ends[0]);
}

static void test_an_output_that_is_gone_stops_nobody(void **state)
{
    (void)state;
    struct log_pipe p;
    log_pipe_open(&p);
    (void)signal(SIGPIPE, SIG_IGN); /* As every node does. */
    struct real_log *log = real_log_new(p.ends[1], CD_EVENT_TEXT, CD_STR("info"));
    assert_int_equal(close(p.ends[0]), 0);
    p.ends[0] = -1;
    for (uint64_t i = 0; i < 100; i++)
        say(log, CD_INFO, "counted", i);
    assert_true(real_log_flush(log, FLUSH_NS));
    real_log_free(log);
    log_pipe_close(&p);
}

#define SPEAKERS 4
#define WORDS 1000

static void *speak(void *arg)
{
    for (uint64_t i = 0; i < WORDS; i++)
        say(arg, CD_INFO, "spoken", i);
    return NULL;
}

static void test_threads_share_a_log(void **state)
{
    (void)state;
    struct log_pipe p;
    pthread_t threads[SPEAKERS];
    log_pipe_open(&p);
    struct real_log *log = real_log_new(p.ends[1], CD_EVENT_TEXT, CD_STR("info"));
    for (int i = 0; i < SPEAKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, speak, log), 0);
    for (int i = 0; i < SPEAKERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    while (!real_log_flush(log, IO_MS(1)))
        log_pipe_drain(&p);
    log_pipe_drain(&p);
    real_log_free(log);
    assert_int_equal(
        text_count(&p.text, "1970-01-01T00:00:00.000000Z  INFO celld: spoken event=\"spoken\" number="),
        SPEAKERS * WORDS);
    assert_int_equal(text_count(&p.text, "\n"), SPEAKERS * WORDS);
    log_pipe_close(&p);
}

static void flow_events(struct contract *c)
{
    CHECK(io_event_wanted(c->io, CD_DEBUG, "store") && !io_event_wanted(c->io, CD_DEBUG, "celld"));
    cd_event(c->io, CD_WARN, "seen", CD_Z("text", "a \"b\"\n"), CD_I("number", -5), CD_B("flag", true));
    cd_event_to(c->io, CD_DEBUG, "store", "store_seen");
    cd_event(c->io, CD_DEBUG, "unseen");
    CHECK(io_real_log_flush(io_real_of(c->io), FLUSH_NS));
}

static void test_events_of_a_loop_go_through_the_filter_into_the_log(void **state)
{
    (void)state;
    struct log_pipe p;
    log_pipe_open(&p);
    node_run(&(struct node_run){.opts = {.log_fd = p.ends[1], .log_filter = CD_STR("warn,store=debug")},
                                .flow = flow_events});
    log_pipe_drain(&p);
    assert_int_equal(
        text_count(&p.text, " WARN celld: seen event=\"seen\" text=\"a \\\"b\\\"\\n\" number=-5 flag=true\n"),
        1);
    assert_int_equal(text_count(&p.text, "store: store_seen event=\"store_seen\"\n"), 1);
    assert_int_equal(text_count(&p.text, "\n"), 2);
    log_pipe_close(&p);
}

CD_TESTS(log, cmocka_unit_test(test_lines_are_written_whole_and_in_order),
         cmocka_unit_test(test_the_json_format_is_one_object_a_line),
         cmocka_unit_test(test_a_full_ring_drops_lines_and_says_how_many),
         cmocka_unit_test(test_the_end_does_not_wait_for_an_output_that_is_stuck),
         cmocka_unit_test(test_lines_in_quick_succession_share_writes),
         cmocka_unit_test(test_an_output_that_is_gone_stops_nobody),
         cmocka_unit_test(test_threads_share_a_log),
         cmocka_unit_test(test_events_of_a_loop_go_through_the_filter_into_the_log))
