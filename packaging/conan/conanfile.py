# SPDX-License-Identifier: Apache-2.0
"""Braid for Conan 2: `conan create packaging/conan`, in a checkout or with the sources of a release."""
import os
import re

from conan import ConanFile
from conan.tools.files import copy, load
from conan.tools.layout import basic_layout
from conan.tools.meson import Meson, MesonToolchain

required_conan_version = ">=2.0"


class BraidConan(ConanFile):
    name = "braid"
    description = "Plans graphs of GPU kernels onto a few streams and replays them every frame"
    license = "Apache-2.0"
    topics = ("cuda", "hip", "gpu", "scheduling", "task-graph")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": False, "fPIC": True}
    implements = ["auto_shared_fpic"]

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "..", "..", "include", "braid", "braid.h"))
        self.version = ".".join(re.findall(r"#define BRAID_VERSION_[A-Z]* (\d+)", header))

    def export_sources(self):
        top = os.path.join(self.recipe_folder, "..", "..")
        for pattern in ("meson.build", "meson_options.txt", "LICENSE", "include/*", "src/*", "addons/*", "packaging/*"):
            copy(self, pattern, top, self.export_sources_folder)

    def configure(self):
        self.settings.rm_safe("compiler.cppstd")
        self.settings.rm_safe("compiler.libcxx")

    def layout(self):
        basic_layout(self)

    def generate(self):
        toolchain = MesonToolchain(self)
        # The library alone: what is not exported is not asked for.
        toolchain.project_options.update(library_only=True)
        toolchain.generate()

    def build(self):
        meson = Meson(self)
        meson.configure()
        meson.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        Meson(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "braid")
        for name, library, needed in (("braid", "braid", []), ("ranks", "braid_ranks", ["braid"])):
            component = self.cpp_info.components[name]
            component.libs = [library]
            component.requires = needed
            component.set_property("cmake_target_name", "braid::" + name)
            component.set_property("pkg_config_name", library)
            component.system_libs = ["pthread", "dl", "m"]
