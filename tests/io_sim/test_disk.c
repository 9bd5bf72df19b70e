/* The disk of the simulator: what a crash may leave, exhaustively for small cases; faults; images. */
#include "rig.h"

static void put(struct io_file *f, char byte, size_t len, uint64_t at)
{
    char *bytes = cd_alloc(len);
    memset(bytes, byte, len);
    assert_int_equal(io_file_pwrite(f, bytes, len, at), IO_OK);
    cd_free(bytes);
}

static struct io_file open_file(struct sim_node *n, const char *path, unsigned flags)
{
    struct io_file f = {0};
    assert_int_equal(io_file_open(&f, sim_io(n, 0), path, flags), IO_OK);
    return f;
}

static void power_cycle(struct sim_node *n)
{
    sim_crash_wait(n, SIM_POWER);
    sim_restart(n, false);
}

static size_t read_file(struct sim_node *n, const char *path, char *buf, size_t cap)
{
    struct io_file f = open_file(n, path, IO_FILE_READONLY);
    size_t got = 0;
    assert_int_equal(io_file_pread(&f, buf, cap, 0, &got), IO_OK);
    assert_int_equal(io_file_close(&f), IO_OK);
    return got;
}

static bool exists(struct sim_node *n, const char *path)
{
    struct io_path_info info;
    int rc = io_path_stat(sim_io(n, 0), path, &info);
    assert_true(rc == IO_OK || rc == IO_NOENT);
    return rc == IO_OK;
}

/* ---- Unsynced writes ---- */

#define SECTOR 512u

/* Three sectors of 'a', durable; then 'b' over the first two and 'c' over the last two, not synced. */
static unsigned two_writes_outcome(uint64_t seed, const struct sim_disk *disk, enum sim_crash how)
{
    struct sim *sim = sim_new(&(struct sim_opts){.seed = seed});
    struct sim_node *n = rig_node(sim, "n1");
    sim_disk_set(n, disk);
    char bytes[3 * SECTOR];
    memset(bytes, 'a', sizeof bytes);
    sim_disk_put(n, "/d/f", cd_str_of(bytes, sizeof bytes));
    struct io_file f = open_file(n, "/d/f", 0);
    put(&f, 'b', 2 * SECTOR, 0);
    put(&f, 'c', 2 * SECTOR, SECTOR);
    sim_crash(n, how);
    assert_int_equal(io_file_close(&f), IO_OK);
    sim_run_for(sim, 1);
    assert_int_equal(sim_node_life(n), SIM_DEAD);
    sim_restart(n, false);
    assert_int_equal(read_file(n, "/d/f", bytes, sizeof bytes), sizeof bytes);
    unsigned outcome = 0;
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned k = 1; k < SECTOR; k++)
            assert_int_equal(bytes[i * SECTOR], bytes[i * SECTOR + k]); /* A sector is never torn. */
        outcome = outcome * 3 + (unsigned)(bytes[i * SECTOR] - 'a');
    }
    sim_free(sim);
    return outcome;
}

static void test_each_unsynced_write_is_kept_dropped_or_torn_at_sectors(void **state)
{
    (void)state;
    bool seen[27] = {0};
    for (uint64_t seed = 1; seed <= 5000; seed++)
        seen[two_writes_outcome(seed, &(struct sim_disk){0}, SIM_POWER)] = true;
    for (unsigned i = 0; i < 27; i++) {
        unsigned first = i / 9, last = i % 3;
        /* The first sector was never 'c', the last never 'b'; all else may be. */
        assert_int_equal(seen[i], first != 2 && last != 1);
    }
}

static void test_weights_and_kills_decide_fates(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        assert_int_equal(two_writes_outcome(seed, &(struct sim_disk){.keep = 1}, SIM_POWER),
                         1 * 9 + 2 * 3 + 2);
        assert_int_equal(two_writes_outcome(seed, &(struct sim_disk){.drop = 1}, SIM_POWER), 0);
        /* The page cache outlives the process. */
        assert_int_equal(two_writes_outcome(seed, &(struct sim_disk){.drop = 1}, SIM_KILL),
                         1 * 9 + 2 * 3 + 2);
    }
}

static void test_synced_bytes_stay(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct sim *sim = sim_new(&(struct sim_opts){.seed = seed});
        struct sim_node *n = rig_node(sim, "n1");
        sim_disk_put(n, "/d/f", CD_STR("old"));
        struct io_file f = open_file(n, "/d/f", 0);
        put(&f, 'x', 10000, 5);
        assert_int_equal(io_file_truncate(&f, 9000), IO_OK);
        put(&f, 'y', 100, 12000);
        assert_int_equal(io_file_sync(&f), IO_OK);
        put(&f, 'z', 1, 0);
        assert_int_equal(io_file_close(&f), IO_OK);
        power_cycle(n);
        char bytes[13000];
        assert_int_equal(read_file(n, "/d/f", bytes, sizeof bytes), 12100);
        assert_true(bytes[0] == 'o' || bytes[0] == 'z');
        assert_memory_equal(bytes + 1, "ld\0\0xx", 6);
        assert_true(bytes[8999] == 'x' && bytes[9000] == '\0' && bytes[11999] == '\0' && bytes[12000] == 'y');
        struct cd_buf durable = {0};
        assert_int_equal(sim_disk_durable(n, "/d/f", &durable), IO_OK);
        assert_int_equal(durable.len, 12100);
        assert_memory_equal(durable.ptr, bytes, durable.len);
        cd_buf_deinit(&durable);
        sim_free(sim);
    }
}

static void test_sync_start_covers_what_was_written_before_it(void **state)
{
    (void)state;
    struct sim *sim = sim_new(NULL);
    struct sim_node *n = rig_node(sim, "n1");
    sim_disk_set(n, &(struct sim_disk){.drop = 1, .sync_ns = IO_MS(3)});
    sim_disk_put(n, "/d/f", CD_STR(""));
    struct io_file f = open_file(n, "/d/f", 0);
    put(&f, '1', 10, 0);
    struct io_op op = {0};
    io_file_sync_start(&f, &op, NULL);
    put(&f, '2', 10, 10);
    sim_run_for(sim, IO_MS(2));
    assert_true(io_busy(&op));
    struct cd_buf durable = {0};
    assert_int_equal(sim_disk_durable(n, "/d/f", &durable), IO_OK);
    assert_int_equal(durable.len, 0);
    sim_run_for(sim, IO_MS(2));
    assert_false(io_busy(&op));
    assert_int_equal(op.status, IO_OK);
    assert_int_equal(sim_disk_durable(n, "/d/f", &durable), IO_OK);
    assert_str_is(cd_buf_str(&durable), "1111111111");
    cd_buf_deinit(&durable);
    assert_int_equal(io_file_close(&f), IO_OK);
    sim_free(sim);
}

/* ---- Failed syncs ---- */

static void test_after_a_failed_sync_the_bytes_may_be_gone_for_good(void **state)
{
    (void)state;
    bool lost = false, kept = false, shown_though_lost = false;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct sim *sim = sim_new(&(struct sim_opts){.seed = seed});
        struct sim_node *n = rig_node(sim, "n1");
        sim_disk_put(n, "/d/f", CD_STR("................"));
        sim_disk_fail_syncs(n, "/d/", 1);
        struct io_file f = open_file(n, "/d/f", 0);
        put(&f, 'x', 4, 0);
        assert_int_equal(io_file_sync(&f), IO_FAULT);
        char before[16], after[16];
        size_t got;
        assert_int_equal(io_file_pread(&f, before, 4, 0, &got), IO_OK);
        put(&f, 'y', 4, 8);
        assert_int_equal(io_file_sync(&f), IO_OK); /* Proves the second write, not the first. */
        assert_int_equal(io_file_close(&f), IO_OK);
        power_cycle(n);
        assert_int_equal(read_file(n, "/d/f", after, 16), 16);
        assert_memory_equal(after + 8, "yyyy", 4);
        assert_true(memcmp(after, "xxxx", 4) == 0 || memcmp(after, "....", 4) == 0);
        lost = lost || after[0] == '.';
        kept = kept || after[0] == 'x';
        shown_though_lost = shown_though_lost || (before[0] == 'x' && after[0] == '.');
        sim_free(sim);
    }
    assert_true(lost && kept && shown_though_lost);
}

/* ---- Names ---- */

static unsigned names_outcome(uint64_t seed, bool sync)
{
    struct sim *sim = sim_new(&(struct sim_opts){.seed = seed});
    struct sim_node *n = rig_node(sim, "n1");
    struct io *io = sim_io(n, 0);
    sim_disk_put(n, "/d/move", CD_STR("1"));
    sim_disk_put(n, "/d/gone", CD_STR("2"));
    struct io_file f = open_file(n, "/d/made", IO_FILE_CREATE | IO_FILE_EXCLUSIVE);
    put(&f, '3', 1, 0);
    assert_int_equal(io_file_sync(&f), IO_OK);
    assert_int_equal(io_file_close(&f), IO_OK);
    assert_int_equal(io_path_rename(io, "/d/move", "/d/moved"), IO_OK);
    assert_int_equal(io_path_remove(io, "/d/gone"), IO_OK);
    if (sync)
        assert_int_equal(io_path_sync(io, "/d"), IO_OK);
    power_cycle(n);
    assert_true(exists(n, "/d/move") != exists(n, "/d/moved")); /* A rename is done or not. */
    unsigned outcome =
        exists(n, "/d/made") | (exists(n, "/d/moved") ? 2u : 0) | (exists(n, "/d/gone") ? 0 : 4u);
    char byte = 0;
    if (exists(n, "/d/made")) {
        assert_int_equal(read_file(n, "/d/made", &byte, 1), 1);
        assert_int_equal(byte, '3');
    }
    sim_free(sim);
    return outcome;
}

static void test_unsynced_names_are_undone_singly(void **state)
{
    (void)state;
    unsigned seen = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        seen |= 1u << names_outcome(seed, false);
        assert_int_equal(names_outcome(seed, true), 7);
    }
    assert_int_equal(seen, 0xff);
}

static void test_a_rename_across_directories_takes_its_past_along(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct sim *sim = sim_new(&(struct sim_opts){.seed = seed});
        struct sim_node *n = rig_node(sim, "n1");
        struct io *io = sim_io(n, 0);
        sim_disk_put(n, "/a/", CD_STR(""));
        sim_disk_put(n, "/b/", CD_STR(""));
        struct io_file f = open_file(n, "/a/tmp", IO_FILE_CREATE);
        assert_int_equal(io_file_close(&f), IO_OK);
        assert_int_equal(io_path_rename(io, "/a/tmp", "/b/final"), IO_OK);
        assert_int_equal(io_path_sync(io, "/b"), IO_OK);
        power_cycle(n);
        assert_true(exists(n, "/b/final") && !exists(n, "/a/tmp"));
        sim_free(sim);
    }
}

static void list_name(void *arg, const char *name)
{
    cd_buf_addf(arg, "%s ", name);
}

static void test_directories_list_move_and_refuse(void **state)
{
    (void)state;
    struct sim *sim = sim_new(NULL);
    struct sim_node *n = rig_node(sim, "n1");
    struct io *io = sim_io(n, 0);
    assert_int_equal(io_path_mkdir(io, "/d"), IO_OK);
    assert_int_equal(io_path_mkdir(io, "/d"), IO_EXISTS);
    assert_int_equal(io_path_mkdir(io, "/x/y"), IO_NOENT);
    assert_int_equal(io_path_mkdir(io, "/d/sub"), IO_OK);
    struct io_file f = open_file(n, "/d/b", IO_FILE_CREATE), g = {0};
    assert_int_equal(io_file_close(&f), IO_OK);
    f = open_file(n, "/d/a", IO_FILE_CREATE | IO_FILE_LOCK);
    assert_int_equal(io_file_open(&g, io, "/d/a", IO_FILE_LOCK), IO_BUSY);
    assert_int_equal(io_file_open(&g, io, "/d/a", IO_FILE_CREATE | IO_FILE_EXCLUSIVE), IO_EXISTS);
    assert_int_equal(io_file_open(&g, io, "/d/none", 0), IO_NOENT);
    struct cd_buf names = {0};
    assert_int_equal(io_path_list(io, "/d", list_name, &names), IO_OK);
    assert_str_is(cd_buf_str(&names), "a b sub ");
    cd_buf_deinit(&names);
    assert_int_equal(io_path_list(io, "/d/a", list_name, &names), IO_NOENT);
    assert_int_equal(io_path_remove(io, "/d"), IO_BUSY);
    assert_int_equal(io_path_rename(io, "/d", "/d/sub/d"), IO_FAULT);
    assert_int_equal(io_path_rename(io, "/d/none", "/d/c"), IO_NOENT);
    assert_int_equal(io_path_rename(io, "/d/a", "/d/b"), IO_OK);
    put(&f, 'q', 3, 0); /* The open file is the same under its new name. */
    assert_int_equal(io_file_close(&f), IO_OK);
    char bytes[8];
    assert_int_equal(read_file(n, "/d/b", bytes, 8), 3);
    assert_int_equal(io_path_remove(io, "/d/sub"), IO_OK);
    sim_free(sim);
}

/* ---- Faults ---- */

static void test_a_full_disk_refuses_growth_only(void **state)
{
    (void)state;
    struct sim *sim = sim_new(NULL);
    struct sim_node *n = rig_node(sim, "n1");
    sim_disk_put(n, "/d/f", CD_STR("12345678"));
    struct io_file f = open_file(n, "/d/f", 0);
    sim_disk_full(n, true);
    assert_int_equal(io_file_pwrite(&f, "abcd", 4, 6), IO_NOSPACE);
    put(&f, 'x', 8, 0);
    uint64_t size;
    assert_int_equal(io_file_size(&f, &size), IO_OK);
    assert_int_equal(size, 8);
    sim_disk_full(n, false);
    put(&f, 'y', 4, 6);
    sim_disk_set(n, &(struct sim_disk){.capacity = 8192});
    put(&f, 'y', 100, 5000);
    assert_int_equal(io_file_pwrite(&f, "abcd", 4, 9000), IO_NOSPACE);
    assert_int_equal(io_file_truncate(&f, 10), IO_OK);
    assert_int_equal(sim_disk_used(n), 4096);
    assert_int_equal(io_file_close(&f), IO_OK);
    sim_free(sim);
}

static void test_read_errors_flipped_bits_and_rot(void **state)
{
    (void)state;
    struct sim *sim = sim_new(NULL);
    struct sim_node *n = rig_node(sim, "n1");
    sim_disk_put(n, "/d/sum", CD_STR("12345678"));
    sim_disk_put(n, "/d/plain", CD_STR("12345678"));
    sim_disk_flip(n, "/d/sum", 500000);
    unsigned flipped = 0, failed = 0;
    char bytes[8];
    for (unsigned i = 0; i < 200; i++) {
        assert_int_equal(read_file(n, "/d/sum", bytes, 8), 8);
        flipped += memcmp(bytes, "12345678", 8) != 0;
        assert_int_equal(read_file(n, "/d/plain", bytes, 8), 8);
        assert_memory_equal(bytes, "12345678", 8);
    }
    assert_uint_in_range(flipped, 60, 140);
    assert_true(sim_disk_rot(n, "/d/plain", 1, 0));
    assert_false(sim_disk_rot(n, "/d/plain", 8, 0));
    assert_int_equal(read_file(n, "/d/plain", bytes, 8), 8);
    assert_memory_equal(bytes, "13345678", 8);
    sim_disk_set(n, &(struct sim_disk){.read_fail_ppm = 500000});
    struct io_file f = open_file(n, "/d/plain", IO_FILE_READONLY);
    for (unsigned i = 0; i < 200; i++) {
        size_t got;
        failed += io_file_pread(&f, bytes, 8, 0, &got) == IO_FAULT;
    }
    assert_uint_in_range(failed, 60, 140);
    assert_int_equal(io_file_pwrite(&f, "x", 1, 0), IO_DENIED);
    assert_int_equal(io_file_close(&f), IO_OK);
    sim_free(sim);
}

static void slow_flow(void *arg)
{
    struct io *io = arg;
    struct io_file f = {0};
    CHECK_INT(io_file_open(&f, io, "/f", IO_FILE_CREATE), IO_OK);
    uint64_t before = io_now_ns(io);
    CHECK_INT(io_file_pwrite(&f, "x", 1, 0), IO_OK);
    CHECK_INT(io_file_sync(&f), IO_OK);
    CHECK_INT(io_now_ns(io), before); /* Time stands still within a callback ... */
    CHECK_INT(io_sleep(io, 0), IO_OK);
    CHECK_INT(io_now_ns(io) - before, IO_MS(7)); /* ... and the next one comes when the disk is done. */
    CHECK_INT(io_file_close(&f), IO_OK);
}

static void test_a_slow_disk_keeps_its_loop_busy(void **state)
{
    (void)state;
    struct sim *sim = sim_new(NULL);
    struct sim_node *n = rig_node(sim, "n1");
    sim_disk_set(n, &(struct sim_disk){.write_ns = IO_MS(2), .sync_ns = IO_MS(5)});
    (void)io_spawn(sim_io(n, 0), "slow", slow_flow, sim_io(n, 0));
    assert_true(rig_run(sim, n, NULL));
    sim_free(sim);
}

static void test_wiped_restored_and_large_disks(void **state)
{
    (void)state;
    struct sim *sim = sim_new(NULL);
    struct sim_node *n = rig_node(sim, "n1");
    sim_disk_put(n, "/d/sub/f", CD_STR("old"));
    struct sim_image *image = sim_disk_copy(n);
    sim_disk_put(n, "/d/sub/f", CD_STR("new"));
    sim_crash_wait(n, SIM_POWER);
    sim_disk_restore(n, image);
    sim_image_free(image);
    sim_restart(n, false);
    char bytes[8];
    assert_int_equal(read_file(n, "/d/sub/f", bytes, 8), 3);
    assert_memory_equal(bytes, "old", 3);
    sim_crash_wait(n, SIM_POWER);
    sim_restart(n, true);
    assert_false(exists(n, "/d"));
    /* Many megabytes, written in small pieces and synced once, cost one copy. */
    struct io_file f = open_file(n, "/big", IO_FILE_CREATE);
    for (unsigned i = 0; i < 5000; i++)
        put(&f, (char)i, 8192, (uint64_t)i * 8192);
    assert_int_equal(io_file_sync(&f), IO_OK);
    assert_int_equal(io_path_sync(sim_io(n, 0), "/"), IO_OK);
    assert_int_equal(io_file_close(&f), IO_OK);
    assert_int_equal(sim_disk_used(n), 5000u * 8192u);
    power_cycle(n);
    struct io_path_info info;
    assert_int_equal(io_path_stat(sim_io(n, 0), "/big", &info), IO_OK);
    assert_int_equal(info.size, 5000u * 8192u);
    sim_free(sim);
}

CD_TESTS(disk, cmocka_unit_test(test_each_unsynced_write_is_kept_dropped_or_torn_at_sectors),
         cmocka_unit_test(test_weights_and_kills_decide_fates), cmocka_unit_test(test_synced_bytes_stay),
         cmocka_unit_test(test_sync_start_covers_what_was_written_before_it),
         cmocka_unit_test(test_after_a_failed_sync_the_bytes_may_be_gone_for_good),
         cmocka_unit_test(test_unsynced_names_are_undone_singly),
         cmocka_unit_test(test_a_rename_across_directories_takes_its_past_along),
         cmocka_unit_test(test_directories_list_move_and_refuse),
         cmocka_unit_test(test_a_full_disk_refuses_growth_only),
         cmocka_unit_test(test_read_errors_flipped_bits_and_rot),
         cmocka_unit_test(test_a_slow_disk_keeps_its_loop_busy),
         cmocka_unit_test(test_wiped_restored_and_large_disks))
