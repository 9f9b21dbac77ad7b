#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Other projects find the installed library with pkg-config and CMake, and build it as a subproject
of Meson. Speaks TAP. check_install.py BUILD_DIR SOURCE_DIR VERSION"""
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "structure"))
from check_structure import list_files  # noqa: E402

PROGRAM = os.path.join(HERE, "outside.c")
CMAKE_PROJECT = """cmake_minimum_required(VERSION 3.16)
project(outside C)
find_package(braid {version} REQUIRED {components})
add_executable(outside outside.c)
target_link_libraries(outside PRIVATE {target})
"""
CMAKE_WHOLE = """cmake_minimum_required(VERSION 3.16)
project(outside C)
{get}
add_executable(outside outside.c)
target_link_libraries(outside PRIVATE braid::braid)
"""
BY_FETCHING = """include(FetchContent)
FetchContent_Declare(braid URL {archive})
FetchContent_MakeAvailable(braid)"""
MESON_PROJECT = """project('outside', 'c', default_options: ['default_library={kind}'])
executable('outside', 'outside.c', dependencies: dependency('braid', version: '>=0.2'),
  install: false)
"""
# All examples in C and C++, by their own files of Meson, beside the installed package.
EXAMPLES_PROJECT = """project('examples', 'c', 'cpp', default_options: ['c_std=c11', 'werror=true'])
cc = meson.get_compiler('c')
braid_addons = ['accesses', 'report', 'tune']
braid_warnings = ['-Wall', '-Wextra', '-D_GNU_SOURCE']
braid_dep = dependency('braid')
braid_ranks_dep = dependency('braid_ranks')
subdir('examples')
"""
RANKS_PROGRAM = """#include <braid/braid.h>
#include <stdio.h>

int main(void)
{
    if (braid_ranks_check(NULL) == BRAID_INVALID_ARGUMENT)
        printf("braid %s\\n", braid_get_version());
    return 0;
}
"""


class Skip(Exception):
    """The case cannot run here."""


class Trial:
    """Folders, and programs that must succeed."""

    def __init__(self, build, source, version, top):
        self.build, self.source, self.version, self.top = build, source, version, top
        self.stage = os.path.join(top, "stage")
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("PKG_CONFIG", "LD_LIBRARY_PATH", "MESON",
                                                    "DESTDIR", "CFLAGS", "LDFLAGS"))}
        self.environment["CMAKE_GENERATOR"] = "Ninja"  # Meson needs ninja anyway; make may be missing

    def run(self, *command, folder=None, **environment):
        done = subprocess.run(command, cwd=folder or self.top, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False,
                              env={**self.environment, **environment})
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(command)} failed:\n{done.stdout}")
        return done.stdout

    def folder(self, name):
        folder = os.path.join(self.top, name)
        os.makedirs(folder)
        shutil.copy(PROGRAM, folder)
        return folder

    def find(self, name, top=None):
        for folder, _, files in os.walk(top or self.stage):
            if name in files:
                return os.path.join(folder, name)
        raise AssertionError(f"{name} is not in {top or self.stage}")

    def install(self):
        self.run("meson", "install", "--no-rebuild", "--quiet", "-C", self.build, "--destdir",
                 self.stage)

    def ranks_folder(self, name):
        """As above, with a program that needs libbraid_ranks."""
        folder = self.folder(name)
        with open(os.path.join(folder, "outside.c"), "w", encoding="utf-8") as file:
            file.write(RANKS_PROGRAM)
        return folder

    def pkg_config(self, *options, name="braid"):
        folder = os.path.dirname(self.find("braid.pc"))
        return self.run("pkg-config", *options, name, PKG_CONFIG_LIBDIR=folder,
                        PKG_CONFIG_SYSROOT_DIR=self.stage).split()

    def check_runs(self, program, shared):
        """It prints the version, and needs the shared library or does not."""
        library_path = os.path.dirname(self.find("libbraid.a")) if shared else "/nowhere"
        said = self.run(program, BRAID_BACKENDS="cpu", LD_LIBRARY_PATH=library_path)
        assert said == f"braid {self.version}\n", said
        needed = re.findall(r"NEEDED.*libbraid\S*", self.run("readelf", "--dynamic", program))
        assert bool(needed) == shared, needed


def by_pkg_config(trial):
    folder = trial.folder("pkg-config")
    trial.run("cc", "outside.c", "-o", "outside", *trial.pkg_config("--cflags", "--libs"),
              folder=folder)
    trial.check_runs(os.path.join(folder, "outside"), True)
    said = trial.pkg_config("--modversion")
    assert said == [trial.version], said


def statically_by_pkg_config(trial):
    folder = trial.folder("pkg-config-static")
    trial.run("cc", "-static", "outside.c", "-o", "outside",
              *trial.pkg_config("--static", "--cflags", "--libs"), folder=folder)
    trial.check_runs(os.path.join(folder, "outside"), False)


def ranks_by_pkg_config(trial):
    folder = trial.ranks_folder("pkg-config-ranks")
    for shared, options in ((True, []), (False, ["-static"])):
        flags = trial.pkg_config(*(["--static"] if options else []), "--cflags", "--libs", name="braid_ranks")
        trial.run("cc", *options, "outside.c", "-o", "outside", *flags, folder=folder)
        trial.check_runs(os.path.join(folder, "outside"), shared)


def no_ranks_without_their_library(trial):
    folder = trial.ranks_folder("pkg-config-no-ranks")
    try:
        trial.run("cc", "outside.c", "-o", "outside", *trial.pkg_config("--cflags", "--libs"), folder=folder)
    except AssertionError as error:
        assert "braid_ranks_check" in str(error), error
        return
    raise AssertionError("libbraid alone has ranks")


def by_cmake(trial, name, components, target, shared):
    if not shutil.which("cmake"):
        raise Skip("cmake is not installed")
    folder = trial.ranks_folder("cmake-" + name) if "ranks" in target else trial.folder("cmake-" + name)
    version = ".".join(trial.version.split(".")[:2])
    with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="utf-8") as file:
        file.write(CMAKE_PROJECT.format(version=version, components=components, target=target))
    config = os.path.dirname(trial.find("braidConfig.cmake"))
    trial.run("cmake", "-S", ".", "-B", "build", f"-Dbraid_DIR={config}", folder=folder)
    trial.run("cmake", "--build", "build", folder=folder)
    trial.check_runs(os.path.join(folder, "build", "outside"), shared)


def by_cmake_as_vcpkg_moves_it(trial):
    """Into share/braid, after the replacement that vcpkg_cmake_config_fixup makes; debug builds under debug/."""
    if not shutil.which("cmake"):
        raise Skip("cmake is not installed")
    config, library = trial.find("braidConfig.cmake"), trial.find("libbraid.a")
    headers = os.path.dirname(os.path.dirname(trial.find("braid.h")))
    prefix = os.path.join(trial.top, "vcpkg")
    libdir = os.path.relpath(os.path.dirname(library), os.path.dirname(headers))  # lib, lib64, or lib/TRIPLET
    for folder in ("share/braid", f"debug/{libdir}", libdir):
        os.makedirs(os.path.join(prefix, folder))
    for folder in (libdir, f"debug/{libdir}"):
        shutil.copy(library, os.path.join(prefix, folder))
    shutil.copytree(headers, os.path.join(prefix, "include"))
    with open(config, encoding="utf-8") as file:
        text, num = re.subn(r'(PACKAGE_PREFIX_DIR "\$\{CMAKE_CURRENT_LIST_DIR\}/)\.\.((\\|/)\.\.)*(" ABSOLUTE)',
                            r"\1../..\4", file.read())
    assert num == 1, "vcpkg would not know the way to the prefix"
    with open(os.path.join(prefix, "share/braid/braidConfig.cmake"), "w", encoding="utf-8") as file:
        file.write(text)
    folder = trial.folder("cmake-vcpkg")
    with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="utf-8") as file:
        file.write(CMAKE_PROJECT.format(version="", components="", target="braid::braid"))
    for kind, linked in (("Release", f"vcpkg/{libdir}/libbraid.a"), ("Debug", f"vcpkg/debug/{libdir}/libbraid.a")):
        trial.run("cmake", "-S", ".", "-B", kind, f"-Dbraid_DIR={prefix}/share/braid", f"-DCMAKE_BUILD_TYPE={kind}",
                  folder=folder)
        said = trial.run("cmake", "--build", kind, "--verbose", folder=folder)
        assert linked in said, f"{linked} is not linked: {said}"
        trial.check_runs(os.path.join(folder, kind, "outside"), False)


def check_first_plan(trial, program):
    said = trial.run(program, LD_LIBRARY_PATH=os.path.dirname(trial.find("libbraid.a")))
    assert "lane 0: wait for left\n" in said, said


def example_by_meson(trial):
    folder = os.path.join(trial.top, "example-meson")
    trial.run("meson", "setup", folder, os.path.join(trial.source, "examples", "project"),
              PKG_CONFIG_LIBDIR=os.path.dirname(trial.find("braid.pc")),
              PKG_CONFIG_SYSROOT_DIR=trial.stage)
    trial.run("ninja", "-C", folder)
    check_first_plan(trial, os.path.join(folder, "first_plan"))


def example_by_cmake(trial):
    if not shutil.which("cmake"):
        raise Skip("cmake is not installed")
    folder = os.path.join(trial.top, "example-cmake")
    config = os.path.dirname(trial.find("braidConfig.cmake"))
    trial.run("cmake", "-S", os.path.join(trial.source, "examples", "project"), "-B", folder,
              f"-Dbraid_DIR={config}")
    trial.run("cmake", "--build", folder)
    check_first_plan(trial, os.path.join(folder, "first_plan"))


def examples_by_meson(trial):
    folder = os.path.join(trial.top, "examples")
    shutil.copytree(os.path.join(trial.source, "examples"), os.path.join(folder, "examples"))
    for name, text in (("meson.build", EXAMPLES_PROJECT), ("meson_options.txt", "option('examples', type: 'feature')\n")):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    trial.run("meson", "setup", "build", folder=folder, PKG_CONFIG_LIBDIR=os.path.dirname(trial.find("braid.pc")),
              PKG_CONFIG_SYSROOT_DIR=trial.stage)
    trial.run("ninja", "-C", "build", folder=folder)
    built = json.loads(trial.run("meson", "introspect", "--targets", os.path.join(folder, "build")))
    programs = [one["filename"][0] for one in built if one["type"] == "executable"]
    assert len(programs) >= 20, programs
    library_path = os.path.dirname(trial.find("libbraid.a"))
    for name in ("first_graph", "lambdas"):
        program = os.path.join(folder, "build", "examples", name)
        trial.run(program, BRAID_BACKENDS="cpu", LD_LIBRARY_PATH=library_path)


def with_the_options_of_debian(trial):
    """Only configured: Meson knows all variables of all tests then. What the Python package needs may be missing here."""
    with open(os.path.join(trial.source, "packaging", "debian", "rules"), encoding="utf-8") as file:
        configure = re.search(r"dh_auto_configure -- ((?:.*\\\n)*.*)\$\(if", file.read()).group(1)
    options = re.findall(r"-D\w+=\S+", configure.replace("-Dpython=yes", "-Dpython=auto"))
    assert "-Dexamples=disabled" in options, options
    trial.run("meson", "setup", os.path.join(trial.folder("debian"), "build"), trial.source, *options, "-Dtests=enabled")


def cmake_refuses_other_versions(trial):
    if not shutil.which("cmake"):
        raise Skip("cmake is not installed")
    config = os.path.dirname(trial.find("braidConfig.cmake"))
    for version, fits in ((trial.version, True), ("99.0", False), ("0.0.1", False)):
        folder = trial.folder("cmake-version-" + version)
        with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write(CMAKE_PROJECT.format(version=version, components="", target="braid::braid"))
        try:
            trial.run("cmake", "-S", ".", "-B", "build", f"-Dbraid_DIR={config}", folder=folder)
            accepted = True
        except AssertionError:
            accepted = False
        assert accepted == fits, f"version {version}: accepted is {accepted}"


def pack_sources(trial, folder):
    """The archive of a release, and the wrap file that names it."""
    name = f"braid-{trial.version}"
    os.makedirs(os.path.join(folder, "subprojects", "packagefiles"))
    archive = os.path.join(folder, "subprojects", "packagefiles", name + ".tar.xz")
    with tarfile.open(archive, "w:xz", preset=0) as tar:
        for path in list_files(trial.source):
            tar.add(os.path.join(trial.source, path), f"{name}/{path}")
    with open(os.path.join(trial.source, "packaging", "braid.wrap"), encoding="utf-8") as file:
        wrap = file.read().replace("VERSION", trial.version)
    with open(os.path.join(folder, "subprojects", "braid.wrap"), "w", encoding="utf-8") as file:
        file.write(wrap)


def as_subproject(trial, kind):
    folder = trial.folder("subproject-" + kind)
    with open(os.path.join(folder, "meson.build"), "w", encoding="utf-8") as file:
        file.write(MESON_PROJECT.format(kind=kind))
    pack_sources(trial, folder)
    trial.run("meson", "setup", "build", "-Dbuildtype=plain", folder=folder, PKG_CONFIG_LIBDIR="/nowhere")
    build = os.path.join(folder, "build")
    targets = json.loads(trial.run("meson", "introspect", "--targets", build))
    built = {(target["name"], target["type"]) for target in targets if target["build_by_default"]}
    assert built == {(name, f"{kind} library") for name in ("braid", "braid_ranks")} | {("outside", "executable")}, built
    # Compiling the sources once more would tell nothing new.


def built_by_meson(trial, kind):
    """Files of the libraries, as the build has them. Those of libbraid are the same in both kinds. The
    shared library of ranks has the objects of the static one."""
    files = set()
    wanted = {("braid", "shared library"), ("braid_ranks", "static library"), ("braid_ranks", f"{kind} library")}
    for target in json.loads(trial.run("meson", "introspect", "--targets", trial.build)):
        if (target["name"], target["type"]) in wanted:
            wanted.remove((target["name"], target["type"]))
            lists = target["target_sources"]
            paths = [path for one in lists for key in ("sources", "generated_sources") for path in one.get(key, [])]
            files |= {os.path.basename(path) for path in paths if path.endswith(".c")}
    assert not wanted, f"Meson does not build {wanted}"
    return files


def as_a_part_by_cmake(trial, kind, get):
    if not shutil.which("cmake"):
        raise Skip("cmake is not installed")
    folder = trial.folder("cmake-part-" + kind)
    with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="utf-8") as file:
        file.write(CMAKE_WHOLE.format(get=get))
    trial.run("cmake", "-S", ".", "-B", "build", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DCMAKE_BUILD_TYPE=None",
              f"-DBUILD_SHARED_LIBS={'ON' if kind == 'shared' else 'OFF'}",
              f"-DCMAKE_C_COMPILER_LAUNCHER={os.path.join(HERE, 'take_object.sh')}", folder=folder)
    build = os.path.join(folder, "build")
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = [one for one in json.load(file) if os.path.basename(one["file"]) != "outside.c"]
    files = {os.path.basename(one["file"]) for one in commands}
    meson = built_by_meson(trial, kind)
    assert files == meson, f"CMake alone has {sorted(files - meson)}, Meson alone {sorted(meson - files)}"
    options = {tuple(word for word in one["command"].split() if word.startswith(("-I", "-f", "-std"))) for one in commands}
    assert len(options) == 1, f"CMake compiles files with different options: {options}"
    if kind == "static":
        return  # as for Meson's subproject
    objects = os.path.dirname(trial.find("graph_add.c.o", os.path.join(trial.build, "src")))
    trial.run("cmake", "--build", "build", folder=folder, BRAID_OBJECTS=os.path.abspath(objects))
    program = os.path.join(build, "outside")

    def find_built(name):
        return [folder for folder, _, files in os.walk(build) if name in files]

    assert find_built("libbraid.so")
    said = trial.run(program, BRAID_BACKENDS="cpu")
    assert said == f"braid {trial.version}\n", said
    assert not find_built("libbraid_ranks.so"), "CMake builds ranks for a program that does not link them"
    trial.run("cmake", "--build", "build", "--target", "braid_ranks", folder=folder, BRAID_OBJECTS=os.path.abspath(objects))
    assert find_built("libbraid_ranks.so")
    soname = ".".join(trial.version.split(".")[:2])
    needed = re.findall(r"NEEDED.*libbraid\S*", trial.run("readelf", "--dynamic", program))
    assert [f"libbraid.so.{soname}]" in one for one in needed] == [True], needed


def as_a_folder_by_cmake(trial):
    as_a_part_by_cmake(trial, "static", f"add_subdirectory({trial.source} braid)")


def as_an_archive_by_cmake(trial):
    packed = os.path.join(trial.top, "packed")
    pack_sources(trial, packed)
    archive = os.path.join(packed, "subprojects", "packagefiles", f"braid-{trial.version}.tar.xz")
    as_a_part_by_cmake(trial, "shared", BY_FETCHING.format(archive=archive))


def only_the_library_is_installed(trial):
    build = os.path.join(trial.top, "subproject-static", "build")
    paths = json.loads(trial.run("meson", "introspect", "--installed", build))
    names = {os.path.basename(path) for path in paths.values()}
    for name in names:
        expected = name.startswith(("libbraid.", "libbraid_ranks.")) or name.endswith((".h", ".hpp", ".pc", ".cmake"))
        assert expected or name == "braid", name  # the folder of headers
    assert {"braid", "libbraid.a"} <= names, names


CASES = [
    ("a program links by pkg-config", by_pkg_config),
    ("a static program links by pkg-config", statically_by_pkg_config),
    ("the examples in C and C++ build", examples_by_meson),
    ("CMake finds the shared library", lambda t: by_cmake(t, "any", "", "braid::braid", True)),
    ("CMake finds the static library when asked for it",
     lambda t: by_cmake(t, "static", "COMPONENTS static", "braid::braid", False)),
    ("CMake names both libraries",
     lambda t: by_cmake(t, "named", "COMPONENTS shared static", "braid::static", False)),
    ("a program with ranks links by pkg-config", ranks_by_pkg_config),
    ("a program with ranks does not link with libbraid alone", no_ranks_without_their_library),
    ("CMake finds the library of ranks", lambda t: by_cmake(t, "ranks", "COMPONENTS ranks", "braid::ranks", True)),
    ("CMake finds the static library of ranks",
     lambda t: by_cmake(t, "ranks-static", "COMPONENTS static ranks", "braid::ranks", False)),
    ("CMake finds it where vcpkg moves it", by_cmake_as_vcpkg_moves_it),
    ("the project to copy builds with Meson", example_by_meson),
    ("the project to copy builds with CMake", example_by_cmake),
    ("CMake refuses versions with another ABI", cmake_refuses_other_versions),
    ("Meson configures a static library as a subproject", lambda t: as_subproject(t, "static")),
    ("Meson configures a shared library as a subproject", lambda t: as_subproject(t, "shared")),
    ("the options of the Debian packages are configured", with_the_options_of_debian),
    ("a subproject installs the library alone", only_the_library_is_installed),
    ("CMake configures the library in a folder of a project", as_a_folder_by_cmake),
    ("CMake fetches and builds the library", as_an_archive_by_cmake),
]


def main():
    build, source, version = sys.argv[1:]
    failed = False
    print(f"1..{len(CASES)}", flush=True)
    with tempfile.TemporaryDirectory() as top:
        trial = Trial(build, source, version, top)
        trial.install()
        for number, (title, case) in enumerate(CASES, 1):
            try:
                case(trial)
                print(f"ok {number} - {title}", flush=True)
            except Skip as reason:
                print(f"{reason}\nok {number} - {title} # SKIP", flush=True)
            except AssertionError as error:
                failed = True
                print(f"not ok {number} - {title}", flush=True)
                print("".join(f"# {line}\n" for line in str(error).splitlines()), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
