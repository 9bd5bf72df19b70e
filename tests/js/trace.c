/* tests/js/trace.c: one run of user code under the simulator's settings (simulation.md 12), printed as a
 * digest for each step. The same program must print the same text whatever its environment, addresses and
 * speed are. */
#include <stdio.h>

#include "base/rng.h"
#include "js/module.h"
#include "js/value.h"
#include "ops.h"

extern const char test_snapshot_begin[], test_snapshot_end[];

static uint64_t virtual_ns = 1000000000;
static struct cd_rng rng;
static uint64_t digest;
static uint64_t task_ns = UINT64_MAX;

static uint64_t now_ns(void)
{
    return virtual_ns;
}

static int64_t wall_ms(void)
{
    return (int64_t)(1700000000000 + virtual_ns / 1000000);
}

static void fill_random(void *out, size_t len)
{
    cd_rng_fill(&rng, out, len);
}

static int op_log(struct js_args *a)
{
    struct cd_buf text = {0};
    int rc = js_to_utf8(a->js, js_arg(a, 0), &text);
    digest = cd_hash64(digest, text.ptr, text.len);
    cd_buf_deinit(&text);
    return rc;
}

static int op_none(struct js_args *a)
{
    (void)a;
    return CD_EUNSUPPORTED;
}

#define op_add op_none
#define op_fail op_none
#define op_code op_none
#define op_echo op_none
#define op_later op_none
#define X(name) {#name, op_##name},
static const struct js_op ops[] = {JS_OPS(X)};
#undef X

static void on_task(struct js_isolate *js, uint64_t due_ns)
{
    (void)js;
    if (due_ns < task_ns)
        task_ns = due_ns;
}

static const struct js_hooks hooks = {.task = on_task};

static const char script[] =
    "globalThis.gone = 0;"
    "const registry = new FinalizationRegistry(() => gone++);"
    "globalThis.keep = [];"
    "globalThis.step = (n) => {"
    "  const names = new Map(), seen = {};"
    "  for (let i = 0; i < 3000; i++) {"
    "    const o = { id: Math.random(), text: 'v' + i, list: new Array(i % 50).fill(i) };"
    "    names.set(o, i); seen['k' + Math.floor(o.id * 1e6)] = i;"
    "    if (i % 10 === 0) registry.register(o, i);"
    "    if (i % 100 === 0) keep.push(o);"
    "  }"
    "  if (keep.length > 200) keep.splice(0, 150);"
    "  let depth = 0; const dive = () => { depth++; dive() };"
    "  try { dive() } catch { }"
    "  console.log(n, gone, keep.length, Object.keys(seen).slice(0, 5), Date.now(), depth > 1000, new "
    "Error('x').stack);"
    "  return Promise.resolve(n).then(async v => { await null; console.log('then', v, Math.random()) });"
    "};";

static void step(struct js_isolate *js, int n)
{
    struct js_turn turn;
    struct js_try t;
    js_value fn, v;
    js_turn_begin(js, &turn);
    js_try_begin(js, &t);
    js_value arg = js_int(js, n);
    int rc = js_get_text(js, js_global(js), "step", &fn);
    if (rc == 0)
        rc = js_call(js, fn, js_undefined(js), &arg, 1, &v);
    CD_ASSERT(rc == 0);
    CD_ASSERT(js_microtasks(js) == 0);
    while (js_next_task_ns(js) <= virtual_ns && js_pump(js))
        CD_ASSERT(js_microtasks(js) == 0);
    js_try_end(&t);
    js_turn_end(&turn);
    struct js_heap heap;
    js_heap_stats(js, &heap);
    printf("%d heap %llu committed %llu task %llu digest %016llx\n", n, (unsigned long long)heap.used,
           (unsigned long long)heap.committed, (unsigned long long)task_ns, (unsigned long long)digest);
    virtual_ns += 7000000;
}

static struct js_isolate *start(void)
{
    const struct js_isolate_config config = {
        .snapshot = cd_str_of(test_snapshot_begin, (size_t)(test_snapshot_end - test_snapshot_begin)),
        .ops = ops,
        .op_count = CD_COUNT(ops),
        .hooks = &hooks};
    struct js_isolate *js;
    struct cd_buf why = {0};
    struct js_turn turn;
    struct js_try t;
    js_value v;
    int rc = js_isolate_new(&js, &config, &why);
    CD_ASSERT(rc == 0);
    js_turn_begin(js, &turn);
    js_try_begin(js, &t);
    rc = js_run(js, cd_str(script), "trace.js", &v);
    CD_ASSERT(rc == 0);
    js_try_end(&t);
    js_turn_end(&turn);
    return js;
}

int main(void)
{
    cd_rng_seed(&rng, 7, CD_STR("trace"));
    const struct js_platform_config config = {
        .now_ns = now_ns, .wall_ms = wall_ms, .random = fill_random, .deterministic = true};
    js_platform_start(&config);
    struct js_isolate *a = start(), *b = start();
    for (int n = 0; n < 40; n++)
        step(n % 3 == 0 ? b : a, n);
    js_isolate_free(a);
    js_isolate_free(b);
    js_platform_stop();
    return 0;
}
