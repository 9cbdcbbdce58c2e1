#!/usr/bin/env python3
"""cifar94-gpu/published: time of the recipe cifar-speed on a GPU, and of the published one by its own code (airbench).

Both train on all images of CIFAR-10 and end with the evaluation of the test images under test-time augmentation. Both
times leave out the start and the choice of kernels. Ours is `seconds` of `unstarve train --json`, which includes
reading the images; that of airbench, which it prints, is the device's for training and the last evaluation, with all
images in its memory. The runs alternate. The ratio is that of the times: above 1, ours is faster. `accuracy` has the
mean of each side, which the comparison requires to be equal within 0.5 %. Appends a line to
build/bench.jsonl like bench/run.py.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench import data, record, setup  # noqa: E402
from bench.peers import compare  # noqa: E402

NAME = "cifar94-gpu/published"
MOST_DIFFERENCE = 0.005  # of the accuracies


def output_of(command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, cwd=ROOT, check=False,
                          env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})
    if done.returncode != 0:
        raise setup.Unavailable(f"`{' '.join(map(str, command[:4]))}` failed: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout


def run_of_ours(program, folder, seed):
    result = json.loads(output_of([program, "train", folder, "--split", "train", "--val", folder, "--val-split", "test",
                                   "--recipe", "cifar-speed", "--device", "cuda", "--seed", seed, "--json"]))
    return result["seconds"], result["accuracy"]


def run_of_airbench(python, folder):
    result = json.loads(output_of([python, "-m", "bench.peers.airbench94", folder, 1]))
    return result["seconds"], result["accuracy"]


def line_of(ours, published):
    """The result from (seconds, accuracy) of the runs of both sides."""
    ratio, low, high = compare.ratio_interval([run[0] for run in published], [run[0] for run in ours])
    accuracy = {"ours": statistics.mean(run[1] for run in ours), "peer": statistics.mean(run[1] for run in published)}
    line = {"name": NAME, "status": "measured", "ours": round(statistics.median(run[0] for run in ours), 3),
            "peer": round(statistics.median(run[0] for run in published), 3), "unit": "s", "ratio": round(ratio, 4),
            "low": round(low, 4), "high": round(high, 4), "accuracy": accuracy}
    if accuracy["ours"] < accuracy["peer"] - MOST_DIFFERENCE:
        return {"name": NAME, "status": "unavailable",
                "reason": f"the accuracies differ: {accuracy['ours']:.4f} and {accuracy['peer']:.4f}"}
    return line


def measure(options):
    if not Path("/dev/nvidia0").exists():
        raise setup.Unavailable("no GPU was found; expected /dev/nvidia0")
    python = setup.interpreter("airbench", options.build / "peers")
    folder, description = data.cifar(options.build / "bench-data", options.build / "unstarve")
    run_of_ours(options.build / "unstarve", folder, 0)  # fills the caches of the driver
    ours, published = [], []
    for pair in range(options.pairs):
        sides = [lambda seed=pair + 1: ours.append(run_of_ours(options.build / "unstarve", folder, seed)),
                 lambda: published.append(run_of_airbench(python, folder))]
        for side in sides if pair % 2 == 0 else reversed(sides):
            side()
    return line_of(ours, published) | {"pairs": options.pairs, "data": description}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=8, help="runs of each side (default 8; at least 2)")
    parser.add_argument("--seconds", type=float, default=0, help="ignored: a run has the length of the recipe")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    options.build = options.build.resolve()
    options.pairs = max(2, options.pairs)
    machine = record.machine(len(os.sched_getaffinity(0)))
    try:
        line = measure(options)
    except setup.Unavailable as failure:
        line = {"name": NAME, "status": "unavailable", "reason": str(failure)}
    line |= {"command": f"make bench ONLY='^{NAME}$'", "machine": machine}
    record.append(options.build, line)
    if line["status"] != "measured":
        print(f"{NAME} unavailable: {line['reason']}")
        return
    print(f"{NAME}  ours {line['ours']:.2f} s  peer {line['peer']:.2f} s  ratio {line['ratio']:.3f} "
          f"[{line['low']:.3f}, {line['high']:.3f}]")


if __name__ == "__main__":
    main()
