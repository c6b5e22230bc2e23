"""Every #include of include/allot keeps the ranks of docs/layers.txt."""

import os
import sys
from pathlib import Path

from _layers import check, read_ranks

include = Path(os.environ["ALLOT_INCLUDE"])
ranks = read_ranks(include.parent / "docs" / "layers.txt")
wrong = check(include / "allot", ranks)
print("\n".join(wrong) or "every header keeps its rank")
sys.exit(1 if wrong else 0)
