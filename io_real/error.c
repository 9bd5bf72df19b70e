/* io_real/error.c: the system's error numbers as statuses of io.h. */
#include <errno.h>

#include "io_real/real.h"

int real_status(int error)
{
    switch (error < 0 ? -error : error) {
    case 0: return IO_OK;
    case ECANCELED: return IO_CANCELED;
    case ETIMEDOUT: return IO_TIMEDOUT;
    case ECONNREFUSED: return IO_REFUSED;
    case ECONNRESET:
    case ECONNABORTED:
    case EPIPE:
    case ENOTCONN:
    case ESHUTDOWN: return IO_RESET;
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EHOSTDOWN:
    case ENETDOWN:
    case EADDRNOTAVAIL: return IO_UNREACHABLE;
    case ENOENT:
    case ENOTDIR: return IO_NOENT;
    case EEXIST: return IO_EXISTS;
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return IO_NOSPACE;
    case EACCES:
    case EPERM:
    case EROFS: return IO_DENIED;
    case EBUSY:
    case ETXTBSY:
    case ENOTEMPTY:
    case EADDRINUSE:
    case EWOULDBLOCK: return IO_BUSY;
    }
    return IO_FAULT;
}

int real_uv_status(int error)
{
    switch (error) {
    case UV_EAI_NONAME:
    case UV_EAI_NODATA:
    case UV_EAI_ADDRFAMILY: return IO_NOENT;
    case UV_EAI_CANCELED: return IO_CANCELED;
    case UV_EAI_AGAIN:
    case UV_EAI_FAIL: return IO_UNREACHABLE; /* No resolver answers. */
    }
    return real_status(error);
}
