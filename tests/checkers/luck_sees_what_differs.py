"""tests/luck.py finds a test that fails every second time, and no other; it continues where it ended, and begins anew when asked."""
import json
import pathlib
import subprocess
import sys

luck = pathlib.Path(__file__).resolve().parents[1] / "luck.py"
folder = pathlib.Path("build")
folder.mkdir(exist_ok=True)
for old in ("luck.json", "mark", "pages"):
    (folder / old).unlink(missing_ok=True)
(folder / "CTestTestfile.cmake").write_text("""
add_test(good true)
add_test(other false)
add_test(every_second sh -c "test ! -e mark || { rm mark; echo the mark was there; exit 3; }; touch mark")
add_test(skipped sh -c "echo skipped: nothing is here; exit 1")
add_test(page sh -c "rm pages")
add_test(pages touch pages)
add_test(hangs sleep 60)
set_tests_properties(good every_second skipped page PROPERTIES LABELS some)
set_tests_properties(skipped PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: ")
set_tests_properties(page PROPERTIES FIXTURES_REQUIRED pages)
set_tests_properties(pages PROPERTIES FIXTURES_SETUP pages)
set_tests_properties(hangs PROPERTIES LABELS hang TIMEOUT 1)
""")


def runs(code, *arguments):
    done = subprocess.run([sys.executable, luck, "--build", folder, *arguments], capture_output=True, text=True)
    if done.returncode != code:
        sys.exit(f"{arguments}: exit code {done.returncode}, expected {code}\n{done.stdout}{done.stderr}")
    return done.stdout, json.loads((folder / "luck.json").read_text())


def must(holds, what, found):
    if not holds:
        sys.exit(f"not so: {what}\n{found}")


said, results = runs(1, "some", "--times", "4", "--as", "quiet,one-core,slow-disk")
must("1 differ, of 5 tests" in said, "one test differs", said)
must([line.split() for line in said.splitlines()[1:4]] == [["every_second", c, "2", "2"] for c in ("quiet", "one-core", "slow-disk")],
     "it failed every second time", said)
must("the mark was there" in results["every_second"]["quiet"]["outputs"][0], "outputs of failures are kept", results)
must(results["skipped"]["quiet"]["skipped"] == 4, "skipped is neither passed nor failed", results)
must(results["page"]["quiet"]["passed"] == 4, "a setup runs before each test of its fixture", results)
must("other" not in results, "tests without the label do not run", results)

_, results = runs(1, "some", "--times", "6", "--as", "quiet")
must(results["every_second"]["quiet"]["passed"] == 3, "a second call continues", results)
said, results = runs(0, "some", "--only", "good", "--times", "2", "--as", "quiet", "--again")
must(results["good"]["quiet"]["passed"] == 2 and "0 differ" in said, "--again begins anew", results)
said, results = runs(0, "--only", "good", "--times", "2", "--as", "quiet", "--again", "--seconds", "0")
must("run again to continue" in said and results["good"]["quiet"]["passed"] == 0, "--seconds ends a piece", said)
said, results = runs(1, "hang", "--times", "1", "--as", "busy")
must("1 differ" in said and "no end after 1" in results["hangs"]["busy"]["outputs"][0], "a test that hangs has failed", said)
print("good")
