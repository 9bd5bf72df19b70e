#include "fleet/inventory.h"

#include "store/retry.h"

static int read_record(struct io *io, struct io_bucket *bucket, const struct cd_buf *key, struct cd_buf *body)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct io_store s = {0};
    int rc = store_retry_get(&s, io, bucket, cd_buf_str(key), 0, IO_WHOLE, &p);
    *body = cd_buf_move(&s.body);
    return rc;
}

int fleet_inventory_read(struct io *io, struct io_bucket *bucket, const struct fleet_self *self,
                         struct cd_str scope, uint64_t *epoch)
{
    struct cd_buf key = {0}, body = {0};
    struct store_owner o = {0};
    struct cd_str node;
    store_key_owner(&key, scope);
    *epoch = 0;
    int rc = read_record(io, bucket, &key, &body);
    if (rc == IO_OK)
        rc = store_owner_read(&o, cd_buf_str(&body), NULL);
    if (rc == IO_OK && o.session[0] != 0 && store_session_split(cd_str(o.session), &node, NULL) &&
        cd_str_eq(node, cd_str(self->node)))
        *epoch = o.epoch;
    cd_buf_deinit(&key);
    cd_buf_deinit(&body);
    return rc == IO_NOENT ? IO_OK : rc;
}

int fleet_inventory_confirm(struct io *io, struct io_bucket *bucket, const struct fleet_self *self)
{
    struct cd_buf key = {0}, body = {0};
    struct store_lease *l = cd_new(struct store_lease);
    store_key_lease(&key, cd_str(self->node));
    int rc = read_record(io, bucket, &key, &body);
    if (rc == IO_OK)
        rc = store_lease_read(l, cd_str(self->node), cd_buf_str(&body), NULL);
    if (rc == IO_NOENT || (rc == IO_OK && strcmp(l->generation, self->generation) != 0))
        rc = CD_EFENCED;
    cd_free(l);
    cd_buf_deinit(&key);
    cd_buf_deinit(&body);
    return rc;
}
