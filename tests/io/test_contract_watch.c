/* Watching directories. */
#include "support.h"

struct place {
    struct contract *c;
    struct io_watch watch;
    unsigned dir;
    char path[260];
};

static const char *in(struct place *p, const char *name)
{
    (void)snprintf(p->path, sizeof p->path, "%s/%s", p->c->dir, name);
    return p->path;
}

static void place_open(struct contract *c, struct place *p)
{
    *p = (struct place){.c = c};
    CHECK_INT(io_watch_open(&p->watch, c->io), IO_OK);
    CHECK_INT(io_watch_add(&p->watch, c->dir, &p->dir), IO_OK);
}

/* Waits until a change of this name comes; changes of others are passed over. */
static struct io_change wait_for(struct place *p, const char *name)
{
    struct io_change got;
    for (;;) {
        while (io_watch_next(&p->watch, &got)) {
            CHECK(!got.lost);
            if (strcmp(got.name, name) == 0)
                return got;
        }
        struct io_op op = {0};
        io_watch_wait(&p->watch, &op, NULL);
        CHECK_INT(await(&op), IO_OK);
    }
}

static void drain(struct place *p)
{
    struct io_change got;
    (void)io_sleep(p->c->io, IO_MS(20));
    while (io_watch_next(&p->watch, &got))
        continue;
}

/* Nothing comes, for as long as one can wait in a test. */
static void expect_silence(struct place *p)
{
    struct io_op op = {0};
    struct io_change got;
    CHECK(!io_watch_next(&p->watch, &got));
    io_watch_wait(&p->watch, &op, NULL);
    CHECK_INT(io_await(&op, io_now_ns(p->c->io) + IO_MS(50)), IO_TIMEDOUT);
}

static void file_write(struct place *p, const char *name, unsigned flags, const char *bytes)
{
    struct io_file f = {0};
    CHECK_INT(io_file_open(&f, p->c->io, in(p, name), flags), IO_OK);
    if (bytes[0] != 0)
        CHECK_INT(io_file_pwrite(&f, bytes, strlen(bytes), 0), IO_OK);
    CHECK_INT(io_file_close(&f), IO_OK);
}

static void flow_files(struct contract *c)
{
    struct place p;
    char to[260];
    place_open(c, &p);
    file_write(&p, "a", IO_FILE_CREATE, "one");
    struct io_change got = wait_for(&p, "a");
    CHECK_INT(got.dir, p.dir);
    CHECK(!got.is_dir);
    drain(&p);
    file_write(&p, "a", 0, "two");
    (void)wait_for(&p, "a");
    drain(&p);
    (void)snprintf(to, sizeof to, "%s/b", c->dir);
    CHECK_INT(io_path_rename(c->io, in(&p, "a"), to), IO_OK);
    (void)wait_for(&p, "a");
    (void)wait_for(&p, "b");
    drain(&p);
    CHECK_INT(io_path_remove(c->io, in(&p, "b")), IO_OK);
    (void)wait_for(&p, "b");
    CHECK_INT(io_path_mkdir(c->io, in(&p, "d")), IO_OK);
    CHECK(wait_for(&p, "d").is_dir);
    io_watch_close(&p.watch);
}

static void test_changes_of_a_directory_are_told(void **state)
{
    (void)state;
    contract_run(flow_files);
}

static void flow_reading(struct contract *c)
{
    struct place p;
    struct io_file f = {0};
    struct io_path_info info;
    char bytes[8];
    size_t got;
    place_open(c, &p);
    file_write(&p, "a", IO_FILE_CREATE, "one");
    drain(&p);
    CHECK_INT(io_file_open(&f, c->io, in(&p, "a"), IO_FILE_READONLY), IO_OK);
    CHECK_INT(io_file_pread(&f, bytes, sizeof bytes, 0, &got), IO_OK);
    CHECK_INT(io_file_close(&f), IO_OK);
    CHECK_INT(io_path_stat(c->io, in(&p, "a"), &info), IO_OK);
    file_write(&p, "a", 0, ""); /* Opened for writing, nothing written. */
    expect_silence(&p);
    io_watch_close(&p.watch);
}

static void test_reading_is_no_change(void **state)
{
    (void)state;
    contract_run(flow_reading);
}

static void flow_below(struct contract *c)
{
    struct place p;
    unsigned dir, again;
    place_open(c, &p);
    CHECK_INT(io_path_mkdir(c->io, in(&p, "d")), IO_OK);
    drain(&p);
    file_write(&p, "d/x", IO_FILE_CREATE, "1");
    expect_silence(&p);
    CHECK_INT(io_watch_add(&p.watch, in(&p, "d"), &dir), IO_OK);
    CHECK(dir != p.dir);
    file_write(&p, "d/x", 0, "2");
    CHECK_INT(wait_for(&p, "x").dir, dir);
    char to[260];
    (void)snprintf(to, sizeof to, "%s/e", c->dir);
    CHECK_INT(io_path_rename(c->io, in(&p, "d"), to), IO_OK);
    CHECK_INT(io_watch_add(&p.watch, to, &again), IO_OK);
    CHECK_INT(again, dir);
    CHECK_INT(io_watch_add(&p.watch, in(&p, "absent"), &again), IO_NOENT);
    CHECK_INT(io_watch_add(&p.watch, in(&p, "e/x"), &again), IO_NOENT);
    io_watch_close(&p.watch);
}

static void test_each_directory_is_watched_by_itself(void **state)
{
    (void)state;
    contract_run(flow_below);
}

static void flow_cancel(struct contract *c)
{
    struct place p;
    struct io_op op = {0};
    place_open(c, &p);
    io_watch_wait(&p.watch, &op, NULL);
    io_cancel(&op);
    CHECK_INT(await(&op), IO_CANCELED);
    /* What has come before the wait ends it at once. */
    file_write(&p, "a", IO_FILE_CREATE, "one");
    (void)io_sleep(c->io, IO_MS(20));
    io_watch_wait(&p.watch, &op, NULL);
    CHECK(io_busy(&op));
    CHECK_INT(await(&op), IO_OK);
    (void)wait_for(&p, "a");
    io_watch_close(&p.watch);
}

static void test_a_wait_can_be_canceled_and_ends_at_once_when_there_is_something(void **state)
{
    (void)state;
    contract_run(flow_cancel);
}

CD_TESTS(contract_watch, cmocka_unit_test(test_changes_of_a_directory_are_told),
         cmocka_unit_test(test_reading_is_no_change),
         cmocka_unit_test(test_each_directory_is_watched_by_itself),
         cmocka_unit_test(test_a_wait_can_be_canceled_and_ends_at_once_when_there_is_something))
