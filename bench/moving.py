"""The page of rows that move, from the JSON of allot_moving."""
import goals
import summary
from layout import machine_line, number, table, with_quartiles

ABOUT = {
    "full": "resident bytes per requested byte, with all rows",
    "sparse": "resident bytes per byte of the rows that are left, after nine of ten are released in random order",
    "trimmed": "the same after the allocator's own trim",
    "compacted": "the same after `compact()` and `trim()`",
    "to full": "*compacted* divided by *full*; the rest of each class's last page is included",
    "move ns": "thread CPU time of `compact()` per row of its span, rows that stay included",
    "trim us": "thread CPU time of the `trim()` after it, per 4 KiB that it returns to the system",
    "moved %": "rows of the span that have a new address",
    "MiB returned": "resident bytes that this `trim()` returns",
}
GROWTH = {
    "cold ms": "thread CPU time in a fresh process, after a pause of 2 s, in which the host of a virtual machine may take free memory",
    "next ms": "the same in the next process, at once: it takes the memory that the first one has just freed",
    "committed ms": "the same again in the first process",
    "grow ms": "of *cold*: until the array is full",
    "free ms": "of *cold*: freeing it",
    "moves": "steps after which the array has another address",
    "faults cold": "page faults of *cold*",
    "faults committed": "page faults of *committed*",
    "cold wall ms": "wall time of *cold*",
}
TRIMS = ("Trims: ours `trim()`; glibc `malloc_trim(0)`; mimalloc `mi_collect(true)`; jemalloc a flush of the thread's cache and a purge of all "
         "arenas; tcmalloc `ReleaseFreeMemory`; tbb `TBBMALLOC_CLEAN_ALL_BUFFERS`; snmalloc's shim has none.")


def bar_lines(run):
    for line in goals.judge(run, {}):
        found = with_quartiles(line.figure) + (f" {line.unit}" if line.unit else "") if line.figure else "-"
        yield [line.text, summary.sized(line.size), f"{line.limit:g}", line.subject or "-", found,
               line.state if line.state == "met" else f"**{line.state}**"]


def page(run, path):
    machine = run["machine"]
    yield "# Rows that move: memory and time\n"
    yield ("What sparse rows take before and after compaction, beside malloc libraries, which move nothing; how long compaction takes; and how long an array grows, beside `realloc`. "
           "Method: [bench/NOTES.md](../../bench/NOTES.md).\n")
    yield f"- Command: `{run['command']}`. This page: `bench/table.py docs/bench/{path.name}`."
    if machine:
        yield machine_line(machine)
    yield (f"- Rounds: {run['rounds']:g}. Each round runs all subjects in a new random order, each in its own process. Figures are medians; "
           "brackets have the quartiles, where they differ.")
    yield "- The span of `compact()` has the rows in the order of their allocation, or in random order (*random span*)."
    yield f"- {TRIMS}"
    yield ("- The array that grows is written step by step, by `memset` of what each step gains, and freed. Ours: `resize()` of a row manager with a limit of 2 GiB; peers: "
           "`realloc`. glibc and mimalloc take part in all rounds (9 at least), the other peers in 3.\n")
    if "--smoke" in run["command"].split():
        yield "**A smoke run: its numbers mean nothing, and neither do the results.**\n"
    yield "## Bars\n"
    yield "Each set must meet a bar of every set, with both orders, and both kinds of growth; the worst is shown.\n"
    yield from table(["bar", "size", "at most", "subject", "found", "verdict"], bar_lines(run))
    for line in goals.judge(run, {}):
        if line.state == "missed":
            yield f"- {line.text}, {summary.sized(line.size)}, is missed by {'; '.join(line.over) or line.subject}. Reason: {line.why or 'none given yet'}"
    yield ""
    for cell in goals.run_cells(run).values():
        figures = [f for f in cell.figures if f in ABOUT or f in GROWTH]
        yield f"## {cell.about[0].upper()}{cell.about[1:]}\n"
        yield from table(["subject"] + figures,
                         [[name] + [found_text(cell, name, f) for f in figures] for name in cell.subjects])
    yield "## Figures\n"
    for figure, text in (ABOUT | GROWTH).items():
        yield f"- *{figure}*: {text}."


def found_text(cell, name, figure):
    found = goals.quartiles(cell.samples(name, figure))
    if found and cell.work != "moving" and (figure.startswith(("moves", "faults")) or found[1] < 0.05):
        return f"{found[1]:.0f}"
    return "" if not found else with_quartiles(found) if figure.endswith(("ns", "us", "ms")) else number(found[1])
