"""The planted bugs, one file a room: a folder of include/allot, model for those of tests/model, moving for rows that move.

    name: bug(test, what is there, what is there with the bug, and so on in pairs, within=function or class, law=number)

Texts are compared by their tokens (source.py). Each occurs once in its room's tree, or once within what is named. `law` is
the law of docs/house.md, section 4, that the bug breaks. A lock-free step has the law that fails without it. A bug with
smoke=True is planted in every run of the tests.
"""
import importlib
import pathlib

ROOMS = {file.stem: importlib.import_module(f".{file.stem}", __name__).BUGS
         for file in sorted(pathlib.Path(__file__).parent.glob("[a-z]*.py")) if file.stem != "bug"}
BUGS = {name: bug for bugs in ROOMS.values() for name, bug in bugs.items()}
ROOM_OF = {name: room for room, bugs in ROOMS.items() for name in bugs}
assert len(BUGS) == sum(map(len, ROOMS.values())), "two rooms name a bug alike"
