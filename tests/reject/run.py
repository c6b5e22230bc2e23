#!/usr/bin/env python3
"""Compiles wrong programs: one mistake a file must give exactly one error, with the words that the file expects.

    run.py --compiler g++ --include include [--nvcc] file...            each with its mistake
    run.py --compiler g++ --include include [--nvcc] --right file...    all without, in one compilation

A file says what it expects in comments, each on one line or going on in the comment lines below it:
    // expected-error {{text}} {{text}} ...    one error; every text stands in what the compiler prints about it
    // expected-error-outside {{text}}         errors, but none from inside the library
    // nvcc-says-no {{text}}                   of the texts, one that nvcc does not print
The mistake stands between `#if WRONG` and `#else`; with WRONG=0 the file must compile, so that it has no other. For that all
files are made one, each in a namespace behind the headers of all, because to parse those is most of the work; what a file
does not include is an error too many when it is compiled alone, with its mistake.
Exit code 0: as expected. 1: not; the compiler's output is shown.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

# "file:3:5: error: text" of g++ and clang, "file(3): error: text" of nvcc's front end
ERROR = re.compile(r"^(?P<file>[^\s:(][^:(]*)(?::\d+:\d+|:\d+|\(\d+\)): (?:fatal |catastrophic )?error\b[^:]*: (?P<text>.*)")
TEXT = r"\{\{(.*?)\}\}"
INCLUDE = re.compile(r'^#include (?:<(?P<header>.*)>|"(?P<beside>.*)")', re.M)


def is_nvcc(options):
    return options.nvcc or "nvcc" in os.path.basename(options.compiler)


def compile_file(options, path, wrong):
    command = [options.compiler, "-std=c++20", f"-DWRONG={wrong}", "-I", options.include]
    command += ["-x", "cu", "-c", "-o", os.devnull] if is_nvcc(options) else ["-fsyntax-only", "-Wall", "-Wextra"]
    done = subprocess.run(command + [path], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    return done.returncode, done.stdout + done.stderr


def expectations(options, path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    text = re.sub(r"\n//\s+(?!expected-error|nvcc-says-no)", " ", text)
    comments = re.findall(r"//\s*expected-error(-outside)?\s+(.*)", text)
    if len(comments) != 1:
        sys.exit(f"{path}: one expected-error comment is needed, {len(comments)} found")
    outside, texts = comments[0]
    silent = [t for line in re.findall(r"//\s*nvcc-says-no\s+(.*)", text) for t in re.findall(TEXT, line)] if is_nvcc(options) else []
    if not re.fullmatch(rf"(?:{TEXT}\s*)+", texts):
        sys.exit(f"{path}: expected-error needs {{{{text}}}} {{{{text}}}} ..., and nothing between or behind them: {texts}")
    return bool(outside), [t for t in re.findall(TEXT, texts) if t not in silent]


def complaints(options, path):
    outside, texts = expectations(options, path)
    code, output = compile_file(options, path, 1)
    errors = [match for match in map(ERROR.match, output.splitlines()) if match]
    library = os.path.realpath(options.include) + os.sep
    found = []
    if code == 0 or not errors:
        found.append("it compiles")
    elif outside:
        inside = [e for e in errors if os.path.realpath(e["file"]).startswith(library)]
        found += [f"an error from inside the library: {e['text']}" for e in inside]
    elif len(errors) != 1:
        found.append(f"{len(errors)} errors instead of one")
    flat = " ".join(output.split())
    found += [f"the output does not say '{text}'" for text in texts if text not in flat]
    return found, output


def joined(paths):
    includes, bodies = {}, []
    for number, path in enumerate(map(os.path.abspath, paths)):
        with open(path, encoding="utf-8") as file:
            for match in INCLUDE.finditer(file.read()):
                header = match["header"] or os.path.join(os.path.dirname(path), match["beside"])
                includes[f"<{header}>" if match["header"] else f'"{os.path.normpath(header)}"'] = None
        bodies.append(f'namespace file_{number} {{\n#include "{path}"\n}}\n')
    return "".join(f"#include {header}\n" for header in includes) + "".join(bodies)


def without_mistakes(options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "all.cpp")
        with open(path, "w", encoding="utf-8") as file:
            file.write(joined(options.files))
        code, output = compile_file(options, path, 0)
    print(f"with WRONG=0 they do not compile\n{output}" if code else f"{len(options.files)} files compile without their mistakes")
    return 1 if code else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", required=True)
    parser.add_argument("--nvcc", action="store_true", help="the compiler takes nvcc's options")
    parser.add_argument("--right", action="store_true", help="the files without their mistakes, all at once")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    if options.right:
        return without_mistakes(options)
    failed = 0
    for path in options.files:
        found, output = complaints(options, path)
        if found:
            failed += 1
            print(f"{path}: {'; '.join(found)}\n{output}")
    print(f"{len(options.files) - failed} of {len(options.files)} as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
