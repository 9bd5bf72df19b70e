#include "life.h"

#include "log/bytes.h"
#include "store/records.h"

#define PIPELINE 4u
#define SETTLE_NS IO_SEC(900)

static uint64_t draw(struct life *l, uint64_t low, uint64_t high)
{
    return low + cd_rng_below(&l->rng, high - low + 1);
}

void life_break(struct life *l, const char *rule, const char *format, ...)
{
    va_list args;
    if (l->broken != NULL)
        return;
    l->broken = rule;
    cd_buf_addf(&l->why, "%s at %llu ms: ", rule, (unsigned long long)(sim_now_ns(l->sim) / 1000000));
    va_start(args, format);
    cd_buf_vaddf(&l->why, format, args);
    va_end(args);
}

/* ---- Rows ---- */

static void segment(struct life *l, const struct life_cell *c, struct log_row *row)
{
    struct ltx_builder b = {0};
    char page[LIFE_PAGE];
    bool image = c->fresh && row->min_txid == 1;
    for (uint32_t pgno = 1; pgno <= 3; pgno++) {
        memset(page, 0, sizeof page);
        (void)snprintf(page, sizeof page, "%s %llu page %u", row->scope, (unsigned long long)row->max_txid,
                       pgno);
        if (image || pgno == 1 + row->min_txid % 3)
            ltx_builder_page(&b, l->zstd, pgno, page, LIFE_PAGE);
    }
    struct ltx_header h = {.flags = image      ? LTX_SNAPSHOT
                                    : c->fresh ? LTX_MARKER
                                               : 0,
                           .page_size = LIFE_PAGE,
                           .commit = 3,
                           .min_txid = row->min_txid,
                           .max_txid = row->max_txid,
                           .epoch = row->epoch,
                           .timestamp_ms = 1700000000000,
                           .scope_hash = ltx_scope_hash(cd_str(row->scope))};
    if (h.flags == LTX_MARKER) {
        h.base_epoch = c->base_epoch;
        h.base_txid = c->base_txid;
    }
    ltx_builder_finish(&b, l->zstd, &h, image ? 0 : 3, &row->ltx);
}

static void change_alarm(struct life *l, struct life_cell *c)
{
    uint64_t dice = draw(l, 0, 5);
    if (dice > 2)
        return;
    c->alarm.inst_seq++;
    c->alarm.armed = dice != 2;
    c->alarm.due_ms = c->alarm.armed ? (int64_t)(1800000000000 + draw(l, 0, 3) * 60000 + draw(l, 0, 100)) : 0;
}

static void store_apart(struct life *l, struct log_row *row)
{
    struct cd_buf key = {0};
    row->kind = LOG_ROW_APART;
    row->length = row->ltx.len;
    for (unsigned i = 0; i < LOG_ID_SIZE; i++)
        row->id[i] = (uint8_t)draw(l, 0, 255);
    log_sha256(cd_buf_str(&row->ltx), (struct cd_str){0}, row->sha256);
    log_apart_key(&key, CD_STR(SESSION), row->id);
    sim_store_put_truth(l->sim, cd_buf_str(&key), cd_buf_str(&row->ltx));
    cd_buf_deinit(&key);
    cd_buf_deinit(&row->ltx);
}

/* The cell is activated again: a new epoch, which goes on where the old one is. All of that is proven by
 * then. */
static void next_epoch(struct life *l, struct life_cell *c)
{
    if (!c->fresh) {
        c->base_epoch = c->epoch;
        c->base_txid = c->txid;
    }
    c->epoch++;
    c->fresh = true;
    if (c->alarm.armed)
        log_folder_alarm(l->folder, sim_io(l->leader, 0),
                         &(struct store_alarm){
                             cd_str(c->scope), {c->epoch, c->alarm.inst_seq}, (uint64_t)c->alarm.due_ms});
}

static struct log_row *next_row(struct life *l)
{
    struct life_cell *c = &l->cell[draw(l, 0, LIFE_CELLS - 1)];
    if (draw(l, 0, l->opts.unfolded ? 1 : 6) == 0 && c->slot <= l->durable)
        next_epoch(l, c);
    c->slot = l->cut;
    struct log_row *row = log_row_new(cd_str(c->scope), c->epoch);
    change_alarm(l, c);
    row->alarm = c->alarm;
    if (draw(l, 0, 11) == 0) {
        row->kind = LOG_ROW_NOTE;
        return row;
    }
    row->min_txid = row->max_txid = ++c->txid;
    segment(l, c, row);
    row->length = row->ltx.len;
    c->fresh = false;
    if (l->opts.large && draw(l, 0, 5) == 0)
        store_apart(l, row);
    return row;
}

static void remember(struct life *l, const struct log_row *row, bool first)
{
    if (l->rows == l->cap) {
        l->cap = l->cap == 0 ? 256 : 2 * l->cap;
        l->row = cd_realloc(l->row, l->cap * sizeof *l->row);
    }
    struct life_row *r = &l->row[l->rows++];
    *r = (struct life_row){.epoch = row->epoch,
                           .txid = row->max_txid,
                           .slot = row->slot,
                           .batch = row->batch,
                           .note = row->kind == LOG_ROW_NOTE,
                           .apart = row->kind == LOG_ROW_APART,
                           .first = first,
                           .alarm = row->alarm};
    memcpy(r->id, row->id, sizeof r->id);
    (void)snprintf(r->scope, sizeof r->scope, "%s", row->scope);
}

/* ---- Slots ---- */

static void slot_send(struct life_slot *s);

static void deliver(struct life *l, struct life_slot *s)
{
    for (size_t at = 0; at < s->rows;) {
        struct log_durable d = {.slot = s->slot, .batch = s->row[at]->batch};
        cd_list_init(&d.rows);
        for (; at < s->rows && s->row[at]->batch == d.batch; at++)
            cd_list_push(&d.rows, &s->row[at]->link);
        log_folder_durable(l->folder, &d);
        CD_ASSERT(cd_list_empty(&d.rows));
    }
    s->rows = 0;
}

static void advance(struct life *l)
{
    while (l->durable < l->cut && l->slot[l->durable + 1]->stored) {
        l->durable++;
        if (l->folder != NULL && !l->dead)
            deliver(l, l->slot[l->durable]);
    }
}

static void slot_sent(struct io_op *op, int status)
{
    struct life_slot *s = CD_CONTAINER(op, struct life_slot, put.op);
    struct life *l = s->l;
    struct sim_object o;
    s->busy = false;
    if (sim_node_life(l->leader) != SIM_UP || (status == IO_CANCELED && l->over))
        return;
    bool there = sim_store_get_truth(l->sim, cd_buf_str(&s->key), &o);
    if (s->put.outcome == IO_DONE || (there && cd_str_eq(o.body, cd_buf_str(&s->body)))) {
        s->stored = true;
        advance(l);
    } else if (there) {
        s->lost = l->fenced = true;
    } else {
        slot_send(s);
    }
}

static void slot_send(struct life_slot *s)
{
    s->put.lane = IO_LANE_LOG;
    s->busy = true;
    io_store_put(&s->put, io_bucket(sim_io(s->l->leader, 0)), cd_buf_str(&s->key), cd_buf_str(&s->body),
                 IO_PUT_IF_ABSENT, slot_sent);
}

static void cut_batch(struct life *l, struct life_slot *s, struct log_slot_out *o, unsigned rows)
{
    struct log_batch_out b;
    uint8_t digest[LOG_SHA256_SIZE];
    log_batch_begin(&b, &s->body, CD_STR(SESSION), ++l->batches, 0, 0);
    for (unsigned i = 0; i < rows; i++) {
        struct log_row *row = next_row(l);
        row->slot = s->slot;
        row->batch = l->batches;
        log_batch_add(&b, row);
        bool first = true;
        for (size_t k = 0; k < l->rows; k++)
            first &=
                l->row[k].note || l->row[k].epoch != row->epoch || strcmp(l->row[k].scope, row->scope) != 0;
        remember(l, row, first);
        s->row[s->rows++] = row;
    }
    log_batch_end(&b, digest);
    log_slot_batch(o, digest);
}

static void cut_slot(struct life *l)
{
    struct life_slot *s = cd_new(struct life_slot);
    struct log_slot_out o;
    unsigned batches = (unsigned)draw(l, 1, 2);
    s->l = l;
    s->slot = ++l->cut;
    l->slot[s->slot] = s;
    struct log_slot_head head = {.kind = LOG_SLOT_BATCHES,
                                 .slot = s->slot,
                                 .first_batch = l->batches + 1,
                                 .last_batch = l->batches + batches,
                                 .pipeline = PIPELINE};
    for (unsigned i = 0; i < LOG_ID_SIZE; i++)
        head.id[i] = (uint8_t)draw(l, 0, 255);
    log_slot_begin(&o, &s->body, CD_STR(SESSION), &head);
    for (unsigned i = 0; i < batches; i++)
        cut_batch(l, s, &o, (unsigned)draw(l, 1, 6));
    log_slot_end(&o);
    s->batch = l->batches;
    log_slot_key(&s->key, CD_STR(SESSION), s->slot);
    slot_send(s);
}

/* ---- The session ---- */

static void fence(void *arg, const char *cause)
{
    struct life *l = arg;
    CD_ASSERT(strcmp(cause, "node_log_sealed_fence") == 0);
    l->fenced = true;
}

static void lease_put(struct life *l, const struct store_log_record *log)
{
    struct store_lease lease = {.node = "node_a", .expires_ms = 1, .ttl_ms = 10000, .has_log = log != NULL};
    if (log != NULL)
        lease.log = *log;
    struct cd_buf key = {0}, body = {0};
    memcpy(lease.generation, SESSION + 7, STORE_GENERATION_LEN);
    memcpy(lease.probe_key, SESSION + 7, STORE_GENERATION_LEN);
    store_load_init(&lease.load);
    store_key_lease(&key, CD_STR("node_a"));
    store_lease_write(&body, &lease);
    sim_store_put_truth(l->sim, cd_buf_str(&key), cd_buf_str(&body));
    cd_buf_deinit(&key);
    cd_buf_deinit(&body);
}

/* Closes in order: folds all, seals, says so. */
static void close_in_order(struct life *l, struct io *io)
{
    struct cd_buf key = {0}, body = {0}, why = {0};
    while (l->durable < l->cut && io_sleep(io, IO_MS(100)) == IO_OK) {
    }
    int rc = log_folder_finish(l->folder, &why);
    if (rc == 0) {
        struct log_slot_head head = {.kind = LOG_SLOT_SEAL,
                                     .slot = l->cut + 1,
                                     .first_batch = l->batches + 1,
                                     .last_batch = l->batches,
                                     .pipeline = PIPELINE};
        log_slot_key(&key, CD_STR(SESSION), l->cut + 1);
        log_slot_seal(&body, CD_STR(SESSION), &head, &(struct log_seal_text){CD_STR(SESSION), 0, 1});
        l->finished = true;
        sim_store_put_truth(l->sim, cd_buf_str(&key), cd_buf_str(&body));
        lease_put(l, &(struct store_log_record){.state = STORE_LOG_SEALED, .seal = l->cut + 1});
    }
    cd_buf_deinit(&key);
    cd_buf_deinit(&body);
    cd_buf_deinit(&why);
}

static void session_flow(void *arg)
{
    struct life *l = arg;
    struct io *io = sim_io(l->leader, 0);
    while (l->cut < l->opts.slots && !l->fenced) {
        if (io_sleep(io, IO_MS(draw(l, 10, draw(l, 0, 7) == 0 ? 40000 : 900))) != IO_OK)
            return;
        while (l->cut < l->durable + PIPELINE && l->cut < l->opts.slots && draw(l, 0, 2) != 0)
            cut_slot(l);
    }
    if (l->opts.holes && io_sleep(io, IO_MS(150)) != IO_OK) /* What is not late is stored meanwhile. */
        return;
    if (l->opts.graceful)
        close_in_order(l, io);
    l->dead = true; /* Or taken for dead. */
}

static void leader_boot(struct io *io, void *arg)
{
    struct life *l = arg;
    struct log_folder_opts o = {
        .io = io,
        .bucket = sim_bucket(io, ""),
        .session = CD_STR(SESSION),
        .fold_ms = 20000,
        .limits = {.cell_rows = 5, .range_bytes = 900, .cache_bytes = 3000, .uploads = 3},
        .fence = fence,
        .arg = l};
    l->folder = log_folder_new(&o);
    lease_put(l, l->opts.silent ? NULL : &(struct store_log_record){.state = STORE_LOG_OPEN});
    (void)io_spawn(io, "session", session_flow, l);
}

static void folder_closed(struct io_op *op, int status)
{
    (void)status;
    cd_free(op);
}

static void folder_close(struct life *l)
{
    struct log_folder *f = l->folder;
    l->folder = NULL;
    if (f != NULL)
        log_folder_close(f, cd_new(struct io_op), folder_closed);
}

static void leader_unwind(struct io *io, void *arg)
{
    (void)io;
    folder_close(arg);
}

/* ---- Recoverers ---- */

static void racer_flow(void *arg)
{
    struct racer *r = arg;
    struct io *io = sim_io(r->node, 0);
    struct log_recover rec = {.session = CD_STR(SESSION), .mode = LOG_RECOVER_TAKEOVER};
    do {
        if (io_sleep(io, IO_MS(draw(r->l, 1, 1500))) != IO_OK)
            return;
        rec.deadline_ns = io_now_ns(io) + IO_SEC(5);
        if (log_recover(r->rr, &rec) != IO_OK)
            return;
        r->l->refusals += rec.end == LOG_RECOVER_REFUSED ? 1 : 0;
    } while (rec.end == LOG_RECOVER_FAILED || rec.end == LOG_RECOVER_BUSY ||
             (rec.end == LOG_RECOVER_REFUSED && r->l->harmed != 0));
    r->end = rec.end;
    memcpy(r->why, rec.why, sizeof r->why);
    /* A cleaner may have stopped half way: any node's sweep does it again. */
    while (r->end == LOG_RECOVER_FINISHED && r->l->seal != 0 &&
           log_clean(io, io_bucket(io), CD_STR(SESSION), r->l->seal) != IO_OK)
        if (io_sleep(io, IO_SEC(1)) != IO_OK)
            return;
    r->done = true;
}

static void racer_boot(struct io *io, void *arg)
{
    struct racer *r = arg;
    char session[STORE_SESSION_MAX + 1];
    (void)snprintf(session, sizeof session, "node_%c/%064x", 'b' + (int)(r - r->l->of), ++r->n);
    r->rr = log_recoverer_new(&(struct log_recoverer_opts){.io = io,
                                                           .bucket = sim_bucket(io, ""),
                                                           .session = cd_str(session),
                                                           .window_bytes = r->l->opts.unfolded ? 1500 : 6000,
                                                           .page = 1 + (unsigned)(r->l->opts.seed % 5)});
    (void)io_spawn(io, "recover", racer_flow, r);
}

static void racer_free(struct racer *r)
{
    log_recoverer_free(r->rr);
    r->rr = NULL;
}

static void racer_start(struct life *l, unsigned i)
{
    struct racer *r = &l->of[i];
    char name[2] = {(char)('b' + i), 0};
    *r = (struct racer){.l = l};
    struct sim_node_opts o = {.name = name, .program = {.boot = racer_boot, .arg = r}};
    r->node = l->racer[i] = sim_node(l->sim, &o);
    if (l->opts.crashes)
        CD_ASSERT(sim_at_call(r->node, "store", draw(l, 1, l->opts.unfolded ? 200 : 40), SIM_DIE_KILL,
                              IO_FAULT, NULL));
}

/* Dead recoverers start again; the second life of one may die too. */
static void racers_restart(struct life *l)
{
    for (unsigned i = 0; i < LIFE_RACERS; i++) {
        struct racer *r = &l->of[i];
        if (r->node == NULL || sim_node_life(r->node) != SIM_DEAD)
            continue;
        racer_free(r);
        sim_restart(r->node, false);
        if (draw(l, 0, 1) == 0)
            CD_ASSERT(sim_at_call(r->node, "store", draw(l, 1, 60), SIM_DIE_KILL, IO_FAULT, NULL));
    }
}

static bool racers_done(const struct life *l)
{
    for (unsigned i = 0; i < LIFE_RACERS; i++)
        if (l->of[i].node != NULL && !l->of[i].done)
            return false;
    return true;
}

/* ---- The run ---- */

static bool session_over(void *arg)
{
    const struct life *l = arg;
    return l->dead || l->fenced || l->broken != NULL;
}

static bool step_over(void *arg)
{
    struct life *l = arg;
    if (l->broken != NULL || racers_done(l))
        return true;
    racers_restart(l);
    return false;
}

static bool idle(void *arg)
{
    struct life *l = arg;
    struct sim_node *all[] = {l->leader, l->racer[0], l->racer[1]};
    for (unsigned i = 0; i < CD_COUNT(all); i++)
        if (all[i] != NULL && sim_node_life(all[i]) != SIM_DEAD && sim_left(all[i], NULL) != 0)
            return false;
    return sim_store_under_way(l->sim) == 0;
}

static void faults(struct life *l)
{
    struct sim_store_opts o = {.latency_ns = IO_MS(20), .jitter_ns = IO_MS(60)};
    if (l->opts.faults) {
        o.throttle_ppm = 20000;
        o.fail_ppm = 20000;
        o.lose_request_ppm = 20000;
        o.lose_answer_ppm = 40000;
        o.late_ppm = 20000;
        o.late_ns = l->opts.stale ? IO_SEC(200) : IO_SEC(30);
    }
    sim_store_set(l->sim, &o);
}

static void setup(struct life *l, const struct life_opts *opts)
{
    *l = (struct life){.opts = *opts};
    l->opts.slots = opts->silent ? 0 : opts->slots != 0 ? opts->slots : 24;
    CD_ASSERT(l->opts.slots < CD_COUNT(l->slot));
    l->sim = sim_new(&(struct sim_opts){.seed = opts->seed, .policy = SIM_RANDOM, .slack_ns = 1000});
    sim_rng(l->sim, "life", &l->rng);
    l->zstd = ltx_zstd_new();
    for (unsigned i = 0; i < LIFE_CELLS; i++) {
        (void)snprintf(l->cell[i].scope, sizeof l->cell[i].scope, "Room:%u", i);
        l->cell[i].epoch = 1 + i;
        l->cell[i].fresh = true;
    }
    sim_on_store(l->sim, life_changed, l);
    faults(l);
    struct sim_node_opts o = {.name = "a",
                              .program = {.boot = leader_boot, .unwind = leader_unwind, .arg = l}};
    l->leader = sim_node(l->sim, &o);
    if (l->opts.listless) {
        struct sim_store_rule rule = {.effect = SIM_STORE_DOWN, .op = "list", .pattern = "log/*", .times = 3};
        sim_store_rule(l->sim, &rule);
    }
    if (l->opts.holes) {
        struct cd_buf key = {0};
        log_slot_key(&key, CD_STR(SESSION), l->opts.slots - 1);
        struct sim_store_rule rule = {.effect = SIM_STORE_LATE,
                                      .op = "put",
                                      .pattern = cd_buf_cstr(&key),
                                      .ns = IO_SEC(draw(l, 1, 100)),
                                      .times = 1};
        sim_store_rule(l->sim, &rule);
        cd_buf_deinit(&key);
    }
}

static bool complained(void *arg)
{
    struct life *l = arg;
    return l->refusals > 0 || step_over(arg);
}

/* The newest stored slot is harmed, and made whole again once a recoverer has refused to go on. */
static void harm(struct life *l)
{
    struct life_slot *s = l->slot[l->durable];
    if (l->durable <= l->floor || l->broken != NULL)
        return;
    l->harmed = s->slot;
    struct cd_buf bad = {0};
    cd_buf_add_str(&bad, cd_buf_str(&s->body));
    bad.ptr[bad.len - 40] ^= 1;
    if (l->opts.lost)
        sim_store_delete_truth(l->sim, cd_buf_str(&s->key));
    else
        sim_store_put_truth(l->sim, cd_buf_str(&s->key), cd_buf_str(&bad));
    cd_buf_deinit(&bad);
    (void)sim_run_until(l->sim, complained, l, SETTLE_NS);
    if (l->refusals == 0 && l->broken == NULL)
        life_break(l, "C-LOG", "nobody missed slot %llu", (unsigned long long)l->harmed);
    sim_store_put_truth(l->sim, cd_buf_str(&s->key), cd_buf_str(&s->body));
    l->harmed = 0;
}

void life_run(struct life *l, const struct life_opts *opts)
{
    setup(l, opts);
    if (!sim_run_until(l->sim, session_over, l, SETTLE_NS))
        life_break(l, "C-SETTLE", "the session cut %llu slots of %u", (unsigned long long)l->cut,
                   l->opts.slots);
    l->dead = true;
    if (!l->opts.zombie)
        sim_crash(l->leader, SIM_KILL);
    if (!l->finished && !l->opts.silent)
        lease_put(l, &(struct store_log_record){.state = STORE_LOG_OPEN, .slot = l->durable});
    for (unsigned i = 0; i < (l->opts.racers ? LIFE_RACERS : 1u); i++)
        racer_start(l, i);
    if (l->opts.lost || l->opts.rotten)
        harm(l);
    if (!sim_run_until(l->sim, step_over, l, SETTLE_NS)) {
        sim_store_heal(l->sim);
        if (!sim_run_until(l->sim, step_over, l, SETTLE_NS))
            life_break(l, "C-SETTLE", "recovery does not end");
    }
    l->over = true;
    folder_close(l);
    sim_store_heal(l->sim);
    (void)sim_run_until(l->sim, idle, l, SETTLE_NS);
    if (l->broken == NULL)
        life_audit(l);
}

void life_deinit(struct life *l)
{
    sim_free(l->sim);
    for (unsigned i = 0; i < LIFE_RACERS; i++)
        racer_free(&l->of[i]);
    for (size_t i = 0; i < CD_COUNT(l->slot); i++) {
        struct life_slot *s = l->slot[i];
        for (size_t k = 0; s != NULL && k < s->rows; k++)
            log_row_free(s->row[k]);
        if (s != NULL) {
            cd_buf_deinit(&s->key);
            cd_buf_deinit(&s->body);
            cd_buf_deinit(&s->put.body);
        }
        cd_free(s);
    }
    cd_free(l->row);
    ltx_zstd_free(l->zstd);
    cd_buf_deinit(&l->why);
}
