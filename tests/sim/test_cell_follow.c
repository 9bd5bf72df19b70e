/* The observers of cells against hand-written histories of sessions with followers. */
#include "cell_history.h"

#include "log/follower_rule.h"

static const struct tx T4 = {.epoch = 1, .min = 4, .seed = 4};
static const struct tx U4 = {
    .epoch = 2, .min = 4, .marker = true, .base_epoch = 1, .base_txid = 3, .seed = 9};

/* A file of one batch with one row, as the follower h->held counts it. */
static void kept_of(struct history *h, uint64_t batch, const struct tx *x,
                    void (*file)(void *to, const char *name, struct cd_str bytes), void *to)
{
    struct log_batch_out in;
    uint8_t digest[LOG_SHA256_SIZE];
    struct cd_buf bytes = {0}, name = {0}, frames = {0}, out = {0};
    struct log_row *r = log_row_new(CD_STR(CELL), x->epoch);
    r->min_txid = r->max_txid = x->min;
    r->ltx = segment(h, x);
    log_batch_begin(&in, &bytes, CD_STR(A), batch, h->log_epoch, 3);
    log_batch_add(&in, r);
    log_batch_end(&in, digest);
    log_row_free(r);
    log_frame_add(&frames, cd_buf_str(&bytes));
    struct log_take t = {.frames = cd_buf_str(&frames), .count = 1, .first = batch, .last = batch};
    log_kept_write(&out, &(struct log_fragment){.epoch = h->log_epoch, .base = batch - 1}, &t);
    log_kept_name(&name, batch, batch);
    file(to, cd_buf_cstr(&name), cd_buf_str(&out));
    cd_buf_deinit(&bytes);
    cd_buf_deinit(&frames);
    cd_buf_deinit(&name);
    cd_buf_deinit(&out);
}

static void disk(void *arg, const char *node, const char *session, uint64_t from,
                 void (*file)(void *to, const char *name, struct cd_str bytes), void *to)
{
    static const struct tx *const tail[] = {&T3, &T4};
    struct history *h = arg;
    assert_string_equal(session, A);
    for (unsigned i = 0; i < h->held[strcmp(node, "n3") == 0]; i++)
        if (3 + i >= from)
            kept_of(h, 3 + i, tail[i], file, to);
}

/* A has followers, n2 and n3, with so many batches that are in no slot. */
static void followed(struct history *h, unsigned n2, unsigned n3)
{
    two(h);
    cell_truth_disks(h->t, &(struct cell_disks){h, disk});
    h->log_epoch = 1;
    h->acks = true;
    h->held[0] = n2;
    h->held[1] = n3;
    lease(h, A, STORE_LOG_OPEN, 0);
}

static void test_what_every_follower_has_is_proven(void **state)
{
    (void)state;
    struct history h;
    followed(&h, 2, 1);
    shows(&h, A, 1, 3);
    cell_truth_audit(h.t);
    h.held[1] = 0; /* One copy is enough. */
    cell_truth_audit(h.t);
    sealing(&h);
    folding(&h);
    object(&h, &T3);
    lease(&h, A, STORE_LOG_SEALED, 3);
    owner(&h, B, 2);
    h.log_epoch = 0;
    lease(&h, B, STORE_LOG_OPEN, 0);
    slot(&h, B, 1, &U4);
    shows(&h, B, 2, 4);
    cell_truth_audit(h.t);
    assert_int_equal(cell_truth_counts(h.t).followed, 1);
    ends(&h, NULL);
    followed(&h, 2, 2);
    sealing(&h);
    folding(&h);
    object(&h, &T3); /* Nobody has seen it: recovery may take it, or not. */
    lease(&h, A, STORE_LOG_SEALED, 3);
    cell_truth_audit(h.t);
    ends(&h, NULL);
}

static void test_followers_prove_no_more_than_they_have(void **state)
{
    (void)state;
    struct history h;
    followed(&h, 2, 1);
    shows(&h, A, 1, 4);
    ends(&h, "I2"); /* One of them has it. */
    followed(&h, 2, 2);
    h.acks = false;
    lease(&h, A, STORE_LOG_OPEN, 0);
    shows(&h, A, 1, 3);
    ends(&h, "I2"); /* Nobody would ask them. */
    followed(&h, 1, 1);
    folding(&h);
    object(&h, &T3);
    ends(&h, "I1"); /* Folded, and nothing proves it: A lives. */
    followed(&h, 1, 1);
    slot_of(&h, A, 3, 3, 1, &T4);
    shows(&h, A, 1, 3);
    ends(&h, "I7"); /* The slot has another content under that number. */
}

static void test_what_followers_proved_stays(void **state)
{
    (void)state;
    struct history h;
    struct cd_buf why = {0};
    followed(&h, 1, 1);
    shows(&h, A, 1, 3);
    sealing(&h);
    folding(&h);
    lease(&h, A, STORE_LOG_SEALED, 3);
    ends(&h, "I4"); /* Recovery has forgotten it. */
    followed(&h, 1, 1);
    shows(&h, A, 1, 3);
    h.held[0] = h.held[1] = 0;
    cell_truth_audit(h.t);
    ends(&h, "I5"); /* No copy is left. */
    followed(&h, 1, 1);
    shows(&h, A, 1, 3);
    h.log_epoch = 2;
    lease(&h, A, STORE_LOG_OPEN, 0);
    ends(&h, "I5"); /* Nobody will ask those who have it. */
    followed(&h, 1, 1);
    shows(&h, A, 1, 3);
    cd_buf_add_str(&h.key, CD_STR("log/" A "/loss/e1.json"));
    cd_buf_add_str(&h.body, CD_STR("{}"));
    put(&h);
    ends(&h, "I5");
    followed(&h, 1, 1);
    assert_true(cell_truth_spare(h.t, "n2", &why));
    assert_true(cell_truth_holds(h.t, "n2", 0, 0));
    h.held[1] = 0;
    assert_false(cell_truth_spare(h.t, "n2", &why));
    assert_true(cell_truth_spare(h.t, "n3", &why));
    cd_buf_deinit(&why);
    ends(&h, NULL);
}

CD_TESTS(cell_follow, cmocka_unit_test(test_what_every_follower_has_is_proven),
         cmocka_unit_test(test_followers_prove_no_more_than_they_have),
         cmocka_unit_test(test_what_followers_proved_stays))
