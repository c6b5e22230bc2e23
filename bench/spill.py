#!/usr/bin/env python3
"""Objects that leave for files, and come back, beside fio with the same pattern: round by round, the one after the other.

    bench/spill.py build/bench/bench/allot_spill [--rounds 7] [--directory /tmp] [--mebibytes 512] [--page docs/bench/spill.md]

fio writes and reads one file by calls as large as ours are at most, through the system's cache, as we do: MiB/s of both are of that cache
and of the processor, not of a disk. Without fio its columns are left out, and the page says so.
"""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import tempfile

SIZES = {"4 KiB": 4096, "64 KiB": 65536, "1 MiB": 1 << 20, "16 MiB": 16 << 20}
MOST_PER_CALL = 8 << 20


def ours(program, directory, size, mebibytes):
    return json.loads(subprocess.run([program, directory, str(size), str(mebibytes)], check=True, capture_output=True, text=True).stdout)


def of_fio(directory, size, mebibytes):
    found = {}
    with tempfile.TemporaryDirectory(dir=directory) as folder:
        for how in ("write", "read"):
            run = subprocess.run(["fio", "--name=spill", f"--filename={folder}/file", f"--rw={how}", f"--bs={min(size, MOST_PER_CALL)}",
                                  f"--size={mebibytes}M", "--ioengine=psync", "--fallocate=none", "--invalidate=0", "--output-format=json"],
                                 check=True, capture_output=True, text=True)
            found[how] = json.loads(run.stdout)["jobs"][0][how]["bw_bytes"] / (1 << 20)
    return found


def row(name, rounds, beside):
    middle = {key: statistics.median(r[key] for r in rounds) for key in rounds[0]}
    cells = [name, f"{middle['write']:.0f}", f"{middle['read']:.0f}", f"{middle['clean']:.0f}", f"{middle['write_calls']:.2f}", f"{middle['read_calls']:.2f}"]
    for how in ("write", "read"):
        if beside:
            ratios = sorted(r[how] / b[how] for r, b in zip(rounds, beside))
            cells += [f"{statistics.median(b[how] for b in beside):.0f}", f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"]
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--directory", default="/tmp")
    parser.add_argument("--mebibytes", type=int, default=512)
    parser.add_argument("--page", type=pathlib.Path)
    o = parser.parse_args()
    has_fio = shutil.which("fio") is not None
    heads = ["object", "write", "read", "leave clean", "writes a MiB", "reads a MiB"]
    if has_fio:
        heads += ["fio write", "ours to it", "fio read", "ours to it"]
    lines = ["# Objects that leave for files, beside fio\n",
             f"MiB/s through the system's cache, medians of {o.rounds} rounds of {o.mebibytes} MiB, ours and fio in turn; ratios of pairs, with the least and the most. What is written has a "
             "checksum, which each read verifies; fio has none. Reported, not gated: a disk varies by two.\n",
             "Command: [bench/spill.py](../../bench/spill.py)." + ("" if has_fio else " **fio is not installed: its columns are missing.**") + "\n",
             "| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for name, size in SIZES.items():
        rounds, beside = [], []
        for _ in range(o.rounds):
            rounds.append(ours(o.program, o.directory, size, o.mebibytes))
            if has_fio:
                beside.append(of_fio(o.directory, size, o.mebibytes))
        lines.append(row(name, rounds, beside))
    text = "\n".join(lines) + "\n"
    print(text)
    if o.page:
        o.page.write_text(text)


if __name__ == "__main__":
    main()
