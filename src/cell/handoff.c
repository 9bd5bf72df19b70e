#include "cell/handoff.h"

#include <stdio.h>

#include "base/json.h"
#include "cell/handoff_internal.h"

#define PATH "/peer/adopt"
#define OPERATION_NS IO_SEC(15) /* Of an adoption, at either end. */
#define OFFERS_MAX 3u /* Peers that a cell is offered to. */
#define POLL_NS IO_MS(10)
#define LEASES_NS IO_SEC(2) /* How old what is known of the peers may be. */
#define TOKEN_RETRY_NS IO_SEC(1)

static bool away(const struct cell_handoff *h)
{
    for (unsigned i = 1; i < h->loops; i++) {
        if (h->poll[i].away)
            return true;
    }
    return false;
}

void cell_handoff_news(struct cell_handoff *h)
{
    io_signal_wake(&h->news, IO_OK);
    if (!h->gone || h->offers > 0 || h->balancing != NULL || away(h))
        return;
    cd_buf_deinit(&h->baseline);
    cd_free(h);
}

/* ---- Adopting ---- */

static const char *refusal(struct cell_handoff *h)
{
    struct store_load load;
    store_load_init(&load);
    if (h->o.load != NULL)
        h->o.load(h->o.arg, &load);
    if (h->draining || h->cut || load.draining)
        return "draining";
    if (load.pressured)
        return "pressured";
    return fleet_authoritative(h->self->authority, io_now_ns(h->o.io)) ? NULL : "not_authoritative";
}

int cell_handoff_adopt(struct cell_handoff *h, struct cell_adopt *a)
{
    struct io *io = h->o.io;
    uint64_t until = io_now_ns(io) + OPERATION_NS;
    a->reason = cell_scope_valid(a->scope) ? refusal(h) : "not_a_cell";
    if (a->reason != NULL)
        return 409;
    int rc = fleet_adopt(io, h->bucket, h->self, a->scope, a->epoch, until, a->token, &a->taken);
    if (rc != IO_OK) {
        a->reason = rc == CD_EFENCED ? "not_released" : rc == IO_DENIED ? "not_authoritative" : "unknown";
        return rc == CD_EFENCED || rc == IO_DENIED ? 409 : 503;
    }
    struct cell_owned alarm = {
        .known = a->armed, .armed = a->armed, .due_ms = a->due_ms, .inst_seq = a->inst_seq};
    memcpy(alarm.token, a->token, sizeof alarm.token);
    rc = cell_adoption_tell(h->o.router, io, a->scope, a->taken, &alarm, a->wanted, until);
    a->reason = rc == IO_OK ? NULL : "alarm_unproven";
    return rc == IO_OK ? 200 : 503;
}

static bool read_request(struct cell_adopt *a, const struct cd_json *root)
{
    const struct cd_json *alarm = cd_json_get(root, "alarm");
    struct cd_str token;
    uint64_t v = 0, due = 0;
    if (cd_json_str(cd_json_get(root, "token"), &token) == 0 && token.len < sizeof a->token)
        memcpy(a->token, token.ptr, token.len);
    if (cd_json_bool(cd_json_get(root, "wanted"), &a->wanted) != 0)
        a->wanted = false;
    bool ok = cd_json_u64(cd_json_get(root, "v"), &v) == 0 && v == 1 &&
              cd_json_str(cd_json_get(root, "cell"), &a->scope) == 0 &&
              cd_json_u64(cd_json_get(root, "epoch"), &a->epoch) == 0 && a->epoch > 0 && alarm != NULL;
    if (!ok || cd_json_kind(alarm) == CD_JSON_NULL)
        return ok;
    a->armed = true;
    ok = cd_json_u64(cd_json_get(alarm, "due_ms"), &due) == 0 &&
         cd_json_u64(cd_json_get(alarm, "inst_seq"), &a->inst_seq) == 0 && a->inst_seq > 0;
    a->due_ms = (int64_t)due;
    return ok;
}

static void endpoint(void *arg, struct fleet_peer_request *r)
{
    struct cell_handoff *h = arg;
    struct cd_json_doc *doc;
    struct cell_adopt a = {0};
    struct cd_json_out j;
    if (cd_json_parse(&doc, r->body, NULL) != 0) {
        r->status = 400;
        return;
    }
    r->status = read_request(&a, cd_json_root(doc)) ? cell_handoff_adopt(h, &a) : 400;
    cd_json_out_init(&j, &r->answer);
    cd_json_out_object(&j);
    cd_json_out_key(&j, "ok");
    cd_json_out_bool(&j, r->status == 200);
    if (r->status == 200) {
        cd_json_out_key(&j, "epoch");
        cd_json_out_u64(&j, a.taken);
    } else {
        cd_json_out_key(&j, "reason");
        cd_json_out_str(&j, cd_str(a.reason == NULL ? "bad_request" : a.reason));
    }
    cd_json_out_end(&j, '}');
    cd_json_free(doc);
}

/* ---- Offering ---- */

static void answered(struct io *at, struct io_msg *m)
{
    struct cell_offer *o = CD_CONTAINER(m, struct cell_offer, msg);
    (void)at;
    if (o->abandoned) {
        cell_offer_free(o);
        return;
    }
    o->answered = true;
    io_signal_wake(&o->answer, IO_OK);
}

static void answer(struct io *io, struct cell_offer *o)
{
    unsigned loop = o->loop;
    o->msg.handle = answered;
    io_post(io, loop, &o->msg);
}

static void request(struct cd_buf *out, const struct cell_offer *o, const char *session)
{
    struct cd_json_out j;
    cd_json_out_init(&j, out);
    cd_json_out_object(&j);
    cd_json_out_key(&j, "v");
    cd_json_out_u64(&j, 1);
    cd_json_out_key(&j, "cell");
    cd_json_out_str(&j, cd_str(o->scope));
    cd_json_out_key(&j, "epoch");
    cd_json_out_u64(&j, o->epoch);
    cd_json_out_key(&j, "donor");
    cd_json_out_str(&j, cd_str(session));
    cd_json_out_key(&j, "alarm");
    if (o->alarm.known && o->alarm.armed) {
        cd_json_out_object(&j);
        cd_json_out_key(&j, "due_ms");
        cd_json_out_u64(&j, (uint64_t)o->alarm.due_ms);
        cd_json_out_key(&j, "inst_seq");
        cd_json_out_u64(&j, o->alarm.inst_seq);
        cd_json_out_end(&j, '}');
    } else {
        cd_json_out_null(&j);
    }
    cd_json_out_key(&j, "reason");
    cd_json_out_str(&j, o->balance ? CD_STR("rebalance") : CD_STR("drain"));
    cd_json_out_key(&j,
                    "token"); /* These two are hints: without them the peer reads, and waits for a call. */
    cd_json_out_str(&j, cd_str(o->alarm.token));
    cd_json_out_key(&j, "wanted");
    cd_json_out_bool(&j, o->wanted);
    cd_json_out_end(&j, '}');
}

static bool took(struct cell_offer *o, const struct fleet_peer_call *call)
{
    struct cd_json_doc *doc;
    bool ok = false;
    if (call->status != 200 || cd_json_parse(&doc, cd_buf_str(&call->answer), NULL) != 0)
        return false;
    ok = cd_json_bool(cd_json_get(cd_json_root(doc), "ok"), &ok) == 0 && ok &&
         cd_json_u64(cd_json_get(cd_json_root(doc), "epoch"), &o->taken_epoch) == 0;
    cd_json_free(doc);
    return ok;
}

static void offer_to(struct cell_handoff *h, struct cell_offer *o, struct fleet_receiver *to)
{
    struct fleet_receiver r = *to; /* The list may be read anew meanwhile. */
    struct cd_buf body = {0};
    request(&body, o, h->self->session);
    struct fleet_peer_call call = {.peer = &r.peer,
                                   .target = CD_STR(PATH),
                                   .body = cd_buf_str(&body),
                                   .deadline_ns = io_now_ns(h->o.io) + OPERATION_NS};
    to->cells++;
    to->room--;
    int rc = fleet_peer_call(fleet_node_caller(h->o.node), &call);
    o->taken = rc == IO_OK && took(o, &call);
    if (o->taken) {
        CD_MARK("cell.handed_off");
        o->until_ms = r.until_ms;
        memcpy(o->session, r.session, sizeof o->session);
        memcpy(o->addr, r.peer.addr, sizeof o->addr);
        if (o->balance)
            fleet_sample_gave(&h->sample, cd_str(r.session));
    }
    for (unsigned i = 0; !o->taken && i < h->receivers; i++) {
        if (strcmp(h->receiver[i].session, r.session) == 0)
            h->receiver[i].refused = call.status != 409 || h->receivers > 1;
    }
    cd_buf_deinit(&call.answer);
    cd_buf_deinit(&body);
}

struct offering {
    struct cell_handoff *handoff;
    struct cell_offer *offer;
};

static void offer_flow(void *arg)
{
    struct offering *f = arg;
    struct cell_handoff *h = f->handoff;
    struct cell_offer *o = f->offer;
    cd_free(f);
    for (unsigned i = 0; i < OFFERS_MAX && !o->taken && !h->cut && !o->abandoned; i++) {
        struct fleet_receiver *to = fleet_receiver_pick(h->receiver, h->receivers, io_wall_ms(h->o.io));
        if (to == NULL)
            break;
        offer_to(h, o, to);
    }
    answer(h->o.io, o);
    h->offers--;
    cell_handoff_news(h);
}

static void offered(struct io *at, struct io_msg *m)
{
    struct cell_offer *o = CD_CONTAINER(m, struct cell_offer, msg);
    struct cell_handoff *h = o->router->handoff;
    if (h == NULL || h->draining == o->balance || h->cut) {
        answer(at, o);
        return;
    }
    struct offering *f = cd_new(struct offering);
    f->handoff = h;
    f->offer = o;
    h->offers++;
    (void)io_spawn(at, "offer", offer_flow, f);
}

static void offer(struct cell_router *r, struct io *from, struct cell_offer *o)
{
    (void)r;
    o->msg.handle = offered;
    io_post(from, 0, &o->msg);
}

/* ---- The drain ---- */

static void back(struct io *at, struct io_msg *m)
{
    struct cell_poll *p = CD_CONTAINER(m, struct cell_poll, msg);
    (void)at;
    p->away = false;
    cell_handoff_news(p->handoff);
}

static void there(struct io *at, struct io_msg *m)
{
    struct cell_poll *p = CD_CONTAINER(m, struct cell_poll, msg);
    struct cell_shard *s = p->handoff->o.router->shard[io_loop_index(at)];
    p->drained = (struct cell_drained){.handed = p->drained.handed};
    if (s != NULL) {
        cell_shard_drain(s, p->handoff->window, p->handoff->end_ns);
        p->drained = cell_shard_drained(s);
    }
    p->msg.handle = back;
    io_post(at, 0, &p->msg);
}

static int wait_news(struct cell_handoff *h)
{
    struct io_op op = {0};
    io_signal_wait(&h->news, h->o.io, &op, NULL);
    return io_await(&op, IO_FOREVER); /* Messages between loops that run. */
}

/* How far the shards are. */
static int ask(struct cell_handoff *h)
{
    int rc = IO_OK;
    for (unsigned i = 1; i < h->loops; i++) {
        h->poll[i].away = true;
        h->poll[i].msg.handle = there;
        io_post(h->o.io, i, &h->poll[i].msg);
    }
    while (rc == IO_OK && away(h))
        rc = wait_news(h);
    h->handed = h->left = 0;
    for (unsigned i = 1; i < h->loops; i++) {
        h->handed += h->poll[i].drained.handed;
        h->left += h->poll[i].drained.left;
    }
    return rc;
}

static int read_receivers(struct cell_handoff *h, struct cd_buf *baseline)
{
    unsigned count = 0;
    struct fleet_receiver *found = cd_alloc(FLEET_RECEIVERS_MAX * sizeof *found);
    int rc = fleet_receivers_read(h->o.io, h->bucket, h->self, found, &count, baseline);
    if (rc == IO_OK) {
        memcpy(h->receiver, found, sizeof h->receiver);
        h->receivers = count;
    }
    h->read_ns = io_now_ns(h->o.io);
    cd_free(found);
    return rc;
}

/* Advisory: two nodes that drain at once are slower, and lose nothing. */
static int take_token(struct cell_handoff *h, struct fleet_drain_token *t, uint64_t until_ns)
{
    int rc = fleet_drain_take(t, cd_buf_str(&h->baseline));
    while (rc != IO_OK && rc != IO_CANCELED && !h->cut && io_now_ns(h->o.io) + TOKEN_RETRY_NS <= until_ns) {
        rc = io_sleep(h->o.io, TOKEN_RETRY_NS);
        if (rc == IO_OK)
            rc = fleet_drain_take(t, cd_buf_str(&h->baseline));
    }
    if (rc != IO_OK && rc != IO_CANCELED)
        cd_event(h->o.io, CD_WARN, "drain_token_bypassed", CD_Z("status", cd_err_text(rc)));
    return rc == IO_CANCELED ? rc : IO_OK;
}

static int go_on(struct cell_handoff *h, struct fleet_drain_token *t, uint64_t patience_ns)
{
    struct io *io = h->o.io;
    uint64_t moved_ns = io_now_ns(io), handed = 0;
    h->view.token = t->held ? "held" : "none";
    int rc = ask(h);
    while (rc == IO_OK && h->left > 0 && !h->cut) {
        uint64_t now = io_now_ns(io);
        if (h->handed != handed)
            moved_ns = now;
        handed = h->handed;
        h->stalled_ns = patience_ns > UINT64_MAX - moved_ns ? IO_FOREVER : moved_ns + patience_ns;
        if (now >= h->end_ns || now - moved_ns >= patience_ns) {
            cd_event(io, CD_WARN, "shutdown_handoff_stalled", CD_U("left", h->left),
                     CD_U("handed_off", handed));
            return IO_OK;
        }
        if (now - h->read_ns >= LEASES_NS)
            rc = read_receivers(h, NULL) == IO_CANCELED ? IO_CANCELED : IO_OK;
        if (t->held && now + IO_MS(FLEET_DRAIN_TTL_MS / 2) >= t->until_ns)
            rc = fleet_drain_take(t, cd_buf_str(&h->baseline)) == IO_CANCELED ? IO_CANCELED : rc;
        if (rc == IO_OK)
            rc = io_sleep(io, POLL_NS);
        if (rc == IO_OK)
            rc = ask(h);
    }
    return rc;
}

static uint64_t after(uint64_t start_ns, uint64_t ms)
{
    return ms > (UINT64_MAX - start_ns) / 1000000 ? IO_FOREVER : start_ns + IO_MS(ms);
}

void cell_handoff_drain(struct cell_handoff *h, uint64_t start_ns, uint64_t total_ms, unsigned window)
{
    struct io *io = h->o.io;
    struct fleet_drain_budget b = fleet_drain_budget(total_ms);
    struct fleet_drain_token t = {.io = io, .bucket = h->bucket, .node = cd_str(h->self->node)};
    CD_ASSERT(!h->draining);
    h->draining = true;
    h->view = (struct cell_handoff_view){.draining = true, .started_ms = io_wall_ms(io), .token = "waiting"};
    h->over_ns = h->stalled_ns = after(start_ns, total_ms);
    cell_balance_end(h);
    while (h->balancing != NULL && wait_news(h) == IO_OK) {
    }
    h->window = window / (h->loops - 1) > 0 ? window / (h->loops - 1) : 1;
    h->end_ns = after(start_ns, total_ms - b.reserve_ms);
    if (fleet_node_caller(h->o.node) == NULL || !fleet_authoritative(h->self->authority, io_now_ns(io)))
        return;
    fleet_node_refresh(h->o.node);
    int rc = read_receivers(h, &h->baseline);
    if (rc != IO_OK || h->receivers == 0 || h->cut) {
        cd_event(io, CD_INFO, "shutdown_handoff_not_started",
                 CD_Z("reason", rc == IO_OK ? "nobody to take the cells" : cd_err_text(rc)));
        return;
    }
    uint64_t patience = after(0, b.no_progress_ms);
    rc = take_token(h, &t, after(start_ns, b.token_wait_ms));
    if (rc == IO_OK && io_now_ns(io) - h->read_ns >= TOKEN_RETRY_NS) /* Who drained before has changed. */
        rc = read_receivers(h, NULL) == IO_CANCELED ? IO_CANCELED : IO_OK;
    if (rc == IO_OK)
        rc = go_on(h, &t, patience);
    h->cut = true;
    while (rc == IO_OK && h->offers > 0)
        rc = wait_news(h);
    fleet_drain_release(&t, cd_buf_str(&h->baseline));
    cd_event(io, CD_INFO, "shutdown_handed_off", CD_U("cells", h->handed), CD_U("left", h->left));
}

static uint64_t left_ms(const struct cell_handoff *h, uint64_t until_ns)
{
    uint64_t now = io_now_ns(h->o.io);
    return until_ns > now ? (until_ns - now) / IO_MS(1) : 0;
}

struct cell_handoff_view cell_handoff_view(const struct cell_handoff *h)
{
    struct cell_handoff_view v = h->view;
    v.no_progress_ms_left = left_ms(h, h->stalled_ns);
    v.total_ms_left = left_ms(h, h->over_ns);
    return v;
}

/* ---- Life ---- */

struct cell_handoff *cell_handoff_new(const struct cell_handoff_opts *o)
{
    unsigned loops = io_loop_count(o->io);
    struct cell_handoff *h = cd_alloc(sizeof *h + loops * sizeof h->poll[0]);
    h->o = *o;
    h->bucket = io_bucket(o->io);
    h->self = fleet_node_self(o->node);
    h->loops = loops;
    for (unsigned i = 0; i < loops; i++)
        h->poll[i].handoff = h;
    io_signal_init(&h->news);
    o->router->handoff = h;
    o->router->offer = offer;
    if (o->ttl_ms > 0)
        cell_balance_start(h);
    fleet_peer_server_route(
        fleet_node_peers(o->node),
        &(struct fleet_peer_route){.method = "POST", .path = PATH, .handle = endpoint, .arg = h});
    return h;
}

void cell_handoff_free(struct cell_handoff *h)
{
    if (h == NULL)
        return;
    h->o.router->handoff = NULL;
    h->cut = h->gone = true;
    cell_balance_end(h);
    cell_handoff_news(h);
}
