/* io_real/spare.c: a copy of this process that waits to become a child of it (IO_CHILD_SELF).
 *
 * Loading this program and its libraries takes most of the time in which a node starts. A copy made at the
 * very start, when there is one thread and nothing is open, has that behind it, and whatever else a
 * start begins with, while it waits. It gets its arguments,
 * environment, directory and standard streams over a socket, and then runs main as if it had been started so.
 */
#include "io_real/spare.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io_real/io_real.h"

#define WORDS_MAX 65536u
#define BYTES_MAX (16u << 20)

static struct {
    pid_t pid; /* 0: none. */
    int fd;
} spare;

struct order { /* What goes over the socket first, with the streams beside it. */
    uint32_t args, vars; /* Counts of words. */
    uint64_t bytes; /* Of all words, the directory last; each with its NUL. */
};

/* ---- In the copy ---- */

static bool read_all(int fd, void *to, size_t len)
{
    for (size_t got = 0; got < len;) {
        ssize_t n = read(fd, (char *)to + got, len - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    return true;
}

/* The order and the three streams. False: nobody will come any more. */
static bool order_take(int fd, struct order *o, int stream[3])
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(3 * sizeof(int))];
    } control;
    struct iovec part = {o, sizeof *o};
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t n;
    do {
        n = recvmsg(fd, &m, MSG_WAITALL | MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    const struct cmsghdr *c = n == (ssize_t)sizeof *o ? CMSG_FIRSTHDR(&m) : NULL;
    if (c == NULL || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(3 * sizeof(int)))
        return false;
    memcpy(stream, CMSG_DATA(c), 3 * sizeof(int));
    return o->args > 0 && o->args <= WORDS_MAX && o->vars <= WORDS_MAX && o->bytes <= BYTES_MAX;
}

/* Runs main with the words. Their memory is the process's as long as it lives, as that of argv is. */
CD_NORETURN static void order_run(const struct order *o, char *text,
                                  int (*run)(int argc, char **argv, char **env))
{
    static char **words;
    words = cd_alloc((o->args + o->vars + 2) * sizeof *words);
    char *at = text;
    for (uint32_t i = 0; i < o->args + o->vars; i++, at += strlen(at) + 1)
        words[i < o->args ? i : i + 1] = at;
    if (at[0] != 0 && chdir(at) != 0)
        _exit(127);
    environ = words + o->args + 1;
    exit(run((int)o->args, words, environ));
}

CD_NORETURN static void copy_run(int fd, void (*warm)(void), int (*run)(int argc, char **argv, char **env))
{
    static char *text;
    struct order o;
    int stream[3];
    warm();
    if (!order_take(fd, &o, stream))
        _exit(0);
    text = cd_alloc(o.bytes + 1);
    if (!read_all(fd, text, o.bytes))
        _exit(0);
    (void)close(fd);
    for (int i = 0; i < 3; i++) {
        if (dup2(stream[i], i) < 0)
            _exit(127);
        (void)close(stream[i]); /* Not one of the three: those are taken (io_real_guard_console). */
    }
    order_run(&o, text, run);
}

void io_real_spare(void (*warm)(void), int (*run)(int argc, char **argv, char **env))
{
    int ends[2];
    pid_t parent = getpid();
    CD_ASSERT(spare.pid == 0);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return; /* Children begin by their file. */
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(ends[0]);
        /* It is what a child with IO_CHILD_GROUP and IO_CHILD_TIED is. */
        if (setpgid(0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
            _exit(0);
        copy_run(ends[1], warm, run);
    }
    (void)close(ends[1]);
    if (pid < 0) {
        (void)close(ends[0]);
        return;
    }
    spare.pid = pid;
    spare.fd = ends[0];
}

/* ---- In the parent ---- */

static void words_add(struct cd_buf *text, const char *const *word, uint32_t *count)
{
    for (; word != NULL && *word != NULL; word++, (*count)++)
        cd_buf_add(text, *word, strlen(*word) + 1);
}

static bool send_all(int fd, const char *bytes, size_t len)
{
    for (size_t sent = 0; sent < len;) {
        ssize_t n = send(fd, bytes + sent, len - sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        sent += (size_t)n;
    }
    return true;
}

static bool order_send(int fd, const struct order *o, const int stream[3], const struct cd_buf *text)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(3 * sizeof(int))];
    } control = {0};
    struct iovec part = {(void *)(uintptr_t)o, sizeof *o};
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(3 * sizeof(int));
    memcpy(CMSG_DATA(c), stream, 3 * sizeof(int));
    return sendmsg(fd, &m, MSG_NOSIGNAL) == (ssize_t)sizeof *o && send_all(fd, text->ptr, text->len);
}

pid_t real_spare_take(const char *const argv[], const char *const env[], const char *cwd, const int stream[3])
{
    struct order o = {0};
    struct cd_buf text = {0};
    pid_t pid = spare.pid;
    if (pid == 0)
        return 0;
    spare.pid = 0;
    words_add(&text, argv, &o.args);
    words_add(&text, env, &o.vars);
    cd_buf_add(&text, cwd == NULL ? "" : cwd, cwd == NULL ? 1 : strlen(cwd) + 1);
    o.bytes = text.len;
    bool sent = o.args <= WORDS_MAX && o.vars <= WORDS_MAX && o.bytes <= BYTES_MAX &&
                order_send(spare.fd, &o, stream, &text);
    (void)close(spare.fd);
    cd_buf_deinit(&text);
    if (sent)
        return pid;
    (void)kill(pid, SIGKILL); /* Whatever is wrong with it: the child begins by its file. */
    (void)waitpid(pid, NULL, 0);
    return 0;
}

void real_spare_drop(void)
{
    if (spare.pid == 0)
        return;
    (void)close(spare.fd);
    (void)kill(spare.pid, SIGKILL); /* It may be busy, and has nothing to lose. */
    (void)waitpid(spare.pid, NULL, 0);
    spare.pid = 0;
}
