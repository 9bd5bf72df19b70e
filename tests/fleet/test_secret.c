/* The secret of the fleet: made once, the same for all. */
#include "fleet/secret.h"
#include "rig.h"

#define STARTERS 3u

struct starter {
    struct io *io;
    struct fleet_secret secret;
    struct cd_buf why;
    int rc;
    bool done;
};

struct start {
    struct sim *sim;
    struct sim_node *node[STARTERS];
    struct starter by[STARTERS];
};

static void start_open(struct start *s, uint64_t seed)
{
    static const char *const names[STARTERS] = {"n1", "n2", "n3"};
    *s = (struct start){.sim = sim_new(&(struct sim_opts){.seed = seed})};
    sim_store_set(s->sim, &(struct sim_store_opts){.latency_ns = IO_MS(2), .jitter_ns = IO_MS(6)});
    for (unsigned i = 0; i < STARTERS; i++)
        s->node[i] = sim_node(s->sim, &(struct sim_node_opts){.name = names[i]});
    sim_run_for(s->sim, 1);
    for (unsigned i = 0; i < STARTERS; i++) {
        s->by[i].io = sim_io(s->node[i], 0);
        (void)sim_bucket(s->by[i].io, "");
    }
}

static void load(void *arg)
{
    struct starter *by = arg;
    by->rc = fleet_secret_load(&by->secret, by->io, io_bucket(by->io), &by->why);
    by->done = true;
}

static bool all_done(void *arg)
{
    const struct start *s = arg;
    for (unsigned i = 0; i < STARTERS; i++) {
        if (!s->by[i].done)
            return false;
    }
    return true;
}

static void start_run(struct start *s)
{
    for (unsigned i = 0; i < STARTERS; i++) {
        s->by[i].done = false;
        (void)io_spawn(s->by[i].io, "load", load, &s->by[i]);
    }
    assert_true(sim_run_until(s->sim, all_done, s, IO_SEC(600)));
}

static void start_close(struct start *s)
{
    for (unsigned i = 0; i < STARTERS; i++)
        cd_buf_deinit(&s->by[i].why);
    sim_free(s->sim);
}

static void check_one_secret(const struct start *s)
{
    static const struct fleet_secret none = {{0}};
    for (unsigned i = 0; i < STARTERS; i++) {
        assert_int_equal(s->by[i].rc, IO_OK);
        assert_memory_equal(&s->by[i].secret, &s->by[0].secret, sizeof none);
    }
    assert_memory_not_equal(&s->by[0].secret, &none, sizeof none);
}

static void test_starters_agree_on_one_secret_which_stays(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct start s;
        start_open(&s, seed);
        start_run(&s);
        check_one_secret(&s);
        struct fleet_secret first = s.by[0].secret;
        start_run(&s);
        check_one_secret(&s);
        assert_memory_equal(&first, &s.by[0].secret, sizeof first);
        start_close(&s);
    }
}

static void test_an_unclear_write_leaves_one_secret(void **state)
{
    (void)state;
    static const enum sim_store_effect effects[] = {SIM_STORE_LOSE_ANSWER, SIM_STORE_LOSE_REQUEST,
                                                    SIM_STORE_LATE, SIM_STORE_FAIL};
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct start s;
        start_open(&s, seed);
        sim_store_rule(s.sim, &(struct sim_store_rule){.effect = effects[seed % CD_COUNT(effects)],
                                                       .op = "put",
                                                       .ns = IO_MS(20),
                                                       .times = 3});
        start_run(&s);
        check_one_secret(&s);
        start_close(&s);
    }
}

static void check_refused(const char *body)
{
    struct start s;
    start_open(&s, 1);
    sim_store_put_truth(s.sim, CD_STR(STORE_KEY_PEER_AUTH), cd_str(body));
    start_run(&s);
    assert_int_equal(s.by[0].rc, CD_EUNSUPPORTED);
    assert_string_equal(cd_buf_cstr(&s.by[0].why),
                        "fleet/peer-auth.json is not a secret that this version of celld knows");
    start_close(&s);
}

#define KEY "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static void test_what_is_not_known_is_an_error_and_stays(void **state)
{
    (void)state;
    check_refused("");
    check_refused("{\"v\":2,\"key\":\"" KEY "\"}");
    check_refused("{\"v\":1,\"key\":\"" KEY "\",\"more\":1}");
    check_refused("{\"v\":1,\"key\":\"" KEY "00\"}");
    check_refused("{\"v\":1,\"key\":\"zz112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\"}");
    check_refused("{\"key\":\"" KEY "\"}");
    check_refused("[1,\"" KEY "\"]");
}

CD_TESTS(secret, cmocka_unit_test(test_starters_agree_on_one_secret_which_stays),
         cmocka_unit_test(test_an_unclear_write_leaves_one_secret),
         cmocka_unit_test(test_what_is_not_known_is_an_error_and_stays))
