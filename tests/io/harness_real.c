/* tests/io/harness_real.c: the contract on the real system. Files are on a small tmpfs of our own where the
 * machine lets us mount one, so that a disk can be full; else they are in the directory for temporary files.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/backend.h"
#include "io_real/io_real.h"
#include "store_real.h"
#include "support.h"

#define TMPFS_OPTIONS "size=16m,mode=0700"
#define HOLE_FULL 8 /* Connections that surely fill a queue of none: Linux keeps one more than asked for. */
#define TMPFS_STORE_OPTIONS "size=128m,mode=0700" /* Large bodies, and the log that they go through. */

struct harness {
    struct contract c; /* First. */
    struct io_real *node;
    void (*flow)(struct contract *c);
    char root[150]; /* c.dir is in it, and the ballast of a full disk. */
    bool mounted;
    bool with_store;
    struct io_real_store *store;
    int log_fd; /* What it is open at changes while the log is stuck. */
    int log_file; /* Where events are. */
    int log_unread; /* The end of a pipe that nobody reads, or -1. */
    int console[3]; /* What is captured of a console, or -1; by descriptor. */
    int console_was[3];
    int keyboard; /* Our end of what is standard input. */
    int hole[1 + HOLE_FULL]; /* The listener that nobody accepts from, and who waits there; 0: none. */
};

/* ---- Log and console ---- */

static void read_all(int fd, struct cd_buf *out)
{
    char bytes[4096];
    ssize_t n;
    for (off_t at = 0; (n = pread(fd, bytes, sizeof bytes, at)) > 0; at += n)
        cd_buf_add_str(out, cd_str_of(bytes, (size_t)n));
    CHECK_INT(n, 0);
}

static int memory_file(void)
{
    int fd = memfd_create("contract", MFD_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}

static void log_open(struct harness *h)
{
    h->log_file = memory_file();
    h->log_fd = fcntl(h->log_file, F_DUPFD_CLOEXEC, 0);
    CHECK(h->log_fd >= 0);
    h->log_unread = -1;
}

static void log_close(struct harness *h)
{
    CHECK(h->log_unread == -1);
    CHECK(close(h->log_fd) == 0 && close(h->log_file) == 0);
}

void contract_log(struct contract *c, struct cd_buf *out)
{
    struct harness *h = CD_CONTAINER(c, struct harness, c);
    CHECK(io_real_log_flush(h->node, IO_SEC(10)));
    read_all(h->log_file, out);
}

void contract_log_stuck(struct contract *c, bool on)
{
    struct harness *h = CD_CONTAINER(c, struct harness, c);
    if (on) {
        int ends[2];
        CHECK(pipe2(ends, O_CLOEXEC) == 0);
        CHECK(dup3(ends[1], h->log_fd, O_CLOEXEC) == h->log_fd);
        CHECK(close(ends[1]) == 0);
        h->log_unread = ends[0];
    } else {
        CHECK(dup3(h->log_file, h->log_fd, O_CLOEXEC) == h->log_fd);
        CHECK(close(h->log_unread) == 0); /* Who waits to write gets an error. */
        h->log_unread = -1;
    }
}

static int console_open(int status)
{
    int ends[2];
    switch (status) {
    case IO_OK: return memory_file();
    case IO_NOSPACE: return open("/dev/full", O_WRONLY | O_CLOEXEC);
    case CD_ECLOSED: return open("/dev/null", O_RDONLY | O_CLOEXEC);
    case IO_EOF: CHECK(pipe2(ends, O_CLOEXEC) == 0 && close(ends[0]) == 0); return ends[1];
    default: return -1;
    }
}

void contract_console_start(struct contract *c, enum io_console which, int status)
{
    struct harness *h = CD_CONTAINER(c, struct harness, c);
    CHECK(fflush(NULL) == 0);
    h->console_was[which] = fcntl((int)which, F_DUPFD_CLOEXEC, 3);
    h->console[which] = console_open(status);
    CHECK(h->console_was[which] >= 0 && h->console[which] >= 0);
    CHECK(dup2(h->console[which], (int)which) == (int)which);
}

void contract_console_end(struct contract *c, enum io_console which, struct cd_buf *out)
{
    struct harness *h = CD_CONTAINER(c, struct harness, c);
    CHECK(dup2(h->console_was[which], (int)which) == (int)which);
    if (out != NULL)
        read_all(h->console[which], out);
    CHECK(close(h->console_was[which]) == 0 && close(h->console[which]) == 0);
}

void contract_keyboard_start(struct contract *c, enum contract_keyboard what)
{
    struct harness *h = CD_CONTAINER(c, struct harness, c);
    int ends[2] = {-1, -1};
    h->console_was[STDIN_FILENO] = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    CHECK(h->console_was[STDIN_FILENO] >= 0);
    if (what == CONTRACT_PIPE)
        CHECK(pipe2(ends, O_CLOEXEC) == 0);
    else if (what == CONTRACT_SOCKET)
        CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    else
        ends[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CHECK(dup2(ends[0], STDIN_FILENO) == STDIN_FILENO && close(ends[0]) == 0);
    h->keyboard = ends[1];
}

void contract_keyboard_type(struct contract *c, struct cd_str bytes)
{
    struct harness *h = CD_CONTAINER(c, struct harness, c);
    CHECK(write(h->keyboard, bytes.ptr, bytes.len) == (ssize_t)bytes.len);
}

void contract_keyboard_hangup(struct contract *c)
{
    CHECK(close(CD_CONTAINER(c, struct harness, c)->keyboard) == 0);
}

void contract_keyboard_end(struct contract *c)
{
    struct harness *h = CD_CONTAINER(c, struct harness, c);
    CHECK(dup2(h->console_was[STDIN_FILENO], STDIN_FILENO) == STDIN_FILENO);
    CHECK(close(h->console_was[STDIN_FILENO]) == 0);
}

bool contract_random_repeats(void)
{
    return false;
}

/* ---- Faults of the disk ---- */

static atomic_bool sync_fails;

/* In place of the C library's: the next one fails when asked to. */
int fdatasync(int fd)
{
    if (atomic_exchange(&sync_fails, false)) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fdatasync, fd);
}

bool contract_disk_sync_fails(struct contract *c, bool on)
{
    (void)c;
    atomic_store(&sync_fails, on);
    return true;
}

bool contract_disk_full(struct contract *c, bool on)
{
    struct harness *h = CD_CONTAINER(c, struct harness, c);
    char path[200];
    (void)snprintf(path, sizeof path, "%s/ballast", h->root);
    if (!h->mounted)
        return false;
    if (!on) {
        CHECK(unlink(path) == 0);
        return true;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    static const char zeros[4096];
    while (write(fd, zeros, sizeof zeros) > 0)
        continue;
    CHECK(errno == ENOSPC);
    CHECK(close(fd) == 0);
    return true;
}

bool contract_disk_denies(struct contract *c, bool on)
{
    struct harness *h = CD_CONTAINER(c, struct harness, c);
    return h->mounted &&
           mount("tmpfs", h->root, "tmpfs", MS_REMOUNT | (on ? MS_RDONLY : 0u), TMPFS_OPTIONS) == 0;
}

/* ---- Network ---- */

/* A listener drops the first packet of a connection while the queue of those to be accepted is full. */
bool contract_hole(struct contract *c, struct io_addr *at)
{
    struct harness *h = CD_CONTAINER(c, struct harness, c);
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof in;
    for (size_t i = 0; i < CD_COUNT(h->hole); i++) {
        h->hole[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        CHECK(h->hole[i] > 0);
    }
    CHECK(bind(h->hole[0], (struct sockaddr *)&in, len) == 0 && listen(h->hole[0], 0) == 0);
    CHECK(getsockname(h->hole[0], (struct sockaddr *)&in, &len) == 0);
    for (size_t i = 1; i < CD_COUNT(h->hole); i++)
        CHECK(connect(h->hole[i], (struct sockaddr *)&in, len) == 0 || errno == EINPROGRESS);
    struct pollfd last = {.fd = h->hole[HOLE_FULL], .events = POLLOUT};
    *at = (struct io_addr){.host = "127.0.0.1", .port = ntohs(in.sin_port)};
    return poll(&last, 1, 50) == 0;
}

static void hole_close(struct harness *h)
{
    for (size_t i = 0; i < CD_COUNT(h->hole); i++)
        CHECK(h->hole[i] == 0 || close(h->hole[i]) == 0);
}

/* Mounts are made in a namespace of this process, which a user without rights gets together with a user
 * namespace. */
static bool may_mount(void)
{
    static int may = -1;
    if (may < 0)
        may = (unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) &&
              (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 || errno == EINVAL);
    return may == 1; /* EINVAL: the root is a directory (chroot), and its maker has cared for that. */
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

/* ---- Programs of children: this executable under another name ---- */

static int program_say(int argc, char **argv, char **env)
{
    char cwd[1024];
    if (getcwd(cwd, sizeof cwd) == NULL)
        return 1;
    (void)printf("%s\n", cwd);
    for (int i = 0; i < argc; i++)
        (void)printf("%s\n", argv[i]);
    for (; *env != NULL; env++) {
        if (strncmp(*env, "PATH=", 5) != 0)
            (void)printf("%s\n", *env);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}

static int program_exit(int argc, char **argv)
{
    uint64_t code;
    return argc == 2 && cd_str_u64(cd_str(argv[1]), &code) == 0 ? (int)code : 99;
}

static int program_cat(void)
{
    char bytes[4096];
    ssize_t n;
    while ((n = read(0, bytes, sizeof bytes)) > 0) {
        for (ssize_t at = 0; at < n;) {
            ssize_t put = write(1, bytes + at, (size_t)(n - at));
            if (put < 0)
                return 1;
            at += put;
        }
    }
    return n == 0 ? 0 : 1;
}

static char self[512]; /* Where this executable is. Asked before the mounts change. */

/* Before main, so that main knows nothing of it. */
__attribute__((constructor)) static void program_start(int argc, char **argv, char **env)
{
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        self[0] = '\0';
    const char *name = strrchr(argv[0], '/');
    name = name == NULL ? argv[0] : name + 1;
    if (strcmp(name, "contract-cat") == 0)
        _exit(program_cat());
    if (strcmp(name, "contract-exit") == 0)
        _exit(program_exit(argc, argv));
    if (strcmp(name, "contract-say") == 0)
        _exit(program_say(argc, argv, env));
    if (strcmp(name, "contract-complain") == 0)
        _exit(write(2, "complaint\n", 10) == 10 ? 0 : 1);
    if (strcmp(name, "contract-hang") == 0) {
        if (write(1, "up\n", 3) == 3) {
            for (;;)
                (void)pause();
        }
    }
}

static void programs_make(struct harness *h)
{
    static const char *const names[] = {"cat", "exit", "say", "hang", "complain"};
    char path[300];
    (void)snprintf(path, sizeof path, "%s/bin", h->root);
    CHECK(mkdir(path, 0700) == 0);
    (void)snprintf(h->c.path, sizeof h->c.path, "PATH=%.150s/bin", h->root);
    for (size_t i = 0; i < CD_COUNT(names); i++) {
        (void)snprintf(path, sizeof path, "%s/bin/contract-%s", h->root, names[i]);
        CHECK(symlink(self, path) == 0);
    }
}

bool contract_keeps_ties(void)
{
    return true;
}

/* ---- A run ---- */

static void directory_make(struct harness *h)
{
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(h->root, sizeof h->root, "%.100s/celld-contract-XXXXXX",
                   tmp != NULL && tmp[0] == '/' ? tmp : "/tmp");
    CHECK(mkdtemp(h->root) != NULL);
    h->mounted = may_mount() && mount("tmpfs", h->root, "tmpfs", 0,
                                      h->with_store ? TMPFS_STORE_OPTIONS : TMPFS_OPTIONS) == 0;
    (void)snprintf(h->c.dir, sizeof h->c.dir, "%s/d", h->root);
    CHECK(mkdir(h->c.dir, 0700) == 0);
    programs_make(h);
}

static void directory_remove(struct harness *h)
{
    if (h->mounted) {
        CHECK(umount2(h->root, MNT_DETACH) == 0);
        CHECK(rmdir(h->root) == 0);
    } else {
        CHECK(nftw(h->root, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0);
    }
}

static void name_fiber(void *arg, const char *name, uint64_t op_serial)
{
    (void)arg;
    (void)fprintf(stderr, "left: fiber %s, awaits op %llu\n", name, (unsigned long long)op_serial);
}

static void check_left(struct io *io, unsigned fibers)
{
    if (io->busy != 0 || io->fibers != fibers || io_real_open_count(io) != 0) {
        io_fibers_each(io, name_fiber, NULL);
        (void)fprintf(stderr, "left in loop %u: %u ops, %u fibers, %u open\n", io_loop_index(io), io->busy,
                      io->fibers, io_real_open_count(io));
        abort();
    }
}

static void check_left_there(struct io *io, void *arg)
{
    (void)arg;
    check_left(io, 0);
}

static void main_flow(void *arg)
{
    struct harness *h = arg;
    h->flow(&h->c);
    if (h->with_store)
        contract_store_heal(&h->c);
    for (int i = 0; i < 20 && (h->c.io->busy > 0 || h->c.io->fibers > 1); i++)
        (void)io_sleep(h->c.io, 0); /* What was started to end by itself at the next turn. */
    check_left(h->c.io, 1);
    for (unsigned i = 1; i < io_real_loops(h->node); i++)
        contract_in_loop(&h->c, i, check_left_there, NULL);
    io_real_stop(h->node);
}

static void entry(struct io *io, void *arg)
{
    if (io_loop_index(io) == 0)
        (void)io_spawn(io, "contract", main_flow, arg);
}

static void buckets_open(struct harness *h)
{
    h->store = store_real_open(h->c.dir);
    for (unsigned i = 0; i < io_real_loops(h->node); i++)
        io_real_set_bucket(h->c.loop[i], io_real_bucket_open(h->store, h->c.loop[i]));
    h->c.bucket = io_bucket(h->c.io);
}

static void buckets_close(struct harness *h)
{
    for (unsigned i = 0; i < io_real_loops(h->node); i++) {
        io_real_bucket_close(io_bucket(h->c.loop[i]));
        io_real_set_bucket(h->c.loop[i], NULL);
    }
    io_real_store_close(h->store);
}

void contract_start(unsigned loops, void (*flow)(struct contract *c), bool with_store)
{
    struct harness h = {.flow = flow, .with_store = with_store};
    CHECK(loops >= 1 && loops <= CD_COUNT(h.c.loop));
    directory_make(&h);
    log_open(&h);
    h.node = io_real_new(&(struct io_real_opts){.shards = loops - 1, .log_fd = h.log_fd});
    for (unsigned i = 0; i < loops; i++)
        h.c.loop[i] = io_real_loop(h.node, i);
    h.c.io = h.c.loop[0];
    if (with_store)
        buckets_open(&h);
    io_real_run(h.node, entry, &h);
    if (with_store)
        buckets_close(&h);
    io_real_free(h.node);
    hole_close(&h);
    log_close(&h);
    directory_remove(&h);
}
