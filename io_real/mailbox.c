/* io_real/mailbox.c: messages between the loops of a node.
 *
 * One lock-free stack per receiving loop; the receiver takes all of it at once and turns it round, so the
 * order of each sender is kept. Only a sleeping loop is woken through the kernel, and the control loop, which
 * gets a message for each commit of a shard, not for each of them: at the end of the sender's round, before
 * it sleeps, or for a number of messages. What it does with them comes back to the sender's loop, which would
 * not look before. */
#include <errno.h>
#include <unistd.h>

#include "io_real/real.h"

#define MAIL_MAX 256u /* Messages per round, so that they do not hold up the rest of the loop. */
#define OWED_MAX 8u /* Messages to the control loop that one wake-up is for. */

void real_wake(struct real_loop *l)
{
    if (!atomic_exchange(&l->asleep, false))
        return;
    uint64_t one = 1;
    ssize_t n = write(l->mail_fd, &one, sizeof one);
    CD_ASSERT(n == sizeof one || errno == EAGAIN); /* EAGAIN: 2^64 - 2 wake-ups are waiting. */
}

static void push(struct real_loop *to, struct io_msg *m)
{
    atomic_fetch_add(&to->node->mail_pending, 1);
    struct io_msg *head = atomic_load_explicit(&to->mail, memory_order_relaxed);
    do {
        m->link[0] = head;
    } while (!atomic_compare_exchange_weak(&to->mail, &head, m));
}

void real_mail_push(struct real_loop *to, struct io_msg *m)
{
    push(to, m);
    real_wake(to);
}

void real_mail_settle(struct real_loop *l)
{
    if (l->owed == 0)
        return;
    l->owed = 0;
    real_wake(l->node->loops[0]);
}

static void inbox_fill(struct real_loop *l)
{
    struct io_msg *newest = atomic_exchange(&l->mail, NULL);
    while (newest != NULL) {
        struct io_msg *older = newest->link[0];
        newest->link[0] = l->inbox;
        l->inbox = newest;
        newest = older;
    }
}

void real_mail_run(struct real_loop *l)
{
    if (l->inbox == NULL) {
        if (atomic_load_explicit(&l->mail, memory_order_relaxed) == NULL)
            return;
        inbox_fill(l);
    }
    unsigned count = 0;
    while (l->inbox != NULL && count < MAIL_MAX) {
        struct io_msg *m = l->inbox;
        l->inbox = m->link[0];
        count++;
        real_enter(l);
        m->handle(&l->io, m);
        real_leave(l);
    }
    /* After the callbacks: what they started is known by now, so nobody takes the node for idle in between.
     */
    atomic_fetch_sub(&l->node->mail_pending, count);
    if (l->stopping)
        real_settle(l);
}

void io_post(struct io *from, unsigned to_loop, struct io_msg *m)
{
    struct real_loop *l = real_loop(from);
    CD_ASSERT(to_loop < l->node->count && m->handle != NULL);
    push(l->node->loops[to_loop], m);
    if (to_loop != 0)
        real_wake(l->node->loops[to_loop]);
    else if (++l->owed == OWED_MAX)
        real_mail_settle(l);
}

struct work {
    struct io_msg msg;
    void (*run)(struct io *io, void *arg);
    void *arg;
};

static void work_handle(struct io *at, struct io_msg *m)
{
    struct work *w = CD_CONTAINER(m, struct work, msg);
    struct work copy = *w;
    cd_free(w);
    copy.run(at, copy.arg);
}

void io_real_post(struct io_real *node, unsigned loop, void (*work)(struct io *io, void *arg), void *arg)
{
    CD_ASSERT(loop < node->count);
    struct work *w = cd_new(struct work);
    w->msg.handle = work_handle;
    w->run = work;
    w->arg = arg;
    real_mail_push(node->loops[loop], &w->msg);
}
