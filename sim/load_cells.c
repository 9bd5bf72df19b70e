/* sim/load_cells.c: clients of cells, whatever their class: pace, whom to ask, looking at everything at the
 * end. */
#include <stdio.h>

#include "sim/cells.h"
#include "sim/cells_code.h"

#define PROBE_RETRY_NS IO_MS(200)
#define BOOT_NS IO_MS(50) /* Clients start when the nodes may be up, or not. */

static uint64_t setting(const struct cells_client *c, enum scn_setting id)
{
    return scn_get(c->load->run->scn, id);
}

/* ---- For classes ---- */

uint64_t cells_draw(struct cells_client *c, uint64_t n)
{
    return io_random_below(c->io, IO_RAND_JITTER, n);
}

unsigned cells_draw_cell(struct cells_client *c)
{
    uint64_t cells = setting(c, c->load->class->cells);
    bool skewed = cells_draw(c, 2) == 0;
    return 1 + (unsigned)cells_draw(c, skewed && cells > 2 ? 2 : cells);
}

bool cells_pause(struct cells_client *c, uint64_t ns)
{
    return io_sleep(c->io, ns) == IO_OK && !run_failed(c->load->run);
}

bool cells_judge(struct cells_client *c, const char *broken, struct cd_buf *why)
{
    if (broken != NULL)
        run_fail(c->load->run, RUN_SAFETY, broken, "%s", cd_buf_cstr(why));
    cd_buf_deinit(why);
    return broken == NULL;
}

bool cells_reads_may_be_stale(const struct cells_client *c)
{
    return run_clocks_differ(c->load->run) && c->load->run->phase < RUN_REBUILD;
}

/* A node that is in the fleet. */
static unsigned draw_node(struct cells_client *c)
{
    const struct run *run = c->load->run;
    for (;;) {
        unsigned at = 1 + (unsigned)cells_draw(c, run->nodes);
        if (run->node[at].node != NULL && !run->node[at].retired)
            return at;
    }
}

enum cells_outcome cells_question(struct cells_client *c, unsigned cell, struct cd_str *text)
{
    uint64_t epoch, txid;
    unsigned *at = &c->at[cell];
    if (*at == 0 || c->load->run->node[*at].retired || cells_draw(c, 32) == 0)
        *at = draw_node(c);
    struct cells_ask a = {.io = c->io,
                          .pool = c->load->pool[c->order].client,
                          .node = *at,
                          .class = c->load->class->name,
                          .cell = cell,
                          .message = cd_buf_str(&c->message),
                          .deadline_ns = io_now_ns(c->io) + setting(c, SCN_CELLS_TIMEOUT),
                          .text = cd_buf_move(&c->text)};
    cells_ask(&a);
    c->text = a.text;
    *text = cd_buf_str(&c->text);
    if (a.outcome != CELLS_ANSWERED) {
        *at = 0;
    } else if (!cells_answer_take(text, &epoch, &txid)) {
        run_fail(c->load->run, RUN_SAFETY, "cells.answer", "an answer of cell %u is not one: %.*s", cell,
                 (int)text->len, text->ptr);
        a.outcome = CELLS_UNKNOWN;
    }
    return a.outcome;
}

/* ---- Clients ---- */

/* Between two questions. Looks up every second, because the pause can be longer than the load. */
static bool pace(struct cells_client *c, uint64_t ns)
{
    bool goes_on = true;
    while (goes_on && ns > 0 && !c->load->quiet) {
        uint64_t piece = ns < IO_SEC(1) ? ns : IO_SEC(1);
        goes_on = cells_pause(c, piece);
        ns -= piece;
    }
    return goes_on;
}

/* The cells of this fiber's share, one after the other. False: the client is gone or the run has failed. */
static bool probe_all(struct cells_client *c)
{
    unsigned cells = (unsigned)setting(c, c->load->class->cells);
    unsigned fibers = c->load->clients * CELLS_FIBERS;
    for (unsigned cell = 1 + c->order * CELLS_FIBERS + c->number; cell <= cells; cell += fibers) {
        int rc;
        c->probed = cell;
        while ((rc = c->load->class->probe(c, cell)) == 0) {
            if (!cells_pause(c, PROBE_RETRY_NS))
                return false;
        }
        if (rc < 0)
            return false;
    }
    return true;
}

static void client_flow(void *arg)
{
    struct cells_client *c = arg;
    struct cells_load *l = c->load;
    uint64_t mean = IO_SEC(1000) / setting(c, l->class->rate) * l->clients * CELLS_FIBERS;
    bool goes_on = pace(c, BOOT_NS + cells_draw(c, mean + 1));
    while (goes_on && !l->quiet)
        goes_on = l->class->work(c) && pace(c, cells_draw(c, 2 * mean + 1));
    while (goes_on) {
        uint64_t round = l->round;
        if (c->round < round && (goes_on = probe_all(c)))
            c->round = round;
        goes_on = goes_on && cells_pause(c, PROBE_RETRY_NS);
    }
    cd_buf_deinit(&c->message);
    cd_buf_deinit(&c->text);
}

static void client_boot(struct io *io, void *arg)
{
    struct cells_client *c = arg;
    struct http_client_opts opts = {
        .connections_max = CELLS_FIBERS, .idle_max = 1, .idle_timeout_ns = IO_SEC(3)};
    c->load->pool[c->order].client = http_client_new(io, &opts);
    for (unsigned i = 0; i < CELLS_FIBERS; i++) {
        c[i].io = io;
        (void)io_spawn(io, "client", client_flow, &c[i]);
    }
}

static void pool_stopped(struct io_op *op, int status)
{
    struct cells_pool *p = CD_CONTAINER(op, struct cells_pool, stop);
    (void)status;
    http_client_free(p->client);
    p->client = NULL;
}

static void client_unwind(struct io *io, void *arg)
{
    struct cells_client *c = arg;
    struct cells_pool *p = &c->load->pool[c->order];
    (void)io;
    http_client_stop(p->client, &p->stop, pool_stopped);
}

/* ---- The workloads ---- */

static void *start(struct run *run, const struct cells_class *class)
{
    struct cells_load *l = cd_new(struct cells_load);
    l->run = run;
    l->class = class;
    l->clients = (unsigned)scn_get(run->scn, class->clients);
    for (unsigned i = 0; i < l->clients; i++) {
        char name[8];
        unsigned index = ++run->clients;
        CD_ASSERT(index <= SCN_CLIENTS_MAX); /* scn_available counts them. */
        for (unsigned k = 0; k < CELLS_FIBERS; k++)
            l->client[i][k] = (struct cells_client){.load = l, .index = index, .number = k, .order = i};
        (void)snprintf(name, sizeof name, "c%u", index);
        struct sim_node_opts opts = {.name = name, .loops = 1, .client = true};
        opts.program = (struct sim_program){client_boot, client_unwind, l->client[i], NULL};
        run->client[index] = sim_node(run->sim, &opts);
    }
    l->work = class->start(l);
    if (run->cells_load == NULL)
        run->cells_load = l; /* The nodes are its, for all. */
    return l;
}

static void boot(void *load, struct fleet_node *n, struct io *io)
{
    if (n->run->cells_load == load)
        cells_nodes_boot(n->run, n, io);
}

static void freeze(void *load, struct fleet_node *n, struct io *io)
{
    (void)io;
    if (n->run->cells_load == load)
        cells_nodes_freeze(n->run, n);
}

static void unwind(void *load, struct fleet_node *n, struct io *io)
{
    if (n->run->cells_load == load)
        cells_nodes_unwind(n->run, n, io);
}

static bool spare(void *load, struct fleet_node *n, struct cd_buf *why)
{
    return n->run->cells_load != load || cells_nodes_spare(n->run, n, why);
}

static void wiped(void *load, struct fleet_node *n)
{
    (void)load;
    (void)n; /* Nothing is excused: what was acknowledged is in the bucket, or on another disk. */
}

static bool drain(void *load, struct fleet_node *n)
{
    return n->run->cells_load == load && cells_nodes_drain(n->run, n);
}

static void quiet(void *load)
{
    struct cells_load *l = load;
    struct cd_buf text = {0};
    l->class->tell(l->work, &text);
    run_note(l->run, "%s: %s", l->class->name, cd_buf_cstr(&text));
    cd_buf_deinit(&text);
    l->quiet = true;
    l->round++;
}

static void audit(void *load)
{
    struct cells_load *l = load;
    if (l->run->cells_load == l)
        cells_nodes_audit(l->run);
    l->round++;
}

static bool settled(void *load, struct cd_buf *why)
{
    struct cells_load *l = load;
    /* A node that ends before it has started leaves the log of its last life open, with nobody to seal it. */
    bool yes = l->run->phase != RUN_AUDIT || cells_nodes_started(l->run, why);
    for (unsigned i = 0; i < l->clients; i++) {
        for (unsigned k = 0; k < CELLS_FIBERS; k++) {
            const struct cells_client *c = &l->client[i][k];
            if (c->round == l->round)
                continue;
            yes = false;
            if (why != NULL)
                cd_buf_addf(why, "%s: c%u has no answer of cell %u: %.*s\n", l->class->name, c->index,
                            c->probed, (int)c->text.len, c->text.ptr);
        }
    }
    return yes;
}

static void finish(void *load)
{
    struct cells_load *l = load;
    if (l->run->cells_load == l)
        cells_nodes_free(l->run);
    l->class->finish(l->work);
    cd_free(l);
}

static void *ledger_start(struct run *run)
{
    return start(run, &cells_class_ledger);
}

static void *storage_start(struct run *run)
{
    return start(run, &cells_class_mix);
}

static void *alarms_start(struct run *run)
{
    struct cells_load *l = start(run, &cells_class_alarm);
    cells_nodes_alarms(run, l);
    return l;
}

#define KIND(what, WHAT)                                                                                     \
    const struct load_kind load_##what = {                                                                   \
        .name = #what,                                                                                       \
        .group = SCN_LOAD_##WHAT,                                                                            \
        .lasts = SCN_##WHAT##_FOR,                                                                           \
        .start = what##_start,                                                                               \
        .boot = boot,                                                                                        \
        .freeze = freeze,                                                                                    \
        .unwind = unwind,                                                                                    \
        .spare = spare,                                                                                      \
        .wiped = wiped,                                                                                      \
        .quiet = quiet,                                                                                      \
        .settled = settled,                                                                                  \
        .audit = audit,                                                                                      \
        .drain = drain,                                                                                      \
        .finish = finish,                                                                                    \
    }
KIND(ledger, LEDGER);
KIND(storage, STORAGE);
KIND(alarms, ALARMS);
