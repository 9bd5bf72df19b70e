/* deploy/manifest_read.c: reading and checking what another celld, or another tool, has published. Members
 * that we do not know are passed over; those that we do must be right, for whatever is wrong here would run.
 */
#include "base/encode.h"
#include "deploy/app_internal.h"
#include "deploy/compat.h"
#include "deploy/names.h"

/* ---- Checks of single values ---- */

static int corrupt(struct cd_buf *why, const char *what, const char *wanted)
{
    cd_buf_addf(why, "%s: want %s", what, wanted);
    return CD_ECORRUPT;
}

static bool is_hex(struct cd_str s, size_t len)
{
    for (size_t i = 0; i < s.len; i++) {
        if (!(s.ptr[i] >= '0' && s.ptr[i] <= '9') && !(s.ptr[i] >= 'a' && s.ptr[i] <= 'f'))
            return false;
    }
    return s.len == len;
}

/* Script, version and prefix of a pointer or manifest belong together. */
static int identity_check(const char *what, struct cd_str script, struct cd_str version, struct cd_buf *why)
{
    if (deploy_name_script(script) != NULL) {
        cd_buf_addf(why, "%s: script_name: want letters a to z, digits and inner hyphens", what);
        return CD_EINVAL;
    }
    if (!is_hex(version, DEPLOY_VERSION_LEN))
        return corrupt(why, what, "a version of 16 hex digits");
    return 0;
}

int deploy_pointer_read(struct deploy_pointer *p, const struct cd_json_doc *doc, struct cd_buf *why)
{
    const struct cd_json *root = cd_json_root(doc), *digest = cd_json_get(root, "manifest_sha256");
    const struct cd_json *percent = cd_json_get(cd_json_get(root, "rollout"), "percent");
    struct cd_buf prefix = {0};
    uint64_t part = 100;
    *p = (struct deploy_pointer){0};
    if (cd_json_str(cd_json_get(root, "script_name"), &p->script) != 0 ||
        cd_json_str(cd_json_get(root, "version"), &p->version) != 0 ||
        cd_json_str(cd_json_get(root, "prefix"), &p->prefix) != 0)
        return corrupt(why, "pointer", "texts script_name, version and prefix");
    int rc = identity_check("pointer", p->script, p->version, why);
    if (rc != 0)
        return rc;
    if (percent != NULL && (cd_json_u64(percent, &part) != 0 || part != 100)) {
        cd_buf_addf(why, "pointer: this version of celld knows no partial rollout: want 100 percent");
        return CD_EUNSUPPORTED;
    }
    cd_buf_addf(&prefix, "deploy/%.*s/%.*s", (int)p->script.len, p->script.ptr, (int)p->version.len,
                p->version.ptr);
    bool fits = cd_str_eq(cd_buf_str(&prefix), p->prefix);
    cd_buf_deinit(&prefix);
    if (!fits)
        return corrupt(why, "pointer", "prefix deploy/<script_name>/<version>");
    if (digest != NULL &&
        (cd_json_str(digest, &p->manifest_sha256) != 0 || !is_hex(p->manifest_sha256, DEPLOY_SHA256_LEN)))
        return corrupt(why, "pointer", "manifest_sha256 of 64 hex digits");
    return 0;
}

/* ---- Manifest ---- */

struct reading {
    struct deploy_app *app;
    struct cd_buf *why;
    const struct cd_json *root, *metadata;
};

static int text_copy(struct reading *r, const struct cd_json *v, struct cd_str *out)
{
    struct cd_str s;
    if (cd_json_str(v, &s) != 0)
        return CD_ECORRUPT;
    *out = cd_arena_copy(&r->app->arena, s);
    return 0;
}

/* An optional list of texts. */
static int list_read(struct reading *r, const struct cd_json *v, const char *name, struct cd_str **out,
                     unsigned *count)
{
    const struct cd_json *item = NULL;
    if (v == NULL)
        return 0;
    if (cd_json_kind(v) != CD_JSON_ARRAY || cd_json_count(v) > DEPLOY_BINDINGS_MAX)
        return corrupt(r->why, name, "a list of texts");
    *out = cd_alloc(cd_json_count(v) * sizeof **out);
    while ((item = cd_json_next(v, item, NULL)) != NULL) {
        if (text_copy(r, item, &(*out)[*count]) != 0)
            return corrupt(r->why, name, "a list of texts");
        (*count)++;
    }
    return 0;
}

static int map_read(struct reading *r, const struct cd_json *v, struct deploy_module *m)
{
    struct cd_str digest;
    if (v == NULL)
        return 0;
    if (cd_json_u64(cd_json_get(v, "bytes"), &m->map_size) != 0 || m->map_size > DEPLOY_BYTES_MAX ||
        cd_json_str(cd_json_get(v, "sha256"), &digest) != 0 || !is_hex(digest, DEPLOY_SHA256_LEN))
        return corrupt(r->why, "manifest: source_map", "bytes and sha256");
    memcpy(m->map_sha256, digest.ptr, digest.len);
    return 0;
}

static int module_read(struct reading *r, const struct cd_json *v, uint64_t *total)
{
    struct deploy_module *m = &r->app->modules[r->app->module_count];
    const struct cd_json *kind = cd_json_get(v, "kind");
    struct cd_str digest, kind_name = {0};
    if (text_copy(r, cd_json_get(v, "name"), &m->name) != 0 || !deploy_module_name_ok(m->name))
        return corrupt(r->why, "manifest: modules", "relative names without dotted segments");
    if (r->app->module_count > 0 && cd_str_cmp(m[-1].name, m->name) >= 0)
        return corrupt(r->why, "manifest: modules", "each name once, in ascending order");
    if (cd_json_u64(cd_json_get(v, "bytes"), &m->size) != 0 || m->size > DEPLOY_BYTES_MAX - *total) {
        cd_buf_addf(r->why, "manifest: modules: more than %u bytes", DEPLOY_BYTES_MAX);
        return CD_ETOOBIG;
    }
    *total += m->size;
    if (cd_json_str(cd_json_get(v, "sha256"), &digest) != 0 ||
        (!is_hex(digest, DEPLOY_SHA256_LEN) && !is_hex(digest, DEPLOY_VERSION_LEN)))
        return corrupt(r->why, "manifest: modules", "sha256 of 64 hex digits");
    memcpy(m->sha256, digest.ptr, digest.len);
    if (kind != NULL && cd_json_str(kind, &kind_name) != 0)
        return corrupt(r->why, "manifest: modules", "a text as kind");
    if (!deploy_module_kind_named(kind_name, &m->kind)) {
        cd_buf_addf(r->why,
                    "manifest: module %.*s is of kind %.*s, which this celld does not know; upgrade celld",
                    (int)m->name.len, m->name.ptr, (int)kind_name.len, kind_name.ptr);
        return CD_EUNSUPPORTED;
    }
    r->app->module_count++;
    return map_read(r, cd_json_get(v, "source_map"), m);
}

static int modules_read(struct reading *r)
{
    const struct cd_json *list = cd_json_get(r->root, "modules"), *item = NULL;
    const struct cd_json *main_module = cd_json_get(r->root, "main_module");
    struct cd_str main_name;
    uint64_t total = 0;
    int rc = 0;
    if (list == NULL || cd_json_kind(list) != CD_JSON_ARRAY || cd_json_count(list) > DEPLOY_MODULES_MAX)
        return corrupt(r->why, "manifest: modules", "a list");
    r->app->modules = cd_alloc(cd_json_count(list) * sizeof *r->app->modules);
    while (rc == 0 && (item = cd_json_next(list, item, NULL)) != NULL)
        rc = module_read(r, item, &total);
    if (rc != 0 || main_module == NULL || cd_json_kind(main_module) == CD_JSON_NULL)
        return rc;
    if (cd_json_str(main_module, &main_name) != 0)
        return corrupt(r->why, "manifest: main_module", "a module's name");
    for (unsigned i = 0; i < r->app->module_count; i++) {
        if (cd_str_eq(r->app->modules[i].name, main_name))
            r->app->main_module = &r->app->modules[i];
    }
    if (r->app->main_module == NULL || r->app->main_module->kind != DEPLOY_MODULE_JS)
        return corrupt(r->why, "manifest: main_module", "the name of a JavaScript module of the list");
    return 0;
}

static int features_check(struct reading *r)
{
    const struct cd_json *list = cd_json_get(r->root, "required_features"), *item = NULL;
    struct cd_str name;
    if (list != NULL && cd_json_kind(list) != CD_JSON_ARRAY)
        return corrupt(r->why, "manifest: required_features", "a list of texts");
    while ((item = cd_json_next(list, item, NULL)) != NULL) {
        bool here = false;
        if (cd_json_str(item, &name) != 0)
            return corrupt(r->why, "manifest: required_features", "a list of texts");
        for (size_t i = 0; deploy_feature(i) != NULL; i++)
            here |= deploy_feature(i)->here && cd_str_eq(name, cd_str(deploy_feature(i)->name));
        if (!here) {
            cd_buf_addf(
                r->why,
                "deployment requires feature %.*s, which this celld build does not support; upgrade celld",
                (int)name.len, name.ptr);
            return CD_EUNSUPPORTED;
        }
    }
    return 0;
}

/* ---- Bindings ---- */

static int optional(struct reading *r, const struct cd_json *v, const char *key, struct cd_str *out)
{
    const struct cd_json *member = cd_json_get(v, key);
    return member == NULL || cd_json_kind(member) == CD_JSON_NULL ? 0 : text_copy(r, member, out);
}

static int json_read(struct reading *r, const struct cd_json *v, struct cd_str *out)
{
    struct cd_buf text = {0};
    if (v == NULL)
        return CD_ECORRUPT;
    cd_json_text(&text, v);
    *out = cd_arena_copy(&r->app->arena, cd_buf_str(&text));
    cd_buf_deinit(&text);
    return 0;
}

/* Both must be right. */
static int both(int a, int b)
{
    return a != 0 ? a : b;
}

static int binding_values(struct reading *r, const struct cd_json *v, struct deploy_binding *b)
{
    const struct cd_json *delay = cd_json_get(v, "delivery_delay");
    switch (b->kind) {
    case DEPLOY_DURABLE_OBJECT:
        return both(text_copy(r, cd_json_get(v, "class_name"), &b->durable_object.class_name),
                    optional(r, v, "script_name", &b->durable_object.script_name));
    case DEPLOY_SERVICE:
        return both(text_copy(r, cd_json_get(v, "service"), &b->service.service),
                    optional(r, v, "entrypoint", &b->service.entrypoint));
    case DEPLOY_PLAIN_TEXT: return text_copy(r, cd_json_get(v, "text"), &b->text);
    case DEPLOY_JSON: return json_read(r, cd_json_get(v, "json"), &b->json);
    case DEPLOY_D1:
        return both(text_copy(r, cd_json_get(v, "database_name"), &b->d1.database_name),
                    optional(r, v, "database_id", &b->d1.database_id));
    case DEPLOY_KV: return text_copy(r, cd_json_get(v, "id"), &b->kv_id);
    case DEPLOY_QUEUE:
        return both(text_copy(r, cd_json_get(v, "queue"), &b->queue.queue),
                    delay == NULL ? 0 : cd_json_u64(delay, &b->queue.delivery_delay_s));
    case DEPLOY_R2_BUCKET: return text_copy(r, cd_json_get(v, "bucket_name"), &b->bucket_name);
    case DEPLOY_WORKFLOW:
        return both(text_copy(r, cd_json_get(v, "workflow_name"), &b->workflow.workflow_name),
                    text_copy(r, cd_json_get(v, "class_name"), &b->workflow.class_name));
    case DEPLOY_ASSETS:
    case DEPLOY_WORKER_LOADER: return 0;
    case DEPLOY_BINDING_KINDS: break;
    }
    CD_UNREACHABLE();
}

static int binding_read(struct reading *r, const struct cd_json *v)
{
    struct deploy_app *a = r->app;
    struct deploy_binding *b = &a->bindings[a->binding_count];
    struct cd_str type;
    if (cd_json_str(cd_json_get(v, "type"), &type) != 0 ||
        text_copy(r, cd_json_get(v, "name"), &b->name) != 0 || b->name.len == 0)
        return corrupt(r->why, "manifest: bindings", "a type and a name in each");
    if (!deploy_binding_kind_named(type, &b->kind)) {
        cd_buf_addf(r->why,
                    "manifest: binding %.*s is of type %.*s, which this celld does not know; upgrade celld",
                    (int)b->name.len, b->name.ptr, (int)type.len, type.ptr);
        return CD_EUNSUPPORTED;
    }
    for (unsigned i = 0; i < a->binding_count; i++) {
        if (cd_str_eq(a->bindings[i].name, b->name))
            return corrupt(r->why, "manifest: bindings", "each name once");
    }
    if (binding_values(r, v, b) != 0) {
        cd_buf_addf(r->why, "manifest: binding %.*s: want the members of type %.*s", (int)b->name.len,
                    b->name.ptr, (int)type.len, type.ptr);
        return CD_ECORRUPT;
    }
    a->binding_count++;
    return 0;
}

static int bindings_read(struct reading *r)
{
    const struct cd_json *list = cd_json_get(r->metadata, "bindings"), *item = NULL;
    int rc = 0;
    if (list == NULL)
        return 0;
    if (cd_json_kind(list) != CD_JSON_ARRAY || cd_json_count(list) > DEPLOY_BINDINGS_MAX)
        return corrupt(r->why, "manifest: bindings", "a list");
    r->app->bindings = cd_alloc(cd_json_count(list) * sizeof *r->app->bindings);
    while (rc == 0 && (item = cd_json_next(list, item, NULL)) != NULL)
        rc = binding_read(r, item);
    return rc;
}

/* A flag beside its own opposite would be decided by chance. */
static int compat_read(struct reading *r)
{
    struct deploy_app *a = r->app;
    struct deploy_compat compat = {a->compatibility_date, a->compatibility_flags, a->compatibility_flag_count,
                                   0};
    for (size_t i = 0; i < compat.flags; i++) {
        const char *opposite = deploy_flag_opposite(compat.flag[i]);
        for (size_t j = 0; opposite != NULL && j < compat.flags; j++) {
            if (cd_str_eq(compat.flag[j], cd_str(opposite)))
                return corrupt(r->why, "manifest: compatibility_flags", "no flag beside its opposite");
        }
    }
    deploy_compat_decide(&compat);
    a->compat = compat.on;
    return 0;
}

static int metadata_read(struct reading *r)
{
    struct deploy_app *a = r->app;
    r->metadata = cd_json_get(r->root, "raw_metadata");
    if (r->metadata == NULL || cd_json_kind(r->metadata) != CD_JSON_OBJECT)
        return corrupt(r->why, "manifest: raw_metadata", "an object");
    int rc = bindings_read(r);
    if (rc == 0 && optional(r, r->metadata, "compatibility_date", &a->compatibility_date) != 0)
        rc = corrupt(r->why, "manifest: compatibility_date", "a text");
    if (rc == 0)
        rc = list_read(r, cd_json_get(r->metadata, "compatibility_flags"), "manifest: compatibility_flags",
                       &a->compatibility_flags, &a->compatibility_flag_count);
    return rc == 0 ? compat_read(r) : rc;
}

static int head_read(struct reading *r)
{
    struct deploy_app *a = r->app;
    struct cd_str version;
    struct cd_buf prefix = {0};
    uint64_t schema;
    if (cd_json_u64(cd_json_get(r->root, "schema_version"), &schema) != 0 || schema < 1 || schema > 2) {
        cd_buf_addf(r->why, "manifest: schema_version is not 1 or 2; upgrade celld");
        return CD_EUNSUPPORTED;
    }
    if (text_copy(r, cd_json_get(r->root, "script_name"), &a->script) != 0 ||
        cd_json_str(cd_json_get(r->root, "version"), &version) != 0)
        return corrupt(r->why, "manifest", "texts script_name and version");
    int rc = identity_check("manifest", a->script, version, r->why);
    if (rc != 0)
        return rc;
    memcpy(a->version, version.ptr, version.len);
    cd_buf_addf(&prefix, "deploy/%.*s/%s", (int)a->script.len, a->script.ptr, a->version);
    a->prefix = cd_arena_copy(&a->arena, cd_buf_str(&prefix));
    cd_buf_deinit(&prefix);
    return 0;
}

int deploy_manifest_read(struct deploy_app *a, struct cd_str text, struct cd_str want, struct cd_buf *why)
{
    struct cd_json_doc *doc;
    struct cd_buf reason = {0};
    struct reading r = {.app = a, .why = why};
    deploy_sha256(text, a->manifest_sha256);
    if (want.len > 0 && !cd_str_eq(want, cd_str(a->manifest_sha256))) {
        cd_buf_addf(why, "manifest digest mismatch: it has %s, the pointer wants %.*s", a->manifest_sha256,
                    (int)want.len, want.ptr);
        return CD_ECORRUPT;
    }
    int rc = cd_json_parse(&doc, text, &reason);
    if (rc != 0) {
        cd_buf_addf(why, "manifest: %s", cd_buf_cstr(&reason));
        cd_buf_deinit(&reason);
        return CD_ECORRUPT;
    }
    r.root = cd_json_root(doc);
    rc = head_read(&r);
    if (rc == 0)
        rc = features_check(&r);
    if (rc == 0)
        rc = modules_read(&r);
    if (rc == 0)
        rc = metadata_read(&r);
    if (rc == 0)
        rc = list_read(&r, cd_json_get(r.root, "do_classes"), "manifest: do_classes", &a->do_classes,
                       &a->do_class_count);
    if (rc == 0)
        rc = list_read(&r, cd_json_get(r.root, "sqlite_classes"), "manifest: sqlite_classes",
                       &a->sqlite_classes, &a->sqlite_class_count);
    if (rc == 0)
        rc = list_read(&r, cd_json_get(r.root, "crons"), "manifest: crons", &a->crons, &a->cron_count);
    cd_json_free(doc);
    return rc;
}

/* ---- Modules ---- */

/* wanted has 64 hex digits, or the first 16 of them. */
static int digest_check(struct cd_str name, struct cd_str bytes, uint64_t size, char wanted[],
                        const char *what, struct cd_buf *why)
{
    char digest[DEPLOY_SHA256_LEN + 1];
    deploy_sha256(bytes, digest);
    if (bytes.len != size || !cd_str_starts(cd_str(digest), cd_str(wanted))) {
        cd_buf_addf(why, "%s %.*s digest mismatch: %zu bytes of digest %s, want %llu of %s", what,
                    (int)name.len, name.ptr, bytes.len, digest, (unsigned long long)size, wanted);
        return CD_ECORRUPT;
    }
    memcpy(wanted, digest, sizeof digest);
    return 0;
}

int deploy_module_take(struct deploy_module *m, struct cd_buf *bytes, struct cd_buf *why)
{
    int rc = digest_check(m->name, cd_buf_str(bytes), m->size, m->sha256, "module", why);
    if (rc == 0) {
        cd_buf_deinit(&m->bytes);
        m->bytes = cd_buf_move(bytes);
    }
    return rc;
}

int deploy_module_take_map(struct deploy_module *m, struct cd_buf *bytes, struct cd_buf *why)
{
    int rc = digest_check(m->name, cd_buf_str(bytes), m->map_size, m->map_sha256, "source map of", why);
    if (rc == 0) {
        cd_buf_deinit(&m->source_map);
        m->source_map = cd_buf_move(bytes);
    }
    return rc;
}
