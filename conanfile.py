# allot for Conan 2: `conan create . -s compiler.cppstd=20` takes the sources from this folder. docs/install.md has the steps.
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.files import copy, load
from conan.tools.layout import basic_layout

required_conan_version = ">=2.0"


class Allot(ConanFile):
    name = "allot"
    description = "Policy-based allocators and row managers, header only"
    license = "BSL-1.0"
    topics = ("allocator", "memory", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"lz4": [True, False], "uring": [True, False], "compiled": [False, "static", "shared"]}
    default_options = {"lz4": False, "uring": False, "compiled": False}
    exports_sources = "include/*", "LICENSE", "CMakeLists.txt", "cmake/*", "docs/layers.txt"
    exports = "include/allot/version.hpp"
    no_copy_source = True
    test_package_folder = "packaging/conan/test_package"

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, "include/allot/version.hpp"))
        self.version = ".".join(re.findall(r"^#define ALLOT_VERSION_\w+ (\d+)", text, re.M))

    def layout(self):
        basic_layout(self)

    def requirements(self):
        if self.options.lz4:
            self.requires("lz4/[>=1.9 <2]")
        if self.options.uring:
            self.requires("liburing/[>=2.3 <3]")

    def configure(self):
        if self.options.compiled:
            self.package_type = f"{self.options.compiled}-library"

    def package_id(self):
        if not self.info.options.compiled:
            self.info.clear()

    def generate(self):
        if self.options.compiled:
            toolchain = CMakeToolchain(self)
            toolchain.cache_variables |= {"ALLOT_TESTS": False, "ALLOT_EXAMPLES": False, "CMAKE_DISABLE_FIND_PACKAGE_Catch2": True,
                                          "ALLOT_COMPILED_LIBRARY": str(self.options.compiled).upper()}
            toolchain.generate()

    def build(self):
        if self.options.compiled:
            cmake = CMake(self)
            cmake.configure()
            cmake.build()

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("allot needs Linux")
        check_min_cppstd(self, 20)

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*.hpp", os.path.join(self.source_folder, "include"), os.path.join(self.package_folder, "include"))
        for library in ("*.a", "*.so*"):
            copy(self, library, self.build_folder, os.path.join(self.package_folder, "lib"), keep_path=False)
        copy(self, "allot-compiled.pc", self.build_folder, os.path.join(self.package_folder, "lib")) # package_info() reads it

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.system_libs = ["pthread"]
        self.cpp_info.defines = [f"ALLOT_{name.upper()}=1" for name in ("lz4", "uring") if self.options.get_safe(name)]
        switches = os.path.join(self.package_folder, "lib", "allot-compiled.pc")
        if os.path.exists(switches):
            self.cpp_info.libs = ["allot"]
            self.cpp_info.defines += re.findall(r" -D(\S+)", load(self, switches))
        else:
            self.cpp_info.libdirs = []
        self.cpp_info.set_property("cmake_file_name", "allot")
        self.cpp_info.set_property("cmake_target_name", "allot::allot")
        self.cpp_info.set_property("pkg_config_name", "allot")
