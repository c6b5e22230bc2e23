#!/usr/bin/env python3
"""What an umbrella header costs a user: lines after preprocessing, and seconds beside <atomic> <mutex> <new>.

Lines are those of g++ -E, markers included; seconds are processor time of -fsyntax-only, the least of some runs, as a ratio
to the three std headers in the same runs. Exit code 1 when a ceiling is exceeded. The ceilings of lines are a tenth above the
counts of their day, and hold in the full run only (ALLOT_TEST_EXTENT)."""
import os
import pathlib
import resource
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
RUNS = 4
IS_FULL = os.environ.get("ALLOT_TEST_EXTENT") == "full"
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
least = {}
for _ in range(RUNS):
    for header in (*CEILINGS, STD):
        headers = header if header is STD else (header,)
        least[header] = min(least.get(header, 1e9), run(headers, "-fsyntax-only")[1])
wrong = False
for header, (max_lines, max_ratio) in CEILINGS.items():
    lines, ratio = run((header,), "-E")[0], least[header] / least[STD]
    bad = (IS_FULL and lines > max_lines) or ratio > max_ratio
    wrong |= bad
    print(f"{header}: {lines} lines (at most {max_lines}), {ratio:.2f} times {' '.join(STD)} (at most {max_ratio})"
          f"{'  TOO MUCH' if bad else ''}")
sys.exit(wrong)
