/* sim/check.c: compares two runs of a seed, first by their hashes, then line by line. */
#include "sim/check.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

bool check_same(const struct run_result *a, const struct run_result *b, struct cd_buf *why)
{
    if (a->code != b->code || strcmp(a->invariant, b->invariant) != 0)
        cd_buf_addf(why, "one run ended with %s %s, the other with %s %s\n", run_code_text(a->code),
                    a->invariant, run_code_text(b->code), b->invariant);
    else if (a->code == RUN_ASSERTION)
        return true; /* Both died of it; how far they had come is not known of the second. */
    else if (a->events != b->events)
        cd_buf_addf(why, "one run had %llu events, the other %llu\n", (unsigned long long)a->events,
                    (unsigned long long)b->events);
    else if (a->hash != b->hash)
        cd_buf_addf(why, "the hashes of the traces are %016llx and %016llx\n", (unsigned long long)a->hash,
                    (unsigned long long)b->hash);
    else
        return true;
    return false;
}

uint64_t check_from(const struct run_result *a, const struct run_result *b)
{
    size_t same = 0;
    while (same < a->checkpoints && same < b->checkpoints && a->checkpoint[same] == b->checkpoint[same])
        same++;
    return same * SIM_CHECKPOINT_EVENTS + 1;
}

/* ---- Two traces at once ---- */

static FILE *start_trace(const struct run_options *o, const struct child_target *t,
                         const struct child_mode *m, char *const *argv, pid_t *pid)
{
    int fd[2];
    if (pipe(fd) != 0)
        return NULL;
    (void)fflush(stdout);
    *pid = fork();
    if (*pid == 0) {
        (void)close(fd[0]);
        child_run(o, t, m, fd[1], argv, NULL);
        _exit(0);
    }
    (void)close(fd[1]);
    FILE *lines = *pid < 0 ? NULL : fdopen(fd[0], "r");
    if (lines == NULL)
        (void)close(fd[0]);
    return lines;
}

static void end_trace(FILE *lines, pid_t pid)
{
    if (lines != NULL)
        (void)fclose(lines);
    if (pid <= 0)
        return;
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static bool next_line(FILE *from, struct cd_buf *line)
{
    cd_buf_clear(line);
    for (int c; (c = getc(from)) != EOF && c != '\n';)
        cd_buf_add_byte(line, (char)c);
    return line->len > 0 || !feof(from);
}

static void compare(FILE *a, FILE *b, uint64_t from, struct cd_buf *out)
{
    struct cd_buf one = {0}, two = {0}, last = {0};
    for (;;) {
        bool more_a = next_line(a, &one), more_b = next_line(b, &two);
        if (!more_a && !more_b) {
            cd_buf_addf(
                out,
                "run again, the traces from event %llu on are the same: what differs is rare, or is not "
                "in the trace\n",
                (unsigned long long)from);
            break;
        }
        if (more_a != more_b || !cd_str_eq(cd_buf_str(&one), cd_buf_str(&two))) {
            cd_buf_addf(out, "the first line that differs, behind\n  %s\n- %s\n+ %s\n",
                        last.len == 0 ? "the start" : cd_buf_cstr(&last),
                        more_a ? cd_buf_cstr(&one) : "(the end)", more_b ? cd_buf_cstr(&two) : "(the end)");
            break;
        }
        cd_buf_clear(&last);
        cd_buf_add_str(&last, cd_buf_str(&one));
    }
    cd_buf_deinit(&one);
    cd_buf_deinit(&two);
    cd_buf_deinit(&last);
}

void check_locate(const struct run_options *o, const struct child_target *t, uint64_t from, char *const *argv,
                  struct cd_buf *out)
{
    struct child_mode here = {.traced = true, .trace_from = from};
    struct child_mode there = {.elsewhere = true, .traced = true, .trace_from = from};
    pid_t pid_a = -1, pid_b = -1;
    FILE *a = start_trace(o, t, &here, argv, &pid_a), *b = start_trace(o, t, &there, argv, &pid_b);
    if (a != NULL && b != NULL)
        compare(a, b, from, out);
    else
        cd_buf_addf(out, "no process or pipe for the traces\n");
    end_trace(a, pid_a);
    end_trace(b, pid_b);
}
