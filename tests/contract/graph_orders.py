#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs random graphs in fifty of the orders in which the stand-in driver may run a driver graph.

usage: graph_orders.py CONTRACT_PROGRAM
A missing edge gives a wrong result in some order, not in every one.
"""
import os
import subprocess
import sys

SEEDS = range(1, 51)
GRAPHS = "12"  # each kind of memory has so many, for each seed


def main():
    failed = []
    print(f"1..{len(SEEDS)}")
    for seed in SEEDS:
        environment = dict(os.environ, BRAID_STANDIN_SEED=str(seed), BRAID_TEST_GRAPHS=GRAPHS)
        run = subprocess.run([sys.argv[1], "random_graphs_keep_every_order"], env=environment,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if run.returncode != 0:
            failed.append(seed)
            print(run.stdout.decode(errors="replace").replace("ok ", "# ok "))
        print(f"{'not ' if run.returncode else ''}ok {seed} - BRAID_STANDIN_SEED={seed}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
