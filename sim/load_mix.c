/* sim/load_mix.c: what clients of the storage workload ask: transactions, and what came of them. */
#include "sim/cells.h"
#include "sim/cells_code.h"
#include "sim/mix_truth.h"

#define ULL(v) ((unsigned long long)(v))

static const char *take_answer(struct mix_truth *t, unsigned cell, uint64_t id, size_t floor,
                               struct cd_str text, struct cd_buf *why)
{
    struct cd_str word, whole = text;
    uint64_t last, sum;
    if (cd_str_next(&text, ' ', &word)) {
        if (id != 0 && cd_str_eq(word, CD_STR("done")) && cells_take_u64(&text, &sum))
            return mix_truth_done(t, id, floor, sum, why);
        if (cd_str_eq(word, CD_STR("other")) && cells_take_u64(&text, &last) && cells_take_u64(&text, &sum)) {
            const char *broken = mix_truth_state(t, cell, floor, last, sum, why);
            if (broken == NULL && id != 0) {
                t->conflicts++;
                t->refused--; /* It counts it. */
                broken = mix_truth_refuse(t, id, why);
            }
            return broken;
        }
    }
    cd_buf_addf(why, "cell %u answers \"%.*s\"", cell, (int)whole.len, whole.ptr);
    return "cells.answer";
}

static bool transact(struct cells_client *c, unsigned cell)
{
    struct mix_truth *t = c->load->work;
    struct cd_str text;
    struct cd_buf why = {0};
    size_t floor = mix_truth_floor(t, cell);
    uint64_t id = mix_truth_begin(t, cell);
    cd_buf_clear(&c->message);
    cd_buf_addf(&c->message, "txn %llu %llu %llu", ULL(id), ULL(mix_truth_before(t, id)), ULL(t->seed));
    switch (cells_question(c, cell, &text)) {
    case CELLS_ANSWERED: return cells_judge(c, take_answer(t, cell, id, floor, text, &why), &why);
    case CELLS_REFUSED: return cells_judge(c, mix_truth_refuse(t, id, &why), &why);
    case CELLS_UNKNOWN: t->unknown++; return !run_failed(c->load->run);
    }
    CD_UNREACHABLE();
}

static int probe(struct cells_client *c, unsigned cell)
{
    struct mix_truth *t = c->load->work;
    struct cd_str text;
    struct cd_buf why = {0};
    size_t floor = cells_reads_may_be_stale(c) ? 0 : mix_truth_floor(t, cell);
    cd_buf_clear(&c->message);
    cd_buf_addf(&c->message, "look");
    if (cells_question(c, cell, &text) != CELLS_ANSWERED)
        return run_failed(c->load->run) ? -1 : 0;
    return cells_judge(c, take_answer(t, cell, 0, floor, text, &why), &why) ? 1 : -1;
}

static bool work(struct cells_client *c)
{
    unsigned cell = cells_draw_cell(c);
    return cells_draw(c, 8) == 0 ? probe(c, cell) >= 0 : transact(c, cell);
}

static void *start(struct cells_load *l)
{
    struct mix_truth *t = cd_new(struct mix_truth);
    mix_truth_init(t, (unsigned)scn_get(l->run->scn, SCN_STORAGE_CELLS), l->run->setup->seed % 1000000);
    return t;
}

static void tell(const void *work_of, struct cd_buf *out)
{
    const struct mix_truth *t = work_of;
    cd_buf_addf(out, "%llu transactions done, %llu in vain, %llu refused, %llu unknown", ULL(t->done),
                ULL(t->conflicts), ULL(t->refused), ULL(t->unknown));
}

static void finish(void *work_of)
{
    mix_truth_deinit(work_of);
    cd_free(work_of);
}

const struct cells_class cells_class_mix = {
    .name = "Mix",
    .cells = SCN_STORAGE_CELLS,
    .clients = SCN_STORAGE_CLIENTS,
    .rate = SCN_STORAGE_RATE,
    .start = start,
    .finish = finish,
    .tell = tell,
    .work = work,
    .probe = probe,
};
