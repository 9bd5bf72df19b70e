/* cli/main.c: where the program begins, and where the real system is put under it. All the rest of src/cli
 * works on values. */
#include "cli/command.h"
#include "io_real/io_real.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BUILT_FOR_DEBUG true
#else
#define BUILT_FOR_DEBUG false
#endif

int main(int argc, char **argv, char **envp)
{
    io_real_guard_console();
    /* A loop without a log: what a command says, it writes itself. SIGPIPE is ignored from here on. */
    struct io_real *node = io_real_new(&(struct io_real_opts){.log_fd = -1});
    struct cli c = {
        .io = io_real_loop(node, 0),
        .args = (const char *const *)(argc > 0 ? argv + 1 : argv),
        .env = (const char *const *)envp,
        .debug = BUILT_FOR_DEBUG,
    };
    int code = cli_run(&c);
    io_real_free(node);
    return code;
}
