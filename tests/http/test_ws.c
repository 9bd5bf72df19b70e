/* WebSockets of the server's role against raw frames: http/ws.h. */
#include "ws_rig.h"

#include "http/ws_internal.h"

/* ---- Messages ---- */

static const struct {
    bool fin;
    unsigned opcode;
    const char *payload;
} story[] = {
    {true, HTTP_WS_TEXT, "hello"},
    {true, HTTP_WS_BINARY, "\x01\x02\xff"},
    {true, HTTP_WS_TEXT, ""},
    {false, HTTP_WS_TEXT, "frag"},
    {true, HTTP_WS_PING, "mid"},
    {false, HTTP_WS_CONTINUATION, ""},
    {false, HTTP_WS_CONTINUATION, "ment \xc3"}, /* Cut inside a character. */
    {true, HTTP_WS_PONG, "unasked"},
    {true, HTTP_WS_CONTINUATION, "\xbc."},
    {false, HTTP_WS_BINARY, ""},
    {true, HTTP_WS_CONTINUATION, ""},
    {true, HTTP_WS_CLOSE,
     "\x03\xe8"
     "bye"},
};

static void story_bytes(struct cd_buf *out)
{
    for (size_t i = 0; i < CD_COUNT(story); i++)
        ws_raw_frame(out, story[i].fin, story[i].opcode, story[i].payload, strlen(story[i].payload));
}

static void story_flow(struct ws_rig *w)
{
    struct cd_buf bytes = {0};
    story_bytes(&bytes);
    for (size_t cut = 0; cut <= bytes.len + 1; cut++) {
        struct io_stream s = {0};
        struct cd_buf got = {0}, text = {0};
        ws_raw_open(w, &s);
        if (cut <= bytes.len) {
            (void)ws_raw_talk(w, &s, cd_str_sub(cd_buf_str(&bytes), 0, cut), &got);
            CHECK_INT(ws_raw_talk(w, &s, cd_str_sub(cd_buf_str(&bytes), cut, SIZE_MAX), &got), IO_EOF);
        } else {
            for (size_t i = 0; i < bytes.len; i++) { /* Byte by byte. */
                CHECK_INT(rig_send(&s, cd_str_sub(cd_buf_str(&bytes), i, 1)), IO_OK);
                (void)io_sleep(w->r.cio, IO_MS(2));
            }
            CHECK_INT(ws_raw_talk(w, &s, (struct cd_str){NULL, 0}, &got), IO_EOF);
        }
        ws_raw_text(&text, cd_buf_str(&got));
        /* A pong overtakes messages that wait: it may stand anywhere. */
        size_t pong = cd_str_find_str(cd_buf_str(&text), CD_STR("pong mid|"), 0);
        CHECK(pong != SIZE_MAX);
        memmove(text.ptr + pong, text.ptr + pong + 9, text.len - pong - 9);
        text.len -= 9;
        CHECK(cd_str_eq(cd_buf_str(&text),
                        CD_STR("text hello|binary \x01\x02\xff|text |text fragment \xc3\xbc.|"
                               "binary |close 1000 |")));
        ws_rig_log_is(w, "text hello\nbinary \x01\x02\xff\ntext \ntext fragment \xc3\xbc.\nbinary \n"
                         "closing 1000 bye\nended 1000 bye clean\n");
        rig_hang_up(&s, false);
        cd_buf_deinit(&got);
        cd_buf_deinit(&text);
    }
    cd_buf_deinit(&bytes);
}

static void test_messages_are_heard_however_their_bytes_are_cut(void **state)
{
    (void)state;
    ws_rig_run(&(struct ws_rig){.no_echo = false}, story_flow);
}

static void lengths_flow(struct ws_rig *w)
{
    const size_t lens[] = {0, 1, 125, 126, 127, 65535, 65536, 200000};
    struct io_stream s = {0};
    ws_raw_open(w, &s);
    for (size_t i = 0; i < CD_COUNT(lens); i++) {
        struct cd_buf bytes = {0}, got = {0}, zero = {0};
        cd_buf_add_zero(&zero, lens[i] + 1);
        ws_raw_frame(&bytes, true, HTTP_WS_BINARY, zero.ptr, lens[i]);
        CHECK_INT(ws_raw_talk(w, &s, cd_buf_str(&bytes), &got), IO_TIMEDOUT);
        struct http_ws_head h;
        int size = http_ws_head_read(cd_buf_str(&got), false, &h);
        CHECK(size > 0);
        CHECK_INT(h.len, lens[i]);
        CHECK_INT(got.len, (size_t)size + lens[i]);
        cd_buf_deinit(&bytes);
        cd_buf_deinit(&got);
        cd_buf_deinit(&zero);
        /* Nothing is kept of it. */
        CHECK(w->ws->out == NULL && w->ws->stash.ptr == NULL && w->ws->message.ptr == NULL);
    }
    rig_hang_up(&s, true);
}

static void test_messages_of_every_length_and_an_idle_socket_keeps_nothing(void **state)
{
    (void)state;
    ws_rig_run(&(struct ws_rig){.no_echo = false}, lengths_flow);
}

/* ---- Wrong peers ---- */

struct wrong {
    const char *what;
    const char *bytes;
    size_t len;
    unsigned code;
};

#define Z "\x00\x00\x00\x00" /* A mask that changes nothing. */

static const struct wrong wrongs[] = {
    {"unmasked", "\x81\x02hi", 4, 1002},
    {"rsv1", "\xc1\x82" Z "hi", 8, 1002},
    {"rsv2", "\xa1\x82" Z "hi", 8, 1002},
    {"rsv3", "\x91\x82" Z "hi", 8, 1002},
    {"opcode 3", "\x83\x82" Z "hi", 8, 1002},
    {"opcode 11", "\x8b\x82" Z "hi", 8, 1002},
    {"fragmented ping", "\x09\x82" Z "hi", 8, 1002},
    {"long ping", "\x89\xfe\x00\x7e" Z, 8, 1002},
    {"length not in its shortest form", "\x81\xfe\x00\x02" Z "hi", 10, 1002},
    {"continuation of nothing", "\x80\x82" Z "hi", 8, 1002},
    {"message inside a message", "\x01\x82" Z "hi\x81\x82" Z "hi", 16, 1002},
    {"text of Latin-1", "\x81\x82" Z "\xfc!", 8, 1007},
    {"text with a surrogate", "\x81\x83" Z "\xed\xa0\x80", 9, 1007},
    {"text cut inside a character", "\x81\x81" Z "\xc3", 7, 1007},
    {"fragments, the first is wrong already", "\x01\x82" Z "\xfc!", 8, 1007},
    {"fragments cut inside a character", "\x01\x81" Z "\xc3\x80\x80" Z, 13, 1007},
    {"too big", "\x82\xff\x00\x00\x00\x00\x00\x10\x00\x01" Z, 14, 1009},
    {"fragments that become too big", "\x02\x81" Z "x\x80\xff\x00\x00\x00\x00\x00\x10\x00\x00" Z, 21, 1009},
    {"close of one byte", "\x88\x81" Z "\x03", 7, 1002},
    {"close 1005", "\x88\x82" Z "\x03\xed", 8, 1002},
    {"close 1006", "\x88\x82" Z "\x03\xee", 8, 1002},
    {"close 1015", "\x88\x82" Z "\x03\xf7", 8, 1002},
    {"close 999", "\x88\x82" Z "\x03\xe7", 8, 1002},
    {"close 2000", "\x88\x82" Z "\x07\xd0", 8, 1002},
    {"close 5000", "\x88\x82" Z "\x13\x88", 8, 1002},
    {"close with a reason that is no text", "\x88\x83" Z "\x03\xe8\xff", 9, 1007},
};

static void wrong_flow(struct ws_rig *w)
{
    for (size_t i = 0; i < CD_COUNT(wrongs); i++) {
        for (size_t cut = 0; cut < wrongs[i].len; cut++) {
            struct io_stream s = {0};
            struct cd_buf got = {0}, text = {0}, want = {0};
            struct cd_str all = cd_str_of(wrongs[i].bytes, wrongs[i].len);
            ws_raw_open(w, &s);
            int end = ws_raw_talk(w, &s, cd_str_sub(all, 0, cut), &got);
            if (end == IO_TIMEDOUT)
                end = ws_raw_talk(w, &s, cd_str_sub(all, cut, SIZE_MAX), &got);
            ws_raw_text(&text, cd_buf_str(&got));
            cd_buf_addf(&want, "close %u |", wrongs[i].code);
            if (end != IO_EOF || !cd_str_eq(cd_buf_str(&text), cd_buf_str(&want)) || w->ended != 1) {
                fprintf(stderr, "%s, cut at %zu: %s %s, want %s; heard %s\n", wrongs[i].what, cut,
                        cd_err_text(end), cd_buf_cstr(&text), cd_buf_cstr(&want), cd_buf_cstr(&w->log));
                abort();
            }
            cd_buf_clear(&want);
            cd_buf_addf(&want, "ended %u ", wrongs[i].code);
            CHECK(cd_str_starts(cd_buf_str(&w->log), cd_buf_str(&want)));
            CHECK(cd_str_ends(cd_buf_str(&w->log), CD_STR("unclean\n")));
            w->ended = 0;
            cd_buf_clear(&w->log);
            rig_hang_up(&s, false);
            cd_buf_deinit(&got);
            cd_buf_deinit(&text);
            cd_buf_deinit(&want);
        }
    }
}

static void test_a_peer_that_breaks_the_protocol_is_told_why(void **state)
{
    (void)state;
    ws_rig_run(&(struct ws_rig){.opts = {.message_max = 1u << 20}}, wrong_flow);
}

/* ---- Ends ---- */

static void raw_close(struct cd_buf *out, const char *payload, size_t len)
{
    cd_buf_clear(out);
    ws_raw_frame(out, true, HTTP_WS_CLOSE, payload, len);
}

static void check_frames(struct ws_rig *w, struct io_stream *s, struct cd_str bytes, int end,
                         const char *want)
{
    struct cd_buf got = {0}, text = {0};
    int status = ws_raw_talk(w, s, bytes, &got);
    ws_raw_text(&text, cd_buf_str(&got));
    if (status != end || !cd_str_eq(cd_buf_str(&text), cd_str(want))) {
        fprintf(stderr, "got %s %s, want %s %s\n", cd_err_text(status), cd_buf_cstr(&text), cd_err_text(end),
                want);
        abort();
    }
    cd_buf_deinit(&got);
    cd_buf_deinit(&text);
}

static const struct cd_str nothing;

static void close_4000(struct ws_rig *w)
{
    CHECK_INT(http_ws_close(w->ws, 1006, CD_STR("")), CD_EINVAL);
    CHECK_INT(http_ws_close(w->ws, 1000, CD_STR("\xff")), CD_EINVAL);
    CHECK_INT(http_ws_close(w->ws, 4000, CD_STR("enough")), 0);
    CHECK_INT(http_ws_close(w->ws, 4000, CD_STR("enough")), CD_ECLOSED);
}

static void ends_flow(struct ws_rig *w)
{
    struct io_stream s = {0};
    struct cd_buf bytes = {0};
    /* The peer closes without a code. */
    ws_raw_open(w, &s);
    raw_close(&bytes, "", 0);
    check_frames(w, &s, cd_buf_str(&bytes), IO_EOF, "close |");
    rig_hang_up(&s, false);
    ws_rig_log_is(w, "closing 1005 \nended 1005  clean\n");
    /* We close, the peer answers. What it still says before is not heard. */
    ws_raw_open(w, &s);
    ws_rig_do(w, close_4000);
    check_frames(w, &s, nothing, IO_TIMEDOUT, "close 4000 enough|");
    cd_buf_clear(&bytes);
    ws_raw_frame(&bytes, true, HTTP_WS_TEXT, "late", 4);
    ws_raw_frame(&bytes, true, HTTP_WS_CLOSE, "\x0f\xa0", 2);
    check_frames(w, &s, cd_buf_str(&bytes), IO_EOF, "");
    rig_hang_up(&s, false);
    ws_rig_log_is(w, "closing 4000 \nended 4000  clean\n");
    /* We close, the peer does not care. */
    ws_raw_open(w, &s);
    ws_rig_do(w, close_4000);
    (void)io_sleep(w->r.cio, IO_SEC(11));
    CHECK_INT(w->ended, 3);
    rig_hang_up(&s, false);
    ws_rig_log_is(w, "ended 1006  unclean\n");
    /* The peer goes without a word, in two ways. */
    for (int abort_it = 0; abort_it < 2; abort_it++) {
        ws_raw_open(w, &s);
        rig_hang_up(&s, abort_it != 0);
        (void)io_sleep(w->r.cio, IO_MS(10));
        ws_rig_log_is(w, "ended 1006  unclean\n");
    }
    cd_buf_deinit(&bytes);
}

static void test_how_sockets_end(void **state)
{
    (void)state;
    ws_rig_run(&(struct ws_rig){.no_echo = false}, ends_flow);
}

static void reply_now(struct ws_rig *w)
{
    CHECK_INT(http_ws_close(w->ws, 3000, CD_STR("mine")), 0);
}

static void no_reply_flow(struct ws_rig *w)
{
    struct io_stream s = {0};
    struct cd_buf bytes = {0};
    ws_raw_open(w, &s);
    raw_close(&bytes, "\x03\xe8", 2);
    check_frames(w, &s, cd_buf_str(&bytes), IO_TIMEDOUT, "");
    (void)io_sleep(w->r.cio, IO_SEC(60)); /* The listener may take its time. */
    ws_rig_log_is(w, "closing 1000 \n");
    ws_rig_do(w, reply_now);
    check_frames(w, &s, nothing, IO_EOF, "close 3000 mine|");
    ws_rig_log_is(w, "ended 1000  clean\n");
    rig_hang_up(&s, false);
    cd_buf_deinit(&bytes);
}

static void test_the_listener_may_answer_the_close_frame_itself(void **state)
{
    (void)state;
    ws_rig_run(&(struct ws_rig){.opts = {.no_close_reply = true}}, no_reply_flow);
}

static void stop_flow(struct ws_rig *w)
{
    struct io_stream good = {0}, bad = {0};
    struct cd_buf bytes = {0}, got = {0};
    ws_raw_open(w, &good);
    ws_raw_open(w, &bad);
    w->grace_ns = IO_SEC(3);
    sim_in_loop(w->r.server_node, 0, w->r.also_unwind, &w->r);
    check_frames(w, &good, nothing, IO_TIMEDOUT, "close 1012 |");
    check_frames(w, &bad, nothing, IO_TIMEDOUT, "close 1012 |");
    raw_close(&bytes, "\x03\xf4", 2);
    check_frames(w, &good, cd_buf_str(&bytes), IO_EOF, "");
    CHECK(!w->stopped);
    (void)io_sleep(w->r.cio, IO_SEC(4));
    CHECK(w->stopped);
    CHECK_INT(w->stop_status, IO_TIMEDOUT);
    CHECK_INT(w->ended, 2);
    rig_hang_up(&good, false);
    rig_hang_up(&bad, false);
    cd_buf_deinit(&bytes);
    cd_buf_deinit(&got);
}

static void test_a_stopping_host_says_goodbye(void **state)
{
    (void)state;
    ws_rig_run(&(struct ws_rig){.no_echo = false}, stop_flow);
}

/* ---- Back-pressure ---- */

static void flood_flow(struct ws_rig *w)
{
    struct io_stream s = {0};
    struct cd_buf ping = {0}, many = {0}, text = {0};
    ws_raw_open(w, &s);
    /* A megabyte of messages to be echoed, and pings among them, while nobody reads the answers. */
    ws_raw_frame(&text, true, HTTP_WS_TEXT,
                 "0123456789012345678901234567890123456789012345678901234567890123", 64);
    ws_raw_frame(&ping, true, HTTP_WS_PING, "p", 1);
    for (int i = 0; i < 16000; i++) {
        cd_buf_add_str(&many, cd_buf_str(&text));
        cd_buf_add_str(&many, cd_buf_str(&ping));
    }
    CHECK_INT(rig_send(&s, cd_buf_str(&many)), IO_OK);
    (void)io_sleep(w->r.cio, IO_MS(100));
    CHECK(w->ws != NULL && http_ws_unsent(w->ws) > 0);
    CHECK(w->ws->out != NULL && w->ws->out->control.len < 200); /* Pongs do not pile up. */
    struct cd_buf got = {0};
    CHECK_INT(rig_receive(&w->r, &s, &got, IO_MS(50)), IO_TIMEDOUT);
    size_t texts = 0;
    for (struct cd_str rest = cd_buf_str(&got); rest.len > 0;) {
        struct http_ws_head h;
        int size = http_ws_head_read(rest, false, &h);
        CHECK(size > 0);
        texts += h.opcode == HTTP_WS_TEXT;
        rest = cd_str_sub(rest, (size_t)size + (size_t)h.len, SIZE_MAX);
    }
    CHECK_INT(texts, 16000);
    CHECK_INT(http_ws_unsent(w->ws), 0);
    cd_buf_clear(&w->log);
    rig_hang_up(&s, true);
    cd_buf_deinit(&got);
    cd_buf_deinit(&many);
    cd_buf_deinit(&ping);
    cd_buf_deinit(&text);
}

static void test_a_peer_that_does_not_read_slows_the_sender(void **state)
{
    (void)state;
    ws_rig_run(&(struct ws_rig){.no_echo = false}, flood_flow);
}

static void stuck_flow(struct ws_rig *w)
{
    struct io_stream s = {0};
    struct cd_buf big = {0}, bytes = {0};
    ws_raw_open(w, &s);
    cd_buf_add_zero(&big, 1u << 20);
    ws_raw_frame(&bytes, true, HTTP_WS_BINARY, big.ptr, big.len);
    CHECK_INT(rig_send(&s, cd_buf_str(&bytes)), IO_OK);
    (void)io_sleep(w->r.cio, IO_SEC(125)); /* 30 s, the time of the bytes, and up to 30 s more. */
    ws_rig_log_is(w, "binary of 1048576\nended 1006 the peer does not read unclean\n");
    rig_hang_up(&s, true);
    cd_buf_deinit(&big);
    cd_buf_deinit(&bytes);
}

static void test_a_peer_that_never_reads_is_cut_off(void **state)
{
    (void)state;
    ws_rig_run(&(struct ws_rig){.no_echo = false}, stuck_flow);
}

static void pause_it(struct ws_rig *w)
{
    http_ws_pause(w->ws);
}

static void resume_it(struct ws_rig *w)
{
    http_ws_resume(w->ws);
}

static void park_it(struct ws_rig *w)
{
    http_ws_listen(w->ws, NULL, NULL);
}

static void wake_it(struct ws_rig *w)
{
    http_ws_listen(w->ws, &ws_rig_listener, w);
}

static void hello_bytes(struct cd_buf *out, int count)
{
    cd_buf_clear(out);
    for (int i = 0; i < count; i++)
        ws_raw_frame(out, true, HTTP_WS_TEXT, "hello", 5);
}

static void pause_flow(struct ws_rig *w)
{
    void (*const stops[])(struct ws_rig *) = {pause_it, park_it},
                                        (*const goes[])(struct ws_rig *) = {resume_it, wake_it};
    struct cd_buf bytes = {0};
    for (int i = 0; i < 2; i++) {
        struct io_stream s = {0};
        ws_raw_open(w, &s);
        ws_rig_do(w, stops[i]);
        hello_bytes(&bytes, 3);
        check_frames(w, &s, cd_buf_str(&bytes), IO_TIMEDOUT, "");
        ws_rig_log_is(w, "");
        ws_rig_do(w, goes[i]);
        check_frames(w, &s, nothing, IO_TIMEDOUT, "text hello|text hello|text hello|");
        /* What came before the end is heard before it. */
        ws_rig_do(w, stops[i]);
        CHECK_INT(rig_send(&s, cd_buf_str(&bytes)), IO_OK);
        rig_hang_up(&s, false);
        (void)io_sleep(w->r.cio, IO_MS(20));
        cd_buf_clear(&w->log);
        ws_rig_do(w, goes[i]);
        (void)io_sleep(w->r.cio, IO_MS(20));
        ws_rig_log_is(w, "text hello\ntext hello\ntext hello\nended 1006  unclean\n");
    }
    cd_buf_deinit(&bytes);
}

static void test_a_paused_or_parked_socket_hears_later(void **state)
{
    (void)state;
    ws_rig_run(&(struct ws_rig){.no_echo = false}, pause_flow);
}

/* A listener that changes while it is called: hibernation in the middle of a burst. */
static void park_on_message(void *arg, struct http_ws *ws, enum http_ws_opcode kind, struct cd_str bytes)
{
    struct ws_rig *w = arg;
    (void)kind;
    (void)bytes;
    cd_buf_addf(&w->log, "one\n");
    http_ws_listen(ws, NULL, NULL);
}

static const struct http_ws_listener parking = {park_on_message, NULL, NULL};

static void listen_parking(struct ws_rig *w)
{
    http_ws_listen(w->ws, &parking, w);
}

static void hibernate_flow(struct ws_rig *w)
{
    struct io_stream s = {0};
    struct cd_buf bytes = {0};
    ws_raw_open(w, &s);
    ws_rig_do(w, listen_parking);
    hello_bytes(&bytes, 2);
    check_frames(w, &s, cd_buf_str(&bytes), IO_TIMEDOUT, "");
    ws_rig_log_is(w, "one\n");
    ws_rig_do(w, wake_it);
    check_frames(w, &s, nothing, IO_TIMEDOUT, "text hello|");
    ws_rig_log_is(w, "text hello\n");
    rig_hang_up(&s, true);
    (void)io_sleep(w->r.cio, IO_MS(10));
    cd_buf_deinit(&bytes);
}

static void test_the_listener_may_change_inside_of_a_message(void **state)
{
    (void)state;
    ws_rig_run(&(struct ws_rig){.no_echo = false}, hibernate_flow);
}

/* ---- Liveness ---- */

static void ping_flow(struct ws_rig *w)
{
    struct io_stream s = {0};
    struct cd_buf pong = {0}, got = {0}, text = {0};
    ws_raw_frame(&pong, true, HTTP_WS_PONG, "", 0);
    ws_raw_open(w, &s);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(rig_receive(&w->r, &s, &got, IO_SEC(14)), IO_TIMEDOUT);
        CHECK_INT(rig_send(&s, cd_buf_str(&pong)), IO_OK);
    }
    ws_raw_text(&text, cd_buf_str(&got));
    CHECK(cd_str_eq(cd_buf_str(&text), CD_STR("ping |ping |ping |")));
    ws_rig_log_is(w, "");
    (void)io_sleep(w->r.cio, IO_SEC(31)); /* 10 s of silence, and 20 s for the answer. */
    ws_rig_log_is(w, "ended 1006 the peer does not answer unclean\n");
    rig_hang_up(&s, true);
    cd_buf_deinit(&pong);
    cd_buf_deinit(&got);
    cd_buf_deinit(&text);
}

static void test_a_silent_peer_is_asked_and_then_given_up(void **state)
{
    (void)state;
    ws_rig_run(&(struct ws_rig){.opts = {.ping_ns = IO_SEC(10)}}, ping_flow);
}

/* ---- Cancelling ---- */

static struct http_ws_send canceled[3];
static int canceled_status[3];

static void canceled_done(struct io_op *op, int status)
{
    canceled_status[CD_CONTAINER(op, struct http_ws_send, op) - canceled] = status;
}

static void send_and_cancel(struct ws_rig *w)
{
    static char big[300000];
    memset(big, 'b', sizeof big);
    memset(canceled_status, 0x7f, sizeof canceled_status);
    http_ws_send(w->ws, &canceled[0], HTTP_WS_TEXT, cd_str_of(big, sizeof big),
                 canceled_done); /* Fills the wire. */
    http_ws_send(w->ws, &canceled[1], HTTP_WS_TEXT, CD_STR("not this"), canceled_done);
    http_ws_send(w->ws, &canceled[2], HTTP_WS_TEXT, CD_STR("but this"), canceled_done);
    io_cancel(&canceled[1].op);
    io_cancel(&canceled[0].op); /* Too late: half of it is out. */
    CHECK_INT(http_ws_unsent(w->ws), sizeof big + 8);
}

static void cancel_flow(struct ws_rig *w)
{
    struct io_stream s = {0};
    ws_raw_open(w, &s);
    ws_rig_do(w, send_and_cancel);
    check_frames(w, &s, nothing, IO_TIMEDOUT, "text of 300000|text but this|");
    CHECK_INT(canceled_status[0], IO_OK);
    CHECK_INT(canceled_status[1], IO_CANCELED);
    CHECK_INT(canceled_status[2], IO_OK);
    rig_hang_up(&s, true);
    (void)io_sleep(w->r.cio, IO_MS(10));
}

static void test_a_message_that_waits_can_be_taken_back(void **state)
{
    (void)state;
    ws_rig_run(&(struct ws_rig){.no_echo = false}, cancel_flow);
}

/* ---- Handshakes ---- */

static void refused_flow(struct ws_rig *w)
{
#define WS_GET "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    rig_expect(&w->r,
               WS_GET "Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
               "HTTP/1.1 426 Upgrade Required\r\nContent-Type: text/plain; "
               "charset=utf-8\r\nSec-WebSocket-Version: 13\r\n"
               "Content-Length: 33\r\n\r\nunsupported Sec-WebSocket-Version");
    rig_expect(
        &w->r, WS_GET "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n\r\n",
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 27\r\n\r\n"
        "malformed Sec-WebSocket-Key");
    CHECK_INT(w->refused, 2);
    CHECK_INT(w->accepted, 0);
}

static void test_handshakes_that_are_refused(void **state)
{
    (void)state;
    ws_rig_run(&(struct ws_rig){.no_echo = false}, refused_flow);
}

/* ---- Faults and crashes ---- */

static void any_flow(struct ws_rig *w)
{
    struct cd_buf bytes = {0};
    story_bytes(&bytes);
    for (int i = 0; i < 2; i++) {
        struct io_stream s = {0};
        struct cd_buf got = {0};
        if (rig_connect(&w->r, &s) != IO_OK)
            continue;
        (void)rig_send(
            &s, CD_STR("GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                       "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"));
        (void)ws_raw_talk(w, &s, cd_str_sub(cd_buf_str(&bytes), 0, 50), &got);
        (void)ws_raw_talk(w, &s, cd_str_sub(cd_buf_str(&bytes), 50, SIZE_MAX), &got);
        rig_hang_up(&s, i != 0);
        cd_buf_deinit(&got);
    }
    cd_buf_deinit(&bytes);
}

static void test_every_call_may_fail(void **state)
{
    (void)state;
    FOR_EACH_FAULT(sweep)
    {
        struct ws_rig w = {.no_echo = false};
        ws_rig_open(&w, 1);
        sim_sweep_arm(&sweep, w.r.server_node);
        ws_rig_flow(&w, any_flow);
        ws_rig_close(&w);
    }
}

static void test_the_node_may_die_in_every_call(void **state)
{
    (void)state;
    bool hit = true;
    for (uint64_t k = 1; hit; k++) {
        struct ws_rig w = {.r = {.unwinds = true}};
        ws_rig_open(&w, k);
        hit = false;
        assert_true(
            sim_at_call(w.r.server_node, "any", k, k % 2 ? SIM_DIE_KILL : SIM_DIE_POWER, IO_FAULT, &hit));
        ws_rig_flow(&w, any_flow);
        sim_run_for(w.r.sim, IO_SEC(1));
        ws_rig_close(&w);
        assert_true(k < 1000);
    }
}

CD_TESTS(ws, cmocka_unit_test(test_messages_are_heard_however_their_bytes_are_cut),
         cmocka_unit_test(test_messages_of_every_length_and_an_idle_socket_keeps_nothing),
         cmocka_unit_test(test_a_peer_that_breaks_the_protocol_is_told_why),
         cmocka_unit_test(test_how_sockets_end),
         cmocka_unit_test(test_the_listener_may_answer_the_close_frame_itself),
         cmocka_unit_test(test_a_stopping_host_says_goodbye),
         cmocka_unit_test(test_a_peer_that_does_not_read_slows_the_sender),
         cmocka_unit_test(test_a_peer_that_never_reads_is_cut_off),
         cmocka_unit_test(test_a_paused_or_parked_socket_hears_later),
         cmocka_unit_test(test_the_listener_may_change_inside_of_a_message),
         cmocka_unit_test(test_a_silent_peer_is_asked_and_then_given_up),
         cmocka_unit_test(test_a_message_that_waits_can_be_taken_back),
         cmocka_unit_test(test_handshakes_that_are_refused), cmocka_unit_test(test_every_call_may_fail),
         cmocka_unit_test(test_the_node_may_die_in_every_call))
