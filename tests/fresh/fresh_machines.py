#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From nothing to a first plan: each way of docs/install.md on a Debian that was installed this minute.

fresh_machines.py SOURCE_DIR WORK_DIR SUITE [WAY...]

Speaks TAP. Needs root, debootstrap, and the network. The machine is a folder with nothing but Debian's
required packages and apt; each way gets it anew, as a layer over it that is thrown away."""
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

SECTION = "## From nothing to a first plan"
MOST_COMMANDS = 3
# What shows that a plan was made, in what the last command prints.
EXPECTED = {
    "C": r"lane 0: wait for left",
    "C++": r"frames, spread",
    "CMake": r"lane 0: wait for left",
    "Meson": r"lane 0: wait for left",
    "Python": r"and as much again is 3996",
    "Debian packages": r"makespan +5200 us",
}


def read_ways(page):
    """{heading: commands} of the section's indented blocks."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    section = text.split(SECTION + "\n", 1)[1].split("\n## ", 1)[0]
    ways = {}
    for part in section.split("\n### ")[1:]:
        name, body = part.split("\n", 1)
        ways[name.strip()] = re.findall(r"^    (\S.*)$", body, re.MULTILINE)
    return ways


def run(command, **options):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command[0]} failed with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def install_machine(work, suite):
    machine = os.path.join(work, suite)
    if not os.path.exists(os.path.join(machine, "ready")):
        shutil.rmtree(machine, ignore_errors=True)
        run(["debootstrap", "--variant=minbase", suite, machine])
        open(os.path.join(machine, "ready"), "w", encoding="utf-8").close()
    return machine


def pack(source, archive):
    with tarfile.open(archive, "w") as tar:
        for path in list_files(source):
            tar.add(os.path.join(source, path), path)


# Runs in mount and process spaces of its own, so that nothing is left mounted, nor running.
INSIDE = r"""
set -eu
machine=$1 layer=$2 script=$3
mkdir -p "$layer/changes" "$layer/work" "$layer/root"
mount -t overlay overlay -o "lowerdir=$machine,upperdir=$layer/changes,workdir=$layer/work" "$layer/root"
root=$layer/root
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mkdir -p "$root/braid"
tar -C "$root/braid" -xf "$layer/sources.tar"
cat /etc/resolv.conf >"$root/etc/resolv.conf"
if [ -n "${PIP_CERT:-}" ]; then # where the network has a certificate of its own
    cat "$PIP_CERT" >"$root/etc/certificates.pem"
    export PIP_CERT=/etc/certificates.pem
fi
exec chroot "$root" sh -euc "$script"
"""


def try_way(machine, work, source, commands):
    assert 0 < len(commands) <= MOST_COMMANDS, f"{len(commands)} commands"
    kept = ("PIP_CERT", "http_proxy", "https_proxy", "no_proxy", "DEB_BUILD_OPTIONS")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment.update(PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", HOME="/root",
                       DEBIAN_FRONTEND="noninteractive", LANG="C.UTF-8")
    script = "apt-get update -q >/dev/null; cd /braid\n" + "\n".join(
        f"echo '== {number}'\n{command}" for number, command in enumerate(commands, 1))
    with tempfile.TemporaryDirectory(dir=work) as layer:
        pack(source, os.path.join(layer, "sources.tar"))
        said = run(["unshare", "--mount", "--pid", "--fork", "sh", "-c", INSIDE, "sh", machine, layer, script],
                   env=environment)
    return said.rsplit(f"== {len(commands)}\n", 1)[1]


def find_missing():
    if os.geteuid() != 0:
        return "this needs root"
    for program in ("debootstrap", "unshare", "chroot"):
        if not shutil.which(program):
            return f"{program} is not installed"
    return None


def main():
    source, work, suite, *chosen = sys.argv[1:]
    ways = read_ways(os.path.join(source, "docs", "install.md"))
    assert ways.keys() == EXPECTED.keys(), f"docs/install.md has {sorted(ways)}"
    names = [name for name in ways if not chosen or name in chosen]
    missing = find_missing()
    print(f"1..{len(names)}", flush=True)
    if missing:
        for number, name in enumerate(names, 1):
            print(f"{missing}\nok {number} - {suite}: {name} # SKIP", flush=True)
        return 0
    os.makedirs(work, exist_ok=True)
    machine = install_machine(work, suite)
    failed = False
    for number, name in enumerate(names, 1):
        try:
            said = try_way(machine, work, source, ways[name])
            assert re.search(EXPECTED[name], said), said
            print(f"ok {number} - {suite}: {name}", flush=True)
        except AssertionError as reason:
            failed = True
            print(f"{reason}\nnot ok {number} - {suite}: {name}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
