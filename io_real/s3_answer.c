/* io_real/s3_answer.c: outcome classes, and what the head of an answer says. */
#include "io_real/s3_answer.h"

#include <stdio.h>

#include "base/timetext.h"
#include "io_real/xml.h"

#define S3_CODE_MAX 64u
#define S3_MESSAGE_MAX 100u

/* The body of an error: <Error><Code>..</Code><Message>..</Message>...</Error>. */
struct provider_error {
    bool well_formed;
    char code[S3_CODE_MAX];
    char message[S3_MESSAGE_MAX];
};

struct cd_str s3_header(struct cd_str head, const char *name)
{
    struct cd_str rest = head, line;
    while (cd_str_next(&rest, '\n', &line)) {
        size_t colon = cd_str_find(line, ':', 0);
        if (colon != SIZE_MAX && cd_str_eq_nocase(cd_str_sub(line, 0, colon), cd_str(name)))
            return cd_str_trim(cd_str_sub(line, colon + 1, SIZE_MAX));
    }
    return (struct cd_str){NULL, 0};
}

int64_t s3_date_ms(struct cd_str head)
{
    int64_t ms;
    return cd_time_parse_http(s3_header(head, "date"), &ms) == 0 ? ms : 0;
}

/* Printable ASCII only: what a server says ends in logs and on terminals. */
static void keep_text(char *to, size_t cap, struct cd_str s)
{
    size_t len = 0;
    for (; len < s.len && len + 1 < cap; len++)
        to[len] = s.ptr[len] >= ' ' && s.ptr[len] <= '~' ? s.ptr[len] : '?';
    to[len] = 0;
}

static void read_error(struct provider_error *e, struct cd_str body)
{
    struct xml x;
    enum xml_kind kind = XML_OPEN;
    struct cd_str name;
    bool is_error = false;
    *e = (struct provider_error){0};
    xml_init(&x, body);
    int rc;
    while ((rc = xml_next(&x, &kind, &name)) == 0 && kind != XML_END) {
        if (kind == XML_OPEN && x.depth == 1)
            is_error = cd_str_eq(name, CD_STR("Error"));
        if (kind == XML_CLOSE && x.depth == 1 && cd_str_eq(name, CD_STR("Code")))
            keep_text(e->code, sizeof(e->code), cd_buf_str(&x.text));
        if (kind == XML_CLOSE && x.depth == 1 && cd_str_eq(name, CD_STR("Message")))
            keep_text(e->message, sizeof(e->message), cd_buf_str(&x.text));
    }
    e->well_formed = rc == 0 && is_error && e->code[0] != 0;
    if (!e->well_formed)
        e->code[0] = e->message[0] = 0;
    xml_deinit(&x);
}

static bool is_one_of(const char *code, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(code, list[i]) == 0)
            return true;
    }
    return false;
}
#define IS_ONE_OF(code, list) is_one_of((code), (list), CD_COUNT(list))

/* 409: another conditional request was in the way; this one was not written. */
static const char *const conflict_codes[] = {"ConditionalRequestConflict", "ConcurrentModification",
                                             "OperationAborted", "BlobAlreadyExists", "AlreadyExists"};
/* 503 that a gate says before it does anything. "ServiceUnavailable" and "InternalError" are not among them:
 * they may come from the middle of a write. */
static const char *const throttle_codes[] = {
    "SlowDown",        "SlowDownRead",           "SlowDownWrite",
    "Throttling",      "ThrottlingException",    "RequestLimitExceeded",
    "TooManyRequests", "BandwidthLimitExceeded", "RequestThrottled"};

static int status_of_400(const char *code)
{
    static const char *const denied[] = {"ExpiredToken", "InvalidToken", "TokenRefreshRequired"};
    if (strcmp(code, "RequestTimeout") == 0) /* The store waited for our body in vain. */
        return IO_TIMEDOUT;
    return IS_ONE_OF(code, denied) ? (int)IO_DENIED : (int)CD_EINVAL;
}

struct ruling {
    int status;
    enum io_outcome outcome; /* For a write; a read that fails is always REJECTED. */
};

static struct ruling rule_404(const struct s3_answer *a, const struct provider_error *e)
{
    bool no_key = strcmp(e->code, "NoSuchKey") == 0;
    if (a->kind == S3_HEAD) /* A HEAD has no body to say more. */
        return (struct ruling){IO_NOENT, IO_REJECTED};
    if (strcmp(e->code, "NoSuchBucket") == 0)
        return (struct ruling){IO_FAULT, IO_REJECTED}; /* Never to be taken for an absent object. */
    if (!no_key)
        return (struct ruling){IO_PROTOCOL, IO_UNKNOWN}; /* Somebody else's 404. */
    if (a->kind == S3_DELETE)
        return (struct ruling){IO_OK, IO_DONE};
    if (a->kind == S3_PUT && a->how == IO_PUT_IF_MATCH)
        return (struct ruling){IO_CONFLICT, IO_REJECTED};
    return a->kind == S3_GET ? (struct ruling){IO_NOENT, IO_REJECTED}
                             : (struct ruling){IO_PROTOCOL, IO_UNKNOWN};
}

static struct ruling rule_4xx(const struct s3_answer *a, const struct provider_error *e)
{
    bool conditional = a->kind == S3_PUT && a->how != IO_PUT_ANY;
    switch (a->http) {
    case 400: return (struct ruling){status_of_400(e->code), IO_REJECTED};
    case 401:
    case 403: return (struct ruling){IO_DENIED, IO_REJECTED};
    case 404: return rule_404(a, e);
    case 405: return (struct ruling){CD_EUNSUPPORTED, IO_REJECTED};
    case 408: return (struct ruling){IO_TIMEDOUT, IO_UNKNOWN};
    case 409:
        if (!IS_ONE_OF(e->code, conflict_codes))
            return (struct ruling){IO_PROTOCOL, IO_UNKNOWN};
        return (struct ruling){conditional ? IO_CONFLICT : IO_BUSY, IO_REJECTED};
    case 411: return (struct ruling){CD_EINVAL, IO_REJECTED};
    case 412: return (struct ruling){conditional ? (int)IO_CONFLICT : (int)CD_EINVAL, IO_REJECTED};
    case 413: return (struct ruling){IO_TOOBIG, IO_REJECTED};
    case 416:
        if (a->kind == S3_GET)
            return (struct ruling){IO_EOF, IO_REJECTED};
        break;
    case 429: return (struct ruling){IO_THROTTLED, e->well_formed ? IO_REJECTED : IO_UNKNOWN};
    }
    return (struct ruling){IO_PROTOCOL, IO_UNKNOWN};
}

static struct ruling rule_answer(const struct s3_answer *a, const struct provider_error *e)
{
    bool empty_ok = a->kind == S3_DELETE || a->kind == S3_PUT;
    if (a->http == 200 || (a->http == 206 && a->kind == S3_GET) ||
        (empty_ok && (a->http == 201 || a->http == 204)))
        return (struct ruling){IO_OK, IO_DONE};
    if (a->http >= 400 && a->http < 500)
        return rule_4xx(a, e);
    if (a->http >= 300 && a->http < 400 &&
        e->well_formed) /* Another region or endpoint: it was not served here. */
        return (struct ruling){CD_EINVAL, IO_REJECTED};
    if (a->http == 501)
        return (struct ruling){CD_EUNSUPPORTED, IO_UNKNOWN};
    if (a->http == 503)
        return (struct ruling){IO_THROTTLED, IS_ONE_OF(e->code, throttle_codes) ? IO_REJECTED : IO_UNKNOWN};
    if (a->http >= 500 && a->http < 600)
        return (struct ruling){IO_FAULT, IO_UNKNOWN};
    return (struct ruling){IO_PROTOCOL, IO_UNKNOWN};
}

/* No complete answer: only what was never wholly sent is certain. A head that came makes no difference: a
 * refusal whose body is cut has not been read. */
static struct ruling rule_transport(const struct s3_answer *a)
{
    bool certain = !a->sent || (!a->sent_all && a->http == 0);
    return (struct ruling){a->transport, certain ? IO_REJECTED : IO_UNKNOWN};
}

static uint64_t retry_after(const struct s3_answer *a)
{
    struct cd_str text = s3_header(a->head, "retry-after");
    uint64_t seconds;
    int64_t at_ms;
    if (text.len == 0)
        return 0;
    if (cd_str_u64(text, &seconds) == 0)
        return IO_SEC(seconds < 86400 ? seconds : 86400);
    if (cd_time_parse_http(text, &at_ms) != 0 || at_ms <= a->wall_ms)
        return 0;
    uint64_t ms = (uint64_t)(at_ms - a->wall_ms);
    return IO_MS(ms < 86400000 ? ms : 86400000);
}

void s3_judge(const struct s3_answer *a, struct s3_verdict *v)
{
    struct provider_error e = {0};
    bool is_read = a->kind == S3_GET || a->kind == S3_HEAD || a->kind == S3_LIST;
    *v = (struct s3_verdict){0};
    if (a->transport == IO_OK && a->http >= 300)
        read_error(&e, a->body);
    struct ruling r = a->transport == IO_OK ? rule_answer(a, &e) : rule_transport(a);
    CD_ASSERT((r.status == IO_OK) == (r.outcome == IO_DONE));
    v->status = r.status;
    v->outcome = is_read && r.outcome == IO_UNKNOWN ? IO_REJECTED : r.outcome;
    if (r.status == IO_OK)
        return;
    if (a->transport != IO_OK)
        snprintf(v->why, sizeof(v->why), "%.180s", a->transport_why);
    else if (e.well_formed)
        snprintf(v->why, sizeof(v->why), "HTTP %u %s: %s", a->http, e.code, e.message);
    else
        snprintf(v->why, sizeof(v->why), "HTTP %u without a readable error", a->http);
    if (r.status == IO_THROTTLED)
        v->retry_after_ns = retry_after(a);
}

static int read_size(struct io_store *s, const struct s3_answer *a)
{
    struct cd_str length = s3_header(a->head, "content-length");
    if (a->kind == S3_HEAD && cd_str_u64(length, &s->size) != 0) {
        snprintf(s->why, sizeof(s->why), "the answer has no Content-Length");
        return IO_PROTOCOL;
    }
    return 0;
}

/* A token is kept as text and goes back to the store in a header. */
static const char *bad_etag(struct cd_str etag)
{
    if (etag.len == 0)
        return "no ETag";
    if (etag.len >= IO_TOKEN_MAX)
        return "an ETag that is too long";
    for (size_t i = 0; i < etag.len; i++) {
        if (etag.ptr[i] <= ' ' || etag.ptr[i] > '~')
            return "an ETag that is not plain text";
    }
    return NULL;
}

int s3_read_head(struct io_store *s, const struct s3_answer *a)
{
    struct cd_str etag = s3_header(a->head, "etag"), modified = s3_header(a->head, "last-modified");
    const char *bad = bad_etag(etag);
    if (bad != NULL) {
        snprintf(s->why, sizeof(s->why), "the answer has %s", bad);
        return IO_PROTOCOL;
    }
    if (a->kind != S3_PUT) {
        if (cd_time_parse_http(modified, &s->modified_ms) != 0)
            s->modified_ms = 0; /* For people only: not worth a failure. */
        int rc = read_size(s, a);
        if (rc != 0)
            return rc;
    }
    memcpy(s->token, etag.ptr, etag.len);
    s->token[etag.len] = 0;
    return 0;
}

/* "bytes 2-5/26" */
static int parse_content_range(struct cd_str text, uint64_t *first, uint64_t *last, uint64_t *total)
{
    if (!cd_str_starts(text, CD_STR("bytes ")))
        return CD_ESYNTAX;
    text = cd_str_sub(text, 6, SIZE_MAX);
    size_t dash = cd_str_find(text, '-', 0), slash = cd_str_find(text, '/', 0);
    if (dash == SIZE_MAX || slash == SIZE_MAX || slash < dash)
        return CD_ESYNTAX;
    if (cd_str_u64(cd_str_sub(text, 0, dash), first) != 0 ||
        cd_str_u64(cd_str_sub(text, dash + 1, slash - dash - 1), last) != 0 ||
        cd_str_u64(cd_str_sub(text, slash + 1, SIZE_MAX), total) != 0)
        return CD_ESYNTAX;
    return *first <= *last && *last < *total ? 0 : CD_ESYNTAX;
}

int s3_check_range(struct io_store *s, const struct s3_answer *a, uint64_t from, uint64_t len)
{
    struct cd_str range = s3_header(a->head, "content-range");
    if (from == 0 && len == IO_WHOLE) {
        s->size = a->body.len;
        if (a->http == 200)
            return 0;
        snprintf(s->why, sizeof(s->why), "HTTP %u for a whole object, want 200", a->http);
        return IO_PROTOCOL;
    }
    uint64_t first, last, total;
    if (a->http != 206 || parse_content_range(range, &first, &last, &total) != 0) {
        char shown[60];
        keep_text(shown, sizeof(shown), range);
        snprintf(s->why, sizeof(s->why), "HTTP %u and Content-Range \"%s\" for a range", a->http, shown);
        return IO_PROTOCOL;
    }
    uint64_t want_last = len > total - first || first + (len - 1) >= total ? total - 1 : first + (len - 1);
    if (first != from || last != want_last || a->body.len != last - first + 1) {
        snprintf(s->why, sizeof(s->why), "bytes %llu-%llu of %llu with %zu in the body, asked from %llu",
                 (unsigned long long)first, (unsigned long long)last, (unsigned long long)total, a->body.len,
                 (unsigned long long)from);
        return IO_PROTOCOL;
    }
    s->size = total;
    return 0;
}
