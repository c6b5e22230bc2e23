#!/usr/bin/env python3
"""Puts named bugs back into a copy of the headers and asks that a test goes red: a test that would not notice is none.

    run.py                 a few bugs, for every run of the tests (the same as --smoke)
    run.py --all           all of them
    run.py NAME...         these
    run.py --room ROOM...  those of these rooms: a room is a folder of include/allot, or model
    run.py --list          tells their names
    --jobs N               asks N tests at a time (1)

A bug is a replacement or two in one header (table/); the text must be there exactly once, so a bug that no longer fits the
code is told. Weaker orders, which no processor of this kind shows, are put into the models of the lock-free parts instead.
Every test that is asked must be green with the headers as they are. A test is red when it fails, crashes, or does not end.
The compiler is CXX, the headers are in ALLOT_INCLUDE, or beside tests/.
"""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from table import BUGS

TESTS = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = pathlib.Path(os.environ.get("ALLOT_INCLUDE", TESTS.parent / "include"))
CXX = os.environ.get("CXX", "g++")
SMOKE = ["ledger_adds_then_checks", "summary_bit_not_set_again", "cut_one_slot_too_many"]
CHECKED = {"death/accounts.cpp", "death/buffers.cpp", "death/rows.cpp"}
# Those that run longer than they compile, and one that counts instructions: -O0 would not pay.
OPTIMISED = "bugs/", "model/", "threads/", "process/", "unit/buffer/owners.cpp"
# For tests of cuda/: a toolkit with CCCL.
CUDA = next((p for p in map(pathlib.Path, (os.environ.get("CUDA_HOME", "/usr/local/cuda"), "/usr/local/cuda", "/opt/cuda"))
             if (p / "include/cccl/cuda/memory_resource").exists()), None)
RELACY = any(pathlib.Path(at, "relacy/relacy.hpp").exists() for at in ("/usr/include", "/usr/local/include"))
# A test that does not end spins, or stands still: told by processor time, so that a busy machine makes no test red. The slowest
# green one needs 10 s; none uses less than a hundredth of a processor for LOOKS looks.
MOST_SECONDS = 45
LOOK_SECONDS, LOOKS = 5, 5
ENDLESS = "did not end: "


def is_cuda(test):
    return test.startswith("cuda/")


def room(bug):
    return BUGS[bug][1].split("/")[0]


def origin(bug):
    """The file that the bug changes."""
    return (TESTS if room(bug) == "model" else INCLUDE / "allot") / BUGS[bug][1]


def stands(bug):
    """True when each text that the bug replaces stands in its header, once."""
    text = origin(bug).read_text() if origin(bug).exists() else ""
    return all(text.count(before) == 1 for before in BUGS[bug][2::2])


def planted(bug, folder):
    """Folders with the bug in them, to be looked into first: of headers, of tests."""
    text = origin(bug).read_text()
    for before, after in zip(BUGS[bug][2::2], BUGS[bug][3::2]):
        text = text.replace(before, after)
    if room(bug) == "model":  # its files include each other from beside them
        shutil.copytree(TESTS / "model", folder / "model")
        (folder / BUGS[bug][1]).write_text(text)
        return INCLUDE, folder
    target = folder / "allot" / BUGS[bug][1]
    target.parent.mkdir(parents=True)
    target.write_text(text)
    return folder, TESTS


def compiled(test, folder, first=INCLUDE, tests=TESTS):
    """The test's program, or why there is none."""
    program = folder / "program"
    command = [CXX, "-std=c++20", "-O1" if test.startswith(OPTIMISED) else "-O0", "-w", "-pthread",
               f"-DALLOT_CHECKED={int(test in CHECKED)}", f"-I{first}", f"-I{INCLUDE}", f"-I{TESTS / 'bugs/mini'}", f"-I{TESTS}", f"-I{TESTS.parent / 'bench'}",
               str(tests / test), "-o", str(program)]
    if is_cuda(test):
        command += ["-isystem", CUDA / "include", "-isystem", CUDA / "include/cccl", "-DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP"]
    made = subprocess.run(command, capture_output=True, text=True)
    return program, made.stderr[-3000:] if made.returncode != 0 else ""


def seconds_used(process):
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def outcome(program):
    """Whether the program is red, with what it said last."""
    with subprocess.Popen([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
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


def ask(test, bugs):
    """Looks for these bugs of one test; gives back, for each, whether it was found, and what was said."""
    found = {}

    def tell(bug, good, said):
        found[bug] = good, said
        print(f"{bug}: {said}", flush=True)

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program, wrong = compiled(test, folder)
        bad, said = (True, f"does not compile:\n{wrong}") if wrong else outcome(program)
        for bug in bugs:
            if bad:
                tell(bug, False, f"NOT ASKED: {test} is red without any bug: {said}")
            elif stands(bug):
                place = folder / bug
                program, wrong = compiled(test, folder, *planted(bug, place))
                good, last = (False, "") if wrong else outcome(program)
                tell(bug, good, f"{test} does not compile with it:\n{wrong}" if wrong else
                     f"found by {test} ({last})" if good else f"NOT FOUND by {test}")
    return found


def asked(names):
    """Those of them that can be asked here."""
    if not RELACY:
        print("no relacy: bugs of the models are left out")
        names = [bug for bug in names if room(bug) != "model"]
    if CUDA is None:
        print("no CUDA toolkit with CCCL: bugs of cuda::mr and Thrust are left out")
        names = [bug for bug in names if not is_cuda(BUGS[bug][0])]
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--room", nargs="+", default=[], metavar="ROOM", choices=sorted({room(bug) for bug in BUGS}))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in BUGS]:
        parser.error(f"no bug: {' '.join(unknown)}")
    names = list(dict.fromkeys(options.names + [bug for bug in BUGS if options.all or room(bug) in options.room]))
    if options.list:
        print("\n".join(names or BUGS))
        return 0
    names = asked(names or SMOKE)
    stale = [bug for bug in BUGS if not stands(bug)]
    for bug in stale:
        print(f"{bug}: {BUGS[bug][1]} has changed; the bug's texts no longer stand there")
    tests = {}
    for bug in names:
        tests.setdefault(BUGS[bug][0], []).append(bug)
    results = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for found in pool.map(ask, tests.keys(), tests.values()):
            results |= found
    good = [bug for bug in results if results[bug][0]]
    endless = sum(ENDLESS in results[bug][1] for bug in good)
    print(f"{len(good)} of {len(names)} bugs found ({endless} because a test did not end), of {len(BUGS)} known")
    return 0 if len(good) == len(names) and not stale else 1


if __name__ == "__main__":
    sys.exit(main())
