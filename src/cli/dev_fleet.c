/* cli/dev_fleet.c: the lives of the nodes of `celld dev`, one or several. Each life is a fiber, so what
 * happens to one node waits for no other. The end of the only node ends its life; a node of a fleet is
 * started again. */
#include "cli/dev_internal.h"

#define SIGNAL_KILL 9
#define SIGNAL_TERM 15
#define SIGNAL_CONTINUE 18
#define SIGNAL_STOP 19

static void ready(const struct cli_dev_node *n)
{
    cli_dev_ready(&n->d->view, n->d->host, n->port, n->d->fleet ? n->number : 0);
}

/* ---- A life ---- */

/* Nothing is left of the process, or something is to be done about it. */
static bool has_news(const void *arg)
{
    const struct cli_dev_node *n = arg;
    return cli_dev_node_gone(n) || n->d->closing || n->restart;
}

static bool is_due(const void *arg)
{
    const struct cli_dev_node *n = arg;
    return n->d->closing || (n->again_ns != IO_FOREVER && n->again_ns <= io_now_ns(n->d->io));
}

/* It gave up because of a turn that never ends: the same request may not come again. */
static bool is_stuck(const struct cli_dev_node *n)
{
    return n->status == IO_OK && n->child.code == CLI_EXIT_STUCK;
}

/* The process of a fleet's node has ended, and the fleet goes on. */
static void tell_end(struct cli_dev_node *n, enum cli_dev_phase was, struct cd_str why)
{
    const struct cli_dev_view *v = &n->d->view;
    /* The others are to take over first: they wait for the end of its lease. */
    uint64_t wait_ms = 2 * n->d->ttl_ms;
    unsigned long long s = (wait_ms + 999) / 1000;
    bool left = was == CLI_DEV_LEAVING && n->status == IO_OK &&
                (n->child.code == 0 || n->child.code == 128 + SIGNAL_TERM);
    n->again_ns = left ? IO_FOREVER : io_now_ns(n->d->io) + IO_MS(wait_ms);
    if (left)
        cli_dev_step(v, "node %u has left; start %u brings it back", n->number, n->number);
    else if (was == CLI_DEV_KILLED)
        cli_dev_step(v, "node %u is dead; it starts again in %llu s, with start %u at once", n->number, s,
                     n->number);
    else if (n->status == IO_OK && n->child.code == CLI_EXIT_FENCED)
        cli_dev_step(v, "node %u ended itself, because its lease had; it starts again in %llu s", n->number,
                     s);
    else if (is_stuck(n))
        cli_dev_step(
            v, "node %u ended itself, because JavaScript could not be stopped; it starts again in %llu s",
            n->number, s);
    else
        cli_dev_step(v, "node %u %.*s; it starts again in %llu s", n->number, (int)why.len, why.ptr, s);
}

/* One process, from its start to its end. False: there will be no other. */
static bool live_once(struct cli_dev_node *n)
{
    struct cli_dev *d = n->d;
    struct cd_buf why = {0};
    n->phase = CLI_DEV_STARTING;
    n->stale = n->restart = false; /* It looks itself what is published. */
    int rc = cli_dev_node_start(n, &why);
    if (rc == 0)
        rc = cli_dev_node_wait(n, &why);
    if (rc == 0 && n->phase == CLI_DEV_STARTING) {
        n->phase = CLI_DEV_SERVING;
        n->served = true;
        ready(n);
        cli_dev_wake(d);
    }
    (void)cli_dev_wait(d, has_news, n, IO_FOREVER); /* Until somebody or something ends it. */
    bool by_us = !cli_dev_node_gone(n);
    if (by_us)
        cli_dev_node_stop(n);
    enum cli_dev_phase was = n->phase;
    n->phase = CLI_DEV_DOWN;
    if (why.len == 0)
        cli_dev_node_end(n, &why);
    bool again = !d->closing && (n->restart || ((d->fleet || is_stuck(n)) && n->served));
    if (!again) {
        cd_buf_clear(&n->failure);
        if (d->fleet)
            cd_buf_addf(&n->failure, "node %u %s", n->number, cd_buf_cstr(&why));
        else
            cd_buf_addf(&n->failure, "the local celld node %s", cd_buf_cstr(&why));
    } else if (!by_us && !d->fleet) {
        if (is_stuck(n))
            cli_dev_step(&d->view,
                         "the node ended itself, because JavaScript could not be stopped; it starts again");
    } else if (!by_us) {
        tell_end(n, was, cd_buf_str(&why));
        (void)cli_dev_wait(d, is_due, n, n->again_ns);
    }
    cd_buf_deinit(&why);
    return again && !d->closing;
}

static void life(void *arg)
{
    struct cli_dev_node *n = arg;
    while (live_once(n)) {
    }
    n->alive = false;
    cli_dev_wake(n->d);
}

void cli_dev_fleet_start(struct cli_dev *d)
{
    for (unsigned i = 0; i < d->nodes; i++) {
        struct cli_dev_node *n = &d->node[i];
        n->d = d;
        n->number = i + 1;
        n->port = (uint16_t)(d->port + i);
        n->alive = true;
        (void)io_spawn(d->io, "node", life, n);
    }
}

/* ---- All of them ---- */

static const struct cli_dev_node *first_dead(const struct cli_dev *d)
{
    for (unsigned i = 0; i < d->nodes; i++) {
        if (!d->node[i].alive)
            return &d->node[i];
    }
    return NULL;
}

static bool all_served_or_one_failed(const void *arg)
{
    const struct cli_dev *d = arg;
    unsigned served = 0;
    for (unsigned i = 0; i < d->nodes; i++)
        served += d->node[i].served;
    return served == d->nodes || first_dead(d) != NULL || d->stopping;
}

int cli_dev_fleet_wait(struct cli_dev *d, struct cd_buf *why)
{
    (void)cli_dev_wait(d, all_served_or_one_failed, d, IO_FOREVER); /* Starting has its own bounds. */
    const struct cli_dev_node *dead = first_dead(d);
    if (d->stopping)
        return IO_CANCELED;
    if (dead == NULL)
        return 0;
    cd_buf_add_str(why, cd_buf_str(&dead->failure));
    return CD_ECLOSED;
}

bool cli_dev_fleet_over(const struct cli_dev *d)
{
    for (unsigned i = 0; i < d->nodes; i++) {
        if (d->node[i].alive)
            return false;
    }
    return true;
}

static bool is_over(const void *arg)
{
    return cli_dev_fleet_over(arg);
}

void cli_dev_fleet_kill(struct cli_dev *d)
{
    for (unsigned i = 0; i < d->nodes; i++)
        cli_dev_node_kill(&d->node[i], SIGNAL_KILL);
}

void cli_dev_fleet_stop(struct cli_dev *d)
{
    d->closing = true;
    cli_dev_wake(d);
    (void)cli_dev_wait(d, is_over, d, IO_FOREVER); /* Each life has a bound for that. */
    for (unsigned i = 0; i < d->nodes; i++) {
        cd_buf_deinit(&d->node[i].failure);
        cd_buf_deinit(&d->node[i].line);
    }
}

static bool can_adopt(const struct cli_dev_node *n)
{
    return n->stale && n->phase == CLI_DEV_SERVING && n->running && !n->restart;
}

bool cli_dev_fleet_stale(const struct cli_dev *d)
{
    for (unsigned i = 0; i < d->nodes; i++) {
        if (can_adopt(&d->node[i]))
            return true;
    }
    return false;
}

void cli_dev_fleet_reload(struct cli_dev *d)
{
    struct cd_buf why = {0};
    for (unsigned i = 0; i < d->nodes && !d->stopping; i++) {
        struct cli_dev_node *n = &d->node[i];
        if (!can_adopt(n))
            continue;
        n->stale = false;
        switch (cli_dev_node_reload(n, &why)) {
        case CLI_DEV_ADOPTED: ready(n); break;
        case CLI_DEV_REFUSED:
            /* So would the others. */
            cli_dev_error(&d->view, "reload failed", cd_buf_str(&why));
            for (unsigned k = 0; k < d->nodes; k++)
                d->node[k].stale = false;
            break;
        case CLI_DEV_RESTART:
            if (n->phase != CLI_DEV_SERVING || !n->running || d->stopping)
                break; /* That is why. */
            if (d->fleet)
                cli_dev_step(&d->view, "restarting node %u", n->number);
            else
                cli_dev_step(&d->view, "restarting the application");
            n->restart = true;
            cli_dev_wake(d);
            break;
        }
    }
    cd_buf_deinit(&why);
}

/* ---- What people do to a node ---- */

static const char *phase_text(const struct cli_dev_node *n)
{
    switch (n->phase) {
    case CLI_DEV_DOWN: return n->again_ns == IO_FOREVER ? "has left" : "is down, and starts again soon";
    case CLI_DEV_STARTING: return "starts";
    case CLI_DEV_SERVING: return "serves";
    case CLI_DEV_FROZEN: return "is frozen";
    case CLI_DEV_LEAVING: return "hands over what it has, and leaves";
    case CLI_DEV_KILLED: return "was killed";
    }
    CD_UNREACHABLE();
}

/* Whether the deed makes sense now; then it is done. */
static bool deed_done(struct cli_dev_node *n, enum cli_dev_deed deed)
{
    switch (deed) {
    case CLI_DEV_KILL:
        if (!n->running)
            return false;
        n->phase = CLI_DEV_KILLED;
        cli_dev_node_kill(n, SIGNAL_KILL);
        return true;
    case CLI_DEV_FREEZE:
        if (n->phase != CLI_DEV_SERVING)
            return false;
        n->phase = CLI_DEV_FROZEN;
        cli_dev_node_kill(n, SIGNAL_STOP);
        return true;
    case CLI_DEV_THAW:
        if (n->phase != CLI_DEV_FROZEN)
            return false;
        n->phase = CLI_DEV_SERVING;
        cli_dev_node_kill(n, SIGNAL_CONTINUE);
        return true;
    case CLI_DEV_DRAIN:
        if (n->phase != CLI_DEV_SERVING)
            return false;
        n->phase = CLI_DEV_LEAVING;
        cli_dev_node_kill(n, SIGNAL_TERM);
        return true;
    case CLI_DEV_START:
        if (n->phase != CLI_DEV_DOWN)
            return false;
        n->again_ns = 0;
        return true;
    case CLI_DEV_LIST:
    case CLI_DEV_HELP:
    case CLI_DEV_DEEDS: break;
    }
    CD_UNREACHABLE();
}

void cli_dev_key_do(struct cli_dev *d, const struct cli_dev_key *key)
{
    struct cd_buf help = {0};
    if (d->stopping || d->closing)
        return;
    if (key->deed == CLI_DEV_LIST) {
        for (unsigned i = 0; i < d->nodes; i++)
            cli_dev_step(&d->view, "node %u %s", i + 1, phase_text(&d->node[i]));
        return;
    }
    if (key->deed == CLI_DEV_HELP) {
        cli_dev_key_help(&help);
        cli_dev_label(&d->view, "Keys", "%s", cd_buf_cstr(&help));
        cd_buf_deinit(&help);
        return;
    }
    struct cli_dev_node *n = &d->node[key->node - 1];
    if (!deed_done(n, key->deed)) {
        cli_dev_step(&d->view, "not now: node %u %s", key->node, phase_text(n));
        return;
    }
    if (key->deed != CLI_DEV_KILL && key->deed != CLI_DEV_START) /* Those are told when they have happened. */
        cli_dev_step(&d->view, "node %u %s", key->node, phase_text(n));
    cli_dev_wake(d);
}
