#!/usr/bin/env python3
"""Instructions of an allocate and of a release, counted by callgrind: the same on every machine of a kind, so
they can be gated where times cannot. The harness's own (variant "null") are subtracted.

    bench/instructions.py build/bench/bench/allot_instructions [--gate bench/instructions.json] [--json FILE]
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile


def counts(program, valgrind):
    """[(variant, rows, {"allocate": n, "release": n})] from callgrind's dumps, in the order they ran."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            [valgrind, "--tool=callgrind", f"--callgrind-out-file={folder}/out", "--zero-before=*measured::*",
             "--dump-after=*measured::*", program],
            capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"instructions.py: {program} failed under {valgrind}:\n{run.stderr[-2000:]}")
        dumps = []
        for path in pathlib.Path(folder).glob("out.*"):
            text = path.read_text()
            trigger = re.search(r"^desc: Trigger: --dump-after=.*measured::(allocate|release)", text, re.M)
            total = re.search(r"^(?:summary|totals): (\d+)", text, re.M)
            if trigger and total:
                dumps.append((int(path.suffix[1:]), trigger.group(1), int(total.group(1))))
    dumps.sort()
    runs = [line.split() for line in run.stdout.splitlines()]
    if [kind for _, kind, _ in dumps] != ["allocate", "release"] * len(runs):
        sys.exit(f"instructions.py: {len(dumps)} dumps for {len(runs)} runs; this valgrind tells them otherwise")
    return [(name, int(rows), {"allocate": dumps[2 * i][2], "release": dumps[2 * i + 1][2]})
            for i, (name, rows) in enumerate(runs)]


def each(all_counts):
    """{variant: {"in_cache": {...}, "in_batches": {...}}}: instructions a row, the floor subtracted."""
    out = {}
    for index, key in enumerate(("in_cache", "in_batches")):
        part = all_counts[index::2]
        floor = next(c for name, _, c in part if name == "null")
        for name, rows, c in part:
            out.setdefault(name, {})[key] = {op: round((c[op] - floor[op]) / rows, 1) for op in c}
    return out


def over(found, ceilings):
    for name, keys in ceilings.items():
        for key, ops in keys.items():
            for op, most in ops.items():
                is_now = found.get(name, {}).get(key, {}).get(op)
                if is_now is None or is_now > most:
                    yield f"{name}: {op} {key.replace('_', ' ')} takes {is_now} instructions, more than {most}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--valgrind", default="valgrind")
    parser.add_argument("--gate", metavar="FILE", help="ceilings; exit code 1 when one is exceeded")
    parser.add_argument("--json", metavar="FILE", help="write the counts there")
    options = parser.parse_args()

    found = each(counts(options.program, options.valgrind))
    print("| instructions a row | allocate, in cache | release, in cache | allocate, in batches | release, in batches |")
    print("|---|---:|---:|---:|---:|")
    for name, keys in found.items():
        if name != "null":
            cells = [keys[key][op] for key in ("in_cache", "in_batches") for op in ("allocate", "release")]
            print(f"| {name} | " + " | ".join(f"{c:.1f}" for c in cells) + " |")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found, indent=1) + "\n")
    if options.gate:
        faults = list(over(found, json.loads(pathlib.Path(options.gate).read_text())))
        for fault in faults:
            print(f"instructions.py: {fault}", file=sys.stderr)
        sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
