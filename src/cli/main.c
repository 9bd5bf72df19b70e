/* cli/main.c: where the program begins, and where the real system is put under it. All the rest of src/cli
 * works on values. */
#include "cli/command.h"
#include "db/db.h"
#include "io_real/bucket.h"
#include "io_real/io_real.h"
#include "js/worker.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BUILT_FOR_DEBUG true
#else
#define BUILT_FOR_DEBUG false
#endif

struct program {
    struct cli c;
    struct io_real_store *added; /* owned; of store_add. */
    struct io_bucket *bucket; /* owned; of it. */
};

/* The store that the node's loops share: a bucket, or the embedded one of celld dev. */
static int store_open(struct cli *c, const struct cli_node *n, struct io_real_store **out)
{
    struct cd_buf url = {0}, why = {0};
    const struct cli_value *v = c->settings.value;
    bool other = !cli_given(&c->parsed, CLI_REGION) && !cli_is_set(&c->settings, CLI_SET_REGION);
    const struct io_real_store_opts opts = {
        .endpoint = cd_str_trim(cli_either(c, CLI_ENDPOINT, CLI_SET_ENDPOINT)),
        .region = cd_str_trim(cli_either(c, CLI_REGION, other ? CLI_SET_DEFAULT_REGION : CLI_SET_REGION)),
        .access_key = v[CLI_SET_AWS_ACCESS_KEY_ID].text,
        .secret_key = v[CLI_SET_AWS_SECRET_ACCESS_KEY].text,
        .session_token = v[CLI_SET_AWS_SESSION_TOKEN].text,
    };
    struct io_real_store_opts o = opts;
    if (n->dev_store.len > 0)
        cd_buf_addf(&url, "file://%.*s", (int)n->dev_store.len, n->dev_store.ptr);
    else
        cd_buf_add_str(&url, n->bucket);
    o.url = cd_buf_str(&url);
    int rc = io_real_store_open(out, &o, &why);
    if (rc != 0)
        rc = cli_fail(c, "%s", cd_buf_cstr(&why));
    cd_buf_deinit(&url);
    cd_buf_deinit(&why);
    return rc;
}

static int store_add(struct cli *c, struct io *io, struct cd_str dev_store)
{
    struct program *p = CD_CONTAINER(c, struct program, c);
    CD_ASSERT(p->added == NULL);
    int rc = store_open(c, &(struct cli_node){.dev_store = dev_store}, &p->added);
    if (rc != 0)
        return rc;
    p->bucket = io_real_bucket_open(p->added, io);
    io_real_set_bucket(io, p->bucket);
    return 0;
}

static void added_close(struct program *p, struct io *control)
{
    if (p->added == NULL)
        return;
    io_real_set_bucket(control, NULL);
    io_real_bucket_close(p->bucket);
    io_real_store_close(p->added);
    p->added = NULL;
}

static int run_node(struct cli *c, const struct cli_node *n)
{
    struct io_real_store *store = NULL;
    uint64_t fd_limit = io_real_raise_fd_limit();
    if (n->fd_limit != NULL)
        *n->fd_limit = fd_limit;
    if (n->bucket.len > 0 || n->dev_store.len > 0) {
        int rc = store_open(c, n, &store);
        if (rc != 0)
            return rc;
    }
    struct io_real *node = io_real_new(&(struct io_real_opts){.shards = n->shards,
                                                              .pin = n->shards > 1,
                                                              .log_fd = 1,
                                                              .log_format = n->log_format,
                                                              .log_filter = n->log_filter});
    struct io_bucket *bucket[1 + CLI_SHARDS_MAX] = {0};
    for (unsigned i = 0; store != NULL && i < io_real_loops(node); i++) {
        bucket[i] = io_real_bucket_open(store, io_real_loop(node, i));
        io_real_set_bucket(io_real_loop(node, i), bucket[i]);
    }
    if (n->signaled != NULL)
        io_real_on_signal(node, n->signaled, n->arg);
    io_real_run(node, n->entry, n->arg);
    added_close(CD_CONTAINER(c, struct program, c), io_real_loop(node, 0));
    for (unsigned i = 0; store != NULL && i < io_real_loops(node); i++) {
        io_real_set_bucket(io_real_loop(node, i), NULL);
        io_real_bucket_close(bucket[i]);
    }
    io_real_free(node);
    if (store != NULL)
        io_real_store_close(store);
    return 0;
}

static void give_up(struct io *control, int code)
{
    io_real_quit(io_real_of(control), code);
}

static void warm_entry(struct io *io, void *arg)
{
    (void)arg;
    js_worker_platform(false);
    io_stop(io);
}

/* What the node of celld dev has behind it when it is told what to serve. */
static void warm(void)
{
    struct io_real *node = io_real_new(&(struct io_real_opts){.log_fd = -1});
    io_real_run(node, warm_entry, NULL);
    io_real_free(node);
}

static int run(int argc, char **argv, char **envp)
{
    /* A loop without a log: what a command says, it writes itself. SIGPIPE is ignored from here on. */
    struct io_real *node = io_real_new(&(struct io_real_opts){.log_fd = -1});
    struct program p = {.c = {
                            .io = io_real_loop(node, 0),
                            .args = (const char *const *)(argc > 0 ? argv + 1 : argv),
                            .env = (const char *const *)envp,
                            .debug = BUILT_FOR_DEBUG,
                            .run_node = run_node,
                            .give_up = give_up,
                            .store_add = store_add,
                            .threads = io_real_cpu_count(),
                        }};
    int code = cli_run(&p.c);
    io_real_free(node);
    return code;
}

int main(int argc, char **argv, char **envp)
{
    io_real_guard_console();
    db_setup();
    /* celld dev runs a node: this program again. */
    if (argc > 1 && strcmp(argv[1], "dev") == 0)
        io_real_spare(warm, run);
    return run(argc, argv, envp);
}
