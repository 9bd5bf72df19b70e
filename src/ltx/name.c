#include "ltx/name.h"

bool ltx_scope_valid(struct cd_str scope)
{
    if (scope.len == 0 || scope.len > LTX_SCOPE_MAX || cd_str_eq(scope, CD_STR(".")) ||
        cd_str_eq(scope, CD_STR("..")))
        return false;
    for (size_t i = 0; i < scope.len; i++) {
        char c = scope.ptr[i];
        bool ok = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
                  c == '.' || c == ':' || c == '$' || c == '-';
        if (!ok)
            return false;
    }
    return true;
}

static void add_hex(struct cd_buf *out, uint64_t v, unsigned digits)
{
    for (unsigned i = digits; i-- > 0;)
        cd_buf_add_byte(out, "0123456789abcdef"[v >> (4 * i) & 15]);
}

void ltx_key_cell(struct cd_buf *out, struct cd_str scope)
{
    cd_buf_add_str(out, CD_STR("cells/"));
    cd_buf_add_str(out, scope);
    cd_buf_add_str(out, CD_STR("/ltx/"));
}

void ltx_key_epoch(struct cd_buf *out, struct cd_str scope, uint64_t epoch)
{
    ltx_key_cell(out, scope);
    cd_buf_add_byte(out, 'e');
    add_hex(out, epoch, 16);
    cd_buf_add_byte(out, '/');
}

void ltx_key(struct cd_buf *out, const struct ltx_name *name)
{
    ltx_key_epoch(out, name->scope, name->epoch);
    add_hex(out, name->level, 4);
    cd_buf_add_byte(out, '/');
    add_hex(out, name->min_txid, 16);
    cd_buf_add_byte(out, '-');
    add_hex(out, name->max_txid, 16);
    cd_buf_add_str(out, CD_STR(".ltx"));
}

/* Takes text off the front of rest. */
static bool take(struct cd_str *rest, struct cd_str text)
{
    if (!cd_str_starts(*rest, text))
        return false;
    *rest = cd_str_sub(*rest, text.len, SIZE_MAX);
    return true;
}

static bool take_hex(struct cd_str *rest, unsigned digits, uint64_t *out)
{
    uint64_t v = 0;
    if (rest->len < digits)
        return false;
    for (unsigned i = 0; i < digits; i++) {
        char c = rest->ptr[i];
        bool letter = c >= 'a' && c <= 'f';
        if (!letter && !(c >= '0' && c <= '9'))
            return false;
        v = v << 4 | (uint64_t)(letter ? c - 'a' + 10 : c - '0');
    }
    *rest = cd_str_sub(*rest, digits, SIZE_MAX);
    *out = v;
    return true;
}

static bool take_cell(struct cd_str *rest, struct cd_str *scope)
{
    if (!take(rest, CD_STR("cells/")))
        return false;
    size_t slash = cd_str_find(*rest, '/', 0);
    if (slash == SIZE_MAX)
        return false;
    *scope = cd_str_sub(*rest, 0, slash);
    *rest = cd_str_sub(*rest, slash, SIZE_MAX);
    return ltx_scope_valid(*scope) && take(rest, CD_STR("/ltx/"));
}

int ltx_key_parse(struct cd_str key, struct ltx_name *out)
{
    struct ltx_name n = {0};
    uint64_t level = 0;
    bool ok = take_cell(&key, &n.scope) && take(&key, CD_STR("e")) && take_hex(&key, 16, &n.epoch) &&
              take(&key, CD_STR("/")) && take_hex(&key, 4, &level) && take(&key, CD_STR("/")) &&
              take_hex(&key, 16, &n.min_txid) && take(&key, CD_STR("-")) && take_hex(&key, 16, &n.max_txid) &&
              take(&key, CD_STR(".ltx")) && key.len == 0;
    if (!ok || n.epoch == 0 || n.min_txid == 0 || n.max_txid < n.min_txid ||
        (level != LTX_L0 && level != LTX_L1 && level != LTX_L9))
        return CD_ESYNTAX;
    n.level = (unsigned)level;
    *out = n;
    return 0;
}

int ltx_key_parse_epoch(struct cd_str prefix, struct cd_str scope, uint64_t *epoch)
{
    struct cd_str found;
    uint64_t e = 0;
    bool ok = take_cell(&prefix, &found) && cd_str_eq(found, scope) && take(&prefix, CD_STR("e")) &&
              take_hex(&prefix, 16, &e) && take(&prefix, CD_STR("/")) && prefix.len == 0 && e != 0;
    if (!ok)
        return CD_ESYNTAX;
    *epoch = e;
    return 0;
}
