#!/usr/bin/env python3
"""tools/tidy finds a planted breach of each of its rules, at its line, and nothing in a clean twin of it."""
import importlib.machinery
import importlib.util
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "tidy")
loader = importlib.machinery.SourceFileLoader("tidy", TOOL)
tidy = importlib.util.module_from_spec(importlib.util.spec_from_loader("tidy", loader))
loader.exec_module(tidy)

LONG_FUNCTION = "void base_f(void)\n{\n" + "    g();\n" * 69 + "}\n"
ENUM = "enum gate {\n    GATE_OPEN,\n    GATE_SHUT,\n};\n"
SWITCH = ENUM + "int f(enum gate g)\n{\n    switch (g) {\n    case GATE_OPEN: return 1;\n%s    }\n    return 0;\n}\n"
INTS = "int f(int c)\n{\n    switch (c) {\n    case 'a': return 1;\n    default: return 0;\n    }\n}\n"
CODES = ENUM + "int f(int c)\n{\n    switch (c) {\n    case IO_EOF: return 1;\n    default: return 0;\n    }\n}\n"

# rule, file, bad text, line of the finding, good text
PLANTS = [
    ("file-size", "src/base/a.c", "int a;\n" * 901, 1, "int a;\n" * 900),
    ("function-size", "src/base/a.c", LONG_FUNCTION, 2, LONG_FUNCTION.replace("    g();\n", "", 1)),
    ("columns", "src/base/a.c", "/* " + "x" * 105 + " */\n", 1, "/* " + "x" * 104 + " */\n"),
    ("columns", "src/base/a.c", "\tint a;\n", 1, "    int a;\n"),
    ("columns", "tools/x", "true \n", 1, "true\n"),
    ("fixme", "docs/a.md", "one\nFIXME later\n", 2, "one\nTODO(ann): when there are two\n"),
    ("fixme", "src/base/a.c", "/* TODO later */\n", 1, "/* TODO(ann): a map, when there are many. */\n"),
    ("commented-code", "src/base/a.c", "// int a;\n", 1, "/* What is a? */\n"),
    ("commented-code", "src/base/a.c", "/* return 7; */\n", 1, "/* The return value is 7. */\n"),
    ("commented-code", "src/base/a.c", "/* Text.\n * a = b + 1;\n */\n", 2, "/* Text.\n *     a = b + 1;\n */\n"),
    ("commented-code", "src/base/a.c", "/* do_it(a); */\n", 1, "/* Calls do_it(a) later. */\n"),
    ("commented-code", "src/base/a.c", "/* if (a > b) { */\n", 1, "/* If a is larger (as it is). */\n"),
    ("commented-code", "src/base/a.c", "#if 0\n#endif\n", 1, "#ifdef A\n#endif\n"),
    ("banned-calls", "src/base/a.c", "    strcpy(a, b);\n", 1, '    say("strcpy(a, b)"); /* strcpy(a, b) */\n'),
    ("banned-calls", "io_real/a.c", "    x = sprintf(a, b);\n", 1, "    x = snprintf(a, n, b);\n"),
    ("banned-calls", "tests/base/a.c", "    p = alloca(8);\n", 1, "    p->alloca(8);\n"),
    ("banned-calls", "src/http/a.c", "    p = malloc(8);\n", 1, "    p = cd_alloc(8);\n"),
    ("banned-calls", "src/http/a.c", "    assert(x);\n", 1, "    CD_ASSERT(x);\n"),
    ("banned-calls", "src/http/a.c", "    free(p);\n", 1, "    /* tidy(banned-calls): yyjson's. */\n    free(p);\n"),
    ("pointer-text", "sim/a.c", '    say("at %p", p);\n', 1, '    say("op %u", n);\n'),
    ("default", "src/base/a.c", SWITCH % "    default: break;\n", 9, SWITCH % "    case GATE_SHUT: break;\n"),
    ("default", "src/base/a.c", SWITCH % "    default:\n        break;\n", 9, INTS),
    ("default", "src/base/a.c", SWITCH % "    default: break;\n", 9, CODES),
    ("include-order", "src/base/a.c", '#include "base/b.h"\n#include <string.h>\n', 2,
     '#include <string.h>\n\n#include "base/b.h"\n'),
    ("include-order", "src/base/a.c", '#include "base/b.h"\n#ifdef A\n#endif\n#include <string.h>\n', 4,
     '#include "base/b.h"\n#ifdef A\n#include <string.h>\n#include <a.h>\n#endif\n'),
    ("include-order", "src/base/own.c", '#include <string.h>\n\n#include "base/own.h"\n', 3,
     '#include "base/own.h"\n\n#include <string.h>\n'),
    ("include-order", "src/base/own.c", "int a;\n", 1, '#include "base/own.h"\n'),
    ("include-order", "src/base/a.c", '#include "b.h"\n', 1, '#include "base/b.h"\n'),
    ("include-arrows", "src/base/a.c", '#include "io/io.h"\n', 1, '#include "base/str.h"\n'),
    ("include-arrows", "src/http/a.c", '#include "io_real/io_real.h"\n', 1, '#include "io/io.h"\n'),
    ("include-arrows", "src/ltx/a.c", '#include "io/io.h"\n', 1, '#include "base/buf.h"\n'),
    ("include-arrows", "io_sim/a.c", '#include "sim/scn.h"\n', 1, '#include "io_sim/net.h"\n'),
    ("include-arrows", "src/log/a.c", '#include "store/x_internal.h"\n', 1, '#include "log/x_internal.h"\n'),
    ("outside", "docs/a.md", "see ../shared/spec\n", 1, "see ../spec\n"),
    ("outside", "tools/x", "cd /work/main\n", 1, 'cd "$top"\n'),
    ("outside", "tools/x", "mirror=deb.debian.org\n", 1, "mirror=$(debian_mirror)\n"),
]


def write(root, path, text):
    os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
    with open(os.path.join(root, path), "w") as handle:
        handle.write(text)


def main():
    failed = 0
    unproven = set(tidy.RULES) - {plant[0] for plant in PLANTS}
    if unproven:
        print("rules without a planted breach:", sorted(unproven))
        failed += 1
    for rule, path, bad, line, good in PLANTS:
        root = tempfile.mkdtemp(prefix="tidy-")
        write(root, "src/base/own.h", "#define OWN 1\n")
        write(root, path, good)
        found = list(tidy.check(root))
        if found:
            print(f"{rule}: the clean {path} gives", *found, sep="\n")
            failed += 1
        write(root, path, bad)
        found = list(tidy.check(root))
        if not any(text.startswith(f"{path}:{line}: ") and text.endswith(f"[{rule}]") for text in found):
            print(f"{rule}: not found at {path}:{line}", bad[:200], *found, sep="\n")
            failed += 1
        shutil.rmtree(root)
    print(f"{len(PLANTS)} plants, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
