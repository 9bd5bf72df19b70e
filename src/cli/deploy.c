/* cli/deploy.c: `celld deploy`. What a script reads is on standard output, the report for people on standard
 * error (operations.md 6.7). */
#include "cli/deploy.h"

#include "base/json.h"
#include "cli/paths.h"
#include "deploy/build.h"
#include "deploy/publish.h"
#include "store/bucket_url.h"

struct deploy {
    struct cli *c;
    struct io *io; /* Of the loop that runs. */
    struct io_fiber *flow;
    struct cd_buf path, location;
    struct deploy_project project;
    bool loaded, dry;
    struct deploy_build build;
    uint64_t built_ns, uploaded_ns; /* What the steps took. */
    struct cd_buf why;
    int rc;
};

/* ---- Building and publishing ---- */

static void warn(struct deploy *d, struct cd_str lines)
{
    lines = cd_str_trim(lines);
    if (lines.len > 0)
        cli_say(d->io, lines);
}

static int project_load(struct deploy *d)
{
    const struct cli_args *a = &d->c->parsed;
    struct cd_str shown = cli_given(a, CLI_CONFIG)  ? a->value[CLI_CONFIG]
                          : a->positional_count > 0 ? a->positional[0]
                                                    : CD_STR(".");
    struct deploy_problems problems = {0};
    struct cd_buf warnings = {0};
    int rc = cli_path_absolute(d->c, shown, &d->path);
    if (rc != 0)
        return rc;
    rc = deploy_project_load(&d->project, d->io, cd_buf_cstr(&d->path), shown.ptr, DEPLOY_LOAD_SERVED,
                             &problems);
    d->loaded = rc == 0;
    deploy_problems_warnings(&warnings, &problems);
    deploy_problems_errors(&d->why, &problems);
    deploy_problems_deinit(&problems);
    warn(d, cd_buf_str(&warnings));
    cd_buf_deinit(&warnings);
    return rc;
}

static void flow(void *arg)
{
    struct deploy *d = arg;
    uint64_t from_ns = io_now_ns(d->io);
    d->build.bundling = (struct deploy_bundling){.io = d->io,
                                                 .project = &d->project,
                                                 .env = d->c->env,
                                                 .tool = d->c->settings.value[CLI_SET_ESBUILD].text};
    d->rc = deploy_build_run(&d->build, &d->why);
    d->built_ns = io_now_ns(d->io) - from_ns;
    if (d->rc == 0 && !d->dry) {
        struct deploy_publish p = {.io = d->io,
                                   .bucket = io_bucket(d->io),
                                   .app = d->build.app,
                                   .manifest = cd_buf_str(&d->build.manifest)};
        d->rc = deploy_publish(&p, &d->why);
        d->uploaded_ns = io_now_ns(d->io) - from_ns - d->built_ns;
    }
    d->flow = NULL;
    io_stop(d->io);
}

static void entry(struct io *io, void *arg)
{
    struct deploy *d = arg;
    d->io = io;
    d->flow = io_spawn(io, "deploy", flow, d);
}

/* Nothing that was written so far counts, and the bundler's directory goes. */
static void signaled(struct io *io, int number, void *arg)
{
    struct deploy *d = arg;
    (void)io;
    (void)number;
    if (d->flow != NULL)
        io_fiber_cancel(d->flow);
}

/* ---- The report ---- */

/* With two decimals. */
static void kib(struct cd_buf *out, uint64_t bytes)
{
    uint64_t hundredths = (bytes * 100 + 512) / 1024;
    cd_buf_addf(out, "%llu.%02llu KiB", (unsigned long long)(hundredths / 100),
                (unsigned long long)(hundredths % 100));
}

static void seconds(struct cd_buf *out, uint64_t ns)
{
    uint64_t hundredths = ns / 10000000;
    cd_buf_addf(out, "%llu.%02llu sec", (unsigned long long)(hundredths / 100),
                (unsigned long long)(hundredths % 100));
}

/* What a binding leads to. Values of variables are never shown. */
static void resource(struct cd_buf *out, const struct deploy_binding *b)
{
    struct cd_str name = {0};
    switch (b->kind) {
    case DEPLOY_SERVICE:
        cd_buf_add_str(out, b->service.service);
        if (b->service.entrypoint.len > 0)
            cd_buf_addf(out, "#%.*s", (int)b->service.entrypoint.len, b->service.entrypoint.ptr);
        return;
    case DEPLOY_PLAIN_TEXT:
    case DEPLOY_JSON: name = CD_STR("Environment Variable"); break;
    case DEPLOY_DURABLE_OBJECT: name = CD_STR("Durable Object"); break;
    case DEPLOY_ASSETS: name = CD_STR("Static Assets"); break;
    case DEPLOY_D1: name = b->d1.database_name; break;
    case DEPLOY_KV: name = b->kv_id; break;
    case DEPLOY_QUEUE: name = b->queue.queue; break;
    case DEPLOY_R2_BUCKET: name = b->bucket_name; break;
    case DEPLOY_WORKFLOW: name = b->workflow.workflow_name; break;
    case DEPLOY_WORKER_LOADER: name = CD_STR("Dynamic Workers"); break;
    case DEPLOY_BINDING_KINDS: break;
    }
    cd_buf_add_str(out, name);
}

static void bindings_report(struct cd_buf *out, const struct deploy_app *a)
{
    size_t width = 0;
    if (a->binding_count == 0) {
        cd_buf_addf(out, "Your Worker has no bindings.\n");
        return;
    }
    for (unsigned i = 0; i < a->binding_count; i++)
        width = a->bindings[i].name.len + 4 > width ? a->bindings[i].name.len + 4 : width;
    width += 6;
    cd_buf_addf(out, "Your Worker has access to the following bindings:\n%-*sResource\n", (int)width,
                "Binding");
    for (unsigned i = 0; i < a->binding_count; i++) {
        const struct deploy_binding *b = &a->bindings[i];
        cd_buf_addf(out, "env.%-*.*s", (int)width - 4, (int)b->name.len, b->name.ptr);
        resource(out, b);
        cd_buf_add_byte(out, '\n');
    }
}

static void report(struct deploy *d)
{
    const struct deploy_app *a = d->build.app;
    struct cd_buf out = {0};
    uint64_t bytes = 0;
    for (unsigned i = 0; i < a->module_count; i++)
        bytes += a->modules[i].size;
    cd_buf_addf(&out, " celld " CELLD_VERSION "\n");
    for (int i = 0; i < 47; i++)
        cd_buf_addf(&out, "\xe2\x94\x80");
    cd_buf_addf(&out, "\nTotal Upload: ");
    kib(&out, bytes);
    cd_buf_add_byte(&out, '\n');
    bindings_report(&out, a);
    cd_buf_addf(&out, "Bundled %.*s (", (int)a->script.len, a->script.ptr);
    seconds(&out, d->built_ns);
    cd_buf_addf(&out, ")\n");
    if (!d->dry) {
        cd_buf_addf(&out, "Uploaded %.*s (", (int)a->script.len, a->script.ptr);
        seconds(&out, d->uploaded_ns);
        cd_buf_addf(&out,
                    ")\n  %s\nNodes adopt this version at their next pointer poll, without a restart.\n",
                    cd_buf_cstr(&d->location));
    }
    cli_say(d->c->io, cd_str_trim(cd_buf_str(&out)));
    cd_buf_deinit(&out);
}

static void result(struct deploy *d)
{
    const struct deploy_app *a = d->build.app;
    struct cd_buf row = {0};
    if (cli_given(&d->c->parsed, CLI_JSON)) {
        struct cd_json_out o;
        cd_json_out_init(&o, &row);
        cd_json_out_object(&o);
        cd_json_out_key(&o, "worker");
        cd_json_out_str(&o, a->script);
        cd_json_out_key(&o, "version");
        cd_json_out_str(&o, cd_str(a->version));
        cd_json_out_key(&o, "location");
        if (d->location.len > 0)
            cd_json_out_str(&o, cd_buf_str(&d->location));
        else
            cd_json_out_null(&o);
        cd_json_out_key(&o, "dry_run");
        cd_json_out_bool(&o, d->dry);
        cd_json_out_end(&o, '}');
    } else {
        cd_buf_addf(&row, "Current Version ID: %s%s", a->version,
                    d->dry ? " (dry run; nothing written)" : "");
    }
    (void)cli_out_row(&d->c->out, cd_buf_str(&row)); /* cli_out_end tells when it fails. */
    cd_buf_deinit(&row);
}

/* ---- The whole ---- */

/* Where it is, or would be: "s3://bucket/prefix/deploy/NAME/VERSION/". */
static void location_make(struct deploy *d, struct cd_str bucket)
{
    struct store_bucket_url url;
    struct cd_buf why = {0};
    if (bucket.len == 0)
        return;
    int rc = store_bucket_url_parse(&url, bucket, &why);
    CD_ASSERT(rc == 0); /* cli_check_fleet has looked. */
    store_bucket_url_text(&d->location, &url);
    if (!cd_str_ends(cd_buf_str(&d->location), CD_STR("/")))
        cd_buf_add_byte(&d->location, '/');
    cd_buf_addf(&d->location, "%.*s/", (int)d->build.app->prefix.len, d->build.app->prefix.ptr);
}

static int run(struct deploy *d)
{
    struct cd_str bucket = cd_str_trim(cli_either(d->c, CLI_BUCKET, CLI_SET_BUCKET));
    struct cli_node node = {.bucket = d->dry ? (struct cd_str){0} : bucket,
                            .log_filter = CD_STR("off"),
                            .entry = entry,
                            .signaled = signaled,
                            .arg = d};
    int rc = d->c->run_node(d->c, &node);
    d->io = d->c->io; /* The loop it ran on is gone. */
    if (rc != 0)
        return rc;
    if (d->rc == IO_CANCELED)
        return cli_fail(d->c, "interrupted; nothing was deployed, or the deploy was complete");
    if (d->rc != 0)
        return cli_fail_text(d->c, cd_buf_str(&d->why));
    warn(d, cd_buf_str(&d->build.warnings));
    location_make(d, bucket);
    report(d);
    result(d);
    return 0;
}

int cli_deploy(struct cli *c)
{
    struct deploy d = {.c = c, .io = c->io, .dry = cli_given(&c->parsed, CLI_DRY_RUN)};
    int rc = project_load(&d);
    if (rc == 0)
        rc = run(&d);
    else if (d.why.len > 0)
        rc = cli_fail_text(c, cd_buf_str(&d.why));
    if (d.loaded)
        deploy_project_deinit(&d.project);
    deploy_build_deinit(&d.build);
    cd_buf_deinit(&d.path);
    cd_buf_deinit(&d.location);
    cd_buf_deinit(&d.why);
    return rc;
}
