#!/usr/bin/env python3
"""What an umbrella header costs a user: lines after preprocessing, and seconds beside <atomic> <mutex> <new>.

Lines are those of g++ -E, markers included; seconds are processor time of -fsyntax-only, as a ratio to the three std headers:
the median of rounds that compile both, one after the other. Exit code 1 when a ceiling is exceeded. The ceilings of lines are a
tenth above the counts of their day, and hold in the full run only (ALLOT_TEST_EXTENT)."""
import os
import pathlib
import resource
import statistics
import subprocess
import sys

compiler = os.environ.get("CXX", "c++")
include = os.environ.get("ALLOT_INCLUDE", str(pathlib.Path(__file__).resolve().parents[2] / "include"))
STD = ("atomic", "mutex", "new")
CEILINGS = {  # lines, seconds as a multiple of STD's
    "allot/row_manager.hpp": (60_500, 2.2),
    "allot/chunk_arena.hpp": (56_700, 2.2),
    "allot/buffers.hpp": (55_500, 2.2),
    "allot/device_allocator.hpp": (59_400, 2.2),
    "allot/device_rows.hpp": (64_600, 2.4),
}
IS_FULL = os.environ.get("ALLOT_TEST_EXTENT") == "full"
ROUNDS = 15 if IS_FULL else 3
if not IS_FULL:  # those that a user includes first, and the largest
    CEILINGS = {header: CEILINGS[header] for header in ("allot/row_manager.hpp", "allot/device_rows.hpp")}


def run(headers, *options):
    source = pathlib.Path("headers.cpp")
    source.write_text("".join(f"#include <{header}>\n" for header in headers))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([compiler, "-std=c++20", "-I", include, *options, source], check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout.count("\n"), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if "g++" not in pathlib.Path(compiler).name:
    sys.exit(77)  # the ceilings are g++'s
ratios = {header: [] for header in CEILINGS}
for _ in range(ROUNDS):
    for header in CEILINGS:
        ratios[header].append(run((header,), "-fsyntax-only")[1] / run(STD, "-fsyntax-only")[1])
wrong = False
for header, (max_lines, max_ratio) in CEILINGS.items():
    lines, ratio = run((header,), "-E")[0], statistics.median(ratios[header])
    bad = (IS_FULL and lines > max_lines) or ratio > max_ratio
    wrong |= bad
    print(f"{header}: {lines} lines (at most {max_lines}), {ratio:.2f} times {' '.join(STD)} (at most {max_ratio})"
          f"{'  TOO MUCH' if bad else ''}")
sys.exit(wrong)
