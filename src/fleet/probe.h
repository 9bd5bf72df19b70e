/* fleet/probe.h: whether a node that its lease names is there and is itself: GET /peer/probe. fleet.md 10.6.
 *
 * The caller sends a challenge; the process signs it with the key whose public half is in its lease. */
#ifndef FLEET_PROBE_H
#define FLEET_PROBE_H

#include "fleet/key.h"
#include "fleet/peer.h"

#define FLEET_PROBE_ANSWER_MAX 4096u
#define FLEET_CHALLENGE_LEN 64u /* Lowercase hex digits. */

/* What the endpoint tells of its process; borrowed for the server's life. */
struct fleet_probed {
    const struct fleet_key *key;
    const char *node, *advertise;
};
void fleet_probe_serve(struct fleet_peer_server *s, struct fleet_probed *self);

/* Appends the answer to a challenge. */
void fleet_probe_answer(struct cd_buf *out, const struct fleet_probed *self, struct cd_str challenge);
/* Whether body is what the process of that lease answers to the challenge. CD_EINVAL: no, why. */
CD_MUST_USE int fleet_probe_check(struct cd_str body, const struct store_lease *lease,
                                  struct cd_str challenge, struct cd_buf *why);
/* In a fiber: one probe of the node of a lease. IO_OK, or a status and why. */
CD_MUST_USE int fleet_probe(struct fleet_peer_client *c, struct io *io, const struct store_lease *lease,
                            uint64_t deadline_ns, struct cd_buf *why);

#endif
