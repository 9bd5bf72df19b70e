/* io_sim/child.c: child processes: a registered C function in a fiber of a loop of its own. It has no
 * terminal and ends with its parent, whatever its flags say (IO_CHILD_GROUP, IO_CHILD_TIED).
 *
 * The process is a small node whose disk and network are its parent's. It ends when the function returns or
 * when it is killed (then its code unwinds like that of any killed node); exited is told when nothing is left
 * of it. */
#include <stdio.h>

#include "io_sim/net.h"
#include "io_sim/peers.h"

#define SIGNALED 128
#define SIGNAL_KILL 9
#define SIGNAL_CONTINUE 18
#define SIGNAL_STOP 19
#define CRASHED 139
#define SLOW_NS IO_SEC(1)
#define GARBAGE_BYTES 512u

struct program {
    int (*run)(struct sim_child *c);
    void *arg;
    struct sim_child_fault fault;
    uint64_t starts; /* Numbers its draws. */
    char *name; /* owned */
};

struct child {
    struct sim_child as; /* What the program sees. */
    struct io_child *owner;
    struct sim_event *exited; /* NULL: told already. */
    struct sim_loop *parent; /* NULL: gone. */
    struct cd_link link; /* Of sim_loop.children. */
    struct sim_node *node;
    struct program *program;
    struct io_stream in, out, err; /* err: open with IO_CHILD_ERR only. */
    struct cd_buf text; /* The strings of argv and env. */
    const char **words; /* owned: argv, NULL, env, NULL */
    uint64_t draw;
    int code;
    bool killed;
};

struct sim_peers *sim_peers(struct sim *sim)
{
    if (sim->peers == NULL) {
        sim->peers = cd_new(struct sim_peers);
        cd_list_init(&sim->peers->exchanges);
    }
    return sim->peers;
}

void sim_child_program(struct sim *sim, const char *name, int (*run)(struct sim_child *c), void *arg)
{
    struct sim_peers *peers = sim_peers(sim);
    struct program *p = cd_map_get(&peers->programs, cd_str(name));
    if (p == NULL) {
        p = cd_new(struct program);
        p->name = cd_str_dup(cd_str(name));
        (void)cd_map_put(&peers->programs, cd_str(name), p);
    }
    p->run = run;
    p->arg = arg;
}

void sim_child_fault(struct sim *sim, const char *name, const struct sim_child_fault *fault)
{
    struct program *p = cd_map_get(&sim_peers(sim)->programs, cd_str(name));
    CD_ASSERT(p != NULL); /* Registered before. */
    p->fault = *fault;
}

void sim_programs_free(struct sim *sim)
{
    struct cd_map *m = &sim->peers->programs;
    for (struct cd_map_node *k = cd_map_first(m); k != NULL; k = cd_map_next(k)) {
        struct program *p = cd_map_value(k);
        cd_free(p->name);
        cd_free(p);
    }
    cd_map_deinit(m);
}

/* ---- The process ---- */

static void wait_forever(struct io *io)
{
    struct io_signal never;
    struct io_op op = {0};
    io_signal_init(&never);
    io_signal_wait(&never, io, &op, NULL);
    (void)io_await(&op, IO_FOREVER); /* Until it is killed. */
}

static void write_garbage(struct child *x)
{
    char bytes[GARBAGE_BYTES];
    struct cd_rng rng;
    cd_rng_seed(&rng, x->draw, CD_STR("garbage"));
    cd_rng_fill(&rng, bytes, sizeof bytes);
    struct cd_str part = cd_str_of(bytes, sizeof bytes);
    struct io_write w = {.part = &part, .parts = 1};
    io_stream_write(&x->out, &w, NULL);
    (void)io_await(&w.op, IO_FOREVER);
}

static int run_with_faults(struct child *x)
{
    const struct sim_child_fault *f = &x->program->fault;
    struct io *io = x->as.io;
    if (sim_strikes(sim_mix(x->draw, 1), f->slow_ppm) && io_sleep(io, SLOW_NS) != IO_OK)
        return CRASHED;
    if (sim_strikes(sim_mix(x->draw, 2), f->crash_ppm))
        return CRASHED;
    if (sim_strikes(sim_mix(x->draw, 3), f->garbage_ppm))
        write_garbage(x);
    if (sim_strikes(sim_mix(x->draw, 4), f->hang_ppm)) {
        wait_forever(io);
        return CRASHED;
    }
    return x->program->run(&x->as);
}

static void close_stream(struct io_stream *s)
{
    struct io_op op = {0};
    if (s->io == NULL)
        return;
    io_stream_close(s, false, &op, NULL);
    (void)io_await(&op, IO_FOREVER);
}

static void child_flow(void *arg)
{
    struct child *x = arg;
    struct io *io = x->as.io;
    int code = run_with_faults(x);
    if (!x->killed)
        x->code = code;
    close_stream(&x->in);
    close_stream(&x->out);
    close_stream(&x->err);
    io_stop(io);
}

static void child_dead(struct sim_node *n)
{
    struct child *x = n->dead_arg;
    if (x->parent != NULL) {
        cd_link_remove(&x->link);
        x->owner->code = x->code;
        x->owner->impl = NULL;
        x->exited->drop = NULL;
        bool canceled = x->parent->frozen || x->owner->exited.canceling;
        sim_op_finish(x->exited, canceled ? IO_CANCELED : IO_OK, 0);
    }
    sim_node_free(n);
    cd_buf_deinit(&x->text);
    cd_free(x->words);
    cd_free(x);
}

/* ---- Starting and killing ---- */

static int count(const char *const list[])
{
    int n = 0;
    while (list != NULL && list[n] != NULL)
        n++;
    return n;
}

/* Copies what the program sees: one buffer with all strings, one array of pointers into it. */
static void copy_words(struct child *x, const char *const argv[], const char *const env[], const char *cwd)
{
    int args = count(argv), vars = count(env);
    x->words = cd_alloc((size_t)(args + vars + 2) * sizeof *x->words);
    size_t *at = cd_alloc((size_t)(args + vars + 1) * sizeof *at);
    for (int i = 0; i <= args + vars; i++) {
        const char *word = i < args ? argv[i] : i < args + vars ? env[i - args] : cwd == NULL ? "/" : cwd;
        at[i] = x->text.len;
        cd_buf_add(&x->text, word, strlen(word) + 1);
    }
    for (int i = 0; i < args; i++)
        x->words[i] = x->text.ptr + at[i];
    for (int i = 0; i < vars; i++)
        x->words[args + 1 + i] = x->text.ptr + at[args + i];
    x->as.argc = args;
    x->as.argv = x->words;
    x->as.env = x->words + args + 1;
    x->as.cwd = x->text.ptr + at[args + vars];
    cd_free(at);
}

/* Programs lie in /bin and /usr/bin, which are also where one without PATH looks. */
static bool on_path(const char *const env[])
{
    for (int i = 0; i < count(env); i++) {
        struct cd_str rest = cd_str(env[i]), dir;
        if (!cd_str_starts(rest, CD_STR("PATH=")))
            continue;
        rest = cd_str_sub(rest, 5, SIZE_MAX);
        while (cd_str_next(&rest, ':', &dir)) {
            if (cd_str_eq(dir, CD_STR("/bin")) || cd_str_eq(dir, CD_STR("/usr/bin")))
                return true;
        }
        return false;
    }
    return true;
}

static struct program *find_program(struct sim *sim, const char *path, const char *const env[])
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL && !on_path(env))
        return NULL;
    return cd_map_get(&sim_peers(sim)->programs, cd_str(slash == NULL ? path : slash + 1));
}

void io_child_kill(struct io_child *c, int signal)
{
    struct child *x = c->impl;
    if (x == NULL || x->killed || x->node->state != SIM_UP || x->parent->frozen)
        return;
    if (signal == SIGNAL_STOP) {
        sim_actor_stop(&x->node->loop[0]->actor);
        return;
    }
    if (signal == SIGNAL_CONTINUE) {
        sim_actor_continue(x->parent->sim, &x->node->loop[0]->actor);
        return;
    }
    x->killed = true;
    x->code = SIGNALED + signal;
    sim_crash(x->node, SIM_KILL);
}

static void exited_cancel(struct io_op *op)
{
    io_child_kill(CD_CONTAINER(op, struct io_child, exited), SIGNAL_KILL);
}

/* The parent's loop ends: so does the child. */
static void exited_drop(struct sim *sim, struct sim_event *e)
{
    struct child *x = e->owner;
    (void)sim;
    if (x->node->state == SIM_UP) {
        x->killed = true;
        x->code = SIGNALED + SIGNAL_KILL;
    }
    sim_crash(x->node, SIM_KILL);
}

/* in and out are open even if nothing runs behind them: the caller closes them in any case. */
static void open_dead_streams(struct io_child *c, struct sim_loop *loop)
{
    sim_net_half(loop, &c->in);
    sim_net_half(loop, &c->out);
    if ((c->flags & IO_CHILD_ERR) != 0)
        sim_net_half(loop, &c->err);
}

void io_child_start(struct io_child *c, struct io *io, const char *const argv[], const char *const env[],
                    const char *cwd, io_done_fn *exited)
{
    struct sim_loop *loop = sim_loop_of(io);
    struct sim *sim = loop->sim;
    CD_ASSERT(argv[0] != NULL && c->in.io == NULL && c->out.io == NULL && c->err.io == NULL);
    c->code = 0;
    c->impl = NULL;
    struct sim_event *e = sim_op_begin(&c->exited, io, exited, SIM_CHILD_START);
    struct program *p = e == NULL ? NULL : find_program(sim, argv[0], env);
    if (p == NULL) {
        open_dead_streams(c, loop);
        if (e != NULL)
            sim_op_finish(e, IO_NOENT, 0);
        return;
    }
    struct child *x = cd_new(struct child);
    copy_words(x, argv, env, cwd);
    x->owner = c;
    x->exited = e;
    x->parent = loop;
    x->program = p;
    x->draw =
        sim_mix(sim_draw(sim, "child", cd_hash64(0, p->name, strlen(p->name)), loop->node->id), p->starts++);
    struct cd_buf name = {0};
    cd_buf_addf(&name, "%s/%s.%llu", loop->node->name, p->name, (unsigned long long)p->starts);
    x->node = sim_child_node(loop->node, cd_buf_cstr(&name));
    cd_buf_deinit(&name);
    x->node->dead = child_dead;
    x->node->dead_arg = x;
    struct sim_loop *inside = x->node->loop[0];
    sim_net_pair(loop, &c->in, inside, &x->in);
    sim_net_pair(loop, &c->out, inside, &x->out);
    if ((c->flags & IO_CHILD_ERR) != 0) {
        sim_net_pair(loop, &c->err, inside, &x->err);
        x->as.err = &x->err;
    }
    x->as.io = &inside->io;
    x->as.in = &x->in;
    x->as.out = &x->out;
    x->as.arg = p->arg;
    c->impl = x;
    e->owner = x;
    e->closing = true;
    e->drop = exited_drop;
    c->exited.cancel = exited_cancel;
    cd_list_push(&loop->children, &x->link);
    (void)io_spawn(&inside->io, "child", child_flow, x);
}

size_t sim_children_left(struct sim_loop *loop, struct cd_buf *report)
{
    size_t n = 0;
    for (struct cd_link *k = cd_list_first(&loop->children); k != NULL;
         k = cd_list_next(&loop->children, k)) {
        n++;
        if (report != NULL)
            cd_buf_addf(report, "%s/%u child %s\n", loop->node->name, loop->index,
                        CD_CONTAINER(k, struct child, link)->program->name);
    }
    return n;
}
