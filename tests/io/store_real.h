/* tests/io/store_real.h: which store the contract runs against on the real system.
 *
 * Without CELLD_STORE_ENDPOINT the embedded one. With it the S3-compatible store that the variables of
 * tools/stores describe, through their fault proxy when CELLD_FAULT_CONTROL is there. */
#ifndef CONTRACT_STORE_REAL_H
#define CONTRACT_STORE_REAL_H

#include "contract.h"
#include "io_real/bucket.h"

/* Under a prefix of its own, so that it is empty. Stops the program when it cannot be opened. */
struct io_real_store *store_real_open(const char *dir);

#endif
