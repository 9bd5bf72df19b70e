/* io_real/addr.c: literal addresses to and from the system's form. */
#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>

#include "io_real/net.h"

/* "fe80::1%eth0": the interface matters for link-local addresses. */
static int parse_scoped(struct real_addr *out, const char *host)
{
    const char *percent = strchr(host, '%');
    char bare[INET6_ADDRSTRLEN];
    size_t len = percent == NULL ? strlen(host) : (size_t)(percent - host);
    if (len >= sizeof bare)
        return CD_EINVAL;
    memcpy(bare, host, len);
    bare[len] = '\0';
    if (inet_pton(AF_INET6, bare, &out->v6.sin6_addr) != 1)
        return CD_EINVAL;
    if (percent != NULL) {
        out->v6.sin6_scope_id = if_nametoindex(percent + 1);
        if (out->v6.sin6_scope_id == 0)
            return CD_EINVAL;
    }
    out->v6.sin6_family = AF_INET6;
    out->len = sizeof out->v6;
    return 0;
}

int real_addr_parse(struct real_addr *out, const struct io_addr *from)
{
    *out = (struct real_addr){0};
    if (memchr(from->host, '\0', sizeof from->host) == NULL)
        return CD_EINVAL;
    if (inet_pton(AF_INET, from->host, &out->v4.sin_addr) == 1) {
        out->v4.sin_family = AF_INET;
        out->len = sizeof out->v4;
    } else {
        int rc = parse_scoped(out, from->host);
        if (rc != 0)
            return rc;
    }
    real_addr_port(out, from->port);
    return 0;
}

void real_addr_port(struct real_addr *a, uint16_t port)
{
    if (a->any.sa_family == AF_INET6)
        a->v6.sin6_port = htons(port);
    else
        a->v4.sin_port = htons(port);
}

void real_addr_text(const struct real_addr *a, struct io_addr *out)
{
    *out = (struct io_addr){0};
    if (a->any.sa_family == AF_INET) {
        out->port = ntohs(a->v4.sin_port);
        (void)inet_ntop(AF_INET, &a->v4.sin_addr, out->host, sizeof out->host);
    } else if (a->any.sa_family == AF_INET6) {
        out->port = ntohs(a->v6.sin6_port);
        const struct in6_addr *in6 = &a->v6.sin6_addr;
        if (IN6_IS_ADDR_V4MAPPED(in6)) {
            (void)inet_ntop(AF_INET, in6->s6_addr + 12, out->host, sizeof out->host);
            return;
        }
        (void)inet_ntop(AF_INET6, in6, out->host, sizeof out->host);
        char name[IF_NAMESIZE];
        size_t len = strlen(out->host);
        if (a->v6.sin6_scope_id != 0 && if_indextoname(a->v6.sin6_scope_id, name) != NULL)
            (void)snprintf(out->host + len, sizeof out->host - len, "%%%s", name);
    }
}
