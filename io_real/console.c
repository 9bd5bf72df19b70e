/* io_real/console.c: standard input, output and error of a command. SIGPIPE is ignored (node.c), so a reader
 * that has gone is an error code here. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "io_real/net.h"

static int console_status(int error)
{
    switch (error) {
    case EPIPE: return IO_EOF;
    case ENOSPC:
    case EDQUOT: return IO_NOSPACE;
    case EBADF: return CD_ECLOSED;
    default: return IO_FAULT;
    }
}

int io_console_write(struct io *io, enum io_console to, struct cd_str bytes)
{
    (void)io;
    int fd = to == IO_STDOUT ? STDOUT_FILENO : STDERR_FILENO;
    while (bytes.len > 0) {
        ssize_t n = write(fd, bytes.ptr, bytes.len);
        if (n >= 0) {
            bytes = cd_str_sub(bytes, (size_t)n, SIZE_MAX);
        } else if (errno == EAGAIN) {
            /* Whoever shares the terminal or pipe with us may have made it non-blocking. */
            struct pollfd p = {.fd = fd, .events = POLLOUT};
            (void)poll(&p, 1, -1);
        } else if (errno != EINTR) {
            return console_status(errno);
        }
    }
    return IO_OK;
}

bool io_console_is_tty(struct io *io, enum io_console which)
{
    (void)io;
    return isatty(which == IO_STDOUT ? STDOUT_FILENO : STDERR_FILENO) == 1;
}

int io_console_input(struct io_stream *s, struct io *io)
{
    /* Opened anew, because whoever started us shares the open file and does not expect it to be non-blocking.
     * A socket cannot be opened; it is nobody else's. */
    int fd = open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ENXIO) {
        int flags = fcntl(STDIN_FILENO, F_GETFL);
        fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
        if (fd >= 0 && (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)) {
            (void)close(fd);
            fd = -1;
        }
    }
    if (fd < 0)
        return IO_NOENT;
    (void)signal(SIGTTIN, SIG_IGN); /* A read in the background fails then, in place of stopping us. */
    struct real_stream *in = real_stream_new(real_loop(io), fd, REAL_PIPE_IN); /* Closes it when it fails. */
    if (in == NULL)
        return IO_NOENT;
    real_stream_open(in, s);
    return IO_OK;
}

void io_real_guard_console(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        /* The lowest free number is the one that is missing. Opened the wrong way round: EBADF on use. */
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF)
            CD_MAYBE(open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) == fd);
    }
}
