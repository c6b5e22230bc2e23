#!/usr/bin/env python3
"""No public class has a public function that only allot's own headers call: it is private, and a friend reaches it.

Such a function takes an object of a type in `detail`, which no user has; or it is on no page that users read, and in no contract, and
another header than its own calls it. Constructors, operators, and classes in `detail` are not looked at. LEFT has how many of them a
class still has: one more is an error, and so is a number that is too large. --all: prints them.
"""
import re
import sys

from _declarations import HEADERS, NAME, code, public_functions, words_of_pages

# Types of `detail` that a user's argument becomes.
GIVEN = {"function_ref"}
# What a writer of a device's api, of a stored type, and of a slot policy reads.
CONTRACTS = {"device/api.hpp": None, "spill/stored.hpp": "#pragma once", "heap/heaplet.hpp": None}
LEFT = {"arbiter": 1, "borrowed": 1, "chunk_arena": 3, "cuda": 1, "device_allocator": 2, "device_staging": 2, "home": 1,
        "huge_pages": 1, "kept_bytes": 3, "machine": 3, "mapped": 1, "on_stream": 3, "page_arena": 22, "pin_request": 2, "retry_scope": 3,
        "row_type": 3, "situation": 7, "tenant": 1}

# What public_functions() finds in such a header: (class, name, whether it takes a type of detail).
SAMPLE = """
namespace allot {
class one final : public two {
    using entry = detail::store_entry;
  public:
    one(entry& e) noexcept : e_(e), n_{1} { f(); }
    one& operator=(const one&) = delete;
    template <class T> requires(sizeof(T) > 1) ALLOT_OUTLINE void f(entry& e, int n = g(2)) const noexcept { h(); }
    int g() const noexcept override { return n_; } // int no() {}
    void h(detail::function_ref<void()> f);
  private:
    void no(entry& e);
    entry& e_;
    int n_{0};
};
namespace detail { struct no { void f(); }; }
}
"""
FOUND = [("one", "f", True), ("one", "g", False), ("one", "h", False)]


def takes_detail(parameters, aliases):
    """Whether these words of parameters name a type of `detail`."""
    at = [i for i, word in enumerate(parameters) if word == "detail" and parameters[i + 1] == "::"]
    return bool(aliases & set(parameters)) or any(parameters[i + 2] not in GIVEN for i in at)


def main():
    found = [(of, name, takes_detail(parameters, aliases)) for of, name, _, parameters, aliases in public_functions(SAMPLE)]
    if found != FOUND:
        sys.exit(f"handles_only.py: in the sample are {FOUND}, and found {found}")
    headers = {str(path.relative_to(HEADERS)): path.read_text() for path in sorted(HEADERS.rglob("*.hpp"))}
    known, called = words_of_pages(), {}
    for header, text in headers.items():
        for name in re.findall(r"(?:\.|->|::)(?:template )?(\w+)\s*[(<]", code(text)):
            called.setdefault(name, set()).add(header)
        if header in CONTRACTS:
            known |= set(NAME.findall(text.split(CONTRACTS[header] or "\0")[0]))
    only, classes = {}, set()
    for header, text in headers.items():
        for of, name, line, parameters, aliases in public_functions(text):
            classes.add(of)
            if takes_detail(parameters, aliases) or name not in known and called.get(name, set()) - {header}:
                only.setdefault(of, []).append(f"{header}:{line}: {of}::{name}()")
    wrong = [of for of in sorted(only.keys() | LEFT.keys()) if len(only.get(of, ())) != LEFT.get(of, 0)]
    for of in sorted(only) if "--all" in sys.argv else wrong:
        print(*only.get(of, ()), sep="\n")
    if wrong:
        sys.exit("\n".join(f"{of} has {len(only.get(of, ()))} public functions that only headers call, not {LEFT.get(of, 0)}: make each private, with "
                           "a friend, or say on a page what it is for; or mend LEFT" for of in wrong))
    print(f"{len(classes) - len(LEFT)} classes have no public function that only headers call; {len(LEFT)} have {sum(LEFT.values())}")


if __name__ == "__main__":
    main()
