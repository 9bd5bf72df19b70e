#include "log/restore.h"

#include <stdio.h>

#include "store/retry.h"

#define DOWNLOADS_MAX 64u /* At once, per call, */
#define DOWNLOAD_BYTES (64u << 20) /* and so many bytes, or one larger object. */
#define STEP_BYTES (1u << 20) /* Applied between two turns of the loop. */
#define RELISTS_MAX 3u /* An object that is gone: epoch GC, which leaves a chain of its own (5.11). */
#define OBJECTS_MAX (1u << 20) /* Of one listing. */
#define HEADS_MAX 8u /* Headers read at once: the epochs of a chain that its owner keeps short (5.14). */

const char *log_restore_end_name(enum log_restore_end end)
{
    switch (end) {
    case LOG_RESTORE_DONE: return "done";
    case LOG_RESTORE_NO_DATA: return "no_data";
    case LOG_RESTORE_REFUSED: return "refused";
    case LOG_RESTORE_GAP: return "gap";
    case LOG_RESTORE_CORRUPT: return "corrupt";
    case LOG_RESTORE_CUT_MISSED: return "cut_missed";
    case LOG_RESTORE_FAILED: return "failed";
    }
    CD_UNREACHABLE();
}

struct objects {
    struct ltx_object *object; /* owned */
    size_t count, cap;
};

/* The first object of an epoch of the chain: its header, and what else of it costs no more. */
struct head {
    struct io_store get;
    struct cd_buf key;
    struct ltx_object of;
    bool all; /* All of the object is asked for, */
    bool here; /* and the answer is in get.body. */
};

struct work {
    struct log_restore *r;
    struct ltx_chain chain;
    /* Everything below the cell's prefix, when one page of a listing has it: most cells need no more. */
    bool whole;
    struct objects all;
    uint64_t lowest; /* Epoch that has objects. */
    struct head *head; /* owned, HEADS_MAX. What the chain asked for, and what it is about to ask for. */
    unsigned heads;
    struct io_file file;
    struct cd_buf tmp; /* Path of file. */
    void *page; /* owned */
};

/* ---- How it ends ---- */

static int ends(struct work *w, enum log_restore_end end, struct cd_str why)
{
    w->r->end = end;
    (void)snprintf(w->r->why, sizeof w->r->why, "%.*s", (int)why.len, why.ptr == NULL ? "" : why.ptr);
    return IO_OK;
}

static int ends_with(struct work *w, enum log_restore_end end, struct cd_str object, const char *why)
{
    struct cd_buf text = {0};
    cd_buf_addf(&text, "%.*s: %s", (int)object.len, object.ptr, why);
    int rc = ends(w, end, cd_buf_str(&text));
    cd_buf_deinit(&text);
    return rc;
}

static enum log_restore_end end_of(enum ltx_fault fault)
{
    switch (fault) {
    case LTX_FAULT_NO_DATA: return LOG_RESTORE_NO_DATA;
    case LTX_FAULT_GAP: return LOG_RESTORE_GAP;
    case LTX_FAULT_CORRUPT: return LOG_RESTORE_CORRUPT;
    case LTX_FAULT_NOT_AVAILABLE: return LOG_RESTORE_CUT_MISSED;
    case LTX_FAULT_NONE: break;
    }
    CD_UNREACHABLE();
}

/* ---- Listing ---- */

static void take(struct objects *o, const struct io_entry *e)
{
    struct ltx_name n;
    if (ltx_key_parse(e->key, &n) != 0)
        return; /* retired.json, and what is nobody's. */
    if (o->count == o->cap) {
        o->cap = o->cap == 0 ? 16 : o->cap * 2;
        o->object = cd_realloc(o->object, o->cap * sizeof *o->object);
    }
    o->object[o->count++] =
        (struct ltx_object){n.epoch, n.level, n.min_txid, n.max_txid, e->size, e->modified_ms};
}

/* All pages of prefix, or the first one only; *more tells whether there is another. */
static int list(struct work *w, struct cd_str prefix, char delimiter, bool first_page, struct io_list *l,
                void (*each)(struct work *w, const struct io_entry *e, void *arg), void *arg, bool *more)
{
    struct store_policy p = store_policy_of(IO_LANE_DATA, 0);
    struct cd_buf after = {0};
    int rc;
    size_t count = 0;
    l->delimiter = delimiter;
    do {
        rc = store_retry_list(l, w->r->io, w->r->bucket, prefix, cd_buf_str(&after), IO_LIST_MAX, &p);
        if (rc != IO_OK)
            break;
        for (unsigned i = 0; i < l->count; i++)
            each(w, &l->entry[i], arg);
        count += l->count;
        if (l->count > 0) {
            cd_buf_clear(&after);
            cd_buf_add_str(&after, l->entry[l->count - 1].key);
        }
        *more = l->more;
    } while (l->more && !first_page && count < OBJECTS_MAX);
    cd_buf_deinit(&after);
    if (rc != IO_OK && rc != IO_CANCELED)
        (void)ends_with(w, LOG_RESTORE_FAILED, prefix, l->why);
    return rc;
}

static void each_object(struct work *w, const struct io_entry *e, void *arg)
{
    (void)w;
    if (!e->is_prefix)
        take(arg, e);
}

struct epochs {
    uint64_t *epoch; /* owned */
    size_t count, cap;
};

static void epoch_add(struct epochs *s, uint64_t epoch)
{
    if (s->count > 0 && s->epoch[s->count - 1] == epoch)
        return;
    if (s->count == s->cap) {
        s->cap = s->cap == 0 ? 16 : s->cap * 2;
        s->epoch = cd_realloc(s->epoch, s->cap * sizeof *s->epoch);
    }
    s->epoch[s->count++] = epoch;
}

static void each_epoch(struct work *w, const struct io_entry *e, void *arg)
{
    uint64_t epoch;
    if (e->is_prefix && ltx_key_parse_epoch(e->key, w->r->scope, &epoch) == 0)
        epoch_add(arg, epoch);
}

static int list_epochs(struct work *w, struct epochs *out)
{
    struct cd_buf prefix = {0};
    struct io_list l = {0};
    bool more = false;
    ltx_key_cell(&prefix, w->r->scope);
    w->all.count = 0;
    int rc = list(w, cd_buf_str(&prefix), 0, true, &l, each_object, &w->all, &more);
    w->whole = rc == IO_OK && !more;
    if (w->whole) {
        for (size_t i = 0; i < w->all.count; i++)
            epoch_add(out, w->all.object[i].epoch);
    } else if (rc == IO_OK) {
        rc = list(w, cd_buf_str(&prefix), '/', false, &l, each_epoch, out, &more);
    }
    io_list_deinit(&l);
    cd_buf_deinit(&prefix);
    return rc;
}

/* The objects of the epoch that the chain looks at. */
static int list_epoch(struct work *w, enum ltx_chain_step *step)
{
    struct objects some = {0};
    int rc = IO_OK;
    if (w->whole) {
        size_t from = 0, to;
        while (from < w->all.count && w->all.object[from].epoch != w->chain.epoch)
            from++;
        for (to = from; to < w->all.count && w->all.object[to].epoch == w->chain.epoch;)
            to++;
        *step = ltx_chain_listed(&w->chain, w->all.object + from, to - from);
        return IO_OK;
    }
    struct cd_buf prefix = {0};
    struct io_list l = {0};
    bool more;
    ltx_key_epoch(&prefix, w->r->scope, w->chain.epoch);
    rc = list(w, cd_buf_str(&prefix), 0, false, &l, each_object, &some, &more);
    if (rc == IO_OK)
        *step = ltx_chain_listed(&w->chain, some.object, some.count);
    io_list_deinit(&l);
    cd_buf_deinit(&prefix);
    cd_free(some.object);
    return rc;
}

/* ---- Reading objects ---- */

static void key_of(const struct work *w, const struct ltx_object *o, struct cd_buf *out,
                   struct ltx_name *name)
{
    *name = (struct ltx_name){w->r->scope, o->epoch, o->level, o->min_txid, o->max_txid};
    cd_buf_clear(out);
    ltx_key(out, name);
}

static bool same_object(const struct ltx_object *a, const struct ltx_object *b)
{
    return a->epoch == b->epoch && a->level == b->level && a->min_txid == b->min_txid &&
           a->max_txid == b->max_txid;
}

/* IO_NOENT: it is gone. Other failures are told. */
static int fetched(struct work *w, int rc, struct cd_str key, const struct io_store *s)
{
    if (rc != IO_OK && rc != IO_NOENT && rc != IO_CANCELED)
        (void)ends_with(w, LOG_RESTORE_FAILED, key, s->why);
    return rc;
}

static void ask_head(struct work *w, const struct ltx_object *o)
{
    struct head *d = &w->head[w->heads++];
    struct ltx_name name;
    d->of = *o;
    d->all = w->r->path != NULL && o->size <= STEP_BYTES; /* It is applied later. */
    key_of(w, o, &d->key, &name);
    d->get.lane = IO_LANE_DATA;
    d->get.timeout_ns = store_policy_of(IO_LANE_DATA, LTX_HEADER_SIZE).attempt_ns;
    io_store_get(&d->get, w->r->bucket, cd_buf_str(&d->key), 0, d->all ? IO_WHOLE : LTX_HEADER_SIZE, NULL);
}

static void drop_heads(struct work *w)
{
    for (unsigned i = 0; i < w->heads; i++) {
        struct head *d = &w->head[i];
        if (io_busy(&d->get.op)) {
            io_cancel(&d->get.op);
            (void)io_await(&d->get.op, IO_FOREVER);
        }
        cd_buf_deinit(&d->get.body);
        cd_buf_deinit(&d->key);
        *d = (struct head){0};
    }
    w->heads = 0;
}

/* The headers that the chain asks for one after the other, all at once. Which those are the listing tells
 * already: an epoch ends where the first row of its successor goes on, and one that begins at txid 1 is the
 * last. What the chain is remains a matter of the headers: another guess costs a request. */
static void ask_heads(struct work *w)
{
    uint64_t epoch = w->chain.epoch, from_txid = w->chain.first.min_txid;
    size_t to = w->whole ? w->all.count : 0, *picked = cd_alloc((to + 1) * sizeof *picked);
    ask_head(w, &w->chain.first);
    while (to > 0 && w->heads < HEADS_MAX && from_txid > 1) {
        const struct ltx_object *o = w->all.object;
        size_t from = to - 1, count = 0;
        uint64_t reach = 0;
        while (from > 0 && o[from - 1].epoch == o[to - 1].epoch)
            from--;
        if (o[from].epoch < epoch &&
            ltx_plan_epoch(o + from, to - from, from_txid - 1, picked, &count, &reach) == LTX_FAULT_NONE &&
            count > 0 && reach == from_txid - 1) {
            from_txid = o[from + picked[0]].min_txid;
            ask_head(w, &o[from + picked[0]]);
        }
        to = from;
    }
    cd_free(picked);
}

static struct head *head_of(const struct work *w, const struct ltx_object *o)
{
    for (unsigned i = 0; i < w->heads; i++) {
        if (same_object(&w->head[i].of, o))
            return &w->head[i];
    }
    return NULL;
}

/* The header that the chain wants now. */
static int read_head(struct work *w, enum ltx_chain_step *step)
{
    struct cd_buf why = {0};
    struct ltx_name name;
    struct ltx_header h;
    struct head *d = head_of(w, &w->chain.first);
    if (d == NULL) {
        drop_heads(w);
        ask_heads(w);
        d = &w->head[0];
    }
    struct store_policy p = store_policy_of(IO_LANE_DATA, LTX_HEADER_SIZE);
    int rc = store_get_end(&d->get, w->r->io, w->r->bucket, cd_buf_str(&d->key), 0,
                           d->all ? IO_WHOLE : LTX_HEADER_SIZE, &p);
    rc = fetched(w, rc == IO_EOF ? IO_OK : rc, cd_buf_str(&d->key), &d->get);
    if (rc == IO_OK) {
        key_of(w, &d->of, &d->key, &name);
        struct cd_str bytes = cd_str_sub(cd_buf_str(&d->get.body), 0, LTX_HEADER_SIZE);
        int bad = ltx_header_read(bytes, &name, &h, &why);
        d->here = bad == 0;
        if (bad != 0) {
            rc = ends_with(w, LOG_RESTORE_CORRUPT, cd_buf_str(&d->key), cd_buf_cstr(&why));
            *step = LTX_CHAIN_FAILED;
        } else {
            *step = ltx_chain_head(&w->chain, &h);
        }
    }
    cd_buf_deinit(&why);
    return rc;
}

/* IO_OK with *ok: the chain is there. IO_NOENT: list again. */
static int plan(struct work *w, bool *ok)
{
    struct epochs epochs = {0};
    *ok = false;
    drop_heads(w);
    ltx_chain_deinit(&w->chain);
    int rc = list_epochs(w, &epochs);
    for (size_t i = 0; rc == IO_OK && w->r->epoch != 0 && i < epochs.count; i++) {
        if (epochs.epoch[i] >= w->r->epoch) {
            char text[96];
            (void)snprintf(text, sizeof text, "there is data of epoch %llu, and %llu was claimed",
                           (unsigned long long)epochs.epoch[i], (unsigned long long)w->r->epoch);
            rc = ends(w, LOG_RESTORE_REFUSED, cd_str(text));
            goto free_epochs;
        }
    }
    if (rc != IO_OK)
        goto free_epochs;
    w->r->why[0] = 0;
    for (size_t i = 0; i < epochs.count; i++) {
        if (i == 0 || epochs.epoch[i] < w->lowest)
            w->lowest = epochs.epoch[i];
    }
    if (epochs.count > 1 && CD_PLANT("log.restore_superseded_epoch"))
        epochs.count--;
    enum ltx_chain_step step = ltx_chain_start(&w->chain, epochs.epoch, epochs.count, UINT64_MAX, UINT64_MAX);
    while (rc == IO_OK && (step == LTX_CHAIN_LIST || step == LTX_CHAIN_HEAD))
        rc = step == LTX_CHAIN_LIST ? list_epoch(w, &step) : read_head(w, &step);
    if (rc == IO_OK && step == LTX_CHAIN_FAILED && w->chain.fault != LTX_FAULT_NONE)
        (void)ends(w, end_of(w->chain.fault), cd_buf_str(&w->chain.why));
    *ok = rc == IO_OK && step == LTX_CHAIN_DONE;

free_epochs:
    cd_free(epochs.epoch);
    return rc;
}

/* ---- Applying ---- */

static int yield_turn(struct io *io)
{
    struct io_op op = {0};
    io_defer(&op, io, IO_OK, NULL);
    return io_await(&op, IO_FOREVER);
}

static int disk_failed(struct work *w, int rc)
{
    return ends_with(w, LOG_RESTORE_FAILED, cd_buf_str(&w->tmp), cd_err_text(rc));
}

/* IO_OK with *ok: its pages are in the file. */
static int apply(struct work *w, const struct ltx_object *o, struct cd_str bytes, bool *ok)
{
    struct log_restore *r = w->r;
    struct cd_buf key = {0}, why = {0};
    struct ltx_name name;
    struct ltx_file f;
    int rc = IO_OK;
    *ok = false;
    key_of(w, o, &key, &name);
    if (ltx_file_open(&f, bytes, &name, &why) != 0) {
        (void)ends_with(w, LOG_RESTORE_CORRUPT, cd_buf_str(&key), cd_buf_cstr(&why));
        goto out;
    }
    if (r->page_size != 0 && f.h.page_size != r->page_size) {
        (void)ends_with(w, LOG_RESTORE_CORRUPT, cd_buf_str(&key), "its pages have another size");
        goto out;
    }
    if (r->page_size == 0)
        w->page = cd_alloc(f.h.page_size);
    r->page_size = f.h.page_size;
    /* A chain of one object: its checksum is that of the whole. */
    bool summed = w->chain.image_only && (f.h.flags & LTX_DBSUM) != 0;
    uint64_t sum = LTX_DBSUM_START;
    size_t done = 0;
    for (uint32_t i = 0; i < f.h.page_count; i++) {
        uint32_t pgno = ltx_file_entry(&f, i).pgno;
        if (ltx_file_page(r->zstd, &f, i, w->page, &why) != 0) {
            (void)ends_with(w, LOG_RESTORE_CORRUPT, cd_buf_str(&key), cd_buf_cstr(&why));
            goto out;
        }
        if (summed)
            sum = ltx_dbsum_add(sum, pgno, w->page, r->page_size);
        rc = io_file_pwrite(&w->file, w->page, r->page_size, (uint64_t)(pgno - 1) * r->page_size);
        if (rc == IO_OK && (done += r->page_size) % STEP_BYTES < r->page_size)
            rc = yield_turn(r->io);
        if (rc != IO_OK)
            goto out;
    }
    /* Exactly this size: pages behind it that come back later come with their bytes, or as zeros. */
    rc = io_file_truncate(&w->file, (uint64_t)f.h.commit * r->page_size);
    r->pages = f.h.commit;
    *ok = rc == IO_OK;
    if (*ok && summed && sum != f.post_checksum) {
        (void)ends_with(w, LOG_RESTORE_CORRUPT, cd_buf_str(&key),
                        "the checksum over all pages is another one");
        *ok = false;
    }

out:
    if (rc != IO_OK && rc != IO_CANCELED)
        rc = disk_failed(w, rc);
    cd_buf_deinit(&key);
    cd_buf_deinit(&why);
    return rc;
}

/* ---- Downloading: in order, a window ahead ---- */

struct window {
    struct io_store get[DOWNLOADS_MAX];
    struct cd_buf key[DOWNLOADS_MAX];
    size_t sent, taken; /* Of the chain's objects. */
    uint64_t bytes; /* In flight. */
};

/* Read with its header. NULL: it has to be asked for. */
static const struct head *have_it(const struct work *w, size_t i)
{
    const struct head *d = head_of(w, &w->chain.object[i]);
    return d != NULL && d->all && d->here ? d : NULL;
}

static void send_more(struct work *w, struct window *d)
{
    while (d->sent < w->chain.count && d->sent - d->taken < DOWNLOADS_MAX) {
        const struct ltx_object *o = &w->chain.object[d->sent];
        if (d->bytes > 0 && d->bytes + o->size > DOWNLOAD_BYTES)
            return;
        struct ltx_name name;
        unsigned at = (unsigned)(d->sent % DOWNLOADS_MAX);
        if (have_it(w, d->sent) == NULL) {
            key_of(w, o, &d->key[at], &name);
            d->get[at].lane = IO_LANE_DATA;
            d->get[at].timeout_ns = store_policy_of(IO_LANE_DATA, o->size).attempt_ns;
            io_store_get(&d->get[at], w->r->bucket, cd_buf_str(&d->key[at]), 0, IO_WHOLE, NULL);
        }
        d->bytes += o->size;
        d->sent++;
    }
}

static int take_next(struct work *w, struct window *d, bool *ok)
{
    const struct ltx_object *o = &w->chain.object[d->taken];
    unsigned at = (unsigned)(d->taken % DOWNLOADS_MAX);
    struct io_store *s = &d->get[at];
    const struct head *had = have_it(w, d->taken);
    int rc = IO_OK;
    if (had != NULL) {
        rc = apply(w, o, cd_buf_str(&had->get.body), ok);
    } else {
        struct store_policy p = store_policy_of(IO_LANE_DATA, o->size);
        rc = store_get_end(s, w->r->io, w->r->bucket, cd_buf_str(&d->key[at]), 0, IO_WHOLE, &p);
        rc = fetched(w, rc, cd_buf_str(&d->key[at]), s);
        if (rc == IO_OK)
            rc = apply(w, o, cd_buf_str(&s->body), ok);
        else
            *ok = false;
        cd_buf_deinit(&s->body);
    }
    d->bytes -= o->size;
    d->taken++;
    return rc == IO_NOENT || rc == IO_CANCELED ? rc : IO_OK; /* All else is told. */
}

static int download(struct work *w, bool *ok)
{
    struct window *d = cd_new(struct window);
    int rc = IO_OK;
    *ok = true;
    while (rc == IO_OK && *ok && d->taken < w->chain.count) {
        send_more(w, d);
        rc = take_next(w, d, ok);
    }
    for (unsigned i = 0; i < DOWNLOADS_MAX; i++) {
        if (io_busy(&d->get[i].op)) {
            io_cancel(&d->get[i].op);
            (void)io_await(&d->get[i].op, IO_FOREVER);
        }
        cd_buf_deinit(&d->get[i].body);
        cd_buf_deinit(&d->key[i]);
    }
    cd_free(d);
    return rc;
}

static int materialise(struct work *w, bool *ok)
{
    struct log_restore *r = w->r;
    *ok = false;
    cd_buf_clear(&w->tmp);
    cd_buf_addf(&w->tmp, "%s.tmp", r->path);
    const char *tmp = cd_buf_cstr(&w->tmp);
    int rc = io_file_open(&w->file, r->io, tmp, IO_FILE_CREATE | IO_FILE_TRUNCATE);
    if (rc != IO_OK)
        return disk_failed(w, rc);
    r->page_size = r->pages = 0;
    cd_free(w->page);
    w->page = NULL;
    rc = download(w, ok);
    int closed = io_file_close(&w->file);
    if (rc == IO_OK && *ok) {
        int disk = closed == IO_OK ? io_path_rename(r->io, tmp, r->path) : closed;
        if (disk == IO_OK)
            return IO_OK;
        *ok = false;
        rc = disk_failed(w, disk);
    }
    int left = io_path_remove(r->io, tmp);
    CD_MAYBE(left == IO_OK); /* It stays until the next start cleans up, in nobody's way. */
    return rc;
}

static void planned(struct work *w)
{
    struct log_restore *r = w->r;
    r->base_epoch = w->chain.reach_epoch;
    r->base_txid = w->chain.reach_txid;
    r->objects = w->chain.count;
    r->epochs = w->chain.epochs;
    r->weight = ltx_chain_weight(&w->chain);
    r->garbage = w->lowest < ltx_retire_base(&w->chain);
    r->garbage_ms = 0;
    for (size_t i = 0; w->whole && i < w->all.count; i++) {
        const struct ltx_object *o = &w->all.object[i];
        if (o->epoch == w->lowest && o->modified_ms > r->garbage_ms)
            r->garbage_ms = o->modified_ms;
    }
    r->bytes = r->weight.image_bytes + r->weight.delta_bytes;
    cd_event(r->io, CD_DEBUG, "restore_plan", CD_S("scope", r->scope), CD_U("objects", r->objects),
             CD_U("bytes", r->bytes), CD_U("epochs", r->epochs), CD_B("paged", false));
}

int log_restore(struct log_restore *r)
{
    CD_ASSERT(ltx_scope_valid(r->scope) && (r->path == NULL || r->zstd != NULL));
    struct work w = {.r = r, .head = cd_alloc(HEADS_MAX * sizeof *w.head)};
    int rc = IO_NOENT;
    bool ok = false;
    r->end = LOG_RESTORE_FAILED;
    for (unsigned i = 0; rc == IO_NOENT && i <= RELISTS_MAX; i++) {
        rc = plan(&w, &ok);
        if (rc == IO_OK && ok) {
            planned(&w);
            if (r->path != NULL)
                rc = materialise(&w, &ok);
        }
    }
    if (rc == IO_NOENT)
        rc = ends(&w, LOG_RESTORE_FAILED, CD_STR("objects of the chain vanish while they are read"));
    else if (rc == IO_OK && ok)
        rc = ends(&w, LOG_RESTORE_DONE, CD_STR(""));
    if (rc == IO_OK && r->end != LOG_RESTORE_DONE && r->end != LOG_RESTORE_NO_DATA)
        cd_event(r->io, CD_ERROR, "restore_failed", CD_S("scope", r->scope), CD_U("epoch", r->epoch),
                 CD_Z("end", log_restore_end_name(r->end)), CD_Z("error", r->why));
    if (r->chain != NULL)
        *r->chain = w.chain;
    else
        ltx_chain_deinit(&w.chain);
    cd_free(w.all.object);
    drop_heads(&w);
    cd_free(w.head);
    cd_buf_deinit(&w.tmp);
    cd_free(w.page);
    return rc == IO_CANCELED ? rc : IO_OK;
}
