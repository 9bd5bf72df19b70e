/* deploy/bundle_meta.c: what esbuild tells about a bundle: its inputs, and where its code comes from. */
#include "base/json.h"
#include "deploy/bundle_internal.h"

/* Of the output that has an entry point, the only one. */
static void exports_take(struct deploy_bundle *out, const struct cd_json *outputs)
{
    for (const struct cd_json *v = NULL; (v = cd_json_next(outputs, v, NULL)) != NULL;) {
        const struct cd_json *list = cd_json_get(v, "exports"), *name = NULL;
        if (cd_json_get(v, "entryPoint") == NULL || list == NULL || out->exports != NULL)
            continue;
        out->exports = cd_alloc((cd_json_count(list) + 1) * sizeof *out->exports);
        while ((name = cd_json_next(list, name, NULL)) != NULL) {
            struct cd_str text;
            if (cd_json_str(name, &text) == 0)
                out->exports[out->export_count++] = cd_arena_copy(&out->arena, text);
        }
    }
}

int deploy_metafile_read(struct deploy_bundle *out, struct cd_str text, struct cd_buf *why)
{
    struct cd_json_doc *doc;
    struct cd_buf reason = {0};
    int rc = cd_json_parse(&doc, text, &reason);
    if (rc != 0) {
        cd_buf_addf(why, "the bundler's metafile: %s", cd_buf_cstr(&reason));
        cd_buf_deinit(&reason);
        return CD_ECORRUPT;
    }
    const struct cd_json *inputs = cd_json_get(cd_json_root(doc), "inputs"), *v = NULL;
    struct cd_str name;
    out->inputs = cd_alloc(cd_json_count(inputs) * sizeof *out->inputs);
    while ((v = cd_json_next(inputs, v, &name)) != NULL) {
        if (cd_str_starts(name, CD_STR("(disabled):")))
            name =
                cd_str_sub(name, 11, SIZE_MAX); /* Left out for browsers; still it decides what is bundled. */
        if (name.len > 0 && name.ptr[0] != '<')
            out->inputs[out->input_count++] = cd_arena_copy(&out->arena, name);
    }
    exports_take(out, cd_json_get(cd_json_root(doc), "outputs"));
    cd_json_free(doc);
    return 0;
}

/* path, relative to the directory out of the project, made relative to the project. Both have / between
 * names; what leads out of the project keeps the dots that do. */
static void rebase(struct cd_buf *to, struct cd_str path, struct cd_str out)
{
    struct cd_str rest = path;
    while (out.len > 0 && cd_str_starts(rest, CD_STR("../"))) {
        size_t slash = SIZE_MAX;
        for (size_t at = cd_str_find(out, '/', 0); at != SIZE_MAX; at = cd_str_find(out, '/', at + 1))
            slash = at;
        out = cd_str_sub(out, 0, slash == SIZE_MAX ? 0 : slash);
        rest = cd_str_sub(rest, 3, SIZE_MAX);
    }
    if (out.len > 0 && rest.len > 0 && rest.ptr[0] != '/')
        cd_buf_addf(to, "%.*s/", (int)out.len, out.ptr);
    cd_buf_add_str(to, rest);
}

static bool has_scheme(struct cd_str source)
{
    size_t colon = cd_str_find(source, ':', 0), slash = cd_str_find(source, '/', 0);
    return colon != SIZE_MAX && colon < slash;
}

static void sources_write(struct cd_json_out *o, const struct cd_json *list, struct cd_str out)
{
    const struct cd_json *v = NULL;
    struct cd_str source = {0};
    struct cd_buf path = {0};
    cd_json_out_array(o);
    while ((v = cd_json_next(list, v, NULL)) != NULL) {
        if (cd_json_str(v, &source) != 0) {
            cd_json_out_null(o); /* Code without a source, which the format allows. */
            continue;
        }
        cd_buf_clear(&path);
        if (has_scheme(source))
            cd_buf_add_str(&path, source);
        else
            rebase(&path, source, out);
        cd_json_out_str(o, cd_buf_str(&path));
    }
    cd_json_out_end(o, ']');
    cd_buf_deinit(&path);
}

int deploy_source_map_rebase(struct cd_buf *to, struct cd_str map, struct cd_str out, struct cd_buf *why)
{
    struct cd_json_doc *doc;
    struct cd_buf reason = {0};
    struct cd_str mappings;
    if (cd_json_parse(&doc, map, &reason) != 0) {
        cd_buf_addf(why, "the bundler's source map: %s", cd_buf_cstr(&reason));
        cd_buf_deinit(&reason);
        return CD_ECORRUPT;
    }
    const struct cd_json *root = cd_json_root(doc), *sources = cd_json_get(root, "sources");
    const struct cd_json *names = cd_json_get(root, "names");
    uint64_t version = 0;
    int rc = 0;
    if (cd_json_u64(cd_json_get(root, "version"), &version) != 0 || version != 3 || sources == NULL ||
        cd_json_kind(sources) != CD_JSON_ARRAY ||
        cd_json_str(cd_json_get(root, "mappings"), &mappings) != 0) {
        cd_buf_addf(why, "the bundler's source map: want version 3 with sources and mappings");
        rc = CD_ECORRUPT;
    } else {
        struct cd_json_out o;
        struct cd_buf text = {0};
        cd_json_out_init(&o, to);
        cd_json_out_object(&o);
        cd_json_out_key(&o, "version");
        cd_json_out_u64(&o, 3);
        cd_json_out_key(&o, "sources");
        sources_write(&o, sources, out);
        cd_json_out_key(&o, "names");
        if (names != NULL)
            cd_json_text(&text, names);
        cd_json_out_raw(&o, text.len > 0 ? cd_buf_str(&text) : CD_STR("[]"));
        cd_json_out_key(&o, "mappings");
        cd_json_out_str(&o, mappings);
        cd_json_out_end(&o, '}');
        cd_buf_deinit(&text);
    }
    cd_json_free(doc);
    return rc;
}
