/* tools/snapshot.c: `snapshot OUT PRELUDE` makes the startup snapshot of js/snapshot.h while celld is built.
 *
 * SNAPSHOT_OPS is the header with the list JS_OPS(X) of the host functions: only their names matter here. The
 * clock and the entropy are constants, so the same sources give the same bytes. */
#include <stdio.h>
#include <stdlib.h>

#include "js/snapshot.h"

#include SNAPSHOT_OPS

#define X(name) {#name, NULL},
static const struct js_op ops[] = {JS_OPS(X)};
#undef X

static uint64_t now_ns(void)
{
    return 1000000000;
}

static int64_t wall_ms(void)
{
    return 0;
}

static void no_random(void *out, size_t len)
{
    memset(out, 0x5a, len);
}

static void fail(const char *what, const char *path)
{
    fprintf(stderr, "snapshot: %s: ", path);
    perror(what);
    exit(1);
}

static void file_read(const char *path, struct cd_buf *out)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        fail("open", path);
    size_t got;
    do {
        got = fread(cd_buf_reserve(out, 65536), 1, 65536, f);
        out->len += got;
    } while (got > 0);
    if (ferror(f) != 0)
        fail("read", path);
    fclose(f);
}

static void file_write(const char *path, struct cd_str bytes)
{
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(bytes.ptr, 1, bytes.len, f) != bytes.len || fclose(f) != 0)
        fail("write", path);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: snapshot OUT PRELUDE\n");
        return 2;
    }
    struct cd_buf prelude = {0}, blob = {0}, why = {0};
    file_read(argv[2], &prelude);
    const struct js_platform_config config = {
        .now_ns = now_ns, .wall_ms = wall_ms, .random = no_random, .deterministic = true};
    js_platform_start(&config);
    int rc = js_snapshot_build(cd_buf_str(&prelude), "celld:prelude", ops, CD_COUNT(ops), &blob, &why);
    if (rc == 0)
        file_write(argv[1], cd_buf_str(&blob));
    else
        fprintf(stderr, "snapshot: %s\n", cd_buf_cstr(&why));
    js_platform_stop();
    cd_buf_deinit(&prelude);
    cd_buf_deinit(&blob);
    cd_buf_deinit(&why);
    return rc == 0 ? 0 : 1;
}
