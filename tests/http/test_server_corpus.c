/* Every case of the corpus against a server, whole and cut in two at every byte. */
#include "corpus.h"
#include "rig.h"

struct cuts {
    const struct corpus_case *c;
    size_t from, to; /* Cuts to try. */
    unsigned wrong;
};

/* The statuses of the answers in text; 100 is not one. */
static unsigned statuses_of(struct cd_str text, int status[CORPUS_STATUSES_MAX])
{
    unsigned count = 0;
    size_t at = 0;
    while ((at = cd_str_find_str(text, CD_STR("HTTP/1.1 "), at)) != SIZE_MAX) {
        uint64_t code = 0;
        if (cd_str_u64(cd_str_sub(text, at + 9, 3), &code) == 0 && code != 100 && count < CORPUS_STATUSES_MAX)
            status[count++] = (int)code;
        at += 9;
    }
    return count;
}

static void check_answers(struct cuts *cuts, size_t cut, struct cd_buf *got, int end)
{
    const struct corpus_case *c = cuts->c;
    int status[CORPUS_STATUSES_MAX];
    unsigned count = statuses_of(cd_buf_str(got), status);
    bool same = count == c->statuses;
    for (unsigned i = 0; same && i < count; i++)
        same = status[i] == c->status[i];
    /* An error ends the connection, in order, so that its answer is not lost. */
    bool error = c->statuses > 0 && c->status[c->statuses - 1] >= 400;
    if (same && (!error || end == IO_EOF))
        return;
    fprintf(stderr, "corpus case %s, cut at %zu: %s, got\n%s\n", c->name, cut, cd_err_text(end),
            cd_buf_cstr(got));
    cuts->wrong++;
}

static void cuts_flow(struct rig *r)
{
    struct cuts *cuts = r->arg;
    struct cd_str all = cd_buf_str(&cuts->c->bytes);
    size_t step = all.len > 400 ? 97 : 1;
    for (size_t cut = 0; cut < all.len; cut += step) {
        struct cd_str piece[2] = {cd_str_sub(all, 0, cut), cd_str_sub(all, cut, SIZE_MAX)};
        struct cd_buf got = {0};
        int end = rig_talk(r, piece, 2, &got);
        check_answers(cuts, cut, &got, end);
        cd_buf_deinit(&got);
    }
}

static void check_case(const struct corpus_case *c, void *arg)
{
    struct cuts cuts = {.c = c};
    struct rig r = {.arg = &cuts};
    rig_open(&r, 1);
    rig_flow(&r, cuts_flow);
    rig_close(&r, IO_SEC(10));
    *(unsigned *)arg += cuts.wrong;
}

static void test_every_case_gets_its_answers_however_it_is_cut(void **state)
{
    (void)state;
    unsigned wrong = 0;
    assert_true(corpus_each(check_case, &wrong) > 120);
    assert_int_equal(wrong, 0);
}

CD_TESTS(server_corpus, cmocka_unit_test(test_every_case_gets_its_answers_however_it_is_cut))
