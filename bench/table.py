#!/usr/bin/env python3
"""Markdown, and with matplotlib a plot, from the JSON of allot_bench: a short page of bars, ways and peers, or every number. Of allot_moving: one page.

    bench/table.py rows.json [--all | --goals | --before OLD.json] [--out rows.md] [--plot rows.svg] [--instructions instructions.json]

Instructions are read from the file of that name beside the JSON, unless another is given. goals.json and reasons.txt, beside this
program, hold the goals and the reasons for those that are missed.
"""
import argparse
import json
import pathlib
import sys

import goals
import moving
import summary
from instructions import lines as instructions_table
from layout import number, table, with_quartiles


def spread(values):
    found = goals.quartiles(values)
    return "-" if not found else number(found[1]) + (f" [{number(found[0])}-{number(found[2])}]" if len(values) > 1 else "")


def goal_line(line):
    limit = "-" if line.limit is None else ("at least " if line.least else "") + f"{line.limit:g}"
    verdict = line.state + (", within noise" if line.near else "")
    return [line.text, line.size, limit, line.subject or "-",
            with_quartiles(line.figure) + (f" {line.unit}" if line.unit else "") if line.figure else "-",
            verdict if line.state in ("met", "measured") else f"**{verdict}**"]


def goal_table(run, counts):
    lines = goals.judge(run, counts)
    states = [line.state for line in lines]
    yield "## Goals\n"
    if all(s == goals.ABSENT for s in states):
        yield "No goal is set for what this run measures.\n"
        return
    if "--smoke" in run["command"].split():
        yield "**A smoke run: its numbers mean nothing, and neither do the results.**\n"
    yield ", ".join(f"{states.count(s)} {s}" for s in ("met", "missed", "measured", goals.ABSENT)) + ".\n"
    yield ("- *Found*: the subject's number, or its ratio to another, with quartiles.\n"
           "- *Within noise*: the goal is between the quartiles, so another run may decide otherwise.\n"
           "- *Measured*: no limit is set.\n")
    yield from table(["goal", "size", "at most", "subject", "found", "verdict"], [goal_line(line) for line in lines])
    yield from misses(lines)


def misses(lines):
    for title, state, unknown in (("Why goals are missed", "missed", "no reason given yet"), ("Not measured in this run", goals.ABSENT, "")):
        mine = [line for line in lines if line.state == state]
        if mine:
            yield f"### {title}\n"
            for line in mine:
                more = "; ..." if len(line.over) > 12 else ""
                why = [line.why or unknown, f"Missed by: {'; '.join(line.over[:12])}{more}" if line.over else ""]
                yield ": ".join([f"- {line.text}, {line.size}"] + [". ".join(t.rstrip(".") for t in why if t) + "."] * any(why))
            yield ""


def summaries(cells):
    """Medians of the first number, one line per subject and one table per size."""
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
    """p99.9 of a single call, one line per subject; more than 1 us is marked."""
    mine = [c for c in cells if c.work.startswith("tail/")]
    if not mine:
        return
    yield "## One call, p99.9 ns: allocate / release\n"
    yield "Bold: more than 1 us. The bounds show what the machine itself adds to a tail.\n"

    def pair_of(c, name):
        pair = [c.median(name, f"{what} p99.9") for what in ("allocate", "release")]
        return " / ".join(f"**{v:.0f}**" if v > 1000 else f"{v:.0f}" for v in pair)
    names = {name: kind for c in mine for name, (kind, _) in c.subjects.items()}
    yield from table(["subject", "kind"] + [f"{c.work[5:]} % taken" for c in mine],
                     [[name, kind] + [pair_of(c, name) if name in c.subjects else "-" for c in mine]
                      for name, kind in names.items()])


def walks(cells):
    """The random walk, one line per kind of OS pages: every number."""
    for c in cells:
        if c.work == "walk":
            yield f"## {c.about}: {c.size} bytes\n"
            yield ("Step, read, write: per row of the walk. Cold, give back, again: per row, built first, released, and built again. "
                   "\"huge %\": the part of the resident bytes in huge OS pages. \"kept %\": the part that stays resident after all rows are released.\n")
            yield from table(["subject", "kind"] + c.figures,
                             [[name, kind] + [number(c.median(name, f)) for f in c.figures] for name, (kind, _) in c.subjects.items()])


def instructions(found):
    yield "## Instructions of a pair\n"
    yield "Counted by callgrind (`bench/instructions.py`), without those of the loop.\n"
    yield from instructions_table(found)


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


def every_table(run, counts):
    cells = list(goals.run_cells(run).values())
    yield "# Rows: every number\n"
    yield f"`{run['command']}`, {run['rounds']:g} rounds. How to read it: bench/NOTES.md.\n"
    yield from table(["machine", ""], [[k, v] for k, v in run["machine"].items()])
    yield from goal_table(run, counts)
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


def draw(run, path):
    try:
        import plot
    except ImportError as missing:
        print(f"skipped - the plot: {missing} (./run bench has its own Python for it)", file=sys.stderr)
        return
    if not plot.draw(run, path):
        print("skipped - the plot: none of the run's workloads is in it", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("json", type=pathlib.Path)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--all", action="store_true", help="every table: each subject in each workload, tails, walks, the sets")
    what.add_argument("--goals", action="store_true", help="the table of goals, with quartiles and reasons")
    what.add_argument("--before", type=pathlib.Path, metavar="FILE", help="what each size gained since that run")
    parser.add_argument("--out", type=pathlib.Path, metavar="FILE", help="write there, not to the terminal")
    parser.add_argument("--plot", metavar="FILE", help="draw the plot there; needs matplotlib")
    parser.add_argument("--instructions", type=pathlib.Path, metavar="FILE", help="the JSON of bench/instructions.py")
    options = parser.parse_args()
    try:
        run = goals.load(options.json)
        before = goals.load(options.before) if options.before else None
    except goals.Foreign as error:
        sys.exit(f"table.py: {error}")
    beside = options.json.with_name("instructions.json")
    counted = options.instructions or (beside if beside.exists() else None)
    counts = json.loads(counted.read_text()) if counted else {}
    if options.plot:
        draw(run, options.plot)
    if options.goals:
        lines = goal_table(run, counts)
    elif before:
        lines = summary.gains(before, run)
    elif goals.is_of_moving(run):
        lines = moving.page(run, options.json)
    elif options.all:
        lines = every_table(run, counts)
    else:
        lines = summary.page(run, counts, options.json, options.out)
    text = "\n".join(lines).rstrip("\n") + "\n"
    if options.out:
        options.out.write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
