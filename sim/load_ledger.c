/* sim/load_ledger.c: what clients of ledgers ask: appends, and reads of their ends. */
#include "sim/cells.h"
#include "sim/cells_code.h"
#include "sim/ledger_truth.h"

#define TAIL_LINES 10u /* Of a read while the load runs. */

#define ULL(v) ((unsigned long long)(v))

static struct ledger_truth *truth_of(struct cells_client *c)
{
    return c->load->work;
}

static void not_an_answer(struct cells_client *c, unsigned cell)
{
    run_fail(c->load->run, RUN_SAFETY, "cells.answer", "an answer of ledger %u is not one: %s", cell,
             cd_buf_cstr(&c->text));
}

static bool append(struct cells_client *c, unsigned cell)
{
    struct ledger_truth *t = truth_of(c);
    struct ledger_entry e = {.id = ledger_truth_begin(t, cell)};
    struct cd_str text;
    struct cd_buf why = {0};
    uint64_t at;
    cd_buf_clear(&c->message);
    cd_buf_addf(&c->message, "append %llu", ULL(e.id));
    switch (cells_question(c, cell, &text)) {
    case CELLS_ANSWERED:
        if (!cells_take_u64(&text, &at) || !cells_take_u64(&text, &e.epoch) ||
            !cells_take_u64(&text, &e.hash)) {
            not_an_answer(c, cell);
            return false;
        }
        return cells_judge(c, ledger_truth_ack(t, at, &e, &why), &why);
    case CELLS_REFUSED: return cells_judge(c, ledger_truth_refuse(t, e.id, &why), &why);
    case CELLS_UNKNOWN: ledger_truth_lose(t, e.id); return !run_failed(c->load->run);
    }
    CD_UNREACHABLE();
}

/* The lines of an answer; owned. NULL: it is none. */
static struct ledger_entry *take_lines(struct cd_str text, uint64_t *total, uint64_t *count)
{
    struct cd_str line;
    size_t cap = 16;
    struct ledger_entry *e = cd_alloc(cap * sizeof *e);
    bool well = cd_str_next(&text, '\n', &line) && cd_str_u64(line, total) == 0;
    for (*count = 0; well && cd_str_next(&text, '\n', &line); ++*count) {
        if (*count == cap) {
            cap *= 2;
            e = cd_realloc(e, cap * sizeof *e);
        }
        struct ledger_entry *n = &e[*count];
        well = cells_take_u64(&line, &n->id) && cells_take_u64(&line, &n->epoch) &&
               cells_take_u64(&line, &n->hash);
    }
    if (well)
        return e;
    cd_free(e);
    return NULL;
}

static int read_from(struct cells_client *c, unsigned cell, uint64_t from)
{
    struct ledger_truth *t = truth_of(c);
    struct cd_str text;
    struct cd_buf why = {0};
    uint64_t floor = ledger_truth_floor(t, cell), total, count;
    cd_buf_clear(&c->message);
    cd_buf_addf(&c->message, "read %llu", ULL(from));
    if (cells_question(c, cell, &text) != CELLS_ANSWERED)
        return run_failed(c->load->run) ? -1 : 0;
    struct ledger_entry *e = take_lines(text, &total, &count);
    if (e == NULL) {
        not_an_answer(c, cell);
        return -1;
    }
    if (total < floor && cells_reads_may_be_stale(c)) {
        CD_MARK("cells.stale_read");
        cd_free(e);
        return 0;
    }
    bool well = cells_judge(c, ledger_truth_read(t, cell, floor, from, e, count, total, &why), &why);
    cd_free(e);
    return well ? 1 : -1;
}

static bool work(struct cells_client *c)
{
    unsigned cell = cells_draw_cell(c);
    if (cells_draw(c, 8) != 0)
        return append(c, cell);
    uint64_t floor = ledger_truth_floor(truth_of(c), cell);
    return read_from(c, cell, floor < TAIL_LINES ? 1 : floor - TAIL_LINES + 1) >= 0;
}

static int probe(struct cells_client *c, unsigned cell)
{
    return read_from(c, cell, 1);
}

static void *start(struct cells_load *l)
{
    struct ledger_truth *t = cd_new(struct ledger_truth);
    ledger_truth_init(t, (unsigned)scn_get(l->run->scn, SCN_LEDGER_CELLS));
    return t;
}

static void tell(const void *work_of, struct cd_buf *out)
{
    const struct ledger_truth *t = work_of;
    cd_buf_addf(out, "%llu appends acknowledged, %llu refused, %llu unknown", ULL(t->acked), ULL(t->refused),
                ULL(t->unknown));
}

static void finish(void *work_of)
{
    ledger_truth_deinit(work_of);
    cd_free(work_of);
}

const struct cells_class cells_class_ledger = {
    .name = "Ledger",
    .cells = SCN_LEDGER_CELLS,
    .clients = SCN_LEDGER_CLIENTS,
    .rate = SCN_LEDGER_RATE,
    .start = start,
    .finish = finish,
    .tell = tell,
    .work = work,
    .probe = probe,
};
