/* cli/dev_view.c: what `celld dev` shows. Lines only, so that the output survives pipes; colors where they
 * are seen. */
#include "cli/dev_internal.h"

#define BOLD_CYAN "\033[1;36m"
#define DIM "\033[2m"
#define YELLOW "\033[33m"
#define BOLD_GREEN "\033[1;32m"
#define RED "\033[31m"
#define PLAIN "\033[0m"

static void paint(const struct cli_dev_view *v, struct cd_buf *out, const char *color, const char *text)
{
    if (v->color)
        cd_buf_addf(out, "%s%s" PLAIN, color, text);
    else
        cd_buf_addf(out, "%s", text);
}

/* Best effort: whoever closed the output wants to see no more, and the server goes on. */
static void show(const struct cli_dev_view *v, struct cd_buf *line)
{
    cd_buf_add_byte(line, '\n');
    int rc = io_console_write(v->io, IO_STDOUT, cd_buf_str(line));
    CD_MAYBE(rc == IO_OK);
    cd_buf_deinit(line);
}

void cli_dev_title(const struct cli_dev_view *v)
{
    struct cd_buf line = {0};
    paint(v, &line, BOLD_CYAN, "celld dev");
    show(v, &line);
}

void cli_dev_label(const struct cli_dev_view *v, const char *label, const char *format, ...)
{
    struct cd_buf line = {0}, padded = {0};
    va_list args;
    cd_buf_addf(&padded, "  %-8s", label);
    paint(v, &line, DIM, cd_buf_cstr(&padded));
    va_start(args, format);
    cd_buf_vaddf(&line, format, args);
    va_end(args);
    cd_buf_deinit(&padded);
    show(v, &line);
}

void cli_dev_step(const struct cli_dev_view *v, const char *format, ...)
{
    struct cd_buf line = {0};
    va_list args;
    paint(v, &line, YELLOW, "\xe2\x97\x8f");
    cd_buf_add_byte(&line, ' ');
    va_start(args, format);
    cd_buf_vaddf(&line, format, args);
    va_end(args);
    show(v, &line);
}

void cli_dev_ready(const struct cli_dev_view *v, struct cd_str host, unsigned port, unsigned node)
{
    struct cd_buf line = {0}, text = {0};
    bool v6 = cd_str_find(host, ':', 0) != SIZE_MAX;
    const char *open = v6 ? "[" : "", *close = v6 ? "]" : "";
    cd_buf_addf(&text, "ready");
    paint(v, &line, BOLD_GREEN, cd_buf_cstr(&text));
    if (cd_str_eq(host, CD_STR("0.0.0.0")) || cd_str_eq(host, CD_STR("::")))
        cd_buf_addf(&line, "  http://localhost:%u  (bound to %s%.*s%s:%u)", port, open, (int)host.len,
                    host.ptr, close, port);
    else
        cd_buf_addf(&line, "  http://%s%.*s%s:%u", open, (int)host.len, host.ptr, close, port);
    if (node > 0)
        cd_buf_addf(&line, "  node %u", node);
    cd_buf_deinit(&text);
    show(v, &line);
}

void cli_dev_error(const struct cli_dev_view *v, const char *what, struct cd_str text)
{
    struct cd_buf line = {0};
    text = cd_str_trim(text);
    paint(v, &line, RED, "error");
    cd_buf_addf(&line, " %s: %.*s", what, (int)text.len, text.ptr);
    show(v, &line);
}

void cli_dev_warning(const struct cli_dev_view *v, struct cd_str lines)
{
    struct cd_buf out = {0};
    lines = cd_str_trim(lines);
    if (lines.len == 0)
        return;
    cd_buf_add_str(&out, lines);
    show(v, &out);
}
