/* What `celld diagnose` says of a bucket and its nodes. */
#include "fleet/survey.h"

#include "base/encode.h"
#include "io_sim/sim_store.h"
#include "peers.h"
#include "rig.h"

struct rows {
    struct cd_buf text; /* A line for each finding; the load of a node is left out. */
};

static void found(void *arg, enum fleet_finding what, struct cd_str subject, struct cd_str detail)
{
    struct rows *r = arg;
    size_t load = cd_str_find_str(detail, CD_STR(" owned_cells="), 0);
    detail = cd_str_sub(detail, 0, load);
    cd_buf_addf(&r->text, "%d %.*s: %.*s\n", what, (int)subject.len, subject.ptr, (int)detail.len,
                detail.len == 0 ? "" : detail.ptr);
}

static void put_lease(struct peers *p, const char *node, const char *addr, uint64_t expires_ms)
{
    struct store_lease l = {.seq = 1, .expires_ms = expires_ms, .ttl_ms = 10000, .peer_protocol = 1};
    struct cd_buf key = {0}, body = {0};
    store_load_init(&l.load);
    (void)snprintf(l.node, sizeof l.node, "%s", node);
    (void)snprintf(l.addr, sizeof l.addr, "%s", addr);
    memcpy(l.generation, p->key.generation, sizeof l.generation);
    memcpy(l.probe_key, p->key.generation, sizeof l.probe_key);
    store_key_lease(&key, cd_str(node));
    store_lease_write(&body, &l);
    sim_store_put_truth(p->sim, cd_buf_str(&key), cd_buf_str(&body));
    cd_buf_deinit(&key);
    cd_buf_deinit(&body);
}

static void put_secret(struct peers *p)
{
    struct cd_buf body = {0};
    cd_buf_add_str(&body, CD_STR("{\"v\":1,\"key\":\""));
    cd_hex_encode(&body, cd_str_of(p->secret.key, sizeof p->secret.key));
    cd_buf_add_str(&body, CD_STR("\"}"));
    sim_store_put_truth(p->sim, CD_STR(STORE_KEY_PEER_AUTH), cd_buf_str(&body));
    cd_buf_deinit(&body);
}

static void check_survey(struct peers *p, struct fleet_survey s, const char *rows, unsigned failed)
{
    struct rows got = {0};
    struct cd_buf why = {0};
    s.io = p->io;
    s.bucket = io_bucket(p->io);
    s.bucket_name = CD_STR("s3://b");
    s.found = found;
    s.arg = &got;
    int rc = fleet_survey(&s, &why);
    if (rc != IO_OK || !cd_str_eq(cd_buf_str(&got.text), cd_str(rows)) || s.failed_peers != failed) {
        fprintf(stderr, "%d %s, %u failed:\n%swant\n%s", rc, cd_buf_cstr(&why), s.failed_peers,
                cd_buf_cstr(&got.text), rows);
        abort();
    }
    cd_buf_deinit(&got.text);
    cd_buf_deinit(&why);
}

#define TESTED                                                                                               \
    "0 bucket s3://b: \n"                                                                                    \
    "0 bucket conditional write: create, reject-create, update, reject-stale\n"                              \
    "0 bucket ranged read: exact range\n"
#define UNTESTED "0 bucket s3://b: \n2 bucket write probe: --read-only\n"

static void survey_flow(struct peers *p)
{
    uint64_t now = (uint64_t)io_wall_ms(p->io), later = now + 100000;
    check_survey(p, (struct fleet_survey){0}, TESTED "0 fleet: 0 node lease(s) enumerated\n", 0);
    put_lease(p, "b", "hostb:82", later);
    check_survey(p, (struct fleet_survey){.read_only = true},
                 UNTESTED
                 "0 fleet: 1 node lease(s) enumerated\n"
                 "1 peer b at hostb:82: the fleet has no secret to sign with (fleet/peer-auth.json)\n",
                 1);
    put_secret(p);
    put_lease(p, "a", "hostb:83", later); /* Nobody listens there. */
    put_lease(p, "c", "hostb:82", later); /* Its address is another's by now. */
    put_lease(p, "d", "", later);
    put_lease(p, "e", "1.1.1.1:82", later);
    put_lease(p, "f", "hostb:82", now);
    sim_store_put_truth(p->sim, CD_STR("nodes/g.json"), CD_STR("{}"));
    check_survey(p, (struct fleet_survey){.read_only = true},
                 UNTESTED "0 fleet: 7 node lease(s) enumerated\n"
                          "1 peer a at hostb:83: connection refused\n"
                          "0 peer b at hostb:82: (signed direct probe) protocol=1\n"
                          "1 peer c at hostb:82: status 409: wrong-target\n"
                          "1 peer d: malformed advertise address \"\"\n"
                          "1 peer e: unsafe public advertise address \"1.1.1.1:82\"\n"
                          "2 peer f: lease is expired\n"
                          "1 peer g: node lease: v: want an integer from 0 to 2^53-1\n"
                          "0 fleet: skipped 1 expired node lease(s)\n",
                 5);
    const struct cd_str named[] = {CD_STR("f"), CD_STR("nobody"), CD_STR("b"), CD_STR("no node")};
    check_survey(p, (struct fleet_survey){.read_only = true, .peer = named, .peers = CD_COUNT(named)},
                 UNTESTED "0 fleet: 7 node lease(s) enumerated\n"
                          "1 peer f: lease is expired\n"
                          "1 peer nobody: no lease record\n"
                          "0 peer b at hostb:82: (signed direct probe) protocol=1\n"
                          "1 peer no node: no lease record\n",
                 3);
}

static void test_each_node_is_looked_at_and_told_of(void **state)
{
    (void)state;
    struct peers p = {0};
    peers_open(&p, 1);
    (void)sim_bucket(p.io, "");
    peers_flow(&p, survey_flow);
    peers_close(&p);
}

static void broken_flow(struct peers *p)
{
    struct rows got = {0};
    struct cd_buf why = {0};
    struct fleet_survey s = {.io = p->io,
                             .bucket = io_bucket(p->io),
                             .bucket_name = CD_STR("s3://b"),
                             .found = found,
                             .arg = &got};
    CHECK_INT(fleet_survey(&s, &why), CD_EUNSUPPORTED);
    CHECK(cd_str_eq(cd_buf_str(&why), CD_STR("bucket failed the storage conformance probe")));
    CHECK(cd_str_find_str(cd_buf_str(&got.text), CD_STR("1 bucket conditional write: reject-create: "), 0) !=
          SIZE_MAX);
    cd_buf_deinit(&got.text);
    cd_buf_deinit(&why);
}

static void test_a_store_without_conditions_ends_the_survey(void **state)
{
    (void)state;
    struct peers p = {0};
    peers_open(&p, 1);
    (void)sim_bucket(p.io, "");
    sim_store_set(p.sim, &(struct sim_store_opts){.ignores_conditions = true});
    peers_flow(&p, broken_flow);
    peers_close(&p);
}

CD_TESTS(survey, cmocka_unit_test(test_each_node_is_looked_at_and_told_of),
         cmocka_unit_test(test_a_store_without_conditions_ends_the_survey))
