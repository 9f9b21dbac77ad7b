# SPDX-License-Identifier: Apache-2.0
"""What several tests use: a device, and kernels in C."""
import ctypes
import os
import pathlib
import traceback

import numpy as np
import pytest

import braid
import braid._exec

PTX = pathlib.Path(__file__).parent.parent / "gpu" / "ptx"  # texts of several compilers


class Typed:
    """Memory of a device as an array with a type and a shape."""

    def __init__(self, memory, shape, dtype="float32", strides=None, offset=0):
        self.memory = memory
        self.__cuda_array_interface__ = {"shape": shape, "typestr": np.dtype(dtype).str, "version": 3,
                                         "data": (memory.address + offset, False), "strides": strides}


class Between:
    """The C library as execs see it. Once, it makes a call of the test's before or after a function of C."""

    def __init__(self, monkeypatch):
        self._real, self._hooks = braid._exec.lib, {}
        monkeypatch.setattr(braid._exec, "lib", self)

    def __getattr__(self, name):
        hooks = self._hooks.pop(name, None)
        return getattr(self._real, name) if hooks is None else lambda *args: self._call(name, hooks, args)

    def _call(self, name, hooks, args):
        hooks["before"]()
        result = getattr(self._real, name)(*args)
        hooks["after"]()
        return result

    def come(self, name, before=lambda: None, after=lambda: None):
        self._hooks[name] = {"before": before, "after": after}


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A test that calls what this Braid was built without is skipped, and lets its objects go."""
    error = call.excinfo and call.excinfo.value
    is_left_out = isinstance(error, braid.UnsupportedError) and "this Braid was built without the add-on" in str(error)
    if is_left_out:
        traceback.clear_frames(error.__traceback__)
    outcome = yield
    if is_left_out:
        report = outcome.get_result()
        report.outcome, report.longrepr = "skipped", (str(item.path), 0, str(error))


@pytest.fixture
def between(monkeypatch):
    return Between(monkeypatch)


@pytest.fixture
def gpu():
    device = braid.Device("cuda")
    yield device
    device.close()


@pytest.fixture
def device():
    opened = braid.Device("cpu", num_workers=2)
    yield opened
    opened.close()  # refuses while a test has left something


@pytest.fixture
def library():
    return ctypes.CDLL(os.environ["BRAID_TEST_KERNELS"])


@pytest.fixture
def add_scaled(library):
    """y[i] += factor * x[i]"""
    return braid.Kernel("add_scaled", cpu=library.add_scaled, types=[braid.Pointer, braid.Pointer, np.float32])


@pytest.fixture
def store(library):
    """*to = value"""
    return braid.Kernel("store", cpu=library.store, types=[braid.Pointer, np.int64])
