"""Traces on torch's caching allocator, with the figures of bench/gpu/replay.hpp. What Python adds to each call is measured
with an empty call of the same kind, and told beside; expandable segments are asked for by PYTORCH_CUDA_ALLOC_CONF.

    torch_replay.py NAME ROUNDS SECONDS TRACE...      exit code 77 without torch or a GPU"""
import json
import pathlib
import sys
import time

try:
    import torch
except Exception as e:  # a torch that cannot be loaded is as none
    print(f"skipped: no torch ({type(e).__name__})")
    sys.exit(77)
if not torch.cuda.is_available():
    print("skipped: torch sees no GPU")
    sys.exit(77)


def quantiles(samples, name):
    s = sorted(samples) or [0]
    return {f"{name}_{q}_ns": s[(len(s) - 1) * part // 100] for q, part in (("p50", 50), ("p99", 99), ("max", 100))}


def read(path):
    operations, live, sizes, peak, peak_at = [], 0, {}, 0, 0
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line or line[0] == "#":
            continue
        what, *numbers = line.split()
        numbers = [int(n) for n in numbers]
        operations.append((what, numbers))
        if what == "a":
            sizes[numbers[0]] = numbers[1]
            live += numbers[1]
        elif what == "f":
            live -= sizes[numbers[0]]
        if live > peak:
            peak, peak_at = live, len(operations) - 1
    return operations, peak, peak_at


def replay_once(operations, peak_at, streams, before, until):
    clock, blocks, allocate_ns, free_ns, held, failed = time.perf_counter_ns, {}, [], [], 0, 0
    give, take = torch.cuda.caching_allocator_alloc, torch.cuda.caching_allocator_delete
    began = clock()
    done = 0
    for i, (what, numbers) in enumerate(operations):
        if what == "a":
            stream = streams[numbers[3]]
            start = clock()
            try:
                blocks[numbers[0]] = give(numbers[1], 0, stream)
            except torch.cuda.OutOfMemoryError:
                failed += 1
            allocate_ns.append(clock() - start)
        elif what == "f":
            block = blocks.pop(numbers[0], None)
            if block is not None:
                start = clock()
                take(block)
                free_ns.append(clock() - start)
        else:
            streams[numbers[0]].wait_stream(streams[numbers[1]])
        if i == peak_at:
            free, total = torch.cuda.mem_get_info()
            held = max(0, total - free - before)
        done += 1
        if time.monotonic() > until:
            break
    wall = (clock() - began) / 1e6
    for block in blocks.values():
        take(block)
    torch.cuda.synchronize()
    return {"operations": done, "of": len(operations), "failed": failed, **quantiles(allocate_ns, "allocate"),
            **quantiles(free_ns, "deallocate"), "wall_ms": round(wall, 2), "held_at_peak_bytes": held}


def main():
    name, rounds, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    torch.cuda.init()
    clock, empty = time.perf_counter_ns, []
    for _ in range(2000):
        start = clock()
        torch.cuda.current_device()
        empty.append(clock() - start)
    python_ns = sorted(empty)[1000]
    for path in map(pathlib.Path, sys.argv[4:]):
        operations, peak, peak_at = read(path)
        n = 1 + max(n for what, numbers in operations for n in (numbers[3:] if what == "a" else numbers[-1:] if what == "f" else numbers))
        streams = [torch.cuda.Stream() for _ in range(n)]
        torch.cuda.empty_cache()
        torch.cuda.synchronize()
        free, total = torch.cuda.mem_get_info()
        until = time.monotonic() + seconds
        for r in range(rounds):
            figures = replay_once(operations, peak_at, streams, total - free, until)
            print(json.dumps({"trace": path.stem, "subject": name, "round": r, "peak_live_bytes": peak,
                              "python_call_ns": python_ns, **figures}), flush=True)
            if figures["operations"] != figures["of"]:
                break


main()
