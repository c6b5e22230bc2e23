#!/usr/bin/env python3
"""Runs tests again and again under several conditions, and reports those whose result differs.

    tests/luck.py                          every test of build/test, 5 times in each condition
    tests/luck.py LABEL...                 those with one of these labels
    --only REGEX                           those whose names have it
    --build FOLDER                         the tests of another build folder
    --times N                              N times in each condition
    --as quiet,busy,one-core,slow-disk     these conditions
    --jobs N                               N tests at a time
    --seconds N                            starts no test after N seconds; the next call continues
    --again                                forgets the results of these tests in these conditions

busy: beside 8 processes that spin. one-core: all threads of a test on one core. slow-disk: each call that reads, writes or
allocates a part of a file sleeps 1 to 20 ms (tests/support/slow_disk.cpp); not with sanitizers.

Each run is a process of its own, by what ctest knows of the test. Tests that share a fixture run after each other, setup first.
FOLDER/luck.json keeps passes, failures and the output of each failure. Reported: tests that failed, and in busy those
that need more than a tenth of their TIMEOUT. Exit code 0: no test failed; 1: some did; 2: wrong command line.
"""
import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

TESTS = pathlib.Path(__file__).resolve().parent
CONDITIONS = ("quiet", "busy", "one-core", "slow-disk")
SPINNERS = 8
SPIN = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    for _ in range(1000000): pass"
KEPT = 4000  # characters of the output of a failure
TIMED_OUT = 137  # as timeout(1) exits that has killed


class Test:
    def __init__(self, told):
        self.name, self.command = told["name"], told.get("command")
        self.properties = {p["name"]: p["value"] for p in told.get("properties", [])}

    def list_of(self, name):
        return self.properties.get(name, [])

    def is_asked(self, options):
        return ((not options.labels or set(options.labels) & set(self.list_of("LABELS")))
                and re.search(options.only, self.name) and self.command is not None)

    def timeout(self):
        return self.properties.get("TIMEOUT", 1500)

    def outcome(self, code, output):
        """passed, failed or skipped, as ctest would say."""
        def has(name):
            return any(re.search(regex, output) for regex in self.list_of(name))
        if code != TIMED_OUT and (code == self.properties.get("SKIP_RETURN_CODE") or has("SKIP_REGULAR_EXPRESSION")):
            return "skipped"
        good = has("PASS_REGULAR_EXPRESSION") if "PASS_REGULAR_EXPRESSION" in self.properties else code == 0
        if code == TIMED_OUT or has("FAIL_REGULAR_EXPRESSION"):
            return "failed"
        return "passed" if good != self.properties.get("WILL_FAIL", False) else "failed"


def tests_of(build):
    said = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    return [Test(told) for told in json.loads(said.stdout)["tests"]]


def groups(every, options):
    """Lists of tests that run after each other: those that share fixtures, setups first."""
    asked = [test for test in every if test.is_asked(options)]
    needed = {fixture for test in asked for fixture in test.list_of("FIXTURES_REQUIRED")}
    asked = [test for test in every if test in asked or needed & set(test.list_of("FIXTURES_SETUP"))]
    found = []
    for test in asked:
        fixtures = {*test.list_of("FIXTURES_REQUIRED"), *test.list_of("FIXTURES_SETUP")}
        same = [group for group in found if group[0] & fixtures]
        found = [group for group in found if group not in same]
        found.append((fixtures.union(*(g[0] for g in same)), [t for g in same for t in g[1]] + [test]))
    return [sorted(tests, key=lambda test: not test.list_of("FIXTURES_SETUP")) for _, tests in found]


class Build:
    def __init__(self, folder):
        self.folder = folder
        cache = (folder / "CMakeCache.txt").read_text() if (folder / "CMakeCache.txt").exists() else ""
        self.cache = dict(re.findall(r"^(\w+):\w+=(.*)$", cache, re.MULTILINE))

    def sanitizer(self):
        return self.cache.get("ALLOT_SANITIZE", "")

    def environment(self):
        """What the presets of ctest set."""
        presets = json.loads((TESTS.parent / "CMakePresets.json").read_text())["testPresets"]
        return {name: value for preset in presets for name, value in preset.get("environment", {}).items()}

    def slow_disk(self):
        library = self.folder / "luck_slow_disk.so"
        subprocess.run([self.cache.get("CMAKE_CXX_COMPILER", "c++"), "-O1", "-shared", "-fPIC", TESTS / "support/slow_disk.cpp",
                        "-o", library, "-ldl"], check=True)
        return library


class Results:
    """{test: {condition: {"passed": n, "failed": n, "skipped": n, "most_seconds": s, "outputs": [...]}}}, in a file."""

    def __init__(self, file):
        self.file, self.lock, self.saved = file, threading.Lock(), time.monotonic()
        self.of = json.loads(file.read_text()) if file.exists() else {}

    def at(self, name, condition):
        new = {"passed": 0, "failed": 0, "skipped": 0, "most_seconds": 0, "outputs": []}
        return self.of.setdefault(name, {}).setdefault(condition, new)

    def runs(self, name, condition):
        return sum(self.at(name, condition)[outcome] for outcome in ("passed", "failed", "skipped"))

    def forget(self, name, condition):
        self.of.get(name, {}).pop(condition, None)

    def add(self, name, condition, outcome, seconds, output):
        with self.lock:
            result = self.at(name, condition)
            result[outcome] += 1
            result["most_seconds"] = round(max(result["most_seconds"], seconds), 2)
            if outcome == "failed":
                result["outputs"].append(output[-KEPT:])
            if time.monotonic() - self.saved > 5:
                self.save()

    def save(self):
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps(self.of, indent=1) + "\n")
        new.replace(self.file)
        self.saved = time.monotonic()


@contextlib.contextmanager
def circumstances(condition, build):
    """A prefix of commands and an environment."""
    prefix, environment, spinners = [], os.environ | build.environment(), []
    bits = pathlib.Path("/proc/sys/vm/mmap_rnd_bits")
    if build.sanitizer() == "thread" and bits.exists() and int(bits.read_text()) > 28:
        prefix = ["setarch", "-R"]
    if condition == "busy":
        spinners = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(SPINNERS)]
    elif condition == "one-core":
        prefix += ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    elif condition == "slow-disk":
        environment["LD_PRELOAD"] = str(build.slow_disk())
    try:
        yield prefix, environment
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


class Deadline:
    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def is_past(self):
        return time.monotonic() > self.end


def run(test, prefix, environment):
    """Its outcome, seconds and output."""
    environment = environment | dict(pair.split("=", 1) for pair in test.list_of("ENVIRONMENT"))
    begin = time.monotonic()
    done = subprocess.run(["timeout", "--signal=KILL", str(test.timeout()), *prefix, *test.command], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment,
                          cwd=test.properties.get("WORKING_DIRECTORY"))
    code = TIMED_OUT if done.returncode == -9 else done.returncode
    said = f"\nno end after {test.timeout()} s, or killed" if code == TIMED_OUT else f"\nexit code {code}"
    return test.outcome(code, done.stdout), time.monotonic() - begin, done.stdout + said


def repeat(group, condition, around, times, deadline, results):
    """Returns: whether nothing of it is left."""
    while any(results.runs(test.name, condition) < times for test in group):
        if deadline.is_past():
            return False
        for test in group:
            results.add(test.name, condition, *run(test, *around))
    return True


def report(asked, conditions, results):
    """Prints what differs; returns whether anything does."""
    rows, slow = [("test", "condition", "passed", "failed")], []
    for name in sorted({test.name: test for test in asked}):
        for condition in conditions:
            result = results.at(name, condition)
            if result["failed"]:
                rows.append((name, condition, str(result["passed"]), str(result["failed"])))
    for test in asked:
        seconds = results.at(test.name, "busy")["most_seconds"] if "busy" in conditions else 0
        if 10 * seconds > test.timeout():
            slow.append(f"{test.name}: {seconds} s beside busy processes, its TIMEOUT is {test.timeout():.0f} s")
    if len(rows) > 1:
        widths = [max(map(len, column)) for column in zip(*rows)]
        print(*("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows), sep="\n")
    print(*slow, sep="\n", end="\n" * bool(slow))
    print(f"{len({row[0] for row in rows[1:]})} differ, of {len(asked)} tests; outputs: {results.file}")
    return len(rows) > 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labels", nargs="*", metavar="LABEL")
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--build", type=pathlib.Path, default=TESTS.parent / "build/test", metavar="FOLDER")
    parser.add_argument("--times", type=int, default=5, metavar="N")
    parser.add_argument("--as", dest="conditions", type=lambda text: text.split(","), default=list(CONDITIONS), metavar="CONDITION,...")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    parser.add_argument("--seconds", type=float, default=float("inf"), metavar="N")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    if unknown := set(options.conditions) - set(CONDITIONS):
        parser.error(f"no condition {', '.join(unknown)}; use {', '.join(CONDITIONS)}")
    build = Build(options.build.resolve())
    if build.sanitizer() and "slow-disk" in options.conditions:
        print("slow-disk is left out: the library is not preloaded into programs with sanitizers")
        options.conditions.remove("slow-disk")
    runs = groups(tests_of(build.folder), options)
    asked = [test for group in runs for test in group]
    if not asked:
        parser.error("no test of these labels and names is built")
    results, deadline, complete = Results(build.folder / "luck.json"), Deadline(options.seconds), True
    for condition in options.conditions:
        for test in asked if options.again else ():
            results.forget(test.name, condition)
        with circumstances(condition, build) as around, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            try:
                waits = [pool.submit(repeat, group, condition, around, options.times, deadline, results) for group in runs]
                complete = all([wait.result() for wait in waits]) and complete
            except BaseException:  # the others end, too
                deadline.end = 0
                raise
            finally:
                results.save()
    differs = report(asked, options.conditions, results)
    if not complete:
        print("not all runs were made; run again to continue")
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
