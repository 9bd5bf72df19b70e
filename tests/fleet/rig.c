#include "rig.h"

#include "base/rng.h"

const char *rig_generation(char digit)
{
    static char text[16][STORE_GENERATION_LEN + 1];
    unsigned i = digit <= '9' ? (unsigned)(digit - '0') : (unsigned)(digit - 'a') + 10;
    memset(text[i], digit, STORE_GENERATION_LEN);
    return text[i];
}

static void held(void *arg)
{
    ((struct rig_leased *)arg)->held++;
}

static void fenced(void *arg, const char *cause)
{
    struct rig_leased *r = arg;
    r->fenced++;
    (void)snprintf(r->cause, sizeof r->cause, "%s", cause);
    CHECK(!fleet_authoritative(r->authority, io_now_ns(sim_io(r->node, 0))));
}

static int recover(void *arg, struct cd_str session)
{
    struct rig_leased *r = arg;
    r->recovered++;
    (void)snprintf(r->predecessor, sizeof r->predecessor, "%.*s", (int)session.len, session.ptr);
    return r->recover == NULL ? CD_EUNSUPPORTED : r->recover(r, session);
}

static uint64_t slot(void *arg)
{
    return ((struct rig_leased *)arg)->slot;
}

static void boot(struct io *io, void *arg)
{
    struct rig_leased *r = arg;
    if (r->lease != NULL) { /* Of an earlier life; stopped by now. */
        fleet_lease_free(r->lease);
        cd_free(r->authority);
        r->digit++;
    }
    r->authority = cd_new(struct fleet_authority);
    struct fleet_lease_opts o = {
        .io = io,
        .bucket = sim_bucket(io, ""),
        .authority = r->authority,
        .node = cd_str(r->id),
        .generation = cd_str(rig_generation(r->digit)),
        .ttl_ms = RIG_TTL_MS,
        .configured_id = r->configured,
        .recover = recover,
        .slot = slot,
        .held = held,
        .fence = fenced,
        .arg = r,
    };
    r->lease = fleet_lease_new(&o);
    fleet_lease_start(r->lease);
}

static void unwind(struct io *io, void *arg)
{
    (void)io;
    struct rig_leased *r = arg;
    if (r->lease != NULL)
        fleet_lease_stop(r->lease, &r->stop, NULL);
}

void rig_leased(struct rig_leased *r, struct sim *sim, const char *host, const char *id, char digit)
{
    r->sim = sim;
    r->id = id;
    r->digit = digit;
    r->node = sim_node(sim, &(struct sim_node_opts){.name = host, .program = {boot, unwind, r, NULL}});
}

void rig_leased_free(struct rig_leased *r)
{
    fleet_lease_free(r->lease);
    cd_free(r->authority);
}

bool rig_authoritative(struct rig_leased *r)
{
    struct io *io = sim_io(r->node, 0);
    return io != NULL && r->authority != NULL && fleet_authoritative(r->authority, io_now_ns(io));
}

bool rig_lease(struct sim *sim, const char *id, struct store_lease *out)
{
    struct cd_buf key = {0};
    store_key_lease(&key, cd_str(id));
    struct sim_object o;
    bool there = sim_store_get_truth(sim, cd_buf_str(&key), &o);
    cd_buf_deinit(&key);
    if (there)
        assert_int_equal(store_lease_read(out, cd_str(id), o.body, NULL), 0);
    return there;
}

bool rig_holds(void *arg)
{
    struct rig_leased *r = arg;
    return r->lease != NULL && fleet_lease_held(r->lease);
}

bool rig_fenced(void *arg)
{
    return ((struct rig_leased *)arg)->fenced != 0;
}
