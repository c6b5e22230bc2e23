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
import table

MOST_LINES = 70 # of a page that table.py writes
W2 = next(goal["text"] for goal in goals.wanted() if goal["id"] == "W2")


def cell(work, size, series, figures=("CPU ns",), bound="free list"):
    return {"workload": work, "about": "made", "size": size, "bound": bound, "figures": list(figures),
            "series": [{"subject": name, "kind": kind, "samples": samples if isinstance(samples[0], list) else [samples]}
                       for name, kind, samples in series]}


def run_of(*cells):
    return {"format": goals.FORMAT, "command": "made", "rounds": 3, "machine": {}, "sets": [], "cells": list(cells)}


def pair_cell(ours, rows, raw=10.0):
    return cell("W2", "64", [("free list", "bound", [2.0] * 3), ("a", "ours", [ours] * 3), ("slow", "ours", [99.0] * 3),
                             ("p rows", "peer rows", [rows] * 3), ("q rows", "peer rows", [50.0] * 3), ("p raw", "peer raw", [raw] * 3)])


class Goals(unittest.TestCase):
    def judged(self, run, goal, why=None):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "goals.json")
            path.write_text(json.dumps([goal]))
            return goals.judge(run, path, why or {})

    def of(self, run, goal, why=None):
        lines = self.judged(run, goal, why)
        self.assertEqual(len(lines), 1)
        return lines[0]

    ratio = {"judge": "ratio", "id": "W2", "text": "W2", "work": "W2", "sizes": {"64": 0.8}}

    def test_hit(self):
        line = self.of(run_of(pair_cell(6.0, 10.0)), self.ratio)
        self.assertEqual(line.verdicts, {"rows": "met", "raw": "met"})
        self.assertEqual((line.ours, line.rows[0], line.raw[0], line.other[0]), ("a", "p rows", "p raw", "free list"))
        self.assertAlmostEqual(line.rows[1][1], 0.6)
        self.assertAlmostEqual(line.other[1][1], 3.0)
        self.assertEqual(line.state, "met")

    def test_missed_by_one_way_is_missed(self):
        line = self.of(run_of(pair_cell(6.0, 10.0, raw=7.0)), self.ratio)
        self.assertEqual(line.verdicts, {"rows": "met", "raw": "missed"})
        self.assertEqual(line.state, "missed")

    def test_reasons(self):
        run = run_of(pair_cell(9.0, 10.0))
        text = "\n".join(table.misses(self.judged(run, self.ratio, {"W2": "the cache is cold"})))
        self.assertIn("W2, 64: the cache is cold", text)
        text = "\n".join(table.misses(self.judged(run, self.ratio, {"W2/64": "of this size", "W2": "of all"})))
        self.assertIn("of this size", text)
        text = "\n".join(table.misses(self.judged(run, self.ratio)))
        self.assertIn("no reason given yet", text)

    def test_within_noise(self):
        noisy = cell("W2", "64", [("a", "ours", [7.0, 9.0, 7.5]), ("p rows", "peer rows", [10.0] * 3), ("p raw", "peer raw", [20.0] * 3)])
        self.assertEqual(self.of(run_of(noisy), self.ratio).verdicts["rows"], "met, within noise")

    def test_absent_is_never_a_pass(self):
        peerless = cell("W2", "64", [("a", "ours", [1.0] * 3)])
        for run in (run_of(), run_of(pair_cell(1.0, 10.0) | {"size": "mixed"}), run_of(peerless),
                    run_of(cell("W2", "64", [("p rows", "peer rows", [1.0] * 3)]))):
            line = self.of(run, self.ratio)
            self.assertEqual(line.state, goals.ABSENT)
            self.assertIn(goals.ABSENT, " ".join(table.goal_line(line)))
        for goal in ({"judge": "figure", "work": "x", "figure": "f"}, {"judge": "growth", "work": "x", "growth": "y"},
                     {"judge": "ratio", "work": "x", "to": "free list"}):
            self.assertEqual(self.of(run_of(), goal | {"id": "x", "text": "x", "sizes": {"64": 1}}).state, goals.ABSENT)

    def test_a_run_without_any_goal_says_so(self):
        text = "\n".join(table.goal_table(run_of(cell("W2", "16", [("a", "ours", [1.0])]))))
        self.assertIn("No goal is set for what this run measures.", text)
        self.assertNotIn(goals.ABSENT, text)

    def test_all_must_meet_it(self):
        goal = {"judge": "figure", "id": "t", "text": "t", "work": ["tail/1", "tail/2"], "sizes": {"64": 100}, "figure": ["p"], "all": True}
        good = cell("tail/1", "64", [("a", "ours", [50.0]), ("b", "ours uncounted", [60.0])], ["p"])
        bad = cell("tail/2", "64", [("a", "ours", [50.0]), ("b", "ours uncounted", [600.0])], ["p"])
        line = self.of(run_of(good, bad), goal)
        self.assertEqual((line.state, line.over), ("missed", ["b (tail/2, p)"]))
        self.assertEqual(self.of(run_of(good), goal).state, goals.ABSENT) # a part of what it asks

    def test_at_least(self):
        goal = {"judge": "figure", "id": "t", "text": "t", "work": "bytes", "sizes": {"64": 95}, "figure": "p", "least": True, "all": True}
        for worst, state in ((96.0, "met"), (94.0, "missed")):
            self.assertEqual(self.of(run_of(cell("bytes", "64", [("a", "ours", [99.0]), ("b", "ours", [worst])], ["p"])), goal).state, state)

    def test_floor_and_share(self):
        goal = {"judge": "figure", "id": "t", "text": "t", "work": "s", "sizes": {"64": 6}, "figure": "n", "minus": "null", "share": 2}
        found = [("null", "bound", [10.0]), ("a", "ours", [22.0])]
        self.assertEqual(self.of(run_of(cell("s", "64", found, ["n"])), goal).figure[1], 6)
        self.assertEqual(self.of(run_of(cell("s", "64", found[1:], ["n"])), goal).state, goals.ABSENT) # without the floor the figure is unknown

    def test_growth_beside_the_bounds(self):
        goal = {"judge": "growth", "id": "g", "text": "g", "work": "large", "growth": "small", "sizes": {"64": 1.0}, "to": "free list"}
        def at(name, ours, bound):
            return cell(name, "64", [("a", "ours", [ours] * 3), ("free list", "bound", [bound] * 3)])
        self.assertEqual(self.of(run_of(at("large", 30.0, 20.0), at("small", 20.0, 10.0)), goal).state, "met")
        self.assertEqual(self.of(run_of(at("large", 50.0, 20.0), at("small", 20.0, 10.0)), goal).state, "missed")
        self.assertEqual(self.of(run_of(at("large", 50.0, 20.0)), goal).state, goals.ABSENT)

    def test_without_a_limit(self):
        line = self.of(run_of(pair_cell(9.0, 10.0)), self.ratio | {"sizes": {"64": None}})
        self.assertEqual(line.state, "measured")

    def test_figures_that_a_subject_lacks(self):
        goal = {"judge": "figure", "id": "t", "text": "t", "work": "tail/1", "sizes": {"64": 16}, "figure": "looks", "all": True}
        found = cell("tail/1", "64", [("a", "ours", [[1.0], [12.0]]), ("b", "ours", [[1.0], [None]])], ["p", "looks"])
        self.assertEqual(self.of(run_of(found), goal).figure[1], 12)

    def test_every_goal_names_what_there_is(self):
        """The goals in use, over a run without cells: each has its line, none passes."""
        lines = goals.judge(run_of())
        self.assertGreater(len(lines), 50)
        self.assertEqual({line.state for line in lines}, {goals.ABSENT})
        names = [line["id"] for line in json.loads((HERE.parent / "goals.json").read_text())]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual({name.partition("/")[0] if name not in names else name for name in goals.reasons()}, set(names))


class Program(unittest.TestCase):
    def run_table(self, text, *more):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "rows.json")
            path.write_text(text)
            return subprocess.run([sys.executable, HERE.parent / "table.py", path, *more], capture_output=True, text=True)

    def test_every_table(self):
        done = self.run_table(json.dumps(run_of(pair_cell(6.0, 10.0))), "--all")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("0.60 of p rows", done.stdout)
        self.assertIn("not measured", done.stdout)

    def test_short_page(self):
        done = self.run_table(json.dumps(run_of(pair_cell(6.0, 10.0))))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 met, 0 missed", done.stdout)
        self.assertIn(f"| {W2} | 0.8 | 0.60 rows, 0.60 raw |", done.stdout)
        self.assertIn("| p | 0.60 | 0.60 |", done.stdout)
        self.assertIn("| q | 0.12 | - |", done.stdout)
        self.assertLess(len(done.stdout.splitlines()), MOST_LINES)

    def test_short_page_without_goals(self):
        done = self.run_table(json.dumps(run_of(pair_cell(6.0, 10.0) | {"size": "16"})))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("## Goals", done.stdout)
        self.assertIn(f"| {W2} | 0.60 | 0.60 |", done.stdout)

    def test_short_page_without_cells(self):
        self.assertEqual(self.run_table(json.dumps(run_of())).returncode, 0)

    def test_a_missed_goal_is_bold(self):
        done = self.run_table(json.dumps(run_of(pair_cell(9.0, 10.0, raw=20.0))))
        self.assertIn("0 met, 1 missed", done.stdout)
        self.assertIn("| **0.90 rows**, 0.45 raw |", done.stdout)

    def test_committed_pages_are_current_and_short(self):
        """Of each docs/bench/NAME.json with a NAME.md: the page is as table.py writes it."""
        docs = HERE.parents[1] / "docs/bench"
        for name in ("rows", "sizes"):
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
