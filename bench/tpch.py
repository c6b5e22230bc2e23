#!/usr/bin/env python3
"""The example tpch beside DuckDB, both in too little memory: the same Parquet files, the same limits, round by round in turn.

    bench/tpch.py run build/examples/tpch/tpch --data DIR [--rounds 3] [--python PYTHON] [--built TEXT] [--json docs/bench/tpch.json]
    bench/tpch.py least build/examples/tpch/tpch --data DIR [--json docs/bench/tpch.json]
    bench/tpch.py run build/examples/tpch/tpch --data DIR10 --scale 10 --expected FILE --only sort q9 q18 --rounds 1 --longest 600
    bench/tpch.py page [--json docs/bench/tpch.json]
    bench/tpch.py smoke build/examples/tpch/tpch

DIR has the tables at scale 1 in Parquet files, which `tpchgen-cli parquet -s 1 --row-group-bytes 2MB -o DIR` makes. PYTHON has
the packages duckdb and pyarrow. `run` measures; `least` looks for the least limits of the example and keeps what `run` found; `page` writes
the page and, with matplotlib, the plot, beside the JSON file. The file is written after each run, so that a bench that was stopped has what
it found until then. FILE has DuckDB's answers at that scale: examples/tpch/expected/make_expected.py 10 makes them. `smoke` needs neither DuckDB nor data.

MB is 10^6 bytes. The limits are DuckDB's own peaks, which were measured once, then a quarter and a tenth of each, but never below 16 MB.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MB = 10**6
FULL = 2000
LIMITS = {"q1": [FULL, 20, 16], "q3": [FULL, 35, 16], "q9": [FULL, 107, 27, 16], "q18": [FULL, 132, 33, 16],
          "join": [FULL, 365, 91, 36, 7.3], "sort": [FULL, 1247, 312, 125, 25]}
TOGETHER = [("join,join,join,join", 365), ("q9,q18,q9,q18", 119), ("q9,q18,join,sort", 185)]
STEP = 1.06


def first_line(*texts):
    return next((line.strip() for text in texts for line in text.splitlines() if line.strip()), "")


def started(o, command):
    """The run's output, or why there is none."""
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=o.longest)
        return run.returncode, run.stdout, run.stderr
    except subprocess.TimeoutExpired:
        return 124, "", f"it did not end in {o.longest} s"


def ours(o, query, limit, threads):
    number = len(query.split(","))
    code, out, err = started(o, [o.program, "--json", "--data", o.data, *(["--expected", o.expected] if o.expected else []), "--query", query, "--memory",
                              str(round(limit * MB)), "--threads", str(threads), "--tasks", str(number), "--spill", o.spill])
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    found = {"code": code, "errors": [], "ended": 0}
    for line in lines:
        if "query" not in line:
            found |= {key: line[key] for key in ("seconds", "processor_seconds", "resident", "written", "rollbacks", "splits", "ran_out")}
        elif line["error"] or line["right"] is False:
            found["errors"].append(f"{line['query']}: {first_line(line['error']) or 'wrong answer'}")
        else:
            found["ended"] += 1
    if code != 0 and not found["errors"]:
        found["errors"].append(f"exit code {code}: {first_line(err)}")
    return found


def duckdb(o, query, limit, threads):
    with tempfile.TemporaryDirectory(dir=o.spill) as spill:
        code, out, err = started(o, [o.python, ROOT / "bench/tpch_duckdb.py", "--data", o.data, "--query", query, "--memory",
                                  f"{round(limit * MB)}B", "--threads", str(threads), "--spill", spill])
    try:
        found = json.loads(out)
    except ValueError:
        lines = err.strip().splitlines()
        return {"code": code, "errors": [lines[-1] if lines else f"exit code {code}"], "ended": 0}
    queries = found.pop("queries")
    return found | {"code": code, "ended": sum(not q["error"] for q in queries),
                    "errors": [f"{q['query']}: {q['error']}" for q in queries if q["error"]]}


ENGINES = {"tpch": ours, "duckdb": duckdb}


def work(o):
    """What a round runs, as (query, limit, runs)."""
    both = [("tpch", 2), ("duckdb", 2), ("duckdb", 1)]
    if o.scale != 1:
        return [(query, limits[1] * o.scale / part, both) for query, limits in LIMITS.items() for part in (4, 10) if not o.only or query in o.only]
    cells = [(query, limit, both) for query, limits in LIMITS.items() for limit in limits]
    cells += [(queries, limit, [("tpch", 2), ("duckdb", 2)]) for queries, limit in TOGETHER]
    return [cell for cell in cells if not o.only or cell[0] in o.only]


def shown(run):
    took = f"{run['seconds']:7.2f} s {run['processor_seconds']:7.2f} CPU s" if "seconds" in run else ""
    return f"{run['round']} {run['query']:20} {run['limit']:6} MB {run['engine']:6} {run['threads']} {took} {'; '.join(run['errors'])[:150]}"


def measure(o, data):
    if o.scale == 1:
        data |= {"machine": machine(o), "rounds": o.rounds}
    else:
        data["larger_scale"] = o.scale
    kept = data["runs" if o.scale == 1 else "larger"] = []
    for number in range(1, o.rounds + 1):
        cells = work(o)
        random.Random(number).shuffle(cells)
        for query, limit, runs in cells:
            for engine, threads in runs if number % 2 else reversed(runs):
                run = {"round": number, "query": query, "limit": limit, "engine": engine, "threads": threads}
                run |= ENGINES[engine](o, query, limit, threads)
                kept.append(run)
                print(shown(run), flush=True)
                save(o, data)


def least(o, data):
    """The least limit, to a step of 6 %, at which the example ends right within the time, three times of three; with two threads and with one."""
    o.longest = min(o.longest, 15)
    data["least"] = [one for one in data.get("least", []) if o.only and one["query"] not in o.only]
    for query in [q for q in LIMITS if not o.only or q in o.only]:
        for threads in (2, 1):
            low, high = 0.5, 8
            while ours(o, query, high, threads)["ended"] == 0 and high < FULL:
                low, high = high, 2 * high
            while high / low > STEP:
                middle = (low * high) ** 0.5
                low, high = (low, middle) if ours(o, query, middle, threads)["ended"] else (middle, high)
            for _ in range(8):
                runs = []
                while len(runs) < 3 and all(r["ended"] for r in runs):
                    runs.append(ours(o, query, high, threads))
                if all(r["ended"] for r in runs):
                    break
                high *= STEP
            found = {"query": query, "threads": threads, "limit": round(high, 2), "ended": sum(r["ended"] for r in runs),
                     "resident": max(r.get("resident", 0) for r in runs), "processor_seconds": statistics.median(r.get("processor_seconds", 0) for r in runs)}
            data["least"].append(found)
            print(found, flush=True)
            save(o, data)


def machine(o):
    text = pathlib.Path("/proc/cpuinfo").read_text()
    cpu = next((line.split(":")[1].strip() for line in text.splitlines() if line.startswith("model name")), platform.machine())
    version = subprocess.run([o.python, "-c", "import duckdb, pyarrow; print(duckdb.__version__, pyarrow.__version__)"],
                             capture_output=True, text=True).stdout.split()
    return {"date": datetime.date.today().isoformat(), "cpu": cpu, "threads": os.cpu_count(), "linux": ".".join(platform.release().split(".")[:2]),
            "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30), "load": round(os.getloadavg()[0], 1),
            "duckdb": version[0] if version else "none", "pyarrow": version[1] if version else "none", "built": o.built}


def save(o, data):
    lines = {key: json.dumps(value) for key, value in data.items() if not isinstance(value, list)}
    lines |= {key: "[\n  " + ",\n  ".join(json.dumps(one) for one in value) + "]" for key, value in data.items() if isinstance(value, list)}
    if o.json:
        o.json.write_text("{\n" + ",\n".join(f'"{key}": {text}' for key, text in lines.items()) + "\n}\n")


def smoke(o):
    folder = ROOT / "examples/tpch"
    o.data, o.expected = str(folder / "data/sf0.001"), str(folder / "expected/sf0.001.json")
    data = {"machine": machine(o), "rounds": 1, "runs": []}
    for query, limit in (("join", 1), ("sort,q18", 16)):
        run = {"round": 1, "query": query, "limit": limit, "engine": "tpch", "threads": 2} | ours(o, query, limit, 2)
        data["runs"].append(run)
        print(shown(run))
    import tpch_page
    tpch_page.text(data)
    return 1 if any(run["errors"] for run in data["runs"]) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "least", "page", "smoke"])
    parser.add_argument("program", nargs="?")
    parser.add_argument("--data")
    parser.add_argument("--expected", default=str(ROOT / "examples/tpch/expected/sf1.json"), help="the right answers; none: ''")
    parser.add_argument("--scale", type=int, default=1, help="of DIR; for another than 1 the limits are a quarter and a tenth of so many of DuckDB's peaks")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--spill", default=tempfile.gettempdir())
    parser.add_argument("--built", default="", help="the compiler and its options, for the page")
    parser.add_argument("--only", nargs="*", help="queries, as q1 or q9,q18,q9,q18; all without it")
    parser.add_argument("--longest", type=float, default=180, help="seconds after which a run is stopped; least: at most 15")
    parser.add_argument("--json", type=pathlib.Path)
    o = parser.parse_args()
    if o.what != "page" and not o.program:
        parser.error("say which program")
    if o.what == "smoke":
        return smoke(o)
    if o.what != "page" and not o.data:
        parser.error("--data is missing")
    o.json = o.json or ROOT / "docs/bench/tpch.json"
    data = json.loads(o.json.read_text()) if o.json.exists() else {"machine": machine(o), "rounds": 0, "runs": []}
    if o.what == "page":
        import tpch_page
        o.json.with_suffix(".md").write_text(tpch_page.text(data))
        tpch_page.draw(data, o.json.with_suffix(".svg"))
    else:
        (measure if o.what == "run" else least)(o, data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
