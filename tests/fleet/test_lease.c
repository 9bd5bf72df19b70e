/* The lease's fiber on the simulator: what is in the bucket, what the clock does, what gets lost. */
#include "base/rng.h"
#include "rig.h"

#define KEY "nodes/a.json"
#define TTL IO_MS(RIG_TTL_MS)

static struct sim *sim_with(uint64_t seed)
{
    struct sim *sim = sim_new(&(struct sim_opts){.seed = seed});
    sim_store_set(sim, &(struct sim_store_opts){.latency_ns = IO_MS(20)});
    return sim;
}

static void put_lease(struct sim *sim, const struct store_lease *l)
{
    struct cd_buf key = {0}, body = {0};
    store_key_lease(&key, cd_str(l->node));
    store_lease_write(&body, l);
    sim_store_put_truth(sim, cd_buf_str(&key), cd_buf_str(&body));
    cd_buf_deinit(&key);
    cd_buf_deinit(&body);
}

static struct store_lease lease_of(char digit, uint64_t expires_ms)
{
    struct store_lease l = {.node = "a", .seq = 1, .expires_ms = expires_ms, .ttl_ms = RIG_TTL_MS};
    memcpy(l.generation, rig_generation(digit), STORE_GENERATION_LEN);
    memcpy(l.probe_key, rig_generation(digit), STORE_GENERATION_LEN);
    l.peer_protocol = 1;
    store_load_init(&l.load);
    return l;
}

static void end(struct sim *sim, struct rig_leased *r)
{
    sim_free(sim);
    rig_leased_free(r);
}

static void test_it_is_acquired_and_renewed_and_says_when_it_ends(void **state)
{
    (void)state;
    struct sim *sim = sim_with(1);
    struct rig_leased r = {0};
    rig_leased(&r, sim, "n1", "a", '1');
    assert_true(sim_run_until(sim, rig_holds, &r, IO_SEC(1)));
    assert_true(rig_authoritative(&r));
    sim_run_for(sim, IO_SEC(60));
    assert_true(rig_authoritative(&r));
    assert_int_equal(r.held, 1);
    struct store_lease l;
    assert_true(rig_lease(sim, "a", &l));
    assert_int_equal(l.seq, 21); /* One every three seconds. */
    assert_string_equal(l.generation, rig_generation('1'));
    assert_false(l.has_log);
    struct io *io = sim_io(r.node, 0);
    assert_true(l.expires_ms > (uint64_t)io_wall_ms(io) + RIG_TTL_MS / 2);
    assert_true(l.expires_ms <= (uint64_t)io_wall_ms(io) + RIG_TTL_MS);
    end(sim, &r);
}

static void test_a_clock_that_is_ahead_of_the_stores_is_noticed(void **state)
{
    (void)state;
    struct sim *sim = sim_with(1);
    struct rig_leased r = {0};
    rig_leased(&r, sim, "n1", "a", '1');
    assert_true(sim_run_until(sim, rig_holds, &r, IO_SEC(1)));
    assert_int_equal(r.authority->ahead_ms, 0);
    sim_clock_step(r.node, 1900); /* Within what is normal. */
    sim_run_for(sim, IO_SEC(10));
    assert_int_equal(r.authority->ahead_ms, 0);
    sim_clock_step(r.node, 10000);
    sim_run_for(sim, IO_SEC(4));
    uint64_t ahead = r.authority->ahead_ms;
    assert_true(ahead >= 11900 - 2000 - 1100 && ahead <= 11900 - 2000);
    sim_clock_step(r.node, -20000);
    sim_run_for(sim, IO_SEC(4));
    assert_int_equal(r.authority->ahead_ms, 0);
    end(sim, &r);
}

static void test_a_publication_is_done_when_it_is_in_the_record(void **state)
{
    (void)state;
    struct sim *sim = sim_with(1);
    struct rig_leased r = {0};
    rig_leased(&r, sim, "n1", "a", '1');
    assert_true(sim_run_until(sim, rig_holds, &r, IO_SEC(1)));
    struct io_op op[2] = {0};
    r.slot = 7;
    fleet_lease_publish(r.lease, &(struct store_log_record){.state = STORE_LOG_OPEN}, &op[0], NULL);
    sim_run_for(sim, IO_MS(10)); /* It is under way when the next one comes. */
    assert_true(io_busy(&op[0]));
    fleet_lease_publish(r.lease, &(struct store_log_record){.state = STORE_LOG_OPEN, .epoch = 1}, &op[1],
                        NULL);
    sim_run_for(sim, IO_MS(100));
    struct store_lease l;
    assert_true(rig_lease(sim, "a", &l));
    assert_true(!io_busy(&op[0]) && !io_busy(&op[1]));
    assert_int_equal(op[1].status, IO_OK);
    assert_true(l.has_log);
    assert_int_equal(l.log.epoch, 1);
    assert_int_equal(l.log.slot, 7);
    assert_int_equal(l.seq, 3);
    r.slot = 9; /* Renewals carry the log, with the slot of now. */
    sim_run_for(sim, IO_SEC(10));
    assert_true(rig_lease(sim, "a", &l));
    assert_true(l.has_log);
    assert_int_equal(l.log.slot, 9);
    end(sim, &r);
}

static void test_a_pause_beyond_the_expiry_ends_authority_before_any_timer_runs(void **state)
{
    (void)state;
    struct sim *sim = sim_with(1);
    struct rig_leased r = {0};
    rig_leased(&r, sim, "n1", "a", '1');
    assert_true(sim_run_until(sim, rig_holds, &r, IO_SEC(1)));
    sim_run_for(sim, IO_SEC(1));
    sim_pause(r.node, IO_SEC(30));
    sim_run_for(sim, IO_SEC(29));
    assert_int_equal(r.fenced, 0); /* Its timers stand still, */
    assert_false(rig_authoritative(&r)); /* the clock does not. */
    sim_run_for(sim, IO_SEC(2));
    assert_int_equal(r.fenced, 1);
    assert_string_equal(r.cause, "node_lease_watchdog_fence");
    sim_run_for(sim, IO_SEC(60));
    assert_false(rig_authoritative(&r));
    assert_int_equal(r.fenced, 1);
    end(sim, &r);
}

static void test_without_its_bucket_a_node_fences_when_the_lease_runs_out(void **state)
{
    (void)state;
    struct sim *sim = sim_with(1);
    struct rig_leased r = {0};
    rig_leased(&r, sim, "n1", "a", '1');
    assert_true(sim_run_until(sim, rig_holds, &r, IO_SEC(1)));
    sim_store_rule(sim, &(struct sim_store_rule){.effect = SIM_STORE_DOWN});
    sim_run_for(sim, TTL - IO_MS(100));
    assert_int_equal(r.fenced, 0);
    assert_true(rig_authoritative(&r));
    sim_run_for(sim, IO_MS(100));
    assert_int_equal(r.fenced, 1);
    assert_string_equal(r.cause, "node_lease_watchdog_fence");
    end(sim, &r);
}

/* Whatever becomes of one write, the lease goes on and a publication gets through. */
static void test_one_unclear_answer_costs_nothing(void **state)
{
    (void)state;
    static const enum sim_store_effect effects[] = {
        SIM_STORE_HOLD_ANSWER, SIM_STORE_LOSE_ANSWER, SIM_STORE_LOSE_REQUEST, SIM_STORE_LATE,
        SIM_STORE_THROTTLE,    SIM_STORE_FAIL,        SIM_STORE_FAIL_DONE,    SIM_STORE_DOWN};
    for (size_t i = 0; i < CD_COUNT(effects); i++) {
        for (unsigned nth = 0; nth < 3; nth++) {
            struct sim *sim = sim_with(1 + i);
            struct rig_leased r = {0};
            rig_leased(&r, sim, "n1", "a", '1');
            struct sim_store_rule rule = {
                .effect = effects[i], .op = "put", .pattern = KEY, .ns = IO_SEC(6), .times = 1};
            struct io_op op = {0};
            if (nth == 0)
                sim_store_rule(sim, &rule);
            assert_true(sim_run_until(sim, rig_holds, &r, IO_SEC(20)));
            if (nth == 1)
                sim_store_rule(sim, &rule);
            fleet_lease_publish(r.lease, &(struct store_log_record){.state = STORE_LOG_OPEN}, &op, NULL);
            if (nth == 2) {
                sim_run_for(sim, IO_MS(100));
                sim_store_rule(sim, &rule);
            }
            sim_run_for(sim, IO_SEC(60));
            assert_int_equal(r.fenced, 0);
            assert_true(rig_authoritative(&r));
            assert_true(!io_busy(&op) && op.status == IO_OK);
            struct store_lease l;
            assert_true(rig_lease(sim, "a", &l) && l.has_log);
            end(sim, &r);
        }
    }
}

static void test_a_second_process_with_the_same_id_ends_the_first(void **state)
{
    (void)state;
    struct sim *sim = sim_with(1);
    struct rig_leased first = {0}, second = {0};
    rig_leased(&first, sim, "n1", "a", '1');
    assert_true(sim_run_until(sim, rig_holds, &first, IO_SEC(1)));
    rig_leased(&second, sim, "n2", "a", '7');
    assert_true(sim_run_until(sim, rig_holds, &second, IO_SEC(1)));
    assert_true(sim_run_until(sim, rig_fenced, &first, IO_SEC(5)));
    assert_string_equal(first.cause, "node_lease_record_mismatch_fence");
    sim_run_for(sim, IO_SEC(30));
    assert_true(rig_authoritative(&second));
    assert_false(rig_authoritative(&first));
    struct store_lease l;
    assert_true(rig_lease(sim, "a", &l));
    assert_string_equal(l.generation, rig_generation('7'));
    end(sim, &first);
    rig_leased_free(&second);
}

static void test_a_record_that_was_deleted_fences(void **state)
{
    (void)state;
    struct sim *sim = sim_with(1);
    struct rig_leased r = {0};
    rig_leased(&r, sim, "n1", "a", '1');
    assert_true(sim_run_until(sim, rig_holds, &r, IO_SEC(1)));
    sim_store_delete_truth(sim, CD_STR(KEY));
    assert_true(sim_run_until(sim, rig_fenced, &r, IO_SEC(5)));
    assert_string_equal(r.cause, "node_lease_record_missing_fence");
    struct store_lease l;
    assert_false(rig_lease(sim, "a", &l));
    end(sim, &r);
}

static void test_a_recovery_that_began_is_never_overwritten(void **state)
{
    (void)state;
    struct sim *sim = sim_with(1);
    struct rig_leased r = {0};
    rig_leased(&r, sim, "n1", "a", '1');
    assert_true(sim_run_until(sim, rig_holds, &r, IO_SEC(1)));
    struct io_op op = {0};
    fleet_lease_publish(r.lease, &(struct store_log_record){.state = STORE_LOG_OPEN}, &op, NULL);
    sim_run_for(sim, IO_MS(200));
    struct store_lease l;
    assert_true(rig_lease(sim, "a", &l));
    l.log = (struct store_log_record){.state = STORE_LOG_RECOVERING, .claimed_ms = 1};
    (void)snprintf(l.log.claimant, sizeof l.log.claimant, "b/%s", rig_generation('2'));
    put_lease(sim, &l);
    assert_true(sim_run_until(sim, rig_fenced, &r, IO_SEC(5)));
    assert_string_equal(r.cause, "node_lease_record_mismatch_fence");
    sim_run_for(sim, IO_SEC(30));
    assert_true(rig_lease(sim, "a", &l));
    assert_int_equal(l.log.state, STORE_LOG_RECOVERING);
    end(sim, &r);
}

static int recover_seals(void *arg, struct cd_str session)
{
    struct rig_leased *r = arg;
    if (r->recovered < 3)
        return IO_TIMEDOUT;
    struct store_lease l;
    CHECK(rig_lease(r->sim, "a", &l));
    CHECK(session.len == 2 + STORE_GENERATION_LEN);
    l.log = (struct store_log_record){.state = STORE_LOG_SEALED, .seal = 5};
    put_lease(r->sim, &l);
    return 0;
}

static void test_the_log_of_a_predecessor_is_recovered_first(void **state)
{
    (void)state;
    struct sim *sim = sim_with(1);
    struct store_lease old = lease_of('9', 5);
    old.has_log = true;
    old.log.state = STORE_LOG_OPEN;
    put_lease(sim, &old);
    struct rig_leased r = {.recover = recover_seals};
    rig_leased(&r, sim, "n1", "a", '1');
    sim_run_for(sim, IO_SEC(5));
    struct store_lease l;
    assert_true(rig_lease(sim, "a", &l));
    assert_string_equal(l.generation, rig_generation('9'));
    assert_int_equal(r.held, 0);
    assert_true(sim_run_until(sim, rig_holds, &r, IO_SEC(5)));
    assert_int_equal(r.recovered, 3);
    assert_int_equal(strncmp(r.predecessor, "a/999", 5), 0);
    assert_true(rig_lease(sim, "a", &l));
    assert_string_equal(l.generation, rig_generation('1'));
    end(sim, &r);
}

static void test_what_cannot_be_read_is_not_overwritten(void **state)
{
    (void)state;
    struct sim *sim = sim_with(1);
    sim_store_put_truth(sim, CD_STR(KEY), CD_STR("{\"v\":2,\"node\":\"a\"}"));
    struct rig_leased r = {0};
    rig_leased(&r, sim, "n1", "a", '1');
    sim_run_for(sim, IO_SEC(60));
    assert_int_equal(r.held, 0);
    struct sim_object o;
    assert_true(sim_store_get_truth(sim, CD_STR(KEY), &o));
    assert_str_is(o.body, "{\"v\":2,\"node\":\"a\"}");
    end(sim, &r);
}

static void test_jumps_of_the_wall_clock_do_not_touch_authority(void **state)
{
    (void)state;
    struct sim *sim = sim_with(1);
    struct rig_leased r = {0};
    rig_leased(&r, sim, "n1", "a", '1');
    assert_true(sim_run_until(sim, rig_holds, &r, IO_SEC(1)));
    static const int64_t jumps[] = {3600000, -7200000, 86400000};
    for (size_t i = 0; i < CD_COUNT(jumps); i++) {
        sim_clock_step(r.node, jumps[i]);
        assert_true(rig_authoritative(&r));
        sim_run_for(sim, IO_SEC(20));
        assert_true(rig_authoritative(&r));
    }
    assert_int_equal(r.fenced, 0);
    end(sim, &r);
}

static void test_a_stopped_lease_is_idle_and_without_authority(void **state)
{
    (void)state;
    for (uint64_t ms = 0; ms < 200; ms += 7) {
        struct sim *sim = sim_with(1);
        struct rig_leased r = {0};
        rig_leased(&r, sim, "n1", "a", '1');
        sim_run_for(sim, IO_MS(1 + ms));
        struct io_op op = {0}, publish = {0};
        fleet_lease_publish(r.lease, &(struct store_log_record){.state = STORE_LOG_OPEN}, &publish, NULL);
        fleet_lease_stop(r.lease, &op, NULL);
        sim_run_for(sim, IO_MS(100));
        assert_true(!io_busy(&op) && !io_busy(&publish));
        assert_int_equal(publish.status, CD_EFENCED);
        assert_false(rig_authoritative(&r));
        assert_int_equal(r.fenced, 0);
        assert_int_equal(sim_left(r.node, NULL), 0);
        end(sim, &r);
    }
}

/* The truth at every change of the record, and authority at every event, in rough weather. */
struct watch {
    struct rig_leased *r;
    uint64_t seq;
    char generation[STORE_GENERATION_LEN + 1];
    bool had_log;
    uint64_t anchor_bound_ns; /* When the newest expiry that is in the record ends, on the node's clock. */
};

static void on_store(void *arg, const struct sim_store_change *c)
{
    struct watch *w = arg;
    if (!cd_str_eq(c->key, CD_STR(KEY)))
        return;
    CHECK(c->after != NULL);
    struct store_lease l;
    CHECK_INT(store_lease_read(&l, CD_STR("a"), c->after->body, NULL), 0);
    if (strcmp(w->generation, l.generation) == 0) {
        CHECK(l.seq > w->seq);
        CHECK(l.has_log || !w->had_log);
    } else {
        CHECK(!w->had_log); /* Here nobody recovers: such a lease must stay. */
    }
    w->seq = l.seq;
    w->had_log = l.has_log;
    memcpy(w->generation, l.generation, sizeof l.generation);
}

static uint64_t weather(uint64_t seed, unsigned *fenced, unsigned *held)
{
    struct sim *sim = sim_new(
        &(struct sim_opts){.seed = seed, .policy = (enum sim_policy)(seed % 3), .slack_ns = IO_MS(5)});
    sim_store_set(sim, &(struct sim_store_opts){.latency_ns = IO_MS(20),
                                                .jitter_ns = IO_MS(200),
                                                .tokens_by_generation = seed % 2 == 0,
                                                .throttle_ppm = 30000,
                                                .fail_ppm = 50000,
                                                .lose_request_ppm = 50000,
                                                .lose_answer_ppm = 50000,
                                                .late_ppm = 50000,
                                                .late_ns = IO_SEC(20)});
    struct rig_leased r = {0};
    struct watch w = {.r = &r};
    sim_on_store(sim, on_store, &w);
    rig_leased(&r, sim, "n1", "a", '1');
    struct cd_rng rng;
    sim_rng(sim, "plan", &rng);
    struct io_op op = {0};
    for (unsigned i = 0; i < 60; i++) {
        sim_run_for(sim, IO_MS(cd_rng_below(&rng, 2000)));
        uint64_t dice = cd_rng_below(&rng, 40);
        if (dice == 0 && sim_node_life(r.node) == SIM_UP && !w.had_log) {
            sim_crash_wait(r.node, SIM_KILL);
            sim_restart(r.node, false);
        } else if (dice == 1) {
            sim_pause(r.node, IO_MS(cd_rng_below(&rng, 12000)));
        } else if (dice == 2) {
            sim_clock_step(r.node, (int64_t)cd_rng_below(&rng, 20000) - 10000);
        } else if (dice == 3 && rig_holds(&r) && !io_busy(&op)) {
            fleet_lease_publish(r.lease, &(struct store_log_record){.state = STORE_LOG_OPEN}, &op, NULL);
        }
    }
    *fenced += r.fenced;
    *held += r.held;
    uint64_t hash = sim_hash(sim);
    end(sim, &r);
    return hash;
}

static void test_rough_weather_and_the_same_weather_again(void **state)
{
    (void)state;
    unsigned fenced = 0, held = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t first = weather(seed, &fenced, &held);
        if (seed <= 10)
            assert_true(first == weather(seed, &fenced, &held));
    }
    assert_true(held > 50);
    assert_true(fenced > 5);
}

static void test_a_crash_in_any_call_leaves_nothing_and_the_next_life_acquires(void **state)
{
    (void)state;
    bool hit = true;
    for (uint64_t k = 1; hit; k++) {
        struct sim *sim = sim_with(k);
        struct rig_leased r = {0};
        rig_leased(&r, sim, "n1", "a", '1');
        hit = false;
        assert_true(sim_at_call(r.node, "any", k, SIM_DIE_KILL, 0, &hit));
        sim_run_for(sim, IO_SEC(7));
        if (hit) {
            assert_int_equal(sim_node_life(r.node), SIM_DEAD);
            assert_int_equal(r.fenced, 0);
            sim_restart(r.node, false);
            assert_true(sim_run_until(sim, rig_holds, &r, IO_SEC(60)));
        }
        end(sim, &r);
    }
}

CD_TESTS(lease, cmocka_unit_test(test_it_is_acquired_and_renewed_and_says_when_it_ends),
         cmocka_unit_test(test_a_clock_that_is_ahead_of_the_stores_is_noticed),
         cmocka_unit_test(test_a_publication_is_done_when_it_is_in_the_record),
         cmocka_unit_test(test_a_pause_beyond_the_expiry_ends_authority_before_any_timer_runs),
         cmocka_unit_test(test_without_its_bucket_a_node_fences_when_the_lease_runs_out),
         cmocka_unit_test(test_one_unclear_answer_costs_nothing),
         cmocka_unit_test(test_a_second_process_with_the_same_id_ends_the_first),
         cmocka_unit_test(test_a_record_that_was_deleted_fences),
         cmocka_unit_test(test_a_recovery_that_began_is_never_overwritten),
         cmocka_unit_test(test_the_log_of_a_predecessor_is_recovered_first),
         cmocka_unit_test(test_what_cannot_be_read_is_not_overwritten),
         cmocka_unit_test(test_jumps_of_the_wall_clock_do_not_touch_authority),
         cmocka_unit_test(test_a_stopped_lease_is_idle_and_without_authority),
         cmocka_unit_test(test_rough_weather_and_the_same_weather_again),
         cmocka_unit_test(test_a_crash_in_any_call_leaves_nothing_and_the_next_life_acquires))
