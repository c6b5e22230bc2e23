"""Steps of a run: each is a command with a time limit, in its own process group; its results are kept as it prints them."""
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

SKIPPED = 77


class Steps:
    def __init__(self, results, folder, budget, quiet=False, has_gpu=False):
        self.results, self.folder, self.quiet = results, folder, quiet
        self.has_gpu = has_gpu  # then a program that finds no GPU has failed
        self.end = time.monotonic() + budget
        self.failed = 0  # bits of the exit code
        self.running = set()
        self.lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)

    def left(self):
        return self.end - time.monotonic()

    def finish(self, name, outcome, seconds, bit, note=""):
        with self.lock:
            if outcome in ("failed", "cut"):
                self.failed |= bit
            self.results.step(name, outcome, seconds, note)
            if not self.quiet:
                print(f"{outcome:8}{seconds:7.1f} s  {name}" + (f": {note}" if note else ""), flush=True)
        return outcome == "passed"

    def run(self, name, command, limit, bit, env=None, keep=lambda measurement: measurement, skip_if=(), optional=False):
        """Runs a command; returns whether it passed, and its output. Lines of JSON are results."""
        limit = min(limit, self.left())
        if limit < 1:
            return self.finish(name, "cut", 0, bit, "no time left"), ""
        start, text = time.monotonic(), []
        try:
            process = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       text=True, errors="replace", env={**os.environ, **(env or {})}, start_new_session=True)
        except OSError as e:
            return self.finish(name, "failed", 0, bit, f"{command[0]}: {e.strerror}"), ""
        with self.lock:
            self.running.add(process)

        def read():
            with (self.folder / (name.replace(" ", "_").replace("/", "_") + ".log")).open("w", encoding="utf-8") as log:
                for line in process.stdout:
                    log.write(line)
                    log.flush()
                    text.append(line)
                    if line.startswith("{"):
                        with self.lock:
                            self.take(line, keep)
        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        cut = False
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            cut, code = True, None
        kill_group(process)
        reader.join(5)
        with self.lock:
            self.running.discard(process)
        seconds, output = time.monotonic() - start, "".join(text)
        reason = next((s for s in skip_if if s in output), None)
        if cut:
            good = self.finish(name, "cut", seconds, bit, f"stopped after {seconds:.0f} s")
        elif self.has_gpu and not optional and (code == SKIPPED or output.startswith("no device")):
            good = self.finish(name, "failed", seconds, bit, "it found no GPU, although there is one: " + first_error(output))
        elif code == 0:
            good = self.finish(name, "passed", seconds, bit)
        elif code == SKIPPED or reason:
            good = self.finish(name, "skipped", seconds, bit, reason or first_error(output))
        else:
            good = self.finish(name, "failed", seconds, bit, f"exit code {code}: {first_error(output)}")
        return good, output

    def take(self, line, keep):
        try:
            measurement = keep(json.loads(line))
        except ValueError:
            return
        if measurement:
            self.results.measurement(measurement)

    def stop(self):
        """Kills the running steps. Called in a signal handler, so it locks nothing and never waits."""
        for process in list(self.running):
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass


def first_error(output):
    """The first line of the output with an error, or the last line; the log has all."""
    lines = [line.strip() for line in output.splitlines() if line.strip() and not line.startswith("{")]
    errors = [line for line in lines if re.search(r"\b(error|ERROR|wrong|failed)\b", line)]
    return (errors[:1] or lines[-1:] or ["no output"])[0][:300]


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    if process.poll() is None:
        process.wait()


def stop_on_signal(steps):
    def ended(number, _):
        steps.stop()
        os.write(1, f"ended by signal {number}; results so far are in {steps.results.folder}\n".encode())
        os._exit(128 + number)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, ended)
    sys.stdout.reconfigure(line_buffering=True)
