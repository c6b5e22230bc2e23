#!/usr/bin/env python3
"""./run answers a wrong command line at once: exit code 2, the reason on stderr, nothing on stdout, and nothing is built."""
import pathlib
import subprocess
import sys

RUN = pathlib.Path(__file__).resolve().parents[2] / "run"
WRONG = {  # arguments: what the first line says
    ("nonsense",): "there is no command nonsense",
    ("test", "nonsense"): "allot's commands:",
    ("demo", "--bogus"): "tpch has no option --bogus, but --beside ",
    ("demo", "flights", "--bogus=1"): "flights has no option --bogus, but --airlines ",
    ("demo", "--data", ""): "--data needs a value",
    ("demo", "--data=/no/folder"): "--data: there is no folder /no/folder",
    ("demo", "--scale", "0"): "--scale: 0 is no number above 0",
    ("demo", "--scale=1e3"): "--scale: 1e3 is no number above 0",
    ("demo", "--scale", "1", "--data", "/tmp"): "--data has its own scale",
}
failed = False
for arguments, said in WRONG.items():
    done = subprocess.run([RUN, *arguments], capture_output=True, text=True, timeout=60)
    if done.returncode != 2 or done.stdout or not done.stderr.startswith(said):
        failed = True
        print(f"run {' '.join(arguments)}: exit code {done.returncode}, stdout {done.stdout[:200]!r}, stderr {done.stderr[:200]!r}")
helped = subprocess.run([RUN, "demo", "--help"], capture_output=True, text=True, timeout=60)
if helped.returncode != 0 or helped.stderr or "--beside" not in helped.stdout:
    failed = True
    print(f"run demo --help: exit code {helped.returncode}, {helped.stdout[-200:]!r} {helped.stderr[:200]!r}")
sys.exit(failed)
