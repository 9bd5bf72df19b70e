/* Files. */
#include "support.h"

static const char *in_dir(struct contract *c, const char *name)
{
    static char path[300];
    (void)snprintf(path, sizeof path, "%s/%s", c->dir, name);
    return path;
}

static void put(struct io_file *f, const char *text, uint64_t at)
{
    CHECK_INT(io_file_pwrite(f, text, strlen(text), at), IO_OK);
}

static bool holds(struct io_file *f, const char *want, size_t len)
{
    char bytes[512];
    size_t got = 0;
    uint64_t size = 0;
    CHECK(len < sizeof bytes);
    CHECK_INT(io_file_size(f, &size), IO_OK);
    CHECK_INT(io_file_pread(f, bytes, sizeof bytes, 0, &got), IO_OK);
    return size == len && got == len && memcmp(bytes, want, len) == 0;
}

static void flow_open(struct contract *c)
{
    struct io_file f = {0}, g = {0};
    const char *path = in_dir(c, "f");
    CHECK_INT(io_file_open(&f, c->io, path, 0), IO_NOENT);
    CHECK_INT(io_file_open(&f, c->io, path, IO_FILE_READONLY), IO_NOENT);
    CHECK(f.io == NULL);
    CHECK_INT(io_file_open(&f, c->io, path, IO_FILE_CREATE), IO_OK);
    CHECK(f.io == c->io);
    put(&f, "hello", 0);
    CHECK_INT(io_file_open(&g, c->io, path, IO_FILE_CREATE | IO_FILE_EXCLUSIVE), IO_EXISTS);
    CHECK_INT(io_file_open(&g, c->io, path, IO_FILE_CREATE), IO_OK);
    CHECK(holds(&g, "hello", 5)); /* Creating leaves what is there. */
    CHECK_INT(io_file_close(&g), IO_OK);
    CHECK(g.io == NULL);
    CHECK_INT(io_file_open(&g, c->io, path, IO_FILE_READONLY), IO_OK);
    CHECK(holds(&g, "hello", 5));
    CHECK(io_file_pwrite(&g, "x", 1, 0) != IO_OK);
    CHECK(holds(&g, "hello", 5));
    CHECK_INT(io_file_close(&g), IO_OK);
    CHECK_INT(io_file_open(&g, c->io, path, IO_FILE_TRUNCATE), IO_OK);
    CHECK(holds(&f, "", 0)); /* Both see the same file. */
    CHECK_INT(io_file_close(&g), IO_OK);
    CHECK_INT(io_file_close(&f), IO_OK);
    CHECK(io_file_open(&f, c->io, c->dir, IO_FILE_READONLY) != IO_OK); /* A directory is no file. */
    CHECK(io_file_open(&f, c->io, c->dir, 0) != IO_OK);
    CHECK_INT(io_file_open(&f, c->io, in_dir(c, "none/f"), IO_FILE_CREATE), IO_NOENT);
    CHECK_INT(io_file_open(&f, c->io, in_dir(c, "f/f"), IO_FILE_CREATE), IO_NOENT);
}

static void test_open_makes_finds_and_refuses_as_its_flags_say(void **state)
{
    (void)state;
    contract_run(flow_open);
}

static void flow_bytes(struct contract *c)
{
    struct io_file f = {0};
    char bytes[64];
    size_t got;
    CHECK_INT(io_file_open(&f, c->io, in_dir(c, "f"), IO_FILE_CREATE), IO_OK);
    CHECK_INT(io_file_pread(&f, bytes, sizeof bytes, 0, &got), IO_OK);
    CHECK_INT(got, 0);
    CHECK_INT(io_file_pread(&f, bytes, sizeof bytes, 1000, &got), IO_OK);
    CHECK_INT(got, 0);
    put(&f, "abc", 0);
    put(&f, "xyz", 6); /* The gap reads as zeros. */
    CHECK(holds(&f, "abc\0\0\0xyz", 9));
    put(&f, "BCD", 1);
    CHECK(holds(&f, "aBCD\0\0xyz", 9));
    CHECK_INT(io_file_pread(&f, bytes, 4, 7, &got), IO_OK);
    CHECK(got == 2 && memcmp(bytes, "yz", 2) == 0); /* Short only at the end. */
    CHECK_INT(io_file_pread(&f, bytes, 0, 0, &got), IO_OK);
    CHECK_INT(got, 0);
    CHECK_INT(io_file_pwrite(&f, "", 0, 500), IO_OK); /* Nothing written: nothing grows. */
    CHECK(holds(&f, "aBCD\0\0xyz", 9));
    CHECK_INT(io_file_truncate(&f, 2), IO_OK);
    CHECK(holds(&f, "aB", 2));
    CHECK_INT(io_file_truncate(&f, 5), IO_OK); /* What was cut off does not come back. */
    CHECK(holds(&f, "aB\0\0\0", 5));
    CHECK_INT(io_file_close(&f), IO_OK);
}

static void test_bytes_are_where_they_were_written(void **state)
{
    (void)state;
    contract_run(flow_bytes);
}

static void flow_big(struct contract *c)
{
    const size_t size = 3u << 20;
    struct io_file f = {0};
    char *bytes = cd_alloc(size);
    size_t got;
    pattern_fill(bytes, size, 0);
    CHECK_INT(io_file_open(&f, c->io, in_dir(c, "big"), IO_FILE_CREATE), IO_OK);
    CHECK_INT(io_file_pwrite(&f, bytes, size, 12345), IO_OK);
    memset(bytes, 0, size);
    CHECK_INT(io_file_pread(&f, bytes, size, 12345, &got), IO_OK);
    CHECK_INT(got, size);
    CHECK(pattern_is(bytes, size, 0));
    CHECK_INT(io_file_sync(&f), IO_OK);
    CHECK_INT(io_file_close(&f), IO_OK);
    cd_free(bytes);
}

static void test_large_reads_and_writes_are_whole(void **state)
{
    (void)state;
    contract_run(flow_big);
}

static void flow_lock(struct contract *c)
{
    struct io_file f = {0}, g = {0};
    const char *path = in_dir(c, "f");
    CHECK_INT(io_file_open(&f, c->io, path, IO_FILE_CREATE | IO_FILE_LOCK), IO_OK);
    put(&f, "mine", 0);
    CHECK_INT(io_file_open(&g, c->io, path, IO_FILE_LOCK), IO_BUSY);
    CHECK_INT(io_file_open(&g, c->io, path, IO_FILE_LOCK | IO_FILE_TRUNCATE), IO_BUSY);
    CHECK(holds(&f, "mine", 4)); /* Who does not get the lock does no harm. */
    CHECK_INT(io_file_open(&g, c->io, path, 0), IO_OK); /* Only locking is excluded. */
    CHECK_INT(io_file_close(&g), IO_OK);
    CHECK_INT(io_file_open(&g, c->io, path, IO_FILE_LOCK), IO_BUSY); /* Closing another one frees nothing. */
    CHECK_INT(io_file_close(&f), IO_OK);
    CHECK_INT(io_file_open(&g, c->io, path, IO_FILE_LOCK), IO_OK);
    CHECK_INT(io_file_close(&g), IO_OK);
}

static void test_a_lock_lasts_until_its_file_is_closed(void **state)
{
    (void)state;
    contract_run(flow_lock);
}

static void flow_sync(struct contract *c)
{
    struct io_file f = {0};
    struct probe p[5];
    CHECK_INT(io_file_open(&f, c->io, in_dir(c, "f"), IO_FILE_CREATE), IO_OK);
    CHECK_INT(io_file_sync(&f), IO_OK);
    put(&f, "one", 0);
    for (int i = 0; i < 5; i++) {
        probe_init(&p[i]);
        io_file_sync_start(&f, &p[i].op, probe_done);
        CHECK_INT(p[i].calls, 0);
        put(&f, "two", 3); /* The file is usable meanwhile. */
    }
    io_cancel(&p[3].op);
    CHECK_INT(p[3].calls, 0);
    for (int i = 0; i < 5; i++) {
        int status = probe_wait(c, &p[i]);
        CHECK(status == IO_OK || (i == 3 && status == IO_CANCELED));
    }
    turn(c);
    for (int i = 0; i < 5; i++)
        CHECK_INT(p[i].calls, 1);
    CHECK(holds(&f, "onetwo", 6));
    CHECK_INT(io_path_sync(c->io, c->dir), IO_OK);
    CHECK_INT(io_file_close(&f), IO_OK);
}

static void test_a_sync_may_run_beside_the_loop(void **state)
{
    (void)state;
    contract_run(flow_sync);
}

static bool skipped;

static void flow_sync_fails(struct contract *c)
{
    struct io_file f = {0};
    struct io_op op = {0};
    for (int how = 0; how < 2; how++) {
        CHECK_INT(io_file_open(&f, c->io, in_dir(c, "f"), IO_FILE_CREATE), IO_OK);
        put(&f, "at risk", 0);
        skipped = !contract_disk_sync_fails(c, true);
        if (skipped) {
            CHECK_INT(io_file_close(&f), IO_OK);
            return;
        }
        if (how == 0) {
            CHECK_INT(io_file_sync(&f), IO_FAULT);
        } else {
            io_file_sync_start(&f, &op, NULL);
            CHECK_INT(await(&op), IO_FAULT);
        }
        (void)contract_disk_sync_fails(c, false);
        CHECK_INT(io_file_close(&f), IO_OK);
        /* A file that is opened anew and written again is well. */
        CHECK_INT(io_file_open(&f, c->io, in_dir(c, "f"), IO_FILE_CREATE | IO_FILE_TRUNCATE), IO_OK);
        put(&f, "again", 0);
        CHECK_INT(io_file_sync(&f), IO_OK);
        CHECK(holds(&f, "again", 5));
        CHECK_INT(io_file_close(&f), IO_OK);
    }
}

static void test_a_failed_sync_is_a_fault(void **state)
{
    (void)state;
    contract_run(flow_sync_fails);
    if (skipped)
        skip();
}

static void flow_full(struct contract *c)
{
    struct io_file f = {0}, g = {0};
    static char page[4096];
    CHECK_INT(io_file_open(&f, c->io, in_dir(c, "f"), IO_FILE_CREATE), IO_OK);
    CHECK_INT(io_file_pwrite(&f, page, sizeof page, 0), IO_OK);
    put(&f, "kept", 0);
    skipped = !contract_disk_full(c, true);
    if (!skipped) {
        int status = IO_OK;
        for (uint64_t at = sizeof page; status == IO_OK && at < (64u << 20); at += sizeof page)
            status = io_file_pwrite(&f, page, sizeof page, at);
        CHECK_INT(status, IO_NOSPACE);
        char bytes[4];
        size_t got;
        CHECK_INT(io_file_pread(&f, bytes, 4, 0, &got), IO_OK);
        CHECK(got == 4 && memcmp(bytes, "kept", 4) == 0);
        put(&f, "over", 0); /* What does not grow still goes. */
        CHECK_INT(io_file_truncate(&f, sizeof page), IO_OK);
        CHECK(contract_disk_full(c, false));
        CHECK_INT(io_file_pwrite(&f, page, sizeof page, sizeof page), IO_OK);
        CHECK_INT(io_file_open(&g, c->io, in_dir(c, "g"), IO_FILE_CREATE), IO_OK);
        put(&g, "room", 0);
        CHECK_INT(io_file_close(&g), IO_OK);
    }
    CHECK_INT(io_file_close(&f), IO_OK);
}

static void test_a_full_disk_is_an_error_and_loses_nothing(void **state)
{
    (void)state;
    contract_run(flow_full);
    if (skipped)
        skip();
}

static void flow_readonly(struct contract *c)
{
    struct io_file f = {0};
    uint64_t size;
    char path[300];
    (void)snprintf(path, sizeof path, "%s/read", c->dir);
    CHECK_INT(io_file_open(&f, c->io, path, IO_FILE_CREATE), IO_OK);
    put(&f, "kept", 0);
    CHECK_INT(io_file_close(&f), IO_OK);
    CHECK_INT(io_file_open(&f, c->io, path, IO_FILE_READONLY), IO_OK);
    CHECK_INT(io_file_pwrite(&f, "lost", 4, 0), IO_DENIED);
    CHECK_INT(io_file_truncate(&f, 0), IO_DENIED);
    char bytes[4];
    size_t got;
    CHECK_INT(io_file_pread(&f, bytes, sizeof bytes, 0, &got), IO_OK);
    CHECK(got == 4 && memcmp(bytes, "kept", 4) == 0);
    CHECK_INT(io_file_size(&f, &size), IO_OK);
    CHECK_INT(size, 4);
    CHECK_INT(io_file_close(&f), IO_OK);
}

static void test_a_file_opened_to_read_is_not_written(void **state)
{
    (void)state;
    contract_run(flow_readonly);
}

static void flow_denied(struct contract *c)
{
    struct io_file f = {0};
    char path[300], other[300];
    (void)snprintf(path, sizeof path, "%s/there", c->dir);
    (void)snprintf(other, sizeof other, "%s/other", c->dir);
    CHECK_INT(io_file_open(&f, c->io, path, IO_FILE_CREATE), IO_OK);
    CHECK_INT(io_file_close(&f), IO_OK);
    skipped = !contract_disk_denies(c, true);
    if (skipped)
        return;
    CHECK_INT(io_file_open(&f, c->io, other, IO_FILE_CREATE), IO_DENIED);
    CHECK_INT(io_file_open(&f, c->io, path, 0), IO_DENIED);
    CHECK(f.io == NULL);
    CHECK_INT(io_path_mkdir(c->io, other), IO_DENIED);
    CHECK_INT(io_path_rename(c->io, path, other), IO_DENIED);
    CHECK_INT(io_path_remove(c->io, path), IO_DENIED);
    CHECK_INT(io_file_open(&f, c->io, path, IO_FILE_READONLY), IO_OK);
    CHECK_INT(io_file_close(&f), IO_OK);
    CHECK(contract_disk_denies(c, false));
    CHECK_INT(io_path_remove(c->io, path), IO_OK);
}

static void test_what_is_not_ours_to_change_is_denied(void **state)
{
    (void)state;
    contract_run(flow_denied);
    if (skipped)
        skip();
}

CD_TESTS(contract_file, cmocka_unit_test(test_open_makes_finds_and_refuses_as_its_flags_say),
         cmocka_unit_test(test_bytes_are_where_they_were_written),
         cmocka_unit_test(test_large_reads_and_writes_are_whole),
         cmocka_unit_test(test_a_lock_lasts_until_its_file_is_closed),
         cmocka_unit_test(test_a_sync_may_run_beside_the_loop),
         cmocka_unit_test(test_a_failed_sync_is_a_fault),
         cmocka_unit_test(test_a_full_disk_is_an_error_and_loses_nothing),
         cmocka_unit_test(test_a_file_opened_to_read_is_not_written),
         cmocka_unit_test(test_what_is_not_ours_to_change_is_denied))
