/* deploy/project_load.c: finds the project file and looks at what it names (config.md 1, 3). */
#include "deploy/file.h"
#include "deploy/project.h"
#include "deploy/vars.h"

static const char *const names[] = {"wrangler.jsonc", "wrangler.json", "wrangler.toml"};

CD_PRINTF(4, 5)
static void add(struct deploy_problems *problems, enum deploy_severity severity, struct cd_str file,
                const char *format, ...)
{
    struct cd_buf text = {0};
    va_list args;
    va_start(args, format);
    cd_buf_vaddf(&text, format, args);
    va_end(args);
    struct deploy_problem problem = {.severity = severity, .file = file, .text = cd_buf_str(&text)};
    deploy_problems_add(problems, &problem);
    cd_buf_deinit(&text);
}

/* The first of the names that dir has, into path; the others that are there too are warned about. */
static int find(struct io *io, struct cd_str dir, struct cd_str shown_dir, struct cd_buf *path,
                struct cd_buf *shown, struct deploy_problems *problems)
{
    struct cd_buf one = {0}, ignored = {0};
    for (size_t i = 0; i < CD_COUNT(names); i++) {
        struct io_path_info info;
        deploy_file_join(&one, dir, cd_str(names[i]));
        if (io_path_stat(io, cd_buf_cstr(&one), &info) != IO_OK || info.kind == IO_PATH_DIR)
            continue;
        if (path->len == 0) {
            deploy_file_join(path, dir, cd_str(names[i]));
            deploy_file_join(shown, shown_dir, cd_str(names[i]));
        } else {
            cd_buf_addf(&ignored, "%s%s", ignored.len > 0 ? " and " : "", names[i]);
        }
    }
    if (ignored.len > 0)
        add(problems, DEPLOY_WARNING, cd_buf_str(shown), "ignored beside it: %s", cd_buf_cstr(&ignored));
    cd_buf_deinit(&one);
    cd_buf_deinit(&ignored);
    if (path->len > 0)
        return 0;
    add(problems, DEPLOY_ERROR, CD_STR(""), "no wrangler.jsonc, wrangler.json or wrangler.toml in %.*s",
        (int)shown_dir.len, shown_dir.ptr);
    return CD_ENOTFOUND;
}

/* ---- What the file names ---- */

/* No part of the path below root may be a link: what is deployed is in the project. 0: path is of kind. */
static int look(struct io *io, struct cd_str root, struct cd_str path, enum io_path_kind kind,
                const char **wrong)
{
    struct cd_buf full = {0};
    struct io_path_info info = {0};
    int rc = IO_OK;
    *wrong = NULL;
    for (size_t end = 0; rc == IO_OK && *wrong == NULL && end != SIZE_MAX;) {
        end = cd_str_find(path, '/', end + 1);
        deploy_file_join(&full, root, cd_str_sub(path, 0, end));
        rc = io_path_stat(io, cd_buf_cstr(&full), &info);
        if (rc == IO_OK && info.link)
            *wrong = "a symbolic link: the project must hold the file itself";
    }
    cd_buf_deinit(&full);
    if (rc == IO_NOENT)
        *wrong = "there is no such file";
    else if (rc != IO_OK)
        *wrong = cd_err_text(rc);
    else if (*wrong == NULL && info.kind != kind)
        *wrong = kind == IO_PATH_DIR ? "not a directory" : "not a regular file";
    return *wrong == NULL ? 0 : CD_EINVAL;
}

static int look_at(struct io *io, const struct deploy_project *p, const char *key, struct cd_str path,
                   enum io_path_kind kind, struct deploy_problems *problems)
{
    const char *wrong;
    if (path.len == 0 || look(io, p->root, path, kind, &wrong) == 0)
        return 0;
    struct cd_buf text = {0};
    cd_buf_addf(&text, "%s: %s", path.ptr, wrong);
    struct deploy_problem problem = {
        .severity = DEPLOY_ERROR, .file = p->shown, .path = cd_str(key), .text = cd_buf_str(&text)};
    for (size_t i = 0; i < p->keys; i++) {
        if (cd_str_eq(p->key[i].name, cd_str(key))) {
            problem.line = p->key[i].at.line;
            problem.column = p->key[i].at.column;
        }
    }
    deploy_problems_add(problems, &problem);
    cd_buf_deinit(&text);
    return CD_EINVAL;
}

/* What is wrong around a file that could be parsed. */
static int look_around(struct deploy_project *p, struct io *io, unsigned how,
                       struct deploy_problems *problems)
{
    int rc = look_at(io, p, "main", p->main, IO_PATH_FILE, problems);
    int assets_rc = look_at(io, p, "assets", p->assets.directory, IO_PATH_DIR, problems);
    int vars_rc = (how & DEPLOY_LOAD_DEV) != 0 ? deploy_vars_load(p, io, problems) : 0;
    int served_rc = (how & DEPLOY_LOAD_SERVED) != 0 ? deploy_project_check_served(p, problems) : 0;
    return rc != 0 ? rc : assets_rc != 0 ? assets_rc : vars_rc != 0 ? vars_rc : served_rc;
}

int deploy_project_load(struct deploy_project *p, struct io *io, const char *path, const char *shown,
                        unsigned how, struct deploy_problems *problems)
{
    struct cd_buf file = {0}, shown_file = {0}, text = {0};
    struct cd_str given = cd_str(path), shown_given = cd_str(shown == NULL ? path : shown);
    struct io_path_info info;
    struct deploy_project found;
    size_t before = problems->errors;
    CD_ASSERT(path[0] == '/');
    int rc = io_path_stat(io, path, &info);
    if (rc != IO_OK) {
        add(problems, DEPLOY_ERROR, shown_given, "%s",
            rc == IO_NOENT ? "there is no such file or directory" : cd_err_text(rc));
    } else if (info.kind == IO_PATH_DIR) {
        rc = find(io, given, shown_given, &file, &shown_file, problems);
    } else {
        cd_buf_add_str(&file, given);
        cd_buf_add_str(&shown_file, shown_given);
    }
    if (rc == 0) {
        rc = deploy_file_read(io, cd_buf_cstr(&file), DEPLOY_FILE_MAX, &text);
        if (rc != 0)
            add(problems, DEPLOY_ERROR, cd_buf_str(&shown_file), "cannot be read: %s", cd_err_text(rc));
    }
    if (rc == 0)
        rc = deploy_project_read(&found, cd_buf_cstr(&file), cd_buf_cstr(&shown_file), cd_buf_str(&text),
                                 problems);
    if (rc == 0) {
        bool checked = problems->errors == before;
        rc = look_around(&found, io, how, problems);
        if (rc == 0 && checked) {
            deploy_compat_decide(&found.compat);
            *p = found;
        } else {
            deploy_project_deinit(&found);
            rc = checked ? rc : CD_EINVAL;
        }
    }
    cd_buf_deinit(&file);
    cd_buf_deinit(&shown_file);
    cd_buf_deinit(&text);
    return rc;
}
