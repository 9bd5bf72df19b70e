#include "store/bucket_url.h"

static const char *const names[] = {
    [STORE_S3] = "s3", [STORE_GS] = "gs", [STORE_AZ] = "az", [STORE_FILE] = "file"};

const char *store_scheme_name(enum store_scheme scheme)
{
    CD_ASSERT((size_t)scheme < CD_COUNT(names));
    return names[scheme];
}

static bool is_name_char(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

static bool all_name_chars(struct cd_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (!is_name_char(s.ptr[i]))
            return false;
    }
    return true;
}

static bool is_dots(struct cd_str s)
{
    return cd_str_eq(s, CD_STR(".")) || cd_str_eq(s, CD_STR(".."));
}

/* Copies s with a NUL behind it. The caller has checked that it fits. */
static void keep(char *to, size_t cap, struct cd_str s)
{
    CD_ASSERT(s.len < cap);
    if (s.len != 0)
        memcpy(to, s.ptr, s.len);
    to[s.len] = 0;
}

static int split_scheme(struct cd_str *text, enum store_scheme *scheme, struct cd_buf *why)
{
    size_t at = cd_str_find_str(*text, CD_STR("://"), 0);
    *scheme = STORE_S3;
    if (at == SIZE_MAX)
        return 0;
    struct cd_str word = cd_str_sub(*text, 0, at);
    for (size_t i = 0; i < CD_COUNT(names); i++) {
        if (cd_str_eq_nocase(word, cd_str(names[i]))) {
            *scheme = (enum store_scheme)i;
            *text = cd_str_sub(*text, at + 3, SIZE_MAX);
            return 0;
        }
    }
    cd_buf_addf(why, "unknown bucket scheme \"%.*s\"; use s3://, gs://, az:// or file://", (int)word.len,
                word.ptr);
    return CD_EINVAL;
}

/* Splits at '/', drops empty segments and joins what is left with a slash behind each. */
static int parse_prefix(struct store_bucket_url *u, struct cd_str rest, struct cd_buf *why)
{
    struct cd_str piece;
    size_t used = 0;
    while (cd_str_next(&rest, '/', &piece)) {
        if (piece.len == 0)
            continue;
        if (!all_name_chars(piece)) {
            cd_buf_addf(why, "bucket prefix accepts only letters, digits and -_./");
            return CD_EINVAL;
        }
        if (is_dots(piece)) {
            cd_buf_addf(why, "bucket prefix has a \"%.*s\" segment", (int)piece.len, piece.ptr);
            return CD_EINVAL;
        }
        if (piece.len + 1 >= sizeof(u->prefix) - used) {
            cd_buf_addf(why, "bucket prefix is longer than %u bytes", STORE_BUCKET_PREFIX_MAX - 1);
            return CD_EINVAL;
        }
        memcpy(u->prefix + used, piece.ptr, piece.len);
        used += piece.len;
        u->prefix[used++] = '/';
    }
    u->prefix[used] = 0;
    return 0;
}

/* What stands before an @ may be a password, so nothing of it is repeated. */
static int refuse_user(struct cd_buf *why)
{
    cd_buf_addf(why,
                "bucket URL has a user or password; want them in the environment (AWS_ACCESS_KEY_ID, ...)");
    return CD_EINVAL;
}

static int parse_bucket(struct store_bucket_url *u, struct cd_str rest, struct cd_buf *why)
{
    size_t slash = cd_str_find(rest, '/', 0);
    struct cd_str name = cd_str_sub(rest, 0, slash);
    if (name.len == 0) {
        cd_buf_addf(why, "bucket URL has no bucket name; want s3://NAME, gs://NAME or az://CONTAINER");
        return CD_EINVAL;
    }
    if (!all_name_chars(name) || is_dots(name)) {
        cd_buf_addf(why, "bucket name \"%.*s\" accepts only letters, digits and -_.", (int)name.len,
                    name.ptr);
        return CD_EINVAL;
    }
    if (name.len >= sizeof(u->name)) {
        cd_buf_addf(why, "bucket name is longer than %u bytes", STORE_BUCKET_NAME_MAX - 1);
        return CD_EINVAL;
    }
    keep(u->name, sizeof(u->name), name);
    return slash == SIZE_MAX ? 0 : parse_prefix(u, cd_str_sub(rest, slash, SIZE_MAX), why);
}

static int parse_dir(struct store_bucket_url *u, struct cd_str dir, struct cd_buf *why)
{
    if (dir.len == 0 || dir.ptr[0] != '/') {
        cd_buf_addf(why,
                    "file bucket \"file://%.*s\" needs an absolute directory without a host: file:///DIR",
                    (int)dir.len, dir.ptr);
        return CD_EINVAL;
    }
    for (size_t i = 0; i < dir.len; i++) {
        if (dir.ptr[i] == '?' || dir.ptr[i] == '#' || (unsigned char)dir.ptr[i] < ' ') {
            cd_buf_addf(why,
                        "file bucket takes a plain directory, without query, fragment or control characters");
            return CD_EINVAL;
        }
    }
    struct cd_str rest = dir, piece;
    size_t used = 0;
    while (cd_str_next(&rest, '/', &piece)) {
        if (piece.len == 0)
            continue;
        if (is_dots(piece)) {
            cd_buf_addf(why, "file bucket has a \"%.*s\" segment", (int)piece.len, piece.ptr);
            return CD_EINVAL;
        }
        if (piece.len + 1 >= sizeof(u->dir) - used) {
            cd_buf_addf(why, "file bucket directory is longer than %u bytes", STORE_BUCKET_DIR_MAX - 1);
            return CD_EINVAL;
        }
        u->dir[used++] = '/';
        memcpy(u->dir + used, piece.ptr, piece.len);
        used += piece.len;
    }
    if (used == 0)
        u->dir[used++] = '/';
    u->dir[used] = 0;
    return 0;
}

int store_bucket_url_parse(struct store_bucket_url *out, struct cd_str text, struct cd_buf *why)
{
    struct store_bucket_url u = {0};
    text = cd_str_trim(text);
    /* A directory may have an @ in its name. */
    if (cd_str_find(text, '@', 0) != SIZE_MAX &&
        !cd_str_eq_nocase(cd_str_sub(text, 0, 8), CD_STR("file:///")))
        return refuse_user(why);
    if (text.len == 0) {
        cd_buf_addf(why, "bucket URL is empty; want s3://NAME, gs://NAME, az://CONTAINER or file:///DIR");
        return CD_EINVAL;
    }
    int rc = split_scheme(&text, &u.scheme, why);
    if (rc == 0)
        rc = u.scheme == STORE_FILE ? parse_dir(&u, text, why) : parse_bucket(&u, text, why);
    if (rc == 0)
        *out = u;
    return rc;
}

int store_bucket_url_check_endpoint(const struct store_bucket_url *u, struct cd_str endpoint,
                                    struct cd_buf *why)
{
    if (u->scheme == STORE_S3 || cd_str_trim(endpoint).len == 0)
        return 0;
    cd_buf_addf(why, "%s %s:// bucket takes no S3 endpoint; unset --endpoint / S3_ENDPOINT",
                u->scheme == STORE_AZ ? "an" : "a", store_scheme_name(u->scheme));
    return CD_EINVAL;
}

void store_bucket_url_text(struct cd_buf *out, const struct store_bucket_url *u)
{
    if (u->scheme == STORE_FILE) {
        cd_buf_addf(out, "file://%s", u->dir);
        return;
    }
    size_t len = strlen(u->prefix);
    cd_buf_addf(out, "%s://%s", store_scheme_name(u->scheme), u->name);
    if (len != 0)
        cd_buf_addf(out, "/%.*s", (int)len - 1, u->prefix);
}
