/* sim/files_format.h: what the files workload writes: a log of records, and a state that a log starts from.
 *
 * Every record carries its number, the attempt that made it and a chained hash; its bytes follow from these,
 * so a checker needs no copy of what was written. Pure functions over buffers. */
#ifndef SIM_FILES_FORMAT_H
#define SIM_FILES_FORMAT_H

#include "base/buf.h"

#define FILES_HEADER_BYTES 40u
#define FILES_STATE_BYTES 3000u /* Several sectors, so that it can be torn. */

struct files_record {
    uint64_t seq; /* From 1, without gaps. */
    uint32_t attempt; /* A number that is written again after a crash is another attempt at it. */
    uint64_t chain; /* Hash of the payload, going on from the record before. */
    struct cd_str payload;
    size_t size; /* With the header. */
};

struct files_state {
    uint64_t version; /* From 1; 0: there is none yet. */
    uint64_t base; /* Records up to this one are folded into the state. */
    uint64_t chain; /* Of the record with number base. */
    uint64_t log; /* Number of the log that goes on from here. */
};

/* Appends the bytes of a payload: they follow from its place. */
void files_payload(struct cd_buf *out, uint64_t node, uint64_t seq, uint32_t attempt, size_t len);
/* Appends a record; returns its chain. */
uint64_t files_record_add(struct cd_buf *out, uint64_t node, uint64_t seq, uint32_t attempt, uint64_t chain,
                          size_t len);
/* The record at the start of bytes; borrows from them. CD_ECORRUPT: none that is whole. checked: whether the
 * checksum is looked at; without, only the frame is. */
CD_MUST_USE int files_record_parse(struct cd_str bytes, bool checked, struct files_record *out);

void files_state_add(struct cd_buf *out, const struct files_state *s); /* FILES_STATE_BYTES */
CD_MUST_USE int files_state_parse(struct cd_str bytes, struct files_state *out);

#endif
