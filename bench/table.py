#!/usr/bin/env python3
"""Markdown, and with matplotlib a plot, from the JSON of allot_bench.

    bench/table.py rows.json [--out rows.md] [--plot rows.svg] [--instructions instructions.json]

Goals, and the reasons for those missed, stand in goals.json and reasons.txt beside this file.
"""
import argparse
import json
import pathlib
import sys

import goals


def table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|---" + "|---:" * (len(head) - 1) + "|"
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def number(value):
    return "-" if value is None or value == float("inf") else f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}" if abs(value) < 1e4 else f"{value:.0f}"


def spread(values):
    found = goals.quartiles(values)
    return "-" if not found else number(found[1]) + (f" [{number(found[0])}-{number(found[2])}]" if len(values) > 1 else "")


def told(found):
    """The median, and the quartiles where there was more than one round."""
    low, median, high = found
    return number(median) + (f" [{number(low)}-{number(high)}]" if low != high else "")


def goal_line(line):
    def ratio(of):
        return f"{told(of[1])} of {of[0]}" if of and of[1] else "-"
    bare = [f"{way}: {v}" if way else v for way, v in line.verdicts.items()]
    result = "; ".join(bare).replace("missed", "**missed**").replace(goals.ABSENT, f"**{goals.ABSENT}**")
    limit = "-" if line.limit is None else ("at least " if line.least else "") + f"{line.limit:g}"
    also = f" (raw: {line.raw[2]})" if line.raw and line.raw[2] != line.ours else ""
    return [line.text, line.size, limit, (line.ours or "-") + also,
            told(line.figure) + (f" {line.unit}" if line.unit else "") if line.figure else "-",
            ratio(line.rows), ratio(line.raw), ratio(line.other), result]


def goal_table(run):
    lines = goals.judge(run)
    states = [line.state for line in lines]
    yield "## Goals\n"
    if all(s == goals.ABSENT for s in states):
        yield "No goal is set for what this run measures.\n"
        return
    if "--smoke" in run["command"].split():
        yield "**Of a smoke run: its figures mean nothing, and neither do the results.**\n"
    yield ", ".join(f"{states.count(s)} {s}" for s in ("met", "missed", "measured", goals.ABSENT)) + ".\n"
    yield ("Ours is the best set in the cell; *is*: its figure. Ratios are medians over paired rounds with their quartiles, to the "
           "best general peer in the cell. Peers are met twice: as *rows* (malloc(n + 8) with a link count that an atomic "
           "subtraction drops; ours is dropped without one, which favours us) and *raw* (malloc and free: no count, so they "
           "do less; ours may be uncounted too there, unless the goal counts). *Bound*: what no allocator can beat; or "
           "what else the goal names. *Within noise*: the goal lies between the quartiles, so another run may say otherwise. "
           "*Measured*: the issue sets no limit.\n")
    yield from table(["goal", "size", "at most", "ours", "is", "to the best peer's rows", "to the best raw peer", "to the bound",
                      "result"], [goal_line(line) for line in lines])
    yield from misses(lines)


def misses(lines):
    for title, state, unknown in (("Why they are missed", "missed", "no reason given yet"), ("Not measured in this run", goals.ABSENT, "")):
        mine = [line for line in lines if line.state == state]
        if mine:
            yield f"### {title}\n"
            for line in mine:
                more = "; ..." if len(line.over) > 12 else ""
                told = [line.why or unknown, f"By: {'; '.join(line.over[:12])}{more}" if line.over else ""]
                yield ": ".join([f"- {line.text}, {line.size}"] + [". ".join(t.rstrip(".") for t in told if t) + "."] * any(told))
            yield ""


def summaries(cells):
    """Medians of the first figure, a line a subject: a table a size, and one of what runs at 64 bytes alone."""
    timed = [c for c in cells if c.figures[0] == "CPU ns"]
    for size in dict.fromkeys(c.size for c in timed):
        mine = [c for c in timed if c.size == size and c.work not in ("release_all",) and not c.work.startswith("pages")]
        if not mine:
            continue
        yield f"## {size} bytes: CPU ns, medians\n"
        kinds = {name: kind for c in mine for name, (kind, _) in c.subjects.items()}
        yield from table(["subject", "kind"] + [c.work for c in mine],
                         [[name, kind] + [number(c.median(name)) if name in c.subjects else "-" for c in mine]
                          for name, kind in kinds.items()])


def tails(cells):
    """p99.9 of a single call, a line a kind; what takes more than 1 us is marked."""
    mine = [c for c in cells if c.work.startswith("tail/")]
    if not mine:
        return
    yield "## One call, p99.9 ns: allocate / release\n"
    yield "Marked where it takes more than 1 us. The bounds tell what the machine itself does to a tail.\n"

    def pair_of(c, name):
        pair = [c.median(name, f"{what} p99.9") for what in ("allocate", "release")]
        return " / ".join(f"**{v:.0f}**" if v > 1000 else f"{v:.0f}" for v in pair)
    names = {name: kind for c in mine for name, (kind, _) in c.subjects.items()}
    yield from table(["subject", "kind"] + [f"{c.work[5:]} % taken" for c in mine],
                     [[name, kind] + [pair_of(c, name) if name in c.subjects else "-" for c in mine]
                      for name, kind in names.items()])


def walks(cells):
    """The random walk, a line a kind of OS pages: every figure."""
    for c in cells:
        if c.work == "walk":
            yield f"## {c.about}: {c.size} bytes\n"
            yield ("Step, read, write: a row of the walk. Cold, give back, again: a row built first, released, built once more. "
                   "\"huge %\" of what was resident lay in huge OS pages, \"kept %\" stayed resident after all was released.\n")
            yield from table(["subject", "kind"] + c.figures,
                             [[name, kind] + [number(c.median(name, f)) for f in c.figures] for name, (kind, _) in c.subjects.items()])


def instructions(found):
    yield "## Instructions of a row, 64 bytes\n"
    yield ("Counted by callgrind (`bench/instructions.py`), the loop's own subtracted. In cache: the shortest path; "
           "in batches: 20000 rows and back, refilling and spilling shared out.\n")
    keys = [(k, op) for k in ("in_cache", "in_batches") for op in ("allocate", "release")]
    yield from table(["variant"] + [f"{op}, {k.replace('_', ' ')}" for k, op in keys],
                     [[name] + [f"{f[k][op]:.1f}" for k, op in keys] for name, f in found.items()])


def whole_cell(c):
    yield f"### {c.work}, {c.size}: {c.about}\n"
    rows, raw = c.best(["peer rows"]), c.best(["peer raw"])
    ratios = c.figures[0] in ("CPU ns", "instructions") and (rows or raw or c.bound)
    head = ["subject"] + c.figures
    if ratios:
        head += [f"to {other}" if other else "-" for other in (c.bound, rows, raw)]
    lines = []
    for name in c.subjects:
        line = [name] + [spread(c.samples(name, f)) for f in c.figures]
        if ratios:
            for other in (c.bound, rows, raw):
                found = c.ratio(name, other) if other else None
                line.append(number(found[1]) if found else "-")
        lines.append(line)
    yield from table(head, lines)


def markdown(run, counts):
    cells = list(goals.run_cells(run).values())
    yield "# Rows beside the peers and the bounds\n"
    yield f"`{run['command']}`, {run['rounds']:g} rounds; how to read it: [bench/NOTES.md](../../bench/NOTES.md).\n"
    yield from table(["machine", ""], [[k, v] for k, v in run["machine"].items()])
    yield from goal_table(run)
    yield from summaries(cells)
    yield from tails(cells)
    yield from walks(cells)
    if counts:
        yield from instructions(counts)
    yield "## Every cell\n"
    for c in cells:
        yield from whole_cell(c)
    yield "## Our sets\n"
    for text in run["sets"]:
        yield f"```\n{text.rstrip()}\n```\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("json", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, metavar="FILE", help="instead of the terminal")
    parser.add_argument("--goals", action="store_true", help="the table of goals alone")
    parser.add_argument("--plot", metavar="FILE", help="needs matplotlib")
    parser.add_argument("--instructions", type=pathlib.Path, metavar="FILE", help="of bench/instructions.py --json")
    options = parser.parse_args()
    try:
        run = goals.load(options.json)
    except goals.Foreign as error:
        sys.exit(f"table.py: {error}")
    counts = json.loads(options.instructions.read_text()) if options.instructions else None
    text = "\n".join(goal_table(run) if options.goals else markdown(run, counts)) + "\n"
    if options.out:
        options.out.write_text(text)
    else:
        print(text)
    if options.plot:
        try:
            import plot
        except ImportError as missing:
            print(f"skipped - the plot: {missing} (./run bench has a Python of its own for it)", file=sys.stderr)
        else:
            if not plot.draw(run, options.plot):
                print("skipped - the plot: none of the run's workloads is in it", file=sys.stderr)


if __name__ == "__main__":
    main()
