/* Random histories of a cell: epochs, folds, compactions, joins, images, and objects that losers put late.
 * From whatever lies in the bucket a restore must make exactly the state at the position that it says. */
#include "ltx/keep.h"

#include "rig.h"

#define PAGES 12u
#define TXIDS 64u
#define OBJECTS 256u

struct state { /* Of the database after a txid: the seed of each page. */
    uint32_t commit;
    unsigned seed[PAGES];
};

struct history {
    struct ltx_zstd *z;
    struct cd_rng rng;
    struct state at[TXIDS + 1]; /* Of the history that counts. */
    struct ltx_object object[OBJECTS];
    struct cd_buf bytes[OBJECTS];
    size_t count;
    struct cd_buf row[TXIDS + 1]; /* Of the epoch that writes now. */
    uint64_t epoch, base_epoch, base_txid, txid, folded;
    unsigned joins, images, compactions;
};

static unsigned below(struct history *h, unsigned n)
{
    return (unsigned)cd_rng_below(&h->rng, n);
}

/* The same name again is the same object again: a later PUT replaces an earlier one. */
static void put(struct history *h, unsigned level, struct cd_buf bytes)
{
    struct ltx_header head;
    assert_int_equal(ltx_header_read(cd_buf_str(&bytes), NULL, &head, NULL), 0);
    struct ltx_object o = {head.epoch, level, head.min_txid, head.max_txid, bytes.len, (int64_t)h->count};
    for (size_t i = 0; i < h->count; i++) {
        if (h->object[i].epoch == o.epoch && h->object[i].level == level &&
            h->object[i].min_txid == o.min_txid && h->object[i].max_txid == o.max_txid) {
            cd_buf_deinit(&h->bytes[i]);
            h->bytes[i] = bytes;
            return;
        }
    }
    assert_true(h->count < OBJECTS);
    h->object[h->count] = o;
    h->bytes[h->count++] = bytes;
}

static struct cd_buf merge(const struct cd_buf *bytes, const size_t *which, size_t count,
                           const struct ltx_merge_opts *o)
{
    struct ltx_file *f = cd_alloc(count * sizeof *f);
    struct cd_buf out = {0}, why = {0};
    for (size_t i = 0; i < count; i++)
        assert_int_equal(ltx_file_open(&f[i], cd_buf_str(&bytes[which[i]]), NULL, NULL), 0);
    if (ltx_merge(&out, f, count, o, &why) != 0)
        fail_msg("%s", cd_buf_cstr(&why));
    cd_free(f);
    return out;
}

/* One transaction on top of state s, as a row of the epoch. */
static struct cd_buf transaction(struct history *h, uint64_t txid, struct state *s)
{
    struct ltx_builder b = {0};
    char page[RIG_PAGE];
    uint32_t old = s->commit;
    s->commit = 1 + below(h, PAGES);
    for (uint32_t i = s->commit; i < PAGES; i++)
        s->seed[i] = 0;
    for (unsigned n = 1 + below(h, 4); n > 0; n--) {
        uint32_t i = below(h, s->commit);
        s->seed[i] = 1 + below(h, 100000);
        rig_page(page, i + 1, s->seed[i]);
        ltx_builder_page(&b, h->z, i + 1, page, RIG_PAGE);
    }
    struct ltx_header head = {.page_size = RIG_PAGE,
                              .commit = s->commit,
                              .min_txid = txid,
                              .max_txid = txid,
                              .epoch = h->epoch,
                              .scope_hash = ltx_scope_hash(RIG_SCOPE)};
    if (txid == 1) {
        head.flags = LTX_SNAPSHOT | LTX_DBSUM;
    } else if (txid == h->base_txid + 1) {
        head.flags = LTX_MARKER;
        head.base_epoch = h->base_epoch;
        head.base_txid = h->base_txid;
    }
    struct cd_buf out = {0};
    ltx_builder_finish(&b, h->z, &head, old, &out);
    return out;
}

/* Rows from..to of this epoch as one L0 object. */
static void fold(struct history *h, uint64_t from, uint64_t to)
{
    size_t which[TXIDS], n = 0;
    for (uint64_t t = from; t <= to; t++)
        which[n++] = t;
    put(h, LTX_L0, merge(h->row, which, n, NULL));
}

static void fold_rest(struct history *h)
{
    while (h->folded < h->txid) {
        uint64_t to = h->folded + 1 + below(h, (unsigned)(h->txid - h->folded));
        uint64_t from = h->folded + 1; /* A recoverer may repeat what was folded already. */
        if (from > h->base_txid + 1 && below(h, 3) == 0)
            from -= below(h, (unsigned)(from - h->base_txid));
        fold(h, from, to);
        h->folded = to;
    }
}

static void compact(struct history *h)
{
    size_t source[LTX_COMPACT_SOURCES], own[OBJECTS], n = 0;
    struct ltx_object o[OBJECTS];
    for (size_t i = 0; i < h->count; i++) {
        if (h->object[i].epoch == h->epoch) {
            o[n] = h->object[i];
            own[n++] = i;
        }
    }
    size_t picked = ltx_compact_pick(o, n, h->base_txid + 1, source);
    if (picked == 0)
        return;
    struct ltx_merge_opts opts = {.min_txid = ltx_compacted(o, n, h->base_txid + 1) + 1};
    for (size_t i = 0; i < picked; i++)
        source[i] = own[source[i]];
    put(h, LTX_L1, merge(h->bytes, source, picked, &opts));
    h->compactions++;
}

/* Which object of the bucket o is. */
static size_t find(struct history *h, const struct ltx_object *o)
{
    for (size_t i = 0; i < h->count; i++) {
        if (memcmp(&h->object[i], o, sizeof *o) == 0)
            return i;
    }
    fail_msg("not in the bucket");
    return 0;
}

static void walk(struct history *h, struct ltx_chain *c)
{
    uint64_t epochs[TXIDS];
    size_t n = 0;
    for (uint64_t e = 1; e <= h->epoch; e++)
        epochs[n++] = e; /* Some without objects: as prefixes of foreign names would be. */
    enum ltx_chain_step step = ltx_chain_start(c, epochs, n, UINT64_MAX, UINT64_MAX);
    while (step == LTX_CHAIN_LIST || step == LTX_CHAIN_HEAD) {
        if (step == LTX_CHAIN_LIST) {
            struct ltx_object o[OBJECTS];
            n = 0;
            for (size_t i = 0; i < h->count; i++) {
                if (h->object[i].epoch == c->epoch)
                    o[n++] = h->object[i];
            }
            step = ltx_chain_listed(c, o, n);
        } else {
            struct ltx_header head;
            assert_int_equal(ltx_header_read(cd_buf_str(&h->bytes[find(h, &c->first)]), NULL, &head, NULL),
                             0);
            step = ltx_chain_head(c, &head);
        }
    }
    if (step != LTX_CHAIN_DONE)
        fail_msg("%s: %s", ltx_fault_name(c->fault), cd_buf_cstr(&c->why));
}

static void join(struct history *h)
{
    struct ltx_chain c = {0};
    struct ltx_merge_opts o;
    walk(h, &c);
    if (c.reach_epoch == h->epoch && c.reach_txid == h->txid && ltx_join_opts(&c, h->epoch, &o)) {
        size_t which[OBJECTS];
        for (size_t i = 1; i < c.count; i++)
            which[i - 1] = find(h, &c.object[i]);
        put(h, LTX_L1, merge(h->bytes, which, c.count - 1, &o));
        h->joins++;
    }
    ltx_chain_deinit(&c);
}

static void image(struct history *h)
{
    struct ltx_image w;
    struct cd_buf out = {0};
    const struct state *s = &h->at[h->txid];
    struct ltx_header head = {.page_size = RIG_PAGE,
                              .commit = s->commit,
                              .max_txid = h->txid,
                              .epoch = h->epoch,
                              .scope_hash = ltx_scope_hash(RIG_SCOPE)};
    char page[RIG_PAGE];
    ltx_image_start(&w, &head, &out);
    for (uint32_t pgno; (pgno = ltx_image_wants(&w)) != 0;) {
        rig_page(page, pgno, s->seed[pgno - 1]);
        ltx_image_page(&w, h->z, page, &out);
    }
    ltx_image_finish(&w, &out);
    ltx_image_deinit(&w);
    put(h, LTX_L9, out);
    h->images++;
}

/* All objects of the chain applied: the state at its position. */
static void check(struct history *h)
{
    struct ltx_chain c = {0};
    walk(h, &c);
    assert_int_equal(c.reach_txid, h->txid);
    struct state s = {0};
    char got[PAGES][RIG_PAGE], want[RIG_PAGE];
    memset(got, 0x55, sizeof got);
    for (size_t i = 0; i < c.count; i++) {
        struct ltx_file f;
        size_t k = find(h, &c.object[i]);
        struct ltx_name name = {RIG_SCOPE, c.object[i].epoch, c.object[i].level, c.object[i].min_txid,
                                c.object[i].max_txid};
        assert_int_equal(ltx_file_open(&f, cd_buf_str(&h->bytes[k]), &name, NULL), 0);
        assert_int_equal(ltx_file_verify(h->z, &f, NULL), 0);
        s.commit = f.h.commit;
        for (uint32_t p = 0; p < f.h.page_count; p++)
            assert_int_equal(ltx_file_page(h->z, &f, p, got[ltx_file_entry(&f, p).pgno - 1], NULL), 0);
    }
    assert_int_equal(s.commit, h->at[h->txid].commit);
    for (uint32_t i = 0; i < s.commit; i++) {
        rig_page(want, i + 1, h->at[h->txid].seed[i]);
        assert_memory_equal(got[i], want, RIG_PAGE);
    }
    ltx_chain_deinit(&c);
}

/* The owner is gone; rows of it that nobody acknowledged may land at any later time, all beyond the cut. */
static void loser(struct history *h)
{
    struct state s = h->at[h->txid];
    uint64_t from = h->base_txid + 1 + below(h, (unsigned)(h->txid - h->base_txid)), to = h->txid;
    for (unsigned n = 1 + below(h, 2); n > 0 && to < TXIDS; n--) {
        cd_buf_deinit(&h->row[++to]);
        h->row[to] = transaction(h, to, &s);
    }
    if (to > h->txid)
        fold(h, from, to);
}

static void next_epoch(struct history *h)
{
    uint64_t cut = h->txid, wrote = h->epoch;
    bool late = below(h, 2) == 0 && h->txid > h->base_txid && cut + 2 < TXIDS;
    struct history was = *h;
    h->epoch += 1 + below(h, 2); /* An activation that only reads leaves no trace. */
    h->base_epoch = wrote;
    h->base_txid = cut;
    h->at[h->txid + 1] = h->at[h->txid];
    struct cd_buf first = transaction(h, h->txid + 1, &h->at[h->txid + 1]);
    if (late) { /* The successor has a row by then: what comes now is never restored. */
        uint64_t epoch = h->epoch;
        h->epoch = was.epoch;
        h->base_epoch = was.base_epoch;
        h->base_txid = was.base_txid;
        loser(h);
        h->epoch = epoch;
        h->base_epoch = wrote;
        h->base_txid = cut;
    }
    h->txid++;
    cd_buf_deinit(&h->row[h->txid]);
    h->row[h->txid] = first;
    fold(h, h->txid, h->txid);
    h->folded = h->txid;
}

static void run(uint64_t seed, unsigned *joins, unsigned *images, unsigned *compactions)
{
    struct history *h = cd_new(struct history);
    h->z = ltx_zstd_new();
    cd_rng_seed(&h->rng, seed, CD_STR("history"));
    h->epoch = 1;
    while (h->txid < TXIDS - 4) {
        unsigned what = below(h, 12);
        if (what < 6 || h->txid == h->base_txid) {
            h->at[h->txid + 1] = h->at[h->txid];
            cd_buf_deinit(&h->row[h->txid + 1]);
            h->row[h->txid + 1] = transaction(h, h->txid + 1, &h->at[h->txid + 1]);
            h->txid++;
            continue;
        }
        fold_rest(h);
        check(h);
        if (what == 6)
            compact(h);
        else if (what == 7)
            join(h);
        else if (what == 8 && below(h, 3) == 0)
            image(h);
        else if (what == 9)
            next_epoch(h);
        check(h);
    }
    *joins += h->joins;
    *images += h->images;
    *compactions += h->compactions;
    for (size_t i = 0; i < h->count; i++)
        cd_buf_deinit(&h->bytes[i]);
    for (unsigned i = 0; i <= TXIDS; i++)
        cd_buf_deinit(&h->row[i]);
    ltx_zstd_free(h->z);
    cd_free(h);
}

static void test_a_restore_makes_the_state_at_its_position(void **state)
{
    (void)state;
    unsigned joins = 0, images = 0, compactions = 0;
    const char *only = getenv("LTX_SEED");
    uint64_t first = 1, count = 60;
    if (only != NULL) {
        assert_int_equal(cd_str_u64(cd_str(only), &first), 0);
        count = 1;
    }
    for (uint64_t seed = first; seed < first + count; seed++) {
        (void)printf("LTX_SEED=%llu\r", (unsigned long long)seed);
        run(seed, &joins, &images, &compactions);
    }
    assert_true(only != NULL || (joins > 20 && images > 10 && compactions > 20));
}

CD_TESTS(history, cmocka_unit_test(test_a_restore_makes_the_state_at_its_position))
