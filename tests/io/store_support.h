/* tests/io/store_support.h: what the contract of the object store shares. In fibers; only io.h is used. */
#ifndef CONTRACT_STORE_SUPPORT_H
#define CONTRACT_STORE_SUPPORT_H

#include "support.h"

#define STORE_AWAIT_NS IO_SEC(60)

/* Runs op to its end. Checks what holds of every end: OK is DONE, a conflict is REJECTED, a read is never
 * UNKNOWN, and whoever is not DONE says why. */
int store_end(struct io_store *s, bool write);

/* The status; the new token goes to token, which is what IF_MATCH compares. token NULL: not wanted. */
int store_put(struct contract *c, const char *key, struct cd_str body, enum io_put how, char *token);
int store_put_text(struct contract *c, const char *key, const char *body, enum io_put how, char *token);
/* out may be NULL; else it is replaced. */
int store_get(struct contract *c, const char *key, uint64_t from, uint64_t len, struct cd_buf *out,
              char *token);
int store_delete(struct contract *c, const char *key);
bool store_holds(struct contract *c, const char *key, const char *body); /* body NULL: absent. */
/* All keys from prefix, page by page of max, each with '|' behind it; groups with "*|". */
void store_walk(struct contract *c, const char *prefix, const char *after, char delimiter, unsigned max,
                struct cd_buf *out);

extern bool store_skipped; /* Of the running test. */
#define STORE_TEST(name, loops)                                                                              \
    static void test_##name(void **state)                                                                    \
    {                                                                                                        \
        (void)state;                                                                                         \
        store_skipped = contract_store_is_broken();                                                          \
        if (!store_skipped)                                                                                  \
            contract_run_store(loops, flow_##name);                                                          \
        if (store_skipped)                                                                                   \
            skip();                                                                                          \
    }

#endif
