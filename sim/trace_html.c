/* sim/trace_html.c: see trace_html.h. */
#include "sim/trace_html.h"

#include "base/json.h"
#include "sim/run.h"

#define TRACE_HTML_MARK "@RECORDS@" /* Where the records go in the page. */

extern const char sim_trace_begin[], sim_trace_end[]; /* sim/trace.html */

static struct cd_str page_part(bool front)
{
    struct cd_str page = {sim_trace_begin, (size_t)(sim_trace_end - sim_trace_begin)};
    size_t at = cd_str_find_str(page, CD_STR(TRACE_HTML_MARK), 0);
    CD_ASSERT(at != SIZE_MAX);
    return front ? cd_str_sub(page, 0, at) : cd_str_sub(page, at + strlen(TRACE_HTML_MARK), SIZE_MAX);
}

/* JSON has "<" in its strings alone; escaped there, no record can end the element that holds it. */
void trace_html_add(struct cd_buf *out, struct cd_str json)
{
    for (size_t at; (at = cd_str_find(json, '<', 0)) != SIZE_MAX; json = cd_str_sub(json, at + 1, SIZE_MAX)) {
        cd_buf_add_str(out, cd_str_sub(json, 0, at));
        cd_buf_add_str(out, CD_STR("\\u003c"));
    }
    cd_buf_add_str(out, json);
}

static void add_record(struct cd_buf *out, struct cd_json_out *o, struct cd_buf *json)
{
    cd_json_out_end(o, '}');
    cd_buf_add_byte(json, '\n');
    trace_html_add(out, cd_buf_str(json));
    cd_buf_deinit(json);
}

static void member(struct cd_json_out *o, const char *key, const struct cd_buf *text)
{
    cd_json_out_key(o, key);
    cd_json_out_str(o, cd_str_trim(cd_buf_str(text)));
}

void trace_html_begin(struct cd_buf *out, const struct scn *s, uint64_t seed)
{
    struct cd_buf json = {0}, text = {0};
    struct cd_json_out o;
    scn_print(&text, s);
    cd_buf_add_str(out, page_part(true));
    cd_json_out_init(&o, &json);
    cd_json_out_object(&o);
    cd_json_out_key(&o, "run");
    cd_json_out_str(&o, cd_str(run_program));
    cd_json_out_key(&o, "seed");
    cd_json_out_u64(&o, seed);
    member(&o, "scenario", &text);
    add_record(out, &o, &json);
    cd_buf_deinit(&text);
}

void trace_html_end(struct cd_buf *out, const struct report *r)
{
    struct cd_buf json = {0}, text = {0}, again = {0};
    struct cd_json_out o;
    cd_json_out_init(&o, &json);
    cd_json_out_object(&o);
    cd_json_out_key(&o, "end");
    cd_json_out_str(&o, cd_str(run_code_text(report_code(r))));
    if (r->failures > 0) {
        cd_json_out_key(&o, "invariant");
        cd_json_out_str(&o, cd_str(r->failure[0].invariant));
        cd_json_out_key(&o, "event");
        cd_json_out_u64(&o, r->failure[0].events);
        cd_json_out_key(&o, "failed_ns");
        cd_json_out_u64(&o, r->failure[0].failed_at_ns);
        report_print_failure(&text, r, 0);
        report_print_last(&again, r);
        member(&o, "detail", &text);
        member(&o, "again", &again);
    }
    cd_json_out_key(&o, "events");
    cd_json_out_u64(&o, r->events);
    add_record(out, &o, &json);
    cd_buf_add_str(out, page_part(false));
    cd_buf_deinit(&text);
    cd_buf_deinit(&again);
}
