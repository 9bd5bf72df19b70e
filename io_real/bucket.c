/* io_real/bucket.c: the store group of io.h: checks that do not depend on the provider, then the dialect. */
#include "io_real/bucket.h"

#include <stdio.h>

#include "io_real/bucket_internal.h"

#define TIMEOUT_NS IO_SEC(15) /* fleet.md 3.6, per attempt. */

static int open_dialect(struct io_real_store *s, const struct io_real_store_opts *o, struct cd_buf *why)
{
    switch (s->url.scheme) {
    case STORE_FILE: return embedded_open(&s->embedded, s->url.dir, why);
    case STORE_S3:
        return s3_config_init(&s->s3,
                              &(struct s3_options){.bucket = cd_str(s->url.name),
                                                   .endpoint = o->endpoint,
                                                   .region = o->region,
                                                   .access_key = o->access_key,
                                                   .secret_key = o->secret_key,
                                                   .session_token = o->session_token,
                                                   .etag_mode = o->etag_mode},
                              why);
    case STORE_GS:
    case STORE_AZ: break;
    }
    cd_buf_addf(why, "%s:// buckets are not supported yet; use s3://NAME or file:///DIR",
                store_scheme_name(s->url.scheme));
    return CD_EUNSUPPORTED;
}

int io_real_store_open(struct io_real_store **out, const struct io_real_store_opts *o, struct cd_buf *why)
{
    struct io_real_store *s = cd_new(struct io_real_store);
    int rc = store_bucket_url_parse(&s->url, o->url, why);
    if (rc == 0)
        rc = store_bucket_url_check_endpoint(&s->url, o->endpoint, why);
    if (rc == 0)
        rc = open_dialect(s, o, why);
    if (rc == 0)
        *out = s;
    else
        cd_free(s);
    return rc;
}

void io_real_store_close(struct io_real_store *s)
{
    if (s->embedded != NULL)
        embedded_close(s->embedded);
    s3_config_deinit(&s->s3);
    cd_free(s);
}

bool io_real_store_is_local(const struct io_real_store *s)
{
    return s->url.scheme == STORE_FILE;
}

struct io_bucket *io_real_bucket_open(struct io_real_store *s, struct io *io)
{
    struct io_bucket *b = cd_new(struct io_bucket);
    b->store = s;
    b->loop = real_loop(io);
    return b;
}

void io_real_bucket_close(struct io_bucket *b)
{
    cd_free(b);
}

/* ---- The operations ---- */

static void ask_drop(struct bucket_ask *ask)
{
    cd_buf_deinit(&ask->key);
    cd_buf_deinit(&ask->after);
}

static void ask_start(struct io_bucket *b, struct bucket_ask *ask)
{
    if (ask->timeout_ns == 0)
        ask->timeout_ns = TIMEOUT_NS;
    if (b->store->embedded != NULL)
        bucket_embedded_start(b, ask);
    else
        bucket_s3_start(b, ask);
}

static void refuse(struct bucket_ask *ask, int status)
{
    ask_drop(ask);
    io_complete_later(bucket_op(ask), status);
}

/* Begins an operation on one object. False: it has failed already. */
static bool begin_object(struct io_bucket *b, struct bucket_ask *ask, struct cd_str key, io_done_fn *done)
{
    struct io_store *s = ask->store;
    CD_ASSERT((unsigned)s->lane < IO_LANE_COUNT);
    io_store_clear(s);
    if (!real_begin(b->loop, &s->op, done, NULL)) {
        snprintf(s->why, sizeof(s->why), "the loop is stopping");
        return false;
    }
    ask->lane = s->lane;
    ask->timeout_ns = s->timeout_ns;
    int rc = io_store_key(&ask->key, cd_str(b->store->url.prefix), key, s->why, sizeof(s->why));
    if (rc != 0)
        refuse(ask, rc);
    return rc == 0;
}

void io_store_get(struct io_store *s, struct io_bucket *b, struct cd_str key, uint64_t from, uint64_t len,
                  io_done_fn *done)
{
    struct bucket_ask ask = {.kind = S3_GET, .store = s, .from = from, .len = len};
    CD_ASSERT(len > 0);
    if (begin_object(b, &ask, key, done))
        ask_start(b, &ask);
}

void io_store_head(struct io_store *s, struct io_bucket *b, struct cd_str key, io_done_fn *done)
{
    struct bucket_ask ask = {.kind = S3_HEAD, .store = s};
    if (begin_object(b, &ask, key, done))
        ask_start(b, &ask);
}

void io_store_put(struct io_store *s, struct io_bucket *b, struct cd_str key, struct cd_str body,
                  enum io_put how, io_done_fn *done)
{
    struct bucket_ask ask = {.kind = S3_PUT, .store = s, .body = body, .how = how};
    CD_ASSERT(how != IO_PUT_IF_MATCH || s->token[0] != 0);
    if (!begin_object(b, &ask, key, done))
        return;
    if (body.len > IO_BODY_MAX) {
        snprintf(s->why, sizeof(s->why), "%zu bytes, at most %u in one put", body.len, IO_BODY_MAX);
        refuse(&ask, IO_TOOBIG);
        return;
    }
    ask_start(b, &ask);
}

void io_store_delete(struct io_store *s, struct io_bucket *b, struct cd_str key, io_done_fn *done)
{
    struct bucket_ask ask = {.kind = S3_DELETE, .store = s};
    if (begin_object(b, &ask, key, done))
        ask_start(b, &ask);
}

void io_store_list(struct io_list *l, struct io_bucket *b, struct cd_str prefix, struct cd_str after,
                   unsigned max, io_done_fn *done)
{
    struct bucket_ask ask = {
        .kind = S3_LIST, .list = l, .max = max, .lane = l->lane, .timeout_ns = l->timeout_ns};
    struct cd_str own = cd_str(b->store->url.prefix);
    CD_ASSERT(max >= 1 && max <= IO_LIST_MAX && (unsigned)l->lane < IO_LANE_COUNT);
    io_list_clear(l);
    if (!real_begin(b->loop, &l->op, done, NULL)) {
        snprintf(l->why, sizeof(l->why), "the loop is stopping");
        return;
    }
    cd_buf_add_str(&ask.key, own);
    int rc = prefix.len == 0 ? 0 : io_store_key(&ask.key, own, prefix, l->why, sizeof(l->why));
    if (rc == 0 && after.len != 0)
        rc = io_store_key(&ask.after, own, after, l->why, sizeof(l->why));
    if (rc == 0)
        ask_start(b, &ask);
    else
        refuse(&ask, rc);
}
