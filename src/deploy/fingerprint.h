/* deploy/fingerprint.h: whether a build would give again what the last one gave.
 *
 * After a build a record is kept of all that went into it: files with size, time and digest, files whose
 * appearance would change it, the names in its directories. Looking compares sizes and times and takes a
 * millisecond; looking closely compares digests. Blocks, as all file calls of io.h do. */
#ifndef DEPLOY_FINGERPRINT_H
#define DEPLOY_FINGERPRINT_H

#include "deploy/build.h"

#define DEPLOY_PUBLISHED_MAX 32

struct deploy_published { /* What a build was published as. Texts have a NUL behind them. */
    struct cd_str script, version, manifest_sha256;
};

struct deploy_fingerprint { /* Zeroed: empty. */
    struct cd_arena arena; /* owned: all texts */
    struct cd_map
        files; /* owned: path to struct deploy_print_file in the arena, or of a file that is absent */
    struct cd_map dirs; /* owned: path to struct deploy_print_dir in the arena */
    char identity[DEPLOY_SHA256_LEN + 1];
    /* When the build began: a file that was changed since may not be what the bundler read. Recorded so that
     * it never holds. */
    int64_t begun_ms;
    struct deploy_published app[DEPLOY_PUBLISHED_MAX];
    unsigned app_count;
};
void deploy_fingerprint_deinit(struct deploy_fingerprint *f);

/* What, beside files, a build depends on: settings, tools, this version of celld. */
void deploy_fingerprint_identify(struct deploy_fingerprint *f, const struct cd_str *parts, size_t count);
/* Takes the project's own files, all inputs of the build and what could come between them. */
void deploy_fingerprint_add(struct deploy_fingerprint *f, struct io *io, const struct deploy_project *p,
                            const struct deploy_build *build);
void deploy_fingerprint_published(struct deploy_fingerprint *f, const struct deploy_app *app);

void deploy_fingerprint_write(struct cd_buf *out, const struct deploy_fingerprint *f);
/* CD_ECORRUPT for anything that was not written so by this version: then there is no record. */
CD_MUST_USE int deploy_fingerprint_read(struct deploy_fingerprint *f, struct cd_str text);

/* Whether everything is as it was recorded. closely: by digest, whatever size and time say. */
CD_MUST_USE bool deploy_fingerprint_holds(const struct deploy_fingerprint *f, struct io *io, bool closely);

#endif
