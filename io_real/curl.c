/* io_real/curl.c: see curl.h. libcurl tells which sockets to watch and when to wake it; here that becomes
 * watches and an alarm of the loop. */
#include "io_real/curl.h"

#include <pthread.h>

#define SPARE_MAX 32 /* Easy handles kept for reuse: making one costs more than the request. */

/* A socket of libcurl's. */
struct socket_watch {
    struct real_watch watch;
    struct real_grave grave;
    struct lane *lane;
};

struct lane {
    struct real_loop *loop;
    CURLM *multi; /* owned; made at the first use. */
    struct real_alarm alarm;
};

struct real_curl {
    struct lane lane[REAL_LANE_COUNT];
    CURL *spare[SPARE_MAX];
    unsigned spares;
    unsigned busy;
};

static pthread_once_t global_once = PTHREAD_ONCE_INIT;

static void global_init(void)
{
    CURLcode rc = curl_global_init(CURL_GLOBAL_DEFAULT);
    CD_ASSERT(rc == CURLE_OK);
}

static struct real_curl *curl_of(struct real_loop *l)
{
    if (l->curl == NULL) {
        (void)pthread_once(&global_once, global_init);
        l->curl = cd_new(struct real_curl);
    }
    return l->curl;
}

/* ---- What libcurl asks for ---- */

/* Inside a callback of the loop, outside of libcurl. done may start, cancel and free as it likes. */
static void messages_take(struct lane *lane)
{
    struct real_curl *c = lane->loop->curl;
    CURLMsg *m;
    int left;
    while ((m = curl_multi_info_read(lane->multi, &left)) != NULL) {
        if (m->msg != CURLMSG_DONE)
            continue;
        CURLcode result = m->data.result; /* The message dies with the removal. */
        char *private = NULL;
        (void)curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &private);
        struct real_transfer *t = (struct real_transfer *)(void *)private;
        CURLMcode rc = curl_multi_remove_handle(lane->multi, t->easy);
        CD_ASSERT(rc == CURLM_OK);
        c->busy--;
        t->loop = NULL;
        t->done(t, result);
    }
}

static void lane_act(struct lane *lane, curl_socket_t socket, int events)
{
    int running;
    CURLMcode rc = curl_multi_socket_action(lane->multi, socket, events, &running);
    CD_ASSERT(rc == CURLM_OK);
    messages_take(lane);
}

static void socket_ready(struct real_loop *l, struct real_watch *w, uint32_t events)
{
    struct socket_watch *s = CD_CONTAINER(w, struct socket_watch, watch);
    int what = 0;
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLRDHUP)) != 0)
        what |= CURL_CSELECT_IN;
    if ((events & EPOLLOUT) != 0)
        what |= CURL_CSELECT_OUT;
    if ((events & EPOLLERR) != 0)
        what |= CURL_CSELECT_ERR;
    real_enter(l);
    lane_act(s->lane, w->fd, what);
    real_leave(l);
}

static void grave_free(struct real_grave *g)
{
    cd_free(CD_CONTAINER(g, struct socket_watch, grave));
}

static uint32_t events_of(int what)
{
    switch (what) {
    case CURL_POLL_IN: return EPOLLIN;
    case CURL_POLL_OUT: return EPOLLOUT;
    case CURL_POLL_INOUT: return EPOLLIN | EPOLLOUT;
    }
    return 0;
}

static int socket_cb(CURL *easy, curl_socket_t fd, int what, void *arg, void *of_socket)
{
    struct lane *lane = arg;
    struct real_loop *l = lane->loop;
    struct socket_watch *s = of_socket;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (s != NULL) {
            real_watch_stop(l, &s->watch);
            real_bury(l, &s->grave, grave_free);
            (void)curl_multi_assign(lane->multi, fd, NULL);
        }
        return 0;
    }
    if (s == NULL) {
        s = cd_new(struct socket_watch);
        s->lane = lane;
        real_watch_init(&s->watch, socket_ready);
        if (real_watch_start(l, &s->watch, fd, events_of(what)) != IO_OK) {
            cd_free(s);
            return -1; /* libcurl ends the transfer. */
        }
        (void)curl_multi_assign(lane->multi, fd, s);
        return 0;
    }
    return real_watch_change(l, &s->watch, events_of(what)) == IO_OK ? 0 : -1;
}

static void alarm_ring(struct real_loop *l, struct real_alarm *a)
{
    (void)l;
    lane_act(CD_CONTAINER(a, struct lane, alarm), CURL_SOCKET_TIMEOUT, 0);
}

static int timer_cb(CURLM *multi, long timeout_ms, void *arg)
{
    struct lane *lane = arg;
    (void)multi;
    if (timeout_ms < 0)
        real_alarm_clear(lane->loop, &lane->alarm);
    else
        real_alarm_set(lane->loop, &lane->alarm, IO_MS(timeout_ms), alarm_ring);
    return 0;
}

static struct lane *lane_of(struct real_loop *l, unsigned index)
{
    struct lane *lane = &curl_of(l)->lane[index];
    if (lane->multi == NULL) {
        lane->loop = l;
        lane->multi = curl_multi_init();
        CD_ASSERT(lane->multi != NULL);
        (void)curl_multi_setopt(lane->multi, CURLMOPT_SOCKETFUNCTION, socket_cb);
        (void)curl_multi_setopt(lane->multi, CURLMOPT_SOCKETDATA, lane);
        (void)curl_multi_setopt(lane->multi, CURLMOPT_TIMERFUNCTION, timer_cb);
        (void)curl_multi_setopt(lane->multi, CURLMOPT_TIMERDATA, lane);
    }
    return lane;
}

/* ---- Easy handles ---- */

/* An option that this libcurl does not know would silently not hold. */
#define SET(easy, option, value)                                                                             \
    do {                                                                                                     \
        CURLcode set_ = curl_easy_setopt((easy), (option), (value));                                         \
        CD_ASSERT(set_ == CURLE_OK);                                                                         \
    } while (0)

CURL *real_curl_easy(struct real_loop *l)
{
    struct real_curl *c = curl_of(l);
    CURL *easy = c->spares > 0 ? c->spare[--c->spares] : curl_easy_init();
    CD_ASSERT(easy != NULL);
    SET(easy, CURLOPT_NOSIGNAL, 1L);
    SET(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    SET(easy, CURLOPT_PROXY, ""); /* Also keeps libcurl from looking into the environment. */
    SET(easy, CURLOPT_NOPROXY, "*");
    SET(easy, CURLOPT_FOLLOWLOCATION, 0L);
    SET(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
    if (l->node->ca_file != NULL)
        SET(easy, CURLOPT_CAINFO, l->node->ca_file);
    if (l->node->ca_dir != NULL)
        SET(easy, CURLOPT_CAPATH, l->node->ca_dir);
    SET(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    SET(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    SET(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    SET(easy, CURLOPT_PATH_AS_IS, 1L);
    SET(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    SET(easy, CURLOPT_BUFFERSIZE, (long)REAL_SCRATCH_BYTES);
    SET(easy, CURLOPT_USERAGENT, NULL);
    return easy;
}

void real_curl_easy_free(struct real_loop *l, CURL *easy)
{
    struct real_curl *c = curl_of(l);
    if (c->spares == SPARE_MAX) {
        curl_easy_cleanup(easy);
        return;
    }
    curl_easy_reset(easy);
    c->spare[c->spares++] = easy;
}

/* ---- Transfers ---- */

/* libcurl has a connection and is about to send the request. */
static int about_to_send(void *arg, char *ip, char *local_ip, int port, int local_port)
{
    struct real_transfer *t = arg;
    (void)ip;
    (void)local_ip;
    (void)port;
    (void)local_port;
    if (t->once && t->sends > 0)
        return CURL_PREREQFUNC_ABORT;
    t->sends++;
    return CURL_PREREQFUNC_OK;
}

void real_curl_start(struct real_loop *l, unsigned lane_index, struct real_transfer *t)
{
    CD_ASSERT(lane_index < REAL_LANE_COUNT && t->loop == NULL && t->done != NULL);
    struct lane *lane = lane_of(l, lane_index);
    t->loop = l;
    t->lane = lane_index;
    t->sends = 0;
    SET(t->easy, CURLOPT_PRIVATE, (void *)t);
    SET(t->easy, CURLOPT_PREREQFUNCTION, about_to_send);
    SET(t->easy, CURLOPT_PREREQDATA, (void *)t);
    CURLMcode rc = curl_multi_add_handle(lane->multi, t->easy);
    CD_ASSERT(rc == CURLM_OK);
    l->curl->busy++;
}

void real_curl_cancel(struct real_transfer *t)
{
    if (t->loop == NULL)
        return;
    struct real_curl *c = t->loop->curl;
    CURLMcode rc = curl_multi_remove_handle(c->lane[t->lane].multi, t->easy);
    CD_ASSERT(rc == CURLM_OK);
    c->busy--;
    t->loop = NULL;
}

void real_curl_resume(struct real_transfer *t)
{
    if (t->loop != NULL)
        (void)curl_easy_pause(t->easy, CURLPAUSE_CONT); /* What fails now ends the transfer through done. */
}

static int connect_status(const struct real_transfer *t)
{
    long error = 0;
    (void)curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &error);
    int status = error == 0 ? IO_REFUSED : real_status((int)error);
    return status == IO_FAULT ? IO_UNREACHABLE : status;
}

int real_curl_status(const struct real_transfer *t, CURLcode result)
{
    switch ((int)result) {
    case CURLE_OK: return IO_OK;
    case CURLE_COULDNT_RESOLVE_HOST: return IO_NOENT;
    case CURLE_COULDNT_CONNECT: return connect_status(t);
    case CURLE_OPERATION_TIMEDOUT: return IO_TIMEDOUT;
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_SEND_FAIL_REWIND: return IO_RESET;
    case CURLE_ABORTED_BY_CALLBACK: return t->once && t->sends > 0 ? IO_RESET : IO_CANCELED;
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_BAD_CONTENT_ENCODING: return IO_PROTOCOL;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE: return IO_DENIED;
    case CURLE_URL_MALFORMAT: return CD_EINVAL;
    }
    return IO_FAULT;
}

void real_curl_free(struct real_loop *l)
{
    struct real_curl *c = l->curl;
    if (c == NULL)
        return;
    CD_ASSERT(c->busy == 0);
    for (unsigned i = 0; i < REAL_LANE_COUNT; i++) {
        if (c->lane[i].multi == NULL)
            continue;
        CURLMcode rc = curl_multi_cleanup(c->lane[i].multi);
        CD_ASSERT(rc == CURLM_OK);
        real_alarm_clear(l, &c->lane[i].alarm);
    }
    while (c->spares > 0)
        curl_easy_cleanup(c->spare[--c->spares]);
    cd_free(c);
    l->curl = NULL;
}
