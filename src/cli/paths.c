/* cli/paths.c: paths as people write them. */
#include "cli/paths.h"

int cli_path_absolute(struct cli *c, struct cd_str path, struct cd_buf *out)
{
    if (path.len == 0 || path.ptr[0] != '/') {
        int rc = io_path_cwd(c->io, out);
        if (rc != IO_OK)
            return cli_fail(c, "working directory: %s", cd_err_text(rc));
        if (cd_str_eq(path, CD_STR(".")) || path.len == 0)
            return 0;
        if (!cd_str_ends(cd_buf_str(out), CD_STR("/")))
            cd_buf_add_byte(out, '/');
    }
    cd_buf_add_str(out, path);
    while (out->len > 1 && out->ptr[out->len - 1] == '/')
        out->len--;
    return 0;
}
