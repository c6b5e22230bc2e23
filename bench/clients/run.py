#!/usr/bin/env python3
"""The clients of allot, each beside its own memory: the same load in processes of its own, in turn, round by round.

    bench/clients/run.py FOLDER [--data DIR] [--rounds 5] [--only arrow pmr] [--json docs/bench/clients.json]
    bench/clients/run.py FOLDER --smoke
    bench/clients/run.py --page [--json docs/bench/clients.json]

FOLDER has the programs allot_client_*: those that are not there are skipped, and said. DIR has lineitem.parquet and orders.parquet of
TPC-H at scale 1, for Arrow. Figures are medians; those of two sets are compared round by round. Limits are multiples of the bytes
that the client asks for at its peak without a limit. --smoke runs each once with little work, and fails where a result differs.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MB = 10**6
# client: its sets, ours last; what must be the same in each run; goals: (name, figure of ours, beside which sets, at most)
CLIENTS = {
    "arrow": {"sets": ["system", "mimalloc", "jemalloc", "allot"], "same": "rows", "about":
              "Arrow reads two tables of TPC-H at scale 1 from Parquet, groups them twice, joins and sorts them, twice in one process",
              "ends_at": 1.08,
              "goals": [("CPU of the first pass, to the best of Arrow's pools", "first_pass_cpu_s", "best", 1.0),
                        ("CPU of the second pass, to the best of Arrow's pools", "second_pass_cpu_s", "best", 1.0)]},
    "sqlite": {"sets": ["default", "allot_memory", "allot"], "same": "checksum", "about":
               "SQLite: inserts, indexes, joins and updates in memory, and a mixed load of a file",
               "goals": [("CPU to glibc's", "cpu_s", "best", 0.92), ("peak resident memory to glibc's", "peak_rss_bytes", "best", 1.0)]},
    "rocksdb": {"sets": ["default", "allot"], "same": "checksum", "about":
                "RocksDB reads blocks at random through a block cache that holds a part of them",
                "goals": [("CPU to the default's", "cpu_s", "best", 0.9), ("peak resident memory to the default's", "peak_rss_bytes", "best", 0.85)]},
    "pmr": {"sets": ["new", "pool", "allot", "allot_thread"], "same": "checksum", "about":
            "maps, strings, vectors, lists and deques of std::pmr that churn, in one thread; `pool` is unsynchronized_pool_resource",
            "goals": [("wall time to the pool's", "wall_s", "pool", 0.85), ("bytes held to the pool's", "held_bytes", "pool", 1.05),
                      ("peak resident memory to the pool's", "peak_rss_bytes", "pool", 1.05)]},
}
LIMITS = [1.25, 1.08, 0.8]  # of the bytes asked for


def flat(line):
    for name, seconds in zip(("first_pass_cpu_s", "second_pass_cpu_s"), line.pop("passes_cpu_s", [])):
        line[name] = seconds
    return line


def run(o, client, of_set, limit=0, scale=1):
    command = [str(o.folder / f"allot_client_{client}"), "--set", of_set, "--limit", str(limit), "--scale", str(scale)]
    if client == "arrow":
        command += ["--data", str(o.data)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        return {"outcome": f"exit code {done.returncode}: {done.stderr.strip()[-300:]}", "code": done.returncode}
    return flat(json.loads(lines[-1])) | {"code": done.returncode}


def there(o):
    for client in o.only or CLIENTS:
        if not (o.folder / f"allot_client_{client}").exists():
            print(f"skipped: {client}: no program allot_client_{client} in {o.folder}")
        elif client == "arrow" and not o.data:
            print("skipped: arrow: --data names no folder with tables")
        else:
            yield client


def save(o, data):
    o.json.write_text(json.dumps(data, indent=1) + "\n")


def measure(o):
    processor = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    data = {"date": datetime.date.today().isoformat(), "rounds": o.rounds, "machine": f"{processor}, {os.cpu_count()} threads, Linux {platform.release()}",
            "load": os.getloadavg()[0], "runs": []}
    clients = list(there(o))
    for number in range(o.rounds):
        for client in clients:
            sets = CLIENTS[client]["sets"]
            for of_set in sets[number % len(sets):] + sets[:number % len(sets)]:
                found = run(o, client, of_set)
                data["runs"].append(found | {"client": client, "set": of_set, "round": number, "part": 0})
                print(client, of_set, found["outcome"], found.get("cpu_s"), flush=True)
                save(o, data)
    for client in clients:
        asked = max(r.get("asked_bytes", 0) for r in data["runs"] if r["client"] == client and r["part"] == 0)
        for part in LIMITS:
            for of_set in CLIENTS[client]["sets"]:
                found = run(o, client, of_set, round(part * asked))
                data["runs"].append(found | {"client": client, "set": of_set, "round": 0, "part": part})
                print(client, of_set, part, found["outcome"], flush=True)
                save(o, data)
    page(o)


def smoke(o):
    bad = 0
    for client in there(o):
        same = CLIENTS[client]["same"]
        results = {}
        for of_set in CLIENTS[client]["sets"]:
            found = run(o, client, of_set, scale=0.02)
            if found["code"] != 3:  # that peer is not built in
                results[of_set] = (found["outcome"], found.get(same))
        if len({json.dumps(r) for r in results.values()}) != 1 or next(iter(results.values()))[0] != "done":
            bad += 1
            print(f"{client}: {results}")
        else:
            print(f"{client}: {len(results)} sets agree")
    return 1 if bad else 0


def median(runs, key):
    found = [r[key] for r in runs if r["outcome"] == "done" and r.get(key)]
    return statistics.median(found) if found else None


def compared(runs, ours, beside, key):
    """Ours to the best of the others, round by round: the median of the ratios."""
    ratios = []
    for number in {r["round"] for r in runs}:
        of = {r["set"]: r[key] for r in runs if r["round"] == number and r["outcome"] == "done" and r.get(key)}
        others = [of[s] for s in beside if s in of]
        if others and ours in of:
            ratios.append(of[ours] / min(others))
    return statistics.median(ratios) if ratios else None


def number(value, scale, form):
    return "-" if value is None else format(value / scale, form)


def page(o):
    data = json.loads(o.json.read_text())
    out = ["# Clients: real programs on allot, beside their own memory", "",
           f"On {data['date']}: {data['machine']}. Load when it began: {data['load']:.1f}. {data['rounds']} rounds, one process a run, sets in turn. MB is 10^6 bytes.",
           "Made by `bench/clients/run.py` ([how](../../bench/NOTES.md)). Asked: the most bytes that the client asked for at once. Held: the most that allot charged,",
           "or that the pool took from the system. Ratios are medians of those of each round.", ""]
    goals = ["| client | goal | at most | figure | |", "|---|---|---|---|---|"]
    parts = []
    for client, what in CLIENTS.items():
        runs = [r for r in data["runs"] if r["client"] == client and r["part"] == 0]
        if not runs:
            continue
        sets = [s for s in what["sets"] if any(r["set"] == s and r["outcome"] == "done" for r in runs)]
        best_ours = [s for s in sets if s.startswith("allot")]
        for name, key, beside, most in what["goals"]:
            others = [s for s in sets if not s.startswith("allot")] if beside == "best" else [beside]
            for ours in best_ours:
                found = compared(runs, ours, others, key)
                of = f" (`{ours}`)" if len(best_ours) > 1 else ""
                goals.append(f"| {client} | {name}{of} | {most} | {number(found, 1, '.2f')} | {'' if found is None else 'met' if found <= most else '**missed**'} |")
        if "ends_at" in what:
            limited = [r for r in data["runs"] if r["client"] == client and r["part"] == what["ends_at"] and r["set"] in best_ours]
            ends = bool(limited) and all(r["outcome"] == "done" for r in limited)
            figure = "ends" if ends else "does not end" if limited else "-"
            goals.append(f"| {client} | a limit of pages at {what['ends_at']} of the bytes asked for | ends | {figure} | {'met' if ends else '**missed**' if limited else ''} |")
        parts += [f"## {client}", "", what["about"] + ".", "", "| memory | CPU s | wall s | peak resident MB | asked MB | held MB | held to asked |", "|---|---|---|---|---|---|---|"]
        for s in sets:
            of = [r for r in runs if r["set"] == s]
            asked, held = median(of, "asked_bytes"), median(of, "held_bytes")
            parts.append(f"| `{s}` | {number(median(of, 'cpu_s'), 1, '.2f')} | {number(median(of, 'wall_s'), 1, '.2f')} | {number(median(of, 'peak_rss_bytes'), MB, '.0f')} | "
                         f"{number(asked, MB, '.1f')} | {number(held, MB, '.1f')} | {number(held / asked if held and asked else None, 1, '.2f')} |")
        limited = [r for r in data["runs"] if r["client"] == client and r["part"] != 0]
        parts += ["", "| limit | memory | outcome | CPU s | peak resident MB | held MB |", "|---|---|---|---|---|---|"]
        for r in limited:
            text = r["outcome"].splitlines()[0].replace("|", "/") if r["outcome"] else "-"
            text = text if len(text) <= 180 else text[:177] + "..."
            parts.append(f"| {r['part']} of what is asked, {number(r.get('limit'), MB, '.0f')} MB | `{r['set']}` | {text} | {number(r.get('cpu_s'), 1, '.2f')} | "
                         f"{number(r.get('peak_rss_bytes'), MB, '.0f')} | {number(r.get('held_bytes') or None, MB, '.1f')} |")
        parts.append("")
    o.json.with_suffix(".md").write_text("\n".join(out + goals + [""] + parts).rstrip() + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=pathlib.Path, help="with the programs")
    parser.add_argument("--data", type=pathlib.Path, help="tables of TPC-H, for Arrow")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", choices=list(CLIENTS))
    parser.add_argument("--json", type=pathlib.Path, default=ROOT / "docs/bench/clients.json")
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--page", action="store_true", help="only write the page of the JSON file")
    o = parser.parse_args()
    if not o.page and o.folder is None:
        parser.error("name the folder with the programs, as build/bench/bench/clients")
    return page(o) if o.page else smoke(o) if o.smoke else measure(o)


if __name__ == "__main__":
    sys.exit(main())
