/* tests/support/death.h: for code that must stop the process. The flow runs in a child; what it wrote to
 * stderr is read, so a test can tell the assertion it means from another one. */
#ifndef SUPPORT_DEATH_H
#define SUPPORT_DEATH_H

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

/* The sanitizers answer a request for too much memory in their own way. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DEATH_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DEATH_SANITIZED 1
#endif
#endif

/* Runs flow in a child; how it ended, as waitpid tells, and what it wrote to stderr. */
static inline int death_run(void (*flow)(void), char *said, size_t cap)
{
    size_t len = 0;
    ssize_t got;
    int ends[2], ended;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        (void)dup2(ends[1], STDERR_FILENO);
        (void)signal(SIGABRT, SIG_DFL); /* cmocka has handlers of its own. */
        flow();
        _exit(0);
    }
    (void)close(ends[1]);
    while (len + 1 < cap && (got = read(ends[0], said + len, cap - 1 - len)) > 0)
        len += (size_t)got;
    said[len] = '\0';
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &ended, 0), child);
    return ended;
}

/* Fails the test unless flow aborts and says what. */
static inline void assert_dies(void (*flow)(void), const char *what)
{
    char said[4096];
    int ended = death_run(flow, said, sizeof said);
    if (!WIFSIGNALED(ended) || WTERMSIG(ended) != SIGABRT || strstr(said, what) == NULL)
        fail_msg("not stopped by \"%s\": status %d, said: %s", what, ended, said);
}

#endif
