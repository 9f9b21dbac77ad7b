# SPDX-License-Identifier: Apache-2.0
"""Arrays and resources that are plain arguments leave their accesses to the kernel's code. No GPU is there."""
import numpy as np
import pytest

import braid

TEXT = """.version 8.0
.target sm_90
.address_size 64
.entry copy(.param .u64 from, .param .u64 to) {
ld.param.u64 %d0, [from];
ld.param.u64 %d1, [to];
ld.global.u32 %r0, [%d0];
st.global.u32 [%d1], %r0;
ret;
}
.entry follow(.param .u64 from, .param .u64 to) {
ld.param.u64 %d0, [from];
ld.global.u64 %d1, [%d0];
st.global.u32 [%d1], 1;
ret;
}
"""
copy, follow = (braid.Kernel(name, cuda=TEXT) for name in ("copy", "follow"))


def order(graph, first, second):
    return graph.plan(costs=braid.CostModel()).explain(first, second)


def arrays(num, dtype="float32"):
    return [np.zeros(64, dtype) for _ in range(num)]


def test_plain_arrays_leave_their_accesses_to_the_code():
    (x, y, z), graph = arrays(3), braid.Graph()
    graph.buffer(x, "x")
    first = graph.kernel(copy, 4, [x, y])
    second = graph.kernel(copy, 4, [y, z])
    third = graph.kernel(copy, 4, [graph.buffer(np.zeros(64, "float32"), "own"), x[8:16]])
    assert "ordered by data in array 1" in order(graph, first, second)
    assert "serialised by x (read by copy, changed by copy)" == order(graph, first, third)  # the view lies in x
    assert "ordered by data" not in order(graph, second, third)


def test_resources_leave_their_accesses_to_the_code():
    (x, y), graph = arrays(2), braid.Graph()
    between, own = graph.transient("between", 256), graph.scratch("own", 256)
    first = graph.kernel(copy, 4, [x, between], writes=between)  # it overwrites all, which no code tells
    second = graph.kernel(copy, 4, [between, y])
    assert "ordered by data in between (written by copy, read by copy)" in order(graph, first, second)
    graph.kernel(follow, 4, [braid.read(x), own])  # there is nothing to leave


def test_declared_accesses_are_compared_and_the_rest_is_derived():
    (x, y), graph = arrays(2), braid.Graph()
    graph.kernel(copy, 4, [braid.read(x), braid.write(y)])
    graph.kernel(copy, 4, [x, y], reads=x, writes=y)
    graph.kernel(copy, 4, [braid.read(x), y])
    graph.plan(costs=braid.CostModel())
    graph.kernel(copy, 4, [x, y], reads=[x, y], code_use="unread")
    graph.plan(costs=braid.CostModel())
    graph.kernel(copy, 4, [x, y], reads=[x, y])
    with pytest.raises(braid.InvalidArgumentError, match="node 4 'copy': it declares to read 'array 1', and line 8"):
        graph.plan(costs=braid.CostModel())


def test_code_use_says_it():
    (x, y), graph = arrays(2), braid.Graph()
    first = graph.kernel(copy, 4, [braid.read(x), y], code_use="declares")
    assert "ordered by data in array 1 (written by copy, read" in order(graph, first, graph.kernel(copy, 4, [y, x]))
    for use in ("checks", "unread"):
        with pytest.raises(braid.InvalidArgumentError, match="as argument 0, and does not say what it does to it"):
            graph.kernel(copy, 4, [x, y], code_use=use)
    graph.kernel(copy, 4, [braid.read(x), y], reads=y, code_use="declares")
    with pytest.raises(braid.InvalidArgumentError, match="node 2 'copy': it declares to read 'array 1'"):
        graph.plan(costs=braid.CostModel())
    with pytest.raises(braid.InvalidArgumentError, match="code_use of kernel 'copy' 'no' does not exist: there are"):
        graph.kernel(copy, 4, [x, y], code_use="no")


def test_what_code_does_not_tell_is_refused():
    (x, y), graph = arrays(2), braid.Graph()
    frozen = np.zeros(64, "float32")
    frozen.flags.writeable = False
    for kernel, plain, error, message in (
            (follow, x, braid.InvalidArgumentError, "'follow' are not proven: line 14 of its PTX: an address is loaded"),
            (braid.Kernel("bare", cpu=1), x, braid.InvalidArgumentError, "does not say what it does to it"),
            (braid.Kernel("own", cuda=1), x, braid.InvalidArgumentError, "does not say what it does to it"),
            (braid.Kernel("machine", cuda=b"\x7fELF"), x, braid.UnsupportedError, "its code is machine code"),
            (copy, frozen, braid.InvalidArgumentError, "which is read-only, .* say braid.read"),
            (copy, np.zeros(0, "float32"), braid.InvalidArgumentError, "is empty")):
        with pytest.raises(error, match=message):
            graph.kernel(kernel, 4, [plain, y])
    assert len(graph) == 0
    graph.kernel(copy, 4, [braid.read(frozen), y])


def test_addresses_that_the_code_uses_stay(device, library):
    (x, y, z), graph = arrays(3), braid.Graph()
    with pytest.raises(braid.InvalidArgumentError, match="as argument 1, and does not say what it does to it"):
        graph.kernel(copy, 4, [x, graph.parameter("place", y)])
    assert len(graph) == 0
    node = graph.kernel(braid.Kernel("copy", cpu=library.store, cuda=TEXT), 4, [x, y])
    with braid.Exec(device, graph) as frame:
        with pytest.raises(braid.InvalidArgumentError, match="'copy': its code uses argument 1 as an address"):
            frame.set_arg(node, 1, z)
