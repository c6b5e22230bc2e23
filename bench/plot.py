"""The plot of table.py: for each workload the best of ours, of the peers and of the bounds, as ratios. Needs matplotlib."""
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import Patch

import goals

# Shown in this order, if the run has them.
PANELS = {"W1": "pair", "W2": "100k, last first", "W3": "100k, first first", "W4": "100k, random order", "W5": "replacement",
          "W6": "producer, consumer", "W7": "replacement, 2 threads", "W8": "larson", "W9": "linked churn, 2 threads",
          "W9S": "linked churn", "W10/1e6": "growth to 1 M rows", "T3": "256 and back, 2 threads"}
BARS = [("ours", ["ours"], "#1f6fb4"), ("ours, uncounted", ["ours uncounted"], "#8ec1e8"), ("best peer's rows", ["peer rows"], "#e08214"),
        ("best raw peer", ["peer raw"], "#f7c27e"), ("bound", ["bound"], "#7f7f7f")]
MOST = 2.0 # longer bars are cut off


def best_of(cell, name, kinds):
    """The subject of a bar: of the bounds, only the one that ratios use; the others do less than a row needs."""
    return cell.bound or None if name == "bound" else cell.best(kinds)


def draw(run, path):
    """False when the run has nothing to draw."""
    cells = goals.run_cells(run)
    limits = {(line.id, line.size): line.limit for line in goals.judge(run, why={}) if line.rows}
    works = [w for w in PANELS if any(work == w and cell.best(["peer rows"]) for (work, _), cell in cells.items())]
    sizes = [s for s in ("64", "mixed") if any((w, s) in cells for w in works)] or sorted({s for w, s in cells if w in works})
    if not works:
        return False
    columns = min(4, len(works))
    lines = -(-len(works) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(2.7 * columns, 2.25 * lines + 0.5), squeeze=False)
    for axis, work in zip(axes.flat, works):
        panel(axis, work, [(s, cells[work, s]) for s in sizes if (work, s) in cells], limits)
    for axis in list(axes.flat)[len(works):]:
        axis.set_axis_off()
    legend = [Patch(color=colour, label=name) for name, _, colour in BARS]
    legend.append(plt.Line2D([], [], color="black", linewidth=1.5, label="goal"))
    figure.legend(handles=legend, loc="upper center", ncol=len(legend), fontsize=8, frameon=False, handlelength=1.2)
    figure.supylabel("CPU time, best peer's rows = 1; longer bars are cut off", fontsize=8)
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.3 / figure.get_figheight()))
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return True


def panel(axis, work, found, limits):
    """CPU time over that of the best peer's rows; lower is better."""
    at, ticks = 0.0, []
    for size, cell in found:
        base, first, mine = cell.best(["peer rows"]), at, at
        for name, kinds, colour in BARS:
            subject = best_of(cell, name, kinds)
            spread = cell.ratio(subject, base) if subject and base else None
            if spread is None:
                continue
            low, median, high = (min(v, MOST) for v in spread)
            axis.bar(at, median, width=0.9, color=colour)
            if median < MOST:
                axis.errorbar(at, median, [[median - low], [high - median]], color="#444444", linewidth=0.8, capsize=1.5)
            limit = limits.get((work, size)) or 0
            above = limit if name.startswith("ours") and high <= limit < high + 0.16 else high # not over the goal's line
            axis.text(at, min(above + 0.04, MOST + 0.03), f"{spread[1]:.2f}", ha="center", va="bottom", fontsize=5.5, zorder=5,
                      bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.4})
            mine = at if name.startswith("ours") else mine
            at += 1
        ticks.append(((first + at - 1) / 2, f"{size} B" if size.isdigit() else size))
        if limit := limits.get((work, size)):
            axis.plot([first - 0.6, mine + 0.6], [limit, limit], color="black", linewidth=1.5, zorder=4)
        at += 1.2
    axis.set_xlim(-0.9, len(found) * (len(BARS) + 1.2) - 1.3) # all bars are as wide
    axis.set_xticks([place for place, _ in ticks], [text for _, text in ticks])
    axis.axhline(1, color="#bbbbbb", linewidth=0.6, zorder=0)
    axis.set_ylim(0, MOST + 0.25)
    axis.set_yticks([0, 0.5, 1, 1.5, 2])
    axis.tick_params(labelsize=7, length=2)
    axis.set_title(f"{work}: {PANELS[work]}", fontsize=8)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
