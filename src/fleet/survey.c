#include "fleet/survey.h"

#include "base/map.h"
#include "fleet/probe.h"
#include "fleet/secret.h"
#include "store/retry.h"
#include "store/selftest.h"

#define PROBE_NS IO_SEC(5)
#define SOURCE CD_STR("diagnostic")

/* ---- Findings ---- */

static void found(struct fleet_survey *s, enum fleet_finding what, struct cd_str subject,
                  struct cd_str detail)
{
    s->found(s->arg, what, subject, detail);
}

static void found_peer(struct fleet_survey *s, enum fleet_finding what, const struct cd_buf *subject,
                       struct cd_str detail)
{
    if (what == FLEET_FINDING_FAIL)
        s->failed_peers++;
    found(s, what, cd_buf_str(subject), detail);
}

/* ---- The bucket ---- */

static int bucket_reached(struct fleet_survey *s, struct cd_buf *why)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct io_list l = {0};
    struct cd_buf subject = {0};
    cd_buf_addf(&subject, "bucket %.*s", (int)s->bucket_name.len, s->bucket_name.ptr);
    int rc = store_retry_list(&l, s->io, s->bucket, CD_STR(STORE_PREFIX_NODES), CD_STR(""), 1, &p);
    found(s, rc == IO_OK ? FLEET_FINDING_OK : FLEET_FINDING_FAIL, cd_buf_str(&subject), cd_str(l.why));
    if (rc != IO_OK)
        cd_buf_addf(why, "cannot list the bucket: %s", l.why);
    io_list_deinit(&l);
    cd_buf_deinit(&subject);
    return rc;
}

static int storage_test(struct fleet_survey *s, struct cd_buf *why)
{
    static const char done[] = "create, reject-create, update, reject-stale";
    struct store_selftest t = {.ranges = true};
    struct cd_buf reason = {0};
    if (s->read_only) {
        found(s, FLEET_FINDING_SKIP, CD_STR("bucket write probe"), CD_STR("--read-only"));
        return IO_OK;
    }
    int rc = store_selftest_run(s->io, s->bucket, &t);
    if (rc != IO_OK)
        return rc;
    if (t.verdict == STORE_CONFORMANT) {
        found(s, FLEET_FINDING_OK, CD_STR("bucket conditional write"), cd_str(done));
        found(s, FLEET_FINDING_OK, CD_STR("bucket ranged read"), CD_STR("exact range"));
        return IO_OK;
    }
    bool range = strcmp(t.which, "exact range") == 0;
    cd_buf_addf(&reason, "%s: %s", t.which, t.why);
    if (t.status == IO_DENIED)
        cd_buf_addf(&reason, "; --read-only does without writing");
    if (range)
        found(s, FLEET_FINDING_OK, CD_STR("bucket conditional write"), cd_str(done));
    found(s, FLEET_FINDING_FAIL, range ? CD_STR("bucket ranged read") : CD_STR("bucket conditional write"),
          cd_buf_str(&reason));
    cd_buf_deinit(&reason);
    cd_buf_addf(why, "bucket failed the storage conformance probe");
    return CD_EUNSUPPORTED;
}

/* ---- Its nodes ---- */

/* The ids that have a lease, in the order of their names. */
static int enumerate(struct fleet_survey *s, struct cd_map *nodes, struct cd_buf *why)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct cd_buf after = {0};
    bool more = true;
    int rc = IO_OK;
    while (rc == IO_OK && more) {
        struct io_list l = {0};
        rc = store_retry_list(&l, s->io, s->bucket, CD_STR(STORE_PREFIX_NODES), cd_buf_str(&after),
                              IO_LIST_MAX, &p);
        for (unsigned i = 0; rc == IO_OK && i < l.count; i++) {
            struct cd_str node;
            if (store_lease_name_parse(&node, l.entry[i].key))
                (void)cd_map_put(nodes, node, s);
        }
        more = l.more;
        cd_buf_clear(&after);
        if (rc == IO_OK && l.count > 0)
            cd_buf_add_str(&after, l.entry[l.count - 1].key);
        if (rc != IO_OK)
            cd_buf_addf(why, "cannot list the leases: %s", l.why);
        io_list_deinit(&l);
    }
    cd_buf_deinit(&after);
    return rc;
}

static void number(struct cd_buf *out, const char *name, uint64_t v)
{
    if (v == STORE_ABSENT)
        cd_buf_addf(out, " %s=unknown", name);
    else
        cd_buf_addf(out, " %s=%llu", name, (unsigned long long)v);
}

static void load_text(struct cd_buf *out, const struct store_lease *l, int64_t now_ms)
{
    const struct store_load *load = &l->load;
    uint64_t now = now_ms < 0 ? 0 : (uint64_t)now_ms, sampled = load->sampled_ms;
    cd_buf_addf(out, "(signed direct probe) protocol=%llu", (unsigned long long)l->peer_protocol);
    number(out, "owned_cells", load->owned_cells);
    number(out, "resident_cells", load->resident_cells);
    number(out, "websockets", load->host_websockets);
    number(out, "rss_bytes", load->rss_bytes);
    number(out, "in_use_bytes", load->in_use_bytes);
    if (load->cpu_percent_x100 == STORE_ABSENT)
        cd_buf_addf(out, " cpu_percent=unknown");
    else
        cd_buf_addf(out, " cpu_percent=%llu.%02u", (unsigned long long)(load->cpu_percent_x100 / 100),
                    (unsigned)(load->cpu_percent_x100 % 100));
    if (load->open_fds == STORE_ABSENT || load->fd_limit == STORE_ABSENT)
        cd_buf_addf(out, " fds=unknown");
    else
        cd_buf_addf(out, " fds=%llu/%llu", (unsigned long long)load->open_fds,
                    (unsigned long long)load->fd_limit);
    cd_buf_addf(out, " pressured=%s", load->pressured ? "true" : "false");
    number(out, "shed_cells", load->shed_cells);
    number(out, "restoring", load->restoring);
    number(out, "load_age_ms",
           sampled == STORE_ABSENT || sampled == 0 ? STORE_ABSENT
           : now > sampled                         ? now - sampled
                                                   : 0);
}

static void probe(struct fleet_survey *s, struct fleet_peer_client *c, const struct store_lease *l,
                  const struct cd_buf *peer)
{
    struct cd_buf subject = {0}, text = {0};
    struct io_addr to;
    if (fleet_peer_addr(&to, cd_str(l->addr), s->public_ok, &text) != 0) {
        found_peer(s, FLEET_FINDING_FAIL, peer, cd_buf_str(&text));
    } else {
        cd_buf_addf(&subject, "%.*s at %s", (int)peer->len, peer->ptr, l->addr);
        int rc = c == NULL ? CD_ENOTFOUND : fleet_probe(c, s->io, l, io_now_ns(s->io) + PROBE_NS, &text);
        if (c == NULL)
            cd_buf_addf(&text, "the fleet has no secret to sign with (%s)", STORE_KEY_PEER_AUTH);
        else if (rc == IO_OK)
            load_text(&text, l, io_wall_ms(s->io));
        found_peer(s, rc == IO_OK ? FLEET_FINDING_OK : FLEET_FINDING_FAIL, &subject, cd_buf_str(&text));
    }
    cd_buf_deinit(&subject);
    cd_buf_deinit(&text);
}

/* One node. *expired counts those that nobody asked for by name. */
static int look_at(struct fleet_survey *s, struct fleet_peer_client *c, struct cd_str node, bool named,
                   unsigned *expired)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct io_store get = {0};
    struct cd_buf key = {0}, subject = {0}, why = {0};
    struct store_lease *l = cd_new(struct store_lease);
    cd_buf_addf(&subject, "peer %.*s", (int)node.len, node.ptr);
    int rc = IO_NOENT;
    if (store_node_valid(node)) {
        store_key_lease(&key, node);
        rc = store_retry_get(&get, s->io, s->bucket, cd_buf_str(&key), 0, IO_WHOLE, &p);
    }
    if (rc == IO_NOENT && named)
        found_peer(s, FLEET_FINDING_FAIL, &subject, CD_STR("no lease record"));
    else if (rc != IO_OK && rc != IO_NOENT && rc != IO_CANCELED)
        found_peer(s, FLEET_FINDING_FAIL, &subject, cd_str(get.why));
    else if (rc == IO_OK && store_lease_read(l, node, cd_buf_str(&get.body), &why) != 0)
        found_peer(s, FLEET_FINDING_FAIL, &subject, cd_buf_str(&why));
    else if (rc == IO_OK && (int64_t)l->expires_ms <= io_wall_ms(s->io)) {
        *expired += !named;
        found_peer(s, named ? FLEET_FINDING_FAIL : FLEET_FINDING_SKIP, &subject, CD_STR("lease is expired"));
    } else if (rc == IO_OK) {
        probe(s, c, l, &subject);
    }
    cd_free(l);
    cd_buf_deinit(&get.body);
    cd_buf_deinit(&key);
    cd_buf_deinit(&subject);
    cd_buf_deinit(&why);
    return rc == IO_CANCELED ? rc : IO_OK;
}

static int look_at_all(struct fleet_survey *s, struct fleet_peer_client *c, const struct cd_map *nodes)
{
    unsigned expired = 0;
    int rc = IO_OK;
    for (unsigned i = 0; rc == IO_OK && i < s->peers; i++)
        rc = look_at(s, c, s->peer[i], true, &expired);
    struct cd_map_node *n = s->peers > 0 ? NULL : cd_map_first(nodes);
    for (; rc == IO_OK && n != NULL; n = cd_map_next(n))
        rc = look_at(s, c, cd_map_key(n), false, &expired);
    if (rc == IO_OK && expired > 0) {
        struct cd_buf text = {0};
        cd_buf_addf(&text, "skipped %u expired node lease(s)", expired);
        found(s, FLEET_FINDING_OK, CD_STR("fleet"), cd_buf_str(&text));
        cd_buf_deinit(&text);
    }
    return rc;
}

static int survey_nodes(struct fleet_survey *s, const struct cd_map *nodes, struct cd_buf *why)
{
    struct fleet_secret secret;
    struct cd_buf text = {0};
    cd_buf_addf(&text, "%zu node lease(s) enumerated", nodes->count);
    found(s, FLEET_FINDING_OK, CD_STR("fleet"), cd_buf_str(&text));
    cd_buf_deinit(&text);
    int rc = fleet_secret_read(&secret, s->io, s->bucket, why);
    if (rc == IO_NOENT) {
        cd_buf_clear(why);
        return look_at_all(s, NULL, nodes);
    }
    if (rc != IO_OK)
        return rc;
    struct io_op op = {0};
    struct fleet_peer_client *c = fleet_peer_client_new(&(struct fleet_peer_client_opts){
        .io = s->io, .secret = &secret, .source = SOURCE, .public_ok = s->public_ok});
    rc = look_at_all(s, c, nodes);
    fleet_peer_client_stop(c, &op, NULL);
    (void)io_await(&op, IO_FOREVER); /* Closing ends. */
    fleet_peer_client_free(c);
    return rc;
}

int fleet_survey(struct fleet_survey *s, struct cd_buf *why)
{
    struct cd_map nodes = {0};
    int rc = bucket_reached(s, why);
    if (rc == IO_OK)
        rc = storage_test(s, why);
    if (rc == IO_OK)
        rc = enumerate(s, &nodes, why);
    if (rc == IO_OK)
        rc = survey_nodes(s, &nodes, why);
    cd_map_deinit(&nodes);
    return rc;
}
