#!/usr/bin/env python3
"""Examples quoted in the documents are the files themselves: between `<!-- begin PATH -->` and `<!-- end PATH -->`
stands the file, in a code block. Exit code 1 where one differs; --write brings the documents up to date."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
write = "--write" in sys.argv[1:]
quote = re.compile(r"<!-- begin (\S+) -->\n.*?<!-- end \1 -->", re.S)
found = stale = 0


def block(match):
    path = match[1]
    code = (root / path).read_text().rstrip()
    return f"<!-- begin {path} -->\n```cpp\n{code}\n```\n<!-- end {path} -->"


for document in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
    text = document.read_text()
    quoted = len(quote.findall(text))
    if quoted != text.count("<!-- begin "):
        stale += 1
        print(f"{document.relative_to(root)}: an example begins and does not end")
    found += quoted
    new = quote.sub(block, text)
    if new != text:
        stale += 1
        print(f"{document.relative_to(root)}: " + ("brought up to date" if write else "does not quote its examples as they are"))
        if write:
            document.write_text(new)
if not found:
    print("no example is quoted anywhere")
sys.exit(1 if (stale and not write) or not found else 0)
