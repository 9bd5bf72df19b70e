/* js/pipe.c: streams of bytes between two isolates of a loop. */
#include "js/pipe.h"

#include "js/cells.h"
#include "js/ops.h"

enum side { READER, WRITER };
enum place {
    ATTACHED,
    LOOSE,
    TAKEN,
    GONE
}; /* LOOSE: not taken yet, goes with the end that opened the pipe. */

struct js_pipe {
    struct io *io;
    enum place place[2];
    struct js_body reader;
    struct io_signal readable; /* The read waits for a chunk. */
    struct cd_buf taken; /* owned; what the reader looks at until its next read */
    struct js_handle writer;
    struct js_async async; /* The write in progress. */
    struct io_op writing;
    struct js_effect effect; /* The same. */
    bool last; /* That write is the last one. */
    struct io_signal writable; /* It waits for the reader. */
    struct cd_buf chunk; /* owned; not taken yet; empty: none */
    struct cd_buf next; /* owned; of the write that waits for the output gate */
    bool ended; /* Nothing follows the chunk. */
};

static struct js_pipe *of_reader(struct js_body *s)
{
    return CD_CONTAINER(s, struct js_pipe, reader);
}

static struct js_pipe *of_writer(struct js_handle *h)
{
    return CD_CONTAINER(h, struct js_pipe, writer);
}

static void free_if_done(struct js_pipe *p)
{
    if (p->place[READER] != GONE || p->place[WRITER] != GONE || io_busy(&p->writing) || p->effect.waiting)
        return;
    cd_buf_deinit(&p->chunk);
    cd_buf_deinit(&p->next);
    cd_buf_deinit(&p->taken);
    cd_free(p);
}

static void reader_gone(struct js_pipe *p)
{
    p->place[READER] = GONE;
    io_signal_wake(&p->writable, IO_RESET);
}

static void writer_gone(struct js_pipe *p)
{
    p->place[WRITER] = GONE;
    io_signal_wake(&p->readable, p->ended ? IO_EOF : IO_RESET);
}

/* The end at `side` is closed. A loose one that nobody took goes with the other. */
static void end_gone(struct js_pipe *p, enum side side)
{
    if (side == READER)
        reader_gone(p);
    else
        writer_gone(p);
    enum side other = side == READER ? WRITER : READER;
    if (p->place[other] == LOOSE)
        end_gone(p, other);
    else
        free_if_done(p);
}

/* ---- The reading end ---- */

static void chunk_take(struct js_pipe *p)
{
    cd_buf_deinit(&p->taken);
    p->taken = cd_buf_move(&p->chunk);
    p->reader.read.buf = p->taken.ptr;
    p->reader.read.len = p->taken.len;
}

static void pipe_read(struct js_body *s)
{
    struct js_pipe *p = of_reader(s);
    if (p->chunk.len > 0) {
        chunk_take(p);
        io_defer(&s->read.op, p->io, IO_OK, js_body_done);
        io_signal_wake(&p->writable, IO_OK);
    } else if (p->ended || p->place[WRITER] == GONE) {
        io_defer(&s->read.op, p->io, p->ended ? IO_EOF : IO_RESET, js_body_done);
    } else {
        io_signal_wait(&p->readable, p->io, &s->read.op, js_body_done);
    }
}

static void pipe_close(struct js_body *s)
{
    end_gone(of_reader(s), READER);
}

static const char *pipe_why(struct js_body *s, int status)
{
    (void)s, (void)status;
    return "Network connection lost.";
}

static const struct js_body_type reader_type = {pipe_read, pipe_close, pipe_why};

/* ---- The writing end ---- */

static void write_cancel(struct js_async *a)
{
    js_effect_cancel(&CD_CONTAINER(a, struct js_pipe, async)->effect);
}

static void write_done(struct io_op *op, int status)
{
    struct js_pipe *p = CD_CONTAINER(op, struct js_pipe, writing);
    struct js_async a;
    bool wanted = js_async_take(&p->async, &a);
    free_if_done(p); /* p may be gone. */
    if (wanted)
        js_async_status(&a, status, status == IO_OK ? NULL : "The reader of this stream has gone.");
    js_async_end(&a);
}

static void writer_close(struct js_handle *h)
{
    struct js_pipe *p = of_writer(h);
    js_effect_cancel(&p->effect);
    end_gone(p, WRITER);
}

static const struct js_handle_type writer_type = {.name = "stream", .close = writer_close};

static void write_go(struct js_effect *x)
{
    struct js_pipe *p = CD_CONTAINER(x, struct js_pipe, effect);
    cd_buf_deinit(&p->chunk);
    p->chunk = cd_buf_move(&p->next);
    p->ended = p->last;
    bool waiting = !cd_list_empty(&p->readable.waiting);
    if (waiting && p->chunk.len > 0) {
        chunk_take(p);
        io_signal_wake(&p->readable, IO_OK);
    } else if (waiting && p->ended) {
        io_signal_wake(&p->readable, IO_EOF);
    }
    if (p->place[READER] == GONE)
        io_defer(&p->writing, p->io, IO_RESET, write_done);
    else if (p->chunk.len > 0)
        io_signal_wait(&p->writable, p->io, &p->writing, write_done);
    else
        io_defer(&p->writing, p->io, IO_OK, write_done);
}

/* pipe_write(event, promise, pipe, chunk, last): done when the reader has taken the chunk. */
int js_op_pipe_write(struct js_args *a)
{
    struct js_handle *h;
    int rc = js_arg_handle(a, 2, &writer_type, &h);
    if (rc != 0)
        return rc;
    struct js_pipe *p = of_writer(h);
    struct js_bytes bytes = {0};
    if (io_busy(&p->writing) || p->effect.waiting || p->ended)
        return js_throw_error(a->js, JS_ERROR, "This stream is being written already.");
    if (!js_is_undefined(js_arg(a, 3)) && !js_bytes(js_arg(a, 3), &bytes))
        return js_throw_error(a->js, JS_TYPE_ERROR, "A chunk of a stream between Workers is no bytes.");
    rc = js_effect_async(a, &p->async, write_cancel);
    if (rc != 0)
        return rc;
    cd_buf_add(&p->next, bytes.ptr, bytes.len);
    p->last = js_to_bool(a->js, js_arg(a, 4));
    js_effect_start(&p->effect, p->async.event, &p->writing, write_done, write_go);
    return 0;
}

/* pipe_close(pipe): the writer gives up; after the last chunk: nothing is lost. */
int js_op_pipe_close(struct js_args *a)
{
    uint64_t id;
    int rc = js_arg_u64(a, 0, &id);
    if (rc != 0)
        return rc;
    struct js_handle *h = cd_map_get_u64(&js_worker_of(a)->handles, id);
    if (h != NULL && h->type == &writer_type)
        js_handle_close(h);
    return 0;
}

/* ---- Ends change hands ---- */

static js_value attach(struct js_pipe *p, enum side side, struct js_event *e)
{
    p->place[side] = ATTACHED;
    if (side == READER)
        js_body_init(&p->reader, e->w, e, &reader_type);
    else
        js_handle_init(&p->writer, e->w, e, &writer_type);
    return js_number(e->w->js, (double)(side == READER ? p->reader.handle.id : p->writer.id));
}

/* pipe_open(event, writing): the number of the end that the event has. */
int js_op_pipe_open(struct js_args *a)
{
    uint64_t event;
    int rc = js_arg_u64(a, 0, &event);
    if (rc != 0)
        return rc;
    struct js_event *e = js_event_get(js_worker_of(a), event);
    if (e == NULL)
        return js_throw_error(a->js, JS_ERROR, "The event that this operation belongs to has ended.");
    struct js_pipe *p = cd_new(struct js_pipe);
    p->io = e->w->io;
    io_signal_init(&p->readable);
    io_signal_init(&p->writable);
    enum side side = js_to_bool(a->js, js_arg(a, 1)) ? WRITER : READER;
    p->place[side == READER ? WRITER : READER] = LOOSE;
    js_return(a, attach(p, side, e));
    return 0;
}

static struct js_pipe *pipe_of(struct js_worker *w, double number)
{
    struct js_handle *h = number > 0 ? cd_map_get_u64(&w->handles, (uint64_t)number) : NULL;
    if (h == NULL)
        return NULL;
    if (h->type == &writer_type)
        return of_writer(h);
    struct js_body *s = js_body_of(h);
    return s != NULL && s->type == &reader_type ? of_reader(s) : NULL;
}

static enum side loose_side(const struct js_pipe *p)
{
    return p->place[READER] == ATTACHED ? WRITER : READER;
}

int js_arg_pipes(struct js_args *a, unsigned index, struct js_pipes *out)
{
    js_value list = js_arg(a, index);
    unsigned count = js_is(list, JS_IS_ARRAY) ? js_array_len(list) : 0;
    if (count > JS_PIPES_MAX)
        return js_throw_error(a->js, JS_ERROR, "A call between Workers carries at most %d streams.",
                              JS_PIPES_MAX);
    struct js_pipes p = {.pipe = count > 0 ? cd_alloc(sizeof(struct js_pipe *) * count) : NULL};
    int rc = 0;
    for (; p.count < count && rc == 0; p.count += rc == 0) {
        js_value v;
        double number = 0;
        rc = js_get_index(a->js, list, p.count, &v);
        if (rc == 0)
            rc = js_to_number(a->js, v, &number);
        if (rc != 0)
            break;
        p.pipe[p.count] = pipe_of(js_worker_of(a), number);
        if (p.pipe[p.count] == NULL || p.pipe[p.count]->place[loose_side(p.pipe[p.count])] != LOOSE)
            rc = js_throw_error(a->js, JS_ERROR, "This stream was sent already, or is closed.");
        else
            p.pipe[p.count]->place[loose_side(p.pipe[p.count])] = TAKEN;
    }
    if (rc != 0) {
        for (unsigned i = 0; i < p.count; i++)
            p.pipe[i]->place[loose_side(p.pipe[i])] = LOOSE;
        cd_free(p.pipe);
        return rc;
    }
    *out = p;
    return 0;
}

static enum side taken_side(const struct js_pipe *p)
{
    return p->place[READER] == TAKEN ? READER : WRITER;
}

js_value js_pipes_attach(struct js_pipes *p, struct js_event *e)
{
    js_value list = js_array(e->w->js, NULL, 0);
    for (unsigned i = 0; i < p->count; i++) {
        js_value number = attach(p->pipe[i], taken_side(p->pipe[i]), e);
        int rc = js_set_index(e->w->js, list, i, number);
        CD_MAYBE(rc != 0); /* Then the number is missing, and the end goes with its event. */
    }
    cd_free(p->pipe);
    *p = (struct js_pipes){0};
    return list;
}

void js_pipes_drop(struct js_pipes *p)
{
    for (unsigned i = 0; i < p->count; i++)
        end_gone(p->pipe[i], taken_side(p->pipe[i]));
    cd_free(p->pipe);
    *p = (struct js_pipes){0};
}
