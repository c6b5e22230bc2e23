#!/usr/bin/env python3
"""Every goal is judged, with or without a reason; goals that a run cannot judge are reported as not measured; the pages are current."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import goals
import summary
import table

MOST_LINES = 130 # of a page that table.py writes
WORKS = goals.MEAN_OVER


def cell(work, size, series, figures=("CPU ns",), bound="free list"):
    return {"workload": work, "about": "made", "size": size, "bound": bound, "figures": list(figures),
            "series": [{"subject": name, "kind": kind, "samples": samples if isinstance(samples[0], list) else [samples]}
                       for name, kind, samples in series]}


def run_of(*cells):
    return {"format": goals.FORMAT, "command": "made", "rounds": 3, "machine": {}, "sets": [], "cells": list(cells)}


def pair_cell(work="W2", size="64", roxie=6.0, bare=4.0, raw=10.0):
    """Rows of peers take twice as long as raw ones; q is slower than p, but for its sized release in W3."""
    q_sized = 5.0 if work == "W3" else 90.0
    series = [("free list", "bound", [2.0] * 3), ("manager, roxie", "ours", [roxie] * 3)]
    if work not in goals.LINKED:
        series += [("rows.local uncounted", "ours uncounted", [bare] * 3), ("p raw", "peer raw", [raw] * 3), ("q raw", "peer raw", [50.0] * 3),
                   ("q sized raw", "peer raw", [q_sized] * 3)]
    series += [("rows.local uncounted rows", "ours", [bare * 2] * 3), ("p rows", "peer rows", [raw * 2] * 3), ("q rows", "peer rows", [100.0] * 3)]
    return cell(work, size, series)


def whole_run(size="64", **times):
    return run_of(*(pair_cell(work, size, **times) for work in WORKS))


class Means(unittest.TestCase):
    def mean(self, run, one, other, counted=False, size="64"):
        return goals.Mean(goals.run_cells(run), size, one, other, counted)

    def test_a_way_is_one_subject_in_all_workloads(self):
        run = run_of(*(pair_cell(work, roxie=5.0 if work in WORKS[:3] else 10.0) for work in WORKS))
        found = self.mean(run, goals.way("manager, roxie"), goals.peer("p"))
        self.assertEqual(found.works, WORKS)
        self.assertAlmostEqual(found.spread[1], (0.5 ** 3 * 1 ** 5 * 0.5) ** (1 / 9)) # W9: to its rows
        self.assertEqual(found.worst, ("W4", 1.0))

    def test_the_best_peer_of_each_workload(self):
        run = whole_run()
        found = self.mean(run, goals.way("manager, roxie"), goals.peer())
        self.assertAlmostEqual(found.spread[1], (0.6 ** 7 * 1.2 * 0.3) ** (1 / 9)) # W3: to q's release with the size
        self.assertEqual(found.worst, ("W3", 1.2))
        self.assertAlmostEqual(self.mean(run, goals.peer("p"), goals.peer()).spread[1], 2 ** (1 / 9))

    def test_without_a_count_a_program_adds_one(self):
        found = self.mean(whole_run(), goals.way("rows.local uncounted"), goals.peer("p"))
        self.assertEqual(found.works, WORKS)
        self.assertAlmostEqual(found.spread[1], 0.4)
        self.assertAlmostEqual(self.mean(whole_run(), goals.way("rows.local uncounted"), goals.peer("p"), True).spread[1], 0.4)
        self.assertAlmostEqual(self.mean(whole_run(), goals.way("manager, roxie"), goals.peer("p"), True).spread[1], 0.3)

    def test_medians_of_rounds_of_which_one_workload_has_more(self):
        def at(work, samples):
            return cell(work, "64", [("a", "ours", samples), ("p raw", "peer raw", [1.0] * len(samples))])
        found = self.mean(run_of(at("W1", [1.0, 2.0, 4.0]), at("W6", [1.0, 2.0, 4.0, 9.0, 9.0])), goals.way("a"), goals.peer())
        self.assertEqual([round(q, 9) for q in found.spread], [1.5, 2.0, 3.0])
        self.assertEqual(found.worst, ("W6", 4.0))

    def test_nothing_to_compare(self):
        for run in (run_of(), run_of(cell("W1", "64", [("a", "ours", [1.0])])), run_of(cell("W1", "64", [("p raw", "peer raw", [1.0])]))):
            self.assertFalse(self.mean(run, goals.way("a"), goals.peer()))


class Goals(unittest.TestCase):
    def judged(self, run, goal, why=None, counts=None):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "goals.json")
            path.write_text(json.dumps([goal]))
            return goals.judge(run, counts or {}, path, why or {})

    def of(self, run, goal, why=None, counts=None):
        lines = self.judged(run, goal, why, counts)
        self.assertEqual(len(lines), 1)
        return lines[0]

    way = {"judge": "way", "id": "roxie", "text": "roxie", "subject": "manager, roxie", "sizes": {"64": 0.6}}
    ratio = {"judge": "ratio", "id": "W2", "text": "W2", "work": "W2", "of": "manager, roxie", "to": "peer raw", "sizes": {"64": 0.6}}

    def test_a_way(self):
        for roxie, state in ((5.0, "met"), (7.0, "missed")):
            line = self.of(whole_run(roxie=roxie), self.way)
            self.assertEqual((line.subject, line.state), ("manager, roxie", state))
        for cells in ([pair_cell(work, roxie=1.0) for work in WORKS[1:]], []): # a part of it is not a success
            self.assertEqual(self.of(run_of(*cells), self.way).state, goals.ABSENT)

    def test_ratio(self):
        line = self.of(run_of(pair_cell()), self.ratio)
        self.assertEqual((line.subject, line.state), ("manager, roxie to p raw", "met"))
        self.assertAlmostEqual(line.figure[1], 0.6)
        self.assertEqual(self.of(run_of(pair_cell(raw=7.0)), self.ratio).state, "missed")
        line = self.of(run_of(pair_cell()), self.ratio | {"to": "free list"})
        self.assertEqual((line.subject, line.figure[1]), ("manager, roxie to free list", 3))

    def test_instructions(self):
        goal = {"judge": "instructions", "id": "i", "text": "i", "variant": "a", "work": "W2", "sizes": {"64": 50}}
        counts = {"a": {"W2/64": {"allocate": 20, "release": 30.5}}, "b": {"W2/64": {"allocate": 10, "release": 15.5}}}
        self.assertEqual(self.of(run_of(), goal, counts=counts).state, "missed")
        line = self.of(run_of(), goal | {"minus": "b"}, counts=counts)
        self.assertEqual((line.figure[1], line.state), (25, "met"))
        for lacks in ({}, {"a": counts["a"]}, {"b": counts["b"]}):
            self.assertEqual(self.of(run_of(), goal | {"minus": "b"}, counts=lacks).state, goals.ABSENT)

    def test_reasons(self):
        run = run_of(pair_cell(roxie=9.0))
        text = "\n".join(table.misses(self.judged(run, self.ratio, {"W2": "the cache is cold"})))
        self.assertIn("W2, 64: the cache is cold", text)
        text = "\n".join(table.misses(self.judged(run, self.ratio, {"W2/64": "of this size", "W2": "of all"})))
        self.assertIn("of this size", text)
        text = "\n".join(table.misses(self.judged(run, self.ratio)))
        self.assertIn("no reason given yet", text)

    def test_within_noise(self):
        noisy = cell("W2", "64", [("manager, roxie", "ours", [5.0, 8.0, 5.5]), ("p raw", "peer raw", [10.0] * 3)])
        line = self.of(run_of(noisy), self.ratio)
        self.assertEqual((line.state, line.near), ("met", True))

    def test_absent_is_never_a_pass(self):
        peerless = cell("W2", "64", [("manager, roxie", "ours", [1.0] * 3)])
        for run in (run_of(), run_of(pair_cell(roxie=1.0, size="mixed")), run_of(peerless), run_of(cell("W2", "64", [("p raw", "peer raw", [1.0] * 3)]))):
            line = self.of(run, self.ratio)
            self.assertEqual(line.state, goals.ABSENT)
            self.assertIn(goals.ABSENT, " ".join(table.goal_line(line)))
        for goal in ({"judge": "figure", "work": "x", "figure": "f"}, {"judge": "growth", "work": "x", "growth": "y", "of": "a"},
                     {"judge": "ratio", "work": "x", "of": "a", "to": "free list"}):
            self.assertEqual(self.of(run_of(), goal | {"id": "x", "text": "x", "sizes": {"64": 1}}).state, goals.ABSENT)

    def test_a_run_without_any_goal_says_so(self):
        text = "\n".join(table.goal_table(run_of(cell("W2", "16", [("a", "ours", [1.0])])), {}))
        self.assertIn("No goal is set for what this run measures.", text)
        self.assertNotIn(goals.ABSENT, text)

    def test_all_must_meet_it(self):
        goal = {"judge": "figure", "id": "t", "text": "t", "work": ["tail/1", "tail/2"], "sizes": {"64": 100}, "figure": ["p"]}
        good = cell("tail/1", "64", [("a", "ours", [50.0]), ("b", "ours uncounted", [60.0])], ["p"])
        bad = cell("tail/2", "64", [("a", "ours", [50.0]), ("b", "ours uncounted", [600.0])], ["p"])
        line = self.of(run_of(good, bad), goal)
        self.assertEqual((line.state, line.over), ("missed", ["b (tail/2, p)"]))
        self.assertEqual(self.of(run_of(good), goal).state, goals.ABSENT) # a part of what it asks
        self.assertEqual(self.of(run_of(good, bad), goal | {"of": "a"}).state, "met")

    def test_at_least(self):
        goal = {"judge": "figure", "id": "t", "text": "t", "work": "bytes", "sizes": {"64": 95}, "figure": "p", "least": True}
        for worst, state in ((96.0, "met"), (94.0, "missed")):
            self.assertEqual(self.of(run_of(cell("bytes", "64", [("a", "ours", [99.0]), ("b", "ours", [worst])], ["p"])), goal).state, state)

    def test_floor_and_share(self):
        goal = {"judge": "figure", "id": "t", "text": "t", "work": "s", "sizes": {"64": 6}, "of": "a", "figure": "n", "minus": "null", "share": 2}
        found = [("null", "bound", [10.0]), ("a", "ours", [22.0]), ("b", "ours", [12.0])]
        self.assertEqual(self.of(run_of(cell("s", "64", found, ["n"])), goal).figure[1], 6)
        self.assertEqual(self.of(run_of(cell("s", "64", found[1:], ["n"])), goal).state, goals.ABSENT) # without the floor the figure is unknown

    def test_growth_beside_the_bounds(self):
        goal = {"judge": "growth", "id": "g", "text": "g", "work": "large", "growth": "small", "sizes": {"64": 1.0}, "of": "a", "to": "free list"}
        def at(name, ours, bound):
            return cell(name, "64", [("a", "ours", [ours] * 3), ("b", "ours", [1.0] * 3), ("free list", "bound", [bound] * 3)])
        self.assertEqual(self.of(run_of(at("large", 30.0, 20.0), at("small", 20.0, 10.0)), goal).state, "met")
        self.assertEqual(self.of(run_of(at("large", 50.0, 20.0), at("small", 20.0, 10.0)), goal).state, "missed")
        self.assertEqual(self.of(run_of(at("large", 50.0, 20.0)), goal).state, goals.ABSENT)

    def test_without_a_limit(self):
        self.assertEqual(self.of(run_of(pair_cell(roxie=9.0)), self.ratio | {"sizes": {"64": None}}).state, "measured")

    def test_figures_that_a_subject_lacks(self):
        goal = {"judge": "figure", "id": "t", "text": "t", "work": "tail/1", "sizes": {"64": 16}, "figure": "looks"}
        found = cell("tail/1", "64", [("a", "ours", [[1.0], [12.0]]), ("b", "ours", [[1.0], [None]])], ["p", "looks"])
        self.assertEqual(self.of(run_of(found), goal).figure[1], 12)

    def test_the_worst_of_several_workloads(self):
        def at(work, *ours):
            series = [(name, "ours", [value] * 3) for name, value in ours] + [("p", "peer raw", [2.0] * 3)]
            return cell(work, "1", series, figures=("cold ms",))
        goal = {"id": "g", "text": "t", "judge": "ratios", "work": ["resize/a", "resize/b"], "to": "p", "figure": "cold ms", "sizes": {"1": 1.0}}
        for of, runs, state, subject, value in (
                ("a", (at("resize/a", ("a", 1.0)), at("resize/b", ("a", 3.0), ("b", 9.0))), "missed", "worst: a to p (resize/b)", 1.5),
                ("a", (at("resize/a", ("a", 1.0)), at("resize/b", ("a", 2.0), ("b", 9.0))), "met", "worst: a to p (resize/b)", 1.0),
                (None, (at("resize/a", ("a", 1.0)), at("resize/b", ("a", 2.0), ("b", 9.0))), "missed", "worst: b to p (resize/b)", 4.5)):
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder, "goals.json")
                path.write_text(json.dumps([goal | ({"of": of} if of else {})]))
                line, = goals.judge(run_of(*runs), {}, path, {})
                self.assertEqual((line.state, line.subject, line.figure[1]), (state, subject, value))
                line, = goals.judge(run_of(runs[0]), {}, path, {}) # a workload is absent
                self.assertEqual(line.state, goals.ABSENT)

    def test_every_goal_names_what_there_is(self):
        """The goals in use, over a run without cells: each has its line, none passes."""
        lines = goals.judge(run_of(), {})
        self.assertGreater(len(lines), 50)
        self.assertEqual({line.state for line in lines}, {goals.ABSENT})
        names = [line["id"] for line in json.loads((HERE.parent / "goals.json").read_text())]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual({name.partition("/")[0] if name not in names else name for name in goals.reasons()}, set(names))

    def test_every_goal_judges_a_subject_of_the_bench(self):
        """A subject that is renamed would be reported as not measured for ever."""
        listed = (HERE.parent / "ours/list.hpp").read_text() + (HERE.parent / "moving.cpp").read_text() + (HERE.parent / "counted/ways.cpp").read_text() + (HERE.parent / "counted/faces.cpp").read_text()
        for goal in goals.wanted():
            for key in ("subject", "of", "variant", "minus"):
                if goal.get(key, "null") != "null":
                    self.assertIn(f'"{goal[key]}"', listed, goal["id"])


class Program(unittest.TestCase):
    def run_table(self, text, *more):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "rows.json")
            path.write_text(text)
            return subprocess.run([sys.executable, HERE.parent / "table.py", path, *more], capture_output=True, text=True)

    def test_every_table(self):
        done = self.run_table(json.dumps(whole_run()), "--all")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("not measured", done.stdout)

    def test_short_page(self):
        done = self.run_table(json.dumps(whole_run(roxie=20.0)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("## Bars: 1 met, 1 missed,", done.stdout)
        self.assertIn("| `use::roxie`, plain | 1.5 | 2.00 **missed** |", done.stdout)
        self.assertIn("| `use::roxie`, plain | 2.00, W3 4.00 | 1.00, W1 1.00 |", done.stdout)
        self.assertIn("| p | 1.08, W3 2.00 | 1.00, W1 1.00 |", done.stdout)
        self.assertIn("| to | p | q |", done.stdout)
        self.assertNotIn("| `use::thor`, plain | - |", done.stdout)
        self.assertLess(len(done.stdout.splitlines()), MOST_LINES)

    def test_short_page_by_size(self):
        run = run_of(*(pair_cell(work, size, roxie=roxie) for work in ("W1", "W2") for size, roxie in (("16", 6.0), ("64", 6.0), ("256", 7.0))))
        done = self.run_table(json.dumps(run))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("## Bars", done.stdout)
        self.assertIn("mean over W1 and W2", done.stdout)
        self.assertIn("| `use::roxie`, plain | 0.60 | 0.60 | **0.70** |", done.stdout)
        self.assertIn("| `rows.local()`, uncounted | 0.40 | 0.40 | 0.40 |", done.stdout)

    def test_what_sizes_gained(self):
        def at(fast, slow):
            return run_of(*(pair_cell("W1", size, roxie=roxie) for size, roxie in (("64", fast), ("256", slow))))
        text = "\n".join(summary.gains(at(8.0, 10.0), at(4.0, 8.0)))
        self.assertIn("| `use::roxie`, plain | 2.00 | **1.25** |", text)
        self.assertIn("| `rows.local()`, uncounted | 1.00 | 1.00 |", text)
        self.assertIn("| `use::roxie`, plain | 2.00 | 1.92 |", "\n".join(summary.gains(at(8.0, 9.6), at(4.0, 5.0))))
        self.assertNotIn("use::roxie", "\n".join(summary.gains(run_of(), at(1.0, 1.0))))

    def test_short_page_without_cells(self):
        self.assertEqual(self.run_table(json.dumps(run_of())).returncode, 0)

    def test_committed_pages_are_current_and_short(self):
        """Of each docs/bench/NAME.json with a NAME.md: the page is as table.py writes it."""
        docs = HERE.parents[1] / "docs/bench"
        for name in ("rows", "sizes", "moving"):
            with self.subTest(page=f"{name}.md"), tempfile.TemporaryDirectory() as folder:
                out = pathlib.Path(folder, f"{name}.md")
                if (docs / f"{name}.svg").exists():
                    out.with_suffix(".svg").touch()
                subprocess.run([sys.executable, HERE.parent / "table.py", docs / f"{name}.json", "--out", out], check=True)
                self.assertEqual(out.read_text(), (docs / f"{name}.md").read_text(), f"write it again: bench/table.py docs/bench/{name}.json --out docs/bench/{name}.md")
                self.assertLess(len(out.read_text().splitlines()), MOST_LINES)

    def test_foreign_files(self):
        for text in ("", "[]", "{}", "not json", '{"cells": [], "targets": []}', '{"format": "allot_bench 1"}'):
            done = self.run_table(text, "--goals")
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stdout, "")
            self.assertRegex(done.stderr, r"table.py: .*rows.json (was not written by this allot_bench|cannot be read as JSON)")
            self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
