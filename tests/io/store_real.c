/* tests/io/store_real.c: see store_real.h. */
#include "store_real.h"

#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct cd_str setting(const char *name)
{
    return cd_str(getenv(name));
}

struct io_real_store *store_real_open(const char *dir)
{
    static atomic_uint runs;
    struct io_real_store *store = NULL;
    struct cd_buf url = {0}, why = {0};
    struct io_real_store_opts o = {.endpoint = setting("CELLD_STORE_ENDPOINT"),
                                   .region = setting("CELLD_STORE_REGION"),
                                   .access_key = setting("CELLD_STORE_ACCESS_KEY"),
                                   .secret_key = setting("CELLD_STORE_SECRET_KEY")};
    if (o.endpoint.len == 0)
        cd_buf_addf(&url, "file://%s", dir);
    else
        cd_buf_addf(&url, "s3://%s/contract/%lld-%d-%u", getenv("CELLD_STORE_BUCKET"), (long long)time(NULL),
                    (int)getpid(), atomic_fetch_add(&runs, 1));
    o.url = cd_buf_str(&url);
    if (io_real_store_open(&store, &o, &why) != 0) {
        (void)fprintf(stderr, "store: %s\n", cd_buf_cstr(&why));
        abort();
    }
    cd_buf_deinit(&url);
    cd_buf_deinit(&why);
    return store;
}

bool contract_store_is_broken(void)
{
    return cd_str_eq(setting("CELLD_STORE_EXPECT"), CD_STR("refused"));
}

bool contract_store_queues(void)
{
    return setting("CELLD_STORE_ENDPOINT").len == 0;
}

/* ---- The fault proxy ---- */

static unsigned control_port(void)
{
    struct cd_str url = setting("CELLD_FAULT_CONTROL");
    uint64_t port = 0;
    size_t colon = url.len;
    if (url.len == 0)
        return 0;
    while (colon > 0 && url.ptr[colon - 1] != ':')
        colon--;
    CHECK_INT(cd_str_u64(cd_str_sub(url, colon, SIZE_MAX), &port), 0);
    return (unsigned)port;
}

/* One request to the control port, in the way of the loop: it answers at once. */
static void control(const char *method, const char *path, const char *body)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)control_port())};
    struct cd_buf b = {0};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    CHECK(connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    cd_buf_addf(&b, "%s %s HTTP/1.1\r\nHost: control\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
                method, path, strlen(body), body);
    CHECK(write(fd, b.ptr, b.len) == (ssize_t)b.len);
    cd_buf_clear(&b);
    ssize_t n;
    while ((n = read(fd, cd_buf_reserve(&b, 4096), 4096)) > 0)
        b.len += (size_t)n;
    CHECK(cd_str_starts(cd_buf_str(&b), CD_STR("HTTP/1.1 200 ")));
    CHECK(close(fd) == 0);
    cd_buf_deinit(&b);
}

static const char *action_of(enum contract_store_fault fault)
{
    switch (fault) {
    case CONTRACT_LOSE_REQUEST: return "\"do\":\"lose-request\"";
    case CONTRACT_LOSE_ANSWER: return "\"do\":\"lose-response\"";
    case CONTRACT_HOLD_REQUEST: return "\"do\":\"delay\",\"ms\":1000";
    case CONTRACT_HOLD_ANSWER: return "\"do\":\"delay-response\",\"ms\":60000";
    case CONTRACT_THROTTLE:
        return "\"do\":\"status\",\"status\":503,\"code\":\"SlowDown\",\"headers\":{\"retry-after\":\"1\"}";
    case CONTRACT_ERROR: return "\"do\":\"status-after\",\"status\":500,\"code\":\"InternalError\"";
    case CONTRACT_CUT_BODY: return "\"do\":\"truncate\",\"bytes\":5";
    case CONTRACT_DOWN: break;
    }
    CD_UNREACHABLE();
}

bool contract_store_fault(struct contract *c, enum contract_store_fault fault, const char *method,
                          unsigned times)
{
    struct cd_buf rule = {0};
    bool is_list = strcmp(method, "LIST") == 0;
    (void)c;
    if (control_port() == 0)
        return false;
    if (fault == CONTRACT_DOWN) {
        control("POST", "/down", "");
        return true;
    }
    cd_buf_addf(&rule, "[{\"method\":\"%s\",\"path\":\"%s\",\"times\":%u,%s}]", is_list ? "GET" : method,
                is_list ? "list-type=2" : "^[^?]*$", times, action_of(fault));
    control("PUT", "/rules", cd_buf_cstr(&rule));
    cd_buf_deinit(&rule);
    return true;
}

void contract_store_heal(struct contract *c)
{
    (void)c;
    if (control_port() == 0)
        return;
    control("DELETE", "/rules", "");
    control("POST", "/up", "");
}
