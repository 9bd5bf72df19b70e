/* The contract of the object store (fleet.md 3.1, 3.3): objects, conditions, ranges, races. */
#include "store_support.h"

#include "base/rng.h"

static void flow_an_object_comes_back_as_it_was_put(struct contract *c)
{
    static const size_t sizes[] = {0, 1, 511, 4096, 70000};
    for (size_t i = 0; i < CD_COUNT(sizes); i++) {
        struct io_store s = {0};
        struct cd_buf body = {0}, got = {0};
        char token[IO_TOKEN_MAX] = "", read[IO_TOKEN_MAX] = "";
        pattern_fill(cd_buf_reserve(&body, sizes[i]), sizes[i], 7);
        body.len = sizes[i];
        CHECK_INT(store_put(c, "a/object", cd_buf_str(&body), IO_PUT_ANY, token), IO_OK);
        CHECK_INT(store_get(c, "a/object", 0, IO_WHOLE, &got, read), IO_OK);
        CHECK(cd_str_eq(cd_buf_str(&got), cd_buf_str(&body)));
        CHECK(strcmp(read, token) == 0);
        io_store_head(&s, c->bucket, CD_STR("a/object"), NULL);
        CHECK_INT(store_end(&s, false), IO_OK);
        CHECK_INT(s.size, sizes[i]);
        CHECK(strcmp(s.token, token) == 0);
        int64_t age = io_wall_ms(c->io) - s.modified_ms;
        CHECK(age > -120000 && age < 120000);
        int64_t ahead = io_wall_ms(c->io) - s.date_ms;
        CHECK(s.date_ms == 0 || (ahead > -120000 && ahead < 120000)); /* The embedded store has no clock. */
        CHECK(s.body.len == 0);
        cd_buf_deinit(&body);
        cd_buf_deinit(&got);
    }
}

static void flow_what_is_absent_is_said_to_be(struct contract *c)
{
    struct io_store s = {0};
    CHECK_INT(store_get(c, "nothing", 0, IO_WHOLE, NULL, NULL), IO_NOENT);
    CHECK_INT(store_get(c, "nothing", 5, 5, NULL, NULL), IO_NOENT);
    io_store_head(&s, c->bucket, CD_STR("nothing"), NULL);
    CHECK_INT(store_end(&s, false), IO_NOENT);
    CHECK_INT(store_delete(c, "nothing"), IO_OK);
    CHECK_INT(store_put_text(c, "thing", "x", IO_PUT_ANY, NULL), IO_OK);
    CHECK_INT(store_delete(c, "thing"), IO_OK);
    CHECK(store_holds(c, "thing", NULL));
    CHECK_INT(store_put_text(c, "thing", "y", IO_PUT_ANY, NULL), IO_OK); /* At once, over the delete. */
    CHECK(store_holds(c, "thing", "y"));
}

static void flow_a_create_succeeds_once(struct contract *c)
{
    char token[IO_TOKEN_MAX] = "", second[IO_TOKEN_MAX] = "unchanged";
    CHECK_INT(store_put_text(c, "k", "first", IO_PUT_IF_ABSENT, token), IO_OK);
    CHECK_INT(store_put_text(c, "k", "second", IO_PUT_IF_ABSENT, second), IO_CONFLICT);
    CHECK(strcmp(second, "unchanged") == 0);
    CHECK(store_holds(c, "k", "first"));
    CHECK_INT(store_delete(c, "k"), IO_OK);
    CHECK_INT(store_put_text(c, "k", "third", IO_PUT_IF_ABSENT, NULL), IO_OK);
    CHECK(store_holds(c, "k", "third"));
}

static void flow_an_overwrite_needs_the_token_of_what_is_there(struct contract *c)
{
    char t1[IO_TOKEN_MAX] = "", t2[IO_TOKEN_MAX], read[IO_TOKEN_MAX] = "";
    CHECK_INT(store_put_text(c, "k", "one", IO_PUT_IF_ABSENT, t1), IO_OK);
    memcpy(t2, t1, sizeof t2);
    CHECK_INT(store_put_text(c, "k", "two", IO_PUT_IF_MATCH, t2), IO_OK);
    CHECK(strcmp(t1, t2) != 0);
    CHECK_INT(store_put_text(c, "k", "three", IO_PUT_IF_MATCH, t1), IO_CONFLICT);
    CHECK(store_holds(c, "k", "two"));
    CHECK_INT(store_get(c, "k", 1, 1, NULL, read), IO_OK); /* A token of a ranged read will do. */
    CHECK_INT(store_put_text(c, "k", "four", IO_PUT_IF_MATCH, read), IO_OK);
    CHECK(store_holds(c, "k", "four"));
    CHECK_INT(store_put_text(c, "k", "five", IO_PUT_ANY, NULL), IO_OK);
    CHECK_INT(store_put_text(c, "k", "six", IO_PUT_IF_MATCH, read), IO_CONFLICT);
    CHECK(store_holds(c, "k", "five"));
    CHECK_INT(store_put_text(c, "absent", "x", IO_PUT_IF_MATCH, read), IO_CONFLICT);
    CHECK(store_holds(c, "absent", NULL));
    CHECK_INT(store_delete(c, "k"), IO_OK);
    CHECK_INT(store_put_text(c, "k", "six", IO_PUT_IF_MATCH, read), IO_CONFLICT);
    CHECK(store_holds(c, "k", NULL));
}

static void range_is(struct contract *c, uint64_t from, uint64_t len, const char *want)
{
    struct io_store s = {0};
    io_store_get(&s, c->bucket, CD_STR("letters"), from, len, NULL);
    int status = store_end(&s, false);
    if (want == NULL) {
        CHECK_INT(status, IO_EOF);
    } else {
        CHECK_INT(status, IO_OK);
        CHECK(cd_str_eq(cd_buf_str(&s.body), cd_str(want)));
        CHECK_INT(s.size, 26);
        CHECK(s.token[0] != 0);
    }
    cd_buf_deinit(&s.body);
}

static void flow_a_range_is_exactly_the_bytes_asked_for(struct contract *c)
{
    CHECK_INT(store_put_text(c, "letters", "abcdefghijklmnopqrstuvwxyz", IO_PUT_ANY, NULL), IO_OK);
    range_is(c, 0, 1, "a");
    range_is(c, 2, 4, "cdef");
    range_is(c, 0, 26, "abcdefghijklmnopqrstuvwxyz");
    range_is(c, 0, 27, "abcdefghijklmnopqrstuvwxyz");
    range_is(c, 20, IO_WHOLE, "uvwxyz");
    range_is(c, 20, 100, "uvwxyz");
    range_is(c, 20, IO_WHOLE - 1, "uvwxyz");
    range_is(c, 25, 1, "z");
    range_is(c, 26, 1, NULL);
    range_is(c, 26, IO_WHOLE, NULL);
    range_is(c, UINT64_C(1) << 40, 7, NULL);
    CHECK_INT(store_put_text(c, "empty", "", IO_PUT_ANY, NULL), IO_OK);
    CHECK_INT(store_get(c, "empty", 0, IO_WHOLE, NULL, NULL), IO_OK);
    CHECK_INT(store_get(c, "empty", 0, 10, NULL, NULL), IO_EOF);
}

static void flow_the_body_of_an_op_is_replaced(struct contract *c)
{
    struct io_store s = {0};
    CHECK_INT(store_put_text(c, "long", "0123456789", IO_PUT_ANY, NULL), IO_OK);
    CHECK_INT(store_put_text(c, "short", "ab", IO_PUT_ANY, NULL), IO_OK);
    io_store_get(&s, c->bucket, CD_STR("long"), 0, IO_WHOLE, NULL);
    CHECK_INT(store_end(&s, false), IO_OK);
    io_store_get(&s, c->bucket, CD_STR("short"), 0, IO_WHOLE, NULL);
    CHECK_INT(store_end(&s, false), IO_OK);
    CHECK(cd_str_eq(cd_buf_str(&s.body), CD_STR("ab")));
    io_store_get(&s, c->bucket, CD_STR("nothing"), 0, IO_WHOLE, NULL);
    CHECK_INT(store_end(&s, false), IO_NOENT);
    CHECK(s.body.len == 0 && s.size == 0);
    cd_buf_deinit(&s.body);
}

static void flow_a_large_body_is_whole(struct contract *c)
{
    enum { SIZE = 16 << 20 };
    struct cd_buf body = {0}, got = {0};
    pattern_fill(cd_buf_reserve(&body, SIZE), SIZE, 0);
    body.len = SIZE;
    CHECK_INT(store_put(c, "large", cd_buf_str(&body), IO_PUT_IF_ABSENT, NULL), IO_OK);
    CHECK_INT(store_put(c, "large", cd_buf_str(&body), IO_PUT_IF_ABSENT, NULL), IO_CONFLICT);
    CHECK_INT(store_get(c, "large", 0, IO_WHOLE, &got, NULL), IO_OK);
    CHECK(got.len == SIZE && pattern_is(got.ptr, SIZE, 0));
    CHECK_INT(store_get(c, "large", SIZE / 2 - 3, 1 << 20, &got, NULL), IO_OK);
    CHECK(got.len == 1 << 20 && pattern_is(got.ptr, 1 << 20, SIZE / 2 - 3));
    CHECK_INT(store_delete(c, "large"), IO_OK);
    cd_buf_deinit(&body);
    cd_buf_deinit(&got);
}

static void flow_bodies_and_keys_have_limits(struct contract *c)
{
    char key[IO_KEY_MAX + 2];
    static const char *const bad[] = {"", "a\nb", "a\x7f", "a\x01", "\xff", "\xc3", "a\xed\xa0\x80"};
    for (size_t i = 0; i < CD_COUNT(bad); i++) {
        CHECK_INT(store_put_text(c, bad[i], "x", IO_PUT_ANY, NULL), CD_EINVAL);
        CHECK_INT(store_get(c, bad[i], 0, IO_WHOLE, NULL, NULL), CD_EINVAL);
        CHECK_INT(store_delete(c, bad[i]), CD_EINVAL);
    }
    memset(key, 'k', sizeof key);
    key[IO_KEY_MAX + 1] = 0;
    CHECK_INT(store_put_text(c, key, "x", IO_PUT_ANY, NULL), CD_EINVAL);
    key[900] = 0; /* The rest is for the bucket's prefix. */
    CHECK_INT(store_put_text(c, key, "x", IO_PUT_ANY, NULL), IO_OK);
    CHECK(store_holds(c, key, "x"));
    CHECK_INT(store_put(c, "k", (struct cd_str){key, (size_t)IO_BODY_MAX + 1}, IO_PUT_ANY, NULL), IO_TOOBIG);
}

/* ---- Races ---- */

#define RACERS 16

struct race {
    struct io_store op[RACERS];
    char body[RACERS][16];
    unsigned left;
    struct io_signal over;
};

static struct race *racing;

static void race_done(struct io_op *op, int status)
{
    (void)op;
    (void)status;
    if (--racing->left == 0)
        io_signal_wake(&racing->over, IO_OK);
}

/* All at once; one wins, and its bytes are there. No body comes twice: a store may make tokens of bytes.
 * Returns its token through token. */
static void race_run(struct contract *c, const char *key, unsigned lap, enum io_put how, char *token)
{
    struct race r = {.left = RACERS};
    struct io_op wait = {0};
    unsigned won = 0, winner = 0;
    racing = &r;
    io_signal_init(&r.over);
    for (unsigned i = 0; i < RACERS; i++) {
        (void)snprintf(r.body[i], sizeof r.body[i], "lap %u by %u", lap, i);
        memcpy(r.op[i].token, token, IO_TOKEN_MAX);
        r.op[i].lane = i % 2 == 0 ? IO_LANE_LOG : IO_LANE_CONTROL;
        io_store_put(&r.op[i], c->bucket, cd_str(key), cd_str(r.body[i]), how, race_done);
    }
    while (r.left > 0) {
        io_signal_wait(&r.over, c->io, &wait, NULL);
        CHECK_INT(await(&wait), IO_OK);
    }
    for (unsigned i = 0; i < RACERS; i++) {
        if (r.op[i].outcome == IO_DONE) {
            won++;
            winner = i;
            continue;
        }
        if (r.op[i].op.status != IO_CONFLICT)
            (void)fprintf(stderr, "racer %u: %d %s\n", i, r.op[i].op.status, r.op[i].why);
        CHECK_INT(r.op[i].op.status, IO_CONFLICT);
        CHECK_INT(r.op[i].outcome, IO_REJECTED);
    }
    CHECK_INT(won, 1);
    CHECK(store_holds(c, key, r.body[winner]));
    memcpy(token, r.op[winner].token, IO_TOKEN_MAX);
}

static void flow_of_racing_writes_one_wins(struct contract *c)
{
    for (unsigned round = 0; round < 5; round++) {
        char key[32], token[IO_TOKEN_MAX] = "";
        (void)snprintf(key, sizeof key, "race/%u", round);
        race_run(c, key, 0, IO_PUT_IF_ABSENT, token);
        race_run(c, key, 1, IO_PUT_IF_MATCH, token);
        race_run(c, key, 2, IO_PUT_IF_MATCH, token);
    }
}

#define ADDERS 4
#define ADDS 6

static void add_one(struct contract *c, struct io_bucket *b, uint64_t n)
{
    for (unsigned tries = 0; tries < 500; tries++) {
        struct io_store s = {0}, w = {0};
        uint64_t count;
        char next[64];
        io_store_get(&s, b, CD_STR("counter"), 0, IO_WHOLE, NULL);
        int status = store_end(&s, false);
        if (status == IO_FAULT) /* A read beside an overwrite may fail (moto does), as long as it says so. */
            continue;
        CHECK_INT(status, IO_OK);
        struct cd_str text = cd_buf_str(&s.body);
        CHECK_INT(cd_str_u64(cd_str_sub(text, 0, cd_str_find(text, ' ', 0)), &count), 0);
        /* A mark that never repeats: the token of equal bytes may be equal. */
        (void)snprintf(next, sizeof next, "%llu by %llu.%u", (unsigned long long)count + 1,
                       (unsigned long long)n, tries);
        memcpy(w.token, s.token, sizeof w.token);
        io_store_put(&w, b, CD_STR("counter"), cd_str(next), IO_PUT_IF_MATCH, NULL);
        status = store_end(&w, true);
        cd_buf_deinit(&s.body);
        if (status == IO_OK)
            return;
        CHECK_INT(status, IO_CONFLICT);
        (void)io_sleep(io_current(), io_random_below(io_current(), IO_RAND_JITTER, IO_MS(10)));
    }
    (void)c;
    CHECK(false); /* 500 tries were lost. */
}

struct adder {
    struct contract *c;
    struct io *io;
    uint64_t n;
    unsigned *left; /* Of loop 0. */
    struct io_signal *over;
    struct io_msg msg;
};

static void adder_back(struct io *at, struct io_msg *m)
{
    struct adder *a = CD_CONTAINER(m, struct adder, msg);
    (void)at;
    --*a->left;
    io_signal_wake(a->over, IO_OK);
}

static void adder_flow(void *arg)
{
    struct adder *a = arg;
    for (unsigned i = 0; i < ADDS; i++)
        add_one(a->c, io_bucket(a->io), a->n * 100 + i);
    a->msg.handle = adder_back;
    io_post(a->io, 0, &a->msg);
}

static void adder_start(struct io *at, struct io_msg *m)
{
    struct adder *a = CD_CONTAINER(m, struct adder, msg);
    a->io = at;
    (void)io_spawn(at, "adder", adder_flow, a);
}

static void flow_a_counter_of_several_loops_loses_no_addition(struct contract *c)
{
    struct adder adder[ADDERS];
    struct io_signal over;
    struct io_op wait = {0};
    unsigned left = ADDERS;
    io_signal_init(&over);
    CHECK_INT(store_put_text(c, "counter", "0 by nobody", IO_PUT_IF_ABSENT, NULL), IO_OK);
    for (unsigned i = 0; i < ADDERS; i++) {
        adder[i] = (struct adder){.c = c, .n = i, .left = &left, .over = &over, .msg.handle = adder_start};
        io_post(c->io, i % 2, &adder[i].msg);
    }
    while (left > 0) {
        io_signal_wait(&over, c->io, &wait, NULL);
        CHECK_INT(io_await(&wait, io_now_ns(c->io) + IO_SEC(100)), IO_OK);
    }
    struct cd_buf body = {0};
    CHECK_INT(store_get(c, "counter", 0, IO_WHOLE, &body, NULL), IO_OK);
    CHECK(cd_str_starts(cd_buf_str(&body), CD_STR("24 by ")));
    cd_buf_deinit(&body);
}

static void flow_many_ops_in_flight_all_end(struct contract *c)
{
    enum { MANY = 100 };
    static struct io_store op[MANY];
    static char key[MANY][16];
    for (unsigned i = 0; i < MANY; i++) {
        op[i] = (struct io_store){.lane = (enum io_lane)(i % IO_LANE_COUNT)};
        (void)snprintf(key[i], sizeof key[i], "many/%u", i);
        io_store_put(&op[i], c->bucket, cd_str(key[i]), cd_str(key[i]), IO_PUT_IF_ABSENT, NULL);
    }
    for (unsigned i = 0; i < MANY; i++)
        CHECK_INT(store_end(&op[i], true), IO_OK);
    for (unsigned i = 0; i < MANY; i++)
        io_store_get(&op[i], c->bucket, cd_str(key[i]), 0, IO_WHOLE, NULL);
    for (unsigned i = 0; i < MANY; i++) {
        CHECK_INT(store_end(&op[i], false), IO_OK);
        CHECK(cd_str_eq(cd_buf_str(&op[i].body), cd_str(key[i])));
        cd_buf_deinit(&op[i].body);
    }
}

static void flow_a_full_disk_rejects_and_recovers(struct contract *c)
{
    struct cd_buf big = {0};
    cd_buf_add_zero(&big, 4 << 20);
    CHECK_INT(store_put_text(c, "before", "x", IO_PUT_ANY, NULL), IO_OK);
    struct io_store s = {0};
    io_store_head(&s, c->bucket, CD_STR("before"), NULL);
    CHECK_INT(store_end(&s, false), IO_OK);
    /* Only a store whose objects are in dir can be filled here. */
    struct io_path_info info;
    char path[240];
    (void)snprintf(path, sizeof path, "%s/objects.sqlite3", c->dir);
    store_skipped = io_path_stat(c->io, path, &info) != IO_OK || !contract_disk_full(c, true);
    if (!store_skipped) {
        io_store_put(&s, c->bucket, CD_STR("big"), cd_buf_str(&big), IO_PUT_ANY, NULL);
        CHECK_INT(store_end(&s, true), IO_NOSPACE);
        CHECK_INT(s.outcome, IO_REJECTED);
        CHECK(store_holds(c, "before", "x"));
        CHECK(contract_disk_full(c, false));
        CHECK(store_holds(c, "big", NULL));
        CHECK_INT(store_put(c, "big", cd_buf_str(&big), IO_PUT_IF_ABSENT, NULL), IO_OK);
    }
    cd_buf_deinit(&big);
}

STORE_TEST(an_object_comes_back_as_it_was_put, 1)
STORE_TEST(what_is_absent_is_said_to_be, 1)
STORE_TEST(a_create_succeeds_once, 1)
STORE_TEST(an_overwrite_needs_the_token_of_what_is_there, 1)
STORE_TEST(a_range_is_exactly_the_bytes_asked_for, 1)
STORE_TEST(the_body_of_an_op_is_replaced, 1)
STORE_TEST(a_large_body_is_whole, 1)
STORE_TEST(bodies_and_keys_have_limits, 1)
STORE_TEST(of_racing_writes_one_wins, 1)
STORE_TEST(a_counter_of_several_loops_loses_no_addition, 2)
STORE_TEST(many_ops_in_flight_all_end, 1)
STORE_TEST(a_full_disk_rejects_and_recovers, 1)

CD_TESTS(contract_store, cmocka_unit_test(test_an_object_comes_back_as_it_was_put),
         cmocka_unit_test(test_what_is_absent_is_said_to_be), cmocka_unit_test(test_a_create_succeeds_once),
         cmocka_unit_test(test_an_overwrite_needs_the_token_of_what_is_there),
         cmocka_unit_test(test_a_range_is_exactly_the_bytes_asked_for),
         cmocka_unit_test(test_the_body_of_an_op_is_replaced), cmocka_unit_test(test_a_large_body_is_whole),
         cmocka_unit_test(test_bodies_and_keys_have_limits), cmocka_unit_test(test_of_racing_writes_one_wins),
         cmocka_unit_test(test_a_counter_of_several_loops_loses_no_addition),
         cmocka_unit_test(test_many_ops_in_flight_all_end),
         cmocka_unit_test(test_a_full_disk_rejects_and_recovers))
