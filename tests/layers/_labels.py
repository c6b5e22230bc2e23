"""The label of a test: the least target of docs/layers.txt that may include all that its source includes.

    _labels.py OUT --sources                      for CMake: set(allot_needs_FILE TARGET) for each source of FOLDERS, and each header
    _labels.py OUT PREFIX LABEL PROGRAM [SPEC]... for ctest: the labels of a Catch2 program's tests, LABEL and the target. Nothing
                                                  where its Catch2, of version 2, does not say where a test is
"""

import functools
import re
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

from _layers import INCLUDE, MAY, read_layers

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("tests", "examples")
PATHS = [ROOT / folder for folder in ("include", "tests", "examples", "bench")]
layers = read_layers(ROOT / "docs/layers.txt")


@functools.cache
def needs(source):
    """The targets of all headers of allot that a file includes, itself among them."""
    found, seen, left = set(), set(), [source]
    while left:
        file = left.pop()
        if file in seen:
            continue
        seen.add(file)
        if file.is_relative_to(PATHS[0]):  # what it includes has these targets
            found |= layers.target(file.relative_to(PATHS[0] / "allot").as_posix())
            continue
        for _, name in INCLUDE.findall(file.read_text()):
            left += [path for path in (folder / name for folder in (file.parent, *PATHS)) if path.is_file()][:1]
    return next(target for target, may in MAY.items() if found <= may)


def of_sources():
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*") if file.suffix in (".cpp", ".cu")]
    for file in sorted([*files, *PATHS[0].rglob("*.hpp")]):
        yield f"set(allot_needs_{file.relative_to(ROOT).as_posix()} {needs(file)})"


def of_program(prefix, label, *command):
    listed = subprocess.run([*command, "--list-tests", "--reporter", "xml"], stdout=subprocess.PIPE, text=True).stdout
    for test in xml.fromstring(listed).iter("TestCase") if listed.startswith("<?xml") else ():
        target = needs(Path(test.findtext("SourceInfo/File")).resolve())
        yield f'set_tests_properties([==[{prefix}{test.findtext("Name")}]==] PROPERTIES LABELS "{label};{target}")'


out, *asked = sys.argv[1:]
lines = of_sources() if asked == ["--sources"] else of_program(*asked)
Path(out).write_text("".join(line + "\n" for line in lines))
