/* store/record_read.c: see record_read.h. */
#include "store/record_read.h"

#include "store/records.h"

void store_reader_fail(struct store_reader *r, const char *format, ...)
{
    if (r->rc != 0)
        return;
    r->rc = CD_ECORRUPT;
    if (r->why == NULL)
        return;
    cd_buf_addf(r->why, "%s: ", r->what);
    va_list args;
    va_start(args, format);
    cd_buf_vaddf(r->why, format, args);
    va_end(args);
}

void store_reader_begin(struct store_reader *r, const char *what, struct cd_str body, size_t max,
                        const char *version, uint64_t want, struct cd_buf *why)
{
    *r = (struct store_reader){.what = what, .why = why};
    if (body.len > max) {
        store_reader_fail(r, "%zu bytes, at most %zu are allowed", body.len, max);
        r->rc = CD_ETOOBIG;
        return;
    }
    struct cd_buf reason = {0};
    if (cd_json_parse(&r->doc, body, &reason) != 0)
        store_reader_fail(r, "%s", cd_buf_cstr(&reason));
    else
        r->root = cd_json_root(r->doc);
    cd_buf_deinit(&reason);
    if (r->rc == 0 && cd_json_kind(r->root) != CD_JSON_OBJECT)
        store_reader_fail(r, "not an object");
    uint64_t got = store_read_u64(r, r->root, version);
    if (r->rc == 0 && got != want) {
        store_reader_fail(r, "%s is %llu, this version reads %llu", version, (unsigned long long)got,
                          (unsigned long long)want);
        r->rc = CD_EUNSUPPORTED;
    }
}

int store_reader_end(struct store_reader *r)
{
    cd_json_free(r->doc);
    r->doc = NULL;
    r->root = NULL;
    return r->rc;
}

uint64_t store_read_u64(struct store_reader *r, const struct cd_json *at, const char *key)
{
    uint64_t v = 0;
    if (r->rc == 0 && cd_json_u64(cd_json_get(at, key), &v) != 0)
        store_reader_fail(r, "%s: want an integer from 0 to 2^53-1", key);
    return r->rc == 0 ? v : 0;
}

bool store_read_bool(struct store_reader *r, const struct cd_json *at, const char *key)
{
    bool v = false;
    if (r->rc == 0 && cd_json_bool(cd_json_get(at, key), &v) != 0)
        store_reader_fail(r, "%s: want true or false", key);
    return r->rc == 0 && v;
}

struct cd_str store_read_str(struct store_reader *r, const struct cd_json *at, const char *key)
{
    struct cd_str v = {0};
    if (r->rc == 0 && cd_json_str(cd_json_get(at, key), &v) != 0)
        store_reader_fail(r, "%s: want a string", key);
    return r->rc == 0 ? v : (struct cd_str){0};
}

void store_read_text(struct store_reader *r, const struct cd_json *at, const char *key, char *out,
                     size_t size, bool (*valid)(struct cd_str))
{
    struct cd_str v = store_read_str(r, at, key);
    out[0] = 0;
    if (r->rc != 0)
        return;
    bool fits = v.len < size && (v.len == 0 || memchr(v.ptr, 0, v.len) == NULL);
    if (!fits || (valid != NULL && !valid(v))) {
        struct cd_buf shown = {0};
        cd_json_quote(&shown, cd_str_sub(v, 0, size));
        store_reader_fail(r, "%s: %s is not one", key, cd_buf_cstr(&shown));
        cd_buf_deinit(&shown);
        return;
    }
    memcpy(out, v.len == 0 ? "" : v.ptr, v.len);
    out[v.len] = 0;
}

bool store_read_has(const struct cd_json *at, const char *key)
{
    const struct cd_json *v = cd_json_get(at, key);
    return v != NULL && cd_json_kind(v) != CD_JSON_NULL;
}

const struct cd_json *store_read_nullable(struct store_reader *r, const struct cd_json *at, const char *key)
{
    const struct cd_json *v = cd_json_get(at, key);
    if (v == NULL || (cd_json_kind(v) != CD_JSON_NULL && cd_json_kind(v) != CD_JSON_OBJECT)) {
        store_reader_fail(r, "%s: want an object or null", key);
        return NULL;
    }
    return cd_json_kind(v) == CD_JSON_NULL ? NULL : v;
}

void store_out_number(struct cd_json_out *o, const char *key, uint64_t v)
{
    CD_ASSERT(v <= STORE_NUMBER_MAX);
    cd_json_out_key(o, key);
    cd_json_out_u64(o, v);
}

void store_out_text(struct cd_json_out *o, const char *key, struct cd_str text)
{
    cd_json_out_key(o, key);
    cd_json_out_str(o, text);
}

static const struct store_patch *patch_of(const struct store_patch *patch, size_t count, struct cd_str key)
{
    for (size_t i = 0; i < count; i++)
        if (cd_str_eq(cd_str(patch[i].key), key))
            return &patch[i];
    return NULL;
}

void store_patch_object(struct cd_buf *out, const struct cd_json *at, const struct store_patch *patch,
                        size_t count)
{
    struct cd_json_out o;
    struct cd_str key;
    cd_json_out_init(&o, out);
    cd_json_out_object(&o);
    for (const struct cd_json *v = cd_json_next(at, NULL, &key); v != NULL; v = cd_json_next(at, v, &key)) {
        const struct store_patch *p = patch_of(patch, count, key);
        struct cd_buf old = {0};
        if (p == NULL)
            cd_json_text(&old, v);
        cd_json_out_key_str(&o, key);
        cd_json_out_raw(&o, p == NULL ? cd_buf_str(&old) : p->json);
        cd_buf_deinit(&old);
    }
    for (size_t i = 0; i < count; i++) {
        if (cd_json_get(at, patch[i].key) != NULL)
            continue;
        cd_json_out_key(&o, patch[i].key);
        cd_json_out_raw(&o, patch[i].json);
    }
    cd_json_out_end(&o, '}');
}
