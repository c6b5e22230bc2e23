"""The plot of table.py: each way of ours and each peer, where the best raw peer of each workload is 1. Needs matplotlib."""
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt

import goals
import summary

OURS, PEER = "#1f6fb4", "#e08214"
MOST = 4.0 # longer bars are cut off


def draw(run, path):
    """False when the run has nothing to draw."""
    cells = goals.run_cells(run)
    sizes = [s for s in ("64", "mixed") if all((work, s) in cells for work in goals.MEAN_OVER)]
    if not sizes:
        return False
    limits = {(g["text"], size): limit for g in goals.wanted() if g["judge"] == "way" for size, limit in g["sizes"].items()}
    figure, axes = plt.subplots(1, len(sizes), figsize=(5.5 * len(sizes), 4.5), squeeze=False)
    for axis, size in zip(axes.flat, sizes):
        panel(axis, cells, size, limits)
    figure.supxlabel("geometric mean of CPU time over W1 to W9, best raw peer of each = 1; black: the bar", fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return True


def panel(axis, cells, size, limits):
    names, at = [], 0
    for colour, several in ((OURS, summary.ways()), (PEER, summary.peers(cells))):
        for name, one in several.items():
            mean = goals.Mean(cells, size, one, goals.peer(), False)
            if not mean:
                continue
            low, median, high = (min(v, MOST) for v in mean.spread)
            axis.barh(at, median, height=0.8, color=colour)
            axis.errorbar(median, at, xerr=[[median - low], [high - median]], color="#444444", linewidth=0.8, capsize=1.5)
            axis.text(high + 0.05, at, f"{mean.spread[1]:.2f}", va="center", fontsize=6.5)
            if limit := limits.get((name, size)):
                axis.plot([limit, limit], [at - 0.45, at + 0.45], color="black", linewidth=1.5)
            names.append(name.replace("`", ""))
            at += 1
    axis.set_yticks(range(at), names, fontsize=7)
    axis.invert_yaxis()
    axis.axvline(1, color="#bbbbbb", linewidth=0.6, zorder=0)
    axis.set_xlim(0, MOST + 0.4)
    axis.tick_params(axis="x", labelsize=7)
    axis.set_title(summary.sized(size), fontsize=9)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
