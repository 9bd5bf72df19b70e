/* Outbound HTTP: TLS, and connections that are kept. */
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "node_help.h"
#include "tls_help.h"

/* A server that speaks TLS on a thread of its own, for one connection. */
struct tls_site {
    struct tls_cert cert;
    int fd;
    uint16_t port;
    pthread_t thread;
    bool shook_hands;
    char head[2000];
};

static void tls_talk(struct tls_site *s, SSL *tls)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret";
    int len = 0;
    s->shook_hands = SSL_accept(tls) == 1;
    if (!s->shook_hands)
        return;
    while (strstr(s->head, "\r\n\r\n") == NULL) {
        int n = SSL_read(tls, s->head + len, (int)sizeof s->head - 1 - len);
        if (n <= 0) /* The client did not like our certificate. */
            return;
        len += n;
    }
    CHECK(SSL_write(tls, answer, (int)sizeof answer - 1) == (int)sizeof answer - 1);
    (void)SSL_shutdown(tls);
}

static void *tls_main(void *arg)
{
    struct tls_site *s = arg;
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    CHECK(ctx != NULL);
    CHECK(SSL_CTX_use_certificate(ctx, s->cert.cert) == 1 && SSL_CTX_use_PrivateKey(ctx, s->cert.key) == 1);
    int fd = accept(s->fd, NULL, NULL);
    CHECK(fd >= 0);
    SSL *tls = SSL_new(ctx);
    CHECK(tls != NULL && SSL_set_fd(tls, fd) == 1);
    tls_talk(s, tls);
    SSL_free(tls);
    CHECK(close(fd) == 0);
    SSL_CTX_free(ctx);
    return NULL;
}

static void tls_open(struct tls_site *s)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    *s = (struct tls_site){0};
    tls_cert_make(&s->cert);
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(s->fd >= 0 && bind(s->fd, (struct sockaddr *)&at, len) == 0 && listen(s->fd, 8) == 0);
    CHECK(getsockname(s->fd, (struct sockaddr *)&at, &len) == 0);
    s->port = ntohs(at.sin_port);
    CHECK(pthread_create(&s->thread, NULL, tls_main, s) == 0);
}

static void tls_close(struct tls_site *s)
{
    CHECK(pthread_join(s->thread, NULL) == 0);
    CHECK(close(s->fd) == 0);
    tls_cert_free(&s->cert);
}

static int ask_tls(struct contract *c, struct io_http *h, const char *host)
{
    const struct tls_site *s = c->arg;
    char url[100];
    struct io_op op = {0};
    (void)snprintf(url, sizeof url, "https://%s:%u/", host, s->port);
    struct io_http_ask ask = {.method = CD_STR("GET"), .url = cd_str(url)};
    io_http_start(h, c->io, &ask, &op, NULL);
    return await(&op);
}

static void flow_unknown_ca(struct contract *c)
{
    struct io_http h = {0};
    CHECK_INT(ask_tls(c, &h, "127.0.0.1"), IO_DENIED);
    CHECK(h.io == NULL && h.why[0] != '\0');
}

static void test_a_certificate_that_nobody_vouches_for_is_refused(void **state)
{
    (void)state;
    struct tls_site s;
    tls_open(&s);
    node_run(&(struct node_run){.opts = {.log_fd = -1}, .flow = flow_unknown_ca, .arg = &s});
    tls_close(&s);
    assert_int_equal(s.head[0], '\0'); /* Nothing was told to it. */
}

static void flow_known_ca(struct contract *c)
{
    struct io_http h = {0};
    struct io_read r = {0};
    struct io_op op = {0};
    CHECK_INT(ask_tls(c, &h, "127.0.0.1"), IO_OK);
    CHECK_INT(h.status, 200);
    io_http_read(&h, &r, NULL);
    CHECK_INT(await(&r.op), IO_OK);
    CHECK(r.len == 6 && memcmp(r.buf, "secret", 6) == 0);
    io_http_close(&h, &op, NULL);
    CHECK_INT(await(&op), IO_OK);
}

static void test_a_certificate_of_a_known_authority_is_accepted(void **state)
{
    (void)state;
    struct tls_site s;
    tls_open(&s);
    tls_trust(&s.cert);
    node_run(&(struct node_run){.opts = {.log_fd = -1}, .flow = flow_known_ca, .arg = &s});
    tls_trust(NULL);
    tls_close(&s);
    assert_true(s.shook_hands);
}

static void flow_other_name(struct contract *c)
{
    struct io_http h = {0};
    CHECK_INT(ask_tls(c, &h, "localhost"), IO_DENIED); /* The certificate is for 127.0.0.1. */
}

static void test_a_certificate_for_another_name_is_refused(void **state)
{
    (void)state;
    struct tls_site s;
    tls_open(&s);
    tls_trust(&s.cert);
    node_run(&(struct node_run){.opts = {.log_fd = -1}, .flow = flow_other_name, .arg = &s});
    tls_trust(NULL);
    tls_close(&s);
    assert_int_equal(s.head[0], '\0');
}

/* ---- Kept connections ---- */

/* Answers the first request and keeps the connection; at the second one it hangs up without a word. */
struct moody_site {
    struct io_listener listener;
    struct io_addr at;
    unsigned requests;
};

static bool read_request(struct io_stream *s)
{
    struct cd_buf in = {0};
    int status = IO_OK;
    while (status == IO_OK && cd_str_find_str(cd_buf_str(&in), CD_STR("\r\n\r\n"), 0) == SIZE_MAX)
        status = stream_read_to(s, &in, in.len + 1);
    cd_buf_deinit(&in);
    return status == IO_OK;
}

static void moody_run(struct contract *c, void *arg)
{
    struct moody_site *m = arg;
    (void)c;
    for (;;) {
        struct io_stream s = {0};
        struct io_op op = {0};
        io_accept(&m->listener, &s, &op, NULL);
        if (io_await(&op, IO_FOREVER) != IO_OK) /* Until the test is over. */
            return;
        for (unsigned on_this = 0; read_request(&s); on_this++) {
            m->requests++;
            if (m->requests == 2) {
                CHECK_INT(on_this, 1);
                break;
            }
            CHECK_INT(stream_write(&s, CD_STR("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")), IO_OK);
        }
        stream_close(&s, false);
    }
}

static int ask_once(struct contract *c, struct moody_site *m, const char *method)
{
    char url[100];
    struct io_http h = {0};
    struct io_op op = {0};
    struct io_read r = {0};
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u/", m->at.port);
    struct io_http_ask ask = {.method = cd_str(method), .url = cd_str(url)};
    io_http_start(&h, c->io, &ask, &op, NULL);
    int status = await(&op);
    if (status != IO_OK)
        return status;
    do {
        io_http_read(&h, &r, NULL);
    } while (await(&r.op) == IO_OK);
    CHECK_INT(r.op.status, IO_EOF);
    io_http_close(&h, &op, NULL);
    CHECK_INT(await(&op), IO_OK);
    return IO_OK;
}

static void flow_kept(struct contract *c)
{
    static const char *const methods[] = {"POST", "GET"};
    for (size_t i = 0; i < CD_COUNT(methods); i++) {
        struct moody_site m = {0};
        struct task t;
        bool may_repeat = i == 1;
        listen_any(c, &m.listener, &m.at);
        task_start(&t, c, moody_run, &m);
        CHECK_INT(ask_once(c, &m, "GET"), IO_OK);
        CHECK_INT(ask_once(c, &m, methods[i]), may_repeat ? IO_OK : IO_RESET);
        CHECK_INT(m.requests, may_repeat ? 3 : 2);
        /* Where a request was lost the next one finds its way. */
        CHECK_INT(ask_once(c, &m, methods[i]), IO_OK);
        io_fiber_cancel(t.fiber);
        task_join(&t);
        listener_close(&m.listener);
    }
}

static void test_a_request_that_changes_something_is_never_sent_twice(void **state)
{
    (void)state;
    node_run(&(struct node_run){.opts = {.log_fd = -1}, .flow = flow_kept});
}

CD_TESTS(https, cmocka_unit_test(test_a_certificate_that_nobody_vouches_for_is_refused),
         cmocka_unit_test(test_a_certificate_of_a_known_authority_is_accepted),
         cmocka_unit_test(test_a_certificate_for_another_name_is_refused),
         cmocka_unit_test(test_a_request_that_changes_something_is_never_sent_twice))
