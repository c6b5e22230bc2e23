#!/usr/bin/env python3
"""Examples quoted in the documents are equal to their files. Exit code 1 where one differs; --write updates the documents.

    <!-- begin PATH -->          and <!-- end PATH -->: the file, in a code block
    <!-- begin PATH, PART -->    and <!-- end PATH, PART -->: the lines between `// ---- PART` and the next line `// ----...`
"""
import pathlib
import re
import sys
import textwrap

root = pathlib.Path(__file__).resolve().parents[2]
write = "--write" in sys.argv[1:]
quote = re.compile(r"<!-- begin (.+?) -->\n.*?<!-- end \1 -->", re.S)
found = stale = 0


def quoted(name):
    path, _, part = name.partition(", ")
    code = (root / path).read_text()
    if not part:
        return code.rstrip()
    parts = re.findall(rf"^ *// ---- {re.escape(part)}\n(.*?)^ *// ----", code, re.S | re.M)
    if len(parts) != 1:
        sys.exit(f"{path}: {len(parts)} parts begin with `// ---- {part}` and end with `// ----`, expected one")
    return textwrap.dedent(parts[0]).strip("\n")


def block(match):
    return f"<!-- begin {match[1]} -->\n```cpp\n{quoted(match[1])}\n```\n<!-- end {match[1]} -->"


for document in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
    text = document.read_text()
    here = len(quote.findall(text))
    if here != text.count("<!-- begin "):
        stale += 1
        print(f"{document.relative_to(root)}: an example begins and does not end")
    found += here
    new = quote.sub(block, text)
    if new != text:
        stale += 1
        print(f"{document.relative_to(root)}: " + ("brought up to date" if write else "does not quote its examples as they are"))
        if write:
            document.write_text(new)
if not found:
    print("no example is quoted anywhere")
sys.exit(1 if (stale and not write) or not found else 0)
