/* sim_bench [EVENTS]: how many events a second the simulator's kernel makes. Forty clients and a server
 * ping-pong small messages over streams with jitter, and every fourth pair appends to a file and syncs it:
 * callbacks only, so it is the kernel that is measured, not the programs on it. tools/bench sim prints it. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/cd.h"
#include "io_sim/io_sim.h"

#define PAIRS 40u
#define BYTES 64u

struct side {
    struct io *io;
    struct io_stream stream;
    struct io_read read;
    struct io_write write;
    struct io_op op;
    struct cd_str part;
    char in[BYTES], out[BYTES];
    size_t got;
    bool serves, logs;
    struct io_file file;
    uint64_t file_at;
};

struct bench {
    struct io_listener listener;
    struct io_op accept;
    struct side side[2][PAIRS];
    unsigned accepted;
};

static struct bench *bench;

static void read_more(struct side *s);

static void write_done(struct io_op *op, int status)
{
    struct side *s = CD_CONTAINER(op, struct side, write.op);
    if (status == IO_OK)
        read_more(s);
}

static void send_all(struct side *s)
{
    s->part = cd_str_of(s->out, sizeof s->out);
    s->write = (struct io_write){.part = &s->part, .parts = 1};
    io_stream_write(&s->stream, &s->write, write_done);
}

static void log_append(struct side *s)
{
    int rc = io_file_pwrite(&s->file, s->in, sizeof s->in, s->file_at);
    s->file_at = (s->file_at + sizeof s->in) % (1u << 20);
    if (rc == IO_OK && s->file_at % 1024 == 0)
        rc = io_file_sync(&s->file);
    CD_ASSERT(rc == IO_OK);
}

static void read_done(struct io_op *op, int status)
{
    struct side *s = CD_CONTAINER(op, struct side, read.op);
    if (status != IO_OK)
        return;
    s->got += s->read.len;
    if (s->got < sizeof s->in) {
        read_more(s);
        return;
    }
    s->got = 0;
    if (s->logs)
        log_append(s);
    memcpy(s->out, s->in, sizeof s->in);
    s->out[0]++;
    send_all(s);
}

static void read_more(struct side *s)
{
    s->read = (struct io_read){.buf = s->in + s->got, .cap = sizeof s->in - s->got};
    io_stream_read(&s->stream, &s->read, read_done);
}

static void accept_next(void);

static void accept_done(struct io_op *op, int status)
{
    (void)op;
    if (status != IO_OK)
        return;
    read_more(&bench->side[0][bench->accepted++]);
    if (bench->accepted < PAIRS)
        accept_next();
}

static void accept_next(void)
{
    struct side *s = &bench->side[0][bench->accepted];
    s->io = bench->listener.io;
    s->serves = true;
    io_accept(&bench->listener, &s->stream, &bench->accept, accept_done);
}

static void connect_done(struct io_op *op, int status)
{
    struct side *s = CD_CONTAINER(op, struct side, op);
    CD_ASSERT(status == IO_OK);
    if (s->logs) {
        char path[32];
        (void)snprintf(path, sizeof path, "/log%u", (unsigned)(s - bench->side[1]));
        int rc = io_file_open(&s->file, s->io, path, IO_FILE_CREATE);
        CD_ASSERT(rc == IO_OK);
    }
    send_all(s);
}

static void closed(struct io_op *op, int status)
{
    (void)op;
    (void)status;
}

static void unwind(struct io *io, void *arg)
{
    (void)arg;
    for (unsigned k = 0; k < 2; k++) {
        for (unsigned i = 0; i < PAIRS; i++) {
            struct side *s = &bench->side[k][i];
            if (s->stream.io == io)
                io_stream_close(&s->stream, true, &s->op, closed);
            if (s->file.io == io)
                (void)io_file_close(&s->file);
        }
    }
    if (bench->listener.io == io)
        io_listener_close(&bench->listener, &bench->accept, closed);
}

static void start(struct sim *sim)
{
    const struct sim_program program = {.unwind = unwind};
    struct sim_node *server = sim_node(sim, &(struct sim_node_opts){.name = "server", .program = program});
    struct sim_node *client = sim_node(sim, &(struct sim_node_opts){.name = "client", .program = program});
    int rc = io_listen(&bench->listener, sim_io(server, 0), &(struct io_addr){.port = 80}, 0);
    CD_ASSERT(rc == IO_OK);
    accept_next();
    for (unsigned i = 0; i < PAIRS; i++) {
        struct side *s = &bench->side[1][i];
        s->io = sim_io(client, 0);
        s->logs = i % 4 == 0;
        io_connect(&s->stream, s->io, &(struct io_addr){.host = "server", .port = 80}, &s->op, connect_done);
    }
}

int main(int argc, char **argv)
{
    uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 3000000;
    struct timespec from, to;
    bench = cd_new(struct bench);
    struct sim *sim = sim_new(&(struct sim_opts){.seed = 1, .policy = SIM_RANDOM, .slack_ns = 10000});
    sim_link_set(sim, NULL, NULL, &(struct sim_link){.delay_ns = 100000, .jitter_ns = 200000});
    start(sim);
    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    while (sim_events(sim) < events && sim_step(sim))
        continue;
    (void)clock_gettime(CLOCK_MONOTONIC, &to);
    double seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
    printf("%llu events, %.2f s, %.0f events/s, %.1f simulated s, hash %016llx\n",
           (unsigned long long)sim_events(sim), seconds, (double)sim_events(sim) / seconds,
           (double)sim_now_ns(sim) / 1e9, (unsigned long long)sim_hash(sim));
    sim_free(sim);
    cd_free(bench);
    return 0;
}
