/* io_real/s3_list.c: ListBucketResult with its Contents and CommonPrefixes.
 *
 * Stores list both kinds apart, each ascending; an unordered one would make a caller skip keys, so order is
 * checked, not made. */
#include "io_real/s3_list.h"

#include <stdio.h>

#include "base/encode.h"
#include "base/timetext.h"
#include "io/backend.h"
#include "io_real/xml.h"

struct row {
    size_t at, len; /* Of its key in names. */
    uint64_t size;
    int64_t modified_ms;
};

struct rows {
    struct row *row; /* owned */
    size_t count, cap;
};

struct reader {
    struct xml xml;
    struct cd_buf names; /* owned; as written, decoded at the end: EncodingType may come last */
    struct rows keys, prefixes;
    struct row current;
    bool in_contents, in_prefixes, has_key, has_size, url_encoded, saw_truncated;
    struct s3_page *page;
};

static int fail(struct io_list *l, const char *text)
{
    snprintf(l->why, sizeof(l->why), "listing: %s", text);
    return IO_PROTOCOL;
}

void s3_page_deinit(struct s3_page *page)
{
    cd_buf_deinit(&page->continuation);
}

static void add_row(struct rows *rows, const struct row *row)
{
    if (rows->count == rows->cap) {
        rows->cap = rows->cap == 0 ? 64 : rows->cap * 2;
        rows->row = cd_realloc(rows->row, rows->cap * sizeof(*rows->row));
    }
    rows->row[rows->count++] = *row;
}

static void keep_name(struct reader *r)
{
    r->current.at = r->names.len;
    r->current.len = r->xml.text.len;
    cd_buf_add_str(&r->names, cd_buf_str(&r->xml.text));
    r->has_key = true;
}

/* A member of the root that has no members of its own. */
static void read_setting(struct reader *r, struct cd_str name)
{
    struct cd_str text = cd_str_trim(cd_buf_str(&r->xml.text));
    if (cd_str_eq(name, CD_STR("IsTruncated"))) {
        r->saw_truncated = true;
        r->page->truncated = cd_str_eq_nocase(text, CD_STR("true"));
    } else if (cd_str_eq(name, CD_STR("NextContinuationToken"))) {
        cd_buf_clear(&r->page->continuation);
        cd_buf_add_str(&r->page->continuation, text);
    } else if (cd_str_eq(name, CD_STR("EncodingType"))) {
        r->url_encoded = cd_str_eq_nocase(text, CD_STR("url"));
    }
}

static int read_member(struct reader *r, struct cd_str name)
{
    struct cd_str text = cd_str_trim(cd_buf_str(&r->xml.text));
    if (r->in_contents && cd_str_eq(name, CD_STR("Key"))) {
        keep_name(r);
    } else if (r->in_contents && cd_str_eq(name, CD_STR("Size"))) {
        r->has_size = true;
        return cd_str_u64(text, &r->current.size);
    } else if (r->in_contents && cd_str_eq(name, CD_STR("LastModified"))) {
        if (cd_time_parse_iso(text, &r->current.modified_ms) != 0)
            r->current.modified_ms = 0; /* For people only. */
    } else if (r->in_prefixes && cd_str_eq(name, CD_STR("Prefix"))) {
        keep_name(r);
    }
    return 0;
}

static int read_close(struct reader *r, struct cd_str name)
{
    if (r->xml.depth == 2)
        return read_member(r, name);
    if (r->xml.depth != 1)
        return 0;
    if (r->in_contents) {
        if (!r->has_key || !r->has_size)
            return CD_ESYNTAX;
        add_row(&r->keys, &r->current);
    } else if (r->in_prefixes) {
        if (!r->has_key)
            return CD_ESYNTAX;
        add_row(&r->prefixes, &r->current);
    } else {
        read_setting(r, name);
    }
    r->in_contents = r->in_prefixes = false;
    return 0;
}

static int read_document(struct reader *r)
{
    enum xml_kind kind;
    struct cd_str name;
    for (;;) {
        int rc = xml_next(&r->xml, &kind, &name);
        if (rc != 0)
            return rc;
        if (kind == XML_END)
            return r->saw_truncated ? 0 : CD_ESYNTAX;
        if (kind == XML_CLOSE) {
            rc = read_close(r, name);
            if (rc != 0)
                return rc;
        } else if (r->xml.depth == 1 && !cd_str_eq(name, CD_STR("ListBucketResult"))) {
            return CD_ESYNTAX;
        } else if (r->xml.depth == 2) {
            r->current = (struct row){0};
            r->has_key = r->has_size = false;
            r->in_contents = cd_str_eq(name, CD_STR("Contents"));
            r->in_prefixes = cd_str_eq(name, CD_STR("CommonPrefixes"));
        }
    }
}

/* The name of a row, decoded. The URL encoding of listings writes a space as '+'. */
static int decode_name(struct cd_buf *out, const struct reader *r, const struct row *row)
{
    struct cd_str written = cd_str_sub(cd_buf_str(&r->names), row->at, row->len);
    cd_buf_clear(out);
    if (!r->url_encoded) {
        cd_buf_add_str(out, written);
        return 0;
    }
    int rc = cd_percent_decode(out, written);
    /* A '+' that came out of an escape must stay, so spaces are made from what was written. */
    for (size_t i = 0, at = 0; rc == 0 && i < written.len; i++, at++) {
        if (written.ptr[i] == '+')
            out->ptr[at] = ' ';
        else if (written.ptr[i] == '%')
            i += 2;
    }
    return rc;
}

struct merge {
    struct io_list *list;
    struct cd_str bucket_prefix, prefix, after;
    struct cd_buf last; /* owned; the previous name */
    bool any;
};

static int take(struct merge *m, struct cd_str name, const struct row *row, bool is_prefix)
{
    if (m->any && cd_str_cmp(cd_buf_str(&m->last), name) >= 0)
        return fail(m->list, "keys do not ascend");
    m->any = true;
    cd_buf_clear(&m->last);
    cd_buf_add_str(&m->last, name);
    if (!cd_str_starts(name, m->bucket_prefix))
        return fail(m->list, "a key outside of the prefix");
    struct cd_str key = cd_str_sub(name, m->bucket_prefix.len, SIZE_MAX);
    if (!cd_str_starts(key, m->prefix))
        return fail(m->list, "a key outside of the prefix");
    if (m->after.len == 0 || cd_str_cmp(key, m->after) > 0)
        io_list_add(m->list, key, row->size, row->modified_ms, is_prefix);
    return 0;
}

static int merge_rows(struct merge *m, const struct reader *r)
{
    struct cd_buf key = {0}, group = {0};
    size_t k = 0, p = 0;
    int rc = 0;
    if (r->keys.count != 0)
        rc = decode_name(&key, r, &r->keys.row[0]);
    if (rc == 0 && r->prefixes.count != 0)
        rc = decode_name(&group, r, &r->prefixes.row[0]);
    while (rc == 0 && (k < r->keys.count || p < r->prefixes.count)) {
        bool from_keys = p == r->prefixes.count ||
                         (k < r->keys.count && cd_str_cmp(cd_buf_str(&key), cd_buf_str(&group)) < 0);
        if (from_keys) {
            rc = take(m, cd_buf_str(&key), &r->keys.row[k++], false);
            if (rc == 0 && k < r->keys.count)
                rc = decode_name(&key, r, &r->keys.row[k]);
        } else {
            rc = take(m, cd_buf_str(&group), &r->prefixes.row[p++], true);
            if (rc == 0 && p < r->prefixes.count)
                rc = decode_name(&group, r, &r->prefixes.row[p]);
        }
    }
    cd_buf_deinit(&key);
    cd_buf_deinit(&group);
    return rc == CD_ESYNTAX ? fail(m->list, "a key with a broken escape") : rc;
}

int s3_list_read(struct io_list *l, struct s3_page *page, struct cd_str document, struct cd_str bucket_prefix,
                 struct cd_str prefix, struct cd_str after)
{
    struct reader r = {.page = page};
    struct merge m = {l, bucket_prefix, prefix, after, {0}, false};
    *page = (struct s3_page){0};
    xml_init(&r.xml, document);
    int rc = read_document(&r) == 0 ? 0 : fail(l, "malformed document");
    if (rc == 0)
        rc = merge_rows(&m, &r);
    if (rc == 0 && page->truncated && page->continuation.len == 0)
        rc = fail(l, "truncated without a continuation token");
    xml_deinit(&r.xml);
    cd_buf_deinit(&r.names);
    cd_buf_deinit(&m.last);
    cd_free(r.keys.row);
    cd_free(r.prefixes.row);
    return rc;
}
