/* io_sim/console.c: standard output and error of a simulated command are buffers. Standard error of a child
 * goes with its parent's. */
#include "io_sim/console.h"

#include "io_sim/net.h"

static struct sim_console *console_of(struct sim_node *n, enum io_console which)
{
    while (which == IO_STDERR && n->parent != NULL)
        n = n->parent;
    return &n->console[which == IO_STDOUT ? 0 : 1];
}

int io_console_write(struct io *io, enum io_console to, struct cd_str bytes)
{
    struct sim_console *c = console_of(sim_loop_of(io)->node, to);
    size_t room = c->fail == 0 ? SIZE_MAX : c->fail_after > c->text.len ? c->fail_after - c->text.len : 0;
    cd_buf_add_str(&c->text, cd_str_sub(bytes, 0, room));
    return bytes.len > room ? c->fail : IO_OK;
}

bool io_console_is_tty(struct io *io, enum io_console which)
{
    return console_of(sim_loop_of(io)->node, which)->tty;
}

int io_console_input(struct io_stream *s, struct io *io)
{
    struct sim_loop *loop = sim_loop_of(io);
    struct io_stream *keyboard = loop->node->keyboard;
    if (keyboard == NULL)
        return IO_NOENT;
    sim_net_pair(loop, keyboard, loop, s);
    return IO_OK;
}

void sim_console_keyboard(struct sim_node *n, struct io_stream *keyboard)
{
    n->keyboard = keyboard;
}

struct cd_str sim_console(struct sim_node *n, enum io_console which)
{
    return cd_buf_str(&console_of(n, which)->text);
}

void sim_console_clear(struct sim_node *n, enum io_console which)
{
    cd_buf_clear(&console_of(n, which)->text);
}

void sim_console_fail(struct sim_node *n, enum io_console which, uint64_t after, int status)
{
    struct sim_console *c = console_of(n, which);
    c->fail = status;
    c->fail_after = after;
}

void sim_console_tty(struct sim_node *n, enum io_console which, bool tty)
{
    console_of(n, which)->tty = tty;
}

void sim_console_free(struct sim_node *n)
{
    for (unsigned i = 0; i < CD_COUNT(n->console); i++)
        cd_buf_deinit(&n->console[i].text);
}
