/* io_real/linger.c: closing without losing what was written.
 *
 * A socket that is closed while its peer still sends answers with a reset, and the reset can overtake the
 * last bytes we wrote. So after our end of stream the socket stays for a while, forgotten by its user, and
 * throws away what comes, until the peer has finished too. Both the time and the number of such sockets are
 * bounded. */
#include <errno.h>

#include "io_real/net.h"

#define LINGER_NS 2000000000u /* Time for the peer to read our last bytes and to finish. */
#define LINGERERS_MAX 1024u /* Per loop; then the oldest goes. */
#define DRAINS_MAX 16 /* Reads per event. */

static struct real_stream *oldest(struct real_loop *l)
{
    struct cd_link *k = cd_list_first(&l->lingering);
    return k == NULL ? NULL : CD_CONTAINER(k, struct real_stream, link);
}

static void linger_stop(struct real_stream *s)
{
    s->loop->lingerers--;
    real_stream_free(s);
}

static void linger_late(struct real_loop *l, struct real_alarm *a)
{
    (void)a;
    struct real_stream *s;
    uint64_t now = io_now_ns(&l->io);
    while ((s = oldest(l)) != NULL && s->linger_until_ns <= now)
        linger_stop(s);
    if (s != NULL)
        real_alarm_set(l, &l->linger_alarm, s->linger_until_ns - now, linger_late);
}

static void linger_drain(struct real_stream *s)
{
    for (int i = 0; i < DRAINS_MAX; i++) {
        /* MSG_TRUNC throws away without copying; the buffer is not touched. */
        ssize_t n = recv(s->watch.fd, s->loop->scratch, REAL_SCRATCH_BYTES, MSG_TRUNC | MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n == 0 || (n < 0 && errno != EINTR)) {
            linger_stop(s);
            return;
        }
    }
    real_heat(s->loop, &s->hot);
}

static void linger_ready(struct real_loop *l, struct real_watch *w, uint32_t events)
{
    (void)l;
    (void)events;
    linger_drain(CD_CONTAINER(w, struct real_stream, watch));
}

static void linger_hot(struct real_loop *l, struct real_hot *h)
{
    (void)l;
    linger_drain(CD_CONTAINER(h, struct real_stream, hot));
}

void real_linger_start(struct real_stream *s)
{
    struct real_loop *l = s->loop;
    s->watch.ready = linger_ready;
    s->hot.run = linger_hot;
    s->linger_until_ns = io_now_ns(&l->io) + LINGER_NS;
    cd_list_push(&l->lingering, &s->link);
    if (++l->lingerers > LINGERERS_MAX)
        linger_stop(oldest(l));
    if (!l->linger_alarm.set)
        real_alarm_set(l, &l->linger_alarm, LINGER_NS, linger_late);
    if (s->readable && s->watch.fd >= 0)
        real_heat(l, &s->hot); /* No edge will come for what is there already. */
}

void real_linger_end(struct real_loop *l)
{
    struct real_stream *s;
    while ((s = oldest(l)) != NULL)
        linger_stop(s);
    real_alarm_clear(l, &l->linger_alarm);
}
