/* io_sim/fs.h: what is on a simulated disk: inodes with a page cache over what is durable, and names.
 *
 * Every inode has two page tables: what the programs see (now) and what a power loss leaves at least
 * (durable). They share pages until a write makes them differ. Unsynced writes stand in a log, in order,
 * until a sync makes them durable or a crash draws the fate of each. Directories have two maps in the same
 * way, and the disk one list of unsynced name changes. */
#ifndef IO_SIM_FS_H
#define IO_SIM_FS_H

#include "io_sim/kernel.h"

#define SIM_PAGE_BYTES 4096u
#define SIM_SECTOR_BYTES 512u

struct sim_page {
    uint32_t refs;
    char bytes[SIM_PAGE_BYTES];
};

struct sim_pages { /* NULL: zeros. */
    struct sim_page **page; /* owned */
    size_t count;
    uint64_t size; /* Bytes. */
};

struct sim_change { /* An unsynced write or truncation. */
    struct cd_link link;
    uint64_t ordinal;
    bool truncate;
    uint64_t at, len; /* Of a truncation: the new and the old size. */
    char bytes[];
};

struct sim_inode {
    struct sim_fs *fs;
    struct cd_link link; /* Of sim_fs.inodes. */
    uint64_t key; /* For draws: hash of (node, path at creation, how often that path was created). */
    unsigned refs; /* Names, name changes, open files. */
    bool dir, locked;
    int64_t modified_ms;
    /* Files. */
    struct sim_pages now, durable;
    struct cd_list log; /* sim_change.link */
    uint64_t log_bytes, changes, reads, syncs;
    bool diverged; /* A sync failed: now differs from durable beyond the log. */
    /* Directories: name -> struct sim_inode *, each counted in refs. */
    struct cd_map names, durable_names;
};

enum sim_name_kind { SIM_NAME_CREATE, SIM_NAME_REMOVE, SIM_NAME_RENAME };

struct sim_name_change {
    struct cd_link link; /* Of sim_fs.name_log. */
    enum sim_name_kind kind;
    struct sim_inode *dir, *inode, *to_dir; /* Counted in refs. */
    char *name, *to_name; /* owned */
    uint64_t key;
};

struct sim_flip {
    struct cd_link link; /* Of sim_fs.flips. */
    uint32_t ppm;
    char *prefix; /* owned */
};

#define SIM_PATH_COUNTERS 4096u

struct sim_fs {
    struct sim_node *node;
    struct sim_inode *root;
    struct cd_list inodes, name_log, flips;
    struct cd_list watches; /* Of watch.c. */
    uint64_t used; /* Bytes of pages that programs see. */
    uint64_t crashes, name_changes;
    char *fail_syncs; /* owned: path prefix, or NULL */
    unsigned fail_syncs_left;
    uint32_t created[SIM_PATH_COUNTERS]; /* By hash of the path. */
};

struct sim_handle { /* An open file. */
    struct cd_link link; /* Of sim_loop.files. */
    struct sim_loop *loop;
    struct sim_inode *inode;
    unsigned flags, syncs; /* In flight. */
    char *path; /* owned */
};

/* fs.c */
struct sim_fs *sim_fs(struct sim_node *n); /* Of the node or its parent; made on first use. */
void sim_fs_free(struct sim_fs *fs);
struct sim_inode *sim_inode_new(struct sim_fs *fs, const char *path, bool dir);
void sim_inode_hold(struct sim_inode *i);
void sim_inode_release(struct sim_inode *i);
/* The directory that holds the last name of path, and that name; IO_NOENT. name borrows from path. */
CD_MUST_USE int sim_fs_parent(struct sim_fs *fs, const char *path, bool durable, struct sim_inode **dir,
                              struct cd_str *name);
CD_MUST_USE int sim_fs_find(struct sim_fs *fs, const char *path, bool durable, struct sim_inode **out);
void sim_name_create(struct sim_inode *dir, struct cd_str name, struct sim_inode *i);
void sim_name_remove(struct sim_inode *dir, struct cd_str name);
void sim_name_rename(struct sim_inode *dir, struct cd_str name, struct sim_inode *to_dir,
                     struct cd_str to_name);
void sim_fs_sync_dir(struct sim_inode *dir);
void sim_fs_power_loss(struct sim_fs *fs);

/* watch.c: something in dir has changed that has, or had, this name. */
void sim_watch_tell(struct sim_inode *dir, struct cd_str name, bool is_dir);
void sim_watch_tell_path(struct sim_fs *fs, const char *path); /* A file was written to. */

/* inode.c */
void sim_inode_read(const struct sim_pages *p, void *buf, size_t len, uint64_t at); /* Within size. */
void sim_inode_write(struct sim_inode *i, const void *bytes, size_t len, uint64_t at);
void sim_inode_truncate(struct sim_inode *i, uint64_t size);
void sim_inode_sync(struct sim_inode *i, uint64_t upto); /* Changes up to this ordinal are durable. */
void sim_inode_sync_fails(struct sim_inode *i, uint64_t upto, uint64_t draw);
void sim_inode_power_loss(struct sim_inode *i);
void sim_inode_free_pages(struct sim_inode *i);
/* How many bytes of pages a write would add. */
uint64_t sim_inode_growth(const struct sim_inode *i, size_t len, uint64_t at);
bool sim_inode_flip(struct sim_inode *i, uint64_t at, unsigned bit);

/* Keep, drop or tear; of names (tears false) one of the first two. */
enum sim_fate { SIM_KEEP, SIM_DROP, SIM_TEAR };
enum sim_fate sim_fate(const struct sim_disk *d, uint64_t draw, bool tears);

#endif
