/* js/wasm_scan.c: finds the section of memories in a module (WebAssembly core specification, 5.5). */
#include "js/wasm_scan.h"

#include "js/ops.h"
#include "js/worker_internal.h"

enum { HEAD = 8, SECTION_MEMORY = 5, LIMITS_MAXIMUM = 1, LIMITS_SHARED = 2 };

/* A number of at most 64 bits; false: there is none. */
static bool take(struct cd_str *rest, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; rest->len > 0 && shift < 64; shift += 7) {
        unsigned char byte = (unsigned char)rest->ptr[0];
        *rest = cd_str_sub(*rest, 1, SIZE_MAX);
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            return true;
    }
    return false;
}

static bool any_shared(struct cd_str memories)
{
    uint64_t count, flags, limit;
    if (!take(&memories, &count))
        return false;
    for (; count > 0 && take(&memories, &flags); count--) {
        if ((flags & LIMITS_SHARED) != 0)
            return true;
        if (!take(&memories, &limit) || ((flags & LIMITS_MAXIMUM) != 0 && !take(&memories, &limit)))
            return false;
    }
    return false;
}

bool js_wasm_shares(struct cd_str module)
{
    uint64_t size;
    for (struct cd_str rest = cd_str_sub(module, HEAD, SIZE_MAX); rest.len > 0;) {
        unsigned char id = (unsigned char)rest.ptr[0];
        rest = cd_str_sub(rest, 1, SIZE_MAX);
        if (!take(&rest, &size) || size > rest.len)
            return false;
        if (id == SECTION_MEMORY && any_shared(cd_str_sub(rest, 0, (size_t)size)))
            return true;
        rest = cd_str_sub(rest, (size_t)size, SIZE_MAX);
    }
    return false;
}

/* wasm_shares(view) */
int js_op_wasm_shares(struct js_args *a)
{
    struct js_bytes bytes;
    js_return_bool(a, js_bytes(js_arg(a, 0), &bytes) &&
                          js_wasm_shares(cd_str_of((const char *)bytes.ptr, bytes.len)));
    return 0;
}
