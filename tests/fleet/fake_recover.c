/* Stands for log/recover.c in the tests of claims: what it answers is in the recoverer. */
#include "fake_recover.h"

int log_recover(struct log_recoverer *rr, struct log_recover *r)
{
    struct fake_recoverer *f = (struct fake_recoverer *)(void *)rr;
    f->calls++;
    r->end = f->end;
    (void)snprintf(r->why, sizeof r->why, "told so");
    int status = f->ns == 0 ? IO_OK : io_sleep(io_current(), f->ns);
    if (status == IO_OK && f->then != NULL)
        f->then(f->arg, r->session);
    return status;
}
