# SPDX-License-Identifier: Apache-2.0
"""A program marks a frame, and reads its own record. The recorder stands before a stand-in for the driver."""
import ctypes
import os

import pytest

import braid
import braid.record

TEXT = b""".version 8.0
.target sm_90
.address_size 64
.visible .entry nothing() {
ret;
}
"""


class Driver:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.context, self.module, self.function, self.stream = (ctypes.c_void_p() for _ in range(4))
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)
        self.call("cuCtxSetCurrent", self.context)
        self.call("cuModuleLoadData", ctypes.byref(self.module), TEXT)
        self.call("cuModuleGetFunction", ctypes.byref(self.function), self.module, b"nothing")
        self.call("cuStreamCreate", ctypes.byref(self.stream), 1)

    def call(self, name, *arguments):
        assert getattr(self.cuda, name)(*arguments) == 0, name

    def launch(self):
        self.call("cuLaunchKernel", self.function, 1, 1, 1, 1, 1, 1, 0, self.stream, None, None)


@pytest.fixture
def file():
    path = os.environ.get("BRAID_RECORD_FILE")
    if path is None:
        pytest.skip("no recorder is built here")
    if os.path.exists(path):
        os.unlink(path)
    return path


def test_a_program_reads_its_own_record(file):
    driver = Driver()
    assert braid.record.frame()
    driver.launch()
    driver.launch()
    driver.call("cuStreamSynchronize", driver.stream)
    assert braid.record.frame()
    record = braid.record.Record(file)
    assert record.frames == [range(0, 3)]
    assert [one.kind for one in record.operations] == ["kernel", "kernel", "synchronise"]
    assert [one.kernel for one in record.operations] == ["nothing", "nothing", ""]
    assert [one.befores for one in record.operations] == [(), (0,), (1,)]
    assert record.operations[2].stream is None
    found = braid.Imported.of_record(record, 0)
    assert (found.info.num_kernels, found.info.num_waits, found.info.num_unproven) == (2, 1, 0)
    assert "recorded frame: 3 nodes" in found.text
    with pytest.raises(ValueError, match="there is no frame 1"):
        braid.Imported.of_record(record, 1)
    with braid.Device("cuda") as device:
        again = braid.Imported.of_record(record, 0, device=device, functions=[driver.function.value])
        with pytest.raises(ValueError, match="does not have the memory of this frame"):
            again.restore()
        with pytest.raises(ValueError, match="does not have the memory of this frame"):
            again.memory_digest(0)
        with braid.Exec(device, again.graph) as run:
            run.launch()
            run.wait()
        again.close()
    assert "python" in record.program
    assert braid.record.digest(b"ab") != braid.record.digest(b"ba")


def test_a_file_that_is_none_is_refused(tmp_path):
    with pytest.raises(braid.InvalidArgumentError, match="there is no such file"):
        braid.record.Record(tmp_path / "none")
    other = tmp_path / "other"
    other.write_bytes(b"something else")
    with pytest.raises(braid.InvalidArgumentError, match="byte 0"):
        braid.record.Record(other)
