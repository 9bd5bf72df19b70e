/* log/follower_internal.h: what the files of the follower share: follower.c answers requests, follower_disk.c
 * keeps a fragment on the disk, follower_gc.c gives up what nobody will ask for. */
#ifndef LOG_FOLLOWER_INTERNAL_H
#define LOG_FOLLOWER_INTERNAL_H

#include "base/map.h"
#include "log/follower.h"
#include "log/follower_rule.h"

struct log_follower {
    struct log_follower_opts o;
    char *data_dir, *node; /* owned; o has them as texts */
    struct cd_map followed; /* owned: session to struct followed */
    unsigned busy; /* Calls in progress. */
};

struct followed { /* One leader's session. */
    struct log_follower *f;
    char session[STORE_SESSION_MAX + 1];
    char *dir; /* owned: <data_dir>/peerlog/<node>/<generation> */
    bool locked;
    unsigned users; /* Calls that have the lock, or wait for it. */
    struct io_signal unlocked;
    bool loaded;
    bool chained; /* The directories up to the data root were synced by this process. */
    struct log_fragment v;
    struct log_kept *kept; /* owned; the files that are there, frames not kept */
    size_t count, cap;
    uint64_t over_ns; /* Since when its session is known to be finished; 0: it is not. */
};

/* With the lock of the session. Not 0: without it. */
int log_followed_enter(struct log_follower *f, struct cd_str session, struct followed **out);
void log_followed_leave(struct followed *s);
/* Reads the leader's lease. *lease is owned by the caller; NULL: there is none. One that cannot be read is an
 * error. */
int log_followed_lease(struct followed *s, struct store_lease **lease);
void log_followed_free(struct followed *s);

/* 0, IO_CANCELED, or why the disk did not do it; then nothing of s has changed, and the next try begins
 * anew. */
int log_followed_load(struct followed *s);
int log_followed_state_save(struct followed *s, const struct log_fragment *v); /* Then s->v is v. */
int log_followed_batches_save(struct followed *s, const struct log_take *t); /* Then s->v has them. */
int log_followed_forget(struct followed *s); /* Removes every file but the state. */
int log_followed_remove(struct followed *s); /* The state and the directory too; there are no batches. */
void log_followed_trim(struct followed *s); /* Removes files up to base; a failure stays for the next time. */
/* The frames of (base, end], as far as they can be read, appended to frames; *count of them. */
int log_followed_read(struct followed *s, struct cd_buf *frames, uint32_t *count, bool *complete);

#endif
