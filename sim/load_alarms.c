/* sim/load_alarms.c: what clients of alarms ask: to set them, to cancel them, how they are. */
#include "sim/alarm_truth.h"
#include "sim/cells.h"
#include "sim/cells_code.h"

#define DELAY_MS 15000u /* Alarms are set so far ahead, at most. */
#define ULL(v) ((unsigned long long)(v))

static void strange(struct cells_client *c, unsigned cell)
{
    run_fail(c->load->run, RUN_SAFETY, "cells.answer", "an answer of alarm %u is not one: %s", cell,
             cd_buf_cstr(&c->text));
}

/* One change. 1: acknowledged; 0: not; -1: the run has failed. */
static int change(struct cells_client *c, unsigned cell, bool cancel)
{
    struct alarm_truth *t = c->load->work;
    struct cd_str text;
    struct cd_buf why = {0};
    uint64_t delay = cells_draw(c, DELAY_MS), seq;
    int64_t due = cancel ? 0 : io_wall_ms(c->io) + (int64_t)delay;
    uint64_t floor = alarm_truth_floor(t, cell), id = alarm_truth_begin(t, cell, due);
    cd_buf_clear(&c->message);
    cd_buf_addf(&c->message, cancel ? "cancel %llu" : "set %llu %lld", ULL(id), (long long)due);
    switch (cells_question(c, cell, &text)) {
    case CELLS_ANSWERED:
        if (!cells_take_u64(&text, &seq))
            break;
        return cells_judge(c, alarm_truth_ack(t, id, floor, seq, &why), &why) ? 1 : -1;
    case CELLS_REFUSED: return cells_judge(c, alarm_truth_refuse(t, id, &why), &why) ? 0 : -1;
    case CELLS_UNKNOWN: t->unknown++; return run_failed(c->load->run) ? -1 : 0;
    }
    strange(c, cell);
    return -1;
}

/* 1: it rests; 0: no answer, or an alarm is still to come; -1: the run has failed. */
static int look(struct cells_client *c, unsigned cell)
{
    struct alarm_truth *t = c->load->work;
    struct cd_str text;
    struct cd_buf why = {0};
    uint64_t floor = alarm_truth_floor(t, cell), seq, id, armed;
    cd_buf_clear(&c->message);
    cd_buf_addf(&c->message, "look");
    if (cells_question(c, cell, &text) != CELLS_ANSWERED)
        return run_failed(c->load->run) ? -1 : 0;
    if (!cells_take_u64(&text, &seq) || !cells_take_u64(&text, &id) || !cells_take_u64(&text, &armed)) {
        strange(c, cell);
        return -1;
    }
    if (seq < floor && cells_reads_may_be_stale(c)) {
        CD_MARK("cells.stale_read");
        return 0;
    }
    if (!cells_judge(c, alarm_truth_state(t, cell, floor, seq, id, armed == 1, &why), &why))
        return -1;
    return armed == 0;
}

static bool work(struct cells_client *c)
{
    unsigned cell = cells_draw_cell(c);
    uint64_t what = cells_draw(c, 8);
    return (what == 0 ? look(c, cell) : change(c, cell, what < 3)) >= 0;
}

/* All alarms have to have run. In the audit one is left armed then, so that the loss of every disk has one to
 * keep. That they have run is not asked again when the change fails: where cells take turns in one slot, each
 * question may cost a whole round, and two in a row would have to meet the cell twice. */
static int probe(struct cells_client *c, unsigned cell)
{
    int rc = c->rests ? 1 : look(c, cell);
    if (rc == 1 && c->load->round == 2) {
        c->rests = true;
        rc = change(c, cell, false);
    }
    if (rc != 0)
        c->rests = false;
    return rc;
}

static void *start(struct cells_load *l)
{
    struct alarm_truth *t = cd_new(struct alarm_truth);
    alarm_truth_init(t, (unsigned)scn_get(l->run->scn, SCN_ALARMS_CELLS));
    return t;
}

static void tell(const void *work_of, struct cd_buf *out)
{
    const struct alarm_truth *t = work_of;
    cd_buf_addf(out, "%llu changes acknowledged, %llu refused, %llu unknown, %llu runs", ULL(t->acked),
                ULL(t->refused), ULL(t->unknown), ULL(t->runs));
}

static void finish(void *work_of)
{
    alarm_truth_deinit(work_of);
    cd_free(work_of);
}

const char *cells_alarm_ran(struct cells_load *l, unsigned cell, uint64_t id, int64_t scheduled_ms,
                            unsigned retry, int64_t wall_ms, struct cd_buf *why)
{
    return alarm_truth_run(l->work, cell, id, scheduled_ms, retry, wall_ms, why);
}

const struct cells_class cells_class_alarm = {
    .name = "Alarm",
    .cells = SCN_ALARMS_CELLS,
    .clients = SCN_ALARMS_CLIENTS,
    .rate = SCN_ALARMS_RATE,
    .start = start,
    .finish = finish,
    .tell = tell,
    .work = work,
    .probe = probe,
};
