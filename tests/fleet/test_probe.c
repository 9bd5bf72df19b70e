/* Whether a node is there and is itself, as its peers find out. */
#include "peers.h"
#include "rig.h"

static void lease_of(struct store_lease *l, const struct peers *p)
{
    *l = (struct store_lease){.peer_protocol = 1};
    (void)snprintf(l->node, sizeof l->node, "b");
    (void)snprintf(l->addr, sizeof l->addr, "hostb:82");
    memcpy(l->generation, p->key.generation, sizeof l->generation);
    memcpy(l->probe_key, p->key.generation, sizeof l->probe_key);
}

static void check_probe(struct peers *p, const struct store_lease *l, const char *why)
{
    struct cd_buf text = {0};
    int rc = fleet_probe(p->client, p->io, l, io_now_ns(p->io) + IO_SEC(5), &text);
    if ((rc == IO_OK) != (why == NULL) || strcmp(cd_buf_cstr(&text), why == NULL ? "" : why) != 0) {
        fprintf(stderr, "%d: %s, want %s\n", rc, cd_buf_cstr(&text), why == NULL ? "success" : why);
        abort();
    }
    cd_buf_deinit(&text);
}

static void probe_flow(struct peers *p)
{
    struct store_lease l;
    lease_of(&l, p);
    check_probe(p, &l, NULL);
    p->probed.advertise = "elsewhere:82";
    check_probe(p, &l, "wrong advertise address");
    p->probed.advertise = "hostb:82";
    p->probed.node = "c"; /* A lie: its answers are signed by b. */
    check_probe(p, &l, "wrong node ID");
    p->probed.node = "b";
    (void)snprintf(l.node, sizeof l.node, "d"); /* The address belongs to somebody else now. */
    check_probe(p, &l, "status 409: wrong-target");
    lease_of(&l, p);
    (void)snprintf(l.probe_key, sizeof l.probe_key, "%s", rig_generation('1'));
    check_probe(p, &l, "bad signature");
    lease_of(&l, p);
    (void)snprintf(l.addr, sizeof l.addr, "hostb:83");
    check_probe(p, &l, "connection refused");
    (void)snprintf(l.addr, sizeof l.addr, "8.8.8.8:82");
    check_probe(p, &l, "unsafe public advertise address \"8.8.8.8:82\"");
    (void)snprintf(l.addr, sizeof l.addr, "nowhere");
    check_probe(p, &l, "malformed advertise address \"nowhere\"");
    lease_of(&l, p);
    sim_clock_step(p->called, 60000);
    check_probe(p, &l, "peer rejected the fleet authentication (clock)");
    sim_clock_step(p->called, -60000);
    peers_restart(p);
    check_probe(p, &l, "another process than that of the lease");
}

static void test_a_probe_tells_what_is_wrong(void **state)
{
    (void)state;
    struct peers p = {.starting = true}; /* It is answered from the start on. */
    peers_open(&p, 1);
    peers_flow(&p, probe_flow);
    peers_close(&p);
}

static void test_an_answer_is_checked_field_by_field(void **state)
{
    (void)state;
    struct store_lease l = {0};
    struct cd_buf why = {0}, large = {0};
    struct cd_str challenge = cd_str(rig_generation('5'));
#define WRONG(text, want)                                                                                    \
    do {                                                                                                     \
        cd_buf_clear(&why);                                                                                  \
        assert_int_equal(fleet_probe_check(cd_str(text), &l, challenge, &why), CD_EINVAL);                   \
        assert_string_equal(cd_buf_cstr(&why), want);                                                        \
    } while (0)
    WRONG("", "malformed answer");
    WRONG("{\"v\":1,\"node\":\"\"}", "malformed answer");
    WRONG("{\"v\":2,\"node\":\"\",\"generation\":\"\",\"advertise\":\"\",\"challenge\":\"\",\"signature\":"
          "\"\"}",
          "malformed answer");
    WRONG("{\"v\":1,\"node\":\"\",\"generation\":\"\",\"advertise\":\"\",\"challenge\":\"\",\"signature\":"
          "\"\"}",
          "bad challenge");
    memset(cd_buf_reserve(&large, 4097), ' ', 4097);
    large.len = 4097;
    WRONG(cd_buf_cstr(&large), "oversized answer");
#undef WRONG
    cd_buf_deinit(&why);
    cd_buf_deinit(&large);
}

CD_TESTS(probe, cmocka_unit_test(test_a_probe_tells_what_is_wrong),
         cmocka_unit_test(test_an_answer_is_checked_field_by_field))
