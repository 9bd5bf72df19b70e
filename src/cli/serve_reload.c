/* cli/serve_reload.c: a node that ends to come back leaves word of the cells that it had in memory, and its
 * next process has them there before it says that it serves. fleet.md 9.4.
 *
 * The marker says what to activate and nothing about content: each is an ordinary claim, from the snapshot on
 * the disk where that holds. One that is lost, late or wrong costs time only, so it is not synced. */
#include "base/json.h"
#include "cell/cell.h"
#include "cell/id.h"
#include "cli/serve_internal.h"
#include "deploy/files.h"
#include "fleet/node.h"
#include "store/records.h"

#define MARKER CD_STR("reload.json")
#define MARKER_MAX (64u << 20)
#define AT_ONCE_MAX 256u

struct cli_reload {
    struct serve *s;
    struct cd_json_doc *doc; /* owned; NULL: there is nothing to do. */
    const struct cd_json *cells, *next; /* Of doc. next: the last one that was started. */
    size_t left, failed; /* left: of those that were not started yet. */
    unsigned pending;
};

struct comeback {
    struct cli_reload *r;
    struct cell_wire *wire;
    bool elsewhere;
};

/* ---- The end ---- */

static bool note(void *arg, const struct cell_view *v)
{
    struct cd_buf *out = arg;
    if (strcmp(v->phase, "resident") == 0) {
        if (out->len > 0)
            cd_buf_add_byte(out, ',');
        cd_json_quote(out, v->scope);
    }
    return true;
}

void cli_reload_note(struct shard *shard)
{
    if (shard->s->preserve && !shard->s->sole && shard->cells != NULL)
        cell_shard_each(shard->cells, (struct cd_str){0}, note, &shard->residents);
}

void cli_reload_leave(struct serve *s)
{
    struct cd_buf cells = {0}, text = {0}, path = {0};
    struct cd_json_out o;
    cd_buf_add_byte(&cells, '[');
    for (unsigned i = 0; i < s->shards; i++) {
        if (s->shard[i].residents.len > 0 && cells.len > 1)
            cd_buf_add_byte(&cells, ',');
        cd_buf_add_str(&cells, cd_buf_str(&s->shard[i].residents));
        cd_buf_deinit(&s->shard[i].residents);
    }
    bool any = cells.len > 1;
    cd_buf_add_byte(&cells, ']');
    if (any && fleet_node_sealed(s->node)) {
        cd_json_out_init(&o, &text);
        cd_json_out_object(&o);
        cd_json_out_key(&o, "v");
        cd_json_out_u64(&o, 1);
        cd_json_out_key(&o, "node");
        cd_json_out_str(&o, cd_str(fleet_node_self(s->node)->node));
        cd_json_out_key(&o, "generation");
        cd_json_out_str(&o, cd_str(fleet_node_self(s->node)->generation));
        cd_json_out_key(&o, "cells");
        cd_json_out_raw(&o, cd_buf_str(&cells));
        cd_json_out_end(&o, '}');
        deploy_file_join(&path, cd_str(s->data_dir), MARKER);
        int rc = deploy_file_write(s->control, cd_buf_cstr(&path), cd_buf_str(&text));
        cd_event(s->control, rc == 0 ? CD_INFO : CD_WARN, "reload_marker",
                 CD_Z("outcome", rc == 0 ? "written" : cd_err_text(rc)));
    }
    cd_buf_deinit(&path);
    cd_buf_deinit(&text);
    cd_buf_deinit(&cells);
}

/* ---- The start ---- */

/* Whether root is a marker of the session whose record our lease replaced: nobody took over in between. */
static bool follows(const struct serve *s, const struct cd_json *root)
{
    struct cd_str node, generation, was_node, was_generation;
    return cd_json_str(cd_json_get(root, "node"), &node) == 0 &&
           cd_json_str(cd_json_get(root, "generation"), &generation) == 0 &&
           store_session_split(fleet_node_predecessor(s->node), &was_node, &was_generation) &&
           cd_str_eq(node, was_node) && cd_str_eq(generation, was_generation) &&
           cd_json_kind(cd_json_get(root, "cells")) == CD_JSON_ARRAY;
}

/* The marker of the session that this node's lease has followed, or NULL. It is gone after that. */
static struct cd_json_doc *marker_take(struct serve *s)
{
    struct cd_buf path = {0}, text = {0}, why = {0};
    struct cd_json_doc *doc = NULL;
    deploy_file_join(&path, cd_str(s->data_dir), MARKER);
    int rc = deploy_file_read(s->control, cd_buf_cstr(&path), MARKER_MAX, &text);
    if (rc != IO_NOENT) {
        int removed = io_path_remove(s->control, cd_buf_cstr(&path));
        if (rc == IO_OK)
            rc = removed;
        if (rc == IO_OK)
            rc = cd_json_parse(&doc, cd_buf_str(&text), &why);
        const struct cd_json *root = rc == IO_OK ? cd_json_root(doc) : NULL;
        bool ours = follows(s, root);
        if (!ours) {
            cd_event(s->control, CD_INFO, "reload_marker",
                     CD_Z("outcome", rc != IO_OK ? "unreadable" : "of another session"),
                     CD_S("error", cd_buf_str(&why)));
            cd_json_free(doc);
            doc = NULL;
        }
    }
    cd_buf_deinit(&why);
    cd_buf_deinit(&text);
    cd_buf_deinit(&path);
    return doc;
}

static void advance(struct cli_reload *r);

static void came(void *arg, struct cell_wire *w, const struct cell_close *why)
{
    struct comeback *b = arg;
    struct cli_reload *r = b->r;
    r->failed += b->elsewhere || why->text.len > 0;
    r->pending--;
    cell_wire_close(w, NULL);
    cd_free(b);
    advance(r);
}

static void is_elsewhere(void *arg, struct cell_wire *w, struct cd_buf *bytes)
{
    struct comeback *b = arg;
    (void)w, (void)bytes; /* Who has it. */
    b->elsewhere = true;
}

static const struct cell_wire_hooks hooks = {is_elsewhere, came, NULL, NULL};

static void activate(struct cli_reload *r, struct cd_str scope)
{
    struct serve *s = r->s;
    struct comeback *b = cd_new(struct comeback);
    b->r = r;
    r->pending++;
    b->wire = cell_call(s->router, s->control, &(struct cell_target){.scope = scope, .activate = true}, NULL);
    cell_wire_attach(b->wire, &hooks, b);
}

static void advance(struct cli_reload *r)
{
    struct cd_str scope;
    while (r->left > 0 && r->pending < AT_ONCE_MAX && !r->s->stopping) {
        r->next = cd_json_next(r->cells, r->next, NULL);
        r->left--;
        if (cd_json_str(r->next, &scope) == 0 && cell_scope_valid(scope))
            activate(r, scope);
        else
            r->failed++;
    }
    if (r->pending > 0 || r->doc == NULL)
        return;
    cd_event(r->s->control, CD_INFO, "reload_resumed",
             CD_U("cells", cd_json_count(r->cells) - r->failed - r->left),
             CD_U("failed", r->failed + r->left));
    cd_json_free(r->doc);
    r->doc = NULL;
}

void cli_reload_begin(struct serve *s)
{
    struct cli_reload *r = s->reload = cd_new(struct cli_reload);
    r->s = s;
    r->doc = s->sole ? NULL : marker_take(s);
    r->cells = r->doc == NULL ? NULL : cd_json_get(cd_json_root(r->doc), "cells");
    r->left = cd_json_count(r->cells);
    if (r->doc != NULL)
        advance(r);
}

bool cli_reload_over(const struct serve *s)
{
    return s->reload == NULL || s->reload->doc == NULL;
}

void cli_reload_free(struct serve *s)
{
    if (s->reload == NULL)
        return;
    cd_json_free(s->reload->doc);
    cd_free(s->reload);
    s->reload = NULL;
}
