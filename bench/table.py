#!/usr/bin/env python3
"""Markdown, and with matplotlib a plot, from the JSON of allot_bench.

    bench/table.py rows.json [--out rows.md] [--plot rows.svg] [--instructions instructions.json]

Goals, and the reasons for those missed, stand in goals.json and reasons.txt beside this file.
"""
import argparse
import json
import pathlib
import statistics

import goals


def table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|---" + "|---:" * (len(head) - 1) + "|"
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def number(value):
    return "-" if value is None else f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}" if abs(value) < 1e4 else f"{value:.0f}"


def spread(values):
    found = goals.quartiles(values)
    return "-" if not found else number(found[1]) + (f" [{number(found[0])}-{number(found[2])}]" if len(values) > 1 else "")


def goal_line(line):
    is_now = "-"
    if line["spread"]:
        low, median, high = line["spread"]
        is_now = number(median) + (f" [{number(low)}-{number(high)}]" if low != high else "")
    bound = f"{number(line['bound'][1])} of {line['bound'][0]}" if line["bound"] else "-"
    result = line["verdict"].replace("missed", "**missed**")
    return [line["text"], line["size"], line["how"], line["ours"], line["other"], is_now,
            ("at least " if line["least"] else "") + f"{line['most']:g}", bound, result]


def goal_table(run):
    yield "## Goals\n"
    yield ("Ratios are medians over paired rounds with their quartiles, the best of ours in the cell over the best general "
           "peer in it. Peers are met twice: as *rows* (malloc(n + 8) with a link count that an atomic subtraction drops; "
           "ours is dropped without one, which favours us) and *raw* (malloc and free: no count, so they do less; ours may "
           "be uncounted too there, unless the goal counts). *Within noise*: the goal lies between the quartiles, so another "
           "run may say otherwise. *To the bound*: what the free list would leave of it.\n")
    lines = goals.judge(run)
    yield from table(["goal", "size", "against", "ours", "the other", "is [quartiles]", "goal", "to the bound", "result"],
                     [goal_line(line) for line in lines])
    yield from misses(lines)


def misses(lines):
    missed = {}
    for line in lines:
        if line["verdict"].startswith("missed"):
            told = missed.setdefault((line["text"], line["size"]), {"why": line["why"], "over": []})
            told["over"] += line.get("over", [])
    if not missed:
        return
    yield "### Why they are missed\n"
    for (text, size), told in missed.items():
        over = f" By: {'; '.join(told['over'][:12])}{' ...' if len(told['over']) > 12 else ''}." if told["over"] else ""
        yield f"- {text}, {size}: {told['why'] or 'no reason written down yet.'}{over}"
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

    def told(c, name):
        pair = [c.median(name, f"{what} p99.9") for what in ("allocate", "release")]
        return " / ".join(f"**{v:.0f}**" if v > 1000 else f"{v:.0f}" for v in pair)
    names = {name: kind for c in mine for name, (kind, _) in c.subjects.items()}
    yield from table(["subject", "kind"] + [f"{c.work[5:]} % taken" for c in mine],
                     [[name, kind] + [told(c, name) if name in c.subjects else "-" for c in mine]
                      for name, kind in names.items()])


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
    if counts:
        yield from instructions(counts)
    yield "## Every cell\n"
    for c in cells:
        yield from whole_cell(c)
    yield "## Our sets\n"
    for text in run["sets"]:
        yield f"```\n{text.rstrip()}\n```\n"


def plot(run, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    cells = [c for c in goals.run_cells(run).values() if c.figures[0] == "CPU ns"]
    figure, axes = plt.subplots(len(cells), 1, figsize=(8, 5 * len(cells)), squeeze=False)
    colours = {"ours": "tab:blue", "ours uncounted": "tab:cyan", "peer rows": "tab:orange", "peer raw": "tab:gray",
               "pool rows": "tab:red", "pool raw": "tab:pink", "bound": "tab:green"}
    for axis, c in zip(axes[:, 0], cells):
        names = list(c.subjects)
        found = [goals.quartiles(c.samples(name)) for name in names]
        medians = [f[1] for f in found]
        axis.barh(names, medians, xerr=[[f[1] - f[0] for f in found], [f[2] - f[1] for f in found]],
                  color=[colours[c.subjects[name][0]] for name in names])
        # A bar that dwarfs the others is cut off.
        axis.set_xlim(0, min(max(medians), 8 * statistics.median(medians)) * 1.1 or 1)
        axis.invert_yaxis()
        axis.set_title(f"{c.work}, {c.size}: {c.about} (CPU ns)", fontsize=9)
        axis.tick_params(labelsize=6)
    figure.tight_layout()
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("json", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, metavar="FILE", help="instead of the terminal")
    parser.add_argument("--goals", action="store_true", help="the table of goals alone")
    parser.add_argument("--plot", metavar="FILE", help="needs matplotlib")
    parser.add_argument("--instructions", type=pathlib.Path, metavar="FILE", help="of bench/instructions.py --json")
    options = parser.parse_args()
    run = json.loads(options.json.read_text())
    counts = json.loads(options.instructions.read_text()) if options.instructions else None
    text = "\n".join(goal_table(run) if options.goals else markdown(run, counts)) + "\n"
    if options.out:
        options.out.write_text(text)
    else:
        print(text)
    if options.plot:
        plot(run, options.plot)


if __name__ == "__main__":
    main()
