/* Cells in V8: instances, the input gate, resets, alarms, deployments: js/cells.h. */
#include "rig.h"

#include "cell/id.h"

#include "js/cells_internal.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define SCOPE(class_name) class_name ":" ID
#define HEAD                                                                                                 \
    "import { DurableObject } from 'cloudflare:workers';\n"                                                  \
    "const wait = (ms) => scheduler.wait(ms);\n"

static void stop_all(struct rig *r, struct cell *c)
{
    rig_stop(r, c, CELL_STOP_EVICT, NULL);
    rig_log_is(&c->log, "stopped\n");
    rig_cell_free(c);
}

static void test_an_instance_is_made_once_and_gets_ctx_and_env(void **state)
{
    struct rig r;
    struct cell c;
    (void)state;
    rig_open(&r,
             HEAD "export class A extends DurableObject {\n"
                  "  constructor(ctx, env) { super(ctx, env); console.log(ctx.constructor.name, this.env === "
                  "env, this.ctx === ctx); this.n = 0; }\n"
                  "  async alarm(info) { await wait(5); console.log(++this.n, JSON.stringify(info)); }\n"
                  "}\n",
             0);
    rig_cell(&r, &c, SCOPE("A"));
    rig_log_is(&c.log, "started\n");
    rig_log_is(&r.log, "DurableObjectState true true\n");
    rig_alarm(&r, &c, 1000, 0);
    assert_int_equal(c.pins, 1);
    rig_run(&r, IO_SEC(1));
    rig_alarm(&r, &c, 2000, 3);
    rig_run(&r, IO_SEC(1));
    rig_log_is(&r.log, "1 {\"scheduledTime\":1000,\"retryCount\":0,\"isRetry\":false}\n"
                       "2 {\"scheduledTime\":2000,\"retryCount\":3,\"isRetry\":true}\n");
    rig_log_is(&c.log, "alarm 0\nalarm 0\n");
    assert_int_equal(c.pins, 0);
    stop_all(&r, &c);
    rig_close(&r);
}

static void test_cells_of_an_isolate_share_its_modules_and_nothing_else(void **state)
{
    struct rig r;
    struct cell a, b;
    (void)state;
    rig_open(&r,
             HEAD "let made = 0, kept;\n"
                  "export class A extends DurableObject {\n"
                  "  constructor(ctx, env) { super(ctx, env); this.number = ++made; }\n"
                  "  alarm() { if (kept === undefined) kept = new WebSocketPair()[0]; "
                  "console.log(this.number, made); }\n"
                  "}\n",
             0);
    rig_cell(&r, &a, SCOPE("A"));
    rig_cell(&r, &b, SCOPE("A"));
    rig_alarm(&r, &a, 1, 0);
    rig_alarm(&r, &b, 1, 0);
    rig_run(&r, IO_SEC(1));
    rig_log_is(&r.log, "1 2\n2 2\n");
    rig_log_is(&a.log, "started\nalarm 0\n");
    rig_log_is(&b.log, "started\nalarm 0\n");
    stop_all(&r, &a);
    stop_all(&r, &b);
    rig_close(&r);
}

static void test_what_a_constructor_throws_ends_the_start(void **state)
{
    struct rig r;
    struct cell c;
    (void)state;
    rig_open(&r,
             HEAD "export class T extends DurableObject { constructor(ctx, env) { super(ctx, env); throw new "
                  "TypeError('no'); } }\n"
                  "export class B extends DurableObject { constructor(ctx, env) { super(ctx, env); "
                  "ctx.abort('not today'); } }\n",
             0);
    rig_cell(&r, &c, SCOPE("T"));
    rig_log_is(&c.log, "started: TypeError: no\n");
    rig_log_is(&r.log, "uncaught constructor of " SCOPE("T") ": TypeError: no\n");
    rig_cell_free(&c);
    rig_cell(&r, &c, SCOPE("B"));
    rig_log_is(&c.log, "started: not today\n");
    rig_cell_free(&c);
    rig_cell(&r, &c, SCOPE("Nobody"));
    rig_log_is(&c.log,
               "started: TypeError: The Durable Object class \"Nobody\" was not found in this worker.\n");
    rig_log_is(
        &r.log,
        "uncaught constructor of " SCOPE(
            "Nobody") ": TypeError: The Durable Object class \"Nobody\" was not found in this worker.\n");
    rig_cell_free(&c);
    rig_close(&r);
}

static void test_a_constructor_that_blocks_delays_events(void **state)
{
    struct rig r;
    struct cell c;
    (void)state;
    rig_open(&r,
             HEAD "export class A extends DurableObject {\n"
                  "  constructor(ctx, env) { super(ctx, env); ctx.blockConcurrencyWhile(async () => { await "
                  "wait(1000); this.ready = true; console.log('ready'); }); }\n"
                  "  alarm({ retryCount }) { console.log(retryCount, this.ready); }\n"
                  "}\n",
             0);
    rig_cell(&r, &c, SCOPE("A"));
    rig_alarm(&r, &c, 1, 0);
    rig_alarm(&r, &c, 1, 1);
    rig_run(&r, IO_MS(999));
    rig_log_is(&r.log, "");
    rig_run(&r, IO_MS(100));
    rig_log_is(&r.log, "ready\n0 true\n1 true\n");
    rig_log_is(&c.log, "started\nalarm 0\nalarm 0\n");
    stop_all(&r, &c);
    rig_close(&r);
}

static void test_nothing_of_others_comes_in_while_the_gate_is_held(void **state)
{
    struct rig r;
    struct cell c;
    (void)state;
    rig_open(&r,
             HEAD
             "export class A extends DurableObject {\n"
             "  async alarm({ retryCount }) {\n"
             "    if (retryCount === 0) {\n"
             "      setTimeout(() => console.log('timer'), 20);\n"
             "      const order = [];\n"
             "      const one = this.ctx.blockConcurrencyWhile(async () => {\n"
             "        await wait(50);\n"
             "        await this.ctx.blockConcurrencyWhile(async () => { await wait(50); "
             "console.log('inner'); });\n"
             "        await wait(50); console.log('one'); return 1; });\n"
             "      const two = this.ctx.blockConcurrencyWhile(() => { console.log('two'); return "
             "wait(10).then(() => 2); });\n"
             "      console.log('sum', (await one) + (await two));\n"
             "    } else { console.log('in', retryCount); await wait(1); console.log('out', retryCount); }\n"
             "  }\n"
             "}\n",
             0);
    rig_cell(&r, &c, SCOPE("A"));
    rig_alarm(&r, &c, 1, 1);
    rig_alarm(&r, &c, 1, 0);
    rig_alarm(&r, &c, 1, 2);
    rig_log_is(&r.log, "in 1\n");
    rig_run(&r, IO_SEC(1));
    rig_log_is(&r.log, "inner\none\ntwo\nsum 3\nin 2\nout 1\ntimer\nout 2\n");
    rig_log_is(&c.log, "started\nalarm 0\nalarm 0\nalarm 0\n");
    assert_int_equal(c.pins, 0);
    stop_all(&r, &c);
    rig_close(&r);
}

static void test_a_section_comes_before_those_who_wait(void **state)
{
    struct rig r;
    struct cell c;
    (void)state;
    rig_open(&r,
             HEAD "export class A extends DurableObject {\n"
                  "  async alarm({ retryCount }) {\n"
                  "    if (retryCount === 2) { console.log(2); return; }\n"
                  "    const done = this.ctx.blockConcurrencyWhile(async () => {\n"
                  "      console.log('in', retryCount); await wait(20); console.log('out', retryCount); });\n"
                  "    console.log('goes on', retryCount);\n"
                  "    await done;\n"
                  "  }\n"
                  "}\n",
             0);
    rig_cell(&r, &c, SCOPE("A"));
    rig_alarm(&r, &c, 1, 0);
    rig_alarm(&r, &c, 1, 1);
    rig_alarm(&r, &c, 1, 2);
    rig_run(&r, IO_MS(100));
    rig_log_is(&r.log, "goes on 0\nin 0\nout 0\ngoes on 1\nin 1\nout 1\n2\n");
    rig_log_is(&c.log, "started\nalarm 0\nalarm 0\nalarm 0\n");
    stop_all(&r, &c);
    rig_close(&r);
}

static void test_a_failed_or_endless_section_resets_the_cell(void **state)
{
    struct rig r;
    struct cell c;
    (void)state;
    rig_open(&r,
             HEAD "export class A extends DurableObject {\n"
                  "  async alarm({ retryCount }) {\n"
                  "    if (retryCount === 9) { try { await this.ctx.blockConcurrencyWhile(1); } catch (e) { "
                  "console.log(`${e}`); } return; }\n"
                  "    try { await this.ctx.blockConcurrencyWhile(async () => { if (retryCount === 0) throw "
                  "new RangeError('bad'); await new Promise(() => {}); }); }\n"
                  "    catch (e) { console.log('caught', e); } finally { console.log('finally'); }\n"
                  "  }\n"
                  "}\n",
             0);
    rig_cell(&r, &c, SCOPE("A"));
    rig_alarm(&r, &c, 1, 9);
    rig_log_is(&r.log, "TypeError: Failed to execute 'blockConcurrencyWhile' on 'DurableObjectState': "
                       "parameter 1 is not of type 'Function'.\n");
    rig_alarm(&r, &c, 1, 0);
    rig_run(&r, IO_MS(1)); /* The section begins in a turn of its own. */
    rig_log_is(&c.log, "started\nalarm 0\nabort: RangeError: bad\n");
    rig_log_is(&r.log, "uncaught blockConcurrencyWhile of " SCOPE("A") ": RangeError: bad\n");
    rig_stop(&r, &c, CELL_STOP_RESET, "RangeError: bad");
    rig_log_is(&c.log, "stopped\n");
    rig_cell_free(&c);
    rig_cell(&r, &c, SCOPE("A"));
    rig_alarm(&r, &c, 1, 1);
    rig_run(&r, IO_SEC(29));
    rig_log_is(&c.log, "started\n");
    rig_run(&r, IO_SEC(2));
    rig_log_is(&c.log, "abort: A call to blockConcurrencyWhile() in a Durable Object waited for too long. "
                       "The call was canceled "
                       "and the Durable Object was reset.\n");
    rig_stop(&r, &c, CELL_STOP_RESET, "that");
    rig_log_is(&c.log, "stopped\n");
    rig_cell_free(&c);
    rig_close(&r);
}

static void test_abort_ends_the_turn_and_leaves_the_isolate(void **state)
{
    struct rig r;
    struct cell a, b;
    (void)state;
    rig_open(&r,
             HEAD "export class A extends DurableObject {\n"
                  "  async alarm({ retryCount }) {\n"
                  "    if (retryCount === 1) { await wait(100); console.log('alive'); return; }\n"
                  "    setTimeout(() => console.log('timer'), 1);\n"
                  "    Promise.resolve().then(() => console.log('microtask'));\n"
                  "    try { this.ctx.abort('enough'); console.log('after'); } catch (e) { "
                  "console.log('caught'); } finally { console.log('finally'); }\n"
                  "  }\n"
                  "}\n",
             0);
    rig_cell(&r, &a, SCOPE("A"));
    rig_cell(&r, &b, SCOPE("A"));
    rig_alarm(&r, &b, 1, 1);
    rig_alarm(&r, &a, 1, 0);
    rig_log_is(&a.log, "started\nabort: enough\n");
    rig_stop(&r, &a, CELL_STOP_RESET, "enough");
    rig_log_is(&a.log, "stopped\n");
    rig_run(&r, IO_SEC(1));
    rig_log_is(&r.log, "alive\n");
    rig_log_is(&b.log, "started\nalarm 0\n");
    rig_cell_free(&a);
    stop_all(&r, &b);
    rig_close(&r);
}

static void test_what_an_alarm_throws_is_logged_with_its_scope(void **state)
{
    struct rig r;
    struct cell c;
    (void)state;
    rig_open(&r,
             HEAD "export class A extends DurableObject {\n"
                  "  async alarm({ retryCount }) {\n"
                  "    if (retryCount === 0) throw new Error('thrown');\n"
                  "    this.ctx.waitUntil(wait(10).then(() => { throw new Error('late'); }));\n"
                  "    Promise.reject(new Error('alone'));\n"
                  "    await wait(400000);\n"
                  "  }\n"
                  "}\n"
                  "export class N extends DurableObject {}\n",
             0);
    rig_cell(&r, &c, SCOPE("A"));
    rig_alarm(&r, &c, 1, 0);
    rig_log_is(&c.log, "started\nalarm 1\n");
    rig_log_is(&r.log, "uncaught alarm of " SCOPE("A") ": Error: thrown\n");
    rig_alarm(&r, &c, 1, 1);
    rig_run(&r, IO_SEC(1));
    rig_log_is(&r.log, "uncaught promise of " SCOPE("A") ": Error: alone\nuncaught waitUntil of " SCOPE(
                           "A") ": Error: late\n");
    rig_run(&r, IO_SEC(320));
    rig_log_is(&r.log,
               "uncaught alarm of " SCOPE("A") ": Error: The handler did not settle within 300 seconds.\n");
    rig_log_is(&c.log, "alarm 2\n");
    assert_int_equal(c.pins, 1); /* Its timer runs on. */
    stop_all(&r, &c);
    rig_cell(&r, &c, SCOPE("N"));
    rig_alarm(&r, &c, 1, 0);
    rig_log_is(&c.log, "started\nalarm 1\n");
    rig_log_is(&r.log, "uncaught alarm of " SCOPE(
                           "N") ": TypeError: Your Durable Object class must have an alarm() handler: an "
                                "alarm was set, and now there is none.\n");
    stop_all(&r, &c);
    rig_close(&r);
}

static void test_a_stop_ends_everything_of_the_cell(void **state)
{
    struct rig r;
    struct cell c;
    (void)state;
    rig_open(&r,
             HEAD "export class A extends DurableObject {\n"
                  "  async alarm() { setInterval(() => console.log('tick'), 10); await wait(1000); "
                  "console.log('woke'); }\n"
                  "}\n",
             0);
    rig_cell(&r, &c, SCOPE("A"));
    rig_alarm(&r, &c, 1, 0);
    rig_run(&r, IO_MS(15));
    rig_log_is(&r.log, "tick\n");
    rig_stop(&r, &c, CELL_STOP_RESET, "a proof failed");
    rig_run(&r, IO_SEC(5));
    rig_log_is(&c.log, "started\nstopped\n");
    rig_cell_free(&c);
    rig_close(&r);
}

static void test_a_deployment_takes_over_when_its_cells_are_idle(void **state)
{
    struct rig r;
    struct cell idle, busy;
    (void)state;
    rig_open(&r, HEAD "export class A extends DurableObject { alarm() { return wait(100000); } }\n", 0);
    rig_cell(&r, &idle, SCOPE("A"));
    rig_cell(&r, &busy, SCOPE("A"));
    rig_alarm(&r, &busy, 1, 0);
    rig_deploy(&r, HEAD "export class A extends DurableObject { alarm() { console.log('new'); } }\n");
    rig_run(&r, IO_SEC(1));
    assert_true(idle.evict_wanted);
    assert_false(busy.evict_wanted);
    rig_stop(&r, &idle, CELL_STOP_EVICT, NULL);
    rig_log_is(&idle.log, "started\nstopped\n");
    rig_cell_free(&idle);
    rig_cell(&r, &idle, SCOPE("A"));
    rig_alarm(&r, &idle, 1, 0);
    rig_log_is(&r.log, "new\n");
    rig_log_is(&idle.log, "started\nalarm 0\n");
    rig_run(&r, IO_SEC(58));
    rig_log_is(&busy.log, "started\n");
    rig_run(&r, IO_SEC(2));
    rig_log_is(&busy.log, "abort: Durable Object reset because its code was updated.\n");
    rig_stop(&r, &busy, CELL_STOP_RESET, "Durable Object reset because its code was updated.");
    rig_log_is(&busy.log, "stopped\n");
    rig_cell_free(&busy);
    stop_all(&r, &idle);
    rig_close(&r);
}

static void test_an_exhausted_isolate_takes_its_cells_with_it(void **state)
{
    struct rig r;
    struct cell a, b;
    (void)state;
    rig_open(&r,
             HEAD "export class A extends DurableObject {\n"
                  "  alarm({ retryCount }) { if (retryCount === 0) { const all = []; for (;;) all.push(new "
                  "Array(1000).fill(all.length)); } console.log('fine'); }\n"
                  "}\n",
             16);
    rig_cell(&r, &a, SCOPE("A"));
    rig_cell(&r, &b, SCOPE("A"));
    rig_alarm(&r, &a, 1, 0);
    rig_log_is(&r.log, "uncaught runtime: Error: Worker exceeded memory limit. Its heap may take 16 MiB "
                       "(CELLD_HEAP_LIMIT_MB), and its array buffers and WebAssembly memories four times "
                       "as much.\n");
    rig_log_is(&a.log, "started\nabort: Durable Object's isolate exceeded its memory limit and was reset.\n");
    rig_log_is(&b.log, "started\nabort: Durable Object's isolate exceeded its memory limit and was reset.\n");
    rig_stop(&r, &a, CELL_STOP_RESET, "memory");
    rig_stop(&r, &b, CELL_STOP_RESET, "memory");
    rig_log_is(&a.log, "stopped\n");
    rig_log_is(&b.log, "stopped\n");
    rig_cell_free(&a);
    rig_cell_free(&b);
    rig_cell(&r, &a, SCOPE("A"));
    rig_alarm(&r, &a, 1, 1);
    rig_log_is(&r.log, "fine\n");
    rig_log_is(&a.log, "started\nalarm 0\n");
    stop_all(&r, &a);
    rig_close(&r);
}

struct peer {
    unsigned asked;
    struct cd_buf urls;
};

static void on_asked(void *arg, struct sim_http *x, struct cd_str method, struct cd_str url,
                     struct cd_str head)
{
    struct peer *p = arg;
    (void)method, (void)head;
    p->asked++;
    cd_buf_addf(&p->urls, "%.*s\n", (int)url.len, url.ptr);
    sim_http_head(x, 200, CD_STR(""));
    sim_http_chunk(x, CD_STR("fine"), true);
}

static void test_a_request_leaves_when_what_was_written_is_proven(void **state)
{
    struct rig r;
    struct cell c;
    struct peer peer = {0};
    (void)state;
    rig_open(&r,
             HEAD "export class A extends DurableObject {\n"
                  "  async alarm({ retryCount }) {\n"
                  "    try { console.log(await (await fetch(`http://api.example/${retryCount}`)).text()); }\n"
                  "    catch (e) { console.log(e.message); }\n"
                  "  }\n"
                  "}\n",
             0);
    sim_http_peer(r.sim, "api.example", &(struct sim_http_peer){.request = on_asked, .arg = &peer});
    rig_cell(&r, &c, SCOPE("A"));
    rig_alarm(&r, &c, 1, 0);
    rig_run(&r, IO_SEC(1));
    rig_log_is(&r.log, "fine\n");
    c.unproven = true;
    rig_alarm(&r, &c, 1, 1);
    rig_run(&r, IO_SEC(1));
    rig_log_is(&r.log, "");
    assert_int_equal(peer.asked, 1);
    rig_prove(&r, &c);
    rig_run(&r, IO_SEC(1));
    rig_log_is(&r.log, "fine\n");
    c.bad_flush = "finish the cursor first";
    rig_alarm(&r, &c, 1, 2);
    rig_run(&r, IO_SEC(1));
    rig_log_is(&r.log, "finish the cursor first\n");
    c.bad_flush = NULL;
    c.unproven = true;
    rig_alarm(&r, &c, 1, 3); /* Stopped while it waits. */
    rig_stop(&r, &c, CELL_STOP_RESET, "a proof failed");
    rig_run(&r, IO_SEC(1));
    rig_log_is(&peer.urls, "http://api.example:80/0\nhttp://api.example:80/1\n");
    rig_log_is(&c.log, "started\nalarm 0\nalarm 0\nalarm 0\nstopped\n");
    cd_buf_deinit(&peer.urls);
    rig_cell_free(&c);
    rig_close(&r);
}

static void test_an_isolate_over_its_limit_recovers_when_it_is_given_room(void **state)
{
    struct rig r;
    struct cell c;
    (void)state;
    rig_open(&r,
             HEAD "export class A extends DurableObject {\n"
                  "  alarm({ retryCount }) {\n"
                  "    if (retryCount === 0) { this.all = []; while (this.all.length < 3000) "
                  "this.all.push(new Array(1000).fill(1.5 + this.all.length)); }\n"
                  "    else if (retryCount === 1) this.all = undefined;\n"
                  "    console.log('still here');\n"
                  "  }\n"
                  "}\n",
             16);
    rig_cell(&r, &c, SCOPE("A"));
    struct js_worker *w = ((struct js_cell *)c.user)->w;
    rig_alarm(&r, &c, 1, 0);
    assert_true(w->over);
    rig_alarm(&r, &c, 1, 1);
    rig_run(&r, IO_SEC(2));
    rig_alarm(&r, &c, 1, 2);
    assert_false(w->over);
    rig_log_is(&r.log, "still here\nstill here\nstill here\n");
    rig_log_is(&c.log, "started\nalarm 0\nalarm 0\nalarm 0\n");
    stop_all(&r, &c);
    rig_close(&r);
}

/* Nobody calls a cell that has an alarm to run: its id alone tells whose it is. */
static void test_a_cell_that_is_woken_finds_the_script_of_its_id(void **state)
{
    struct rig r;
    struct cell c, other;
    struct cell_namespace ns;
    struct cell_id id;
    struct cd_buf scope[2] = {0};
    const struct cd_str script[] = {CD_STR("test"), CD_STR("another")};
    char text[CELL_ID_TEXT + 1];
    (void)state;
    rig_open(&r, HEAD "export class A extends DurableObject { alarm() { console.log('rings'); } }\n", 0);
    for (unsigned i = 0; i < 2; i++) {
        cell_namespace_init(&ns, script[i], CD_STR("A"));
        cell_id_of_name(&id, &ns, CD_STR("ann"));
        cell_id_text(&id, text);
        assert_int_equal(cell_scope_of(&scope[i], CD_STR("A"), cd_str(text)), 0);
    }
    rig_cell_woken(&r, &c, cd_buf_cstr(&scope[0]));
    rig_alarm(&r, &c, 1, 0);
    rig_run(&r, IO_SEC(1));
    rig_log_is(&c.log, "started\nalarm 0\n");
    rig_log_is(&r.log, "rings\n");
    rig_cell_woken(&r, &other, cd_buf_cstr(&scope[1]));
    assert_false(other.running);
    assert_non_null(strstr(cd_buf_cstr(&other.log), "no script has the class of A:"));
    cd_buf_clear(&other.log);
    stop_all(&r, &c);
    rig_cell_free(&other);
    for (unsigned i = 0; i < 2; i++)
        cd_buf_deinit(&scope[i]);
    rig_close(&r);
}

/* runtime.md 5.7 */
static void test_a_console_record_is_cut_between_characters(void **state)
{
    struct rig r;
    struct cell c;
    (void)state;
    rig_open(&r,
             HEAD "export class A extends DurableObject {\n"
                  "  alarm() { console.log('a' + '\\u00fc'.repeat(200000)); }\n"
                  "}\n",
             0);
    rig_cell(&r, &c, SCOPE("A"));
    rig_alarm(&r, &c, 1, 0);
    struct cd_str said = cd_buf_str(&r.log);
    assert_true(said.len <= (256u << 10) + 1 && said.len > (256u << 10) - 8);
    assert_true(cd_str_is_utf8(said));
    assert_true(cd_str_ends(said, CD_STR(" ... (cut: 400001 bytes)\n")));
    cd_buf_clear(&r.log);
    rig_log_is(&c.log, "started\nalarm 0\n");
    stop_all(&r, &c);
    rig_close(&r);
}

/* Of the bundle's source map, also where user code reads them. */
static void test_stacks_name_the_sources(void **state)
{
    struct rig r;
    struct cell c;
    (void)state;
    rig_open(&r,
             HEAD "export class A extends DurableObject {\n"
                  "  alarm() {\n"
                  "    const { stack } = new RangeError('here');\n"
                  "    console.log(stack.split('\\n')[0], stack.includes('(src/app.ts:'), "
                  "stack.includes('(index.js:'));\n"
                  "    console.log(new Error('').stack.split('\\n')[0]);\n"
                  "    const o = {};\n"
                  "    Error.captureStackTrace(o);\n"
                  "    console.log(o.stack.includes('(src/app.ts:'), Object.keys(o).length);\n"
                  "    Error.prepareStackTrace = (e, sites) => `${e.message} ${sites[0].getFileName()}`;\n"
                  "    console.log(new Error('mine').stack);\n"
                  "    delete Error.prepareStackTrace;\n"
                  "    console.error(new TypeError('shown'));\n"
                  "    console.log([1].map(() => new Error('deep'))[0].stack.split('\\n    at ').slice(2, 4)"
                  ".map((line) => line.split(' (')[0]).join());\n"
                  "  }\n"
                  "}\n"
                  "//# map {\"version\":3,\"sources\":[\"src/app.ts\"],\"mappings\":"
                  "\"AAAA;AACA;AACA;AACA;AACA;AACA;AACA;AACA;AACA;AACA;AACA;AACA;AACA;AACA;AACA;AACA;AACA;"
                  "AACA;AACA;AACA\"}",
             0);
    rig_cell(&r, &c, SCOPE("A"));
    rig_alarm(&r, &c, 1, 0);
    struct cd_str said = cd_buf_str(&r.log);
    assert_true(cd_str_starts(
        said, CD_STR("RangeError: here true false\nError\ntrue 0\nmine index.js\nTypeError: shown\n"
                     "    at A.alarm (src/app.ts:")));
    /* Our own methods of arrays are not in them. */
    assert_true(cd_str_find_str(said, CD_STR("Array.map,A.alarm\n"), 0) != SIZE_MAX);
    cd_buf_clear(&r.log);
    rig_log_is(&c.log, "started\nalarm 0\n");
    stop_all(&r, &c);
    rig_close(&r);
}

CD_TESTS(cells, cmocka_unit_test(test_a_cell_that_is_woken_finds_the_script_of_its_id),
         cmocka_unit_test(test_a_request_leaves_when_what_was_written_is_proven),
         cmocka_unit_test(test_an_isolate_over_its_limit_recovers_when_it_is_given_room),
         cmocka_unit_test(test_an_instance_is_made_once_and_gets_ctx_and_env),
         cmocka_unit_test(test_cells_of_an_isolate_share_its_modules_and_nothing_else),
         cmocka_unit_test(test_what_a_constructor_throws_ends_the_start),
         cmocka_unit_test(test_a_constructor_that_blocks_delays_events),
         cmocka_unit_test(test_nothing_of_others_comes_in_while_the_gate_is_held),
         cmocka_unit_test(test_a_section_comes_before_those_who_wait),
         cmocka_unit_test(test_a_failed_or_endless_section_resets_the_cell),
         cmocka_unit_test(test_abort_ends_the_turn_and_leaves_the_isolate),
         cmocka_unit_test(test_what_an_alarm_throws_is_logged_with_its_scope),
         cmocka_unit_test(test_a_console_record_is_cut_between_characters),
         cmocka_unit_test(test_stacks_name_the_sources),
         cmocka_unit_test(test_a_stop_ends_everything_of_the_cell),
         cmocka_unit_test(test_a_deployment_takes_over_when_its_cells_are_idle),
         cmocka_unit_test(test_an_exhausted_isolate_takes_its_cells_with_it))
