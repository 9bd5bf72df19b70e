#!/usr/bin/env python3
"""tools/purity finds a planted breach of each rule and says what helps; it finds nothing in the clean twins."""
import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "purity")
loader = importlib.machinery.SourceFileLoader("purity", TOOL)
purity = importlib.util.module_from_spec(importlib.util.spec_from_loader("purity", loader))
loader.exec_module(purity)


def calls(name, prefix="cd"):
    return f"int {name}(void); int {prefix}_{name}_(void); int {prefix}_{name}_(void) {{ return {name}(); }}"


# file, code, what the finding must say (None: there must be none)
OBJECTS = [
    ("src/base/a.c", calls("strlen"), None),
    ("src/base/a.c", calls("cd_str_find"), None),
    ("src/base/a.c", calls("io_now_ns"), None),
    ("src/base/a.c", calls("clock_gettime"), "clock_gettime: use io_now_ns"),
    ("src/http/a.c", calls("time", "http"), "time: use io_now_ns"),
    ("src/base/a.c", calls("malloc"), "malloc: use cd_alloc"),
    ("src/base/cd.c", calls("calloc"), None),
    ("src/base/a.c", calls("getenv"), "getenv: use settings"),
    ("src/base/a.c", calls("rand"), "rand: use io_random"),
    ("src/base/a.c", calls("RAND_bytes"), "RAND_bytes: use io_random"),
    ("src/base/a.c", calls("open"), "open: use io_file_"),
    ("src/base/a.c", calls("fsync"), "fsync: use io_file_"),
    ("src/base/a.c", calls("puts"), "puts: use cd_event"),
    ("src/base/a.c", calls("socket"), "socket: use io_listen"),
    ("src/base/a.c", calls("pthread_create"), "pthread_create: use io_post"),
    ("src/base/a.c", calls("posix_spawn"), "posix_spawn: use io_child_start"),
    ("src/base/a.c", calls("usleep"), "usleep: use io_sleep"),
    ("src/base/a.c", calls("localtime_r"), "localtime_r: use base/timetext.h"),
    ("src/base/a.c", calls("mmap"), "mmap: not known to be pure"),
    ("src/io/fiber.c", calls("mmap", "io"), None),
    ("src/base/a.c", calls("uv_run"), "uv_run: use io.h"),
    ("src/http/a.c", calls("io_real_node_new", "http"), "io_real_node_new: use the io_ calls"),
    ("src/cli/main.c", calls("io_real_node_new", "cli"), None),
    ("src/cli/flags.c", calls("io_real_node_new", "cli"), "io_real_node_new: use the io_ calls"),
    ("src/base/a.c", "int cd_count; ", "cd_count is writable data"),
    ("src/base/a.c", "int cd_start = 7; ", "cd_start is writable data"),
    ("src/base/a.c", "static int hits; int cd_hit(void); int cd_hit(void) { return ++hits; }", "hits is writable data"),
    ("src/base/a.c", "int cd_n(void); int cd_n(void) { static int counter = 3; return ++counter; }", "counter.0 is writable data"),
    ("src/base/a.c", "static _Thread_local int mine; int cd_t(void); int cd_t(void) { return ++mine; }",
     "mine is writable data"),
    ("src/base/a.c", "static const char *names[] = {\"a\"}; const char **cd_names_of(void);"
     "const char **cd_names_of(void) { return names; }", "names is writable data"),
    ("src/base/a.c", "const char *const cd_names[] = {\"a\", \"b\"};", None),
    ("src/base/a.c", "const int cd_limit = 7;", None),
    ("src/base/a.c", "void helper(void); void helper(void) {}", "helper: an external symbol starts with cd_"),
    ("src/http/a.c", "void cd_f(void); void cd_f(void) {}", "cd_f: an external symbol starts with http_"),
    ("src/http/a.c", "static void helper(void) {} void http_f(void); void http_f(void) { helper(); }", None),
    ("src/nowhere/a.c", "void cd_f(void); void cd_f(void) {}", "cd_f: an external symbol starts with ?"),
    ("io_sim/a.c", "int heap; void sim_f(void); void sim_f(void) { heap++; }", "heap: an external symbol starts with"),
    ("io_sim/a.c", calls("malloc", "sim"), None),
]

INCLUDES = [
    ("src/base/a.c", "#include <string.h>\n", None),
    ("src/base/a.c", "#include <unistd.h>\n", "src/base/a.c:1: <unistd.h> is not for src/base"),
    ("src/http/a.c", "#include <time.h>\n", "<time.h> is not for src/http"),
    ("src/base/a.h", "\n#include <pthread.h>\n", "src/base/a.h:2: <pthread.h> is not for src/base"),
    ("src/http/a.c", "#include <uv.h>\n", "<uv.h> is not for src/http"),
    ("src/http/a.c", "#include <llhttp.h>\n", None),
    ("src/base/a.c", "#include <llhttp.h>\n", "<llhttp.h> is not for src/base"),
    ("src/base/a.c", "#include <errno.h>\n", "<errno.h> is not for src/base"),
]


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as handle:
        handle.write(text)


def judge(what, found, want):
    good = not found if want is None else len(found) == 1 and want in found[0]
    if not good:
        print(f"{what}: want {want or 'nothing'}; found", *found, sep="\n    ")
    return 0 if good else 1


def main():
    failed = 0
    root = tempfile.mkdtemp(prefix="purity-")
    # One object per file holds all its plants, another one all its clean twins.
    files = sorted({(path, want is None) for path, _, want in OBJECTS})
    for index, (path, clean) in enumerate(files):
        code = "\n".join(code for at, code, want in OBJECTS if (at, want is None) == (path, clean))
        source, target = f"{root}/{index}.c", f"{root}/{index}/CMakeFiles/x.dir/{path}.o"
        write(source, code + "\n")
        os.makedirs(os.path.dirname(target))
        subprocess.run(["gcc", "-w", "-fno-builtin", "-fPIE", "-c", source, "-o", target], check=True)
        found = list(purity.check_objects(f"{root}/{index}"))
        wants = [want for at, _, want in OBJECTS if at == path and want is not None and not clean]
        for want in wants:
            failed += judge(path, [text for text in found if want in text], want)
        failed += judge(f"{path}: nothing else", [text for text in found if not any(w in text for w in wants)], None)
    failed += judge("no build", list(purity.check_objects(f"{root}/none")), "no objects; build it first")
    for index, (path, code, want) in enumerate(INCLUDES):
        write(f"{root}/text-{index}/{path}", code)
        failed += judge(f"{path}: {code}", list(purity.check_includes(f"{root}/text-{index}")), want)
    shutil.rmtree(root)
    print(f"{len(OBJECTS) + len(INCLUDES) + 1} plants, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
