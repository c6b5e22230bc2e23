"""Finds the tools of a machine: nvcc, GPUs, driver, compilers, compute-sanitizer, a Python with torch."""
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys


def ask(*command, timeout=60):
    """The output of a command; empty if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def cuda_homes():
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda", "/opt/cuda"]
    homes += sorted(map(str, pathlib.Path("/usr/local").glob("cuda-*")), reverse=True)
    return [pathlib.Path(h) for h in homes if h]


def find_tool(name):
    found = shutil.which(name)
    places = [home / "bin" / name for home in cuda_homes()] + [home / "compute-sanitizer" / name for home in cuda_homes()]
    return found or next((str(p) for p in places if os.access(p, os.X_OK)), None)


def find_nvcc():
    named = os.environ.get("CUDACXX")
    return named if named and os.access(named, os.X_OK) else find_tool("nvcc")


def toolkit_of(nvcc):
    """The folder with include/ and lib64/, as nvcc reports it (nvcc may be a link or a wrapper)."""
    top = re.search(r"^#\$ TOP=(.*)$", ask_all(nvcc, "--dryrun", "-x", "cu", "-c", os.devnull), re.M)
    home = pathlib.Path(top[1]) if top else pathlib.Path(nvcc).resolve().parent.parent
    return home.resolve()


def ask_all(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def static_runtime(home):
    return next((p for p in (home / "lib64" / "libcudart_static.a", home / "lib" / "libcudart_static.a",
                             home / "targets" / f"{platform.machine()}-linux" / "lib" / "libcudart_static.a") if p.exists()), None)


def gpus():
    """A dictionary for each GPU."""
    fields = ("name", "compute_cap", "driver_version", "memory.total", "clocks.max.sm", "clocks.max.mem", "power.limit")
    smi = find_tool("nvidia-smi") or "/usr/local/nvidia/bin/nvidia-smi"
    text = ask(smi, f"--query-gpu={','.join(fields)}", "--format=csv,noheader")
    found = [dict(zip(fields, (part.strip() for part in line.split(",")))) for line in text.splitlines() if line.count(",") >= 6]
    return [g for g in found if re.fullmatch(r"\d+\.\d+", g["compute_cap"])]


def architecture(nvcc):
    """The number of sm_XX of the first GPU, also without nvidia-smi; None without a GPU."""
    seen = gpus()
    if seen:
        return int(seen[0]["compute_cap"].replace(".", ""))
    query = pathlib.Path(nvcc).resolve().parent / "__nvcc_device_query"
    number = ask(str(query)).split(",")[0].strip() if query.exists() else ""
    return int(number) if number.isdigit() and int(number) > 0 else None


def python_with_torch():
    for python in dict.fromkeys((shutil.which("python3"), sys.executable)):
        if python and ask(python, "-c", "import importlib.util as u; print(u.find_spec('torch') is not None)") == "True":
            return python
    return None


def cpu():
    try:
        return re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())[1]
    except (OSError, TypeError):
        return platform.processor() or platform.machine()


def commit(root):
    named = os.environ.get("ALLOT_COMMIT") or ask("git", "-C", str(root), "rev-parse", "HEAD")
    changed = ask("git", "-C", str(root), "status", "--porcelain", "--untracked-files=no")
    return (named + (" and changes" if changed else "")) if named else "not known"


def facts(root, nvcc):
    cxx = os.environ.get("CXX", "g++")
    return {
        "gpus": gpus(),
        "cpu": f"{cpu()}, {os.cpu_count()} cores",
        "system": platform.platform(),
        "nvcc": (re.search(r"V([0-9.]+)", ask(nvcc, "--version")) or [None, "not known"])[1],
        "compiler": (ask(cxx, "--version").splitlines() or ["not known"])[0],
        "sanitizer": find_tool("compute-sanitizer") or "none",
        "commit": commit(root),
    }
