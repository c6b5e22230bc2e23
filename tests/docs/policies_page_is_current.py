#!/usr/bin/env python3
"""docs/policies.md is what tools/policies_page.cpp prints. With --update: writes it."""
import os
import pathlib
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[2]
page = root / "docs" / "policies.md"
include = os.environ.get("ALLOT_INCLUDE", str(root / "include"))

with tempfile.TemporaryDirectory() as folder:
    program = str(pathlib.Path(folder, "policies_page"))
    subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-pthread", "-I", include,
                    str(root / "tools" / "policies_page.cpp"), "-o", program], check=True)
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout

if "--update" in sys.argv:
    page.write_text(printed, encoding="utf-8")
elif not page.exists() or page.read_text(encoding="utf-8") != printed:
    print(f"{page.relative_to(root)} is not what the headers say; run {sys.argv[0]} --update")
    sys.exit(1)
