/* cli/help.c: help texts, the list of settings and docs/settings.md, all from the tables. The same text in
 * every run of one version: no value of this machine is in it. */
#include "cli/command.h"
#include "cli/text.h"

#define WIDTH 100u
#define COLUMN 30u

/* "  LEFT   text", the text wrapped in its column. */
static void entry(struct cd_buf *out, struct cd_str left, struct cd_str text)
{
    cd_buf_addf(out, "  %.*s", (int)left.len, left.ptr);
    if (left.len + 4 > COLUMN)
        cd_buf_addf(out, "\n%*s", (int)COLUMN, "");
    else
        cd_buf_addf(out, "%*s", (int)(COLUMN - 2 - left.len), "");
    cli_wrap(out, text, COLUMN, WIDTH, COLUMN);
    cd_buf_add_byte(out, '\n');
}

static void flag_entry(struct cd_buf *out, enum cli_flag flag)
{
    const struct cli_flag_info *info = cli_flag_info(flag);
    struct cd_buf left = {0}, text = {0};
    const char *env = "";
    cd_buf_addf(&left, info->value == NULL ? "%s" : "%s %s", info->name, info->value);
    cd_buf_addf(&text, "%s", info->help);
    if (info->brief != NULL)
        cd_buf_addf(&text, "; also %s", info->brief);
    for (unsigned id = 0; id < CLI_SET_COUNT; id++) {
        const struct cli_setting *s = cli_setting((enum cli_set)id);
        if (s->flag != NULL && strcmp(s->flag, info->name) == 0) {
            cd_buf_addf(&text, "%s%s", env[0] == 0 ? " [env: " : ", ", s->name);
            env = "]";
        }
    }
    cd_buf_addf(&text, "%s", env);
    entry(out, cd_buf_str(&left), cd_buf_str(&text));
    cd_buf_deinit(&left);
    cd_buf_deinit(&text);
}

static void flag_entries(struct cd_buf *out, uint64_t flags)
{
    for (unsigned flag = 0; flag < CLI_FLAG_COUNT; flag++) {
        if ((flags & CLI_F(flag)) != 0)
            flag_entry(out, (enum cli_flag)flag);
    }
}

static void default_text(struct cd_buf *out, const struct cli_setting *s)
{
    if (s->otherwise != NULL)
        cd_buf_addf(out, "%s", s->otherwise);
    else
        cd_buf_addf(out, "%llu", (unsigned long long)s->fallback);
}

static void type_text(struct cd_buf *out, const struct cli_setting *s)
{
    switch (s->kind) {
    case CLI_BOOL: cd_buf_addf(out, "0 or 1"); return;
    case CLI_UINT:
        if (s->max == UINT64_MAX)
            cd_buf_addf(out, s->min == 0 ? "integer, 0 or more" : "integer, 1 or more");
        else
            cd_buf_addf(out, "integer, %llu to %llu", (unsigned long long)s->min, (unsigned long long)s->max);
        return;
    case CLI_CHOICE: cd_buf_addf(out, "%s", s->wanted); return;
    case CLI_TEXT:
    case CLI_OPTIONAL: cd_buf_addf(out, "%s", s->type == NULL ? "text" : s->type); return;
    case CLI_NODE_ID: cd_buf_addf(out, "1 to 128 of A-Z a-z 0-9 . _ -"); return;
    case CLI_FILTER: cd_buf_addf(out, "log filter"); return;
    case CLI_OTEL: cd_buf_addf(out, "0, 1 or URL"); return;
    case CLI_RETENTION: cd_buf_addf(out, "days such as 30d, or none"); return;
    case CLI_RATIO: cd_buf_addf(out, "number, 0 to 1"); return;
    case CLI_PAIRS: cd_buf_addf(out, "k=v,k=v"); return;
    case CLI_PRESENCE: cd_buf_addf(out, "presence"); return;
    }
    CD_UNREACHABLE();
}

static void setting_entries(struct cd_buf *out, enum cli_group group)
{
    for (unsigned id = 0; id < CLI_SET_COUNT; id++) {
        const struct cli_setting *s = cli_setting((enum cli_set)id);
        if (s->group != group || s->hidden)
            continue;
        struct cd_buf text = {0};
        cd_buf_addf(&text, "%s", s->help);
        if (s->alias != NULL)
            cd_buf_addf(&text, "; also as %s", s->alias);
        if (group != CLI_GROUP_CREDENTIALS) {
            cd_buf_addf(&text, " (default: ");
            default_text(&text, s);
            cd_buf_addf(&text, ")");
        }
        entry(out, cd_str(s->name), cd_buf_str(&text));
        cd_buf_deinit(&text);
    }
}

void cli_help_main(struct cd_buf *out)
{
    cd_buf_addf(out,
                "celld " CELLD_VERSION ": runs Workers and Durable Objects on your own machines\n\nUsage:\n");
    for (size_t i = 0; cli_command(i) != NULL; i++) {
        const struct cli_command *command = cli_command(i);
        struct cd_buf left = {0};
        cd_buf_addf(&left, "celld%s%s %s", command->name[0] == 0 ? "" : " ", command->name, command->args);
        entry(out, cd_buf_str(&left), cd_str(command->about));
        cd_buf_deinit(&left);
    }
    entry(out, CD_STR("celld COMMAND --help"), CD_STR("the options of a command"));
    entry(out, CD_STR("celld help env"), CD_STR("all environment variables with their values here"));
    entry(out, CD_STR("celld --help"), CD_STR("this text; also -h and help"));
    entry(out, CD_STR("celld --version"), CD_STR("the version; also -V and version"));
    cd_buf_addf(out, "\nOptions of a node:\n");
    flag_entries(out, CLI_SERVE_FLAGS);
    cd_buf_addf(out, "\nOptions of diagnose: those of a node, and\n");
    flag_entries(out, CLI_F(CLI_PEER) | CLI_F(CLI_READ_ONLY) | CLI_F(CLI_JSON));
    cd_buf_addf(out, "\nEnvironment (a flag goes before its variable):\n");
    setting_entries(out, CLI_GROUP_NODE);
    for (unsigned group = CLI_GROUP_NODE + 1; group < CLI_GROUP_COUNT; group++) {
        cd_buf_addf(out, group == CLI_GROUP_CREDENTIALS ? "\n%s:\n" : "\nTuning: %s:\n",
                    cli_group_title((enum cli_group)group));
        setting_entries(out, (enum cli_group)group);
    }
    cd_buf_addf(out, "\nMore: docs/settings.md and docs/ of the source tree.\n");
}

void cli_help_command(struct cd_buf *out, const struct cli_command *command)
{
    cd_buf_addf(out, "celld %s: %s\n\nUsage: celld %s %s\n", command->name, command->about, command->name,
                command->args);
    if (command->more != NULL) {
        cd_buf_addf(out, "\n");
        cli_wrap(out, cd_str(command->more), 0, WIDTH, 0);
        cd_buf_addf(out, "\n");
    }
    cd_buf_addf(out, "\nOptions:\n");
    flag_entries(out, command->flags);
    entry(out, CD_STR("--help"), CD_STR("this text; also -h"));
}

void cli_help_group(struct cd_buf *out, struct cd_str word)
{
    cd_buf_addf(out, "Usage:\n");
    for (size_t i = 0; cli_command(i) != NULL; i++) {
        const struct cli_command *command = cli_command(i);
        struct cd_str name = cd_str(command->name);
        if (!cd_str_starts(name, word) || name.len == word.len || name.ptr[word.len] != ' ')
            continue;
        struct cd_buf left = {0};
        cd_buf_addf(&left, "celld %s %s", command->name, command->args);
        entry(out, cd_buf_str(&left), cd_str(command->about));
        cd_buf_deinit(&left);
    }
    cd_buf_addf(out, "\nRun any of them with --help for its options.\n");
}

void cli_help_env(struct cd_buf *out, const struct cli_settings *settings)
{
    cd_buf_addf(out, "name\ttype\tdefault\tvalue\n");
    for (unsigned id = 0; id < CLI_SET_COUNT; id++) {
        const struct cli_setting *s = cli_setting((enum cli_set)id);
        const struct cli_value *v = &settings->value[id];
        if (s->hidden)
            continue;
        cd_buf_addf(out, "%s\t", s->name);
        type_text(out, s);
        cd_buf_addf(out, "\t");
        default_text(out, s);
        cd_buf_addf(out, "\t");
        if (!v->set)
            default_text(out, s);
        else if (s->secret)
            cd_buf_addf(out, "(set)");
        else
            cli_quote(out, v->text);
        cd_buf_addf(out, "\n");
    }
}

static void markdown_row(struct cd_buf *out, const struct cli_setting *s)
{
    cd_buf_addf(out, "| `%s`", s->name);
    if (s->alias != NULL)
        cd_buf_addf(out, ", `%s`", s->alias);
    if (s->flag != NULL)
        cd_buf_addf(out, ", `%s`", s->flag);
    cd_buf_addf(out, " | ");
    type_text(out, s);
    cd_buf_addf(out, " | ");
    default_text(out, s);
    cd_buf_addf(out, " | %s%s | %s%s |\n", s->help, s->secret ? " (never shown)" : "", s->part,
                s->effective ? "" : ": not yet");
}

void cli_settings_markdown(struct cd_buf *out)
{
    cd_buf_addf(
        out,
        "# Settings\n\nMade from the table in `src/cli/settings_table.c` by `tools/docs`; a test compares "
        "the two.\n\ncelld reads its environment once, at the start. A flag goes before its variable. A "
        "value "
        "that is not of its type is an\nerror, for every command, `--version` included. The last column "
        "names "
        "the part that a setting steers; *not yet* means\nthat the value is checked and that a node says at "
        "its "
        "start that it has no effect in this version.\n`celld help env` prints the list with the values that "
        "hold where it is run.\n\nWhom TLS trusts, to stores, to `fetch` and to sockets of Workers, is the "
        "system's "
        "certificates, or what `SSL_CERT_FILE`\n(one PEM file) and `SSL_CERT_DIR` (a folder as `c_rehash` "
        "makes it) name in their place.\n");
    for (unsigned group = 0; group < CLI_GROUP_COUNT; group++) {
        cd_buf_addf(
            out, "\n## %s\n\n| name | type | default | meaning | part |\n| --- | --- | --- | --- | --- |\n",
            cli_group_title((enum cli_group)group));
        for (unsigned id = 0; id < CLI_SET_COUNT; id++) {
            const struct cli_setting *s = cli_setting((enum cli_set)id);
            if (s->group == group && !s->hidden)
                markdown_row(out, s);
        }
    }
    cd_buf_addf(out, "\n## Removed\n\nThese stop every command, whatever their value: a setting that "
                     "silently does nothing "
                     "is worse than an error.\n\n| name | instead |\n| --- | --- |\n");
    const struct cli_removed *gone;
    for (size_t i = 0; (gone = cli_removed(i)) != NULL; i++)
        cd_buf_addf(out, "| `%s` | %s |\n", gone->name, gone->advice);
    cd_buf_addf(out, "| `%s*` | put vars in the project config, or use .dev.vars for celld dev |\n",
                CLI_REMOVED_PREFIX);
    cd_buf_addf(out, "| `CELLD_CLOUD` | 0 is tolerated; celld has no control plane |\n");
}
