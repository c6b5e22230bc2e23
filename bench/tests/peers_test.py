#!/usr/bin/env python3
"""--peer takes a malloc library, and reports in one line why it skips anything else.

    bench/tests/peers_test.py allot_bench FOLDER-OF-THE-BROKEN-PEERS
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH, BROKEN = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()


class Peers(unittest.TestCase):
    def run_with(self, *peers):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "rows.json")
            command = [BENCH, "--smoke", "--workloads", "W1,W2", "--sizes", "64", "--subjects", "glibc*,it*", "--json", out]
            for peer in peers:
                command += ["--peer", peer]
            run = subprocess.run(command, capture_output=True, text=True, timeout=600)
            cells = json.loads(out.read_text())["cells"] if run.returncode == 0 else []
        return run, {s["subject"] for c in cells for s in c["series"]}

    def skipped(self, library, why):
        run, subjects = self.run_with(f"it={library}")
        self.assertEqual(run.returncode, 0, run.stderr)
        lines = [line for line in run.stderr.splitlines() if line.startswith("skipped - it:")]
        self.assertEqual(len(lines), 1, run.stderr)
        self.assertIn(why, lines[0])
        self.assertEqual({s for s in subjects if s.startswith("it")}, set())
        self.assertIn("glibc rows", subjects) # the other subjects run

    def test_missing_file(self):
        self.skipped("/nowhere/libit.so", "No such file")

    def test_no_library(self):
        self.skipped(__file__, "ELF")

    def test_no_malloc(self):
        self.skipped(BROKEN / "libbroken_peer_0.so", "no malloc and free")

    def test_answers_with_glibcs(self):
        self.skipped("libm.so.6", "answers with glibc's")

    def test_hands_on_to_glibc(self):
        self.skipped(BROKEN / "libbroken_peer_1.so", "hands on to glibc")

    def test_crashes(self):
        self.skipped(BROKEN / "libbroken_peer_2.so", "crash or hang")

    def test_rows_overlap(self):
        self.skipped(BROKEN / "libbroken_peer_3.so", "overlap")

    def test_a_good_one_takes_part(self):
        run, subjects = self.run_with(f"it={BROKEN / 'libbroken_peer_4.so'}")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertLessEqual({"it rows", "it raw"}, subjects)

    def test_a_name_that_is_taken(self):
        run, _ = self.run_with(f"glibc={BROKEN / 'libbroken_peer_4.so'}")
        self.assertIn("skipped - glibc: there is a peer of that name", run.stderr)

    def test_the_same_library_twice(self):
        good = BROKEN / "libbroken_peer_4.so"
        run, _ = self.run_with(f"it={good}", f"it2={good}")
        self.assertIn("skipped - it2: it is the same library as it", run.stderr)

    def test_no_library_named(self):
        for wrong in ("it", "it=", "=lib.so"):
            self.assertEqual(self.run_with(wrong)[0].returncode, 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
