# allot for Conan 2: `conan create . -s compiler.cppstd=20` takes the sources from this folder. docs/install.md has the steps.
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
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
    options = {"lz4": [True, False], "uring": [True, False]}
    default_options = {"lz4": False, "uring": False}
    exports_sources = "include/*", "LICENSE"
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

    def package_id(self):
        self.info.clear()

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("allot needs Linux")
        check_min_cppstd(self, 20)

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*.hpp", os.path.join(self.source_folder, "include"), os.path.join(self.package_folder, "include"))

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.system_libs = ["pthread"]
        self.cpp_info.defines = [f"ALLOT_{name.upper()}=1" for name in ("lz4", "uring") if self.options.get_safe(name)]
        self.cpp_info.set_property("cmake_file_name", "allot")
        self.cpp_info.set_property("cmake_target_name", "allot::allot")
        self.cpp_info.set_property("pkg_config_name", "allot")
