/* ltx/plan.h: which objects make a database (fleet.md 5.10, 5.11), decided from listings and headers. Pure.
 *
 * A chain leads from the newest epoch with objects, across the markers that name what an epoch continues,
 * down to a whole image. A gap, a foreign order or a marker into nothing is an error with its kind; no other
 * epoch is ever tried instead. */
#ifndef LTX_PLAN_H
#define LTX_PLAN_H

#include "ltx/ltx.h"

/* One object of a listing. */
struct ltx_object {
    uint64_t epoch;
    unsigned level;
    uint64_t min_txid, max_txid;
    uint64_t size; /* Bytes, as listed. */
    int64_t modified_ms;
};

enum ltx_fault {
    LTX_FAULT_NONE,
    LTX_FAULT_NO_DATA, /* No epoch has an object. */
    LTX_FAULT_GAP, /* Transactions are missing between objects. */
    LTX_FAULT_CORRUPT, /* What is there cannot be a chain. */
    LTX_FAULT_NOT_AVAILABLE, /* An epoch does not reach the position that its successor continues. */
};
const char *ltx_fault_name(enum ltx_fault fault); /* "gap", ... */

/* Of the objects of one epoch those that a restore reads, in the order of their application, as indices into
 * object: at most count of them into plan. Those that end above limit (UINT64_MAX: none) are left out as a
 * whole. *reach is the last txid, 0 when nothing is left. */
enum ltx_fault ltx_plan_epoch(const struct ltx_object *object, size_t count, uint64_t limit, size_t *plan,
                              size_t *planned, uint64_t *reach);

/* covered(cell, E): how far the objects of one epoch chain without a gap from its first row on. first_txid is
 * that row's, base txid + 1; 0: where the objects begin. 0: not at all. */
uint64_t ltx_coverage(const struct ltx_object *object, size_t count, uint64_t first_txid);

/* ---- Compaction of one epoch (fleet.md 5.7) ---- */

#define LTX_COMPACT_SOURCES 256u
#define LTX_COMPACT_BYTES (64u << 20) /* Of all sources together, in memory. */

/* How far L1 objects and images reach, and behind them L0 objects that are too large to be merged with
 * others: those stay as they are, copying them would make no chain shorter. first_txid - 1: not at all. */
uint64_t ltx_compacted(const struct ltx_object *object, size_t count, uint64_t first_txid);
/* The L0 objects that the next L1 is made of, as indices, oldest first; less than 2: none is worth it. They
 * chain without a gap from ltx_compacted on, and stay within the two bounds. The result is that of ltx_merge
 * with min_txid = ltx_compacted + 1. */
size_t ltx_compact_pick(const struct ltx_object *object, size_t count, uint64_t first_txid,
                        size_t source[LTX_COMPACT_SOURCES]);

/* ---- The chain across epochs ---- */

/* It is asked what it wants until it is done; the caller lists and reads. One epoch's listing and one header
 * for each epoch of the chain:
 *
 *     for (step = ltx_chain_start(&c, epochs, n, UINT64_MAX, UINT64_MAX);; )
 *         LTX_CHAIN_LIST: list ltx_key_epoch(c.epoch), then step = ltx_chain_listed(&c, objects, count)
 *         LTX_CHAIN_HEAD: read the first 128 bytes of c.first, then step = ltx_chain_head(&c, &header) */
enum ltx_chain_step { LTX_CHAIN_LIST, LTX_CHAIN_HEAD, LTX_CHAIN_DONE, LTX_CHAIN_FAILED };

struct ltx_chain {
    uint64_t epoch; /* Which one is looked at. */
    struct ltx_object first; /* Of that epoch's plan. */
    uint64_t reach_epoch, reach_txid; /* Done: the position that a restore gives. */
    enum ltx_fault fault;
    struct cd_buf why; /* With a fault: for people. */
    /* Done: all objects, in the order of their application: the image first. */
    struct ltx_object *object; /* owned */
    size_t count;
    unsigned epochs; /* Of the chain. */
    bool image_only; /* One object: its own checksum says whether the whole is right. */

    uint64_t *candidate; /* owned. Epochs not looked at yet, ascending. */
    size_t candidates;
    uint64_t need; /* Where this epoch must end; UINT64_MAX for the newest. */
    uint64_t limit; /* Of the newest epoch with data. */
    size_t head; /* Where this epoch's objects begin in object, which is filled from the back. */
    size_t cap;
};

/* epochs: those that a listing of the cell shows, in any order. Epochs above newest and objects of the newest
 * epoch that end above limit are as if they were not there (UINT64_MAX: all count). c was zeroed. */
enum ltx_chain_step ltx_chain_start(struct ltx_chain *c, const uint64_t *epochs, size_t count,
                                    uint64_t newest, uint64_t limit);
enum ltx_chain_step ltx_chain_listed(struct ltx_chain *c, const struct ltx_object *object, size_t count);
enum ltx_chain_step ltx_chain_head(struct ltx_chain *c, const struct ltx_header *h);
void ltx_chain_deinit(struct ltx_chain *c);

#endif
