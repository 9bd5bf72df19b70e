/* sim/scn_read.h: what the two halves of the scenario parser share. Users include scn.h. */
#ifndef SIM_SCN_READ_H
#define SIM_SCN_READ_H

#include "sim/scn.h"

struct scn_reader {
    struct scn *scn;
    const char *name; /* Of the file. */
    struct cd_buf *why;
    unsigned line;
    struct cd_str line_text, rest; /* The line, and what of it is not read yet. */
    bool versioned, failed;
};

/* Says what is wrong with word (a NULL ptr: at the end of the line); only the first error counts. Returns
 * CD_ESYNTAX. */
int scn_error(struct scn_reader *r, struct cd_str word, const char *format, ...) CD_PRINTF(3, 4);

bool scn_word(struct scn_reader *r, struct cd_str *word); /* The next word of the line; false at its end. */
bool scn_peek_is(struct scn_reader *r, const char *literal);
/* These fail with a message when the line has something else there. what says what is wanted. */
CD_MUST_USE int scn_want_word(struct scn_reader *r, const char *what, struct cd_str *word);
CD_MUST_USE int scn_want_literal(struct scn_reader *r, const char *literal);
CD_MUST_USE int scn_want_time(struct scn_reader *r, const char *what, uint64_t *ns);
CD_MUST_USE int scn_want_ratio(struct scn_reader *r, uint32_t *ppm);
CD_MUST_USE int scn_want_name(struct scn_reader *r, const char *what, char *out); /* SCN_NAME_MAX bytes. */
CD_MUST_USE int scn_want_nth(struct scn_reader *r, const char *what, char *out,
                             unsigned *nth); /* NAME or NAME+K. */
CD_MUST_USE int scn_take_name(struct scn_reader *r, struct cd_str word, char *out);

/* scn_steps.c: an at or when statement, its first word read already. */
CD_MUST_USE int scn_read_step(struct scn_reader *r, struct cd_str at);

#endif
