#!/usr/bin/env python3
"""What an umbrella header costs a user: lines after preprocessing, and the memory that g++ takes for it beside <atomic> <mutex> <new>.

Lines are those of g++ -E, markers included. Memory is what g++ allocates for all it has read (-ftime-report); it grows with what is
declared and instantiated, as the time does, and does not depend on what else runs. Exit code 1 when a ceiling is exceeded: ceilings of
lines are a tenth above the counts of their day, those of memory a twentieth. Lines hold in the full run only (ALLOT_TEST_EXTENT)."""
import os
import pathlib
import re
import subprocess
import sys

compiler = os.environ.get("CXX", "c++")
include = os.environ.get("ALLOT_INCLUDE", str(pathlib.Path(__file__).resolve().parents[2] / "include"))
STD = ("atomic", "mutex", "new")
CEILINGS = {  # lines, memory as a multiple of STD's
    "allot/row_manager.hpp": (60_500, 1.97),
    "allot/chunk_arena.hpp": (56_700, 1.79),
    "allot/buffers.hpp": (55_500, 1.89),
    "allot/device_allocator.hpp": (59_400, 1.69),
    "allot/device_rows.hpp": (64_600, 2.02),
}
IS_FULL = os.environ.get("ALLOT_TEST_EXTENT") == "full"
if not IS_FULL:  # those that a user includes first, and the largest
    CEILINGS = {header: CEILINGS[header] for header in ("allot/row_manager.hpp", "allot/device_rows.hpp")}


def run(headers, *options):
    text = "".join(f"#include <{header}>\n" for header in headers)
    return subprocess.run([compiler, "-std=c++20", "-I", include, *options, "-x", "c++", "-"], input=text, check=True, capture_output=True,
                          text=True)


def mebibytes(*headers):
    return int(re.search(r"^ TOTAL .* (\d+)M$", run(headers, "-fsyntax-only", "-ftime-report").stderr, re.M)[1])


if "g++" not in pathlib.Path(compiler).name:
    sys.exit(77)  # the ceilings are g++'s
std = mebibytes(*STD)
wrong = False
for header, (max_lines, max_ratio) in CEILINGS.items():
    lines, ratio = run((header,), "-E").stdout.count("\n"), mebibytes(header) / std
    bad = (IS_FULL and lines > max_lines) or ratio > max_ratio
    wrong |= bad
    print(f"{header}: {lines} lines (at most {max_lines}), {ratio:.2f} times the memory of {' '.join(STD)} (at most {max_ratio})"
          f"{'  TOO MUCH' if bad else ''}")
sys.exit(wrong)
