#include "cell/fake.h"

#include <stdio.h>

#include "db/image.h"
#include "io/backend.h"
#include "fleet/waker.h"
#include "log/fold.h"
#include "log/restore.h"

struct fake fake;

void fake_reset(void)
{
    fake = (struct fake){.prove_ns = IO_MS(20), .claim_end = FLEET_CLAIM_OWNED};
    fake.self.authority = &fake.authority;
    fake.authority.deadline_ns = UINT64_MAX;
    (void)snprintf(fake.self.session, sizeof fake.self.session, "n/1");
    (void)snprintf(fake.self.node, sizeof fake.self.node, "n");
    fake.other = fake.self;
    (void)snprintf(fake.other.node, sizeof fake.other.node, "m");
    (void)snprintf(fake.other.session, sizeof fake.other.session, "m/1");
    fake.owner_ms = 10000;
}

struct fake_cell *fake_cell(struct cd_str scope)
{
    for (unsigned i = 0; i < fake.cells; i++) {
        if (cd_str_eq(cd_str(fake.cell[i].scope), scope))
            return &fake.cell[i];
    }
    CD_ASSERT(fake.cells < CD_COUNT(fake.cell));
    struct fake_cell *c = &fake.cell[fake.cells++];
    (void)snprintf(c->scope, sizeof c->scope, "%.*s", (int)scope.len, scope.ptr);
    return c;
}

/* ---- The log ---- */

struct log_feed {
    struct io *io;
    uint64_t last, proven;
    struct cd_list waits; /* struct io_op.link */
    struct cd_list rows; /* struct log_row.link: not folded yet, in order */
    struct io_timer timer;
    struct io_op *closing;
    bool cut_none;
};

struct log_feed *log_feed_open(struct log *log, struct io *io)
{
    CD_ASSERT(log == NULL);
    struct log_feed *f = cd_new(struct log_feed);
    f->io = io;
    cd_list_init(&f->waits);
    cd_list_init(&f->rows);
    return f;
}

static void feed_free(struct log_feed *f)
{
    struct cd_link *k;
    while ((k = cd_list_first(&f->waits)) != NULL)
        io_cancel(CD_CONTAINER(k, struct io_op, link));
    while ((k = cd_list_pop(&f->rows)) != NULL)
        log_row_free(CD_CONTAINER(k, struct log_row, link));
    io_defer(f->closing, f->io, IO_OK, f->closing->done);
    cd_free(f);
}

/* What is proven is in the prefix at once. */
static void apply(struct log_feed *f)
{
    struct cd_link *next;
    for (struct cd_link *k = cd_list_first(&f->rows); k != NULL; k = next) {
        next = cd_list_next(&f->rows, k);
        struct log_row *row = CD_CONTAINER(k, struct log_row, link);
        if (row->seq > f->proven)
            return;
        struct fake_cell *c = fake_cell(cd_str(row->scope));
        if (row->kind == LOG_ROW_BYTES) {
            /* A successor began without this row, or this one without its predecessor's. */
            CD_ASSERT(row->epoch >= c->prefix.epoch && row->min_txid == c->prefix.txid + 1);
            CD_ASSERT(row->ltx.len == sizeof c->prefix.data);
            c->prefix.epoch = row->epoch;
            c->prefix.txid = row->max_txid;
            memcpy(&c->prefix.data, row->ltx.ptr, sizeof c->prefix.data);
        }
        cd_link_remove(&row->link);
        log_row_free(row);
    }
}

static void wake(struct log_feed *f)
{
    apply(f);
    struct cd_link *next;
    for (struct cd_link *k = cd_list_first(&f->waits); k != NULL; k = next) {
        next = cd_list_next(&f->waits, k);
        struct io_op *op = CD_CONTAINER(k, struct io_op, link);
        if (CD_CONTAINER(op, struct log_wait, op)->seq > f->proven)
            continue;
        cd_link_remove(&op->link);
        op->cancel = NULL;
        io_complete_later(op, IO_OK);
    }
}

static void proven(struct io_op *op, int status)
{
    struct log_feed *f = CD_CONTAINER(op, struct log_feed, timer.op);
    if (f->closing != NULL) {
        feed_free(f);
        return;
    }
    if (status != IO_OK)
        return;
    if (!fake.stall)
        f->proven = f->last;
    wake(f);
    if (f->proven < f->last)
        io_timer_start(&f->timer, f->io, fake.prove_ns, proven);
}

void log_feed_close(struct log_feed *f, struct io_op *op, io_done_fn *done)
{
    op->done = done;
    f->closing = op;
    if (io_busy(&f->timer.op))
        io_cancel(&f->timer.op);
    else
        feed_free(f);
}

uint64_t log_feed_row(struct log_feed *f, struct log_row *row)
{
    row->seq = ++f->last;
    fake.rows++;
    fake.notes += row->kind == LOG_ROW_NOTE;
    cd_list_push(&f->rows, &row->link);
    uint64_t seq = row->seq;
    if (!io_busy(&f->timer.op))
        io_timer_start(&f->timer, f->io, fake.prove_ns, proven);
    return seq;
}

uint64_t log_feed_proven(const struct log_feed *f)
{
    return f->proven;
}

static void wait_cancel(struct io_op *op)
{
    cd_link_remove(&op->link);
    op->cancel = NULL;
    io_complete_later(op, IO_CANCELED);
}

void log_feed_wait(struct log_feed *f, struct log_wait *w, io_done_fn *done)
{
    io_begin(&w->op, f->io, done);
    w->op.cancel = wait_cancel;
    cd_list_push(&f->waits, &w->op.link);
    wake(f);
    if (fake.lost && cd_link_linked(&w->op.link)) {
        cd_link_remove(&w->op.link);
        w->op.cancel = NULL;
        io_complete_later(&w->op, CD_EFENCED);
    }
}

bool log_feed_full(const struct log_feed *f)
{
    (void)f;
    return fake.full;
}

bool log_feed_lost(const struct log_feed *f)
{
    (void)f;
    return fake.lost;
}

void log_feed_drop(struct log_feed *f, struct log_drop *d, io_done_fn *done)
{
    struct cd_link *next;
    d->cut_txid = 0;
    for (struct cd_link *k = cd_list_first(&f->rows); k != NULL; k = next) {
        next = cd_list_next(&f->rows, k);
        struct log_row *row = CD_CONTAINER(k, struct log_row, link);
        if (strcmp(row->scope, d->scope) != 0 || row->epoch != d->epoch)
            continue;
        if (fake.uncut && row->seq > f->proven) {
            cd_link_remove(&row->link);
            log_row_free(row);
        } else {
            d->cut_txid = row->max_txid;
        }
    }
    io_defer(&d->op, f->io, IO_OK, done);
}

/* ---- The folder ---- */

void log_fold(struct log_folder *folder, struct io *from, struct log_fold *w, io_done_fn *done)
{
    struct log_feed *f = (struct log_feed *)(void *)folder; /* The rig gives the feed's place. */
    CD_ASSERT(f == NULL);
    fake.folds++;
    const struct fake_cell *c = fake_cell(cd_str(w->scope));
    CD_ASSERT(c->prefix.epoch > w->epoch || (c->prefix.epoch == w->epoch && c->prefix.txid >= w->upto));
    io_defer(&w->op, from, fake.fold_status, done);
}

void log_folder_alarm(struct log_folder *f, struct io *from, const struct store_alarm *a)
{
    (void)f;
    (void)from;
    (void)a;
    fake.duties++;
}

void log_folder_released(struct log_folder *f, struct io *from, struct cd_str scope, uint64_t epoch)
{
    (void)f;
    (void)from;
    CD_ASSERT(fake_cell(scope)->released && fake_cell(scope)->epoch == epoch);
    fake.duties--;
}

/* ---- Ownership and restore ---- */

int fleet_wake_entry(struct io *io, struct io_bucket *bucket, const struct store_alarm *a)
{
    (void)bucket;
    if (io_sleep(io, IO_MS(1)) != IO_OK)
        return IO_CANCELED;
    CD_ASSERT(fake_cell(a->cell)->released == fake.entries_late); /* Before the release. */
    fake.entries++;
    return fake.entry_status;
}

int fleet_release(struct io *io, struct io_bucket *bucket, const struct fleet_self *self, struct cd_str scope,
                  uint64_t epoch, uint64_t deadline_ns, char token[IO_TOKEN_MAX])
{
    struct fake_cell *c = fake_cell(scope);
    (void)bucket, (void)self, (void)deadline_ns, (void)token;
    if (io_sleep(io, IO_MS(1)) != IO_OK)
        return IO_CANCELED;
    CD_ASSERT(c->epoch == epoch && !c->released);
    fake.releases++;
    c->released = fake.release_status == IO_OK;
    return fake.release_status;
}

int fleet_claim(struct fleet_claim *c)
{
    fake.claims++;
    struct fake_cell *cell = fake_cell(c->scope);
    if (io_sleep(c->io, fake.claim_ns) != IO_OK)
        return IO_CANCELED;
    c->end = fake.claim_end;
    if (fake.owner != NULL && strcmp(fake.owner, c->self->session) != 0) {
        c->end = c->only_ours ? FLEET_CLAIM_NOT_OURS : FLEET_CLAIM_REMOTE;
        (void)snprintf(c->live, sizeof c->live, "%s", fake.owner);
        (void)snprintf(c->addr, sizeof c->addr, "%s", fake.owner_addr);
        c->epoch = cell->epoch;
        c->until_ms = io_wall_ms(c->io) + (int64_t)fake.owner_ms;
    }
    if (c->look_only && c->end == FLEET_CLAIM_OWNED) {
        c->end = FLEET_CLAIM_LOOKED;
        c->from = cell->epoch == 0 ? FLEET_CLAIM_FRESH
                  : cell->released ? FLEET_CLAIM_RELEASED
                                   : FLEET_CLAIM_LOCAL;
        return IO_OK;
    }
    if (c->end != FLEET_CLAIM_OWNED) {
        (void)snprintf(c->why, sizeof c->why, "as the test wants it");
        return IO_OK;
    }
    c->from = cell->epoch == 0 ? FLEET_CLAIM_FRESH
              : cell->released ? FLEET_CLAIM_RELEASED
                               : FLEET_CLAIM_LOCAL;
    cell->released = false;
    (void)snprintf(c->prior, sizeof c->prior, "%s", fake.self.session);
    c->epoch = ++cell->epoch;
    return IO_OK;
}

const char *log_restore_end_name(enum log_restore_end end)
{
    CD_MAYBE(end == LOG_RESTORE_DONE);
    return "gap";
}

int log_restore(struct log_restore *r)
{
    if (io_sleep(r->io, IO_MS(1)) != IO_OK)
        return IO_CANCELED;
    struct fake_cell *c = fake_cell(r->scope);
    if (r->path != NULL)
        fake.restores++;
    r->end = fake.restore_fails    ? LOG_RESTORE_GAP
             : c->prefix.txid == 0 ? LOG_RESTORE_NO_DATA
                                   : LOG_RESTORE_DONE;
    r->base_epoch = c->prefix.epoch;
    r->base_txid = c->prefix.txid;
    if (r->path != NULL)
        c->file = c->prefix.data;
    return IO_OK;
}

/* ---- The database ---- */

struct db_host {
    struct io *io;
};

struct db {
    struct fake_cell *cell;
    struct db_opts o;
    struct db_position at;
    struct fake_data data, open;
    bool in, broken, dirty;
};

struct db_host *db_host_new(struct io *io)
{
    struct db_host *h = cd_new(struct db_host);
    h->io = io;
    return h;
}

void db_host_free(struct db_host *h)
{
    cd_free(h);
}

int db_open(struct db **out, const struct db_opts *o, struct cd_buf *why)
{
    fake.opens++;
    if (fake.open_fails) {
        cd_buf_add_str(why, CD_STR("no such disk"));
        return IO_FAULT;
    }
    struct db *d = cd_new(struct db);
    d->o = *o;
    d->cell = fake_cell(o->scope);
    d->at = o->base;
    if (o->base.txid != 0)
        d->data = d->cell->file;
    d->open = d->data;
    fake.open_now++;
    *out = d;
    return 0;
}

void db_close(struct db *d)
{
    fake.open_now--;
    cd_free(d);
}

int db_close_snapshot(struct db *d, bool sum, struct cd_buf *why)
{
    (void)sum;
    (void)why;
    d->cell->file = d->data;
    d->cell->snapshot_epoch = d->o.epoch;
    db_close(d);
    return 0;
}

int db_remove(struct io *io, const char *dir)
{
    (void)io;
    (void)dir;
    return 0;
}

int db_snapshot_take(struct io *io, const char *dir, struct cd_str scope, uint64_t epoch,
                     const char *next_dir, bool full, struct db_snapshot *out, struct cd_buf *why)
{
    (void)io;
    (void)dir;
    (void)next_dir;
    (void)full;
    (void)why;
    struct fake_cell *c = fake_cell(scope);
    if (c->snapshot_epoch != epoch)
        return CD_ENOTFOUND;
    c->snapshot_epoch = 0;
    fake.snapshots_taken++;
    out->at = (struct db_position){c->prefix.epoch, c->prefix.txid};
    return 0;
}

/* ---- Images: these databases have none ---- */

int db_snapshot_look(struct io *io, const char *dir, struct cd_str scope, uint64_t epoch,
                     struct db_snapshot *out)
{
    (void)io, (void)dir, (void)scope, (void)epoch, (void)out;
    return CD_ENOTFOUND;
}

void db_snapshot_path(struct cd_buf *out, const char *dir)
{
    cd_buf_addf(out, "%s/evicted.sqlite", dir);
}

bool db_in_transaction(struct db *d)
{
    return d->in;
}

int db_image_open(struct db_image **out, struct db *d, struct cd_buf *why)
{
    (void)out, (void)d, (void)why;
    return CD_ENOTFOUND;
}

int db_image_open_file(struct db_image **out, struct db_host *h, const char *path, struct cd_str scope,
                       const struct db_snapshot *s, struct cd_buf *why)
{
    (void)out, (void)h, (void)path, (void)scope, (void)s, (void)why;
    return CD_ENOTFOUND;
}

struct db_position db_image_at(const struct db_image *i)
{
    (void)i;
    CD_UNREACHABLE();
}

int db_image_step(struct db_image *i, size_t bytes, struct cd_buf *out, bool *last, struct cd_buf *why)
{
    (void)i, (void)bytes, (void)out, (void)last, (void)why;
    CD_UNREACHABLE();
}

void db_image_close(struct db_image *i)
{
    CD_ASSERT(i == NULL);
}

sqlite3 *db_sqlite(struct db *d)
{
    return (sqlite3 *)(void *)d;
}

int db_begin(struct db *d, struct cd_buf *why)
{
    (void)why;
    CD_ASSERT(!d->in);
    d->in = true;
    d->open = d->data;
    return 0;
}

int db_commit(struct db *d, struct cd_buf *why)
{
    d->in = false;
    if (fake.commit_fails) {
        cd_buf_add_str(why, CD_STR("disk I/O error"));
        d->broken = true;
        return IO_FAULT;
    }
    d->data = d->open;
    d->at = (struct db_position){d->o.epoch, d->at.txid + 1};
    struct db_commit c = {.min_txid = d->at.txid,
                          .max_txid = d->at.txid,
                          .alarm = {d->data.alarm.armed, d->data.alarm.due_ms, d->data.alarm.inst_seq}};
    cd_buf_add(&c.ltx, &d->data, sizeof d->data);
    d->o.commit(d->o.arg, &c);
    return 0;
}

void db_rollback(struct db *d)
{
    d->in = false;
    d->open = d->data;
}

struct db_position db_position(const struct db *d)
{
    return d->at;
}

struct db_alarm db_alarm(const struct db *d)
{
    return (struct db_alarm){d->data.alarm.armed, d->data.alarm.due_ms, d->data.alarm.inst_seq};
}

void db_alarm_changed(struct db *d)
{
    CD_ASSERT(d->in);
}

/* ---- The storage ---- */

struct storage {
    struct storage_opts o;
    struct db *db;
    bool running, rearmed;
    char broken[64];
};

int storage_open(struct storage **out, const struct storage_opts *o, struct cd_buf *why)
{
    (void)why;
    struct storage *s = cd_new(struct storage);
    s->o = *o;
    s->db = (struct db *)(void *)o->sqlite;
    *out = s;
    return 0;
}

void storage_close(struct storage *s)
{
    if (s->db->in)
        s->o.rollback(s->o.arg);
    cd_free(s);
}

struct cd_str storage_error(const struct storage *s)
{
    return cd_str(s->broken);
}

const char *storage_broken(const struct storage *s)
{
    return s->broken[0] == '\0' ? NULL : s->broken;
}

bool storage_uncommitted(const struct storage *s)
{
    return s->db->in;
}

unsigned storage_depth(const struct storage *s)
{
    (void)s;
    return 0;
}

int storage_turn_end(struct storage *s, struct cd_buf *why)
{
    if (!s->db->in)
        return 0;
    struct storage_alarm a = s->db->open.alarm;
    int rc = s->o.commit(s->o.arg, &a, why);
    if (rc != 0)
        (void)snprintf(s->broken, sizeof s->broken, "%s", cd_buf_cstr(why));
    return rc;
}

static void write_open(struct storage *s)
{
    struct cd_buf why = {0};
    if (!s->db->in) {
        int rc = s->o.begin(s->o.arg, &why);
        CD_ASSERT(rc == 0);
    }
    cd_buf_deinit(&why);
}

int64_t fake_value(const struct storage *s)
{
    return s->db->open.value;
}

int fake_set(struct storage *s, int64_t value)
{
    if (s->broken[0] != '\0')
        return CD_ECLOSED;
    write_open(s);
    s->db->open.value = value;
    return 0;
}

int storage_name(struct storage *s, struct cd_buf *out)
{
    (void)s;
    (void)out;
    return CD_ENOTFOUND;
}

int storage_name_set(struct storage *s, struct cd_str name)
{
    (void)name;
    write_open(s);
    return 0;
}

struct storage_alarm storage_alarm(const struct storage *s)
{
    return s->db->open.alarm;
}

int storage_alarm_set(struct storage *s, int64_t due_ms)
{
    write_open(s);
    struct storage_alarm *a = &s->db->open.alarm;
    *a = (struct storage_alarm){.armed = true, .due_ms = due_ms, .inst_seq = a->inst_seq + 1};
    s->rearmed = true;
    return 0;
}

int storage_alarm_delete(struct storage *s)
{
    write_open(s);
    struct storage_alarm *a = &s->db->open.alarm;
    *a = (struct storage_alarm){.inst_seq = a->inst_seq + 1};
    return 0;
}

void storage_alarm_begin(struct storage *s)
{
    s->running = true;
    s->rearmed = false;
}

int storage_alarm_end(struct storage *s, enum storage_alarm_end end, int64_t now_ms, bool *dropped)
{
    s->running = false;
    *dropped = false;
    if (s->rearmed)
        return 0;
    write_open(s);
    struct storage_alarm *a = &s->db->open.alarm;
    a->inst_seq++;
    if (end == STORAGE_ALARM_OK) {
        a->armed = false;
        a->retry_count = 0;
        return 0;
    }
    a->due_ms = now_ms + (2000 << (a->retry_count < 6 ? a->retry_count : 6));
    a->retry_count++;
    return 0;
}

struct ltx_zstd *db_host_zstd(struct db_host *h)
{
    CD_ASSERT(h->io != NULL);
    return NULL; /* Nothing is compressed here. */
}

/* ---- The waker ---- */

int fleet_wake_retire(struct io *io, struct io_bucket *bucket, struct cd_str scope,
                      const struct store_wake_retired *state)
{
    (void)io, (void)bucket, (void)scope, (void)state;
    fake.retired++;
    return IO_OK;
}
