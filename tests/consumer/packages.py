#!/usr/bin/env python3
"""Ways to get allot: each way of docs/install.md, step by step as the page says, and what packages promise beside it.

    packages.py NAME       runs this row of ROWS, in NAME/ of the current folder; exit code 77: a tool is missing
    packages.py --list     the names, one a line
    packages.py --missing  the rows that would be skipped, and why

A section of the page is run so: a block below a line "`NAME`:", or "`NAME`; ...:", is written to that file; blocks of sh are run in a folder
that has main.cpp and a space in its name; the output ends with the page's block of text. CXX is the compiler, but where the page says g++.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ALLOT = HERE.parents[1]
PAGE = (ALLOT / "docs/install.md").read_text()
# command: how to install it. vcpkg is its own clone, found by VCPKG_ROOT.
TOOLS = {"pkg-config": "Debian: apt-get install pkg-config", "meson": "Debian: apt-get install meson", "conan": "pip install conan",
         "clang++": "Debian: apt-get install clang", "vcpkg": "set VCPKG_ROOT to its bootstrapped clone; the row recipes runs the port without it"}
NO_PROGRAMS = ["-DALLOT_TESTS=OFF", "-DALLOT_EXAMPLES=OFF"]


class failure(Exception):
    pass


def run(*command, fails=False, **options):
    """Runs it and returns its output, which is printed. It must succeed, or with `fails` must not."""
    print("$", *command, flush=True)
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    print(done.stdout, end="", flush=True)
    if (done.returncode != 0) != fails:
        raise failure(f"{command[0]} {'succeeded, and should have failed' if fails else f'ended with {done.returncode}'}")
    return done.stdout


def must(condition, what):
    if not condition:
        raise failure(what)


def cmake(source, build, *options, fails=False):
    return run("cmake", "-S", source, "-B", build, *options, fails=fails)


# --- the page --------------------------------------------------------------------------------------------------
BLOCK = re.compile(r"(?:^`([\w.]+)`(?:;[^\n]*)?:\n\n)?^```(\w+)\n(.*?)^```$", re.S | re.M)
EXPECTED = next(text for name, tag, text in BLOCK.findall(PAGE) if tag == "text")


def page(heading):
    """A row: the steps of the section."""
    def steps(work):
        found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", PAGE, re.S | re.M)
        must(found, f"docs/install.md has no section {heading}")
        shutil.copy(HERE / "app/main.cpp", work)
        script = ""
        for name, tag, text in BLOCK.findall(found[1]):
            if name:
                (work / name).write_text(text)
            elif tag == "sh":
                script += text
        must(script, f"section {heading} of docs/install.md has no block of sh")
        conan = work.parent / "conan"  # Conan's home: it writes nothing into the repository then
        conan.mkdir()
        (conan / "global.conf").write_text(f"tools.cmake.cmake_layout:test_folder={work / 'test_package'}\n"
                                           "tools.cmake.cmaketoolchain:user_presets=\n")
        here = {**os.environ, "ALLOT": str(ALLOT), "CONAN_HOME": str(conan)}
        output = run("bash", "-euo", "pipefail", "-c", script, cwd=work, env=here)
        must(output.endswith(EXPECTED), f"the output does not end with\n{EXPECTED}")
    return steps


# --- CMake -----------------------------------------------------------------------------------------------------
def targets(work):
    """app: what the targets bring along, vendored and installed."""
    cmake(HERE / "app", work / "vendored", f"-DALLOT_SOURCE={ALLOT}")
    run("cmake", "--build", work / "vendored")
    run(work / "vendored/app")
    output = cmake(HERE / "app", work / "vendored", "-DALLOT_TWICE=ON", fails=True)
    must("needs no second allot" in output and output.count("CMake Error") == 1, "a second allot in a project gives another error")
    cmake(ALLOT, work / "allot", *NO_PROGRAMS)
    run("cmake", "--install", work / "allot", "--prefix", work / "prefix")
    cmake(HERE / "app", work / "installed", "-DALLOT_INSTALLED=ON", f"-DCMAKE_PREFIX_PATH={work / 'prefix'}")
    moved = work / "moved"
    (work / "prefix").rename(moved)
    cmake(HERE / "app", work / "installed moved", "-DALLOT_INSTALLED=ON", f"-DCMAKE_PREFIX_PATH={moved}")


def alone(work):
    """The component allot_alone: rows, chunks, accounts and buffers; no header and no target of the others, until all is installed."""
    cmake(ALLOT, work / "allot", *NO_PROGRAMS)
    run("cmake", "--install", work / "allot", "--prefix", work / "prefix", "--component", "allot_alone")
    cmake(HERE / "alone", work / "user", f"-DCMAKE_PREFIX_PATH={work / 'prefix'}")
    run("cmake", "--build", work / "user")
    must("query" in run(work / "user/alone"), "the program does not report its account")
    output = run("cmake", "--build", work / "user", "--target", "no_engine", fails=True)
    must(re.search("allot/oom/arbiter.hpp.*(No such file|not found)", output), "a header of another target gives another error")
    run("cmake", "--install", work / "allot", "--prefix", work / "prefix")
    must("allot::engine is there" in cmake(HERE / "alone", work / "whole", f"-DCMAKE_PREFIX_PATH={work / 'prefix'}", fails=True),
         "allot::engine is missing where all is installed")


def parent_exports(work):
    """A parent project with allot in its tree exports a library that links allot::allot."""
    def engine(name, *options):
        cmake(HERE / "engine", work / name, f"-DALLOT_SOURCE={ALLOT}", *options)
        run("cmake", "--install", work / name, "--prefix", work / f"{name} prefix")
        return work / f"{name} prefix"

    def user(name, *options, fails=False):
        return cmake(HERE / "engine_user", work / name, *options, fails=fails)

    whole = engine("whole", "-DALLOT_INSTALL=ON")
    user("user", f"-DCMAKE_PREFIX_PATH={whole}")
    run("cmake", "--build", work / "user")
    must(run(work / "user/first") == EXPECTED, "wrong output")
    user("user of the build", f"-Dengine_DIR={work / 'whole'}", f"-Dallot_DIR={work / 'whole/allot'}")

    own = engine("own")
    must(not (own / "include/allot").exists(), "a parent without ALLOT_INSTALL installs allot")
    must("allotConfig.cmake" in user("without allot", f"-DCMAKE_PREFIX_PATH={own}", fails=True), "the error does not name allot")
    run("cmake", "--install", work / "own", "--prefix", own, "--component", "allot")
    user("with allot", f"-DCMAKE_PREFIX_PATH={own}")

    links = [HERE / "engine", work / "compiled", f"-DALLOT_SOURCE={ALLOT}", "-DENGINE_LINKS=allot::compiled"]
    must('"allot_compiled" that is not in' in " ".join(cmake(*links, fails=True).split()), "what is not installed is exported")
    cmake(*links, "-DALLOT_COMPILED_LIBRARY=STATIC")


# --- the single header -------------------------------------------------------------------------------------------
def single_header(work):
    """Units with the single header are one program, without a warning of g++ or clang++; a checked unit does not link with another."""
    tool, source = ALLOT / "tools/single_header", HERE / "single_header"
    run(sys.executable, tool, "--out", work / "allot.hpp", "--with", "allot/adapt/pmr.hpp")
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wundef", "-Werror", "-pthread", f"-I{work}"]
    run(os.environ.get("CXX", "g++"), *flags, source / "first.cpp", source / "second.cpp", "-o", work / "program")
    run(work / "program")
    run("clang++", *flags, "-include", source / "second.cpp", source / "first.cpp", "-o", work / "program")  # one unit: half the time
    run(work / "program")

    run(sys.executable, tool, "--out", work / "allot.hpp", "allot/adapt/pmr.hpp", "allot/row_manager.hpp")
    (work / "first.cpp").write_text('#include "second.hpp"\n'
                                    "int main() { shared_rows rows; rows.release(make_row(rows)); }\n")
    headers = work / "headers"  # the second unit has the headers instead
    headers.mkdir()
    (headers / "allot.hpp").write_text("#include <allot/adapt/pmr.hpp>\n#include <allot/row_manager.hpp>\n")
    flags = ["-std=c++20", "-pthread", f"-I{source}"]
    run("clang++", *flags, f"-I{headers}", f"-I{ALLOT / 'include'}", "-DALLOT_CHECKED=1", "-c", source / "second.cpp", "-o", work / "second.o")
    whole = ["clang++", *flags, f"-I{work}", work / "first.cpp", work / "second.o", "-o", work / "program"]
    must("undefined reference to `make_row(allot::v" in run(*whole, fails=True), "a checked unit links with an unchecked one")
    run(*whole, "-DALLOT_CHECKED=1")
    run(work / "program")

    output = run(sys.executable, tool, "--out", work / "no.hpp", "allot/no.hpp", fails=True)
    must("allot/no.hpp is no header of allot" in output, "a wrong name is not reported")


# --- the compiled library ------------------------------------------------------------------------------------------
PROGRAM = HERE / "compiled"


def compiled(work):
    """Files with ALLOT_COMPILED, files without, and the library link in each combination that agrees, and in no other."""
    cxx = [os.environ.get("CXX", "g++"), "-std=c++20", "-pthread", f"-I{ALLOT / 'include'}"]
    (work / "library.cpp").write_text(f'#define ALLOT_DEFINE\n#include <allot/compiled.hpp>\n#include "{PROGRAM}/makes.hpp"\n')

    def objects(kind, source, *flags):
        run(*cxx, *flags, "-c", source, "-o", work / f"{source.stem} {kind}.o")
        return work / f"{source.stem} {kind}.o"

    # One library for both kinds: visible symbols, position-independent code.
    shared = ("-fPIC", "-DALLOT_SHARED_LIBRARY")
    library = objects("static", work / "library.cpp", *shared)
    run(*cxx, "-shared", library, "-o", work / "liballot.so")
    made = {kind: (objects(kind, PROGRAM / "makes.cpp", "-fPIC", *flags), objects(kind, PROGRAM / "uses.cpp", "-fPIC", *flags))
            for kind, flags in {"headers": (), "compiled": ("-DALLOT_COMPILED", "-O2"), "hidden": ("-DALLOT_COMPILED", *shared, "-fvisibility=hidden"),
                                "lto": ("-DALLOT_COMPILED", "-flto")}.items()}
    sizes = {kind: sum(int(run("size", one).splitlines()[1].split()[0]) for one in both) for kind, both in made.items()}
    must(sizes["compiled"] < sizes["headers"] / 2, f"ALLOT_COMPILED leaves {sizes['compiled']} of {sizes['headers']} bytes of code")

    def good(name, *parts):
        run(*cxx, *parts, f"-Wl,-rpath,{work}", "-o", work / name)
        must(run(work / name) == "one program\n", f"{name} prints something else")

    good("compiled and headers", made["compiled"][0], made["headers"][1], library)
    good("headers and compiled", made["headers"][0], made["compiled"][1], library)
    # A project's own set: in its own file, where the library is made without it; not one that the library has.
    slow = re.compile(r" ([UW]) allot::\S*detail::row_requests<allot::\S*detail::row_core<.*>::allocate\(")
    in_file = {kind: set(slow.findall(run("nm", "-C", one))) for kind, one in {
        "own": objects("own", PROGRAM / "sets.cpp", "-DALLOT_COMPILED", "-O2"), "used": made["compiled"][0], "headers": made["headers"][0]}.items()}
    must(in_file == {"own": {"W"}, "used": {"U"}, "headers": {"W"}}, f"the code of the set is in other files: {in_file}")
    for answers, taken in {"allot::size::exact": False, "": True}.items():  # without accounts; as the library's
        (work / "sets.cpp").write_text("#define ALLOT_DEFINE_SETS\n#include <allot/row_manager.hpp>\n#include <allot/chunk_arena.hpp>\n"
                                       f"namespace db {{ struct mine : allot::policies<{answers}> {{}}; }}\nALLOT_COMPILED_ROWS(db::mine)\n")
        output = run(*cxx, "-DALLOT_COMPILED", "-fsyntax-only", work / "sets.cpp", fails=taken)
    must("has the code of a set with these answers: leave this out" in output, "a set that the library has is taken twice")
    # Sets that hold every answer (tests/conform) are taken, too.
    dozen = re.findall(r'^ALLOT_ROW_SET\((of_1_\d+), "[^"]*", (.*)\)$', (ALLOT / "tests/conform/sets.inc").read_text(), re.M)
    must(len(dozen) == 12, "tests/conform/sets.inc has not twelve sets that hold every answer")
    (work / "dozen.cpp").write_text("#define ALLOT_DEFINE_SETS\n#include <allot/allot.hpp>\n#include <allot/device.hpp>\nusing own_list = allot::size::list::even;\n" + "".join(
        f"struct {name} : allot::policies<{answers}> {{}};\nALLOT_COMPILED_ROWS({name})\n" for name, answers in dozen))
    run(*cxx, "-DALLOT_COMPILED", "-fsyntax-only", work / "dozen.cpp")
    (work / "late.cpp").write_text("#include <allot/row_manager.hpp>\n#define ALLOT_DEFINE\n#include <allot/compiled.hpp>\n")
    output = run(*cxx, "-fsyntax-only", work / "late.cpp", fails=True)
    must("define ALLOT_DEFINE before the first header of allot" in output, "a library without definitions is made")
    good("with the shared library", *made["compiled"], work / "liballot.so")
    good("hidden, with the shared library", *made["hidden"], work / "liballot.so")
    good("with LTO", *made["lto"], library, "-flto")
    for kind, both in made.items():  # each kind in a library of its own, beside a program of headers, and of the compiled library
        if kind != "lto":
            run(*cxx, "-shared", both[0], *([library] if kind == "compiled" else [work / "liballot.so"]), f"-Wl,-rpath,{work}", "-o", work / f"lib{kind}.so")
            good(f"headers with a library of {kind}", made["headers"][1], work / f"lib{kind}.so")
            good(f"compiled with a library of {kind}", made["compiled"][1], work / f"lib{kind}.so", work / "liballot.so")
    for kind in ("headers", "compiled"):  # two static libraries, each with all that it needs
        run("ar", "rcs", work / f"lib{kind}.a", made[kind][0], *([library] if kind == "compiled" else []))
    good("two static libraries", made["headers"][1], work / "libcompiled.a", work / "libheaders.a")

    for flag in ("-DALLOT_CHECKED=1", "-DALLOT_FAULTS=1", "-DALLOT_FORK=1", "-DALLOT_XXHASH=0", "-DALLOT_ABI_NAME=own", "-fno-exceptions", "-fno-rtti",
                 "-fsanitize=address", "-fsanitize=thread"):
        other = objects("other", PROGRAM / "files.cpp", "-DALLOT_COMPILED", flag)
        output = run(*cxx, *([flag] if "sanitize" in flag else []), other, library, "-o", work / "other", fails=True)
        must("undefined reference to `allot::v" in output, f"{flag} is no link error")


def compiled_packages(work):
    """allot::compiled, installed and made by the project; pkg-config's allot-compiled; checked; the switches are the library's."""
    (work / "user").mkdir()
    for name in ("uses.cpp", "makes.cpp", "makes.hpp", "sets.cpp"):
        shutil.copy(PROGRAM / name, work / "user")
    (work / "user/CMakeLists.txt").write_text("""cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
find_package(allot 0.2 REQUIRED)
allot_compiled_library(checked_allot SHARED CHECKED)
add_executable(uses uses.cpp makes.cpp sets.cpp)
target_link_libraries(uses PRIVATE allot::compiled)
add_executable(checked EXCLUDE_FROM_ALL uses.cpp makes.cpp sets.cpp)
target_link_libraries(checked PRIVATE checked_allot)
""")

    def user(name, kind, *targets):
        cmake(work / "user", work / f"user of {name}", f"-DCMAKE_PREFIX_PATH={work / name}", f"-DBUILD_SHARED_LIBS={kind}")
        run("cmake", "--build", work / f"user of {name}", "--target", *targets)
        for target in targets:
            must(run(work / f"user of {name}" / target) == "one program\n", f"{target} with {name} prints something else")

    def install(name, *options):
        cmake(ALLOT, work / f"build of {name}", *NO_PROGRAMS, *options)
        run("cmake", "--build", work / f"build of {name}")
        run("cmake", "--install", work / f"build of {name}", "--prefix", work / name)

    install("headers")
    must(not list((work / "headers").rglob("liballot*")), "headers alone install a library")
    user("headers", "ON", "checked")
    install("static", "-DALLOT_COMPILED_LIBRARY=STATIC")
    user("static", "OFF", "uses")
    if shutil.which("pkg-config"):
        found = {**os.environ, "PKG_CONFIG_PATH": str(work / "static/share/pkgconfig")}
        flags = run("pkg-config", "--cflags", "--libs", "allot-compiled", env=found)
        must("-DALLOT_COMPILED" in flags and "-DALLOT_XXHASH=" in flags, "allot-compiled.pc gives no definitions")
        run("sh", "-c", f"cd '{work}/user' && eval {os.environ.get('CXX', 'g++')} -std=c++20 uses.cpp makes.cpp sets.cpp \"$(pkg-config --cflags --libs allot-compiled)\" -o uses",
            env=found)
        must(run(work / "user/uses") == "one program\n", "the program of pkg-config prints something else")


# --- recipes -----------------------------------------------------------------------------------------------------
SUBSTITUTES = """
cmake_minimum_required(VERSION 3.25)
set(CURRENT_PORT_DIR [==[@PORT@]==])
set(CURRENT_PACKAGES_DIR [==[@PACKAGES@]==])
function(call)
    execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(vcpkg_check_features)
    cmake_parse_arguments(it "" "OUT_FEATURE_OPTIONS" "FEATURES" ${ARGN})
    set(${it_OUT_FEATURE_OPTIONS} -DALLOT_WITH_LZ4=OFF -DALLOT_WITH_URING=OFF PARENT_SCOPE)
endfunction()
function(vcpkg_cmake_configure)
    cmake_parse_arguments(it "" "SOURCE_PATH" "OPTIONS" ${ARGN})
    call(${CMAKE_COMMAND} -S ${it_SOURCE_PATH} -B ${CURRENT_PACKAGES_DIR}/build ${it_OPTIONS})
endfunction()
function(vcpkg_cmake_install)
    call(${CMAKE_COMMAND} --install ${CURRENT_PACKAGES_DIR}/build --prefix ${CURRENT_PACKAGES_DIR})
endfunction()
function(vcpkg_cmake_config_fixup)
    cmake_parse_arguments(it "" "PACKAGE_NAME;CONFIG_PATH" "" ${ARGN})
    file(RENAME ${CURRENT_PACKAGES_DIR}/${it_CONFIG_PATH} ${CURRENT_PACKAGES_DIR}/share/${it_PACKAGE_NAME})
endfunction()
function(vcpkg_fixup_pkgconfig)
endfunction()
function(vcpkg_install_copyright)
    cmake_parse_arguments(it "" "" "FILE_LIST" ${ARGN})
    file(INSTALL ${it_FILE_LIST} DESTINATION ${CURRENT_PACKAGES_DIR}/share/allot)
endfunction()
include(${CURRENT_PORT_DIR}/portfile.cmake)
"""


def recipes(work):
    """One version everywhere. The port of vcpkg runs, with substitutes for vcpkg's functions, and installs what it should."""
    header = (ALLOT / "include/allot/version.hpp").read_text()
    version = ".".join(re.findall(r"^#define ALLOT_VERSION_\w+ (\d+)", header, re.M))
    port = ALLOT / "packaging/vcpkg/ports/allot"
    must(json.loads((port / "vcpkg.json").read_text())["version"] == version, f"vcpkg.json is not of version {version}")
    must(f"\nallot/{version}\n" in PAGE, f"docs/install.md asks Conan for another version than {version}")

    script = work / "substitutes.cmake"
    script.write_text(SUBSTITUTES.replace("@PORT@", str(port)).replace("@PACKAGES@", str(work / "packages")))
    run("cmake", "-P", script)
    for name in ("include/allot/row_manager.hpp", "share/allot/allotConfig.cmake", "share/pkgconfig/allot.pc", "share/allot/LICENSE"):
        must((work / "packages" / name).exists(), f"the port of vcpkg does not install {name}")


def meson_with_pkg_config(work):
    """dependency('allot') takes an installed allot, and no subproject."""
    cmake(ALLOT, work / "allot", *NO_PROGRAMS)
    run("cmake", "--install", work / "allot", "--prefix", work / "prefix")
    (work / "meson.build").write_text("project('first', 'cpp', default_options: ['cpp_std=c++20'])\n"
                                      "allot = dependency('allot', version: '>=0.2')\nassert(allot.type_name() == 'pkgconfig')\n"
                                      "assert(meson.get_compiler('cpp').has_header('allot/version.hpp', dependencies: allot))\n")
    run("meson", "setup", work / "build", work, env={**os.environ, "PKG_CONFIG_PATH": str(work / "prefix/share/pkgconfig")})


# name: (tools beside CMake and g++, what is run)
ROWS = {
    "find_package": ([], page("find_package")),
    "add_subdirectory": ([], page("add_subdirectory")),
    "FetchContent": ([], page("FetchContent")),
    "pkg-config": (["pkg-config"], page("pkg-config")),
    "single header": ([], page("Single header")),
    "meson": (["meson"], page("Meson")),
    "conan": (["conan"], page("Conan")),
    "vcpkg": (["vcpkg"], page("vcpkg")),
    "targets": ([], targets),
    "alone": ([], alone),
    "parent exports": ([], parent_exports),
    "single header units": (["clang++"], single_header),
    "meson with pkg-config": (["meson", "pkg-config"], meson_with_pkg_config),
    "compiled library": ([], page("The compiled library")),
    "compiled": ([], compiled),
    "compiled packages": ([], compiled_packages),
    "recipes": ([], recipes),
}


def missing(tools):
    found = {tool: "VCPKG_ROOT" in os.environ if tool == "vcpkg" else shutil.which(tool) for tool in tools}
    return [f"no {tool} ({TOOLS[tool]})" for tool in tools if not found[tool]]


def main(name):
    if name == "--list":
        print("\n".join(ROWS))
    elif name == "--missing":
        print("".join(f"consumer.{row}: {', '.join(missing(tools))}\n" for row, (tools, _) in ROWS.items() if missing(tools)), end="")
    elif name not in ROWS:
        sys.exit(f"packages.py: no row {name}. One of: {', '.join(ROWS)}")
    else:
        tools, steps = ROWS[name]
        if missing(tools):
            print(f"skipped: {', '.join(missing(tools))}")
            sys.exit(77)
        work = pathlib.Path(name, "a folder").resolve()
        shutil.rmtree(work.parent, ignore_errors=True)
        work.mkdir(parents=True)
        try:
            steps(work)
        except failure as e:
            sys.exit(f"packages.py: {name}: {e}")


main(sys.argv[1] if len(sys.argv) == 2 else "")
