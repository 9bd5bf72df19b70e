/* io_sim/trace.c: what an onlooker sees of a run: records and their hash, hooks, marks, log events.
 * simulation.md 9. */
#include <stdio.h>

#include "base/json.h"
#include "io_sim/kernel.h"

struct sim_mark {
    uint64_t count;
};

/* ---- Hooks ---- */

static void hook_add(struct sim_hooks *h, void (*fn)(void), void *arg)
{
    h->hook = cd_realloc(h->hook, (h->count + 1) * sizeof *h->hook);
    h->hook[h->count++] = (struct sim_hook){fn, arg};
}

typedef void record_fn(void *arg, const struct sim_record *r);
typedef void log_fn(void *arg, const struct sim_log *log);
typedef void send_fn(void *arg, struct sim_node *from, struct sim_node *to, struct cd_str bytes);

void sim_on_event(struct sim *sim, record_fn *fn, void *arg)
{
    hook_add(&sim->on_event, (void (*)(void))fn, arg);
}

void sim_on_record(struct sim *sim, record_fn *fn, void *arg)
{
    hook_add(&sim->on_record, (void (*)(void))fn, arg);
}

void sim_on_send(struct sim *sim, send_fn *fn, void *arg)
{
    hook_add(&sim->on_send, (void (*)(void))fn, arg);
}

void sim_on_log(struct sim *sim, log_fn *fn, void *arg)
{
    hook_add(&sim->on_log, (void (*)(void))fn, arg);
}

static void call_record(const struct sim_hooks *h, const struct sim_record *r)
{
    for (unsigned i = 0; i < h->count; i++)
        ((record_fn *)h->hook[i].fn)(h->hook[i].arg, r);
}

void sim_sent(struct sim *sim, struct sim_node *from, struct sim_node *to, struct cd_str bytes)
{
    for (unsigned i = 0; i < sim->on_send.count; i++)
        ((send_fn *)sim->on_send.hook[i].fn)(sim->on_send.hook[i].arg, from, to, bytes);
}

/* ---- Records ---- */

static void hash_record(struct sim *sim, const struct sim_record *r)
{
    uint64_t node = r->node == NULL ? UINT64_MAX : r->node->id;
    const uint64_t words[] = {r->at_ns, node << 32 | r->loop,         sim->record_kind, r->serial,
                              r->len,   (uint64_t)(int64_t)r->status, r->digest};
    sim->hash = cd_hash64(sim->hash, words, sizeof words);
}

static void checkpoint(struct sim *sim)
{
    if (sim->checkpoints == sim->checkpoints_cap) {
        sim->checkpoints_cap = sim->checkpoints_cap == 0 ? 64 : sim->checkpoints_cap * 2;
        sim->checkpoint = cd_realloc(sim->checkpoint, sim->checkpoints_cap * sizeof *sim->checkpoint);
    }
    sim->checkpoint[sim->checkpoints++] = sim->hash;
}

void sim_trace_event(struct sim *sim)
{
    const struct sim_record *r = &sim->record;
    hash_record(sim, r);
    if (sim->events % SIM_CHECKPOINT_EVENTS == 0)
        checkpoint(sim);
    call_record(&sim->on_record, r);
    call_record(&sim->on_event, r);
}

void sim_note(struct sim_loop *loop, enum sim_kind kind, int status, const void *bytes, uint64_t len,
              const char *note)
{
    struct sim *sim = loop->sim;
    struct sim_record r = {
        .event = sim->events,
        .at_ns = sim->now_ns,
        .node = loop->node,
        .loop = loop->index,
        .kind = sim_kind_name(kind),
        .serial = ++loop->calls,
        .status = status,
        .len = len,
        .digest = bytes == NULL ? 0 : cd_hash64(0, bytes, len),
        .note = note,
    };
    enum sim_kind outer = sim->record_kind;
    sim->record_kind = kind;
    hash_record(sim, &r);
    sim->record_kind = outer;
    call_record(&sim->on_record, &r);
}

uint64_t sim_hash(const struct sim *sim)
{
    return sim->hash;
}

const uint64_t *sim_checkpoints(const struct sim *sim, size_t *count)
{
    *count = sim->checkpoints;
    return sim->checkpoint;
}

static const char *status_text(int status)
{
    return status == 0 ? "ok" : cd_err_text(status);
}

void sim_record_text(struct cd_buf *out, const struct sim_record *r)
{
    cd_buf_addf(out, "%llu %llu.%09llu ", (unsigned long long)r->event,
                (unsigned long long)(r->at_ns / 1000000000u), (unsigned long long)(r->at_ns % 1000000000u));
    if (r->node == NULL)
        cd_buf_addf(out, "- ");
    else
        cd_buf_addf(out, "%s/%u ", sim_node_name(r->node), r->loop);
    cd_buf_addf(out, "%s #%llu", r->kind, (unsigned long long)r->serial);
    if (r->status != 0)
        cd_buf_addf(out, " (%s)", status_text(r->status));
    if (r->len != 0 || r->digest != 0)
        cd_buf_addf(out, " %llu bytes %016llx", (unsigned long long)r->len, (unsigned long long)r->digest);
    if (r->note != NULL)
        cd_buf_addf(out, " %s", r->note);
    cd_buf_add_byte(out, '\n');
}

void sim_record_json(struct cd_buf *out, const struct sim_record *r)
{
    struct cd_json_out o;
    cd_json_out_init(&o, out);
    cd_json_out_object(&o);
    cd_json_out_key(&o, "event");
    cd_json_out_u64(&o, r->event);
    cd_json_out_key(&o, "ns");
    cd_json_out_u64(&o, r->at_ns);
    if (r->node != NULL) {
        cd_json_out_key(&o, "node");
        cd_json_out_str(&o, cd_str(sim_node_name(r->node)));
        cd_json_out_key(&o, "loop");
        cd_json_out_u64(&o, r->loop);
    }
    cd_json_out_key(&o, "kind");
    cd_json_out_str(&o, cd_str(r->kind));
    cd_json_out_key(&o, "serial");
    cd_json_out_u64(&o, r->serial);
    cd_json_out_key(&o, "status");
    cd_json_out_str(&o, cd_str(status_text(r->status)));
    cd_json_out_key(&o, "len");
    cd_json_out_u64(&o, r->len);
    char digest[17];
    (void)snprintf(digest, sizeof digest, "%016llx", (unsigned long long)r->digest);
    cd_json_out_key(&o, "digest");
    cd_json_out_str(&o, cd_str(digest));
    if (r->note != NULL) {
        cd_json_out_key(&o, "note");
        cd_json_out_str(&o, cd_str(r->note));
    }
    cd_json_out_end(&o, '}');
    cd_buf_add_byte(out, '\n');
}

/* ---- Marks ---- */

void io_mark(struct io *io, const char *name)
{
    if (io == NULL)
        io = io_current();
    if (io == NULL)
        return; /* Before the run: nobody counts. */
    struct sim *sim = sim_loop_of(io)->sim;
    struct sim_mark *m = cd_map_get(&sim->marks, cd_str(name));
    if (m == NULL) {
        m = cd_new(struct sim_mark);
        (void)cd_map_put(&sim->marks, cd_str(name), m);
    }
    m->count++;
}

uint64_t sim_marks(const struct sim *sim, const char *name)
{
    const struct sim_mark *m = cd_map_get(&sim->marks, cd_str(name));
    return m == NULL ? 0 : m->count;
}

void sim_marks_each(const struct sim *sim, void (*each)(void *arg, const char *name, uint64_t count),
                    void *arg)
{
    struct cd_buf name = {0};
    for (struct cd_map_node *k = cd_map_first(&sim->marks); k != NULL; k = cd_map_next(k)) {
        cd_buf_clear(&name);
        cd_buf_add_str(&name, cd_map_key(k));
        each(arg, cd_buf_cstr(&name), ((const struct sim_mark *)cd_map_value(k))->count);
    }
    cd_buf_deinit(&name);
}

/* ---- Log events ---- */

void sim_log_level(struct sim *sim, enum cd_level most)
{
    sim->log_level = most;
}

bool io_event_wanted(struct io *io, enum cd_level level, const char *target)
{
    (void)target;
    return level <= sim_loop_of(io)->sim->log_level;
}

static uint64_t digest_fields(const struct cd_field *fields, size_t count)
{
    uint64_t h = 0;
    for (size_t i = 0; i < count; i++) {
        h = cd_hash64(h, fields[i].key, strlen(fields[i].key));
        if (fields[i].kind == CD_FIELD_STR)
            h = cd_hash64(h, fields[i].str.ptr, fields[i].str.len);
        else
            h = sim_mix(h, fields[i].num);
    }
    return h;
}

/* What a log event says, for those who look at records; the digest stands for it in the hash. */
static const char *log_text(struct cd_buf *out, const char *name, const struct cd_field *fields, size_t count)
{
    cd_buf_add_str(out, cd_str(name));
    for (size_t i = 0; i < count; i++) {
        const struct cd_field *f = &fields[i];
        cd_buf_addf(out, " %s=", f->key);
        switch (f->kind) {
        case CD_FIELD_U64: cd_buf_addf(out, "%llu", (unsigned long long)f->num); break;
        case CD_FIELD_I64: cd_buf_addf(out, "%lld", (long long)(int64_t)f->num); break;
        case CD_FIELD_BOOL: cd_buf_addf(out, "%s", f->num != 0 ? "true" : "false"); break;
        case CD_FIELD_STR: cd_json_quote(out, f->str); break;
        }
    }
    return cd_buf_cstr(out);
}

void io_event(struct io *io, enum cd_level level, const char *target, const char *name,
              const struct cd_field *fields, size_t count)
{
    struct sim_loop *loop = sim_loop_of(io);
    if (loop->frozen && loop->node->state != SIM_UP)
        return; /* The dead say nothing. */
    uint64_t digest = digest_fields(fields, count);
    struct cd_buf text = {0};
    bool seen = loop->sim->on_record.count > 0;
    sim_note(loop, SIM_LOG, 0, &digest, sizeof digest, seen ? log_text(&text, name, fields, count) : name);
    cd_buf_deinit(&text);
    const struct sim_log log = {loop->node, loop->index, level, target, name, fields, count, io_wall_us(io)};
    struct sim_hooks *h = &loop->sim->on_log;
    for (unsigned i = 0; i < h->count; i++)
        ((log_fn *)h->hook[i].fn)(h->hook[i].arg, &log);
}

void sim_trace_deinit(struct sim *sim)
{
    for (struct cd_map_node *k = cd_map_first(&sim->marks); k != NULL; k = cd_map_next(k))
        cd_free(cd_map_value(k));
    cd_map_deinit(&sim->marks);
    cd_free(sim->checkpoint);
    cd_free(sim->on_event.hook);
    cd_free(sim->on_record.hook);
    cd_free(sim->on_send.hook);
    cd_free(sim->on_log.hook);
}
