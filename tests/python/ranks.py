# SPDX-License-Identifier: Apache-2.0
"""Two ranks in Python: operations between arrays, buffers with owners, and what is refused."""
import threading

import numpy as np

import braid


def refused(type_, text, call, *args, **options):
    try:
        call(*args, **options)
    except type_ as error:
        assert text in str(error), error
        return
    raise AssertionError(f"{text} was not refused")


def operations_are_between_arrays(device, world):
    graph = braid.Graph()
    mine, total = np.array([1.0 + world.rank, 5.0]), np.zeros(2)
    all_of, part = np.zeros(4), np.zeros(1)
    most, told = np.array([world.rank], "int64"), np.array([7 * world.rank], "int64")
    out, into = np.array([world.rank], "float32"), np.zeros(1, "float32")
    graph.all_reduce(world, mine, total)
    graph.all_gather(world, mine, all_of)
    graph.reduce_scatter(world, mine, part)
    graph.all_reduce(world, most, reduction="max")
    graph.broadcast(world, told, 1)
    graph.send(world, out, 1 - world.rank, tag=4)
    graph.receive(world, into, 1 - world.rank, tag=4, name="from the other")
    frame = braid.Exec(device, graph)
    for _ in range(3):
        frame.run()
    assert total.tolist() == [3.0, 10.0] and all_of.tolist() == [1.0, 5.0, 2.0, 5.0]
    assert part.tolist() == [[3.0], [10.0]][world.rank] and most[0] == 1 and told[0] == 7
    assert into[0] == 1 - world.rank
    refused(braid.UnsupportedError, "graphs with communicators have no runners", braid.Runner, device, graph)
    refused(braid.InvalidArgumentError, "is from 16 bytes to 8", graph.all_gather, world, mine, part)
    refused(braid.InvalidArgumentError, "from elements of", graph.all_reduce, world, np.zeros(2), np.zeros(2, int))
    refused(braid.InvalidArgumentError, "reduction 'mean'", graph.all_reduce, world, mine, reduction="mean")
    refused(braid.InvalidArgumentError, "is no communicator", graph.send, "world", mine, 1)
    refused(braid.InvalidArgumentError, "the rank itself", graph.send, world, mine, world.rank, name="x")


def owners_send_what_others_read(device, world):
    graph, seen = braid.Graph(), []
    own = np.full(4, 3, "uint8")
    a = graph.owned(world, 0, "a", own if world.rank == 0 else None, 4)
    b = graph.owned(world, 1, "b", own if world.rank == 1 else None, 4)
    assert graph.takes_part(reads=a, writes=b) and graph.takes_part(writes=a) == (world.rank == 0)
    fill = graph.fill(a, 9)
    copy = graph.copy(b, a)
    read = graph.host(lambda memory: seen.append(bytes(memory)), user=a, reads=a, updates=b)
    assert fill.elsewhere == (world.rank == 1) and copy.elsewhere == read.elsewhere == (world.rank == 0)
    assert len(graph) == (3 if world.rank == 0 else 4), len(graph)  # a fill and a send; a receive and two tasks
    braid.Exec(device, graph).run()
    assert own.tolist() == [9] * 4
    assert seen == ([] if world.rank == 0 else [bytes([9] * 4)])
    refused(braid.InvalidArgumentError, "there is one of this name", graph.owned, world, 0, "a", nbytes=4)


def a_wait_leaves_python_free(device, world):
    """Rank 0 answers only once another thread of rank 1 has run, while this one waits."""
    graph, ran = braid.Graph(), threading.Event()
    word = np.zeros(1, "int32")
    if world.rank == 0:
        graph.send(world, word, 1)
    else:
        graph.host(ran.wait, writes=word, blocking=True)
        graph.receive(world, word, 0)
    frame = braid.Exec(device, graph)
    frame.launch()
    threading.Timer(0.01, ran.set).start()
    frame.wait()


def main():
    ranks = braid.Ranks(timeout_ns=30000000000)
    device = braid.Device("cpu", num_workers=2)
    world = ranks.communicator("world")
    assert len(ranks) == len(world) == 2 and world.rank == ranks.rank
    refused(braid.WrongStateError, "open in this process", braid.Ranks)
    operations_are_between_arrays(device, world)
    owners_send_what_others_read(device, world)
    a_wait_leaves_python_free(device, world)
    ranks.check()
    graph = braid.Graph()
    graph.all_reduce(world, np.zeros(1))
    refused(braid.InUseError, "still used by graphs or execs", ranks.close)
    graph.close()
    ranks.close()
    device.close()


main()
