#!/usr/bin/env python3
"""Puts named bugs into a copy of the headers and asks that a test goes red: a test that would not notice is none.

    run.py                 those of every run of the tests (the same as --smoke): one at least of each law
    run.py --all           all of them
    run.py NAME...         these
    run.py --room ROOM...  those of these rooms (table/)
    run.py --check         compiles nothing: tells which bugs no longer fit the code
    run.py --list          prints their names by law (docs/house.md, section 4)
    --jobs N               asks N tests at a time (1)

A bug replaces sequences of C++ tokens (source.py, table/). It names no file and no line: the sequence must occur once in
include/allot, so it survives reformatting and moves between files. The tables hold plain identifiers, so a scripted rename
over the repository (git grep -l OLD | xargs sed -i s/OLD/NEW/) renames them along. A bug that no longer fits is an error in
every run. So are more than MOST_BUGS, a law that no bug of the smoke breaks, and a name in docs/lock-free.md that no bug
has. Weaker orders, which x86 does not show, are put into the models of the lock-free parts (tests/model), or into headers
that a model runs.

Every test that is asked must be green without a bug. It is red when it fails, crashes, or does not end. The compiler is CXX,
the headers are in ALLOT_INCLUDE, or beside tests/.
"""
import argparse
import concurrent.futures
import contextlib
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

from source import Source, sequence
from table import BUGS, ROOM_OF, ROOMS

TESTS = pathlib.Path(__file__).resolve().parent.parent
DOCS = TESTS.parent / "docs"
INCLUDE = pathlib.Path(os.environ.get("ALLOT_INCLUDE", TESTS.parent / "include")).resolve()
CXX = os.environ.get("CXX", "g++")
# Those that run longer than they compile, and one that counts instructions: -O0 would not pay.
OPTIMISED = "bugs/", "model/", "threads/", "process/", "unit/buffer/owners.cpp"
# The models of lock-free parts need it.
RELACY = next((p for p in map(pathlib.Path, ("/usr/include", "/usr/local/include", TESTS.parent / "build/deps/root/usr/include"))
               if (p / "relacy/relacy.hpp").exists()), None)
MOST_BUGS = 150  # each is an exact text that every change of the code must carry along
RUNS_OF_THREADS = 3  # at most: beside other work a race may not happen in one run
# A test that does not end spins, or stands still: told by processor time, so that a busy machine makes no test red. The slowest
# green one needs 11 s; none uses less than a hundredth of a processor for LOOKS looks.
MOST_SECONDS = 45
LOOK_SECONDS, LOOKS = 5, 5
ENDLESS = "did not end: "


class Tree:
    """A folder of sources that bugs are put into."""

    def __init__(self, root, folder):
        self.root = root
        self.sources = {file.relative_to(root): Source(file.read_text()) for file in sorted((root / folder).rglob("*.?pp"))}

    def places(self, before, within):
        wanted = sequence(before)
        return [(path, *span) for path, source in self.sources.items() for span in source.spans(wanted, within)]

    def problem(self, bug):
        """Why the bug does not fit, or nothing."""
        if not (TESTS / bug.test).exists():
            return f"no test {bug.test}"
        for before, _ in bug.changes:
            if len(found := self.places(before, bug.within)) != 1:
                where = "".join(f", {path}" for path, *_ in found)
                return f"found {len(found)} times{where}: {' '.join(before.split())}"
        return ""

    def plant(self, bug, folder):
        """Makes `folder` a copy with the bug in it; gives it back."""
        changes = {}
        for before, after in bug.changes:
            path, *span = self.places(before, bug.within)[0]
            changes.setdefault(path, []).append((*span, after))
        shutil.copytree(self.root, folder, copy_function=os.symlink)
        for path, spans in changes.items():
            text = self.sources[path].text
            for begin, end, after in sorted(spans, reverse=True):
                text = text[:begin] + after + text[end:]
            (folder / path).unlink()
            (folder / path).write_text(text)
        return folder


HEADERS = Tree(INCLUDE, "allot")
MODELS = Tree(TESTS / "model", ".")


def tree_of(name):
    return MODELS if ROOM_OF[name] == "model" else HEADERS


def compiled(test, folder, include=INCLUDE, source=None):
    """How to run the test, and why it cannot be run. One that is a script compiles for itself."""
    if test.endswith(".py"):
        return ["env", f"CXX={CXX}", f"ALLOT_INCLUDE={include}", sys.executable, TESTS / test], ""
    program = folder / "program"
    command = [CXX, "-std=c++20", "-O1" if test.startswith(OPTIMISED) else "-O0", "-w", "-pthread", "-include", "atomic",
               "-include", "sched.h", f"-DALLOT_CHECKED={int(test.startswith(('death/', 'model/pages')))}",
               f"-DALLOT_FAULTS={int(test.startswith('model/') and 'relacy' not in test)}", f"-I{include}",
               f"-I{TESTS / 'bugs/mini'}", f"-I{TESTS}", f"-I{TESTS.parent / 'bench'}", source or TESTS / test, "-o", program]
    if test.startswith("model/relacy"):
        command.append(f"-I{RELACY}")
    made = subprocess.run(command, capture_output=True, text=True)
    return [program], made.stderr[-3000:] if made.returncode != 0 else ""


def compiled_with(name, folder):
    """The same with this bug."""
    test, place = BUGS[name].test, tree_of(name).plant(BUGS[name], folder / name)
    if tree_of(name) is MODELS:
        return compiled(test, folder, source=place / pathlib.Path(test).name)
    return compiled(test, folder, include=place)


def seconds_used(group):
    """Of all processes of the group: the compiler that a script waits for is one."""
    ticks = 0
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            fields = stat.read_text().rsplit(")", 1)[1].split()
            ticks += sum(map(int, fields[11:15])) if int(fields[2]) == group else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def outcome(command):
    """Whether it is red, with what it said last."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          start_new_session=True) as run:
        used = [-1.0] * LOOKS
        while run.returncode is None:
            try:
                said = run.communicate(timeout=LOOK_SECONDS)[0].strip().splitlines()
            except subprocess.TimeoutExpired:
                used = used[1:] + [seconds_used(run.pid)]
                still = used[-1] - used[0] < LOOK_SECONDS * LOOKS / 100
                if still or used[-1] > MOST_SECONDS:
                    os.killpg(run.pid, signal.SIGKILL)
                    return True, ENDLESS + ("it stood still" if still else f"{MOST_SECONDS} s of processor time")
    return run.returncode != 0, said[-1] if said else f"exit code {run.returncode}"


def ask(test, names):
    """Looks for these bugs of one test; gives back, for each, whether it was found, and what was said."""
    found = {}

    def tell(name, good, said):
        found[name] = good, said
        print(f"{name}: {said}", flush=True)

    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        command, wrong = compiled(test, folder)
        bad, said = (True, f"does not compile:\n{wrong}") if wrong else outcome(command)
        for name in names:
            if bad:
                tell(name, False, f"NOT ASKED: {test} is red without any bug: {said}")
                continue
            command, wrong = compiled_with(name, folder)
            good, last = False, ""
            for _ in range(0 if wrong else RUNS_OF_THREADS if test.startswith("threads/") else 1):
                good, last = outcome(command)
                if good:
                    break
            if last.startswith("subprocess.CalledProcessError"):  # by a script, of its compiler
                good, wrong = False, last
            tell(name, good, f"{test} does not compile with it:\n{wrong}" if wrong else
                 f"found by {test} ({last})" if good else f"NOT FOUND by {test}")
    return found


def asked(names):
    """Those of them that can be asked here."""
    if RELACY is None:
        print("no relacy: bugs of the models of lock-free parts are left out")
        names = [name for name in names if not BUGS[name].test.startswith("model/relacy")]
    return names


def laws():
    """{number: title}, as docs/house.md has them."""
    section = (DOCS / "house.md").read_text().split("\n## 4. Laws\n")[1].split("\n## ")[0]
    return {int(number): title for number, title in re.findall(r"^(\d+)\. \*\*(.+?)\.?\*\*", section, re.MULTILINE)}


LAWS = laws()


def list_by_law(names):
    for law, title in LAWS.items():
        if of_law := [name for name in names if BUGS[name].law == law]:
            print(f"{law}. {title}", *of_law, sep="\n    ")


def gaps():
    """Prints what the tables and the docs lack of each other; returns whether that is anything."""
    wrong = [f"{len(BUGS)} bugs are planted, at most {MOST_BUGS} may be"] if len(BUGS) > MOST_BUGS else []
    wrong += [f"{name}: law {bug.law} is not in docs/house.md" for name, bug in BUGS.items() if bug.law not in LAWS]
    for law, title in LAWS.items():
        if not any(bug.law == law and bug.smoke for bug in BUGS.values()):
            wrong.append(f"no bug of the smoke breaks law {law}: {title}")
    for line in (DOCS / "lock-free.md").read_text().splitlines():
        last = line.rstrip(" |").rsplit(" | ", 1)[-1] if line.startswith("|") else ""
        wrong += [f"docs/lock-free.md: no bug {name}" for name in re.findall(r"`(\w+)`", last) if name not in BUGS]
    print(*wrong, sep="\n", end="\n" * bool(wrong))
    return bool(wrong)


def stale():
    """Tells the bugs that no longer fit the code; gives back their names."""
    found = []
    for name, bug in BUGS.items():
        if problem := tree_of(name).problem(bug):
            print(f"{name}: does not fit the code: {problem}")
            found.append(name)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--room", nargs="+", default=[], metavar="ROOM", choices=ROOMS)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in BUGS]:
        parser.error(f"no bug: {' '.join(unknown)}")
    names = list(dict.fromkeys(options.names + [name for name in BUGS if options.all or ROOM_OF[name] in options.room]))
    if options.list:
        list_by_law(names or BUGS)
        return 0
    unfit, lacks = stale(), gaps()
    if options.check:
        print(f"{len(BUGS) - len(unfit)} of {len(BUGS)} bugs fit the code")
        return 1 if unfit or lacks else 0
    names = [name for name in asked(names or [name for name, bug in BUGS.items() if bug.smoke]) if name not in unfit]
    tests = {}
    for name in names:
        tests.setdefault(BUGS[name].test, []).append(name)
    results = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for found in pool.map(ask, tests.keys(), tests.values()):
            results |= found
    good = [name for name in results if results[name][0]]
    endless = sum(ENDLESS in results[name][1] for name in good)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{len(good)} of {len(names)} bugs found ({endless} because a test did not end), of {len(BUGS)} known; "
          f"{used.ru_utime + used.ru_stime:.0f} s of processor time")
    return 0 if len(good) == len(names) and not unfit and not lacks else 1


if __name__ == "__main__":
    sys.exit(main())
