"""The table of planted bugs, one file a room, or more: heap_fits.py is of room heap.

    name: (test, header, what stands there, what stands there with the bug, and so on in pairs)

The room is the header's folder. Each text that is replaced stands in its header once.
"""
import importlib
import pathlib

BUGS = {}
for file in sorted(pathlib.Path(__file__).parent.glob("[a-z]*.py")):
    found = getattr(importlib.import_module(f".{file.stem}", __name__), "BUGS", {})
    assert not BUGS.keys() & found.keys(), f"{file.name} names a bug twice: {BUGS.keys() & found.keys()}"
    assert all(header.split("/")[0] == file.stem.split("_")[0] for _, header, *_ in found.values()), f"{file.name} has a bug of another room"
    BUGS |= found
