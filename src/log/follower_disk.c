/* log/follower_disk.c: a fragment on the disk (fleet.md 6.5).
 *
 * One file with one sync, and one sync of its directory, commit batches and state together. It gets its name
 * after its sync: a power loss leaves a torn file under no name that counts, so a damaged one was whole once,
 * and only then what it held is doubtful. A file whose commit failed is written anew by the next try: a sync
 * that failed proves nothing about what comes after it. A restarted process syncs the directory before what
 * it finds there counts: one that was killed after it gave a name leaves it in memory only. */
#include "log/follower_internal.h"

#define STATE "state.json"
#define STATE_TMP "state.json.tmp"
#define KEPT_TMP "batches.tmp"
#define FILE_BYTES_MAX (LOG_APPEND_BYTES_MAX + (64u << 10))

static const char *path_of(struct cd_buf *path, const struct followed *s, const char *name)
{
    cd_buf_clear(path);
    cd_buf_addf(path, "%s/%s", s->dir, name);
    return cd_buf_cstr(path);
}

static const char *kept_path(struct cd_buf *path, const struct followed *s, uint64_t first, uint64_t last)
{
    cd_buf_clear(path);
    cd_buf_addf(path, "%s/", s->dir);
    log_kept_name(path, first, last);
    return cd_buf_cstr(path);
}

static int file_read(struct io *io, const char *path, struct cd_buf *out)
{
    struct io_file file = {0};
    uint64_t size = 0;
    int rc = io_file_open(&file, io, path, IO_FILE_READONLY);
    if (rc != IO_OK)
        return rc;
    rc = io_file_size(&file, &size);
    if (rc == IO_OK && size > FILE_BYTES_MAX)
        rc = CD_ECORRUPT;
    while (rc == IO_OK && out->len < size) {
        size_t got = 0, want = size - out->len;
        rc = io_file_pread(&file, cd_buf_reserve(out, want), want, out->len, &got);
        if (rc == IO_OK && got == 0)
            break;
        if (rc == IO_OK)
            out->len += got;
    }
    (void)io_file_close(&file);
    return rc;
}

/* Without stopping the loop. Closes the file. */
static int file_sync(struct io_file *file)
{
    struct io_op sync = {0};
    int rc = IO_OK;
    if (!CD_PLANT("follower.no-file-sync")) {
        io_file_sync_start(file, &sync, NULL);
        rc = io_await(&sync, IO_FOREVER); /* As long as the disk takes: who asks has a deadline. */
    }
    int closed = io_file_close(file);
    return rc != IO_OK ? rc : closed;
}

/* Writes and syncs the file, without stopping the loop. On an error it is removed, as far as that works. */
static int file_write(struct io *io, const char *path, struct cd_str bytes)
{
    struct io_file file = {0};
    int rc = io_file_open(&file, io, path, IO_FILE_CREATE | IO_FILE_TRUNCATE);
    if (rc != IO_OK)
        return rc;
    rc = io_file_pwrite(&file, bytes.ptr, bytes.len, 0);
    int synced = file_sync(&file);
    if (rc == IO_OK)
        rc = synced;
    if (rc != IO_OK && io_path_remove(io, path) != IO_OK)
        CD_MARK("follower.half_file_stays"); /* The next try overwrites it; a restart finds it damaged. */
    return rc;
}

/* ---- Directories ---- */

/* The levels of dir below the data root, deepest last: peerlog, node, generation. */
static int dirs_make(struct followed *s)
{
    struct io *io = s->f->o.io;
    struct cd_buf path = {0};
    int rc = IO_OK;
    if (s->chained)
        return IO_OK; /* They are there, and synced. */
    for (size_t at = strlen(s->f->data_dir) + 1; rc == IO_OK && at <= strlen(s->dir); at++) {
        if (s->dir[at] != '/' && s->dir[at] != 0)
            continue;
        cd_buf_clear(&path);
        cd_buf_add(&path, s->dir, at);
        rc = io_path_mkdir(io, cd_buf_cstr(&path));
        if (rc == IO_EXISTS)
            rc = IO_OK;
    }
    cd_buf_deinit(&path);
    return rc;
}

static int dirs_sync(struct followed *s)
{
    struct io *io = s->f->o.io;
    if (CD_PLANT("follower.no-dir-sync"))
        return IO_OK;
    int rc = io_path_sync(io, s->dir);
    if (rc != IO_OK || s->chained)
        return rc;
    char *path = cd_str_dup(cd_str(s->dir));
    for (size_t at = strlen(path) - 1; rc == IO_OK && at >= strlen(s->f->data_dir); at--) {
        if (path[at] != '/')
            continue;
        path[at] = 0;
        rc = io_path_sync(io, path);
    }
    cd_free(path);
    s->chained = rc == IO_OK;
    return rc;
}

/* ---- Loading ---- */

struct found {
    struct followed *s;
    bool strange;
};

static void kept_add(struct followed *s, const struct log_kept *k)
{
    if (s->count == s->cap) {
        s->cap = s->cap == 0 ? 8 : s->cap * 2;
        s->kept = cd_realloc(s->kept, s->cap * sizeof *s->kept);
    }
    s->kept[s->count] = *k;
    s->kept[s->count++].frames = (struct cd_str){0};
}

static void name_found(void *arg, const char *name)
{
    struct found *found = arg;
    struct log_kept k;
    if (strcmp(name, STATE) == 0 || strcmp(name, STATE_TMP) == 0 || strcmp(name, KEPT_TMP) == 0)
        return;
    if (log_kept_name_read(&k, cd_str(name)))
        kept_add(found->s, &k);
    else
        found->strange = true;
}

static int kept_load(struct followed *s, struct log_kept *k, struct cd_buf *body)
{
    struct cd_buf path = {0}, why = {0};
    cd_buf_clear(body);
    int rc = file_read(s->f->o.io, kept_path(&path, s, k->first, k->last), body);
    if (rc == IO_OK)
        rc = log_kept_read(k, cd_str(s->session), cd_buf_str(body), &why);
    if (rc == CD_ECORRUPT || rc == IO_NOENT) {
        cd_event_to(s->f->o.io, CD_WARN, "log", "follower_file_damaged", CD_Z("path", cd_buf_cstr(&path)),
                    CD_S("error", cd_buf_str(&why)));
        k->valid = false;
        rc = 0;
    }
    cd_buf_deinit(&path);
    cd_buf_deinit(&why);
    return rc;
}

int log_followed_load(struct followed *s)
{
    struct io *io = s->f->o.io;
    struct cd_buf path = {0}, body = {0};
    struct found found = {s, false};
    struct log_fragment v = {0};
    if (s->loaded)
        return 0;
    s->count = 0;
    int rc = io_path_list(io, s->dir, name_found, &found);
    bool there = rc == IO_OK;
    if (rc == IO_NOENT)
        rc = 0;
    if (rc == 0) {
        rc = file_read(io, path_of(&path, s, STATE), &body);
        if (rc == IO_OK && log_fragment_read(&v, cd_buf_str(&body)) != 0)
            cd_event_to(io, CD_WARN, "log", "follower_state_damaged", CD_Z("path", cd_buf_cstr(&path)));
        rc = rc == IO_NOENT || rc == CD_ECORRUPT ? 0 : rc;
    }
    for (size_t i = 0; rc == 0 && i < s->count; i++) {
        rc = kept_load(s, &s->kept[i], &body);
        s->kept[i].frames = (struct cd_str){0};
    }
    /* A file has its name only after its own sync; that the name is synced nobody knows. */
    if (rc == 0 && there && !CD_PLANT("follower.trusts-cache"))
        rc = dirs_sync(s);
    if (rc == 0) {
        log_fragment_load(&v, s->kept, s->count, found.strange);
        if (CD_PLANT("follower.forgets-seal"))
            v.sealed_to = 0;
        s->v = v;
        s->loaded = true;
    }
    cd_buf_deinit(&path);
    cd_buf_deinit(&body);
    return rc;
}

/* ---- Saving ---- */

int log_followed_state_save(struct followed *s, const struct log_fragment *v)
{
    struct io *io = s->f->o.io;
    struct cd_buf body = {0}, tmp = {0}, path = {0};
    log_fragment_write(&body, v);
    int rc = dirs_make(s);
    if (rc == IO_OK)
        rc = file_write(io, path_of(&tmp, s, STATE_TMP), cd_buf_str(&body));
    if (rc == IO_OK)
        rc = io_path_rename(io, cd_buf_cstr(&tmp), path_of(&path, s, STATE));
    if (rc == IO_OK)
        rc = dirs_sync(s);
    if (rc == IO_OK)
        s->v = *v;
    else
        s->chained = false; /* Whatever is missing is made by the next try. */
    cd_buf_deinit(&body);
    cd_buf_deinit(&tmp);
    cd_buf_deinit(&path);
    return rc;
}

static void kept_drop(struct followed *s, size_t at)
{
    memmove(&s->kept[at], &s->kept[at + 1], (s->count - at - 1) * sizeof *s->kept);
    s->count--;
}

int log_followed_batches_save(struct followed *s, const struct log_take *t)
{
    struct cd_buf body = {0}, tmp = {0}, path = {0};
    struct log_fragment v = s->v;
    v.base = t->base;
    log_kept_write(&body, &v, t);
    (void)kept_path(&path, s, t->first, t->last);
    int rc = dirs_make(s);
    if (CD_PLANT("follower.named-first")) {
        rc = rc == IO_OK ? file_write(s->f->o.io, cd_buf_cstr(&path), cd_buf_str(&body)) : rc;
    } else if (rc == IO_OK) {
        rc = file_write(s->f->o.io, path_of(&tmp, s, KEPT_TMP), cd_buf_str(&body));
        if (rc == IO_OK)
            rc = io_path_rename(s->f->o.io, cd_buf_cstr(&tmp), cd_buf_cstr(&path));
    }
    if (rc == IO_OK)
        rc = dirs_sync(s);
    if (rc == IO_OK) {
        for (size_t i = s->count; i > 0; i--)
            if (s->kept[i - 1].first == t->first && s->kept[i - 1].last == t->last)
                kept_drop(s, i - 1);
        kept_add(s, &(struct log_kept){.first = t->first,
                                       .last = t->last,
                                       .epoch = v.epoch,
                                       .base = v.base,
                                       .sealed_to = v.sealed_to,
                                       .count = t->count,
                                       .valid = true});
        log_fragment_took(&s->v, t);
    } else {
        s->chained = false; /* Whatever is missing is made by the next try. */
    }
    cd_buf_deinit(&body);
    cd_buf_deinit(&tmp);
    cd_buf_deinit(&path);
    return rc;
}

/* Removes file at of s->kept. */
static int kept_remove(struct followed *s, size_t at)
{
    struct cd_buf path = {0};
    int rc = io_path_remove(s->f->o.io, kept_path(&path, s, s->kept[at].first, s->kept[at].last));
    if (rc == IO_NOENT)
        rc = IO_OK;
    if (rc == IO_OK)
        kept_drop(s, at);
    cd_buf_deinit(&path);
    return rc;
}

static void name_collect(void *arg, const char *name)
{
    struct cd_buf *names = arg;
    cd_buf_add(names, name, strlen(name) + 1);
}

/* By the directory, not by what is remembered: a file whose commit failed may lie there too. */
int log_followed_forget(struct followed *s)
{
    struct io *io = s->f->o.io;
    struct cd_buf names = {0}, path = {0};
    int rc = io_path_list(io, s->dir, name_collect, &names);
    if (rc == IO_NOENT)
        rc = IO_OK;
    for (size_t at = 0; rc == IO_OK && at < names.len; at += strlen(names.ptr + at) + 1) {
        if (strcmp(names.ptr + at, STATE) == 0)
            continue;
        rc = io_path_remove(io, path_of(&path, s, names.ptr + at));
    }
    if (rc == IO_OK)
        s->count = 0;
    else
        s->loaded = false; /* Some are gone, some are not: look again. */
    cd_buf_deinit(&names);
    cd_buf_deinit(&path);
    return rc;
}

int log_followed_remove(struct followed *s)
{
    struct io *io = s->f->o.io;
    struct cd_buf path = {0};
    int rc = log_followed_forget(s);
    if (rc == IO_OK)
        rc = io_path_remove(io, path_of(&path, s, STATE));
    if (rc == IO_OK || rc == IO_NOENT)
        rc = io_path_remove(io, s->dir);
    s->loaded = s->chained = false;
    cd_buf_deinit(&path);
    return rc == IO_NOENT ? IO_OK : rc;
}

void log_followed_trim(struct followed *s)
{
    for (size_t i = s->count; i > 0; i--)
        if (s->kept[i - 1].last <= s->v.base)
            (void)kept_remove(s, i - 1);
}

/* ---- Reading ---- */

/* The frames of a file that are behind *at and not behind end. */
static void frames_take(struct cd_buf *frames, uint32_t *count, struct cd_str from, uint64_t first,
                        uint64_t *at, uint64_t end)
{
    struct cd_str batch;
    for (uint64_t n = first; log_frame_next(&from, &batch); n++) {
        if (n <= *at || n > end)
            continue;
        log_frame_add(frames, batch);
        *at = n;
        (*count)++;
    }
}

/* The valid file that goes on behind at, or, when none does, the next one. NULL: none. */
static struct log_kept *kept_behind(struct followed *s, uint64_t at)
{
    struct log_kept *best = NULL;
    for (size_t i = 0; i < s->count; i++) {
        struct log_kept *k = &s->kept[i];
        bool fits = k->valid && k->epoch == s->v.epoch && k->last > at && k->first <= s->v.end;
        if (fits && (best == NULL || k->first < best->first))
            best = k;
    }
    return best;
}

int log_followed_read(struct followed *s, struct cd_buf *frames, uint32_t *count, bool *complete)
{
    struct cd_buf body = {0};
    struct log_kept *k;
    uint64_t at = s->v.base;
    int rc = 0;
    *count = 0;
    while (rc == 0 && at < s->v.end && (k = kept_behind(s, at)) != NULL) {
        rc = kept_load(s, k, &body); /* Again from the disk: what reads back now is what counts. */
        if (rc == 0 && k->valid)
            frames_take(frames, count, k->frames, k->first, &at, s->v.end);
        k->frames = (struct cd_str){0};
    }
    if (rc == 0)
        *complete = log_fragment_complete(&s->v, s->kept, s->count);
    cd_buf_deinit(&body);
    return rc;
}
