/* io/fiber.c: stackful fibers, for protocol flows that read like their specification.
 *
 * A fiber runs until it awaits, then the loop goes on; its op's completion makes it ready again. Stacks have
 * a guard below them and are kept for reuse. A stack is entered once, through ucontext; every later switch is
 * a jump, because swapcontext makes a system call for the signal mask, which is the same everywhere here. The
 * address sanitizer and the thread sanitizer are told about every switch. */
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "io/backend.h"

#ifdef __SANITIZE_ADDRESS__
#define FIBER_ASAN 1
#endif
#ifdef __SANITIZE_THREAD__
#define FIBER_TSAN 1
#endif
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define FIBER_TSAN 1
#endif
#endif
#ifdef FIBER_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#define STACK_BYTES (256u << 10) /* SQLite inside a restore needs some; untouched pages cost nothing. */
#define GUARD_BYTES (64u << 10) /* The largest page of any machine; and no large frame may jump over it. */
#define STACKS_KEPT_MAX 32

struct io_fiber {
    struct cd_link link; /* In io.ready, or in io.spare. */
    struct cd_link alive; /* In io.alive. */
    struct io *io;
    const char *name;
    void (*flow)(void *arg);
    void *arg;
    struct io_op *awaits;
    bool canceled, ended;
    bool entered; /* Its stack has fiber_main on it, and here is set. */
    jmp_buf here, back; /* Where the fiber and the loop go on. */
    char *stack; /* owned; GUARD_BYTES of guard first. */
#ifdef FIBER_ASAN
    void *fake_stack, *back_fake_stack;
    const void *back_bottom;
    size_t back_size;
#endif
#ifdef FIBER_TSAN
    void *tsan, *back_tsan;
#endif
};

/* The sanitizers want to know a switch before and after it happens, on both sides. Inlined always: the thread
 * sanitizer notes each return, and the one from here would be noted on the other side's stack. */
__attribute__((always_inline)) static inline void switch_before(struct io_fiber *f, bool into)
{
#ifdef FIBER_ASAN
    if (into)
        __sanitizer_start_switch_fiber(&f->back_fake_stack, f->stack + GUARD_BYTES, STACK_BYTES);
    else
        __sanitizer_start_switch_fiber(f->ended ? NULL : &f->fake_stack, f->back_bottom, f->back_size);
#endif
#ifdef FIBER_TSAN
    if (into)
        f->back_tsan = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(into ? f->tsan : f->back_tsan, 0);
#endif
    (void)f;
    (void)into;
}

__attribute__((always_inline)) static inline void switch_after(struct io_fiber *f, bool into)
{
#ifdef FIBER_ASAN
    if (into)
        __sanitizer_finish_switch_fiber(f->fake_stack, &f->back_bottom, &f->back_size);
    else
        __sanitizer_finish_switch_fiber(f->back_fake_stack, NULL, NULL);
#endif
    (void)f;
    (void)into;
}

/* Away from the fiber, until the loop resumes it. Not inlined, as all that call setjmp: a second return finds
 * none of a caller's variables in registers. */
__attribute__((noinline)) static void fiber_suspend(struct io_fiber *f)
{
    if (_setjmp(f->here) == 0) {
        switch_before(f, false);
        _longjmp(f->back, 1);
    }
    switch_after(f, true);
}

/* One flow after the other, on one stack. makecontext passes ints only: the pointer comes in two halves. */
static void fiber_main(unsigned high, unsigned low)
{
    struct io_fiber *f = (struct io_fiber *)(uintptr_t)((uint64_t)high << 32 | low);
    switch_after(f, true);
    for (;;) {
        f->flow(f->arg);
        f->ended = true;
        fiber_suspend(f);
    }
}

/* Onto the fiber's stack for the first time. Nothing returns from here, so the address sanitizer may not mark
 * this frame: nobody would take the marks away. */
__attribute__((noinline, no_sanitize_address)) static void fiber_enter(struct io_fiber *f)
{
    ucontext_t context;
    int rc = getcontext(&context);
    CD_ASSERT(rc == 0);
    context.uc_stack.ss_sp = f->stack + GUARD_BYTES;
    context.uc_stack.ss_size = STACK_BYTES;
    context.uc_link = NULL;
    uint64_t self = (uint64_t)(uintptr_t)f;
    makecontext(&context, (void (*)(void))fiber_main, 2, (unsigned)(self >> 32), (unsigned)self);
    f->entered = true;
    switch_before(f, true);
    (void)setcontext(&context);
    CD_UNREACHABLE();
}

/* Into the fiber, until it suspends. */
__attribute__((noinline)) static void fiber_switch(struct io_fiber *f)
{
    if (_setjmp(f->back) == 0) {
        if (!f->entered)
            fiber_enter(f);
        switch_before(f, true);
        _longjmp(f->here, 1);
    }
    switch_after(f, false);
}

static struct io_fiber *fiber_take(struct io *io)
{
    struct cd_link *spare = cd_list_pop(&io->spare);
    if (spare != NULL) {
        io->spares--;
        return CD_CONTAINER(spare, struct io_fiber, link);
    }
    struct io_fiber *f = cd_new(struct io_fiber);
    f->stack = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    CD_ASSERT(f->stack != MAP_FAILED);
    int rc = mprotect(f->stack, GUARD_BYTES, PROT_NONE);
    CD_ASSERT(rc == 0);
#ifdef FIBER_TSAN
    f->tsan = __tsan_create_fiber(0);
#endif
    return f;
}

static void fiber_free(struct io_fiber *f)
{
#ifdef FIBER_TSAN
    __tsan_destroy_fiber(f->tsan);
#endif
    int rc = munmap(f->stack, GUARD_BYTES + STACK_BYTES);
    CD_ASSERT(rc == 0);
    cd_free(f);
}

static void fiber_give_back(struct io_fiber *f)
{
    struct io *io = f->io;
    cd_link_remove(&f->alive);
    io->fibers--;
    if (io->spares < STACKS_KEPT_MAX) {
        io->spares++;
        cd_list_push_front(&io->spare, &f->link);
    } else {
        fiber_free(f);
    }
}

struct io_fiber *io_spawn(struct io *io, const char *name, void (*flow)(void *arg), void *arg)
{
    struct io_fiber *f = fiber_take(io);
    f->io = io;
    f->name = name;
    f->flow = flow;
    f->arg = arg;
    f->awaits = NULL;
    f->canceled = f->ended = false;
#ifdef FIBER_ASAN
    f->fake_stack = NULL;
#endif
#ifdef FIBER_TSAN
    __tsan_set_fiber_name(f->tsan, name);
#endif
    io->fibers++;
    cd_list_push(&io->alive, &f->alive);
    io_fiber_wake(f);
    return f;
}

void io_fiber_wake(struct io_fiber *f)
{
    struct io *io = f->io;
    CD_ASSERT(!cd_link_linked(&f->link) && !f->ended);
    f->awaits = NULL;
    cd_list_push(&io->ready, &f->link);
    if (io->ready_hook != NULL)
        io->ready_hook(io, f);
    if (io->entered == 0 && io->wake != NULL)
        io->wake(io);
}

void io_fiber_resume(struct io_fiber *f)
{
    struct io *io = f->io;
    CD_ASSERT(io->running == NULL && io_current() == io);
    CD_ASSERT(cd_link_linked(&f->link)); /* Ready, not suspended in an await. */
    cd_link_remove(&f->link);
    io->running = f;
    fiber_switch(f);
    io->running = NULL;
    if (f->ended)
        fiber_give_back(f);
}

bool io_fiber_run_one(struct io *io)
{
    struct cd_link *first = cd_list_first(&io->ready);
    if (first == NULL)
        return false;
    io_fiber_resume(CD_CONTAINER(first, struct io_fiber, link));
    return true;
}

struct io_fiber *io_fiber_current(void)
{
    struct io *io = io_current();
    return io == NULL ? NULL : io->running;
}

void io_fiber_cancel(struct io_fiber *f)
{
    f->canceled = true;
    if (f->awaits != NULL)
        io_cancel(f->awaits);
}

void io_fibers_cancel(struct io *io)
{
    for (struct cd_link *k = cd_list_first(&io->alive); k != NULL; k = cd_list_next(&io->alive, k))
        io_fiber_cancel(CD_CONTAINER(k, struct io_fiber, alive));
}

/* Waits for op without a deadline of its own. */
static int await_op(struct io_fiber *f, struct io_op *op)
{
    CD_ASSERT(op->serial != 0); /* It was submitted once. */
    CD_ASSERT(op->done == NULL);
    CD_ASSERT(op->waiter == NULL);
    if (op->io == NULL)
        return op->status; /* It was done while this fiber waited for something else. */
    CD_ASSERT(op->io == f->io);
    if (f->canceled)
        io_cancel(op);
    op->waiter = f;
    f->awaits = op;
    fiber_suspend(f);
    CD_ASSERT(op->io == NULL);
    return op->status;
}

/* On the heap, because its timer may outlive the await: what was lent with the op is good only until the
 * fiber suspends again, so the await returns at once, and the cancelled timer comes to its end later. */
struct deadline {
    struct io_timer timer;
    struct io_op *op; /* NULL: the await is over. */
    bool late;
};

static void deadline_done(struct io_op *op, int status)
{
    struct deadline *d = CD_CONTAINER(op, struct deadline, timer.op);
    if (d->op == NULL) {
        cd_free(d);
    } else if (status == IO_OK && io_busy(d->op)) {
        d->late = true;
        io_cancel(d->op);
    }
}

int io_await(struct io_op *op, uint64_t deadline_ns)
{
    struct io_fiber *f = io_fiber_current();
    CD_ASSERT(f != NULL);
    if (deadline_ns == IO_FOREVER || op->io == NULL)
        return await_op(f, op);
    uint64_t now = io_now_ns(f->io);
    struct deadline *d = cd_new(struct deadline);
    d->op = op;
    io_timer_start(&d->timer, f->io, deadline_ns > now ? deadline_ns - now : 0, deadline_done);
    int status = await_op(f, op);
    bool late = d->late;
    d->op = NULL;
    if (io_busy(&d->timer.op))
        io_cancel(&d->timer.op);
    else
        cd_free(d);
    return late && status != IO_OK ? IO_TIMEDOUT : status;
}

int io_sleep(struct io *io, uint64_t ns)
{
    struct io_timer timer = {0};
    io_timer_start(&timer, io, ns, NULL);
    return io_await(&timer.op, IO_FOREVER);
}

const char *io_fiber_name(const struct io_fiber *f)
{
    return f->name;
}

void io_fibers_each(struct io *io, void (*each)(void *arg, const char *name, uint64_t op_serial), void *arg)
{
    for (struct cd_link *k = cd_list_first(&io->alive); k != NULL; k = cd_list_next(&io->alive, k)) {
        struct io_fiber *f = CD_CONTAINER(k, struct io_fiber, alive);
        each(arg, f->name, f->awaits == NULL ? 0 : f->awaits->serial);
    }
}

void io_deinit(struct io *io)
{
    CD_ASSERT(io->busy == 0);
    CD_ASSERT(io->fibers == 0);
    CD_ASSERT(cd_list_empty(&io->ready) && cd_list_empty(&io->deferred));
    struct cd_link *k;
    while ((k = cd_list_pop(&io->spare)) != NULL)
        fiber_free(CD_CONTAINER(k, struct io_fiber, link));
    io->spares = 0;
}
