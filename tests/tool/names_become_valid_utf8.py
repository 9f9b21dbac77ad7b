# SPDX-License-Identifier: Apache-2.0
"""Whatever bytes a file's names have, each writer of the tool writes valid UTF-8."""
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.dont_write_bytecode = True
from braid_tool import TOOL  # noqa: E402
from tap import run  # noqa: E402

IDS = [b"a\xff\xfe\x80", b"\xed\xa0\x80", b"caf\xe9", b"cut \xe6\xb5", b"over \xc0\xaf \xf4\x90\x80\x80"]
LABEL = b"\xc3(\xf5\x80\x80\x80"
UNIT = b"\xb5units"
RESOURCE = b"r\xff"
GRAPH = b'digraph { cost_unit="%s"; resources="%s:8"; "%s" [cost=3, label="%s", accesses=w0, on=1]; ' % (
    UNIT, RESOURCE, IDS[0], LABEL) + b"".join(b'"%s" [cost=2, accesses=r0, on=2]; ' % name for name in IDS[1:]) + b"}"
DEVICE = ["--device", "cpu", "--workers", "2"]
RUN = ["run", *DEVICE, "--frames", "3"]


def replaced(name):
    return name.decode("utf-8", "replace")


NAMES = [replaced(LABEL)] + [replaced(name) for name in IDS[1:]]


@contextlib.contextmanager
def graph_file():
    """Its path is not UTF-8 either."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(os.fsencode(folder), b"gr\xe4ph.dot")
        with open(path, "wb") as file:
            file.write(GRAPH)
        yield path


def written(command, *options, status=0):
    """What the tool writes to standard output, decoded strictly."""
    with graph_file() as path:
        process = subprocess.run([TOOL, *command, path, *options], check=False, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, timeout=300)
    assert process.returncode == status, process.stderr
    process.stderr.decode("utf-8", "strict")
    return process.stdout.decode("utf-8", "strict")


def drawings_are_utf8():
    drawing = written(["plan"], "--dot", "-")
    for name in NAMES:
        assert f'label="{name}' in drawing, f"{name}: {drawing}"


def timelines_are_utf8():
    for command in (["plan"], RUN, [*RUN, "--profile"]):
        picture = written(command, "--svg", "-")
        xml.etree.ElementTree.fromstring(picture)
        for name in NAMES:
            assert f"<title>{name}: " in picture, f"{command}: {name}"
    assert replaced(UNIT) in written(["plan"], "--svg", "-")


def curves_are_utf8():
    picture = written(["simulate", "--ranks", "file"], "--svg", "-")
    xml.etree.ElementTree.fromstring(picture)
    assert "gr\ufffdph.dot" in picture, picture


def traces_are_utf8():
    for command in (["plan"], RUN):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            written(command, "--trace", path)
            with open(path, "rb") as file:
                trace = json.loads(file.read().decode("utf-8", "strict"))
        found = {event["name"] for event in trace["traceEvents"]}
        assert found >= set(NAMES), f"{command}: {found}"


def reports_are_utf8():
    for page in (written(["report"], "--out", "-"), written(RUN, "--report", "-")):
        for text in (replaced(LABEL) + "</i> took half", "gr\ufffdph.dot</h1>"):
            assert text in page, text
    assert f"&nbsp;{replaced(UNIT)}" in written(["report"], "--out", "-")


def json_is_utf8():
    plan = json.loads(written(["plan"], "--json", "-"))
    assert [task["id"] for task in plan["tasks"]] == [replaced(name) for name in IDS]
    assert [task["name"] for task in plan["tasks"]] == NAMES
    assert plan["cost_unit"] == replaced(UNIT) and plan["file"].endswith("/gr\ufffdph.dot")
    placed = json.loads(written(["plan", "--places", "2"], "--json", "-"))
    assert sorted(node for lane in placed["lanes"] for node in lane if not node.startswith("copy:")) == sorted(
        replaced(name) for name in IDS)
    for command in (RUN, [*RUN, "--profile"], ["simulate"], ["simulate", "--ranks", "file"]):
        assert json.loads(written(command, "--json", "-")), command
    assert json.loads(written(["tune", *DEVICE, "--budget", "1"], "--out", "-"))["kind"] == "tuning"
    assert json.loads(written(RUN, "--costs", "-"))["kind"] == "costs"


def tables_are_utf8():
    assert replaced(UNIT) in written(["plan"])
    assert replaced(RESOURCE) in written(["plan", "--places", "2"])
    assert replaced(LABEL) in written([*RUN, "--profile"])
    written(["simulate"], "--faster", b"caf\xe9=2")


def messages_are_utf8():
    for options, reason in (([b"--faster", b"n\xe9=2"], "no node 'n\ufffd'"), ([b"--lanes", b"\xe9"], "not '\ufffd'")):
        with graph_file() as path:
            process = subprocess.run([TOOL, "simulate", path, *options], check=False, stderr=subprocess.PIPE,
                                     timeout=300)
        assert process.returncode == 2 and reason in process.stderr.decode("utf-8", "strict"), process.stderr


if __name__ == "__main__":
    sys.exit(run([
        drawings_are_utf8,
        timelines_are_utf8,
        curves_are_utf8,
        traces_are_utf8,
        reports_are_utf8,
        json_is_utf8,
        tables_are_utf8,
        messages_are_utf8,
    ]))
