#include "follow.h"

/* ---- Asking ---- */

void follow_batch(struct cd_buf *to, uint64_t n, uint64_t log_epoch, uint64_t first)
{
    struct log_batch_out o;
    uint8_t digest[LOG_SHA256_SIZE];
    struct log_row *row = row_of("Room:a", n, 40 + n % 7);
    log_batch_begin(&o, to, CD_STR(SESSION), n, log_epoch, first);
    log_batch_add(&o, row);
    log_batch_end(&o, digest);
    log_row_free(row);
}

struct store_lease follow_lease(uint64_t log_epoch)
{
    struct store_lease l = {.seq = log_epoch + 1, .expires_ms = 1, .ttl_ms = 10000, .has_log = true};
    struct cd_str node, generation;
    CD_ASSERT(store_session_split(CD_STR(SESSION), &node, &generation));
    memcpy(l.node, node.ptr, node.len);
    memcpy(l.generation, generation.ptr, generation.len);
    memcpy(l.probe_key, generation.ptr, generation.len);
    l.log = (struct store_log_record){.state = STORE_LOG_OPEN, .epoch = log_epoch, .ensemble_count = 1};
    memcpy(l.log.ensemble[0], FOLLOW_NODE, sizeof FOLLOW_NODE);
    store_load_init(&l.load);
    return l;
}

void follow_lease_put(struct sim *sim, const struct store_lease *l)
{
    struct cd_buf key = {0}, body = {0};
    store_key_lease(&key, cd_str(l->node));
    store_lease_write(&body, l);
    sim_store_put_truth(sim, cd_buf_str(&key), cd_buf_str(&body));
    cd_buf_deinit(&key);
    cd_buf_deinit(&body);
}

static int send(struct log_follower *f, const struct log_append *a, struct log_append_answer *answer)
{
    struct cd_buf body = {0}, out = {0};
    log_append_write(&body, a);
    int status = log_follower_append(f, cd_buf_str(&body), &out);
    *answer = (struct log_append_answer){0};
    if (status == 200)
        CHECK_INT(log_append_answer_read(answer, cd_buf_str(&out)), 0);
    cd_buf_deinit(&body);
    cd_buf_deinit(&out);
    return status;
}

int follow_append(struct log_follower *f, const struct log_append *a, uint64_t from, uint64_t to,
                  struct log_append_answer *answer)
{
    struct log_append full = *a;
    struct cd_buf frames = {0}, batch = {0};
    full.leader = CD_STR(SESSION);
    for (uint64_t n = from; n <= to; n++) {
        cd_buf_clear(&batch);
        follow_batch(&batch, n, a->log_epoch, a->first_batch);
        log_frame_add(&frames, cd_buf_str(&batch));
        full.count++;
    }
    full.frames = cd_buf_str(&frames);
    int status = send(f, &full, answer);
    cd_buf_deinit(&frames);
    cd_buf_deinit(&batch);
    return status;
}

int follow_seal(struct log_follower *f, uint64_t log_epoch, struct log_seal_answer *answer)
{
    struct cd_buf body = {0}, out = {0};
    log_seal_ask_write(&body, CD_STR(SESSION), log_epoch);
    int status = log_follower_seal(f, cd_buf_str(&body), &out);
    if (status == 200)
        CHECK_INT(log_seal_answer_read(answer, cd_buf_str(&out)), 0);
    cd_buf_deinit(&body);
    cd_buf_deinit(&out);
    return status;
}

int follow_tail(struct log_follower *f, struct log_tail *t, struct cd_buf *body)
{
    struct cd_buf ask = {0};
    log_tail_ask_write(&ask, CD_STR(SESSION));
    cd_buf_clear(body);
    int status = log_follower_tail(f, cd_buf_str(&ask), body);
    cd_buf_deinit(&ask);
    return status != 200                                                    ? status
           : log_tail_read(t, CD_STR(SESSION), cd_buf_str(body), NULL) != 0 ? CD_ECORRUPT
                                                                            : 200;
}

/* ---- What is true ---- */

static void break_rule(struct follow *f, const char *rule, const char *format, ...) CD_PRINTF(3, 4);
static void break_rule(struct follow *f, const char *rule, const char *format, ...)
{
    va_list args;
    if (f->broken != NULL)
        return;
    f->broken = rule;
    cd_buf_addf(&f->why, "%s seed %llu: ", rule, (unsigned long long)f->seed);
    va_start(args, format);
    cd_buf_vaddf(&f->why, format, args);
    va_end(args);
}

static uint64_t draw(struct follow *f, uint64_t n)
{
    return cd_rng_below(&f->rng, n);
}

static bool lease_good(const struct follow *f, uint64_t log_epoch)
{
    return f->lease.log.state == STORE_LOG_OPEN && f->lease.log.epoch == log_epoch &&
           f->lease.log.ensemble_count == 1;
}

/* An answer that counts as a confirmation of everything up to last. */
static void confirmed(struct follow *f, const struct log_append *a, uint64_t last, bool may_before,
                      bool taken)
{
    f->confirms++;
    if (!may_before || !f->may)
        break_rule(f, "C-ACK", "batch %llu was confirmed without authority", (unsigned long long)last);
    if (a->log_epoch <= f->sealed)
        break_rule(f, "C-ACK", "batch %llu was confirmed below the seal", (unsigned long long)last);
    if (lease_good(f, a->log_epoch))
        f->open_seen = true;
    else if (!f->open_seen && taken) /* Else it only says what it has. */
        break_rule(f, "C-ACK", "batch %llu was confirmed, and the lease does not name us",
                   (unsigned long long)last);
    if (last > f->confirmed)
        f->confirmed = last;
    if (f->next <= last)
        f->next = last + 1;
}

/* What is held shows all that was confirmed. */
static void check_tail(struct follow *f, bool certified)
{
    struct log_tail t;
    struct cd_buf body = {0};
    int status = follow_tail(f->follower, &t, &body);
    if (status == CD_ECORRUPT)
        break_rule(f, "C-SEAL", "the tail is none");
    if (status == 200 && t.epoch == f->log_epoch && (!f->damaged || certified)) {
        uint64_t want = f->confirmed > t.base ? f->confirmed - t.base : 0;
        if (t.base > f->truncated && t.base >= f->first)
            break_rule(f, "C-ACK", "batches up to %llu were given up", (unsigned long long)t.base);
        if (t.end < f->confirmed || t.count < want)
            break_rule(f, "C-ACK", "up to %llu confirmed, %u batches of %llu to %llu are held, damaged %d",
                       (unsigned long long)f->confirmed, t.count, (unsigned long long)t.base,
                       (unsigned long long)t.end, f->damaged);
        if (certified && !t.complete)
            break_rule(f, "C-SEAL", "certified, and then not complete");
        struct cd_str rest = t.frames, bytes;
        struct log_batch b;
        while (log_frame_next(&rest, &bytes))
            if (log_batch_open(&b, bytes, NULL) == 0 && b.first_batch != f->first)
                break_rule(f, "C-SEAL", "batch %llu is of another ensemble", (unsigned long long)b.batch);
    } else if (status == 200 && t.epoch != f->log_epoch && f->confirmed >= f->first && !f->damaged) {
        break_rule(f, "C-ACK", "log epoch %llu is held, %llu was confirmed", (unsigned long long)t.epoch,
                   (unsigned long long)f->log_epoch);
    }
    cd_buf_deinit(&body);
}

/* ---- Steps ---- */

static void do_append(struct follow *f, uint64_t from, uint64_t to, uint64_t truncate)
{
    struct log_append a = {.log_epoch = f->log_epoch, .first_batch = f->first, .truncate_to = truncate};
    struct log_append_answer answer;
    bool before = f->may;
    if (truncate > f->truncated)
        f->truncated = truncate;
    if (to > f->sent)
        f->sent = to;
    if (to >= from) {
        f->last_epoch = f->log_epoch;
        f->last_from = from;
        f->last_to = to;
    }
    if (follow_append(f->follower, &a, from, to, &answer) != 200)
        return;
    if (to >= from &&
        (answer.ok || (answer.epoch == f->log_epoch && answer.end >= to && f->sealed < f->log_epoch)))
        confirmed(f, &a, to, before, answer.ok);
}

static void step_append(struct follow *f)
{
    uint64_t held = f->confirmed, n = 1 + draw(f, 3);
    uint64_t from = draw(f, 4) == 0 && held > f->first + 2 ? held - draw(f, 3) : held + 1;
    do_append(f, from, from + n - 1, held > f->first && draw(f, 3) == 0 ? held - draw(f, 2) : 0);
}

/* Frames of the same request that are not what it says. */
static void step_wrong(struct follow *f)
{
    struct cd_buf frames = {0}, batch = {0};
    struct log_append_answer answer;
    struct log_append a = {
        .leader = CD_STR(SESSION), .log_epoch = f->log_epoch, .first_batch = f->first, .count = 1};
    uint64_t n = f->confirmed + 1;
    bool other_first = draw(f, 2) == 0;
    follow_batch(&batch, n, f->log_epoch + (other_first ? 0 : 1),
                 other_first && f->first > 1 ? f->first - 1 : f->first);
    log_frame_add(&frames, cd_buf_str(&batch));
    a.frames = cd_buf_str(&frames);
    if ((!other_first || f->first > 1) && send(f->follower, &a, &answer) == 200 && answer.ok)
        break_rule(f, "C-SEAL", "a batch of another ensemble was confirmed");
    cd_buf_deinit(&frames);
    cd_buf_deinit(&batch);
}

static void step_gap(struct follow *f)
{
    struct log_append a = {.log_epoch = f->log_epoch, .first_batch = f->first};
    struct log_append_answer answer;
    /* The one before it was never sent: what failed may be on the disk all the same. */
    uint64_t n = (f->sent + 1 > f->next ? f->sent + 1 : f->next) + 1 + draw(f, 2);
    if (follow_append(f->follower, &a, n, n, &answer) == 200 && answer.ok)
        break_rule(f, "C-ACK", "batch %llu was confirmed behind a gap", (unsigned long long)n);
}

/* A leader whose record never named this ensemble. */
static void step_rogue(struct follow *f)
{
    struct log_append a = {.log_epoch = f->log_epoch + 1, .first_batch = f->next};
    struct log_append_answer answer;
    if (follow_append(f->follower, &a, f->next, f->next, &answer) == 200 && answer.ok)
        break_rule(f, "C-ACK", "log epoch %llu was adopted on the leader's word",
                   (unsigned long long)a.log_epoch);
}

static void step_ensemble(struct follow *f)
{
    if (f->lease.log.state != STORE_LOG_OPEN)
        return;
    f->log_epoch++;
    f->first = f->next;
    f->confirmed = f->truncated = f->first - 1;
    f->open_seen = f->damaged = false;
    f->lease = follow_lease(f->log_epoch);
    if (draw(f, 4) == 0)
        f->lease.log.ensemble_count = 0; /* Without us. */
    follow_lease_put(f->sim, &f->lease);
}

static void step_seal(struct follow *f)
{
    struct log_seal_answer answer;
    uint64_t to = draw(f, 3) == 0 ? f->log_epoch : f->log_epoch - 1;
    if (to == 0)
        return;
    /* Whoever seals has written into the lease before. But the seal holds whatever the lease says. */
    if (to == f->log_epoch && draw(f, 2) == 0) {
        f->lease.log.state = STORE_LOG_RECOVERING;
        memcpy(f->lease.log.claimant, OTHER, sizeof OTHER);
        f->lease.log.claimed_ms = 1;
        follow_lease_put(f->sim, &f->lease);
    }
    if (follow_seal(f->follower, to, &answer) != 200)
        return;
    f->sealed = to > f->sealed ? to : f->sealed;
    if (answer.held == f->log_epoch && answer.certified == f->log_epoch)
        f->certified++;
    else if (answer.held == f->log_epoch && !f->damaged && f->confirmed >= f->first)
        break_rule(f, "C-ACK", "a disk that lost nothing is not certified");
    check_tail(f, answer.certified == f->log_epoch && answer.held == f->log_epoch);
}

/* What is open stays, whatever the bucket answers. */
static void step_gc(struct follow *f)
{
    struct log_tail t;
    struct cd_buf body = {0};
    uint64_t base = UINT64_MAX, epoch = 0;
    bool open = f->lease.log.state == STORE_LOG_RECOVERING || lease_good(f, f->log_epoch);
    if (follow_tail(f->follower, &t, &body) == 200 && t.epoch == f->log_epoch) {
        base = t.base;
        epoch = t.epoch;
    }
    if (draw(f, 2) == 0)
        sim_store_rule(f->sim,
                       &(struct sim_store_rule){.effect = SIM_STORE_DOWN, .op = "get", .pattern = "*"});
    int rc = log_follower_gc(f->follower);
    sim_store_heal(f->sim);
    if (rc == IO_OK && open && base != UINT64_MAX && follow_tail(f->follower, &t, &body) == 200 &&
        (t.epoch != epoch || t.base != base))
        break_rule(f, "C-GC", "batches up to %llu of an open fragment were collected",
                   (unsigned long long)t.base);
    cd_buf_deinit(&body);
}

/* ---- Lives ---- */

static bool may(void *arg)
{
    return ((struct follow *)arg)->may;
}

static void one_step(struct follow *f)
{
    if (f->gc && draw(f, 8) == 0) {
        step_gc(f);
        return;
    }
    switch (draw(f, 14)) {
    case 0: step_ensemble(f); return;
    case 1: step_seal(f); return;
    case 2: step_gap(f); return;
    case 3: step_wrong(f); return;
    case 4: step_rogue(f); return;
    case 5: f->may = draw(f, 3) > 0; return;
    case 6: do_append(f, 1, 0, 0); return;
    case 7: check_tail(f, false); return;
    default: step_append(f); return;
    }
}

static void flow(void *arg)
{
    struct follow *f = arg;
    f->may = true;
    f->open_seen = false;
    f->follower = log_follower_new(&(struct log_follower_opts){.io = f->io,
                                                               .bucket = sim_bucket(f->io, ""),
                                                               .data_dir = CD_STR("/data"),
                                                               .node = CD_STR(FOLLOW_NODE),
                                                               .may = may,
                                                               .arg = f});
    /* A leader asks again for what got no answer. */
    if (f->last_epoch == f->log_epoch && f->last_from > f->confirmed && draw(f, 2) == 0)
        do_append(f, f->last_from, f->last_to, 0);
    while (f->left > 0 && f->broken == NULL && io_sleep(f->io, IO_MS(1)) == IO_OK) {
        f->left--;
        one_step(f);
    }
    log_follower_free(f->follower);
    f->follower = NULL;
    f->alive = false;
    f->over = f->left == 0 || f->broken != NULL;
}

static void boot(struct io *io, void *arg)
{
    struct follow *f = arg;
    f->io = io;
    f->alive = true;
    (void)io_spawn(io, "follow", flow, f);
}

static bool ended(void *arg)
{
    struct follow *f = arg;
    return f->over || !f->alive || sim_node_life(f->node) != SIM_UP;
}

/* A file of the fragment rots or vanishes, while the node is dead. */
static void damage(struct follow *f)
{
    struct cd_buf path = {0};
    uint64_t n = f->first + draw(f, 8), m = n + draw(f, 3);
    cd_buf_addf(&path, "/data/peerlog/%s/%016llx-%016llx.batch", SESSION, (unsigned long long)n,
                (unsigned long long)m);
    if (sim_disk_rot(f->node, cd_buf_cstr(&path), 20 + draw(f, 60), 3))
        f->damaged = true;
    cd_buf_deinit(&path);
}

void follow_run(struct follow *f)
{
    f->sim = sim_new(&(struct sim_opts){.seed = f->seed, .policy = SIM_RANDOM, .slack_ns = 1000});
    cd_rng_seed(&f->rng, f->seed, CD_STR("follow"));
    sim_store_set(f->sim, &(struct sim_store_opts){.latency_ns = IO_MS(2)});
    f->left = f->steps == 0 ? 60 : f->steps;
    f->log_epoch = f->first = f->next = 1;
    f->lease = follow_lease(1);
    follow_lease_put(f->sim, &f->lease);
    f->node =
        sim_node(f->sim, &(struct sim_node_opts){.name = "f", .loops = 1, .program = {boot, NULL, f, NULL}});
    sim_disk_put(f->node, "/data/lock", CD_STR("x"));
    while (!f->over) {
        enum sim_action how[] = {SIM_FAIL, SIM_DIE_KILL, SIM_DIE_POWER};
        /* Often soon again: what a kill left half done has to survive the power loss after it. */
        uint64_t calls = draw(f, 2) == 0 ? 60 : 12;
        CHECK(sim_at_call(f->node, draw(f, 2) == 0 ? "any" : "file", 1 + draw(f, calls), how[draw(f, 3)],
                          IO_FAULT, NULL));
        CHECK(sim_run_until(f->sim, ended, f, IO_SEC(30)));
        if (f->over)
            break;
        f->crashes++;
        if (sim_node_life(f->node) == SIM_UP)
            sim_crash(f->node, SIM_POWER);
        while (sim_node_life(f->node) != SIM_DEAD)
            CHECK(sim_step(f->sim));
        if (f->damage && draw(f, 2) == 0)
            damage(f);
        sim_restart(f->node, false);
        f->alive = true;
    }
}

void follow_deinit(struct follow *f)
{
    sim_free(f->sim);
    cd_buf_deinit(&f->why);
}
