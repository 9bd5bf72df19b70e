/* base/ip.h: literal IP addresses as text (operations.md 1.4, 5.2). Names are not resolved here. */
#ifndef BASE_IP_H
#define BASE_IP_H

#include "base/buf.h"

struct cd_ip {
    bool v6;
    uint8_t bytes[16]; /* IPv4: the first four. Network order. */
};

/* "127.0.0.1" or "::1": no brackets, no zone, no leading zeros in IPv4. CD_ESYNTAX. */
CD_MUST_USE int cd_ip_parse(struct cd_str text, struct cd_ip *out);
/* "127.0.0.1:80" or "[::1]:80". CD_ESYNTAX. */
CD_MUST_USE int cd_ip_port_parse(struct cd_str text, struct cd_ip *ip, uint16_t *port);

enum cd_ip_kind {
    CD_IP_UNSPECIFIED,
    CD_IP_LOOPBACK,
    CD_IP_PRIVATE, /* RFC 1918, 100.64.0.0/10, fc00::/7. */
    CD_IP_LINK, /* 169.254.0.0/16, fe80::/10. */
    CD_IP_MULTICAST,
    CD_IP_BROADCAST,
    CD_IP_PUBLIC, /* All others. */
};
/* An IPv4 address in IPv6 clothes (::ffff:0:0/96) counts as what it is. */
enum cd_ip_kind cd_ip_kind(const struct cd_ip *ip);

/* Canonical: lower case, the longest run of zeros as "::" (RFC 5952). IPv6 without brackets. */
void cd_ip_text(struct cd_buf *out, const struct cd_ip *ip);

#endif
