#!/usr/bin/env python3
"""Each ```cpp block of README.md and docs/*.md compiles, if it is not quoted from a file (quoted_examples.py holds those).

A block becomes the body of a function, below `using namespace allot::literals;`. A block with `int main(` is a program, which
must compile as it stands: it becomes a namespace above that line. Its #include lines are moved to the top. All blocks are compiled together (with CXX, -fsyntax-only), so a block
should include what it shows, but that is not checked. Blocks of CUDA are compiled apart, where its toolkit is found.

A comment in the line before a block says more:
    <!-- sample: needs NAME... -->    puts the lines of NEEDS before it
    <!-- sample: continues -->        it is in the function of the block before it on the page
    <!-- sample: fragment, REASON --> it cannot compile, and is left out
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

NEEDS = {
    "accounts": ("#include <allot/account/account.hpp>", """
        allot::account query{allot::name{"query"}};
        allot::account scan{query, allot::name{"scan"}}, join{query, allot::name{"join"}}, sort{query, allot::name{"sort"}};"""),
    "rows": ("#include <allot/row_manager.hpp>", "allot::row_manager<allot::policies<>> rows;"),
    "stream": ("#include <cuda_runtime_api.h>", "cudaStream_t stream = nullptr;"),
    "device": ("#include <allot/device/simulated.hpp>", """
        namespace device = allot::device;
        using Api = device::simulated;
        device::simulator simulator;
        const Api api{simulator};
        void* address = nullptr;
        std::size_t bytes = 4096;
        const Api::stream_type stream{};
        char line[256];
        allot::text_writer text{line};"""),
    "cuda_memory": ("#include <allot/device/cuda.hpp>\n#include <allot/device_allocator.hpp>", """
        using gpu_blocks = allot::policies<allot::page::on_device<allot::device::cuda>>;
        allot::device_allocator<gpu_blocks> memory{allot::device_id{0}};"""),
}
TAGS = {"", "cmake", "cpp", "json", "mermaid", "sh", "text"}
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-unused", "-Wno-unused-parameter", "-Wno-return-type"]

root = pathlib.Path(__file__).resolve().parents[2]
quoted = re.compile(r"<!-- begin (.+?) -->\n.*?<!-- end \1 -->", re.S)
sample = re.compile(r"(?:^<!-- sample: (.+?) -->\n+)?^```cpp\n(.*?)^```$", re.S | re.M)
fenced = re.compile(r"^```(\w*)\n.*?^```$", re.S | re.M)
indented = re.compile(r"\n\n {4}\S.*;( *//.*)?$", re.M)


def samples(document):
    """The functions and namespaces that a document's blocks become."""
    text = document.read_text()
    name = document.relative_to(root)
    text = quoted.sub(lambda m: "\n" * m[0].count("\n"), text)  # the numbers of the lines stay
    if len(fenced.findall(text)) * 2 != len(re.findall(r"^```", text, re.M)) or {*fenced.findall(text)} - TAGS:
        sys.exit(f"{name}: a block begins with ``` and one of {sorted(TAGS)}, and ends with ```")
    if indented.search(fenced.sub("", text)):
        sys.exit(f"{name}: C++ is not indented, but in a block ```cpp")
    if len(re.findall(r"<!-- sample:", text)) != sum(1 for m in sample.finditer(text) if m[1]):
        sys.exit(f"{name}: a comment `<!-- sample: ... -->` is not followed by a block ```cpp")
    found = []
    for match in sample.finditer(text):
        marker, code = match[1] or "", match[2]
        line = text.count("\n", 0, match.start(2)) + 1
        if re.fullmatch(r"fragment, .+", marker):
            print(f"{name}:{line}: left out: {marker.partition(', ')[2]}")
            continue
        if not re.fullmatch(rf"|continues|needs( ({'|'.join(NEEDS)}))+", marker):
            sys.exit(f"{name}:{line}: no such marker: {marker}")
        includes = "".join(f'#line {line + n} "{name}"\n{text}\n'
                           for n, text in enumerate(code.splitlines()) if text.startswith("#include"))
        body = ""
        for need in marker.split()[1:] if marker.startswith("needs") else []:
            includes += NEEDS[need][0] + "\n"
            body += NEEDS[need][1] + "\n"
        body += f'#line {line} "{name}"\n' + re.sub(r"^#include.*", "", code, flags=re.M)
        if marker == "continues":
            if not found:
                sys.exit(f"{name}:{line}: continues no block")
            found[-1] = (found[-1][0] + includes, found[-1][1] + body)
        else:
            found.append((includes, body))
    return found


def program(blocks):
    text = "".join(includes for includes, _ in blocks)
    programs = [body for _, body in blocks if "int main(" in body]
    for i, body in enumerate(programs):
        text += f"namespace program_{i} {{\n" + body.replace("int main(", "int sample_main(") + "}\n"
    text += "using namespace allot::literals;\n"
    for i, (_, body) in enumerate(blocks):
        if body not in programs:
            text += f"void sample_{i}() {{\n" + body + "}\n"
    return text


def cuda_headers():
    """Flags for the headers of CUDA and Thrust, or None."""
    nvcc = os.environ.get("CUDACXX") or shutil.which("nvcc")
    homes = [os.environ.get("CUDA_HOME"), nvcc and pathlib.Path(nvcc).resolve().parents[1], "/usr/local/cuda", "/opt/cuda"]
    for include in (pathlib.Path(home, "include") for home in homes if home):
        if (include / "cuda_runtime_api.h").exists():
            return next((["-isystem", str(include), "-isystem", str(at)]
                         for at in (include / "cccl", include) if (at / "thrust").exists()), None)
    return None


def compiles(blocks, *flags):
    command = [os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", "-x", "c++", *WARNINGS,
               f"-I{os.environ.get('ALLOT_INCLUDE', root / 'include')}", *flags, "-"]
    return subprocess.run(command, input=program(blocks), text=True).returncode == 0


blocks = [block for document in [root / "README.md", *sorted((root / "docs").glob("*.md"))] for block in samples(document)]
if not blocks:
    sys.exit("no sample found")
of_cuda = [block for block in blocks if re.search(r"#include <.*(cuda|thrust)", block[0])]
good = compiles([block for block in blocks if block not in of_cuda])
if cuda := cuda_headers():
    good = compiles(of_cuda, *cuda, "-DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP") and good
elif of_cuda:
    print(f"{len(of_cuda)} samples are left out: no CUDA toolkit with Thrust")
sys.exit(0 if good else 1)
