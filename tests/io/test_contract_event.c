/* Events of the log: info and above are wanted. */
#include "support.h"

static bool log_has(struct contract *c, const char *text)
{
    struct cd_buf log = {0};
    contract_log(c, &log);
    bool has = strstr(cd_buf_cstr(&log), text) != NULL;
    cd_buf_deinit(&log);
    return has;
}

static uint64_t count_up(unsigned *calls)
{
    return ++*calls;
}

static void flow_wanted(struct contract *c)
{
    unsigned calls = 0;
    for (int level = CD_ERROR; level <= CD_TRACE; level++)
        CHECK(io_event_wanted(c->io, (enum cd_level)level, "celld") == (level <= CD_INFO));
    cd_event(c->io, CD_INFO, "told", CD_U("number", count_up(&calls)), CD_Z("word", "plain"));
    cd_event(c->io, CD_DEBUG, "untold", CD_U("number", count_up(&calls)));
    cd_event_to(c->io, CD_WARN, "store", "warned");
    CHECK_INT(calls, 1); /* The fields of what is not wanted are not even computed. */
    CHECK(log_has(c, "told"));
    CHECK(log_has(c, "number=1"));
    CHECK(log_has(c, "plain"));
    CHECK(log_has(c, "warned"));
    CHECK(!log_has(c, "untold"));
}

static void test_events_of_a_wanted_level_are_told_and_no_others(void **state)
{
    (void)state;
    contract_run(flow_wanted);
}

static void flow_unasked(struct contract *c)
{
    struct cd_field field = CD_S("empty", cd_str_of("", 0));
    for (int level = CD_ERROR; level <= CD_TRACE; level++) {
        io_event(c->io, (enum cd_level)level, "celld", "unasked", NULL, 0);
        io_event(c->io, (enum cd_level)level, "celld", "unasked", &field, 1);
    }
    cd_event(c->io, CD_INFO, "afterwards");
    CHECK(log_has(c, "afterwards"));
}

static void test_an_event_that_nobody_asked_about_does_no_harm(void **state)
{
    (void)state;
    contract_run(flow_unasked);
}

/* Far more than a pipe and any queue before it hold: a log that waited would wait for ever. */
static void flow_stuck(struct contract *c)
{
    contract_log_stuck(c, true);
    for (unsigned i = 0; i < 20000; i++)
        cd_event(c->io, CD_INFO, "flood", CD_U("number", i));
    contract_log_stuck(c, false);
    CHECK(log_has(c, "flood")); /* And the log goes on. */
}

static void test_events_never_wait_for_a_reader(void **state)
{
    (void)state;
    contract_run(flow_stuck);
}

CD_TESTS(contract_event, cmocka_unit_test(test_events_of_a_wanted_level_are_told_and_no_others),
         cmocka_unit_test(test_an_event_that_nobody_asked_about_does_no_harm),
         cmocka_unit_test(test_events_never_wait_for_a_reader))
