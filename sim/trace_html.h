/* sim/trace_html.h: a trace as one page: sim/trace.html, with the records of the JSON trace in it, one a
 * line. The page is whole in front of its records, so that a run that dies leaves one that can be read. Pure.
 */
#ifndef SIM_TRACE_HTML_H
#define SIM_TRACE_HTML_H

#include "sim/report.h"
#include "sim/scn.h"

/* The page up to its records, and a first one that says what is run. */
void trace_html_begin(struct cd_buf *out, const struct scn *s, uint64_t seed);
/* One record of the JSON trace, or several: JSON in which a line break ends a record. */
void trace_html_add(struct cd_buf *out, struct cd_str json);
/* A last record that says how the run ended, and the rest of the page. */
void trace_html_end(struct cd_buf *out, const struct report *r);

#endif
