/* io_real/embedded_ops.h: the operations of embedded_db.c. */
#ifndef IO_REAL_EMBEDDED_OPS_H
#define IO_REAL_EMBEDDED_OPS_H

#include "io_real/embedded_db.h"

int embedded_get(struct embedded_db *d, struct embedded_job *j);
int embedded_head(struct embedded_db *d, struct embedded_job *j);
int embedded_put(struct embedded_db *d, struct embedded_job *j);
int embedded_delete(struct embedded_db *d, struct embedded_job *j);
int embedded_list(struct embedded_db *d, struct embedded_job *j);

#endif
