"""The goals of goals.json, judged from the JSON of allot_bench: a line per goal and size.

A ratio is taken round by round, ours over the other one, and its median is judged: met, missed, or within noise when
the goal lies between the quartiles. Ours is the quickest of our subjects in that cell; the peer is the quickest general
one, which favours the peers. A goal for which the run has no numbers is reported as not measured, never as met.
"""
import json
import pathlib
import statistics

HERE = pathlib.Path(__file__).parent
FORMAT = "allot_bench 2"
ABSENT = "not measured"


class Foreign(Exception):
    """The file was not written by this allot_bench."""


def load(path):
    try:
        run = json.loads(pathlib.Path(path).read_text())
    except (OSError, ValueError) as error:
        raise Foreign(f"{path} cannot be read as JSON: {error}") from error
    found = run.get("format") if isinstance(run, dict) else None
    if found != FORMAT:
        raise Foreign(f"{path} was not written by this allot_bench: its format is {json.dumps(found)}, not \"{FORMAT}\". "
                      "Make one: ./run bench, or allot_bench --json FILE")
    return run


def quartiles(values):
    values = [v for v in values if v is not None]
    if not values:
        return None
    return values * 3 if len(values) == 1 else statistics.quantiles(values, n=4, method="inclusive")


class Cell:
    """A workload at a size: the names of its figures (a figure is one number that is measured), and {subject: (kind, {figure: samples})}."""

    def __init__(self, raw):
        self.work, self.size, self.about, self.bound = (raw[k] for k in ("workload", "size", "about", "bound"))
        self.figures = raw["figures"]
        self.subjects = {s["subject"]: (s["kind"], dict(zip(self.figures, s["samples"]))) for s in raw["series"]}

    def samples(self, subject, figure=None):
        return self.subjects[subject][1].get(figure or self.figures[0], []) if subject in self.subjects else []

    def median(self, subject, figure=None):
        found = quartiles(self.samples(subject, figure))
        return found[1] if found else float("inf")

    def of_kinds(self, kinds):
        return [name for name, (kind, _) in self.subjects.items() if kind in kinds]

    def best(self, kinds, figure=None):
        return min(self.of_kinds(kinds), key=lambda s: self.median(s, figure), default=None)

    def ratio(self, subject, other, figure=None):
        return quartiles(divided(self.samples(subject, figure), self.samples(other, figure)))


def divided(these, those):
    return [a / b if a is not None and b else None for a, b in zip(these, those)]


def run_cells(run):
    return {(c["workload"], c["size"]): Cell(c) for c in run["cells"]}


def verdict(spread, limit, least=False):
    if spread is None:
        return ABSENT
    if limit is None:
        return "measured"
    met = spread[1] >= limit if least else spread[1] <= limit
    return ("met" if met else "missed") + (", within noise" if spread[0] <= limit < spread[2] else "")


class Line:
    """A goal at a size: the result, and a verdict for each way to judge it."""

    def __init__(self, goal, size, limit):
        self.id, self.text, self.size, self.limit = goal["id"], goal["text"], size, limit
        self.least, self.unit = goal.get("least", False), goal.get("unit", "")
        self.ours, self.figure = None, None          # our subject, quartiles of the figure
        self.rows = self.raw = self.other = None     # (name, quartiles of the ratio, our subject)
        self.verdicts, self.over, self.why = {}, [], ""

    def judge(self, way, spread):
        self.verdicts[way] = verdict(spread, self.limit, self.least)

    @property
    def missed(self):
        return any(v.startswith("missed") for v in self.verdicts.values())

    @property
    def state(self):
        """In one word."""
        if self.missed:
            return "missed"
        verdicts = set(self.verdicts.values())
        return ABSENT if not verdicts or ABSENT in verdicts else "measured" if "measured" in verdicts else "met"


def of_one_figure(goal, line, cells):
    """Goals on a figure itself. With "all", every subject of ours in every cell must meet it, and the worst is reported."""
    works = goal["work"] if isinstance(goal["work"], list) else [goal["work"]]
    figures = goal["figure"] if isinstance(goal["figure"], list) else [goal["figure"]]
    kinds = goal.get("kinds") or (["ours"] if goal.get("counted") else ["ours", "ours uncounted"])
    found, absent = [], [work for work in works if (work, line.size) not in cells]
    for work in works:
        cell = cells.get((work, line.size))
        for figure in figures if cell else []:
            floor = cell.median(goal["minus"], figure) if goal.get("minus") else 0
            for name in cell.of_kinds(kinds):
                values = [(v - floor) / goal.get("share", 1) for v in cell.samples(name, figure) if v is not None]
                if values and floor != float("inf"):
                    found.append((quartiles(values), f"{name} ({work}, {figure})" if len(works) > 1 else name))
    if not found:
        return line.judge("", None)
    larger_is_worse = not goal.get("least")
    last = (max if larger_is_worse else min) if goal.get("all") else (min if larger_is_worse else max)
    line.figure, line.ours = last(found, key=lambda f: f[0][1])
    line.judge("", line.figure)
    if goal.get("all"):
        line.ours = "worst: " + line.ours
        line.over = sorted(name for values, name in found if values[1] != line.limit and (values[1] > line.limit) == larger_is_worse)
        if absent and not line.missed:
            line.verdicts[""] = ABSENT # a part of it
            line.why = f"no results of {', '.join(absent)}"


def of_growth(goal, line, cells):
    """How a figure grows from one cell to another; with "to", divided by the growth of the bound's."""
    large, small = cells.get((goal["work"], line.size)), cells.get((goal["growth"], line.size))
    if not large or not small:
        return line.judge("", None)
    figure = goal.get("figure", large.figures[0])

    def growth(subject):
        return divided(large.samples(subject, figure), small.samples(subject, figure))
    ours = large.best(["ours"], figure)
    mine = growth(ours)
    line.ours, line.figure = ours, quartiles(mine)
    if "to" not in goal:
        return line.judge("", line.figure)
    spread = quartiles(divided(mine, growth(goal["to"])))
    line.other = (goal["to"], spread, ours)
    line.judge("", spread)


def of_ratios(goal, line, cells):
    """To the best peer's rows and to the best raw peer; or to the subject named in "to"."""
    cell, figure = cells.get((goal["work"], line.size)), goal.get("figure")
    if cell is None:
        return line.judge("", None)

    def ratio(kinds, other):
        ours = goal.get("of") or cell.best(kinds, figure)
        return (other, cell.ratio(ours, other, figure), ours) if ours and other else None
    if "to" in goal:
        line.other = ratio(["ours"], goal["to"])
        line.judge("", line.other and line.other[1])
        best = line.other
    else:
        best = line.rows = ratio(["ours"], cell.best(["peer rows"], figure))
        line.judge("rows", line.rows and line.rows[1])
        if goal.get("only") != "rows":
            line.raw = ratio(["ours"] if goal.get("counted") else ["ours", "ours uncounted"], cell.best(["peer raw"], figure))
            line.judge("raw", line.raw and line.raw[1])
        line.other = ratio(["ours"], cell.bound)
    if best and best[2] in cell.subjects:
        line.ours, line.figure = best[2], quartiles(cell.samples(best[2], figure))


JUDGES = {"ratio": of_ratios, "growth": of_growth, "figure": of_one_figure}


def reasons(path=HERE / "reasons.txt"):
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {name.strip(): text.strip() for name, _, text in (line.partition(":") for line in lines)}


def wanted(path=HERE / "goals.json"):
    return json.loads(pathlib.Path(path).read_text())


def judge(run, path=HERE / "goals.json", why=None):
    cells, why = run_cells(run), reasons() if why is None else why
    lines = []
    for goal in wanted(path):
        for size, limit in goal["sizes"].items():
            line = Line(goal, size, limit)
            JUDGES[goal["judge"]](goal, line, cells)
            line.why = why.get(f"{line.id}/{size}") or why.get(line.id) or line.why
            lines.append(line)
    return lines
