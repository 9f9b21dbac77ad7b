# SPDX-License-Identifier: Apache-2.0
"""Replays of captured frames, by the tool: what `braid replay --json` found, as objects."""
from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import tempfile
from typing import Any, Dict, List, Optional, Tuple, Union

from braid._device import Device
from braid._errors import Error, UnavailableError, refuse

_BAD_FILE = 2  # the tool's status for a file or an option that is wrong


@dataclasses.dataclass(frozen=True)
class Difference:
    """The first output that differed. `node` has its number and name, and is None if no node declares the write. One of
    `num_writers` nodes from it to `last` wrote it, if these are more than one. `iterations` has the name and the iteration,
    from 1, of each loop round the node, the innermost first, as far as they are known. `left` and `right` are the values."""

    node: Optional[Tuple[int, str]]
    last: Optional[Tuple[int, str]]
    num_writers: int
    iterations: Tuple[Tuple[str, int], ...]
    buffer: str
    byte: int
    left: str
    right: str
    text: str

    def __str__(self) -> str:
        return self.text


@dataclasses.dataclass(frozen=True)
class Replay:
    """A frame that was replayed. `left` and `right` name the two runs. `left_out` has the host calls that nothing needed
    and nobody gave. `difference` is None if both runs wrote the same."""

    frame: int
    backend: str
    num_nodes: int
    left_out: Tuple[Tuple[int, str], ...]
    left: str
    right: str
    difference: Optional[Difference]

    def __bool__(self) -> bool:
        """Whether no output differs."""
        return self.difference is None


def _name(device: Union[str, Device]) -> str:
    return f"{device.backend}:{device.info.ordinal}" if isinstance(device, Device) else device


def _node(found: Any) -> Optional[Tuple[int, str]]:
    return None if found is None else (found["node"], found["name"])


def _nodes(found: List[Any]) -> Tuple[Tuple[int, str], ...]:
    return tuple((each["node"], each["name"]) for each in found)


def _read(found: Dict[str, Any], text: str) -> Replay:
    what = found["difference"]
    difference = what and Difference(
        _node(what["first"]), _node(what["last"]), what["writers"],
        tuple((each["loop"]["name"], each["iteration"]) for each in what["iterations"]),
        what["buffer"], what["byte"], what["left"], what["right"], text)
    return Replay(found["frame"], found["backend"], found["nodes"], _nodes(found["left_out"]), found["left"], found["right"],
                  difference)


def _fail(process: subprocess.CompletedProcess[bytes], text: str) -> Error:
    if process.returncode < 0:
        return Error(f"braid replay was ended by signal {-process.returncode}: {text}")
    return refuse(text) if process.returncode == _BAD_FILE else Error(text)


def replay(path: Union[str, os.PathLike[str]], *, device: Union[str, Device, None] = None,
           against: Union[str, Device, None] = None, kernels: Union[str, os.PathLike[str], None] = None,
           lanes: Optional[int] = None, iterations: Optional[int] = None, tolerance: Optional[float] = None,
           type: Optional[str] = None, tool: Union[str, os.PathLike[str], None] = None) -> Replay:
    """Has the tool run a frame that `Exec.capture` wrote, in a process of its own, and compare what its nodes write. By
    default it compares the frame as planned with its nodes one by one; `against` names another device. All options are those
    of `braid replay`. `tool` is the tool's path, if it is not on PATH. Raises UnavailableError if there is no tool,
    InvalidArgumentError for a file or an option that is wrong, and Error if the frame could not be replayed."""
    program = shutil.which("braid" if tool is None else os.fspath(tool))
    if program is None:
        raise UnavailableError(f"a replay takes the tool braid, and there is no {'braid on PATH' if tool is None else tool}")
    options = {"device": device and _name(device), "against": against and _name(against), "kernels": kernels and os.fspath(kernels), "lanes": lanes,
               "iterations": iterations, "tolerance": tolerance, "type": type}
    words = [f"--{name}={value}" for name, value in options.items() if value is not None]
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "replay.json")
        process = subprocess.run([program, "replay", *words, f"--json={report}", "--", os.path.abspath(path)],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        text = process.stderr.decode("utf-8", "replace").strip()
        text = text[len("braid: "):] if text.startswith("braid: ") else text
        if not os.path.exists(report):
            raise _fail(process, text)
        with open(report, encoding="utf-8") as file:
            return _read(json.load(file), text)
