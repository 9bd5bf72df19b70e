/* tests/base/test_ip.c: literal addresses. */
#include "base/ip.h"
#include "support/test.h"

static void test_addresses_parse_and_print_in_one_form(void **state)
{
    (void)state;
    static const char *const same[][2] = {
        {"127.0.0.1", "127.0.0.1"},
        {"0.0.0.0", "0.0.0.0"},
        {"::", "::"},
        {"::1", "::1"},
        {"1::", "1::"},
        {"2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
        {"1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"},
        {"1:0:3:4:5:6:7:8", "1:0:3:4:5:6:7:8"},
        {"1:2:3:4:5:6::", "1:2:3:4:5:6::"},
        {"::ffff:10.0.0.1", "::ffff:10.0.0.1"},
        {"64:ff9b::1.2.3.4", "64:ff9b::102:304"},
        {"fe80::a:0:0:1", "fe80::a:0:0:1"},
    };
    for (size_t i = 0; i < CD_COUNT(same); i++) {
        struct cd_ip ip;
        struct cd_buf text = {0};
        assert_int_equal(cd_ip_parse(cd_str(same[i][0]), &ip), 0);
        cd_ip_text(&text, &ip);
        assert_str_is(cd_buf_str(&text), same[i][1]);
        cd_buf_deinit(&text);
    }
}

static void test_what_is_no_address_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "1.2.3",
        "1.2.3.4.5",
        "256.1.1.1",
        "01.2.3.4",
        "1.2.3.",
        "a.b.c.d",
        "1.2.3.4 ",
        "::1%eth0",
        "[::1]",
        ":",
        ":::",
        "1::2::3",
        "12345::",
        "1:2:3",
        "1:2:3:4:5:6:7",
        "g::",
        "1.2.3.4::",
        "::1.2.3",
        "1:2:3:4:5:6:7::8",
        ":1:2:3:4:5:6:7",
    };
    for (size_t i = 0; i < CD_COUNT(bad); i++) {
        struct cd_ip ip;
        if (cd_ip_parse(cd_str(bad[i]), &ip) != CD_ESYNTAX)
            fail_msg("\"%s\" was taken", bad[i]);
    }
}

static void test_a_socket_address_has_a_literal_and_a_port(void **state)
{
    (void)state;
    struct cd_ip ip;
    uint16_t port;
    assert_int_equal(cd_ip_port_parse(CD_STR("127.0.0.1:8080"), &ip, &port), 0);
    assert_int_equal(port, 8080);
    assert_int_equal(cd_ip_port_parse(CD_STR("[::1]:65535"), &ip, &port), 0);
    assert_true(ip.v6);
    assert_int_equal(port, 65535);
    assert_int_equal(cd_ip_port_parse(CD_STR("0.0.0.0:0"), &ip, &port), 0);
    static const char *const bad[] = {
        "localhost:80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:+1", "::1:80",
        "[::1]",        "[::1]80",   "[::1:80",    "[127.0.0.1]:80",  ":80",          "127.0.0.1:080000",
    };
    for (size_t i = 0; i < CD_COUNT(bad); i++) {
        if (cd_ip_port_parse(cd_str(bad[i]), &ip, &port) != CD_ESYNTAX)
            fail_msg("\"%s\" was taken", bad[i]);
    }
}

static void test_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum cd_ip_kind kind;
    } of[] = {
        {"0.0.0.0", CD_IP_UNSPECIFIED},
        {"::", CD_IP_UNSPECIFIED},
        {"127.9.9.9", CD_IP_LOOPBACK},
        {"::1", CD_IP_LOOPBACK},
        {"10.1.1.1", CD_IP_PRIVATE},
        {"172.15.0.1", CD_IP_PUBLIC},
        {"172.16.0.1", CD_IP_PRIVATE},
        {"172.31.0.1", CD_IP_PRIVATE},
        {"172.32.0.1", CD_IP_PUBLIC},
        {"192.168.3.4", CD_IP_PRIVATE},
        {"100.64.0.1", CD_IP_PRIVATE},
        {"100.128.0.1", CD_IP_PUBLIC},
        {"fd00::1", CD_IP_PRIVATE},
        {"169.254.1.1", CD_IP_LINK},
        {"fe80::1", CD_IP_LINK},
        {"fec0::1", CD_IP_PUBLIC},
        {"224.0.0.1", CD_IP_MULTICAST},
        {"ff02::1", CD_IP_MULTICAST},
        {"255.255.255.255", CD_IP_BROADCAST},
        {"8.8.8.8", CD_IP_PUBLIC},
        {"2606:4700::1111", CD_IP_PUBLIC},
        {"::ffff:127.0.0.1", CD_IP_LOOPBACK},
        {"::ffff:8.8.8.8", CD_IP_PUBLIC},
    };
    for (size_t i = 0; i < CD_COUNT(of); i++) {
        struct cd_ip ip;
        assert_int_equal(cd_ip_parse(cd_str(of[i].text), &ip), 0);
        if (cd_ip_kind(&ip) != of[i].kind)
            fail_msg("%s is of kind %d", of[i].text, (int)cd_ip_kind(&ip));
    }
}

CD_TESTS(ip, cmocka_unit_test(test_addresses_parse_and_print_in_one_form),
         cmocka_unit_test(test_what_is_no_address_is_refused),
         cmocka_unit_test(test_a_socket_address_has_a_literal_and_a_port), cmocka_unit_test(test_kinds))
