#!/usr/bin/env python3
"""What it costs a user to compile allot: seconds of the processor, the compiler's memory, and bytes of text.

    bench/compile.py [--base COMMIT] [--rounds 3] [--compilers g++ clang++] [--only REGEX] [--json FILE]

Programs: each public header alone (those that a document or an example includes); examples; five policy sets that a hash draws from
tests/conform/sets.inc; an engine of 40 files that share three sets. Beside them the standard headers, and peers that are installed.
In each round each program is compiled header-only, for the compiled library (-DALLOT_COMPILED), and with the headers of COMMIT, one
after the other: the ratio is the median of the rounds'. The library itself is a program beside them. Seconds are user and system time,
which other work on the machine lengthens: read the ratios. Sets of policies are listed (ALLOT_COMPILED_ROWS, ALLOT_COMPILED_CHUNKS), so
the library of their project has their code; what the engine takes compiled includes that file, and the library.
"""
import argparse
import hashlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from layout import number, table

ROOT = pathlib.Path(__file__).resolve().parents[1]
EXAMPLES = ("01_first", "11_buffers", "15_tasks", "17_spill", "18_pipeline")
STANDARD = ("vector", "string", "map", "thread", "mutex")
PEERS = {
    "Boost.Interprocess": "#include <boost/interprocess/managed_shared_memory.hpp>\n",
    "Boost.Container pmr": "#include <boost/container/pmr/monotonic_buffer_resource.hpp>\n#include <boost/container/pmr/vector.hpp>\n",
    "Arrow memory pool": "#include <arrow/memory_pool.h>\n",
}
LEVELS = ("-fsyntax-only", "-O0", "-O2")
ENGINE_FILES = 40
ENGINE_SETS = """#pragma once
#include <allot/chunk_arena.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/row_manager.hpp>
struct engine_rows : allot::policies<allot::ledger::tree, allot::size::packed, allot::slots::scanning> {};
struct engine_state : allot::policies<allot::ledger::tree, allot::heap::shared, allot::oom::null> {};
struct engine_blocks : allot::policies<allot::ledger::tree> {};
ALLOT_COMPILED_ROWS(engine_rows)
ALLOT_COMPILED_ROWS(engine_state)
ALLOT_COMPILED_CHUNKS(engine_blocks)
"""
SETS_FILE = "sets.cpp"  # of the engine with the library
NO_LISTS = ("-DALLOT_COMPILED_ROWS(set)=", "-DALLOT_COMPILED_CHUNKS(set)=")  # for headers without them
ENGINE_FILE = """#include "sets.hpp"
#include <vector>
std::size_t operator_{n}(allot::account& query) {{
    allot::row_manager<engine_rows> rows{{query, allot::name{{"operator {n}"}}}};
    allot::row_manager<engine_state> state{{query}};
    allot::chunk_arena<engine_blocks> blocks{{query}};
    std::vector<void*> all;
    for (std::size_t i = 0; i != {n} + 10; ++i) all.push_back(rows.allocate(16 + i));
    void* const kept = state.try_allocate({n} + 100);
    const allot::block b = blocks.try_allocate(1000 * {n} + 1);
    for (void* row : all) rows.release(row);
    if (kept != nullptr) state.release(kept);
    if (b) blocks.deallocate(b);
    return query.used();
}}
"""


def public_headers():
    """Those that a page or an example includes."""
    named = set()
    for page in [*ROOT.glob("docs/*.md"), ROOT / "README.md", *ROOT.glob("examples/*.cpp")]:
        named |= set(re.findall(r"#include <(allot/[\w/]+\.hpp)>", page.read_text()))
    third = re.compile(r"allot/(adapt|device/cuda|device_rows|single)")
    return sorted(h for h in named if (ROOT / "include" / h).exists() and not third.match(h))


def drawn_sets(seed):
    """Five of the sets that tests/conform/sets.inc lists, the same ones for the same seed."""
    listed = re.findall(r"^ALLOT_ROW_SET\((of_3_\d+), \"([^\"]*)\", (.*)\)$", (ROOT / "tests/conform/sets.inc").read_text(), re.M)
    order = sorted(listed, key=lambda one: hashlib.sha256((seed + one[0]).encode()).digest())
    return [one for one in order if not re.search("borrowed|device|unique|shared_by", one[1])][:5]  # these take more than a set


def set_program(policies):
    takes = "allot::arena<> pages;\n    allot::row_manager<drawn> rows{pages};" if "page::of<" in policies else "allot::row_manager<drawn> rows;"
    return f"""#include <allot/ledger/pool.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/row_manager.hpp>
struct drawn : allot::policies<{policies}> {{}};
ALLOT_COMPILED_ROWS(drawn)
int main() {{
    {takes}
    void* const row = rows.try_allocate(100);
    if (row != nullptr) rows.release(row);
}}
"""


def with_lists(text):
    """The text, with a line behind each set for what is made of it."""
    def line(found):
        made = {"ROWS": "row_manager", "CHUNKS": "chunk_arena"}
        return found[0] + "".join(f"ALLOT_COMPILED_{kind}({found[1]})\n" for kind, of in made.items() if f"{of}<{found[1]}>" in text)
    return re.sub(r"^struct (\w+)\s*: allot::policies<.*?> \{\};[^\n]*\n", line, text, flags=re.M | re.S)


class Program:
    def __init__(self, name, text, files=None, ours=True):
        self.name, self.text, self.files, self.ours = name, text, files, ours


LIBRARY = Program("the library", "#define ALLOT_DEFINE\n#include <allot/compiled.hpp>\n")


def programs(seed):
    yield Program("standard headers", "".join(f"#include <{h}>\n" for h in STANDARD), ours=False)
    for name, text in PEERS.items():
        yield Program(name, text, ours=False)
    for header in public_headers():
        yield Program(header, f"#include <{header}>\n")
    for name in EXAMPLES:
        yield Program(f"examples/{name}.cpp", with_lists((ROOT / f"examples/{name}.cpp").read_text()))
    for name, words, policies in drawn_sets(seed):
        yield Program(f"set {words}", set_program(policies))
    files = {"sets.hpp": ENGINE_SETS} | {f"operator_{n}.cpp": ENGINE_FILE.format(n=n) for n in range(ENGINE_FILES)}
    files |= {SETS_FILE: '#define ALLOT_DEFINE_SETS\n#include "sets.hpp"\n'}
    yield Program(f"engine of {ENGINE_FILES} files", None, files)
    yield LIBRARY


def compile_once(compiler, options, source, out):
    """(seconds, MiB, ok) of one run of the compiler."""
    process = subprocess.Popen([compiler, *options, source, *(["-o", out] if "-c" in options else [])], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    error = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, process.returncode == 0, error


def text_bytes(objects):
    lines = subprocess.run(["size", *objects], capture_output=True, text=True, check=True).stdout.splitlines()[1:]
    return sum(int(line.split()[0]) for line in lines)


def measure(program, compiler, level, tree, folder, defines=()):
    """{seconds, MiB, text}, or None where it does not compile, as a program that uses what is newer than the tree."""
    options = ["-std=c++20", "-w", "-pthread", "-DNDEBUG", f"-I{tree}", *defines, *([level] if level == "-fsyntax-only" else [level, "-c"])]
    files = program.files or {"program.cpp": program.text}
    for name, text in files.items():
        (folder / name).write_text(text)
    seconds, peak, objects = 0.0, 0.0, []
    for name in files:
        if not name.endswith(".cpp") or (name == SETS_FILE and "-DALLOT_COMPILED" not in defines):
            continue
        out = folder / (name + ".o")
        took, memory, good, _ = compile_once(compiler, options, folder / name, out)
        if not good:
            return None
        seconds, peak = seconds + took, max(peak, memory)
        objects.append(out)
    if program.files and "-DALLOT_COMPILED" in defines:
        seconds += measure(LIBRARY, compiler, level, tree, folder)["seconds"]
    return {"seconds": seconds, "MiB": peak, "text": text_bytes(objects) if "-c" in options else 0}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", default="c422f2c0", help="the commit to compare with")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--compilers", nargs="+", default=["g++", "clang++"])
    parser.add_argument("--levels", nargs="+", default=list(LEVELS), metavar="LEVEL", help="of " + " ".join(LEVELS).replace("-", ""))
    parser.add_argument("--only", default=".", metavar="REGEX", help="the programs whose names match")
    parser.add_argument("--seed", default="allot", help="of the five sets")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    levels = [level if level.startswith("-") else "-" + level for level in args.levels]

    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        trees = {"now": ROOT / "include", "compiled": ROOT / "include", "base": folder / "base" / "include"}
        (folder / "base").mkdir()
        archive = subprocess.run(["git", "-C", ROOT, "archive", args.base, "include"], capture_output=True, check=True).stdout
        subprocess.run(["tar", "x", "-C", folder / "base"], input=archive, check=True)
        results = []
        for program in programs(args.seed):
            if not re.search(args.only, program.name):
                continue
            for compiler in args.compilers:
                for level in levels:
                    found = {which: [] for which in trees}
                    for _ in range(args.rounds):
                        for which, tree in trees.items():
                            if which == "now" or (program.ours and program is not LIBRARY):
                                found[which].append(measure(program, compiler, level, tree, folder,
                                                            {"now": (), "compiled": ("-DALLOT_COMPILED",), "base": NO_LISTS}[which]))
                    if None in found["now"]:
                        print(f"{program.name}: does not compile by {compiler}", file=sys.stderr)
                        continue
                    row = {"program": program.name, "compiler": compiler, "level": level}
                    row |= {key: statistics.median(each[key] for each in found["now"]) for key in ("seconds", "MiB", "text")}
                    if found["compiled"]:
                        row |= {f"compiled {key}": statistics.median(each[key] for each in found["compiled"]) for key in ("seconds", "text")}
                    if found["base"] and None not in found["base"]:
                        for which, name in (("now", "of base"), ("compiled", "compiled of base")):
                            pairs = zip(found[which], found["base"])
                            row[name] = statistics.median(one["seconds"] / base["seconds"] for one, base in pairs)
                        row["text of base"] = row["text"] / base["text"] if (base := found["base"][-1])["text"] else None
                    results.append(row)
                    print(f"{row['program']:44} {compiler:8} {level:14} {row['seconds']:6.2f} s {row['MiB']:5.0f} MiB "
                          f"{row['text']:8.0f} B  {number(row.get('of base'))} of base; compiled "
                          f"{number(row.get('compiled seconds'))} s, {number(row.get('compiled of base'))}", file=sys.stderr, flush=True)

    def kib(bytes_):
        return f"{bytes_ / 1024:.0f}" if bytes_ else "-"

    for line in table(["program", "compiler", "level", "s", "MiB", "text, KiB", f"s, of {args.base}", f"text, of {args.base}", "compiled: s",
                       "text, KiB", f"s, of {args.base}"],
                      [[r["program"], r["compiler"], r["level"].lstrip("-"), number(r["seconds"]), f"{r['MiB']:.0f}", kib(r["text"]),
                        number(r.get("of base")), number(r.get("text of base")), number(r.get("compiled seconds")),
                        kib(r.get("compiled text")), number(r.get("compiled of base"))] for r in results]):
        print(line)
    if args.json:
        args.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
