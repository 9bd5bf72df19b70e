/* cli/cells.c: the cells of a bucket, row by row: see cells.h. */
#include "cli/cells.h"

#include "base/json.h"
#include "cli/command.h"
#include "cli/text.h"
#include "log/shorten.h"
#include "store/bucket_url.h"
#include "store/names.h"
#include "store/retry.h"

#define CELLS CD_STR("cells/")
#define GRACE_SECS 3600u
#define LIMIT 1000u
#define PROGRESS_NS IO_SEC(1)

/* ---- Rows ---- */

struct row {
    struct cd_str scope, class_name, id; /* class_name.ptr NULL: it has none. */
};

/* Of a common prefix "cells/SCOPE/". */
static bool row_read(struct cd_str key, struct row *out)
{
    struct cd_str scope = cd_str_sub(key, CELLS.len, key.len - CELLS.len - 1);
    size_t colon = cd_str_find(scope, ':', 0);
    *out = (struct row){.scope = scope, .id = scope};
    if (colon != SIZE_MAX) {
        out->class_name = cd_str_sub(scope, 0, colon);
        out->id = cd_str_sub(scope, colon + 1, SIZE_MAX);
    }
    return store_scope_valid(scope);
}

static void text_value(struct cd_json_out *o, const char *key, struct cd_str value)
{
    cd_json_out_key(o, key);
    if (value.ptr != NULL)
        cd_json_out_str(o, value);
    else
        cd_json_out_null(o);
}

static bool put_row(struct cli_cells *l, struct cd_buf *row)
{
    bool goes_on = cli_out_row(l->out, cd_buf_str(row));
    cd_buf_deinit(row);
    l->rows++;
    return goes_on;
}

/* False: nobody reads on. */
static bool list_row(struct cli_cells *l, const struct row *r)
{
    struct cd_buf text = {0};
    struct cd_json_out o;
    if (!l->json) {
        cd_buf_add_str(&text, r->scope);
        return put_row(l, &text);
    }
    cd_json_out_init(&o, &text);
    cd_json_out_object(&o);
    text_value(&o, "scope", r->scope);
    text_value(&o, "class", r->class_name);
    text_value(&o, "id", r->id);
    cd_json_out_key(&o, "reserved");
    cd_json_out_bool(&o, cd_str_starts(r->class_name, CD_STR("__")));
    cd_json_out_end(&o, '}');
    return put_row(l, &text);
}

static bool gc_row(struct cli_cells *l, const struct log_retirable *g)
{
    struct cd_buf text = {0};
    struct cd_json_out o;
    if (!l->json) {
        cd_buf_add_str(&text, g->scope);
        for (size_t i = 0; i < g->epochs; i++)
            cd_buf_addf(&text, " e%llu", (unsigned long long)g->epoch[i]);
        cd_buf_addf(&text, " %llu bytes (below base e%llu)", (unsigned long long)g->bytes,
                    (unsigned long long)g->base);
        return put_row(l, &text);
    }
    cd_json_out_init(&o, &text);
    cd_json_out_object(&o);
    text_value(&o, "scope", g->scope);
    cd_json_out_key(&o, "epochs");
    cd_json_out_array(&o);
    for (size_t i = 0; i < g->epochs; i++)
        cd_json_out_u64(&o, g->epoch[i]);
    cd_json_out_end(&o, ']');
    cd_json_out_key(&o, "base");
    cd_json_out_u64(&o, g->base);
    cd_json_out_key(&o, "bytes");
    cd_json_out_u64(&o, g->bytes);
    cd_json_out_end(&o, '}');
    return put_row(l, &text);
}

/* *goes_on: somebody reads on. */
static int gc_look(struct cli_cells *l, const struct row *r, bool *goes_on)
{
    struct log_retirable g = {.io = l->io, .bucket = l->bucket, .scope = r->scope, .grace_ms = l->grace_ms};
    int rc = log_retirable(&g);
    if (rc == IO_OK && g.epochs > 0)
        *goes_on = gc_row(l, &g);
    if (rc != IO_OK && rc != IO_CANCELED) {
        struct cd_buf line = {0};
        cd_buf_addf(&line, "skipped %.*s: ", (int)r->scope.len, r->scope.ptr);
        cli_echo(&line, cd_buf_str(&g.why));
        cli_say(l->io, cd_buf_str(&line));
        cd_buf_deinit(&line);
        l->unreadable++;
        rc = IO_OK;
    }
    cd_free(g.epoch);
    cd_buf_deinit(&g.why);
    return rc;
}

/* ---- What people hear ---- */

struct progress {
    uint64_t began_ns, told_ns, seen, requests;
    bool tty, open; /* open: a line that will be written over stands on the terminal. */
};

static void say_progress(struct cli_cells *l, struct progress *p, bool last)
{
    struct cd_buf line = {0};
    uint64_t now = io_now_ns(l->io), took = (now - p->began_ns) / IO_MS(100);
    if (l->limit > 0 || (!last && now - p->told_ns < PROGRESS_NS))
        return;
    p->told_ns = now;
    cd_buf_addf(&line, "%s%llu cells, %llu requests", p->open ? "\r" : "", (unsigned long long)p->seen,
                (unsigned long long)p->requests);
    if (last)
        cd_buf_addf(&line, ", %llu.%llu s", (unsigned long long)(took / 10), (unsigned long long)(took % 10));
    p->open = p->tty && !last;
    if (!p->open)
        cd_buf_add_byte(&line, '\n');
    int rc = io_console_write(l->io, IO_STDERR, cd_buf_str(&line));
    CD_MAYBE(rc != 0);
    cd_buf_deinit(&line);
}

static void say_end(struct cli_cells *l, struct progress *p, bool more, struct cd_str last)
{
    struct cd_buf line = {0};
    say_progress(l, p, true);
    if (more)
        cd_buf_addf(&line, "%llu cell%s shown; more exist. Continue with --after %.*s",
                    (unsigned long long)l->rows, l->rows == 1 ? "" : "s", (int)last.len, last.ptr);
    else if (l->rows > 0)
        return;
    else if (l->gc)
        cd_buf_addf(&line, "no superseded epochs to delete");
    else if (l->class_name.len > 0)
        cd_buf_addf(&line, "no cells of class %.*s", (int)l->class_name.len, l->class_name.ptr);
    else
        cd_buf_addf(&line, "no cells");
    cli_say(l->io, cd_buf_str(&line));
    cd_buf_deinit(&line);
}

/* ---- The walk ---- */

struct walk {
    struct io_list page;
    struct cd_buf after, last; /* Keys: where the next page begins; of the last row. */
    bool full, unread; /* The limit is reached; nobody reads on. */
    struct progress progress;
};

static int page_rows(struct cli_cells *l, struct walk *w)
{
    int rc = IO_OK;
    for (unsigned i = 0; i < w->page.count && rc == IO_OK && !w->unread; i++) {
        const struct io_entry *e = &w->page.entry[i];
        struct row r;
        bool goes_on = true;
        uint64_t before = l->rows;
        w->full = l->limit > 0 && l->rows >= l->limit;
        if (w->full)
            return IO_OK; /* Of gc: more of this page were to be looked at. */
        cd_buf_clear(&w->after);
        cd_buf_add_str(&w->after, e->key);
        if (!e->is_prefix || !row_read(e->key, &r))
            continue; /* Nothing that celld has written. */
        w->progress.seen++;
        if (l->gc)
            rc = gc_look(l, &r, &goes_on);
        else
            goes_on = list_row(l, &r);
        w->unread = !goes_on;
        if (l->rows > before) {
            cd_buf_clear(&w->last);
            cd_buf_add_str(&w->last, r.scope);
        }
    }
    w->full = w->full || (l->limit > 0 && l->rows >= l->limit && w->page.more);
    return rc;
}

static unsigned page_size(const struct cli_cells *l)
{
    uint64_t left = l->limit - l->rows;
    return l->gc || l->limit == 0 || left > IO_LIST_MAX ? IO_LIST_MAX : (unsigned)left;
}

int cli_cells_run(struct cli_cells *l)
{
    struct store_policy policy = store_policy_of(IO_LANE_CONTROL, 0);
    struct walk w = {.page.delimiter = '/'};
    struct cd_buf prefix = {0};
    int rc;
    w.progress = (struct progress){.began_ns = io_now_ns(l->io),
                                   .told_ns = io_now_ns(l->io),
                                   .tty = io_console_is_tty(l->io, IO_STDERR)};
    cd_buf_add_str(&prefix, CELLS);
    if (l->class_name.len > 0)
        cd_buf_addf(&prefix, "%.*s:", (int)l->class_name.len, l->class_name.ptr);
    if (l->after.len > 0)
        cd_buf_addf(&w.after, "cells/%.*s/", (int)l->after.len, l->after.ptr);
    do {
        rc = store_retry_list(&w.page, l->io, l->bucket, cd_buf_str(&prefix), cd_buf_str(&w.after),
                              page_size(l), &policy);
        if (rc != IO_OK && rc != IO_CANCELED)
            cd_buf_addf(&l->why, "cannot list %s: %s", cd_buf_cstr(&prefix), w.page.why);
        w.progress.requests++;
        if (rc == IO_OK)
            rc = page_rows(l, &w);
        if (rc == IO_OK && !w.unread && w.page.more)
            say_progress(l, &w.progress, false);
    } while (rc == IO_OK && w.page.more && !w.full && !w.unread);
    if (rc == IO_OK && !w.unread && cli_out_flush(l->out))
        say_end(l, &w.progress, w.full, cd_buf_str(&w.last));
    io_list_deinit(&w.page);
    cd_buf_deinit(&w.after);
    cd_buf_deinit(&w.last);
    cd_buf_deinit(&prefix);
    return rc;
}

/* ---- The commands ---- */

struct run {
    struct cli *c;
    struct io_fiber *flow;
    struct cli_out out;
    struct cli_cells cells;
    int rc;
};

static void flow(void *arg)
{
    struct run *r = arg;
    r->rc = cli_cells_run(&r->cells);
    r->flow = NULL;
    io_stop(r->cells.io);
}

static void entry(struct io *io, void *arg)
{
    struct run *r = arg;
    cli_out_init(&r->out, io);
    r->cells.io = io;
    r->cells.bucket = io_bucket(io);
    r->cells.out = &r->out;
    r->flow = io_spawn(io, "cells", flow, r);
}

static void signaled(struct io *io, int signal, void *arg)
{
    struct run *r = arg;
    (void)io, (void)signal;
    if (r->flow != NULL)
        io_fiber_cancel(r->flow);
}

static int run(struct cli *c, bool gc)
{
    const struct cli_args *a = &c->parsed;
    uint64_t limit = LIMIT, grace = GRACE_SECS;
    if (cli_given(a, CLI_LIMIT) && cli_text_number(a->value[CLI_LIMIT], &limit) != NULL)
        CD_UNREACHABLE(); /* cli_check_listing has looked. */
    if (cli_given(a, CLI_GRACE_SECS) && cd_str_u64(a->value[CLI_GRACE_SECS], &grace) != 0)
        CD_UNREACHABLE(); /* cli_check_cell_gc has looked. */
    struct run r = {.c = c,
                    .cells = {.class_name = a->positional_count > 0 ? a->positional[0] : CD_STR(""),
                              .after = cli_given(a, CLI_AFTER) ? a->value[CLI_AFTER] : CD_STR(""),
                              .limit = cli_given(a, CLI_ALL) ? 0 : limit,
                              .json = cli_given(a, CLI_JSON),
                              .gc = gc,
                              .grace_ms = grace > UINT64_MAX / 1000 ? UINT64_MAX : grace * 1000}};
    struct cli_node node = {.bucket = cd_str_trim(cli_either(c, CLI_BUCKET, CLI_SET_BUCKET)),
                            .log_filter = CD_STR("off"),
                            .entry = entry,
                            .signaled = signaled,
                            .arg = &r};
    int rc = c->run_node(c, &node);
    if (rc != 0)
        return rc;
    r.out.io = c->io; /* The loop it ran on is gone. */
    rc = cli_out_end(&r.out, &c->error);
    if (rc == 0 && r.rc != IO_OK)
        rc = r.rc == IO_CANCELED ? cli_fail(c, "interrupted") : cli_fail(c, "%s", cd_buf_cstr(&r.cells.why));
    else if (rc == 0 && r.cells.unreadable > 0)
        rc = cli_fail(c, "celld cell gc could not read %llu cell(s); the report is incomplete",
                      (unsigned long long)r.cells.unreadable);
    cli_out_deinit(&r.out);
    cd_buf_deinit(&r.cells.why);
    return rc;
}

int cli_cell_list(struct cli *c)
{
    return run(c, false);
}

int cli_cell_gc(struct cli *c)
{
    return run(c, true);
}
