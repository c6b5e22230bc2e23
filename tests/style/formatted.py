#!/usr/bin/env python3
"""Each C++ file is as clang-format 19 writes it. --write: rewrites those that are not (./run format calls it so)."""
import pathlib
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
tool = root / "build/deps/format/bin/clang-format"  # which ./run fetches
if not tool.exists():
    print("skipped: no clang-format 19 (./run test fetches it)")
    sys.exit(77)

folders = ("bench", "examples", "include", "tests", "tools")
files = [f for folder in folders for f in sorted((root / folder).rglob("*")) if f.suffix in (".cpp", ".hpp", ".cu", ".cuh", ".inc")]
files = [f for f in files if f.name != "sets.inc"]  # a generator writes it
mode = ["-i"] if "--write" in sys.argv else ["--dry-run", "--Werror", "--ferror-limit=1"]
print(f"{len(files)} files")
sys.exit(subprocess.run([tool, "--style=file", *mode, *files]).returncode)
