/* io_sim/store.c: requests on their way to the store and back. See sim_store.h.
 *
 * A request is a thing of its own: the op waits for it, and may stop waiting (cancel, timeout, death of its
 * node) without stopping it. Its one event is the store's, and is moved from stage to stage: leaves, arrives,
 * is done, returns. Until it has left, a cancel undoes it. */
#include "io_sim/store.h"

#include <stdio.h>

#include "io_sim/kernel.h"

#define TIMEOUT_NS IO_SEC(15)
#define CONNECT_NS IO_SEC(3)
#define HEAD_BYTES 400u /* On the wire besides the body. */
#define BUCKET_PREFIX_MAX 512u

struct io_bucket {
    struct sim_loop *loop;
    char prefix[BUCKET_PREFIX_MAX];
};

/* ---- Life of the store and its buckets ---- */

static void request_free(struct sim_store_request *q)
{
    sim_event_free(q->store->sim, q->wire);
    cd_link_remove(&q->link);
    cd_buf_deinit(&q->key);
    cd_buf_deinit(&q->body);
    cd_buf_deinit(&q->after);
    cd_buf_deinit(&q->found.body);
    io_list_deinit(&q->listed);
    cd_free(q);
}

static void store_free(struct sim *sim)
{
    struct sim_store *s = sim->store;
    struct cd_link *k;
    while ((k = cd_list_first(&s->requests)) != NULL)
        request_free(CD_CONTAINER(k, struct sim_store_request, link));
    sim_store_rules_free(s);
    sim_store_truth_free(s);
    cd_map_deinit(&s->ordinals);
    cd_free(s);
    sim->store = NULL;
}

struct sim_store *sim_store(struct sim *sim)
{
    if (sim->store == NULL) {
        sim->store = cd_new(struct sim_store);
        sim->store->sim = sim;
        cd_list_init(&sim->store->rules);
        cd_list_init(&sim->store->requests);
        sim->store_free = store_free;
    }
    return sim->store;
}

void sim_store_set(struct sim *sim, const struct sim_store_opts *o)
{
    sim_store(sim)->opts = *o;
}

void sim_store_get_opts(struct sim *sim, struct sim_store_opts *out)
{
    *out = sim_store(sim)->opts;
}

size_t sim_store_under_way(struct sim *sim)
{
    size_t count = 0;
    const struct cd_list *l = &sim_store(sim)->requests;
    for (struct cd_link *k = cd_list_first(l); k != NULL; k = cd_list_next(l, k))
        count++;
    return count;
}

static void bucket_free(struct sim_loop *loop)
{
    cd_free(loop->bucket);
    loop->bucket = NULL;
}

struct io_bucket *sim_bucket(struct io *io, const char *prefix)
{
    struct sim_loop *loop = sim_loop_of(io);
    size_t len = strlen(prefix);
    CD_ASSERT(len < BUCKET_PREFIX_MAX && (len == 0 || prefix[len - 1] == '/'));
    CD_ASSERT(loop->bucket == NULL);
    loop->bucket = cd_new(struct io_bucket);
    loop->bucket->loop = loop;
    memcpy(loop->bucket->prefix, prefix, len);
    loop->bucket_free = bucket_free;
    return loop->bucket;
}

/* ---- The op's end ---- */

static void set_end(struct sim_store_request *q, enum io_outcome outcome, const char *why)
{
    if (q->list != NULL) {
        (void)snprintf(q->list->why, sizeof q->list->why, "%s", why);
        return;
    }
    q->out->outcome = outcome;
    (void)snprintf(q->out->why, sizeof q->out->why, "%s", why);
}

/* Nobody waits any more. What has not left never leaves. */
static void leave(struct sim_store_request *q, const char *why)
{
    bool open = q->stage != SIM_STORE_LEAVING && sim_store_is_write(q);
    set_end(q, open ? IO_UNKNOWN : IO_REJECTED, why);
    q->waiting->owner = NULL;
    q->waiting->drop = NULL;
    q->waiting = NULL;
    q->out = NULL;
    q->list = NULL;
    if (q->stage == SIM_STORE_LEAVING)
        request_free(q);
}

/* Traces tell which request it is and what becomes of it; nobody pays for the text without one. */
static void note_request(struct sim *sim, const struct sim_store_request *q, const char *what)
{
    static const char *const effects[] = {
        [SIM_STORE_HOLD_ANSWER] = "hold-answer",   [SIM_STORE_LOSE_ANSWER] = "lose-answer",
        [SIM_STORE_LOSE_REQUEST] = "lose-request", [SIM_STORE_LATE] = "late",
        [SIM_STORE_THROTTLE] = "throttle",         [SIM_STORE_FAIL] = "fail",
        [SIM_STORE_FAIL_DONE] = "fail-done",       [SIM_STORE_SLOW] = "slow",
        [SIM_STORE_CUT_BODY] = "cut-body",         [SIM_STORE_DOWN] = "down",
    };
    if (sim->on_record.count + sim->on_event.count == 0)
        return;
    int len = q->key.len > 150 ? 150 : (int)q->key.len;
    (void)snprintf(sim->note, sizeof sim->note, "%s %s %.*s: %s%s%s", q->node->name, sim_kind_name(q->kind),
                   len, q->key.ptr == NULL ? "" : q->key.ptr, what, q->struck ? ", " : "",
                   q->struck ? effects[q->effect] : "");
    sim->record.note = sim->note;
}

static void op_drop(struct sim *sim, struct sim_event *e)
{
    (void)sim;
    leave(e->owner, "canceled");
}

static void op_late(struct sim *sim, struct sim_event *e)
{
    note_request(sim, e->owner, "no answer in time");
    leave(e->owner, "no answer in time");
    sim_op_done(sim, e, IO_TIMEDOUT);
}

static void take_object(struct sim_store_request *q)
{
    struct io_store *s = q->out;
    cd_buf_deinit(&s->body);
    s->body = cd_buf_move(&q->found.body);
    s->size = q->found.size;
    s->modified_ms = q->found.modified_ms;
    if (q->kind != SIM_STORE_DELETE)
        memcpy(s->token, q->found.token, sizeof s->token);
}

static void take_list(struct sim_store_request *q)
{
    struct io_list *l = q->list;
    cd_buf_deinit(&l->keys);
    l->entry = q->listed.entry;
    l->count = q->listed.count;
    l->more = q->listed.more;
    l->keys = cd_buf_move(&q->listed.keys);
    q->listed.entry = NULL;
    q->listed.count = 0;
}

/* The answer is at the node: results are handed over in the event that tells them, so that a death before it
 * leaves nothing half told. */
static void op_complete(struct sim *sim, struct sim_event *e)
{
    struct sim_store_request *q = e->owner;
    int status = q->status;
    note_request(sim, q, "answered");
    set_end(q, q->outcome, q->why);
    if (q->out != NULL) {
        q->out->retry_after_ns = q->found.retry_after_ns;
        q->out->date_ms = q->date_ms;
    }
    if (status == IO_OK && q->list != NULL)
        take_list(q);
    else if (status == IO_OK)
        take_object(q);
    e->owner = NULL;
    e->drop = NULL;
    request_free(q);
    sim_op_done(sim, e, status);
}

/* ---- The way back ---- */

static void returned(struct sim *sim, struct sim_event *wire)
{
    struct sim_store_request *q = wire->owner;
    sim->record.status = q->status;
    note_request(sim, q, q->waiting == NULL ? "answer, nobody waits" : "answer");
    if (q->waiting == NULL) {
        request_free(q);
        return;
    }
    q->waiting->fire = op_complete;
    sim_schedule(sim, q->waiting, 0);
}

static void send_back(struct sim_store_request *q, uint64_t after_ns)
{
    struct sim *sim = q->store->sim;
    uint64_t delay, bytes = HEAD_BYTES + q->found.body.len + q->listed.keys.len;
    q->stage = SIM_STORE_ANSWERING;
    q->date_ms = sim_wall_ms(sim) / 1000 * 1000;
    q->wire->fire = returned;
    enum sim_transit how = sim_transit(sim, sim->store_node, q->node, bytes, sim_mix(q->draw, 4), &delay);
    if (how == SIM_ARRIVES)
        sim_schedule(sim, q->wire, delay + after_ns);
    else
        sim_wait_link(sim, sim->store_node, q->node, q->wire);
}

static void reply(struct sim_store_request *q, int status, enum io_outcome outcome, const char *why,
                  uint64_t after_ns)
{
    q->status = status;
    q->outcome = sim_store_is_write(q) || outcome != IO_UNKNOWN ? outcome : IO_REJECTED;
    q->why = why;
    send_back(q, after_ns);
}

/* ---- At the store ---- */

static void do_it(struct sim *sim, struct sim_event *wire)
{
    struct sim_store_request *q = wire->owner;
    sim->record.digest = cd_hash64(cd_hash64(q->kind, q->key.ptr, q->key.len), q->body.ptr, q->body.len);
    sim->record.len = q->body.len;
    note_request(sim, q, "at the store");
    bool fails = q->struck && (q->effect == SIM_STORE_FAIL || q->effect == SIM_STORE_FAIL_DONE);
    if (q->struck && q->effect == SIM_STORE_FAIL && sim_mix(q->draw, 5) % 2 == 0) {
        reply(q, IO_FAULT, IO_UNKNOWN, "HTTP 500 InternalError", 0);
        return;
    }
    sim_store_act(q);
    sim->record.status = q->status;
    if (fails)
        reply(q, IO_FAULT, IO_UNKNOWN, "HTTP 500 InternalError", 0);
    else if (q->struck && q->effect == SIM_STORE_LOSE_ANSWER)
        reply(q, IO_RESET, IO_UNKNOWN, "the connection was reset", 0);
    else if (q->struck && q->effect == SIM_STORE_CUT_BODY)
        reply(q, IO_RESET, IO_UNKNOWN, "the connection was reset in the body", 0);
    else
        send_back(q, q->struck && q->effect == SIM_STORE_HOLD_ANSWER ? q->effect_ns : 0);
}

static void arrived(struct sim *sim, struct sim_event *wire)
{
    struct sim_store_request *q = wire->owner;
    const struct sim_store_opts *o = &q->store->opts;
    note_request(sim, q, "arrives");
    if (q->struck && q->effect == SIM_STORE_LOSE_REQUEST) {
        reply(q, IO_RESET, IO_UNKNOWN, "the connection was reset", 0);
        return;
    }
    if (q->struck && q->effect == SIM_STORE_THROTTLE) {
        q->found.retry_after_ns = q->effect_ns == 0 ? IO_SEC(1) : q->effect_ns;
        reply(q, IO_THROTTLED, IO_REJECTED, "HTTP 503 SlowDown", 0);
        return;
    }
    uint64_t ns = o->latency_ns + (o->jitter_ns == 0 ? 0 : sim_mix(q->draw, 6) % (o->jitter_ns + 1));
    if (q->struck && (q->effect == SIM_STORE_SLOW || q->effect == SIM_STORE_LATE))
        ns += q->effect_ns;
    wire->fire = do_it;
    sim_schedule(sim, wire, ns);
}

/* ---- The way there ---- */

/* It has not left and will not: told to the op after a while. */
static void refuse(struct sim_store_request *q, int status, const char *why, uint64_t after_ns)
{
    struct sim *sim = q->store->sim;
    q->status = status;
    q->outcome = IO_REJECTED;
    q->why = why;
    q->wire->fire = returned;
    sim_schedule(sim, q->wire, after_ns);
}

static void leaves(struct sim *sim, struct sim_event *wire)
{
    struct sim_store_request *q = wire->owner;
    uint64_t delay;
    sim_store_decide(q);
    note_request(sim, q, "sent");
    enum sim_transit how =
        sim_transit(sim, q->node, sim->store_node, HEAD_BYTES + q->body.len, sim_mix(q->draw, 3), &delay);
    if (q->struck && q->effect == SIM_STORE_DOWN) {
        refuse(q, IO_REFUSED, "connection refused", delay);
        return;
    }
    /* Over a cut link half of the requests have a connection from before: those are under way, and arrive
     * after the heal, whoever still waits. */
    if (how == SIM_CUT && sim_mix(q->draw, 7) % 2 == 0) {
        refuse(q, IO_UNREACHABLE, "no connection", CONNECT_NS);
        return;
    }
    q->stage = SIM_STORE_TRAVELING;
    wire->fire = arrived;
    if (how == SIM_ARRIVES)
        sim_schedule(sim, wire, delay);
    else
        sim_wait_link(sim, q->node, sim->store_node, wire);
}

static uint64_t next_ordinal(struct sim_store *s, struct cd_str key)
{
    uintptr_t n = (uintptr_t)cd_map_get(&s->ordinals, key) + 1;
    (void)cd_map_put(&s->ordinals, key, (void *)n);
    return n;
}

static struct sim_store_request *request_new(struct io_bucket *b, struct sim_event *e, enum sim_kind kind,
                                             struct cd_buf *key, uint64_t timeout_ns)
{
    struct sim *sim = b->loop->sim;
    struct sim_store *s = sim_store(sim);
    struct sim_store_request *q = cd_new(struct sim_store_request);
    q->store = s;
    q->kind = kind;
    q->node = b->loop->node;
    q->life = b->loop->node->life;
    q->own = strlen(b->prefix);
    q->key = cd_buf_move(key);
    q->draw =
        sim_draw(sim, "store", cd_hash64(kind, q->key.ptr, q->key.len), next_ordinal(s, cd_buf_str(&q->key)));
    q->why = "";
    cd_list_push(&s->requests, &q->link);
    q->wire = sim_event_new(sim, &sim->store_actor, SIM_STORE_WIRE, leaves);
    q->wire->owner = q;
    sim_schedule(sim, q->wire, 0);
    q->waiting = e;
    e->owner = q;
    e->drop = op_drop;
    e->fire = op_late;
    sim_schedule(sim, e, timeout_ns == 0 ? TIMEOUT_NS : timeout_ns);
    return q;
}

/* NULL: the op fails already. */
static struct sim_store_request *object_begin(struct io_store *s, struct io_bucket *b, struct cd_str key,
                                              enum sim_kind kind, io_done_fn *done)
{
    struct cd_buf whole = {0};
    io_store_clear(s);
    (void)snprintf(s->why, sizeof s->why, "the call failed"); /* Should it. */
    struct sim_event *e = sim_op_begin(&s->op, &b->loop->io, done, kind);
    if (e == NULL)
        return NULL;
    int rc = io_store_key(&whole, cd_str(b->prefix), key, s->why, sizeof s->why);
    if (rc != 0) {
        sim_op_finish(e, rc, 0);
        cd_buf_deinit(&whole);
        return NULL;
    }
    struct sim_store_request *q = request_new(b, e, kind, &whole, s->timeout_ns);
    q->out = s;
    return q;
}

void io_store_get(struct io_store *s, struct io_bucket *b, struct cd_str key, uint64_t from, uint64_t len,
                  io_done_fn *done)
{
    CD_ASSERT(len > 0);
    struct sim_store_request *q = object_begin(s, b, key, SIM_STORE_GET, done);
    if (q == NULL)
        return;
    q->from = from;
    q->len = len;
}

void io_store_head(struct io_store *s, struct io_bucket *b, struct cd_str key, io_done_fn *done)
{
    (void)object_begin(s, b, key, SIM_STORE_HEAD, done);
}

void io_store_put(struct io_store *s, struct io_bucket *b, struct cd_str key, struct cd_str body,
                  enum io_put how, io_done_fn *done)
{
    CD_ASSERT(how != IO_PUT_IF_MATCH || s->token[0] != 0);
    struct sim_store_request *q = object_begin(s, b, key, SIM_STORE_PUT, done);
    if (q == NULL)
        return;
    if (body.len > IO_BODY_MAX) {
        struct sim_event *e = q->waiting;
        leave(q, "larger than one put may be");
        sim_op_finish(e, IO_TOOBIG, 0);
        return;
    }
    cd_buf_add_str(&q->body, body);
    q->how = how;
    memcpy(q->token, s->token, sizeof q->token);
}

void io_store_delete(struct io_store *s, struct io_bucket *b, struct cd_str key, io_done_fn *done)
{
    (void)object_begin(s, b, key, SIM_STORE_DELETE, done);
}

void io_store_list(struct io_list *l, struct io_bucket *b, struct cd_str prefix, struct cd_str after,
                   unsigned max, io_done_fn *done)
{
    struct cd_buf whole = {0}, whole_after = {0};
    struct cd_str own = cd_str(b->prefix);
    CD_ASSERT(max >= 1 && max <= IO_LIST_MAX);
    io_list_clear(l);
    (void)snprintf(l->why, sizeof l->why, "the call failed"); /* Should it. */
    struct sim_event *e = sim_op_begin(&l->op, &b->loop->io, done, SIM_STORE_LIST);
    if (e == NULL)
        return;
    cd_buf_add_str(&whole, own);
    int rc = prefix.len == 0 ? 0 : io_store_key(&whole, own, prefix, l->why, sizeof l->why);
    if (rc == 0 && after.len != 0)
        rc = io_store_key(&whole_after, own, after, l->why, sizeof l->why);
    if (rc != 0) {
        sim_op_finish(e, rc, 0);
        cd_buf_deinit(&whole);
        cd_buf_deinit(&whole_after);
        return;
    }
    struct sim_store_request *q = request_new(b, e, SIM_STORE_LIST, &whole, l->timeout_ns);
    q->list = l;
    q->after = whole_after;
    q->max = max;
    q->delimiter = l->delimiter;
}
