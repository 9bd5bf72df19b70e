/* sim/report.c: texts about results. Pure: appends to buffers. */
#include "sim/report.h"

#include "sim/run.h"

#define NS_PER_S UINT64_C(1000000000)

void report_deinit(struct report *r)
{
    for (struct cd_map_node *n = cd_map_first(&r->marks); n != NULL; n = cd_map_next(n))
        cd_free(cd_map_value(n));
    cd_map_deinit(&r->marks);
    for (unsigned i = 0; i < r->failures; i++)
        run_result_deinit(&r->failure[i]);
}

static void add_marks(struct report *r, const struct run_result *result)
{
    for (size_t i = 0; i < result->marks; i++) {
        struct cd_str name = cd_str(result->mark[i].name);
        struct run_mark *m = cd_map_get(&r->marks, name);
        if (m == NULL) {
            m = cd_new(struct run_mark);
            memcpy(m->name, result->mark[i].name, sizeof m->name);
            (void)cd_map_put(&r->marks, name, m);
        }
        m->count += result->mark[i].count;
    }
}

void report_add(struct report *r, struct run_result *result, const char *scenario)
{
    r->runs++;
    r->events += result->events;
    r->virtual_ns += result->virtual_ns;
    r->cpu_ns += result->cpu_ns;
    if (result->boot_ns > r->boot_ns_max)
        r->boot_ns_max = result->boot_ns;
    add_marks(r, result);
    if (result->code == RUN_PASS) {
        r->passed++;
        run_result_deinit(result);
        return;
    }
    if (r->failures == REPORT_FAILURES_MAX) {
        run_result_deinit(result);
        return;
    }
    unsigned at = r->failures++;
    for (; at > 0 && r->failure[at - 1].seed > result->seed; at--) {
        r->failure[at] = r->failure[at - 1];
        r->failure_scenario[at] = r->failure_scenario[at - 1];
    }
    r->failure[at] = *result;
    r->failure_scenario[at] = scenario;
    *result = (struct run_result){0};
}

enum run_code report_code(const struct report *r)
{
    return r->failures == 0 ? RUN_PASS : r->failure[0].code;
}

void report_print_time(struct cd_buf *out, uint64_t ns)
{
    cd_buf_addf(out, "%llu.%03llus", (unsigned long long)(ns / NS_PER_S),
                (unsigned long long)(ns % NS_PER_S / 1000000));
}

static void print_run(struct cd_buf *out, const struct report *r, unsigned index)
{
    const char *scenario = r->failure_scenario[index];
    cd_buf_addf(out, "%s %s%s--seed %llu --rev %s # %s at ", run_program, scenario == NULL ? "" : scenario,
                scenario == NULL ? "" : " ", (unsigned long long)r->failure[index].seed, r->rev,
                r->failure[index].invariant);
    report_print_time(out, r->failure[index].failed_at_ns);
    cd_buf_add_byte(out, '\n');
}

void report_print_failure(struct cd_buf *out, const struct report *r, unsigned index)
{
    const struct run_result *f = &r->failure[index];
    cd_buf_addf(out, "FAILED %s: %s, seed %llu, event %llu, ", run_code_text(f->code), f->invariant,
                (unsigned long long)f->seed, (unsigned long long)f->events);
    report_print_time(out, f->failed_at_ns);
    cd_buf_add_byte(out, '\n');
    struct cd_str rest = cd_str_trim(cd_buf_str(&f->detail)), line;
    while (rest.ptr != NULL && cd_str_next(&rest, '\n', &line))
        cd_buf_addf(out, "    %.*s\n", (int)line.len, line.ptr);
}

void report_print_totals(struct cd_buf *out, const struct report *r)
{
    uint64_t rate = r->cpu_ns < 1000000 ? 0 : r->events * 1000 / (r->cpu_ns / 1000000);
    cd_buf_addf(out, "%llu run%s, %llu passed: %llu events in ", (unsigned long long)r->runs,
                r->runs == 1 ? "" : "s", (unsigned long long)r->passed, (unsigned long long)r->events);
    report_print_time(out, r->virtual_ns);
    cd_buf_addf(out, " of virtual time, ");
    report_print_time(out, r->cpu_ns);
    cd_buf_addf(out, " of CPU time: %llu events/s, boot at most %llu.%03llu ms, %llu marks\n",
                (unsigned long long)rate, (unsigned long long)(r->boot_ns_max / 1000000),
                (unsigned long long)(r->boot_ns_max / 1000 % 1000), (unsigned long long)r->marks.count);
}

void report_print_marks(struct cd_buf *out, const struct report *r)
{
    for (struct cd_map_node *n = cd_map_first(&r->marks); n != NULL; n = cd_map_next(n)) {
        const struct run_mark *m = cd_map_value(n);
        cd_buf_addf(out, "mark %-32s %llu\n", m->name, (unsigned long long)m->count);
    }
}

void report_print_last(struct cd_buf *out, const struct report *r)
{
    if (r->failures > 0)
        print_run(out, r, 0);
}
