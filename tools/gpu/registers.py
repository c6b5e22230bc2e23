"""Compares the registers of kernels, as `nvcc -Xptxas -v` reports them, with ceilings (bench/gpu/registers.json).

A ceiling is a measured number rounded up to a multiple of 8, the unit in which a GPU allocates registers; above it fewer
warps may fit. A spill is a failure, as are a kernel without a ceiling and a ceiling without a kernel."""
import json
import pathlib
import re

LINE = re.compile(r"Compiling entry function '(?P<name>[^']+)' for 'sm_(?P<arch>\d+)\w*'"
                  r"|(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads"
                  r"|Used (?P<registers>\d+) registers")


def plain_name(symbol):
    """`_Z5countPjS_j` gives count; nested names and C names are unchanged."""
    m = re.match(r"_Z(\d+)", symbol)
    return symbol[m.end():m.end() + int(m[1])] if m else symbol


def parse(text):
    """{kernel: {arch: (registers, bytes spilled)}}; the maximum over overloads and template instances."""
    found, name, arch, spilled = {}, None, None, 0
    for m in LINE.finditer(text):
        if m["name"]:
            name, arch, spilled = plain_name(m["name"]), m["arch"], 0
        elif m["stores"]:
            spilled = int(m["stores"]) + int(m["loads"])
        elif name:
            before = found.setdefault(name, {}).get(arch, (0, 0))
            found[name][arch] = (max(before[0], int(m["registers"])), max(before[1], spilled))
    return found


def read_ceilings(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


def ceilings_of(seen):
    return {source: {kernel: {arch: -(-r // 8) * 8 for arch, (r, _) in sorted(archs.items(), key=lambda a: int(a[0]))}
                     for kernel, archs in sorted(kernels.items())} for source, kernels in sorted(seen.items())}


def compare(seen, ceilings):
    """Returns the failures as lines, and a table of (source, kernel, arch, registers, ceiling)."""
    wrong, rows = [], []
    for source, kernels in sorted(seen.items()):
        listed = ceilings.get(source, {})
        for kernel, archs in sorted(kernels.items()):
            for arch, (registers, spilled) in sorted(archs.items()):
                most = listed.get(kernel, {}).get(arch)
                rows.append((source, kernel, arch, registers, most))
                if most is None and (kernel not in listed or arch in ("80", "90", "100")):
                    wrong.append(f"{source}: {kernel} for sm_{arch} has no ceiling")
                elif most is not None and registers > most:
                    wrong.append(f"{source}: {kernel} for sm_{arch} needs {registers} registers; its ceiling is {most}")
                if spilled:
                    wrong.append(f"{source}: {kernel} for sm_{arch} spills {spilled} bytes")
        wrong += [f"{source}: a ceiling for {kernel}, but no such kernel" for kernel in sorted(set(listed) - set(kernels))]
    return wrong, rows
