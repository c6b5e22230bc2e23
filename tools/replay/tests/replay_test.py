"""allot_replay on recordings whose figures are known by hand, on damaged ones, and on those that ship; and the command line
of allot_record, where it is built.

    replay_test.py ALLOT_REPLAY FOLDER_OF_RECORDINGS ALLOT_RECORD
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

program, recordings, recorder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
failed = []


def run(text, *args):
    p = subprocess.run([program, "-", *args], input=text, capture_output=True, timeout=600)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def record(*args):
    return subprocess.run([recorder, *args], capture_output=True, text=True, timeout=600)


def check(good, what):
    if not good:
        failed.append(what)


def figures(text, *args):
    code, out, err = run(text, "--rounds", "1", "--json", *args)
    check(code == 0, f"{text[:200]!r}: exit code {code}: {err}")
    return json.loads(out) if code == 0 else {"sets": []}


# Peaks by hand: 1000; + 50,000 = 51,000; resized to 70,000: 71,000; - 1000; + 500: 70,500. 3 is never deallocated.
by_hand = b"""# by hand
a 1 1000 8
a 2 50000 64 0 1
r 2 70000 0 1
d 1 0 1
a 3 500
d 2 0 0
a 2 100000 4096 0 1
d 2
end 8
"""
for threads in ("recorded", "one"):
    f = figures(by_hand, "--threads", threads)
    what = {k: f.get(k) for k in ("allocations", "resizes", "deallocations", "threads", "streams", "peak", "live",
                                  "live_bytes", "has_end")}
    check(what == {"allocations": 4, "resizes": 1, "deallocations": 3, "threads": 2, "streams": 1, "peak": 100500,
                   "live": 1, "live_bytes": 500, "has_end": True}, f"counts: {what}")
    names = [s["name"] for s in f["sets"]]
    check("malloc" in names and "use::containers" in names and "device" not in names, f"sets: {names}")
    for s in f["sets"]:
        check(not s["failed"] and s["refused"] == 0, f"{s['name']} served all: {s}")
        check(s["charged"] >= 100500, f"{s['name']} charged less than was asked for: {s['charged']}")
        check(abs(s["payload"] - 100500 / s["charged"]) < 1e-9, f"the payload of {s['name']}: {s['payload']}")
        check(len(s["seconds"]) == 1 and s["seconds"][0] > 0, f"{s['name']} was timed: {s['seconds']}")
    check(f.get("advice", "").startswith("Take "), f"advice: {f.get('advice')}")

# All memory is touched, also what a resize adds: 64 MiB are resident.
f = figures(b"a 1 100\nr 1 67108864\nd 1\n", "--sets", "malloc,use::containers,fit::best")
for s in f["sets"]:
    check(s["resident"] >= 60 << 20, f"{s['name']} has {s['resident']} resident bytes of 64 MiB")
f = figures(b"a 1 67108864\nd 1\n", "--sets", "malloc,use::containers", "--no-touch", "--warm")
for s in f["sets"]:
    check(s["resident"] < 32 << 20, f"--no-touch: {s['name']} has {s['resident']} resident bytes")

# A limit: sets refuse, and get no rank.
f = figures(by_hand, "--limit", "64KiB", "--sets", "use::containers,fit::best")
for s in f["sets"]:
    check(s["refused"] == 2 and s["left_out"] == 3 and s["time_rank"] == 0, f"--limit: {s}") # 50,000 and 100,000
f = figures(by_hand, "--least", "--sets", "use::containers,fit::best,malloc")
for s in f["sets"]:
    check(100500 <= s["charged"] <= 1 << 21 and s["refused"] == 0, f"--least: {s}")
    if s["name"] != "malloc":  # a limit at which all is served
        g = figures(by_hand, "--limit", str(s["charged"]), "--sets", s["name"], "--threads", "recorded")
        check(g["sets"] and g["sets"][0]["refused"] == 0, f"--limit at the least: {g}")
f = figures(by_hand, "--limit", "64KiB", "--sets", "use::containers,fit::best")
check("No set served every request" in f.get("advice", ""), f"--limit: {f.get('advice')}")

# Threads that wait for each other's allocations, many times.
lines = []
for i in range(2000):
    lines += [f"a {i} {i % 5000 + 1} 16 0 {i % 3}", f"r {i} {i % 3000 + 1} 0 {(i + 1) % 3}"]
    lines += [f"d {i - 5} 0 {(i + 2) % 3}"] if i >= 5 else []
f = figures("\n".join([*lines, ""]).encode(), "--sets", "malloc,use::containers,fit::runs")
check(f.get("threads") == 3 and f.get("live") == 5, f"threads: {f}")
check(all(s["refused"] == 0 and s["left_out"] == 0 for s in f["sets"]), "threads: an operation came before its allocation")

# Streams: the simulated device is there, for its bytes; the default stream counts where it is used.
f = figures(b"a 1 1000 256 7\na 2 3000 256 9\nd 1 9\nr 2 5000 9\n")
device = [s for s in f["sets"] if s["name"] == "device"]
check(f.get("streams") == 2 and len(device) == 1 and device[0]["charged"] >= 5000 and device[0]["seconds"] == []
      and device[0]["refused"] == 0, f"streams: {device}")

f = figures(b"a 1 1000 256 7\n")
check(f.get("streams") == 1 and any(s["name"] == "device" for s in f["sets"]), f"one stream of a device: {f}")

# What is printed: one is no plural, a terabyte is no million of mebibytes, and a rank of one round says what it is worth.
code, out, _ = run(b"a 1 1099511627776\n", "--sets", "fit::best", "--no-touch", "--rounds", "1")
check(code == 0 and "-: 1 allocation, 0 resizes, 0 deallocations; 1 thread\n" in out and "peak: 1024.0 GiB" in out
      and "live at the end: 1 allocation, 1024.0 GiB" in out, f"one allocation of 1 TiB: {code}: {out}")
code, out, _ = run(by_hand, "--sets", "malloc,fit::best", "--rounds", "1")
check(re.search(r"of one round the spread is not known, so differences may be noise: pass --rounds 3 or more\.\n$", out)
      and "  1. " in out and "  2. " in out, f"one round: {out}")
code, out, _ = run(b"", "--help")
check(code == 0 and "{" not in out and "exit codes: 0 done; 1 " in out and "--sets NAME,...=all " in out and " 3 " in out,
      f"--help: {code}: {out}")

# Damage: an error with its place, exit code 3, and no crash.
for text, error in ((b"a 1 10\nd 2\n", "line 2: allocation 2 is not live"), (b"a 1 10\na 1 10\n", "line 2: allocation 1 is live"),
                    (b"a 1 10\nx\n", "line 2: a line begins with"), (b"", "offset 0: the recording is empty"),
                    (b"# no more\n", "there are no operations"), (b"a 1 10\nd 1\nend 3\n", "line 3: the end counts 3"),
                    (b"a 1 9223372036854775808\n", "line 1: more bytes"),
                    (b"a 1 9223372036854775807\na 2 1\n", "line 2: more bytes"), (b"\x89allotr\x02", "offset 7: .*version"),
                    (b"\xfd7zXZ\x00", "offset 0: .*compressed"), (b"a 1 10\nd 1", "line 2: the last line has no newline"),
                    (b"# allot recording 1: by\na 1 10\nd 1\n", "line 3: the recording ends without its end"),
                    (bytes(1 << 20), "line 1: a line has more than 4096 bytes")):
    code, out, err = run(text, "--sets", "malloc", "--rounds", "1")
    check(code == 3 and re.search("^allot_replay: -: " + error, err), f"{text!r}: {code}: {err}")
for source, what in ((str(recordings), "offset 0: the recording cannot be read: Is a directory\n"),
                     ("/dev/zero", "line 1: a line has more than 4096 bytes")):  # whose end nobody waits for
    p = subprocess.run([program, source], capture_output=True, text=True, timeout=600)
    check(p.returncode == 3 and p.stderr.startswith(f"allot_replay: {source}: {what}"), f"{source}: {p.returncode}: {p.stderr}")
    input_of = os.open(source, os.O_RDONLY)
    p = subprocess.run([program, "-"], stdin=input_of, capture_output=True, text=True, timeout=600)
    os.close(input_of)
    check(p.returncode == 3 and p.stderr.startswith(f"allot_replay: -: {what}"), f"- of {source}: {p.returncode}: {p.stderr}")
code, _, err = run(b"a 1 10\nd 1\n", "--sets", "nothing")
check(code == 2, f"--sets nothing: {code}: {err}")
check("it is cut" in run(b"a 1 10\n", "--sets", "malloc", "--rounds", "1")[2], "a recording without an end is mentioned")

# Those that ship: whole, and what they say of themselves; cut and changed, an error.
if shutil.which("xz") is None:
    print("no xz: the recordings in recordings/ are not tested")
else:
    for path in sorted(recordings.glob("*.xz")):
        whole = subprocess.run(["xz", "-dc", path], stdout=subprocess.PIPE, check=True).stdout
        f = figures(whole, "--sets", "malloc,use::containers,fit::runs")
        check(f.get("has_end") and f.get("allocations", 0) > 1000, f"{path.name}: {f}")
        check(all(s["refused"] == 0 and not s["failed"] for s in f["sets"]), f"{path.name}: {f['sets']}")
        changed = bytearray(whole)
        changed[len(whole) // 2] ^= 1
        for damaged in (whole[:-1], whole[:len(whole) // 2], bytes(changed)):
            code, _, err = run(damaged, "--sets", "malloc", "--rounds", "1")
            check(code == 3 and "offset " in err, f"{path.name}, damaged: {code}: {err}")

if not recorder.exists():
    print("no allot_record (its target is built on demand): its command line is not tested")
else:
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "recording")
        for rows in ("-5", "0", "abc", "1x", "99999999999", "1000001", ""):
            p = record("sqlite", rows, file)
            check(p.returncode == 2 and "rows" in p.stderr and not file.exists(), f"sqlite {rows}: {p.returncode}: {p.stderr}")
        for args in ([], ["sqlite"], ["sqlite", "5"], ["else", "5", file], ["flights", folder + "/none", file]):
            p = record(*args)
            check(p.returncode == 2 and p.stderr and not file.exists(), f"{args}: {p.returncode}: {p.stderr}")
        p = record("--help")
        check(p.returncode == 0 and "exit codes: 0 " in p.stdout and not p.stderr, f"--help: {p.returncode}: {p.stderr}")
        for args in (["sqlite", "5", folder + "/none/recording"], ["flights", folder, file]):
            p = record(*args)
            check(p.returncode == 1 and p.stderr.startswith(f"allot_record: {args[2]}: "), f"{args}: {p.returncode}: {p.stderr}")
        p = record("sqlite", "5", file)
        if p.returncode == 0 or "libsqlite3-dev" not in p.stderr:
            f = figures(file.read_bytes(), "--sets", "malloc")
            check(p.returncode == 0 and f.get("has_end") and f["allocations"] > 100, f"sqlite 5: {p.returncode}: {p.stderr}")

for what in failed:
    print("wrong:", what)
sys.exit(1 if failed else 0)
