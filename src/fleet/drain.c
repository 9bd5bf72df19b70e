#include "fleet/drain.h"

#include <stdio.h>

#include "base/json.h"
#include "fleet/claim.h"
#include "fleet/claim_rule.h"
#include "store/retry.h"

/* ---- Budgets ---- */

static uint64_t part(uint64_t total, uint64_t of, uint64_t parts) /* The product may not fit. */
{
    return total / parts * of + total % parts * of / parts;
}

struct fleet_drain_budget fleet_drain_budget(uint64_t total_ms)
{
    struct fleet_drain_budget b = {.token_wait_ms = part(total_ms, 3, 4),
                                   .no_progress_ms = part(total_ms, 5, 8),
                                   .reserve_ms = total_ms / 10 < 1000 ? total_ms / 10 : 1000};
    if (b.no_progress_ms == 0)
        b.no_progress_ms = 1;
    b.grace_ms = b.no_progress_ms / 4 < 2000 ? b.no_progress_ms / 4 : 2000;
    return b;
}

/* ---- The token ---- */

/* Whether a node other than this one has it. */
static bool is_foreign(struct io *io, struct cd_str self, struct cd_str body, struct cd_buf *baseline)
{
    struct cd_json_doc *doc;
    struct cd_str node = {0};
    uint64_t expires = 0;
    if (cd_json_parse(&doc, body, NULL) != 0)
        return false;
    const struct cd_json *root = cd_json_root(doc);
    const struct cd_json *list = cd_json_get(root, "restoration_baseline");
    int64_t now = io_wall_ms(io);
    bool foreign = cd_json_str(cd_json_get(root, "node"), &node) == 0 &&
                   cd_json_u64(cd_json_get(root, "expires_ms"), &expires) == 0 && !cd_str_eq(node, self) &&
                   now >= 0 && expires > (uint64_t)now;
    if (baseline != NULL && list != NULL)
        cd_json_text(baseline, list);
    cd_json_free(doc);
    return foreign;
}

int fleet_drain_seen(struct io *io, struct io_bucket *bucket, struct cd_str node, bool *held,
                     struct cd_buf *baseline)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct io_store s = {0};
    *held = false;
    int rc = store_retry_get(&s, io, bucket, CD_STR(FLEET_DRAIN_KEY), 0, IO_WHOLE, &p);
    if (rc == IO_OK)
        *held = is_foreign(io, node, cd_buf_str(&s.body), baseline);
    cd_buf_deinit(&s.body);
    return rc == IO_NOENT ? IO_OK : rc;
}

static int put(struct fleet_drain_token *t, bool exists, uint64_t expires_ms, struct cd_str baseline)
{
    struct io_store s = {.lane = IO_LANE_CONTROL};
    struct cd_buf body = {0};
    struct cd_json_out j;
    cd_json_out_init(&j, &body);
    cd_json_out_object(&j);
    cd_json_out_key(&j, "v");
    cd_json_out_u64(&j, 1);
    cd_json_out_key(&j, "node");
    cd_json_out_str(&j, t->node);
    cd_json_out_key(&j, "expires_ms");
    cd_json_out_u64(&j, expires_ms);
    cd_json_out_key(&j, "restoration_baseline");
    cd_json_out_raw(&j, baseline);
    cd_json_out_end(&j, '}');
    memcpy(s.token, t->token, sizeof s.token);
    io_store_put(&s, t->bucket, CD_STR(FLEET_DRAIN_KEY), cd_buf_str(&body),
                 exists ? IO_PUT_IF_MATCH : IO_PUT_IF_ABSENT, NULL);
    int rc = io_await(&s.op, IO_FOREVER); /* The lane's own timeout ends it. */
    if (rc == IO_OK)
        memcpy(t->token, s.token, sizeof t->token);
    cd_buf_deinit(&body);
    return rc;
}

int fleet_drain_take(struct fleet_drain_token *t, struct cd_str baseline)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct io_store s = {0};
    uint64_t now = io_now_ns(t->io);
    int64_t wall = io_wall_ms(t->io);
    t->held = false;
    int rc = store_retry_get(&s, t->io, t->bucket, CD_STR(FLEET_DRAIN_KEY), 0, IO_WHOLE, &p);
    bool exists = rc == IO_OK;
    if (rc == IO_NOENT)
        rc = IO_OK;
    else if (rc == IO_OK && is_foreign(t->io, t->node, cd_buf_str(&s.body), NULL))
        rc = IO_BUSY;
    memcpy(t->token, s.token, sizeof t->token);
    cd_buf_deinit(&s.body);
    if (rc == IO_OK) /* Of one that was lost we hear at the next try: ours is claimable. */
        rc = put(t, exists, (wall < 0 ? 0 : (uint64_t)wall) + FLEET_DRAIN_TTL_MS, baseline);
    t->held = rc == IO_OK;
    t->until_ns = now + IO_MS(FLEET_DRAIN_TTL_MS);
    return rc == IO_CONFLICT ? IO_BUSY : rc;
}

void fleet_drain_release(struct fleet_drain_token *t, struct cd_str baseline)
{
    if (!t->held)
        return;
    int rc = put(t, true, 0, baseline);
    CD_MAYBE(rc == IO_OK);
    t->held = false;
}

/* ---- Receivers ---- */

static bool lives(const struct store_lease *l, const struct fleet_self *self, int64_t now_ms)
{
    return !fleet_lease_dead(l, now_ms, self->authority->ahead_ms, false) && strcmp(l->node, self->node) != 0;
}

bool fleet_may_receive(const struct store_lease *l, const struct fleet_self *self, int64_t now_ms)
{
    return lives(l, self, now_ms) && l->addr[0] != 0 && l->paced_handoff &&
           l->peer_protocol == FLEET_PEER_PROTOCOL && !l->load.draining && !l->load.pressured;
}

void fleet_receiver_of(struct fleet_receiver *out, const struct store_lease *l, const struct fleet_self *self)
{
    const struct store_load *load = &l->load;
    *out = (struct fleet_receiver){.until_ms = (int64_t)(l->expires_ms + self->authority->ahead_ms),
                                   .cells = load->owned_cells != STORE_ABSENT      ? load->owned_cells
                                            : load->resident_cells != STORE_ABSENT ? load->resident_cells
                                                                                   : 0,
                                   .weight =
                                       load->placement_weight != STORE_ABSENT ? load->placement_weight : 1};
    fleet_peer_of_lease(&out->peer, l);
    (void)snprintf(out->session, sizeof out->session, "%s/%s", l->node, l->generation);
}

struct pass {
    struct io *io;
    const struct fleet_self *self;
    struct fleet_receiver *out;
    unsigned *count;
    struct cd_json_out *j; /* NULL: nobody wants it. */
};

static void add(void *arg, const struct store_lease *l)
{
    struct pass *p = arg;
    int64_t now = io_wall_ms(p->io);
    if (p->j != NULL && lives(l, p->self, now) && l->load.restoring != STORE_ABSENT) {
        cd_json_out_object(p->j);
        cd_json_out_key(p->j, "node");
        cd_json_out_str(p->j, cd_str(l->node));
        cd_json_out_key(p->j, "restoring");
        cd_json_out_u64(p->j, l->load.restoring);
        cd_json_out_end(p->j, '}');
    }
    if (!fleet_may_receive(l, p->self, now) || *p->count == FLEET_RECEIVERS_MAX)
        return;
    fleet_receiver_of(&p->out[(*p->count)++], l, p->self);
}

static int read_one(struct io *io, struct io_bucket *bucket, struct cd_str key, struct cd_str node,
                    void (*each)(void *arg, const struct store_lease *l), void *arg)
{
    struct store_policy how = store_policy_of(IO_LANE_CONTROL, 0);
    struct io_store s = {0};
    struct store_lease *l = cd_new(struct store_lease);
    int rc = store_retry_get(&s, io, bucket, key, 0, IO_WHOLE, &how);
    if (rc == IO_OK && store_lease_read(l, node, cd_buf_str(&s.body), NULL) == 0)
        each(arg, l);
    cd_buf_deinit(&s.body);
    cd_free(l);
    return rc == IO_NOENT ? IO_OK : rc;
}

int fleet_leases_read(struct io *io, struct io_bucket *bucket,
                      void (*each)(void *arg, const struct store_lease *l), void *arg)
{
    struct store_policy how = store_policy_of(IO_LANE_CONTROL, 0);
    struct cd_buf after = {0};
    bool more = true;
    int rc = IO_OK;
    while (rc == IO_OK && more) {
        struct io_list l = {0};
        rc = store_retry_list(&l, io, bucket, CD_STR(STORE_PREFIX_NODES), cd_buf_str(&after), IO_LIST_MAX,
                              &how);
        for (unsigned i = 0; rc == IO_OK && i < l.count; i++) {
            struct cd_str node;
            if (store_lease_name_parse(&node, l.entry[i].key))
                rc = read_one(io, bucket, l.entry[i].key, node, each, arg);
        }
        more = l.more;
        cd_buf_clear(&after);
        if (rc == IO_OK && l.count > 0)
            cd_buf_add_str(&after, l.entry[l.count - 1].key);
        io_list_deinit(&l);
    }
    cd_buf_deinit(&after);
    return rc;
}

int fleet_receivers_read(struct io *io, struct io_bucket *bucket, const struct fleet_self *self,
                         struct fleet_receiver out[FLEET_RECEIVERS_MAX], unsigned *count,
                         struct cd_buf *baseline)
{
    struct cd_json_out j;
    struct pass p = {io, self, out, count, baseline == NULL ? NULL : &j};
    *count = 0;
    if (baseline != NULL) {
        cd_buf_clear(baseline);
        cd_json_out_init(&j, baseline);
        cd_json_out_array(&j);
    }
    int rc = fleet_leases_read(io, bucket, add, &p);
    if (baseline != NULL)
        cd_json_out_end(&j, ']');
    return rc;
}

static bool has_less(const struct fleet_receiver *a, const struct fleet_receiver *b)
{
    __extension__ typedef unsigned __int128 wide;
    wide left = (wide)a->cells * (b->weight == 0 ? 1 : b->weight);
    wide right = (wide)b->cells * (a->weight == 0 ? 1 : a->weight);
    return left != right ? left < right : strcmp(a->peer.node, b->peer.node) < 0;
}

struct fleet_receiver *fleet_receiver_pick(struct fleet_receiver *r, unsigned count, int64_t now_ms)
{
    struct fleet_receiver *best = NULL;
    for (unsigned i = 0; i < count; i++) {
        bool may = !r[i].refused && r[i].until_ms > now_ms && (!r[i].bounded || r[i].room > 0);
        if (may && (best == NULL || has_less(&r[i], best)))
            best = &r[i];
    }
    return best;
}
