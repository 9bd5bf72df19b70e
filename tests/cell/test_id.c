#include "cell/id.h"

#include "io_sim/io_sim.h"
#include "support/test.h"

static void parse(const char *text, const struct cell_namespace *ns, int want)
{
    struct cell_id id;
    assert_int_equal(cell_id_parse(&id, ns, cd_str(text)), want);
}

static void test_an_id_of_a_name_is_the_same_everywhere(void **state)
{
    (void)state;
    struct cell_namespace ns, other, renamed;
    struct cell_id a, b;
    char text[CELL_ID_TEXT + 1];
    cell_namespace_init(&ns, CD_STR("chat"), CD_STR("Room"));
    cell_namespace_init(&other, CD_STR("chat"), CD_STR("User"));
    cell_namespace_init(&renamed, CD_STR("chat2"), CD_STR("Room"));
    cell_id_of_name(&a, &ns, CD_STR("lobby"));
    cell_id_of_name(&b, &ns, CD_STR("lobby"));
    assert_memory_equal(&a, &b, sizeof a);
    cell_id_of_name(&b, &ns, CD_STR("lobby2"));
    assert_memory_not_equal(&a, &b, sizeof a);
    cell_id_text(&a, text);
    /* Computed by another program from the definition in services.md 1.2. */
    assert_string_equal(text, "f6dbe42ec24966ff357d9c3b14d777cd235cd058be35eab25f8873c3849c145f");
    parse(text, &ns, 0);
    parse(text, &other, CD_EINVAL);
    parse(text, &renamed, CD_EINVAL);
    text[63] = text[63] == '0' ? '1' : '0';
    parse(text, &ns, CD_EINVAL);
    text[63] = '\0';
    parse(text, &ns, CD_ESYNTAX);
    text[10] = 'g';
    parse(text, &ns, CD_ESYNTAX);
}

static void unique(struct io *io, void *arg)
{
    struct cell_id *id = arg;
    struct cell_namespace ns;
    cell_namespace_init_d1(&ns);
    cell_id_unique(&id[0], &ns, io);
    cell_id_unique(&id[1], &ns, io);
}

static void test_unique_ids_differ_and_belong_to_their_namespace(void **state)
{
    (void)state;
    struct cell_id id[2], back;
    struct cell_namespace ns, plain;
    char text[CELL_ID_TEXT + 1];
    struct sim *sim = sim_new(NULL);
    sim_in_loop(sim_node(sim, &(struct sim_node_opts){.name = "n"}), 0, unique, id);
    sim_run_for(sim, IO_MS(1));
    sim_free(sim);
    cell_namespace_init_d1(&ns);
    cell_namespace_init(&plain, CD_STR("d1"), CD_STR("__D1Database"));
    assert_memory_not_equal(&id[0], &id[1], sizeof id[0]);
    cell_id_text(&id[0], text);
    assert_int_equal(cell_id_parse(&back, &ns, cd_str(text)), 0);
    assert_memory_equal(&back, &id[0], sizeof back);
    parse(text, &plain, CD_EINVAL);
}

static void test_scopes(void **state)
{
    (void)state;
    struct cd_buf out = {0};
    struct cd_str class_name, instance;
    char longest[300];
    memset(longest, 'a', sizeof longest);
    assert_int_equal(cell_scope_of(&out, CD_STR("Room"), CD_STR("00ff")), 0);
    assert_str_is(cd_buf_str(&out), "Room:00ff");
    assert_int_equal(cell_scope_split(cd_buf_str(&out), &class_name, &instance), 0);
    assert_str_is(class_name, "Room");
    assert_str_is(instance, "00ff");
    assert_int_equal(cell_scope_of(&out, CD_STR("R:oom"), CD_STR("00ff")), CD_EINVAL);
    assert_int_equal(cell_scope_of(&out, CD_STR("Room"), CD_STR("")), CD_EINVAL);
    assert_int_equal(cell_scope_of(&out, CD_STR("Ro/om"), CD_STR("1")), CD_EINVAL);
    assert_int_equal(cell_scope_of(&out, cd_str_of(longest, 254), CD_STR("1")), CD_EINVAL);
    assert_int_equal(cell_scope_of(&out, cd_str_of(longest, 253), CD_STR("1")), 0);
    assert_true(cell_scope_valid(CD_STR("a")));
    assert_false(cell_scope_valid(CD_STR("")));
    assert_false(cell_scope_valid(CD_STR(".")));
    assert_false(cell_scope_valid(CD_STR("..")));
    assert_false(cell_scope_valid(CD_STR("a\xc3\xa9")));
    assert_int_equal(cell_scope_split(CD_STR("a"), &class_name, &instance), CD_ESYNTAX);
    assert_int_equal(cell_scope_split(CD_STR(":a"), &class_name, &instance), CD_ESYNTAX);
    cd_buf_deinit(&out);
}

static void test_scopes_spread_over_the_shards_and_never_on_the_control_loop(void **state)
{
    (void)state;
    unsigned count[5] = {0};
    char scope[32];
    for (unsigned i = 0; i < 1000; i++) {
        (void)snprintf(scope, sizeof scope, "C:%u", i);
        count[cell_scope_loop(cd_str(scope), 5)]++;
    }
    assert_int_equal(count[0], 0);
    for (unsigned i = 1; i < 5; i++)
        assert_uint_in_range(count[i], 150, 350);
    assert_int_equal(cell_scope_loop(CD_STR("C:1"), 1), 0);
}

CD_TESTS(id, cmocka_unit_test(test_an_id_of_a_name_is_the_same_everywhere),
         cmocka_unit_test(test_unique_ids_differ_and_belong_to_their_namespace),
         cmocka_unit_test(test_scopes),
         cmocka_unit_test(test_scopes_spread_over_the_shards_and_never_on_the_control_loop))
