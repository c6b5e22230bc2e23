#!/usr/bin/env python3
"""Markdown, and with matplotlib a plot, from the JSON of allot_bench.

    bench/table.py rows.json [--out rows.md] [--plot rows.svg] [--instructions instructions.json]
"""
import argparse
import json
import pathlib
import statistics


def table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|---" + "|---:" * (len(head) - 1) + "|"
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def spread(quartiles):
    low, median, high = quartiles
    return "-" if median is None else f"{median:.1f} [{low:.1f}-{high:.1f}]"


def ratio(series, key):
    return f"{series[key][1]:.2f}" if series.get(key) and series[key][1] is not None else "-"


def quartiles(run, target):
    """Of a target's ratio over paired rounds; nothing for a target that is one figure."""
    work = "pages" if target["text"].startswith("a page") else target["text"][:2].rstrip(",")
    subject = "4000 other heaps" if work == "pages" else target["subject"]
    for c in run["cells"]:
        if c["workload"] == work and c["size"] == "64":
            cpu = {s["subject"]: s["cpu"] for s in c["series"]}
            if subject in cpu and target["against"] in cpu:
                ratios = [a / b for a, b in zip(cpu[subject], cpu[target["against"]])]
                if len(ratios) > 1:
                    return statistics.quantiles(ratios, n=4, method="inclusive")
    return None


def verdict(target, spread_of):
    if spread_of and spread_of[0] <= target["most"] < spread_of[2]:
        return ("yes" if target["met"] else "**no**") + ", within noise"
    return "yes" if target["met"] else "**no**"


def targets(run):
    if not run["targets"]:
        return
    yield "## Targets\n"
    yield ("At 64 bytes; ratios are medians over paired rounds. Peers are judged twice: as *rows* (malloc(n + 8) "
           "with a link count that an atomic subtraction drops; ours is dropped without one, which favours us) and "
           "*raw* (malloc and free: no count, so they do less). *Within noise*: the most lies between the "
           "quartiles, so another run may say otherwise.\n")
    rows = []
    for t in run["targets"]:
        among = quartiles(run, t)
        value = f"{t['value']:.2f}" + (f" [{among[0]:.2f}-{among[2]:.2f}]" if among else "")
        rows.append([t["text"], t["subject"], t["against"] or "-", value, f"{t['most']:g}", verdict(t, among)])
    yield from table(["target", "ours", "held against", "is [quartiles]", "at most", "met"], rows)


def summary(run, size):
    """Medians of all workloads of a size, a line a subject."""
    cells = [c for c in run["cells"] if c["size"] == size and c["workload"] != "pages"]
    if not cells:
        return
    yield f"## {size} bytes: CPU ns, medians\n"
    found = {}
    for c in cells:
        for s in c["series"]:
            found.setdefault((s["subject"], s["kind"]), {})[c["workload"]] = s["cpu_quartiles"][1]
    yield from table(["subject", "kind"] + [c["workload"] for c in cells],
                     [[name, kind] + [f"{f[c['workload']]:.1f}" if c["workload"] in f else "-" for c in cells]
                      for (name, kind), f in found.items()])


def cell(c):
    pages = c["workload"] == "pages"
    yield f"### {c['workload']}" + ("" if pages else f", {c['size']} bytes") + f": {c['about']}\n"
    head = ["subject", "CPU ns [quartiles]"] + (["wall ns"] if c["threaded"] else [])
    if not pages:
        head += [f"to {c['bound'] or 'no bound'}", f"to {c['best_rows'] or '-'}", f"to {c['best_raw'] or '-'}"]
    rows = []
    for s in c["series"]:
        row = [s["subject"], spread(s["cpu_quartiles"])]
        if c["threaded"]:
            row.append(spread(s["wall_quartiles"]))
        if not pages:
            row += [ratio(s, "to_bound"), ratio(s, "to_best_rows"), ratio(s, "to_best_raw")]
        rows.append(row)
    yield from table(head, rows)


def memory(run):
    if not run["bytes"]:
        return
    yield "## Bytes of a row of 64\n"
    yield ("Charged: pages held under the limit. Resident: growth of the process, every row written. Classes of the "
           "list `roxie` double, so a row of 64 with its header takes 128.\n")
    yield from table(["rows", "charged, 1 M rows", "resident, 1 M rows", "resident, 10k rows"],
                     [[b["subject"], f"{b['charged']:.2f}" if b["charged"] else "-", f"{b['resident']:.2f}",
                       f"{b['resident_few']:.2f}"] for b in run["bytes"]])


def instructions(found):
    yield "## Instructions of a row, 64 bytes\n"
    yield ("Counted by callgrind (`bench/instructions.py`), the loop's own subtracted. In cache: the shortest path; "
           "in batches: 20000 rows and back, refilling and spilling shared out.\n")
    keys = [(k, op) for k in ("in_cache", "in_batches") for op in ("allocate", "release")]
    yield from table(["variant"] + [f"{op}, {k.replace('_', ' ')}" for k, op in keys],
                     [[name] + [f"{f[k][op]:.1f}" for k, op in keys] for name, f in found.items()])


def markdown(run, counts):
    yield "# Rows beside the peers and the bounds\n"
    yield f"`{run['command']}`, {run['rounds']:g} rounds; how to read it: [bench/NOTES.md](../../bench/NOTES.md).\n"
    yield from table(["machine", ""], [[k, v] for k, v in run["machine"].items()])
    yield from targets(run)
    sizes = list(dict.fromkeys(c["size"] for c in run["cells"] if c["workload"] != "pages"))
    for size in sizes:
        yield from summary(run, size)
    yield from memory(run)
    if counts:
        yield from instructions(counts)
    yield "## Every cell\n"
    for c in run["cells"]:
        yield from cell(c)
    yield "## Our sets\n"
    for text in run["sets"]:
        yield f"```\n{text.rstrip()}\n```\n"


def plot(run, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    cells = [c for c in run["cells"] if c["workload"] != "pages"]
    figure, axes = plt.subplots(len(cells), 1, figsize=(8, 3.2 * len(cells)), squeeze=False)
    colours = {"ours": "tab:blue", "peer rows": "tab:orange", "peer raw": "tab:gray", "bound": "tab:green"}
    for axis, c in zip(axes[:, 0], cells):
        names = [s["subject"] for s in c["series"]]
        medians = [s["cpu_quartiles"][1] for s in c["series"]]
        low = [s["cpu_quartiles"][1] - s["cpu_quartiles"][0] for s in c["series"]]
        high = [s["cpu_quartiles"][2] - s["cpu_quartiles"][1] for s in c["series"]]
        axis.barh(names, medians, xerr=[low, high], color=[colours[s["kind"]] for s in c["series"]])
        axis.invert_yaxis()
        axis.set_title(f"{c['workload']}, {c['size']}: {c['about']} (CPU ns)", fontsize=9)
        axis.tick_params(labelsize=7)
    figure.tight_layout()
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("json", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, help="Markdown file (standard output)")
    parser.add_argument("--plot", metavar="FILE", help="needs matplotlib")
    parser.add_argument("--instructions", type=pathlib.Path, metavar="FILE", help="of bench/instructions.py --json")
    options = parser.parse_args()
    run = json.loads(options.json.read_text())
    counts = json.loads(options.instructions.read_text()) if options.instructions else None
    text = "\n".join(markdown(run, counts))
    if options.out:
        options.out.write_text(text)
    else:
        print(text)
    if options.plot:
        plot(run, options.plot)


if __name__ == "__main__":
    main()
