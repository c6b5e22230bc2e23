#!/usr/bin/env python3
"""The Markdown files name what exists: the files and anchors that they link to, and the headers in `backticks`.

CHANGELOG.md and decisions may name headers that were renamed since; only their links are checked. docs/README.md has a link to each page of docs/.
"""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
documents = sorted(path for place in ("*.md", "bench/*.md", "docs/**/*.md", "examples/**/*.md", "tests/**/*.md") for path in root.glob(place))
code = re.compile(r"^ *```.*?^ *```$", re.S | re.M)
link = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]*))?\)")
header = re.compile(r"`[^`\n]*?(?<![\w/>*])([\w/]+\.hpp)[^`\n]*`")
headers = [f"/{path.relative_to(root)}" for place in ("include", "examples", "tests", "bench") for path in (root / place).rglob("*.hpp")]


def anchors(path):
    """The anchors of a file's headings, as GitHub makes them."""
    found = set()
    for title in re.findall(r"^#+ (.*)$", code.sub("", path.read_text()), re.M):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).strip().lower()
        name, number = re.sub(r"[^\w\- ]", "", title).replace(" ", "-"), 0
        while (whole := f"{name}-{number}" if number else name) in found:
            number += 1
        found.add(whole)
    return found


wrong = []
for document in documents:
    name, text = document.relative_to(root), code.sub("", document.read_text())
    for to, anchor in link.findall(text):
        if to.startswith(("http:", "https:", "mailto:")):
            continue
        target = (document.parent / to).resolve() if to else document
        if not target.exists():
            wrong.append(f"{name}: no file {to}")
        elif anchor and anchor not in anchors(target):
            wrong.append(f"{name}: no heading for {to}#{anchor}")
    if name.name != "CHANGELOG.md" and "decisions" not in name.parts:
        wrong += [f"{name}: no header {it}" for it in header.findall(text) if not any(path.endswith(f"/{it}") for path in headers)]
index = {to for to, _ in link.findall((root / "docs/README.md").read_text())}
wrong += [f"docs/README.md: no link to {page.name}" for page in (root / "docs").glob("*.md") if page.name not in index | {"README.md"}]
if not documents:
    wrong = ["no document found"]
print("\n".join(wrong) or f"{len(documents)} documents: every link and header exists")
sys.exit(1 if wrong else 0)
