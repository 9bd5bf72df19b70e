/* deploy/app_load.c: from a pointer to an app (config.md 8, step 2). */
#include "base/json.h"
#include "deploy/app_internal.h"
#include "io/io.h"
#include "store/retry.h"

#define POINTER_BYTES_MAX (64u << 10)
#define MANIFEST_BYTES_MAX (16u << 20)

struct loading {
    struct io *io;
    struct io_bucket *bucket;
    struct io_store get;
    struct cd_buf key;
    struct cd_buf *why;
};

/* Reads the object l->key into l->get.body; what is larger than max is not loaded. */
static int object_get(struct loading *l, enum io_lane lane, uint64_t max)
{
    struct store_policy policy = store_policy_of(lane, max);
    /* A byte more than allowed tells that it is too large, without reading all of it. */
    int rc = store_retry_get(&l->get, l->io, l->bucket, cd_buf_str(&l->key), 0, max + 1, &policy);
    if (rc == IO_EOF)
        rc = IO_OK; /* Empty; the body is so too. */
    if (rc == IO_OK && l->get.size > max) {
        cd_buf_addf(l->why, "%s: %llu bytes, want at most %llu", cd_buf_cstr(&l->key),
                    (unsigned long long)l->get.size, (unsigned long long)max);
        return CD_ETOOBIG;
    }
    if (rc == IO_NOENT)
        cd_buf_addf(l->why, "%s: not found", cd_buf_cstr(&l->key));
    else if (rc != IO_OK)
        cd_buf_addf(l->why, "%s: %s", cd_buf_cstr(&l->key),
                    l->get.why[0] != 0 ? l->get.why : cd_err_text(rc));
    return rc;
}

/* What a manifest or pointer promises must be there. */
static int promised_get(struct loading *l, uint64_t max)
{
    int rc = object_get(l, IO_LANE_DATA, max);
    return rc == IO_NOENT || rc == CD_ETOOBIG ? CD_ECORRUPT : rc;
}

static int modules_load(struct loading *l, struct deploy_app *a)
{
    for (unsigned i = 0; i < a->module_count; i++) {
        struct deploy_module *m = &a->modules[i];
        cd_buf_clear(&l->key);
        deploy_module_key(&l->key, a, m);
        int rc = promised_get(l, m->size);
        if (rc == 0)
            rc = deploy_module_take(m, &l->get.body, l->why);
        if (rc == 0 && m->map_sha256[0] != 0) {
            cd_buf_clear(&l->key);
            deploy_module_map_key(&l->key, a, m);
            rc = promised_get(l, m->map_size);
            if (rc == 0)
                rc = deploy_module_take_map(m, &l->get.body, l->why);
        }
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* A pointer says which script and version; a manifest below its prefix must say the same. */
static int manifest_load(struct loading *l, struct deploy_app *a, const struct deploy_pointer *p)
{
    cd_buf_clear(&l->key);
    deploy_manifest_key(&l->key, p->prefix);
    int rc = promised_get(l, MANIFEST_BYTES_MAX);
    if (rc == 0)
        rc = deploy_manifest_read(a, cd_buf_str(&l->get.body), p->manifest_sha256, l->why);
    if (rc == 0 && (!cd_str_eq(a->script, p->script) || !cd_str_eq(cd_str(a->version), p->version))) {
        cd_buf_addf(l->why, "%s: script and version are not those of the pointer", cd_buf_cstr(&l->key));
        rc = CD_ECORRUPT;
    }
    return rc;
}

static int pointer_load(struct loading *l, struct cd_str script, struct cd_json_doc **doc,
                        struct deploy_pointer *p)
{
    struct cd_buf reason = {0};
    cd_buf_clear(&l->key);
    deploy_pointer_key(&l->key, script);
    int rc = object_get(l, IO_LANE_CONTROL, POINTER_BYTES_MAX);
    if (rc == 0 && cd_json_parse(doc, cd_buf_str(&l->get.body), &reason) != 0) {
        cd_buf_addf(l->why, "%s: %s", cd_buf_cstr(&l->key), cd_buf_cstr(&reason));
        rc = CD_ECORRUPT;
    }
    cd_buf_deinit(&reason);
    if (rc == 0)
        rc = deploy_pointer_read(p, *doc, l->why);
    if (rc == 0 && script.len > 0 && !cd_str_eq(script, p->script)) {
        cd_buf_addf(l->why, "%s: it names another script", cd_buf_cstr(&l->key));
        rc = CD_ECORRUPT;
    }
    return rc;
}

int deploy_load(struct deploy_app **out, struct io *io, struct io_bucket *bucket, struct cd_str script,
                struct cd_buf *why)
{
    struct loading l = {.io = io, .bucket = bucket, .why = why};
    struct deploy_pointer pointer;
    struct cd_json_doc *doc = NULL;
    struct deploy_app *app = cd_new(struct deploy_app);
    int rc = pointer_load(&l, script, &doc, &pointer);
    if (rc == 0)
        rc = manifest_load(&l, app, &pointer);
    if (rc == 0)
        rc = modules_load(&l, app);
    if (rc == 0)
        *out = app;
    else
        deploy_app_free(app);
    cd_json_free(doc);
    cd_buf_deinit(&l.key);
    cd_buf_deinit(&l.get.body);
    return rc;
}
