# SPDX-License-Identifier: Apache-2.0
"""A Debian or Ubuntu with its required packages and apt alone, in a folder; each script gets it anew.

A script runs on a layer over that folder, which is thrown away. The system has its own /dev, as debootstrap
made it: no devices of the host, and no pseudo-terminals. This needs root, debootstrap, and the network."""
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "structure"))
from check_structure import list_files  # noqa: E402

KEPT = ("PIP_CERT", "http_proxy", "https_proxy", "no_proxy", "DEB_BUILD_OPTIONS")
# What debootstrap needs for suites that Debian does not know. Debian has no key of Ubuntu's.
UBUNTU = ("--no-check-gpg", "--components=main,universe")
UBUNTU_SCRIPT = ("http://archive.ubuntu.com/ubuntu", "gutsy")
UBUNTU_SUITES = ("jammy", "noble")
# Runs in mount and process spaces of its own, so that nothing is left mounted, nor running.
INSIDE = r"""
set -eu
machine=$1 layer=$2 place=$3 script=$4
mkdir -p "$layer/changes" "$layer/work" "$layer/root"
mount -t overlay overlay -o "lowerdir=$machine,upperdir=$layer/changes,workdir=$layer/work" "$layer/root"
root=$layer/root
mount -t proc proc "$root/proc"
mkdir -p "$root$place"
tar -C "$root$place" -xf "$layer/sources.tar"
cat /etc/resolv.conf >"$root/etc/resolv.conf"
if [ -n "${PIP_CERT:-}" ]; then # where the network has a certificate of its own
    cat "$PIP_CERT" >"$root/etc/certificates.pem"
    export PIP_CERT=/etc/certificates.pem
fi
exec chroot "$root" sh -euc "cd $place
$script"
"""


def find_missing():
    """The reason why no machine can be made here, or None."""
    if os.geteuid() != 0:
        return "this needs root"
    for program in ("debootstrap", "unshare", "chroot"):
        if not shutil.which(program):
            return f"{program} is not installed"
    return None


def install_machine(work, suite):
    """The folder of the bare system, which later calls find."""
    machine = os.path.join(work, suite)
    if not os.path.exists(os.path.join(machine, "ready")):
        shutil.rmtree(machine, ignore_errors=True)
        os.makedirs(work, exist_ok=True)
        options, script = (UBUNTU, UBUNTU_SCRIPT) if suite in UBUNTU_SUITES else ((), ())
        done = subprocess.run(["debootstrap", "--variant=minbase", *options, suite, machine, *script], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"debootstrap failed with {done.returncode}:\n{done.stdout[-4000:]}")
        open(os.path.join(machine, "ready"), "w", encoding="utf-8").close()
    return machine


def pack(source, more, archive):
    with tarfile.open(archive, "w") as tar:
        for path in list_files(source):
            tar.add(os.path.join(source, path), path)
        tar.add(more, ".")


def run_inside(machine, work, source, more, place, script, log):
    """Runs a script of sh on a system of its own. There `place` has the sources and the files of the folder `more`, and is the
    current folder.

    Returns the exit status and the output. The file `log` gets the output while the script runs."""
    environment = {name: os.environ[name] for name in KEPT if name in os.environ}
    environment.update(PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", HOME="/root",
                       DEBIAN_FRONTEND="noninteractive")
    with tempfile.TemporaryDirectory(dir=work) as layer:
        pack(source, more, os.path.join(layer, "sources.tar"))
        with open(log, "w", encoding="utf-8") as output:
            done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", INSIDE, "sh",
                                   machine, layer, place, script], stdin=subprocess.DEVNULL, stdout=output,
                                  stderr=subprocess.STDOUT, env=environment, check=False)
        with open(log, encoding="utf-8", errors="replace") as output:
            return done.returncode, output.read()


def run_cases(work, suite, names, run_case):
    """Speaks TAP, with the seconds of each: a case for each name, for which run_case(name) raises AssertionError if it fails."""
    missing = find_missing()
    failed, total = [], 0
    print(f"1..{len(names)}", flush=True)
    if not missing:
        install_machine(work, suite)  # which is in the time of none of them
    for number, name in enumerate(names, 1):
        if missing:
            print(f"{missing}\nok {number} - {suite}: {name} # SKIP", flush=True)
            continue
        begin = time.monotonic()
        try:
            run_case(name)
            print(f"# {time.monotonic() - begin:.0f} s\nok {number} - {suite}: {name}", flush=True)
        except AssertionError as reason:
            failed.append(name)
            print(f"{reason}\nnot ok {number} - {suite}: {name}", flush=True)
        total += time.monotonic() - begin
    print(f"# {total:.0f} s in all; {len(failed)} failed{': ' if failed else ''}{', '.join(failed)}", flush=True)
    return 1 if failed else 0
