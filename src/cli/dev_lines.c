/* cli/dev_lines.c: lines of the node's log as `celld dev` shows them. What the Worker says and what it was
 * asked is for everybody; what the node says about itself is for --logs. operations.md 4.6, 7. */
#include "cli/dev_internal.h"

#include "base/json.h"

#define BOLD "\033[1m"
#define DIM "\033[2m"
#define RED "\033[31m"
#define GREEN "\033[32m"
#define YELLOW "\033[33m"
#define CYAN "\033[36m"
#define PLAIN "\033[0m"

static struct cd_str text_of(const struct cd_json *line, const char *key)
{
    struct cd_str text = {"", 0};
    int rc = cd_json_str(cd_json_get(line, key), &text);
    CD_MAYBE(rc != 0);
    return text;
}

static uint64_t number_of(const struct cd_json *line, const char *key)
{
    uint64_t v = 0;
    int rc = cd_json_u64(cd_json_get(line, key), &v);
    CD_MAYBE(rc != 0);
    return v;
}

static void colored(const struct cli_dev_view *v, struct cd_buf *out, const char *color, struct cd_str text)
{
    if (v->color)
        cd_buf_addf(out, "%s", color);
    cd_buf_add_str(out, text);
    if (v->color)
        cd_buf_addf(out, PLAIN);
}

static void request(const struct cli_dev_view *v, const struct cd_json *line, struct cd_buf *out)
{
    uint64_t status = number_of(line, "status"), us = number_of(line, "us");
    struct cd_buf number = {0};
    const char *color = status >= 500 ? RED : status >= 400 ? YELLOW : status >= 300 ? CYAN : GREEN;
    cd_buf_addf(&number, "%u", (unsigned)status);
    colored(v, out, BOLD, text_of(line, "method"));
    cd_buf_add_byte(out, ' ');
    cd_buf_add_str(out, text_of(line, "path"));
    cd_buf_add_byte(out, ' ');
    colored(v, out, color, cd_buf_str(&number));
    if (us >= 1000) {
        cd_buf_clear(&number);
        cd_buf_addf(&number, " %u ms", (unsigned)(us / 1000));
        colored(v, out, DIM, cd_buf_str(&number));
    }
    cd_buf_deinit(&number);
}

static void console(const struct cli_dev_view *v, const struct cd_json *line, struct cd_buf *out)
{
    struct cd_str level = text_of(line, "level"), text = text_of(line, "text");
    if (cd_str_eq(level, CD_STR("ERROR")))
        colored(v, out, RED, text);
    else if (cd_str_eq(level, CD_STR("WARN")))
        colored(v, out, YELLOW, text);
    else if (cd_str_eq(level, CD_STR("DEBUG")))
        colored(v, out, DIM, text);
    else
        cd_buf_add_str(out, text);
}

static void uncaught(const struct cli_dev_view *v, const struct cd_json *line, struct cd_buf *out)
{
    struct cd_str stack = text_of(line, "stack"), name = text_of(line, "error"), in = text_of(line, "in");
    colored(v, out, RED, CD_STR("error"));
    cd_buf_addf(out, " uncaught in %.*s: ", (int)in.len, in.ptr);
    if (stack.len > 0) {
        cd_buf_add_str(out, stack);
        return;
    }
    struct cd_str message = text_of(line, "message");
    cd_buf_addf(out, "%.*s%s%.*s", (int)name.len, name.ptr, name.len > 0 ? ": " : "", (int)message.len,
                message.ptr);
}

/* Of the node itself: its level, where, what, and all its fields. */
static void other(const struct cli_dev_view *v, const struct cd_json *line, struct cd_buf *out)
{
    struct cd_str level = text_of(line, "level"), target = text_of(line, "target");
    const char *color = cd_str_eq(level, CD_STR("ERROR"))  ? RED
                        : cd_str_eq(level, CD_STR("WARN")) ? YELLOW
                                                           : DIM;
    struct cd_str key, event = text_of(line, "event");
    colored(v, out, color, level);
    cd_buf_addf(out, " %.*s: %.*s", (int)target.len, target.ptr, (int)event.len, event.ptr);
    for (const struct cd_json *f = NULL; (f = cd_json_next(line, f, &key)) != NULL;) {
        static const char *const said[] = {"ts", "level", "target", "event", "msg"};
        bool is_said = false;
        for (size_t i = 0; i < CD_COUNT(said); i++)
            is_said |= cd_str_eq(key, cd_str(said[i]));
        if (is_said)
            continue;
        struct cd_str text;
        uint64_t number;
        bool yes;
        cd_buf_addf(out, " %.*s=", (int)key.len, key.ptr);
        if (cd_json_str(f, &text) == 0)
            cd_buf_addf(out, "\"%.*s\"", (int)text.len, text.ptr);
        else if (cd_json_u64(f, &number) == 0)
            cd_buf_addf(out, "%llu", (unsigned long long)number);
        else if (cd_json_bool(f, &yes) == 0)
            cd_buf_addf(out, yes ? "true" : "false");
    }
}

bool cli_dev_line(const struct cli_dev_view *v, bool logs, struct cd_str line, struct cd_buf *out)
{
    struct cd_json_doc *doc;
    if (cd_json_parse(&doc, line, NULL) != 0) {
        cd_buf_add_str(out, line);
        return logs; /* Not of its log. */
    }
    const struct cd_json *root = cd_json_root(doc);
    struct cd_str event = text_of(root, "event");
    bool shown = true;
    if (cd_str_eq(event, CD_STR("request"))) {
        request(v, root, out);
    } else if (cd_str_eq(event, CD_STR("console"))) {
        console(v, root, out);
    } else if (cd_str_eq(event, CD_STR("uncaught"))) {
        uncaught(v, root, out);
    } else {
        other(v, root, out);
        /* What a node refuses to adopt, who asked for it says: "reload failed". */
        shown = logs || (cd_str_eq(text_of(root, "level"), CD_STR("ERROR")) &&
                         !cd_str_eq(event, CD_STR("deployment_adoption_failed")));
    }
    cd_json_free(doc);
    return shown;
}
