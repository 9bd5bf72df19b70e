/* deploy/project.h: what a project file says, checked and ready for use (config.md 1 to 3).
 *
 * Loading is the only place that looks at the file: whoever bundles, writes manifests or serves uses struct
 * deploy_project and finds there only what has passed every rule. Unless said otherwise a struct cd_str in
 * here has a NUL behind it and none within, so .ptr is a C string; an optional one that is absent is empty.
 * All of it lives in the arena of the project. */
#ifndef DEPLOY_PROJECT_H
#define DEPLOY_PROJECT_H

#include "deploy/compat.h"
#include "deploy/problem.h"
#include "deploy/tree.h"
#include "io/io.h"

/* One variable: a string is a text binding, all else a JSON binding. */
struct deploy_var {
    struct cd_str name;
    struct cd_str value; /* Of text: may contain NUL. Of JSON: without spaces. Never shown, never logged. */
    bool json;
    bool dev; /* From .dev.vars. */
};

struct deploy_service {
    struct cd_str binding, service;
    struct cd_str entrypoint; /* Empty: the default export. */
};

struct deploy_durable {
    struct cd_str binding, class_name; /* A class of this script. */
};

struct deploy_migration {
    struct cd_str tag;
    struct cd_str *sqlite_class; /* new_sqlite_classes */
    size_t sqlite_classes;
    struct cd_str *plain_class; /* new_classes: key-value pairs, no SQL */
    size_t plain_classes;
};

struct deploy_pair {
    struct cd_str name, value;
};

enum deploy_loader {
    DEPLOY_LOADER_TEXT,
    DEPLOY_LOADER_BINARY,
    DEPLOY_LOADER_COPY
}; /* Text, Data, CompiledWasm */
struct deploy_rule {
    struct cd_str extension; /* ".md"; each once. */
    enum deploy_loader loader;
};

enum deploy_html { DEPLOY_HTML_AUTO, DEPLOY_HTML_FORCE, DEPLOY_HTML_DROP, DEPLOY_HTML_NONE };
enum deploy_missing { DEPLOY_MISSING_NONE, DEPLOY_MISSING_SPA, DEPLOY_MISSING_404 };
enum deploy_worker_first { DEPLOY_ASSETS_FIRST, DEPLOY_WORKER_FIRST, DEPLOY_WORKER_FIRST_RULES };
struct deploy_assets {
    bool given;
    struct cd_str directory; /* Relative to root; "." is root. */
    struct cd_str binding; /* Empty: none. */
    enum deploy_html html_handling;
    enum deploy_missing not_found_handling;
    enum deploy_worker_first run_worker_first;
    struct cd_str *rule; /* Of run_worker_first; "/api/..." or "!/...". */
    size_t rules;
};

struct deploy_d1 {
    struct cd_str binding, database_name;
    struct cd_str database_id; /* May be empty. */
    struct cd_str identity; /* database_id, or database_name without one. */
    struct cd_str migrations_dir, migrations_table; /* With their defaults. */
};

struct deploy_kv {
    struct cd_str binding, id;
};

struct deploy_r2 {
    struct cd_str binding, bucket_name;
};

#define DEPLOY_UNSET UINT32_MAX /* Of a number that the file does not give and that has no default. */
struct deploy_producer {
    struct cd_str binding, queue;
    uint32_t delivery_delay_s; /* or DEPLOY_UNSET */
};

struct deploy_consumer {
    struct cd_str queue, dead_letter_queue; /* The latter may be empty. */
    uint32_t max_batch_size, max_batch_timeout_s, max_retries; /* With their defaults. */
    uint32_t max_concurrency, retry_delay_s; /* or DEPLOY_UNSET */
};

struct deploy_workflow {
    struct cd_str binding, name, class_name;
};

struct deploy_worker_loader {
    struct cd_str binding;
};

struct deploy_cron {
    struct cd_str text; /* Trimmed. */
};

/* A key at the top of the file, to tell people where it is. */
struct deploy_key {
    struct cd_str name;
    struct deploy_place at;
};

struct deploy_project {
    struct cd_arena arena; /* owned */
    struct cd_str root; /* Absolute path of its directory; "/" or without a slash at the end. */
    struct cd_str file; /* Absolute path of the project file. */
    struct cd_str shown; /* What messages call the project file. */
    struct cd_str name;
    struct cd_str main; /* Relative to root, without "./"; empty: asset-only. */
    struct deploy_compat compat;

    /* Bundling. */
    bool no_bundle, minify, keep_names;
    struct cd_str tsconfig, jsx_factory, jsx_fragment;
    struct deploy_pair *define, *alias; /* In the order of the file. */
    size_t defines, aliases;
    struct deploy_rule *rule; /* Sorted by extension. */
    size_t rules;

    /* Bindings and handlers; vars sorted by name, all else in the order of the file. No name is bound twice.
     */
    struct deploy_durable *durable;
    size_t durables;
    struct deploy_migration *migration;
    size_t migrations;
    struct deploy_service *service;
    size_t services;
    struct deploy_var *var;
    size_t vars;
    struct deploy_assets assets;
    struct deploy_d1 *d1;
    size_t d1s;
    struct deploy_kv *kv;
    size_t kvs;
    struct deploy_producer *producer;
    size_t producers;
    struct deploy_consumer *consumer;
    size_t consumers;
    struct deploy_r2 *r2;
    size_t r2s;
    struct deploy_workflow *workflow;
    size_t workflows;
    struct deploy_worker_loader *worker_loader;
    size_t worker_loaders;
    struct deploy_cron *cron; /* Each text once. */
    size_t crons;

    struct deploy_key *key; /* The keys of the file, in its order. */
    size_t keys;
};

enum deploy_load { /* Bits. */
                   DEPLOY_LOAD_SERVED = 1, /* What deploy_project_check_served refuses is an error. */
                   DEPLOY_LOAD_DEV = 2, /* With .dev.vars (deploy/vars.h). */
};
/* Finds and reads the project file: path is a directory, where wrangler.jsonc, wrangler.json and
 * wrangler.toml are looked for in this order, or a file; absolute. shown is how the user called it, for
 * messages; NULL: path. Blocks for the file calls.
 *
 * 0, or the code of the first error with every error there is in problems: a file that can be parsed is
 * looked at to its end, and so is what it names. Warnings and notes are in problems either way. p is set on
 * success only; the caller ends it with deploy_project_deinit. */
CD_MUST_USE int deploy_project_load(struct deploy_project *p, struct io *io, const char *path,
                                    const char *shown, unsigned how, struct deploy_problems *problems);
/* The same for a text that is there already: nothing but the text is looked at. file is absolute and its end
 * tells the language: .toml, or else JSONC. */
CD_MUST_USE int deploy_project_parse(struct deploy_project *p, const char *file, const char *shown,
                                     struct cd_str text, struct deploy_problems *problems);
/* The same, but p is set whenever the text can be parsed, for those who look for more errors. Not yet
 * decided: compat. */
CD_MUST_USE int deploy_project_read(struct deploy_project *p, const char *file, const char *shown,
                                    struct cd_str text, struct deploy_problems *problems);
void deploy_project_deinit(struct deploy_project *p);

/* What this version cannot serve yet although the file may say it: one error for each such key that declares
 * something, and one for a project of static assets alone. CD_EUNSUPPORTED when there is any, else 0. */
CD_MUST_USE int deploy_project_check_served(const struct deploy_project *p, struct deploy_problems *problems);

#endif
