/* tests/io/harness_sim.c: the contract on the simulator, each flow in a run of its own: with nothing late and
 * ties in the order of submission, or, with CONTRACT_SEED, late and in any order by that seed. Faults are for
 * tests/io_sim. */
#include "contract.h"
#include "io_sim/console.h"
#include "io_sim/io_sim.h"
#include "io_sim/sim_store.h"
#include "support.h"

struct harness {
    struct contract c; /* First. */
    struct sim *sim;
    struct sim_node *node;
    void (*flow)(struct contract *c);
    bool over;
    struct cd_buf log;
    struct io_stream keyboard;
};

/* ---- Programs of children ---- */

static int program_write(struct sim_child *c, struct cd_str bytes)
{
    struct io_write w = {.part = &bytes, .parts = 1};
    io_stream_write(c->out, &w, NULL);
    return io_await(&w.op, IO_FOREVER);
}

static int program_cat(struct sim_child *c)
{
    for (;;) {
        char bytes[4096];
        struct io_read r = {.buf = bytes, .cap = sizeof bytes};
        io_stream_read(c->in, &r, NULL);
        int status = io_await(&r.op, IO_FOREVER);
        if (status != IO_OK)
            return status == IO_EOF ? 0 : 1;
        if (program_write(c, cd_str_of(bytes, r.len)) != IO_OK)
            return 1;
    }
}

static int program_exit(struct sim_child *c)
{
    uint64_t code;
    return c->argc > 1 && cd_str_u64(cd_str(c->argv[1]), &code) == 0 ? (int)code : 99;
}

static int program_say(struct sim_child *c)
{
    struct cd_buf text = {0};
    cd_buf_addf(&text, "%s\n", c->cwd);
    for (int i = 0; i < c->argc; i++)
        cd_buf_addf(&text, "%s\n", c->argv[i]);
    for (int i = 0; c->env[i] != NULL; i++) {
        if (strncmp(c->env[i], "PATH=", 5) != 0)
            cd_buf_addf(&text, "%s\n", c->env[i]);
    }
    int status = program_write(c, cd_buf_str(&text));
    cd_buf_deinit(&text);
    return status == IO_OK ? 0 : 1;
}

static int program_hang(struct sim_child *c)
{
    if (program_write(c, CD_STR("up\n")) != IO_OK)
        return 1;
    while (io_sleep(c->io, IO_SEC(3600)) == IO_OK)
        continue;
    return 1;
}

static int program_complain(struct sim_child *c)
{
    struct cd_str part = CD_STR("complaint\n");
    struct io_write w = {.part = &part, .parts = 1};
    if (c->err != NULL) {
        io_stream_write(c->err, &w, NULL);
        return io_await(&w.op, IO_FOREVER) == IO_OK ? 0 : 1;
    }
    return io_console_write(c->io, IO_STDERR, CD_STR("complaint\n")) == IO_OK ? 0 : 1;
}

/* ---- Log, console, randomness ---- */

static void log_line(void *arg, const struct sim_log *log)
{
    cd_event_format(arg, CD_EVENT_TEXT, log->wall_us, log->level, log->target, log->name, log->fields,
                    log->count);
}

void contract_log(struct contract *c, struct cd_buf *out)
{
    cd_buf_add_str(out, cd_buf_str(&CD_CONTAINER(c, struct harness, c)->log));
}

void contract_log_stuck(struct contract *c, bool on)
{
    (void)c;
    (void)on;
}

void contract_console_start(struct contract *c, enum io_console which, int status)
{
    struct sim_node *node = CD_CONTAINER(c, struct harness, c)->node;
    sim_console_clear(node, which);
    sim_console_fail(node, which, 0, status);
}

void contract_console_end(struct contract *c, enum io_console which, struct cd_buf *out)
{
    struct sim_node *node = CD_CONTAINER(c, struct harness, c)->node;
    if (out != NULL)
        cd_buf_add_str(out, sim_console(node, which));
    sim_console_fail(node, which, 0, 0);
}

void contract_keyboard_start(struct contract *c, enum contract_keyboard what)
{
    struct harness *h = CD_CONTAINER(c, struct harness, c);
    sim_console_keyboard(h->node, what == CONTRACT_NO_KEYBOARD ? NULL : &h->keyboard);
}

void contract_keyboard_type(struct contract *c, struct cd_str bytes)
{
    CHECK_INT(stream_write(&CD_CONTAINER(c, struct harness, c)->keyboard, bytes), IO_OK);
}

void contract_keyboard_hangup(struct contract *c)
{
    stream_close(&CD_CONTAINER(c, struct harness, c)->keyboard, false);
}

void contract_keyboard_end(struct contract *c)
{
    sim_console_keyboard(CD_CONTAINER(c, struct harness, c)->node, NULL);
}

bool contract_random_repeats(void)
{
    return true;
}

/* ---- Faults of the disk ---- */

bool contract_disk_denies(struct contract *c, bool on)
{
    (void)c;
    (void)on;
    return false;
}

bool contract_disk_full(struct contract *c, bool on)
{
    sim_disk_full(CD_CONTAINER(c, struct harness, c)->node, on);
    return true;
}

bool contract_disk_sync_fails(struct contract *c, bool on)
{
    sim_disk_fail_syncs(CD_CONTAINER(c, struct harness, c)->node, c->dir, on ? 1 : 0);
    return true;
}

/* ---- Network ---- */

bool contract_hole(struct contract *c, struct io_addr *at)
{
    struct harness *h = CD_CONTAINER(c, struct harness, c);
    struct sim_node *hole = sim_node(h->sim, &(struct sim_node_opts){.name = "hole"});
    sim_cut_both(h->sim, h->node, hole);
    *at = (struct io_addr){.host = "hole", .port = 80};
    return true;
}

/* ---- A run ---- */

static void main_flow(void *arg)
{
    struct harness *h = arg;
    h->flow(&h->c);
    h->over = true;
}

static bool is_over(void *arg)
{
    return ((struct harness *)arg)->over;
}

static bool is_clean(void *arg)
{
    return sim_left(((struct harness *)arg)->node, NULL) == 0;
}

static void programs_make(struct sim *sim)
{
    sim_child_program(sim, "contract-cat", program_cat, NULL);
    sim_child_program(sim, "contract-exit", program_exit, NULL);
    sim_child_program(sim, "contract-say", program_say, NULL);
    sim_child_program(sim, "contract-hang", program_hang, NULL);
    sim_child_program(sim, "contract-complain", program_complain, NULL);
}

bool contract_keeps_ties(void)
{
    return getenv("CONTRACT_SEED") == NULL;
}

static struct sim *run_new(void)
{
    const char *seed = getenv("CONTRACT_SEED");
    if (seed == NULL)
        return sim_new(NULL);
    return sim_new(
        &(struct sim_opts){.seed = strtoull(seed, NULL, 10), .policy = SIM_RANDOM, .slack_ns = 10000});
}

static void check_over(struct harness *h)
{
    if (sim_run_until(h->sim, is_over, h, IO_SEC(3600)) && sim_run_until(h->sim, is_clean, h, IO_MS(10)))
        return;
    struct cd_buf report = {0};
    (void)sim_left(h->node, &report);
    (void)fprintf(stderr, "%s, left:\n%s", h->over ? "over" : "not over", cd_buf_cstr(&report));
    abort();
}

void contract_start(unsigned loops, void (*flow)(struct contract *c), bool with_store)
{
    struct harness h = {.flow = flow};
    CHECK(loops >= 1 && loops <= CD_COUNT(h.c.loop));
    h.sim = run_new();
    sim_on_log(h.sim, log_line, &h.log);
    h.node = sim_node(h.sim, &(struct sim_node_opts){.name = "node", .loops = loops});
    programs_make(h.sim);
    sim_disk_put(h.node, "/contract/d/", CD_STR(""));
    (void)snprintf(h.c.dir, sizeof h.c.dir, "/contract/d");
    (void)snprintf(h.c.path, sizeof h.c.path, "PATH=/bin");
    for (unsigned i = 0; i < loops; i++)
        h.c.loop[i] = sim_io(h.node, i);
    h.c.io = h.c.loop[0];
    for (unsigned i = 0; with_store && i < loops; i++)
        (void)sim_bucket(h.c.loop[i], "fleet/");
    h.c.bucket = io_bucket(h.c.io);
    (void)io_spawn(h.c.io, "contract", main_flow, &h);
    check_over(&h);
    sim_free(h.sim);
    cd_buf_deinit(&h.log);
}
