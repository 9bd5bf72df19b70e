/* sim/load_files.c: the files workload: on each node a writer that keeps records in a log and folds them into
 * a state, as databases do: append, sync, acknowledge; write a temporary file, sync, rename, sync the
 * directory.
 *
 * The writer trusts nothing that a sync has not confirmed, and after any sync that failed it writes again
 * under new offsets or names, because the failed one may have thrown its writes away. The oracle
 * (files_truth.h) is told what is issued and acknowledged, and judges what each restart finds. */
#include <stdio.h>

#include "sim/files_truth.h"
#include "sim/nondeterminism.h"
#include "sim/run.h"

#define DIR "/data"
#define STATE DIR "/state"
#define STATE_NEW DIR "/state.new"
#define PATH_MAX_BYTES 64
#define READ_PIECE (16u << 10)
#define READ_TRIES 40u
#define RETRY_NS IO_MS(20)
#define RECORDS_MAX 4096u /* In one log: it is folded long before. */

struct writer { /* One life of the writer on one node. */
    struct load_files *load;
    struct fleet_node *node;
    struct files_truth *truth;
    struct io *io;
    struct files_state state;
    struct io_file log;
    uint64_t seq, chain; /* Of the last acknowledged record. */
    uint64_t end; /* Of the log's durable part. */
    uint64_t next_log, next_version;
    struct cd_buf bytes, again; /* owned */
    struct files_record *record; /* owned */
    unsigned record_cap;
    bool ready;
};

struct load_files {
    struct run *run;
    struct files_truth truth[SCN_NODES_MAX + 1];
    struct writer *writer[SCN_NODES_MAX + 1]; /* owned by its fiber; NULL: none is alive */
    bool quiet;
    bool must_recover[SCN_NODES_MAX + 1]; /* Since the audit began. */
};

static uint64_t setting(const struct writer *w, enum scn_setting id)
{
    return scn_get(w->load->run->scn, id);
}

static bool gone(const struct writer *w)
{
    return sim_node_life(w->node->node) != SIM_UP;
}

static void log_path(char out[PATH_MAX_BYTES], uint64_t number)
{
    (void)snprintf(out, PATH_MAX_BYTES, DIR "/log.%llu", (unsigned long long)number);
}

/* Waits before the next try. False: the node is gone. */
static bool retry(struct writer *w)
{
    return io_sleep(w->io, RETRY_NS) == IO_OK && !gone(w);
}

/* ---- Reading ---- */

static int read_once(struct writer *w, struct io_file *f, struct cd_buf *out)
{
    uint64_t size;
    int rc = io_file_size(f, &size);
    (void)w;
    cd_buf_clear(out);
    for (uint64_t at = 0; rc == 0 && at < size;) {
        size_t got = 0;
        rc = io_file_pread(f, cd_buf_reserve(out, READ_PIECE), READ_PIECE, at, &got);
        if (CD_PLANT("files.read-error-is-end") && rc != 0)
            return 0;
        if (rc == 0 && got == 0)
            break;
        out->len += rc == 0 ? got : 0;
        at += got;
    }
    return rc;
}

/* The file as two reads in a row agree on it: a disk may flip a bit on the way to us, and a record must not
 * be taken for torn because of that. IO_NOENT: no such file; IO_CANCELED: the node is gone. */
static int read_whole(struct writer *w, const char *path, struct cd_buf *out)
{
    for (unsigned tries = 0; tries < READ_TRIES; tries++) {
        struct io_file f = {0};
        int rc = io_file_open(&f, w->io, path, IO_FILE_READONLY);
        if (rc == IO_NOENT)
            return rc;
        int again = -1;
        if (rc == 0) {
            rc = read_once(w, &f, out);
            again = rc == 0 ? read_once(w, &f, &w->again) : rc;
            (void)io_file_close(&f);
        }
        if (rc == 0 && again == 0 && cd_str_eq(cd_buf_str(out), cd_buf_str(&w->again)))
            return 0;
        CD_MARK("files.read_again");
        if (!retry(w))
            return IO_CANCELED;
    }
    return IO_FAULT;
}

/* ---- Folding ---- */

static int write_file(struct writer *w, const char *path, struct cd_str bytes)
{
    struct io_file f = {0};
    int rc = io_file_open(&f, w->io, path, IO_FILE_CREATE | IO_FILE_TRUNCATE);
    if (rc != 0)
        return rc;
    rc = io_file_pwrite(&f, bytes.ptr, bytes.len, 0);
    if (rc == 0)
        rc = io_file_sync(&f);
    int closed = io_file_close(&f);
    return rc != 0 ? rc : closed;
}

struct sweep {
    struct writer *w;
    struct cd_buf names; /* owned; NUL behind each */
    uint64_t highest;
};

static void sweep_name(void *arg, const char *name)
{
    struct sweep *s = arg;
    uint64_t number;
    cd_buf_add(&s->names, name, strlen(name) + 1);
    if (cd_str_starts(cd_str(name), CD_STR("log.")) && cd_str_u64(cd_str(name + 4), &number) == 0 &&
        number > s->highest)
        s->highest = number;
}

/* Removes what the state does not name. What cannot be removed now is removed by a later fold. */
static void remove_strangers(struct writer *w)
{
    struct sweep s = {.w = w};
    char keep[PATH_MAX_BYTES], path[PATH_MAX_BYTES];
    log_path(keep, w->state.log);
    int rc = io_path_list(w->io, DIR, sweep_name, &s);
    for (size_t at = 0; rc == 0 && at < s.names.len; at += strlen(s.names.ptr + at) + 1) {
        (void)snprintf(path, sizeof path, DIR "/%s", s.names.ptr + at);
        if (strcmp(path, STATE) != 0 && strcmp(path, keep) != 0)
            rc = io_path_remove(w->io, path);
    }
    cd_buf_deinit(&s.names);
}

/* One try to let a new state, with an empty new log behind it, take the place of what is there. */
static int fold_once(struct writer *w, struct io_file *log, struct files_state *next)
{
    char path[PATH_MAX_BYTES];
    *next = (struct files_state){++w->next_version, w->seq, w->chain, ++w->next_log};
    log_path(path, next->log);
    int rc = io_file_open(log, w->io, path, IO_FILE_CREATE | IO_FILE_EXCLUSIVE);
    if (rc != 0)
        return rc;
    rc = io_path_sync(w->io, DIR);
    if (rc != 0)
        goto close_log;
    cd_buf_clear(&w->bytes);
    files_state_add(&w->bytes, next);
    rc = write_file(w, STATE_NEW, cd_buf_str(&w->bytes));
    if (rc != 0)
        goto close_log;
    files_truth_issue_state(w->truth, next);
    rc = io_path_rename(w->io, STATE_NEW, STATE);
    if (rc == 0 && !CD_PLANT("files.rename-unsynced"))
        rc = io_path_sync(w->io, DIR);
    if (rc == 0)
        return 0;
close_log:
    (void)io_file_close(log);
    return rc;
}

/* Folds all records up to w->seq into a new state. False: the node is gone. */
static bool fold(struct writer *w)
{
    struct io_file log = {0};
    struct files_state next;
    while (fold_once(w, &log, &next) != 0) {
        CD_MARK("files.fold_again");
        if (!retry(w))
            return false;
    }
    if (gone(w)) {
        (void)io_file_close(&log);
        return false;
    }
    if (w->log.io != NULL)
        (void)io_file_close(&w->log);
    w->log = log;
    w->state = next;
    w->end = 0;
    files_truth_ack_state(w->truth, next.version);
    remove_strangers(w);
    return true;
}

/* ---- Recovery ---- */

/* Takes the records of the log as far as they are whole. */
static void take_records(struct writer *w, struct files_found *found)
{
    struct cd_str rest = cd_buf_str(&w->bytes);
    unsigned count = 0;
    bool checked = !CD_PLANT("files.torn-replayed");
    struct files_record r;
    while (count < RECORDS_MAX && files_record_parse(rest, checked, &r) == 0) {
        if (count == w->record_cap) {
            w->record_cap = w->record_cap == 0 ? 16 : w->record_cap * 2;
            w->record = cd_realloc(w->record, w->record_cap * sizeof *w->record);
        }
        w->record[count] = r;
        if (checked && w->record[count].seq != found->state.base + count + 1)
            break; /* Of an earlier use of these blocks. */
        rest = cd_str_sub(rest, w->record[count].size, SIZE_MAX);
        count++;
    }
    found->record = w->record;
    found->records = count;
    if (rest.len > 0)
        CD_MARK("files.torn_tail");
}

static int read_state(struct writer *w, struct files_state *out)
{
    *out = (struct files_state){0};
    int rc = read_whole(w, STATE, &w->bytes);
    if (rc == IO_NOENT)
        return 0;
    return rc != 0 ? rc : files_state_parse(cd_buf_str(&w->bytes), out);
}

/* Reads what the disk has. 0, IO_CANCELED (the node is gone) or an error worth another try. */
static int recover_once(struct writer *w, struct files_found *found)
{
    char path[PATH_MAX_BYTES];
    struct sweep s = {.w = w};
    int rc = read_state(w, &found->state);
    if (rc == CD_ECORRUPT) {
        run_fail(w->load->run, RUN_SAFETY, "files.rename",
                 "n%u: the state is neither the old nor the new one", w->node->index);
        return IO_CANCELED;
    }
    if (rc == 0)
        rc = io_path_list(w->io, DIR, sweep_name, &s);
    cd_buf_deinit(&s.names);
    if (rc != 0)
        return rc;
    w->next_log = s.highest > found->state.log ? s.highest : found->state.log;
    w->next_version = found->state.version;
    cd_buf_clear(&w->bytes);
    log_path(path, found->state.log);
    rc = found->state.version == 0 ? IO_NOENT : read_whole(w, path, &w->bytes);
    if (rc != 0 && rc != IO_NOENT)
        return rc;
    take_records(w, found);
    return 0;
}

static bool judge(struct writer *w, const struct files_found *found)
{
    struct cd_buf why = {0};
    const char *broken = files_truth_check(w->truth, found, &why);
    if (broken != NULL)
        run_fail(w->load->run, RUN_SAFETY, broken, "n%u, life %u: %s", w->node->index,
                 sim_node_lives(w->node->node), cd_buf_cstr(&why));
    cd_buf_deinit(&why);
    return broken == NULL;
}

static bool make_dir(struct writer *w)
{
    for (;;) {
        int rc = io_path_mkdir(w->io, DIR);
        if ((rc == 0 || rc == IO_EXISTS) && io_path_sync(w->io, "/") == 0)
            return true;
        if (!retry(w))
            return false;
    }
}

/* False: the node is gone, or the run has failed. */
static bool recover(struct writer *w)
{
    struct files_found found = {0};
    if (!make_dir(w))
        return false;
    for (int rc = -1; rc != 0;) {
        rc = recover_once(w, &found);
        if (rc == IO_CANCELED || (rc != 0 && !retry(w)))
            return false;
    }
    if (gone(w) || !judge(w, &found))
        return false;
    files_truth_saw(w->truth, &found);
    w->seq = found.state.base + found.records;
    w->chain = found.records > 0 ? found.record[found.records - 1].chain : found.state.chain;
    /* What was read may be in the page cache alone. A sync would not make it durable: one that failed in an
     * earlier life of the process may have called it clean. So it is written again, elsewhere. */
    if (!fold(w))
        return false;
    files_truth_settle(w->truth);
    return true;
}

/* ---- Appending ---- */

static int sync_log(struct writer *w)
{
    struct io_op op = {0};
    if (io_random_below(w->io, IO_RAND_JITTER, 2) == 0)
        return io_file_sync(&w->log);
    io_file_sync_start(&w->log, &op, NULL);
    /* For ever: a sync in flight keeps the file open, and it ends when the disk does. */
    return io_await(&op, IO_FOREVER);
}

static void acknowledge(struct writer *w, const struct files_issued *issued, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        files_truth_ack(w->truth, issued[i].seq, issued[i].attempt);
    w->seq = issued[count - 1].seq;
    w->chain = issued[count - 1].chain;
}

/* One batch: written at the end of what is durable, synced, acknowledged. A failure throws the batch's place
 * away, not the batch: it is written there again. False: the node is gone. */
static bool append(struct writer *w)
{
    struct files_issued issued[64];
    unsigned count = 1 + (unsigned)io_random_below(w->io, IO_RAND_JITTER, setting(w, SCN_FILES_BATCH));
    uint64_t chain = w->chain;
    CD_ASSERT(count <= CD_COUNT(issued));
    cd_buf_clear(&w->bytes);
    for (unsigned i = 0; i < count; i++) {
        struct files_issued *r = &issued[i];
        r->seq = w->seq + 1 + i;
        r->attempt = files_truth_attempt(w->truth);
        r->len = (uint32_t)io_random_below(w->io, IO_RAND_JITTER, setting(w, SCN_FILES_RECORD) + 1);
        chain = r->chain = files_record_add(&w->bytes, w->truth->node, r->seq, r->attempt, chain, r->len);
        files_truth_issue(w->truth, r);
    }
    if (CD_PLANT("files.ack-before-sync"))
        acknowledge(w, issued, count);
    for (;;) {
        int rc = io_file_pwrite(&w->log, w->bytes.ptr, w->bytes.len, w->end);
        if (rc == 0)
            rc = sync_log(w);
        if (rc != 0 && CD_PLANT("files.sync-retried"))
            rc = sync_log(w);
        if (rc == 0 && !gone(w))
            break;
        CD_MARK("files.append_again");
        if (!retry(w))
            return false;
    }
    w->end += w->bytes.len;
    if (w->seq < issued[count - 1].seq)
        acknowledge(w, issued, count);
    return true;
}

static bool pace(struct writer *w)
{
    uint64_t mean = IO_SEC(1000) / setting(w, SCN_FILES_RATE);
    uint64_t ns = io_random_below(w->io, IO_RAND_JITTER, 2 * mean + 1) + nondeterminism();
    CD_ASSERT(!CD_PLANT("files.assertion"));
    return io_sleep(w->io, ns) == IO_OK && !gone(w);
}

static void writer_flow(void *arg)
{
    struct writer *w = arg;
    struct load_files *l = w->load;
    unsigned index = w->node->index;
    w->ready = recover(w);
    if (w->ready)
        l->must_recover[index] = false;
    while (w->ready && pace(w) && !l->quiet) {
        if (!append(w))
            break;
        if (w->seq - w->state.base >= setting(w, SCN_FILES_FOLD) && !fold(w))
            break;
    }
    bool kept = CD_PLANT("files.handle-kept");
    if (w->log.io != NULL && !kept)
        (void)io_file_close(&w->log);
    if (l->writer[index] == w)
        l->writer[index] = NULL;
    cd_buf_deinit(&w->bytes);
    cd_buf_deinit(&w->again);
    cd_free(w->record);
    cd_free(w);
}

/* ---- The workload ---- */

static void *files_start(struct run *run)
{
    struct load_files *l = cd_new(struct load_files);
    l->run = run;
    for (unsigned i = 1; i <= SCN_NODES_MAX; i++)
        files_truth_init(&l->truth[i], i);
    return l;
}

static void files_boot(void *load, struct fleet_node *n, struct io *io)
{
    struct load_files *l = load;
    if (io_loop_index(io) != 0)
        return;
    struct writer *w = cd_new(struct writer);
    w->load = l;
    w->node = n;
    w->truth = &l->truth[n->index];
    w->io = io;
    l->writer[n->index] = w;
    (void)io_spawn(io, "writer", writer_flow, w);
}

static void files_unwind(void *load, struct fleet_node *n, struct io *io)
{
    (void)load;
    (void)n;
    (void)io; /* The writer's fiber frees what it has when its awaits fail. */
}

static void files_wiped(void *load, struct fleet_node *n)
{
    struct load_files *l = load;
    files_truth_lost(&l->truth[n->index]);
}

static void files_quiet(void *load)
{
    struct load_files *l = load;
    l->quiet = true;
}

static bool files_settled(void *load, struct cd_buf *why)
{
    struct load_files *l = load;
    bool yes = true;
    for (unsigned i = 1; i <= l->run->nodes; i++) {
        if (l->run->node[i].node == NULL || (l->writer[i] == NULL && !l->must_recover[i]))
            continue;
        yes = false;
        if (why != NULL)
            cd_buf_addf(why, "files: the writer of n%u %s\n", i,
                        l->must_recover[i] ? "has not recovered" : "still writes");
    }
    return yes;
}

static void files_audit(void *load)
{
    struct load_files *l = load;
    for (unsigned i = 1; i <= l->run->nodes; i++)
        l->must_recover[i] = l->run->node[i].node != NULL;
}

static void files_finish(void *load)
{
    struct load_files *l = load;
    for (unsigned i = 1; i <= SCN_NODES_MAX; i++)
        files_truth_deinit(&l->truth[i]);
    cd_free(l);
}

const struct load_kind load_files = {
    .name = "files",
    .group = SCN_LOAD_FILES,
    .lasts = SCN_FILES_FOR,
    .start = files_start,
    .boot = files_boot,
    .unwind = files_unwind,
    .wiped = files_wiped,
    .quiet = files_quiet,
    .settled = files_settled,
    .audit = files_audit,
    .finish = files_finish,
};
