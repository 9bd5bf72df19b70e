/* sim/result.c: results of runs as values and as bytes. */
#include "sim/result.h"

#define MAGIC UINT64_C(0x746c757365726463) /* Also the last word: a result that was cut off is none. */

const char *run_code_text(enum run_code code)
{
    switch (code) {
    case RUN_PASS: return "pass";
    case RUN_NOT_DETERMINISTIC: return "not deterministic";
    case RUN_SAFETY: return "safety";
    case RUN_LIVENESS: return "liveness";
    case RUN_ASSERTION: return "assertion or sanitizer";
    case RUN_LEAK: return "leak";
    case RUN_HARNESS: return "harness";
    }
    CD_UNREACHABLE();
}

void run_result_deinit(struct run_result *r)
{
    cd_buf_deinit(&r->detail);
    cd_free(r->checkpoint);
    cd_free(r->mark);
    *r = (struct run_result){0};
}

void run_result_vfail(struct run_result *r, enum run_code code, const char *invariant, uint64_t at_ns,
                      const char *format, va_list args)
{
    CD_ASSERT(code != RUN_PASS && strlen(invariant) < sizeof r->invariant);
    if (r->code != RUN_PASS)
        return;
    r->code = code;
    memcpy(r->invariant, invariant, strlen(invariant) + 1);
    r->failed_at_ns = at_ns;
    cd_buf_clear(&r->detail);
    cd_buf_vaddf(&r->detail, format, args);
}

void run_result_fail(struct run_result *r, enum run_code code, const char *invariant, uint64_t at_ns,
                     const char *format, ...)
{
    va_list args;
    va_start(args, format);
    run_result_vfail(r, code, invariant, at_ns, format, args);
    va_end(args);
}

void run_result_write(struct cd_buf *out, const struct run_result *r)
{
    cd_buf_add_u64(out, MAGIC);
    cd_buf_add_u64(out, r->code);
    cd_buf_add(out, r->invariant, sizeof r->invariant);
    const uint64_t numbers[] = {r->seed, r->failed_at_ns, r->events, r->virtual_ns,
                                r->hash, r->boot_ns,      r->cpu_ns};
    for (size_t i = 0; i < CD_COUNT(numbers); i++)
        cd_buf_add_u64(out, numbers[i]);
    cd_buf_add_u64(out, r->detail.len);
    cd_buf_add_str(out, cd_buf_str(&r->detail));
    cd_buf_add_u64(out, r->checkpoints);
    for (size_t i = 0; i < r->checkpoints; i++)
        cd_buf_add_u64(out, r->checkpoint[i]);
    cd_buf_add_u64(out, r->marks);
    for (size_t i = 0; i < r->marks; i++) {
        cd_buf_add(out, r->mark[i].name, sizeof r->mark[i].name);
        cd_buf_add_u64(out, r->mark[i].count);
    }
    cd_buf_add_u64(out, MAGIC);
}

struct reader {
    struct cd_str rest;
    bool bad;
};

static struct cd_str take(struct reader *in, uint64_t len)
{
    if (in->bad || len > in->rest.len) {
        in->bad = true;
        return (struct cd_str){0};
    }
    struct cd_str piece = cd_str_sub(in->rest, 0, len);
    in->rest = cd_str_sub(in->rest, len, SIZE_MAX);
    return piece;
}

static uint64_t take_u64(struct reader *in)
{
    struct cd_str piece = take(in, 8);
    return in->bad ? 0 : cd_get_u64(piece.ptr);
}

static void take_text(struct reader *in, char *out, size_t size)
{
    struct cd_str piece = take(in, size);
    if (!in->bad)
        memcpy(out, piece.ptr, size);
    out[size - 1] = 0;
}

static void take_lists(struct reader *in, struct run_result *r)
{
    uint64_t count = take_u64(in);
    if (count > in->rest.len / 8)
        in->bad = true;
    if (!in->bad && count > 0) {
        r->checkpoint = cd_alloc(count * sizeof *r->checkpoint);
        r->checkpoints = count;
        for (uint64_t i = 0; i < count; i++)
            r->checkpoint[i] = take_u64(in);
    }
    count = take_u64(in);
    if (count > in->rest.len / (sizeof r->mark->name + 8))
        in->bad = true;
    if (!in->bad && count > 0) {
        r->mark = cd_alloc(count * sizeof *r->mark);
        r->marks = count;
        for (uint64_t i = 0; i < count; i++) {
            take_text(in, r->mark[i].name, sizeof r->mark[i].name);
            r->mark[i].count = take_u64(in);
        }
    }
}

int run_result_read(struct run_result *r, struct cd_str bytes)
{
    struct reader in = {.rest = bytes};
    *r = (struct run_result){0};
    in.bad = take_u64(&in) != MAGIC;
    r->code = (enum run_code)take_u64(&in);
    take_text(&in, r->invariant, sizeof r->invariant);
    uint64_t *const numbers[] = {&r->seed, &r->failed_at_ns, &r->events, &r->virtual_ns,
                                 &r->hash, &r->boot_ns,      &r->cpu_ns};
    for (size_t i = 0; i < CD_COUNT(numbers); i++)
        *numbers[i] = take_u64(&in);
    cd_buf_add_str(&r->detail, take(&in, take_u64(&in)));
    take_lists(&in, r);
    if (take_u64(&in) != MAGIC || in.rest.len != 0)
        in.bad = true;
    if (!in.bad)
        return 0;
    run_result_deinit(r);
    return CD_ESYNTAX;
}
