# SPDX-License-Identifier: Apache-2.0
"""A model of torchvision, called eagerly: what a call takes alone, and with the recorder of `braid record`.

    recorded_torch.py BRAID [--model NAME] [--calls N] [--rounds N] [--keep FILE]

Needs torch, torchvision and a CUDA device. Each way is a process of its own, and the ways take turns. A time is the mean of the
last half of the calls, without a wait between them. A ratio is the median over the rounds. --keep leaves a record with marks,
memory and times of the device in FILE, for `braid report` and `braid run`.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time

WAYS = {  # options of `braid record`, and whether the program marks its calls
    "alone": (None, False),
    "frames found, all calls recorded": (["--from", "8"], False),
    "marked, before the recorded frames": (["--marks", "--from", "100000"], True),
    "marked, behind the recorded frames": (["--marks", "--from", "2", "--frames", "2"], True),
}


def serve(name, calls, marks):
    import torch  # pylint: disable=import-outside-toplevel
    import torchvision  # pylint: disable=import-outside-toplevel

    import braid.record  # pylint: disable=import-outside-toplevel
    torch.manual_seed(1)
    options = {"aux_logits": True, "init_weights": False} if name in ("googlenet", "inception_v3") else {}
    model = getattr(torchvision.models, name)(weights=None, **options).half().cuda().eval()
    size = 299 if name == "inception_v3" else 224
    image = torch.rand(1, 3, size, size, device="cuda", dtype=torch.half)
    with torch.inference_mode():
        for call in range(calls):
            if call == calls // 2:
                torch.cuda.synchronize()
                begin = time.perf_counter()
            if marks:
                braid.record.frame()
            model(image)
        torch.cuda.synchronize()
    print(json.dumps((time.perf_counter() - begin) / (calls - calls // 2) * 1e6))


def time_of(given, options, marks):
    program = [sys.executable, __file__, "", "--model", given.model, "--calls", str(given.calls), "--serve"]
    program += ["--marked"] if marks else []
    if options is not None:
        program = [given.braid, "record", "--out", "/tmp/recorded_torch.braidrec", *options, "--", *program]
    done = subprocess.run(program, stdout=subprocess.PIPE, text=True, check=False)  # 1 where no frame was reached
    return float(next(line for line in done.stdout.splitlines() if line.replace(".", "", 1).isdigit()))


def keep(given):
    program = [sys.executable, __file__, "", "--model", given.model, "--calls", "12", "--serve", "--marked"]
    subprocess.run([given.braid, "record", "--marks", "--from", "8", "--times", "--memory", "begin:4000000000", "--out", given.keep, "--",
                    *program], check=True)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("braid")
    options.add_argument("--model", default="googlenet")
    options.add_argument("--calls", type=int, default=60)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--keep")
    options.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options.add_argument("--marked", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.serve:
        serve(given.model, given.calls, given.marked)
        return
    times = {way: [] for way in WAYS}
    for _ in range(given.rounds):
        for way, (with_options, marks) in WAYS.items():
            times[way].append(time_of(given, with_options, marks))
    if given.rounds:
        print(f"| {given.model}, eager, batch 1 | us a call | ratio |\n|---|---|---|")
    for way, found in times.items() if given.rounds else ():
        ratio = statistics.median(here / alone for here, alone in zip(found, times["alone"]))
        print(f"| {way} | {statistics.median(found):.0f} | {ratio:.3f} |", flush=True)
    if given.keep:
        keep(given)


if __name__ == "__main__":
    main()
