/* Scenario files: the whole language is read, printing gives the same scenario back, and errors name line and
 * column. */
#include "base/rng.h"
#include "sim/scn.h"
#include "support/test.h"

static void parse_ok(struct scn *s, const char *text)
{
    struct cd_buf why = {0};
    if (scn_parse(s, cd_str(text), "t.scn", &why) != 0)
        fail_msg("%s", cd_buf_cstr(&why));
    cd_buf_deinit(&why);
}

static void round_trip(const struct scn *s)
{
    struct cd_buf text = {0}, why = {0};
    struct scn again;
    scn_print(&text, s);
    if (scn_parse(&again, cd_buf_str(&text), "printed", &why) != 0)
        fail_msg("%s in:\n%s", cd_buf_cstr(&why), cd_buf_cstr(&text));
    if (!scn_equal(s, &again))
        fail_msg("not the same after printing:\n%s", cd_buf_cstr(&text));
    scn_deinit(&again);
    cd_buf_deinit(&text);
    cd_buf_deinit(&why);
}

static const char full[] =
    "# the example of the language\n"
    "scn 1\n"
    "seed 18446744073709551615\n"
    "fleet  nodes=3 shards=2 durability=bucket ttl=10s\n"
    "store  tokens=content latency=20ms..80ms\r\n"
    "\tsched policy=pct slack=10us points=2\n"
    "net loss=1/1000 split=30% bandwidth=1m\n"
    "disk sync-fail=200ppm keep=0 tear=5\n"
    "server body-max=64k\n"
    "load   ledger cells=4 clients=6 rate=40/s for=30s\n"
    "load   http clients=6 rate=0.5/s\n"
    "load   files\n"
    "load   js project=hello/world\n"
    "at 5s                    store n1 put log/* hold-answer 20s     # applied, but n1 will not know\n"
    "at 5200ms                cut n1 <-> store\n"
    "at 5200ms                cut n1 -> n2 3s\n"
    "at 5200ms                pause n1 12s\n"
    "when mark takeover.sealed  crash n2 at-call file.sync+2\n"
    "when event lease.renewed+3 crash n2 kill\n"
    "at 6s crash n1 kill at-call any\n"
    "at 7s restart n2 wipe\n"
    "at 7s restart n2\n"
    "at 7s join n4\n"
    "at 7s drain n1\n"
    "at 8s skew n1 +3s drift 200ppm\n"
    "at 8s skew n1 -1500ms drift -20ppm\n"
    "at 8s skew n1 +0\n"
    "at 9s disk n2 full\n"
    "at 9s disk n2 sync-fails+3\n"
    "at 9s disk n2 lost\n"
    "at 9s clog n1 -> n3 4s\n"
    "at 9s clog clients <-> all 4s\n"
    "at 9s swizzle n1 4s\n"
    "at 9s reset c1 <-> n1\n"
    "at 9s store all throttle 30%\n"
    "at 9s store all down 5s\n"
    "at 9s store n1 list x/* fail 1/2 3s\n"
    "at 9s late put log/* 15s\n"
    "at 25s                   heal\n"
    "plant  none\n"
    "expect no-failure\n"
    "expect mark takeover.lost_seal_race\n"
    "expect served all by 60s\n"
    "expect fails I2\n";

static void test_the_whole_language_is_read_and_printed_back(void **state)
{
    (void)state;
    struct scn s;
    parse_ok(&s, full);
    assert_true(s.has_seed && s.seed == UINT64_MAX);
    assert_int_equal(scn_get(&s, SCN_FLEET_SHARDS), 2);
    assert_true(s.value[SCN_STORE_LATENCY].lo == 20000000u && s.value[SCN_STORE_LATENCY].hi == 80000000u);
    assert_int_equal(scn_get(&s, SCN_SCHED_POLICY), 2);
    assert_int_equal(scn_get(&s, SCN_NET_LOSS), 1000);
    assert_int_equal(scn_get(&s, SCN_HTTP_RATE), 500);
    assert_string_equal(s.text, "hello/world");
    assert_int_equal(s.steps, 26);
    const struct scn_step *crash = &s.step[4];
    assert_int_equal(crash->trigger, SCN_WHEN_MARK);
    assert_string_equal(crash->when, "takeover.sealed");
    assert_int_equal(crash->when_nth, 1);
    assert_int_equal(crash->action, SCN_CRASH);
    assert_string_equal(crash->name, "file.sync");
    assert_int_equal(crash->nth, 2);
    assert_int_equal(s.step[5].when_nth, 3);
    assert_true(s.step[5].kill);
    assert_int_equal(s.step[12].step_ns, -1500000000);
    assert_int_equal(s.step[12].drift_ppm, -20);
    assert_int_equal(s.expects, 4);
    assert_int_equal(s.expect[2].kind, SCN_SERVED);
    assert_true(s.plant[0] == 0);
    round_trip(&s);
    struct scn copy;
    scn_copy(&copy, &s);
    assert_true(scn_equal(&s, &copy));
    scn_drop_steps(&copy, 3, 2);
    assert_int_equal(copy.steps, 24);
    assert_int_equal(copy.step[3].action, s.step[5].action);
    assert_false(scn_equal(&s, &copy));
    round_trip(&copy);
    scn_add_step(&copy, &s.step[0]); /* A copy has room to grow. */
    assert_int_equal(copy.steps, 25);
    scn_drop_steps(&copy, 24, 1);
    scn_drop_steps(&copy, 0, 24);
    assert_int_equal(copy.steps, 0);
    round_trip(&copy);
    scn_deinit(&copy);
    scn_deinit(&s);
}

static void test_settings_not_named_have_defaults_without_faults(void **state)
{
    (void)state;
    struct scn s;
    parse_ok(&s, "scn 1\n");
    assert_int_equal(scn_get(&s, SCN_FLEET_NODES), 3);
    assert_int_equal(scn_get(&s, SCN_NET_LOSS), 0);
    assert_int_equal(scn_get(&s, SCN_DISK_SYNC_FAIL), 0);
    assert_false(s.has_seed);
    round_trip(&s);
    scn_deinit(&s);
}

/* Values from all over the table, bounds included: what is printed is read as the same. */
static void test_random_scenarios_survive_printing(void **state)
{
    (void)state;
    struct cd_rng rng;
    cd_rng_seed(&rng, 11, CD_STR("scn"));
    for (unsigned round = 0; round < 500; round++) {
        struct scn s;
        scn_init(&s);
        for (unsigned i = 0; i < SCN_SETTING_COUNT; i++) {
            const struct scn_setting_info *info = scn_setting_info(i);
            if (info->kind == SCN_TEXT || cd_rng_below(&rng, 3) == 0)
                continue;
            uint64_t span = info->max - info->min;
            uint64_t v = info->min + (span == UINT64_MAX ? cd_rng_next(&rng) : cd_rng_below(&rng, span + 1));
            scn_set(&s, i, info->kind == SCN_WORD ? cd_rng_below(&rng, 2) : v);
        }
        s.has_seed = cd_rng_below(&rng, 2) == 0;
        s.seed = s.has_seed ? cd_rng_next(&rng) : 0;
        round_trip(&s);
        scn_deinit(&s);
    }
}

static void refuse(const char *text, const char *want)
{
    struct scn s;
    struct cd_buf why = {0};
    assert_int_equal(scn_parse(&s, cd_str(text), "t.scn", &why), CD_ESYNTAX);
    if (strncmp(cd_buf_cstr(&why), want, strlen(want)) != 0)
        fail_msg("message is '%s', want '%s'", cd_buf_cstr(&why), want);
    cd_buf_deinit(&why);
    scn_deinit(&s);
}

static void test_errors_name_line_column_and_what_was_wanted(void **state)
{
    (void)state;
    refuse("", "t.scn:1:1: an empty file, want: scn 1");
    refuse("fleet nodes=3\n", "t.scn:1:1: the first statement has to be: scn 1");
    refuse("scn 2\n", "t.scn:1:5: version '2', want 1");
    refuse("scn 1\n\nfleat nodes=3\n", "t.scn:3:1: unknown statement 'fleat'");
    refuse("scn 1\nfleet nodes=3  nods=4\n", "t.scn:2:16: unknown word 'nods=4' in fleet");
    refuse("scn 1\nfleet nodes=10\n", "t.scn:2:13: nodes=10: out of bounds");
    refuse("scn 1\nfleet nodes=three\n", "t.scn:2:13: nodes=three: want a number");
    refuse("scn 1\nfleet ttl=10\n", "t.scn:2:11: ttl=10: want a time with its unit");
    refuse("scn 1\nfleet durability=disk\n", "t.scn:2:18: durability=disk: want one of bucket|fleet");
    refuse("scn 1\nfleet nodes=3 nodes=3\n", "t.scn:2:15: nodes is set already");
    refuse("scn 1\nfleet nodes\n", "t.scn:2:7: want nodes=VALUE");
    refuse("scn 1\nfleet\nfleet\n", "t.scn:3:1: a second fleet statement");
    refuse("scn 1\nstore latency=80ms..20ms\n", "t.scn:2:15: latency=80ms..20ms: want a time or two");
    refuse("scn 1\nnet loss=101%\n", "t.scn:2:10: loss=101%: want a ratio");
    refuse("scn 1\nload cats\n", "t.scn:2:6: unknown workload 'cats'");
    refuse("scn 1\nload\n", "t.scn:2:5: the line ends here, want the name of a workload");
    refuse("scn 1\nseed x\n", "t.scn:2:6: seed 'x': want a number");
    refuse("scn 1\nat 5 heal\n", "t.scn:2:4: '5' is no time");
    refuse("scn 1\nat 5s explode n1\n", "t.scn:2:7: unknown word 'explode', want what happens");
    refuse("scn 1\nat 5s heal n1\n", "t.scn:2:12: 'n1' behind the end of the statement");
    refuse("scn 1\nat 5s pause c1 3s\n", "t.scn:2:13: 'c1': want a node like n1");
    refuse("scn 1\nat 5s pause n0 3s\n", "t.scn:2:13: 'n0': want a node like n1");
    refuse("scn 1\nat 5s pause n1\n", "t.scn:2:15: the line ends here, want how long");
    refuse("scn 1\nat 5s pause n1 0s\n", "t.scn:2:16: want a time above 0");
    refuse("scn 1\nat 5s cut n1 - n2\n", "t.scn:2:14: unknown word '-', want -> or <->");
    refuse("scn 1\nat 5s cut n1 -> n1\n", "t.scn:2:14: both ends of the link are the same");
    refuse("scn 1\nat 5s crash n1 at-call file.sync+0\n", "t.scn:2:24: 'file.sync+0': want +K");
    refuse("scn 1\nat 5s crash n1 hard\n", "t.scn:2:16: unknown word 'hard', want at-call");
    refuse("scn 1\nat 5s restart n1 clean\n", "t.scn:2:18: unknown word 'clean', want wipe");
    refuse("scn 1\nat 5s disk n1 wet\n", "t.scn:2:15: unknown word 'wet', want full");
    refuse("scn 1\nat 5s disk n1 full+2\n", "t.scn:2:15: unknown word 'full+2'");
    refuse("scn 1\nat 5s skew n1 3s\n", "t.scn:2:15: '3s': want +TIME or -TIME");
    refuse("scn 1\nat 5s store n1 put log/* vanish\n", "t.scn:2:26: unknown word 'vanish'");
    refuse("scn 1\nat 5s store all throttle 3\n", "t.scn:2:26: '3' is no ratio");
    refuse("scn 1\nwhen x y heal\n", "t.scn:2:6: unknown word 'x', want mark or event");
    refuse("scn 1\nwhen mark m\n", "t.scn:2:12: the line ends here, want what happens");
    refuse("scn 1\nexpect luck\n", "t.scn:2:8: unknown word 'luck'");
    refuse("scn 1\nexpect served some by 3s\n", "t.scn:2:15: unknown word 'some', want all");
    refuse("scn 1\nplant a=b\n", "t.scn:2:7: 'a=b' is no name");
}

static void test_what_does_not_exist_yet_is_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"scn 1\nload http\nfleet durability=fleet\n", "t.scn:3: 'fleet durability=' is not available yet"},
        {"scn 1\nload http\nfleet ttl=10s\n", "t.scn:3: 'fleet ttl=' is not available yet"},
        {"scn 1\nload http\nstore latency=1ms\n", "t.scn:3: 'store' is not available yet"},
        {"scn 1\nload js project=a\n", "t.scn:2: 'load js' is not available yet"},
        {"scn 1\nload http\nat 5s drain n1\n", "t.scn:3: 'drain' is not available yet"},
        {"scn 1\nload http\nat 5s store all throttle 30%\n", "t.scn:3: 'store' is not available yet"},
        {"scn 1\nload http\nat 5s cut n1 <-> store\n",
         "t.scn:3: 'a step about the store' is not available yet"},
        {"scn 1\nload http\nat 5s late put log/* 3s\n", "t.scn:3: 'late' is not available yet"},
        {"scn 1\nload http\nat 5s crash n4\n", "t.scn:3: n4 is not in this fleet of 3"},
        {"scn 1\nload http\nat 5s crash n1 at-call store.put\n",
         "t.scn:3: 'at-call store.put' is not available yet"},
        {"scn 1\nload http\nat 5s crash n1 at-call file.wink\n",
         "t.scn:3: 'at-call file.wink': no such call"},
        {"scn 1\nload http clients=2\nat 5s cut c3 -> n1\n", "t.scn:3: c3 is not among these 2 clients"},
        {"scn 1\nload http\nat 5s join n2\n", "t.scn:3: n2 is in the fleet from the start"},
        {"scn 1\nfleet nodes=2\n", "t.scn: no load statement"},
        {"scn 1\nload http clients=8\nload ledger clients=5\n",
         "t.scn: 13 clients in all loads, want at most 12"},
    };
    for (size_t i = 0; i < CD_COUNT(cases); i++) {
        struct scn s;
        struct cd_buf why = {0};
        parse_ok(&s, cases[i].text);
        assert_int_equal(scn_available(&s, "t.scn", &why), CD_EUNSUPPORTED);
        if (strncmp(cd_buf_cstr(&why), cases[i].want, strlen(cases[i].want)) != 0)
            fail_msg("message is '%s', want '%s'", cd_buf_cstr(&why), cases[i].want);
        cd_buf_deinit(&why);
        scn_deinit(&s);
    }
}

static void test_what_exists_is_accepted(void **state)
{
    (void)state;
    struct scn s;
    struct cd_buf why = {0};
    parse_ok(&s, "scn 1\nfleet nodes=2 shards=2\nload http clients=3\nload files\nat 1s join n3\nat 2s crash "
                 "n3 at-call "
                 "net.read+4\nat 3s cut c3 <-> all\nat 3s cut clients -> n1\nat 4s heal\nplant none\nexpect "
                 "no-failure\n");
    if (scn_available(&s, "t.scn", &why) != 0)
        fail_msg("%s", cd_buf_cstr(&why));
    scn_deinit(&s);
    cd_buf_deinit(&why);
}

CD_TESTS(scn, cmocka_unit_test(test_the_whole_language_is_read_and_printed_back),
         cmocka_unit_test(test_settings_not_named_have_defaults_without_faults),
         cmocka_unit_test(test_random_scenarios_survive_printing),
         cmocka_unit_test(test_errors_name_line_column_and_what_was_wanted),
         cmocka_unit_test(test_what_does_not_exist_yet_is_refused_by_name),
         cmocka_unit_test(test_what_exists_is_accepted))
