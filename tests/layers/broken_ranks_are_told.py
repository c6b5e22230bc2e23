"""The check of the ranks goes red for each rule: it is run over small wrong trees."""

import sys
import tempfile
import unittest
from pathlib import Path

from _layers import Layers, check

RANKS = {"config.hpp": -1, "core": 0, "sys": 2, "page": 3, "slots": 3, "device": 3, "spill": 8, "oom": 9, "report": 9}
ALLOT, ENGINE, DEVICE, TOOLS = ({name} for name in ("allot", "allot_engine", "allot_device", "allot_tools"))
TARGETS = {"config.hpp": ALLOT, "core": ALLOT, "sys": ALLOT, "page": ALLOT, "slots": ALLOT, "device": DEVICE, "spill": ENGINE, "oom": ENGINE, "report": TOOLS,
           "report/rows.hpp": ALLOT, "report/devices.hpp": DEVICE, "oom/on_device.hpp": ENGINE | DEVICE,
           "allot.hpp": ALLOT, "device.hpp": DEVICE, "row_manager.hpp": ALLOT, "all.hpp": TOOLS}
LAYERS = Layers(RANKS, TARGETS)
GUARD = "#pragma once\n"


class layers(unittest.TestCase):
    def told(self, name, text, guard=GUARD, more=None):
        with tempfile.TemporaryDirectory() as folder:
            base = {"config.hpp": "", "core/bits.hpp": "", "page/arena.hpp": "", "device/cuda.hpp": "",
                    "row_manager.hpp": "", **(more or {})}
            for header, content in base.items():
                path = Path(folder, header)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(GUARD + content)
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(guard + text)
            return check(folder, LAYERS)

    def assert_told(self, name, text, reason, more=None):
        found = self.told(name, text, more=more)
        self.assertEqual(len(found), 1, found)
        self.assertIn(reason, found[0])

    def assert_fine(self, name, text):
        self.assertEqual(self.told(name, text), [])

    def test_lower_ranks_and_the_own_folder_are_fine(self):
        self.assert_fine("page/mapped.hpp",
                         "#include <allot/page/arena.hpp>\n#include <allot/core/bits.hpp>\n#include <vector>\n")

    def test_a_higher_rank(self):
        self.assert_told("core/units.hpp", "#include <allot/page/arena.hpp>\n", "of rank 3, and core of rank 0")

    def test_a_neighbour_of_the_same_rank(self):
        self.assert_told("page/mapped.hpp", "#include <allot/slots/mark.hpp>\n", "of rank 3, and page of rank 3", {"slots/mark.hpp": ""})

    def test_an_index_header_from_inside(self):
        self.assert_told("page/mapped.hpp", "#include <allot/row_manager.hpp>\n", "is an index header")

    def test_an_index_header_includes_all(self):
        self.assert_fine("all.hpp", "#include <allot/row_manager.hpp>\n#include <allot/page/arena.hpp>\n")

    def test_a_header_of_a_target_that_it_may_not_include(self):
        engine, device = "#include <allot/spill/store.hpp>\n", "#include <allot/device/cuda.hpp>\n"
        for header, text, wrong in (
                ("report/rows.hpp", device, "device/cuda.hpp> is of allot_device, and report/rows.hpp of allot"),
                ("report/devices.hpp", device, None),
                ("report/html.hpp", device, None),
                ("oom/task.hpp", device, "is of allot_device, and oom/task.hpp of allot_engine"),
                ("oom/on_device.hpp", device, None),
                ("row_manager.hpp", device, "is of allot_device, and row_manager.hpp of allot"),
                ("row_manager.hpp", "#include <allot/oom/on_device.hpp>\n", "is of allot_device and allot_engine, and row_manager.hpp of allot"),
                ("report/devices.hpp", engine, "is of allot_engine, and report/devices.hpp of allot_device"),
                ("oom/on_device.hpp", engine, None)):
            with self.subTest(header):
                more = {"spill/store.hpp": "", "oom/on_device.hpp": ""}
                if wrong:
                    self.assert_told(header, text, wrong, more)
                else:
                    self.assertEqual(self.told(header, text, more=more), [])

    def test_a_header_without_a_target(self):
        self.assert_told("other.hpp", "", "has no target")

    def test_an_umbrella_that_does_not_reach_a_header_of_its_target(self):
        reaching = {"allot.hpp": "#include <allot/page/arena.hpp>\n#include <allot/row_manager.hpp>\n", "page/arena.hpp": "#include <allot/core/bits.hpp>\n",
                    "row_manager.hpp": "#include <allot/config.hpp>\n"}
        self.assertEqual(self.told("report/html.hpp", "", more=reaching), [])
        self.assert_told("report/rows.hpp", "", "allot/allot.hpp does not reach it", reaching)
        reaching["page/arena.hpp"] += "#include <allot/sys/map.hpp>\n"
        self.assertEqual(self.told("sys/map.hpp", "", more=reaching), [])

    def test_an_umbrella_without_third_parties(self):
        self.assertEqual(self.told("device/cuda.hpp", "#include <cuda.h>\n", more={"device.hpp": ""}), [])
        self.assert_told("device/cuda.hpp", "", "allot/device.hpp does not reach it", {"device.hpp": ""})

    def test_a_header_that_is_not_there(self):
        self.assert_told("page/mapped.hpp", "#include <allot/core/nothing.hpp>\n", "does not exist")

    def test_quotes(self):
        self.assert_told("page/mapped.hpp", '#include "arena.hpp"\n', "by quotes")

    def test_third_parties_only_where_they_may_stand(self):
        self.assert_told("page/mapped.hpp", "#include <sys/mman.h>\n", "is not the standard library's")
        for library in ("lz4.h", "xxhash.h", "liburing.h"):
            for header in ("spill/chain.hpp", "sys/map.hpp"):
                self.assert_told(header, f"#include <{library}>\n", "stands only in spill/store")
            self.assert_fine("spill/store/packed.hpp", f"#include <{library}>\n")
        self.assert_told("spill/store/packed.hpp", "#include <sys/mman.h>\n", "is not the standard library's")
        self.assert_fine("sys/map.hpp", "#include <sys/mman.h>\n")

    def test_no_atomics_in_the_core(self):
        self.assert_told("core/units.hpp", "#include <atomic>\n", "neither the OS nor atomics")

    def test_platforms_only_in_config(self):
        self.assert_told("page/mapped.hpp", "#if defined(__linux__)\n#endif\n", "#if on __linux__")
        self.assert_fine("page/mapped.hpp", "#if ALLOT_CHECKED && __has_include(<x.h>)\n#endif\n")
        self.assert_fine("config.hpp", "#if defined(__linux__)\n#endif\n")

    def test_a_folder_without_a_rank(self):
        self.assert_told("cellar/box.hpp", "", "has no rank")

    def test_no_guard(self):
        self.assertEqual(self.told("page/mapped.hpp", "", guard=""), ["page/mapped.hpp:1: no #pragma once"])

    def test_a_file_too_long(self):
        self.assert_told("page/mapped.hpp", "\n" * 600, "more than 600 lines")
        self.assert_fine("page/mapped.hpp", "\n" * 599)

    def test_a_folder_with_too_many_floors(self):
        for most, wrong in {10: 0, 11: 1}.items():
            with tempfile.TemporaryDirectory() as folder:
                Path(folder, "page").mkdir()
                for n in range(1, most + 1):
                    below = f"#include <allot/page/p{n - 1}.hpp>\n" if n > 1 else ""
                    Path(folder, f"page/p{n}.hpp").write_text(GUARD + below)
                found = check(folder, LAYERS)
                self.assertEqual(len(found), wrong, found)
                if found:
                    self.assertIn("on floor 11, of 10", found[0])

    def test_a_class_over_two_files(self):
        at = "page/mapped.hpp"
        for member in ("inline int box::size() const {", "template <class T> void box::add(T x) {", "box::~box() {}",
                       "class box::lid {"):
            with self.subTest(member), tempfile.TemporaryDirectory() as folder:
                for header, text in {"page/box.hpp": "class box {\n};\n", at: member + "\n"}.items():
                    Path(folder, "page").mkdir(exist_ok=True)
                    Path(folder, header).write_text(GUARD + text)
                self.assertEqual(len(check(folder, LAYERS)), 1)
        self.assert_fine(at, "class box {\n  int size() const;\n};\ninline int box::size() const { return 1; }\n")

    def test_a_function_that_a_higher_header_defines(self):
        low = "namespace a {\nstruct s;\n[[nodiscard]] bool holds(const s& of) noexcept; // there\n} // namespace a\n"
        for high, wrong in {
                "namespace a {\ninline bool holds(const s& of) noexcept { return true; }\n}\n": 1,
                "namespace a {\ntemplate <class T> bool holds(const T& of) noexcept { return holds(of.a); }\n}\n": 1,
                "namespace a {\ninline bool is(const s& of) noexcept { return holds(of); }\n}\n": 0,
                "struct t { bool holds(const s& of) const { return true; } };\n": 0}.items():
            with self.subTest(high), tempfile.TemporaryDirectory() as folder:
                Path(folder, "page").mkdir()
                Path(folder, "page/low.hpp").write_text(GUARD + low)
                Path(folder, "page/next.hpp").write_text(GUARD + "#include <allot/page/low.hpp>\n")
                Path(folder, "page/high.hpp").write_text(GUARD + "#include <allot/page/next.hpp>\n" + high)
                found = check(folder, LAYERS)
                self.assertEqual(len(found), wrong, found)
                if found:
                    self.assertIn("page/low.hpp:4: holds() is defined in page/high.hpp", found[0])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
