#!/usr/bin/env python3
"""The documents show what the examples print.

    <!-- output of SOURCE, PART -->
    ```text
    what the program of SOURCE prints between the line `-- PART` and the next line that begins with `-- `
    ```

A line `...` of a block stands for any lines. A count (`18,538`) or size (`80 KiB`) in the text of a section `##` that shows an
output is in one of the section's blocks, too.

shown_output.py SOURCE PROGRAM   exit code 1 unless each part that PROGRAM prints is shown, each part shown is what it
                                 prints, and the text beside it has its numbers. VARIES, what the system or the compiler decides, is not compared.
shown_output.py --write          compiles each SOURCE that is shown (with CXX) and updates the documents.
"""
import difflib
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

VARIES = [
    (re.compile(r"resident [\d.]+ \w+"), "resident ..."),  # OS pages in memory
    (re.compile(r"<\{[^}]*\}>"), "<>"),  # clang names a policy with its default options
    (re.compile(r" +"), " "),  # and so makes the column wider
]

root = pathlib.Path(__file__).resolve().parents[2]
documents = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
number = re.compile(r"\d[\d.,']*(?:[ _][KMGT]iB)?(?<![.,'])")
block = re.compile(r"(<!-- output of (\S+), ([^>]+) -->\n```text\n)(.*?)(?=```\n)", re.S)


def numbers_of_no_block(text, source):
    """The counts and sizes in the text beside the outputs of a source that no block there has."""
    for section in re.split(r"^(?=## )", text, flags=re.M)[1:]:
        if f"<!-- output of {source}, " in section:
            fenced = re.compile(r"^```.*?^```", re.M | re.S)
            has = {re.sub(r"[',]", "", n).replace("_", " ") for n in number.findall(" ".join(fenced.findall(section)))}
            for n in number.findall(fenced.sub("", section)):
                if not n.isdigit() and n.replace(",", "") not in has:
                    yield f"{section.splitlines()[0]}: no block has {n}"


def comparable(text):
    for pattern, same in VARIES:
        text = pattern.sub(same, text)
    return text


def with_left_out(shown, printed):
    """The lines shown, with those of `printed` that each line `...` stands for: up to the next line that is shown."""
    lines = []
    for n, line in enumerate(shown):
        until = shown[n + 1:n + 2]
        lines += [line] if line != "..." else itertools.takewhile(lambda it: [it] != until, printed[len(lines):])
    return lines


def printed_by(program):
    """The parts that a program prints, by name."""
    text = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    before, *parts = re.split(r"^-- (.*)\n", text, flags=re.M)
    if before or not parts:
        sys.exit(f"{program} does not begin with a line `-- PART`")
    return dict(zip(parts[::2], (part.rstrip("\n") + "\n" for part in parts[1::2])))


def same(shown, printed):
    new = comparable(printed).splitlines()
    return with_left_out(comparable(shown).splitlines(), new) == new


def compare(source, program):
    printed, shown, wrong = printed_by(program), set(), []
    for document in documents:
        text = document.read_text()
        if len(block.findall(text)) != text.count("<!-- output of "):
            wrong.append(f"{document.name}: an output is not followed by a block ```text")
        wrong += [f"{document.name}, {it}" for it in numbers_of_no_block(text, source)]
        for _, of, part, old in block.findall(text):
            if of == source:
                shown.add(part)
                new = comparable(printed.get(part, "")).splitlines()
                old = with_left_out(comparable(old).splitlines(), new)
                wrong += difflib.unified_diff(old, new, f"{document.name}, {part}", f"{source} prints", n=1, lineterm="")
    wrong += [f"no document shows what {source} prints at `-- {part}`" for part in printed.keys() - shown]
    if wrong:
        sys.exit("\n".join([*wrong, f"{sys.argv[0]} --write updates the documents"]))


def update():
    printed = {}
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "program")
        for document in documents:
            text = document.read_text()
            for source in {of for _, of, _, _ in block.findall(text)} - printed.keys():
                subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-O1", "-pthread", f"-I{root / 'include'}",
                                root / source, "-o", program], check=True)
                printed[source] = printed_by(program)
            document.write_text(block.sub(lambda m: m[1] + (m[4] if same(m[4], printed[m[2]][m[3]]) else printed[m[2]][m[3]]), text))


if sys.argv[1:] == ["--write"]:
    update()
elif len(sys.argv) == 3:
    compare(*sys.argv[1:])
else:
    sys.exit(__doc__)
