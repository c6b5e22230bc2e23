"""The goals of goals.json, judged from the JSON of allot_bench, allot_moving and instructions.py: a line per goal and size.

Each goal names the subject that it judges: no result is the best of many. Ratios are taken round by round, and their median is
judged. A goal for which the run has no numbers is reported as not measured, never as met.
"""
import json
import pathlib
import statistics

HERE = pathlib.Path(__file__).parent
FORMAT = "allot_bench 2"
ABSENT = "not measured"
MEAN_OVER = [f"W{n}" for n in range(1, 10)]
LINKED = ["W9"] # malloc has no count there, so a program's count is in front of the row
PEERS = {False: "peer raw", True: "peer rows"} # without and with a link count


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


# ---- ways and peers over several workloads ----

def way(subject):
    """One of our subjects. Where a count is needed and its rows have none, the same with a program's count."""
    def found(cell, counted):
        names = [subject + " rows", subject] if counted else [subject]
        return next((name for name in names if name in cell.subjects), None)
    return found


def peer(name=None):
    """A malloc library, or the best of all: the fastest variant in each workload (release with or without the size), which favours peers."""
    def found(cell, counted):
        mine = [s for s in cell.of_kinds([PEERS[counted]]) if name in (None, s.split()[0])]
        return min(mine, key=cell.median, default=None)
    return found


class Mean:
    """A way or peer divided by another over the workloads that both have: the quartiles of the rounds' geometric means, and the worst
    workload by its median. False where there is none."""

    def __init__(self, cells, size, one, other, counted):
        ratios = {}
        for work in MEAN_OVER:
            cell, with_count = cells.get((work, size)), counted or work in LINKED
            mine, its = (find(cell, with_count) for find in (one, other)) if cell else (None, None)
            if mine and its:
                ratios[work] = divided(cell.samples(mine), cell.samples(its))
        rounds = [statistics.geometric_mean(each) for each in zip(*ratios.values()) if all(each)]
        self.works = list(ratios)
        self.spread = quartiles(rounds)
        medians = {work: found[1] for work, each in ratios.items() if (found := quartiles(each))}
        self.worst = max(medians.items(), key=lambda item: item[1], default=None)

    def __bool__(self):
        return self.spread is not None


# ---- goals ----

class Line:
    """A goal at a size: what was found, and the verdict."""

    def __init__(self, goal, size, limit):
        self.id, self.text, self.size, self.limit = goal["id"], goal["text"], size, limit
        self.bar, self.least, self.unit = goal.get("bar", False), goal.get("least", False), goal.get("unit", "")
        self.subject, self.figure, self.state, self.over, self.why = None, None, ABSENT, [], ""

    def judge(self, subject, spread):
        self.subject, self.figure = subject, spread
        if spread is None:
            self.state = ABSENT
        elif self.limit is None:
            self.state = "measured"
        else:
            self.state = "met" if self.meets(spread[1]) else "missed"

    def meets(self, value):
        return value >= self.limit if self.least else value <= self.limit

    @property
    def near(self):
        """The goal lies between the quartiles: another run may decide otherwise."""
        return self.figure is not None and self.limit is not None and self.figure[0] <= self.limit < self.figure[2]


def of_way(goal, line, cells, _):
    """The geometric mean of one way of ours over all of MEAN_OVER, where the best raw peer of each is 1."""
    found = Mean(cells, line.size, way(goal["subject"]), peer(), False)
    complete = found.works == MEAN_OVER
    line.judge(goal["subject"], found.spread if complete else None)


def of_figures(goal, line, cells, _):
    """A figure itself: of the subject in "of"; without that every subject of ours in every cell must meet it, and the worst is reported."""
    works = works_of(goal)
    figures = goal["figure"] if isinstance(goal["figure"], list) else [goal["figure"]]
    found, absent = [], [work for work in works if (work, line.size) not in cells]
    for work in works:
        cell = cells.get((work, line.size))
        for figure in figures if cell else []:
            floor = cell.median(goal["minus"], figure) if goal.get("minus") else 0
            for name in [goal["of"]] if "of" in goal else cell.of_kinds(["ours", "ours uncounted"]):
                values = [(v - floor) / goal.get("share", 1) for v in cell.samples(name, figure) if v is not None]
                if values and floor != float("inf"):
                    found.append((quartiles(values), f"{name} ({work}, {figure})" if len(works) > 1 else name))
    if not found:
        return
    worst, name = (min if line.least else max)(found, key=lambda f: f[0][1])
    line.judge(name, worst)
    if "of" not in goal:
        line.subject = "worst: " + name
        line.over = sorted(name for values, name in found if not line.meets(values[1]))
        if absent and line.state == "met":
            line.state, line.why = ABSENT, f"no results of {', '.join(absent)}" # a part of it


def of_growth(goal, line, cells, _):
    """How a figure grows from one cell to another; with "to", divided by the growth of that subject's."""
    large, small = cells.get((goal["work"], line.size)), cells.get((goal["growth"], line.size))
    if not large or not small:
        return
    figure = goal.get("figure", large.figures[0])

    def growth(subject):
        return divided(large.samples(subject, figure), small.samples(subject, figure))
    mine = growth(goal["of"])
    line.judge(goal["of"], quartiles(divided(mine, growth(goal["to"])) if "to" in goal else mine))


def of_ratio(goal, line, cells, _):
    """One subject to another, or to the best peer of a kind."""
    cell, figure = cells.get((goal["work"], line.size)), goal.get("figure")
    other = cell and (cell.best([goal["to"]], figure) if goal["to"] in PEERS.values() else goal["to"])
    if other:
        line.judge(f"{goal['of']} to {other}", cell.ratio(goal["of"], other, figure))


def of_ratios(goal, line, cells, _):
    """As of_ratio, over several workloads: the worst of them; without "of" also the worst of our subjects."""
    found = []
    for work in works_of(goal):
        if cell := cells.get((work, line.size)):
            for name in [goal["of"]] if "of" in goal else cell.of_kinds(["ours"]):
                if ratio := cell.ratio(name, goal["to"], goal["figure"]):
                    found.append((ratio, f"{name} to {goal['to']} ({work})"))
    if not found or any((work, line.size) not in cells for work in works_of(goal)):
        return
    worst, name = max(found, key=lambda f: f[0][1])
    line.judge(name, worst)
    line.subject = "worst: " + name
    line.over = sorted(name for ratio, name in found if not line.meets(ratio[1]))


def of_instructions(goal, line, _, counts):
    """Those of a pair; with "minus", those beyond another variant's."""
    def pair(variant):
        ops = counts.get(variant, {}).get(f"{goal['work']}/{line.size}")
        return sum(ops.values()) if ops else None
    mine, less = pair(goal["variant"]), pair(goal["minus"]) if "minus" in goal else 0
    if mine is not None and less is not None:
        line.judge(goal["variant"], quartiles([mine - less]))


JUDGES = {"way": of_way, "ratio": of_ratio, "ratios": of_ratios, "growth": of_growth, "figure": of_figures, "instructions": of_instructions}


def reasons(path=HERE / "reasons.txt"):
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {name.strip(): text.strip() for name, _, text in (line.partition(":") for line in lines)}


def wanted(path=HERE / "goals.json"):
    return json.loads(pathlib.Path(path).read_text())


def works_of(goal):
    found = goal.get("work", [])
    return found if isinstance(found, list) else [found]


def of_moving(work):
    """Whether it is a workload of allot_moving: its goals are judged by a run of its own."""
    return work == "moving" or work.startswith("resize/")


def is_of_moving(run):
    return any(of_moving(cell["workload"]) for cell in run["cells"])


def judge(run, counts, path=HERE / "goals.json", why=None):
    """`counts`: what instructions.py found, {} where that is not known."""
    cells, why = run_cells(run), reasons() if why is None else why
    lines = []
    for goal in wanted(path):
        if any(map(of_moving, works_of(goal))) != is_of_moving(run):
            continue
        for size, limit in goal["sizes"].items():
            line = Line(goal, size, limit)
            JUDGES[goal["judge"]](goal, line, cells, counts)
            line.why = why.get(f"{line.id}/{size}") or why.get(line.id) or line.why
            lines.append(line)
    return lines
