/* fuzz/replay.c: runs a fuzz target over files and folders of files, in order of name. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "fuzz/fuzz.h"

static int replay_file(const char *path)
{
    struct cd_buf bytes = {0};
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        perror(path);
        return 1;
    }
    for (;;) {
        size_t got = fread(cd_buf_reserve(&bytes, 65536), 1, 65536, f);
        if (got == 0)
            break;
        bytes.len += got;
    }
    bool bad = ferror(f) != 0;
    fclose(f);
    if (!bad) {
        /* An allocation of exactly this size, so that reading one byte too far is seen. */
        uint8_t *exact = cd_alloc(bytes.len);
        if (bytes.len > 0)
            memcpy(exact, bytes.ptr, bytes.len);
        (void)LLVMFuzzerTestOneInput(exact, bytes.len);
        cd_free(exact);
    }
    cd_buf_deinit(&bytes);
    return bad;
}

/* Returns the count of files run, or -1. */
static int replay_path(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        perror(path);
        return -1;
    }
    if (!S_ISDIR(st.st_mode))
        return replay_file(path) == 0 ? 1 : -1;
    struct dirent **entry = NULL;
    int count = scandir(path, &entry, NULL, alphasort);
    int ran = count < 0 ? -1 : 0;
    for (int i = 0; i < count; i++) {
        struct cd_buf name = {0};
        cd_buf_addf(&name, "%s/%s", path, entry[i]->d_name);
        if (ran >= 0 && entry[i]->d_name[0] != '.')
            ran = replay_file(cd_buf_cstr(&name)) == 0 ? ran + 1 : -1;
        cd_buf_deinit(&name);
        free(entry[i]);
    }
    free(entry);
    return ran;
}

int main(int argc, char **argv)
{
    int total = 0;
    for (int i = 1; i < argc; i++) {
        int ran = replay_path(argv[i]);
        if (ran < 0)
            return 1;
        total += ran;
    }
    printf("%d inputs\n", total);
    return total == 0; /* An empty corpus tests nothing. */
}
