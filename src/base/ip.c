/* base/ip.c: literal IP addresses. */
#include "base/ip.h"

static const uint8_t mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static int parse_v4(struct cd_str text, uint8_t out[4])
{
    struct cd_str part;
    unsigned count = 0;
    while (cd_str_next(&text, '.', &part)) {
        uint64_t value;
        if (count == 4 || part.len > 3 || cd_str_u64(part, &value) != 0 || value > 255)
            return CD_ESYNTAX;
        if (part.len > 1 && part.ptr[0] == '0') /* 010 is eight to some and ten to others. */
            return CD_ESYNTAX;
        out[count++] = (uint8_t)value;
    }
    return count == 4 ? 0 : CD_ESYNTAX;
}

/* Groups of one side of "::", or of a whole address. Returns how many bytes they make, or CD_ESYNTAX. */
static int parse_groups(struct cd_str text, bool last, uint8_t out[16])
{
    struct cd_str part;
    int size = 0;
    if (text.len == 0)
        return 0;
    while (cd_str_next(&text, ':', &part)) {
        uint64_t value;
        if (last && text.ptr == NULL && cd_str_find(part, '.', 0) != SIZE_MAX) {
            if (size > 12 || parse_v4(part, out + size) != 0)
                return CD_ESYNTAX;
            return size + 4;
        }
        if (size == 16 || part.len == 0 || part.len > 4 || cd_str_hex_u64(part, &value) != 0)
            return CD_ESYNTAX;
        out[size++] = (uint8_t)(value >> 8);
        out[size++] = (uint8_t)(value & 0xff);
    }
    return size;
}

static int parse_v6(struct cd_str text, uint8_t out[16])
{
    uint8_t front[16], back[16];
    size_t gap = cd_str_find_str(text, CD_STR("::"), 0);
    if (gap == SIZE_MAX) {
        int size = parse_groups(text, true, front);
        if (size != 16)
            return CD_ESYNTAX;
        memcpy(out, front, 16);
        return 0;
    }
    int before = parse_groups(cd_str_sub(text, 0, gap), false, front);
    int after = parse_groups(cd_str_sub(text, gap + 2, SIZE_MAX), true, back);
    if (before < 0 || after < 0 || before + after > 14) /* "::" stands for one group at least. */
        return CD_ESYNTAX;
    memset(out, 0, 16);
    memcpy(out, front, (size_t)before);
    memcpy(out + 16 - after, back, (size_t)after);
    return 0;
}

int cd_ip_parse(struct cd_str text, struct cd_ip *out)
{
    struct cd_ip ip = {0};
    ip.v6 = cd_str_find(text, ':', 0) != SIZE_MAX;
    int rc = ip.v6 ? parse_v6(text, ip.bytes) : parse_v4(text, ip.bytes);
    if (rc == 0)
        *out = ip;
    return rc;
}

int cd_ip_port_parse(struct cd_str text, struct cd_ip *ip, uint16_t *port)
{
    struct cd_str host;
    uint64_t number;
    size_t colon;
    if (text.len > 0 && text.ptr[0] == '[') {
        size_t close = cd_str_find(text, ']', 0);
        if (close == SIZE_MAX)
            return CD_ESYNTAX;
        host = cd_str_sub(text, 1, close - 1);
        colon = close + 1;
        if (cd_str_find(host, ':', 0) == SIZE_MAX)
            return CD_ESYNTAX;
    } else {
        colon = cd_str_find(text, ':', 0);
        host = cd_str_sub(text, 0, colon);
        if (colon == SIZE_MAX)
            return CD_ESYNTAX;
    }
    struct cd_str digits = cd_str_sub(text, colon + 1, SIZE_MAX);
    if (colon >= text.len || text.ptr[colon] != ':' || digits.len > 5 || cd_str_u64(digits, &number) != 0 ||
        number > UINT16_MAX || cd_ip_parse(host, ip) != 0)
        return CD_ESYNTAX;
    *port = (uint16_t)number;
    return 0;
}

static bool all_are(const uint8_t *bytes, size_t len, uint8_t value)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != value)
            return false;
    }
    return true;
}

static enum cd_ip_kind kind_v4(const uint8_t b[4])
{
    if (all_are(b, 4, 0))
        return CD_IP_UNSPECIFIED;
    if (all_are(b, 4, 255))
        return CD_IP_BROADCAST;
    if (b[0] == 127)
        return CD_IP_LOOPBACK;
    if (b[0] == 10 || (b[0] == 172 && (b[1] & 0xf0) == 16) || (b[0] == 192 && b[1] == 168) ||
        (b[0] == 100 && (b[1] & 0xc0) == 64))
        return CD_IP_PRIVATE;
    if (b[0] == 169 && b[1] == 254)
        return CD_IP_LINK;
    return (b[0] & 0xf0) == 224 ? CD_IP_MULTICAST : CD_IP_PUBLIC;
}

enum cd_ip_kind cd_ip_kind(const struct cd_ip *ip)
{
    const uint8_t *b = ip->bytes;
    if (!ip->v6)
        return kind_v4(b);
    if (memcmp(b, mapped_prefix, sizeof mapped_prefix) == 0)
        return kind_v4(b + 12);
    if (all_are(b, 15, 0) && b[15] <= 1)
        return b[15] == 0 ? CD_IP_UNSPECIFIED : CD_IP_LOOPBACK;
    if ((b[0] & 0xfe) == 0xfc)
        return CD_IP_PRIVATE;
    if (b[0] == 0xfe && (b[1] & 0xc0) == 0x80)
        return CD_IP_LINK;
    return b[0] == 0xff ? CD_IP_MULTICAST : CD_IP_PUBLIC;
}

/* The first of the longest runs of two or more zero groups: its start and length in groups. */
static unsigned zero_run(const uint8_t b[16], unsigned *len)
{
    unsigned best = 8;
    *len = 1;
    for (unsigned i = 0; i < 8;) {
        unsigned n = 0;
        while (i + n < 8 && b[2 * (i + n)] == 0 && b[2 * (i + n) + 1] == 0)
            n++;
        if (n > *len) {
            best = i;
            *len = n;
        }
        i += n + 1;
    }
    return best;
}

void cd_ip_text(struct cd_buf *out, const struct cd_ip *ip)
{
    const uint8_t *b = ip->bytes;
    if (!ip->v6) {
        cd_buf_addf(out, "%u.%u.%u.%u", b[0], b[1], b[2], b[3]);
        return;
    }
    if (memcmp(b, mapped_prefix, sizeof mapped_prefix) == 0) {
        cd_buf_addf(out, "::ffff:%u.%u.%u.%u", b[12], b[13], b[14], b[15]);
        return;
    }
    unsigned len, gap = zero_run(b, &len);
    for (unsigned i = 0; i < 8; i++) {
        if (i == gap) {
            cd_buf_addf(out, "::");
            i += len - 1;
        } else {
            bool colon = i != 0 && !(gap < 8 && i == gap + len);
            cd_buf_addf(out, "%s%x", colon ? ":" : "", (unsigned)(b[2 * i] << 8 | b[2 * i + 1]));
        }
    }
}
