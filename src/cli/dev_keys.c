/* cli/dev_keys.c: what people type while a fleet of `celld dev` runs. Lines and not single keys: a terminal
 * needs no special mode for them, which would outlive a killed celld, and a script can write the same into a
 * pipe. */
#include "cli/dev_internal.h"
#include "cli/text.h"

#define LINE_MAX_BYTES 1024u

static const struct deed {
    const char *word, *brief;
    bool of_node;
} deeds[CLI_DEV_DEEDS] = {
    [CLI_DEV_KILL] = {"kill", "k", true},   [CLI_DEV_FREEZE] = {"freeze", "f", true},
    [CLI_DEV_THAW] = {"thaw", "t", true},   [CLI_DEV_DRAIN] = {"drain", "d", true},
    [CLI_DEV_START] = {"start", "s", true}, [CLI_DEV_LIST] = {"nodes", "n", false},
    [CLI_DEV_HELP] = {"help", "?", false},
};

void cli_dev_key_help(struct cd_buf *out)
{
    cd_buf_addf(out,
                "kill 1 (kill -9), freeze 1, thaw 1, drain 1, start 1, nodes; or k1, f1, ...; then Enter");
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int cli_dev_key_parse(struct cd_str line, unsigned nodes, struct cli_dev_key *out, struct cd_buf *why)
{
    struct cd_str text = cd_str_trim(line), shown = cd_str_sub(text, 0, 40);
    size_t len = 0;
    while (len < text.len && text.ptr[len] != ' ' && !is_digit(text.ptr[len]))
        len++;
    struct cd_str word = cd_str_sub(text, 0, len), rest = cd_str_trim(cd_str_sub(text, len, SIZE_MAX));
    unsigned deed = text.len == 0 ? CLI_DEV_HELP : 0;
    while (text.len > 0 && deed < CLI_DEV_DEEDS && !cd_str_eq(word, cd_str(deeds[deed].word)) &&
           !cd_str_eq(word, cd_str(deeds[deed].brief)))
        deed++;
    uint64_t node = nodes == 1 ? 1 : 0; /* The only one needs no number. */
    if (deed == CLI_DEV_DEEDS) {
        cd_buf_addf(why, "\"%.*s\" is none of kill, freeze, thaw, drain, start, nodes, help", (int)shown.len,
                    shown.ptr);
        return CD_ESYNTAX;
    }
    if (!deeds[deed].of_node)
        node = 0;
    if ((rest.len > 0 && (!deeds[deed].of_node || cd_str_u64(rest, &node) != 0)) ||
        (deeds[deed].of_node && (node == 0 || node > nodes))) {
        if (deeds[deed].of_node)
            cd_buf_addf(why, "%s which node? %s 1 to %s %u", deeds[deed].word, deeds[deed].word,
                        deeds[deed].word, nodes);
        else
            cd_buf_addf(why, "%s is said alone", deeds[deed].word);
        return CD_ESYNTAX;
    }
    *out = (struct cli_dev_key){.deed = (enum cli_dev_deed)deed, .node = (unsigned)node};
    return 0;
}

static void line_take(struct cli_dev *d, struct cd_str line)
{
    struct cli_dev_key key;
    struct cd_buf why = {0}, safe = {0};
    if (cli_dev_key_parse(line, d->nodes, &key, &why) == 0) {
        cli_dev_key_do(d, &key);
    } else {
        cli_echo(&safe, cd_buf_str(&why));
        cli_dev_step(&d->view, "%s", cd_buf_cstr(&safe));
    }
    cd_buf_deinit(&why);
    cd_buf_deinit(&safe);
}

static void keys_flow(void *arg)
{
    struct cli_dev *d = arg;
    struct io_stream in = {0};
    struct cd_buf text = {0};
    struct io_op op = {0};
    int rc = io_console_input(&in, d->io);
    while (rc == IO_OK) {
        size_t end;
        struct io_read r = {0};
        io_stream_read(&in, &r, NULL);
        rc = io_await(&r.op, IO_FOREVER); /* People take their time. */
        if (rc == IO_OK)
            cd_buf_add(&text, r.buf, r.len);
        while ((end = cd_str_find(cd_buf_str(&text), '\n', 0)) != SIZE_MAX) {
            line_take(d, cd_str_sub(cd_buf_str(&text), 0, end));
            cd_buf_drop(&text, end + 1);
        }
        if (text.len > LINE_MAX_BYTES)
            cd_buf_clear(&text);
    }
    if (in.io != NULL) {
        io_stream_close(&in, false, &op, NULL);
        (void)io_await(&op, IO_FOREVER); /* Closing completes by itself. */
    }
    cd_buf_deinit(&text);
    d->keys = NULL;
    cli_dev_wake(d);
}

void cli_dev_keys_start(struct cli_dev *d)
{
    d->keys = io_spawn(d->io, "keys", keys_flow, d);
}

static bool has_ended(const void *arg)
{
    return ((const struct cli_dev *)arg)->keys == NULL;
}

void cli_dev_keys_stop(struct cli_dev *d)
{
    if (d->keys != NULL)
        io_fiber_cancel(d->keys);
    bool ended = cli_dev_wait(d, has_ended, d, IO_FOREVER); /* Cancelled: it ends. */
    CD_ASSERT(ended);
}
