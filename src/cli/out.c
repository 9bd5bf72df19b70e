/* cli/out.c: standard output for data, standard error for the rest. */
#include "cli/out.h"

#include "cli/settings.h"

void cli_out_init(struct cli_out *o, struct io *io)
{
    *o = (struct cli_out){.io = io, .tty = io_console_is_tty(io, IO_STDOUT)};
}

void cli_out_deinit(struct cli_out *o)
{
    cd_buf_deinit(&o->pending);
}

bool cli_out_flush(struct cli_out *o)
{
    if (o->status == IO_OK && o->pending.len > 0)
        o->status = io_console_write(o->io, IO_STDOUT, cd_buf_str(&o->pending));
    cd_buf_clear(&o->pending);
    return o->status == IO_OK;
}

bool cli_out_text(struct cli_out *o, struct cd_str text)
{
    if (o->status != IO_OK)
        return false;
    cd_buf_add_str(&o->pending, text);
    return o->pending.len < CLI_OUT_BYTES || cli_out_flush(o);
}

bool cli_out_row(struct cli_out *o, struct cd_str row)
{
    if (o->status != IO_OK)
        return false;
    cd_buf_add_str(&o->pending, row);
    cd_buf_add_byte(&o->pending, '\n');
    return (!o->tty && o->pending.len < CLI_OUT_BYTES) || cli_out_flush(o);
}

/* The words of strerror, which scripts match, without its locale. */
static const char *error_text(int status)
{
    switch (status) {
    case IO_NOSPACE: return "No space left on device";
    case CD_ECLOSED: return "Bad file descriptor";
    default: return "Input/output error";
    }
}

int cli_out_end(struct cli_out *o, struct cd_buf *why)
{
    (void)cli_out_flush(o);
    if (o->status == IO_OK || o->status == IO_EOF)
        return IO_OK;
    cd_buf_addf(why, "write standard output: %s", error_text(o->status));
    return o->status;
}

void cli_say(struct io *io, struct cd_str line)
{
    struct cd_buf text = {0};
    cd_buf_add_str(&text, line);
    cd_buf_add_byte(&text, '\n');
    int rc = io_console_write(io, IO_STDERR, cd_buf_str(&text));
    CD_MAYBE(rc == IO_OK);
    cd_buf_deinit(&text);
}

bool cli_color(const char *const *env, bool tty)
{
    struct cd_str value;
    if (cli_env_get(env, "NO_COLOR", &value))
        return false;
    if (cli_env_get(env, "FORCE_COLOR", &value) && !cd_str_eq(value, CD_STR("0")))
        return true;
    return tty;
}
