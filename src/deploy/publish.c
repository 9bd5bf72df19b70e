/* deploy/publish.c: the order of writes is the safety of a deploy. Objects below a prefix say what their
 * digest says, so writing them again is harmless; pointers are moved by compare-and-swap against what was
 * read before the first write, and an unclear answer is read back. */
#include "deploy/publish.h"

#include "io/io.h"
#include "store/reconcile.h"

/* What a pointer was before. */
struct pointer_was {
    struct cd_buf key, body;
    char token[IO_TOKEN_MAX];
    bool absent;
};

struct publishing {
    struct deploy_publish *p;
    struct io_store op;
    struct cd_buf key;
    struct cd_buf pointer; /* The new body of both. */
    struct cd_buf *why;
};

static int fail(struct publishing *x, struct cd_str key, const char *doing, int rc)
{
    cd_buf_addf(x->why, "%s %.*s: %s", doing, (int)key.len, key.ptr,
                x->op.why[0] != 0 ? x->op.why : cd_err_text(rc));
    return rc;
}

static int pointer_read(struct publishing *x, struct cd_str script, struct pointer_was *was)
{
    struct store_policy policy = store_policy_of(IO_LANE_CONTROL, 0);
    deploy_pointer_key(&was->key, script);
    int rc = store_retry_get(&x->op, x->p->io, x->p->bucket, cd_buf_str(&was->key), 0, IO_WHOLE, &policy);
    was->absent = rc == IO_NOENT;
    if (rc == IO_NOENT)
        return 0;
    if (rc != IO_OK)
        return fail(x, cd_buf_str(&was->key), "read", rc);
    was->body = cd_buf_move(&x->op.body);
    memcpy(was->token, x->op.token, sizeof was->token);
    return 0;
}

static int lost_race(struct publishing *x, struct cd_str key)
{
    cd_buf_addf(x->why,
                "write %.*s lost a race\nAnother deploy may have landed first; re-run `celld deploy`.",
                (int)key.len, key.ptr);
    return IO_CONFLICT;
}

/* An answer was not clear: what is there now tells. */
static int pointer_judge(struct publishing *x, const struct pointer_was *was)
{
    struct store_policy policy = store_policy_of(IO_LANE_CONTROL, 0);
    struct store_write write = {.key = cd_buf_str(&was->key),
                                .body = cd_buf_str(&x->pointer),
                                .how = was->absent ? IO_PUT_IF_ABSENT : IO_PUT_IF_MATCH};
    enum store_fate fate;
    memcpy(write.guard, was->token, sizeof write.guard);
    int rc = store_read_back(&x->op, x->p->io, x->p->bucket, &write, &policy, &fate);
    if (rc != IO_OK)
        return fail(x, write.key, "read back", rc);
    switch (fate) {
    case STORE_FATE_OURS: x->p->moved = true; return 0;
    case STORE_FATE_OTHERS: return lost_race(x, write.key);
    case STORE_FATE_OPEN: break;
    }
    cd_buf_addf(x->why,
                "write %.*s: the store gave no clear answer, and the write may still land; deploy again",
                (int)write.key.len, write.key.ptr);
    return IO_TIMEDOUT;
}

static int pointer_move(struct publishing *x, const struct pointer_was *was)
{
    struct cd_str key = cd_buf_str(&was->key);
    if (!was->absent && cd_str_eq(cd_buf_str(&was->body), cd_buf_str(&x->pointer)))
        return 0;
    x->op.lane = IO_LANE_CONTROL;
    x->op.timeout_ns = 0;
    memcpy(x->op.token, was->token, sizeof x->op.token);
    io_store_put(&x->op, x->p->bucket, key, cd_buf_str(&x->pointer),
                 was->absent ? IO_PUT_IF_ABSENT : IO_PUT_IF_MATCH, NULL);
    int rc = io_await(&x->op.op, io_now_ns(x->p->io) + IO_SEC(30));
    switch (x->op.outcome) {
    case IO_DONE: x->p->moved = true; return 0;
    case IO_REJECTED: return rc == IO_CONFLICT ? lost_race(x, key) : fail(x, key, "write", rc);
    case IO_UNKNOWN: return rc == IO_CANCELED ? fail(x, key, "write", rc) : pointer_judge(x, was);
    }
    CD_UNREACHABLE();
}

static int object_put(struct publishing *x, struct cd_str bytes)
{
    struct store_policy policy = store_policy_of(IO_LANE_DATA, bytes.len);
    int rc = store_retry_put(&x->op, x->p->io, x->p->bucket, cd_buf_str(&x->key), bytes, &policy);
    return rc == IO_OK ? 0 : fail(x, cd_buf_str(&x->key), "write", rc);
}

/* The manifest is written after all that it names: where it stands, they stand. *same: nothing is to be done.
 * *modules_there: some manifest of this version is there, so the modules are. */
static int manifest_compare(struct publishing *x, bool *same, bool *modules_there)
{
    struct store_policy policy = store_policy_of(IO_LANE_DATA, x->p->manifest.len);
    cd_buf_clear(&x->key);
    deploy_manifest_key(&x->key, x->p->app->prefix);
    int rc = store_retry_get(&x->op, x->p->io, x->p->bucket, cd_buf_str(&x->key), 0, IO_WHOLE, &policy);
    *modules_there = rc == IO_OK;
    *same = rc == IO_OK && cd_str_eq(cd_buf_str(&x->op.body), x->p->manifest);
    return rc == IO_OK || rc == IO_NOENT ? 0 : fail(x, cd_buf_str(&x->key), "read", rc);
}

static int objects_put(struct publishing *x)
{
    const struct deploy_app *a = x->p->app;
    bool same, modules_there;
    int rc = manifest_compare(x, &same, &modules_there);
    if (rc != 0 || same)
        return rc;
    for (unsigned i = 0; rc == 0 && i < a->module_count; i++) {
        const struct deploy_module *m = &a->modules[i];
        cd_buf_clear(&x->key);
        deploy_module_key(&x->key, a, m);
        if (!modules_there)
            rc = object_put(x, cd_buf_str(&m->bytes));
        if (rc == 0 && m->map_sha256[0] != 0) {
            cd_buf_clear(&x->key);
            deploy_module_map_key(&x->key, a, m);
            rc = object_put(x, cd_buf_str(&m->source_map));
        }
    }
    if (rc != 0)
        return rc;
    cd_buf_clear(&x->key);
    deploy_manifest_key(&x->key, a->prefix);
    return object_put(x, x->p->manifest);
}

int deploy_publish(struct deploy_publish *p, struct cd_buf *why)
{
    struct publishing x = {.p = p, .why = why};
    struct pointer_was named = {0}, fleet = {0};
    CD_ASSERT(p->app->version[0] != 0);
    p->moved = false;
    deploy_pointer_write(&x.pointer, p->app);
    int rc = pointer_read(&x, p->app->script, &named);
    if (rc == 0 && !p->named_only)
        rc = pointer_read(&x, (struct cd_str){0}, &fleet);
    if (rc == 0)
        rc = objects_put(&x);
    if (rc == 0)
        rc = pointer_move(&x, &named);
    if (rc == 0 && !p->named_only)
        rc = pointer_move(&x, &fleet);
    cd_buf_deinit(&named.key);
    cd_buf_deinit(&named.body);
    cd_buf_deinit(&fleet.key);
    cd_buf_deinit(&fleet.body);
    cd_buf_deinit(&x.key);
    cd_buf_deinit(&x.pointer);
    cd_buf_deinit(&x.op.body);
    return rc;
}
