/* cli/dev_build.c: builds the projects and puts them where the node finds them. */
#include "cli/dev_internal.h"
#include "deploy/files.h"
#include "deploy/publish.h"
#include "store/retry.h"

#define RECORD "build.json"
#define RECORD_MAX (64u << 20)

/* ---- Projects ---- */

int cli_dev_project_load(struct cli_dev *d, struct cli_dev_project *p, struct cd_buf *why)
{
    struct deploy_problems problems = {0};
    struct deploy_project fresh;
    struct cd_buf warnings = {0};
    int rc = deploy_project_load(&fresh, d->io, cd_buf_cstr(&p->path), p->shown.ptr,
                                 DEPLOY_LOAD_SERVED | DEPLOY_LOAD_DEV, &problems);
    deploy_problems_warnings(&warnings, &problems);
    deploy_problems_errors(why, &problems);
    deploy_problems_deinit(&problems);
    if (!cd_str_eq(cd_buf_str(&warnings), cd_buf_str(&p->warned)))
        cli_dev_warning(&d->view, cd_buf_str(&warnings));
    cd_buf_deinit(&p->warned);
    p->warned = warnings;
    if (rc != 0)
        return rc;
    if (p->loaded)
        deploy_project_deinit(&p->project);
    p->project = fresh;
    p->loaded = true;
    return 0;
}

int cli_dev_projects_load(struct cli_dev *d, struct cd_buf *why)
{
    int first = 0;
    for (unsigned i = 0; i < d->projects; i++) {
        int rc = cli_dev_project_load(d, &d->project[i], why);
        first = first != 0 ? first : rc;
    }
    for (unsigned i = 0; first == 0 && i < d->projects; i++) {
        for (unsigned j = 0; j < i; j++) {
            const struct deploy_project *a = &d->project[j].project, *b = &d->project[i].project;
            if (cd_str_eq(a->name, b->name)) {
                cd_buf_addf(why, "%s and %s have the same name, %s", a->shown.ptr, b->shown.ptr, a->name.ptr);
                return CD_EEXISTS;
            }
        }
    }
    return first;
}

/* ---- The record ---- */

static void record_path(struct cli_dev *d, struct cd_buf *out)
{
    deploy_file_join(out, cd_buf_str(&d->state), CD_STR(RECORD));
}

static void identify(struct cli_dev *d, struct deploy_fingerprint *f)
{
    struct cd_str parts[CLI_DEV_PROJECTS_MAX + 1];
    parts[0] = d->c->settings.value[CLI_SET_ESBUILD].text;
    for (unsigned i = 0; i < d->projects; i++)
        parts[i + 1] = cd_buf_str(&d->project[i].path);
    deploy_fingerprint_identify(f, parts, d->projects + 1);
}

bool cli_dev_is_built(struct cli_dev *d)
{
    struct cd_buf path = {0}, text = {0};
    struct deploy_fingerprint now = {0};
    record_path(d, &path);
    identify(d, &now);
    bool holds = deploy_file_read(d->io, cd_buf_cstr(&path), RECORD_MAX, &text) == IO_OK &&
                 deploy_fingerprint_read(&d->built, cd_buf_str(&text)) == 0 &&
                 strcmp(d->built.identity, now.identity) == 0 && d->built.app_count == d->projects &&
                 deploy_fingerprint_holds(&d->built, d->io, false);
    deploy_fingerprint_deinit(&now);
    cd_buf_deinit(&path);
    cd_buf_deinit(&text);
    return holds;
}

/* Whether the store's pointer of a script (empty: of the fleet) is at what was published. */
static bool pointer_holds(struct cli_dev *d, struct cd_str script, const struct deploy_published *app)
{
    struct io_store get = {0};
    struct cd_buf key = {0};
    struct cd_json_doc *doc = NULL;
    struct deploy_pointer p;
    struct store_policy policy = store_policy_of(IO_LANE_CONTROL, 0);
    struct cd_buf why = {0};
    deploy_pointer_key(&key, script);
    bool holds =
        store_retry_get(&get, d->io, io_bucket(d->io), cd_buf_str(&key), 0, IO_WHOLE, &policy) == IO_OK &&
        cd_json_parse(&doc, cd_buf_str(&get.body), NULL) == 0 && deploy_pointer_read(&p, doc, &why) == 0 &&
        cd_str_eq(p.script, app->script) && cd_str_eq(p.version, app->version) &&
        cd_str_eq(p.manifest_sha256, app->manifest_sha256);
    cd_json_free(doc);
    cd_buf_deinit(&get.body);
    cd_buf_deinit(&key);
    cd_buf_deinit(&why);
    return holds;
}

int cli_dev_verify(struct cli_dev *d, struct cd_buf *why)
{
    bool holds = pointer_holds(d, (struct cd_str){0}, &d->built.app[0]);
    (void)why;
    for (unsigned i = 0; holds && i < d->built.app_count; i++)
        holds = pointer_holds(d, d->built.app[i].script, &d->built.app[i]);
    return holds && deploy_fingerprint_holds(&d->built, d->io, true) ? 0 : CD_ENOTFOUND;
}

/* What cannot be written costs the next start a build, nothing else. */
static void record_write(struct cli_dev *d)
{
    struct cd_buf path = {0}, text = {0};
    record_path(d, &path);
    deploy_fingerprint_write(&text, &d->built);
    int rc = deploy_file_replace(d->io, cd_buf_cstr(&path), cd_buf_str(&text));
    CD_MAYBE(rc == IO_OK);
    cd_buf_deinit(&path);
    cd_buf_deinit(&text);
}

/* ---- Building ---- */

/* A record that is there while something else is published would be a lie. */
static void record_forget(struct cli_dev *d)
{
    struct cd_buf path = {0};
    record_path(d, &path);
    int rc = io_path_remove(d->io, cd_buf_cstr(&path));
    CD_MAYBE(rc == IO_OK);
    cd_buf_deinit(&path);
    deploy_fingerprint_deinit(&d->built);
}

static int publish(struct cli_dev *d, const struct deploy_build *b, bool named_only, struct cd_buf *why)
{
    struct deploy_publish p = {.io = d->io,
                               .bucket = io_bucket(d->io),
                               .app = b->app,
                               .manifest = cd_buf_str(&b->manifest),
                               .named_only = named_only};
    int rc = deploy_publish(&p, why);
    d->moved = d->moved || p.moved;
    return rc;
}

int cli_dev_build(struct cli_dev *d, struct cd_buf *why)
{
    static const struct deploy_build none;
    struct deploy_build *build = cd_alloc(d->projects * sizeof *build);
    struct deploy_fingerprint now = {.begun_ms = io_wall_ms(d->io)};
    unsigned made = 0;
    d->moved = false;
    int rc = cli_dev_projects_load(d, why);
    for (unsigned i = 0; rc == 0 && i < d->projects; i++, made++) {
        build[i] = none;
        build[i].bundling = (struct deploy_bundling){.io = d->io,
                                                     .project = &d->project[i].project,
                                                     .env = d->c->env,
                                                     .tool = d->c->settings.value[CLI_SET_ESBUILD].text,
                                                     .dev = true};
        rc = deploy_build_run(&build[i], why);
        cli_dev_warning(&d->view, cd_buf_str(&build[i].warnings));
    }
    if (rc == 0)
        record_forget(d);
    /* The application last: what it binds must be there when a node loads it. */
    for (unsigned i = d->projects; rc == 0 && i-- > 0;)
        rc = publish(d, &build[i], i > 0, why);
    for (unsigned i = 0; rc == 0 && i < d->projects; i++) {
        deploy_fingerprint_add(&now, d->io, &d->project[i].project, &build[i]);
        deploy_fingerprint_published(&now, build[i].app);
    }
    if (rc == 0) {
        identify(d, &now);
        d->built = now;
        record_write(d);
    } else {
        deploy_fingerprint_deinit(&now);
    }
    for (unsigned i = 0; i < made; i++)
        deploy_build_deinit(&build[i]);
    cd_free(build);
    return rc;
}
