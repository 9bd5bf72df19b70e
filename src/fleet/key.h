/* fleet/key.h: the key of a process. Its public half is the generation (fleet.md 1.1, 10.6). */
#ifndef FLEET_KEY_H
#define FLEET_KEY_H

#include "io/io.h"
#include "store/names.h"

#define FLEET_SIGNATURE_SIZE 64u

struct fleet_key {
    unsigned char secret[32]; /* Ed25519 seed; never leaves the process. */
    char generation[STORE_GENERATION_LEN + 1]; /* The public key, lowercase hex. */
};
void fleet_key_make(struct fleet_key *k, struct io *io);
void fleet_key_sign(unsigned char out[FLEET_SIGNATURE_SIZE], const struct fleet_key *k, struct cd_str text);
/* public_key: hex, as in a lease. False also when it is none. */
bool fleet_key_verify(struct cd_str public_key, struct cd_str text, struct cd_str signature);

#endif
