"""The short page of table.py: how a run was measured, the bars, and each way of ours beside each peer. table.py --all prints every number."""
import pathlib
import statistics

import goals
from layout import machine_line, number, table

HERE = pathlib.Path(__file__).resolve().parent
COUNTS = {False: "raw", True: "with counts"}
WITHIN = 1.05 # what other sizes may differ from 64 bytes


def sized(size):
    if not size.isdigit():
        return f"{size} sizes"
    return f"{size} bytes" if int(size) % 2**20 else f"{int(size) >> 20} MiB"


def ways():
    """{text: what finds the way in a cell}, in the order of goals.json."""
    return {g["text"]: goals.way(g["subject"]) for g in goals.wanted() if g["judge"] == "way"}


def peers(cells):
    names = dict.fromkeys(s.split()[0] for cell in cells.values() for s in cell.of_kinds(goals.PEERS.values()))
    return {name: goals.peer(name) for name in names}


def head(run, path, sizes, out):
    machine, absolute = run["machine"], pathlib.Path(path).resolve()
    where = absolute.relative_to(HERE.parent) if absolute.is_relative_to(HERE.parent) else path
    yield "# Rows: allot beside malloc libraries\n"
    plot = f" The plot: [{out.stem}.svg]({out.stem}.svg)." if out and out.with_suffix(".svg").exists() else ""
    yield (f"Every number of this run: `python3 bench/table.py {where} --all` (with `--goals`: every goal, with quartiles and reasons).{plot} "
           "Workloads, method and noise: [bench/NOTES.md](../../bench/NOTES.md).\n")
    yield f"- Command: `{run['command']}`"
    if machine:
        yield machine_line(machine)
    yield (f"- Rounds: {run['rounds']:g}, of W6 twice as many and one. Each round runs all subjects in a new random order, each sample in its own "
           "process with pinned threads. Times are thread CPU time.")
    yield ("- A *way* is one set and one kind of call in all workloads. *Plain*: `rows.allocate(n)` and `rows.release(p)`. A peer is its faster "
           "variant in each workload: `free`, or its release with the size.")
    yield ("- *Raw*: the peer is malloc and free. *With counts*: it is malloc(n + 8) with a link count, dropped by an atomic subtraction; so are our ways "
           "without a count. Ours with a count need no atomic operation for a row with one holder. W9 links rows, so it is always with counts.")
    yield ("- A mean is the geometric mean of the ratios of CPU time, ours to the peer's; the median of the rounds' means is shown, and behind it "
           "the workload with the largest ratio. Below 1, allot is faster.")
    if "mixed" in sizes:
        yield "- Mixed sizes are lognormal, 24 to 600 bytes."
    yield ""


# ---- goals ----

def found_text(line):
    """~: the goal is between the quartiles."""
    if line.figure is None:
        return goals.ABSENT
    verdict = {"missed": " **missed**", "met": " met"}.get(line.state, "")
    return f"{number(line.figure[1])}{' ' + line.unit if line.unit else ''}{verdict}{' ~' if line.near else ''}"


def goal_table(lines, sizes):
    bars, others = ([line for line in lines if line.bar == bar and line.limit is not None] for bar in (True, False))

    def count(of):
        states = [line.state for line in of]
        return f"{states.count('met')} met, {states.count('missed')} missed, {states.count(goals.ABSENT)} not measured"
    yield f"## Bars: {count(bars)}\n"
    yield ("A way's figure is its mean over W1 to W9, where the best raw peer of each workload is 1. ~: the bar is between the quartiles, so "
           "another run may decide otherwise. Why bars are missed: [bench/reasons.txt](../../bench/reasons.txt).\n")
    rows = {}
    for line in lines:
        if line.bar:
            limit = "" if line.limit is None else ("at least " if line.least else "") + f"{line.limit:g}"
            rows.setdefault(line.id, {"text": line.text})[line.size] = [limit, found_text(line)]
    yield from table(["bar"] + [f"{sized(s)}: {what}" for s in sizes for what in ("at most", "found")],
                     [[row["text"]] + [cell for s in sizes for cell in row.get(s, ["", ""])] for row in rows.values()])
    missed = "; ".join(f"{line.text}: {found_text(line)}, the goal is {line.limit:g}" for line in others if line.state == "missed")
    yield f"Older goals: {count(others)}. {missed}{'.' if missed else ''}\n"


# ---- ways and peers ----

def mean_text(mean):
    return f"{number(mean.spread[1])}, {mean.worst[0]} {number(mean.worst[1])}" if mean else "-"


def measured(rows):
    return [row for row in rows if set(row[1:]) != {"-"}]


def best_is_one(cells, sizes):
    """Ways and peers on one scale."""
    yield "## The best peer of each workload is 1\n"
    columns = [(size, counted) for size in sizes for counted in COUNTS]
    yield from table(["way or peer"] + [f"{sized(s)}: {COUNTS[c]}" for s, c in columns],
                     measured([name] + [mean_text(goals.Mean(cells, s, one, goals.peer(), c)) for s, c in columns]
                              for name, one in (ways() | peers(cells)).items()))


def beside_each_peer(cells, sizes):
    others = peers(cells)
    for size in sizes:
        for counted, text in COUNTS.items():
            rows = measured([name] + [mean_text(goals.Mean(cells, size, one, other, counted)) for other in others.values()]
                            for name, one in ways().items())
            if rows:
                yield f"## Each way to each peer: {sized(size)}, {text}\n"
                yield from table(["to"] + list(others), rows)


def by_size(cells, sizes):
    """Whether each size is as good as 64 bytes."""
    works = [work for work in goals.MEAN_OVER if any((work, size) in cells for size in sizes)]
    for counted, text in COUNTS.items():
        yield f"## By size: {text}, mean over {' and '.join(works)}, the best peer of each workload is 1\n"
        yield f"Bold: more than {WITHIN:g} times that at 64 bytes.\n"
        rows = []
        for name, one in ways().items():
            means = {size: goals.Mean(cells, size, one, goals.peer(), counted) for size in sizes}
            most = means["64"].spread[1] * WITHIN if means.get("64") else float("inf")
            rows.append([name] + [("**{}**" if m and m.spread[1] > most else "{}").format(number(m.spread[1]) if m else "-") for m in means.values()])
        yield from table(["bytes"] + list(sizes), measured(rows))


def gains(before, after):
    """Time before divided by time after, of each way at each size: whether all sizes gained as 64 bytes did. The JSON of two runs."""
    old, new = goals.run_cells(before), goals.run_cells(after)
    works = [work for work in goals.MEAN_OVER if any(work == w for w, _ in new)]
    sizes = list(dict.fromkeys(size for _, size in new))
    yield f"## Time before, divided by time after: mean over {', '.join(works)}\n"
    yield f"Bold: 64 bytes gained more than {WITHIN:g} times as much.\n"

    def gain(one, size):
        medians = [[cell.median(one(cell, work in goals.LINKED)) for cell in (old.get((work, size)), new.get((work, size))) if cell] for work in works]
        ratios = [pair[0] / pair[1] for pair in medians if len(pair) == 2 and max(pair) != float("inf")]
        return statistics.geometric_mean(ratios) if ratios else None
    rows = []
    for name, one in ways().items():
        found = {size: gain(one, size) for size in sizes}
        rows.append([name] + [("**{}**" if g and found.get("64") and g * WITHIN < found["64"] else "{}").format(number(g)) for g in found.values()])
    yield from table(["bytes"] + sizes, measured(rows))


def page(run, counts, path, out=None):
    """The page for a run from the JSON at path; it links to a plot beside out."""
    cells = goals.run_cells(run)
    sizes = list(dict.fromkeys(size for _, size in cells))
    complete = [s for s in sizes if all((work, s) in cells for work in goals.MEAN_OVER)]
    yield from head(run, path, sizes, out)
    if "--smoke" in run["command"].split():
        yield "**A smoke run: its numbers mean nothing, and neither do the results.**\n"
    if complete:
        lines = goals.judge(run, counts)
        yield from goal_table(lines, [s for s in sizes if any(line.size == s for line in lines)])
        yield from best_is_one(cells, complete)
        yield from beside_each_peer(cells, complete)
    else:
        yield from by_size(cells, [s for s in sizes if any((work, s) in cells for work in goals.MEAN_OVER)])
