/* io/store.c: what the store groups of both backends share: keys, and the building of listings. */
#include <stdio.h>

#include "io/backend.h"

int io_store_key(struct cd_buf *out, struct cd_str prefix, struct cd_str key, char *why, size_t cap)
{
    if (key.len == 0 || prefix.len + key.len > IO_KEY_MAX) {
        snprintf(why, cap, "object key of %zu bytes, want 1 to %zu", key.len,
                 (size_t)IO_KEY_MAX - prefix.len);
        return CD_EINVAL;
    }
    bool control = false;
    for (size_t i = 0; i < key.len; i++)
        control |= (unsigned char)key.ptr[i] < ' ' || key.ptr[i] == 0x7f;
    if (control || !cd_str_is_utf8(key)) {
        snprintf(why, cap, "object key is not UTF-8 without control characters");
        return CD_EINVAL;
    }
    cd_buf_clear(out);
    cd_buf_add_str(out, prefix);
    cd_buf_add_str(out, key);
    return 0;
}

void io_store_clear(struct io_store *s)
{
    s->outcome = IO_REJECTED;
    cd_buf_clear(&s->body);
    s->size = 0;
    s->modified_ms = 0;
    s->date_ms = 0;
    s->retry_after_ns = 0;
    s->why[0] = 0;
}

void io_list_clear(struct io_list *l)
{
    cd_free(l->entry);
    l->entry = NULL;
    l->count = 0;
    l->more = false;
    cd_buf_clear(&l->keys);
    l->why[0] = 0;
}

void io_list_deinit(struct io_list *l)
{
    io_list_clear(l);
    cd_buf_deinit(&l->keys);
}

void io_list_add(struct io_list *l, struct cd_str key, uint64_t size, int64_t modified_ms, bool is_prefix)
{
    /* The array doubles when count is a power of two: no capacity has to be kept in the public struct. */
    if ((l->count & (l->count - 1)) == 0)
        l->entry = cd_realloc(l->entry, (l->count == 0 ? 1 : l->count * 2) * sizeof(*l->entry));
    struct io_entry *e = &l->entry[l->count++];
    *e = (struct io_entry){{NULL, key.len}, size, modified_ms, is_prefix};
    cd_buf_add_str(&l->keys, key);
}

void io_list_cut(struct io_list *l, unsigned count)
{
    CD_ASSERT(count <= l->count);
    for (; l->count > count; l->count--)
        l->keys.len -= l->entry[l->count - 1].key.len;
}

void io_list_seal(struct io_list *l)
{
    const char *at = l->keys.ptr;
    for (unsigned i = 0; i < l->count; i++) {
        l->entry[i].key.ptr = at;
        at += l->entry[i].key.len;
    }
    CD_ASSERT(at == l->keys.ptr + l->keys.len);
}

bool io_list_group(struct cd_str key, struct cd_str prefix, char delimiter, struct cd_str *group)
{
    CD_ASSERT(cd_str_starts(key, prefix));
    size_t at = delimiter == 0 ? SIZE_MAX : cd_str_find(key, delimiter, prefix.len);
    if (at != SIZE_MAX)
        *group = cd_str_sub(key, 0, at + 1);
    return at != SIZE_MAX;
}
