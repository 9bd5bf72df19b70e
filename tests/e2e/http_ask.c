/* e2e/http_ask.c: the client of src/http on the real system, for tests with foreign servers.
 *
 * usage: http_ask PORT STEP...     one after the other over one client:
 *     METHOD:TARGET                no body
 *     METHOD:TARGET:N              N bytes, announced
 *     METHOD:TARGET:N:chunked      N bytes, not announced
 *     ws:TARGET:N                  a WebSocket that sends N messages, each answered, and closes
 * Prints a line per step: "STATUS BYTES", or "error TEXT FATE WHY"; for ws "ws MESSAGES CODE CLEAN PROTOCOL".
 */
#include <stdio.h>
#include <stdlib.h>

#include "http/ws.h"
#include "io_real/io_real.h"

#define ROOM 65536

struct ask {
    struct io *io;
    struct io_addr to;
    struct http_client *client;
    struct http_ws_host *sockets;
    char **step;
    int steps;
};

struct upload {
    struct http_call *call;
    uint64_t left;
    bool done;
};

static char room[ROOM];

static void upload_fiber(void *arg)
{
    struct upload *u = arg;
    int status = IO_OK;
    while (status == IO_OK && u->left > 0) {
        struct cd_str part = cd_str_of(room, u->left < ROOM ? (size_t)u->left : ROOM);
        struct io_write w = {.part = &part, .parts = 1};
        u->left -= part.len;
        http_call_write(u->call, &w, u->left == 0, NULL);
        status = io_await(&w.op, IO_FOREVER);
    }
    u->done = true;
}

static void call_print(const struct http_call *call, int status, uint64_t bytes)
{
    static const char *const fates[] = {"unsent", "maybe", "answered"};
    if (status == IO_EOF)
        printf("%d %llu\n", call->head->status, (unsigned long long)bytes);
    else
        printf("error %s %s %s\n", cd_err_text(status), fates[call->fate],
               call->why == NULL ? "" : call->why);
    fflush(stdout);
}

static void call_run(struct ask *a, struct cd_str method, struct cd_str target, uint64_t size, bool chunked)
{
    struct http_call call = {0};
    struct io_op op = {0};
    struct upload u = {.call = &call, .left = size, .done = size == 0};
    const struct http_ask ask = {.method = method,
                                 .target = target,
                                 .authority = CD_STR("127.0.0.1"),
                                 .body_len = chunked ? HTTP_LEN_CHUNKED : size};
    uint64_t bytes = 0;
    http_call_start(&call, a->client, &a->to, &ask, CD_STR(""), &op, NULL);
    if (size > 0)
        (void)io_spawn(a->io, "upload", upload_fiber, &u);
    int status = io_await(&op, IO_FOREVER);
    while (status == IO_OK) {
        struct io_read read = {0};
        http_call_read(&call, &read, NULL);
        status = io_await(&read.op, IO_FOREVER);
        bytes += status == IO_OK ? read.len : 0;
    }
    call_print(&call, status, bytes);
    /* The rest of the request is not waited for: closing ends it. */
    http_call_close(&call);
    while (!u.done)
        (void)io_sleep(a->io, IO_MS(1));
}

/* ---- WebSocket ---- */

struct talk {
    struct ask *a;
    struct http_ws *ws;
    struct http_ws_send send;
    unsigned left, heard, code;
    bool clean, ended;
};

static void talk_next(struct talk *t)
{
    if (t->left == 0) {
        if (http_ws_close(t->ws, 1000, CD_STR("done")) != 0)
            fprintf(stderr, "http_ask: cannot close\n");
        return;
    }
    t->left--;
    /* Sizes that need each form of the length, and one of a megabyte. */
    static const size_t sizes[] = {5, 125, 126, 65535, 65536, 1u << 20};
    size_t size = sizes[t->heard % CD_COUNT(sizes)];
    static char big[1u << 20];
    memset(big, 'w', sizeof big);
    http_ws_send(t->ws, &t->send, t->heard % 2 == 0 ? HTTP_WS_TEXT : HTTP_WS_BINARY, cd_str_of(big, size),
                 NULL);
}

static void talk_message(void *arg, struct http_ws *ws, enum http_ws_opcode kind, struct cd_str bytes)
{
    struct talk *t = arg;
    (void)ws;
    bool same = kind == t->send.kind && bytes.len == t->send.bytes.len;
    if (!same)
        fprintf(stderr, "http_ask: %zu bytes came back, want %zu\n", bytes.len, t->send.bytes.len);
    t->heard++;
    talk_next(t);
}

static void talk_ended(void *arg, struct http_ws *ws, unsigned code, struct cd_str reason, bool clean)
{
    struct talk *t = arg;
    (void)reason;
    t->code = code;
    t->clean = clean;
    t->ended = true;
    http_ws_free(ws);
}

static const struct http_ws_listener talking = {talk_message, NULL, talk_ended};

static void ws_run(struct ask *a, struct cd_str target, uint64_t messages)
{
    struct talk t = {.a = a, .left = (unsigned)messages};
    struct http_ws_connect c = {.status = 0};
    http_ws_connect(&c, a->sockets, a->client, &a->to, target, CD_STR("127.0.0.1"), NULL, 0,
                    CD_STR("other, bounce"), false, NULL);
    int status = io_await(&c.op, IO_FOREVER);
    if (status == IO_OK) {
        t.ws = c.ws;
        http_ws_listen(c.ws, &talking, &t);
        talk_next(&t);
        while (!t.ended || io_busy(&t.send.op))
            (void)io_sleep(a->io, IO_MS(1));
        printf("ws %u %u %s %.*s\n", t.heard, t.code, t.clean ? "clean" : "unclean", (int)c.protocol.len,
               c.protocol.ptr);
    } else {
        printf("error %s %d %s\n", cd_err_text(status), c.status, c.why == NULL ? "" : c.why);
    }
    fflush(stdout);
    cd_buf_deinit(&c.protocol);
}

/* ---- Steps ---- */

static void step_run(struct ask *a, const char *text)
{
    struct cd_str rest = cd_str(text), method, target = CD_STR("/"), word;
    uint64_t number = 0;
    if (!cd_str_next(&rest, ':', &method) || !cd_str_next(&rest, ':', &target)) {
        fprintf(stderr, "http_ask: %s: want METHOD:TARGET\n", text);
        exit(1);
    }
    if (cd_str_next(&rest, ':', &word) && cd_str_u64(word, &number) != 0) {
        fprintf(stderr, "http_ask: %s: want a number of bytes\n", text);
        exit(1);
    }
    if (cd_str_eq(method, CD_STR("ws")))
        ws_run(a, target, number);
    else if (cd_str_eq(method, CD_STR("sleep")))
        (void)io_sleep(a->io, IO_MS(number));
    else
        call_run(a, method, target, number, rest.ptr != NULL);
}

static void ask_fiber(void *arg)
{
    struct ask *a = arg;
    struct io_op op = {0};
    a->client = http_client_new(a->io, NULL);
    a->sockets = http_ws_host_new(a->io, NULL);
    for (int i = 0; i < a->steps; i++)
        step_run(a, a->step[i]);
    http_ws_host_stop(a->sockets, HTTP_WS_GOING_AWAY, IO_SEC(1), &op, NULL);
    (void)io_await(&op, IO_FOREVER);
    http_ws_host_free(a->sockets);
    http_client_stop(a->client, &op, NULL);
    (void)io_await(&op, IO_FOREVER);
    http_client_free(a->client);
    io_stop(a->io);
}

static void entry(struct io *io, void *arg)
{
    ((struct ask *)arg)->io = io;
    (void)io_spawn(io, "ask", ask_fiber, arg);
}

int main(int argc, char **argv)
{
    uint64_t port = 0;
    struct ask a = {.to = {.host = "127.0.0.1"}, .step = argv + 2, .steps = argc - 2};
    if (argc < 3 || cd_str_u64(cd_str(argv[1]), &port) != 0 || port > UINT16_MAX) {
        fprintf(stderr, "usage: http_ask PORT STEP...\n");
        return 1;
    }
    a.to.port = (uint16_t)port;
    struct io_real *node = io_real_new(&(struct io_real_opts){.log_fd = -1});
    io_real_run(node, entry, &a);
    unsigned open = io_real_open_count(io_real_loop(node, 0));
    io_real_free(node);
    if (open != 0)
        fprintf(stderr, "http_ask: %u left open\n", open);
    return open != 0;
}
