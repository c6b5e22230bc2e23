#!/usr/bin/env python3
"""Cases: programs that each show one promise, and exit with 0 where it holds, with 1 where the library falls short of it.

    run.py                    the cases of the short run: each must hold
    run.py --all              all of them; a case that holds and is not listed as one that must is reported
    run.py NAME...            those named, with the last line that each prints
    run.py --flags '-O2 -DALLOT_CHECKED=1 -fsanitize=thread' ...    other than -O0

Exit code 1: a case that must hold does not, or one does not compile. CXX and ALLOT_INCLUDE name compiler and include folder.
The first comment of a case says what it does, what is expected, and for which builds it holds. Checks of cases never change.
When a case begins to hold, it moves to MUST_HOLD in the same commit. The short run takes 6 CPU seconds a case, nearly all of
them to compile; so only those of mended faults that lose data or hang are in it.
"""
import argparse
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 60  # that a case may run; those that hang are killed

MUST_HOLD = {  # name: in the short run
    "rows_dead_in_span_frees_others": True,
    "rows_dead_in_span_moves": True,
    "rows_stale_after_manager": True,
    "rows_stale_after_release_all": True,
    "rows_first_of_a_thread_without_memory": True,
    "rows_damaged_sealed_moves": False,
    "rows_capacity_for_huge": False,
    "rows_why_of_a_huge_row": False,
    "rows_resize_small": False,
    "rows_capacity_for_is_slow": False,
    "rows_caches_pin_pages": False,
    "containers_powers_of_two": False,
    "limit_resident_memory": False,
    "spill_many_handles": False, # -O1 and more
    "reclaim_missing_is_stale": True,
    "reclaim_hang": False, # it runs for 20 s
    "reclaim_missing_beyond_limit": False,
    "limit_of_a_pool": False,
    "wait_behind_a_sweep": False,
    "wait_bypasses": False,
    "wait_starved": False,
    "wait_starved_by_charge": False,
    "adapt_std_allocator_huge_sizes": False,
    "chunks_lent_bytes": False,
    "chunks_end_of_a_reserve": False,
    "chunks_growing_neighbours": False,
    "chunks_shrinking_resize": False,
    "tasks_wait_for_work_not_begun": False,
    "tasks_wait_for_ended_thread": False,
    "tasks_two_permits": False,
    "tasks_verdict_by_future": False,
    "tasks_small_things": False,
    "tasks_any_unmarked_wait": False,
    "tasks_remove_pool_thread": False,
    "tasks_injection_in_reclaimer": False,
    "tasks_idle_task_keeps_others": False,
    "tasks_coordinator_splits": False,
    "tasks_results_stay_near": False,
    "spill_pins_at_once": False,
    "adapt_cuda_mr_never_waits": False,
    "adapt_pool_resource_above": False,
}
MORE_SOURCES = {"rows_first_of_a_thread_without_memory": ["failing_memory.cpp"]}
NO_CASES = {"failing_memory"}


def run(name, compiler, include, flags, folder):
    """Whether the case holds, None where it does not compile; and the last line that it wrote."""
    program = pathlib.Path(folder) / name
    sources = [str(HERE / f) for f in (f"{name}.cpp", *MORE_SOURCES.get(name, []))]
    made = subprocess.run([compiler, "-std=c++20", "-pthread", *flags, "-I", include, "-I", str(HERE), *sources, "-o", str(program)],
                          capture_output=True, text=True)
    if made.returncode != 0:
        return None, next((line for line in made.stderr.splitlines() if "error" in line), made.stderr)
    try:
        done = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS)
        said, code = done.stdout.decode(errors="replace"), done.returncode
    except subprocess.TimeoutExpired as late:
        said, code = (late.stdout or b"").decode(errors="replace") + f"\nnot ended after {SECONDS} s", 1
    finally:
        program.unlink()
    return code == 0, (said.splitlines() or [f"exit code {code}"])[-1]


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--all", action="store_true")
    parse.add_argument("--flags", default="-O0")
    parse.add_argument("names", nargs="*")
    options = parse.parse_args()
    every = sorted(p.stem for p in HERE.glob("*.cpp") if p.stem not in NO_CASES)
    unknown = [n for n in (*options.names, *MUST_HOLD) if n not in every]
    if unknown:
        sys.exit("no such case: " + " ".join(unknown))
    names = options.names or (every if options.all else [n for n, is_short in MUST_HOLD.items() if is_short])
    compiler, include = os.environ.get("CXX", "g++"), os.environ.get("ALLOT_INCLUDE", str(HERE.parents[1] / "include"))
    bad = held = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            holds, said = run(name, compiler, include, shlex.split(options.flags), folder)
            word = {True: "holds", False: "falls short", None: "does not compile"}[holds]
            if holds and name not in MUST_HOLD:
                word += ", and is not listed: add it to MUST_HOLD"
            bad += holds is None or (not holds and name in MUST_HOLD)
            held += holds is True
            print(f"{name}: {word}" + ("" if holds and not options.names else f": {said[:160]}"), flush=True)
    print(f"{held} of {len(names)} hold")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
