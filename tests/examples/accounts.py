#!/usr/bin/env python3
"""accounts.py PROGRAM CHECK...: what flights tells of its accounts, as numbers.

sums       the tree at the peak adds up, is the root's peak itself, and names who really held what
growth     what is charged follows what is asked: a query alone, a limit that is met
limits     an operator is refused or stays within its limit; other queries are answered
resident   the peak of resident memory that is printed is at most the limit beside it and 16 MiB

In the short run of the tests (ALLOT_TEST_EXTENT) with fewer threads and limits.
"""
import json
import os
import re
import subprocess
import sys

program = sys.argv[1]
is_short = os.environ.get("ALLOT_TEST_EXTENT") == "short"


def run(*args, code=0):
    done = subprocess.run([program, *args], capture_output=True, text=True, check=False)
    if done.returncode != code:
        sys.exit(f"{args}: exit code {done.returncode}, expected {code}\n{done.stdout[-2000:]}\n{done.stderr}")
    return done.stdout, done.stderr


def tree(*args, code=0):
    told = json.loads(run("--json", "--explain-memory", *args, code=code)[0])
    return told, told["accounts_at_peak"]


def must(holds, what):
    if not holds:
        sys.exit(f"not so: {what}")


def walk(account):
    yield account
    for child in account["children"]:
        yield from walk(child)


def by_name(root):
    found = {a["name"]: a for a in walk(root)}
    must(len(found) == sum(1 for _ in walk(root)), "every account has a name of its own")
    return found


def adds_up(told, root):
    for a in walk(root):
        claims = sum(max(c["used"], c["reservation"]) for c in a["children"])
        must(a["used"] == a["own"] + claims, f"{a['name']}: used = own + claims of children")
        must(a["used"] <= a["peak"] and a["used"] <= a["limit"], f"{a['name']}: used <= peak, limit")
        for c in a["children"]:
            path = c["name"].rpartition("/")[0] or "flights"
            must(path == a["name"], f"{c['name']} stands below {path}, not {a['name']}")
    must(root["used"] == root["peak"] == told["afterwards"]["peak"], "the root's used is the peak that it ends with")
    must(root["used"] >= told["fullest"]["charged"], "no moment that was noted was fuller")
    must(sum(a["own"] for a in walk(root)) == root["used"], "every byte is somebody's own")
    must(told["afterwards"]["charged"] == 0, "nothing is charged in the end")


def sums():
    for names in ("roxie", "thor", "out_of_band", "per_thread"):
        for threads in ("4",) if is_short else ("1", "2", "4"):
            told, root = tree("--set", names, "--threads", threads)
            adds_up(told, root)
            must(root["name"] == "flights" and root["limit"] == 16 << 20, "the root has the limit of --memory")
            found = by_name(root)
            rows = sum(f["row_bytes"] for f in told["files"])
            must(found["load/read"]["used"] >= rows, "the reader's operator holds the tables' rows")
            first = found["load/read/flights"]
            must(first["used"] >= told["files"][0]["row_bytes"], "their manager is charged for the flights")


def growth():
    # A query alone: its accounts are in the tree, where they are the peak; nobody else's are.
    told, root = tree("--query", "delays", "--threads", "2")
    adds_up(told, root)
    found = by_name(root)
    others = [n for n in found if n.split("/")[0] not in ("flights", "load", "delays")]
    must(not others, f"delays alone: no account of {others}")
    rows = told["files"][0]["rows"] * 9 // 10  # some flights never left
    must(found["delays/join/pairs"]["used"] >= 16 * rows, "joined rows are charged to the join")
    must(found["delays/sort/order"]["used"] >= 2 * 8 * rows, "the sort holds two pointers a row: two threads merge")

    # Most was held while files were read: their blocks are charged, by the block.
    told, root = tree("--query", "months", "--threads", "4")
    adds_up(told, root)
    found = by_name(root)
    must([n for n in found if n.split("/")[0] not in ("flights", "load")] == [], "months need less than their reading")
    blocks = found["load/read/blocks"]
    block = 128 * 1024  # buffers are counted between charge and refund
    must(blocks["used"] >= block and blocks["used"] % block == 0, f"a block is charged as it is: {blocks}")
    must(blocks["buffers"] * block <= blocks["used"], f"and every one of them: {blocks}")

    # A limit that is met is in the tree.
    told, root = tree("--operator-limit", "join=2M", "--operator-limit", "delays/join=3M", "--query", "delays")
    must(by_name(root)["delays/join"]["limit"] == 3 << 20, "the operator's own limit counts first")
    must("refused" not in told and len(told["answers"]) == 1, "and the query has its answer")


def limits():
    # From too little to enough: refused, or within the limit; the other queries' answers are always right.
    expected = {a["name"]: a["rows"] for a in json.loads(run("--json", "--threads", "2")[0])["answers"]}
    for operator in ("delays/join", "delays/sort", "routes/group", "sort"):
        last = False
        for limit in (64, 448, 4096) if is_short else (64, 128, 256, 448, 1024, 4096):
            args = ["--json", "--explain-memory", "--threads", "2", "--operator-limit", f"{operator}={limit}K"]
            done = subprocess.run([program, *args], capture_output=True, text=True, check=False)
            must(done.returncode in (0, 12), f"{args}: exit code {done.returncode}\n{done.stderr}")
            told = json.loads(done.stdout)
            for a in told["answers"]:
                must(a["rows"] == expected[a["name"]], f"{args}: the answer of {a['name']}")
            refused = told.get("refused", [])
            must(len(told["answers"]) + len(refused) == len(expected), f"{args}: a query is answered or refused")
            must((done.returncode == 12) == bool(refused), f"{args}: 12 tells that a query was refused")
            for r in refused:
                must(r["operator"] == operator or r["operator"].endswith("/" + operator), f"{args}: {r['operator']}")
                must(r["limit"] == limit << 10 and r["used"] <= r["limit"] < r["used"] + r["requested"], f"{args}: {r}")
                must(f"operator {r['operator']} is refused" in done.stderr, f"{args}: the page names it")
            adds_up(told, told["accounts_at_peak"])
            must(limit != 64 or refused, f"{args}: refused")
            must(last is False or not refused, f"{args}: refused, though less was enough")
            last = not refused
        must(last, f"{operator}: 4 MiB are enough")


def resident():
    page = run("--tasks", "6", "--memory", "4M")[0]
    line = re.search(r"\n  peak resident of the process: ([0-9.]+) (B|KiB|MiB) beyond its start; limit 4096 KiB\n", page)
    must(line, f"the peak is printed beside the limit\n{page[-2000:]}")
    peak = float(line[1]) * {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}[line[2]]
    must(peak <= (4 + 16) << 20, f"a peak within the limit and 16 MiB: {line[0]}")


for check in sys.argv[2:]:
    {"sums": sums, "growth": growth, "limits": limits, "resident": resident}[check]()
print("good")
