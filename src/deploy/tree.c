/* deploy/tree.c: nodes of a project file, their places and paths. */
#include "deploy/tree.h"

#define BOM CD_STR("\xef\xbb\xbf")

struct deploy_place deploy_place_of(struct cd_str text, size_t at)
{
    struct deploy_place place = {1, 1};
    for (size_t i = cd_str_starts(text, BOM) ? BOM.len : 0; i < at && i < text.len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        if (byte == '\n')
            place = (struct deploy_place){place.line + 1, 1};
        else if ((byte & 0xc0) != 0x80) /* Not the inside of a character. */
            place.column++;
    }
    return place;
}

const struct deploy_node *deploy_node_get(const struct deploy_node *node, const char *key)
{
    if (node == NULL || node->kind != DEPLOY_OBJECT)
        return NULL;
    for (const struct deploy_node *n = node->first; n != NULL; n = n->next) {
        if (cd_str_eq(n->key, cd_str(key)))
            return n;
    }
    return NULL;
}

const char *deploy_kind_name(enum deploy_kind kind)
{
    switch (kind) {
    case DEPLOY_NULL: return "null";
    case DEPLOY_BOOL: return "a boolean";
    case DEPLOY_NUMBER: return "a number";
    case DEPLOY_NOT_A_NUMBER: return "a number that JSON cannot spell";
    case DEPLOY_DATE: return "a date";
    case DEPLOY_STRING: return "a string";
    case DEPLOY_ARRAY: return "an array";
    case DEPLOY_OBJECT: return "an object";
    }
    CD_UNREACHABLE();
}

static bool is_plain_key(struct cd_str key)
{
    for (size_t i = 0; i < key.len; i++) {
        char c = key.ptr[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_' &&
            c != '$' && c != '-')
            return false;
    }
    return key.len > 0;
}

void deploy_node_path(struct cd_buf *out, const struct deploy_node *node)
{
    const struct deploy_node *from_root[DEPLOY_DEPTH_MAX + 1];
    size_t depth = 0;
    for (; node->up != NULL; node = node->up) {
        CD_ASSERT(depth < CD_COUNT(from_root));
        from_root[depth++] = node;
    }
    for (size_t first = depth; depth-- > 0;) {
        node = from_root[depth];
        if (node->up->kind == DEPLOY_ARRAY) {
            cd_buf_addf(out, "[%zu]", node->index);
            continue;
        }
        if (depth + 1 != first)
            cd_buf_add_byte(out, '.');
        if (is_plain_key(node->key))
            cd_buf_add_str(out, node->key);
        else
            cd_json_quote(out, node->key);
    }
}

static int write_json(struct cd_json_out *to, const struct deploy_node *node, const struct deploy_node **bad,
                      struct cd_buf *out)
{
    const struct deploy_node *n;
    int rc = 0;
    switch (node->kind) {
    case DEPLOY_NULL: cd_json_out_null(to); return 0;
    case DEPLOY_BOOL: cd_json_out_bool(to, node->flag); return 0;
    case DEPLOY_NUMBER: cd_json_out_raw(to, node->text); return 0;
    case DEPLOY_STRING: cd_json_out_str(to, node->text); return 0;
    case DEPLOY_NOT_A_NUMBER:
    case DEPLOY_DATE: *bad = node; return CD_EINVAL;
    case DEPLOY_ARRAY:
        cd_json_out_array(to);
        for (n = node->first; n != NULL && rc == 0; n = n->next)
            rc = write_json(to, n, bad, out);
        if (rc == 0)
            cd_json_out_end(to, ']');
        return rc;
    case DEPLOY_OBJECT:
        cd_json_out_object(to);
        for (n = node->first; n != NULL && rc == 0; n = n->next) {
            cd_json_out_key_str(to, n->key);
            rc = write_json(to, n, bad, out);
        }
        if (rc == 0)
            cd_json_out_end(to, '}');
        return rc;
    }
    CD_UNREACHABLE();
}

int deploy_node_json(struct cd_buf *out, const struct deploy_node *node, const struct deploy_node **bad)
{
    struct cd_json_out to;
    cd_json_out_init(&to, out);
    return write_json(&to, node, bad, out);
}

void deploy_builder_deinit(struct deploy_builder *b)
{
    cd_map_deinit(&b->index);
    cd_buf_deinit(&b->name);
}

struct deploy_node *deploy_builder_node(struct deploy_builder *b, enum deploy_kind kind, size_t at)
{
    struct deploy_node *n = cd_arena_alloc(b->arena, sizeof *n);
    n->kind = kind;
    n->at = at;
    if (kind == DEPLOY_OBJECT)
        n->number = b->objects++;
    return n;
}

static struct cd_str index_name(struct deploy_builder *b, const struct deploy_node *object, struct cd_str key)
{
    CD_ASSERT(object->kind == DEPLOY_OBJECT);
    cd_buf_clear(&b->name);
    cd_buf_add_u32(&b->name, object->number);
    cd_buf_add_str(&b->name, key);
    return cd_buf_str(&b->name);
}

struct deploy_node *deploy_builder_find(struct deploy_builder *b, const struct deploy_node *object,
                                        struct cd_str key)
{
    return cd_map_get(&b->index, index_name(b, object, key));
}

static void append(struct deploy_node *to, struct deploy_node *value)
{
    value->up = to;
    value->index = to->count++;
    if (to->last == NULL)
        to->first = value;
    else
        to->last->next = value;
    to->last = value;
}

void deploy_builder_member(struct deploy_builder *b, struct deploy_node *object, struct cd_str key,
                           size_t key_at, struct deploy_node *value)
{
    void *before = cd_map_put(&b->index, index_name(b, object, key), value);
    CD_ASSERT(before == NULL);
    value->key = cd_arena_copy(b->arena, key);
    value->key_at = key_at;
    append(object, value);
}

void deploy_builder_item(struct deploy_node *array, struct deploy_node *value)
{
    CD_ASSERT(array->kind == DEPLOY_ARRAY);
    value->key_at = value->at;
    append(array, value);
}

int deploy_text_check(struct cd_str text, size_t *at, struct deploy_fault *fault)
{
    *at = cd_str_starts(text, BOM) ? BOM.len : 0;
    if (text.len > DEPLOY_FILE_MAX) {
        fault->at = 0;
        cd_buf_addf(&fault->why, "%zu bytes, at most %u", text.len, DEPLOY_FILE_MAX);
        return CD_ETOOBIG;
    }
    for (size_t i = *at; i < text.len;) {
        size_t len = cd_utf8_len(cd_str_sub(text, i, SIZE_MAX));
        if (len == 0) {
            fault->at = i;
            cd_buf_addf(&fault->why, "byte 0x%02x is not UTF-8", (unsigned)(unsigned char)text.ptr[i]);
            return CD_ESYNTAX;
        }
        i += len;
    }
    return 0;
}

void deploy_utf8_add(struct cd_buf *out, uint32_t code)
{
    CD_ASSERT(code < 0xd800 || (code > 0xdfff && code <= 0x10ffff));
    if (code < 0x80) {
        cd_buf_add_byte(out, (char)code);
        return;
    }
    unsigned more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    cd_buf_add_byte(out, (char)(lead[more] | code >> (6 * more)));
    while (more-- > 0)
        cd_buf_add_byte(out, (char)(0x80 | (code >> (6 * more) & 0x3f)));
}
