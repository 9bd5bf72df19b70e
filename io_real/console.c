/* io_real/console.c: standard output and error of a command. SIGPIPE is ignored (node.c), so a reader that
 * has gone is an error code here. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "io_real/real.h"

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

void io_real_guard_console(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        /* The lowest free number is the one that is missing. Opened the wrong way round: EBADF on use. */
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF)
            CD_MAYBE(open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) == fd);
    }
}
