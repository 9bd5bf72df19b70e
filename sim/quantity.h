/* sim/quantity.h: numbers with units as scenarios and options write them: 1500ms, 20ms..80ms, 30%, 200ppm,
 * 1/50, 40/s.
 *
 * Everything is an integer, so that reading what was printed gives the same value: times in nanoseconds,
 * ratios in parts per million, rates in events per 1,000 seconds. */
#ifndef SIM_QUANTITY_H
#define SIM_QUANTITY_H

#include "base/buf.h"

#define QUANTITY_PPM 1000000u

/* All return CD_ESYNTAX for text of another form and CD_ETOOBIG past 64 bits or the stated bound. */
CD_MUST_USE int quantity_duration(struct cd_str s, uint64_t *ns); /* ns, us, ms, s, m, h; 0 needs no unit. */
CD_MUST_USE int quantity_ratio(struct cd_str s, uint64_t *ppm); /* 30%, 2.5%, 200ppm, 1/50, 0; at most 1. */
CD_MUST_USE int quantity_rate(struct cd_str s, uint64_t *per_1000s); /* 40/s, 0.5/s, 30/m. */
CD_MUST_USE int quantity_bytes(struct cd_str s, uint64_t *bytes); /* 512, 64k, 4m. */

void quantity_print_duration(struct cd_buf *out, uint64_t ns);
void quantity_print_ratio(struct cd_buf *out, uint64_t ppm);
void quantity_print_rate(struct cd_buf *out, uint64_t per_1000s);
void quantity_print_bytes(struct cd_buf *out, uint64_t bytes);

#endif
