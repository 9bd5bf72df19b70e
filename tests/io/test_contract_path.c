/* Names: making, renaming, removing, listing. */
#include "support.h"

static const char *in_dir(struct contract *c, const char *name)
{
    static char path[4][300]; /* A call may need some at once. */
    static unsigned next;
    char *p = path[next++ % 4];
    (void)snprintf(p, sizeof path[0], "%s/%s", c->dir, name);
    return p;
}

static void make_file(struct contract *c, const char *name, const char *text)
{
    struct io_file f = {0};
    CHECK_INT(io_file_open(&f, c->io, in_dir(c, name), IO_FILE_CREATE | IO_FILE_TRUNCATE), IO_OK);
    CHECK_INT(io_file_pwrite(&f, text, strlen(text), 0), IO_OK);
    CHECK_INT(io_file_close(&f), IO_OK);
}

static bool file_is(struct contract *c, const char *name, const char *text)
{
    struct io_file f = {0};
    char bytes[100];
    size_t got;
    if (io_file_open(&f, c->io, in_dir(c, name), IO_FILE_READONLY) != IO_OK)
        return false;
    CHECK_INT(io_file_pread(&f, bytes, sizeof bytes, 0, &got), IO_OK);
    CHECK_INT(io_file_close(&f), IO_OK);
    return got == strlen(text) && memcmp(bytes, text, got) == 0;
}

static void flow_stat(struct contract *c)
{
    struct io_path_info info = {0};
    CHECK_INT(io_path_stat(c->io, in_dir(c, "f"), &info), IO_NOENT);
    make_file(c, "f", "12345");
    CHECK_INT(io_path_stat(c->io, in_dir(c, "f"), &info), IO_OK);
    CHECK(info.kind == IO_PATH_FILE && info.size == 5);
    int64_t age_ms = io_wall_ms(c->io) - info.modified_ms;
    CHECK(age_ms > -60000 && age_ms < 60000);
    CHECK_INT(io_path_stat(c->io, c->dir, &info), IO_OK);
    CHECK(info.kind == IO_PATH_DIR);
    CHECK_INT(io_path_stat(c->io, in_dir(c, "f/g"), &info), IO_NOENT);
}

static void test_stat_tells_what_a_name_is(void **state)
{
    (void)state;
    contract_run(flow_stat);
}

static void flow_cwd(struct contract *c)
{
    struct cd_buf path = {0};
    struct io_path_info info = {0};
    cd_buf_add_str(&path, CD_STR("at "));
    CHECK_INT(io_path_cwd(c->io, &path), IO_OK);
    CHECK(cd_str_starts(cd_buf_str(&path), CD_STR("at /")));
    CHECK_INT(io_path_stat(c->io, cd_buf_cstr(&path) + 3, &info), IO_OK);
    CHECK(info.kind == IO_PATH_DIR);
    cd_buf_deinit(&path);
}

static void test_the_working_directory_is_an_absolute_path(void **state)
{
    (void)state;
    contract_run(flow_cwd);
}

static void flow_mkdir(struct contract *c)
{
    CHECK_INT(io_path_mkdir(c->io, in_dir(c, "d")), IO_OK);
    CHECK_INT(io_path_mkdir(c->io, in_dir(c, "d")), IO_EXISTS);
    CHECK_INT(io_path_mkdir(c->io, in_dir(c, "none/d")), IO_NOENT); /* One level. */
    make_file(c, "f", "");
    CHECK_INT(io_path_mkdir(c->io, in_dir(c, "f")), IO_EXISTS);
    CHECK_INT(io_path_mkdir(c->io, in_dir(c, "d/e")), IO_OK);
    make_file(c, "d/e/f", "deep");
    CHECK(file_is(c, "d/e/f", "deep"));
    CHECK_INT(io_path_sync(c->io, in_dir(c, "d/e")), IO_OK);
    CHECK_INT(io_path_sync(c->io, in_dir(c, "d")), IO_OK);
    CHECK_INT(io_path_sync(c->io, in_dir(c, "none")), IO_NOENT);
}

static void test_directories_are_made_one_level_at_a_time(void **state)
{
    (void)state;
    contract_run(flow_mkdir);
}

static void flow_rename(struct contract *c)
{
    struct io_file f = {0};
    char bytes[8];
    size_t got;
    make_file(c, "a", "new");
    make_file(c, "b", "old");
    CHECK_INT(io_file_open(&f, c->io, in_dir(c, "a"), 0), IO_OK);
    CHECK_INT(io_path_rename(c->io, in_dir(c, "a"), in_dir(c, "b")), IO_OK);
    CHECK(file_is(c, "b", "new") && !file_is(c, "a", "new"));
    CHECK_INT(io_file_pread(&f, bytes, sizeof bytes, 0, &got), IO_OK); /* An open file keeps its bytes. */
    CHECK(got == 3 && memcmp(bytes, "new", 3) == 0);
    CHECK_INT(io_file_close(&f), IO_OK);
    CHECK_INT(io_path_rename(c->io, in_dir(c, "a"), in_dir(c, "c")), IO_NOENT);
    CHECK(file_is(c, "b", "new"));
    CHECK_INT(io_path_mkdir(c->io, in_dir(c, "d")), IO_OK);
    CHECK_INT(io_path_rename(c->io, in_dir(c, "b"), in_dir(c, "d/b")), IO_OK);
    CHECK(file_is(c, "d/b", "new"));
    CHECK_INT(io_path_rename(c->io, in_dir(c, "d/b"), in_dir(c, "none/b")), IO_NOENT);
    CHECK(file_is(c, "d/b", "new"));
}

static void test_rename_replaces_a_file(void **state)
{
    (void)state;
    contract_run(flow_rename);
}

static void flow_remove(struct contract *c)
{
    struct io_path_info info;
    CHECK_INT(io_path_remove(c->io, in_dir(c, "f")), IO_NOENT);
    make_file(c, "f", "x");
    CHECK_INT(io_path_remove(c->io, in_dir(c, "f")), IO_OK);
    CHECK_INT(io_path_stat(c->io, in_dir(c, "f"), &info), IO_NOENT);
    CHECK_INT(io_path_mkdir(c->io, in_dir(c, "d")), IO_OK);
    make_file(c, "d/f", "x");
    CHECK(io_path_remove(c->io, in_dir(c, "d")) != IO_OK); /* Only an empty one. */
    CHECK(file_is(c, "d/f", "x"));
    CHECK_INT(io_path_remove(c->io, in_dir(c, "d/f")), IO_OK);
    CHECK_INT(io_path_remove(c->io, in_dir(c, "d")), IO_OK);
    CHECK_INT(io_path_stat(c->io, in_dir(c, "d"), &info), IO_NOENT);
}

static void test_remove_takes_files_and_empty_directories(void **state)
{
    (void)state;
    contract_run(flow_remove);
}

struct seen {
    struct contract *c;
    struct cd_buf names;
    bool removes;
};

static void see(void *arg, const char *name)
{
    struct seen *s = arg;
    cd_buf_add_str(&s->names, cd_str(name));
    cd_buf_add_byte(&s->names, '|');
    if (s->removes)
        CHECK_INT(io_path_remove(s->c->io, in_dir(s->c, name)), IO_OK);
}

static void flow_list(struct contract *c)
{
    struct seen s = {.c = c};
    CHECK_INT(io_path_list(c->io, c->dir, see, &s), IO_OK);
    CHECK_INT(s.names.len, 0);
    static const char *const names[] = {"b", "\xc3\xa9", "a", "B", "aa", ".hidden", "10", "9", "z z"};
    for (size_t i = 0; i < CD_COUNT(names); i++)
        make_file(c, names[i], "");
    CHECK_INT(io_path_mkdir(c->io, in_dir(c, "dir")), IO_OK);
    make_file(c, "dir/inside", "");
    CHECK_INT(io_path_list(c->io, c->dir, see, &s), IO_OK);
    CHECK(cd_str_eq(cd_buf_str(&s.names), CD_STR(".hidden|10|9|B|a|aa|b|dir|z z|\xc3\xa9|")));
    CHECK_INT(io_path_list(c->io, in_dir(c, "none"), see, &s), IO_NOENT);
    CHECK(io_path_list(c->io, in_dir(c, "a"), see, &s) != IO_OK);
    /* What is called may change the directory. */
    CHECK_INT(io_path_remove(c->io, in_dir(c, "dir/inside")), IO_OK);
    cd_buf_clear(&s.names);
    s.removes = true;
    CHECK_INT(io_path_list(c->io, c->dir, see, &s), IO_OK);
    CHECK(cd_str_eq(cd_buf_str(&s.names), CD_STR(".hidden|10|9|B|a|aa|b|dir|z z|\xc3\xa9|")));
    cd_buf_clear(&s.names);
    CHECK_INT(io_path_list(c->io, c->dir, see, &s), IO_OK);
    CHECK_INT(s.names.len, 0);
    cd_buf_deinit(&s.names);
}

static void test_names_are_listed_in_byte_order(void **state)
{
    (void)state;
    contract_run(flow_list);
}

CD_TESTS(contract_path, cmocka_unit_test(test_stat_tells_what_a_name_is),
         cmocka_unit_test(test_the_working_directory_is_an_absolute_path),
         cmocka_unit_test(test_directories_are_made_one_level_at_a_time),
         cmocka_unit_test(test_rename_replaces_a_file),
         cmocka_unit_test(test_remove_takes_files_and_empty_directories),
         cmocka_unit_test(test_names_are_listed_in_byte_order))
