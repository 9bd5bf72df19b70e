#include "cli/diagnose.h"

#include "base/ip.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/serve.h"
#include "fleet/survey.h"
#include "store/bucket_url.h"

struct diagnose {
    struct cli *c;
    struct io *io; /* Of the loop that runs. */
    struct io_fiber *flow;
    struct cli_out out;
    struct cd_str bucket;
    struct cd_buf why;
    unsigned failed_peers;
    int rc;
};

static const char *const verdicts[] = {
    [FLEET_FINDING_OK] = "ok", [FLEET_FINDING_FAIL] = "fail", [FLEET_FINDING_SKIP] = "skip"};

static void found(void *arg, enum fleet_finding what, struct cd_str subject, struct cd_str detail)
{
    struct diagnose *d = arg;
    struct cd_buf row = {0};
    if (cli_given(&d->c->parsed, CLI_JSON)) {
        struct cd_json_out o;
        cd_json_out_init(&o, &row);
        cd_json_out_object(&o);
        cd_json_out_key(&o, "verdict");
        cd_json_out_str(&o, cd_str(verdicts[what]));
        cd_json_out_key(&o, "check");
        cd_json_out_str(&o, subject);
        cd_json_out_key(&o, "detail");
        if (detail.len > 0)
            cd_json_out_str(&o, detail);
        else
            cd_json_out_null(&o);
        cd_json_out_end(&o, '}');
    } else {
        cd_buf_addf(&row, "%s %.*s%s%.*s", verdicts[what], (int)subject.len, subject.ptr,
                    detail.len > 0 ? ": " : "", (int)detail.len, detail.len > 0 ? detail.ptr : "");
    }
    (void)cli_out_row(&d->out, cd_buf_str(&row)); /* cli_out_end tells when it fails. */
    cd_buf_deinit(&row);
}

/* ---- What this machine can do ---- */

/* Binds, lets go, and says so. at gets the bound port. */
static int check_listener(struct diagnose *d, const char *subject, enum cli_flag flag, enum cli_set set,
                          const char *otherwise, struct io_addr *at)
{
    struct cd_buf name = {0};
    struct io_listener l = {0};
    struct io_op op = {0};
    int rc = cli_serve_addr(d->c, flag, set, otherwise, at);
    CD_ASSERT(rc == 0); /* cli_check_diagnose has looked. */
    cd_buf_addf(&name, "%s ", subject);
    cli_serve_addr_text(&name, at);
    rc = io_listen(&l, d->io, at, 0);
    if (rc == IO_OK) {
        io_listener_addr(&l, at);
        io_listener_close(&l, &op, NULL);
        (void)io_await(&op, IO_FOREVER); /* Closing ends. */
        found(d, FLEET_FINDING_OK, cd_buf_str(&name), CD_STR("bind check; diagnose does not serve"));
    } else if ((rc == IO_BUSY || rc == IO_EXISTS) && flag == CLI_LISTEN &&
               cli_either(d->c, flag, set).len == 0) {
        found(d, FLEET_FINDING_SKIP, cd_buf_str(&name),
              CD_STR("address in use; pass --listen to test another"));
        rc = IO_OK;
    } else {
        found(d, FLEET_FINDING_FAIL, cd_buf_str(&name), cd_str(cd_err_text(rc)));
        cd_buf_addf(&d->why, "cannot listen: %s: %s", cd_buf_cstr(&name), cd_err_text(rc));
    }
    cd_buf_deinit(&name);
    return rc;
}

/* operations.md 5.2 */
static const char *scope_of(struct cd_str addr)
{
    struct cd_ip ip;
    uint16_t port;
    if (cd_ip_port_parse(addr, &ip, &port) != 0)
        return "resolved by each peer";
    switch (cd_ip_kind(&ip)) {
    case CD_IP_LOOPBACK: return "same host only";
    case CD_IP_PRIVATE: return "private network";
    case CD_IP_LINK: return "local link only";
    case CD_IP_UNSPECIFIED:
    case CD_IP_MULTICAST:
    case CD_IP_BROADCAST:
    case CD_IP_PUBLIC: return "operator-routed network";
    }
    CD_UNREACHABLE();
}

static int check_machine(struct diagnose *d)
{
    struct io_addr at, internal;
    struct cd_buf addr = {0}, subject = {0}, detail = {0};
    int rc = check_listener(d, "listen", CLI_LISTEN, CLI_SET_ADDR, CLI_LISTEN_DEFAULT, &at);
    if (rc == IO_OK)
        rc = check_listener(d, "internal listen", CLI_INTERNAL_LISTEN, CLI_SET_INTERNAL_ADDR,
                            CLI_INTERNAL_DEFAULT, &internal);
    if (rc == IO_OK) {
        struct cd_str given = cd_str_trim(cli_either(d->c, CLI_ADVERTISE, CLI_SET_ADVERTISE));
        if (given.len > 0)
            cd_buf_add_str(&addr, given);
        else
            cli_serve_addr_text(&addr, &internal);
        cd_buf_addf(&subject, "advertise %s", cd_buf_cstr(&addr));
        cd_buf_addf(&detail, "%s; direct reachability is not inferred", scope_of(cd_buf_str(&addr)));
        found(d, FLEET_FINDING_OK, cd_buf_str(&subject), cd_buf_str(&detail));
    }
    cd_buf_deinit(&addr);
    cd_buf_deinit(&subject);
    cd_buf_deinit(&detail);
    return rc;
}

/* ---- The whole ---- */

static void flow(void *arg)
{
    struct diagnose *d = arg;
    const struct cli_args *a = &d->c->parsed;
    struct cd_buf name = {0};
    struct fleet_survey s = {
        .io = d->io,
        .bucket = io_bucket(d->io),
        .read_only = cli_given(a, CLI_READ_ONLY),
        .public_ok = cli_on(d->c, CLI_UNSAFE_PUBLIC_ADVERTISE, CLI_SET_UNSAFE_PUBLIC_ADVERTISE),
        .peer = a->repeated,
        .peers = a->repeated_count,
        .found = found,
        .arg = d,
    };
    struct store_bucket_url url;
    int rc = store_bucket_url_parse(&url, d->bucket, &d->why);
    CD_ASSERT(rc == 0); /* cli_check_diagnose has looked. */
    store_bucket_url_text(&name, &url);
    s.bucket_name = cd_buf_str(&name);
    d->rc = check_machine(d);
    if (d->rc == IO_OK)
        d->rc = fleet_survey(&s, &d->why);
    d->failed_peers = s.failed_peers;
    cd_buf_deinit(&name);
    d->flow = NULL;
    io_stop(d->io);
}

static void entry(struct io *io, void *arg)
{
    struct diagnose *d = arg;
    d->io = io;
    cli_out_init(&d->out, io);
    d->flow = io_spawn(io, "diagnose", flow, d);
}

static void signaled(struct io *io, int signal, void *arg)
{
    struct diagnose *d = arg;
    (void)io, (void)signal;
    if (d->flow != NULL)
        io_fiber_cancel(d->flow);
}

int cli_diagnose(struct cli *c)
{
    struct diagnose d = {.c = c, .bucket = cd_str_trim(cli_either(c, CLI_BUCKET, CLI_SET_BUCKET))};
    struct cli_node node = {
        .bucket = d.bucket, .log_filter = CD_STR("off"), .entry = entry, .signaled = signaled, .arg = &d};
    int rc = c->run_node(c, &node);
    if (rc != 0)
        return rc;
    d.out.io = c->io; /* The loop it ran on is gone. */
    rc = cli_out_end(&d.out, &c->error);
    if (rc == 0 && d.rc != IO_OK)
        rc = d.rc == IO_CANCELED ? cli_fail(c, "interrupted") : cli_fail(c, "%s", cd_buf_cstr(&d.why));
    else if (rc == 0 && d.failed_peers > 0)
        rc = cli_fail(c, "fleet diagnostics failed for %u peer(s)", d.failed_peers);
    cli_out_deinit(&d.out);
    cd_buf_deinit(&d.why);
    return rc;
}
