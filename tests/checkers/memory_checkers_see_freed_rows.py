"""AddressSanitizer and valgrind report reads of free memory: rows, pages, packets, blocks, and the byte behind a row;
and nothing of a program that does all the same without these reads."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

source = r"""
#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/packet/packets.hpp>
#include <allot/page/borrowed.hpp>
#include <allot/row_manager.hpp>
#include <cstdio>
#include <cstring>
#include <span>
#include <vector>
namespace a = allot;
using namespace allot::literals;
template <class... Ps> struct a_set : a::policies<Ps...> {};
using plain = a_set<>;
using bytes = unsigned char*;
bool wrong; // whether the program reads what it must not
volatile unsigned char sink;

// Twice, so that freed memory is used again. Each kind reads in a function of its own: a checker reports a place once.
template <class Kind> void misuse(const char* what, Kind kind) {
    std::fprintf(stderr, "== %s\n", what);
    for (int i = 0; i < 2; ++i)
        kind([](const void* p) { if (wrong) sink = *static_cast<const volatile unsigned char*>(p); });
}
template <class Rows> bytes row(Rows& rows, std::size_t n) {
    auto* const p = static_cast<bytes>(rows.allocate(n));
    std::memset(p, 1, rows.capacity(p));
    return p;
}
template <class Set> void released(const char* what, std::size_t n) {
    a::row_manager<Set> rows{a::limit{64_MiB}, a::page_bytes{16_KiB}};
    misuse(what, [&](auto read) {
        bytes const p = row(rows, n);
        rows.release(p);
        read(p + n / 2);
    });
}
template <class Set, std::size_t N> void behind(const char* what) {
    a::row_manager<Set> rows{a::limit{8_MiB}};
    misuse(what, [&](auto read) {
        bytes const p = row(rows, N), next = row(rows, N);
        read(p + rows.capacity(p));
        rows.release(p), rows.release(next);
    });
}
template <class Set> void block(const char* what, std::size_t n) {
    a::account by{a::name{"by"}};
    a::chunk_arena<Set> blocks{a::limit{16_MiB}};
    a::buffer_memory memory{blocks};
    misuse(what, [&](auto read) {
        a::buffer b = memory.allocate(by, n);
        std::memset(b.data(), 1, n);
        const std::byte* const p = b.data();
        b.release();
        read(p + n / 2);
    });
}
std::int64_t fill(std::span<std::byte> room) { return std::memset(room.data(), 1, room.size()), 101; }

int main(int, char** argv) {
    wrong = std::strcmp(argv[1], "wrong") == 0;
    released<a_set<a::slots::linked>>("a row, linked", 100);
    released<a_set<a::slots::bitmap>>("a row, bitmap", 100);
    released<a_set<a::slots::scanning, a::size::packed>>("a row, scanning and packed", 100);
    released<a_set<a::guard::all<a::guard::canary, a::guard::zero, a::guard::quarantine<4>>>>("a row, guarded", 100);
    released<a_set<a::size::in_spans>>("a row of a span", 12000);
    released<plain>("a huge row", 1_MiB);
    behind<plain, 64>("the byte behind a row");
    behind<a_set<a::size::packed>, 60>("the byte behind a packed row");
    behind<a_set<a::guard::canary>, 60>("the byte behind a row with a canary");
    behind<a_set<a::guard::canary>, 1_MiB>("the byte behind a huge row with a canary");
    block<a_set<a::fit::runs>>("a block of runs", 5000);
    block<a_set<a::fit::buddy>>("a block of a buddy", 5000);
    block<a_set<a::fit::best>>("a block of pages", 200000);
    {
        a::row_manager<plain> rows{a::limit{8_MiB}, a::page_bytes{16_KiB}};
        misuse("a row that compact() moved", [&](auto read) {
            std::vector<void*> stay, go;
            for (int i = 0; i < 3000; ++i) (i % 10 == 0 ? stay : go).push_back(row(rows, 64));
            for (void* const p : go) rows.release(p);
            const auto old = stay;
            rows.compact(stay);
            for (std::size_t i = 0; i < stay.size(); ++i)
                if (stay[i] != old[i]) read(old[i]);
            for (void* const p : stay) rows.release(p);
        });
        misuse("a row that resize() moved", [&](auto read) {
            bytes const p = row(rows, 64);
            void* const now = rows.resize(p, 64, 3000);
            read(p);
            rows.release(now);
        });
        misuse("pages that a huge row lost", [&](auto read) {
            bytes const p = row(rows, 1_MiB);
            void* const now = rows.resize(p, 64, 20000);
            read(p + 500000);
            rows.release(rows.resize(now, 20000, 2_MiB));
        });
        a::row_manager<a_set<a::guard::canary>> guarded{a::limit{8_MiB}, a::page_bytes{16_KiB}};
        bytes p = row(guarded, 20000); // its canary moves along
        for (std::size_t n = 20000; n < 200000; n += 20000) {
            p = static_cast<bytes>(guarded.resize(p, n, n + 20000));
            std::memset(p, 1, guarded.capacity(p));
        }
        guarded.release(p);
    }
    {
        a::chunk_arena<a_set<a::fit::buddy>> blocks{a::limit{16_MiB}};
        misuse("the end of a block that shrank", [&](auto read) {
            const a::block b = blocks.allocate(60000);
            std::memset(b.address, 1, b.bytes);
            const a::block now = blocks.resize(b.address, 1000);
            read(static_cast<bytes>(b.address) + 50000);
            const a::block again = blocks.resize(b.address, 60000);
            std::memset(b.address, 1, again ? again.bytes : now.bytes);
            blocks.deallocate(b.address);
        });
    }
    {
        a::account by{a::name{"by"}, a::limit{8_MiB}};
        a::packets in{by, {.bytes = 40000, .limit = 8_MiB}};
        misuse("a row in a packet that has ended", [&](auto read) {
            a::packet p = in.receive(by, &fill);
            const void* const r = p.at(0, 8);
            p = {};
            read(r);
        });
        misuse("what a packet has not received", [&](auto read) {
            a::packet p = in.receive(by, &fill);
            read(p.bytes().data() + 101);
            p.set_bytes(static_cast<std::size_t>(fill(p.room())));
        });
        misuse("what is behind a packet, in its last page", [&](auto read) {
            a::packet p = in.receive(by, &fill);
            read(p.room().data() + p.room().size());
        });
    }
    // Memory that was lent is the lender's again.
    static std::byte lent[200 << 10];
    {
        a::row_manager<a_set<a::page::borrowed>> rows{std::span<std::byte>(lent), a::limit{200_KiB}};
        misuse("a row in memory that was lent", [&](auto read) {
            bytes const p = row(rows, 30000);
            rows.release(p);
            read(p);
        });
        rows.release_empty_pages();
    }
    std::fprintf(stderr, "== the end\n");
    std::memset(lent, 1, sizeof lent);
}
"""
compiler, include = os.environ["CXX"], os.environ["ALLOT_INCLUDE"]
pathlib.Path("use.cpp").write_text(source)
checkers = []
flags = ["-std=c++20", "-O0", "-I", include, "use.cpp", "-pthread"]
if subprocess.run([compiler, *flags, "-fsanitize=address", "-fsanitize-recover=address", "-o", "use_asan"]).returncode == 0:
    checkers.append(("AddressSanitizer", ["./use_asan"], "ERROR: AddressSanitizer", None))
if shutil.which("valgrind") and pathlib.Path("/usr/include/valgrind/memcheck.h").exists():
    subprocess.run([compiler, *flags, "-DALLOT_VALGRIND=1", "-o", "use_valgrind"], check=True)
    # What lies behind a row is used by the library itself.
    checkers.append(("valgrind", ["valgrind", "-q", "./use_valgrind"], "Invalid read", "the byte behind"))
if not checkers:
    print("neither AddressSanitizer nor valgrind is here")
    sys.exit(77)

failed = 0
for name, command, words, unseen in checkers:
    environment = {**os.environ, "ASAN_OPTIONS": "halt_on_error=0:exitcode=0"}
    for mode in ("wrong", "right"):
        run = subprocess.run([*command, mode], capture_output=True, text=True, env=environment)
        parts = re.split(r"^== (.*)\n", run.stderr, flags=re.MULTILINE)[1:] # what is between the marks: kind, output, ..
        kinds = dict(zip(parts[::2], parts[1::2]))
        if run.returncode != 0 or "the end" not in kinds:
            print(f"{name}: the {mode} program ended with {run.returncode}\n{run.stderr[-2000:]}")
            failed = 1
        for kind, output in kinds.items():
            expected = mode == "wrong" and kind != "the end" and not (unseen and kind.startswith(unseen))
            if expected != (words in output) or (not expected and output.strip()):
                print(f"{name}, {mode}: {kind}: {'not reported' if expected else 'reported'}\n{output[:2000]}")
                failed = 1
    print(f"{name}: {len(kinds)} kinds checked")
sys.exit(failed)
