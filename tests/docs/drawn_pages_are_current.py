#!/usr/bin/env python3
"""The marked parts of pages are what programs in tools/ draw of tables: `<!-- drawn by tools/x.cpp ARGUMENT -->` to
`<!-- drawn -->`. With --update: writes them."""
import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[2]
include = os.environ.get("ALLOT_INCLUDE", str(root / "include"))
drawn = re.compile(r"(<!-- drawn by (tools/\w+\.cpp)((?: \w+)*) -->\n).*?(<!-- drawn -->\n)", re.S)
marked = {"docs/oom.md": 1, "docs/short-of-memory.md": 1, "docs/tasks.md": 2}

with tempfile.TemporaryDirectory() as folder:
    @functools.cache
    def program(source):
        made = str(pathlib.Path(folder, pathlib.Path(source).stem))
        subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-I", include, str(root / source), "-o", made],
                       check=True)
        return made

    def draw(part):
        printed = subprocess.run([program(part[2]), *part[3].split()], check=True, capture_output=True, text=True)
        return part[1] + printed.stdout + part[4]

    for name, expected in marked.items():
        page = root / name
        text = page.read_text(encoding="utf-8")
        current, parts = drawn.subn(draw, text)
        if parts != expected:
            sys.exit(f"{name}: {parts} parts are marked as drawn by a tool, expected {expected}")
        if "--update" in sys.argv:
            page.write_text(current, encoding="utf-8")
        elif current != text:
            sys.exit(f"{name} is not what the tables say; run {sys.argv[0]} --update")
