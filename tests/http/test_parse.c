/* Requests and responses in pieces: http/parse.h. */
#include "http/parse.h"

#include "corpus.h"
#include "support/test.h"

/* ---- The corpus, cut in every way ---- */

struct run {
    struct http_parser p;
    int status[CORPUS_STATUSES_MAX];
    unsigned statuses;
    bool ended; /* No further message is read. */
    struct cd_buf text; /* What was seen, for comparing runs. */
};

static void run_note_head(struct run *r)
{
    const struct http_head *h = &r->p.head;
    cd_buf_addf(&r->text, "%.*s %.*s 1.%d body %llx keep %d up %d expect %d path %.*s\n", (int)h->method.len,
                h->method.ptr, (int)h->target.len, h->target.ptr, h->minor, (unsigned long long)h->body_len,
                h->keep_alive, h->upgrade, h->expect_continue, (int)h->where.path.len, h->where.path.ptr);
    for (size_t i = 0; i < h->field_count; i++)
        cd_buf_addf(&r->text, " %.*s=[%.*s]\n", (int)h->field[i].name.len, h->field[i].name.ptr,
                    (int)h->field[i].value.len, h->field[i].value.ptr);
}

static void run_status(struct run *r, int status, bool ends)
{
    CHECK(r->statuses < CORPUS_STATUSES_MAX);
    r->status[r->statuses++] = status;
    r->ended = ends;
}

static void run_feed(struct run *r, struct cd_str piece)
{
    /* An exact heap copy, so that a read past the end is noticed. */
    char *copy = malloc(piece.len == 0 ? 1 : piece.len);
    memcpy(copy, piece.ptr, piece.len);
    struct cd_str in = cd_str_of(copy, piece.len), body;
    while (!r->ended) {
        enum http_parsed found = http_parse(&r->p, &in, &body);
        if (found == HTTP_PARSED_MORE) {
            CHECK_INT(in.len, 0);
            break;
        }
        if (found == HTTP_PARSED_HEAD) {
            run_note_head(r);
        } else if (found == HTTP_PARSED_BODY) {
            CHECK(body.len > 0 && body.ptr >= copy && body.ptr + body.len <= copy + piece.len);
            cd_buf_add_str(&r->text, body);
        } else if (found == HTTP_PARSED_END) {
            cd_buf_addf(&r->text, "<end>\n");
            run_status(r, 200, !r->p.head.keep_alive);
            http_parser_start(&r->p, HTTP_PARSE_REQUEST, &corpus_limits);
        } else {
            CHECK(r->p.bad_why != NULL && r->p.bad_why[0] != '\0');
            run_status(r, r->p.bad_status, true);
        }
    }
    free(copy);
}

static void run_clear(struct run *r)
{
    cd_buf_clear(&r->text);
    r->statuses = 0;
    r->ended = false;
    http_parser_start(&r->p, HTTP_PARSE_REQUEST, &corpus_limits);
}

static unsigned wrong;

static void run_check(const struct run *r, const struct corpus_case *c, struct cd_str text, size_t cut)
{
    bool same = r->statuses == c->statuses && (text.ptr == NULL || cd_str_eq(cd_buf_str(&r->text), text));
    for (unsigned i = 0; same && i < c->statuses; i++)
        same = r->status[i] == c->status[i];
    if (same)
        return;
    fprintf(stderr, "corpus case %s, cut at %zu: got", c->name, cut);
    for (unsigned i = 0; i < r->statuses; i++)
        fprintf(stderr, " %d", r->status[i]);
    fprintf(stderr, " (%s)\n", r->p.bad_why == NULL ? "" : r->p.bad_why);
    wrong++;
}

/* In bodies the pieces depend on the cuts, but not the bytes. */
static void check_case(const struct corpus_case *c, void *arg)
{
    (void)arg;
    struct run r = {.statuses = 0};
    struct cd_str all = cd_buf_str(&c->bytes);
    run_clear(&r);
    run_feed(&r, all);
    run_check(&r, c, (struct cd_str){NULL, 0}, 0);
    struct cd_buf whole = cd_buf_move(&r.text);
    /* The repetitive middle of very long cases tells nothing new. */
    size_t step = all.len > 1000 ? 37 : 1;
    for (size_t cut = 1; cut < all.len; cut += step) {
        run_clear(&r);
        run_feed(&r, cd_str_sub(all, 0, cut));
        run_feed(&r, cd_str_sub(all, cut, SIZE_MAX));
        run_check(&r, c, cd_buf_str(&whole), cut);
    }
    run_clear(&r);
    for (size_t i = 0; i < all.len; i++)
        run_feed(&r, cd_str_sub(all, i, 1));
    run_check(&r, c, cd_buf_str(&whole), SIZE_MAX);
    http_parser_deinit(&r.p);
    cd_buf_deinit(&r.text);
    cd_buf_deinit(&whole);
}

static void test_the_corpus_is_read_the_same_however_it_is_cut(void **state)
{
    (void)state;
    wrong = 0;
    assert_true(corpus_each(check_case, NULL) > 120);
    assert_int_equal(wrong, 0);
}

/* ---- Details of requests ---- */

static enum http_parsed parse_request(struct http_parser *p, const char *text, struct cd_str *rest)
{
    struct cd_str body;
    *rest = cd_str(text);
    http_parser_start(p, HTTP_PARSE_REQUEST, &corpus_limits);
    return http_parse(p, rest, &body);
}

static void test_a_request_head_as_fields(void **state)
{
    (void)state;
    struct http_parser p = {0};
    struct cd_str rest;
    assert_int_equal(
        parse_request(&p,
                      "POST /a/b?c HTTP/1.1\r\nhOsT: x:1\r\nX:\r\nY:  a b\t \r\nContent-Length: 7\r\n"
                      "Expect: 100-Continue\r\nConnection: close\r\n\r\nrest",
                      &rest),
        HTTP_PARSED_HEAD);
    const struct http_head *h = &p.head;
    assert_str_is(h->method, "POST");
    assert_str_is(h->target, "/a/b?c");
    assert_str_is(h->where.path, "/a/b");
    assert_str_is(h->where.query, "c");
    assert_str_is(h->authority, "x:1");
    assert_int_equal(h->field_count, 6);
    assert_str_is(h->field[0].name, "hOsT");
    assert_str_is(h->field[1].value, "");
    assert_str_is(h->field[2].value, "a b");
    assert_str_is(http_field_value(h->field, h->field_count, CD_STR("CONTENT-length")), "7");
    assert_null(http_field_find(h->field, h->field_count, CD_STR("absent")));
    assert_int_equal(h->body_len, 7);
    assert_true(h->expect_continue);
    assert_false(h->keep_alive || h->upgrade || h->is_get || h->is_head);
    assert_str_is(rest, "rest");
    http_parser_deinit(&p);
}

static void test_parser_memory_is_kept_between_messages(void **state)
{
    (void)state;
    struct http_parser p = {0};
    struct cd_str rest;
    (void)parse_request(&p, "GET /long/enough/to/need/memory HTTP/1.1\r\nHost: a\r\n\r\n", &rest);
    const char *text = p.text.ptr;
    const struct http_field *field = p.head.field;
    assert_int_equal(parse_request(&p, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", &rest), HTTP_PARSED_HEAD);
    assert_ptr_equal(p.text.ptr, text);
    assert_ptr_equal(p.head.field, field);
    assert_true(p.head.is_get);
    http_parser_deinit(&p);
}

static void test_begun_tells_a_message_from_empty_lines(void **state)
{
    (void)state;
    struct http_parser p = {0};
    struct cd_str rest;
    (void)parse_request(&p, "\r\n", &rest);
    assert_false(http_parser_begun(&p));
    (void)parse_request(&p, "\r\nG", &rest);
    assert_true(http_parser_begun(&p));
    http_parser_deinit(&p);
}

static void test_the_end_of_the_connection_inside_a_request(void **state)
{
    (void)state;
    static const char *const cut[] = {
        "GET / HTTP/1.1\r\nHost: a\r\n", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nab",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"};
    for (size_t i = 0; i < CD_COUNT(cut); i++) {
        struct http_parser p = {0};
        struct cd_str rest, body;
        enum http_parsed found = parse_request(&p, cut[i], &rest);
        while (found == HTTP_PARSED_HEAD || found == HTTP_PARSED_BODY)
            found = http_parse(&p, &rest, &body);
        assert_int_equal(found, HTTP_PARSED_MORE);
        assert_int_equal(http_parse_eof(&p), HTTP_PARSED_BAD);
        assert_int_equal(p.bad_status, 400);
        http_parser_deinit(&p);
    }
}

static void test_a_long_chunked_body_crosses_its_limit(void **state)
{
    (void)state;
    struct http_parser p = {0};
    struct cd_str rest, body;
    struct cd_buf chunk = {0};
    cd_buf_addf(&chunk, "ffff\r\n");
    cd_buf_add_zero(&chunk, 0xffff);
    cd_buf_addf(&chunk, "\r\n");
    assert_int_equal(
        parse_request(&p, "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", &rest),
        HTTP_PARSED_HEAD);
    uint64_t seen = 0;
    enum http_parsed found = HTTP_PARSED_MORE;
    while (found != HTTP_PARSED_BAD) {
        rest = cd_buf_str(&chunk);
        while ((found = http_parse(&p, &rest, &body)) == HTTP_PARSED_BODY)
            seen += body.len;
    }
    assert_int_equal(p.bad_status, 413);
    assert_true(seen <= corpus_limits.body_max);
    assert_int_equal(seen, 16 * 0xffff);
    cd_buf_deinit(&chunk);
    http_parser_deinit(&p);
}

/* ---- Responses ---- */

/* "200 [body] next:rest", or "bad". Fed in two pieces cut at `cut`. */
static void response_text(struct cd_buf *out, const char *text, bool to_head, size_t cut, bool eof)
{
    struct http_parser p = {0};
    http_parser_start(&p, to_head ? HTTP_PARSE_RESPONSE_TO_HEAD : HTTP_PARSE_RESPONSE, &corpus_limits);
    struct cd_str all = cd_str(text), body;
    size_t fed = 0;
    enum http_parsed found = HTTP_PARSED_MORE;
    struct cd_str in = {NULL, 0};
    for (;;) {
        if (found == HTTP_PARSED_MORE) {
            if (fed == all.len)
                break;
            size_t len = fed < cut ? cut - fed : all.len - fed;
            in = cd_str_sub(all, fed, len);
            fed += in.len;
        }
        found = http_parse(&p, &in, &body);
        if (found == HTTP_PARSED_HEAD)
            cd_buf_addf(out, "%d %.*s up %d keep %d:", p.head.status, (int)p.head.reason.len,
                        p.head.reason.ptr, p.head.upgrade, p.head.keep_alive);
        else if (found == HTTP_PARSED_BODY)
            cd_buf_add_str(out, body);
        else if (found != HTTP_PARSED_MORE)
            break;
    }
    if (found == HTTP_PARSED_MORE && eof)
        found = http_parse_eof(&p);
    if (found == HTTP_PARSED_END)
        cd_buf_addf(out, "|%.*s", (int)(in.len + all.len - fed),
                    fed < all.len ? all.ptr + fed - in.len : in.ptr);
    else
        cd_buf_addf(out, "%s", found == HTTP_PARSED_BAD ? "<bad>" : "<more>");
    http_parser_deinit(&p);
}

static void check_response(const char *text, bool to_head, bool eof, const char *want)
{
    for (size_t cut = 0; cut <= strlen(text); cut++) {
        struct cd_buf out = {0};
        response_text(&out, text, to_head, cut, eof);
        if (!cd_str_eq(cd_buf_str(&out), cd_str(want)))
            fail_msg("cut %zu of %s: %s, want %s", cut, text, cd_buf_cstr(&out), want);
        cd_buf_deinit(&out);
    }
}

static void test_responses_of_every_framing(void **state)
{
    (void)state;
    check_response("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcNEXT", false, false,
                   "200 OK up 0 keep 1:abc|NEXT");
    check_response(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nT: x\r\n\r\nNEXT",
        false, false, "200 OK up 0 keep 1:abcde|NEXT");
    check_response("HTTP/1.1 200 OK\r\n\r\nuntil the end", false, true, "200 OK up 0 keep 0:until the end|");
    check_response("HTTP/1.0 200\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n", false, false,
                   "200  up 0 keep 1:|");
    check_response("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nNEXT", true, false,
                   "200 OK up 0 keep 1:|NEXT");
    check_response("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nNEXT", true, false,
                   "200 OK up 0 keep 1:|NEXT");
    check_response("HTTP/1.1 204 No\r\n\r\nNEXT", false, false, "204 No up 0 keep 1:|NEXT");
    check_response("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\nNEXT", false, false,
                   "304 Not Modified up 0 keep 1:|NEXT");
    check_response("HTTP/1.1 100 Continue\r\n\r\nNEXT", false, false, "100 Continue up 0 keep 1:|NEXT");
    check_response("HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nNEXT", false, false,
                   "101 S up 1 keep 1:|NEXT");
    check_response("HTTP/1.1 200 OK\r\nConnection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 1\r\n\r\naNEXT",
                   false, false, "200 OK up 0 keep 1:a|NEXT");
}

static void test_broken_responses(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.1 99 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "ICE/1.0 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\nA: b\n\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", /* Over the limit. */
        "<html>",
    };
    for (size_t i = 0; i < CD_COUNT(bad); i++)
        check_response(bad[i], false, false, "<bad>");
    check_response("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", false, true,
                   "200 OK up 0 keep 1:ab<bad>");
    check_response("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab", false, true,
                   "200 OK up 0 keep 1:ab<bad>");
    check_response("HTTP/1.1 200 OK\r\nA", false, true, "<bad>");
    check_response("", false, true, "<bad>");
}

CD_TESTS(parse, cmocka_unit_test(test_the_corpus_is_read_the_same_however_it_is_cut),
         cmocka_unit_test(test_a_request_head_as_fields),
         cmocka_unit_test(test_parser_memory_is_kept_between_messages),
         cmocka_unit_test(test_begun_tells_a_message_from_empty_lines),
         cmocka_unit_test(test_the_end_of_the_connection_inside_a_request),
         cmocka_unit_test(test_a_long_chunked_body_crosses_its_limit),
         cmocka_unit_test(test_responses_of_every_framing), cmocka_unit_test(test_broken_responses))
