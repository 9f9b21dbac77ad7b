# SPDX-License-Identifier: Apache-2.0
"""A file that an option names is written whole or stays as it was; pipes and links work as ever."""
import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
from braid_tool import TOOL, braid  # noqa: E402
from tap import run  # noqa: E402

GRAPH = "digraph { " + " ".join(f"n{i} [cost={i}];" for i in range(1, 300)) + " n1 -> n2 }"
# option, ending, and how a whole file of it ends
KINDS = [("--json", ".json", b"}\n"), ("--dot", ".dot", b"}\n"), ("--svg", ".svg", b"</svg>\n"),
         ("--trace", ".json", b"")]


def small_files():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))


def plan(*options, before=None, out=subprocess.PIPE):
    return subprocess.run([TOOL, "plan", "-", *options], input=GRAPH.encode(), stdout=out,
                          stderr=subprocess.PIPE, check=False, timeout=300, preexec_fn=before)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, text):
    with open(path, "wb") as file:
        file.write(text)


def a_disk_that_is_full_leaves_the_file_as_it_was():
    for option, ending, _ in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out" + ending)
            write(path, b"before")
            result = plan(option, path, before=small_files)
            assert result.returncode == 1, (option, result)
            assert path in result.stderr.decode() and result.stderr.count(b"braid: ") == 1, result
            assert read(path) == b"before", option
            assert os.listdir(folder) == ["out" + ending]


def a_disk_that_is_full_leaves_no_half_of_a_new_file():
    for option, ending, _ in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            assert plan(option, os.path.join(folder, "out" + ending),
                        before=small_files).returncode == 1
            assert os.listdir(folder) == []


def a_file_is_replaced_whole_and_keeps_its_rights():
    for option, ending, end in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            path, link = os.path.join(folder, "out" + ending), os.path.join(folder, "l" + ending)
            write(path, b"x" * 10000000)
            os.chmod(path, 0o640)
            os.symlink(path, link)
            assert plan(option, link).returncode == 0
            assert os.path.islink(link)
            assert stat.S_IMODE(os.stat(path).st_mode) == 0o640
            assert len(read(path)) < 10000000 and read(path).endswith(end)
            assert sorted(os.listdir(folder)) == sorted(["out" + ending, "l" + ending])


def another_name_of_the_file_names_the_new_one():
    with tempfile.TemporaryDirectory() as folder:
        path, other = os.path.join(folder, "out"), os.path.join(folder, "other")
        write(path, b"before")
        os.link(path, other)
        assert plan("--json", path).returncode == 0
        assert read(other) == read(path) and read(path).endswith(b"}\n")


def a_pipe_is_written_to():
    with tempfile.TemporaryDirectory() as folder:
        path, found = os.path.join(folder, "pipe"), []
        os.mkfifo(path)
        reader = threading.Thread(target=lambda: found.append(read(path)))
        reader.start()
        assert plan("--json", path).returncode == 0
        reader.join()
        assert found[0].endswith(b"}\n")
        assert stat.S_ISFIFO(os.stat(path).st_mode) and os.listdir(folder) == ["pipe"]


def standard_output_may_be_named_as_a_file():
    assert plan("--json", "-").stdout.endswith(b"}\n")
    assert b'"lanes"' in plan("--json", "/dev/stdout").stdout  # a pipe
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "out")
        with open(path, "ab") as out:
            assert plan("--json", "/dev/stdout", out=out).returncode == 0
            out.write(b"more")  # the shell writes to the same file
        assert read(path).endswith(b"more")
        assert os.listdir(folder) == ["out"]
    assert braid("plan", "-", "--json", "/dev/null", text=GRAPH).status == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def a_full_device_is_reported():
    result = braid("plan", "-", "--json", "/dev/full", text=GRAPH)
    assert result.status == 1 and "/dev/full" in result.err, result.err
    result = braid("plan", "-", "--json", "/no/such/folder/x", text=GRAPH)
    assert result.status == 1 and "No such file" in result.err, result.err


if __name__ == "__main__":
    sys.exit(run([a_disk_that_is_full_leaves_the_file_as_it_was,
                  a_disk_that_is_full_leaves_no_half_of_a_new_file,
                  a_file_is_replaced_whole_and_keeps_its_rights,
                  another_name_of_the_file_names_the_new_one,
                  a_pipe_is_written_to,
                  standard_output_may_be_named_as_a_file,
                  a_full_device_is_reported]))
