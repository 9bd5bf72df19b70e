/* deploy/manifest.c: writing. What is written has to be the same for the same input, byte for byte: the
 * version is a digest of it, and a pointer is compared with what stands in the bucket. */
#include "deploy/manifest.h"

#include <openssl/evp.h>
#include <stdlib.h>

#include "base/encode.h"
#include "deploy/app_internal.h"

void deploy_sha256(struct cd_str bytes, char out[DEPLOY_SHA256_LEN + 1])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    struct cd_buf hex = {0};
    unsigned len = 0;
    int ok = EVP_Digest(bytes.len == 0 ? "" : bytes.ptr, bytes.len, digest, &len, EVP_sha256(), NULL);
    CD_ASSERT(ok == 1 && len * 2 == DEPLOY_SHA256_LEN);
    cd_hex_encode(&hex, cd_str_of(digest, len));
    memcpy(out, cd_buf_cstr(&hex), DEPLOY_SHA256_LEN + 1);
    cd_buf_deinit(&hex);
}

/* ---- Metadata ---- */

static void member(struct cd_json_out *o, const char *key, struct cd_str value)
{
    cd_json_out_key(o, key);
    cd_json_out_str(o, value);
}

static void member_unless_empty(struct cd_json_out *o, const char *key, struct cd_str value)
{
    if (value.len > 0)
        member(o, key, value);
}

static void strings(struct cd_json_out *o, const char *key, const struct cd_str *item, unsigned count)
{
    cd_json_out_key(o, key);
    cd_json_out_array(o);
    for (unsigned i = 0; i < count; i++)
        cd_json_out_str(o, item[i]);
    cd_json_out_end(o, ']');
}

static void binding_write(struct cd_json_out *o, const struct deploy_binding *b)
{
    cd_json_out_object(o);
    member(o, "type", cd_str(deploy_binding_type(b->kind)));
    member(o, "name", b->name);
    switch (b->kind) {
    case DEPLOY_DURABLE_OBJECT:
        member(o, "class_name", b->durable_object.class_name);
        member_unless_empty(o, "script_name", b->durable_object.script_name);
        break;
    case DEPLOY_SERVICE:
        member(o, "service", b->service.service);
        member_unless_empty(o, "entrypoint", b->service.entrypoint);
        break;
    case DEPLOY_PLAIN_TEXT: member(o, "text", b->text); break;
    case DEPLOY_JSON:
        cd_json_out_key(o, "json");
        cd_json_out_raw(o, b->json);
        break;
    case DEPLOY_D1:
        member(o, "database_name", b->d1.database_name);
        member_unless_empty(o, "database_id", b->d1.database_id);
        break;
    case DEPLOY_KV: member(o, "id", b->kv_id); break;
    case DEPLOY_QUEUE:
        member(o, "queue", b->queue.queue);
        if (b->queue.delivery_delay_s > 0) {
            cd_json_out_key(o, "delivery_delay");
            cd_json_out_u64(o, b->queue.delivery_delay_s);
        }
        break;
    case DEPLOY_R2_BUCKET: member(o, "bucket_name", b->bucket_name); break;
    case DEPLOY_WORKFLOW:
        member(o, "workflow_name", b->workflow.workflow_name);
        member(o, "class_name", b->workflow.class_name);
        break;
    case DEPLOY_ASSETS:
    case DEPLOY_WORKER_LOADER:
    case DEPLOY_BINDING_KINDS: break;
    }
    cd_json_out_end(o, '}');
}

void deploy_metadata_write(struct cd_buf *out, const struct deploy_app *a)
{
    struct cd_json_out o;
    cd_json_out_init(&o, out);
    cd_json_out_object(&o);
    cd_json_out_key(&o, "bindings");
    cd_json_out_array(&o);
    for (unsigned i = 0; i < a->binding_count; i++)
        binding_write(&o, &a->bindings[i]);
    cd_json_out_end(&o, ']');
    if (a->main_module != NULL)
        member(&o, "main_module", a->main_module->name);
    member_unless_empty(&o, "compatibility_date", a->compatibility_date);
    strings(&o, "compatibility_flags", a->compatibility_flags, a->compatibility_flag_count);
    if (a->sqlite_class_count > 0) {
        cd_json_out_key(&o, "migrations");
        cd_json_out_object(&o);
        strings(&o, "new_sqlite_classes", a->sqlite_classes, a->sqlite_class_count);
        cd_json_out_end(&o, '}');
    }
    cd_json_out_end(&o, '}');
}

/* ---- Manifest ---- */

static void module_write(struct cd_json_out *o, const struct deploy_module *m)
{
    cd_json_out_object(o);
    member(o, "name", m->name);
    cd_json_out_key(o, "bytes");
    cd_json_out_u64(o, m->size);
    member(o, "sha256", cd_str(m->sha256));
    member_unless_empty(o, "kind", cd_str(deploy_module_kind_name(m->kind)));
    if (m->map_sha256[0] != 0) {
        cd_json_out_key(o, "source_map");
        cd_json_out_object(o);
        cd_json_out_key(o, "bytes");
        cd_json_out_u64(o, m->map_size);
        member(o, "sha256", cd_str(m->map_sha256));
        cd_json_out_end(o, '}');
    }
    cd_json_out_end(o, '}');
}

static void manifest_write(struct cd_buf *out, const struct deploy_app *a, struct cd_str metadata)
{
    struct cd_json_out o;
    uint32_t uses = deploy_app_uses(a);
    cd_json_out_init(&o, out);
    cd_json_out_object(&o);
    cd_json_out_key(&o, "schema_version");
    cd_json_out_u64(&o, 1);
    member(&o, "version", cd_str(a->version));
    member(&o, "script_name", a->script);
    cd_json_out_key(&o, "main_module");
    if (a->main_module == NULL)
        cd_json_out_null(&o);
    else
        cd_json_out_str(&o, a->main_module->name);
    strings(&o, "do_classes", a->do_classes, a->do_class_count);
    strings(&o, "sqlite_classes", a->sqlite_classes, a->sqlite_class_count);
    cd_json_out_key(&o, "modules");
    cd_json_out_array(&o);
    for (unsigned i = 0; i < a->module_count; i++)
        module_write(&o, &a->modules[i]);
    cd_json_out_end(&o, ']');
    strings(&o, "crons", a->crons, a->cron_count);
    cd_json_out_key(&o, "required_features");
    cd_json_out_array(&o);
    for (size_t i = 0; deploy_feature(i) != NULL; i++) {
        if ((deploy_feature(i)->uses & uses) != 0)
            cd_json_out_str(&o, cd_str(deploy_feature(i)->name));
    }
    cd_json_out_end(&o, ']');
    cd_json_out_key(&o, "raw_metadata");
    cd_json_out_raw(&o, metadata);
    cd_json_out_end(&o, '}');
}

static int by_name(const void *a, const void *b)
{
    return cd_str_cmp(((const struct deploy_module *)a)->name, ((const struct deploy_module *)b)->name);
}

static void version_compute(struct deploy_app *a, struct cd_str metadata)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    unsigned char digest[EVP_MAX_MD_SIZE];
    struct cd_buf hex = {0};
    unsigned len = 0;
    int ok = ctx != NULL && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL);
    for (unsigned i = 0; i < a->module_count; i++) {
        const struct deploy_module *m = &a->modules[i];
        ok = ok && EVP_DigestUpdate(ctx, m->name.ptr, m->name.len) && EVP_DigestUpdate(ctx, "", 1) &&
             EVP_DigestUpdate(ctx, m->bytes.ptr, m->bytes.len);
    }
    ok = ok && EVP_DigestUpdate(ctx, metadata.ptr, metadata.len) && EVP_DigestFinal_ex(ctx, digest, &len);
    CD_ASSERT(ok); /* SHA-256 fails for want of memory alone. */
    EVP_MD_CTX_free(ctx);
    cd_hex_encode(&hex, cd_str_of(digest, DEPLOY_VERSION_LEN / 2));
    memcpy(a->version, cd_buf_cstr(&hex), sizeof a->version);
    cd_buf_deinit(&hex);
}

void deploy_app_seal(struct deploy_app *a, struct cd_buf *out)
{
    struct cd_buf text = {0};
    CD_ASSERT(out->len == 0);
    CD_ASSERT(a->main_module != NULL && a->module_count > 0); /* Assets alone come with assets. */
    struct cd_str main_name = a->main_module->name;
    qsort(a->modules, a->module_count, sizeof *a->modules, by_name);
    for (unsigned i = 0; i < a->module_count; i++) {
        struct deploy_module *m = &a->modules[i];
        if (cd_str_eq(m->name, main_name))
            a->main_module = m;
        m->size = m->bytes.len;
        m->map_size = m->source_map.len;
        deploy_sha256(cd_buf_str(&m->bytes), m->sha256);
        if (m->source_map.len > 0)
            deploy_sha256(cd_buf_str(&m->source_map), m->map_sha256);
    }
    deploy_metadata_write(&text, a);
    version_compute(a, cd_buf_str(&text));
    manifest_write(out, a, cd_buf_str(&text));
    deploy_sha256(cd_buf_str(out), a->manifest_sha256);
    cd_buf_clear(&text);
    cd_buf_addf(&text, "deploy/%.*s/%s", (int)a->script.len, a->script.ptr, a->version);
    a->prefix = cd_arena_copy(&a->arena, cd_buf_str(&text));
    cd_buf_deinit(&text);
}

/* ---- Keys and pointers ---- */

void deploy_module_key(struct cd_buf *out, const struct deploy_app *a, const struct deploy_module *m)
{
    cd_buf_addf(out, "%.*s/%.*s", (int)a->prefix.len, a->prefix.ptr, (int)m->name.len, m->name.ptr);
}

void deploy_module_map_key(struct cd_buf *out, const struct deploy_app *a, const struct deploy_module *m)
{
    deploy_module_key(out, a, m);
    cd_buf_add_str(out, CD_STR(".map"));
}

void deploy_manifest_key(struct cd_buf *out, struct cd_str prefix)
{
    cd_buf_addf(out, "%.*s/manifest.json", (int)prefix.len, prefix.ptr);
}

void deploy_pointer_key(struct cd_buf *out, struct cd_str script)
{
    if (script.len == 0)
        cd_buf_add_str(out, CD_STR(DEPLOY_FLEET_POINTER));
    else
        cd_buf_addf(out, "deploy/%.*s/current.json", (int)script.len, script.ptr);
}

void deploy_pointer_write(struct cd_buf *out, const struct deploy_app *a)
{
    struct cd_json_out o;
    CD_ASSERT(a->manifest_sha256[0] != 0);
    cd_json_out_init(&o, out);
    cd_json_out_object(&o);
    member(&o, "script_name", a->script);
    member(&o, "version", cd_str(a->version));
    member(&o, "prefix", a->prefix);
    cd_json_out_key(&o, "rollout");
    cd_json_out_object(&o);
    cd_json_out_key(&o, "percent");
    cd_json_out_u64(&o, 100);
    cd_json_out_end(&o, '}');
    member(&o, "manifest_sha256", cd_str(a->manifest_sha256));
    cd_json_out_end(&o, '}');
}
