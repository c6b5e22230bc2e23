"""The goals of goals.json, judged from the JSON of allot_bench.

A ratio is taken round by round, ours over the other one, and its median is judged: met, missed, or within noise when
the goal lies between the quartiles. Ours is the quickest of our subjects in that cell; the peer is the quickest general
one, which favours the peers. Every goal gives rows, also when the run has no figures for it.
"""
import json
import pathlib
import statistics

HERE = pathlib.Path(__file__).parent


def quartiles(values):
    values = [v for v in values if v is not None]
    if not values:
        return None
    return values * 3 if len(values) == 1 else statistics.quantiles(values, n=4, method="inclusive")


class Cell:
    """A workload at a size: its figures' names, and {subject: (kind, {figure: samples})}."""

    def __init__(self, raw):
        self.work, self.size, self.about, self.bound = (raw[k] for k in ("workload", "size", "about", "bound"))
        self.figures = raw["figures"]
        self.subjects = {s["subject"]: (s["kind"], dict(zip(self.figures, s["samples"]))) for s in raw["series"]}

    def samples(self, subject, figure=None):
        return self.subjects[subject][1][figure or self.figures[0]]

    def median(self, subject, figure=None):
        found = quartiles(self.samples(subject, figure))
        return found[1] if found else float("inf")

    def of_kinds(self, kinds):
        return [name for name, (kind, _) in self.subjects.items() if kind in kinds]

    def best(self, kinds, figure=None):
        return min(self.of_kinds(kinds), key=lambda s: self.median(s, figure), default=None)

    def ratio(self, subject, other, figure=None):
        if other not in self.subjects:
            return None
        pairs = zip(self.samples(subject, figure), self.samples(other, figure))
        return quartiles([a / b if b else None for a, b in pairs])


def run_cells(run):
    return {(c["workload"], c["size"]): Cell(c) for c in run["cells"]}


def verdict(spread, goal, least=False):
    met = spread[1] >= goal if least else spread[1] <= goal
    return ("met" if met else "missed") + (", within noise" if spread[0] <= goal < spread[2] else "")


def row(goal, size, how, ours="-", other="-", spread=None, most=0.0, bound=None):
    """One line of the table of goals."""
    return {"id": goal["id"], "text": goal["text"], "size": size, "how": how, "ours": ours, "other": other,
            "spread": spread, "most": most, "bound": bound, "least": goal.get("least", False),
            "verdict": verdict(spread, most, goal.get("least", False)) if spread else "not run"}


def of_one_figure(goal, size, most, cells):
    """Goals on a figure itself. With "all", every subject of ours in every cell must meet it: the worst is told."""
    works = goal["work"] if isinstance(goal["work"], list) else [goal["work"]]
    figures = goal["figure"] if isinstance(goal["figure"], list) else [goal["figure"]]
    kinds = goal.get("kinds") or (["ours"] if goal.get("counted") else ["ours", "ours uncounted"])
    found = []
    for work in works:
        cell = cells.get((work, size))
        for figure in figures if cell else []:
            floor = cell.median(goal["minus"], figure) if goal.get("minus") in cell.subjects else 0
            for name in cell.of_kinds(kinds):
                values = [(v - floor) / goal.get("share", 1) for v in cell.samples(name, figure)]
                told = f"{name} ({work}, {figure})" if len(works) > 1 else name
                found.append((quartiles(values), told))
    if not found:
        return row(goal, size, "figure", most=most)
    worst_is_most = not goal.get("least")
    last = (max if worst_is_most else min) if goal.get("all") else (min if worst_is_most else max)
    spread, name = last(found, key=lambda f: f[0][1])
    line = row(goal, size, "worst of ours" if goal.get("all") else "best of ours", name, "-", spread, most)
    if goal.get("all"):
        over = sorted({told for values, told in found if (values[1] > most) == worst_is_most and values[1] != most})
        line["over"] = over
    return line


def of_growth(goal, size, most, cells):
    """How a figure grows from one cell to another; with "to" beside how the bound's grows."""
    large, small = cells.get((goal["work"], size)), cells.get((goal["growth"], size))
    if not large or not small:
        return row(goal, size, "growth", most=most)
    figure = goal.get("figure", large.figures[0])

    def growth(subject):
        return [a / b for a, b in zip(large.samples(subject, figure), small.samples(subject, figure))]
    ours = large.best(["ours"], figure)
    if ours not in small.subjects:
        return row(goal, size, "growth", most=most)
    other = goal.get("to", [None])[0]
    if other not in large.subjects:
        return row(goal, size, "growth", ours, goal["growth"], quartiles(growth(ours)), most)
    return row(goal, size, "to the bound's", ours, other,
               quartiles([a / b for a, b in zip(growth(ours), growth(other))]), most)


def of_ratios(goal, size, most, cells):
    """Once against the best peer's rows, once against the best raw peer; or against the subjects named in "to"."""
    cell = cells.get((goal["work"], size))
    figure = goal.get("figure")
    ways = [("to " + t, ["ours"], t) for t in goal.get("to", [])]
    if not ways:
        raw = ["ours"] if goal.get("counted") else ["ours", "ours uncounted"]
        ways = [("peers' rows", ["ours"], ["peer rows"])]
        has_raw = cell is None or cell.of_kinds(["peer raw"])
        if goal.get("only") != "rows" and has_raw:
            ways.append(("peers raw", raw, ["peer raw"]))
    for how, kinds, other in ways:
        ours = cell.best(kinds, figure) if cell else None
        other = cell.best(other, figure) if cell and isinstance(other, list) else other
        spread = cell.ratio(ours, other, figure) if ours and other else None
        bound = cell.ratio(ours, cell.bound, figure) if spread and cell.bound and other != cell.bound else None
        yield row(goal, size, how, ours or "-", other if isinstance(other, str) else "-", spread, most,
                  (cell.bound, bound[1]) if bound else None)


JUDGES = {"ratio": of_ratios, "growth": lambda *a: [of_growth(*a)], "figure": lambda *a: [of_one_figure(*a)]}


def reasons(path=HERE / "reasons.txt"):
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {name.strip(): text.strip() for name, _, text in (line.partition(":") for line in lines)}


def judge(run, path=HERE / "goals.json"):
    cells, why = run_cells(run), reasons()
    lines = []
    for goal in json.loads(path.read_text()):
        for size, most in goal["sizes"].items():
            lines += JUDGES[goal["judge"]](goal, size, most, cells)
    for line in lines:
        line["why"] = why.get(f"{line['id']}/{line['size']}") or why.get(line["id"], "")
    return lines
