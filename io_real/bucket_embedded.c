/* io_real/bucket_embedded.c: operations of a loop on the embedded store.
 *
 * A job owns copies of all it needs, so an op can end before its job does: when it is cancelled or too late.
 * What a thread of the store has finished comes back as mail of the loop. */
#include <stdio.h>

#include "io_real/bucket_internal.h"

struct call {
    struct io_msg msg;
    struct real_alarm alarm;
    struct io_bucket *bucket;
    struct embedded_job *job; /* owned, but while the store has it */
    struct bucket_ask ask;
};

/* The key of a listing that comes out of the store begins with the bucket's prefix. */
static void take_list(struct call *c)
{
    struct io_list *l = c->ask.list, *from = &c->job->list;
    size_t skip = strlen(c->bucket->store->url.prefix);
    for (unsigned i = 0; i < from->count; i++) {
        const struct io_entry *e = &from->entry[i];
        io_list_add(l, cd_str_sub(e->key, skip, SIZE_MAX), e->size, e->modified_ms, e->is_prefix);
    }
    io_list_seal(l);
    l->more = from->more;
    memcpy(l->why, from->why, sizeof(l->why));
}

static void take_object(struct call *c)
{
    struct io_store *s = c->ask.store, *from = &c->job->out;
    s->outcome = from->outcome;
    memcpy(s->why, from->why, sizeof(s->why));
    if (from->outcome != IO_DONE)
        return;
    cd_buf_deinit(&s->body);
    s->body = cd_buf_move(&from->body);
    s->size = from->size;
    s->modified_ms = from->modified_ms;
    if (c->ask.kind != S3_DELETE)
        memcpy(s->token, from->token, sizeof(s->token));
}

/* Back on the loop. */
static void call_handle(struct io *at, struct io_msg *m)
{
    struct call *c = CD_CONTAINER(m, struct call, msg);
    struct io_op *op = bucket_op(&c->ask);
    int status = c->job->status;
    (void)at;
    real_alarm_clear(c->bucket->loop, &c->alarm);
    if (c->ask.kind == S3_LIST)
        take_list(c);
    else
        take_object(c);
    embedded_job_free(c->job);
    cd_free(c);
    io_complete(op, status);
}

static void job_finished(struct embedded_job *j)
{
    struct call *c = j->user;
    real_mail_push(c->bucket->loop, &c->msg);
}

/* Ends the op now, whatever becomes of its job. */
static void leave(struct call *c, int status, const char *why)
{
    struct io_op *op = bucket_op(&c->ask);
    enum embedded_left left = embedded_abandon(c->bucket->store->embedded, c->job);
    if (left == EMBEDDED_COMES)
        return; /* The result is on its way. */
    if (c->ask.kind == S3_LIST) {
        snprintf(c->ask.list->why, sizeof(c->ask.list->why), "%s", why);
    } else {
        bool open = left == EMBEDDED_LEFT_RUNNING && bucket_is_write(c->ask.kind);
        c->ask.store->outcome = open ? IO_UNKNOWN : IO_REJECTED;
        snprintf(c->ask.store->why, sizeof(c->ask.store->why), "%s", why);
    }
    real_alarm_clear(c->bucket->loop, &c->alarm);
    if (left == EMBEDDED_NEVER_RAN)
        embedded_job_free(c->job);
    cd_free(c);
    io_complete_later(op, status);
}

static void call_cancel(struct io_op *op)
{
    leave(op->impl, IO_CANCELED, "canceled");
}

static void call_late(struct real_loop *l, struct real_alarm *a)
{
    (void)l;
    leave(CD_CONTAINER(a, struct call, alarm), IO_TIMEDOUT, "the store did not answer in time");
}

static enum embedded_kind kind_of(enum s3_kind kind)
{
    switch (kind) {
    case S3_GET: return EMBEDDED_GET;
    case S3_HEAD: return EMBEDDED_HEAD;
    case S3_PUT: return EMBEDDED_PUT;
    case S3_DELETE: return EMBEDDED_DELETE;
    case S3_LIST: return EMBEDDED_LIST;
    }
    CD_UNREACHABLE();
}

void bucket_embedded_start(struct io_bucket *b, struct bucket_ask *ask)
{
    struct call *c = cd_new(struct call);
    struct embedded_job *j = embedded_job_new(kind_of(ask->kind));
    struct io_op *op = bucket_op(ask);
    c->bucket = b;
    c->job = j;
    c->msg.handle = call_handle;
    j->user = c;
    j->finished = job_finished;
    j->lane = ask->lane;
    j->deadline_ns = io_now_ns(&b->loop->io) + ask->timeout_ns;
    j->key = cd_buf_move(&ask->key);
    j->after = cd_buf_move(&ask->after);
    j->from = ask->from;
    j->len = ask->len;
    j->how = ask->how;
    j->max = ask->max;
    cd_buf_add_str(&j->body, ask->body);
    if (ask->kind == S3_PUT)
        memcpy(j->out.token, ask->store->token, sizeof(j->out.token));
    if (ask->kind == S3_LIST)
        j->delimiter = ask->list->delimiter;
    c->ask = *ask;
    op->impl = c;
    op->cancel = call_cancel;
    real_alarm_set(b->loop, &c->alarm, ask->timeout_ns, call_late);
    embedded_start(b->store->embedded, j);
}
