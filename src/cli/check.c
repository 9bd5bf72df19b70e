/* cli/check.c: what the flags and settings of a node and of operator commands must satisfy together, before
 * any socket or bucket is opened (operations.md 1.2, 1.4, 1.5, 4.1, 5.2). */
#include "base/ip.h"
#include "cli/command.h"
#include "cli/text.h"
#include "store/bucket_url.h"

struct cd_str cli_either(const struct cli *c, enum cli_flag flag, enum cli_set set)
{
    if (cli_given(&c->parsed, flag))
        return c->parsed.value[flag];
    return cli_is_set(&c->settings, set) ? c->settings.value[set].text : (struct cd_str){0};
}

/* Which of the two the value came from, for messages. */
static const char *source(const struct cli *c, enum cli_flag flag, enum cli_set set)
{
    return cli_given(&c->parsed, flag) ? cli_flag_info(flag)->name : c->settings.value[set].name;
}

bool cli_on(const struct cli *c, enum cli_flag flag, enum cli_set set)
{
    return cli_given(&c->parsed, flag) || cli_num(&c->settings, set) == 1;
}

/* The bucket and its endpoint, when there are any. */
static int check_bucket(struct cli *c, struct cd_str text)
{
    struct store_bucket_url url;
    struct cd_str endpoint = cli_either(c, CLI_ENDPOINT, CLI_SET_ENDPOINT);
    struct cd_buf why = {0};
    int rc = 0;
    if (text.len > 0)
        rc = store_bucket_url_parse(&url, text, &why);
    if (rc == 0 && text.len > 0)
        rc = store_bucket_url_check_endpoint(&url, endpoint, &why);
    endpoint = cd_str_trim(endpoint);
    if (rc != 0)
        (void)cli_fail(c, "%s", cd_buf_cstr(&why));
    else if (endpoint.len > 0 && !cli_is_http_url(endpoint))
        rc = cli_fail(c, "%s must be an http or https URL", source(c, CLI_ENDPOINT, CLI_SET_ENDPOINT));
    cd_buf_deinit(&why);
    return rc;
}

int cli_check_fleet(struct cli *c, const struct cli_command *command)
{
    struct cd_str bucket = cli_either(c, CLI_BUCKET, CLI_SET_BUCKET);
    /* A dry run of deploy writes nothing, so it may go without. */
    bool optional = strcmp(command->name, "deploy") == 0 && cli_given(&c->parsed, CLI_DRY_RUN);
    if (cd_str_trim(bucket).len == 0 && !optional)
        return cli_fail(
            c, "`celld %s` requires --bucket s3://NAME, gs://NAME or az://CONTAINER (or CELLD_BUCKET)",
            command->needs_bucket);
    return check_bucket(c, bucket);
}

struct listener {
    struct cd_ip ip;
    uint16_t port;
    bool explicit;
};

static int check_listener(struct cli *c, enum cli_flag flag, enum cli_set set, struct cd_str otherwise,
                          struct listener *out)
{
    struct cd_str text = cli_either(c, flag, set);
    out->explicit = text.len > 0;
    if (cd_ip_port_parse(out->explicit ? cd_str_trim(text) : otherwise, &out->ip, &out->port) != 0)
        return cli_fail(c, "%s must be an IP socket address such as 127.0.0.1:8080", source(c, flag, set));
    return 0;
}

/* Labels of letters, digits and inner hyphens. */
static bool is_host_name(struct cd_str name)
{
    struct cd_str label;
    if (name.len == 0 || name.len > 253)
        return false;
    while (cd_str_next(&name, '.', &label)) {
        if (label.len == 0 || label.len > 63 || label.ptr[0] == '-' || label.ptr[label.len - 1] == '-')
            return false;
        for (size_t i = 0; i < label.len; i++) {
            if (!cli_is_alnum(label.ptr[i]) && label.ptr[i] != '-')
                return false;
        }
    }
    return true;
}

static int check_public(struct cli *c, const struct cd_ip *ip)
{
    struct cd_buf text = {0};
    int rc = 0;
    cd_ip_text(&text, ip);
    if (cd_ip_kind(ip) == CD_IP_PUBLIC &&
        !cli_on(c, CLI_UNSAFE_PUBLIC_ADVERTISE, CLI_SET_UNSAFE_PUBLIC_ADVERTISE))
        rc =
            cli_fail(c, "refusing to advertise public address %s; set --unsafe-public-advertise to permit it",
                     cd_buf_cstr(&text));
    cd_buf_deinit(&text);
    return rc;
}

static int check_advertise(struct cli *c, struct cd_str text)
{
    const char *name = source(c, CLI_ADVERTISE, CLI_SET_ADVERTISE);
    struct cd_ip ip;
    uint16_t port;
    text = cd_str_trim(text);
    if (cd_ip_port_parse(text, &ip, &port) == 0) {
        enum cd_ip_kind kind = cd_ip_kind(&ip);
        if (port == 0 || kind == CD_IP_UNSPECIFIED || kind == CD_IP_MULTICAST || kind == CD_IP_BROADCAST)
            return cli_fail(c, "%s must be an address that peers can connect to, with a port", name);
        return check_public(c, &ip);
    }
    /* A name must not look like a number: 256.1.1.1 is a mistake, not a host. */
    size_t colon = cd_str_find(text, ':', 0);
    struct cd_str host = cd_str_sub(text, 0, colon), last = host, label;
    struct cd_str digits = colon == SIZE_MAX ? (struct cd_str){0} : cd_str_sub(text, colon + 1, SIZE_MAX);
    uint64_t number = 0, numeric;
    for (struct cd_str rest = host; cd_str_next(&rest, '.', &label);)
        last = label;
    if (!is_host_name(host) || cd_str_u64(last, &numeric) != CD_ESYNTAX || cd_str_u64(digits, &number) != 0 ||
        number == 0 || number > UINT16_MAX)
        return cli_fail(c, "%s must be HOST:PORT with a host name or IP address and a port of 1 to 65535",
                        name);
    return 0;
}

/* The internal store of celld dev is for the node that celld dev runs, and for nobody else. */
static int check_dev_store(struct cli *c, struct cd_str bucket, bool diagnose)
{
    if (!cli_is_set(&c->settings, CLI_SET_INTERNAL_DEV_STORE))
        return 0;
    bucket = cd_str_trim(bucket);
    if (diagnose ||
        (!cd_str_eq(bucket, CD_STR("celld-dev")) && !cd_str_eq(bucket, CD_STR(CLI_DEV_FLEET_BUCKET))) ||
        cli_either(c, CLI_ENDPOINT, CLI_SET_ENDPOINT).len > 0 ||
        cli_either(c, CLI_ADVERTISE, CLI_SET_ADVERTISE).len > 0)
        return cli_fail(c, "the internal development store requires the celld dev node configuration");
    return 0;
}

static int check_node(struct cli *c, bool diagnose)
{
    struct listener public = {0}, internal = {0};
    struct cd_str advertise = cli_either(c, CLI_ADVERTISE, CLI_SET_ADVERTISE);
    struct cd_str bucket = cli_either(c, CLI_BUCKET, CLI_SET_BUCKET);
    int rc = check_listener(c, CLI_LISTEN, CLI_SET_ADDR, CD_STR(CLI_LISTEN_DEFAULT), &public);
    if (rc == 0)
        rc = check_listener(c, CLI_INTERNAL_LISTEN, CLI_SET_INTERNAL_ADDR, CD_STR(CLI_INTERNAL_DEFAULT),
                            &internal);
    if (rc != 0)
        return rc;
    if (public.explicit && cd_ip_kind(&public.ip) != CD_IP_LOOPBACK && !internal.explicit)
        return cli_fail(c, "a non-loopback --listen or CELLD_ADDR requires an explicit --internal-listen or "
                           "CELLD_INTERNAL_ADDR; celld does not reuse the public Worker listener for peers");
    if (advertise.len > 0 && !internal.explicit)
        return cli_fail(c, "--advertise or CELLD_ADVERTISE requires an explicit --internal-listen or "
                           "CELLD_INTERNAL_ADDR; the default internal listener uses a random loopback port");
    if (cd_ip_kind(&internal.ip) == CD_IP_UNSPECIFIED && advertise.len == 0) {
        struct cd_str text = cd_str_trim(cli_either(c, CLI_INTERNAL_LISTEN, CLI_SET_INTERNAL_ADDR));
        return cli_fail(c,
                        "--advertise is required when --internal-listen uses an unspecified address (%.*s)",
                        (int)text.len, text.ptr);
    }
    rc = advertise.len > 0 ? check_advertise(c, advertise) : check_public(c, &internal.ip);
    if (rc == 0)
        rc = check_dev_store(c, bucket, diagnose);
    return rc == 0 ? check_bucket(c, bucket) : rc;
}

int cli_check_serve(struct cli *c)
{
    int rc = check_node(c, false);
    if (rc == 0 && cli_either(c, CLI_BUCKET, CLI_SET_BUCKET).len == 0)
        rc =
            cli_fail(c, "`celld` requires --bucket s3://NAME, gs://NAME or az://CONTAINER (or CELLD_BUCKET)");
    return rc;
}

static bool is_peer_id(struct cd_str id)
{
    for (size_t i = 0; i < id.len; i++) {
        if (strchr("/?#", id.ptr[i]) != NULL || (unsigned char)id.ptr[i] <= ' ')
            return false;
    }
    return id.len >= 1 && id.len <= 200;
}

int cli_check_diagnose(struct cli *c)
{
    for (unsigned i = 0; i < c->parsed.repeated_count; i++) {
        if (!is_peer_id(c->parsed.repeated[i]))
            return cli_fail(c, "--peer must be one node-session ID without a path or whitespace");
    }
    return check_node(c, true);
}

int cli_check_dev(struct cli *c)
{
    const struct cli_args *a = &c->parsed;
    struct cd_ip ip;
    uint64_t port = CLI_DEV_PORT, nodes = 1;
    if (cli_given(a, CLI_HOST) && cd_ip_parse(a->value[CLI_HOST], &ip) != 0)
        return cli_fail(c, "--host must be an IP address such as 127.0.0.1");
    if (cli_given(a, CLI_PORT) &&
        (cd_str_u64(a->value[CLI_PORT], &port) != 0 || port == 0 || port > UINT16_MAX))
        return cli_fail(c, "--port must be between 1 and 65535");
    if (cli_given(a, CLI_NODES) &&
        (cd_str_u64(a->value[CLI_NODES], &nodes) != 0 || nodes == 0 || nodes > CLI_DEV_NODES_MAX))
        return cli_fail(c, "--nodes must be between 1 and %u", CLI_DEV_NODES_MAX);
    if (port + nodes - 1 > UINT16_MAX)
        return cli_fail(c, "--port must be at most %u with --nodes %u: each node has a port of its own",
                        (unsigned)(UINT16_MAX - (nodes - 1)), (unsigned)nodes);
    if (cli_given(a, CLI_WATCH_IGNORE) && cli_given(a, CLI_NO_WATCH))
        return cli_fail(c, "--watch-ignore cannot be used with --no-watch");
    for (unsigned i = 0; i < a->repeated_count; i++) {
        if (a->repeated_flag[i] != CLI_WATCH_IGNORE)
            continue;
        struct cd_buf why = {0}, quoted = {0};
        int rc = cli_glob_check(a->repeated[i], &why);
        cli_quote(&quoted, a->repeated[i]);
        if (rc != 0)
            (void)cli_fail(c, "--watch-ignore has invalid pattern %s: %s", cd_buf_cstr(&quoted),
                           cd_buf_cstr(&why));
        cd_buf_deinit(&why);
        cd_buf_deinit(&quoted);
        if (rc != 0)
            return rc;
    }
    return 0;
}
