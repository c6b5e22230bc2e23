"""Rehearses without a GPU the parts of a run that need one: a page of made-up results, and steps that take too long, fail
or are skipped. Each check yields a line per error."""
import json
import os
import pathlib
import sys

import registers
from results import Results
from steps import Steps

LIMIT = {"limit": "device copy by a kernel, read + write", "value": 1234.5, "unit": "GB/s"}
MISSING = {"limit": "cuMemMap, 2 MiB", "missing": "a call failed"}


def replay(trace, subject, turn, p50):
    return {"trace": trace, "subject": subject, "round": turn, "operations": 90, "of": 100 if subject == "cut" else 90, "failed": 3,
            "allocate_p50_ns": p50, "allocate_p99_ns": 2 * p50, "allocate_max_ns": 3 * p50, "deallocate_p50_ns": p50 + 1,
            "deallocate_p99_ns": p50 + 2, "deallocate_max_ns": p50 + 3, "wall_ms": 1.5 + turn, "peak_live_bytes": 1000, "held_at_peak_bytes": 1250}


def page(folder):
    r = Results(folder, "Made up", {"gpus": [{"name": "None 9000", "compute_cap": "9.0"}], "nvcc": "0"}, made_up=True)
    r.step("a step", "failed", 1.25, "line one\nwith a | in it")
    for measurement in (LIMIT, MISSING, replay("t1", "ours", 0, 101), replay("t1", "ours", 1, 777), replay("t2", "cut", 0, 55)):
        r.measurement(measurement)
    r.registers([("a.cu", "kernel", "90", 33, 40)])
    text, data = (folder / "results.md").read_text(encoding="utf-8"), json.loads((folder / "results.json").read_text(encoding="utf-8"))
    for part in ("MADE UP", "None 9000", "1,234", "GB/s", "a call failed", "### t1", "### t2", "| ours | 777 |", "cut at 90 of 100", "| 1.25 |", "| 40 |",
                 "line one with a / in it"):
        if part not in text:
            yield f"the page lacks \"{part}\""
    if "| ours | 101 |" in text:
        yield "the page shows a round that is not the last"
    if len(data["limits"]) != 2 or len(data["replays"]) != 3 or not data["made_up"]:
        yield "the JSON lacks results"
    for line in text.splitlines():
        if line.startswith("|") and line.count("|") not in {4, 5, 6, 12}:
            yield f"a table's line is broken: {line}"


def lives(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def steps(folder):
    r = Results(folder, "Made up", {}, made_up=True)
    s = Steps(r, folder / "logs", 60, quiet=True)
    say = ("import json, subprocess, time; child = subprocess.Popen(['sleep', '50']); "
           "print(json.dumps({'limit': 'l', 'value': child.pid, 'unit': 'u'}), flush=True); time.sleep(50)")
    s.run("long", [sys.executable, "-c", say], 2, 1)
    s.run("bad", [sys.executable, "-c", "print('why'); raise SystemExit(3)"], 20, 2)
    s.run("none", [sys.executable, "-c", "print('skipped: no GPU'); raise SystemExit(77)"], 20, 4)
    s.run("refused", [sys.executable, "-c", "print('Device not supported'); raise SystemExit(1)"], 20, 8, skip_if=("Device not supported",))
    s.run("absent", ["/nowhere/at/all"], 20, 16)
    s.has_gpu = True
    s.run("none found", [sys.executable, "-c", "print('skipped: no GPU'); raise SystemExit(77)"], 20, 64)
    s.run("none there", [sys.executable, "-c", "print('no device (code 35), and every call says so')"], 20, 64)
    s.run("no torch", [sys.executable, "-c", "raise SystemExit(77)"], 20, 64, optional=True)
    s.end = 0
    s.run("late", [sys.executable, "-c", ""], 20, 32)
    outcomes = [d["outcome"] for d in r.data["steps"]]
    if outcomes != ["cut", "failed", "skipped", "skipped", "failed", "failed", "failed", "skipped", "cut"] or s.failed != 1 + 2 + 16 + 32 + 64:
        yield f"steps end as {outcomes}, exit code {s.failed}"
    if len(r.data["limits"]) != 1:
        yield "a step that is cut loses its results"
    elif lives(r.data["limits"][0]["value"]):
        yield "a child process of a step that was cut is still running"


def ceilings():
    text = ("ptxas info    : Compiling entry function '_Z4copyPj' for 'sm_90'\n    0 bytes stack frame, {} bytes spill stores, 0 bytes spill loads\n"
            "ptxas info    : Used {} registers, used 0 barriers\n")
    for spilled, used, listed, expected in ((0, 16, {"copy": {"90": 16}}, 0), (0, 17, {"copy": {"90": 16}}, 1), (4, 16, {"copy": {"90": 16}}, 1),
                                            (0, 16, {}, 1), (0, 16, {"copy": {"90": 16}, "gone": {"90": 8}}, 1)):
        wrong, rows = registers.compare({"a.cu": registers.parse(text.format(spilled, used))}, {"a.cu": listed})
        if len(wrong) != expected or len(rows) != 1:
            yield f"{used} registers, {spilled} bytes spilled, ceilings {listed}: {wrong or 'nothing wrong'}"


def with_fakes(run, folder, traces):
    """The steps of a GPU run after the build, with fakes of compute-sanitizer and torch; without a GPU the programs skip."""
    fakes, before = pathlib.Path(__file__).parent / "fakes", dict(os.environ)
    r = Results(folder, "Made up", {}, made_up=True)
    s = Steps(r, folder / "logs", 100, quiet=True)
    try:
        os.environ["PATH"] = f"{fakes}:{before.get('PATH', '')}"
        os.environ["PYTHONPATH"] = str(fakes)
        run(s)
    finally:
        os.environ.clear()
        os.environ.update(before)
    wrong = [f"{d['step']}: {d['outcome']}, {d['note']}" for d in r.data["steps"] if d["outcome"] not in ("passed", "skipped")]
    names = {d["step"].split()[0] for d in r.data["steps"]}
    wrong += [f"no step {n}" for n in ("test", "limits", "memcheck", "racecheck", "synccheck", "subjects", "traces") if n not in names]
    torch = [f for f in r.data["replays"] if f["subject"].startswith("torch")]
    if len(torch) != 3 * 3 * traces or any(f["operations"] != f["of"] or f["held_at_peak_bytes"] != f["peak_live_bytes"] for f in torch):
        wrong.append(f"torch's traces have {len(torch)} results: {torch[:1]}")
    return wrong


def wrong(folder):
    folder = pathlib.Path(folder)
    return [*page(folder / "page"), *steps(folder / "steps"), *ceilings()]
