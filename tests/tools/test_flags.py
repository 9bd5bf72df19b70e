#!/usr/bin/env python3
"""The flags of this build find what they are for: each planted piece of code below is refused by the compiler with the
warning that is named, or, in a build with sanitizers, ends the program with their report. Clean code passes.

usage: test_flags.py BUILD_DIR (empty, address or thread: the sanitizers of that build)
"""
import json
import os
import shlex
import subprocess
import sys
import tempfile

CLEAN = "int twice(int v);\nint twice(int v)\n{\n    return 2 * v;\n}\n"

# Warning, and code that it must refuse.
WARNINGS = [
    ("unused-variable", "int f(void);\nint f(void)\n{\n    int unused;\n    return 0;\n}\n"),
    ("unused-parameter", "int f(int a);\nint f(int a)\n{\n    return 0;\n}\n"),
    ("shadow", "int f(int a);\nint f(int a)\n{\n    {\n        int a = 1;\n        return a;\n    }\n}\n"),
    ("conversion", "char f(int a);\nchar f(int a)\n{\n    return a;\n}\n"),
    ("switch-enum", "enum e { A, B };\nint f(enum e v);\nint f(enum e v)\n{\n    switch (v) {\n"
                    "    case A: return 1;\n    default: return 2;\n    }\n}\n"),
    ("vla", "int f(int n);\nint f(int n)\n{\n    int a[n];\n    a[0] = n;\n    return a[0];\n}\n"),
    ("undef", "#if NOT_DEFINED_ANYWHERE\n#endif\nextern int nothing;\n"),
    ("strict-prototypes", "int f();\n"),
    ("missing-prototypes", "int f(void)\n{\n    return 0;\n}\n"),
    ("unused-result", '#include "base/cd.h"\nCD_MUST_USE int g(void);\nvoid f(void);\n'
                      "void f(void)\n{\n    g();\n}\n"),
]

# Sanitizer, a piece of its report, and a program that must end with it.
PROGRAMS = [
    ("address", "heap-buffer-overflow",
     "#include <stdlib.h>\nstatic char *volatile p;\nint main(void)\n{\n    p = malloc(4);\n    p[4] = 1;\n"
     "    free(p);\n    return 0;\n}\n"),
    ("address", "heap-use-after-free",
     "#include <stdlib.h>\nstatic char *volatile p, *volatile q;\nint main(void)\n{\n    p = q = malloc(4);\n"
     "    free(p);\n    q[0] = 1;\n    return 0;\n}\n"),
    ("address", "detected memory leaks",
     "#include <stdlib.h>\nstatic void *volatile kept;\nint main(void)\n{\n    kept = malloc(40);\n    kept = NULL;\n"
     "    return 0;\n}\n"),
    ("address", "signed integer overflow",
     "int main(int n, char **v)\n{\n    (void)v;\n    return (0x7fffffff - 1 + n + n) == 5;\n}\n"),
    ("thread", "data race",
     "#include <pthread.h>\nstatic int count;\nstatic void *add(void *arg)\n{\n    (void)arg;\n    count++;\n"
     "    return NULL;\n}\nint main(void)\n{\n    pthread_t t;\n    pthread_create(&t, NULL, add, NULL);\n    count++;\n"
     "    pthread_join(t, NULL);\n    return 0;\n}\n"),
]

failures = 0


def check(name, good, said=""):
    global failures
    if not good:
        failures += 1
        print(f"{name}: not found\n{said}")


def flags_of(build):
    """Compiler and flags of a file of the core, without its names, and the folder they are relative to."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        entry = next(e for e in json.load(f) if e["file"].endswith("/src/base/str.c"))
    words = shlex.split(entry["command"])
    if os.path.basename(words[0]) == "ccache":
        words = words[1:]
    kept, skip = [], False
    for word in words:
        if skip or word == "-c" or word.endswith("/str.c"):
            skip = False
        elif word in ("-o", "-MF", "-MT"):
            skip = True
        elif word not in ("-MD", "-MMD"):
            kept.append(word)
    return kept, entry["directory"]


def run(command, cwd):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


def main(build, sanitizer):
    flags, cwd = flags_of(build)
    with tempfile.TemporaryDirectory() as scratch:
        source, out = os.path.join(scratch, "plant.c"), os.path.join(scratch, "plant")

        def compile_text(text, *more):
            with open(source, "w", encoding="utf-8") as f:
                f.write(text)
            return run([*flags, *more, source, "-o", out], cwd)

        code, said = compile_text(CLEAN, "-c")
        check("clean code", code == 0, said)
        for warning, text in WARNINGS:
            code, said = compile_text(text, "-c")
            check(f"-W{warning}", code != 0 and f"-Werror={warning}" in said, said)
        for kind, report, text in PROGRAMS:
            if kind != sanitizer:
                continue
            code, said = compile_text(text)
            check(f"the program for {report}", code == 0, said)
            code, said = run([out], scratch)
            check(report, code != 0 and report in said, said)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""))
