/* io_sim/store_truth.c: the objects, and what a request does to them in its one event. */
#include <stdio.h>

#include "io_sim/kernel.h"
#include "io_sim/store.h"

static void answer(struct sim_store_request *q, int status, enum io_outcome outcome, const char *why)
{
    q->status = status;
    q->outcome = outcome;
    q->why = why;
}

static void show(const struct sim_store_object *o, struct sim_object *out)
{
    *out = (struct sim_object){cd_buf_str(&o->body), o->token, o->generation, o->modified_ms};
}

static struct sim_store_object *find(const struct sim_store *s, struct cd_str key)
{
    struct sim_store_object *o = cd_map_get(&s->objects, key);
    return o == NULL || o->absent ? NULL : o;
}

static void tell(struct sim_store *s, const struct sim_store_change *change)
{
    for (unsigned i = 0; i < s->on_change.count; i++) {
        const struct sim_hook *h = &s->on_change.hook[i];
        ((void (*)(void *, const struct sim_store_change *))h->fn)(h->arg, change);
    }
}

static void object_free(struct sim_store_object *o)
{
    cd_buf_deinit(&o->body);
    cd_free(o);
}

static void make_token(const struct sim_store *s, struct sim_store_object *o)
{
    if (s->opts.tokens_by_generation)
        (void)snprintf(o->token, sizeof o->token, "%llu", (unsigned long long)o->generation);
    else
        (void)snprintf(o->token, sizeof o->token, "\"%016llx%016llx\"",
                       (unsigned long long)cd_hash64(1, o->body.ptr, o->body.len),
                       (unsigned long long)cd_hash64(2, o->body.ptr, o->body.len));
}

/* by may be NULL. */
static const struct sim_store_object *write_object(struct sim_store *s, struct cd_str key, struct cd_str body,
                                                   const struct sim_store_request *by)
{
    struct sim_store_object *old = cd_map_get(&s->objects, key), *o = cd_new(struct sim_store_object);
    struct sim_object before, after;
    uint64_t now = s->sim->now_ns;
    bool was = old != NULL && !old->absent;
    cd_buf_add_str(&o->body, body);
    o->generation = ++s->generation;
    o->modified_ms = sim_wall_ms(s->sim);
    make_token(s, o);
    /* A key that listings show already, and that was not gone in between, stays in them. */
    o->listed_from_ns = was ? old->listed_from_ns : now + s->opts.list_lag_ns;
    o->listed_until_ns = UINT64_MAX;
    if (was)
        show(old, &before);
    show(o, &after);
    (void)cd_map_put(&s->objects, key, o);
    tell(s, &(struct sim_store_change){key, was ? &before : NULL, &after, by == NULL ? NULL : by->node,
                                       by == NULL ? 0 : by->life});
    if (old != NULL)
        object_free(old);
    return o;
}

static void delete_object(struct sim_store *s, struct cd_str key, const struct sim_store_request *by)
{
    struct sim_store_object *o = find(s, key);
    struct sim_object before;
    if (o == NULL)
        return;
    show(o, &before);
    o->absent = true;
    o->listed_until_ns = s->sim->now_ns + s->opts.list_lag_ns;
    tell(s, &(struct sim_store_change){key, &before, NULL, by == NULL ? NULL : by->node,
                                       by == NULL ? 0 : by->life});
    if (s->opts.list_lag_ns == 0) {
        (void)cd_map_remove(&s->objects, key);
        object_free(o);
    }
}

/* ---- Requests ---- */

static void act_read(struct sim_store_request *q)
{
    const struct sim_store_object *o = find(q->store, cd_buf_str(&q->key));
    if (o == NULL) {
        answer(q, IO_NOENT, IO_REJECTED, "no such object");
        return;
    }
    uint64_t size = o->body.len;
    memcpy(q->found.token, o->token, sizeof o->token);
    q->found.size = size;
    q->found.modified_ms = o->modified_ms;
    answer(q, IO_OK, IO_DONE, "");
    if (q->kind == SIM_STORE_HEAD)
        return;
    bool whole = q->from == 0 && q->len == IO_WHOLE;
    if (q->from >= size && !whole) {
        answer(q, IO_EOF, IO_REJECTED, "the range starts behind the end");
        return;
    }
    uint64_t len = size - q->from < q->len ? size - q->from : q->len;
    cd_buf_add_str(&q->found.body, cd_str_sub(cd_buf_str(&o->body), q->from, len));
}

static bool holds(const struct sim_store_request *q, const struct sim_store_object *o)
{
    if (q->store->opts.ignores_conditions)
        return true;
    switch (q->how) {
    case IO_PUT_ANY: return true;
    case IO_PUT_IF_ABSENT: return o == NULL;
    case IO_PUT_IF_MATCH: return o != NULL && strcmp(o->token, q->token) == 0;
    }
    CD_UNREACHABLE();
}

static void act_put(struct sim_store_request *q)
{
    const struct sim_store_object *o = find(q->store, cd_buf_str(&q->key));
    if (!holds(q, o)) {
        answer(q, IO_CONFLICT, IO_REJECTED, "the precondition failed");
        return;
    }
    o = write_object(q->store, cd_buf_str(&q->key), cd_buf_str(&q->body), q);
    memcpy(q->found.token, o->token, sizeof o->token);
    answer(q, IO_OK, IO_DONE, "");
}

/* Whether listings of now show the object, lag included. */
static bool is_listed(const struct sim_store *s, const struct sim_store_object *o)
{
    return s->sim->now_ns >= o->listed_from_ns && s->sim->now_ns < o->listed_until_ns;
}

/* Forgets what no listing shows any more. */
static void sweep(struct sim_store *s)
{
    struct cd_map_node *n = cd_map_first(&s->objects);
    while (n != NULL) {
        struct sim_store_object *o = cd_map_value(n);
        struct cd_buf key = {0};
        if (!o->absent || s->sim->now_ns < o->listed_until_ns) {
            n = cd_map_next(n);
            continue;
        }
        cd_buf_add_str(&key, cd_map_key(n));
        (void)cd_map_remove(&s->objects, cd_buf_str(&key));
        object_free(o);
        n = cd_map_at_or_after(&s->objects, cd_buf_str(&key));
        cd_buf_deinit(&key);
    }
}

/* Adds what key stands for, once per group. False: the page is full, and there is more. */
static bool list_one(struct sim_store_request *q, unsigned max, struct cd_str key,
                     const struct sim_store_object *o, struct cd_buf *last)
{
    struct cd_str after = cd_buf_str(&q->after), entry = key;
    bool is_group = io_list_group(key, cd_buf_str(&q->key), q->delimiter, &entry);
    if (after.len != 0 && cd_str_cmp(entry, after) <= 0)
        return true;
    if (is_group && cd_str_eq(entry, cd_buf_str(last)))
        return true;
    if (q->listed.count == max)
        return false;
    cd_buf_clear(last);
    cd_buf_add_str(last, entry);
    io_list_add(&q->listed, cd_str_sub(entry, q->own, SIZE_MAX), is_group ? 0 : o->body.len,
                is_group ? 0 : o->modified_ms, is_group);
    return true;
}

static void act_list(struct sim_store_request *q)
{
    struct sim_store *s = q->store;
    struct cd_str prefix = cd_buf_str(&q->key);
    struct cd_buf last = {0};
    unsigned max = s->opts.page_max != 0 && s->opts.page_max < q->max ? s->opts.page_max : q->max;
    sweep(s);
    struct cd_map_node *n = cd_map_at_or_after(&s->objects, prefix);
    for (; n != NULL && cd_str_starts(cd_map_key(n), prefix); n = cd_map_next(n)) {
        const struct sim_store_object *o = cd_map_value(n);
        if (is_listed(s, o) && !list_one(q, max, cd_map_key(n), o, &last)) {
            q->listed.more = true;
            break;
        }
    }
    io_list_seal(&q->listed);
    cd_buf_deinit(&last);
    answer(q, IO_OK, IO_DONE, "");
}

void sim_store_act(struct sim_store_request *q)
{
    if (q->kind == SIM_STORE_LIST) {
        act_list(q);
    } else if (q->kind == SIM_STORE_PUT) {
        act_put(q);
    } else if (q->kind == SIM_STORE_DELETE) {
        delete_object(q->store, cd_buf_str(&q->key), q);
        answer(q, IO_OK, IO_DONE, "");
    } else {
        act_read(q);
    }
}

/* ---- For checkers and fixtures ---- */

bool sim_store_get_truth(struct sim *sim, struct cd_str key, struct sim_object *out)
{
    const struct sim_store_object *o = find(sim_store(sim), key);
    if (o != NULL)
        show(o, out);
    return o != NULL;
}

void sim_store_each(struct sim *sim, struct cd_str prefix,
                    void (*each)(void *arg, struct cd_str key, const struct sim_object *o), void *arg)
{
    struct sim_store *s = sim_store(sim);
    struct cd_map_node *n = cd_map_at_or_after(&s->objects, prefix);
    for (; n != NULL && cd_str_starts(cd_map_key(n), prefix); n = cd_map_next(n)) {
        const struct sim_store_object *o = cd_map_value(n);
        struct sim_object shown;
        if (o->absent)
            continue;
        show(o, &shown);
        each(arg, cd_map_key(n), &shown);
    }
}

void sim_store_put_truth(struct sim *sim, struct cd_str key, struct cd_str body)
{
    (void)write_object(sim_store(sim), key, body, NULL);
}

void sim_store_delete_truth(struct sim *sim, struct cd_str key)
{
    delete_object(sim_store(sim), key, NULL);
}

void sim_on_store(struct sim *sim, void (*fn)(void *arg, const struct sim_store_change *change), void *arg)
{
    struct sim_hooks *h = &sim_store(sim)->on_change;
    h->hook = cd_realloc(h->hook, (h->count + 1) * sizeof *h->hook);
    h->hook[h->count++] = (struct sim_hook){(void (*)(void))fn, arg};
}

void sim_store_truth_free(struct sim_store *s)
{
    for (struct cd_map_node *n = cd_map_first(&s->objects); n != NULL; n = cd_map_next(n))
        object_free(cd_map_value(n));
    cd_map_deinit(&s->objects);
    cd_free(s->on_change.hook);
}
