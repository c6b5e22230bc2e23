"""allot/compiled.hpp includes each header that has a function of the compiled library: else its users link nothing for it."""

import os
import re
import sys
from pathlib import Path

include = Path(os.environ["ALLOT_INCLUDE"])
library = "allot/compiled.hpp"


def included(header, seen):
    if header not in seen:
        seen.add(header)
        for name in re.findall(r"^#include <(allot/[^>]+)>", (include / header).read_text(), re.M):
            included(name, seen)
    return seen


def has_function(header):
    text = re.sub(r"^#define .*", "", (include / header).read_text(), flags=re.M)
    return re.search(r"^[^/\n]*\bALLOT_OUTLINE", text, re.M) is not None


marked = {str(h.relative_to(include)) for h in (include / "allot").rglob("*.hpp")}
marked = sorted(h for h in marked if has_function(h))
left = [h for h in marked if h not in included(library, set())]
print("\n".join(f"{h} has an ALLOT_OUTLINE, and {library} does not include it" for h in left) or f"{len(marked)} headers, all in the library")
sys.exit(1 if left or not marked else 0)
