"""A few named bugs, put back one at a time, make a test go red (bugs/run.py --all puts all of them back)."""
import pathlib
import subprocess
import sys

tests = pathlib.Path(__file__).resolve().parent.parent
sys.exit(subprocess.run([sys.executable, tests / "bugs" / "run.py", "--smoke"]).returncode)
