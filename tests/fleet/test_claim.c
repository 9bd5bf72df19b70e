/* Claims on the simulator, with the rules of ownership (fleet.md 2.3) checked at every write of a record. */
#include "base/rng.h"
#include "fleet/claim_rule.h"
#include "fleet/finish.h"
#include "rig.h"

#define SCOPE "Room:x"
#define KEY "cells/Room:x/owner.json"

struct fake_recoverer {
    enum log_recover_end end;
    uint64_t ns; /* How long it takes. */
    unsigned calls;
};

static int fake_recover(struct log_recoverer *rr, struct log_recover *r)
{
    struct fake_recoverer *f = (struct fake_recoverer *)(void *)rr;
    f->calls++;
    r->end = f->end;
    (void)snprintf(r->why, sizeof r->why, "told so");
    return f->ns == 0 ? IO_OK : io_sleep(io_current(), f->ns);
}

struct claimer {
    struct sim_node *node;
    struct fleet_authority authority;
    struct fleet_self self;
    struct fleet_finisher finisher;
    struct fleet_finished finished;
    struct fleet_claim claim;
    unsigned loop;
    int rc;
    bool done;
};

struct stage {
    struct sim *sim;
    struct fake_recoverer recoverer;
    struct claimer c[3];
    unsigned writes; /* Of the record, by nodes. */
    unsigned illegal; /* Not in the table of transitions. */
    char owner[STORE_SESSION_MAX + 1];
    uint64_t epoch;
};

static void session_of(char out[STORE_SESSION_MAX + 1], const char *node, char digit)
{
    (void)snprintf(out, STORE_SESSION_MAX + 1, "%s/%s", node, rig_generation(digit));
}

/* Every applied write by a node is one epoch higher, or a release at the same one by its owner. */
static bool of_node(const char *session, const char *node)
{
    size_t len = strlen(node);
    return strncmp(session, node, len) == 0 && session[len] == '/';
}

static void on_store(void *arg, const struct sim_store_change *ch)
{
    struct stage *g = arg;
    if (!cd_str_eq(ch->key, CD_STR(KEY)))
        return;
    struct store_owner before = {0}, after;
    CHECK(ch->after != NULL);
    CHECK_INT(store_owner_read(&after, ch->after->body, NULL), 0);
    if (ch->before != NULL)
        CHECK_INT(store_owner_read(&before, ch->before->body, NULL), 0);
    if (ch->by != NULL) {
        g->writes++;
        const struct claimer *by = NULL;
        for (unsigned i = 0; i < CD_COUNT(g->c); i++) {
            if (g->c[i].node == ch->by)
                by = &g->c[i];
        }
        CHECK(by != NULL);
        bool release = after.session[0] == 0;
        bool legal = release
                         ? after.epoch == before.epoch && of_node(before.session, by->self.node)
                         : after.epoch == before.epoch + 1 && strcmp(after.session, by->self.session) == 0;
        g->illegal += !legal;
    }
    memcpy(g->owner, after.session, sizeof g->owner);
    g->epoch = after.epoch;
}

static void claimer_init(struct stage *g, unsigned i, const char *node, char digit)
{
    struct claimer *c = &g->c[i];
    char host[8];
    (void)snprintf(host, sizeof host, "n%u", i + 1);
    c->node = sim_node(g->sim, &(struct sim_node_opts){.name = host, .loops = 2});
    sim_run_for(g->sim, 1);
    fleet_authority_grant(&c->authority, UINT64_MAX);
    c->self = (struct fleet_self){.authority = &c->authority, .finisher = &c->finisher};
    fleet_finisher_init(&c->finisher, sim_io(c->node, 0), (struct log_recoverer *)(void *)&g->recoverer);
    c->finisher.recover = fake_recover;
    (void)snprintf(c->self.node, sizeof c->self.node, "%s", node);
    memcpy(c->self.generation, rig_generation(digit), STORE_GENERATION_LEN);
    session_of(c->self.session, node, digit);
    for (unsigned l = 0; l < 2; l++)
        (void)sim_bucket(sim_io(c->node, l), "");
}

/* Two nodes, a and b, and a stranger c. */
static void stage_open(struct stage *g, uint64_t seed)
{
    *g = (struct stage){.sim = sim_new(&(struct sim_opts){
                            .seed = seed, .policy = (enum sim_policy)(seed % 3), .slack_ns = IO_MS(3)})};
    sim_store_set(g->sim, &(struct sim_store_opts){.latency_ns = IO_MS(10), .jitter_ns = IO_MS(20)});
    sim_on_store(g->sim, on_store, g);
    claimer_init(g, 0, "a", '1');
    claimer_init(g, 1, "b", '2');
    claimer_init(g, 2, "c", '3');
}

static void stage_close(struct stage *g)
{
    sim_free(g->sim);
    for (unsigned i = 0; i < CD_COUNT(g->c); i++)
        fleet_finished_deinit(&g->c[i].finished);
    assert_int_equal(g->illegal, 0);
}

static void claim_flow(void *arg)
{
    struct claimer *c = arg;
    c->rc = fleet_claim(&c->claim);
    c->done = true;
}

static void claim_start(struct stage *g, unsigned i)
{
    struct claimer *c = &g->c[i];
    struct io *io = sim_io(c->node, c->loop);
    c->done = false;
    c->claim = (struct fleet_claim){.io = io,
                                    .bucket = io_bucket(io),
                                    .self = &c->self,
                                    .finished = &c->finished,
                                    .scope = CD_STR(SCOPE),
                                    .deadline_ns = io_now_ns(io) + IO_SEC(15),
                                    .recovery_deadline_ns = io_now_ns(io) + IO_SEC(60)};
    (void)io_spawn(io, "claim", claim_flow, c);
}

static bool claim_done(void *arg)
{
    return ((struct claimer *)arg)->done;
}

static enum fleet_claim_end claim_now(struct stage *g, unsigned i)
{
    claim_start(g, i);
    assert_true(sim_run_until(g->sim, claim_done, &g->c[i], IO_SEC(120)));
    assert_int_equal(g->c[i].rc, IO_OK);
    return g->c[i].claim.end;
}

static void put_owner(struct stage *g, const char *node, char digit, uint64_t epoch)
{
    struct store_owner o = {.epoch = epoch};
    if (node != NULL)
        session_of(o.session, node, digit);
    struct cd_buf body = {0};
    store_owner_write(&body, &o);
    sim_store_put_truth(g->sim, CD_STR(KEY), cd_buf_str(&body));
    cd_buf_deinit(&body);
}

enum lease_log { NO_LOG, OPEN_LOG, SEALED_LOG };

static void put_lease(struct stage *g, const char *node, char digit, bool live, enum lease_log log)
{
    struct store_lease l = {.seq = 1, .ttl_ms = RIG_TTL_MS, .peer_protocol = 1};
    (void)snprintf(l.node, sizeof l.node, "%s", node);
    memcpy(l.generation, rig_generation(digit), STORE_GENERATION_LEN);
    memcpy(l.probe_key, rig_generation(digit), STORE_GENERATION_LEN);
    (void)snprintf(l.addr, sizeof l.addr, "10.0.0.9:1");
    int64_t now = io_wall_ms(sim_io(g->c[2].node, 0));
    l.expires_ms = (uint64_t)now + (live ? 600000 : 0);
    l.has_log = log != NO_LOG;
    if (l.has_log)
        l.log.state = log == OPEN_LOG ? STORE_LOG_OPEN : STORE_LOG_SEALED;
    store_load_init(&l.load);
    struct cd_buf key = {0}, body = {0};
    store_key_lease(&key, cd_str(node));
    store_lease_write(&body, &l);
    sim_store_put_truth(g->sim, cd_buf_str(&key), cd_buf_str(&body));
    cd_buf_deinit(&key);
    cd_buf_deinit(&body);
}

static void test_the_first_claim_is_fresh_and_each_wake_takes_a_new_epoch(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, 0);
    assert_int_equal(claim_now(&g, 0), FLEET_CLAIM_OWNED);
    assert_int_equal(g.c[0].claim.epoch, 1);
    assert_int_equal(g.c[0].claim.from, FLEET_CLAIM_FRESH);
    assert_string_equal(g.c[0].claim.prior, "");
    for (uint64_t e = 2; e < 5; e++) {
        assert_int_equal(claim_now(&g, 0), FLEET_CLAIM_OWNED);
        assert_int_equal(g.c[0].claim.epoch, e);
        assert_int_equal(g.c[0].claim.from, FLEET_CLAIM_LOCAL);
        assert_string_equal(g.c[0].claim.prior, g.c[0].self.session);
        assert_int_equal(g.epoch, e);
    }
    stage_close(&g);
}

static void test_a_released_cell_is_anybodys(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, 0);
    put_owner(&g, NULL, 0, 7);
    assert_int_equal(claim_now(&g, 1), FLEET_CLAIM_OWNED);
    assert_int_equal(g.c[1].claim.epoch, 8);
    assert_int_equal(g.c[1].claim.from, FLEET_CLAIM_RELEASED);
    stage_close(&g);
}

static void test_a_live_owner_keeps_its_cell(void **state)
{
    (void)state;
    for (unsigned later = 0; later < 2;
         later++) { /* Also when it is a later session of that node that lives. */
        struct stage g;
        stage_open(&g, 0);
        put_owner(&g, "b", later ? '8' : '2', 4);
        put_lease(&g, "b", '2', true, OPEN_LOG);
        assert_int_equal(claim_now(&g, 0), FLEET_CLAIM_REMOTE);
        assert_string_equal(g.c[0].claim.addr, "10.0.0.9:1");
        assert_true(strlen(g.c[0].claim.why) > 10);
        assert_int_equal(g.epoch, 4);
        assert_int_equal(g.writes, 0);
        /* In a store that belongs to one process nobody else can live. */
        g.c[0].self.sole = true;
        g.recoverer.end = LOG_RECOVER_REFUSED;
        enum fleet_claim_end want = later ? FLEET_CLAIM_OWNED : FLEET_CLAIM_REFUSED;
        assert_int_equal(claim_now(&g, 0), want);
        stage_close(&g);
    }
}

static void test_a_dead_owner_is_taken_only_once_it_is_finished(void **state)
{
    (void)state;
    static const struct {
        enum lease_log log;
        char generation;
        bool lease, recovers;
    } rows[] = {
        {SEALED_LOG, '2', true, false}, {OPEN_LOG, '8', true, false}, {NO_LOG, '2', true, true},
        {OPEN_LOG, '2', true, true},    {NO_LOG, '2', false, true},
    };
    for (size_t i = 0; i < CD_COUNT(rows); i++) {
        struct stage g;
        stage_open(&g, 0);
        put_owner(&g, "b", '2', 4);
        if (rows[i].lease)
            put_lease(&g, "b", rows[i].generation, false, rows[i].log);
        g.recoverer.end = LOG_RECOVER_FAILED;
        g.c[0].loop = i % 2; /* From a shard the recovery is asked for at the control loop. */
        if (rows[i].recovers) {
            assert_int_equal(claim_now(&g, 0), FLEET_CLAIM_RECOVERING);
            assert_int_equal(g.recoverer.calls, 1);
            assert_int_equal(g.writes, 0);
            g.recoverer.end = LOG_RECOVER_FINISHED;
            g.recoverer.ns = IO_SEC(20); /* Longer than the claim's own time. */
        }
        assert_int_equal(claim_now(&g, 0), FLEET_CLAIM_OWNED);
        assert_int_equal(g.c[0].claim.epoch, 5);
        assert_int_equal(g.c[0].claim.from, FLEET_CLAIM_TAKEOVER);
        assert_string_equal(g.c[0].claim.prior, g.c[1].self.session);
        assert_int_equal(g.recoverer.calls, rows[i].recovers ? 2 : 0);
        /* That it is finished is remembered. */
        if (rows[i].recovers) {
            put_owner(&g, "b", '2', 9);
            assert_int_equal(claim_now(&g, 0), FLEET_CLAIM_OWNED);
            assert_int_equal(g.recoverer.calls, 2);
        }
        stage_close(&g);
    }
}

static void test_an_owner_that_came_back_during_the_wait_keeps_its_cell(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, 0);
    put_owner(&g, "b", '2', 4);
    put_lease(&g, "b", '2', false, OPEN_LOG);
    g.recoverer = (struct fake_recoverer){.end = LOG_RECOVER_ALIVE, .ns = IO_SEC(1)};
    claim_start(&g, 0);
    sim_run_for(g.sim, IO_MS(500));
    put_lease(&g, "b", '2', true, OPEN_LOG);
    assert_true(sim_run_until(g.sim, claim_done, &g.c[0], IO_SEC(60)));
    assert_int_equal(g.c[0].claim.end, FLEET_CLAIM_REMOTE);
    assert_int_equal(g.writes, 0);
    stage_close(&g);
}

static void test_an_earlier_session_of_this_node_is_ours_and_a_later_one_is_not(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, 0);
    put_owner(&g, "a", '9', 4);
    put_lease(&g, "a", '1', true, NO_LOG);
    assert_int_equal(claim_now(&g, 0), FLEET_CLAIM_OWNED);
    assert_int_equal(g.c[0].claim.epoch, 5);
    assert_int_equal(g.c[0].claim.from, FLEET_CLAIM_LOCAL);
    /* Known for ever: the lease needs no second look. */
    put_owner(&g, "a", '9', 7);
    sim_store_delete_truth(g.sim, CD_STR("nodes/a.json"));
    assert_int_equal(claim_now(&g, 0), FLEET_CLAIM_OWNED);
    /* A second process with our id was here, and claimed: we must not hide its session from the others. */
    put_owner(&g, "a", '8', 9);
    put_lease(&g, "a", '8', true, NO_LOG);
    assert_int_equal(claim_now(&g, 0), FLEET_CLAIM_REFUSED);
    assert_int_equal(g.epoch, 9);
    stage_close(&g);
}

static void test_nothing_is_claimed_without_authority(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, 0);
    g.c[0].authority = (struct fleet_authority){0};
    assert_int_equal(claim_now(&g, 0), FLEET_CLAIM_REFUSED);
    /* It ends while the record is being read. */
    fleet_authority_grant(&g.c[0].authority, io_now_ns(sim_io(g.c[0].node, 0)) + IO_MS(1));
    assert_int_equal(claim_now(&g, 0), FLEET_CLAIM_REFUSED);
    assert_int_equal(g.writes, 0);
    stage_close(&g);
}

static void test_a_record_that_cannot_be_read_is_not_absent(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, 0);
    sim_store_put_truth(g.sim, CD_STR("cells/Room:y/owner.json"), CD_STR("{}"));
    struct claimer *c = &g.c[0];
    claim_start(&g, 0);
    c->claim.scope = CD_STR("Room:y");
    assert_true(sim_run_until(g.sim, claim_done, c, IO_SEC(60)));
    assert_int_equal(c->claim.end, FLEET_CLAIM_FAILED);
    assert_true(c->claim.unreadable);
    assert_true(strstr(c->claim.why, "cells/Room:y/owner.json: ") != NULL);
    struct sim_object o;
    assert_true(sim_store_get_truth(g.sim, CD_STR("cells/Room:y/owner.json"), &o));
    assert_str_is(o.body, "{}");
    stage_close(&g);
}

/* Whatever happens to one request, the claim ends in bounded time, and the next one works. */
static void test_one_unclear_answer_never_gives_an_epoch_twice(void **state)
{
    (void)state;
    static const enum sim_store_effect effects[] = {
        SIM_STORE_HOLD_ANSWER, SIM_STORE_LOSE_ANSWER, SIM_STORE_LOSE_REQUEST, SIM_STORE_LATE,
        SIM_STORE_THROTTLE,    SIM_STORE_FAIL,        SIM_STORE_FAIL_DONE,    SIM_STORE_DOWN};
    static const char *const ops[] = {"get", "put"};
    for (size_t i = 0; i < CD_COUNT(effects) * 4; i++) {
        struct stage g;
        stage_open(&g, i);
        if (i % 4 >= 2)
            put_owner(&g, "a", '1', 3);
        struct sim_store_rule rule = {
            .effect = effects[i / 4], .op = ops[i % 2], .pattern = KEY, .ns = IO_SEC(20), .times = 1};
        sim_store_rule(g.sim, &rule);
        enum fleet_claim_end end = claim_now(&g, 0);
        assert_true(end == FLEET_CLAIM_OWNED || end == FLEET_CLAIM_FAILED);
        uint64_t first = end == FLEET_CLAIM_OWNED ? g.c[0].claim.epoch : 0;
        assert_int_equal(claim_now(&g, 0), FLEET_CLAIM_OWNED);
        assert_true(g.c[0].claim.epoch > first);
        uint64_t second = g.c[0].claim.epoch;
        sim_run_for(g.sim, IO_SEC(60)); /* What was late has landed, or never does. */
        assert_int_equal(claim_now(&g, 0), FLEET_CLAIM_OWNED);
        assert_true(g.c[0].claim.epoch > second);
        stage_close(&g);
    }
}

static bool has_put(void *arg)
{
    return sim_calls(((struct claimer *)arg)->node, "store.put") > 0;
}

static void test_an_ambiguous_claim_that_lost_is_not_sent_over_the_winner(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, 0);
    put_owner(&g, NULL, 0, 5);
    put_lease(&g, "b", '2', true, NO_LOG);
    struct sim_store_rule rule = {
        .effect = SIM_STORE_LOSE_REQUEST, .node = g.c[0].node, .op = "put", .pattern = KEY, .times = 1};
    sim_store_rule(g.sim, &rule);
    claim_start(&g, 0);
    assert_true(sim_run_until(g.sim, has_put, &g.c[0], IO_SEC(1)));
    /* The other one is faster than the look at what became of it. */
    sim_store_rule(g.sim, &(struct sim_store_rule){
                              .effect = SIM_STORE_SLOW, .node = g.c[0].node, .op = "get", .ns = IO_MS(300)});
    claim_start(&g, 1);
    assert_true(sim_run_until(g.sim, claim_done, &g.c[1], IO_SEC(60)));
    assert_int_equal(g.c[1].claim.end, FLEET_CLAIM_OWNED);
    assert_int_equal(g.c[1].claim.epoch, 6);
    assert_true(sim_run_until(g.sim, claim_done, &g.c[0], IO_SEC(60)));
    assert_int_equal(g.c[0].claim.end, FLEET_CLAIM_REMOTE);
    assert_int_equal(sim_marks(g.sim, "fleet.claim_ambiguous"), 1);
    assert_int_equal(g.epoch, 6);
    assert_string_equal(g.owner, g.c[1].self.session);
    stage_close(&g);
}

/* The record moved while a claim was unclear: who lives is asked anew of the lease, which may have moved as
 * well. What was read before is that of the owner before, whose session was dead. */
static void test_a_record_that_moved_during_an_unclear_claim_is_judged_by_the_lease_of_now(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, 0);
    put_owner(&g, "b", '2', 5);
    put_lease(&g, "b", '2', false, SEALED_LOG);
    sim_store_rule(
        g.sim,
        &(struct sim_store_rule){
            .effect = SIM_STORE_LOSE_REQUEST, .node = g.c[0].node, .op = "put", .pattern = KEY, .times = 1});
    claim_start(&g, 0);
    assert_true(sim_run_until(g.sim, has_put, &g.c[0], IO_SEC(1)));
    put_lease(&g, "b", '3', true, NO_LOG);
    put_owner(&g, "b", '3', 6);
    assert_true(sim_run_until(g.sim, claim_done, &g.c[0], IO_SEC(60)));
    assert_int_equal(sim_marks(g.sim, "fleet.claim_ambiguous"), 1);
    assert_int_equal(g.c[0].claim.end, FLEET_CLAIM_REMOTE);
    assert_int_equal(g.c[0].claim.epoch, 6);
    assert_int_equal(g.writes, 0);
    char live[STORE_SESSION_MAX + 1];
    session_of(live, "b", '3');
    assert_string_equal(g.c[0].claim.live, live);
    stage_close(&g);
}

/* Claimants that race over a released or absent record: one wins each epoch, the others see it. */
static uint64_t race(uint64_t seed, unsigned *owned)
{
    struct stage g;
    stage_open(&g, seed);
    sim_store_set(g.sim, &(struct sim_store_opts){.latency_ns = IO_MS(10),
                                                  .jitter_ns = IO_MS(50),
                                                  .tokens_by_generation = seed % 2 == 0,
                                                  .throttle_ppm = 20000,
                                                  .fail_ppm = 50000,
                                                  .lose_request_ppm = 50000,
                                                  .lose_answer_ppm = 50000,
                                                  .late_ppm = 50000,
                                                  .late_ns = IO_SEC(10)});
    g.recoverer.end = LOG_RECOVER_FINISHED;
    put_lease(&g, "a", '1', true, OPEN_LOG);
    put_lease(&g, "b", '2', false, SEALED_LOG);
    put_lease(&g, "c", '3', false, NO_LOG);
    struct cd_rng rng;
    sim_rng(g.sim, "plan", &rng);
    uint64_t last = 0;
    for (unsigned round = 0; round < 6; round++) {
        for (unsigned i = 0; i < 3; i++)
            claim_start(&g, i);
        for (unsigned i = 0; i < 3; i++)
            assert_true(sim_run_until(g.sim, claim_done, &g.c[i], IO_SEC(300)));
        for (unsigned i = 0; i < 3; i++) {
            if (g.c[i].claim.end != FLEET_CLAIM_OWNED)
                continue;
            (*owned)++;
            assert_true(g.c[i].claim.epoch > last);
            for (unsigned j = 0; j < i; j++)
                assert_true(g.c[j].claim.end != FLEET_CLAIM_OWNED ||
                            g.c[j].claim.epoch != g.c[i].claim.epoch);
        }
        sim_run_for(g.sim, IO_MS(cd_rng_below(&rng, 12000)));
        last = g.epoch;
    }
    uint64_t hash = sim_hash(g.sim);
    stage_close(&g);
    return hash;
}

static void test_racing_claimants_never_share_an_epoch(void **state)
{
    (void)state;
    unsigned owned = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t first = race(seed, &owned);
        if (seed <= 6)
            assert_true(first == race(seed, &owned));
    }
    assert_true(owned > 100);
}

static void test_a_crash_in_any_call_of_a_claim_leaves_a_record_that_can_be_claimed(void **state)
{
    (void)state;
    bool hit = true;
    unsigned deaths = 0;
    for (uint64_t k = 1; hit; k++) {
        struct stage g;
        stage_open(&g, k);
        put_owner(&g, "b", '2', 4);
        put_lease(&g, "b", '2', false, OPEN_LOG);
        g.recoverer = (struct fake_recoverer){.end = LOG_RECOVER_FINISHED, .ns = IO_MS(5)};
        hit = false;
        assert_true(sim_at_call(g.c[0].node, "any", k, SIM_DIE_KILL, 0, &hit));
        g.c[0].loop = 1;
        claim_start(&g, 0);
        sim_run_for(g.sim, IO_SEC(5));
        deaths += hit;
        assert_true(g.c[0].done);
        assert_int_equal(sim_node_life(g.c[0].node), hit ? SIM_DEAD : SIM_UP);
        put_lease(&g, "a", '1', false, SEALED_LOG);
        assert_int_equal(claim_now(&g, 2), FLEET_CLAIM_OWNED);
        assert_true(g.c[2].claim.epoch == 5 || g.c[2].claim.epoch == 6);
        stage_close(&g);
    }
    assert_true(deaths >= 4);
}

/* ---- Release ---- */

struct release {
    struct claimer *c;
    uint64_t epoch, taken;
    char token[IO_TOKEN_MAX];
    bool adopts;
    int rc;
    bool done;
};

static void release_flow(void *arg)
{
    struct release *r = arg;
    struct io *io = sim_io(r->c->node, 0);
    uint64_t until = io_now_ns(io) + IO_SEC(15);
    if (r->adopts)
        r->rc =
            fleet_adopt(io, io_bucket(io), &r->c->self, CD_STR(SCOPE), r->epoch, until, r->token, &r->taken);
    else
        r->rc = fleet_release(io, io_bucket(io), &r->c->self, CD_STR(SCOPE), r->epoch, until, r->token);
    r->done = true;
}

static bool release_done(void *arg)
{
    return ((struct release *)arg)->done;
}

static int run_release(struct stage *g, struct release *r)
{
    r->done = false;
    (void)io_spawn(sim_io(r->c->node, 0), "release", release_flow, r);
    assert_true(sim_run_until(g->sim, release_done, r, IO_SEC(60)));
    return r->rc;
}

static int release_now(struct stage *g, unsigned i, uint64_t epoch)
{
    struct release r = {.c = &g->c[i], .epoch = epoch};
    return run_release(g, &r);
}

static void test_whoever_knows_the_record_by_its_token_gives_and_takes_it_without_reading(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, 0);
    assert_int_equal(claim_now(&g, 0), FLEET_CLAIM_OWNED);
    sim_store_rule(g.sim, &(struct sim_store_rule){.effect = SIM_STORE_DOWN, .op = "get"});
    struct release give = {.c = &g.c[0], .epoch = 1};
    memcpy(give.token, g.c[0].claim.token, sizeof give.token);
    assert_int_equal(run_release(&g, &give), IO_OK);
    struct release take = {.c = &g.c[1], .epoch = 1, .adopts = true};
    memcpy(take.token, give.token, sizeof take.token);
    assert_int_equal(run_release(&g, &take), IO_OK);
    assert_int_equal(take.taken, 2);
    assert_string_equal(g.owner, g.c[1].self.session);
    struct release back = {.c = &g.c[1], .epoch = 2};
    memcpy(back.token, take.token, sizeof back.token);
    assert_int_equal(run_release(&g, &back), IO_OK);
    assert_int_equal(g.writes, 4);
    sim_store_heal(g.sim);
    /* A token of another state of the record proves nothing: then it is read. */
    memcpy(take.token, give.token, sizeof take.token);
    assert_int_equal(run_release(&g, &take), CD_EFENCED);
    take.epoch = 2;
    assert_int_equal(run_release(&g, &take), IO_OK);
    assert_int_equal(take.taken, 3);
    memcpy(give.token, g.c[0].claim.token, sizeof give.token);
    assert_int_equal(run_release(&g, &give), CD_EFENCED);
    assert_int_equal(g.epoch, 3);
    stage_close(&g);
}

static void test_only_the_owner_releases_and_only_its_epoch(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, 0);
    put_owner(&g, "a", '1', 4);
    assert_int_equal(release_now(&g, 1, 4), CD_EFENCED);
    assert_int_equal(release_now(&g, 0, 3), CD_EFENCED);
    assert_int_equal(g.writes, 0);
    sim_store_rule(g.sim, &(struct sim_store_rule){.effect = SIM_STORE_LOSE_ANSWER, .op = "put", .times = 1});
    assert_int_equal(release_now(&g, 0, 4), IO_OK);
    assert_string_equal(g.owner, "");
    assert_int_equal(g.epoch, 4);
    assert_int_equal(release_now(&g, 0, 4), IO_OK);
    assert_int_equal(g.writes, 1);
    put_owner(&g, "a", '7', 5); /* An earlier session of the node. */
    assert_int_equal(release_now(&g, 0, 5), IO_OK);
    put_owner(&g, "a", '1', 6);
    g.c[0].authority = (struct fleet_authority){0};
    assert_int_equal(release_now(&g, 0, 6), IO_DENIED);
    stage_close(&g);
}

static int adopt_now(struct stage *g, unsigned i, uint64_t epoch, uint64_t *taken)
{
    struct release r = {.c = &g->c[i], .epoch = epoch, .adopts = true};
    int rc = run_release(g, &r);
    *taken = r.taken;
    return rc;
}

static void test_an_adoption_is_in_the_record_when_it_is_answered(void **state)
{
    (void)state;
    struct stage g;
    uint64_t taken;
    stage_open(&g, 0);
    put_owner(&g, "a", '1', 4);
    assert_int_equal(adopt_now(&g, 1, 4, &taken), CD_EFENCED); /* It has an owner. */
    assert_int_equal(release_now(&g, 0, 4), IO_OK);
    assert_int_equal(adopt_now(&g, 1, 3, &taken), CD_EFENCED);
    sim_store_rule(g.sim, &(struct sim_store_rule){.effect = SIM_STORE_LOSE_ANSWER, .op = "put", .times = 1});
    assert_int_equal(adopt_now(&g, 1, 4, &taken), IO_OK);
    assert_int_equal(taken, 5);
    assert_string_equal(g.owner, g.c[1].self.session);
    assert_int_equal(g.epoch, 5);
    assert_int_equal(adopt_now(&g, 1, 4, &taken), IO_OK); /* Asked twice. */
    assert_int_equal(taken, 5);
    assert_int_equal(g.epoch, 5);
    stage_close(&g);
}

static void test_a_clock_that_is_ahead_judges_later(void **state)
{
    (void)state;
    struct store_lease l = {.expires_ms = 1000};
    assert_false(fleet_lease_dead(&l, 999, 0, false));
    assert_true(fleet_lease_dead(&l, 1000, 0, false));
    assert_false(fleet_lease_dead(&l, 1499, 500, false));
    assert_true(fleet_lease_dead(&l, 1500, 500, false));
    assert_true(fleet_lease_dead(&l, 0, 0, true));
    assert_false(fleet_lease_dead(&l, -5, 0, false));
}

CD_TESTS(claim, cmocka_unit_test(test_the_first_claim_is_fresh_and_each_wake_takes_a_new_epoch),
         cmocka_unit_test(test_a_released_cell_is_anybodys),
         cmocka_unit_test(test_a_live_owner_keeps_its_cell),
         cmocka_unit_test(test_a_dead_owner_is_taken_only_once_it_is_finished),
         cmocka_unit_test(test_an_owner_that_came_back_during_the_wait_keeps_its_cell),
         cmocka_unit_test(test_an_earlier_session_of_this_node_is_ours_and_a_later_one_is_not),
         cmocka_unit_test(test_nothing_is_claimed_without_authority),
         cmocka_unit_test(test_a_record_that_cannot_be_read_is_not_absent),
         cmocka_unit_test(test_one_unclear_answer_never_gives_an_epoch_twice),
         cmocka_unit_test(test_an_ambiguous_claim_that_lost_is_not_sent_over_the_winner),
         cmocka_unit_test(test_a_record_that_moved_during_an_unclear_claim_is_judged_by_the_lease_of_now),
         cmocka_unit_test(test_racing_claimants_never_share_an_epoch),
         cmocka_unit_test(test_a_crash_in_any_call_of_a_claim_leaves_a_record_that_can_be_claimed),
         cmocka_unit_test(test_only_the_owner_releases_and_only_its_epoch),
         cmocka_unit_test(test_whoever_knows_the_record_by_its_token_gives_and_takes_it_without_reading),
         cmocka_unit_test(test_an_adoption_is_in_the_record_when_it_is_answered),
         cmocka_unit_test(test_a_clock_that_is_ahead_judges_later))
