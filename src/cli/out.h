/* cli/out.h: the stdout data sink (operations.md 0.5).
 *
 * Data goes here, row by row; everything else goes to stderr. Rows are written at once on a terminal, else in
 * pieces of 64 KiB and at the end. When the reader has gone, the command stops making rows and ends well;
 * when writing fails, it ends with an error. Only cli_out_end turns that into an exit code. */
#ifndef CLI_OUT_H
#define CLI_OUT_H

#include "io/io.h"

#define CLI_OUT_BYTES (64u << 10)

struct cli_out {
    struct io *io;
    struct cd_buf pending;
    bool tty;
    int status; /* IO_OK, IO_EOF: the reader wants no more, else why writing failed. */
};

void cli_out_init(struct cli_out *o, struct io *io);
void cli_out_deinit(struct cli_out *o); /* Does not flush. */

/* Adds text as it is. False: stop, nobody reads on. */
bool cli_out_text(struct cli_out *o, struct cd_str text);
bool cli_out_row(struct cli_out *o, struct cd_str row); /* The same with a line break behind it. */
/* Writes what is pending. False as above. */
bool cli_out_flush(struct cli_out *o);
/* The flush at the end. IO_OK also when the reader has gone. Else the text of the error is in why. */
CD_MUST_USE int cli_out_end(struct cli_out *o, struct cd_buf *why);

/* Best effort: a message that cannot be written has nobody to complain to. Adds the line break. */
void cli_say(struct io *io, struct cd_str line);

/* Whether decorations for people have color (operations.md 0.7). Data never has. */
bool cli_color(const char *const *env, bool tty);

#endif
