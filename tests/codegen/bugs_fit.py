"""Every planted bug still fits the code. Nothing is compiled."""
import pathlib
import subprocess
import sys

tests = pathlib.Path(__file__).resolve().parent.parent
sys.exit(subprocess.run([sys.executable, tests / "bugs" / "run.py", "--check"]).returncode)
