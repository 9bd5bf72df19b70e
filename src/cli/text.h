/* cli/text.h: small pure functions over text that the command line needs. */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include "base/buf.h"
#include "base/event.h"

/* What somebody gave us, for a terminal: control characters and bytes that are no UTF-8 as \xNN, so that it
 * can neither fake lines of ours nor steer the terminal; "***" in place of the user and password of a URL. */
void cli_echo(struct cd_buf *out, struct cd_str text);
/* The same in quotes. */
void cli_quote(struct cd_buf *out, struct cd_str text);
bool cli_is_alnum(char c); /* ASCII. */
/* http:// or https:// and a host. */
bool cli_is_http_url(struct cd_str text);
/* How many letters must be added, dropped or changed to make one of the other. Texts of more than 64 bytes
 * are far from everything. */
unsigned cli_text_distance(struct cd_str a, struct cd_str b);
/* Whether pattern is a glob of --watch-ignore: not empty, relative, brackets and escapes closed. CD_ESYNTAX
 * with the reason in why. */
CD_MUST_USE int cli_glob_check(struct cd_str pattern, struct cd_buf *why);
/* Whether the pattern covers path, or a directory that path lies in; both relative, with / between names. *
 * and ? stand for what is no slash, ** as a whole name for any names or none. */
bool cli_glob_match(struct cd_str pattern, struct cd_str path);
/* The rest of a paragraph at `indent`, wrapped at `width` columns by words. No line break at the end. */
void cli_wrap(struct cd_buf *out, struct cd_str text, unsigned indent, unsigned width, unsigned column);

/* An integer as settings and flags are written (operations.md 0.10): decimal digits, one leading + is
 * tolerated. What is wrong with the text, or NULL and the number in *out. */
const char *cli_text_number(struct cd_str text, uint64_t *out);

#endif
