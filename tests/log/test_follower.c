#include "follow.h"

/* ---- One life, step by step ---- */

struct one {
    struct sim *sim;
    struct sim_node *node;
    struct io *io;
    struct log_follower *f;
    bool may, over;
    void (*flow)(struct one *o);
};

static bool may(void *arg)
{
    return ((struct one *)arg)->may;
}

static void flow(void *arg)
{
    struct one *o = arg;
    o->f = log_follower_new(&(struct log_follower_opts){.io = o->io,
                                                        .bucket = sim_bucket(o->io, ""),
                                                        .data_dir = CD_STR("/data"),
                                                        .node = CD_STR(FOLLOW_NODE),
                                                        .may = may,
                                                        .arg = o});
    o->flow(o);
    log_follower_free(o->f);
    o->over = true;
}

static void boot(struct io *io, void *arg)
{
    struct one *o = arg;
    o->io = io;
    (void)io_spawn(io, "one", flow, o);
}

static bool over(void *arg)
{
    return ((struct one *)arg)->over;
}

static void life(struct one *o, void (*run)(struct one *o))
{
    o->flow = run;
    o->over = false;
    if (o->sim == NULL) {
        struct store_lease lease = follow_lease(2);
        o->may = true;
        o->sim = sim_new(NULL);
        follow_lease_put(o->sim, &lease);
        o->node = sim_node(
            o->sim, &(struct sim_node_opts){.name = "f", .loops = 1, .program = {boot, NULL, o, NULL}});
        sim_disk_put(o->node, "/data/lock", CD_STR("x"));
    } else {
        sim_crash_wait(o->node, SIM_POWER);
        sim_restart(o->node, false);
    }
    assert_true(sim_run_until(o->sim, over, o, IO_SEC(48 * 3600)));
}

static const struct log_append second = {.log_epoch = 2, .first_batch = 5};

static void adopts(struct one *o)
{
    struct log_append_answer a;
    uint64_t gets = sim_calls(o->node, "store.get");
    CHECK_INT(follow_append(o->f, &second, 5, 7, &a), 200);
    CHECK(a.ok && a.end == 7 && a.epoch == 2);
    CHECK_INT(follow_append(o->f, &second, 8, 8, &a), 200);
    CHECK(a.ok && a.end == 8);
    CHECK_INT(sim_calls(o->node, "store.get") - gets, 1); /* The lease is read once. */
    CHECK_INT(follow_append(o->f, &second, 7, 8, &a), 200);
    CHECK(a.ok && a.end == 8); /* Twice is fine. */
    CHECK_INT(follow_append(o->f, &second, 10, 10, &a), 200);
    CHECK(!a.ok && a.end == 8);
}

static void holds_it_after_a_power_loss(struct one *o)
{
    struct log_append_answer a;
    struct log_tail t;
    struct cd_buf body = {0};
    CHECK_INT(follow_tail(o->f, &t, &body), 200);
    CHECK(t.epoch == 2 && t.base == 4 && t.end == 8 && t.complete && t.count == 4);
    CHECK_INT(follow_append(o->f, &(struct log_append){.log_epoch = 2, .first_batch = 5, .truncate_to = 7}, 9,
                            9, &a),
              200);
    CHECK(a.ok && a.end == 9);
    CHECK_INT(follow_tail(o->f, &t, &body), 200);
    CHECK(t.base == 7 && t.end == 9 && t.complete && t.count == 2);
    cd_buf_deinit(&body);
}

static void test_what_was_confirmed_is_there_after_a_power_loss(void **state)
{
    (void)state;
    struct one o = {0};
    life(&o, adopts);
    life(&o, holds_it_after_a_power_loss);
    sim_free(o.sim);
}

static void seals(struct one *o)
{
    struct log_append_answer a;
    struct log_seal_answer s = {0};
    CHECK_INT(follow_append(o->f, &second, 5, 6, &a), 200);
    CHECK_INT(follow_seal(o->f, 2, &s), 200);
    CHECK(s.base == 4 && s.end == 6 && s.held == 2 && s.certified == 2);
    CHECK_INT(follow_append(o->f, &second, 7, 7, &a), 200);
    CHECK(!a.ok && a.end == 6 && a.epoch == 2);
}

static void is_still_sealed(struct one *o)
{
    struct log_append_answer a;
    struct log_seal_answer s = {0};
    CHECK_INT(follow_append(o->f, &second, 7, 7, &a), 200);
    CHECK(!a.ok && a.end == 6);
    CHECK_INT(follow_seal(o->f, 1, &s), 200); /* An older one takes nothing back. */
    CHECK(s.certified == 2 && s.end == 6);
    CHECK_INT(follow_append(o->f, &second, 7, 7, &a), 200);
    CHECK(!a.ok);
}

static void test_a_seal_outlives_a_power_loss(void **state)
{
    (void)state;
    struct one o = {0};
    life(&o, seals);
    life(&o, is_still_sealed);
    sim_free(o.sim);
}

static void seals_what_it_never_held(struct one *o)
{
    struct log_append_answer a;
    struct log_seal_answer s = {0};
    CHECK_INT(follow_seal(o->f, 2, &s), 200);
    CHECK(s.held == 0 && s.certified == 0 && s.end == 0);
    CHECK_INT(follow_append(o->f, &second, 5, 5, &a), 200);
    CHECK(!a.ok && a.epoch == 0);
}

static void test_a_seal_of_an_epoch_that_was_never_held_stops_its_adoption(void **state)
{
    (void)state;
    struct one o = {0};
    life(&o, seals_what_it_never_held);
    sim_free(o.sim);
}

static void without_authority(struct one *o)
{
    struct log_append_answer a;
    o->may = false;
    CHECK_INT(follow_append(o->f, &second, 5, 5, &a), 503);
    struct log_seal_answer s = {0};
    CHECK_INT(follow_seal(o->f, 1, &s), 200); /* Seals and tails are served from the start on. */
    o->may = true;
    CHECK_INT(follow_append(o->f, &second, 5, 5, &a), 200);
    CHECK(a.ok);
}

static void test_appends_need_authority_and_seals_do_not(void **state)
{
    (void)state;
    struct one o = {0};
    life(&o, without_authority);
    sim_free(o.sim);
}

static void rots(struct one *o)
{
    struct log_append_answer a;
    struct log_tail t;
    struct cd_buf path = {0}, body = {0};
    CHECK_INT(follow_append(o->f, &second, 5, 5, &a), 200);
    CHECK_INT(follow_append(o->f, &second, 6, 6, &a), 200);
    cd_buf_addf(&path, "/data/peerlog/%s/%016x-%016x.batch", SESSION, 6, 6);
    CHECK(sim_disk_rot(o->node, cd_buf_cstr(&path), 100, 2));
    CHECK_INT(follow_tail(o->f, &t, &body), 200); /* Read back from the disk: it does not rely on memory. */
    CHECK(t.epoch == 2 && !t.complete && t.end == 6 && t.count == 1);
    cd_buf_deinit(&path);
    cd_buf_deinit(&body);
}

static void is_suspect(struct one *o)
{
    struct log_append_answer a;
    struct log_seal_answer s = {0};
    CHECK_INT(follow_seal(o->f, 1, &s), 200);
    CHECK(s.held == 2 && s.certified == 0 && s.end == 5);
    CHECK_INT(follow_append(o->f, &second, 6, 6, &a), 200); /* The leader sends it again. */
    CHECK(a.ok && a.end == 6);
    CHECK_INT(follow_seal(o->f, 2, &s), 200);
    CHECK(s.certified == 2 && s.end == 6);
}

static void test_a_damaged_file_is_never_certified_until_its_range_came_again(void **state)
{
    (void)state;
    struct one o = {0};
    life(&o, rots);
    life(&o, is_suspect);
    sim_free(o.sim);
}

/* ---- Idle probes ---- */

static bool probe(struct one *o, uint64_t last, uint64_t holds)
{
    struct log_append_answer a;
    struct log_tail t;
    struct cd_buf body = {0};
    CHECK_INT(follow_append(o->f, &second, 1, 0, &a), 200);
    CHECK_INT(follow_tail(o->f, &t, &body), 200);
    CHECK_INT(t.epoch, holds); /* It adopts nothing. */
    CHECK(!a.ok || holds == second.log_epoch);
    cd_buf_deinit(&body);
    return log_append_heard(&a, second.log_epoch, second.first_batch, last);
}

static void is_probed(struct one *o)
{
    const struct log_append older = {.log_epoch = 1, .first_batch = 2};
    struct log_append_answer a;
    struct store_lease lease = follow_lease(1);
    struct log_seal_answer s = {0};
    CHECK(probe(o, 4, 0)); /* It has been sent nothing: it is alive. */
    CHECK(!probe(o, 5, 0)); /* It has confirmed a batch, and knows nothing of it. */
    follow_lease_put(o->sim, &lease);
    CHECK_INT(follow_append(o->f, &older, 2, 4, &a), 200);
    lease = follow_lease(2);
    follow_lease_put(o->sim, &lease);
    CHECK(a.ok && probe(o, 4, 1) && !probe(o, 5, 1));
    CHECK_INT(follow_append(o->f, &second, 5, 5, &a), 200);
    CHECK(a.ok && probe(o, 5, 2));
    CHECK_INT(follow_seal(o->f, 2, &s), 200);
    CHECK(!probe(o, 4, 2) && !probe(o, 6, 2));
}

static void test_a_probe_adopts_nothing_and_tells_who_is_alive(void **state)
{
    (void)state;
    struct one o = {0};
    life(&o, is_probed);
    sim_free(o.sim);
}

/* ---- What nobody asks for any more ---- */

static void check_held(struct one *o, uint64_t base, uint64_t end)
{
    struct log_tail t;
    struct cd_buf body = {0};
    CHECK_INT(log_follower_gc(o->f), IO_OK);
    CHECK_INT(follow_tail(o->f, &t, &body), 200);
    CHECK(t.epoch == 2 && t.complete && t.base == base && t.end == end && t.count == end - base);
    cd_buf_deinit(&body);
}

static void gives_up_an_old_epoch(struct one *o)
{
    struct log_append_answer a;
    struct store_lease lease = follow_lease(2);
    CHECK_INT(follow_append(o->f, &second, 5, 8, &a), 200);
    check_held(o, 4, 8);
    lease.log.state = STORE_LOG_RECOVERING; /* Now it counts. */
    lease.log.may_have_fleet_acks = true;
    memcpy(lease.log.claimant, OTHER, sizeof OTHER);
    follow_lease_put(o->sim, &lease);
    check_held(o, 4, 8);
    lease = follow_lease(3);
    follow_lease_put(o->sim, &lease);
    sim_store_rule(o->sim, &(struct sim_store_rule){.effect = SIM_STORE_DOWN, .op = "get", .pattern = "*"});
    check_held(o, 4, 8); /* Nobody knows. */
    sim_store_heal(o->sim);
    check_held(o, 8, 8);
    lease = follow_lease(2); /* What it gave up it does not take again. */
    follow_lease_put(o->sim, &lease);
    CHECK_INT(follow_append(o->f, &second, 9, 9, &a), 200);
    CHECK(!a.ok && a.end == 8);
}

static void keeps_the_seal_for_a_day(struct one *o)
{
    struct log_append_answer a;
    struct log_tail t;
    struct cd_buf body = {0};
    CHECK_INT(follow_append(o->f, &second, 9, 9, &a), 200);
    CHECK(!a.ok && a.end == 8);
    struct store_lease lease = follow_lease(2);
    lease.log = (struct store_log_record){.state = STORE_LOG_SEALED, .epoch = 2, .seal = 1};
    follow_lease_put(o->sim, &lease);
    check_held(o, 8, 8);
    CHECK_INT(io_sleep(o->io, IO_SEC(24 * 3600 - 1)), IO_OK);
    check_held(o, 8, 8);
    CHECK_INT(io_sleep(o->io, IO_SEC(2)), IO_OK);
    CHECK_INT(log_follower_gc(o->f), IO_OK);
    CHECK_INT(follow_tail(o->f, &t, &body), 200);
    CHECK(t.epoch == 0 && t.end == 0);
    cd_buf_deinit(&body);
}

static void test_what_nobody_asks_for_is_given_up_and_its_seal_is_kept_for_a_day(void **state)
{
    (void)state;
    struct one o = {0};
    life(&o, gives_up_an_old_epoch);
    life(&o, keeps_the_seal_for_a_day);
    sim_free(o.sim);
}

/* The session's lease is gone: only its log tells. */
static void gives_up_without_a_lease(struct one *o)
{
    struct log_append_answer a;
    struct cd_buf key = {0};
    CHECK_INT(follow_append(o->f, &second, 5, 8, &a), 200);
    store_key_lease(&key, CD_STR("node_a"));
    sim_store_put_truth(o->sim, cd_buf_str(&key), CD_STR("no lease"));
    check_held(o, 4, 8); /* It cannot be read, which tells nothing. */
    sim_store_delete_truth(o->sim, cd_buf_str(&key));
    cd_buf_clear(&key);
    log_slot_key(&key, CD_STR(SESSION), 3);
    sim_store_put_truth(o->sim, cd_buf_str(&key), CD_STR("a slot"));
    check_held(o, 4, 8); /* Its batches were never folded: people have to look (7.1). */
    sim_store_delete_truth(o->sim, cd_buf_str(&key));
    sim_store_rule(o->sim, &(struct sim_store_rule){.effect = SIM_STORE_DOWN, .op = "list", .pattern = "*"});
    check_held(o, 4, 8);
    sim_store_heal(o->sim);
    struct cd_buf seal = {0};
    const struct log_slot_head head = {
        .kind = LOG_SLOT_SEAL, .slot = 3, .first_batch = 9, .last_batch = 8, .pipeline = 4};
    log_slot_seal(&seal, CD_STR(SESSION), &head, &(struct log_seal_text){CD_STR(OTHER), 1, 1});
    sim_store_put_truth(o->sim, cd_buf_str(&key), cd_buf_str(&seal));
    check_held(o, 8, 8);
    cd_buf_deinit(&seal);
    cd_buf_deinit(&key);
}

static void test_a_session_without_a_lease_is_finished_when_its_log_is(void **state)
{
    (void)state;
    struct one o = {0};
    life(&o, gives_up_without_a_lease);
    sim_free(o.sim);
}

/* ---- Every schedule ---- */

static void test_random_lives_keep_what_they_confirmed(void **state)
{
    (void)state;
    unsigned confirms = 0, certified = 0, crashes = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct follow f = {.seed = seed, .damage = seed % 3 == 0, .gc = seed % 4 == 0};
        follow_run(&f);
        if (f.broken != NULL)
            fail_msg("%s", cd_buf_cstr(&f.why));
        confirms += f.confirms;
        certified += f.certified;
        crashes += f.crashes;
        follow_deinit(&f);
    }
    /* The schedules went where it hurts. */
    assert_true(confirms > 500 && certified > 50 && crashes > 100);
}

static void test_foreign_bytes_are_refused(void **state)
{
    (void)state;
    struct log_append a;
    struct log_tail t;
    struct cd_buf body = {0}, frames = {0};
    follow_batch(&frames, 3, 2, 3);
    struct cd_buf framed = {0};
    log_frame_add(&framed, cd_buf_str(&frames));
    log_append_write(&body, &(struct log_append){.leader = CD_STR(SESSION),
                                                 .log_epoch = 2,
                                                 .first_batch = 3,
                                                 .count = 1,
                                                 .frames = cd_buf_str(&framed)});
    assert_int_equal(log_append_read(&a, cd_buf_str(&body), NULL), 0);
    assert_true(a.log_epoch == 2 && a.first_batch == 3 && a.count == 1 &&
                cd_str_eq(a.leader, CD_STR(SESSION)));
    for (size_t cut = 0; cut < body.len; cut++)
        assert_int_equal(log_append_read(&a, cd_str_of(body.ptr, cut), NULL), CD_ECORRUPT);
    cd_buf_clear(&body);
    log_tail_write(
        &body,
        &(struct log_tail){
            .epoch = 2, .base = 2, .end = 4, .complete = true, .count = 1, .frames = cd_buf_str(&framed)});
    assert_int_equal(log_tail_read(&t, CD_STR(SESSION), cd_buf_str(&body), NULL), CD_ECORRUPT);
    cd_put_u64(body.ptr + 20, 3);
    assert_int_equal(log_tail_read(&t, CD_STR(SESSION), cd_buf_str(&body), NULL), 0);
    assert_int_equal(log_tail_read(&t, CD_STR(OTHER), cd_buf_str(&body), NULL), CD_ECORRUPT);
    char leader[STORE_SESSION_MAX + 1];
    assert_int_equal(log_tail_ask_read(leader, CD_STR("{\"leader\":\"" SESSION "\",\"tail_format\":3}")),
                     CD_EUNSUPPORTED);
    cd_buf_deinit(&body);
    cd_buf_deinit(&frames);
    cd_buf_deinit(&framed);
}

CD_TESTS(follower, cmocka_unit_test(test_what_was_confirmed_is_there_after_a_power_loss),
         cmocka_unit_test(test_a_seal_outlives_a_power_loss),
         cmocka_unit_test(test_a_seal_of_an_epoch_that_was_never_held_stops_its_adoption),
         cmocka_unit_test(test_appends_need_authority_and_seals_do_not),
         cmocka_unit_test(test_a_damaged_file_is_never_certified_until_its_range_came_again),
         cmocka_unit_test(test_a_probe_adopts_nothing_and_tells_who_is_alive),
         cmocka_unit_test(test_what_nobody_asks_for_is_given_up_and_its_seal_is_kept_for_a_day),
         cmocka_unit_test(test_a_session_without_a_lease_is_finished_when_its_log_is),
         cmocka_unit_test(test_random_lives_keep_what_they_confirmed),
         cmocka_unit_test(test_foreign_bytes_are_refused))
