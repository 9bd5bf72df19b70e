/* log/shorten.c: objects of a cell as one: joins and L1. */
#include "log/shorten.h"

#include "log/recover_internal.h"

#define READS 16u /* At once. */

int log_objects_list(struct log_shorten *s, struct cd_str prefix, struct ltx_object **out, size_t *count)
{
    struct store_policy p = store_policy_of(IO_LANE_DATA, 0);
    struct io_list page = {0};
    struct cd_buf after = {0};
    size_t cap = 0;
    int rc;
    *out = NULL;
    *count = 0;
    do {
        rc = store_retry_list(&page, s->io, s->bucket, prefix, cd_buf_str(&after), IO_LIST_MAX, &p);
        if (rc != IO_OK) {
            cd_buf_addf(&s->why, "%.*s: %s", (int)prefix.len, prefix.ptr, page.why);
            break;
        }
        if (*count + page.count > cap) {
            cap = 2 * cap + page.count;
            *out = cd_realloc(*out, cap * sizeof **out);
        }
        for (unsigned i = 0; i < page.count; i++) {
            struct ltx_name n;
            const struct io_entry *e = &page.entry[i];
            if (ltx_key_parse(e->key, &n) == 0)
                (*out)[(*count)++] =
                    (struct ltx_object){n.epoch, n.level, n.min_txid, n.max_txid, e->size, e->modified_ms};
        }
        cd_buf_clear(&after);
        if (page.count > 0)
            cd_buf_add_str(&after, page.entry[page.count - 1].key);
    } while (page.more);
    io_list_deinit(&page);
    cd_buf_deinit(&after);
    return rc;
}

static int object_put(struct log_shorten *s, const struct ltx_name *name, struct cd_str body)
{
    struct store_policy p = store_policy_of(IO_LANE_DATA, body.len);
    struct io_store put = {0};
    struct cd_buf key = {0};
    ltx_key(&key, name);
    int rc = store_retry_put(&put, s->io, s->bucket, cd_buf_str(&key), body, &p);
    if (rc != IO_OK)
        cd_buf_addf(&s->why, "%s: %s", cd_buf_cstr(&key), put.why);
    cd_buf_deinit(&key);
    s->bytes = body.len;
    s->reach = name->max_txid;
    return rc;
}

int log_image_put(struct log_shorten *s, uint64_t reach, struct cd_str body)
{
    s->objects = 1;
    return object_put(
        s,
        &(struct ltx_name){
            .scope = s->scope, .epoch = s->epoch, .level = LTX_L9, .min_txid = 1, .max_txid = reach},
        body);
}

/* ---- Sources ---- */

struct sources {
    struct ltx_name *name;
    struct io_store *get; /* Their bodies. */
    struct ltx_file *file;
    size_t count;
};

static void sources_deinit(struct sources *in)
{
    for (size_t i = 0; i < in->count; i++)
        cd_buf_deinit(&in->get[i].body);
    cd_free(in->name);
    cd_free(in->get);
    cd_free(in->file);
}

static int source_read(struct log_shorten *s, struct sources *in, size_t i, struct cd_str key)
{
    struct io_store *get = &in->get[i];
    struct store_policy p = store_policy_of(IO_LANE_DATA, 0);
    int rc = store_get_end(get, s->io, s->bucket, key, 0, IO_WHOLE, &p);
    if (rc != IO_OK)
        cd_buf_addf(&s->why, "%.*s: %s", (int)key.len, key.ptr, get->why);
    else
        rc = ltx_file_open(&in->file[i], cd_buf_str(&get->body), &in->name[i], &s->why);
    return rc;
}

/* Reads object[0..count] of the cell, some at a time. */
static int sources_read(struct log_shorten *s, struct sources *in, const struct ltx_object *object,
                        size_t count)
{
    int rc = 0;
    *in = (struct sources){.name = cd_alloc(count * sizeof *in->name),
                           .get = cd_alloc(count * sizeof *in->get),
                           .file = cd_alloc(count * sizeof *in->file),
                           .count = count};
    for (size_t from = 0; rc == 0 && from < count; from += READS) {
        struct cd_buf key[READS] = {0};
        size_t n = count - from < READS ? count - from : READS;
        for (size_t i = 0; i < n; i++) {
            const struct ltx_object *o = &object[from + i];
            in->name[from + i] = (struct ltx_name){s->scope, o->epoch, o->level, o->min_txid, o->max_txid};
            ltx_key(&key[i], &in->name[from + i]);
            io_store_get(&in->get[from + i], s->bucket, cd_buf_str(&key[i]), 0, IO_WHOLE, NULL);
        }
        for (size_t i = 0; i < n; i++) { /* Each of them, also after an error: they are in flight. */
            int read = source_read(s, in, from + i, cd_buf_str(&key[i]));
            rc = rc == 0 ? read : rc;
        }
        for (size_t i = 0; i < n; i++)
            cd_buf_deinit(&key[i]);
    }
    return rc;
}

/* The sources as one object at level. */
static int merged_put(struct log_shorten *s, const struct ltx_object *object, size_t count,
                      const struct ltx_merge_opts *opts, unsigned level)
{
    struct sources in;
    struct cd_buf body = {0};
    struct ltx_header h;
    int rc = sources_read(s, &in, object, count);
    if (rc == 0 && count > 2 && CD_PLANT("shorten.drops-source"))
        in.file[1].h.page_count = 0;
    if (rc == 0)
        rc = log_merge(s->io, in.file, count, opts, &body, &s->why);
    if (rc == 0)
        rc = ltx_header_read(cd_str_sub(cd_buf_str(&body), 0, LTX_HEADER_SIZE), NULL, &h, &s->why);
    sources_deinit(&in);
    if (rc == 0)
        rc = object_put(s, &(struct ltx_name){s->scope, h.epoch, level, h.min_txid, h.max_txid},
                        cd_buf_str(&body));
    s->objects = count;
    cd_buf_deinit(&body);
    return rc;
}

/* ---- What is made of them ---- */

int log_join(struct log_shorten *s, const struct ltx_chain *c)
{
    struct ltx_merge_opts opts;
    s->objects = 0;
    CD_ASSERT(c->reach_epoch == s->epoch);
    if (c->count < 3 || !ltx_join_opts(c, s->epoch, &opts))
        return IO_OK;
    return merged_put(s, c->object + 1, c->count - 1, &opts, LTX_L1);
}

static int epoch_list(struct log_shorten *s, struct ltx_object **out, size_t *count)
{
    struct cd_buf prefix = {0};
    ltx_key_epoch(&prefix, s->scope, s->epoch);
    int rc = log_objects_list(s, cd_buf_str(&prefix), out, count);
    cd_buf_deinit(&prefix);
    return rc;
}

static uint64_t first_of(const struct ltx_object *object, size_t count)
{
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        if (object[i].level == LTX_L0 && object[i].min_txid < first)
            first = object[i].min_txid;
    }
    return first;
}

/* What was stored is there, and leaves no gap. */
static int compacted_check(struct log_shorten *s, uint64_t reach)
{
    struct ltx_object *object = NULL;
    size_t count = 0, planned = 0;
    uint64_t end = 0;
    int rc = epoch_list(s, &object, &count);
    size_t *plan = cd_alloc((count + 1) * sizeof *plan);
    if (rc == IO_OK && (ltx_compacted(object, count, first_of(object, count)) < reach ||
                        ltx_plan_epoch(object, count, UINT64_MAX, plan, &planned, &end) != LTX_FAULT_NONE)) {
        cd_buf_addf(&s->why, "epoch %llu does not reach txid %llu after a compaction",
                    (unsigned long long)s->epoch, (unsigned long long)reach);
        rc = CD_ECORRUPT;
    }
    cd_free(plan);
    cd_free(object);
    return rc;
}

int log_compact(struct log_shorten *s, const struct ltx_keep *k)
{
    struct ltx_object *object = NULL, *source = NULL;
    size_t count = 0, picked[LTX_COMPACT_SOURCES];
    s->objects = 0;
    int rc = epoch_list(s, &object, &count);
    uint64_t first = first_of(object, count), bytes = 0;
    if (rc != IO_OK || first == UINT64_MAX)
        goto out;
    uint64_t from = ltx_compacted(object, count, first);
    size_t n = ltx_compact_pick(object, count, first, picked);
    source = cd_alloc((n + 1) * sizeof *source);
    for (size_t i = 0; i < n; i++) {
        source[i] = object[picked[i]];
        bytes += source[i].size;
    }
    if (n == 0 || !ltx_compact_due(source[n - 1].max_txid, from, bytes, n, k))
        goto out;
    rc = merged_put(s, source, n, &(struct ltx_merge_opts){.min_txid = from + 1}, LTX_L1);
    if (rc == IO_OK)
        rc = compacted_check(s, s->reach);

out:
    cd_free(source);
    cd_free(object);
    return rc;
}
