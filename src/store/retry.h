/* store/retry.h: plain reads and writes that are tried again where that is safe (fleet.md 3.6).
 *
 * Only what may be repeated is here: reads, unconditional puts, deletes. Conditional writes are never
 * repeated below the one who knows what they mean: their own first try would answer as a foreign winner. */
#ifndef STORE_RETRY_H
#define STORE_RETRY_H

#include "io/io.h"

struct store_policy {
    enum io_lane lane;
    uint64_t attempt_ns; /* One try. */
    uint64_t whole_ns; /* From the start to the last try's end; 0: no bound but those of the tries. */
    uint64_t window_ns; /* From the first failure to the start of the last try; 0: no bound. */
    unsigned retries;
};

/* The row of the lane; size is that of the body. The lease lane's attempt also depends on the lease: its
 * owner lowers attempt_ns. */
struct store_policy store_policy_of(enum io_lane lane, uint64_t size);

/* Whether a failure may go away by itself. */
bool store_may_retry(int status);
/* The wait before try number tries + 1 (1 is the first retry): 100 ms doubling up to 2 s, between half and
 * one and a half of it by dice, and at least what the store asked for, up to 10 s. */
uint64_t store_backoff_ns(unsigned tries, uint64_t retry_after_ns, uint64_t dice);

/* In a fiber. They end as the io_store_* op of the last try does, s->outcome and s->why included; a write is
 * IO_UNKNOWN when any of its tries may have happened. IO_CANCELED ends a wait between tries too. */
int store_retry_get(struct io_store *s, struct io *io, struct io_bucket *b, struct cd_str key, uint64_t from,
                    uint64_t len, const struct store_policy *p);
/* The end of an io_store_get that was started beside others, with done NULL and a timeout of its own: waits
 * for it, and one whose failure may go away is tried again by itself. */
int store_get_end(struct io_store *s, struct io *io, struct io_bucket *b, struct cd_str key, uint64_t from,
                  uint64_t len, const struct store_policy *p);
int store_retry_head(struct io_store *s, struct io *io, struct io_bucket *b, struct cd_str key,
                     const struct store_policy *p);
int store_retry_put(struct io_store *s, struct io *io, struct io_bucket *b, struct cd_str key,
                    struct cd_str body, const struct store_policy *p);
int store_retry_delete(struct io_store *s, struct io *io, struct io_bucket *b, struct cd_str key,
                       const struct store_policy *p);
int store_retry_list(struct io_list *l, struct io *io, struct io_bucket *b, struct cd_str prefix,
                     struct cd_str after, unsigned max, const struct store_policy *p);

#endif
