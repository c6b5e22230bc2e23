"""The programs of a run, built by direct calls of the compilers: no CMake, no Catch2, no network."""
import concurrent.futures
import dataclasses
import os
import pathlib
import shlex

import machine


@dataclasses.dataclass
class Program:
    name: str
    source: str
    flags: tuple = ()
    path: pathlib.Path = None  # once it is built
    output: str = ""


def all_programs(root):
    """All tests of devices, found by file; tests of adapters are left out, since they need no GPU."""
    found = [Program(f"device_{p.stem}", f"tests/device/{p.name}", ("-Itests",)) for p in sorted((root / "tests/device").glob("*.cu"))]
    found += [Program(f"cuda_{p.stem}", f"tests/cuda/{p.name}", ("-Itests",)) for p in sorted((root / "tests/cuda").glob("*.cpp"))
              if "<allot/device/cuda.hpp>" in p.read_text(encoding="utf-8")]
    # The replacement of Catch2 must be found before support/catch.hpp.
    found += [Program("simulated_conform", "tests/conform/device.cpp", ("-Itests/bugs/mini", "-Itests")),
              Program("limits", "bench/gpu/limits.cu"),
              Program("allocators", "bench/gpu/allocators.cpp")]
    return found


class Builder:
    def __init__(self, root, folder, nvcc, architectures, strict):
        self.root, self.folder, self.nvcc = root, folder, nvcc
        self.home = machine.toolkit_of(nvcc)
        self.cxx = shlex.split(os.environ.get("CXX", "g++"))
        targets = [f"-gencode=arch=compute_{a},code=sm_{a}" for a in architectures]
        self.for_device = [nvcc, "-std=c++20", "-O3", *targets, "-Xptxas", "-v", "-ccbin", self.cxx[-1], "-Xcompiler", "-Wall,-Wextra"]
        self.for_device += ["-Werror", "all-warnings"] if strict else []
        # Thrust's default device system needs nvcc.
        self.for_host = [*self.cxx, "-std=c++20", "-O2", "-Wall", "-Wextra", *(["-Werror"] if strict else []), "-isystem", self.home / "include",
                         "-isystem", self.home / "include/cccl", "-DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP"]
        folder.mkdir(parents=True, exist_ok=True)

    def build(self, program, steps, limit, bit):
        made = self.folder / program.name
        made.unlink(missing_ok=True)
        flags = [f if not f.startswith("-I") else f"-I{self.root / f[2:]}" for f in program.flags]
        common = [f"-I{self.root / 'include'}", *flags, "-o", made, self.root / program.source]
        if program.source.endswith(".cu"):
            command = [*self.for_device, *common]
        else:
            command = [*self.for_host, *common, machine.static_runtime(self.home) or "-lcudart", "-pthread", "-ldl"]
        good, program.output = steps.run(f"build {program.name}", command, limit, bit)
        program.path = made if good else None

    def build_all(self, programs, steps, jobs, limit, bit):
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            list(pool.map(lambda p: self.build(p, steps, limit, bit), programs))
