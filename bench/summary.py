"""The short page of table.py: how a run was measured, its goals, and geometric means. table.py --all prints every number."""
import pathlib
import statistics

import goals
from layout import number, table

HERE = pathlib.Path(__file__).resolve().parent
WAYS = {"peer rows": ["ours"], "peer raw": ["ours", "ours uncounted"]}  # kinds of peers, and of ours beside them


def sized(size):
    return f"{size} bytes" if size.isdigit() else f"{size} sizes"


def compared(run):
    """The workloads whose goal compares ours with malloc libraries: {name: text}."""
    return {g["work"]: g["text"] for g in goals.wanted() if g["judge"] == "ratio" and not {"to", "of", "figure"} & set(g) and g["work"] == g["id"]}


def head(run, path, sizes, out):
    machine, absolute = run["machine"], pathlib.Path(path).resolve()
    where = absolute.relative_to(HERE.parent) if absolute.is_relative_to(HERE.parent) else path
    yield "# Rows: allot beside malloc libraries\n"
    plot = f" The plot: [{out.stem}.svg]({out.stem}.svg)." if out and out.with_suffix(".svg").exists() else ""
    yield (f"Every number of this run: `python3 bench/table.py {where} --all` (with `--goals`: the goals, with quartiles and reasons).{plot} "
           "Workloads, method and noise: [bench/NOTES.md](../../bench/NOTES.md).\n")
    yield f"- Command: `{run['command']}`"
    if machine:
        facts = ", ".join(machine[k] for k in ("cpu", "memory", "kernel", "compiler", "date") if k in machine)
        yield f"- Machine: {facts}; load before: {machine.get('load before', 'unknown')}. Peers: {machine.get('peers', 'none')}."
    yield (f"- {run['rounds']:g} rounds. Each round runs all subjects in a new random order, each sample in its own process with pinned threads. "
           "Times are thread CPU time.")
    yield ("- A ratio is *ours*, the fastest of our sets in a workload, divided by the fastest peer in it; the median of the rounds' ratios is "
           "shown. Below 1, allot is faster.")
    yield ("- *Rows*: the peer is malloc(n + 8) with a link count, dropped by an atomic subtraction. Ours needs none for a row with one holder, "
           "which favours ours. *Raw*: the peer is malloc and free alone. Ours may be uncounted there, too.")
    if "mixed" in sizes:
        yield "- Mixed sizes are lognormal, 24 to 600 bytes."
    yield ""


def found_text(line):
    """What was found, in bold where it misses the goal; ~ where the goal is between the quartiles."""
    def marked(text, verdict):
        text = f"**{text}**" if verdict.startswith("missed") else text
        return text + " ~" if "within noise" in verdict else text
    if line.state == goals.ABSENT:
        return goals.ABSENT
    out = []
    for way, verdict in line.verdicts.items():
        ratio = {"rows": line.rows, "raw": line.raw}.get(way) or line.other
        spread = ratio[1] if ratio else line.figure
        unit = f" {line.unit}" if line.unit and not ratio else ""
        out.append(marked(f"{number(spread[1])}{unit}{' ' + way if len(line.verdicts) > 1 else ''}" if spread else goals.ABSENT, verdict))
    return ", ".join(out)


def goal_table(lines, sizes):
    limited = [line for line in lines if line.limit is not None]
    states = [line.state for line in limited]
    free = [line for line in lines if line.limit is None and line.state != goals.ABSENT]
    yield f"## Goals: {states.count('met')} met, {states.count('missed')} missed, {states.count(goals.ABSENT)} not measured\n"
    yield ("**Bold**: missed. ~: the goal is between the quartiles, so another run may decide otherwise."
           + (f" {len(free)} more results have no goal (`--goals`)." if free else "")
           + " Why goals are missed: [bench/reasons.txt](../../bench/reasons.txt).\n")
    rows = {}
    for line in limited:
        limit = ("at least " if line.least else "") + f"{line.limit:g}"
        rows.setdefault(line.id, {"text": line.text})[line.size] = [limit, found_text(line)]
    yield from table(["goal"] + [f"{sized(s)}: {what}" for s in sizes for what in ("at most", "found")],
                     [[row["text"]] + [cell for s in sizes for cell in row.get(s, ["", ""])] for row in rows.values()])


def workload_table(run, cells, sizes):
    """For a run without goals: the fastest of ours to the fastest peer."""
    works = {work: text for work, text in compared(run).items() if any((work, s) in cells for s in sizes)}
    if not works:
        return
    yield "## By workload: no goals are set for these sizes\n"

    def cell_text(cell, kind):
        peer = cell and cell.best([kind])
        found = peer and cell.ratio(cell.best(WAYS[kind]), peer)
        return number(found[1]) if found else "-"
    yield from table(["workload"] + [f"{sized(s)}: {kind[5:]}" for s in sizes for kind in WAYS],
                     [[text] + [cell_text(cells.get((work, s)), kind) for s in sizes for kind in WAYS] for work, text in works.items()])


def means(run, cells, sizes):
    """Geometric means over the workloads, a line per peer."""
    def mean(peer, size, kind):
        ratios = []
        for work in compared(run):
            cell = cells.get((work, size))
            mine = [s for s in cell.of_kinds([kind]) if peer in (None, s.split()[0])] if cell else []
            found = mine and cell.best(WAYS[kind]) and cell.ratio(cell.best(WAYS[kind]), min(mine, key=cell.median))
            ratios += [found[1]] if found else []
        return number(statistics.geometric_mean(ratios)) if ratios else "-"
    peers = dict.fromkeys(s.split()[0] for cell in cells.values() for s in cell.of_kinds(WAYS))
    works = [work for work in compared(run) if any((work, s) in cells for s in sizes)]
    if not peers or not works:
        return
    yield f"## Geometric means over {', '.join(works)}\n"
    yield "Of each peer, its fastest variant in the workload. *Raw* only where a workload has it.\n"
    lines = [[peer] + [mean(peer, s, kind) for s in sizes for kind in WAYS] for peer in peers]
    lines.append(["the fastest in each workload"] + [mean(None, s, kind) for s in sizes for kind in WAYS])
    yield from table(["ours divided by"] + [f"{sized(s)}: {kind[5:]}" for s in sizes for kind in WAYS], lines)


def page(run, path, out=None):
    """The page for a run from the JSON at path; it links to a plot beside out."""
    cells, lines = goals.run_cells(run), goals.judge(run)
    sizes = list(dict.fromkeys(size for _, size in cells))
    yield from head(run, path, sizes, out)
    if "--smoke" in run["command"].split():
        yield "**A smoke run: its numbers mean nothing, and neither do the results.**\n"
    if any(line.state != goals.ABSENT for line in lines):
        yield from goal_table(lines, [s for s in sizes if any(line.size == s for line in lines)])
    else:
        yield from workload_table(run, cells, sizes)
    yield from means(run, cells, sizes)
