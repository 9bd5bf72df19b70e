/* fuzz/http_run.h: runs a parser over bytes in pieces and notes all it tells, so that runs can be compared.
 */
#ifndef FUZZ_HTTP_RUN_H
#define FUZZ_HTTP_RUN_H

#include "base/rng.h"
#include "http/parse.h"

static const struct http_limits run_limits = {
    .head_max = 4096, .target_max = 1024, .fields_max = 16, .body_max = 100000};

struct run {
    struct http_parser p;
    enum http_parse_kind kind;
    struct cd_buf notes;
    bool over;
};

static inline void run_start(struct run *r)
{
    http_parser_start(&r->p, r->kind, &run_limits);
}

static inline void run_head(struct run *r)
{
    const struct http_head *h = &r->p.head;
    cd_buf_addf(&r->notes, "%d %d %d %d %d %llu\n", h->status, h->minor, h->keep_alive, h->upgrade,
                h->expect_continue, (unsigned long long)h->body_len);
    cd_buf_add_str(&r->notes, h->method);
    cd_buf_add_str(&r->notes, h->target);
    cd_buf_add_str(&r->notes, h->where.path);
    cd_buf_add_str(&r->notes, h->authority);
    CD_ASSERT(h->field_count <= run_limits.fields_max && h->target.len <= run_limits.target_max);
    for (size_t i = 0; i < h->field_count; i++) {
        CD_ASSERT(http_is_token(h->field[i].name) && http_is_value(h->field[i].value));
        cd_buf_add_str(&r->notes, h->field[i].name);
        cd_buf_add_byte(&r->notes, ':');
        cd_buf_add_str(&r->notes, h->field[i].value);
        cd_buf_add_byte(&r->notes, '\n');
    }
}

static inline void run_end(struct run *r)
{
    cd_buf_addf(&r->notes, "<end>");
    r->over = r->kind == HTTP_PARSE_REQUEST ? !r->p.head.keep_alive : r->p.head.status >= 200;
    run_start(r);
}

static inline void run_feed(struct run *r, struct cd_str piece)
{
    struct cd_str in = piece, body;
    while (!r->over) {
        size_t had = in.len;
        enum http_parsed found = http_parse(&r->p, &in, &body);
        CD_ASSERT(in.len <= had && (in.len == 0 || in.ptr + in.len == piece.ptr + piece.len));
        if (found == HTTP_PARSED_MORE) {
            CD_ASSERT(in.len == 0);
            return;
        }
        if (found == HTTP_PARSED_HEAD) {
            run_head(r);
        } else if (found == HTTP_PARSED_BODY) {
            CD_ASSERT(body.len > 0 && body.ptr >= piece.ptr && body.ptr + body.len <= piece.ptr + piece.len);
            cd_buf_add_str(&r->notes, body);
        } else if (found == HTTP_PARSED_END) {
            run_end(r);
        } else {
            CD_ASSERT(r->p.bad_status >= 400 && r->p.bad_status < 600 && r->p.bad_why != NULL);
            cd_buf_addf(&r->notes, "<%d>", r->p.bad_status);
            r->over = true;
        }
    }
}

static inline void run_eof(struct run *r)
{
    if (r->over)
        return;
    if (http_parse_eof(&r->p) == HTTP_PARSED_END)
        run_end(r);
    else
        cd_buf_addf(&r->notes, "<cut>");
}

/* The notes must not depend on how the bytes are cut. The first byte chooses the kind and seeds the cuts. */
static inline void run_compare(enum http_parse_kind kind, uint64_t seed, struct cd_str bytes)
{
    struct run whole = {.kind = kind}, cut = {.kind = kind};
    run_start(&whole);
    run_feed(&whole, bytes);
    run_eof(&whole);
    struct cd_rng rng;
    cd_rng_seed(&rng, seed, CD_STR("cuts"));
    run_start(&cut);
    for (size_t at = 0; at < bytes.len;) {
        size_t len = cd_rng_below(&rng, seed % 2 == 0 ? 3 : 40);
        struct cd_str piece = cd_str_sub(bytes, at, len);
        run_feed(&cut, piece);
        at += piece.len;
    }
    run_eof(&cut);
    CD_ASSERT(cd_str_eq(cd_buf_str(&whole.notes), cd_buf_str(&cut.notes)));
    http_parser_deinit(&whole.p);
    http_parser_deinit(&cut.p);
    cd_buf_deinit(&whole.notes);
    cd_buf_deinit(&cut.notes);
}

#endif
