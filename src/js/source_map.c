/* js/source_map.c: reads the mappings once and looks places up by bisection. */
#include "js/source_map.h"

#include "base/json.h"

struct segment {
    unsigned line, column; /* In the bundle, from 0. */
    unsigned source, from_line, from_column; /* From 0. */
};

struct js_source_map {
    struct cd_str *source; /* owned, with their texts */
    size_t sources;
    struct segment *segment; /* owned; ascending by line and column */
    size_t count, cap;
};

/* ---- Mappings: numbers in base 64, five bits and a mark that more follow, the lowest bit the sign ---- */

static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* False: no number, or one that is too large. */
static bool number_take(struct cd_str *in, int64_t *out)
{
    uint64_t value = 0;
    for (unsigned shift = 0; in->len > 0 && shift < 35; shift += 5) {
        int digit = digit_of(*in->ptr);
        if (digit < 0)
            return false;
        *in = cd_str_sub(*in, 1, SIZE_MAX);
        value |= (uint64_t)(digit & 31) << shift;
        if ((digit & 32) == 0) {
            *out = (value & 1) != 0 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
            return true;
        }
    }
    return false;
}

static bool in_range(int64_t v, int64_t end)
{
    return v >= 0 && v < end;
}

static void segment_add(struct js_source_map *m, struct segment s)
{
    if (m->count == m->cap) {
        m->cap = m->cap == 0 ? 256 : 2 * m->cap;
        m->segment = cd_realloc(m->segment, m->cap * sizeof(*m->segment));
    }
    m->segment[m->count++] = s;
}

/* One line of the bundle. All but the column goes on from line to line. */
static bool line_read(struct js_source_map *m, struct cd_str text, unsigned line, int64_t carry[3])
{
    struct cd_str piece;
    int64_t column = 0, before = -1;
    while (text.len > 0 && cd_str_next(&text, ',', &piece)) {
        int64_t delta[5];
        unsigned fields = 0;
        while (piece.len > 0 && fields < 5) {
            if (!number_take(&piece, &delta[fields++]))
                return false;
        }
        if (piece.len > 0 || (fields != 1 && fields < 4))
            return false;
        column += delta[0];
        if (column < before || !in_range(column, INT32_MAX))
            return false;
        before = column;
        if (fields == 1)
            continue; /* Code that came from nowhere. */
        for (unsigned i = 0; i < 3; i++)
            carry[i] += delta[i + 1];
        if (!in_range(carry[0], (int64_t)m->sources) || !in_range(carry[1], INT32_MAX) ||
            !in_range(carry[2], INT32_MAX))
            return false;
        segment_add(m, (struct segment){line, (unsigned)column, (unsigned)carry[0], (unsigned)carry[1],
                                        (unsigned)carry[2]});
    }
    return true;
}

static bool mappings_read(struct js_source_map *m, struct cd_str text)
{
    struct cd_str line;
    int64_t carry[3] = {0};
    for (unsigned n = 0; text.len > 0 && cd_str_next(&text, ';', &line); n++) {
        if (!line_read(m, line, n, carry))
            return false;
    }
    return true;
}

static bool sources_read(struct js_source_map *m, const struct cd_json *list)
{
    m->source = cd_alloc(sizeof(*m->source) * cd_json_count(list));
    for (const struct cd_json *v = NULL; (v = cd_json_next(list, v, NULL)) != NULL;) {
        struct cd_str text;
        if (cd_json_str(v, &text) != 0)
            return false;
        m->source[m->sources++] = (struct cd_str){cd_str_dup(text), text.len};
    }
    return true;
}

struct js_source_map *js_source_map_parse(struct cd_str text)
{
    struct cd_json_doc *doc;
    struct cd_str mappings;
    if (cd_json_parse(&doc, text, NULL) != 0)
        return NULL;
    struct js_source_map *m = cd_new(struct js_source_map);
    const struct cd_json *root = cd_json_root(doc);
    bool good = cd_json_str(cd_json_get(root, "mappings"), &mappings) == 0 &&
                cd_json_kind(root) == CD_JSON_OBJECT && cd_json_get(root, "sources") != NULL &&
                sources_read(m, cd_json_get(root, "sources")) && mappings_read(m, mappings);
    cd_json_free(doc);
    if (good)
        return m;
    js_source_map_free(m);
    return NULL;
}

void js_source_map_free(struct js_source_map *m)
{
    if (m == NULL)
        return;
    for (size_t i = 0; i < m->sources; i++)
        cd_free((char *)(uintptr_t)m->source[i].ptr);
    cd_free(m->source);
    cd_free(m->segment);
    cd_free(m);
}

/* ---- Looking up ---- */

bool js_source_map_find(const struct js_source_map *m, unsigned line, unsigned column,
                        struct js_source_place *out)
{
    if (line == 0 || column == 0)
        return false;
    line--;
    column--;
    size_t low = 0, high = m->count; /* The last one that does not start behind the place. */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct segment *s = &m->segment[middle];
        if (s->line < line || (s->line == line && s->column <= column))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || m->segment[low - 1].line != line)
        return false;
    const struct segment *s = &m->segment[low - 1];
    *out = (struct js_source_place){m->source[s->source], s->from_line + 1, s->from_column + 1};
    return true;
}

/* ":12" at the front. */
static bool colon_number(struct cd_str *in, unsigned *out)
{
    size_t digits = 0;
    uint64_t value;
    if (in->len < 2 || in->ptr[0] != ':')
        return false;
    while (1 + digits < in->len && in->ptr[1 + digits] >= '0' && in->ptr[1 + digits] <= '9')
        digits++;
    if (cd_str_u64(cd_str_sub(*in, 1, digits), &value) != 0 || value > INT32_MAX)
        return false;
    *out = (unsigned)value;
    *in = cd_str_sub(*in, 1 + digits, SIZE_MAX);
    return true;
}

void js_source_map_stack(const struct js_source_map *m, struct cd_str name, struct cd_str stack,
                         struct cd_buf *out)
{
    while (stack.len > 0) {
        size_t at = cd_str_find_str(stack, name, 0);
        if (at == SIZE_MAX) {
            cd_buf_add_str(out, stack);
            return;
        }
        /* "lib/index.js" is another file than "index.js". */
        bool whole = at == 0 || strchr(" (\n", stack.ptr[at - 1]) != NULL;
        struct cd_str rest = cd_str_sub(stack, at + name.len, SIZE_MAX);
        struct js_source_place place;
        unsigned line, column;
        cd_buf_add(out, stack.ptr, at);
        if (whole && colon_number(&rest, &line) && colon_number(&rest, &column) &&
            js_source_map_find(m, line, column, &place)) {
            cd_buf_addf(out, "%.*s:%u:%u", (int)place.source.len, place.source.ptr, place.line, place.column);
            stack = rest;
        } else {
            cd_buf_add_str(out, name);
            stack = cd_str_sub(stack, at + name.len, SIZE_MAX);
        }
    }
}
