/* store/record_read.h: reading the JSON records of the bucket strictly (fleet.md 2.2), and what writing them
 * has in common. For src/store only.
 *
 * A reader remembers the first thing that was wrong; after that every read gives an empty value. So a record
 * is read straight down, and store_reader_end says how it went. */
#ifndef STORE_RECORD_READ_H
#define STORE_RECORD_READ_H

#include "base/json.h"
#include "store/names.h"

struct store_reader {
    const char *what; /* "ownership record": begins every reason. */
    struct cd_json_doc *doc; /* owned */
    const struct cd_json *root;
    struct cd_buf *why; /* May be NULL. */
    int rc;
};

/* Parses body as an object whose member version (a name) is the number want: another number is
 * CD_EUNSUPPORTED. */
void store_reader_begin(struct store_reader *r, const char *what, struct cd_str body, size_t max,
                        const char *version, uint64_t want, struct cd_buf *why);
/* Frees the document: values that borrow from it end here. Returns 0 or the first error. */
int store_reader_end(struct store_reader *r);
/* Notes an error unless there is one already. */
void store_reader_fail(struct store_reader *r, const char *format, ...) CD_PRINTF(2, 3);

/* Members of the object at. Absent or of another type: an error. */
uint64_t store_read_u64(struct store_reader *r, const struct cd_json *at, const char *key);
bool store_read_bool(struct store_reader *r, const struct cd_json *at, const char *key);
struct cd_str store_read_str(struct store_reader *r, const struct cd_json *at, const char *key);
/* The same into a place of size bytes, with a NUL; valid (may be NULL) judges it. */
void store_read_text(struct store_reader *r, const struct cd_json *at, const char *key, char *out,
                     size_t size, bool (*valid)(struct cd_str));
/* NULL when the member is null; absent or no object is an error. */
const struct cd_json *store_read_nullable(struct store_reader *r, const struct cd_json *at, const char *key);
/* Whether the member is there and not null. */
bool store_read_has(const struct cd_json *at, const char *key);

/* One member of the object being written. A number above STORE_NUMBER_MAX is a mistake of the caller's and is
 * asserted about. */
void store_out_number(struct cd_json_out *o, const char *key, uint64_t v);
void store_out_text(struct cd_json_out *o, const char *key, struct cd_str text);

/* One changed member of an object. */
struct store_patch {
    const char *key;
    struct cd_str json; /* Its new value. */
};
/* Appends the object at with the patches in the places of the members they replace, or behind the others. All
 * the rest stays as it is, also what this version does not know. */
void store_patch_object(struct cd_buf *out, const struct cd_json *at, const struct store_patch *patch,
                        size_t count);

#endif
