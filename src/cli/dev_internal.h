/* cli/dev_internal.h: the parts of `celld dev` (operations.md 4).
 *
 * One loop. The main flow waits for something to do: a change of files, a signal, the end of the node it
 * runs. What takes long and may have to be cut off (a build) runs in a fiber of its own, a task; each node
 * has one too, its life. Whoever has news calls cli_dev_wake. */
#ifndef CLI_DEV_INTERNAL_H
#define CLI_DEV_INTERNAL_H

#include "cli/dev.h"
#include "deploy/fingerprint.h"
#include "deploy/project.h"

#define CLI_DEV_PROJECTS_MAX DEPLOY_PUBLISHED_MAX
#define CLI_DEV_TTL_MS                                                                                       \
    4000u /* Of the leases of a local fleet, unless CELLD_TTL_MS is set: a failover is seen soon. */

struct cli_dev;

/* ---- dev_view.c: what people see, on standard output (operations.md 4.6) ---- */

struct cli_dev_view {
    struct io *io;
    bool color;
};
void cli_dev_label(const struct cli_dev_view *v, const char *label, const char *format, ...) CD_PRINTF(3, 4);
void cli_dev_title(const struct cli_dev_view *v);
void cli_dev_step(const struct cli_dev_view *v, const char *format, ...) CD_PRINTF(2, 3);
/* host as given, for an unspecified one a name that works and the address it is bound to. node: which one of
 * several, from 1 on; 0: there is one only. */
void cli_dev_ready(const struct cli_dev_view *v, struct cd_str host, unsigned port, unsigned node);
/* A failure that ends nothing; further lines of text come below it. */
void cli_dev_error(const struct cli_dev_view *v, const char *what, struct cd_str text);
void cli_dev_warning(const struct cli_dev_view *v,
                     struct cd_str lines); /* Lines as they are; none: nothing. */

/* dev_lines.c: appends a line of the node's log, which is JSON, as people see it. False: it is for --logs,
 * which logs says. */
bool cli_dev_line(const struct cli_dev_view *v, bool logs, struct cd_str line, struct cd_buf *out);

/* ---- dev_node.c: a node: a child process that serves (operations.md 4.2, 4.3, 4.5) ---- */

enum cli_dev_phase {
    CLI_DEV_DOWN, /* There is no process, or its end is being seen to. */
    CLI_DEV_STARTING,
    CLI_DEV_SERVING,
    CLI_DEV_FROZEN, /* Stopped with SIGSTOP. */
    CLI_DEV_LEAVING, /* It was asked to end. */
    CLI_DEV_KILLED,
};

struct cli_dev_node {
    struct cli_dev *d;
    unsigned number; /* From 1 on. */
    uint16_t port;
    enum cli_dev_phase phase;
    struct io_child child;
    bool running; /* Started, and its end was not told yet. */
    bool reading; /* Its output was not read to the end yet. */
    int status; /* Of its end: IO_OK, or why it could not start. */
    struct io_read read;
    struct cd_buf line; /* What has come of a line. */
    bool announced; /* The internal address is known: it serves. */
    struct io_addr internal;
    /* Of dev_fleet.c: */
    bool alive; /* Its fiber runs. */
    bool served; /* Once at least. */
    bool restart; /* A new process is wanted in place of this one. */
    bool stale; /* What was published since may be newer than what it serves. */
    uint64_t again_ns; /* While it is down: when it starts again. IO_FOREVER: when somebody says so. */
    struct cd_buf failure; /* Why its life ended by itself. */
};
/* A process begins; news come by cli_dev_wake. */
CD_MUST_USE int cli_dev_node_start(struct cli_dev_node *n, struct cd_buf *why);
/* In a fiber: until it serves, or why it does not; then it does not run any more. IO_CANCELED: a signal came
 * first. */
CD_MUST_USE int cli_dev_node_wait(struct cli_dev_node *n, struct cd_buf *why);
bool cli_dev_node_gone(const struct cli_dev_node *n); /* Nothing of the process is left. */
void cli_dev_node_end(const struct cli_dev_node *n, struct cd_buf *out); /* How it ended, for people. */
/* In a fiber: asks it to go, waits, kills it. Returns when nothing of it is left. */
void cli_dev_node_stop(struct cli_dev_node *n);
void cli_dev_node_kill(struct cli_dev_node *n, int signal); /* No effect when there is no process. */
enum cli_dev_reload {
    CLI_DEV_ADOPTED,
    CLI_DEV_REFUSED, /* It serves what it served before; why says what is wrong with the new. */
    CLI_DEV_RESTART, /* It cannot say: a new one may. */
};
enum cli_dev_reload cli_dev_node_reload(struct cli_dev_node *n, struct cd_buf *why);

/* ---- dev_fleet.c: the lives of the nodes, and what is done to them ---- */

/* Each node runs from now on, in a fiber of its own. The only one ends with its process; one of a fleet is
 * started again after twice its lease's time, once it has served. */
void cli_dev_fleet_start(struct cli_dev *d);
/* In the main flow: until all have served, or one never will, why. IO_CANCELED: a signal came first. */
CD_MUST_USE int cli_dev_fleet_wait(struct cli_dev *d, struct cd_buf *why);
/* In the main flow: the nodes that serve adopt what was published; those that do not, later. A fault of the
 * application is told. */
void cli_dev_fleet_reload(struct cli_dev *d);
bool cli_dev_fleet_stale(const struct cli_dev *d); /* Whether there is one that could adopt now. */
bool cli_dev_fleet_over(const struct cli_dev *d); /* No node lives any more. */
void cli_dev_fleet_kill(struct cli_dev *d); /* All, at once. */
void cli_dev_fleet_stop(struct cli_dev *d); /* In the main flow: when it returns, nothing of any is left. */

/* ---- dev_keys.c: what people type: a line says what is done to which node ---- */

enum cli_dev_deed {
    CLI_DEV_KILL,
    CLI_DEV_FREEZE,
    CLI_DEV_THAW,
    CLI_DEV_DRAIN,
    CLI_DEV_START,
    CLI_DEV_LIST,
    CLI_DEV_HELP,
    CLI_DEV_DEEDS
};
struct cli_dev_key {
    enum cli_dev_deed deed;
    unsigned node; /* From 1 on; 0: of none. */
};
/* "kill 2", "k2"; why says what is wrong with a line. Nodes: how many there are. */
CD_MUST_USE int cli_dev_key_parse(struct cd_str line, unsigned nodes, struct cli_dev_key *out,
                                  struct cd_buf *why);
void cli_dev_key_help(struct cd_buf *out); /* One line. */
/* Does it, or says why not. dev_fleet.c */
void cli_dev_key_do(struct cli_dev *d, const struct cli_dev_key *key);
void cli_dev_keys_start(struct cli_dev *d); /* Standard input is read from now on, if somebody can type. */
void cli_dev_keys_stop(struct cli_dev *d); /* In the main flow. */

/* ---- dev_watch.c: changes of files (operations.md 4.5) ---- */

struct cli_dev_dir {
    char *path; /* owned */
    size_t root_len; /* Of the project it belongs to, with the slash. */
};
struct cli_dev_watch {
    struct io_watch watch;
    struct cd_map dirs; /* By number, struct cli_dev_dir */
    struct io_fiber *fiber;
    bool changed; /* Something did, and it has been quiet since. The main flow clears it. */
    bool full; /* The machine watches no more directories; it was told. */
};
CD_MUST_USE int cli_dev_watch_start(struct cli_dev *d, struct cd_buf *why);
void cli_dev_watch_stop(struct cli_dev *d); /* In the main flow. */
/* Whether a name is one of the directories that are never watched. */
bool cli_dev_ignores(struct cd_str name);

/* ---- dev_build.c: from the projects to what the node loads ---- */

struct cli_dev_project {
    struct cd_buf path; /* Absolute: a directory or a file. */
    struct cd_str shown; /* As the user wrote it. */
    struct deploy_project project;
    bool loaded;
    struct cd_buf warned; /* owned; what was shown last: the same again says nothing new. */
};
/* Reads the project file and .dev.vars. In why are all errors, lines; warnings are shown. */
CD_MUST_USE int cli_dev_project_load(struct cli_dev *d, struct cli_dev_project *p, struct cd_buf *why);
/* Loads all; none may have the name of another. */
CD_MUST_USE int cli_dev_projects_load(struct cli_dev *d, struct cd_buf *why);
/* In a task: builds all, publishes them, records what it was made of. d->moved: a pointer has moved. */
CD_MUST_USE int cli_dev_build(struct cli_dev *d, struct cd_buf *why);
/* Whether the last build is what a build would give now; reads the record. */
bool cli_dev_is_built(struct cli_dev *d);
/* In a task: whether that is so by digest, and the store holds it. Else CD_ENOTFOUND. */
CD_MUST_USE int cli_dev_verify(struct cli_dev *d, struct cd_buf *why);

/* ---- dev.c ---- */

struct cli_dev_task {
    int (*run)(struct cli_dev *d, struct cd_buf *why);
    struct io_fiber *fiber;
    bool running;
    int rc;
    struct cd_buf why;
};

struct cli_dev {
    struct cli *c;
    struct io *io; /* Of the loop that runs. */
    struct cli_dev_view view;
    struct cli_dev_project project[CLI_DEV_PROJECTS_MAX]; /* The first is the application. */
    unsigned projects;
    struct cd_buf state; /* .celld/dev of the first project. */
    struct io_file lock;
    struct cd_str host;
    uint16_t port;
    bool logs, watched;
    struct io_signal news;
    unsigned signals; /* That came. */
    bool stopping; /* One of them did. */
    bool closing; /* The nodes are told to end. */
    struct cli_dev_task task;
    struct cli_dev_node node[CLI_DEV_NODES_MAX];
    unsigned nodes;
    bool fleet; /* --nodes: they share their store with each other, and are started again. */
    uint64_t ttl_ms; /* Of their leases. */
    struct io_fiber *keys; /* NULL: nobody reads what is typed. */
    struct cli_dev_watch watch;
    struct deploy_fingerprint built; /* Of the last build. */
    bool moved;
    int rc;
    struct cd_buf failure; /* What ended it: a line, and what belongs to it behind it. */
};

void cli_dev_wake(struct cli_dev *d);
/* In a fiber: until holds(arg) or the time. False: the time came first. */
bool cli_dev_wait(struct cli_dev *d, bool (*holds)(const void *arg), const void *arg, uint64_t deadline_ns);
/* In the main flow: runs the task and waits for its end; cut off (IO_CANCELED) when a signal comes. */
CD_MUST_USE int cli_dev_task_run(struct cli_dev *d, const char *name,
                                 int (*run)(struct cli_dev *d, struct cd_buf *why), struct cd_buf *why);

#endif
