#include "fleet/sample.h"

#include <stdio.h>

#include "fleet/claim_rule.h"
#include "store/retry.h"

#define BODY_MAX (16u << 20)
#define GETS 16u /* Leases read at a time. */
#define REFRESH_MAX_MS 30000u

void fleet_sample_deinit(struct fleet_sample *s)
{
    cd_free(s->node);
    s->node = NULL;
    s->count = 0;
    s->started_ms = 0;
}

static bool within(const struct fleet_sample *s, int64_t started_ms, uint64_t ms)
{
    int64_t age = io_wall_ms(s->io) - started_ms;
    return started_ms > 0 && age < (int64_t)ms && age > -(int64_t)ms; /* Clocks differ. */
}

bool fleet_sample_fresh(const struct fleet_sample *s)
{
    return s->count > 0 && within(s, s->started_ms, s->interval_ms);
}

/* ---- What is in the object ---- */

static void take_lease(struct fleet_sample *s, const struct cd_json *v)
{
    struct fleet_sampled *n = &s->node[s->count];
    struct cd_buf body = {0};
    struct cd_str node;
    if (s->count == FLEET_SAMPLE_MAX || cd_json_str(cd_json_get(v, "node"), &node) != 0)
        return;
    cd_json_text(&body, v);
    if (store_lease_read(&n->lease, node, cd_buf_str(&body), NULL) == 0) {
        int64_t at = CD_PLANT("fleet.sample_by_own_clock") ? io_wall_ms(s->io) : s->started_ms;
        n->live = !fleet_lease_dead(&n->lease, at, 0, false);
        s->count++;
    }
    cd_buf_deinit(&body);
}

/* What this node knows of nodes that have not sampled themselves since. */
static void carry_over(struct fleet_sample *s, const struct fleet_sampled *old, unsigned count)
{
    for (unsigned i = 0; i < s->count; i++) {
        struct fleet_sampled *n = &s->node[i];
        for (unsigned k = 0; k < count; k++) {
            const struct store_lease *was = &old[k].lease;
            if (strcmp(was->node, n->lease.node) != 0 || strcmp(was->generation, n->lease.generation) != 0 ||
                was->load.sampled_ms != n->lease.load.sampled_ms)
                continue;
            n->reserved = old[k].reserved;
            n->refused = old[k].refused;
        }
    }
}

/* at: {"started_ms":N,"leases":[...]} */
static bool take(struct fleet_sample *s, const struct cd_json *at)
{
    uint64_t started;
    const struct cd_json *leases = cd_json_get(at, "leases");
    if (cd_json_u64(cd_json_get(at, "started_ms"), &started) != 0 || leases == NULL)
        return false;
    if (s->count > 0 && s->started_ms == (int64_t)started)
        return true; /* The one that we have. */
    struct fleet_sampled *old = s->node;
    unsigned count = s->count;
    s->node =
        cd_alloc((cd_json_count(leases) < FLEET_SAMPLE_MAX ? cd_json_count(leases) + 1 : FLEET_SAMPLE_MAX) *
                 sizeof *s->node);
    s->count = 0;
    s->started_ms = (int64_t)started;
    for (const struct cd_json *v = cd_json_next(leases, NULL, NULL); v != NULL;
         v = cd_json_next(leases, v, NULL))
        take_lease(s, v);
    carry_over(s, old, count);
    cd_free(old);
    return s->count > 0;
}

static void add_part(struct cd_json_out *j, const char *key, const struct cd_json *v)
{
    struct cd_buf text = {0};
    if (v == NULL)
        cd_buf_add_str(&text, CD_STR("null"));
    else
        cd_json_text(&text, v);
    cd_json_out_key(j, key);
    cd_json_out_raw(j, cd_buf_str(&text));
    cd_buf_deinit(&text);
}

/* ---- The object ---- */

enum state { ABSENT, READY, REFRESHING };

struct round {
    struct fleet_sample *s;
    char token[IO_TOKEN_MAX];
    enum state state;
    struct cd_json_doc *doc; /* NULL: there is none that can be read. */
    const struct cd_json *sample; /* In doc: ready, or what the refresh replaces; NULL: none. */
    uint64_t started_ms, expires_ms; /* Of the sample; of the refresh. */
};

static int read_object(struct round *r)
{
    struct fleet_sample *s = r->s;
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct io_store get = {0};
    int rc = store_retry_get(&get, s->io, s->bucket, CD_STR(FLEET_SAMPLE_KEY), 0, IO_WHOLE, &p);
    cd_json_free(r->doc);
    *r = (struct round){.s = s, .state = ABSENT};
    memcpy(r->token, get.token, sizeof r->token);
    if (rc == IO_OK && (get.body.len > BODY_MAX || cd_json_parse(&r->doc, cd_buf_str(&get.body), NULL) != 0))
        r->doc = NULL; /* Advisory: as good as expired (2.2). */
    if (rc == IO_OK)
        r->state = REFRESHING;
    cd_buf_deinit(&get.body);
    if (r->doc != NULL) {
        const struct cd_json *root = cd_json_root(r->doc), *ready = cd_json_get(root, "ready"),
                             *under_way = cd_json_get(root, "refreshing");
        r->state = ready != NULL ? READY : REFRESHING;
        r->sample = ready != NULL ? ready : cd_json_get(under_way, "previous");
        if (cd_json_u64(cd_json_get(r->sample, "started_ms"), &r->started_ms) != 0)
            r->started_ms = 0;
        if (cd_json_u64(cd_json_get(under_way, "expires_ms"), &r->expires_ms) != 0)
            r->expires_ms = 0;
    }
    return rc == IO_NOENT ? IO_OK : rc;
}

/* IO_CONFLICT: somebody else wrote it. */
static int put(struct round *r, const struct cd_buf *body)
{
    struct io_store s = {.lane = IO_LANE_CONTROL};
    enum io_put how = r->state == ABSENT ? IO_PUT_IF_ABSENT : IO_PUT_IF_MATCH;
    memcpy(s.token, r->token, sizeof s.token);
    if (CD_PLANT("fleet.sample_overwritten"))
        how = IO_PUT_ANY;
    io_store_put(&s, r->s->bucket, CD_STR(FLEET_SAMPLE_KEY), cd_buf_str(body), how, NULL);
    int rc = io_await(&s.op, IO_FOREVER); /* The lane's own timeout ends it. */
    if (rc == IO_OK)
        memcpy(r->token, s.token, sizeof r->token);
    return rc;
}

static int put_refreshing(struct round *r)
{
    uint64_t now = (uint64_t)io_wall_ms(r->s->io), last = 3 * r->s->interval_ms;
    struct cd_buf body = {0};
    struct cd_json_out j;
    cd_json_out_init(&j, &body);
    cd_json_out_object(&j);
    cd_json_out_key(&j, "v");
    cd_json_out_u64(&j, 1);
    cd_json_out_key(&j, "refreshing");
    cd_json_out_object(&j);
    cd_json_out_key(&j, "expires_ms");
    cd_json_out_u64(&j, now + (last < REFRESH_MAX_MS ? last : REFRESH_MAX_MS));
    add_part(&j, "previous", r->sample);
    cd_json_out_end(&j, '}');
    cd_json_out_end(&j, '}');
    int rc = put(r, &body);
    cd_buf_deinit(&body);
    r->state = REFRESHING;
    return rc;
}

static int put_ready(struct round *r, struct cd_str sample)
{
    struct cd_buf body = {0};
    cd_buf_addf(&body, "{\"v\":1,\"ready\":%.*s}", (int)sample.len, sample.ptr);
    int rc = put(r, &body);
    cd_buf_deinit(&body);
    return rc;
}

/* ---- A new one ---- */

struct page {
    struct io_store get[GETS];
    unsigned gets;
};

static int read_page(struct page *p, struct cd_json_out *j, unsigned *found)
{
    int rc = IO_OK;
    for (unsigned i = 0; i < p->gets; i++) {
        struct io_store *get = &p->get[i];
        struct cd_json_doc *doc;
        int one = io_await(&get->op, IO_FOREVER); /* Each has its own timeout. */
        if (one == IO_OK && cd_json_parse(&doc, cd_buf_str(&get->body), NULL) == 0) {
            cd_json_free(doc);
            cd_json_out_raw(j, cd_buf_str(&get->body));
            (*found)++;
        } else if (one != IO_OK && one != IO_NOENT && rc != IO_CANCELED) {
            rc = one;
        }
        cd_buf_deinit(&get->body);
    }
    p->gets = 0;
    return rc;
}

static int list(struct fleet_sample *s, struct cd_json_out *j, unsigned *found)
{
    struct store_policy how = store_policy_of(IO_LANE_CONTROL, 0);
    struct page *p = cd_new(struct page);
    struct cd_buf after = {0};
    int64_t still = 3 * (int64_t)s->ttl_ms > 60000 ? 3 * (int64_t)s->ttl_ms : 60000;
    bool more = true;
    int rc = IO_OK;
    while (rc == IO_OK && more) {
        struct io_list l = {0};
        rc = store_retry_list(&l, s->io, s->bucket, CD_STR(STORE_PREFIX_NODES), cd_buf_str(&after),
                              IO_LIST_MAX, &how);
        for (unsigned i = 0; rc == IO_OK && i < l.count; i++) {
            struct cd_str node;
            if (!store_lease_name_parse(&node, l.entry[i].key) ||
                io_wall_ms(s->io) - l.entry[i].modified_ms > still)
                continue;
            p->get[p->gets] = (struct io_store){.lane = IO_LANE_CONTROL};
            io_store_get(&p->get[p->gets++], s->bucket, l.entry[i].key, 0, IO_WHOLE, NULL);
            if (p->gets == GETS)
                rc = read_page(p, j, found);
        }
        if (p->gets > 0) { /* Before the keys go. */
            int last = read_page(p, j, found);
            rc = rc == IO_OK ? last : rc;
        }
        more = l.more;
        cd_buf_clear(&after);
        if (rc == IO_OK && l.count > 0)
            cd_buf_add_str(&after, l.entry[l.count - 1].key);
        io_list_deinit(&l);
    }
    cd_buf_deinit(&after);
    cd_free(p);
    return rc;
}

static int refresh(struct round *r)
{
    struct fleet_sample *s = r->s;
    struct cd_buf made = {0}, old = {0};
    struct cd_json_out j;
    unsigned found = 0;
    if (r->sample != NULL && cd_json_kind(r->sample) == CD_JSON_OBJECT)
        cd_json_text(&old, r->sample);
    int64_t started = io_wall_ms(s->io);
    cd_json_out_init(&j, &made);
    cd_json_out_object(&j);
    cd_json_out_key(&j, "started_ms");
    cd_json_out_u64(&j, started < 0 ? 0 : (uint64_t)started);
    cd_json_out_key(&j, "leases");
    cd_json_out_array(&j);
    int rc = list(s, &j, &found);
    cd_json_out_end(&j, ']');
    cd_json_out_end(&j, '}');
    if (rc == IO_OK && found == 0)
        rc = IO_NOENT; /* Ours at least is there: what we saw is not how it is. */
    if (rc == IO_OK) {
        rc = put_ready(r, cd_buf_str(&made));
    } else if (rc != IO_CANCELED && old.len > 0) {
        int back = put_ready(r, cd_buf_str(&old));
        CD_MAYBE(back == IO_OK); /* Else the refresh expires. */
    }
    struct cd_json_doc *doc;
    if (rc == IO_OK &&
        (!within(s, started, s->interval_ms) || cd_json_parse(&doc, cd_buf_str(&made), NULL) != 0))
        rc = IO_TIMEDOUT;
    else if (rc == IO_OK) {
        rc = take(s, cd_json_root(doc)) ? IO_OK : IO_NOENT;
        cd_json_free(doc);
        CD_MARK("fleet.sample_refreshed");
        cd_event(s->io, CD_DEBUG, "fleet_sample_refreshed", CD_U("nodes", found));
    }
    cd_buf_deinit(&made);
    cd_buf_deinit(&old);
    return rc;
}

/* IO_CONFLICT: once more. */
static int attempt(struct round *r)
{
    struct fleet_sample *s = r->s;
    int rc = read_object(r);
    if (rc != IO_OK)
        return rc;
    if (r->state == READY && within(s, (int64_t)r->started_ms, s->interval_ms))
        return take(s, r->sample) ? IO_OK : IO_NOENT;
    if (r->state == REFRESHING && (int64_t)r->expires_ms > io_wall_ms(s->io)) {
        bool use = within(s, (int64_t)r->started_ms, 3 * s->interval_ms) && take(s, r->sample);
        return use ? IO_OK : IO_BUSY;
    }
    if (!fleet_authoritative(s->self->authority, io_now_ns(s->io)))
        return IO_DENIED;
    rc = put_refreshing(r);
    return rc == IO_OK ? refresh(r) : rc;
}

int fleet_sample_read(struct fleet_sample *s)
{
    struct round r = {.s = s};
    int rc = attempt(&r);
    if (rc == IO_CONFLICT)
        rc = attempt(&r);
    cd_json_free(r.doc);
    if (rc != IO_OK)
        s->count = 0;
    return rc;
}
