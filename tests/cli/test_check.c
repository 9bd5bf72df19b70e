/* tests/cli/test_check.c: the cross-checks of a node before any socket opens (operations.md 1.4, 1.5, 5.2).
 */
#include "cli/rig.h"

#define NEEDS_INTERNAL                                                                                       \
    "Error: a non-loopback --listen or CELLD_ADDR requires an explicit --internal-listen or "                \
    "CELLD_INTERNAL_ADDR; celld does not reuse the public Worker listener for peers"
#define ADVERTISE_NEEDS_INTERNAL                                                                             \
    "Error: --advertise or CELLD_ADVERTISE requires an explicit --internal-listen or CELLD_INTERNAL_ADDR; "  \
    "the default internal listener uses a random loopback port"
#define NEEDS_ADVERTISE(a)                                                                                   \
    "Error: --advertise is required when --internal-listen uses an unspecified address (" a ")"

static void test_a_configured_machine_serves_and_wants_a_bucket(void **state)
{
    (void)state;
    static const char *const env[] = {"CELLD_ADDR=127.0.0.1:80", "CELLD_INTERNAL_ADDR=127.0.0.1:81"};
    for (size_t i = 0; i < CD_COUNT(env); i++)
        rig_refuses(
            env[i], "",
            "Error: `celld` requires --bucket s3://NAME, gs://NAME or az://CONTAINER (or CELLD_BUCKET)");
    rig_accepts("CELLD_BUCKET=s3://b/prefix", "");
    rig_accepts("CELLD_BUCKET=", "--bucket file:///tmp/x");
}

static void test_listeners_are_literal_addresses(void **state)
{
    (void)state;
    rig_refuses(NULL, "--listen localhost:80",
                "Error: --listen must be an IP socket address such as 127.0.0.1:8080");
    rig_refuses("CELLD_ADDR=127.0.0.1", "",
                "Error: CELLD_ADDR must be an IP socket address such as 127.0.0.1:8080");
    rig_refuses(NULL, "--internal-listen ::1:80",
                "Error: --internal-listen must be an IP socket address such as 127.0.0.1:8080");
    rig_accepts("CELLD_ADDR=nonsense", "--bucket b --listen [::1]:8080"); /* A flag beats its variable. */
}

static void test_cross_checks_come_in_their_order(void **state)
{
    (void)state;
    rig_refuses(NULL, "--listen 0.0.0.0:8080", NEEDS_INTERNAL);
    rig_refuses("CELLD_ADDR=10.0.0.1:8080", "", NEEDS_INTERNAL);
    rig_refuses("CELLD_ADDR=0.0.0.0:8080\nCELLD_ADVERTISE=a:1", "", NEEDS_INTERNAL);
    rig_refuses(NULL, "--advertise a:1", ADVERTISE_NEEDS_INTERNAL);
    rig_refuses("CELLD_ADVERTISE=a:1", "", ADVERTISE_NEEDS_INTERNAL);
    rig_refuses(NULL, "--listen 0.0.0.0:80 --internal-listen 0.0.0.0:81", NEEDS_ADVERTISE("0.0.0.0:81"));
    rig_refuses(NULL, "--internal-listen [::]:81", NEEDS_ADVERTISE("[::]:81"));
    rig_accepts(NULL,
                "--bucket b --listen 0.0.0.0:80 --internal-listen 0.0.0.0:81 --advertise node-a.internal:81");
}

static void test_advertised_addresses(void **state)
{
    (void)state;
    static const char *const unreachable[] = {"10.0.0.1:0",   "0.0.0.0:81",         "[::]:81",
                                              "224.0.0.1:81", "255.255.255.255:81", "[ff02::1]:81"};
    static const char *const malformed[] = {"host",    "host:",    "host:0", "host:65536",
                                            "-host:1", "ho_st:1",  "a..b:1", "256.1.1.1:1",
                                            "::1:81",  "host:1:2", ":81"};
    struct cd_buf args = {0};
    for (size_t i = 0; i < CD_COUNT(unreachable); i++) {
        cd_buf_clear(&args);
        cd_buf_addf(&args, "--internal-listen 127.0.0.1:81 --advertise %s", unreachable[i]);
        rig_refuses(NULL, cd_buf_cstr(&args),
                    "Error: --advertise must be an address that peers can connect to, with a port");
    }
    for (size_t i = 0; i < CD_COUNT(malformed); i++) {
        cd_buf_clear(&args);
        cd_buf_addf(&args, "--internal-listen 127.0.0.1:81 --advertise %s", malformed[i]);
        rig_refuses(
            NULL, cd_buf_cstr(&args),
            "Error: --advertise must be HOST:PORT with a host name or IP address and a port of 1 to 65535");
    }
    cd_buf_deinit(&args);
    rig_accepts(NULL, "--bucket b --internal-listen 10.0.0.1:81 --advertise a-1.b:65535");
    rig_accepts(NULL, "--bucket b --internal-listen 10.0.0.1:81 --advertise [fd00::1]:81");
}

static void test_public_addresses_need_the_flag(void **state)
{
    (void)state;
    rig_refuses(
        NULL, "--internal-listen 127.0.0.1:81 --advertise 8.8.8.8:81",
        "Error: refusing to advertise public address 8.8.8.8; set --unsafe-public-advertise to permit it");
    rig_refuses(
        NULL, "--internal-listen 8.8.8.8:81",
        "Error: refusing to advertise public address 8.8.8.8; set --unsafe-public-advertise to permit it");
    rig_accepts(NULL,
                "--bucket b --internal-listen 127.0.0.1:81 --advertise 8.8.8.8:81 --unsafe-public-advertise");
    rig_accepts("CELLD_UNSAFE_PUBLIC_ADVERTISE=1", "--bucket b --internal-listen [2606::1]:81");
}

static void test_the_development_store_is_for_celld_dev_alone(void **state)
{
    (void)state;
    static const char want[] =
        "Error: the internal development store requires the celld dev node configuration";
    rig_refuses("CELLD_INTERNAL_DEV_STORE=/x", "--bucket s3://b", want);
    rig_refuses("CELLD_INTERNAL_DEV_STORE=/x", "--bucket celld-dev --endpoint http://h", want);
    rig_refuses("CELLD_INTERNAL_DEV_STORE=/x", "diagnose --bucket celld-dev", want);
    rig_refuses("CELLD_INTERNAL_DEV_STORE=/x", "--bucket celld-dev-other", want);
    rig_accepts("CELLD_INTERNAL_DEV_STORE=/x", "--bucket celld-dev");
    rig_accepts("CELLD_INTERNAL_DEV_STORE=/x", "--bucket celld-dev-fleet");
}

static void test_arguments_of_diagnose(void **state)
{
    (void)state;
    static const char want[] = "Error: --peer must be one node-session ID without a path or whitespace";
    rig_refuses(NULL, "diagnose --peer a/b", want);
    rig_refuses(NULL, "diagnose --peer ok --peer ''", want);
    rig_refuses(NULL, "diagnose --listen 0.0.0.0:80", NEEDS_INTERNAL);
    rig_accepts(NULL, "diagnose --peer a --peer b --read-only --json --bucket s3://b");
}

CD_TESTS(check, cmocka_unit_test(test_a_configured_machine_serves_and_wants_a_bucket),
         cmocka_unit_test(test_listeners_are_literal_addresses),
         cmocka_unit_test(test_cross_checks_come_in_their_order), cmocka_unit_test(test_advertised_addresses),
         cmocka_unit_test(test_public_addresses_need_the_flag),
         cmocka_unit_test(test_the_development_store_is_for_celld_dev_alone),
         cmocka_unit_test(test_arguments_of_diagnose))
