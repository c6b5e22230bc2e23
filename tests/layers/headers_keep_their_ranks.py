"""Every #include of include/allot keeps the ranks and targets of docs/layers.txt."""

import os
import sys
from pathlib import Path

from _layers import check, read_layers

include = Path(os.environ["ALLOT_INCLUDE"])
layers = read_layers(include.parent / "docs" / "layers.txt")
wrong = check(include / "allot", layers)
print("\n".join(wrong) or "every header keeps its rank and its target")
sys.exit(1 if wrong else 0)
