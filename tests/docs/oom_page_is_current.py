#!/usr/bin/env python3
"""The marked part of docs/oom.md is what tools/oom_diagram.cpp draws of the transition table. With --update: writes it."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[2]
page = root / "docs" / "oom.md"
include = os.environ.get("ALLOT_INCLUDE", str(root / "include"))
drawn = re.compile(r"(<!-- drawn by tools/oom_diagram.cpp -->\n).*?(<!-- drawn -->\n)", re.S)

with tempfile.TemporaryDirectory() as folder:
    program = str(pathlib.Path(folder, "oom_diagram"))
    subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-I", include,
                    str(root / "tools" / "oom_diagram.cpp"), "-o", program], check=True)
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout

text = page.read_text(encoding="utf-8")
current, parts = drawn.subn(lambda m: m[1] + printed + m[2], text)
if parts != 1:
    sys.exit(f"{page.relative_to(root)}: {parts} parts are marked as drawn by the tool, expected one")
if "--update" in sys.argv:
    page.write_text(current, encoding="utf-8")
elif current != text:
    sys.exit(f"{page.relative_to(root)} is not what the transition table says; run {sys.argv[0]} --update")
