/* io_real/s3_request.c: addressing, the canonical query and the signed headers. */
#include "io_real/s3_request.h"

#include <openssl/crypto.h>

#include "base/encode.h"
#include "base/timetext.h"
#include "io_real/sigv4.h"

/* Behind every key that starts with a given text: the largest code point is no part of any name. */
#define S3_PAST_ALL "\xf4\x8f\xbf\xbf"

static bool is_label(struct cd_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'))
            return false;
    }
    return s.len > 0 && s.len < 64;
}

static char *dup_text(struct cd_buf *b)
{
    char *text = cd_str_dup(cd_buf_str(b));
    cd_buf_deinit(b);
    return text;
}

/* scheme://host[:port][/path], from the endpoint. The default port goes: a Host header does not carry it. */
static int set_endpoint(struct s3_config *c, const struct s3_options *o, struct cd_buf *why)
{
    struct cd_str rest = cd_str_trim(o->endpoint);
    bool tls = cd_str_eq_nocase(cd_str_sub(rest, 0, 8), CD_STR("https://"));
    if (!tls && !cd_str_eq_nocase(cd_str_sub(rest, 0, 7), CD_STR("http://"))) {
        cd_buf_addf(why, "S3 endpoint must start with http:// or https://");
        return CD_EINVAL;
    }
    rest = cd_str_sub(rest, tls ? 8 : 7, SIZE_MAX);
    size_t slash = cd_str_find(rest, '/', 0);
    struct cd_str host = cd_str_sub(rest, 0, slash), path = cd_str_sub(rest, host.len, SIZE_MAX);
    while (path.len > 0 && path.ptr[path.len - 1] == '/')
        path.len--;
    /* None of this is shown: an endpoint may carry a password by mistake. */
    bool odd = host.len == 0;
    for (size_t i = 0; i < rest.len; i++)
        odd |= (unsigned char)rest.ptr[i] <= ' ' || strchr("@?#\\\"", rest.ptr[i]) != NULL;
    if (odd) {
        cd_buf_addf(why, "S3 endpoint wants http(s)://HOST[:PORT][/PATH], without user, query or fragment");
        return CD_EINVAL;
    }
    struct cd_str port = tls ? CD_STR(":443") : CD_STR(":80");
    if (cd_str_ends(host, port))
        host.len -= port.len;
    struct cd_buf b = {0};
    cd_buf_addf(&b, "%s%.*s", tls ? "https://" : "http://", (int)host.len, host.ptr);
    c->origin = dup_text(&b);
    c->host = cd_str_dup(host);
    cd_buf_addf(&b, "%.*s/", (int)path.len, path.ptr);
    cd_percent_encode(&b, o->bucket, NULL);
    c->base = dup_text(&b);
    return 0;
}

/* Amazon's endpoint of the region. A bucket name with dots does not fit the certificate's wildcard:
 * path-style. */
static int set_amazon(struct s3_config *c, const struct s3_options *o, struct cd_buf *why)
{
    struct cd_str region = cd_str(c->region);
    if (!is_label(region)) {
        cd_buf_addf(why, "S3 region \"%s\" accepts only a-z, 0-9 and -; set --endpoint for another store",
                    c->region);
        return CD_EINVAL;
    }
    const char *domain = cd_str_starts(region, CD_STR("cn-")) ? "amazonaws.com.cn" : "amazonaws.com";
    bool virtual_host = is_label(o->bucket);
    struct cd_buf b = {0};
    if (virtual_host)
        cd_buf_addf(&b, "%.*s.", (int)o->bucket.len, o->bucket.ptr);
    cd_buf_addf(&b, "s3.%s.%s", c->region, domain);
    c->host = dup_text(&b);
    cd_buf_addf(&b, "https://%s", c->host);
    c->origin = dup_text(&b);
    if (!virtual_host) {
        cd_buf_addf(&b, "/");
        cd_percent_encode(&b, o->bucket, NULL);
    }
    c->base = dup_text(&b);
    return 0;
}

static bool is_plain_text(struct cd_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if ((unsigned char)s.ptr[i] <= ' ' || (unsigned char)s.ptr[i] >= 0x7f)
            return false;
    }
    return true;
}

int s3_config_init(struct s3_config *c, const struct s3_options *o, struct cd_buf *why)
{
    struct cd_str region = cd_str_trim(o->region);
    *c = (struct s3_config){.etag_mode = o->etag_mode};
    if ((o->access_key.len == 0) != (o->secret_key.len == 0)) {
        cd_buf_addf(why, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set together");
        return CD_EINVAL;
    }
    if (o->access_key.len == 0) {
        cd_buf_addf(
            why,
            "no S3 credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN); "
            "web identity, container and instance credentials are not supported yet");
        return CD_EINVAL;
    }
    if (!is_plain_text(region)) {
        cd_buf_addf(why, "S3 region holds a space, a control or a non-ASCII character");
        return CD_EINVAL;
    }
    if (!is_plain_text(o->access_key) || !is_plain_text(o->secret_key) || !is_plain_text(o->session_token)) {
        cd_buf_addf(why, "S3 credentials hold a space, a control or a non-ASCII character");
        return CD_EINVAL;
    }
    c->region = region.len == 0 ? cd_str_dup(CD_STR("us-east-1")) : cd_str_dup(region);
    c->access_key = cd_str_dup(o->access_key);
    c->secret_key = cd_str_dup(o->secret_key);
    c->session_token = cd_str_dup(o->session_token);
    int rc = cd_str_trim(o->endpoint).len == 0 ? set_amazon(c, o, why) : set_endpoint(c, o, why);
    if (rc != 0)
        s3_config_deinit(c);
    return rc;
}

static void free_secret(char *text)
{
    if (text != NULL)
        OPENSSL_cleanse(text, strlen(text));
    cd_free(text);
}

void s3_config_deinit(struct s3_config *c)
{
    cd_free(c->origin);
    cd_free(c->host);
    cd_free(c->base);
    cd_free(c->region);
    cd_free(c->access_key);
    free_secret(c->secret_key);
    free_secret(c->session_token);
    *c = (struct s3_config){0};
}

static void add_param(struct cd_buf *query, const char *name, struct cd_str value)
{
    cd_buf_addf(query, "%s%s=", query->len == 0 ? "" : "&", name);
    cd_percent_encode(query, value, NULL);
}

/* "The next page starts after the last entry", and that entry may be a common prefix: its whole group is to
 * be passed then. Stores differ in whether start-after does that by itself, so the name given is behind the
 * group. */
static void add_start_after(struct cd_buf *query, const struct s3_ask *ask)
{
    struct cd_buf name = {0};
    struct cd_str after = ask->after;
    if (ask->delimiter != 0 && cd_str_starts(after, ask->prefix)) {
        size_t at = cd_str_find(after, ask->delimiter, ask->prefix.len);
        cd_buf_add_str(&name, cd_str_sub(after, 0, at == SIZE_MAX ? SIZE_MAX : at + 1));
        if (at != SIZE_MAX)
            cd_buf_addf(&name, S3_PAST_ALL);
        after = cd_buf_str(&name);
    }
    add_param(query, "start-after", after);
    cd_buf_deinit(&name);
}

/* Names ascend, as the signature wants them. */
static void add_list_query(struct cd_buf *query, const struct s3_ask *ask)
{
    if (ask->continuation.len != 0)
        add_param(query, "continuation-token", ask->continuation);
    if (ask->delimiter != 0)
        add_param(query, "delimiter", cd_str_of(&ask->delimiter, 1));
    cd_buf_addf(query, "%sencoding-type=url&list-type=2&max-keys=%u", query->len == 0 ? "" : "&", ask->max);
    add_param(query, "prefix", ask->prefix);
    if (ask->continuation.len == 0 && ask->after.len != 0)
        add_start_after(query, ask);
}

static void add_token(struct cd_buf *out, struct cd_str token, enum s3_etag_mode mode)
{
    bool quoted = token.len >= 2 && token.ptr[0] == '"' && token.ptr[token.len - 1] == '"';
    if (mode == S3_ETAG_UNQUOTED && quoted)
        token = cd_str_sub(token, 1, token.len - 2);
    bool add = mode == S3_ETAG_QUOTED && !quoted;
    cd_buf_addf(out, "%s%.*s%s", add ? "\"" : "", (int)token.len, token.ptr, add ? "\"" : "");
}

static void add_range(struct cd_buf *out, uint64_t from, uint64_t len)
{
    CD_ASSERT(len > 0);
    cd_buf_addf(out, "bytes=%llu-", (unsigned long long)from);
    if (len != IO_WHOLE && len <= UINT64_MAX - from)
        cd_buf_addf(out, "%llu", (unsigned long long)(from + (len - 1)));
}

static const char *method_of(enum s3_kind kind)
{
    switch (kind) {
    case S3_GET:
    case S3_LIST: return "GET";
    case S3_HEAD: return "HEAD";
    case S3_PUT: return "PUT";
    case S3_DELETE: return "DELETE";
    }
    CD_UNREACHABLE();
}

#define S3_HEADERS_MAX 8u
struct headers {
    struct sigv4_header at[S3_HEADERS_MAX];
    size_t count;
};

static void add_header(struct headers *h, const char *name, struct cd_str value)
{
    CD_ASSERT(h->count < S3_HEADERS_MAX);
    h->at[h->count++] = (struct sigv4_header){name, value};
}

/* In ascending order of names. value holds what has to be made. */
static void collect_headers(struct headers *h, const struct s3_config *c, const struct s3_ask *ask,
                            struct cd_str sha256, struct cd_str date, struct cd_buf *value)
{
    add_header(h, "host", cd_str(c->host));
    if (ask->kind == S3_PUT && ask->how == IO_PUT_IF_MATCH) {
        add_token(value, ask->token, c->etag_mode);
        add_header(h, "if-match", cd_buf_str(value));
    }
    if (ask->kind == S3_PUT && ask->how == IO_PUT_IF_ABSENT)
        add_header(h, "if-none-match", CD_STR("*"));
    if (ask->kind == S3_GET && (ask->from != 0 || ask->len != IO_WHOLE)) {
        add_range(value, ask->from, ask->len);
        add_header(h, "range", cd_buf_str(value));
    }
    add_header(h, "x-amz-content-sha256", sha256);
    add_header(h, "x-amz-date", date);
    if (c->session_token[0] != 0)
        add_header(h, "x-amz-security-token", cd_str(c->session_token));
}

void s3_request_build(struct s3_request *r, const struct s3_config *c, const struct s3_ask *ask)
{
    struct cd_buf path = {0}, query = {0}, date = {0}, value = {0};
    struct headers h = {0};
    *r = (struct s3_request){.method = method_of(ask->kind)};
    cd_buf_addf(&path, "%s/", c->base);
    if (ask->kind == S3_LIST)
        add_list_query(&query, ask);
    else
        cd_percent_encode(&path, ask->key, "/");
    struct cd_str sha256 = ask->kind == S3_PUT ? ask->body_sha256 : CD_STR(SIGV4_EMPTY_SHA256);
    cd_time_compact(&date, ask->wall_ms);
    collect_headers(&h, c, ask, sha256, cd_buf_str(&date), &value);

    cd_buf_addf(&r->url, "%s%.*s", c->origin, (int)path.len, path.ptr);
    if (query.len != 0)
        cd_buf_addf(&r->url, "?%.*s", (int)query.len, query.ptr);
    for (size_t i = 0; i < h.count; i++)
        cd_buf_addf(&r->head, "%s: %.*s\r\n", h.at[i].name, (int)h.at[i].value.len, h.at[i].value.ptr);
    cd_buf_addf(&r->head, "user-agent: %s/%s\r\nauthorization: ", ask->agent, CELLD_VERSION);
    struct sigv4_keys keys = {cd_str(c->access_key), cd_str(c->secret_key)};
    sigv4_authorization(&r->head, &keys,
                        &(struct sigv4_ask){r->method, cd_buf_str(&path), cd_buf_str(&query), h.at, h.count,
                                            sha256, cd_str(c->region), ask->wall_ms});
    cd_buf_addf(&r->head, "\r\n");
    cd_buf_deinit(&path);
    cd_buf_deinit(&query);
    cd_buf_deinit(&date);
    cd_buf_deinit(&value);
}

void s3_request_deinit(struct s3_request *r)
{
    cd_buf_deinit(&r->url);
    cd_buf_deinit(&r->head);
}
