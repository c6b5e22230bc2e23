#!/usr/bin/env python3
"""Each public name of allot is on a page that users read; a name that none needs is an internal, and goes into a namespace `detail`.

Public names are those of types, functions, concepts, aliases and variables that are declared outside of classes and of each namespace
`detail`. _declarations.py says which pages there are.
"""
import sys

from _declarations import HEADERS, declarations, words_of_pages

# What declarations() finds in such a header, in its order.
SAMPLE = """
namespace allot::inline ALLOT_ABI {
template <class T, auto Most = (2 > 1)> concept one = requires(T& t) { t.f(); };
namespace detail { class hidden { void f(); }; }
class two;
template <class T> requires requires { T::x; } [[nodiscard]] ALLOT_OUTLINE auto three(int n = 3) noexcept(true) -> int { return n; }
using four = two; /* class no; */ inline constexpr int five[]{1, 2}; const char* const six = "class no {";
template <> struct eight<int> { struct no {}; };
void two::no() {}
constexpr int operator""_seven() { return 7; }
struct alignas(64) eight final : two { void no(); };
}
"""
NAMES = "one hidden two three four five six _seven eight".split()


def main():
    found = [name for _, name, _, _ in declarations(SAMPLE)]
    if found != NAMES:
        sys.exit(f"public_names.py: in the sample are {NAMES}, and found {found}")
    known, public = words_of_pages(), {}
    for path in sorted(HEADERS.rglob("*.hpp")):
        for spaces, name, line, is_defined in declarations(path.read_text()):
            whole = "::".join([*spaces, name])
            is_public = spaces[:1] in ([], ["allot"]) and "detail" not in spaces
            if is_public and (whole not in public or is_defined and not public[whole][2]):
                public[whole] = path.relative_to(HEADERS), line, is_defined
    wrong = [f"{path}:{line}: {whole}" for whole, (path, line, _) in public.items() if whole.split("::")[-1] not in known]
    if wrong:
        print(*sorted(wrong), sep="\n")
        sys.exit(f"{len(wrong)} of {len(public)} public names are on no page: put each into a namespace detail, or say on a page what it is for")
    print(f"{len(public)} public names, each on a page")


if __name__ == "__main__":
    main()
