#!/usr/bin/env python3
"""Checks a smoke run of allot_bench or allot_moving: every workload ran; instructions and locked operations are counted right; rows moved.

    bench/check.py smoke.json
"""
import sys

import goals


def faults_of_resizing(work, cell):
    for name in cell.of_kinds(["ours"]):
        if not cell.median(name, "moves") <= 1 or not cell.median(name, "faults committed") < cell.median(name, "faults cold") / 10:
            yield f"{work}: {name} moved more than once, or touched new memory again"
    for kind, least in (("ours", 2), ("peer raw", 1)):
        if len(cell.of_kinds([kind])) < least:
            yield f"{work}: less than {least} of kind {kind}"


def faults_of_moving(run):
    for (work, size), cell in goals.run_cells(run).items():
        if work != "moving":
            yield from faults_of_resizing(work, cell)
            continue
        for name in cell.of_kinds(["ours"]):
            if not cell.median(name, "moved %") > 50 or not cell.median(name, "compacted") < cell.median(name, "sparse") / 2:
                yield f"{size}: {name} did not move most rows, or kept their memory"
        for kind, least in (("ours", 6), ("peer raw", 1)):
            if len(cell.of_kinds([kind])) < least:
                yield f"{size}: less than {least} of kind {kind}"


def faults(run):
    cells = goals.run_cells(run)
    if goals.is_of_moving(run):
        yield from faults_of_moving(run)
        return
    if len(cells) < 40:
        yield f"{len(cells)} cells: some workloads did not run"
    for (work, size), cell in cells.items():
        ours_alone = work == "release_all" or work.startswith(("pages", "most")) or work.endswith("constant")
        for kind in ("ours",) if ours_alone else ("ours", "peer rows"):
            if not cell.of_kinds([kind]):
                yield f"{work}/{size}: nothing of kind {kind}"
    if ("steps/W1", "64") not in cells:
        print("check.py: nothing was counted here")
        return

    def counted(work, subject, figure):
        return cells[work, "64"].median(subject, figure)
    # Locked operations: a lock-free list takes one to push and one to pop, a thread's private list none, and malloc with a link
    # count one, to drop it.
    for work, subject, locked in (("steps/W1", "shared list", 2), ("steps/W1", "free list, counted", 0),
                                  ("steps/W1", "mimalloc rows", 1), ("steps/W1", "heap.local bitmap", 0),
                                  ("steps/link", "two atomic adds", 2), ("steps/constant", "heap.local bitmap", 0)):
        if subject in cells[work, "64"].subjects and abs(counted(work, subject, "locked") - locked) > 0.2:
            yield f"{work}: {subject} takes {counted(work, subject, 'locked')} locked operations, not {locked}"
    null, bare = (counted("steps/W1", s, "instructions") for s in ("null", "free list"))
    if not 3 < null < bare < 30:
        yield f"steps/W1: {null} instructions of the harness, {bare} with a free list"


def main():
    found = list(faults(goals.load(sys.argv[1])))
    for fault in found:
        print(f"check.py: {fault}", file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
