"""What sync compiles to on a device, for sm_80, sm_90 and sm_100: each scoped atomic is the PTX instruction of its order, scope
and type and no other, thread_scope::thread is none, and an aggregated bump is one atomic for a group."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

nvcc = shutil.which("nvcc") or next((p for p in ("/usr/local/cuda/bin/nvcc", "/opt/cuda/bin/nvcc") if os.path.exists(p)), None)
if nvcc is None:
    print("skipped: no nvcc")
    sys.exit(77)

orders = {"relaxed": "relaxed", "acquire": "acquire", "release": "release", "acq_rel": "acq_rel"}
scopes = {"block": "cta", "device": "gpu", "system": "sys"}
types = {"int": "s32", "unsigned": "u32", "long long": "s64", "unsigned long long": "u64"}


def cases():
    """(name, statement, word type, what must stand there, in this order)"""
    n = 0
    def case(word, statement, *expected):
        nonlocal n
        n += 1
        return f"k{n}", statement, word, expected
    for scope, ptx in scopes.items():
        w = f"scoped<thread_scope::{scope}>(*p)"
        for word, kind in types.items():
            b = "b" + kind[1:]
            for order in ("relaxed", "acquire"):
                yield case(word, f"p[1] = {w}.load(ordered::{order});", rf"ld\.{order}\.{ptx}\.{b}")
            for order in ("relaxed", "release"):
                yield case(word, f"{w}.store(v, ordered::{order});", rf"st\.{order}\.{ptx}\.{b}")
            for order in orders:
                for call, at in (("fetch_and", "and"), ("fetch_or", "or"), ("fetch_xor", "xor"), ("exchange", "exch")):
                    yield case(word, f"p[1] = {w}.{call}(v, ordered::{order});", rf"atom\.{at}\.{order}\.{ptx}\.{b}")
                unsigned = "u" + kind[1:]
                yield case(word, f"p[1] = {w}.fetch_add(v, ordered::{order});", rf"atom\.add\.{order}\.{ptx}\.(?:{unsigned}|{kind})")
                yield case(word, f"p[1] = {w}.fetch_sub(v, ordered::{order});", rf"atom\.add\.{order}\.{ptx}\.(?:{unsigned}|{kind})")
                for call in ("min", "max"):
                    yield case(word, f"p[1] = {w}.fetch_{call}(v, ordered::{order});", rf"atom\.{call}\.{order}\.{ptx}\.{kind}")
                yield case(word, f"{word} e = p[2]; p[1] = {w}.compare_exchange(e, v, ordered::{order}); p[3] = e;",
                           rf"atom\.cas\.{order}\.{ptx}\.{b}")
            yield case(word, f"p[1] = {w}.fetch_or(v, ordered::seq_cst);", rf"fence\.sc\.{ptx}", rf"atom\.or\.acquire\.{ptx}\.{b}")
            yield case(word, f"p[1] = {w}.load(ordered::seq_cst);", rf"fence\.sc\.{ptx}", rf"ld\.acquire\.{ptx}\.{b}")
    w = "scoped<thread_scope::thread>(*p)"
    for call in ("fetch_add", "fetch_min", "exchange"):
        yield case("unsigned", f"p[1] = {w}.{call}(v, ordered::seq_cst);")
    yield case("unsigned", "warp w; p[1] = aggregated_fetch_add<thread_scope::device>(w, *p);",
               r"activemask\.b32", r"match\.any\.sync\.b64", r"atom\.add\.relaxed\.gpu\.u32", r"shfl\.sync\.idx\.b32")
    yield case("unsigned", "lone_lane l; p[1] = aggregated_fetch_add<thread_scope::system>(l, *p);", r"atom\.add\.relaxed\.sys\.u32")


all_cases = list(cases())
source = "#include <allot/kernel/aggregated_fetch_add.hpp>\n#include <allot/kernel/lanes_warp.hpp>\nusing namespace allot;\n" + "".join(
    f'extern "C" __global__ void {name}({word}* p, {word} v) {{ {statement} }}\n' for name, statement, word, _ in all_cases)
pathlib.Path("atomics.cu").write_text(source, encoding="utf-8")
special = re.compile(r"^\s*(?:@%p\d+ )?((?:atom|red|fence|membar|activemask|match|shfl|vote|bar)\b[\w.:]*"
                     r"|(?:ld|st)\.(?:relaxed|acquire|release|volatile)[\w.]*)", re.M)
failed = 0
for arch in ("sm_80", "sm_90", "sm_100"):
    subprocess.run([nvcc, "-std=c++20", f"-arch={arch}", "-Werror", "all-warnings", "-I", os.environ["ALLOT_INCLUDE"], "-ptx",
                    "-o", "atomics.ptx", "atomics.cu"], check=True)
    ptx = pathlib.Path("atomics.ptx").read_text()
    bodies = {m[1]: m[2] for m in re.finditer(r"\.entry (\w+)\((.*?)^\}", ptx, re.S | re.M)}
    wrong = 0
    for name, statement, _, expected in all_cases:
        found = special.findall(bodies[name])
        if len(found) != len(expected) or not all(re.fullmatch(e, f) for e, f in zip(expected, found)):
            wrong += 1
            if wrong < 10:
                print(f"{arch}: {statement}\n  {found or 'nothing'}, not {list(expected) or 'nothing'}")
    print(f"{arch}: {len(all_cases) - wrong} of {len(all_cases)} as they should be")
    failed += wrong
sys.exit(failed != 0)
