/* deploy/bundle_internal.h: the parts of bundling, for its files and their tests. */
#ifndef DEPLOY_BUNDLE_INTERNAL_H
#define DEPLOY_BUNDLE_INTERNAL_H

#include "deploy/bundle.h"
#include "deploy/manifest.h"

#define DEPLOY_ESBUILD_MIN "0.21"

/* Words for argv, in an arena; NULL at the end. */
struct deploy_words {
    struct cd_arena *arena;
    const char **word; /* owned */
    size_t count, cap;
};
void deploy_words_addf(struct deploy_words *w, const char *format, ...) CD_PRINTF(2, 3);

/* All of config.md 6.2 for a run that writes into out (relative to the project): argv but its first word,
 * which is there already. */
void deploy_esbuild_args(struct deploy_words *w, const struct deploy_project *p, const char *out, bool dev);
/* Whether the text that --version prints is new enough. Texts that are no version pass. */
bool deploy_esbuild_is_recent(struct cd_str version);

/* Takes the inputs and exports out of a metafile. CD_ECORRUPT. */
CD_MUST_USE int deploy_metafile_read(struct deploy_bundle *out, struct cd_str text, struct cd_buf *why);
/* Rewrites the sources of a source map, which are relative to the directory out, to be relative to the
 * project. CD_ECORRUPT. */
CD_MUST_USE int deploy_source_map_rebase(struct cd_buf *to, struct cd_str map, struct cd_str out,
                                         struct cd_buf *why);

struct deploy_module *deploy_bundle_add(struct deploy_bundle *out, struct cd_str name,
                                        enum deploy_module_kind kind);
/* bundle_plain.c: config.md 6.5. */
CD_MUST_USE int deploy_bundle_plain(const struct deploy_bundling *b, struct deploy_bundle *out,
                                    struct cd_buf *why);
/* Sorts all but the main module, and checks names and size. */
CD_MUST_USE int deploy_bundle_check(struct deploy_bundle *out, struct cd_buf *why);

#endif
