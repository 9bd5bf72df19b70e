/* deploy/publish.h: putting a deployment into a bucket (config.md 7, operations.md 6.6). */
#ifndef DEPLOY_PUBLISH_H
#define DEPLOY_PUBLISH_H

#include "deploy/manifest.h"

struct deploy_publish {
    struct io *io;
    struct io_bucket *bucket;
    const struct deploy_app *app; /* Sealed. */
    struct cd_str manifest; /* Of deploy_app_seal. */
    bool named_only; /* Leaves the fleet's pointer alone: for targets of service bindings. */
    bool moved; /* Out: a pointer was written. False: the bucket said all this already. */
};

/* In a fiber. Objects first, pointers last, so that whoever is cut off has changed nothing. Writes nothing
 * that is there already.
 *
 * IO_CONFLICT: another deploy moved a pointer meanwhile; nothing was overwritten. IO_TIMEDOUT: it stayed open
 * whether the last write of a pointer happened. Others: the store's. The reason, for people, is in why. */
CD_MUST_USE int deploy_publish(struct deploy_publish *p, struct cd_buf *why);

#endif
