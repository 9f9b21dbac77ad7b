# SPDX-License-Identifier: Apache-2.0
"""braid simulate --ranks: frames of many ranks, by hand-made sums where those can be made."""
import json
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
from braid_tool import braid  # noqa: E402
from tap import run  # noqa: E402

NETWORK = "latency=1,gb_s=12,overhead=0.5,gap=0"
# 12,000 bytes take 1 us.
TWO = "digraph { cost_unit=us; a [cost=10, rank=0, bytes=12000]; b [cost=10, rank=1]; a -> b }"


def simulate(*options, text=None):
    result = braid("simulate", *(["-"] if text else []), "--json", "-", *options, text=text)
    assert result.status == 0, result.err
    return json.loads(result.out)["simulated"]


def frame_of(text, *options):
    return simulate("--network", NETWORK, *options, text=text)[0]["makespan_ns"]


def a_message_takes_what_the_model_says():
    # a, the sender's overhead, latency, bytes, the receiver's overhead, b
    assert frame_of(TWO) == 10000 + 500 + 1000 + 1000 + 500 + 10000
    assert frame_of(TWO.replace("rank=1", "rank=0")) == 20000
    assert frame_of(TWO.replace("bytes=12000", "bytes=0")) == 22000


def what_several_tasks_of_a_rank_need_is_sent_once():
    more = TWO.replace("}", "; c [cost=10, rank=1]; d [cost=10, rank=2]; a -> c; a -> d }")
    found = simulate("--network", NETWORK, text=more)[0]
    assert found["messages"] == 2 and found["bytes"] == 24000 and found["ranks"] == 3, found


def messages_of_a_rank_go_out_and_come_in_one_after_another():
    out = "digraph { cost_unit=us; a [cost=1, rank=0, bytes=120000]; "
    out += "; ".join(f"b{i} [cost=1, rank={i}]; a -> b{i}" for i in range(1, 5)) + "}"
    # Each takes 10 us of the one way out.
    assert frame_of(out) == 1000 + 500 + 4 * 10000 + 1000 + 500 + 1000
    come = "digraph { cost_unit=us; " + "; ".join(
        f"a{i} [cost=1, rank={i}, bytes=120000]; a{i} -> b" for i in range(1, 5)) + "; b [cost=1, rank=0] }"
    assert frame_of(come) == 1000 + 500 + 1000 + 4 * 10000 + 500 + 1000


def messages_overlap_with_what_needs_them_not():
    more = TWO.replace("}", "; c [cost=12, rank=1] }")
    assert frame_of(more) == 23000  # c runs until 12, the message is there at 12.5
    assert frame_of(more, "--workers", "2") == 23000
    assert frame_of(more.replace("cost=12", "cost=20")) == 20000 + 500 + 10000


def ranks_of_a_host_share_its_cores():
    four = "digraph { cost_unit=us; " + "; ".join(f"a{i} [cost=10, rank={i}]" for i in range(4)) + "}"
    assert frame_of(four) == 10000
    assert frame_of(four, "--hosts", "4/2") == 20000
    assert frame_of(four, "--hosts", "2/1") == 20000


def patterns_have_what_they_are_called():
    found = simulate("--ranks", "1,4,16", "--pattern", "halo:rows=64,columns=100,steps=3,cell_ns=10")
    assert [one["ranks"] for one in found] == [1, 4, 16]
    assert [one["messages"] for one in found] == [0, 3 * 6, 3 * 30], found
    assert found[0]["makespan_ns"] == 1 + 3 * 64 * 1000 and found[0]["efficiency"] > 0.9999
    found = simulate("--ranks", "1", "--pattern", "cholesky:tiles=5,size=10,gflops=1")[0]
    assert found["tasks"] == 5 * 6 * 7 // 6
    flops = 5 / 3 + 10 * 1 + 10 * 1 + 10 * 2  # in thousands: factors, solves, updates on the diagonal and beside it
    assert abs(found["makespan_ns"] - flops * 1000) < 100, found
    whole = simulate("--ranks", "4", "--pattern", "cholesky:tiles=5,strong=1")[0]
    assert whole["tasks"] == 35 and whole["messages"] > 0


def plans_that_would_wait_in_a_circle_are_made_wide():
    """A worker then takes first what could begin first. With the limit of workers in the plan the efficiency is 0.332."""
    assert simulate("--ranks", "4", "--pattern", "cholesky")[0]["efficiency"] > 0.5


def a_thousand_ranks_are_simulated_and_drawn():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "curve.svg")
        result = braid("simulate", "--ranks", "64,1024", "--pattern", "halo", "--svg", path)
        assert result.status == 0 and "halo, simulated" in result.out, result.err
        assert re.search(r"^ +1024 +13312 +8184 ", result.out, re.MULTILINE), result.out
        with open(path, encoding="utf-8") as file:
            drawing = file.read()
    assert drawing.count("<circle") == 2 and "1024 ranks" in drawing


def wrong_words_are_refused():
    for options, reason in ((["--ranks", "4", "--pattern", "ring"], "halo or cholesky, not 'ring'"),
                            (["--ranks", "0", "--pattern", "halo"], "--ranks takes"),
                            (["--ranks", "file", "--pattern", "halo"], "--ranks of a pattern"),
                            (["--ranks", "4", "--pattern", "halo:depth=2"], "halo has no setting 'depth'"),
                            (["--ranks", "4", "--pattern", "halo:rows=0"], "rows is more than 0"),
                            (["--ranks", "4", "--pattern", "halo:rows"], "'rows' is not NAME=NUMBER"),
                            (["--ranks", "4", "--pattern", "halo", "--network", "speed=1"], "'speed'"),
                            (["--ranks", "4", "--pattern", "halo", "--network", "gap=-1"], "'gap=-1' is not"),
                            (["--ranks", "4", "--pattern", "halo", "--hosts", "4"], "RANKS/CORES"),
                            (["--ranks", "4", "--pattern", "halo", "x.dot"], "one too many"),
                            (["--ranks", "4"], "which file?")):
        result = braid("simulate", *options)
        assert result.status == 2 and reason in result.err, (options, result.err)
    for text, reason in (("digraph { a [rank=x] }", "a rank is a whole number"),
                         ("digraph { a [bytes=1.5] }", "whole number of less than 2^48")):
        result = braid("simulate", "-", "--ranks", "file", text=text)
        assert result.status == 2 and reason in result.err, result.err


if __name__ == "__main__":
    sys.exit(run([
        a_message_takes_what_the_model_says,
        what_several_tasks_of_a_rank_need_is_sent_once,
        messages_of_a_rank_go_out_and_come_in_one_after_another,
        messages_overlap_with_what_needs_them_not,
        ranks_of_a_host_share_its_cores,
        patterns_have_what_they_are_called,
        plans_that_would_wait_in_a_circle_are_made_wide,
        a_thousand_ranks_are_simulated_and_drawn,
        wrong_words_are_refused,
    ]))
