/* deploy/keys.c: the keys at the top of a project file: accepted, refused by name with a hint, or unknown
 * (config.md 3, 3.1). */
#include "deploy/check.h"

#include "deploy/names.h"

/* ---- The simple ones ---- */

static void check_name(struct deploy_check *c, const struct deploy_node *node)
{
    (void)deploy_check_grammar(c, node, deploy_name_script, &c->project->name);
}

static void check_no_bundle(struct deploy_check *c, const struct deploy_node *node)
{
    (void)deploy_check_flag(c, node->up, "no_bundle", &c->project->no_bundle);
}

static void check_minify(struct deploy_check *c, const struct deploy_node *node)
{
    (void)deploy_check_flag(c, node->up, "minify", &c->project->minify);
}

static void check_keep_names(struct deploy_check *c, const struct deploy_node *node)
{
    (void)deploy_check_flag(c, node->up, "keep_names", &c->project->keep_names);
}

static void check_jsx_factory(struct deploy_check *c, const struct deploy_node *node)
{
    (void)deploy_check_text(c, node->up, "jsx_factory", &c->project->jsx_factory);
}

static void check_jsx_fragment(struct deploy_check *c, const struct deploy_node *node)
{
    (void)deploy_check_text(c, node->up, "jsx_fragment", &c->project->jsx_fragment);
}

static void check_tsconfig(struct deploy_check *c, const struct deploy_node *node)
{
    (void)deploy_check_path(c, node->up, "tsconfig", false, &c->project->tsconfig);
}

static void check_schema(struct deploy_check *c, const struct deploy_node *node)
{
    (void)deploy_check_kind(c, node, DEPLOY_STRING);
}

static void check_ignored(struct deploy_check *c, const struct deploy_node *node)
{
    deploy_check_warn(c, DEPLOY_NOTE, node, "ignored: it steers other tools only");
}

/* ---- All of them ---- */

static const struct {
    const char *key;
    deploy_check_key *check;
} accepted[] = {
    {"$schema", check_schema},
    {"name", check_name},
    {"main", deploy_check_main},
    {"no_bundle", check_no_bundle},
    {"compatibility_date", deploy_check_date},
    {"compatibility_flags", deploy_check_flags},
    {"durable_objects", deploy_check_durable},
    {"migrations", deploy_check_migrations},
    {"services", deploy_check_services},
    {"vars", deploy_check_vars},
    {"triggers", deploy_check_triggers},
    {"assets", deploy_check_assets},
    {"d1_databases", deploy_check_d1},
    {"kv_namespaces", deploy_check_kv},
    {"queues", deploy_check_queues},
    {"workflows", deploy_check_workflows},
    {"r2_buckets", deploy_check_r2},
    {"worker_loaders", deploy_check_loaders},
    {"define", deploy_check_define},
    {"rules", deploy_check_rules},
    {"alias", deploy_check_alias},
    {"minify", check_minify},
    {"keep_names", check_keep_names},
    {"tsconfig", check_tsconfig},
    {"jsx_factory", check_jsx_factory},
    {"jsx_fragment", check_jsx_fragment},
    {"send_metrics", check_ignored},
    {"dev", check_ignored},
};

#define ROUTES "celld does not route hostnames; use the ingress proxy"
#define PLATFORM "a feature of the hosted platform; for logs and traces see the telemetry settings"
#define NO_BINDING "this type of binding is not available"
#define BUILD "run your build before the deploy and point main at its output"
#define OLD "from the time of Service Workers; use assets, or import the file"
#define NOT_MODELLED "not available in celld"

/* A * at the end stands for any rest. */
static const struct {
    const char *key, *hint;
} refused[] = {
    {"routes", ROUTES},
    {"route", ROUTES},
    {"workers_dev", ROUTES},
    {"preview_urls", ROUTES},
    {"placement", ROUTES},
    {"account_id", PLATFORM},
    {"logpush", PLATFORM},
    {"observability", PLATFORM},
    {"limits", PLATFORM},
    {"tail_consumers", PLATFORM},
    {"streaming_tail_consumers", PLATFORM},
    {"cache", PLATFORM},
    {"access", PLATFORM},
    {"compliance_region", PLATFORM},
    {"previews", PLATFORM},
    {"ai", NO_BINDING},
    {"ai_search*", NO_BINDING},
    {"vectorize", NO_BINDING},
    {"hyperdrive", NO_BINDING},
    {"browser", NO_BINDING},
    {"send_email", NO_BINDING},
    {"images", NO_BINDING},
    {"media", NO_BINDING},
    {"stream", NO_BINDING},
    {"analytics_engine_datasets", NO_BINDING},
    {"pipelines", NO_BINDING},
    {"secrets_store_secrets", NO_BINDING},
    {"mtls_certificates", NO_BINDING},
    {"dispatch_namespaces", NO_BINDING},
    {"vpc_*", NO_BINDING},
    {"version_metadata", NO_BINDING},
    {"ratelimits", NO_BINDING},
    {"unsafe", NO_BINDING},
    {"artifacts", NO_BINDING},
    {"agent_memory", NO_BINDING},
    {"websearch", NO_BINDING},
    {"connect", NO_BINDING},
    {"flagship", NO_BINDING},
    {"build", BUILD},
    {"pages_build_output_dir", "this is a Pages project: make it a Worker with assets"},
    {"node_compat", "Node's modules are there without it: take it out"},
    {"site", OLD},
    {"wasm_modules", OLD},
    {"text_blobs", OLD},
    {"data_blobs", OLD},
    {"find_additional_modules", NOT_MODELLED},
    {"base_dir", NOT_MODELLED},
    {"preserve_file_names", NOT_MODELLED},
    {"python_modules", "Python Workers are not supported"},
    {"upload_source_maps", NOT_MODELLED},
    {"first_party_worker", NOT_MODELLED},
    {"exports", NOT_MODELLED},
    {"containers", "containers are not available in this version"},
    {"env", "environments are not available: use a project file for each"},
    {"secrets", "secrets are not declared in the project file: use .dev.vars for celld dev"},
    {"keep_vars", "every deploy sets exactly the vars of the project file"},
};

static const char *refusal(struct cd_str key)
{
    for (size_t i = 0; i < CD_COUNT(refused); i++) {
        struct cd_str name = cd_str(refused[i].key);
        if (cd_str_eq(key, name) ||
            (cd_str_ends(name, CD_STR("*")) && cd_str_starts(key, cd_str_sub(name, 0, name.len - 1))))
            return refused[i].hint;
    }
    return NULL;
}

void deploy_check_top(struct deploy_check *c, const struct deploy_node *node)
{
    struct deploy_member names[CD_COUNT(accepted)] = {0};
    for (size_t i = 0; i < CD_COUNT(accepted); i++) {
        if (cd_str_eq(node->key, cd_str(accepted[i].key))) {
            accepted[i].check(c, node);
            return;
        }
        names[i].key = accepted[i].key;
    }
    const char *hint = refusal(node->key);
    if (hint != NULL)
        deploy_check_refuse(c, node, hint);
    else
        deploy_check_unknown(c, node, names, CD_COUNT(names));
}
