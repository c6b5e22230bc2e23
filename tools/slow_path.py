#!/usr/bin/env python3
"""Which functions a request crosses: on the way from a refused request to memory (the ladder), or in one scenario.

    tools/slow_path.py                            the ladder's functions of six lines and more: file:line, lines, name
    tools/slow_path.py --sample 10 --seed COMMIT  ten of them, the same ones for the same seed: for a cold reader
    tools/slow_path.py --scenarios                files and functions that each scenario crosses; --verbose lists them

slow_path_probe.cpp is built with -O0 and nothing inlined, and run under callgrind, once per scenario, which collects one
call: what is printed was executed. The ladder is what the rows' scenarios cross (LADDER), less what a warm allocate, release and
charge cross; with --root, only what is reached from functions whose name matches. A function counts once for all its instances,
and a lambda or a local class as part of the function that it is in. Functions of the standard library do not count.
Needs g++ and valgrind. --include takes another tree of headers with the same public interface.
"""
import argparse
import concurrent.futures
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
COUNTED = ["warm_allocate", "warm_release", "charge", "refused_charge", "rollback", "compaction"]
WARM = COUNTED[:3]
LADDER = ["row_refused", "row_reclaimed", "row_from_idle", "row_waits", "row_rolled_back"]
NO_INLINE = """#pragma once
#include_next <allot/config.hpp>
#undef ALLOT_ALWAYS_INLINE
#define ALLOT_ALWAYS_INLINE inline __attribute__((noinline))
"""


def build(include, folder):
    overlay = folder / "overlay" / "allot"
    overlay.mkdir(parents=True)
    (overlay / "config.hpp").write_text(NO_INLINE)
    program = folder / "probe"
    subprocess.run(["g++", "-std=c++20", "-O0", "-g", "-w", "-DNDEBUG", "-pthread", f"-I{overlay.parent}", f"-I{include}",
                    HERE / "slow_path_probe.cpp", "-o", program], check=True)
    return program


def profile(program, scenario, folder):
    out = folder / f"{scenario}.out"
    run = subprocess.run(["valgrind", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=probe_step", "--compress-strings=no",
                          "--compress-pos=no", f"--callgrind-out-file={out}", program, scenario], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"slow_path.py: {scenario} failed:\n{run.stderr[-2000:]}")
    return out.read_text()


def without_arguments(name):
    """`allot::x<y>::f(z)` as `allot::x::f`."""
    name = re.sub(r"\boperator(<<|<=>|<=|<|>>|>=|>|->|\(\))", lambda m: "operator" + "".join(f"\\{ord(c)};" for c in m.group(1)), name)
    out, depth = "", 0
    for c in re.sub(r"\{lambda\(.*?\)#\d+\}", "lambda", name.replace("(anonymous namespace)", "anonymous")):
        depth -= c in ">)"
        out += c * (depth == 0 and c not in ">)<(")
        depth += c in "<("
    out = re.sub(r"\\(\d+);", lambda m: chr(int(m.group(1))), out)
    out = re.sub(r"\bv\d+_\d+\w*::| const$", "", out).strip()
    return out if "operator " in out else out.split(" ")[-1]


class Source:
    """Where functions of a file begin and end."""
    def __init__(self, path):
        self.lines = [re.sub(r'"(\\.|[^"\\])*"|\'[^\'0-9a-z]\'|//.*', "", line) for line in path.read_text().splitlines()]

    def is_class(self, line):
        """Of functions that the compiler writes."""
        return re.match(r"\s*(template <.*> *)?(class|struct|union)\b", self.lines[line - 1]) is not None

    def name(self, line):
        match = re.search(r"([~\w]+)\(", self.lines[line - 1])
        return match.group(1) if match else f"line {line}"

    def end(self, line):
        """The last line of the function whose code begins in `line`."""
        text, depth, parentheses = "\n".join(self.lines[line - 1:]), 0, 0
        for at, c in enumerate(text):
            depth += (c == "{") - (c == "}")
            parentheses += ((c == "(") - (c == ")")) * (depth == 0)
            # Behind an initializer's brace is a comma or the body.
            if c == "}" and depth <= 0 and parentheses == 0 and not text[at + 1:at + 200].lstrip().startswith((",", "{")):
                return line + text.count("\n", 0, at)
        return line


def crossed(text):
    """({function: first executed line}, {function: functions called}) of one profile; a function is its file and name."""
    first, calls, here, own_file, file, called_file = {}, {}, None, None, None, None
    for line in text.splitlines():
        if match := re.match(r"(fl|fi|fe|fn|cfi|cfl|cfn)=(.*)", line):
            kind, value = match.groups()
            if kind == "fl":
                own_file = file = value
            elif kind in ("fi", "fe"):
                file = value
            elif kind == "fn":
                here, file = (own_file, value), own_file
                first.setdefault(here, None)
            elif kind in ("cfi", "cfl"):
                called_file = value
            else:
                calls.setdefault(here, set()).add((called_file or file, value))
                called_file = None
        elif re.match(r"\d+ \d+$", line) and here is not None and file == own_file:
            at = int(line.split()[0])
            if at and (first[here] is None or at < first[here]):
                first[here] = at
    return first, calls


class Function:
    def __init__(self, file, line, end, name):
        self.file, self.line, self.end, self.name = file, line, end, name
        self.size = end - line + 1
        self.key = (file, line)


class Tree:
    def __init__(self, include):
        self.include, self.sources = include.resolve(), {}

    def file(self, path):
        try:
            return str(pathlib.Path(path).resolve().relative_to(self.include))
        except ValueError:
            return None

    def functions(self, text, root):
        """{(file, line): Function} of this tree that one profile crosses, from functions whose name matches root."""
        first, calls = crossed(text)
        reached = set(first)
        if root:
            todo = [f for f in first if re.search(root, f[1])]
            reached = set()
            while todo:
                if (f := todo.pop()) not in reached:
                    reached.add(f)
                    todo += calls.get(f, ())
        found = {}
        for path, name in reached:
            file, line = self.file(path), first.get((path, name))
            if file is None or line is None:
                continue
            if file not in self.sources:
                self.sources[file] = Source(self.include / file)
            source = self.sources[file]
            if source.is_class(line):
                continue
            # A name that valgrind could not read is taken from the source.
            name = source.name(line) if name.startswith("_Z") else without_arguments(name)
            found.setdefault((file, line), Function(file, line, source.end(line), name))
        within = lambda f, g: f.file == g.file and f.key != g.key and g.line <= f.line and f.end <= g.end
        return {k: f for k, f in found.items() if not any(within(f, g) for g in found.values())}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--include", type=pathlib.Path, default=HERE.parent / "include", help="the tree of headers")
    parser.add_argument("--root", metavar="REGEX", help="only what functions with such a name reach")
    parser.add_argument("--least", type=int, default=6, metavar="LINES", help="the shortest function that is listed")
    parser.add_argument("--sample", type=int, metavar="N")
    parser.add_argument("--seed", default="", metavar="COMMIT")
    parser.add_argument("--scenarios", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()

    names = COUNTED + LADDER if options.scenarios else WARM + LADDER
    tree = Tree(options.include)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        program = build(options.include, folder)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            texts = dict(zip(names, pool.map(lambda name: profile(program, name, folder), names)))
    found = {name: tree.functions(text, options.root if name in LADDER else None) for name, text in texts.items()}
    if options.scenarios:
        for name in names:
            functions = found[name].values()
            sizes = ", ".join(f"{sum(f.size >= n for f in functions)} of {n} lines and more" for n in (3, options.least))
            print(f"{name}: {len({f.file for f in functions})} files, {len(functions)} functions, {sizes}")
            for f in sorted(functions, key=lambda f: f.key) if options.verbose else ():
                print(f"    {f.file}:{f.line} {f.name} {f.size}")
        return
    warm = {key for name in WARM for key in found[name]}
    ladder = {key: f for name in LADDER for key, f in found[name].items() if key not in warm and f.size >= options.least}
    chosen = sorted(ladder.values(), key=lambda f: f.key)
    if options.sample:
        # A sum of seed, file and name, so that it does not depend on lines.
        of = lambda f: hashlib.sha256(f"{options.seed} {f.file} {f.name}".encode()).hexdigest()
        chosen = sorted(chosen, key=of)[:options.sample]
    for f in chosen:
        print(f"{f.file}:{f.line}\t{f.size}\t{f.name}")
    print(f"{len(chosen)} of {len(ladder)} functions in {len({f.file for f in ladder.values()})} files", file=sys.stderr)


if __name__ == "__main__":
    main()
