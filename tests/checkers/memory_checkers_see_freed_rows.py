"""A read of a released row is told by AddressSanitizer and by valgrind, whichever kind of free slots the set has;
a program that does nothing wrong is left alone."""
import os
import pathlib
import shutil
import subprocess
import sys

source = r"""
#include <allot/row_manager.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
using namespace allot::literals;
struct linked : allot::policies<allot::slots::linked> {};
struct bitmap : allot::policies<allot::slots::bitmap> {};

template <class Set> int use(const char* what, std::size_t bytes) {
    allot::row_manager<Set> rows{allot::limit{8_MiB}};
    auto* const p = static_cast<volatile unsigned char*>(rows.allocate(bytes));
    for (std::size_t i = 0; i < bytes; ++i) p[i] = 1;
    if (std::strcmp(what, "read_freed") == 0) rows.release(const_cast<unsigned char*>(p));
    const int sum = p[0] + p[bytes / 2];
    if (std::strcmp(what, "right") == 0) rows.release(const_cast<unsigned char*>(p));
    for (int i = 0; i < 500; ++i) rows.release(rows.allocate(bytes));
    return sum == 2 ? 0 : 7;
}
int main(int, char** argv) {
    const bool l = std::strcmp(argv[2], "linked") == 0;
    return l ? use<linked>(argv[1], 100) : use<bitmap>(argv[1], 100);
}
"""
compiler, include = os.environ["CXX"], os.environ["ALLOT_INCLUDE"]
pathlib.Path("use.cpp").write_text(source)
checkers = []
flags = ["-std=c++20", "-O0", "-I", include, "use.cpp", "-pthread"]
if subprocess.run([compiler, *flags, "-fsanitize=address", "-o", "use_asan"]).returncode == 0:
    checkers.append(("AddressSanitizer", ["./use_asan"], "use-after-poison"))
if shutil.which("valgrind") and pathlib.Path("/usr/include/valgrind/memcheck.h").exists():
    subprocess.run([compiler, *flags, "-DALLOT_VALGRIND=1", "-o", "use_valgrind"], check=True)
    checkers.append(("valgrind", ["valgrind", "-q", "--error-exitcode=9", "./use_valgrind"], "Invalid read"))
if not checkers:
    print("neither AddressSanitizer nor valgrind is here")
    sys.exit(77)

failed = 0
for name, command, words in checkers:
    for slots in ("linked", "bitmap"):
        wrong = subprocess.run([*command, "read_freed", slots], capture_output=True, text=True)
        right = subprocess.run([*command, "right", slots], capture_output=True, text=True)
        if wrong.returncode == 0 or words not in wrong.stderr:
            print(f"{name}, {slots}: a read of a released row was not told\n{wrong.stderr[:2000]}")
            failed = 1
        if right.returncode != 0:
            print(f"{name}, {slots}: told something of a right program\n{right.stderr[:2000]}")
            failed = 1
    print(f"{name}: checked")
sys.exit(failed)
