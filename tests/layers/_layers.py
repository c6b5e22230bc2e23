"""Holds the headers of allot against docs/layers.txt; check() gives one line for each rule broken.

A folder includes lower ranks and itself, by the exact file, never an index header. A header includes its target, and those
that MAY names. The umbrella header of a target reaches each of its headers. Headers that are neither
allot's nor the standard library's stand only in OPEN, those of OWNED in one folder. Compilers and platforms are told apart in config.hpp alone.
A folder has at most MOST_FLOORS floors of headers that include each other. A class is in one file, with all its members. No header declares a function that another one defines which includes it.
"""

import re
from pathlib import Path
from typing import NamedTuple

from _functions import arrows_up

OPEN = ("sys", "device", "adapt")
# Libraries that one folder may use, and no other, even where it is open.
OWNED = {"spill/store": {"liburing.h", "lz4.h", "xxhash.h"}}
MOST_LINES = 600
MOST_FLOORS = 10
# The targets, and what the headers of each may include. A header of two targets may include what both may.
MAY = {"allot": {"allot"}, "allot_engine": {"allot", "allot_engine"}, "allot_device": {"allot", "allot_device"},
       "allot_tools": {"allot", "allot_engine", "allot_device", "allot_tools"}}
UMBRELLAS = {"allot": "allot.hpp", "allot_engine": "engine.hpp", "allot_device": "device.hpp", "allot_tools": "tools.hpp"}
# What a status refers to is an account, of which lower headers know the name alone.
DECLARED_LOW = ("node_of",)

STANDARD = set("""
algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes climits
clocale cmath codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdarg cstddef cstdint
cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception execution filesystem forward_list fstream
functional future initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map memory
memory_resource mutex new numbers numeric optional ostream queue random ranges ratio regex scoped_allocator semaphore
set shared_mutex span sstream stack stdexcept stop_token streambuf string string_view strstream syncstream
system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant vector
version
""".split())
# The core knows neither the OS nor atomics.
NOT_IN_CORE = {"atomic", "barrier", "condition_variable", "filesystem", "future", "latch", "mutex", "semaphore",
               "shared_mutex", "stop_token", "thread"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
CONDITION = re.compile(r"^\s*#\s*(?:if|ifdef|ifndef|elif)\b(.*)")
NAME = re.compile(r"[A-Za-z_]\w*")
CLASS = re.compile(r"^\s*(?:template <.*> )?(?:class|struct)\s+(?:alignas\([^)]*\)\s+)?(\w+)(?:\s+final)?\s*(?::[^:;].*)?\{")
# At the start of a line: "charge_status account::charge(", "class account::locked {".
MEMBER = re.compile(r"^(?!\s|//|#|return|static_assert|using)[^;={(]*?\b(\w+)(?:<[^<>]*>)?::(?:~?\w+|operator\S+)(?:\(| \{)")


class Layers(NamedTuple):
    ranks: dict  # of folders, and of headers of the root
    targets: dict  # of these, and of single headers and folders inside: the last line that names a header holds

    def target(self, header):
        """The names of its targets: one, or of a header for users of several all of them. None where no line names it."""
        found = [names for name, names in self.targets.items() if header == name or header.startswith(name + "/")]
        return found[-1] if found else None


def read_layers(path):
    read = Layers({}, {})
    for line in Path(path).read_text().splitlines():
        words = line.split("#")[0].split()
        if words:
            name, rank, targets = words
            if rank != "-":
                read.ranks[name] = int(rank)
            read.targets[name] = frozenset(targets.split("+"))
    return read


def code_lines(text):
    """Lines that are neither blank nor a comment."""
    return sum(1 for line in map(str.strip, text.splitlines()) if line and not line.startswith("//"))


def may_include(targets):
    return frozenset().union(*(MAY[target] for target in targets))


def folder_of(header):
    """'core' for 'core/bits.hpp', the file's own name for a header of the root."""
    return header.split("/")[0]


def is_in(header, folders):
    return any(header.startswith(folder + "/") for folder in folders)


def wrong_include(header, quote, target, layers, present):
    """Why `header` may not include `target`, or None."""
    own = folder_of(header)
    if quote == '"':
        return f'"{target}" is included by quotes; allot spells <allot/...>'
    if not target.startswith("allot/"):
        for folder, libraries in OWNED.items():
            if target in libraries:
                return None if is_in(header, [folder]) else f"<{target}> stands only in {folder}"
        if is_in(header, OPEN):
            return None
        if target not in STANDARD:
            return f"<{target}> is not the standard library's; such headers stand only in {', '.join(OPEN)}"
        if own == "core" and target in NOT_IN_CORE:
            return f"<{target}>: the core knows neither the OS nor atomics"
        return None
    target = target[len("allot/"):]
    if target not in present:
        return f"<allot/{target}> does not exist"
    reached = layers.target(target)
    if reached and not reached <= may_include(layers.target(header)):
        return f"<allot/{target}> is of {' and '.join(sorted(reached))}, and {header} of {' and '.join(sorted(layers.target(header)))}"
    ranks = layers.ranks
    if own not in ranks:
        return None  # an index header includes any rank
    other = folder_of(target)
    if other not in ranks:
        return f"<allot/{target}> is an index header; include the exact file"
    if other != own and ranks[other] >= ranks[own]:
        return f"<allot/{target}> is of rank {ranks[other]}, and {own} of rank {ranks[own]}"
    return None


def wrong_condition(header, words):
    if header == "config.hpp":
        return None
    for name in NAME.findall(re.sub(r"__has_include\s*\([^)]*\)|__has_include", "", words)):
        if name == "defined" or name.startswith(("ALLOT_", "__cpp_")):
            continue
        return f"#if on {name}: config.hpp alone tells compilers and platforms apart"
    return None


def floors(header, included, known):
    """How many headers of its directory stand on each other up to this one."""
    if header not in known:
        known[header] = 0  # of a ring
        known[header] = 1 + max([floors(below, included, known) for below in included.get(header, ())], default=0)
    return known[header]


def has_third_party(header, text):
    """Adapters and device::cuda: what only some machines have."""
    names = [target for _, target in INCLUDE.findall(text)]
    return is_in(header, ("device", "adapt")) and any(not n.startswith("allot/") and n not in STANDARD for n in names)


def unreached(texts, layers):
    """Headers of one target that its umbrella header does not reach. Those with third parties are included by themselves."""
    for target, umbrella in UMBRELLAS.items():
        if umbrella not in texts:
            continue
        reached, left = set(), [umbrella]
        while left:
            header = left.pop()
            if header not in reached and header in texts:
                reached.add(header)
                left += [name[len("allot/"):] for _, name in INCLUDE.findall(texts[header]) if name.startswith("allot/")]
        for header, text in texts.items():
            if layers.target(header) == {target} and header not in reached and not has_third_party(header, text):
                yield f"{header}:1: allot/{umbrella} does not reach it: include it there, or give it the target that needs it"


def check(root, layers):
    """All broken rules under `root` (the folder include/allot), as 'file:line: reason'."""
    root = Path(root)
    headers = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.hpp"))
    present = set(headers)
    wrong = []
    classes = {}  # name: the files that define a class of that name
    for header in headers:
        for line in (root / header).read_text().splitlines():
            if found := CLASS.match(line):
                classes.setdefault(found[1], set()).add(header)
    for header in headers:
        text = (root / header).read_text()
        lines = text.splitlines()
        folder = folder_of(header)
        if "/" in header and folder not in layers.ranks:
            wrong.append(f"{header}:1: folder {folder} has no rank in docs/layers.txt")
            continue
        if not layers.target(header):
            wrong.append(f"{header}:1: has no target in docs/layers.txt")
            continue
        if "#pragma once" not in lines:
            wrong.append(f"{header}:1: no #pragma once")
        if len(lines) > MOST_LINES:
            wrong.append(f"{header}:{len(lines)}: more than {MOST_LINES} lines")
        for number, line in enumerate(lines, 1):
            reason = None
            if found := INCLUDE.match(line):
                reason = wrong_include(header, found[1], found[2], layers, present)
            elif found := CONDITION.match(line):
                reason = wrong_condition(header, found[1])
            elif (found := MEMBER.match(line)) and header not in classes.get(found[1], {header}):
                reason = f"a member of class {found[1]}, which is in {', '.join(sorted(classes[found[1]]))}"
            if reason:
                wrong.append(f"{header}:{number}: {reason}")
    texts = {header: (root / header).read_text() for header in headers}
    wrong += [f"{header}:{number}: {reason}" for header, number, reason in arrows_up(texts, DECLARED_LOW)]
    included = {header: [target for target in re.findall(r"#include <allot/(\S+)>", text) if Path(target).parent == Path(header).parent]
                for header, text in texts.items()}
    wrong += unreached(texts, layers)
    known = {}
    for header in included:
        if (here := floors(header, included, known)) > MOST_FLOORS and "/" in header:
            wrong.append(f"{header}:1: on floor {here}, of {MOST_FLOORS} that a folder may have")
    return wrong
