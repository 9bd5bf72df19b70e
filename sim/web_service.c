/* sim/web_service.c: a fiber per request. Its answer follows from the request's number; what it did with the
 * request is told to the oracle at the moment it would have its effect. */
#include "sim/web_service.h"

#define PIECE_MAX 4096u
#define REPLY_MAX (64u << 20)

struct web_service {
    struct io *io;
    struct web_service_opts opts;
    struct http_server *server;
    struct io_op stop;
    uint64_t last_id; /* The request before: what a planted bug mixes up. */
};

struct serve {
    struct web_service *service;
    struct http_exchange *x;
    uint64_t id, want, got;
    bool chunked, same;
};

static void check(struct web_service *s, const char *broken, struct cd_buf *why)
{
    if (broken != NULL)
        s->opts.broken(s->opts.arg, broken, cd_buf_str(why));
    cd_buf_deinit(why);
}

/* IO_EOF: the whole body is there. */
static int take_body(struct serve *v)
{
    for (;;) {
        struct io_read r = {0};
        http_body_read(v->x, &r, NULL);
        /* For ever: the server's own timeouts end it. */
        int rc = io_await(&r.op, IO_FOREVER);
        if (rc != 0)
            return rc;
        v->same = v->same && web_bytes_are(v->id, WEB_BODY, v->got, cd_str_of(r.buf, r.len));
        v->got += r.len;
    }
}

static int answer_head(struct serve *v, uint64_t answers, bool last)
{
    struct cd_buf number = {0};
    cd_buf_addf(&number, "%llu", (unsigned long long)answers);
    struct http_field field = {CD_STR("X-Op"), cd_buf_str(&number)};
    struct http_answer a = {.status = 200, .field = &field, .field_count = 1};
    a.body_len = v->chunked ? HTTP_LEN_CHUNKED : v->want;
    struct io_write w = {0};
    http_answer_start(v->x, &a, &w, last, NULL);
    int rc = io_await(&w.op, IO_FOREVER); /* As in take_body. */
    cd_buf_deinit(&number);
    return rc;
}

static int answer_body(struct serve *v, uint64_t answers)
{
    struct cd_buf bytes = {0};
    int rc = 0;
    for (uint64_t at = 0; rc == 0 && at < v->want;) {
        uint64_t most = v->want - at < PIECE_MAX ? v->want - at : PIECE_MAX;
        size_t len = (size_t)most;
        if (v->want <= 4 * PIECE_MAX)
            len = 1 + (size_t)io_random_below(v->service->io, IO_RAND_JITTER, most);
        cd_buf_clear(&bytes);
        web_bytes(&bytes, answers, WEB_REPLY, at, len);
        at += len;
        struct cd_str part = cd_buf_str(&bytes);
        struct io_write w = {.part = &part, .parts = 1};
        http_answer_write(v->x, &w, at == v->want, NULL);
        rc = io_await(&w.op, IO_FOREVER); /* As in take_body. */
    }
    cd_buf_deinit(&bytes);
    return rc;
}

static void execute(struct serve *v)
{
    struct web_service *s = v->service;
    struct cd_buf why = {0};
    check(s, web_truth_execute(s->opts.truth, v->id, v->got, v->same, &why), &why);
}

static void serve_flow(void *arg)
{
    struct serve *v = arg;
    struct web_service *s = v->service;
    int rc = take_body(v);
    if (rc != IO_EOF && CD_PLANT("http.cut-body-is-whole"))
        rc = IO_EOF;
    bool early = CD_PLANT("http.answer-before-execution");
    if (rc == IO_EOF) {
        if (!early)
            execute(v);
        uint64_t answers = CD_PLANT("http.answers-mixed") && s->last_id != 0 ? s->last_id : v->id;
        s->last_id = v->id;
        if (!CD_PLANT("http.answer-forgotten") && answer_head(v, answers, v->want == 0) == 0 && v->want > 0)
            (void)answer_body(v, answers);
        if (early && io_sleep(s->io, IO_SEC(1)) == IO_OK)
            execute(v);
    }
    http_exchange_close(v->x);
    cd_free(v);
}

static bool field_u64(const struct http_exchange *x, const char *name, uint64_t *out)
{
    struct cd_str value = http_field_value(x->head->field, x->head->field_count, cd_str(name));
    return value.ptr != NULL && cd_str_u64(value, out) == 0;
}

static void handle(void *arg, struct http_exchange *x)
{
    struct web_service *s = arg;
    uint64_t chunked;
    struct serve *v = cd_new(struct serve);
    *v = (struct serve){.service = s, .x = x, .same = true};
    if (!field_u64(x, "x-op", &v->id) || !field_u64(x, "x-want", &v->want) ||
        !field_u64(x, "x-chunked", &chunked) || v->want > REPLY_MAX) {
        http_answer_text(x, 400, "text/plain", CD_STR("not a request of this workload\n"));
        cd_free(v);
        return;
    }
    v->chunked = chunked == 1;
    (void)io_spawn(s->io, "serve", serve_flow, v);
}

struct web_service *web_service_new(struct io *io, const struct web_service_opts *opts)
{
    struct web_service *s = cd_new(struct web_service);
    struct io_addr at = {.port = 80};
    s->io = io;
    s->opts = *opts;
    int rc = http_server_open(&s->server, io, &at, IO_LISTEN_SHARED, opts->server, handle, s);
    if (rc == 0)
        return s;
    cd_free(s);
    return NULL;
}

static void stopped(struct io_op *op, int status)
{
    struct web_service *s = CD_CONTAINER(op, struct web_service, stop);
    (void)status; /* Cut or not: nothing is open any more. */
    http_server_free(s->server);
    cd_free(s);
}

void web_service_end(struct web_service *s)
{
    if (CD_PLANT("http.server-left-open"))
        return;
    http_server_stop(s->server, 0, &s->stop, stopped);
}
