#!/usr/bin/env python3
"""The prose of headers and docs stays plain: no pattern of PATTERNS occurs more often than plain_english.txt allows.

Prose is the comments and string literals of headers, and the text of Markdown files (of a C++ sample: comments and strings).
Words in `backticks` are code. Without an option, the test fails when a pattern occurs too often, and lists places.
"""
import argparse
import bisect
import io
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve()
ALLOWED = HERE.with_suffix(".txt")  # pattern | most | why some may stay
MOST_SHOWN = 30
FILES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/*.md", "docs/decisions/*.md", "docs/gpu/*.md", "include/**/*.hpp")

SENTENCE = r"(?:^|(?<=[.!?:] ))"
NO_QUESTION = r"\b(?![^.?]*\?)"
COUNTED = r"(?:bits?|bytes|words?|lines?|[nmu]s|instructions?|operations?|additions?|loads?|stores?|exchanges?|looks?|misses" \
          r"|locks?|swaps?|calls?|slots|rows|pages|blocks|handles|threads?|events?|entries|increments?|faults|samples)"
EACH = r"(?:page|row|pair|call|(?:de)?allocation|release|refund|charge|transfer|block|slot|chunk|thread|byte|value|operation" \
       r"|stream|class|heap|heaplet|handle|refill|claim|request|segment|use|group|batch|size|view|buffer|device|arena|account)"

# name: (regular expression, what it finds, what to write instead). Each is tried on both of its texts, whenever this runs.
PATTERNS = {
    # What the project's rules of plain English list.
    "begins with Who": (SENTENCE + "(?:Who|Whose|Whom|Whoever|By whom?)" + NO_QUESTION, "Who holds the lock may look.", "Requires the lock."),
    "begins with What is": (SENTENCE + "What (?:is|are|was|were|has|had|have)" + NO_QUESTION, "What was taken is used.", "The page is in use."),
    "told, tells": (r"\b(?:told|tells?|telling)\b", "Misuse is told.", "Misuse is reported."),
    "stands": (r"\b(?:stands?|stood)\b(?! for\b)", "The header stands first.", "The header is first. It stands for all."),
    "goes, gone": (r"\b(?:gone|went)\b|\bgoes\b(?! (?:to|into|through|from|over|via|back)\b)", "An account goes.", "It ends. Its charge goes to its heir."),
    "goes back": (r"\b(?:go|goes|going) back\b", "Its pages go back.", "Its pages are returned to the system."),
    "given back": (r"\b(?:giv(?:e|es|en|ing)|gave) (?:[a-z]+ ){0,3}back\b", "It gives the page back.", "It returns the page to the system."),
    "so many": (r"\bso (?:many|much)\b(?! (?:as|that)\b)", "A run of so many bytes.", "A run of n bytes."),
    "was met": (r"(?:^|(?<!oals)(?<!oal)(?<!oals are)(?<!oal is) )met\b(?![^.]{0,20}\bmissed)", "A request that was met.", "It succeeded. All goals are met."),
    "be had": (r"\b(?:be|been|is|are|was|were|being) (?:not |yet )?had\b", "No memory can be had.", "No memory can be allocated."),
    "nobody, somebody": (r"\b(?:nobody|somebody|everybody|somebody else)(?:'s)?\b", "It is nobody's alone.", "It is shared."),
    "nothing as a noun": (r"\b(?:is|are|was|as) nothing\b(?! (?:to|but)\b)|\bnothing (?:of|an?)\b", "Null is nothing.", "Null is ignored."),
    "bytes a page": (rf"\b{COUNTED} an? {EACH}\b(?! (?:is|has|may|can|takes?|holds?|needs?|was)\b)", "8 bytes a page.", "8 bytes per page."),
    "of its own": (r"\bof (?:its|their|one's|your|our) own\b", "It has a lock of its own.", "It has its own lock."),
    "riddle with a colon": (r"[a-z)]: (?:and )?(?:not )?(?:told|refused|reported|counted|misused?|undefined|in vain|for nothing)\b(?= *(?:[.,;]|$))",
                            "A name that does not come first: told.", "Rejected: the first argument must be a name."),
    # Words of this project where the field has its own, and turns of phrase that its readers stumbled over.
    "figures": (r"\bfigures?\b", "The account's figures.", "The account's stats."),
    "census, aside, ahead": (r"\b(?:census|aside|ahead|tally|tallie[sd]|under way)\b", "Counts are aside.", "Counts are out of band."),
    "whoever, one who": (r"\b(?:whoever|whom|(?:one|those|he) who)\b", "It wakes whoever waits.", "It wakes the threads that wait."),
    "that is there": (r"\b(?:that|what|which|it|they) (?:is|are|was|were) there\b", "The memory that is there.", "The memory in use."),
    "that is none": (r"\b(?:that|which) (?:is|are|was|were) none\b", "A block that is none.", "Not a live block."),
}

CPP = re.compile(r"""(?P<space>\s+)|^\#[ ]*include[^\n]*|//+[!<]?(?P<comment>[^\n]*)|/\*(?P<block>.*?)\*/
    |R"(\w*)\((?P<raw>.*?)\)\4"|"(?P<string>(?:\\.|[^"\\\n])*)"|'(?:\\[^']*|[^'\\\n])'|\w+|.""", re.VERBOSE | re.DOTALL | re.MULTILINE)


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


def prose(path):
    """(text, [(offset, line)]) of each paragraph, code and marks left out."""
    text = path.read_text()
    for paragraph in markdown_prose(text) if path.suffix == ".md" else cpp_prose(text):
        whole, starts = "", []
        for line, piece in paragraph:
            starts.append((len(whole), line))
            whole += re.sub(r"\s+", " ", re.sub(r"[*\[\]]", "", piece)).strip() + " "
        yield re.sub(r"`[^`]*`", lambda code: "x" * len(code[0]), whole), starts


def occurrences(root):
    """{name: ["file:line: text"]}"""
    found = {name: [] for name in PATTERNS}
    paths = sorted(path for files in FILES for path in root.glob(files))
    if not paths:
        sys.exit(f"plain_english.py: {root} has none of {', '.join(FILES)}")
    for path in paths:
        for text, starts in prose(path):
            for name, (pattern, _, _) in PATTERNS.items():
                for hit in re.finditer(pattern, text):
                    line = starts[bisect.bisect(starts, (hit.start(), sys.maxsize)) - 1][1]
                    around = text[max(0, hit.start() - 30):hit.end() + 30].strip()
                    found[name].append(f"{path.relative_to(root)}:{line}: {around}")
    return found


def allowed():
    rows = [[cell.strip() for cell in row.split("|", 2)] for row in ALLOWED.read_text().splitlines() if row and not row.startswith("#")]
    return {name: (int(most), why) for name, most, why in rows}


def at_revision(revision, folder):
    packed = subprocess.run(["git", "-C", HERE.parents[2], "archive", revision], capture_output=True)
    if packed.returncode != 0:
        sys.exit(f"plain_english.py: {packed.stderr.decode().strip()}")
    tarfile.open(fileobj=io.BytesIO(packed.stdout)).extractall(folder)
    return pathlib.Path(folder)


def lower(found, most):
    comments = [row for row in ALLOWED.read_text().splitlines() if row.startswith("#")]
    rows = [f"{name:<21} | {min(len(found[name]), number):>4} | {why}".rstrip() for name, (number, why) in most.items() if name in found]
    ALLOWED.write_text("\n".join(comments + rows) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--counts", action="store_true", help="print the count of each pattern")
    parser.add_argument("--show", metavar="NAME", help="print each place of a pattern, or of all patterns: all")
    parser.add_argument("--lower", action="store_true", help="lower the numbers of plain_english.txt to today's counts; raises none")
    parser.add_argument("--root", type=pathlib.Path, default=HERE.parents[2], metavar="DIR", help="the repository to look at")
    parser.add_argument("--revision", metavar="REV", help="look at a commit of this repository instead")
    options = parser.parse_args()

    for name, (pattern, before, after) in PATTERNS.items():
        if not re.search(pattern, before) or re.search(pattern, after):
            sys.exit(f"plain_english.py: the pattern '{name}' does not tell '{before}' from '{after}'")
    with tempfile.TemporaryDirectory() as folder:
        found = occurrences(at_revision(options.revision, folder) if options.revision else options.root.resolve())
    if options.show:
        print("\n".join(f"[{name}] {place}" for name in found if options.show in (name, "all") for place in found[name]))
    elif options.counts:
        print("\n".join(f"{len(places):5}  {name}" for name, places in found.items()))
        print(f"{sum(map(len, found.values())):5}  in all")
    elif options.lower:
        lower(found, allowed())
    else:
        most, good = allowed(), True
        for name, places in found.items():
            number = most.get(name, (0, ""))[0]
            if len(places) > number:
                good = False
                print(f"'{name}' occurs {len(places)} times, {number} are allowed. Not: {PATTERNS[name][1]} But: {PATTERNS[name][2]}")
                print("\n".join(f"  {place}" for place in places[:MOST_SHOWN]))
                if len(places) > MOST_SHOWN:
                    print(f"  ... the rest: plain_english.py --show '{name}'")
        if set(most) != set(found):
            sys.exit(f"plain_english.txt and PATTERNS differ: {', '.join(set(most) ^ set(found))}")
        fewer = sum(len(places) < most[name][0] for name, places in found.items())
        if fewer:
            print(f"{fewer} patterns occur less often than allowed; lower the numbers: tests/style/plain_english.py --lower")
        sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
