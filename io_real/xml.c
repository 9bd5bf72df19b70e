/* io_real/xml.c: a scanner over the whole document; what it accepts is a subset of XML 1.0. */
#include "io_real/xml.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == ':' || (unsigned char)c >= 0x80;
}

static void skip(struct xml *x, size_t count)
{
    x->rest = cd_str_sub(x->rest, count, SIZE_MAX);
}

void xml_init(struct xml *x, struct cd_str document)
{
    *x = (struct xml){.rest = document};
    if (cd_str_starts(x->rest, CD_STR("\xef\xbb\xbf"))) /* A byte order mark. */
        skip(x, 3);
}

void xml_deinit(struct xml *x)
{
    cd_buf_deinit(&x->text);
}

static void add_code_point(struct cd_buf *out, uint32_t c)
{
    if (c < 0x80) {
        cd_buf_add_byte(out, (char)c);
    } else if (c < 0x800) {
        cd_buf_add_byte(out, (char)(0xc0 | c >> 6));
        cd_buf_add_byte(out, (char)(0x80 | (c & 63)));
    } else if (c < 0x10000) {
        cd_buf_add_byte(out, (char)(0xe0 | c >> 12));
        cd_buf_add_byte(out, (char)(0x80 | (c >> 6 & 63)));
        cd_buf_add_byte(out, (char)(0x80 | (c & 63)));
    } else {
        cd_buf_add_byte(out, (char)(0xf0 | c >> 18));
        cd_buf_add_byte(out, (char)(0x80 | (c >> 12 & 63)));
        cd_buf_add_byte(out, (char)(0x80 | (c >> 6 & 63)));
        cd_buf_add_byte(out, (char)(0x80 | (c & 63)));
    }
}

static int add_entity(struct cd_buf *out, struct cd_str name)
{
    static const struct {
        const char *name;
        char byte;
    } known[] = {{"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
    for (size_t i = 0; i < CD_COUNT(known); i++) {
        if (cd_str_eq(name, cd_str(known[i].name))) {
            cd_buf_add_byte(out, known[i].byte);
            return 0;
        }
    }
    if (name.len < 2 || name.len > 8 || name.ptr[0] != '#')
        return CD_ESYNTAX;
    uint64_t c;
    int rc = name.ptr[1] == 'x' ? cd_str_hex_u64(cd_str_sub(name, 2, SIZE_MAX), &c)
                                : cd_str_u64(cd_str_sub(name, 1, SIZE_MAX), &c);
    if (rc != 0 || c == 0 || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return CD_ESYNTAX;
    add_code_point(out, (uint32_t)c);
    return 0;
}

/* Text up to the next '<'. Outside of the root only white space is allowed. */
static int take_text(struct xml *x)
{
    size_t end = cd_str_find(x->rest, '<', 0);
    struct cd_str text = cd_str_sub(x->rest, 0, end);
    skip(x, text.len);
    for (size_t i = 0; i < text.len; i++) {
        if (x->depth == 0 && !is_space(text.ptr[i]))
            return CD_ESYNTAX;
        if (text.ptr[i] != '&') {
            cd_buf_add_byte(&x->text, text.ptr[i]);
            continue;
        }
        size_t semicolon = cd_str_find(text, ';', i);
        if (semicolon == SIZE_MAX || add_entity(&x->text, cd_str_sub(text, i + 1, semicolon - i - 1)) != 0)
            return CD_ESYNTAX;
        i = semicolon;
    }
    return 0;
}

/* Skips a construct that ends with the given mark; its inside goes to text when wanted. */
static int take_until(struct xml *x, size_t start, struct cd_str mark, bool keep)
{
    size_t end = cd_str_find_str(x->rest, mark, start);
    if (end == SIZE_MAX || (keep && x->depth == 0))
        return CD_ESYNTAX;
    if (keep)
        cd_buf_add_str(&x->text, cd_str_sub(x->rest, start, end - start));
    skip(x, end + mark.len);
    return 0;
}

static struct cd_str take_name(struct xml *x)
{
    size_t len = 0;
    while (len < x->rest.len && is_name_byte(x->rest.ptr[len]))
        len++;
    struct cd_str name = cd_str_sub(x->rest, 0, len);
    skip(x, len);
    return name;
}

/* From behind the name to behind the '>'. */
static int skip_attributes(struct xml *x, bool *empty)
{
    char quote = 0;
    for (size_t i = 0; i < x->rest.len; i++) {
        char c = x->rest.ptr[i];
        if (c == '<') {
            return CD_ESYNTAX;
        } else if (quote != 0) {
            quote = c == quote ? (char)0 : quote;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '>') {
            *empty = i > 0 && x->rest.ptr[i - 1] == '/';
            skip(x, i + 1);
            return 0;
        }
    }
    return CD_ESYNTAX;
}

static struct cd_str without_prefix(struct cd_str name)
{
    size_t colon = cd_str_find(name, ':', 0);
    return colon == SIZE_MAX ? name : cd_str_sub(name, colon + 1, SIZE_MAX);
}

static int take_open(struct xml *x, struct cd_str *name)
{
    skip(x, 1);
    struct cd_str written = take_name(x);
    bool empty = false;
    if (written.len == 0 || x->depth == XML_DEPTH_MAX || (x->depth == 0 && x->rooted))
        return CD_ESYNTAX;
    if (skip_attributes(x, &empty) != 0)
        return CD_ESYNTAX;
    x->rooted = true;
    x->closing = empty;
    x->open[x->depth++] = written;
    cd_buf_clear(&x->text);
    *name = without_prefix(written);
    return 0;
}

static int take_close(struct xml *x, struct cd_str *name)
{
    skip(x, 2);
    struct cd_str written = take_name(x);
    while (x->rest.len > 0 && is_space(x->rest.ptr[0]))
        skip(x, 1);
    if (x->depth == 0 || !cd_str_eq(written, x->open[x->depth - 1]) || !cd_str_starts(x->rest, CD_STR(">")))
        return CD_ESYNTAX;
    skip(x, 1);
    x->depth--;
    *name = without_prefix(written);
    return 0;
}

int xml_next(struct xml *x, enum xml_kind *kind, struct cd_str *name)
{
    *name = CD_STR("");
    if (x->closing) {
        x->closing = false;
        *kind = XML_CLOSE;
        *name = without_prefix(x->open[--x->depth]);
        return 0;
    }
    for (;;) {
        int rc = take_text(x);
        if (rc != 0)
            return rc;
        if (x->rest.len == 0) {
            *kind = XML_END;
            return x->rooted && x->depth == 0 ? 0 : CD_ESYNTAX;
        }
        if (cd_str_starts(x->rest, CD_STR("<?"))) {
            rc = take_until(x, 2, CD_STR("?>"), false);
        } else if (cd_str_starts(x->rest, CD_STR("<!--"))) {
            rc = take_until(x, 4, CD_STR("-->"), false);
        } else if (cd_str_starts(x->rest, CD_STR("<![CDATA["))) {
            rc = take_until(x, 9, CD_STR("]]>"), true);
        } else if (cd_str_starts(x->rest, CD_STR("</"))) {
            *kind = XML_CLOSE;
            return take_close(x, name);
        } else {
            *kind = XML_OPEN;
            return take_open(x, name); /* "<!DOCTYPE" has no name here: malformed. */
        }
        if (rc != 0)
            return rc;
    }
}
