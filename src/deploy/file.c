/* deploy/file.c: whole files and paths. */
#include "deploy/file.h"

void deploy_file_join(struct cd_buf *out, struct cd_str dir, struct cd_str name)
{
    cd_buf_clear(out);
    cd_buf_add_str(out, dir);
    if (!cd_str_ends(dir, CD_STR("/")))
        cd_buf_add_byte(out, '/');
    cd_buf_add_str(out, name);
}

int deploy_file_read(struct io *io, const char *path, size_t max, struct cd_buf *out)
{
    struct io_file file = {0};
    uint64_t size;
    size_t got = 0;
    int rc = io_file_open(&file, io, path, IO_FILE_READONLY);
    if (rc != IO_OK)
        return rc;
    rc = io_file_size(&file, &size);
    if (rc == IO_OK && size > max)
        rc = CD_ETOOBIG;
    if (rc == IO_OK)
        rc = io_file_pread(&file, cd_buf_reserve(out, (size_t)size + 1), (size_t)size, 0, &got);
    if (rc == IO_OK)
        out->len += got; /* Fewer bytes: somebody made it shorter meanwhile. */
    int closed = io_file_close(&file);
    return rc != IO_OK ? rc : closed;
}
