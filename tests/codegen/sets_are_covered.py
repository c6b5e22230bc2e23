"""The covering array of policy sets is what its generator makes, and covers what it says."""
import pathlib
import subprocess
import sys

tests = pathlib.Path(__file__).resolve().parent.parent
sys.exit(subprocess.run([sys.executable, tests / "conform" / "covering.py", "--check"]).returncode)
