/* io_real/curl.h: libcurl's multi interface as a guest of a loop, for outbound HTTP and for object stores.
 *
 * Each loop has one multi handle, with its own connections, per lane. A transfer is the caller's struct
 * around an easy handle. libcurl's callbacks (CURLOPT_WRITEFUNCTION and so on) run inside the loop's
 * callback: in them nothing of this header may be called and ops may only be ended with io_complete_later.
 * `done` runs outside of libcurl: there everything is allowed, io_complete and a new start included. */
#ifndef IO_REAL_CURL_H
#define IO_REAL_CURL_H

#include <curl/curl.h>

#include "io_real/real.h"

/* Lanes of the bucket are enum io_lane; io_http_* has its own. */
enum { REAL_LANE_HTTP = IO_LANE_COUNT, REAL_LANE_COUNT };

struct real_transfer {
    CURL *easy; /* The caller's, from real_curl_easy. Not to be changed while busy, but by its callbacks'
                   returns. */
    /* The whole transfer ended with result; the struct is idle and the easy handle the caller's again. */
    void (*done)(struct real_transfer *t, CURLcode result);
    /* In: never send it a second time. Without this, libcurl sends again by itself when a connection it had
     * kept turns out to be dead before any answer; for a request that changes something that is one too many.
     */
    bool once;
    unsigned
        sends; /* Out: how often it was about to be sent. 0: certainly nothing of it reached the server. */
    struct real_loop *loop; /* NULL while idle. */
    unsigned lane;
};

/* A handle with what all our requests share: http and https only, TLS verified, HTTP/2 where offered, and no
 * proxy, redirects, cookies, decoding, signals or path rewriting. CURLOPT_PRIVATE and CURLOPT_PREREQ* are
 * taken. Owned by the caller, who gives it back with real_curl_easy_free. */
CURL *real_curl_easy(struct real_loop *l);
void real_curl_easy_free(struct real_loop *l, CURL *easy); /* Of an idle transfer. */

/* Starts t->easy. Nothing of the caller's runs inside. Not when the loop is stopping (real_begin tells). */
void real_curl_start(struct real_loop *l, unsigned lane, struct real_transfer *t);
/* Ends it without done; its connection is closed unless the answer was complete. The request may have been
 * sent. No effect on an idle one. */
void real_curl_cancel(struct real_transfer *t);
/* Goes on after a callback returned CURL_WRITEFUNC_PAUSE or CURL_READFUNC_PAUSE. May call the callbacks
 * before it returns, never done. */
void real_curl_resume(struct real_transfer *t);

/* The nearest status of io.h for how a transfer ended; call in done. IO_OK for CURLE_OK, whatever the HTTP
 * status. */
int real_curl_status(const struct real_transfer *t, CURLcode result);

void real_curl_free(struct real_loop *l); /* At the end of the loop, when all transfers are idle. */

#endif
