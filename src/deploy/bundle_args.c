/* deploy/bundle_args.c: how esbuild is called (config.md 6.2). */
#include <stdarg.h>

#include "deploy/bundle_internal.h"

/* As bare names and with node: in front these are the runtime's, with everything below them. */
static const char *const builtins[] = {
    "assert",
    "async_hooks",
    "buffer",
    "child_process",
    "cluster",
    "console",
    "constants",
    "crypto",
    "dgram",
    "diagnostics_channel",
    "dns",
    "domain",
    "events",
    "fs",
    "http",
    "http2",
    "https",
    "inspector",
    "module",
    "net",
    "os",
    "path",
    "perf_hooks",
    "process",
    "punycode",
    "querystring",
    "readline",
    "repl",
    "sqlite",
    "stream",
    "string_decoder",
    "sys",
    "timers",
    "tls",
    "trace_events",
    "tty",
    "url",
    "util",
    "v8",
    "vm",
    "wasi",
    "worker_threads",
    "zlib",
    "test",
};

/* `require` of bundled CommonJS for what is not in the bundle: lexical, so that no global appears. */
#define REQUIRE_BRIDGE                                                                                       \
    "var require = (id) => { const found = globalThis.process?.getBuiltinModule?.(id); if (found) return "   \
    "found; "                                                                                                \
    "throw Object.assign(new Error(\"Cannot find module '\" + id + \"'\"), { code: \"MODULE_NOT_FOUND\" "    \
    "}); };"

static const struct {
    const char *extension, *loader;
} loaders[] = {
    {".wasm", "copy"},  {".txt", "text"}, {".html", "text"}, {".sql", "text"},
    {".bin", "binary"}, {".js", "jsx"},   {".mjs", "jsx"},   {".cjs", "jsx"},
};

void deploy_words_addf(struct deploy_words *w, const char *format, ...)
{
    struct cd_buf text = {0};
    va_list args;
    va_start(args, format);
    cd_buf_vaddf(&text, format, args);
    va_end(args);
    if (w->count + 2 > w->cap) {
        w->cap = w->cap == 0 ? 128 : w->cap * 2;
        w->word = cd_realloc(w->word, w->cap * sizeof *w->word);
    }
    w->word[w->count++] = cd_arena_copy(w->arena, cd_buf_str(&text)).ptr;
    w->word[w->count] = NULL;
    cd_buf_deinit(&text);
}

static bool has_rule(const struct deploy_project *p, const char *extension)
{
    for (size_t i = 0; i < p->rules; i++) {
        if (cd_str_eq(p->rule[i].extension, cd_str(extension)))
            return true;
    }
    return false;
}

static const char *loader_name(enum deploy_loader loader)
{
    switch (loader) {
    case DEPLOY_LOADER_TEXT: return "text";
    case DEPLOY_LOADER_BINARY: return "binary";
    case DEPLOY_LOADER_COPY: return "copy";
    }
    CD_UNREACHABLE();
}

static void add_loaders(struct deploy_words *w, const struct deploy_project *p)
{
    for (size_t i = 0; i < CD_COUNT(loaders); i++) {
        if (!has_rule(p, loaders[i].extension))
            deploy_words_addf(w, "--loader:%s=%s", loaders[i].extension, loaders[i].loader);
    }
    for (size_t i = 0; i < p->rules; i++)
        deploy_words_addf(w, "--loader:%s=%s", p->rule[i].extension.ptr, loader_name(p->rule[i].loader));
}

static void add_defines(struct deploy_words *w, const struct deploy_project *p, bool dev)
{
    bool mode = false, agent = false;
    for (size_t i = 0; i < p->defines; i++) {
        const struct deploy_pair *d = &p->define[i];
        mode |= cd_str_eq(d->name, CD_STR("process.env.NODE_ENV"));
        agent |= cd_str_eq(d->name, CD_STR("navigator.userAgent"));
        deploy_words_addf(w, "--define:%s=%s", d->name.ptr, d->value.ptr);
    }
    if (!mode)
        deploy_words_addf(w, "--define:process.env.NODE_ENV=\"%s\"", dev ? "development" : "production");
    if (!agent)
        deploy_words_addf(w, "--define:navigator.userAgent=\"Cloudflare-Workers\"");
}

void deploy_esbuild_args(struct deploy_words *w, const struct deploy_project *p, const char *out, bool dev)
{
    static const char *const fixed[] = {
        "--bundle",
        "--format=esm",
        "--platform=browser",
        "--target=es2024",
        "--conditions=workerd,worker,browser",
        "--main-fields=browser,module,main",
        "--external:node:*",
        "--external:cloudflare:*",
        "--banner:js=" REQUIRE_BRIDGE,
        "--entry-names=index",
        "--asset-names=[name]-[hash]",
        "--log-level=warning",
        "--charset=utf8",
        "--legal-comments=none",
    };
    deploy_words_addf(w, "./%s", p->main.ptr);
    for (size_t i = 0; i < CD_COUNT(fixed); i++)
        deploy_words_addf(w, "%s", fixed[i]);
    for (size_t i = 0; i < CD_COUNT(builtins); i++)
        deploy_words_addf(w, "--external:%s", builtins[i]);
    add_loaders(w, p);
    add_defines(w, p, dev);
    for (size_t i = 0; i < p->aliases; i++)
        deploy_words_addf(w, "--alias:%s=%s", p->alias[i].name.ptr, p->alias[i].value.ptr);
    if (p->minify)
        deploy_words_addf(w, "--minify");
    if (p->keep_names)
        deploy_words_addf(w, "--keep-names");
    if (p->tsconfig.len > 0)
        deploy_words_addf(w, "--tsconfig=%s", p->tsconfig.ptr);
    if (p->jsx_factory.len > 0)
        deploy_words_addf(w, "--jsx-factory=%s", p->jsx_factory.ptr);
    if (p->jsx_fragment.len > 0)
        deploy_words_addf(w, "--jsx-fragment=%s", p->jsx_fragment.ptr);
    if (dev) {
        deploy_words_addf(w, "--sourcemap=external");
        deploy_words_addf(w, "--sources-content=false");
    }
    deploy_words_addf(w, "--outdir=%s/out", out);
    deploy_words_addf(w, "--metafile=%s/meta.json", out);
}

bool deploy_esbuild_is_recent(struct cd_str version)
{
    static const uint64_t want[] = {0, 21};
    struct cd_str rest = cd_str_trim(version), piece;
    for (size_t i = 0; i < CD_COUNT(want) && cd_str_next(&rest, '.', &piece); i++) {
        uint64_t number;
        if (cd_str_u64(piece, &number) != 0)
            return true;
        if (number != want[i])
            return number > want[i];
    }
    return true;
}
