#!/usr/bin/env python3
"""The stub of a refused product has the name of every public function of the products, and of what they return.

core/error_stub.hpp has the names between two lines; they are read from the classes below. --update writes them.
"""
import re
import sys
from pathlib import Path

CLASSES = {  # what a set makes, and what its functions return
    "row/row_manager.hpp": ["row_manager"],
    "row/row_calls.hpp": ["row_calls"],
    "row/local_rows.hpp": ["local_rows_of"],
    "row/row_heap.hpp": ["local_row_heap", "row_heap"],
    "row/moving/row_array.hpp": ["row_array", "held_rows"],
    "row/moving/row_compactor.hpp": ["row_compactor"],
    "reclaim/reclaimer.hpp": ["reclaimer"],
    "page/page_arena.hpp": ["page_arena"],
    "chunk/chunk_arena.hpp": ["chunk_arena"],
    "device_allocator/device_allocator.hpp": ["device_allocator"],
}
OWN_SIGNATURE = {"make", "compact", "begin", "end", "account"}  # written in the stub itself
FIRST, LAST = "    // generated: the public functions and constants of products\n", "    // end of what is generated\n"
NO_NAMES = {"requires", "noexcept", "decltype", "alignas", "static_assert", "sizeof", "explicit", "operator"}


def without_comments(text):
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r'"(\\.|[^"\\])*"', '""', text)
    return re.sub(r"^\s*#[^\n]*", "", text, flags=re.M)


def end_of(text, at, opening="{", closing="}"):
    """Behind the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == opening) - (text[i] == closing)
        if depth == 0:
            return i + 1
    raise ValueError("no end")


def statements(body):
    """The declarations of a class, without bodies, and what access they have."""
    access, at, start = "private", 0, 0
    while at < len(body):
        if label := re.compile(r"\s*(public|private|protected)\s*:(?!:)").match(body, start):
            access, start = label[1], label.end()
            at = start
        elif body[at] == "(":
            at = end_of(body, at, "(", ")")
        elif body[at] == "{":
            yield access, body[start:at]
            at = start = end_of(body, at)
        elif body[at] == ";":
            yield access, body[start:at]
            at = start = at + 1
        else:
            at += 1


def without_requires(text):
    while found := re.search(r"\brequires\b\s*", text):
        at = found.end()
        while True:
            name = re.compile(r"!?[\w:]+(<[^<>]*>)?").match(text, at)
            at = end_of(text, at, "(", ")") if text[at:at + 1] == "(" else name.end() if name else at
            if not (more := re.compile(r"\s*(&&|\|\|)\s*").match(text, at)):
                break
            at = more.end()
        text = text[:found.start()] + " " + text[at:]
    return text


def members_of(text, name):
    found = re.search(rf"(?:class|struct) {name}\b[^;{{]*\{{", text)
    if found is None:
        sys.exit(f"no class {name}: mend CLASSES in {__file__}")
    body = text[found.end():end_of(text, found.end() - 1) - 1]
    access_of_struct = found[0].startswith("struct")
    names, constants = set(), set()
    for access, said in statements(("public:" if access_of_struct else "") + body):
        said = re.sub(r"template\s*<[^<>]*(<[^<>]*(<[^<>]*>[^<>]*)*>[^<>]*)*>", " ", without_requires(said))
        called = re.search(r"(?<![\w~])([a-z]\w*)\s*\(", said)
        while called and called[1] in NO_NAMES:
            called = re.compile(r"(?<![\w~])([a-z]\w*)\s*\(").search(said, called.end())
        constant = re.match(r"\s*static constexpr [\w:]+ (\w+) =", said)
        if access == "public" and constant:
            constants.add(constant[1])
        elif access == "public" and called and called[1] != name and "friend" not in said and "operator" not in said[:called.start()]:
            names.add(called[1])
    return names, constants


include = Path(__file__).resolve().parents[2] / "include/allot"
names, constants = set(), set()
for file, classes in CLASSES.items():
    text = without_comments((include / file).read_text())
    for name in classes:
        functions, values = members_of(text, name)
        if not functions:
            sys.exit(f"{file}: {name} has no public functions")
        names |= functions
        constants |= values

stub = include / "core/error_stub.hpp"
text = stub.read_text()
before, _, rest = text.partition(FIRST)
said, _, after = rest.partition(LAST)
right = "".join(f"    static constexpr std::size_t {n} = 1;\n" for n in sorted(constants)) + "".join(
    f"    template <class... As> anything {n}(As&&...) const noexcept;\n" for n in sorted(names - OWN_SIGNATURE))
if "--update" in sys.argv:
    stub.write_text(before + FIRST + right + LAST + after)
elif said != right:
    has, wants = set(said.splitlines()), set(right.splitlines())
    print(*(f"missing: {line.strip()}" for line in sorted(wants - has)), *(f"not of any product: {line.strip()}" for line in sorted(has - wants)), sep="\n")
    sys.exit("core/error_stub.hpp is not made from the classes: run this with --update")
