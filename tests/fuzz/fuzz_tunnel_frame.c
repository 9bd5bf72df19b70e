/* fuzz/fuzz_tunnel_frame.c: frames of a tunnel as bytes. */
#include "fuzz/fuzz.h"

#include "cell/tunnel_frame.h"

/* What makes sense has one way to be written. */
static void again(const struct cell_frame *f, struct cd_str whole)
{
    struct cd_buf out = {0};
    struct cell_frame_open open;
    struct cell_close why;
    switch (f->type) {
    case CELL_FRAME_OPEN:
        if (cell_frame_open_read(f->payload, &open))
            cell_frame_add_open(&out, f->wire, &open);
        break;
    case CELL_FRAME_REFUSED:
    case CELL_FRAME_CLOSE:
        if (cell_frame_close_read(f->payload, &why))
            cell_frame_add_close(&out, f->type, f->wire, &why);
        break;
    case CELL_FRAME_CREDIT: cell_frame_add_credit(&out, f->wire, cd_get_u32(f->payload.ptr)); break;
    case CELL_FRAME_LOST:
    case CELL_FRAME_STARTED:
    case CELL_FRAME_PART:
    case CELL_FRAME_DATA:
    case CELL_FRAME_PING:
    case CELL_FRAME_PONG:
    case CELL_FRAME_END: cell_frame_add(&out, f->type, f->wire, f->payload); break;
    case CELL_FRAME_TYPES: CD_UNREACHABLE();
    }
    CD_ASSERT(cd_str_eq(cd_buf_str(&out), whole));
    cd_buf_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cd_str in = cd_str_of(data, size);
    while (in.len > 0) {
        struct cell_frame f;
        const char *why = NULL;
        int n = cell_frame_take(in, &f, &why);
        if (n <= 0) {
            CD_ASSERT((n == 0) == (why == NULL));
            break;
        }
        if (cell_frame_check(&f, true) == NULL || cell_frame_check(&f, false) == NULL)
            again(&f, cd_str_sub(in, 0, (size_t)n));
        in = cd_str_sub(in, (size_t)n, SIZE_MAX);
    }
    return 0;
}
