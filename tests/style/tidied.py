#!/usr/bin/env python3
"""clang-tidy finds nothing in the umbrella headers and in the examples, in the short run every eighth; .clang-tidy lists the checks."""
import os
import pathlib
import shutil
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
tool = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
if tool is None:
    print("skipped: no clang-tidy")
    sys.exit(77)

umbrella = pathlib.Path("umbrella.cpp").resolve()
headers = [h for folder in (".", "use") for h in sorted((root / "include/allot" / folder).glob("*.hpp"))]
umbrella.write_text("#define ALLOT_DEFINE\n" + "".join(f"#include <{h.relative_to(root / 'include')}>\n" for h in headers))
step = 1 if os.environ.get("ALLOT_TEST_EXTENT") == "full" else 8  # an example takes 4 s
files = [umbrella, *sorted((root / "examples").glob("*.cpp"))[::step]]
print(f"{len(headers)} headers, {len(files) - 1} examples")
sys.exit(subprocess.run([tool, "--quiet", f"--config-file={root / '.clang-tidy'}", *files, "--", "-std=c++20",
                         "-I", root / "include"], stderr=subprocess.DEVNULL).returncode)
