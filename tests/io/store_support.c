#include "store_support.h"

bool store_skipped;

int store_end(struct io_store *s, bool write)
{
    int status = io_await(&s->op, io_now_ns(io_current()) + STORE_AWAIT_NS);
    CHECK((status == IO_OK) == (s->outcome == IO_DONE));
    if (status == IO_CONFLICT)
        CHECK_INT(s->outcome, IO_REJECTED);
    if (!write)
        CHECK(s->outcome != IO_UNKNOWN);
    CHECK((s->outcome == IO_DONE) == (s->why[0] == 0));
    return status;
}

int store_put(struct contract *c, const char *key, struct cd_str body, enum io_put how, char *token)
{
    struct io_store s = {.lane = IO_LANE_CONTROL};
    if (token != NULL && how == IO_PUT_IF_MATCH)
        memcpy(s.token, token, sizeof s.token);
    io_store_put(&s, c->bucket, cd_str(key), body, how, NULL);
    int status = store_end(&s, true);
    if (status == IO_OK) {
        CHECK(s.token[0] != 0);
        if (token != NULL)
            memcpy(token, s.token, sizeof s.token);
    }
    return status;
}

int store_put_text(struct contract *c, const char *key, const char *body, enum io_put how, char *token)
{
    return store_put(c, key, cd_str(body), how, token);
}

int store_get(struct contract *c, const char *key, uint64_t from, uint64_t len, struct cd_buf *out,
              char *token)
{
    struct io_store s = {0};
    io_store_get(&s, c->bucket, cd_str(key), from, len, NULL);
    int status = store_end(&s, false);
    if (status == IO_OK && token != NULL)
        memcpy(token, s.token, sizeof s.token);
    if (status != IO_OK)
        CHECK(s.body.len == 0);
    if (out != NULL) {
        cd_buf_deinit(out);
        *out = cd_buf_move(&s.body);
    }
    cd_buf_deinit(&s.body);
    return status;
}

int store_delete(struct contract *c, const char *key)
{
    struct io_store s = {0};
    io_store_delete(&s, c->bucket, cd_str(key), NULL);
    return store_end(&s, true);
}

bool store_holds(struct contract *c, const char *key, const char *body)
{
    struct cd_buf got = {0};
    int status = store_get(c, key, 0, IO_WHOLE, &got, NULL);
    bool same =
        body == NULL ? status == IO_NOENT : status == IO_OK && cd_str_eq(cd_buf_str(&got), cd_str(body));
    CHECK(status == IO_OK || status == IO_NOENT);
    cd_buf_deinit(&got);
    return same;
}

void store_walk(struct contract *c, const char *prefix, const char *after, char delimiter, unsigned max,
                struct cd_buf *out)
{
    struct io_list l = {.delimiter = delimiter};
    struct cd_buf at = {0};
    cd_buf_clear(out);
    cd_buf_add_str(&at, cd_str(after));
    do {
        io_store_list(&l, c->bucket, cd_str(prefix), cd_buf_str(&at), max, NULL);
        int status = io_await(&l.op, io_now_ns(c->io) + STORE_AWAIT_NS);
        if (status != IO_OK)
            (void)fprintf(stderr, "list: %s\n", l.why);
        CHECK_INT(status, IO_OK);
        CHECK(l.count <= max && (l.count > 0 || !l.more));
        for (unsigned i = 0; i < l.count; i++) {
            struct io_entry *e = &l.entry[i];
            CHECK(cd_str_starts(e->key, cd_str(prefix)));
            CHECK(at.len == 0 || cd_str_cmp(e->key, cd_buf_str(&at)) > 0);
            CHECK(!e->is_prefix || (delimiter != 0 && e->key.ptr[e->key.len - 1] == delimiter));
            cd_buf_clear(&at);
            cd_buf_add_str(&at, e->key);
            cd_buf_add_str(out, e->key);
            cd_buf_add_str(out, e->is_prefix ? CD_STR("*|") : CD_STR("|"));
        }
    } while (l.more);
    io_list_deinit(&l);
    cd_buf_deinit(&at);
}
