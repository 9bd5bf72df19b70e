/* ctx.storage of cells in V8: js/ops_storage_cell.c. What it does itself is tested by tests/runtime. */
#include "rig.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define SCOPE(class_name) class_name ":" ID
#define HEAD                                                                                                 \
    "import { DurableObject } from 'cloudflare:workers';\n"                                                  \
    "const wait = (ms) => scheduler.wait(ms);\n"

static void end_cell(struct rig *r, struct cell *c)
{
    rig_stop(r, c, CELL_STOP_EVICT, NULL);
    rig_log_is(&c->log, "stopped\n");
    rig_cell_free(c);
}

static void test_the_writes_of_a_turn_are_committed_when_it_ends(void **state)
{
    struct rig r;
    struct cell c;
    (void)state;
    rig_open(&r,
             HEAD "export class Sql extends DurableObject {\n"
                  "  async alarm() {\n"
                  "    this.ctx.storage.put('a', 1);\n"
                  "    this.ctx.storage.sql.exec('CREATE TABLE t(x)');\n"
                  "    await null;\n"
                  "    this.ctx.storage.put('b', 2);\n"
                  "    await wait(5);\n"
                  "    console.log([...(await this.ctx.storage.list()).keys()]);\n"
                  "    this.ctx.storage.put('c', 3);\n"
                  "  }\n"
                  "}\n",
             0);
    rig_cell(&r, &c, SCOPE("Sql"));
    rig_log_is(&c.log, "started\n");
    rig_alarm(&r, &c, 1, 0);
    assert_int_equal(c.commits, 1);
    rig_run(&r, IO_SEC(1));
    assert_int_equal(c.commits, 2);
    rig_log_is(&r.log, "[ 'a', 'b' ]\n");
    rig_log_is(&c.log, "alarm 0\n");
    end_cell(&r, &c);
    rig_close(&r);
}

static void test_a_class_without_a_migration_has_no_sql_and_alarms_need_a_handler(void **state)
{
    struct rig r;
    struct cell c;
    (void)state;
    rig_open(&r,
             HEAD "export class Kv extends DurableObject {\n"
                  "  constructor(ctx, env) {\n"
                  "    super(ctx, env);\n"
                  "    try { ctx.storage.sql.exec('SELECT 1'); } catch (e) { "
                  "console.log(/new_sqlite_classes/.test(e.message)); }\n"
                  "    ctx.storage.setAlarm(5).catch((e) => console.log(e.message));\n"
                  "    ctx.storage.kv.put('a', 1);\n"
                  "    console.log(ctx.storage.kv.get('a'));\n"
                  "  }\n"
                  "}\n",
             0);
    rig_cell(&r, &c, SCOPE("Kv"));
    rig_log_is(&c.log, "started\n");
    rig_log_is(&r.log, "true\n1\nYour Durable Object class must have an alarm() handler in order to call "
                       "setAlarm()\n");
    end_cell(&r, &c);
    rig_close(&r);
}

static void test_another_cell_of_the_isolate_may_not_use_it(void **state)
{
    struct rig r;
    struct cell a, b;
    (void)state;
    rig_open(&r,
             HEAD "let kept;\n"
                  "export class Sql extends DurableObject {\n"
                  "  async alarm() {\n"
                  "    if (kept === undefined) kept = this.ctx.storage;\n"
                  "    try { kept.kv.put('a', 1); kept.kv.put('b', 1); console.log('put'); }\n"
                  "    catch (e) { console.log(e.message); }\n"
                  "  }\n"
                  "}\n",
             0);
    rig_cell(&r, &a, SCOPE("Sql"));
    rig_cell(&r, &b, "Sql:fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210");
    rig_alarm(&r, &a, 1, 0);
    rig_alarm(&r, &b, 1, 0);
    rig_alarm(&r, &a, 1, 0);
    rig_run(&r, IO_SEC(1));
    rig_log_is(&r.log, "put\nCannot perform I/O on behalf of a different Durable Object.\nput\n");
    assert_int_equal(a.commits, 2);
    assert_int_equal(b.commits, 0);
    rig_log_is(&a.log, "started\nalarm 0\nalarm 0\n");
    rig_log_is(&b.log, "started\nalarm 0\n");
    end_cell(&r, &a);
    end_cell(&r, &b);
    rig_close(&r);
}

static void test_a_transaction_keeps_other_events_out(void **state)
{
    struct rig r;
    struct cell c;
    (void)state;
    rig_open(&r,
             HEAD "export class Sql extends DurableObject {\n"
                  "  async alarm({ retryCount }) {\n"
                  "    if (retryCount > 0) { console.log('in', await this.ctx.storage.get('a')); return; }\n"
                  "    await this.ctx.storage.transaction(async (txn) => {\n"
                  "      await txn.put('a', 1);\n"
                  "      await wait(50);\n"
                  "      await txn.put('a', 2);\n"
                  "      console.log('closure ends');\n"
                  "    });\n"
                  "  }\n"
                  "}\n",
             0);
    rig_cell(&r, &c, SCOPE("Sql"));
    rig_alarm(&r, &c, 1, 0);
    rig_alarm(&r, &c, 1, 1);
    assert_int_equal(c.commits, 0);
    rig_run(&r, IO_SEC(1));
    rig_log_is(&r.log, "closure ends\nin 2\n");
    assert_int_equal(c.commits, 1);
    rig_log_is(&c.log, "started\nalarm 0\nalarm 0\n");
    end_cell(&r, &c);
    rig_close(&r);
}

static void test_a_transaction_that_takes_too_long_resets_the_cell(void **state)
{
    struct rig r;
    struct cell c;
    (void)state;
    rig_open(&r,
             HEAD "export class Sql extends DurableObject {\n"
                  "  alarm() { return this.ctx.storage.transaction((txn) => { txn.put('a', 1); return "
                  "wait(1e6); }); }\n"
                  "}\n",
             0);
    rig_cell(&r, &c, SCOPE("Sql"));
    rig_alarm(&r, &c, 1, 0);
    rig_run(&r, IO_SEC(31));
    rig_log_is(&c.log,
               "started\nabort: Durable Object storage operation exceeded timeout which caused object to "
               "be reset.\n");
    rig_stop(&r, &c, CELL_STOP_RESET, "timeout");
    rig_log_is(&c.log, "stopped\n");
    assert_int_equal(c.commits, 0);
    rig_cell_free(&c);
    rig_close(&r);
}

static void test_sync_waits_for_the_proof(void **state)
{
    struct rig r;
    struct cell c;
    (void)state;
    rig_open(&r,
             HEAD "export class Sql extends DurableObject {\n"
                  "  async alarm() {\n"
                  "    this.ctx.storage.put('a', 1);\n"
                  "    await this.ctx.storage.sync();\n"
                  "    console.log('synced');\n"
                  "  }\n"
                  "}\n",
             0);
    rig_cell(&r, &c, SCOPE("Sql"));
    c.unproven = true;
    rig_alarm(&r, &c, 1, 0);
    rig_run(&r, IO_SEC(1));
    rig_log_is(&r.log, "");
    assert_int_equal(c.commits, 1);
    rig_prove(&r, &c);
    rig_run(&r, IO_SEC(1));
    rig_log_is(&r.log, "synced\n");
    rig_log_is(&c.log, "started\nalarm 0\n");
    c.unproven = true;
    rig_alarm(&r, &c, 1, 0);
    rig_stop(&r, &c, CELL_STOP_RESET, "a reason"); /* While it waits. */
    rig_log_is(&c.log, "stopped\n");
    rig_cell_free(&c);
    rig_close(&r);
}

static void test_a_cell_that_stops_leaves_no_cursor_open(void **state)
{
    struct rig r;
    struct cell c;
    (void)state;
    rig_open(
        &r,
        HEAD
        "export class Sql extends DurableObject {\n"
        "  alarm() {\n"
        "    this.cursor = this.ctx.storage.sql.exec('WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT "
        "i+1 FROM n) SELECT i FROM n');\n"
        "    console.log(this.cursor.next().value.i);\n"
        "  }\n"
        "}\n",
        0);
    rig_cell(&r, &c, SCOPE("Sql"));
    rig_alarm(&r, &c, 1, 0);
    rig_run(&r, IO_SEC(1));
    rig_log_is(&r.log, "1\n");
    rig_log_is(&c.log, "started\nalarm 0\n");
    end_cell(&r, &c); /* Closes the database, which fails when a statement is left. */
    rig_close(&r);
}

CD_TESTS(storage, cmocka_unit_test(test_the_writes_of_a_turn_are_committed_when_it_ends),
         cmocka_unit_test(test_a_class_without_a_migration_has_no_sql_and_alarms_need_a_handler),
         cmocka_unit_test(test_another_cell_of_the_isolate_may_not_use_it),
         cmocka_unit_test(test_a_transaction_keeps_other_events_out),
         cmocka_unit_test(test_a_transaction_that_takes_too_long_resets_the_cell),
         cmocka_unit_test(test_sync_waits_for_the_proof),
         cmocka_unit_test(test_a_cell_that_stops_leaves_no_cursor_open))
