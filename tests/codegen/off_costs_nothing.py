"""Law 6: a policy that is off adds no instruction to the path of a row. Allocate and release through a local handle
are compiled for a set that names nothing and for sets that name what is off; the instructions must be the same.
They are also held against a ceiling, so that nothing creeps in."""
import os
import re
import subprocess
import sys

source = """
#include <allot/row_manager.hpp>
struct the_set : allot::policies<%s> {};
using manager = allot::row_manager<the_set>;
using heap = decltype(std::declval<manager&>().heap(allot::as<allot::heap::unique>, 64));
using handle = decltype(std::declval<heap&>().local());
extern "C" void* take(handle& h) { return h.try_allocate(); }
extern "C" void give(handle& h, void* row) { h.release(row); }
extern "C" void* take_any(allot::local_rows<the_set>& h, std::size_t n) { return h.try_allocate(n); }
extern "C" void give_any(allot::local_rows<the_set>& h, void* row) { h.release(row); }
"""
sets = {
    "nothing": "",
    "unwatched": "allot::watch::none",
    "peaks": "allot::watch::peaks",
    "traced, no row": "allot::watch::trace<>",
    "unguarded": "allot::guard::none",
    "not spilling": "allot::spill::none",
    "uncharged": "allot::ledger::none",
    "all of them": "allot::watch::none, allot::guard::none, allot::spill::none, allot::ledger::none",
}
ceilings = {"take": 9, "give": 22, "take_any": 26, "give_any": 26}  # on the straight path and the jumps off it
if os.environ.get("ALLOT_TEST_EXTENT") != "full":  # what is off one by one, "all of them" has together
    sets = {name: sets[name] for name in ("nothing", "peaks", "traced, no row", "all of them")}
compiler, include = os.environ["CXX"], os.environ["ALLOT_INCLUDE"]


def code(policies):
    text = subprocess.run([compiler, "-std=c++20", "-O2", "-DNDEBUG", "-I", include, "-S", "-o", "-", "-x", "c++", "-"],
                          input=source % policies, check=True, capture_output=True, text=True).stdout
    functions = {}
    for function in ceilings:
        body = re.search(rf"^{function}:[^\n]*\n(.*?)\n\s*\.cfi_endproc", text, re.S | re.M)[1]
        lines = [line.strip() for line in body.splitlines()]
        lines = [line for line in lines if line and not line.startswith((".", "#", "//")) and not line.endswith(":")]
        # Names of labels and of instances differ with the set and the file; what is done does not.
        functions[function] = [re.sub(r"\.L\w+|_Z\w+", "label", line) for line in lines]
    return functions


def straight(lines):
    """Instructions up to the first return: the path on which every guess is right."""
    end = next((i for i, line in enumerate(lines) if line.startswith("ret")), len(lines) - 1)
    return end + 1


failed = 0
plain = code(sets["nothing"])
for name, policies in sets.items():
    for function, lines in code(policies).items() if policies else ():
        # A ledger that is off may move the fields behind it: offsets apart, the code must be the same.
        def shape(ls):
            return [re.sub(r"-?\d+\(", "offset(", re.sub(r"^addq\s+\$\d+", "addq $offset", line)) for line in ls]
        if shape(lines) != shape(plain[function]):
            print(f"{function}: the set {name} compiles to {len(lines)} instructions, without naming it to "
                  f"{len(plain[function])}")
            failed = 1
for function, ceiling in ceilings.items():
    n = straight(plain[function])
    print(f"{function}: {n} instructions on the straight path, {len(plain[function])} in all")
    if n > ceiling:
        print(f"{function}: more than {ceiling}")
        failed = 1
sys.exit(failed)
