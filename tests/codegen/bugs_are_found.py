"""A tenth of the planted bugs, put into the headers one at a time, turn a test red (bugs/run.py --all asks all of them)."""
import pathlib
import subprocess
import sys

tests = pathlib.Path(__file__).resolve().parent.parent
sys.exit(subprocess.run([sys.executable, tests / "bugs" / "run.py", "--smoke"]).returncode)
