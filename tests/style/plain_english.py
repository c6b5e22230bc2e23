#!/usr/bin/env python3
"""The prose of headers, docs and names of tests stays plain: no pattern of PATTERNS occurs in it.

Prose is the comments and string literals of headers, the text of Markdown files (of a C++ sample: comments and strings), and
the names of test cases. Words in `backticks` are code.
"""
import bisect
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/*.md", "docs/decisions/*.md", "docs/gpu/*.md", "include/**/*.hpp",
         "tests/**/*.cpp", "tests/**/*.hpp")

SENTENCE = r"(?:^|(?<=[.!?:] ))"
NO_QUESTION = r"\b(?![^.?]*\?)"

# name: (regular expression, what it finds, what to write instead). Each is tried on both of its texts, whenever this runs.
PATTERNS = {
    "begins with Who or What is": (SENTENCE + "(?:Who|Whose|Whom|Whoever|By whom?|What (?:is|are|was|were|has|had|have))" + NO_QUESTION,
                                   "Who holds the lock may look.", "Requires the lock."),
    "told, tells": (r"\b(?:told|tells?|telling)\b", "Misuse is told.", "Misuse is reported."),
    "stands": (r"\b(?:stands?|stood)\b(?! for\b)", "The header stands first.", "The header is first. It stands for all."),
    "be had": (r"\b(?:be|been|is|are|was|were|being) (?:not |yet )?had\b", "No memory can be had.", "No memory can be allocated."),
    "whoever, one who": (r"\b(?:whoever|whom|(?:one|those|he) who)\b", "It wakes whoever waits.", "It wakes the threads that wait."),
}

CPP = re.compile(r"""(?P<space>\s+)|^\#[ ]*include[^\n]*|//+[!<]?(?P<comment>[^\n]*)|/\*(?P<block>.*?)\*/
    |R"(\w*)\((?P<raw>.*?)\)\4"|"(?P<string>(?:\\.|[^"\\\n])*)"|'(?:\\[^']*|[^'\\\n])'|\w+|.""", re.VERBOSE | re.DOTALL | re.MULTILINE)
TEST_CASE = re.compile(r'TEST_CASE(?:_METHOD)?\(\s*(?:\w+,\s*)?(?P<name>(?:"(?:\\.|[^"\\])*"\s*)+)')


def cpp_prose(text, first=1):
    """Paragraphs, each a list of (line, text): comments on adjacent lines of one column, and adjacent string literals."""
    found, last = [], None
    for token in CPP.finditer(text):
        kind = next((k for k in ("space", "comment", "block", "raw", "string") if token[k] is not None), None)
        line, column = first + text.count("\n", 0, token.start()), token.start() - text.rfind("\n", 0, token.start())
        if kind in ("comment", "string"):
            begins = re.match(r" *([-+*] |$)", token[kind]) if kind == "comment" else None
            if begins or last not in (("string",), ("comment", line - 1, column)):
                found.append([])
            found[-1].append((line, token[kind].replace("\\n", " ")))
            last = (kind,) if kind == "string" else (kind, line, column)
        elif kind in ("block", "raw"):
            found.append([(line + i, piece) for i, piece in enumerate(token[kind].split("\n"))])
        if kind not in ("comment", "string", "space"):
            last = None
    return found


def markdown_prose(text):
    """Paragraphs as above; a list item, a heading and a cell of a table is one, too."""
    found, fence = [[]], None
    for line, piece in enumerate(text.split("\n"), 1):
        if re.match(r" *```", piece):
            if fence and "cpp" in fence[1]:
                found += cpp_prose("\n".join(fence[2]), fence[0] + 1)
            fence = None if fence else (line, piece, [])
            found.append([])
        elif fence:
            fence[2].append(piece)
        else:
            piece = re.sub(r"<!--.*?-->", "", re.sub(r"\]\([^)]*\)", "", piece))
            if re.match(r" *([-+*#|]|\d+\.|$)", piece):
                found.append([])
            cells = re.sub(r"^ *([-+*]|#+|\d+\.) ", "", piece).split("|")
            found[-1].append((line, cells[0]))
            found += [[(line, cell)] for cell in cells[1:]]
    return found


def test_names(text):
    """Paragraphs as above; each name of a test case is one."""
    for name in TEST_CASE.finditer(text):
        yield [(text.count("\n", 0, name.start()) + 1, piece) for piece in re.findall(r'"((?:\\.|[^"\\])*)"', name["name"])]


def prose(path):
    """(text, [(offset, line)]) of each paragraph, code and marks left out."""
    text = path.read_text()
    found = markdown_prose if path.suffix == ".md" else test_names if path.is_relative_to(ROOT / "tests") else cpp_prose
    for paragraph in found(text):
        whole, starts = "", []
        for line, piece in paragraph:
            starts.append((len(whole), line))
            whole += re.sub(r"\s+", " ", re.sub(r"[*\[\]]", "", piece)).strip() + " "
        yield re.sub(r"`[^`]*`", lambda code: "x" * len(code[0]), whole), starts


def occurrences():
    """["file:line: 'pattern': text"]"""
    paths, found = sorted(path for files in FILES for path in ROOT.glob(files)), []
    for path in paths:
        for text, starts in prose(path):
            for name, (pattern, before, after) in PATTERNS.items():
                for hit in re.finditer(pattern, text):
                    line = starts[bisect.bisect(starts, (hit.start(), sys.maxsize)) - 1][1]
                    around = text[max(0, hit.start() - 30):hit.end() + 30].strip()
                    found.append(f"{path.relative_to(ROOT)}:{line}: '{name}': {around}\n    Not: {before} But: {after}")
    return found


def main():
    for name, (pattern, before, after) in PATTERNS.items():
        if not re.search(pattern, before) or re.search(pattern, after):
            sys.exit(f"plain_english.py: the pattern '{name}' does not tell '{before}' from '{after}'")
    found = occurrences()
    print("\n".join(found) or "no pattern occurs")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
