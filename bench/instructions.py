#!/usr/bin/env python3
"""Instructions of an allocate and of a release, of a request on a slow path, and of a call of the simulated device, counted by
callgrind: the same on every machine of a kind, so a test can hold them under ceilings. The harness's instructions (variant
"null") are subtracted.

    bench/instructions.py [build/bench/bench/allot_instructions] [--gate bench/instructions.json] [--json FILE]

Without a program it is built first, for some minutes.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from layout import table


def calls(profile):
    """{function: inclusive instructions} of the calls in a callgrind profile, which abbreviates names."""
    names, costs, called = {}, {}, None
    for line in profile.splitlines():
        if match := re.match(r"(c?fn)=\((\d+)\)(?: (.*))?$", line):
            if match.group(3):
                names[match.group(2)] = match.group(3)
            if match.group(1) == "cfn":
                called = names[match.group(2)]
        elif called and not line.startswith(("calls=", "cob=", "cfi=", "cfl=")):
            costs[called] = costs.get(called, 0) + int(line.split()[1])
            called = None
    return costs


SIZES = {"one_size": "64", "mixed_sizes": "mixed"}
WORKS = {"pair": "W1", "allocate": "W2", "release": "W2"}
ROWS = {"W1": 10_000, "W2": 100_000} # as in counted/count.hpp
COLD, COLD_CALLS = "cold", 200       # the same
KEYS = [f"{work}/{size}" for work in ROWS for size in SIZES.values()]


def counts(program, valgrind):
    """{variant: {"W1/64": {"pair": ...}, "W2/64": {"allocate": ..., "release": ...}, ...}}: instructions per row, without those of "null";
    {variant: {"cold": {"one": ...}}}: per request."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([valgrind, "--tool=callgrind", f"--callgrind-out-file={folder}/out", program],
                             capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"instructions.py: {program} failed under {valgrind}:\n{run.stderr[-2000:]}")
        profile = pathlib.Path(folder, "out").read_text()
    variants = dict(line.split() for line in run.stdout.splitlines())
    out = {}
    for function, cost in calls(profile).items():
        if match := re.search(r"measured::(pair|allocate|release)<(\d+), bench::(\w+), ", function):
            operation, variant, sizes = match.groups()
            work = WORKS[operation]
            out.setdefault(variants[variant], {}).setdefault(f"{work}/{SIZES[sizes]}", {})[operation] = cost / ROWS[work]
        elif match := re.search(r"measured::cold<(\d+), ", function):
            out[variants[match.group(1)]] = {COLD: {"one": cost / COLD_CALLS}}
    if set(out.get("null", {})) != set(KEYS) or len(out) != len(variants):
        sys.exit("instructions.py: the profile lacks measured functions; is the program stripped?")
    floor = out.pop("null") | {COLD: {"one": 0}}
    names = [variants[v] for v in sorted(variants, key=int) if variants[v] in out]
    return {name: {key: {op: round(n - floor[key][op], 1) for op, n in out[name][key].items()}
                   for key in [*KEYS, COLD] if key in out[name]}
            for name in names}


def built():
    """The program, built with the preset bench."""
    root = pathlib.Path(__file__).resolve().parents[1]
    for step in (["--preset", "bench"], ["--build", "--preset", "bench", "--target", "allot_instructions"]):
        if subprocess.run(["cmake", *step], cwd=root, stdout=sys.stderr).returncode != 0:
            sys.exit("instructions.py: allot_instructions cannot be built")
    return str(root / "build/bench/bench/allot_instructions")


def over(found, ceilings):
    for name, keys in ceilings.items():
        for key, ops in keys.items():
            for op, most in ops.items():
                is_now = found.get(name, {}).get(key, {}).get(op)
                if is_now is None or is_now > most:
                    yield f"{name}: {op} in {key} takes {is_now} instructions, more than {most}"


def lines(found):
    """A table; of W2: allocate + release = the pair."""
    def cell(ops):
        return " = ".join([" + ".join(f"{n:.1f}" for n in ops.values())] + [f"{sum(ops.values()):.1f}"] * (len(ops) > 1)) or "-"
    pairs = [[name] + [cell(keys.get(key, {})) for key in KEYS] for name, keys in found.items() if COLD not in keys]
    cold = [[name, f"{keys[COLD]['one']:.0f}"] for name, keys in found.items() if COLD in keys]
    yield from table(["instructions of a pair"] + KEYS, pairs)
    if cold:
        yield from table(["instructions of a request", "one"], cold)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?")
    parser.add_argument("--valgrind", default="valgrind")
    parser.add_argument("--gate", metavar="FILE", help="ceilings; exit code 1 when one is exceeded")
    parser.add_argument("--json", metavar="FILE", help="write the counts there")
    options = parser.parse_args()

    found = counts(options.program or built(), options.valgrind)
    print("\n".join(lines(found)))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found, indent=1) + "\n")
    if options.gate:
        faults = list(over(found, json.loads(pathlib.Path(options.gate).read_text())))
        for fault in faults:
            print(f"instructions.py: {fault}", file=sys.stderr)
        sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
